// Small models and tokenizers of llama2.c's format.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_DREAMS_MODELS_HPP
#define HEED_TESTS_SUPPORT_DREAMS_MODELS_HPP

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "random.hpp"

namespace heed_test {

using bytes = std::vector<uint8_t>;

struct dreams_dims {
  int32_t dim, hidden, layers, heads, kv_heads, tokens, positions;  // negative tokens: a classifier of its own
};

template <class T>
void put(bytes &file, T number) {
  file.resize(file.size() + sizeof number);
  std::memcpy(&file[file.size() - sizeof number], &number, sizeof number);
}

inline size_t weights_of(const dreams_dims &d) {
  const size_t dim = size_t(d.dim), kv_dim = dim / size_t(d.heads) * size_t(d.kv_heads), hidden = size_t(d.hidden);
  const size_t layer = 2 * dim + 2 * dim * dim + 2 * dim * kv_dim + 3 * dim * hidden;
  return dim * size_t(std::abs(d.tokens)) * (d.tokens < 0 ? 2 : 1) + size_t(d.layers) * layer + dim +
         size_t(d.positions) * dim / size_t(d.heads);
}

// Multiples of 2^-23, small enough that no number grows out of hand.
inline bytes random_dreams(const dreams_dims &d, uint64_t seed) {
  bytes file;
  for (const int32_t n : {d.dim, d.hidden, d.layers, d.heads, d.kv_heads, d.tokens, d.positions}) put(file, n);
  random_source r(seed);
  for (size_t i = 0; i < weights_of(d); ++i) put(file, 0.5f * r.uniform());
  return file;
}

// Bytes as tokens 3 to 258, then letters, a blank, and some words; scores as sentencepiece's.
inline std::vector<std::string> small_vocabulary() {
  std::vector<std::string> words = {"<unk>", "\n<s>\n", "\n</s>\n"};
  for (int b = 0; b < 256; ++b) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", b);
    words.push_back(name);
  }
  for (const char *word : {" t", "he", " the", "th", "in", " a", "er", " there", "re", "\xc3\xa9t\xc3\xa9"})
    words.push_back(word);
  for (char c = 'a'; c <= 'z'; ++c) words.push_back(std::string(1, c));
  for (const char *word : {" ", "\xc3\xa9", "T", "."}) words.push_back(word);
  return words;
}

inline bytes tokenizer_of(const std::vector<std::string> &words) {
  bytes file;
  put(file, int32_t(16));
  for (size_t t = 0; t < words.size(); ++t) {
    put(file, t < 259 ? 0.0f : -float(t - 259));
    put(file, int32_t(words[t].size()));
    file.insert(file.end(), words[t].begin(), words[t].end());
  }
  return file;
}

}  // namespace heed_test

#endif
