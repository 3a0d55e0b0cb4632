#include "root.hpp"

namespace heed {

// In integers alone, for units without the instruction.
float integer_root(float x) {
  union {
    float number;
    uint32_t bits;
  } u = {x};
  if (x == 0.0f || u.bits == 0x7f800000) return x;
  if (u.bits > 0x7f800000) return __builtin_nanf("");  // NaN, or negative
  const bool small = u.bits < 0x800000;                // subnormal
  if (small) u.number = x * 0x1p64f;
  const uint32_t biased = u.bits >> 23;
  // x = scaled * 2^(exponent - shift), an even power, scaled in [2^48, 2^50)
  const int32_t exponent = static_cast<int32_t>(biased) - 127 - 23;
  const int32_t shift = exponent % 2 == 0 ? 26 : 25;
  const uint64_t scaled = static_cast<uint64_t>((u.bits & 0x7fffff) | 0x800000) << shift;
  uint32_t root = 0;  // bit by bit: 25 of them, one more than a float has, so that adding 1 rounds it
  for (uint32_t bit = 1u << 24; bit != 0; bit >>= 1)
    if (static_cast<uint64_t>(root + bit) * (root + bit) <= scaled) root += bit;
  u.bits = static_cast<uint32_t>(127 + 1 + (exponent - shift) / 2) << 23;
  return static_cast<float>((root + 1) >> 1) * u.number * (small ? 0x1p-32f : 1.0f);
}

float default_scale(int32_t dim) { return 1.0f / square_root(static_cast<float>(dim)); }

}  // namespace heed
