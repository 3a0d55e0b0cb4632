// Numbers as they are stored, and how one becomes a float (rule 22). Exact but for int8, whose scale is multiplied by
// afterwards. Integer arithmetic alone would do; no step makes a subnormal float, which some units flush.
#ifndef HEED_NUMBERS_HPP
#define HEED_NUMBERS_HPP

#include "kernel.hpp"

namespace heed {

// heed_dtype, which kernels do not know.
constexpr int32_t stored_f32 = 0, stored_f16 = 1, stored_bf16 = 2, stored_int8 = 3;

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};
// A weight with a zero point: uint8, or int8 with the sign bit flipped, which makes both numbers from 0 to 255.
struct weight_byte {
  unsigned char bits;
};
constexpr bool has_zero_point(weight_byte) { return true; }
template <class T>
constexpr bool has_zero_point(T) {
  return false;
}

HEED_INLINE float float_of_bits(uint32_t bits) {
  union {
    uint32_t bits;
    float number;
  } u = {bits};
  return u.number;
}

HEED_INLINE uint32_t bits_of_float(float x) {
  union {
    float number;
    uint32_t bits;
  } u = {x};
  return u.bits;
}

HEED_INLINE float widen(float x) { return x; }
HEED_INLINE float widen(bf16 x) { return float_of_bits(static_cast<uint32_t>(x.bits) << 16); }
HEED_INLINE float widen(int8_t x) { return static_cast<float>(x); }
HEED_INLINE float widen(weight_byte x) { return float_of_bits(x.bits); }  // a word, not its number
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
  const uint32_t rebias = 112u << 23;  // 127 - 15
  uint32_t bits = (size << 13) + rebias;
  if (size > 0x7bff) bits += rebias;  // infinity and NaN, whose exponents are the greatest
  return float_of_bits(sign | bits);
#endif
}

// Where the weight from input i to output n lies, in elements.
HEED_INLINE ptrdiff_t place_of_weight(const stored_weights &w, ptrdiff_t i, ptrdiff_t n) {
  return w.out_in ? n * w.stride + i : i * w.stride + n;
}

// One weight with a zero point, at `at`, of a column.
HEED_INLINE int32_t flip_of(const stored_weights &w) { return w.is_uint8 ? 0 : 0x80; }
HEED_INLINE int32_t zero_of(const stored_weights &w, int32_t column) {
  if (w.one_scale) column = 0;
  return at_or_zero(w.zeros, column) ^ flip_of(w);
}
HEED_INLINE float scale_of(const stored_weights &w, int32_t column) { return w.scales[w.one_scale ? 0 : column]; }
static inline float byte_at(const stored_weights &w, ptrdiff_t at, int32_t column) {
  const int32_t number = static_cast<const unsigned char *>(w.data)[at] ^ flip_of(w);
  return static_cast<float>(number - zero_of(w, column)) * scale_of(w, column);
}

// Narrowing rounds to nearest even. Adding just less than half of the last place that stays, and 1 more where that
// place is odd, does so; what overflows carries into the exponent, up to infinity. Only int8 have a scale. Static, as
// all that kernels include: a weak copy compiled with AVX would crash an older processor.
static inline bool is_not_a_number(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }
static inline void narrow(float x, float, float &to) { to = x; }
static inline void narrow(float x, float, bf16 &to) {
  const uint32_t bits = bits_of_float(x);
  const uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
  const uint32_t of_32 = is_not_a_number(bits) ? bits | 0x400000 : rounded;
  to.bits = static_cast<uint16_t>(of_32 >> 16);
}
static inline void narrow(float x, float, f16 &to) {
  const uint32_t bits = bits_of_float(x), size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
  uint32_t half;
  if (is_not_a_number(bits)) {
    half = 0x7e00;
  } else if (size >= 0x47800000) {  // 65536 and more
    half = 0x7c00;
  } else if (size >= 0x38800000) {  // normal: from 2^-14 on. What rounds up to 65536 carries into infinity.
    half = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
  } else if (size < 0x33000000) {  // less than 2^-25
    half = 0;
  } else {  // a multiple of 2^-24: the fraction shifted, and rounded in the same way
    const uint32_t shift = 126 - (size >> 23), fraction = (size & 0x7fffff) | 0x800000;
    half = (fraction + (1u << (shift - 1)) - 1 + (fraction >> shift & 1)) >> shift;
  }
  to.bits = static_cast<uint16_t>(sign | half);
}
// x / scale, to an integer by the sum with 1.5 * 2^23; at most 127, which a subnormal scale could exceed (by half).
// Integers are compared, which compilers vectorise.
static inline void narrow(float x, float scale, int8_t &to) {
  const float quotient = scale == 0.0f ? 0.0f : x / scale;
  const int32_t n = static_cast<int32_t>(bits_of_float(quotient + 12582912.0f)) - 0x4b400000;
  to = static_cast<int8_t>(smaller_of(larger_of(n, -127), 127));
}

// The scale of an int8 row whose greatest magnitude is `greatest`. That of the greatest float is rounded down: 127 times
// the nearest quotient would be infinite.
static inline float int8_scale(float greatest) {
  const float scale = greatest / 127.0f;
  return scale > 0x1.020406p+121f ? 0x1.020406p+121f : scale;
}

// f(T()) for the type of a format's numbers.
template <class F>
HEED_INLINE auto with_narrow_format(int32_t dtype, F f) {
  if (dtype == stored_f16) return f(f16());
  if (dtype == stored_bf16) return f(bf16());
  return f(int8_t());
}
template <class F>
HEED_INLINE auto with_format(int32_t dtype, F f) {
  return dtype == stored_f32 ? f(float()) : with_narrow_format(dtype, f);
}

// Plain loops: the truth of what kernels do in registers. scale: of int8 alone.
template <class T>
static inline void narrow_numbers(const float *x, int32_t n, float scale, T *y) {
  for (int32_t i = 0; i < n; i++) narrow(x[i], scale, y[i]);
}
// Bits of the greatest magnitude of x, or `greatest`; those of infinity or NaN if one is not finite.
static inline uint32_t greatest_magnitude(const float *x, int32_t n, uint32_t greatest = 0) {
  for (int32_t i = 0; i < n; i++) {
    const uint32_t size = bits_of_float(x[i]) & 0x7fffffff;
    greatest = larger_of(size, greatest);
  }
  return greatest;
}

}  // namespace heed

#endif
