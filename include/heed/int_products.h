/* heed: products in integers. Include heed/integers.h; heed_weights_in_integers is for products of floats.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_INT_PRODUCTS_H
#define HEED_INT_PRODUCTS_H

#include "int_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest n_in of a product in integers. */
#define HEED_INT_MAX_IN 65536

/* A projection in integers: y (n, n_out) = clamp(zero_point of y + acc * multiplier, rounded), with
 * acc = bias + sum (x - zero_point of x) * w in int32. A fully connected layer of TensorFlow Lite is this function.
 *
 *   multipliers[o] = heed_multiplier_of(x_scale * w_scale[o] / y_scale);
 *   heed_weights w = heed_weights_of(data, HEED_NULL, HEED_INT8, HEED_OUT_IN, n_in, n_out);
 *   heed_status s = heed_int_linear(heed_int_matrix_of(x, HEED_INT8, n, n_in, x_zero_point), w, bias, multipliers,
 *                                    heed_int_matrix_out_of(y, HEED_INT8, n, n_out, y_zero_point), HEED_NULL);
 *
 * x is int8 (n, n_in), n_in at most HEED_INT_MAX_IN. y is int8 or int16. w is int8, in any layout; its scales are not
 * used, and may be null. bias is (n_out) or null; its unit is x_scale * w_scale. multipliers is (n_out), e from -31 to
 * 30.
 * Rule: y = clamp(zero_point + ((acc * m + 2^(30 - e)) >> (31 - e))): one rounding, halves up. CMSIS-NN does so with
 * CMSIS_NN_USE_SINGLE_ROUNDING. TensorFlow Lite by default rounds twice, which differs by 1 in some 0.1 % of the
 * numbers. Without a bias, acc always fits int32. With a bias it may overflow; then it wraps around.
 * Error: half a unit of y, then the range of y.
 * Speed: Microcontrollers read HEED_OUT_IN as it lies, x86 reads HEED_PACKED. There 512 x 768 x 3072 is 3.4 times as
 * fast as HEED_F32 with AVX-512 VNNI, 1.4 times with AVX2. Other layouts are transposed on the stack, again for each 12
 * rows: they are 1.4 times as fast as HEED_F32 with AVX-512 VNNI, and take 1.1 times as long with AVX2.
 * Workspace: none. Threads: with an executor, rows or outputs are shared out.
 * Aliasing: y is disjoint from everything else.
 * Status: SHAPE_MISMATCH for Y (shape), W (n_in); as heed_linear for W, but BAD_DTYPE for all dtypes but HEED_INT8,
 * and UNSUPPORTED for weights with zero points;
 * OUT_OF_RANGE for X (n_in, a zero point), Y (a zero point), MULTIPLIERS (m outside [2^30, 2^31) or e outside [-31,
 * 30]). */
HEED_API heed_status heed_int_linear(heed_int_matrix x, heed_weights w, const int32_t *bias,
                                     const heed_multiplier *multipliers, heed_int_matrix_out y,
                                     const heed_executor *executor);

/* Makes weights for heed_linear and for layers of floats. Their products are computed in integers: each row of x is
 * quantised to int8 on its way, with a scale of its own (W8A8). packed is what heed_weights_open made of weights in
 * HEED_INT8, HEED_UINT8, HEED_Q8_0 or HEED_Q4_0. The new weights read its bytes, so do not free them.
 *
 *   heed_weights fast;
 *   if (s == HEED_OK) s = heed_weights_in_integers(&fast, packed);
 *   if (s == HEED_OK) s = heed_linear(x, fast, bias, y, HEED_NULL);
 *
 * Rule: s_x = max |x| / 127 over the row, q = x * (127 / max |x|), rounded to nearest, ties to even. Sums of q *
 * number, or of q * (number - zero point), are exact. int8 and uint8: y = (float(sum) * s_x) * scale + bias, where the
 * first product may exceed the range of a float. Blocks: t = float(sum of a block) * scale, y = y + t from +0 in
 * ascending order, and at last y * s_x + bias. Each step rounds (no fma), so both arithmetics have the same bits.
 * Range: any finite x. y is infinite only if its value without bias is beyond the range of a float.
 * Special rows: a row of x with NaN or infinity becomes NaN. A row whose numbers are all below 2^-100 in magnitude
 * counts as 0.
 * Error: a number of x moves by at most s_x * (0.5 + 2^-15). So |y - exact| <= s_x * (0.5 + 2^-15) * sum |w| +
 * (n + 4) * 2^-24 * (|bias| + s_x * 127 * sum |w|) + 2^-100 * sum |w| + 2^-149, where w are the output's weights in
 * f32, and n the number of their blocks (int8 and uint8: 0).
 * Speed: many rows are 3.3 times as fast as HEED_F32 on a PC with AVX-512 VNNI (blocks 2.3 to 2.6 times), 1.4 times
 * with AVX2 (blocks 1.1). One row takes as long as reading the bytes of the weights.
 * Workspace: none.
 * Aliasing: w may point to the object that is passed as packed.
 * Status: for PACKED: NOT_INITIALIZED (not made by heed_weights_open), OUT_OF_RANGE (n_in above HEED_INT_MAX_IN). */
HEED_API heed_status heed_weights_in_integers(heed_weights *w, heed_weights packed);

#ifdef __cplusplus
}
#endif

#endif
