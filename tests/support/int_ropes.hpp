// Tables of rotary embedding in integers, from angles in double precision. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_INT_ROPES_HPP
#define HEED_TESTS_SUPPORT_INT_ROPES_HPP

#include <cmath>
#include <utility>
#include <vector>

#include "heed/int_rows.h"

namespace heed_test {

// By the words of the header alone.
class int_rope_table {
 public:
  int_rope_table(int32_t n_positions, int32_t rotary_dim, int32_t style, double base = 10000) : base_(base) {
    for (int32_t t = 0; t < n_positions; ++t)
      for (int32_t i = 0; i < rotary_dim; ++i) {
        const double angle = angle_of(t, i % (rotary_dim / 2), rotary_dim);
        numbers_.push_back(int16_t(std::lround(16384 * (i < rotary_dim / 2 ? std::cos(angle) : std::sin(angle)))));
      }
    rope_ = {numbers_.data(), n_positions, rotary_dim, style};
  }
  int_rope_table(const int_rope_table &) = delete;
  int_rope_table &operator=(const int_rope_table &) = delete;
  const heed_int_rope *get() const { return &rope_; }
  // Where pair i has its two elements.
  std::pair<size_t, size_t> elements(int32_t i) const {
    const auto k = size_t(i), half = size_t(rope_.rotary_dim / 2);
    return rope_.style == HEED_ROPE_HALVES ? std::make_pair(k, k + half) : std::make_pair(2 * k, 2 * k + 1);
  }
  // A head of real numbers, turned by its position.
  void rotate(double *head, int32_t position) const {
    for (int32_t i = 0; i < rope_.rotary_dim / 2; ++i) {
      const auto at = elements(i);
      const double angle = angle_of(position, i, rope_.rotary_dim), c = std::cos(angle), s = std::sin(angle),
                   a = head[at.first], b = head[at.second];
      head[at.first] = a * c - b * s, head[at.second] = a * s + b * c;
    }
  }

 private:
  double angle_of(int32_t position, int32_t pair, int32_t rotary_dim) const {
    return position * std::pow(base_, -2.0 * pair / rotary_dim);
  }
  double base_;
  std::vector<int16_t> numbers_;
  heed_int_rope rope_;
};

}  // namespace heed_test

#endif
