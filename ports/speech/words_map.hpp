// Where the words of a text lie in the sound: as lines, and as a picture. SPDX-License-Identifier: MIT
#ifndef HEED_WORDS_MAP_HPP
#define HEED_WORDS_MAP_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "map.hpp"
#include "speech_align.h"

// A word and the tokens that it is made of, up to `end`.
struct placed_word {
  std::string text;
  int32_t first, end;
};

// The words of a piece whose alignment is finished: one begins with a blank, or with the text. texts: of its tokens; the end has none.
std::vector<placed_word> words_of(const speech_alignment &a, const std::vector<std::string> &texts);

// Seconds from the beginning of the piece to a row of the encoder.
double seconds_of_row(int32_t row);

// Two panels over time: the share of each word in what is attended to, and the level of the sound in the rows that it got.
// The piece begins after `begin` seconds.
heed_map::picture words_map(const speech_alignment &a, const std::vector<placed_word> &words, const int16_t *samples,
                            double begin);

#endif
