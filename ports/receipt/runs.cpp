// See runs.hpp. SPDX-License-Identifier: MIT
#include "runs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "../files.hpp"
#include "dreams_files.hpp"
#include "host_files.hpp"
#include "kwt.h"
#include "kwt_int.h"
#include "sensor.h"
#include "sensor_files.hpp"
#include "sensor_int.h"

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
  const host_files::model weights(model);
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
  const host_files::model weights(model);
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

// -------------------------------------------------------------------------------------------------------- language model

namespace {

constexpr const char *format_names[] = {"f32", "f16", "bf16", "int8"};  // as heed_dtype counts

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
  w.setting("products", s.in_integers ? "integers" : "floats");
  w.setting("cache", format_names[s.model.cache_format]);
  w.setting("window", std::to_string(s.model.window));
  w.setting("pinned", std::to_string(s.model.pinned));
  w.setting("temperature", text_of(s.choice.temperature));
  w.setting("top_p", text_of(s.choice.top_p));
  w.setting("seed", std::to_string(s.choice.seed));
}

text_settings settings_of(const receipt &r) {
  text_settings s;
  s.n_prompt = int32_t(number_of(r, "prompt", 1, INT32_MAX));
  const std::string products = r.setting("products", "floats");
  if (products != "floats" && products != "integers")
    throw std::runtime_error("setting products: \"" + products + "\" is neither floats nor integers");
  s.in_integers = products == "integers";
  const std::string cache = r.setting("cache", "f32");
  const auto *const format = std::find(std::begin(format_names), std::end(format_names), cache);
  if (format == std::end(format_names)) throw std::runtime_error("setting cache: \"" + cache + "\" is no format");
  s.model.cache_format = int32_t(format - std::begin(format_names));
  s.model.window = int32_t(number_of(r, "window", 0, 1000000));
  s.model.pinned = int32_t(number_of(r, "pinned", 0, 1000000));
  s.choice.temperature = real_of(r, "temperature", 1e6f);
  s.choice.top_p = real_of(r, "top_p", 1);
  const std::string seed = r.setting("seed", "0");
  char *end = nullptr;
  s.choice.seed = std::strtoull(seed.c_str(), &end, 10);
  if (seed.empty() || *end != 0) throw std::runtime_error("setting seed: \"" + seed + "\" is not a number");
  return s;
}

namespace {

constexpr int32_t rows_at_once = 64;

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
  dreams_choice choice = s.choice;
  dreams_files::room sampling(HEED_SAMPLE_BYTES(width));
  for (size_t next = size_t(s.n_prompt); next < tokens.size(); ++next) {
    const size_t row = next - 1 - size_t(first);
    if ((row + 1) * size_t(width) > logits.size()) break;
    const int32_t chosen = dreams_choose(&choice, &logits[row * size_t(width)], width, sampling.memory());
    if (chosen != tokens[next])
      return "token " + std::to_string(next) + " is " + std::to_string(tokens[next]) + ", but these logits choose " +
             std::to_string(chosen);
  }
  return "";
}

}  // namespace

text_run of_dreams(const std::string &path, const receipt &made, bool keeps_numbers) {
  text_settings s = settings_of(made);
  const std::vector<int32_t> tokens = tokens_of(made, s.n_prompt);
  s.model.piece = rows_at_once;
  const dreams_files::aligned_model model(dreams_files::read(path));
  const digest_bytes digest = digest_of(model.data(), model.size());
  if (hex_of(digest) != made.model)  // nothing is computed: the headings differ
    return {{writer({"dreams", digest, 0, false}, made.how).finish(), {}, 0}, ""};
  dreams_files::room memory, packed;
  dreams net = {};
  dreams_files::require_ok(net, dreams_files::open(net, model, s.model, memory), path);
  packed = dreams_files::room(dreams_packed_bytes(&net));
  dreams_files::require_ok(
      net, s.in_integers ? dreams_pack_in_integers(&net, packed.memory()) : dreams_pack(&net, packed.memory()), path);
  writer w({"dreams", digest, net.model.n_layers, false}, made.how, keeps_numbers);
  const steps all = steps_of(made, net.model.n_layers);
  if (all.end > int64_t(tokens.size()) || all.first >= s.n_prompt || all.end < s.n_prompt)
    throw std::runtime_error("the receipt has no logits of its prompt's last token, or some of tokens that it has not");
  write_settings(w, s);
  net.see = writer::see, net.see_user = &w;
  const int32_t n = int32_t(all.end), n_rows = int32_t(all.end - all.first);
  std::vector<float> logits(size_t(n_rows) * size_t(net.model.n_tokens));
  const stopwatch watch;
  dreams_files::require_ok(net, dreams_read(&net, tokens.data(), n, logits.data(), n_rows), "the tokens");
  const double ms = watch.ms();
  for (size_t i = 0; i < tokens.size(); ++i) heed_receipt_token(w.get(), int64_t(i), tokens[i]);
  return {{w.finish(), w.kept(), ms}, other_choice(tokens, s, logits, int32_t(all.first), net.model.n_tokens)};
}

}  // namespace receipts
