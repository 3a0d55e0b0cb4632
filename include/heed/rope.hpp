// heed for C++17: rotary embedding of arrays of known shapes. Include heed.hpp; rope.h says what it does.
// SPDX-License-Identifier: MIT
#ifndef HEED_HEED_ROPE_HPP
#define HEED_HEED_ROPE_HPP

#include "types.hpp"

namespace heed {

class rope {
 public:
  explicit rope(heed_rope_style style) noexcept { heed_rope_init(&c_, style); }
  rope &base(float x) noexcept {
    c_.base = x;
    return *this;
  }
  rope &scale(float x) noexcept {
    c_.scale = x;
    return *this;
  }
  rope &rotary_dim(int32_t n) noexcept {
    c_.rotary_dim = n;
    return *this;
  }
  // Turns 2 Pairs elements by these; the array stays the caller's.
  template <int Pairs>
  rope &inverse_frequencies(const float (&radians)[Pairs]) noexcept {
    c_.inverse_frequencies = radians;
    return rotary_dim(2 * Pairs);
  }

  // Arrays (token, head, dim), tokens from `position` on, or at positions of their own. y may be x.
  template <int N, int Heads, int D>
  status apply(const float (&x)[N][Heads][D], int32_t position, float (&y)[N][Heads][D]) const noexcept {
    return heed_rope_apply(&c_, heed_token_major(x[0][0], N, Heads, D), N, Heads, D, position, nullptr,
                           heed_token_major_out(y[0][0], N, Heads, D), nullptr);
  }
  template <int N, int Heads, int D>
  status apply(const float (&x)[N][Heads][D], const int32_t (&positions)[N], float (&y)[N][Heads][D]) const noexcept {
    return heed_rope_apply(&c_, heed_token_major(x[0][0], N, Heads, D), N, Heads, D, 0, positions,
                           heed_token_major_out(y[0][0], N, Heads, D), nullptr);
  }

  const heed_rope *c_rope() const noexcept { return &c_; }  // for the functions of heed.h

 private:
  heed_rope c_;
};

}  // namespace heed

#endif
