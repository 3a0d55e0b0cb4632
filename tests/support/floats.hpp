// Comparing floats bit by bit. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FLOATS_HPP
#define HEED_TESTS_SUPPORT_FLOATS_HPP

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace heed_test {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float least_subnormal = 0x1p-149f, greatest_subnormal = 0x1.fffffcp-127f;

// What the tests write into places that nobody may read (a NaN: it would show) or write (a NaN with another payload).
constexpr uint32_t unread_bits = 0x7fc0dead;
constexpr uint32_t unwritten_bits = 0x7fc0beef;

// 32-bit Arm vector units flush subnormals always; the contract ends there.
#if defined(__arm__)
constexpr bool flushes_subnormals = true;
#else
constexpr bool flushes_subnormals = false;
#endif

inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Equal bits; any two NaN are equal, because payloads and signs of NaN are outside the contract.
inline bool same_float(float a, float b) { return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b)); }

inline ::testing::AssertionResult same_bits(const std::vector<float> &expected, const std::vector<float> &actual) {
  if (expected.size() != actual.size())
    return ::testing::AssertionFailure() << expected.size() << " floats expected, " << actual.size() << " found";
  size_t n_different = 0, first = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    if (!same_float(expected[i], actual[i]) && n_different++ == 0) first = i;
  if (n_different == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << n_different << " of " << expected.size() << " floats differ, the first at "
                                       << first << ": expected " << std::hexfloat << expected[first] << ", found "
                                       << actual[first] << std::defaultfloat;
}

inline std::vector<float> part_of(const std::vector<float> &all, size_t first, size_t count) {
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

}  // namespace heed_test

#endif
