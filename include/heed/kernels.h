/* heed: which kernel computes, and self-tests. Include heed.h. SPDX-License-Identifier: MIT */
#ifndef HEED_KERNELS_H
#define HEED_KERNELS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The two arithmetic profiles. FUSED: every multiply-add rounds once. UNFUSED, for processors without a fused
 * multiply-add: every product is rounded, then added. Bits agree within a profile, not between them. Every build for an
 * operating system has UNFUSED kernels, and FUSED ones where the target has the instruction, whatever the compiler; so
 * a fleet with one processor that has none agrees on heed_kernel_use("unfused"). A build with one kernel (firmware,
 * HEED_FIXED_KERNEL) has that kernel's profile. */
typedef enum heed_profile { HEED_PROFILE_UNFUSED = 0, HEED_PROFILE_FUSED = 1 } heed_profile;

/* Kernels that this processor can run, best first. The name is null when index is out of range; static storage.
 * The profile of a kernel that this build does not have is -1. For these functions and HEED_KERNEL "fused" and
 * "unfused" are names, too: of the best kernel of that profile. */
HEED_API int32_t heed_kernel_count(void);
HEED_API const char *heed_kernel_name(int32_t index);
HEED_API int32_t heed_kernel_profile(const char *name);
/* The kernel in use. The first call of the library chooses the best, or on hosted systems the one that the environment
 * variable HEED_KERNEL names (a name that is unknown or cannot run here is ignored; compare heed_kernel_current). */
HEED_API const char *heed_kernel_current(void);
/* Forces a kernel for the whole process; null returns to the automatic choice. It may be called at any time: every call
 * of the library takes the kernel once, when it begins, and finishes on it, with all that an executor runs for it.
 * Status: UNKNOWN_KERNEL, UNAVAILABLE_KERNEL for KERNEL. In a build with a fixed kernel any other is unknown. */
HEED_API heed_status heed_kernel_use(const char *name);

/* "0.3.0" or the like: the version of the library that was linked. */
HEED_API const char *heed_version(void);

/* What heed_selftest found. Strings have static storage. */
typedef struct heed_selftest_report {
  uint32_t struct_size; /* sizeof(heed_selftest_report) */
  int32_t n_kernels;    /* kernels compared */
  int32_t n_cases;      /* cases run on each kernel */
  uint32_t n_floats;    /* results compared in all */
  const char *kernel;   /* of the first difference; null if there is none */
  const char *function; /* "attention", "softmax", "linear", "dot", "all"; of features "rms_norm", "cache", ... */
  int32_t case_index;   /* which case */
  int32_t float_index;  /* which float of its result */
  uint32_t expected_bits, actual_bits;
  const char *compared_with; /* "scalar", "scalar-unfused"; or "known answers": the reference itself is wrong, the two
                                indices are -1, and the bits are digests of all its results; of features the kernel
                                is, and case_index says which part. */
} heed_selftest_report;

static inline heed_selftest_report heed_selftest_report_default(void) {
  heed_selftest_report r = {sizeof(heed_selftest_report), 0, 0, 0, HEED_NULL, HEED_NULL, 0, 0, 0, 0, HEED_NULL};
  return r;
}

/* Compares every kernel that this processor can run with the scalar reference of its profile, bit by bit, over shapes
 * that cross every tile boundary and over NaN, infinities and zeros of both signs; and the reference, and each kernel's
 * features (below), with known answers, so that a compiler or a mode of the processor that changes both is found, too.
 * Needs no memory but HEED_SELFTEST_BYTES, aligned to 64. Takes milliseconds on a PC. report may be null.
 * Status: MISMATCH for KERNEL; NULL_POINTER, MISALIGNED, TOO_SMALL, OVERFLOW, OVERLAP (with the report) for MEMORY;
 * MISALIGNED, NOT_INITIALIZED, UNKNOWN_STRUCT for REPORT. */
#define HEED_SELFTEST_BYTES 131072
HEED_API heed_status heed_selftest(heed_memory memory, heed_selftest_report *report);

/* The same for start-up: the kernel in use alone, in little memory, with about 40,000 multiply-adds, over shapes that
 * cross the boundaries of tiles, blocks and chunks. Memory: HEED_SELFTEST_BOOT_BYTES, aligned to 64. report may be
 * null. Status: as heed_selftest. */
#define HEED_SELFTEST_BOOT_BYTES 8192
HEED_API heed_status heed_selftest_boot(heed_memory memory, heed_selftest_report *report);

/* The same for what that leaves out, so that a program links it only if it calls it: norms, activations, rotary
 * embedding, narrow numbers, options and caches of the kernel in use, each compared with known answers. Memory:
 * HEED_SELFTEST_FEATURES_BYTES, aligned to 64. report may be null. Status: as heed_selftest. */
#define HEED_SELFTEST_FEATURES_BYTES 16384
HEED_API heed_status heed_selftest_features(heed_memory memory, heed_selftest_report *report);

#ifdef __cplusplus
}
#endif

#endif
