/* An executor on OpenMP threads, in a library of its own (heed_openmp) so that the core needs no threads.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_OPENMP_H
#define HEED_OPENMP_H

#include "heed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills *executor. n_threads: 1 to HEED_MAX_WORKERS, or 0 for as many as OpenMP would use. The executor may be copied
 * and shared; it owns nothing. The OpenMP runtime itself allocates memory when it first starts its threads. Status:
 * NULL_POINTER for EXECUTOR, OUT_OF_RANGE for N_THREADS. */
HEED_API heed_status heed_openmp_executor(int32_t n_threads, heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
