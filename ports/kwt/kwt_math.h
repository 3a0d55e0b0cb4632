/* The elementwise part of KWT-1 in single IEEE-754 operations, so that every processor computes the same bits: no libm,
 * no contraction, fixed order of sums. SPDX-License-Identifier: MIT
 *
 * No result or intermediate is subnormal for the values that the network produces, so units that flush subnormals
 * (Helium, 32-bit NEON) agree. Errors were measured over the ranges named; tests/kwt_test.cpp checks them. No stack to
 * speak of.
 */
#ifndef HEED_KWT_MATH_H
#define HEED_KWT_MATH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* x[i] = x[i] / 2 * (1 + tanh(sqrt(2/pi) * (x[i] + 0.044715 x[i]^3))), in place. Any |x| <= 1e12.
 * Error: 1.2e-7 * |x|; for |x| <= 5 also 3e-6 * |exact|. */
void kwt_gelu(float *x, int32_t n);

/* x[i] = log(max(x[i], floor)), in place; floor >= 2^-126, x finite. Error: 3 * 2^-24 relative. */
void kwt_log(float *x, int32_t n, float floor);

/* out[i] = sqrt(re[i]^2 + im[i]^2), never less than 1e-15. |re|, |im| <= 1e18. Error: 4 * 2^-24 relative. out may be re
 * or im. */
void kwt_magnitude(const float *re, const float *im, float *out, int32_t n);

/* 1/sqrt(v), 1e-30 <= v <= 1e36. Error: 3 * 2^-24 relative. */
float kwt_rsqrt(float v);

/* Every row of 64: x = (s - mean(s)) / sqrt(variance(s) + epsilon) * gamma + beta, with s = x + branch. */
void kwt_add_norm(float *x, const float *branch, int32_t n_rows, const float *gamma, const float *beta, float epsilon);

#ifdef __cplusplus
}
#endif

#endif
