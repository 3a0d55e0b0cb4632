/* What KWT-1 does to sound besides matrix products, in single IEEE-754 operations, so that every processor computes the
 * same bits: no libm, no contraction, fixed order of sums. SPDX-License-Identifier: MIT
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

/* Folds a frame of 512 (480 samples and zeros) twice, at the middle and at the quarters, where cosines and sines of
 * whole periods repeat: a quarter of the multiplications of a Fourier transform is left. folded (4, 129), rows
 * KWT_FOLD * n_frames apart: what the cosines of even bins see, those of odd bins, the sines of even bins, of odd
 * bins. */
void kwt_fold(const float *frame, float *folded, int32_t n_frames);

/* x[i] = log(max(x[i], floor)), in place; floor >= 2^-126, x finite. Error: 3 * 2^-24 relative. */
void kwt_log(float *x, int32_t n, float floor);

/* re[i] = sqrt(re[i]^2 + im[i]^2), never less than 1e-15. |re|, |im| <= 1e18. Error: 4 * 2^-24 relative. */
void kwt_magnitude(float *re, const float *im, int32_t n);

#ifdef __cplusplus
}
#endif

#endif
