// An image in memory, and letters made of strokes. SPDX-License-Identifier: MIT
#ifndef HEED_MAP_CANVAS_HPP
#define HEED_MAP_CANVAS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "colours.hpp"

namespace heed_map {

// Where in a text its point lies: its beginning, middle or end, on the line on which letters stand.
enum class anchor { begin, middle, end };

struct font {
  double size;  // pixels; capital letters have 7/10 of it
  bool bold;
};

// Pixels of a text, which is UTF-8; characters beyond ASCII are empty boxes.
double text_width(const std::string &text, font f);

class canvas {
 public:
  canvas(int width, int height);  // white
  int width() const { return width_; }
  int height() const { return height_; }
  const uint8_t *pixels() const { return pixels_.data(); }  // (height, width, 3)

  // Pixels x0 to x1 - 1, y0 to y1 - 1.
  void fill(int x0, int y0, int x1, int y1, colour c);
  void frame(int x0, int y0, int x1, int y1, colour c);  // one pixel around them
  // upwards: turned by 90 degrees, read from below.
  void text(double x, double y, const std::string &text, font f, anchor a, colour c, bool upwards = false);

 private:
  void blend(int x, int y, double cover, colour c);
  int width_, height_;
  std::vector<uint8_t> pixels_;
};

}  // namespace heed_map

#endif
