// Numbers as they are stored, and how one becomes a float (rule 16). Exact but for int8, whose scale is multiplied by
// afterwards. Integer arithmetic alone would do; no step makes a subnormal float, which some units flush.
#ifndef HEED_NUMBERS_HPP
#define HEED_NUMBERS_HPP

#include "kernel.hpp"

namespace heed {

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

HEED_INLINE float float_of_bits(uint32_t bits) {
  union {
    uint32_t bits;
    float number;
  } u = {bits};
  return u.number;
}

HEED_INLINE float widen(float x) { return x; }
HEED_INLINE float widen(bf16 x) { return float_of_bits(static_cast<uint32_t>(x.bits) << 16); }
HEED_INLINE float widen(int8_t x) { return static_cast<float>(x); }
HEED_INLINE float widen(f16 x) {
#if defined(__ARM_FP16_FORMAT_IEEE) && defined(__ARM_FP) && (__ARM_FP & 2) && !defined(__ARM_FEATURE_MVE)
  __fp16 half;  // one instruction; not where vectors of them are: Debian's assembler 2.40 confuses the two
  __builtin_memcpy(&half, &x, sizeof half);
  return half;
#else
  const uint32_t size = x.bits & 0x7fff, sign = static_cast<uint32_t>(x.bits & 0x8000) << 16;
  if (size < 0x400) {  // size * 2^-24
    const float small = static_cast<float>(static_cast<int32_t>(size)) * 0x1p-24f;
    return sign ? -small : small;
  }
  const uint32_t rebias = 112u << 23;  // 127 - 15; again for infinity and NaN, whose exponents are the greatest
  return float_of_bits(sign | ((size << 13) + rebias + (size > 0x7bff ? rebias : 0)));
#endif
}

}  // namespace heed

#endif
