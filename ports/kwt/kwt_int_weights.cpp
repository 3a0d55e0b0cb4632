// See kwt_int_weights.hpp. SPDX-License-Identifier: MIT
#include "kwt_int_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "model_file.hpp"

namespace network {
namespace {

using calibrate::rounded;

constexpr double log_unit = 1 << KWT_INT_LOG_BITS, ln2 = 0.69314718055994530942, turn = 6.28318530717958647692;

[[noreturn]] void refuse(const char *why) { throw std::runtime_error(why); }

// The sound's part of a file: the struct, and the weights of all mel bands.
struct sound_part {
  kwt_int_sound sound;
  std::vector<uint16_t> mel;
};

void check_dft(const kwt1 &net) {
  for (int n = 0; n < KWT_FRAME; ++n) {
    for (int bin = 0; bin < KWT_N_BINS; ++bin) {
      const double angle = turn * (n * bin % KWT_PERIOD) / KWT_PERIOD;
      if (!(std::fabs(double(net.dft[n][bin]) - std::cos(angle)) <= 1e-6 &&
            std::fabs(std::fabs(double(net.dft[n][KWT_N_BINS + bin])) - std::fabs(std::sin(angle))) <= 1e-6))
        refuse("the transform of the sound is not a Fourier transform of 512");
    }
  }
}

void put_mel(const kwt1 &net, sound_part &to) {
  for (int m = 0; m < KWT_N_MEL; ++m) {
    int first = KWT_N_BINS, end = 0;
    for (int bin = 0; bin < KWT_N_BINS; ++bin) {
      if (!(net.mel[bin][m] >= 0 && net.mel[bin][m] < 2)) refuse("a mel weight is not 0 to 2");
      if (net.mel[bin][m] == 0) continue;
      first = std::min(first, bin);
      end = bin + 1;
    }
    first = std::min(first, end);
    to.sound.mel_first[m] = static_cast<uint16_t>(first);
    to.sound.mel_n[m] = static_cast<uint16_t>(end - first);
    for (int bin = first; bin < end; ++bin)
      to.mel.push_back(static_cast<uint16_t>(rounded(double(net.mel[bin][m]) * 32768, 65535)));
  }
}

// w (n) as int16, so that no sum over int16 numbers leaves int32. Returns its unit.
double put_row(const std::vector<double> &w, int16_t *to) {
  double sum = 0;
  for (const double v : w) sum += std::fabs(v);
  const double unit = sum > 0 ? sum / 65000 : 1;
  for (size_t i = 0; i < w.size(); ++i) to[i] = static_cast<int16_t>(rounded(w[i] / unit, 32767));
  return unit;
}

heed_multiplier multiplier(double factor) { return heed_multiplier_of(static_cast<float>(factor)); }

// ((logs dct - mean) * factor) w + b + position, where a log's unit is 1/512 of an octave.
struct embedding {
  double w[KWT_DIM][KWT_N_MEL], bias[KWT_DIM];
};
std::unique_ptr<embedding> embedding_of(const kwt1 &net) {
  auto e = std::make_unique<embedding>();
  for (int d = 0; d < KWT_DIM; ++d) {
    e->bias[d] = double(net.b_embedding[d]);
    for (int f = 0; f < n_features; ++f)
      e->bias[d] -= double(net.mean[f]) * double(net.factor[f]) * double(net.w_embedding[f][d]);
    for (int m = 0; m < KWT_N_MEL; ++m) {
      e->w[d][m] = 0;
      for (int f = 0; f < n_features; ++f)
        e->w[d][m] += double(net.dct[m][f]) * double(net.factor[f]) * double(net.w_embedding[f][d]) * ln2 / log_unit;
    }
  }
  return e;
}

sound_part sound_of(const kwt1 &net) {
  check_dft(net);
  sound_part to = {};
  for (int k = 0; k < KWT_INT_SINES; ++k) to.sound.sine[k] = rounded(std::sin(turn * k / KWT_PERIOD) * 0x1p30, 0x1p30);
  for (int i = 0; i < KWT_FRAME; ++i) {
    if (!(std::fabs(net.window[i]) <= 1)) refuse("a number of the window is larger than 1");
    to.sound.window[i] = static_cast<int16_t>(rounded(double(net.window[i]) * 32768, 32767));
  }
  put_mel(net, to);
  to.sound.log_floor = rounded(std::log2(double(net.log_floor)) * log_unit, 32767);
  return to;
}

// (98, 80) of a clip
std::vector<int16_t> logs_of(const sound_part &s, const clip &samples) {
  if (samples.size() != KWT_N_SAMPLES) refuse("a clip does not have 16000 samples");
  std::vector<int16_t> logs(size_t{KWT_N_FRAMES} * KWT_N_MEL);
  std::vector<uint32_t> room(KWT_INT_ROOM / 4);
  for (size_t f = 0; f < KWT_N_FRAMES; ++f)
    kwt_int_logs(&s.sound, s.mel.data(), &samples[f * KWT_STEP], room.data(), &logs[f * KWT_N_MEL]);
  return logs;
}

std::vector<float> tokens_of(const kwt1 &net, const embedding &e, const std::vector<int16_t> &logs) {
  std::vector<float> x;
  for (size_t t = 0; t < KWT_N_TOKENS; ++t) {
    for (size_t d = 0; d < KWT_DIM; ++d) {
      double sum = double(net.position[t][d]) + (t == 0 ? double(net.class_token[d]) : e.bias[d]);
      for (size_t m = 0; t > 0 && m < KWT_N_MEL; ++m) sum += logs[(t - 1) * KWT_N_MEL + m] * e.w[d][m];
      x.push_back(static_cast<float>(sum));
    }
  }
  return x;
}

// What rounding the weights adds to a token on average goes into its start.
void put_embedding(const kwt1 &net, const embedding &e, const std::vector<double> &mean_logs, double x_scale,
                   kwt_int_sound &to) {
  for (int d = 0; d < KWT_DIM; ++d) {
    const double unit = put_row({e.w[d], e.w[d] + KWT_N_MEL}, to.embedding[d]);
    double missing = 0;
    for (size_t m = 0; m < KWT_N_MEL; ++m) missing += (e.w[d][m] - unit * to.embedding[d][m]) * mean_logs[m];
    to.embedding_unit[d] = multiplier(unit / x_scale);
    for (int t = 0; t < KWT_N_TOKENS; ++t) {
      const double start = double(net.position[t][d]) + (t == 0 ? double(net.class_token[d]) : e.bias[d] + missing);
      to.start[t][d] = static_cast<int16_t>(rounded(start / x_scale, 32767));
    }
  }
}

void put_label(const kwt1 &net, double y_scale, kwt_int_sound &to) {
  const double logit_unit = std::ldexp(1.0, KWT_INT_LOGIT_BITS);
  for (int o = 0; o < KWT_N_LABELS; ++o) {
    std::vector<double> w;
    for (int k = 0; k < KWT_DIM; ++k) w.push_back(double(net.w_label[k][o]));
    to.label_unit[o] = multiplier(put_row(w, to.label[o]) * y_scale * logit_unit);
    to.label_bias[o] = rounded(double(net.b_label[o]) * logit_unit, 0x1p30);
  }
}

std::vector<uint8_t> file_of(const sound_part &s, const std::vector<uint8_t> &layers) {
  calibrate::flat_bytes part;
  part.put(&s.sound, sizeof s.sound, 1);
  part.put(s.mel.data(), 2 * s.mel.size(), 64);
  kwt_int_header h = {};
  h.magic[0] = KWT_FILE_MAGIC_0;
  h.magic[1] = KWT_INT_MAGIC_1;
  h.version = KWT_INT_VERSION;
  h.layers_at = static_cast<uint32_t>(KWT_LINES(sizeof h + sizeof s.sound + 2 * s.mel.size()));
  std::vector<uint8_t> bytes = part.take();
  bytes.resize(h.layers_at - sizeof h);
  h.n_bytes = static_cast<uint32_t>(h.layers_at + layers.size());
  h.checksum = int_model_checksum(bytes.data(), bytes.size());
  h.n_mel_weights = static_cast<uint32_t>(s.mel.size());
  calibrate::flat_bytes file;
  file.put(&h, sizeof h);
  file.put(bytes.data(), bytes.size());
  file.put(layers.data(), layers.size());
  return file.take();
}

heed_weights plain(const float *w, int32_t n_in, int32_t n_out) {
  return heed_weights_of(w, nullptr, HEED_F32, HEED_IN_OUT, n_in, n_out);
}

}  // namespace

float_layers::float_layers(const kwt1 &net) : attentions_(KWT_N_BLOCKS) {
  for (size_t i = 0; i < KWT_N_BLOCKS; ++i) {
    const block &b = net.blocks[i];
    heed_attention_layer &a = attentions_[i] = heed_attention_layer_default(KWT_DIM, 1);
    a.wq = plain(b.wq[0], KWT_DIM, KWT_DIM), a.wk = plain(b.wk[0], KWT_DIM, KWT_DIM);
    a.wv = plain(b.wv[0], KWT_DIM, KWT_DIM), a.wo = plain(b.wo[0], KWT_DIM, KWT_DIM);
    a.bo = b.bo;
    heed_transformer_layer l = heed_transformer_layer_default(&a, KWT_HIDDEN, heed_layer_norm, heed_gelu_tanh);
    l.eps = net.norm_epsilon;
    l.norm1_weight = b.gamma_1, l.norm1_bias = b.beta_1, l.norm2_weight = b.gamma_2, l.norm2_bias = b.beta_2;
    l.w_up = plain(b.w1[0], KWT_DIM, KWT_HIDDEN), l.w_down = plain(b.w2[0], KWT_HIDDEN, KWT_DIM);
    l.b_up = b.b1, l.b_down = b.b2;
    layers.push_back(l);
  }
}

std::vector<float> tokens_of(const kwt1 &net, const clip &samples) {
  return tokens_of(net, *embedding_of(net), logs_of(sound_of(net), samples));
}

kwt_in_integers to_integers(const kwt1 &net, const std::vector<clip> &clips, const calibrate::choice &choice) {
  if (clips.empty()) refuse("there are no clips");
  sound_part sound = sound_of(net);
  const auto e = embedding_of(net);
  const float_layers of(net);
  kwt_in_integers to;
  for (const heed_transformer_layer &l : of.layers) to.floats.emplace_back(l);
  std::vector<double> mean_logs(KWT_N_MEL);
  for (const clip &samples : clips) {
    const std::vector<int16_t> logs = logs_of(sound, samples);
    for (size_t i = 0; i < logs.size(); ++i) mean_logs[i % KWT_N_MEL] += logs[i] / double(KWT_N_FRAMES * clips.size());
    std::vector<float> x = tokens_of(net, *e, logs);
    for (calibrate::layer &l : to.floats) x = l.see(x, KWT_N_TOKENS);
  }
  to.integers = calibrate::quantize(to.floats, choice);
  put_embedding(net, *e, mean_logs, to.integers.front().x_scale(), sound.sound);
  put_label(net, to.integers.back().y_scale(), sound.sound);
  to.file = file_of(sound, calibrate::model_file(to.integers));
  return to;
}

}  // namespace network
