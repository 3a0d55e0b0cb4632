// See runs.hpp. SPDX-License-Identifier: MIT
#include "runs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "../files.hpp"
#include "host_files.hpp"
#include "kwt.h"
#include "kwt_int.h"
#include "sensor.h"
#include "sensor_files.hpp"
#include "sensor_int.h"
#ifdef HEED_RECEIPT_COMPILED
#include "in_memory.hpp"
#include "run.hpp"
#include "speech_sizes.hpp"
#endif

namespace receipts {

namespace {

// Milliseconds since it was made.
class stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

// ------------------------------------------------------------------------------------------------------ keyword spotting

namespace {

std::vector<int16_t> read_second(const std::string &wav) {
  std::vector<int16_t> samples = host_files::read_wav(wav);
  if (samples.size() > KWT_N_SAMPLES) throw std::runtime_error(wav + ": has more than a second of sound");
  samples.resize(KWT_N_SAMPLES);
  return samples;
}

run of_kwt_floats(const std::string &model, const std::vector<int16_t> &samples, const detail &how, bool keeps) {
  const files::aligned_bytes weights = host_files::read_model(model);
  const auto net = std::make_unique<kwt>();
  kwt_result heard;
  host_files::require_ok(*net, kwt_init(net.get(), weights.data(), weights.size()), model);
  writer w({"kwt", digest_of(weights.data(), weights.size()), KWT_N_BLOCKS, false}, how, keeps);
  w.input("samples", samples);
  net->see = writer::see, net->see_user = &w;
  const stopwatch watch;
  host_files::require_ok(*net, kwt_run_int16(net.get(), samples.data(), samples.size(), &heard), model);
  const double ms = watch.ms();
  return {w.finish(), w.kept(), ms};
}

run of_kwt_integers(const std::string &model, const std::vector<int16_t> &samples, const detail &how, bool keeps) {
  const files::aligned_bytes weights = host_files::read_model(model);
  const auto net = std::make_unique<kwt_int>();
  kwt_int_result heard;
  host_files::require_ok(*net, kwt_int_init(net.get(), weights.data(), weights.size()), model);
  writer w({"kwt-int", digest_of(weights.data(), weights.size()), net->layers.header->n_layers, true}, how, keeps);
  w.input("samples", samples);
  net->see = writer::see_int, net->see_user = &w;
  const stopwatch watch;
  host_files::require_ok(*net, kwt_int_run(net.get(), samples.data(), samples.size(), &heard), model);
  w.see_words(net->layers.header->n_layers, 0, heard.logits, KWT_N_LABELS);
  const double ms = watch.ms();
  return {w.finish(), w.kept(), ms};
}

}  // namespace

run of_kwt(const std::string &model, const std::string &wav, bool in_integers, const detail &how, bool keeps_numbers) {
  const std::vector<int16_t> samples = read_second(wav);
  return in_integers ? of_kwt_integers(model, samples, how, keeps_numbers)
                     : of_kwt_floats(model, samples, how, keeps_numbers);
}

// ---------------------------------------------------------------------------------------------------------------- sensor

namespace {

run of_sensor_floats(const sensor_weights &weights, const std::vector<float> &recording, const detail &how,
                     bool keeps) {
  const auto net = std::make_unique<sensor>();
  sensor_result result;
  sensor_files::require_ok(*net, sensor_start(net.get(), &weights, sizeof weights));
  writer w({"sensor", digest_of(&weights, sizeof weights), SENSOR_N_LAYERS, false}, how, keeps);
  w.input("rows", recording);
  net->see = writer::see, net->see_user = &w;
  const stopwatch watch;
  for (size_t i = 0; i < recording.size(); i += SENSOR_ROW)
    sensor_files::require_ok(*net, sensor_row(net.get(), &recording[i]));
  sensor_files::require_ok(*net, sensor_finish(net.get(), &result));
  const double ms = watch.ms();
  return {w.finish(), w.kept(), ms};
}

run of_sensor_integers(const sensor_int_weights &weights, const std::vector<float> &recording, const detail &how,
                       bool keeps) {
  const std::vector<int16_t> rows = sensor_files::to_int16(recording);
  const auto net = std::make_unique<sensor_int>();
  sensor_int_result result;
  sensor_files::require_ok(*net, sensor_int_start(net.get(), &weights, sizeof weights));
  writer w({"sensor-int", digest_of(&weights, sizeof weights), SENSOR_N_LAYERS, true}, how, keeps);
  w.input("rows", rows);
  net->see = writer::see_int, net->see_user = &w;
  const stopwatch watch;
  for (size_t i = 0; i < rows.size(); i += SENSOR_ROW)
    sensor_files::require_ok(*net, sensor_int_row(net.get(), &rows[i]));
  sensor_files::require_ok(*net, sensor_int_finish(net.get(), &result));
  const double ms = watch.ms();
  return {w.finish(), w.kept(), ms};
}

}  // namespace

run of_sensor(const std::string &folder, const std::string &recording, bool in_integers, const detail &how,
              bool keeps) {
  const auto weights = sensor_files::read_weights(folder);
  const std::vector<float> rows = sensor_files::read_recording(recording);
  if (!in_integers) return of_sensor_floats(*weights, rows, how, keeps);
  const auto quantized = sensor_files::quantize(*weights, {sensor_files::read_recording(folder + "/input.f32")});
  return of_sensor_integers(*quantized, rows, how, keeps);
}

// ----------------------------------------------------------------------------------------------------------------- texts

namespace {

std::string text_of(float x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", double(x));
  return text;
}

// A whole number that a receipt states.
int64_t number_of(const receipt &r, const char *name, int64_t least, int64_t most) {
  const std::string text = r.setting(name, "0");
  char *end = nullptr;
  const long long n = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != 0 || n < least || n > most)
    throw std::runtime_error("setting " + std::string(name) + ": \"" + text + "\" is not a number of " +
                             std::to_string(least) + " to " + std::to_string(most));
  return n;
}

float real_of(const receipt &r, const char *name, float most) {
  const std::string text = r.setting(name, "0");
  char *end = nullptr;
  const float x = std::strtof(text.c_str(), &end);
  if (text.empty() || *end != 0 || !(x >= 0 && x <= most))
    throw std::runtime_error("setting " + std::string(name) + ": \"" + text + "\" is not a number of 0 to " +
                             text_of(most));
  return x;
}

}  // namespace

void write_settings(writer &w, const text_settings &s) {
  w.setting("prompt", std::to_string(s.n_prompt));
  w.setting("context", std::to_string(s.context));
  w.setting("cache", s.cache);
  w.setting("format", s.format.empty() ? "keep" : s.format);
  w.setting("rows", s.exact ? "floats" : "quantised");
  w.setting("temperature", text_of(s.temperature));
  w.setting("top_k", std::to_string(s.top_k));
  w.setting("top_p", text_of(s.top_p));
  w.setting("seed", std::to_string(s.seed));
}

text_settings settings_of(const receipt &r) {
  text_settings s;
  s.n_prompt = int32_t(number_of(r, "prompt", 1, INT32_MAX));
  s.context = int32_t(number_of(r, "context", 0, 1 << 24));
  s.cache = r.setting("cache", "f32");
  s.format = r.setting("format", "keep");
  if (s.format == "keep") s.format.clear();
  const std::string rows = r.setting("rows", "quantised");
  if (rows != "floats" && rows != "quantised")
    throw std::runtime_error("setting rows: \"" + rows + "\" is neither floats nor quantised");
  s.exact = rows == "floats";
  s.temperature = real_of(r, "temperature", 1e6f);
  s.top_k = int32_t(number_of(r, "top_k", 0, INT32_MAX));
  s.top_p = real_of(r, "top_p", 1);
  const std::string seed = r.setting("seed", "1");
  char *end = nullptr;
  s.seed = std::strtoull(seed.c_str(), &end, 10);
  if (seed.empty() || *end != 0) throw std::runtime_error("setting seed: \"" + seed + "\" is not a number");
  return s;
}

chooser::chooser(const text_settings &s, int32_t width)
    : how_(s), width_(width), memory_(HEED_SAMPLE_BYTES(width) / 8 + 8) {}

int32_t chooser::choose(const float *logits) {
  int32_t token = 0;
  heed_status status;
  if (how_.temperature > 0) {
    const size_t misplaced = reinterpret_cast<uintptr_t>(memory_.data()) % HEED_ALIGNMENT / 8;
    status = heed_sample(logits, width_, how_.temperature, how_.top_k > 0 ? how_.top_k : width_,
                         how_.top_p > 0 ? how_.top_p : 1.0f, draw(), &token,
                         heed_memory_of(memory_.data() + (8 - misplaced) % 8, HEED_SAMPLE_BYTES(width_)));
  } else {
    status = heed_argmax(heed_matrix_of(logits, 1, width_), &token);
  }
  return status == HEED_OK ? token : -1;
}

// [0, 1): xorshift64* of Vigna 2016.
float chooser::draw() {
  uint64_t s = how_.seed != 0 ? how_.seed : UINT64_C(0x9e3779b97f4a7c15);
  s ^= s >> 12, s ^= s << 25, s ^= s >> 27;
  how_.seed = s;
  return float(uint32_t((s * UINT64_C(0x2545f4914f6cdd1d)) >> 40)) * (1.0f / 16777216.0f);
}

#ifdef HEED_RECEIPT_COMPILED
namespace {

// The tokens of the receipt, in their order, and how many of them were read.
std::vector<int32_t> tokens_of(const receipt &made, int32_t n_prompt) {
  std::vector<int32_t> tokens;
  for (const token &t : made.tokens) {
    if (t.step != int64_t(tokens.size()))
      throw std::runtime_error("token " + std::to_string(tokens.size()) + " is missing");
    tokens.push_back(t.number);
  }
  if (n_prompt > int32_t(tokens.size())) throw std::runtime_error("the prompt has more tokens than the receipt");
  return tokens;
}

// Steps [first, end) whose logits the receipt has; layer n_layers is theirs.
struct steps {
  int64_t first = INT32_MAX, end = 0;
};
steps steps_of(const receipt &made, int32_t n_layers) {
  steps s;
  for (const digest &d : made.rows) {
    if (d.layer != n_layers) continue;
    s.first = std::min(s.first, d.row);
    s.end = std::max(s.end, d.row + 1);
  }
  return s;
}

// The first token behind the prompt that is not what logits, of the steps from `first` on, choose.
std::string other_choice(const std::vector<int32_t> &tokens, const text_settings &s, const std::vector<float> &logits,
                         int32_t first, int32_t width) {
  chooser of(s, width);
  for (size_t next = size_t(s.n_prompt); next < tokens.size(); ++next) {
    const size_t row = next - 1 - size_t(first);
    if ((row + 1) * size_t(width) > logits.size()) break;
    const int32_t chosen = of.choose(&logits[row * size_t(width)]);
    if (chosen != tokens[next])
      return "token " + std::to_string(next) + " is " + std::to_string(tokens[next]) + ", but these logits choose " +
             std::to_string(chosen);
  }
  return "";
}

heed_compile::choices choices_of(const text_settings &s, const receipt &made) {
  heed_compile::choices c;
  c.name = made.program, c.cache = s.cache, c.exact = s.exact;
  c.context = s.context;
  for (size_t at = 0; at < s.format.size();) {
    const size_t end = std::min(s.format.find(',', at), s.format.size());
    c.formats.push_back(heed_import::format_rule_of(s.format.substr(at, end - at)));
    at = end + 1;
  }
  return c;
}

// What a model of speech heard.
std::vector<int16_t> heard_by(const heed_compile::network &net, const std::string &wav) {
  if (!net.speech.takes_samples)
    throw std::runtime_error(
        "receipts of models that hear a spectrogram are not checked: it is computed in the device");
  if (wav.empty()) throw std::runtime_error("the receipt needs INPUT, the sound that was heard");
  std::vector<int16_t> samples = host_files::read_wav(wav);
  if (samples.size() < heed_compile::least_samples || samples.size() > size_t{1} << 24)
    throw std::runtime_error(wav + ": has fewer than 895 samples, or more than 2^24");
  return samples;
}

}  // namespace

text_run of_text(const std::string &path, const std::string &wav, const receipt &made, bool keeps) {
  const text_settings s = settings_of(made);
  const std::vector<int32_t> tokens = tokens_of(made, s.n_prompt);
  const heed_compile::choices c = choices_of(s, made);
  const heed_compile::in_memory model(path, c);
  const heed_compile::network &net = model.net;
  if (hex_of(net.digest) != made.model)  // nothing is computed: the headings differ
    return {{writer({made.program, net.digest, 0, false}, made.how).finish(), {}, 0}, ""};
  const bool hears = net.what == heed_compile::task::speech;
  if (!hears && net.what != heed_compile::task::decoder) throw std::runtime_error(path + ": writes no texts");
  const std::vector<int16_t> samples = hears ? heard_by(net, wav) : std::vector<int16_t>();
  const steps all = steps_of(made, net.n_layers);
  if (all.end > int64_t(tokens.size()) || all.first >= s.n_prompt || all.end < s.n_prompt)
    throw std::runtime_error("the receipt has no logits of its prompt's last token, or some of tokens that it has not");
  if (all.end > heed_compile::context_of(net, c))
    throw std::runtime_error("the text is longer than the model's context");
  for (const int32_t token : tokens)
    if (token < 0 || token >= net.n_tokens)
      throw std::runtime_error("token " + std::to_string(token) + " is not one of the model's");
  writer w({made.program, net.digest, net.n_layers, false}, made.how, keeps);
  write_settings(w, s);
  if (hears) w.input("samples", samples);
  std::vector<float> logits;
  const heed_compile::see_rows see = [&](int32_t layer, int64_t first, heed_matrix rows) {
    if (layer < net.n_layers) return writer::see(&w, layer, first, rows);
    logits.assign(rows.data + all.first * rows.row_stride, rows.data + rows.n_rows * rows.row_stride);
    writer::see(&w, layer, all.first, heed_matrix_of(logits.data(), int32_t(all.end - all.first), rows.dim));
  };
  const std::vector<int32_t> read(tokens.begin(), tokens.begin() + ptrdiff_t(all.end));
  const stopwatch watch;
  if (hears)
    heed_compile::run_sound(net, c, model.file, samples, read, see);
  else
    heed_compile::run_tokens(net, c, model.file, read, see);
  const double ms = watch.ms();
  for (size_t i = 0; i < tokens.size(); ++i) heed_receipt_token(w.get(), int64_t(i), tokens[i]);
  return {{w.finish(), w.kept(), ms}, other_choice(tokens, s, logits, int32_t(all.first), net.n_tokens)};
}
#else
text_run of_text(const std::string &, const std::string &, const receipt &made, bool) {
  throw std::runtime_error("the receipt is of the program \"" + made.program +
                           "\": heed_replay was built without heed_compile (Debian: nlohmann-json3-dev)");
}
#endif

}  // namespace receipts
