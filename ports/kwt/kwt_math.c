/* See kwt_math.h. SPDX-License-Identifier: MIT */
#include "kwt_math.h"

#include <float.h>

#include "kwt_weights.h"

#ifdef __FAST_MATH__
#error "KWT promises the same bits everywhere: compile without -ffast-math"
#endif
/* 16 concerns _Float16 alone. The x87 evaluates in 80 bits: compile with -msse2 -mfpmath=sse. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "KWT promises the same bits everywhere: float expressions must be evaluated in float"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

typedef union pun {
  float number;
  uint32_t bits;
} pun;

static inline uint32_t bits_of(float x) {
  const pun p = {.number = x};
  return p.bits;
}

static inline float float_of(uint32_t bits) {
  const pun p = {.bits = bits};
  return p.number;
}

/* cos and sin of n turns in 512 are those of 512 - n, and those of 256 - n, up to a sign, which depends on whether the
 * bin is even. At 0, 128 and 256, which have no partner, the others' part is 0. */
void kwt_fold(const float *frame, float *folded, int32_t n_frames) {
  enum { half = KWT_PERIOD / 2, quarter = KWT_PERIOD / 4 };
  float *cos_even = folded, *cos_odd = cos_even + n_frames * KWT_FOLD, *sin_even = cos_odd + n_frames * KWT_FOLD,
        *sin_odd = sin_even + n_frames * KWT_FOLD;
  for (int n = 1; n < quarter; ++n) {
    const float sum = frame[n] + frame[KWT_PERIOD - n], difference = frame[n] - frame[KWT_PERIOD - n];
    const float sum_2 = frame[half - n] + frame[half + n], difference_2 = frame[half - n] - frame[half + n];
    cos_even[n] = sum + sum_2;
    cos_odd[n] = sum - sum_2;
    sin_even[n] = difference - difference_2;
    sin_odd[n] = difference + difference_2;
  }
  cos_even[0] = frame[0] + frame[half];
  cos_odd[0] = frame[0] - frame[half];
  cos_even[quarter] = frame[quarter] + frame[half + quarter];
  sin_odd[quarter] = frame[quarter] - frame[half + quarter];
  cos_odd[quarter] = sin_even[0] = sin_even[quarter] = sin_odd[0] = 0.0f;
}

/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log(m) = 2 atanh(s) with s = (m - 1) / (m + 1), |s| < 0.172, whose series
 * up to s^9 leaves 7e-10. ln2 comes in two parts, the first with 16 bits, so that e * ln2 is exact to 2^-40. */
static inline float log_of(float x) {
  const float ln2_high = 0.693145752f, ln2_low = 1.42860677e-6f;
  const uint32_t bits = bits_of(x);
  const int32_t e = (int32_t)((bits - UINT32_C(0x3f3504f3) + UINT32_C(0x3f800000)) >> 23) - 127;
  const float m = float_of(bits - ((uint32_t)e << 23));
  const float f = m - 1.0f;
  const float s = f / (m + 1.0f);
  const float z = s * s;
  float y = 2.0f / 9.0f;
  y = y * z + 2.0f / 7.0f;
  y = y * z + 2.0f / 5.0f;
  y = y * z + 2.0f / 3.0f;
  y = y * z * s + 2.0f * s;
  return (float)e * ln2_high + ((float)e * ln2_low + y);
}

void kwt_log(float *x, int32_t n, float floor) {
  for (int32_t i = 0; i < n; ++i) x[i] = log_of(x[i] > floor ? x[i] : floor);
}

/* The exponent halved by an integer shift gives 1/sqrt(v) to 3.5 %, each Newton step squares that: 2e-3, 5e-6, 4e-11. A
 * square root instruction would round better, but soft-float libraries differ. */
static inline float rsqrt_of(float v) {
  const float half = 0.5f * v;
  float y = float_of(UINT32_C(0x5f375a86) - (bits_of(v) >> 1));
  y = y * (1.5f - half * y * y);
  y = y * (1.5f - half * y * y);
  y = y * (1.5f - half * y * y);
  return y;
}

/* The network takes the logarithm of no less than 1e-12, so a floor of 1e-15 changes nothing and keeps subnormals out.
 */
void kwt_magnitude(float *re, const float *im, int32_t n) {
  const float least = 1e-30f;
  for (int32_t i = 0; i < n; ++i) {
    const float power = re[i] * re[i] + im[i] * im[i];
    const float v = power > least ? power : least;
    re[i] = v * rsqrt_of(v);
  }
}
