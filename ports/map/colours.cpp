// See colours.hpp. SPDX-License-Identifier: MIT
#include "colours.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace heed_map {
namespace {

// Eight of the 256 values of viridis, evenly spaced; between them straight lines.
// Source: N. Smith, S. van der Walt, E. Firing 2015, CC0, https://bids.github.io/colormap.
const colour viridis[] = {{0x44, 0x01, 0x54}, {0x46, 0x32, 0x7e}, {0x36, 0x5c, 0x8d}, {0x27, 0x7f, 0x8e},
                          {0x1f, 0xa1, 0x87}, {0x4a, 0xc1, 0x6d}, {0xa0, 0xda, 0x39}, {0xfd, 0xe7, 0x25}};
const colour grey[] = {{0xff, 0xff, 0xff}, {0x00, 0x00, 0x00}};

uint8_t between(uint8_t a, uint8_t b, double t) { return static_cast<uint8_t>(std::lround(a + (b - a) * t)); }

}  // namespace

colour colour_of(palette colours, double share) {
  const bool is_grey = colours == palette::grey;
  const colour *stops = is_grey ? grey : viridis;
  const int n = is_grey ? 2 : 8;
  // So many steps, which the eye does not tell apart, keep a picture within the 256 colours of a small file.
  const int steps = is_grey ? 47 : 95;
  const double at = std::lround(std::clamp(share, 0.0, 1.0) * steps) * (n - 1.0) / steps;
  const int i = std::min(static_cast<int>(at), n - 2);
  const colour a = stops[i], b = stops[i + 1];
  return {between(a.red, b.red, at - i), between(a.green, b.green, at - i), between(a.blue, b.blue, at - i)};
}

double scale::share(double value) const { return greatest > least ? (value - least) / (greatest - least) : 0.0; }

std::vector<scale> scales_of(const picture &p) {
  std::vector<scale> all;
  for (const panel &of : p.panels) {
    auto s = std::find_if(all.begin(), all.end(), [&](const scale &x) { return x.quantity == of.quantity; });
    if (s == all.end()) s = all.insert(s, {of.quantity, of.colours, HUGE_VAL, -HUGE_VAL});
    for (const float value : of.values) {
      if (std::isnan(value)) continue;
      s->least = std::min(s->least, static_cast<double>(value));
      s->greatest = std::max(s->greatest, static_cast<double>(value));
    }
  }
  for (scale &s : all) {
    if (s.greatest < s.least) s.least = s.greatest = 0.0;  // no value at all
    if (s.colours == palette::viridis && s.least >= 0.0) s.least = 0.0;
  }
  return all;
}

const scale &scale_of(const std::vector<scale> &scales, const panel &of) {
  for (const scale &s : scales)
    if (s.quantity == of.quantity) return s;
  throw std::runtime_error("a panel has no scale");
}

std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

}  // namespace heed_map
