// Narrow numbers by arithmetic in double, an implementation apart from the library's. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_NUMBERS_HPP
#define HEED_TESTS_SUPPORT_NUMBERS_HPP

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "floats.hpp"
#include "heed/heed.h"

namespace heed_test {

constexpr int32_t formats[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8};
inline std::string format_name(int32_t dtype) {
  static const char *const names[] = {"f32", "f16", "bf16", "int8", "q8_0", "q4_0", "int16", "uint8"};
  return names[dtype];
}

// A number of `fraction_bits` and `exponent_bits` as a double.
inline double number_of(uint16_t bits, int fraction_bits, int exponent_bits) {
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1), fraction = bits & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}
inline double f16_number(uint16_t bits) { return number_of(bits, 10, 5); }
inline double bf16_number(uint16_t bits) { return number_of(bits, 7, 8); }

// The nearest number that has so many bits, ties to the even one, by rounding a quotient.
inline double rounded(double x, int fraction_bits, int exponent_bits) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = std::max(std::ilogb(x), 1 - bias);
  const double step = std::ldexp(1.0, exponent - fraction_bits);
  const double y = std::nearbyint(x / step) * step;
  const double greatest = std::ldexp(2.0 - std::ldexp(1.0, -fraction_bits), bias);
  return std::fabs(y) > greatest ? std::copysign(HUGE_VAL, x) : y;
}

// Numbers of any format as they lie in memory, and as floats.
struct stored_numbers {
  int32_t dtype;
  std::vector<unsigned char> bytes;
  float at(size_t i) const {
    if (dtype == HEED_INT8) return static_cast<float>(static_cast<int8_t>(bytes[i]));
    if (dtype == HEED_F32) {
      float x;
      std::memcpy(&x, &bytes[4 * i], 4);
      return x;
    }
    uint16_t bits;
    std::memcpy(&bits, &bytes[2 * i], 2);
    return static_cast<float>(dtype == HEED_F16 ? f16_number(bits) : bf16_number(bits));
  }
};

}  // namespace heed_test

#endif
