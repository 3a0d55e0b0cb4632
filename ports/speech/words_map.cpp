// See words_map.hpp. SPDX-License-Identifier: MIT
#include "words_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

std::vector<placed_word> words_of(const speech_alignment &a, const std::vector<std::string> &texts) {
  std::vector<placed_word> words;
  bool open = false;
  for (int32_t t = 0; t < a.n_tokens; ++t) {
    const std::string text = size_t(t) < texts.size() ? texts[size_t(t)] : "";
    const bool has_blank = text.compare(0, 1, " ") == 0, begins = text.empty() || has_blank || !open;
    if (begins) open = !text.empty();
    if (!open) continue;
    if (begins) words.push_back({"", t, t});
    words.back().text += text.substr(has_blank);
    words.back().end = t + 1;
  }
  return words;
}

double seconds_of_row(int32_t row) { return double(row * SPEECH_ROW_SAMPLES + SPEECH_ROW_CENTRE) / SPEECH_RATE; }

namespace {

constexpr double quietest = -60.0;

// In decibels below the greatest one, of the samples in the middle of those that a row hears.
float level_of(const int16_t *samples, int32_t row) {
  const int16_t *const from = samples + row * SPEECH_ROW_SAMPLES + SPEECH_ROW_CENTRE - SPEECH_ROW_SAMPLES / 2;
  double sum = 1.0;
  for (int32_t i = 0; i < SPEECH_ROW_SAMPLES; ++i) sum += double(from[i]) * from[i];
  return float(std::max(quietest, 10.0 * std::log10(sum / SPEECH_ROW_SAMPLES) - 20.0 * std::log10(32768.0)));
}

}  // namespace

heed_map::picture words_map(const speech_alignment &a, const std::vector<placed_word> &words, const int16_t *samples,
                            double begin) {
  const int32_t n_rows = a.net->n_rows;
  heed_map::panel share;
  share.columns = {"time", {}, "s", begin + seconds_of_row(0), double(SPEECH_ROW_SAMPLES) / SPEECH_RATE};
  share.n_columns = n_rows;
  for (const placed_word &word : words) share.rows.labels.push_back(word.text);
  share.n_rows = int(words.size());
  heed_map::panel own = share;
  for (const placed_word &word : words)
    for (int32_t r = 0; r < n_rows; ++r) {
      float sum = 0.0f;
      for (int32_t t = word.first; t < word.end; ++t) sum += a.attention[t * SPEECH_ROWS + r];
      share.values.push_back(sum);
      const bool is_own = a.first[word.first] <= r && r < a.first[word.end];
      own.values.push_back(is_own ? level_of(samples, r) : std::numeric_limits<float>::quiet_NaN());
    }
  share.title = "Cross-attention of all heads and layers";
  share.quantity = "share of all words";
  own.title = "Where each word lies, and how loud it is";
  own.quantity = "level (dB)";
  own.colours = heed_map::palette::grey;
  return {"Words in the sound", "", 1, {share, own}};
}
