// Frequencies of rotary embedding in integers alone, the same everywhere: turns for a position as fractions of 2^64.
// base^(-2 i / d) = 2^-(log2(base) * i / (d / 2)). Of 16 pairs the first is computed so; the next ones are products
// with base^(-2 / d). Errors below are absolute, in 2^-64: 2 for the logarithm, the first and the factor, 1 for each
// product, and all of it times 1 / (2 pi) and scale: within 2^-60 of a turn for a scale of 1.
#ifndef HEED_FREQUENCIES_HPP
#define HEED_FREQUENCIES_HPP

#include "../kernel_contract/row_steps.hpp"
#include "heed/heed.h"

namespace heed {
namespace {

// The upper half of a product, rounded down.
[[maybe_unused]] constexpr uint64_t high_product(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
  __extension__ typedef unsigned __int128 uint128;
  return static_cast<uint64_t>(static_cast<uint128>(a) * b >> 64);
#else
  const uint64_t a0 = static_cast<uint32_t>(a), a1 = a >> 32, b0 = static_cast<uint32_t>(b), b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + static_cast<uint32_t>(middle);
  return a1 * b1 + (middle >> 32) + (other >> 32);
#endif
}

// mantissa * 2^(exponent - 63), the mantissa's highest bit set; 0 of what is too small to matter.
struct wide_float {
  uint64_t mantissa;
  int32_t exponent;
  bool negative;
};
[[maybe_unused]] wide_float wide_float_of(float x) {
  union {
    float number;
    uint32_t bits;
  } u = {x};
  const auto biased = static_cast<int32_t>(u.bits >> 23 & 255);
  if (biased == 0) return {0, 0, false};
  return {static_cast<uint64_t>((u.bits & 0x7fffff) | 0x800000) << 40, biased - 127, (u.bits >> 31) != 0};
}

// a * b as a fraction of a turn, in 2^-64.
[[maybe_unused]] uint64_t turns_of(const wide_float &a, const wide_float &b) {
  const int32_t shift = a.exponent + b.exponent + 2;  // of the mantissas' upper half
  const uint64_t product = high_product(a.mantissa, b.mantissa);
  uint64_t turns = 0;
  if (shift >= 0)
    turns = product << shift;
  else if (shift > -64)
    turns = product >> -shift;
  return a.negative != b.negative ? 0 - turns : turns;
}

// scale / (2 pi)
[[maybe_unused]] wide_float turns_of_scale(float scale) {
  constexpr uint64_t one_over_2pi = 0xa2f9836e4e44152a;  // times 2^-66
  const wide_float s = wide_float_of(scale);
  const uint64_t product = high_product(s.mantissa, one_over_2pi);
  if (product >> 63) return {product, s.exponent - 2, s.negative};
  return {product << 1, s.exponent - 3, s.negative};
}

// Integer and fraction, in 2^-64.
struct fixed_point {
  uint32_t whole;
  uint64_t fraction;
};

// Of a number > 1. Squaring doubles the logarithm: each square tells a bit of it.
[[maybe_unused]] constexpr fixed_point log2_of(const wide_float &w) {
  fixed_point result = {static_cast<uint32_t>(w.exponent), 0};
  uint64_t m = w.mantissa;  // 1 to 2, in 2^-63
  for (int bit = 63; bit >= 0; bit--) {
    m = high_product(m, m);
    const bool two = m >> 63;
    result.fraction |= static_cast<uint64_t>(two) << bit;
    if (!two) m <<= 1;
  }
  return result;
}

// x * i / n; i < n
[[maybe_unused]] fixed_point fraction_of(const fixed_point &x, uint32_t i, uint32_t n) {
  const uint64_t low = static_cast<uint64_t>(static_cast<uint32_t>(x.fraction)) * i;
  const uint64_t high = (x.fraction >> 32) * i + (low >> 32), whole = static_cast<uint64_t>(x.whole) * i + (high >> 32);
  const uint64_t first = whole % n << 32 | static_cast<uint32_t>(high);
  const uint64_t second = first % n << 32 | static_cast<uint32_t>(low);
  return {static_cast<uint32_t>(whole / n), first / n << 32 | second / n};
}

// The paper's base, known before the program runs: 64 squares, one after another, take longer than all else here.
constexpr float paper_base = 10000.0f;
constexpr fixed_point log2_of_paper_base = log2_of({static_cast<uint64_t>(10000) << 50, 13, false});

// 1 / k! in 2^-64; 1 itself is one too small.
struct factorials {
  static constexpr int n = 20;
  uint64_t inverse[n] = {};
  constexpr factorials() {
    uint64_t product = 1;
    for (int k = 0; k < n; k++) {
      if (k > 0) product *= static_cast<uint64_t>(k);
      inverse[k] = ~static_cast<uint64_t>(0) / product;
    }
  }
};

// 2^-x in 2^-64: the series of exp(-y), y = fraction * ln 2, from its end.
[[maybe_unused]] uint64_t power_of_half(const fixed_point &x) {
  static constexpr factorials series;
  constexpr uint64_t ln2_bits = 0xb17217f7d1cf79ac;
  if (x.whole > 63) return 0;
  const uint64_t y = high_product(x.fraction, ln2_bits);
  uint64_t sum = series.inverse[factorials::n - 1];
  for (int k = factorials::n - 2; k >= 0; k--) sum = series.inverse[k] - high_product(sum, y);
  return sum >> x.whole;
}

// What all frequencies of a call are made from.
struct frequency_source {
  const float *given;  // in radians, or null
  wide_float scale;
  fixed_point log2_base;
  uint32_t n_pairs;
};
[[maybe_unused]] HEED_NOINLINE frequency_source source_of(const heed_rope &rope, int32_t rotary_dim) {
  const bool needs_logarithm = !rope.inverse_frequencies && rope.base != paper_base;
  const fixed_point log2_base = needs_logarithm ? log2_of(wide_float_of(rope.base)) : log2_of_paper_base;
  return {rope.inverse_frequencies, turns_of_scale(rope.scale), log2_base, static_cast<uint32_t>(rotary_dim / 2)};
}

// Pairs first to first + n - 1.
[[maybe_unused]] HEED_NOINLINE void make_frequencies(const frequency_source &s, int32_t first, int32_t n,
                                                     uint64_t *frequencies) {
  if (s.given) {
    for (int32_t i = 0; i < n; i++) frequencies[i] = turns_of(wide_float_of(s.given[first + i]), s.scale);
    return;
  }
  uint64_t power = first == 0 ? ~static_cast<uint64_t>(0)  // what the series gives, too
                              : power_of_half(fraction_of(s.log2_base, static_cast<uint32_t>(first), s.n_pairs));
  const uint64_t factor = n > 1 ? power_of_half(fraction_of(s.log2_base, 1, s.n_pairs)) : 0;
  for (int32_t i = 0; i < n; i++) {
    frequencies[i] = turns_of({power, -1, false}, s.scale);
    power = high_product(power, factor);
  }
}

}  // namespace
}  // namespace heed

#endif
