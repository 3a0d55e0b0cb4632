// Colours of values. SPDX-License-Identifier: MIT
#ifndef HEED_MAP_COLOURS_HPP
#define HEED_MAP_COLOURS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "map.hpp"

namespace heed_map {

struct colour {
  uint8_t red, green, blue;
};

// share: 0 to 1. Lightness rises (viridis) or falls (grey) evenly, so that also who sees no hues, and paper, tell values apart.
colour colour_of(palette colours, double share);

// One legend: all panels of a quantity.
struct scale {
  std::string quantity;
  palette colours;
  double least, greatest;  // weights begin at 0
  double share(double value) const;
};
// In the order in which the panels first have them.
std::vector<scale> scales_of(const picture &p);
const scale &scale_of(const std::vector<scale> &scales, const panel &of);

// "0.25": at most three digits that count.
std::string number_text(double x);

}  // namespace heed_map

#endif
