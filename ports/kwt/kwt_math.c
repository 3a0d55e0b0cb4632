/* See kwt_math.h. SPDX-License-Identifier: MIT */
#include "kwt_math.h"

#include <float.h>

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

enum { row = 64 };

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

/* 2^t, |t| <= 64. Adding 1.5 * 2^23 rounds t to an integer, which then stands in the low bits of the sum; the rest,
 * within
 * +-1/2, goes into the Taylor series of 2^f, ln2^k / k!, whose degree 7 leaves 5e-9. A fitted degree 6 would save one
 * of nine operations in a stage that is dominated by its division. */
static inline float exp2_of(float t) {
  const float magic = 12582912.0f;
  const float shifted = t + magic;
  const float f = t - (shifted - magic);
  float y = 1.52527338e-5f;
  y = y * f + 1.54035304e-4f;
  y = y * f + 1.33335581e-3f;
  y = y * f + 9.61812911e-3f;
  y = y * f + 5.55041087e-2f;
  y = y * f + 2.40226507e-1f;
  y = y * f + 6.93147181e-1f;
  y = y * f + 1.0f;
  return float_of(bits_of(y) + (bits_of(shifted) << 23));
}

/* (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)): no cancellation for negative x, where 1 + tanh(u) loses all digits. */
static inline float gelu_of(float x) {
  const float a = -2.30220820f;  /* -2 sqrt(2/pi) log2(e) */
  const float b = -0.102943240f; /* a * 0.044715 */
  float t = x * (a + b * (x * x));
  t = t < -64.0f ? -64.0f : t;
  t = t > 64.0f ? 64.0f : t;
  return x / (1.0f + exp2_of(t));
}

void kwt_gelu(float *x, int32_t n) {
  for (int32_t i = 0; i < n; ++i) x[i] = gelu_of(x[i]);
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

float kwt_rsqrt(float v) { return rsqrt_of(v); }

/* The network takes the logarithm of no less than 1e-12, so a floor of 1e-15 changes nothing and keeps subnormals out.
 */
void kwt_magnitude(const float *re, const float *im, float *out, int32_t n) {
  const float least = 1e-30f;
  for (int32_t i = 0; i < n; ++i) {
    const float power = re[i] * re[i] + im[i] * im[i];
    const float v = power > least ? power : least;
    out[i] = v * rsqrt_of(v);
  }
}

/* Sixteen sums of four, then a halving tree: vectorises on every target in this one order. */
static float row_sum(const float *x) {
  float sums[16];
  for (int i = 0; i < 16; ++i) sums[i] = (x[i] + x[i + 16]) + (x[i + 32] + x[i + 48]);
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
}

void kwt_add_norm(float *x, const float *branch, int32_t n_rows, const float *gamma, const float *beta, float epsilon) {
  for (int32_t r = 0; r < n_rows; ++r, x += row, branch += row) {
    float centred[row], squares[row];
    for (int i = 0; i < row; ++i) centred[i] = x[i] + branch[i];
    const float mean = row_sum(centred) * (1.0f / row);
    for (int i = 0; i < row; ++i) {
      centred[i] -= mean;
      squares[i] = centred[i] * centred[i];
    }
    const float factor = rsqrt_of(row_sum(squares) * (1.0f / row) + epsilon);
    for (int i = 0; i < row; ++i) x[i] = centred[i] * (factor * gamma[i]) + beta[i];
  }
}
