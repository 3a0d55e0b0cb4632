// Letters made of strokes, for any size and direction. SPDX-License-Identifier: MIT
#ifndef HEED_MAP_LETTERS_HPP
#define HEED_MAP_LETTERS_HPP

#include <vector>

namespace heed_map {

// On a grid where letters stand on 2, small ones reach up to 7, capital ones to 9, and tails down to 0.
struct segment {
  double x0, y0, x1, y1;
};
struct letter {
  double width;
  std::vector<segment> strokes;
};
letter letter_of(char c);  // beyond ASCII: an empty box

}  // namespace heed_map

#endif
