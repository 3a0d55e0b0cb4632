// See canvas.hpp. SPDX-License-Identifier: MIT
#include "canvas.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "letters.hpp"

namespace heed_map {
namespace {

constexpr double narrow = 0.085, high = 0.1;  // of the font's size: a step of the letters' grid
constexpr double gap = 2.3;                   // steps between letters
constexpr int baseline = 2;

// The first byte of each character of UTF-8; what follows begins with the bits 10.
bool begins(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

double distance(double x, double y, const segment &s) {
  const double dx = s.x1 - s.x0, dy = s.y1 - s.y0, length = dx * dx + dy * dy;
  const double t = length > 0.0 ? std::clamp(((x - s.x0) * dx + (y - s.y0) * dy) / length, 0.0, 1.0) : 0.0;
  return std::hypot(x - s.x0 - t * dx, y - s.y0 - t * dy);
}

}  // namespace

double text_width(const std::string &text, font f) {
  double steps = 0.0;
  for (const char c : text)
    if (begins(c)) steps += letter_of(c).width + gap;
  return (text.empty() ? 0.0 : steps - gap) * narrow * f.size;
}

canvas::canvas(int width, int height) : width_(width), height_(height) {
  constexpr int most = 64 << 20;
  if (width < 1 || height < 1 || width > most / height)
    throw std::runtime_error("the picture would have more than 64 million pixels");
  pixels_.assign(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, 255);
}

void canvas::blend(int x, int y, double cover, colour c) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  uint8_t *p = &pixels_[(static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)) * 3];
  const uint8_t from[] = {c.red, c.green, c.blue};
  for (int i = 0; i < 3; ++i) p[i] = static_cast<uint8_t>(std::lround(p[i] + (from[i] - p[i]) * cover));
}

void canvas::fill(int x0, int y0, int x1, int y1, colour c) {
  for (int y = std::max(y0, 0); y < std::min(y1, height_); ++y)
    for (int x = std::max(x0, 0); x < std::min(x1, width_); ++x) blend(x, y, 1.0, c);
}

void canvas::frame(int x0, int y0, int x1, int y1, colour c) {
  fill(x0 - 1, y0 - 1, x1 + 1, y0, c);
  fill(x0 - 1, y1, x1 + 1, y1 + 1, c);
  fill(x0 - 1, y0, x0, y1, c);
  fill(x1, y0, x1 + 1, y1, c);
}

void canvas::text(double x, double y, const std::string &text, font f, anchor a, colour c, bool upwards) {
  const double radius = f.size * (f.bold ? 0.068 : 0.045), width = text_width(text, f);
  double along = a == anchor::begin ? 0.0 : a == anchor::middle ? -width / 2 : -width;
  for (const char character : text) {
    if (!begins(character)) continue;
    const letter l = letter_of(character);
    std::vector<segment> strokes;
    double left = 1e9, top = 1e9, right = -1e9, bottom = -1e9;
    for (const segment &s : l.strokes) {
      const double u[] = {along + s.x0 * narrow * f.size, along + s.x1 * narrow * f.size};
      const double v[] = {(s.y0 - baseline) * high * f.size, (s.y1 - baseline) * high * f.size};
      segment placed = {x + u[0], y - v[0], x + u[1], y - v[1]};
      if (upwards) placed = {x - v[0], y - u[0], x - v[1], y - u[1]};
      strokes.push_back(placed);
      left = std::min({left, placed.x0, placed.x1});
      right = std::max({right, placed.x0, placed.x1});
      top = std::min({top, placed.y0, placed.y1});
      bottom = std::max({bottom, placed.y0, placed.y1});
    }
    for (int py = static_cast<int>(top - radius - 1); py <= bottom + radius + 1; ++py)
      for (int px = static_cast<int>(left - radius - 1); px <= right + radius + 1; ++px) {
        double near = 1e9;
        for (const segment &s : strokes) near = std::min(near, distance(px + 0.5, py + 0.5, s));
        if (near < radius + 0.5)
          blend(px, py, std::min(1.0, std::ceil((radius + 0.5 - near) * 6) / 6), c);  // few colours
      }
    along += (l.width + gap) * narrow * f.size;
  }
}

}  // namespace heed_map
