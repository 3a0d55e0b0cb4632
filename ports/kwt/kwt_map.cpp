// See kwt_map.hpp. SPDX-License-Identifier: MIT
#include "kwt_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "host_files.hpp"
#include "kwt_sounds.hpp"

namespace {

constexpr int n_bands = 64, per_band = 4;  // to 8 kHz; frequencies of each
constexpr double quietest = -50.0;

// The middle of a frame stands for it.
heed_map::axis time_axis() {
  return {"time", {}, "s", 0.5 * KWT_FRAME / KWT_N_SAMPLES, double(KWT_STEP) / KWT_N_SAMPLES};
}

double power(const int16_t *samples, double cycles_per_sample) {
  constexpr double pi = 3.14159265358979323846;
  double re = 0.0, im = 0.0;
  for (int i = 0; i < KWT_FRAME; ++i) {
    const double windowed = samples[i] * (0.5 - 0.5 * std::cos(2 * pi * i / KWT_FRAME));
    re += windowed * std::cos(2 * pi * cycles_per_sample * i);
    im += windowed * std::sin(2 * pi * cycles_per_sample * i);
  }
  return re * re + im * im;
}

// Against the loudest place, in the frames that the network sees.
heed_map::panel spectrogram(const std::vector<int16_t> &samples) {
  heed_map::panel p;
  p.title = "Spectrogram";
  const double step = 8.0 / n_bands;
  p.rows = {"frequency", {}, "kHz", step / 2, step};
  p.columns = time_axis();
  p.n_rows = n_bands, p.n_columns = KWT_N_FRAMES;
  p.quantity = "level (dB)";
  p.colours = heed_map::palette::grey;
  double loudest = 0.0;
  std::vector<double> powers;
  for (int b = 0; b < n_bands; ++b)
    for (int f = 0; f < KWT_N_FRAMES; ++f) {
      double sum = 0.0;
      for (int i = 0; i < per_band; ++i)
        sum += power(&samples[size_t(f) * KWT_STEP], (b + (i + 0.5) / per_band) / (2.0 * n_bands));
      powers.push_back(sum);
      loudest = std::max(loudest, sum);
    }
  for (const double x : powers)
    p.values.push_back(x > 0.0 ? float(std::max(quietest, 10.0 * std::log10(x / loudest))) : float(quietest));
  return p;
}

}  // namespace

heed_map::picture kwt_attention(kwt &net, const std::string &path) {
  std::vector<int16_t> samples = host_files::read_wav(path);
  samples.resize(KWT_N_SAMPLES);
  std::vector<float> weights(size_t(KWT_N_BLOCKS) * KWT_N_TOKENS * KWT_N_TOKENS);
  std::vector<heed_attention_weights> outputs(KWT_N_BLOCKS);
  std::vector<heed_options> options(KWT_N_BLOCKS, heed_options_default());
  for (size_t b = 0; b < KWT_N_BLOCKS; ++b) {
    float *of_block = &weights[b * KWT_N_TOKENS * KWT_N_TOKENS];
    const heed_status status =
        heed_attention_weights_init(&outputs[b], heed_head_major_out(of_block, KWT_N_TOKENS, 1, KWT_N_TOKENS));
    if (status != HEED_OK) throw std::runtime_error(heed_status_text(status));
    options[b].weights = &outputs[b];
  }
  kwt_result heard;
  net.options = options.data();
  const kwt_status status = kwt_run_int16(&net, samples.data(), samples.size(), &heard);
  net.options = nullptr;
  host_files::require_ok(net, status, path);

  heed_map::picture p;
  char title[96];
  std::snprintf(title, sizeof title, "KWT-1 hears \"%s\" (%.1f %%)", kwt_label(heard.label),
                100.0 * double(heard.confidence));
  p.title = title;
  p.note = path.substr(path.find_last_of('/') + 1) + ": what the class token, from which the word is read, attends to";
  p.panels.push_back(spectrogram(samples));
  heed_map::panel attention;
  attention.title = "Attention";
  attention.rows.name = "layer";
  attention.columns = time_axis();
  attention.n_rows = KWT_N_BLOCKS, attention.n_columns = KWT_N_FRAMES;
  for (size_t b = 0; b < KWT_N_BLOCKS; ++b) {
    const float *row = &weights[b * KWT_N_TOKENS * KWT_N_TOKENS];  // key 0 is the class token itself
    attention.rows.labels.push_back(std::to_string(b + 1));
    attention.values.insert(attention.values.end(), row + 1, row + KWT_N_TOKENS);
  }
  p.panels.push_back(attention);
  return p;
}
