/* heed: statuses, which functions return, and small macros that the other headers use. Include heed.h.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_STATUS_H
#define HEED_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the functions of the library. On Windows a shared library exports only functions that are marked with it.
 * Programs need no dllimport. */
#if defined(HEED_SHARED) && defined(_WIN32)
#define HEED_API __declspec(dllexport)
#elif defined(HEED_SHARED) && defined(__GNUC__)
#define HEED_API __attribute__((visibility("default")))
#else
#define HEED_API
#endif

/* Casts and the null pointer for heed's macros, in C and in C++. A cast of a constant is a constant. */
#ifdef __cplusplus
#define HEED_CAST(type, x) static_cast<type>(x)
#define HEED_NULL nullptr
#else
#define HEED_CAST(type, x) ((type)(x))
#define HEED_NULL NULL
#endif
#define HEED_SIZE(x) HEED_CAST(size_t, x)
/* Parts of sizes that grow with a count. They are computed in 64 bits, also where size_t has 32. HEED_SIZE_PRODUCT is
 * the product, but at most 2^63. HEED_SIZE_FIT is the size, or SIZE_MAX if it is above PTRDIFF_MAX. */
#define HEED_SIZE_64(x) HEED_CAST(uint64_t, x)
#define HEED_SIZE_PRODUCT(a, b) ((b) != 0 && (a) > (HEED_SIZE_64(1) << 63) / (b) ? HEED_SIZE_64(1) << 63 : (a) * (b))
#define HEED_SIZE_FIT(bytes) ((bytes) > HEED_SIZE_64(PTRDIFF_MAX) ? SIZE_MAX : HEED_SIZE(bytes))

/* What a function returns: HEED_OK, or a negative number. The number says what is wrong (heed_fault) and which argument
 * is wrong (heed_argument). All numbers below are part of the ABI: later versions add numbers and change none. */
typedef int32_t heed_status;
/* The status of a call that has done its work. */
#define HEED_OK 0
/* The status of a fault and an argument, and the two parts of a status that is not HEED_OK. */
#define HEED_STATUS(fault, argument) (-(HEED_CAST(int32_t, fault) * 1000 + HEED_CAST(int32_t, argument)))
#define HEED_STATUS_FAULT(status) ((status) / -1000)
#define HEED_STATUS_ARGUMENT(status) (-((status) % 1000))

/* What is wrong. */
typedef enum heed_fault {
  /* Numbers and pointers. */
  HEED_NULL_POINTER = 1, /* a required pointer is null */
  HEED_MISALIGNED = 2,   /* a pointer is not aligned: floats to 4 bytes, memory to HEED_ALIGNMENT */
  HEED_OUT_OF_RANGE = 3, /* a number is zero, negative, subnormal or above its limit where that is not allowed */
  HEED_NOT_FINITE = 4,   /* a number is NaN or infinite */
  HEED_BAD_STRIDE = 5,   /* a stride is negative, or rows of an output overlap; a stride over a count of 1 is ignored */
  HEED_OVERFLOW = 6,     /* the argument would extend beyond the address space */
  HEED_TOO_SMALL = 7,    /* the memory is smaller than these dimensions need */
  HEED_OVERLAP = 8,      /* the argument is written, and shares memory with another argument */
  HEED_BAD_DTYPE = 9,    /* the dtype is not a heed_dtype, or is not possible here */
  HEED_BAD_LAYOUT = 10,  /* the layout is not a heed_weights_layout */
  HEED_BAD_SCALES = 11,  /* the scales of int8 numbers are null or misaligned, or their strides are wrong */
  /* Arguments that contradict each other. */
  HEED_SHAPE_MISMATCH = 20, /* the shape does not fit the other arguments */
  HEED_CONFLICT = 21,       /* one thing is given in two places */
  HEED_UNSUPPORTED = 22,    /* this call cannot do that */
  HEED_NOT_CAUSAL = 23,     /* a cache needs causal = 1 here */
  HEED_BAD_SPLIT = 24,      /* keys are split neither at a multiple of 1024 nor where the last part ended */
  HEED_TOO_MANY_ROWS = 25,  /* there are more new rows than the ring keeps */
  HEED_EVICTED = 26,        /* the ring no longer has all keys that a query sees */
  HEED_FULL = 27,           /* there is no room for the rows */
  /* Objects. */
  HEED_NOT_INITIALIZED = 40, /* the object was not made by its init, default or of function */
  HEED_BAD_STRUCT_SIZE = 41, /* struct_size is not one that this version knows */
  HEED_CORRUPT = 42,         /* the memory does not hold what it should hold */
  HEED_RUNNING = 43,         /* the threads run already */
  HEED_BAD_MAGIC = 44,       /* the bytes are of another kind: they begin with another mark */
  HEED_UNKNOWN_VERSION = 45, /* the bytes were written by a version that this one does not know */
  /* Kernels. */
  HEED_UNKNOWN_ISA = 60,     /* no kernel of that name is in this build */
  HEED_UNAVAILABLE_ISA = 61, /* this processor lacks the kernel's instructions */
  HEED_MISMATCH = 62         /* the self-test found bits that differ from the reference */
} heed_fault;

/* Which argument is wrong. */
typedef enum heed_argument {
  /* Calls of attention, and what all functions share. */
  HEED_ARG_CALL = 1,
  HEED_ARG_Q = 2,
  HEED_ARG_K = 3,
  HEED_ARG_V = 4,
  HEED_ARG_OUT = 5,
  HEED_ARG_BATCH_SIZE = 6,
  HEED_ARG_N_HEADS = 7,
  HEED_ARG_N_KV_HEADS = 8,
  HEED_ARG_N_Q = 9,
  HEED_ARG_N_KV = 10,
  HEED_ARG_HEAD_DIM = 11,
  HEED_ARG_V_DIM = 12,
  HEED_ARG_SCALE = 13,
  HEED_ARG_CAUSAL = 14,
  HEED_ARG_POSITION = 15,
  HEED_ARG_WORKSPACE = 16,
  HEED_ARG_EXECUTOR = 17,
  HEED_ARG_MEMORY = 18,
  HEED_ARG_ISA = 19,
  HEED_ARG_REPORT = 20,
  HEED_ARG_THREADS = 21,
  HEED_ARG_N_THREADS = 22,
  /* Rows and products. */
  HEED_ARG_X = 40,
  HEED_ARG_Y = 41,
  HEED_ARG_W = 42,
  HEED_ARG_BIAS = 43,
  HEED_ARG_A = 44,
  HEED_ARG_B = 45,
  HEED_ARG_N = 46,
  HEED_ARG_RESULT = 47,
  HEED_ARG_ROWS = 48,
  HEED_ARG_WEIGHT = 49,
  HEED_ARG_EPS = 50,
  HEED_ARG_UP = 51,
  HEED_ARG_LAYOUT = 52,
  HEED_ARG_PACKED = 53,
  HEED_ARG_N_GROUPS = 54,
  HEED_ARG_INDICES = 55,
  HEED_ARG_TEMPERATURE = 56,
  HEED_ARG_TOP_P = 57,
  HEED_ARG_RANDOM = 58,
  HEED_ARG_TOP_K = 59,
  /* Rotary embedding. */
  HEED_ARG_ROPE = 60,
  HEED_ARG_STYLE = 61,
  HEED_ARG_ROTARY_DIM = 62,
  HEED_ARG_BASE = 63,
  HEED_ARG_FREQUENCIES = 64,
  HEED_ARG_POSITIONS = 65,
  HEED_ARG_FACTOR = 66,
  HEED_ARG_N_AXES = 67,
  HEED_ARG_AXES = 68,
  /* Options of attention. */
  HEED_ARG_OPTIONS = 100,
  HEED_ARG_RANGES = 101,
  HEED_ARG_MASK = 102,
  HEED_ARG_SOFTCAP = 103,
  HEED_ARG_ALIBI = 104,
  HEED_ARG_SINKS = 105,
  HEED_ARG_SCORES = 106,
  HEED_ARG_WEIGHTS = 107,
  HEED_ARG_LSE = 108,
  HEED_ARG_COLUMN_SUMS = 109,
  HEED_ARG_TOPK_WEIGHTS = 110,
  HEED_ARG_PARTIAL = 111,
  HEED_ARG_TYPED = 112,
  HEED_ARG_LEFT_WINDOW = 130,
  HEED_ARG_RIGHT_WINDOW = 131,
  HEED_ARG_KV_LENGTHS = 132,
  HEED_ARG_TOTAL = 133,
  HEED_ARG_FIRST_KEY = 134,
  /* Caches and sequences. */
  HEED_ARG_CACHE = 160,
  HEED_ARG_SHAPE = 161,
  HEED_ARG_KIND = 162,
  HEED_ARG_CAPACITY = 163,
  HEED_ARG_PINNED = 164,
  HEED_ARG_SPARE = 165,
  HEED_ARG_N_SEQUENCES = 166,
  HEED_ARG_DTYPE = 167,
  HEED_ARG_SEQUENCE = 168,
  HEED_ARG_LENGTH = 169,
  HEED_ARG_DIM = 170,
  HEED_ARG_LENGTHS = 171,
  /* Layers. */
  HEED_ARG_LAYER = 200,
  HEED_ARG_ATTENTION = 201,
  HEED_ARG_MODEL_DIM = 202,
  HEED_ARG_OUT_DIM = 203,
  HEED_ARG_FFN_DIM = 204,
  HEED_ARG_WQ = 205,
  HEED_ARG_WK = 206,
  HEED_ARG_WV = 207,
  HEED_ARG_WO = 208,
  HEED_ARG_BQ = 209,
  HEED_ARG_BK = 210,
  HEED_ARG_BV = 211,
  HEED_ARG_BO = 212,
  HEED_ARG_NORM_FIRST = 213,
  HEED_ARG_NORM = 214,
  HEED_ARG_NORM1_WEIGHT = 215,
  HEED_ARG_NORM1_BIAS = 216,
  HEED_ARG_NORM2_WEIGHT = 217,
  HEED_ARG_NORM2_BIAS = 218,
  HEED_ARG_ACTIVATION = 219,
  HEED_ARG_W_UP = 220,
  HEED_ARG_W_GATE = 221,
  HEED_ARG_W_DOWN = 222,
  HEED_ARG_B_UP = 223,
  HEED_ARG_B_GATE = 224,
  HEED_ARG_B_DOWN = 225,
  HEED_ARG_CROSS = 226,
  HEED_ARG_QK_EPS = 227,
  HEED_ARG_QK_NORM_WHOLE = 228,
  HEED_ARG_Q_NORM_WEIGHT = 229,
  HEED_ARG_Q_NORM_BIAS = 230,
  HEED_ARG_K_NORM_WEIGHT = 231,
  HEED_ARG_K_NORM_BIAS = 232,
  HEED_ARG_NORM_CROSS_WEIGHT = 233,
  HEED_ARG_NORM_CROSS_BIAS = 234,
  HEED_ARG_POST_NORM = 235,
  HEED_ARG_PARALLEL = 236,
  HEED_ARG_FFN_ORDER = 237,
  /* Integers. */
  HEED_ARG_SCORE = 240,
  HEED_ARG_VALUE = 241,
  HEED_ARG_VALUES = 242,
  HEED_ARG_MULTIPLIERS = 243,
  /* Norms of the outputs of sublayers. */
  HEED_ARG_POST_NORM1_WEIGHT = 260,
  HEED_ARG_POST_NORM1_BIAS = 261,
  HEED_ARG_POST_NORM2_WEIGHT = 262,
  HEED_ARG_POST_NORM2_BIAS = 263,
  HEED_ARG_POST_NORM_CROSS_WEIGHT = 264,
  HEED_ARG_POST_NORM_CROSS_BIAS = 265,
  HEED_ARG_OUT_ROWS = 266,
  /* Ragged batches. */
  HEED_ARG_BATCH = 280
} heed_argument;

/* heed_status_text says the fault in words ("a required pointer is null"). heed_status_argument names the argument
 * ("k"). The result is never null and has static storage. On a Cortex-M a program that calls one of them has about
 * 2 KB more code. A library that is compiled with HEED_NO_STATUS_TEXT holds no texts: both functions return "". */
HEED_API const char *heed_status_text(heed_status status);
HEED_API const char *heed_status_argument(heed_status status);

/* The code of an object. An init function sets it. It is opaque. */
typedef struct heed_code heed_code;

#ifdef __cplusplus
}
#endif

#endif
