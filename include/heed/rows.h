/* heed: functions on rows: products, softmax, norms, activations, sums and means. Include heed.h.
 *
 * Every function follows the arithmetic contract: it gives the same bits on every kernel and for any number of threads.
 * Most functions work row by row, and only heed_sample needs a workspace. A program links only the functions that it
 * names.
 *
 * In place: In softmax, norms, activations and heed_add, y may be an input: the same data and the same row_stride. The
 * outputs of heed_weighted_sum and heed_dot may not. An output that is not in place is disjoint from all
 * inputs.
 *
 * Errors: Each bound holds in both arithmetics, unless it says otherwise. u is 2^-24. A result that is subnormal, or
 * that is made of subnormal products, may be off by 2^-149 more.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_ROWS_H
#define HEED_ROWS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------- products and softmax */

/* Dot product: *result = sum over i < n of a[i] * b[i]. n is 1 to HEED_MAX_COUNT.
 * Order: There are 64 partial sums (i mod 64). Each is a chain of fma. A halving tree (32, 16, 8, 4, 2, 1) adds them. A
 * score of attention is one chain instead, because there the vector lanes are keys or queries.
 * Error: |result - exact| <= (n/64 + 8) * 2^-24 * sum |a[i] b[i]| + n * 2^-149.
 * Aliasing: a and b may overlap. result may not lie inside a or b. */
HEED_API heed_status heed_dot(const float *a, const float *b, int32_t n, float *result);

/* Softmax of each row: y[r][i] = exp(scale * x[r][i]) / sum over j of exp(scale * x[r][j]). It is numerically stable:
 * the maximum of the row is subtracted first. It works in base 2, with the exponential of lib/arithmetic.hpp. A scale
 * of 1 is the plain softmax. A scale of 0 is an error.
 * Range: |scale * log2(e) * x| < 2^128. Beyond that a logit is infinite; heed.h says how infinities are treated. A
 * weight below 2^-64 of the largest weight is exactly +0.
 * Error: |y - exact| <= exact * (2 E + (n/16 + 12) * 2^-24) + 2^-63, where E = 3 * 2^-24 * max |scale * x|.
 * Aliasing: y is x (the same data and row_stride), or is disjoint from it.
 * Status: NOT_FINITE for SCALE also if scale * log2(e) is not finite. */
HEED_API heed_status heed_softmax(heed_matrix x, float scale, heed_matrix_out y, const heed_executor *executor);

/* Weighted sum of rows: out (n, v_dim) = weights (n, n_kv) times rows (n_kv, v_dim). Each element is one chain of fma,
 * in ascending order, which starts at +0.
 * Error: |out - exact| <= n_kv * 2^-24 * sum |w[j] rows[j]| (1.5 times that without fma) + n_kv * 2^-149.
 * Aliasing: out is disjoint from the inputs.
 * Status: as heed_softmax; the matrices are named WEIGHTS, ROWS, OUT. */
HEED_API heed_status heed_weighted_sum(heed_matrix weights, heed_matrix rows, heed_matrix_out out,
                                       const heed_executor *executor);

/* ----------------------------------------------------------------------------------------------------------- norms */

/* The type of a norm, a field of layers. It writes the norm of each row of x (n, dim) to y (n, dim). weight and bias
 * are (dim) or null. eps is finite and not negative.
 * Aliasing: y is x (the same data and row_stride), or is disjoint from all inputs. */
typedef heed_status heed_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                              const heed_executor *executor);

/* RMS norm: y = x / sqrt(mean(x^2) + eps) * weight + bias.
 * Range: mean(x^2) + eps is at least 2^-100, and the sum of the squares is below 2^128. If the root is 0 (a row of
 * zeros without eps) or the sum is infinite, y is bias, or 0 without bias.
 * Error: |y - exact| <= u ((dim / 128 + 10) |y - bias| + |bias|), for dim up to HEED_MAX_DIM.
 * NaN: A NaN makes the whole row NaN. An infinity makes its own element NaN; the other elements are bias, or 0 without
 * bias.
 * Source: Zhang and Sennrich 2019. */
HEED_API heed_status heed_rms_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                                   const heed_executor *executor);

/* RMS norm with weights that are stored as w - 1, as Gemma stores them: y = x / sqrt(mean(x^2) + eps) * (1 + weight) +
 * bias. Range, error and NaN: as heed_rms_norm with the weights 1 + weight, each rounded. */
HEED_API heed_status heed_rms_norm_plus_one(heed_matrix x, const float *weight, const float *bias, float eps,
                                            heed_matrix_out y, const heed_executor *executor);

/* L2 norm: y = x / sqrt(sum(x^2) + eps) * weight + bias. With eps = 0 rows have the length 1, as those of PyTorch's
 * normalize. As the qk_norm of a layer it makes cosine attention.
 * Range: as heed_rms_norm, for sum(x^2) + eps. Error and NaN: as heed_rms_norm.
 * Source: Henry et al. 2020 (of queries and keys). */
HEED_API heed_status heed_l2_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                                  const heed_executor *executor);

/* Layer norm: y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias. All differences are taken from p, the
 * median of x[0], x[dim / 2] and x[dim - 1], and the mean is never rounded to one float. So a large mean costs no
 * accuracy.
 * Range: as heed_rms_norm, for the differences, but all |x - p| and their sum must be below 2^128; else the row is
 * NaN. If all numbers are equal, y is exactly bias, or a zero of either sign without bias, whatever eps is.
 * Error: |y - exact| <= u ((dim / 128 + 14 + D) |y - bias| + |bias|) + E |weight| + E^2 |y - bias|, for dim up to
 * HEED_MAX_DIM. D = mean |x - p| / sqrt(mean((x - mean)^2) + eps). It is at most sqrt(1 + dim / 2), and near 1 unless
 * two of the three numbers are outliers. E = u (dim / 64 + 10) D is the error of the mean.
 * NaN: A NaN or an infinity makes the whole row NaN.
 * Source: Ba et al. 2016. */
HEED_API heed_status heed_layer_norm(heed_matrix x, const float *weight, const float *bias, float eps,
                                     heed_matrix_out y, const heed_executor *executor);

/* Group norm: rows of x (n, dim) are time steps, and its channels form n_groups groups of dim / n_groups. Each group is
 * normalised over all its channels of all rows: y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias. The
 * variance is the biased one. weight and bias are (dim) or null. One group takes the whole matrix; as many groups as
 * channels are an instance norm. n_groups divides dim. Threads share the groups, or the rows of one group.
 * Range: as heed_layer_norm, for all numbers of a group. If all are equal, y is exactly bias, or a zero of either
 * sign without bias.
 * Error: |y - exact| <= u ((c / 128 + n / 32 + 18 + D) |y - bias| + |bias|) + E |weight| + E^2 |y - bias|, where c is
 * the number of channels of a group, D = mean |x - p| / sqrt(mean((x - mean)^2) + eps), and E = u (c / 64 + n / 16 +
 * 18) D. p is the median of three numbers of the group: the first, the last, and channel c / 2 of row n / 2. Both
 * arithmetics give the same bits.
 * NaN: A NaN or an infinity makes its whole group NaN.
 * Aliasing: y is x (the same data and row_stride), or is disjoint from all inputs.
 * Status: OUT_OF_RANGE (0, negative, more than dim), SHAPE_MISMATCH (does not divide dim) for N_GROUPS.
 * Source: Wu and He 2018. */
HEED_API heed_status heed_group_norm(heed_matrix x, const float *weight, const float *bias, int32_t n_groups, float eps,
                                     heed_matrix_out y, const heed_executor *executor);

/* ----------------------------------------------------------------------------------------------------- activations */

/* The type of an activation, a field of layers: y = f(x), or f(x) * up if up.data is not null. Without a gate, up is
 * heed_no_matrix(). The products are the gated forms GEGLU and SwiGLU (Shazeer 2020). x, up and y are all (n, dim).
 * Error: Each function below states the error of f. It was checked for every float. f(x) * up is rounded once more, by
 * 1 u. Where f is +0 because it would be tiny, f(x) * up is 0. Units that flush subnormal numbers give the same bits,
 * if x / 2 and f(x) * up are not subnormal.
 * NaN: NaN stays NaN. In gelu, silu and relu, f(+infinity) is +infinity, and f(-infinity) is +0. Zeros keep their sign,
 * except in the logistic function. Products with up are those of IEEE 754: 0 times infinity is NaN.
 * Aliasing: y is x or up (the same data and row_stride), or is disjoint from both. */
typedef heed_status heed_activation(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);

/* GELU: f(x) = x * (1 + erf(x / sqrt 2)) / 2. PyTorch and Hugging Face call it "gelu"; BERT, MiniLM and ViT use it.
 * Error: 8 u |y|, without fma 10 u |y|. The result is +0 below -12.9, where |y| is less than 2^-121.
 * Source: Hendrycks and Gimpel 2016. */
HEED_API heed_status heed_gelu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);
/* GELU, approximated by tanh: f(x) = x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2. Hugging Face calls it
 * gelu_new and gelu_pytorch_tanh (GPT-2, Gemma).
 * Error: 4 u |y|, without fma 5 u |y|. For x < 0 add 3 |v| u |y|, where v = 2 sqrt(2 / pi) (x + 0.044715 x^3) is the
 * exponent. The result is +0 below -9.99, where |y| is less than 2^-122.
 * Source: Hendrycks and Gimpel 2016. */
HEED_API heed_status heed_gelu_tanh(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);
/* SiLU, also called swish: f(x) = x / (1 + exp(-x)).
 * Error: 4 u |y|, without fma 5 u |y|. The result is +0 below -87, where |y| is less than 2^-118.
 * Source: Elfwing et al. 2018. */
HEED_API heed_status heed_silu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);
/* ReLU: f(x) = max(x, 0).
 * Error: none. */
HEED_API heed_status heed_relu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);

/* The hyperbolic tangent, for recurrent layers and the first layers of some speech models. f(+infinity) is 1, and
 * f(-infinity) is -1. From |x| = 9.02 on, |f(x)| is 1. Below 2^-12, f(x) is x.
 * Error: 5 u |y|, without fma 6 u |y|. */
HEED_API heed_status heed_tanh(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);
/* The logistic function: f(x) = 1 / (1 + exp(-x)). f(+infinity) is 1, and f(0) is 1/2.
 * Error: 4 u |y|, without fma 5 u |y|. The result is +0 below -80, where y is less than 2^-115. */
HEED_API heed_status heed_sigmoid(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor);

/* --------------------------------------------------------------------------------------------------- sums of rows */

/* A residual connection: y = a + b. a, b and y are all (n, dim). NaN, infinities and zeros are added as in IEEE 754.
 * Error: one rounding, u |y|.
 * Aliasing: y is a or b (the same data and row_stride), or is disjoint from both. */
HEED_API heed_status heed_add(heed_matrix a, heed_matrix b, heed_matrix_out y, const heed_executor *executor);

/* The mean over rows (mean pooling): y[i] = sum over r of x[r][i] / n, for x (n, dim) and y (dim). If only the first
 * rows count, set x.n_rows to their number.
 * Error: |y - exact| <= (n / 16 + 6) u sum over r of |x[r][i]| / n. Both arithmetics give the same bits.
 * NaN: A NaN makes its column NaN; so do infinities of both signs. The mean of infinities of one sign is that infinity.
 * Aliasing: y is disjoint from x. */
HEED_API heed_status heed_mean_rows(heed_matrix x, float *y, const heed_executor *executor);

/* ------------------------------------------------------------------------------------------------------- choosing */

/* The index of the greatest number of each row of x (n, dim): indices[r], the lowest one if numbers are equal. indices
 * is (n). This is the next token of a greedy language model, or the class of a classifier.
 * NaN: NaN is skipped. A row of only NaN gives -1. Infinities count as numbers; 0 and -0 are equal.
 * Aliasing: indices are disjoint from x. */
HEED_API heed_status heed_argmax(heed_matrix x, int32_t *indices);

/* The k largest numbers of each row of x (n, dim), the greatest first; of equal ones, the lowest index first. indices
 * is (n, k); values is (n, k), or null. k is 1 to dim. The time of a row grows with dim + k log(k), in ascending rows
 * with dim log(k).
 * NaN: as heed_argmax. If a row has fewer numbers than k, the last indices are -1, and their values -infinity.
 * Aliasing: indices and values are disjoint from x and from each other. */
HEED_API heed_status heed_topk(heed_matrix x, int32_t k, int32_t *indices, float *values);

/* Memory for heed_sample: a constant expression, and a function, which returns 0 if n is not valid, or if the size is
 * above PTRDIFF_MAX. */
#define HEED_SAMPLE_BYTES(n) HEED_SIZE_FIT(8 * HEED_SIZE_64(n))
HEED_API size_t heed_sample_bytes(int32_t n);

/* Draws a token from logits x (n): *result is i with a probability proportional to p[i] = softmax(x / temperature)[i],
 * among the tokens that top_k and top_p leave. top_k leaves the top_k tokens with the largest logits (of equal ones the
 * lowest); n or more leaves all. Of these, top_p leaves the fewest most probable tokens that together have at least the
 * share top_p; 1 leaves all. random is a number from your generator, from 0 to less than 1. The same number gives the
 * same token, on every kernel of the arithmetic. A temperature of 0 is an error: use heed_argmax. n is 1 to
 * HEED_MAX_COUNT. workspace is at least HEED_SAMPLE_BYTES(n).
 *
 *   HEED_MEMORY(workspace, HEED_SAMPLE_BYTES(32768));
 *   heed_status s = heed_sample(logits, 32768, 0.8f, 40, 0.95f, my_random(), &token, workspace);
 *
 * Error: The share of a token is that of heed_softmax (error as there), within (n / 32 + 70) * 2^-24 of the sum of all
 * that are left. It is as fine as random: with 24 bits, a multiple of 2^-24.
 * Time: one softmax and one or two passes over n, and usually a third one with top_p but without top_k. If top_k or
 * top_p leaves more than 512 tokens, all are sorted, in time that grows with n, and there is a second softmax.
 * Aliasing: result and workspace are disjoint from x and from each other.
 * Status: NOT_FINITE for X (a NaN; or x * log2(e) / temperature has +infinity, or nothing but -infinity); OUT_OF_RANGE
 * for TOP_K (less than 1), TEMPERATURE (0, negative; it or 1 / temperature subnormal), TOP_P (0, negative, above 1),
 * RANDOM (negative, 1 or more); OVERFLOW for WORKSPACE (with addresses of 32 bits, from n = 2^28 on).
 * Source: Fan et al. 2018 (top-k), Holtzman et al. 2020 (top-p). */
HEED_API heed_status heed_sample(const float *x, int32_t n, float temperature, int32_t top_k, float top_p, float random,
                                 int32_t *result, heed_memory workspace);

#ifdef __cplusplus
}
#endif

#endif
