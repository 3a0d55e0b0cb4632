/* heed: numbers in fewer bits, for caches, tensors and weights. Include heed.h.
 *
 * Narrow formats are only for storage: every result has the bits of the f32 call on the widened values. Widening is
 * exact for f16 and bf16, also for subnormal f16. An int8 number widens to one product, number * scale, rounded to f32.
 * Narrowing rounds to nearest, ties to even.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_FORMATS_H
#define HEED_FORMATS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A format of numbers. */
typedef enum heed_format {
  HEED_F32 = 0,   /* IEEE 754 binary32: float */
  HEED_F16 = 1,   /* IEEE 754 binary16 */
  HEED_BF16 = 2,  /* the upper half of an f32 */
  HEED_INT8 = 3,  /* -127 to 127 times a scale; there is a scale for each row, in weights for each output */
  HEED_Q8_0 = 4,  /* weights only, in blocks of 32 inputs: -127 to 127 times a scale in f16, one for each block */
  HEED_Q4_0 = 5,  /* the same with numbers from -8 to 7, two in a byte */
  HEED_INT16 = 6, /* integers.h only: results of 16 bits */
  HEED_UINT8 = 7  /* weights only: 0 to 255, less a zero point, times a scale (heed_weights_with_zero_points) */
} heed_format;
/* Bytes of a number. Blocks have no such size: a block of HEED_Q8_0 takes 34 bytes, one of HEED_Q4_0 takes 18. */
#define HEED_FORMAT_BYTES(format) ((format) == HEED_F32 ? 4 : (format) == HEED_INT8 || (format) == HEED_UINT8 ? 1 : 2)

/* ------------------------------------------------------------------------------------------------------------ rows */

/* A matrix that is read, of numbers in any format. Element (r, i) is data[r * row_stride + i]. */
typedef struct heed_narrow_matrix {
  const void *data;     /* aligned as its numbers are */
  const float *scales;  /* int8 only: (n_rows) */
  int32_t format;       /* heed_format */
  int32_t n_rows, dim;  /* rows, and numbers of a row */
  ptrdiff_t row_stride; /* in elements; 0 repeats one row */
} heed_narrow_matrix;

/* A matrix that is written. Its elements lie as in heed_narrow_matrix. */
typedef struct heed_narrow_matrix_out {
  void *data;           /* aligned as its numbers are */
  float *scales;        /* int8 only: (n_rows) */
  int32_t format;       /* heed_format */
  int32_t n_rows, dim;  /* rows, and numbers of a row */
  ptrdiff_t row_stride; /* in elements; at least dim, unless n_rows is 1 */
} heed_narrow_matrix_out;

/* A contiguous matrix: row_stride is dim. */
static inline heed_narrow_matrix heed_narrow_matrix_of(const void *data, const float *scales, int32_t format,
                                                       int32_t n_rows, int32_t dim) {
  heed_narrow_matrix m = {data, scales, format, n_rows, dim, dim};
  return m;
}
static inline heed_narrow_matrix_out heed_narrow_matrix_out_of(void *data, float *scales, int32_t format,
                                                               int32_t n_rows, int32_t dim) {
  heed_narrow_matrix_out m = {data, scales, format, n_rows, dim, dim};
  return m;
}

/* Writes the rows of x (n, dim) to y (n, dim) in the format of y. f16 and bf16: numbers beyond the range become
 * infinity, and NaN stays NaN. int8: scales[r] = max |x[r]| / 127, rounded down where 127 * scale would be infinite,
 * and y is x / scale, rounded. A row of zeros has the scale 0. A row with NaN or infinity has no scale: NOT_FINITE for
 * X.
 * Error: |y - x| is at most 2^-11 |x| + 2^-25 in f16 (up to 65504), 2^-8 |x| in bf16, and scale * (0.5 + 2^-16) in int8
 * if the scale is not subnormal.
 * Aliasing: y and its scales are disjoint from x and from each other.
 * Status: NULL_POINTER, MISALIGNED, OUT_OF_RANGE, BAD_STRIDE, OVERFLOW for X; BAD_FORMAT, NULL_POINTER, MISALIGNED,
 * BAD_STRIDE, OVERFLOW, OVERLAP, MISFIT (another shape) for Y; int8 only: BAD_SCALES (null, misaligned), OVERFLOW,
 * OVERLAP for Y, NOT_FINITE for X. */
HEED_API heed_status heed_narrow(heed_matrix x, heed_narrow_matrix_out y);

/* Writes the rows of x (n, dim), in any format, to y (n, dim) as floats.
 * Error: none; in int8 one rounding.
 * Aliasing: y is disjoint from x and its scales.
 * Status: NULL_POINTER, MISALIGNED, OUT_OF_RANGE, BAD_STRIDE, OVERFLOW, OVERLAP (with x or its scales) for Y;
 * BAD_FORMAT, NULL_POINTER, MISALIGNED, BAD_STRIDE, OVERFLOW, MISFIT (another shape) for X; int8 only: BAD_SCALES
 * (null, misaligned), OVERFLOW for X. */
HEED_API heed_status heed_widen(heed_narrow_matrix x, heed_matrix_out y);

/* --------------------------------------------------------------------------------------- queries, keys, values, out */

/* A tensor that is read, of numbers in any format. Element (b, h, t, i) is data[b * batch_stride + h * head_stride +
 * t * row_stride + i]. In int8, the scale of row (b, h, t) is scales.data[b * scales.batch_stride +
 * h * scales.head_stride + t * scales.row_stride]. */
typedef struct heed_narrow_tensor {
  const void *data;                                /* aligned as its numbers are; null: the call's own tensor is read */
  heed_tensor scales;                              /* int8 only */
  int32_t format;                                  /* heed_format */
  ptrdiff_t batch_stride, head_stride, row_stride; /* in elements */
} heed_narrow_tensor;

/* A tensor that is written. Its elements lie as in heed_narrow_tensor. HEED_INT8 is not possible here. */
typedef struct heed_narrow_tensor_out {
  void *data;     /* aligned as its numbers are; null: the call's own tensor is written */
  int32_t format; /* heed_format */
  ptrdiff_t batch_stride, head_stride, row_stride; /* in elements */
} heed_narrow_tensor_out;

/* Tensors of a call of attention in any format, for heed_options.narrow. The call's own tensor of that name then has
 * data null.
 *
 *   heed_narrow_tensors narrow;
 *   heed_narrow_tensors_init(&narrow);
 *   narrow.k = heed_narrow_head_major(k, NULL, HEED_F16, n_kv, n_kv_heads, head_dim);
 *   options.narrow = &narrow;
 *
 * Shapes: as in heed_attention. All options combine with narrow tensors. A cache combines only with narrow q and out.
 * With a partial, out is not written: its data must be null here, too.
 * Error: The result has the bits of the call on the widened q, k and v. out is what heed_narrow makes of this result.
 * Aliasing: out is disjoint from everything else. q, k, v and scales may share memory.
 * Workspace: as without narrow tensors. Narrow queries and a narrow out take part of it, so fewer rows are computed
 * together. If the workspace has no room for one row of widened queries (near the minimum, if head_dim > 264 +
 * 2 * v_dim), scores are computed number by number, which is slow.
 * Speed: Keys and values are widened while they are read. If the processor has vector instructions for this, decoding
 * takes about the time of f32, and less if memory limits the speed. f16 takes up to a seventh more than f32 if the keys
 * and values come from near caches of the processor. A Cortex-M4F widens one number at a time. There a call took 3.0
 * times as long as heed_widen and the f32 call together, 22.8 KB of code instead of 7.8 KB, and 2.4 KB of stack instead
 * of 0.7 KB. So widen first there, if the floats have room.
 * Status: of a call: GIVEN_TWICE for Q, K, V, OUT (K, V also with a cache; OUT with a partial); BAD_FORMAT, MISALIGNED,
 * BAD_STRIDE, OVERFLOW, BAD_SCALES for Q, K, V, OUT; OVERLAP for OUT. In layers and sequences: NOT_HERE for NARROW. */
typedef struct heed_narrow_tensors {
  uint32_t struct_size; /* sizeof(heed_narrow_tensors) */
  const heed_code *code;
  heed_narrow_tensor q, k, v; /* what the call reads */
  heed_narrow_tensor_out out; /* what it writes */
} heed_narrow_tensors;

/* Makes an object without narrow tensors: all data is null. Status: NULL_POINTER, MISALIGNED for NARROW. */
HEED_API heed_status heed_narrow_tensors_init(heed_narrow_tensors *narrow);

/* Contiguous tensors in the layouts of types.h. scales is null, or contiguous in the order of the rows, as heed_narrow
 * writes them. */
static inline heed_narrow_tensor heed_narrow_token_major(const void *data, const float *scales, int32_t format,
                                                         int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_narrow_tensor t = {data,   heed_token_major(scales, n_rows, n_heads, 1),
                          format, heed_stride_of(n_rows, n_heads, dim),
                          dim,    heed_stride_of(n_heads, dim, 1)};
  return t;
}
static inline heed_narrow_tensor heed_narrow_head_major(const void *data, const float *scales, int32_t format,
                                                        int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_narrow_tensor t = {data,
                          heed_head_major(scales, n_rows, n_heads, 1),
                          format,
                          heed_stride_of(n_heads, n_rows, dim),
                          heed_stride_of(n_rows, dim, 1),
                          dim};
  return t;
}
static inline heed_narrow_tensor_out heed_narrow_token_major_out(void *data, int32_t format, int32_t n_rows,
                                                                 int32_t n_heads, int32_t dim) {
  heed_narrow_tensor_out t = {data, format, heed_stride_of(n_rows, n_heads, dim), dim, heed_stride_of(n_heads, dim, 1)};
  return t;
}
static inline heed_narrow_tensor_out heed_narrow_head_major_out(void *data, int32_t format, int32_t n_rows,
                                                                int32_t n_heads, int32_t dim) {
  heed_narrow_tensor_out t = {data, format, heed_stride_of(n_heads, n_rows, dim), heed_stride_of(n_rows, dim, 1), dim};
  return t;
}

/* ---------------------------------------------------------------------------------------------------------- weights */

/* The layout of weights. */
typedef enum heed_weights_layout {
  HEED_IN_OUT = 0, /* element (i, o) is data[i * row_stride + o], as in the w of heed_linear */
  HEED_OUT_IN = 1, /* element (i, o) is data[o * row_stride + i], as PyTorch and llama2.c store weights */
  HEED_PACKED = 2  /* heed's own, which heed_weights_pack writes and heed_weights_open shows */
} heed_weights_layout;

/* The code of packed weights, of weights in blocks and of weights with zero points. It is opaque. */
typedef struct heed_weights_code heed_weights_code;

/* Weights of a projection from n_in to n_out numbers, as they lie in a file or in flash. */
typedef struct heed_weights {
  const void *data;       /* aligned as its numbers are; null: no weights, where that is allowed */
  const float *scales;    /* int8 only: (n_out), widened weight = number * scales[o]; packed weights have their own */
  int32_t format, layout; /* heed_format, heed_weights_layout */
  int32_t n_in, n_out;    /* numbers that go in, numbers that come out */
  ptrdiff_t row_stride;   /* in elements; packed weights have none */
  const heed_weights_code *code; /* set by the functions that make other than plain weights; null: plain weights */
  const void *zero_points;       /* set by heed_weights_with_zero_points */
  int32_t n_scales;              /* the same: 1 or n_out */
} heed_weights;

/* Contiguous weights. scales may be null if the format is neither HEED_INT8 nor HEED_UINT8. */
static inline heed_weights heed_weights_of(const void *data, const float *scales, int32_t format, int32_t layout,
                                           int32_t n_in, int32_t n_out) {
  heed_weights w = {data,      scales,    format, layout, n_in, n_out, layout == HEED_IN_OUT ? n_out : n_in,
                    HEED_NULL, HEED_NULL, 0};
  return w;
}

/* Weights w with zero points, as ONNX (DequantizeLinear) and TensorFlow Lite define them:
 * widened weight = (number - zero point) * scale. w is plain, HEED_INT8 (-128 to 127) or HEED_UINT8 (0 to 255), in
 * either layout. There are n_scales scales and as many zero points: 1 for all outputs, or n_out, one for each.
 * zero_points are numbers of the same format, as in an ONNX file; null: all are 0. (TensorFlow Lite writes zero points
 * as int64: copy them.)
 *
 *   heed_weights w = heed_weights_of(data, &scale, HEED_UINT8, HEED_IN_OUT, n_in, n_out);
 *   w = heed_weights_with_zero_points(w, &zero_point, 1);
 *   heed_status s = heed_project(x, w, NULL, y, NULL);
 *
 * The difference is exact, and the product is rounded once. Every function that takes weights takes these, but for
 * heed_int_project and the layers in integers, whose weights have no zero points (as TensorFlow Lite has it). A call
 * that is given the weights checks them: NOT_INITIALIZED for HEED_UINT8 without this function, BAD_FORMAT for formats
 * other than these two, MISFIT for n_scales. */
HEED_API heed_weights heed_weights_with_zero_points(heed_weights w, const void *zero_points, int32_t n_scales);

/* Weights in blocks, as a GGUF file holds them: HEED_Q8_0 or HEED_Q4_0, contiguous, HEED_OUT_IN. data may have any
 * alignment. n_in is a multiple of 32. All numbers are little-endian.
 *
 *   HEED_Q8_0   a scale in f16, then 32 bytes: number k is byte k
 *   HEED_Q4_0   a scale in f16, then 16 bytes: number k is the low half of byte k, or the high half of byte k - 16,
 *               minus 8
 *
 * For other rows than contiguous ones set row_stride, a multiple of 32. A call that is given the weights checks them:
 * BAD_FORMAT also if the format is not the one that they were made with.
 * Source: github.com/ggml-org/ggml, block_q8_0 and block_q4_0. */
HEED_API heed_weights heed_weights_of_blocks(const void *data, int32_t format, int32_t n_in, int32_t n_out);

/* A projection with any weights: y (n, n_out) = bias + x (n, n_in) w. The result has the bits of heed_linear with the
 * widened weights, in every layout. bias is (n_out) or null. It needs no workspace.
 * Blocks: HEED_Q8_0 and HEED_Q4_0 have a rule of their own, because a scale is then multiplied once for each block: for
 * each block t is the chain of fma(x, number) from +0, and y = fma(scale, t, y). In blocks or packed, the bits are the
 * same.
 * Speed: If memory is the limit, one row runs at the bandwidth of the narrow bytes. Packed weights are read in their
 * order, whatever the format and the number of rows. On vector units, HEED_OUT_IN is transposed while it is read:
 * HEED_IN_OUT was measured to be 1 to 3 times as fast. On a Cortex-M4F, int8 weights take 2.1 times the instructions of
 * f32, and a quarter of the bytes.
 * Range: of blocks, sum |x * number| of each must be finite, too: it is up to |x| = 2^116.
 * Error: as heed_linear, with the widened weights. For blocks: |y - exact| <= (n_in / 32 + 36) * 2^-24 *
 * (|bias| + sum |x * number * scale|) + n_in * (max |scale| + 1) * 2^-149.
 * Aliasing: y is disjoint from everything else.
 * Status: as heed_softmax for X, Y, EXECUTOR; as heed_linear for BIAS; NULL_POINTER, MISALIGNED, OUT_OF_RANGE,
 * BAD_STRIDE, OVERFLOW, MISFIT (n_in), BAD_FORMAT, BAD_LAYOUT, BAD_SCALES, NOT_INITIALIZED (packed or in blocks, and
 * not made by heed_weights_open or heed_weights_of_blocks), DAMAGED (packed: the header before the data has another
 * mark, format, n_in or n_out) for W. */
HEED_API heed_status heed_project(heed_matrix x, heed_weights w, const float *bias, heed_matrix_out y,
                                  const heed_executor *executor);

/* A convolution over time is a projection of rows that overlap (heed_windows_of). Rows of x (n, channels) are time steps:
 *
 *   heed_matrix windows = heed_windows_of(x, kernel, stride);
 *   heed_weights w = heed_weights_of(data, NULL, HEED_F32, HEED_OUT_IN, kernel * channels, outputs);
 *   heed_status s = heed_project(windows, w, bias, y, executor);
 *   if (s == HEED_OK) s = heed_gelu(y_as_read, none, y, executor);
 *
 * Weights: of an output, first those of the earliest time step, channel by channel, then the next step: data is
 * (outputs, kernel, channels). PyTorch and ONNX store (outputs, channels, kernel), so exchange the last two dimensions
 * once; with one channel they are the same already. HEED_IN_OUT with (kernel, channels, outputs) is TensorFlow's order. All
 * formats work, also packed and in blocks: the quantised numbers are those of any projection.
 * Padding: put rows of zeros before and behind x. Streaming: the windows of new rows need the kernel - stride rows before
 * them, and what did not fill a window; keep those in front of the new ones. A window's bits do not depend on the others.
 * Speed: that of a projection of rows that do not overlap, within measurement (bench: conv). Rows of y may lie apart. Where
 * they lie a multiple of 4096 bytes apart, they push each other out of the first cache: up to a quarter more time with
 * HEED_OUT_IN and packed int8.
 * Dilation, and groups of channels (depthwise convolutions), are not part of it: heed has none. */

/* Writes weights w to q in int8, with a scale for each output. w is (n_in, n_out), or (n_out, n_in) for HEED_OUT_IN. q
 * is contiguous, and scales is (n_out). The scale of an output is what heed_narrow computes for a row.
 * Error: as heed_narrow.
 * Aliasing: as heed_narrow.
 * Status: for W as heed_narrow for X, for Y (q and scales) as heed_narrow for Y; BAD_LAYOUT for LAYOUT. */
HEED_API heed_status heed_weights_quantize(heed_matrix w, int32_t layout, int8_t *q, float *scales);

/* Rows of an embedding, or of any weights: y[r][i] = the widened weight from input i to output rows[r]. y is (n, n_in),
 * and rows is (n), with numbers from 0 to n_out - 1, in any order; a row may be there several times. w may have any format
 * and layout, also packed and in blocks. So one heed_weights serves both ends of a language model. The table is that
 * of nn.Embedding, (vocabulary, dim):
 *
 *   heed_weights e = heed_weights_of(table, NULL, HEED_BF16, HEED_OUT_IN, dim, vocabulary);
 *   heed_status s = heed_gather_rows(e, tokens, heed_matrix_out_of(x, n, dim));     // tokens become rows
 *   if (s == HEED_OK) s = heed_project(last, e, NULL, logits, executor);  // a row becomes logits
 *
 * A table of positions is another. In HEED_IN_OUT a row of y is a column of the table, which is slow where it is large.
 * Error: none; in int8 and in blocks one rounding, of number * scale.
 * Aliasing: y is disjoint from w and rows.
 * Status: as heed_project for W; NULL_POINTER, MISALIGNED, OVERFLOW, OUT_OF_RANGE (a number of a row) for ROWS;
 * NULL_POINTER, MISALIGNED, OUT_OF_RANGE, BAD_STRIDE, OVERFLOW, OVERLAP, MISFIT (dim is not n_in) for Y. */
HEED_API heed_status heed_gather_rows(heed_weights w, const int32_t *rows, heed_matrix_out y);

/* --------------------------------------------------------------------------------------------------- packed weights */

/* Packed weights lie in the order in which products read them. So no number of rows and no format has a slow layout.
 * Pack weights once, at the start or on a PC: the bytes are the same on every machine, and every kernel takes them.
 * They may then lie in flash or in a mapped file.
 *
 *   HEED_MEMORY(memory, HEED_WEIGHTS_PACKED_BYTES(HEED_INT8, 512, 1376));
 *   heed_status s = heed_weights_pack(heed_weights_of(w, NULL, HEED_F32, HEED_OUT_IN, 512, 1376), HEED_INT8, memory);
 *   heed_weights packed;
 *   if (s == HEED_OK) s = heed_weights_open(&packed, memory.data, memory.bytes);
 *   if (s == HEED_OK) s = heed_project(x, packed, NULL, y, NULL);
 *
 * Bytes: 64 of a header (the mark "heedpack", then words of 32 bits: version, format, n_in, n_out, sum), then the
 * numbers, for n_out rounded up to 16. Sizes are multiples of 64, so packed weights can lie one behind the other in a
 * file. The version is 1; it is 2 for HEED_UINT8, and 3 where there is a sum (heed_weights_seal). heed 0.2 knows version 1
 * alone, and refuses the others.
 * Fields: Every call compares format, n_in and n_out of the weights with the header before their data. Do not change
 * them: packed weights of fewer outputs, or in another format, are other bytes. */
#define HEED_WEIGHTS_PACKED_BYTES(format, n_in, n_out)                                                                 \
  HEED_SIZE_FIT(                                                                                                       \
      64 + (HEED_SIZE_PRODUCT((HEED_SIZE_64(n_out) + 15) / 16 * 16, HEED_WEIGHTS_SIZE_OF_OUTPUT(format, n_in)) + 63) / \
               64 * 64)
/* What the size is made of: bytes of an output, with its scales. */
#define HEED_WEIGHTS_SIZE_OF_OUTPUT(format, n_in)                  \
  ((format) == HEED_F32     ? 4 * HEED_SIZE_64(n_in)               \
   : (format) == HEED_INT8  ? (HEED_SIZE_64(n_in) + 3) / 4 * 4 + 4 \
   : (format) == HEED_UINT8 ? (HEED_SIZE_64(n_in) + 3) / 4 * 4 + 8 \
   : (format) == HEED_Q8_0  ? (HEED_SIZE_64(n_in) + 31) / 32 * 34  \
   : (format) == HEED_Q4_0  ? (HEED_SIZE_64(n_in) + 31) / 32 * 18  \
                            : 2 * HEED_SIZE_64(n_in))
/* HEED_WEIGHTS_PACKED_BYTES as a function. It returns 0 if the format or a number is not valid, or if no memory is so
 * large. */
HEED_API size_t heed_weights_packed_bytes(int32_t format, int32_t n_in, int32_t n_out);

/* Packs weights of any format, in either layout or in blocks, as weights of `format`. n_in and n_out may be any
 * numbers. In the same format every number and scale stays as it is, so that products have the same bits. In another
 * format numbers are widened, then narrowed:
 *
 *   HEED_F32                nothing is lost
 *   HEED_F16, HEED_BF16     as heed_narrow: numbers beyond the range become infinity
 *   HEED_INT8               as heed_weights_quantize: a scale for each output, no zero points
 *   HEED_UINT8              only of weights with zero points, HEED_INT8 or HEED_UINT8, of which nothing is lost. They
 *                           get a scale and a zero point for each output
 *   HEED_Q8_0               the scale of a block is max |x| / 127, rounded to f16. Numbers are x / scale, rounded
 *   HEED_Q4_0               the scale is the number of greatest magnitude (the first of equals) / -8, rounded to f16.
 *                           Numbers are x / scale, rounded, from -8 to 7
 *
 * The last block of an output may have fewer than 32 inputs. What is beyond n_in and n_out is 0, so the bytes depend on
 * the weights alone. It takes no workspace.
 * Error: of a weight: as heed_narrow for F16, BF16, INT8. If the scale is not subnormal in f16, at most 0.51 * scale in
 * HEED_Q8_0 and |scale| * 1.01 in HEED_Q4_0 (0.51 unless it has the sign opposite to the greatest one).
 * Aliasing: the memory is disjoint from w and its scales.
 * Status: as heed_project for W, BAD_LAYOUT also for packed weights; BAD_FORMAT for FORMAT (HEED_UINT8 of weights
 * without zero points, too); NULL_POINTER, MISALIGNED,
 * TOO_SMALL, OVERFLOW, OVERLAP for MEMORY; NOT_FINITE for W if numbers with new scales are NaN or infinite, or if a
 * scale is beyond f16. */
HEED_API heed_status heed_weights_pack(heed_weights w, int32_t format, heed_memory memory);

/* Makes weights of `bytes` bytes that heed_weights_pack has written, here or on another machine. packed is aligned to
 * HEED_ALIGNMENT, must stay where it is, and is only read. There may be more bytes than the weights have. It reads the
 * header alone, so it is as fast for any size; heed_weights_check reads all bytes.
 * Status: NULL_POINTER, MISALIGNED, OVERLAP for W; for PACKED: NULL_POINTER, MISALIGNED, OVERFLOW, TOO_SMALL, FOREIGN
 * (it does not begin with the mark), UNKNOWN_VERSION, DAMAGED (format or shape are not possible). */
HEED_API heed_status heed_weights_open(heed_weights *w, const void *packed, size_t bytes);

/* For files and flash that may be damaged: a sum over packed weights. heed_weights_seal writes it into the header of weights
 * that heed_weights_pack has made, once, before they are stored. heed_weights_check compares it, and reads all bytes;
 * heed_weights_open does not. The sum is FNV-1a over words of 32 bits: format, n_in and n_out, then the numbers. It tells
 * damage, not forgery. w is what heed_weights_open or heed_weights_in_integers made.
 * Status: heed_weights_seal as heed_weights_open for PACKED, but for MEMORY. heed_weights_check as heed_project for W;
 * DAMAGED for W also if the sum is another; NOT_INITIALIZED for W that are not packed; UNKNOWN_VERSION for W that are not
 * sealed. */
HEED_API heed_status heed_weights_seal(heed_memory memory);
HEED_API heed_status heed_weights_check(heed_weights w);

#ifdef __cplusplus
}
#endif

#endif
