/* heed: the types that every other header uses: version, limits, memory, views and executors. Include heed.h.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_TYPES_H
#define HEED_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers. heed_version() returns the version of the library that is linked. */
#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 3
#define HEED_VERSION_PATCH 1

/* Aligns a variable to HEED_ALIGNMENT. It comes first in a declaration: HEED_ALIGNED static float x[8]. */
#if defined(__GNUC__)
#define HEED_ALIGNED __attribute__((aligned(64)))
#elif defined(_MSC_VER)
#define HEED_ALIGNED __declspec(align(64))
#elif defined(__cplusplus)
#define HEED_ALIGNED alignas(64)
#else
#define HEED_ALIGNED _Alignas(64)
#endif

/* The largest head_dim, v_dim, model_dim, out_dim, ffn_dim, n_heads and n_kv_heads. In a layer it also limits
 * n_heads * head_dim and n_heads * v_dim. A larger number is HEED_OUT_OF_RANGE. */
#define HEED_MAX_DIM 65536
/* The largest number of rows, keys and batch entries, the largest capacity, and the largest number of rows and columns
 * of a matrix. A larger number is HEED_OUT_OF_RANGE. */
#define HEED_MAX_COUNT 0x40000000
/* The largest number of workers of an executor. A larger number is HEED_OUT_OF_RANGE. */
#define HEED_MAX_WORKERS 1024
/* A call takes at most this many bytes of stack, if heed is compiled with optimisation (-O1, -Os and up). Without it
 * (-O0, and Debug builds) it takes at most twice as many. */
#if !defined(__ARM_ARCH_PROFILE) || __ARM_ARCH_PROFILE != 'M'
#define HEED_STACK_BYTES 12800
#elif defined(__ARM_FEATURE_MVE)
#define HEED_STACK_BYTES 4608 /* Cortex-M with Helium */
#else
#define HEED_STACK_BYTES 3328 /* other Cortex-M: plain attention takes about 600 */
#endif

/* A scale that means 1/sqrt(head_dim). The root and the quotient are rounded to f32. A scale of 0 is an
 * error, so that a forgotten scale is found. */
#define HEED_SCALE_DEFAULT 3.402823466e+38f

/* ---------------------------------------------------------------------------------------------------------- memory */

/* Memory that belongs to the caller and that a call may use: for workspaces, activations, caches and partial results.
 * Every size counts bytes. Each size exists twice, from one formula: as a constant expression for static arrays
 * (HEED_WORKSPACE_BYTES), and as a function (heed_workspace_bytes). If a size is above PTRDIFF_MAX, the function
 * returns 0, and the constant expression is SIZE_MAX, which is too large for an array. */
typedef struct heed_memory {
  void *data;   /* aligned to HEED_ALIGNMENT, unless a function asks for less */
  size_t bytes; /* the size of the memory */
} heed_memory;
/* The alignment of memory in bytes. */
#define HEED_ALIGNMENT 64

/* A heed_memory of the `bytes` bytes that begin at `data`. */
static inline heed_memory heed_memory_of(void *data, size_t bytes) {
  heed_memory m = {data, bytes};
  return m;
}

/* Defines static, aligned memory of `size` bytes and a heed_memory `name` of it:
 *
 *   HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(64, 64));
 *
 * A size above PTRDIFF_MAX does not compile. */
#define HEED_MEMORY(name, size)                                                                            \
  HEED_ALIGNED static unsigned char name##_bytes[(size) <= PTRDIFF_MAX ? HEED_CAST(ptrdiff_t, size) : -1]; \
  static const heed_memory name = {name##_bytes, sizeof name##_bytes}

/* ----------------------------------------------------------------------------------------------------------- views */

/* A matrix that is read. Element (r, i) is data[r * row_stride + i], where r < n_rows and i < dim. */
typedef struct heed_matrix {
  const float *data;    /* the first element */
  int32_t n_rows, dim;  /* rows, and floats of a row */
  ptrdiff_t row_stride; /* in elements; 0 repeats one row */
} heed_matrix;

/* A matrix that is written. Its elements lie as in heed_matrix. */
typedef struct heed_matrix_out {
  float *data;          /* the first element */
  int32_t n_rows, dim;  /* rows, and floats of a row */
  ptrdiff_t row_stride; /* in elements; at least dim, unless n_rows is 1 */
} heed_matrix_out;

/* A tensor that is read. Element (b, h, t, i) is data[b * batch_stride + h * head_stride + t * row_stride + i]. The
 * counts come from the call. A stride of an input may be any number from 0 up. So a tensor can be token-major,
 * head-major, packed QKV or broadcast. */
typedef struct heed_tensor {
  const float *data;                               /* the first element */
  ptrdiff_t batch_stride, head_stride, row_stride; /* in elements */
} heed_tensor;

/* A tensor that is written. Its elements lie as in heed_tensor. Its rows must not overlap each other. */
typedef struct heed_tensor_out {
  float *data;                                     /* the first element */
  ptrdiff_t batch_stride, head_stride, row_stride; /* in elements */
} heed_tensor_out;

/* The stride a * b * c. If it would be larger, it is PTRDIFF_MAX, which calls refuse: OVERFLOW. */
static inline ptrdiff_t heed_stride_of(int32_t a, int32_t b, int32_t c) {
  ptrdiff_t n = 0;
#if defined(__GNUC__)
  const int more = __builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n, c, &n);
#else
  const int valid = a > 0 && b > 0 && c > 0; /* no call has use for other strides */
  const int more = valid && (a > PTRDIFF_MAX / b || HEED_CAST(ptrdiff_t, a) * b > PTRDIFF_MAX / c);
  if (valid && !more) n = HEED_CAST(ptrdiff_t, a) * b * c;
#endif
  return more ? PTRDIFF_MAX : n;
}

/* A contiguous matrix: row_stride is dim. */
static inline heed_matrix heed_matrix_of(const float *data, int32_t n_rows, int32_t dim) {
  heed_matrix m = {data, n_rows, dim, dim};
  return m;
}
static inline heed_matrix_out heed_matrix_out_of(float *data, int32_t n_rows, int32_t dim) {
  heed_matrix_out m = {data, n_rows, dim, dim};
  return m;
}

/* A matrix with null data, for an optional parameter: `up`, the rows that an activation multiplies by. */
static inline heed_matrix heed_no_matrix(void) {
  heed_matrix m = {HEED_NULL, 0, 0, 0};
  return m;
}

/* The windows of a convolution over time, as rows that overlap. Row t is rows t * stride to t * stride + kernel - 1 of
 * x, one after another: kernel * dim numbers. There are (n_rows - kernel) / stride + 1 windows, rounded down. Nothing
 * is copied. heed_linear multiplies them (weights.h: a convolution). x has at least kernel rows, which are contiguous
 * (row_stride is dim). kernel and stride are at least 1, and kernel * dim is at most HEED_MAX_COUNT. Otherwise n_rows
 * is 0, which a call refuses: OUT_OF_RANGE. */
static inline heed_matrix heed_windows_of(heed_matrix x, int32_t kernel, int32_t stride) {
  heed_matrix m = {x.data, 0, 0, 0};
  if (kernel >= 1 && stride >= 1 && x.dim >= 1 && x.row_stride == x.dim && kernel <= x.n_rows &&
      kernel <= HEED_MAX_COUNT / x.dim) {
    m.n_rows = (x.n_rows - kernel) / stride + 1;
    m.dim = kernel * x.dim;
    m.row_stride = heed_stride_of(stride, x.dim, 1);
  }
  return m;
}

/* A tensor of the rows of one sequence. The matrix is (n, n_heads * dim): one head, or several side by side. If n_heads
 * is less than 1 or does not divide the matrix's dim, the data is null, which calls refuse: NULL_POINTER. */
static inline heed_tensor heed_tensor_of(heed_matrix m, int32_t n_heads) {
  heed_tensor t = {HEED_NULL, 0, 0, m.row_stride};
  if (n_heads >= 1 && m.dim % n_heads == 0) {
    t.data = m.data;
    t.head_stride = m.dim / n_heads;
  }
  return t;
}
static inline heed_tensor_out heed_tensor_out_of(heed_matrix_out m, int32_t n_heads) {
  heed_tensor_out t = {HEED_NULL, 0, 0, m.row_stride};
  if (n_heads >= 1 && m.dim % n_heads == 0) {
    t.data = m.data;
    t.head_stride = m.dim / n_heads;
  }
  return t;
}

/* A contiguous tensor (batch, token, head, dim). A projection writes this layout. */
static inline heed_tensor heed_token_major(const float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor t = {data, heed_stride_of(n_rows, n_heads, dim), dim, heed_stride_of(n_heads, dim, 1)};
  return t;
}
static inline heed_tensor_out heed_token_major_out(float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor_out t = {data, heed_stride_of(n_rows, n_heads, dim), dim, heed_stride_of(n_heads, dim, 1)};
  return t;
}

/* A contiguous tensor (batch, head, token, dim). This is the fastest layout for keys and values. */
static inline heed_tensor heed_head_major(const float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor t = {data, heed_stride_of(n_heads, n_rows, dim), heed_stride_of(n_rows, dim, 1), dim};
  return t;
}
static inline heed_tensor_out heed_head_major_out(float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor_out t = {data, heed_stride_of(n_heads, n_rows, dim), heed_stride_of(n_rows, dim, 1), dim};
  return t;
}

/* ------------------------------------------------------------------------------------------------------- executors */

/* Runs one task. Tasks are independent of each other. 0 <= index < n_tasks, and 0 <= worker < n_workers. `worker`
 * selects a part of the workspace, so two tasks that run at the same time must get different workers. */
typedef void (*heed_task)(void *context, int32_t index, int32_t worker);

/* How a call may use threads. run() calls task(context, i, worker) once for every i in [0, n_tasks), in any order and
 * on any threads. It returns when all of them are done. It cannot fail: if it gets no thread, it runs the tasks itself.
 * The next heed call must be able to call it again. Do not change n_workers of an executor that a library filled: its
 * run() has its own copy of that number.
 *
 * If a run() of yours breaks this contract, the call still returns HEED_OK, because heed does not count the tasks:
 *
 *  - heed does not run a task whose index or worker is out of range.
 *  - If run() leaves a task out, the results of that task stay as they were. If the keys of few rows are split over the
 *    workers, the results of these rows are undefined. What a layer computes from them is undefined, too.
 *  - A task may run twice, one time after the other. It gives the same bits, unless it reads what it writes. With
 *    y = x, softmax, norms, activations, sums and rope are then computed twice, also within layers. A heed_partial then
 *    counts these keys twice.
 *
 * In all these cases the call reads and writes only its own memory. heed cannot detect the following errors, so they
 * are undefined behaviour: two tasks run on one worker at the same time; a task runs twice at the same time; a task
 * runs after run() has returned. */
typedef struct heed_executor {
  uint32_t struct_size; /* sizeof(heed_executor) */
  int32_t n_workers;    /* 1 to HEED_MAX_WORKERS */
  /* Runs n_tasks tasks. */
  void (*run)(void *user, int32_t n_tasks, heed_task task, void *context);
  void *user; /* the first argument of run() */
} heed_executor;

/* An executor with these three fields. */
static inline heed_executor heed_executor_of(void (*run)(void *user, int32_t n_tasks, heed_task task, void *context),
                                             void *user, int32_t n_workers) {
  heed_executor e = {sizeof(heed_executor), n_workers, run, user};
  return e;
}

#ifdef __cplusplus
}
#endif

#endif
