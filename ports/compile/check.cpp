// See check.hpp. SPDX-License-Identifier: MIT
#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <new>

#include "../import/convert.hpp"
#include "../import/file_bytes.hpp"
#include "../import/readers.hpp"
#include "../wav.h"
#include "reference.hpp"
#include "run.hpp"
#include "speech_sizes.hpp"
#include "tokenizer.h"

namespace heed_compile {
namespace {

std::vector<int32_t> tokens_of_file(const network &net, const choices &c, heed_import::span file,
                                    const std::string &path) {
  const heed_import::file_bytes text(path);
  heed_file opened;
  heed_tokenizer words;
  const char *error = heed_file_open(&opened, file.data, file.size);
  if (error == nullptr) error = heed_tokenizer_open(&words, &opened);
  if (error != nullptr) throw refusal(path + ": " + error);
  const size_t n_bytes = heed_tokenizer_workspace_bytes(&words, text.all().size);
  std::vector<uint64_t> workspace(n_bytes / 8 + 1);
  std::vector<int32_t> tokens(static_cast<size_t>(context_of(net, c)));
  int32_t n = 0;
  error = heed_tokenizer_encode(&words, reinterpret_cast<const char *>(text.all().data), text.all().size,
                                HEED_TOKENIZER_ADD, tokens.data(), static_cast<int32_t>(tokens.size()), &n,
                                heed_memory_of(workspace.data(), n_bytes));
  if (error != nullptr) throw refusal(path + ": " + error);
  if (n == 0) throw refusal(path + ": is a text without a token");
  tokens.resize(static_cast<size_t>(n));
  return tokens;
}

std::vector<float> picture_of_file(const network &net, const std::string &path) {
  const heed_import::file_bytes file(path);
  const std::vector<tensor> all = heed_import::read_model(file.all(), path);
  const auto size = static_cast<uint32_t>(net.image_size);
  if (all.size() != 1 || all[0].dims != std::vector<uint32_t>{size, size, static_cast<uint32_t>(net.n_channels)})
    throw refusal(path + ": is no picture of " + std::to_string(size) + " x " + std::to_string(size) + " x " +
                  std::to_string(net.n_channels));
  return heed_import::floats_of(all[0]);
}

// Up to what the program hears, and a whole number of rows of the encoder: silence is behind it.
std::vector<int16_t> sound_of_file(const network &net, const choices &c, const std::string &path) {
  const heed_import::file_bytes file(path);
  wav_file wav;
  const char *const error = wav_open(&wav, file.all().data, file.all().size);
  if (error != nullptr) throw refusal(path + ": " + error);
  if (!wav_fits(&wav, sample_rate)) throw refusal(path + ": is no sound of 16 kHz with one channel");
  const auto most = static_cast<size_t>(speech_sizes_of(net, c).n_samples);
  if (wav.n_samples < least_samples || wav.n_samples > most)
    throw refusal(path + ": is shorter than " + std::to_string(least_samples) + " samples, or longer than " +
                  std::to_string(most));
  std::vector<int16_t> samples;
  for (size_t i = 0; i < wav.n_samples; ++i) samples.push_back(wav_sample(&wav, i));
  constexpr size_t row = 2 * window_step;
  if (!net.speech.takes_samples) samples.resize((samples.size() + row - 1) / row * row);
  return samples;
}

// The greatest differences of the layers, over all rows that the program shows.
std::vector<double> differences(const std::vector<reference_rows> &reference,
                                const std::function<void(const see_rows &)> &run) {
  std::vector<double> greatest(reference.size());
  run([&](int32_t layer, int64_t first, heed_matrix rows) {
    const reference_rows &expected = reference.at(static_cast<size_t>(layer));
    double &worst = greatest[static_cast<size_t>(layer)];
    for (int32_t i = 0; i < rows.n_rows; ++i)
      for (int32_t k = 0; k < rows.dim; ++k) {
        const double wanted =
            expected.numbers.at((static_cast<size_t>(first) + static_cast<size_t>(i)) * static_cast<size_t>(rows.dim) +
                                static_cast<size_t>(k));
        const double difference =
            std::fabs(static_cast<double>(rows.data[static_cast<ptrdiff_t>(i) * rows.row_stride + k]) - wanted);
        if (!(difference <= worst)) worst = difference;  // a NaN stays
      }
  });
  return greatest;
}

}  // namespace

void print_errors(const network &net, const choices &c, const std::vector<plan> &plans, heed_import::span file,
                  const std::string &input) {
  std::map<std::string, const plan *> sources;
  for (const plan &p : plans) sources.emplace(p.name, &p);
  const auto weights = [&](const std::string &name) {
    const auto found = sources.find(name);
    if (found == sources.end()) return std::vector<double>();
    std::vector<double> numbers = numbers_of(net, *found->second);
    heed_import::file_bytes::forget(found->second->source->numbers_in_file());
    return numbers;
  };
  const bool sees = net.what == task::vision, hears = net.what == task::speech;
  const std::vector<int32_t> tokens = sees                     ? std::vector<int32_t>()
                                      : input.empty() || hears ? known_tokens(net, c)
                                                               : tokens_of_file(net, c, file, input);
  const std::vector<int16_t> samples = !hears          ? std::vector<int16_t>()
                                       : input.empty() ? known_sound()
                                                       : sound_of_file(net, c, input);
  const std::vector<float> pixels = !sees           ? std::vector<float>()
                                    : input.empty() ? known_picture(net)
                                                    : picture_of_file(net, input);
  const std::vector<reference_rows> reference = hears  ? reference_of_sound(net, weights, samples, tokens)
                                                : sees ? reference_of_picture(net, weights, pixels)
                                                       : reference_of_tokens(net, weights, tokens);
  const auto errors = [&](bool exact) {
    choices how = c;
    how.exact = exact;
    return differences(reference, [&](const see_rows &see) {
      if (hears)
        run_sound(net, how, file, samples, tokens, see);
      else
        sees ? run_picture(net, how, file, pixels, see) : run_tokens(net, how, file, tokens, see);
    });
  };
  const std::vector<double> exact = errors(true), quantised = errors(false);
  std::printf("greatest error: %16s %16s   of numbers up to\n", "rows in floats", c.exact ? "" : "as written");
  for (size_t i = 0; i < reference.size(); ++i) {
    double greatest = 0;
    for (const double number : reference[i].numbers) greatest = std::max(greatest, std::fabs(number));
    const std::string name = i + 1 == reference.size() ? "result" : "layer " + std::to_string(i);
    std::printf("%-15s %16.3g ", name.c_str(), exact[i]);
    c.exact ? std::printf("%16s", "") : std::printf("%16.3g", quantised[i]);
    std::printf("   %.4g\n", greatest);
  }
}

}  // namespace heed_compile
