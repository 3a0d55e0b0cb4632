// A picture as lines of text. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "colours.hpp"
#include "map.hpp"

namespace heed_map {
namespace {

constexpr char shades[] = " .:-=+*#%@";

std::string block(palette colours, double share, int width, bool coloured) {
  if (!coloured) {
    const int last = static_cast<int>(sizeof shades) - 2;
    return std::string(static_cast<size_t>(width),
                       shades[std::clamp(static_cast<int>(std::lround(share * last)), 0, last)]);
  }
  const colour c = colour_of(colours, share);
  return "\033[48;2;" + std::to_string(c.red) + ";" + std::to_string(c.green) + ";" + std::to_string(c.blue) + "m" +
         std::string(static_cast<size_t>(width), ' ') + "\033[0m";
}

// Exactly so many characters, what is too long cut off.
std::string fit(const std::string &text, size_t n, bool right) {
  size_t characters = 0, bytes = 0;
  while (bytes < text.size() && (characters < n || (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80))
    characters += (static_cast<unsigned char>(text[bytes++]) & 0xc0) != 0x80;
  const std::string blanks(n - characters, ' ');
  return right ? blanks + text.substr(0, bytes) : text.substr(0, bytes) + blanks;
}

std::string label_of(const axis &a, int i) {
  return a.labels.empty() ? number_text(a.first + a.step * i) : a.labels[static_cast<size_t>(i)];
}

// Wide matrices have one character a value, and every few columns a number.
std::string panel_text(const panel &p, const scale &s, bool coloured) {
  const bool numbers = p.columns.labels.empty();
  const int width = numbers ? (p.n_columns > 60 ? 1 : 2) : p.n_columns > 16 ? 3 : 6;
  size_t labels = 6;
  for (const std::string &label : p.rows.labels) labels = std::max(labels, std::min<size_t>(label.size(), 16));
  std::string text = p.title.empty() ? "" : p.title + "\n";
  text += fit("", labels, true) + " ";
  if (numbers) {
    const int every = 12 / width;
    for (int j = 0; j < p.n_columns; j += every)
      text += fit(label_of(p.columns, j), static_cast<size_t>(width * std::min(every, p.n_columns - j)), false);
  } else {
    for (int j = 0; j < p.n_columns; ++j)
      text += fit(p.columns.labels[static_cast<size_t>(j)], static_cast<size_t>(width - 1), false) + " ";
  }
  text += (p.columns.unit.empty() ? "" : " " + p.columns.unit) + std::string("\n");
  for (int line = 0; line < p.n_rows; ++line) {
    const int i = p.rows.labels.empty() ? p.n_rows - 1 - line : line;
    text += fit(label_of(p.rows, i), labels, true) + " ";
    for (int j = 0; j < p.n_columns; ++j) {
      const float value = p.values[static_cast<size_t>(i) * static_cast<size_t>(p.n_columns) + static_cast<size_t>(j)];
      text += std::isnan(value) ? std::string(static_cast<size_t>(width), ' ')
                                : block(p.colours, s.share(value), width, coloured);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string blocks(const picture &p, bool coloured) {
  check(p);
  const std::vector<scale> scales = scales_of(p);
  std::string text;
  for (const std::string &line : {p.title, p.note})
    if (!line.empty()) text += line + "\n";
  for (const panel &of : p.panels) text += "\n" + panel_text(of, scale_of(scales, of), coloured);
  for (const scale &s : scales) {
    text += "\n" + s.quantity + " " + number_text(s.least) + " ";
    for (int i = 0; i < 20; ++i) text += block(s.colours, i / 19.0, 1, coloured);
    text += " " + number_text(s.greatest) + "\n";
  }
  return text;
}

}  // namespace heed_map
