/* heed: weights in any dtype and layout, plain, packed or in blocks, and products with them. Include heed.h.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_WEIGHTS_H
#define HEED_WEIGHTS_H

#include "dtypes.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The layout of weights. */
typedef enum heed_weights_layout {
  HEED_IN_OUT = 0, /* element (i, o) is data[i * row_stride + o], the rows of a matrix (n_in, n_out) */
  HEED_OUT_IN = 1, /* element (i, o) is data[o * row_stride + i], as PyTorch and llama2.c store weights */
  HEED_PACKED = 2  /* heed's own, which heed_weights_pack writes and heed_weights_open reads */
} heed_weights_layout;

/* The code of packed weights, of weights in blocks and of weights with zero points. It is opaque. */
typedef struct heed_weights_code heed_weights_code;

/* Weights of a projection from n_in to n_out numbers, as they lie in a file or in flash. */
typedef struct heed_weights {
  const void *data;              /* aligned as its numbers are; null: no weights, where that is allowed */
  const float *scales;           /* int8 only: (n_out), weight = number * scales[o]; packed weights have their own */
  int32_t dtype, layout;         /* heed_dtype, heed_weights_layout */
  int32_t n_in, n_out;           /* numbers that go in, numbers that come out */
  ptrdiff_t row_stride;          /* in elements; packed weights have none */
  const heed_weights_code *code; /* null: plain weights; else set by the function that made the weights */
  const void *zero_points;       /* set by heed_weights_with_zero_points */
  int32_t n_scales;              /* likewise; 1 or n_out */
} heed_weights;

/* Contiguous weights. scales may be null if the dtype is neither HEED_INT8 nor HEED_UINT8. */
static inline heed_weights heed_weights_of(const void *data, const float *scales, int32_t dtype, int32_t layout,
                                           int32_t n_in, int32_t n_out) {
  heed_weights w = {data,      scales,    dtype, layout, n_in, n_out, layout == HEED_IN_OUT ? n_out : n_in,
                    HEED_NULL, HEED_NULL, 0};
  return w;
}

/* Weights in f32 that lie as a matrix (n_in, n_out): HEED_F32, HEED_IN_OUT. */
static inline heed_weights heed_weights_of_matrix(heed_matrix w) {
  heed_weights weights = {w.data, HEED_NULL,    HEED_F32,  HEED_IN_OUT, w.n_rows,
                          w.dim,  w.row_stride, HEED_NULL, HEED_NULL,   0};
  return weights;
}

/* Weights w with zero points, as ONNX (DequantizeLinear) and TensorFlow Lite define them:
 * weight = (number - zero point) * scale. w is plain, HEED_INT8 (-128 to 127) or HEED_UINT8 (0 to 255), in either
 * layout. There are n_scales scales and as many zero points: 1 for all outputs, or n_out, one for each. zero_points are
 * numbers of the same dtype, as in an ONNX file; null: all are 0. (TensorFlow Lite writes zero points as int64: convert
 * them.)
 *
 *   heed_weights w = heed_weights_of(data, &scale, HEED_UINT8, HEED_IN_OUT, n_in, n_out);
 *   w = heed_weights_with_zero_points(w, &zero_point, 1);
 *   heed_status s = heed_linear(x, w, NULL, y, NULL);
 *
 * The difference is exact, and the product is rounded once. Every function that takes weights takes these, except
 * heed_int_linear and the layers in integers, whose weights have no zero points, as in TensorFlow Lite. A call that is
 * given the weights checks them: NOT_INITIALIZED for HEED_UINT8 without this function, BAD_DTYPE for dtypes other than
 * these two, SHAPE_MISMATCH for n_scales. */
HEED_API heed_weights heed_weights_with_zero_points(heed_weights w, const void *zero_points, int32_t n_scales);

/* Weights in blocks, as a GGUF file holds them: HEED_Q8_0 or HEED_Q4_0, contiguous, HEED_OUT_IN. data may have any
 * alignment. n_in is a multiple of 32. All numbers are little-endian.
 *
 *   HEED_Q8_0   a scale in f16, then 32 bytes: number k is byte k
 *   HEED_Q4_0   a scale in f16, then 16 bytes: number k is the low half of byte k, or the high half of byte k - 16,
 *               minus 8
 *
 * If the rows are not contiguous, set row_stride to a multiple of 32. A call that is given the weights checks them:
 * BAD_DTYPE also if the dtype is not the one that they were made with.
 * Source: github.com/ggml-org/ggml, block_q8_0 and block_q4_0. */
HEED_API heed_weights heed_weights_of_blocks(const void *data, int32_t dtype, int32_t n_in, int32_t n_out);

/* A linear projection with any weights: y (n, n_out) = bias + x (n, n_in) w. bias is (n_out), or null. Each element is
 * one chain of fma in ascending order of n_in, over the weights as floats. The chain starts at the bias, or at +0 if
 * bias is null. The layout changes no bit. It needs no workspace.
 * Blocks: HEED_Q8_0 and HEED_Q4_0 multiply by a scale once for each block. There t is the chain of fma(x, number) from
 * +0, and y = fma(scale, t, y). Packed blocks give the same bits.
 * Speed: If memory limits the speed, one row takes the time that memory needs to deliver the stored bytes. On vector
 * units, HEED_OUT_IN is transposed while it is read: HEED_IN_OUT was measured to be 1 to 3 times as fast. On a
 * Cortex-M4F, int8 weights take about twice the instructions of f32, and a quarter of the bytes.
 * Range: the sum |x * number| of each block must be finite, too. It is finite up to |x| = 2^116.
 * Error: |y - exact| <= (n_in + 1) * 2^-24 * (|bias| + sum |x w|) (1.5 times that without fma) + n_in * 2^-149, with
 * the weights as floats. For blocks: |y - exact| <= (n_in / 32 + 36) * 2^-24 *
 * (|bias| + sum |x * number * scale|) + n_in * (max |scale| + 1) * 2^-149.
 * Aliasing: y is disjoint from everything else.
 * Status: SHAPE_MISMATCH for W (n_in); NOT_INITIALIZED for W (packed or in blocks, and not made by heed_weights_open
 * or heed_weights_of_blocks), CORRUPT for W (packed: the header before the data has another mark, dtype, n_in or
 * n_out). */
HEED_API heed_status heed_linear(heed_matrix x, heed_weights w, const float *bias, heed_matrix_out y,
                                 const heed_executor *executor);

/* A convolution over time is a projection of rows that overlap (heed_windows_of). Rows of x (n, channels) are time
 * steps:
 *
 *   heed_matrix windows = heed_windows_of(x, kernel, stride);
 *   heed_weights w = heed_weights_of(data, NULL, HEED_F32, HEED_OUT_IN, kernel * channels, outputs);
 *   heed_status s = heed_linear(windows, w, bias, y, executor);
 *   if (s == HEED_OK) s = heed_gelu(y_as_read, none, y, executor);
 *
 * Weights: data is (outputs, kernel, channels): each output has the weights of the earliest time step, channel by
 * channel, then those of the next step. PyTorch and ONNX store (outputs, channels, kernel), so exchange the last two
 * dimensions once; with one channel they are the same already. HEED_IN_OUT with (kernel, channels, outputs) is
 * TensorFlow's order. All dtypes work, also packed and in blocks.
 * Padding: put rows of zeros before and behind x. Streaming: keep the last kernel - stride rows of the last window, and
 * the rows that did not fill a window, in front of the new rows. A window's bits do not depend on the others.
 * Speed: as a projection of rows that do not overlap, within the error of measurement (heed_bench: conv). Rows of y
 * that lie a multiple of 4096 bytes apart evict each other from the L1 cache: up to a quarter more time with
 * HEED_OUT_IN and packed int8.
 * heed has no dilation and no groups of channels (depthwise convolutions). */

/* Writes weights w to q in int8, with a scale for each output. w is (n_in, n_out), or (n_out, n_in) for HEED_OUT_IN. q
 * is contiguous, and scales is (n_out). The scale of an output is what heed_convert_from_f32 computes for a row.
 * Error: as heed_convert_from_f32.
 * Aliasing: as heed_convert_from_f32.
 * Status: as heed_convert_from_f32; the matrix is named X, and q and scales are named Y. */
HEED_API heed_status heed_weights_quantize(heed_matrix w, int32_t layout, int8_t *q, float *scales);

/* Rows of an embedding, or of any weights: y[r][i] = the weight from input i to output rows[r]. y is (n, n_in), and
 * rows is (n), with numbers from 0 to n_out - 1, in any order and repeated at will. w may have any dtype and layout,
 * also packed and in blocks. So one heed_weights is the embedding and the last projection of a language model (tied
 * weights). The table is that of nn.Embedding, (vocabulary, dim):
 *
 *   heed_weights e = heed_weights_of(table, NULL, HEED_BF16, HEED_OUT_IN, dim, vocabulary);
 *   heed_status s = heed_gather_rows(e, tokens, heed_matrix_out_of(x, n, dim));     // tokens become rows
 *   if (s == HEED_OK) s = heed_linear(last, e, NULL, logits, executor);  // a row becomes logits
 *
 * A table of positions works alike. In HEED_IN_OUT a row of y is a column of the table, which is slow if the table is
 * large.
 * Error: none; in int8 and in blocks one rounding, of number * scale.
 * Aliasing: y is disjoint from w and rows.
 * Status: OUT_OF_RANGE for ROWS (a number of a row); SHAPE_MISMATCH for Y (dim is not n_in). */
HEED_API heed_status heed_gather_rows(heed_weights w, const int32_t *rows, heed_matrix_out y);

/* --------------------------------------------------------------------------------------------------- packed weights */

/* Packed weights lie in the order in which products read them, for every dtype and number of rows. Pack weights once,
 * at the start or on a PC: the bytes are the same on every machine, and every kernel takes them. They may then lie in
 * flash or in a mapped file.
 *
 *   HEED_MEMORY(memory, HEED_WEIGHTS_PACKED_BYTES(HEED_INT8, 512, 1376));
 *   heed_status s = heed_weights_pack(heed_weights_of(w, NULL, HEED_F32, HEED_OUT_IN, 512, 1376), HEED_INT8, memory);
 *   heed_weights packed;
 *   if (s == HEED_OK) s = heed_weights_open(&packed, memory.data, memory.bytes);
 *   if (s == HEED_OK) s = heed_linear(x, packed, NULL, y, NULL);
 *
 * Bytes: a header of 64 (the mark "heedpack", then words of 32 bits: version, dtype, n_in, n_out, sum), then the
 * numbers, for n_out rounded up to 16. Sizes are multiples of 64, so packed weights can lie one behind the other in a
 * file. The version is 1; it is 2 for HEED_UINT8, and 3 with a sum (heed_weights_add_checksum). heed 0.2 reads only
 * version 1, and refuses the others.
 * Fields: Every call compares dtype, n_in and n_out of the weights with the header before their data. Do not change
 * them: packed weights of fewer outputs, or in another dtype, are other bytes. */
#define HEED_WEIGHTS_PACKED_BYTES(dtype, n_in, n_out)                                                                 \
  HEED_SIZE_FIT(                                                                                                      \
      64 + (HEED_SIZE_PRODUCT((HEED_SIZE_64(n_out) + 15) / 16 * 16, HEED_WEIGHTS_SIZE_OF_OUTPUT(dtype, n_in)) + 63) / \
               64 * 64)
/* A part of the size: bytes of an output, with its scales. */
#define HEED_WEIGHTS_SIZE_OF_OUTPUT(dtype, n_in)                  \
  ((dtype) == HEED_F32     ? 4 * HEED_SIZE_64(n_in)               \
   : (dtype) == HEED_INT8  ? (HEED_SIZE_64(n_in) + 3) / 4 * 4 + 4 \
   : (dtype) == HEED_UINT8 ? (HEED_SIZE_64(n_in) + 3) / 4 * 4 + 8 \
   : (dtype) == HEED_Q8_0  ? (HEED_SIZE_64(n_in) + 31) / 32 * 34  \
   : (dtype) == HEED_Q4_0  ? (HEED_SIZE_64(n_in) + 31) / 32 * 18  \
                           : 2 * HEED_SIZE_64(n_in))
/* HEED_WEIGHTS_PACKED_BYTES as a function. It returns 0 if the dtype or a number is not valid, or if the size is above
 * PTRDIFF_MAX. */
HEED_API size_t heed_weights_packed_bytes(int32_t dtype, int32_t n_in, int32_t n_out);

/* Packs weights of any dtype, in either layout or in blocks, as weights of `dtype`. n_in and n_out may be any
 * numbers. In the same dtype every number and scale stays as it is, so that products have the same bits. In another
 * dtype numbers are converted to f32, then to the dtype:
 *
 *   HEED_F32                nothing is lost
 *   HEED_F16, HEED_BF16     as heed_convert_from_f32: numbers beyond the range become infinity
 *   HEED_INT8               as heed_weights_quantize: a scale for each output, no zero points
 *   HEED_UINT8              only from weights with zero points, HEED_INT8 or HEED_UINT8: nothing is lost. Each output
 *                           gets a scale and a zero point
 *   HEED_Q8_0               the scale of a block is max |x| / 127, rounded to f16. Numbers are x / scale, rounded
 *   HEED_Q4_0               the scale is the number of greatest magnitude (the first of equals) / -8, rounded to f16.
 *                           Numbers are x / scale, rounded, from -8 to 7
 *
 * The last block of an output may have fewer than 32 inputs. Padding beyond n_in and n_out is 0, so the bytes depend on
 * the weights alone. It takes no workspace.
 * Error: of a weight: as heed_convert_from_f32 for F16, BF16, INT8. For blocks whose scale is not subnormal in f16: at
 * most 0.51 * scale in HEED_Q8_0; in HEED_Q4_0 at most 0.51 |scale| for weights with the sign of the greatest one, and
 * 1.01 |scale| for the others.
 * Aliasing: the memory is disjoint from w and its scales.
 * Status: BAD_LAYOUT for W if it is packed; BAD_DTYPE for DTYPE, also for HEED_UINT8 of weights without zero points;
 * NOT_FINITE for W if weights that get new scales are NaN or infinite, or if a scale is beyond f16. */
HEED_API heed_status heed_weights_pack(heed_weights w, int32_t dtype, heed_memory memory);

/* Opens `bytes` bytes of weights that heed_weights_pack has written, here or on another machine. packed is aligned to
 * HEED_ALIGNMENT, must stay where it is, and is only read. There may be more bytes than the weights have. The call
 * reads only the header, so its time does not depend on the size.
 * Status: for PACKED: BAD_MAGIC (it does not begin with the mark), UNKNOWN_VERSION, CORRUPT (dtype or shape are not
 * possible). */
HEED_API heed_status heed_weights_open(heed_weights *w, const void *packed, size_t bytes);

/* A checksum over packed weights, for files and flash that may be damaged. Call heed_weights_add_checksum once, after
 * heed_weights_pack and before the weights are stored: it writes the sum into the header. heed_weights_check reads all
 * bytes and compares the sum; heed_weights_open does not. The sum is FNV-1a over words of 32 bits: dtype, n_in and
 * n_out, then the numbers. It detects damage, not forgery. w is what heed_weights_open or heed_weights_in_integers
 * made.
 * Status: heed_weights_add_checksum as heed_weights_open, but for MEMORY. heed_weights_check: CORRUPT for W also if the
 * sum differs; NOT_INITIALIZED for W that are not packed; UNKNOWN_VERSION for W that have no sum. */
HEED_API heed_status heed_weights_add_checksum(heed_memory memory);
HEED_API heed_status heed_weights_check(heed_weights w);

#ifdef __cplusplus
}
#endif

#endif
