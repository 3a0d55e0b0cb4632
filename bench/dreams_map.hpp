// What a language model attends to in a text. SPDX-License-Identifier: MIT
#ifndef HEED_BENCH_DREAMS_MAP_HPP
#define HEED_BENCH_DREAMS_MAP_HPP

#include <vector>

#include "dreams.h"
#include "map.hpp"

constexpr int32_t most_map_tokens = 24;  // labels of more would be too small to read

// A panel for each layer and head: the weights that each token has for those before it and for itself. The first n_prompt tokens were
// given. Throws std::runtime_error.
heed_map::picture dreams_attention(dreams &net, const dreams_words &words, const std::vector<int32_t> &tokens,
                                   size_t n_prompt);

#endif
