/* What programs of heed_compile call for the nodes of an ONNX graph: products, norms and attention by the functions of heed, and plain
 * C for what stands around them (sums with broadcasting, copies, reductions, comparisons). C99 and C++, no heap, no math library.
 * SPDX-License-Identifier: MIT
 *
 * Same bits: a number that is stored was rounded once, from one operation, or from a sum in double precision whose products are exact.
 * Functions such as exp are computed in double precision, from sums, products and quotients in a fixed order. So results do not
 * depend on the compiler, as long as it makes no fma of a product and a sum by itself: this file forbids it to GCC and clang.
 *
 * Arrays: shapes and strides stand in tables, which heed_compile has checked. No function checks pointers. Indices that are data are
 * compared before they are used. */
#ifndef HEED_GRAPH_MATH_H
#define HEED_GRAPH_MATH_H

#include "heed_file.h"
#ifndef HEED_INT_PRODUCTS_H /* heed.h of the two files has it */
#include "heed/int_products.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------------------ loops */

enum { HEED_GRAPH_DIMS = 6, HEED_GRAPH_ARRAYS = 4 };

/* Loops over n_dims dimensions, and how far each array moves in each of them, in elements: array 0 is the result. A stride
 * of 0 repeats an element (broadcasting). */
typedef struct heed_graph_loop {
  int32_t n_dims, dims[HEED_GRAPH_DIMS];
  int32_t strides[HEED_GRAPH_ARRAYS][HEED_GRAPH_DIMS];
} heed_graph_loop;

/* Copies elements: slices, transposes, parts of a concatenation. */
heed_status heed_graph_copy(void *y, const void *x, const heed_graph_loop *loop); /* of 32 bits */
heed_status heed_graph_copy_bytes(void *y, const void *x, const heed_graph_loop *loop);
heed_status heed_graph_fill(float *y, float number, int32_t n);
heed_status heed_graph_fill_integers(int32_t *y, int32_t number, int32_t n);

/* y = f(x). Error: exp, log, erf, sin, cos, tan, and the like 0.51 units in the last place where the result is no subnormal number
 * (sin, cos and tan up to |x| = 2^20); sqrt and the others one rounding. */
typedef enum heed_graph_function {
  HEED_GRAPH_NEGATE = 0,
  HEED_GRAPH_ABS = 1,
  HEED_GRAPH_SQRT = 2,
  HEED_GRAPH_RECIPROCAL = 3,
  HEED_GRAPH_EXP = 4,
  HEED_GRAPH_LOG = 5,
  HEED_GRAPH_ERF = 6,
  HEED_GRAPH_SIN = 7,
  HEED_GRAPH_COS = 8,
  HEED_GRAPH_TANH = 9,
  HEED_GRAPH_SIGMOID = 10,
  HEED_GRAPH_FLOOR = 11,
  HEED_GRAPH_CEIL = 12,
  HEED_GRAPH_ROUND = 13, /* halves to even */
  HEED_GRAPH_SIGN = 14,
  HEED_GRAPH_RELU = 15,
  HEED_GRAPH_SOFTPLUS = 16, /* log(1 + exp(x)) */
  HEED_GRAPH_SQUARE = 17,
  HEED_GRAPH_HARD_SWISH = 18 /* x min(max(x + 3, 0), 6) / 6, rounded once */
} heed_graph_function;
heed_status heed_graph_map(int32_t function, float *y, const float *x, const heed_graph_loop *loop);
heed_status heed_graph_map_integers(int32_t function, int32_t *y, const int32_t *x, const heed_graph_loop *loop);

/* y = a op b. Integers wrap around; a quotient by 0 is 0. */
typedef enum heed_graph_operation {
  HEED_GRAPH_ADD = 0,
  HEED_GRAPH_SUB = 1,
  HEED_GRAPH_MUL = 2,
  HEED_GRAPH_DIV = 3, /* integers: towards 0 */
  HEED_GRAPH_MIN = 4,
  HEED_GRAPH_MAX = 5,
  HEED_GRAPH_POW = 6,   /* error as exp */
  HEED_GRAPH_MOD = 7,   /* integers alone; the sign is b's */
  HEED_GRAPH_PRELU = 8, /* a, or a * b where a is negative */
  HEED_GRAPH_AND = 9,   /* of booleans, as the next two */
  HEED_GRAPH_OR = 10,
  HEED_GRAPH_XOR = 11
} heed_graph_operation;
heed_status heed_graph_combine(int32_t operation, float *y, const float *a, const float *b,
                               const heed_graph_loop *loop);
heed_status heed_graph_combine_integers(int32_t operation, int32_t *y, const int32_t *a, const int32_t *b,
                                        const heed_graph_loop *loop);
heed_status heed_graph_combine_booleans(int32_t operation, uint8_t *y, const uint8_t *a, const uint8_t *b,
                                        const heed_graph_loop *loop);

typedef enum heed_graph_comparison {
  HEED_GRAPH_EQUAL = 0,
  HEED_GRAPH_LESS = 1,
  HEED_GRAPH_LESS_OR_EQUAL = 2,
  HEED_GRAPH_GREATER = 3,
  HEED_GRAPH_GREATER_OR_EQUAL = 4
} heed_graph_comparison;
heed_status heed_graph_compare(int32_t comparison, uint8_t *y, const float *a, const float *b,
                               const heed_graph_loop *loop);
heed_status heed_graph_compare_integers(int32_t comparison, uint8_t *y, const int32_t *a, const int32_t *b,
                                        const heed_graph_loop *loop);
heed_status heed_graph_is_nan(uint8_t *y, const float *x, const heed_graph_loop *loop);
heed_status heed_graph_not(uint8_t *y, const uint8_t *x, const heed_graph_loop *loop);

/* y = a where condition is not 0, else b; of 32 bits, and of bytes. */
heed_status heed_graph_choose(void *y, const uint8_t *condition, const void *a, const void *b,
                              const heed_graph_loop *loop);
heed_status heed_graph_choose_bytes(void *y, const uint8_t *condition, const void *a, const void *b,
                                    const heed_graph_loop *loop);

/* Floats become integers towards 0; beyond int32 its ends, NaN 0. */
heed_status heed_graph_float_to_integer(int32_t *y, const float *x, const heed_graph_loop *loop);
heed_status heed_graph_float_to_boolean(uint8_t *y, const float *x, const heed_graph_loop *loop);
heed_status heed_graph_integer_to_float(float *y, const int32_t *x, const heed_graph_loop *loop);
heed_status heed_graph_integer_to_boolean(uint8_t *y, const int32_t *x, const heed_graph_loop *loop);
heed_status heed_graph_boolean_to_float(float *y, const uint8_t *x, const heed_graph_loop *loop);
heed_status heed_graph_boolean_to_integer(int32_t *y, const uint8_t *x, const heed_graph_loop *loop);

/* -------------------------------------------------------------------------------------------- reductions, indices */

/* y = the sum, mean, ... over the loop `inner` of x, for each element of the loop `outer`. Sums are made in double precision in
 * ascending order, and rounded once. A maximum or minimum with a NaN is NaN. */
typedef enum heed_graph_reduction {
  HEED_GRAPH_SUM = 0,
  HEED_GRAPH_MEAN = 1,
  HEED_GRAPH_GREATEST = 2,
  HEED_GRAPH_LEAST = 3,
  HEED_GRAPH_PRODUCT = 4, /* each product is rounded to a double */
  HEED_GRAPH_SUM_OF_SQUARES = 5,
  HEED_GRAPH_LENGTH = 6, /* the root of that */
  HEED_GRAPH_SUM_OF_MAGNITUDES = 7,
  HEED_GRAPH_LOG_SUM_EXP = 8
} heed_graph_reduction;
heed_status heed_graph_reduce(int32_t reduction, float *y, const float *x, const heed_graph_loop *outer,
                              const heed_graph_loop *inner);
heed_status heed_graph_reduce_integers(int32_t reduction, int32_t *y, const int32_t *x, const heed_graph_loop *outer,
                                       const heed_graph_loop *inner);

/* y (n_outer, n_indices, n_inner) = x[outer][index][inner] of x (n_outer, n_from, n_inner). An index from -n_from to -1 counts from the
 * end. Status: OUT_OF_RANGE for ROWS if an index is none. */
heed_status heed_graph_gather(void *y, const void *x, const int32_t *indices, int32_t n_outer, int32_t n_from,
                              int32_t n_indices, int32_t n_inner); /* of 32 bits */
/* The same with y (n_outer, n_indices, n_inner) and indices of that shape (GatherElements). */
heed_status heed_graph_gather_each(void *y, const void *x, const int32_t *indices, int32_t n_outer, int32_t n_from,
                                   int32_t n_indices, int32_t n_inner);

/* Rows of updates (n_updates, length) become those of y (n_rows, length) that `rows` names, the last one of equal names; or are added to
 * them, one after another. Status: OUT_OF_RANGE for ROWS if there is no such row. */
heed_status heed_graph_scatter(void *y, const void *updates, const int32_t *rows, int32_t n_rows, int32_t n_updates,
                               int32_t length); /* of 32 bits */
heed_status heed_graph_scatter_sums(float *y, const float *updates, const int32_t *rows, int32_t n_rows,
                                    int32_t n_updates, int32_t length);

/* y (n_outer, n_inner) = the place of the greatest (is_least: least) number of x (n_outer, n, n_inner); of equal ones the first, or
 * the last one. */
heed_status heed_graph_argmax(int32_t *y, const float *x, int32_t n_outer, int32_t n, int32_t n_inner, int32_t is_least,
                              int32_t takes_last);

/* Sums so far over the middle dimension (CumSum). is_exclusive: without the element itself; is_reverse: from the end. */
heed_status heed_graph_cumulate(float *y, const float *x, int32_t n_outer, int32_t n, int32_t n_inner,
                                int32_t is_exclusive, int32_t is_reverse);
heed_status heed_graph_cumulate_integers(int32_t *y, const int32_t *x, int32_t n_outer, int32_t n, int32_t n_inner,
                                         int32_t is_exclusive, int32_t is_reverse);

/* Whether all are from least to most, for indices of an input. */
int32_t heed_graph_are_within(const int32_t *x, int32_t n, int32_t least, int32_t most);

/* ------------------------------------------------------------------------------------------ functions of heed on rows */

/* Rows of x lie `stride` elements apart, those of y side by side. */
heed_status heed_graph_linear(float *y, const float *x, int32_t n_rows, int32_t stride, const heed_weights *w,
                              const float *bias, const heed_executor *executor);
heed_status heed_graph_rows_of(float *y, const heed_weights *table, const int32_t *indices, int32_t n_rows);
heed_status heed_graph_norm(heed_norm *norm, float *y, const float *x, int32_t n_rows, int32_t dim, int32_t stride,
                            const float *weight, const float *bias, float eps, const heed_executor *executor);
heed_status heed_graph_group_norm(float *y, const float *x, int32_t n_rows, int32_t dim, const float *weight,
                                  const float *bias, int32_t n_groups, float eps, const heed_executor *executor);
heed_status heed_graph_softmax(float *y, const float *x, int32_t n_rows, int32_t dim, const heed_executor *executor);
heed_status heed_graph_activation(heed_activation *f, float *y, const float *x, const float *up, int32_t n_rows,
                                  int32_t dim, const heed_executor *executor);
heed_status heed_graph_add(float *y, const float *a, const float *b, int32_t n_rows, int32_t dim,
                           const heed_executor *executor);
heed_status heed_graph_mean_rows(float *y, const float *x, int32_t n_rows, int32_t dim, int32_t stride,
                                 const heed_executor *executor);
heed_status heed_graph_topk(float *y, int32_t *indices, const float *x, int32_t n_rows, int32_t dim, int32_t k);

/* The product of two arrays that are computed, y = a b, for each element of the loop `batch`, whose arrays are y, a and b. Each
 * a is (n, k) with rows `a_stride` apart. b is (k, m), or (m, k) if layout is HEED_OUT_IN, with rows b_stride apart. */
typedef struct heed_graph_products {
  heed_graph_loop batch;
  int32_t n, k, m, a_stride, b_stride, layout;
} heed_graph_products;
heed_status heed_graph_multiply(float *y, const float *a, const float *b, const heed_graph_products *p,
                                const heed_executor *executor);

/* Attention: counts, and strides of the batch, of a head and of a row in elements. */
typedef enum heed_graph_mask {
  HEED_GRAPH_NO_MASK = 0,
  HEED_GRAPH_BOOLEAN_MASK = 1,
  HEED_GRAPH_ADDITIVE_MASK = 2
} heed_graph_mask;
typedef struct heed_graph_attention {
  int32_t n_batch, n_heads, n_kv_heads, n_q, n_kv, head_dim, v_dim;
  int32_t causal, position, mask;
  float scale, softcap; /* softcap 0: none */
  int32_t q[3], k[3], v[3], out[3], mask_strides[3];
} heed_graph_attention;
heed_status heed_graph_attend(float *out, const float *q, const float *k, const float *v, const void *mask,
                              const heed_graph_attention *a, void *workspace, const heed_executor *executor);

/* A convolution of groups of channels over a picture whose padding is in x already. y (n_batch, y_height, y_width, n_out) =
 * bias + sum of x[batch][channel][y * stride_y + i * dilation_y][...] * w[channel of the group][i][j][out], in double precision,
 * rounded once. x has any strides: of the batch, a channel, a line and a pixel. */
typedef struct heed_graph_convolution {
  int32_t n_batch, n_out, n_groups, n_in_group, y_height, y_width, height, width; /* height, width: of w */
  int32_t stride_y, stride_x, dilation_y, dilation_x;
  int32_t x_strides[4];
} heed_graph_convolution;
heed_status heed_graph_convolve(float *y, const float *x, const float *w, const float *bias,
                                const heed_graph_convolution *c);

#ifdef __cplusplus
}
#endif

#endif
