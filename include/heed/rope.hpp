// heed for C++17: rotary embedding of arrays of known shapes. Include heed.hpp; rope.h says what it does.
// SPDX-License-Identifier: MIT
#ifndef HEED_HEED_ROPE_HPP
#define HEED_HEED_ROPE_HPP

#include "types.hpp"

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // GCC finds one where an int is the bound of an array
#endif

namespace heed {

// A rotary embedding: heed_rope.
class rope {
 public:
  // Rotates all elements of a head, with base 10000, scale 1 and factor 1.
  explicit rope(heed_rope_style style) noexcept { heed_rope_init(&c_, style); }
  // These set a field of heed_rope.
  rope &base(float x) noexcept {
    c_.base = x;
    return *this;
  }
  rope &scale(float x) noexcept {
    c_.scale = x;
    return *this;
  }
  rope &factor(float x) noexcept {
    c_.factor = x;
    return *this;
  }
  rope &rotary_dim(int32_t n) noexcept {
    c_.rotary_dim = n;
    return *this;
  }
  // Rotates 2 * Pairs elements of a head by these frequencies. The object keeps a pointer to the array.
  template <int Pairs>
  rope &inverse_frequencies(const float (&radians)[Pairs]) noexcept {
    c_.inverse_frequencies = radians;
    return rotary_dim(2 * Pairs);
  }

  // Rotates an array (token, head, dim). The tokens have the positions from `position` on, or positions of their own. y
  // may be x.
  template <int N, int Heads, int D>
  status apply(const float (&x)[N][Heads][D], int64_t position, float (&y)[N][Heads][D]) const noexcept {
    return heed_rope_apply(&c_, heed_token_major(x[0][0], N, Heads, D), N, Heads, D, position, nullptr,
                           heed_token_major_out(y[0][0], N, Heads, D), nullptr);
  }
  template <int N, int Heads, int D>
  status apply(const float (&x)[N][Heads][D], const int32_t (&positions)[N], float (&y)[N][Heads][D]) const noexcept {
    return heed_rope_apply(&c_, heed_token_major(x[0][0], N, Heads, D), N, Heads, D, 0, positions,
                           heed_token_major_out(y[0][0], N, Heads, D), nullptr);
  }

  // For the functions of heed.h.
  const heed_rope *c_rope() const noexcept { return &c_; }
  // The same, where a function of heed.h takes a rope.
  operator const heed_rope *() const noexcept { return &c_; }

 private:
  heed_rope c_;
};

}  // namespace heed

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif
