/* heed: types and kernels of the functions in integers. Include heed/integers.h. SPDX-License-Identifier: MIT */
#ifndef HEED_INT_TYPES_H
#define HEED_INT_TYPES_H

#include "isa.h"
#include "types.h"
#include "weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A factor: m * 2^(e - 31), with m from 2^30 to 2^31 - 1. TensorFlow Lite's quantized_multiplier is m, and its shift is
 * e. */
typedef struct heed_multiplier {
  int32_t m; /* 2^30 to 2^31 - 1 */
  int32_t e; /* each function states its range */
} heed_multiplier;

/* The multiplier of a factor. It is exact, and made of the bits of the float without an FPU. The factor is positive and
 * normal. For any other factor m is 0, which every call refuses. */
static inline heed_multiplier heed_multiplier_of(float factor) {
  heed_multiplier m = {0, 0};
  union {
    float value;
    uint32_t bits;
  } f;
  f.value = factor;
  if (f.bits - 0x00800000u < 0x7f000000u) {
    m.m = HEED_CAST(int32_t, ((f.bits & 0x007fffffu) | 0x00800000u) << 7);
    m.e = HEED_CAST(int32_t, f.bits >> 23) - 126;
  }
  return m;
}

/* The factor 1: for rows that have the scale of the result, as in heed_int_add. */
static inline heed_multiplier heed_multiplier_one(void) {
  heed_multiplier m = {0x40000000, 1};
  return m;
}

/* A matrix of int8 or int16 that is read. Element (r, i) is data[r * row_stride + i]; it stands for scale * (element -
 * zero_point). */
typedef struct heed_int_matrix {
  const void *data;     /* int8_t or int16_t */
  int32_t dtype;        /* HEED_INT8 or HEED_INT16 */
  int32_t n_rows, dim;  /* rows, and numbers of a row */
  ptrdiff_t row_stride; /* in elements; 0 repeats one row */
  int32_t zero_point;   /* within the range of the dtype */
} heed_int_matrix;

/* A matrix that is written. Its elements lie as in heed_int_matrix. */
typedef struct heed_int_matrix_out {
  void *data;           /* int8_t or int16_t */
  int32_t dtype;        /* HEED_INT8 or HEED_INT16 */
  int32_t n_rows, dim;  /* rows, and numbers of a row */
  ptrdiff_t row_stride; /* in elements; at least dim, unless n_rows is 1 */
  int32_t zero_point;   /* within the range of the dtype */
} heed_int_matrix_out;

/* A contiguous matrix: row_stride is dim. */
static inline heed_int_matrix heed_int_matrix_of(const void *data, int32_t dtype, int32_t n_rows, int32_t dim,
                                                 int32_t zero_point) {
  heed_int_matrix m = {data, dtype, n_rows, dim, dim, zero_point};
  return m;
}
static inline heed_int_matrix_out heed_int_matrix_out_of(void *data, int32_t dtype, int32_t n_rows, int32_t dim,
                                                         int32_t zero_point) {
  heed_int_matrix_out m = {data, dtype, n_rows, dim, dim, zero_point};
  return m;
}

/* --------------------------------------------------------------------------------------------------------- kernels */

/* The kernels of integers that can run here, best first. All give the same bits; only their speed differs. The
 * first call takes the one that the environment variable HEED_INT_ISA names, or the best, whatever kernel of floats is
 * in use. heed_int_isa_name returns null past the last. */
HEED_API int32_t heed_int_isa_count(void);
HEED_API const char *heed_int_isa_name(int32_t index);
HEED_API const char *heed_int_isa_current(void);
/* Chooses a kernel by its name, for all threads; null means the best. A build for firmware has only one.
 * Status: UNKNOWN_ISA, UNAVAILABLE_ISA for ISA. */
HEED_API heed_status heed_int_isa_use(const char *name);

/* The least memory for heed_int_selftest, in bytes. */
#define HEED_INT_SELFTEST_BYTES 8192
/* A self-test of integers, for start-up. It compares attention and products of the kernel in use with plain loops,
 * number by number. Then it compares the results of these loops, and the functions of rows, with known answers: so it
 * finds a compiler that changes kernel and loops alike. memory has HEED_INT_SELFTEST_BYTES or more, aligned to 64. From
 * 64 KB on, a kernel packs blocks of keys in it, as in a large workspace. A program links the test only if it calls it.
 * report may be null; n_floats counts the numbers that were compared.
 * Status: as heed_selftest. */
HEED_API heed_status heed_int_selftest(heed_memory memory, heed_selftest_report *report);

#ifdef __cplusplus
}
#endif

#endif
