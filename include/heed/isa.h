/* heed: the choice of kernel, and self-tests. Include heed.h. SPDX-License-Identifier: MIT */
#ifndef HEED_ISA_H
#define HEED_ISA_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The two arithmetics. Bits agree within an arithmetic, not between the two. Every build for an operating system
 * has NO_FMA kernels. With any compiler it has FMA kernels, too, if the target has the instruction. If some processors
 * of a fleet lack the instruction, heed_isa_use("no-fma") gives the same bits on all. A build with one kernel
 * (firmware, HEED_FIXED_ISA) has the arithmetic of that kernel. */
typedef enum heed_arithmetic {
  HEED_ARITHMETIC_NO_FMA = 0,  /* every product is rounded, then added: for processors without a fused multiply-add */
  HEED_ARITHMETIC_FMA = 1,     /* every multiply-add rounds once */
  HEED_ARITHMETIC_INTEGERS = 2 /* for heed_isa_contract: int_attention.h and int_layers.h, the same on all kernels */
} heed_arithmetic;

/* The number of kernels that this processor can run. */
HEED_API int32_t heed_isa_count(void);
/* The name of a kernel that this processor can run. Index 0 is the best. The name has static storage. It is null if
 * index is out of range. */
HEED_API const char *heed_isa_name(int32_t index);
/* The heed_arithmetic of a kernel. It is -1 if this build does not have the kernel. Here, in heed_isa_use and in
 * HEED_ISA, "fma" and "no-fma" are names, too: they name the best kernel of that arithmetic. */
HEED_API int32_t heed_isa_arithmetic(const char *name);
/* The name of the kernel in use. The first call of the library chooses the best kernel. If on a hosted system the
 * environment variable HEED_ISA names a kernel, it chooses that one. It ignores the name of a kernel that is unknown or
 * cannot run here: compare that name with this result. */
HEED_API const char *heed_isa_current(void);
/* Forces a kernel for the whole process. Null returns to the automatic choice. You may call it at any time: a call that
 * is running finishes on the kernel with which it began, and so do its tasks on an executor.
 * Status: UNKNOWN_ISA, UNAVAILABLE_ISA for ISA. In a build with a fixed kernel, any other kernel is unknown. */
HEED_API heed_status heed_isa_use(const char *name);

/* A number for the rules of an arithmetic: two builds of heed with one number give the same bits. It is made of what
 * the self-tests compare with, so it changes whenever a rule does. 0: there is no such arithmetic. */
HEED_API uint32_t heed_isa_contract(int32_t arithmetic);

/* The version of the library that is linked, such as "0.3.0". */
HEED_API const char *heed_version(void);

/* What a self-test found. Strings have static storage. If compared_with is "known answers", the reference itself is
 * wrong: the two indices are -1, and the bits are digests of all its results. For features, "known answers" means that
 * the kernel is wrong, and case_index says which part. */
typedef struct heed_selftest_report {
  uint32_t struct_size; /* sizeof(heed_selftest_report) */
  int32_t n_kernels;    /* kernels that were compared */
  int32_t n_cases;      /* cases that ran on each kernel */
  uint32_t n_floats;    /* results that were compared, in all */
  const char *kernel;   /* the kernel of the first difference; null if there is none */
  const char *function; /* "attention", "softmax", "linear", "dot" or "all"; for features "rms_norm", "cache", ... */
  int32_t case_index;   /* which case; for features, which part of them */
  int32_t float_index;  /* which float of its result */
  uint32_t expected_bits, actual_bits; /* the first difference */
  const char *compared_with;           /* "scalar", "scalar-no-fma" or "known answers" */
} heed_selftest_report;

/* A report before a self-test. */
static inline heed_selftest_report heed_selftest_report_default(void) {
  heed_selftest_report r = {sizeof(heed_selftest_report), 0, 0, 0, HEED_NULL, HEED_NULL, 0, 0, 0, 0, HEED_NULL};
  return r;
}

/* Bytes of memory for heed_selftest. */
#define HEED_SELFTEST_BYTES 131072
/* Compares every kernel that this processor can run with the scalar reference of its arithmetic, bit by bit. The shapes
 * cross every tile boundary. The inputs contain NaN, infinities and zeros of both signs. It also compares the
 * reference, and the features of each kernel (heed_selftest_features), with known answers. So it finds a compiler or a
 * mode of the processor that changes both. It needs only HEED_SELFTEST_BYTES of memory, aligned to 64. It takes
 * milliseconds on a PC. report may be null.
 * Status: MISMATCH for ISA. */
HEED_API heed_status heed_selftest(heed_memory memory, heed_selftest_report *report);

/* Bytes of memory for heed_selftest_boot. */
#define HEED_SELFTEST_BOOT_BYTES 8192
/* A self-test for start-up. It tests only the kernel in use, in little memory, with about 50,000 multiply-adds. The
 * shapes cross the boundaries of tiles, blocks and chunks. memory has HEED_SELFTEST_BOOT_BYTES, aligned to 64. report
 * may be null.
 * Status: as heed_selftest. */
HEED_API heed_status heed_selftest_boot(heed_memory memory, heed_selftest_report *report);

/* Bytes of memory for heed_selftest_features. */
#define HEED_SELFTEST_FEATURES_BYTES 16384
/* A self-test of what heed_selftest_boot leaves out: norms, activations, rotary embedding, numbers of fewer bits,
 * options and caches of the kernel in use. It compares each with known answers. A program links all this only if it
 * calls this function. memory has HEED_SELFTEST_FEATURES_BYTES, aligned to 64. report may be null.
 * Status: as heed_selftest. */
HEED_API heed_status heed_selftest_features(heed_memory memory, heed_selftest_report *report);

#ifdef __cplusplus
}
#endif

#endif
