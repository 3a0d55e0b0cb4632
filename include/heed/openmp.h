/* An executor on OpenMP threads, in a library of its own (heed_openmp) so that the core needs no threads. For programs
 * that compute with OpenMP themselves; others take threads.h, which bears a busy core better: OpenMP waits for all its
 * threads after each call, and GCC's spin while they wait, for whole time slices if two of them meet on one core.
 * Against that help the environment variables OMP_WAIT_POLICY=passive, or OMP_PROC_BIND=true where the cores are free;
 * they are read when the program starts. SPDX-License-Identifier: MIT */
#ifndef HEED_OPENMP_H
#define HEED_OPENMP_H

#include "heed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills *executor. n_threads: 1 to HEED_MAX_WORKERS, or 0 for as many as OpenMP would use. The executor may be copied
 * and shared; it owns nothing. The OpenMP runtime itself allocates memory when it first starts its threads.
 *
 * OpenMP may give a call fewer threads than n_threads (OMP_DYNAMIC, OMP_THREAD_LIMIT, a call within a parallel region
 * of yours), never more: a worker is the number of a thread in the call's own team, so it is less than n_workers. After
 * fork, GCC's runtime hangs in a child whose parent has used its threads: give calls there no executor. Status:
 * NULL_POINTER for EXECUTOR, OUT_OF_RANGE for N_THREADS. */
HEED_API heed_status heed_openmp_executor(int32_t n_threads, heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
