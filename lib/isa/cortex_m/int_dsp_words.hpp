// Words of two numbers of 16 bits, which SMLAD multiplies.
#ifndef HEED_ISA_INT_DSP_WORDS_HPP
#define HEED_ISA_INT_DSP_WORDS_HPP

#include "../../integer_steps/plain.hpp"

#include <arm_acle.h>

namespace heed {
namespace {
namespace dsp {

// Four bytes, or the `left` that there are, and zeros.
HEED_INLINE uint32_t four(const int8_t *p, int32_t left) {
  uint32_t word = 0;
  if (left >= 4)
    __builtin_memcpy(&word, p, 4);
  else
    for (int32_t i = 0; i < left; i++) word |= static_cast<uint32_t>(static_cast<uint8_t>(p[i])) << (8 * i);
  return word;
}
HEED_INLINE uint32_t even(uint32_t bytes) { return static_cast<uint32_t>(__sxtb16(bytes)); }
HEED_INLINE uint32_t odd(uint32_t bytes) {  // no compiler turns them on the way
  uint32_t halves;
  asm("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(bytes));
  return halves;
}
// The lower halves of two words, and the upper ones.
HEED_INLINE uint32_t lower(uint32_t a, uint32_t b) {
  uint32_t both;
  asm("pkhbt %0, %1, %2, lsl #16" : "=r"(both) : "r"(a), "r"(b));
  return both;
}
HEED_INLINE uint32_t upper(uint32_t a, uint32_t b) {
  uint32_t both;
  asm("pkhtb %0, %1, %2, asr #16" : "=r"(both) : "r"(b), "r"(a));
  return both;
}
HEED_INLINE int32_t add_products(uint32_t a, uint32_t b, int32_t c) {
  return __smlad(static_cast<int16x2_t>(a), static_cast<int16x2_t>(b), c);
}

// Four bytes, widened, each plus a half of `add`.
HEED_INLINE void widen(uint32_t bytes, uint32_t add, uint32_t *to) {
  asm("sxtab16 %0, %1, %2" : "=r"(to[0]) : "r"(add), "r"(bytes));
  asm("sxtab16 %0, %1, %2, ror #8" : "=r"(to[1]) : "r"(add), "r"(bytes));
}

// Four columns of two keys: a word of each.
HEED_INLINE void transpose(const int8_t *a, const int8_t *b, int32_t left, uint32_t (&out)[4]) {
  const uint32_t x = four(a, left), y = four(b, left), first = lower(x, y), last = upper(x, y);
  out[0] = even(first);
  out[1] = odd(first);
  out[2] = even(last);
  out[3] = odd(last);
}

}  // namespace dsp
}  // namespace
}  // namespace heed

#endif
