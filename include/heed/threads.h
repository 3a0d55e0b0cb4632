/* An executor on threads that wait for work, in a library of its own (heed_threads; POSIX) so that the core needs none.
 *
 *   static heed_threads threads;
 *   heed_executor executor;
 *   heed_threads_start(&threads, 4);                  // three threads beside the calling one
 *   heed_threads_executor(&threads, &executor);
 *   call.executor = &executor;                        // of as many calls as you like, one after another or at once
 *   heed_threads_stop(&threads);
 *
 * The calling thread works too, and takes every task that no other has begun: a call never waits for a thread that is
 * late because its core is busy with something else, only for one that is in the middle of a task. Between calls the
 * threads look out for the next one for 50 us, then they sleep; so does a caller that waits.
 *
 * Use this where there are POSIX threads, and heed_openmp where the program has OpenMP's threads anyway: two sets of
 * threads on the same cores are in each other's way.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_THREADS_H
#define HEED_THREADS_H

#include "heed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The threads and what they share. No heap: it lies where you put it, 8.7 KB aligned to 64 bytes, and must stay there
 * from start to stop. The threads' stacks are the system's, of its default size; heed needs HEED_STACK_BYTES of each.
 */
typedef struct heed_threads {
  uint32_t struct_size;
  const heed_code *code;
  HEED_ALIGNED uint64_t state[64];
  void *handles[HEED_MAX_WORKERS];
} heed_threads;

/* Starts n_threads - 1 threads: 1 to HEED_MAX_WORKERS, one for each core that heed may use. Not for threads that run:
 * stop them first. The new threads take no signals.
 * Status: NULL_POINTER, MISALIGNED for THREADS; OUT_OF_RANGE for N_THREADS, also when the system has no more threads:
 * then none runs, and the object is as after heed_threads_stop. */
HEED_API heed_status heed_threads_start(heed_threads *threads, int32_t n_threads);

/* Fills *executor, with n_threads workers. It may be copied and shared by several threads of yours: of calls at the
 * same time one has the threads, the others run on the thread that calls, and so does a call within a task. After
 * heed_threads_stop it does all work on the calling thread, as long as *threads exists.
 * Status: NULL_POINTER, MISALIGNED, UNKNOWN_STRUCT, NOT_INITIALIZED for THREADS; NULL_POINTER for EXECUTOR. */
HEED_API heed_status heed_threads_executor(heed_threads *threads, heed_executor *executor);

/* Ends the threads and waits until they are gone. No call may be running that uses them. A second time does nothing.
 * Status: as heed_threads_executor for THREADS. */
HEED_API heed_status heed_threads_stop(heed_threads *threads);

#ifdef __cplusplus
}
#endif

#endif
