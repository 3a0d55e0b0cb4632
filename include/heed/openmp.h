/* heed: an executor on OpenMP threads. It is a library of its own (heed_openmp), so that the core needs no threads.
 *
 * Use it in programs that compute with OpenMP themselves. Other programs use threads.h, which works better on a busy
 * core: OpenMP waits for all its threads after each call. GCC's OpenMP threads spin while they wait, for whole time
 * slices if two of them share one core. To avoid this, set the environment variable OMP_WAIT_POLICY=passive, or
 * OMP_PROC_BIND=true if the cores are free. These variables are read when the program starts.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_OPENMP_H
#define HEED_OPENMP_H

#include "heed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills *executor. n_threads is 1 to HEED_MAX_WORKERS, or 0 for as many threads as OpenMP would use. You may copy and
 * share the executor: it owns nothing. The OpenMP runtime itself allocates memory when it first starts its threads.
 *
 * OpenMP may give a call fewer threads than n_threads (OMP_DYNAMIC, OMP_THREAD_LIMIT, a call within a parallel region
 * of yours), but never more. A worker is the number of a thread in the call's own team, so it is less than n_workers.
 *
 * After fork, GCC's runtime hangs in a child whose parent has used its threads. Give no executor to calls in the
 * child. */
HEED_API heed_status heed_openmp_executor(int32_t n_threads, heed_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
