/* heed: what every header of heed builds on: the version, limits, views of memory, executors. Include heed.h.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_TYPES_H
#define HEED_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 3
#define HEED_VERSION_PATCH 0

/* Goes first in a declaration: HEED_ALIGNED static float x[8]. */
#if defined(__GNUC__)
#define HEED_ALIGNED __attribute__((aligned(64)))
#elif defined(_MSC_VER)
#define HEED_ALIGNED __declspec(align(64))
#elif defined(__cplusplus)
#define HEED_ALIGNED alignas(64)
#else
#define HEED_ALIGNED _Alignas(64)
#endif

/* Limits. A larger number is HEED_OUT_OF_RANGE.
 * HEED_MAX_DIM limits head_dim, v_dim, model_dim, out_dim, hidden_dim, n_heads, n_kv_heads, and in a layer also
 * n_heads * head_dim and n_heads * v_dim.
 * HEED_MAX_COUNT limits rows, keys, batch entries, capacities, and both sides of a matrix.
 * HEED_MAX_WORKERS limits the workers of an executor.
 * HEED_STACK_BYTES is the most stack that a call takes. */
#define HEED_MAX_DIM 65536
#define HEED_MAX_COUNT 0x40000000
#define HEED_MAX_WORKERS 1024
#if !defined(__ARM_ARCH_PROFILE) || __ARM_ARCH_PROFILE != 'M'
#define HEED_STACK_BYTES 10240
#elif defined(__ARM_FEATURE_MVE)
#define HEED_STACK_BYTES 4608 /* Cortex-M with Helium */
#else
#define HEED_STACK_BYTES 2560 /* other Cortex-M; plain attention takes about 600 */
#endif

/* A scale that means 1/sqrt(head_dim), root and quotient rounded to f32. Every scale is given: 0 is an error, so that a
 * forgotten one is seen. */
#define HEED_SCALE_DEFAULT 3.402823466e+38f

/* ---------------------------------------------------------------------------------------------------------- memory */

/* Memory of the caller's that a call may use: workspaces, activations, caches, partial results. Every size counts
 * bytes. Each size exists twice, from one formula: as a constant expression (HEED_WORKSPACE_BYTES), for static arrays,
 * and as a function (heed_workspace_bytes). */
typedef struct heed_memory {
  void *data; /* aligned to HEED_ALIGNMENT unless a function says less */
  size_t bytes;
} heed_memory;
#define HEED_ALIGNMENT 64

static inline heed_memory heed_memory_of(void *data, size_t bytes) {
  heed_memory m = {data, bytes};
  return m;
}
/* Defines static, aligned memory and a heed_memory `name` that shows it:
 * HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(64, 64)); */
#define HEED_MEMORY(name, size)                         \
  HEED_ALIGNED static unsigned char name##_bytes[size]; \
  static const heed_memory name = {name##_bytes, sizeof name##_bytes}

/* ----------------------------------------------------------------------------------------------------------- views */

/* Element (r, i) is data[r * row_stride + i], r < n_rows, i < dim. Inputs may have row_stride 0 (one row, repeated). */
typedef struct heed_matrix {
  const float *data;
  int32_t n_rows, dim;
  ptrdiff_t row_stride;
} heed_matrix;

/* The same, written. row_stride is at least dim, unless n_rows is 1. */
typedef struct heed_matrix_out {
  float *data;
  int32_t n_rows, dim;
  ptrdiff_t row_stride;
} heed_matrix_out;

/* Element (b, h, t, i) is data[b * batch_stride + h * head_stride + t * row_stride + i]. The counts come from the call.
 * The strides of an input may be any number from 0 up, so token-major, head-major, packed QKV and broadcast all fit. */
typedef struct heed_tensor {
  const float *data;
  ptrdiff_t batch_stride, head_stride, row_stride;
} heed_tensor;

/* The same, written. Rows do not overlap each other. */
typedef struct heed_tensor_out {
  float *data;
  ptrdiff_t batch_stride, head_stride, row_stride;
} heed_tensor_out;

static inline heed_matrix heed_matrix_of(const float *data, int32_t n_rows, int32_t dim) {
  heed_matrix m = {data, n_rows, dim, dim};
  return m;
}
static inline heed_matrix_out heed_matrix_out_of(float *data, int32_t n_rows, int32_t dim) {
  heed_matrix_out m = {data, n_rows, dim, dim};
  return m;
}

/* The rows of one sequence, one head or several side by side: matrix (n, n_heads * dim). */
static inline heed_tensor heed_tensor_of(heed_matrix m, int32_t n_heads) {
  heed_tensor t = {m.data, 0, m.dim / n_heads, m.row_stride};
  return t;
}
static inline heed_tensor_out heed_tensor_out_of(heed_matrix_out m, int32_t n_heads) {
  heed_tensor_out t = {m.data, 0, m.dim / n_heads, m.row_stride};
  return t;
}
/* (batch, token, head, dim): the layout of a projection's output. */
static inline heed_tensor heed_token_major(const float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor t = {data, HEED_CAST(ptrdiff_t, n_rows) * n_heads * dim, dim, HEED_CAST(ptrdiff_t, n_heads) * dim};
  return t;
}
static inline heed_tensor_out heed_token_major_out(float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor_out t = {data, HEED_CAST(ptrdiff_t, n_rows) * n_heads * dim, dim, HEED_CAST(ptrdiff_t, n_heads) * dim};
  return t;
}
/* (batch, head, token, dim): the fastest layout for keys and values. */
static inline heed_tensor heed_head_major(const float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor t = {data, HEED_CAST(ptrdiff_t, n_heads) * n_rows * dim, HEED_CAST(ptrdiff_t, n_rows) * dim, dim};
  return t;
}
static inline heed_tensor_out heed_head_major_out(float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor_out t = {data, HEED_CAST(ptrdiff_t, n_heads) * n_rows * dim, HEED_CAST(ptrdiff_t, n_rows) * dim, dim};
  return t;
}

/* ------------------------------------------------------------------------------------------------------- executors */

/* Runs one piece of work. Pieces are independent. 0 <= index < n_tasks. 0 <= worker < n_workers names a slice of the
 * workspace, so two pieces that run at the same time must be given different workers. */
typedef void (*heed_task)(void *context, int32_t index, int32_t worker);

/* How a call may use threads. run() calls task(context, i, worker) once for every i in [0, n_tasks), in any order and
 * on any threads, and returns when all are done. It cannot fail: where it gets no thread it runs the tasks itself. It
 * must be callable again from the next heed call. Do not change n_workers of an executor that a library filled: its
 * run() knows its own number. A null executor means one thread.
 *
 * If a run() of yours breaks this, the call still returns HEED_OK, because heed does not count the pieces:
 *  - A piece with an index or a worker out of range is not run.
 *  - What a left-out piece would have written stays as it was. Where the keys of few rows are split over the workers,
 *    these rows become any numbers, and so does what a layer makes of such a result.
 *  - A piece that runs twice, one time after the other, gives the same bits, unless it reads what it writes: y = x of
 *    softmax, norms, activations, sums and rope is computed twice, also within layers, and a heed_partial counts these
 *    keys twice.
 * All this reads and writes nothing but the memory of the call. What heed cannot see is undefined behaviour: two pieces
 * on one worker at the same time, a piece twice at the same time, a piece that runs after run() has returned. */
typedef struct heed_executor {
  uint32_t struct_size; /* sizeof(heed_executor) */
  int32_t n_workers;    /* 1 to HEED_MAX_WORKERS */
  void (*run)(void *user, int32_t n_tasks, heed_task task, void *context);
  void *user;
} heed_executor;
static inline heed_executor heed_executor_of(void (*run)(void *user, int32_t n_tasks, heed_task task, void *context),
                                             void *user, int32_t n_workers) {
  heed_executor e = {sizeof(heed_executor), n_workers, run, user};
  return e;
}

#ifdef __cplusplus
}
#endif

#endif
