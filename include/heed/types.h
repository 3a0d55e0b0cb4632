/* heed: what every header of heed builds on: version, limits, statuses, views of memory, threads. Include heed.h.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_TYPES_H
#define HEED_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 2
#define HEED_VERSION_PATCH 1

/* Of a DLL nothing else is visible: MinGW exports every function only where none is named. Programs need no dllimport.
 */
#if defined(HEED_SHARED) && defined(_WIN32)
#define HEED_API __declspec(dllexport)
#elif defined(HEED_SHARED) && defined(__GNUC__)
#define HEED_API __attribute__((visibility("default")))
#else
#define HEED_API
#endif

/* First in a declaration: HEED_ALIGNED static float x[8]. */
#if defined(__GNUC__)
#define HEED_ALIGNED __attribute__((aligned(64)))
#elif defined(_MSC_VER)
#define HEED_ALIGNED __declspec(align(64))
#elif defined(__cplusplus)
#define HEED_ALIGNED alignas(64)
#else
#define HEED_ALIGNED _Alignas(64)
#endif

/* What heed's macros cast with, and no pointer, in either language. A cast of a constant is a constant. */
#ifdef __cplusplus
#define HEED_CAST(type, x) static_cast<type>(x)
#define HEED_NULL nullptr
#else
#define HEED_CAST(type, x) ((type)(x))
#define HEED_NULL NULL
#endif
#define HEED_SIZE(x) HEED_CAST(size_t, x)

/* Limits; anything larger is HEED_OUT_OF_RANGE. HEED_MAX_DIM: head_dim, v_dim, model_dim, out_dim, n_heads, n_kv_heads,
 * the dim of a sequence and of self-attention, in a layer also n_heads * head_dim and n_heads * v_dim. HEED_MAX_COUNT:
 * rows, keys, batch entries, capacities, and both sides of the matrices of softmax, linear and weighted sums. */
#define HEED_MAX_DIM 65536
#define HEED_MAX_COUNT 0x40000000
#if !defined(__ARM_ARCH_PROFILE) || __ARM_ARCH_PROFILE != 'M'
#define HEED_STACK_BYTES 10240
#elif defined(__ARM_FEATURE_MVE)
#define HEED_STACK_BYTES 4608 /* Cortex-M with Helium */
#else
#define HEED_STACK_BYTES 2560 /* other Cortex-M: plain attention takes 600 at most, options and caches more */
#endif

/* ---------------------------------------------------------------------------------------------------------- status */

/* The code of an object that its init function made: opaque. */
typedef struct heed_code heed_code;

/* HEED_OK, or HEED_STATUS(fault, argument): negative; says what is wrong and with which argument. */
typedef int32_t heed_status;
#define HEED_OK 0
#define HEED_STATUS(fault, argument) (-(HEED_CAST(int32_t, fault) * 256 + HEED_CAST(int32_t, argument)))
#define HEED_STATUS_FAULT(status) ((status) / -256)
#define HEED_STATUS_ARGUMENT(status) (-((status) % 256))

typedef enum heed_fault {
  HEED_NULL_POINTER = 1,   /* a required pointer is null */
  HEED_MISALIGNED,         /* not aligned: floats to 4 bytes, workspaces and buffers to HEED_WORKSPACE_ALIGNMENT */
  HEED_OUT_OF_RANGE,       /* a number is zero, negative, subnormal or above its limit where it may not be */
  HEED_BAD_STRIDE,         /* negative, or rows of an output overlap; strides over a count of 1 do not count */
  HEED_OVERFLOW,           /* the extent of the memory exceeds the address space */
  HEED_TOO_SMALL,          /* the buffer is shorter than the minimum for these dimensions */
  HEED_OVERLAP,            /* the buffer is written and shares memory with another argument */
  HEED_MISFIT,             /* the shape does not fit the other arguments */
  HEED_NOT_FINITE,         /* NaN or infinity where a number is needed */
  HEED_UNKNOWN_STRUCT,     /* struct_size is not one that this version knows */
  HEED_FULL,               /* the sequence has no room for the rows */
  HEED_UNKNOWN_KERNEL,     /* no kernel of that name in this build */
  HEED_UNAVAILABLE_KERNEL, /* this processor lacks the kernel's instructions */
  HEED_MISMATCH,           /* the self-test found bits that differ from the reference */
  HEED_NOT_INITIALIZED,    /* the object was not made by its init function */
  HEED_DAMAGED,            /* the buffer does not hold what it should */
  HEED_RUNNING             /* the threads run already */
} heed_fault;

typedef enum heed_argument {
  HEED_ARG_CALL = 1,
  HEED_ARG_Q,
  HEED_ARG_K,
  HEED_ARG_V,
  HEED_ARG_OUT,
  HEED_ARG_WEIGHTS,
  HEED_ARG_BATCH,
  HEED_ARG_N_HEADS,
  HEED_ARG_N_KV_HEADS,
  HEED_ARG_N_Q,
  HEED_ARG_N_KV,
  HEED_ARG_HEAD_DIM,
  HEED_ARG_V_DIM,
  HEED_ARG_SCALE,
  HEED_ARG_CAUSAL,
  HEED_ARG_WORKSPACE,
  HEED_ARG_EXECUTOR,
  HEED_ARG_N_THREADS,
  HEED_ARG_X,
  HEED_ARG_Y,
  HEED_ARG_W,
  HEED_ARG_BIAS,
  HEED_ARG_A,
  HEED_ARG_B,
  HEED_ARG_N,
  HEED_ARG_RESULT,
  HEED_ARG_LAYER,
  HEED_ARG_MODEL_DIM,
  HEED_ARG_OUT_DIM,
  HEED_ARG_WQ,
  HEED_ARG_WK,
  HEED_ARG_WV,
  HEED_ARG_WO,
  HEED_ARG_BQ,
  HEED_ARG_BK,
  HEED_ARG_BV,
  HEED_ARG_BO,
  HEED_ARG_ACTIVATIONS,
  HEED_ARG_SEQUENCE,
  HEED_ARG_ROWS,
  HEED_ARG_CAPACITY,
  HEED_ARG_KERNEL,
  HEED_ARG_BUFFER,
  HEED_ARG_REPORT,
  HEED_ARG_OPTIONS,
  HEED_ARG_RANGES, /* to PARTIAL: in the order of heed_options */
  HEED_ARG_MASK,
  HEED_ARG_SOFTCAP,
  HEED_ARG_ALIBI,
  HEED_ARG_SINKS,
  HEED_ARG_SCORES,
  HEED_ARG_LSE,
  HEED_ARG_COLUMN_SUMS,
  HEED_ARG_TOP_K,
  HEED_ARG_PARTIAL,
  HEED_ARG_LEFT_WINDOW,
  HEED_ARG_RIGHT_WINDOW,
  HEED_ARG_OFFSETS,
  HEED_ARG_KV_LENGTHS,
  HEED_ARG_TOTAL,
  HEED_ARG_FIRST_KEY,
  HEED_ARG_WEIGHT,
  HEED_ARG_EPS,
  HEED_ARG_UP,
  HEED_ARG_ROPE,
  HEED_ARG_STYLE,
  HEED_ARG_ROTARY_DIM,
  HEED_ARG_BASE,
  HEED_ARG_FREQUENCIES,
  HEED_ARG_POSITION,
  HEED_ARG_POSITIONS,
  HEED_ARG_FORMAT,
  HEED_ARG_LAYOUT,
  HEED_ARG_SCALES,
  HEED_ARG_CACHE,
  HEED_ARG_SHAPE,
  HEED_ARG_KIND,
  HEED_ARG_PINNED,
  HEED_ARG_SPARE,
  HEED_ARG_N_SEQUENCES,
  HEED_ARG_LENGTH,
  HEED_ARG_BLOCK,
  HEED_ARG_HIDDEN_DIM,
  HEED_ARG_NORM_FIRST,
  HEED_ARG_NORM,
  HEED_ARG_ACTIVATION,
  HEED_ARG_W_UP,
  HEED_ARG_W_GATE,
  HEED_ARG_W_DOWN,
  HEED_ARG_B_UP,
  HEED_ARG_B_GATE,
  HEED_ARG_B_DOWN,
  HEED_ARG_NARROW,
  HEED_ARG_THREADS
} heed_argument;

/* Sentence for the fault ("a required pointer is null") and name of the argument ("k"). Never null; static storage. */
HEED_API const char *heed_status_text(heed_status status);
HEED_API const char *heed_status_argument(heed_status status);

/* ------------------------------------------------------------------------------------------------- views of memory */

/* Element (r, i) is data[r * row_stride + i], r < n_rows, i < dim. Inputs may have row_stride 0 (one row, repeated). */
typedef struct heed_matrix {
  const float *data;
  int32_t n_rows, dim;
  ptrdiff_t row_stride;
} heed_matrix;

/* The same, written. row_stride >= dim unless n_rows is 1. */
typedef struct heed_matrix_out {
  float *data;
  int32_t n_rows, dim;
  ptrdiff_t row_stride;
} heed_matrix_out;

/* Element (b, h, t, i) is data[b * batch_stride + h * head_stride + t * row_stride + i]. The counts come from the call.
 * Input strides may be any value >= 0, so token-major, head-major, packed QKV and broadcast all fit. */
typedef struct heed_tensor {
  const float *data;
  ptrdiff_t batch_stride, head_stride, row_stride;
} heed_tensor;

/* The same, written. Rows must not overlap each other; a null data pointer means "not wanted" where that is allowed. */
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
/* (batch, token, head, dim), the layout of a projection's output. */
static inline heed_tensor heed_token_major(const float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor t = {data, HEED_CAST(ptrdiff_t, n_rows) * n_heads * dim, dim, HEED_CAST(ptrdiff_t, n_heads) * dim};
  return t;
}
static inline heed_tensor_out heed_token_major_out(float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor_out t = {data, HEED_CAST(ptrdiff_t, n_rows) * n_heads * dim, dim, HEED_CAST(ptrdiff_t, n_heads) * dim};
  return t;
}
/* (batch, head, token, dim), the fastest layout for keys and values. */
static inline heed_tensor heed_head_major(const float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor t = {data, HEED_CAST(ptrdiff_t, n_heads) * n_rows * dim, HEED_CAST(ptrdiff_t, n_rows) * dim, dim};
  return t;
}
static inline heed_tensor_out heed_head_major_out(float *data, int32_t n_rows, int32_t n_heads, int32_t dim) {
  heed_tensor_out t = {data, HEED_CAST(ptrdiff_t, n_heads) * n_rows * dim, HEED_CAST(ptrdiff_t, n_rows) * dim, dim};
  return t;
}

/* --------------------------------------------------------------------------------------------------------- threads */

/* Runs one piece of work. Pieces are independent; 0 <= index < n_tasks; 0 <= worker < n_workers names a slice of the
 * workspace, so two pieces that run at the same time must be given different workers. */
typedef void (*heed_task)(void *context, int32_t index, int32_t worker);

/* How a call may use threads. run() calls task(context, i, worker) once for every i in [0, n_tasks), in any order and
 * on any threads, and returns when all are done. It cannot fail: where no thread is to be had it runs the tasks itself.
 * It must be callable again from the next heed call. Do not change n_workers of an executor that a library filled: its
 * run() knows its own number.
 *
 * If a run() of yours breaks this, the call still returns HEED_OK, because heed does not count the pieces:
 *
 * - A piece with an index or a worker out of range is not run.
 *
 * - What a piece that was not run, or was left out, would have written stays as it was. Where the keys of few rows are
 *   split over the workers, these rows become any numbers, and so does what a layer makes of such a result.
 *
 * - A piece that is run twice, one time after the other, gives the same bits, unless it reads what it writes: y = x of
 *   softmax, norms, activations, sums and rope is computed twice, also within layers, and a heed_partial counts these
 *   keys twice.
 *
 * All this reads and writes nothing but the memory of the call. What heed cannot see is undefined behaviour: two pieces
 * on one worker at the same time, a piece twice at the same time, a piece that runs when run() has returned. */
typedef struct heed_executor {
  uint32_t struct_size; /* sizeof(heed_executor) */
  int32_t n_workers;    /* 1 to 1024 */
  void (*run)(void *user, int32_t n_tasks, heed_task task, void *context);
  void *user;
} heed_executor;
#define HEED_MAX_WORKERS 1024

#ifdef __cplusplus
}
#endif

#endif
