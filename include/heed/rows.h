/* heed: functions on rows: products, softmax, norms, activations, sums. Include heed.h. SPDX-License-Identifier: MIT */
#ifndef HEED_ROWS_H
#define HEED_ROWS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every function follows the arithmetic contract: the same bits on every kernel and for any number of threads. All work
 * row by row; y may be x itself (same data and row_stride) where it says "in place", or is disjoint from all inputs. No
 * workspace. A program links the functions that it names, and no other.
 *
 * Errors are the greatest ones, in u = 2^-24, of both profiles unless it says otherwise; every result that is subnormal
 * or made of subnormal products may be 2^-149 further off. */

/* ------------------------------------------------------------------------------------------- products and softmax */

/* Dot product: *result = sum over i < n of a[i] * b[i].
 * Order: 64 partial sums (i mod 64), each a chain of fma, then a halving tree. Attention's scores use one chain each
 * instead, because there the lanes are keys or queries.
 * Error: |result - exact| <= (n/64 + 8) * 2^-24 * sum |a[i] b[i]| + n * 2^-149.
 * Aliasing: any; result may not lie inside a or b. n: 1 to HEED_MAX_COUNT. No workspace.
 * Status: NULL_POINTER, MISALIGNED, OUT_OF_RANGE, OVERFLOW, OVERLAP for A, B, N, RESULT. */
HEED_API heed_status heed_dot(const float *a, const float *b, int32_t n, float *result);

/* Softmax of each row: y[r][i] = exp(scale * x[r][i]) / sum over j of exp(scale * x[r][j]), numerically stable (the
 * row's maximum is subtracted first), in base 2 with the exponential of lib/arithmetic.hpp.
 * Range: |scale * log2(e) * x| < 2^128; beyond that a logit is an infinity, which is treated as heed.h says. A
 * weight below 2^-64 of the greatest is exactly +0. scale: 1 is the plain softmax; 0 is refused.
 * Error: |y - exact| <= exact * (2 E + (n/16 + 12) * 2^-24) + 2^-63, E = 3 * 2^-24 * max |scale * x|.
 * Aliasing: in place (same data and row_stride) or disjoint. No workspace.
 * Status: NULL_POINTER, MISALIGNED, OUT_OF_RANGE, BAD_STRIDE, OVERFLOW, OVERLAP, MISFIT for X, Y; NOT_FINITE for SCALE
 * (scale * log2(e) must be finite), OUT_OF_RANGE for SCALE (0, subnormal); NULL_POINTER, MISALIGNED,
 * OUT_OF_RANGE, NOT_INITIALIZED, UNKNOWN_STRUCT for EXECUTOR, which may be null: one thread. */
HEED_API heed_status heed_softmax(heed_matrix x, float scale, heed_matrix_out y, const heed_executor *executor);

/* Weighted sum of rows: out (n, v_dim) = weights (n, n_kv) times rows (n_kv, v_dim), each element one chain of fma from
 * +0 in ascending order.
 * Error: |out - exact| <= n_kv * 2^-24 * sum |w[j] rows[j]| (1.5 times that in the unfused profile) + n_kv * 2^-149.
 * Aliasing: out is disjoint from the inputs. No workspace.
 * Status: as heed_softmax, for WEIGHTS, ROWS, OUT, EXECUTOR. */
HEED_API heed_status heed_weighted_sum(heed_matrix weights, heed_matrix rows, heed_matrix_out out,
                                       const heed_executor *executor);

/* Linear projection: y (n, out) = x (n, in) times w (in, out), plus bias (out) unless null. Each element is one chain
 * of fma in ascending order of `in` that starts at the bias, else at +0.
 * Error: |y - exact| <= (in + 1) * 2^-24 * (|bias| + sum |x w|) (1.5 times that in the unfused profile) + in * 2^-149.
 * Aliasing: y is disjoint from the inputs. No workspace.
 * Status: as heed_softmax, for X, W, BIAS, Y, EXECUTOR. */
HEED_API heed_status heed_linear(heed_matrix x, heed_matrix w, const float *bias, heed_matrix_out y,
                                 const heed_executor *executor);

/* ----------------------------------------------------------------------------------------------------------- norms */

/* A norm of each row of x (n, dim) into y (n, dim); layers take one of the two below by this type.
 * weight and bias: (dim) or null. eps: finite, not negative.
 * Status: as heed_softmax for X, Y, EXECUTOR; MISALIGNED, OVERFLOW for WEIGHT, BIAS; NOT_FINITE, OUT_OF_RANGE for EPS.
 */
typedef heed_status heed_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                              const heed_executor *executor);

/* y = x / sqrt(mean(x^2) + eps) * weight + bias. Source: Zhang and Sennrich 2019.
 * Range: mean(x^2) + eps is at least 2^-100, the sum of the squares below 2^128. Where the root is 0 (zeros and no
 * eps) or the sum infinite, y is bias, or zeros.
 * Error: |y - exact| <= u ((dim / 128 + 10) |y - bias| + |bias|), dim to HEED_MAX_DIM.
 * NaN in a row: the whole row is NaN. Infinity in a row: its own element is NaN, the others are bias, or zeros.
 */
HEED_API heed_status heed_rms_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                                   const heed_executor *executor);

/* y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias. Source: Ba et al. 2016. Squares are those of
 * differences, so that a large mean costs no more than its own rounding.
 * Range: as heed_rms_norm, for the differences. Where all are 0, as in a row of one element, y is bias, or zeros.
 * Error: |y - exact| <= u ((dim / 128 + 12) |y - bias| + |bias|) + E |weight| + E^2 |y - bias|, dim to HEED_MAX_DIM,
 * where E = u (dim / 64 + 8) mean |x| / sqrt(mean((x - mean)^2) + eps) is what the mean's own error comes to.
 * NaN or infinity in a row: the whole row is NaN. */
HEED_API heed_status heed_layer_norm(heed_matrix x, const float *weight, const float *bias, float eps,
                                     heed_matrix_out y, const heed_executor *executor);

/* ----------------------------------------------------------------------------------------------------- activations */

/* y = f(x), or f(x) * up where up.data is not null: the gated forms (GEGLU, SwiGLU; Shazeer 2020). Shapes: all (n,
 * dim). y may be x or up. Layers take one of the functions below by this type.
 * Error: below, for f; checked for every float. f(x) * up is rounded once more: 1 u. Where f is made +0 because it is
 * tiny, f(x) * up is 0.
 * NaN stays NaN; f(+infinity) is +infinity, f(-infinity) is +0; zeros keep their sign. Products with up are those of
 * IEEE 754: 0 times infinity is NaN. Status: as heed_softmax for X, UP, Y, EXECUTOR. */
typedef heed_status heed_activation(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);

/* x * (1 + erf(x / sqrt 2)) / 2: "gelu" of PyTorch and of Hugging Face, thus of BERT, MiniLM and ViT there. Source:
 * Hendrycks and Gimpel 2016.
 * Error: 8 u |y|, unfused 10; +0 below -12.9, where |y| is less than 2^-121. */
HEED_API heed_status heed_gelu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);
/* x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2: the approximation that Hugging Face calls
 * gelu_new and gelu_pytorch_tanh (GPT-2, Gemma), of the same source.
 * Error: 4 u |y|, unfused 5, and for x < 0 another 3 |v| u |y|, v = 2 sqrt(2 / pi) (x + 0.044715 x^3), which is the
 * exponent; +0 below -9.99, where |y| is less than 2^-122. */
HEED_API heed_status heed_gelu_tanh(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);
/* x / (1 + exp(-x)), also called swish. Source: Elfwing et al. 2018.
 * Error: 4 u |y|, unfused 5; +0 below -87, where |y| is less than 2^-118. */
HEED_API heed_status heed_silu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);
/* max(x, 0). Error: none. */
HEED_API heed_status heed_relu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);

/* --------------------------------------------------------------------------------------------------- sums of rows */

/* y = a + b, all (n, dim): a residual connection. y may be a or b. Error: one rounding, u |y|. NaN, infinities and
 * zeros as IEEE 754 adds them. Status: as heed_softmax, for A, B, Y, EXECUTOR. */
HEED_API heed_status heed_add(heed_matrix a, heed_matrix b, heed_matrix_out y, const heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
