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

/* Starts n_threads - 1 threads: 1 to HEED_MAX_WORKERS, one for each core that heed may use. The new threads take no
 * signals. The memory may hold anything, with one exception: an object that was started in this place and not stopped
 * since is refused (RUNNING), and nothing of it changes. It is known by an address of the library, by its own address,
 * and by a mark that heed_threads_stop takes away; so threads whose object was overwritten are not seen. Tools that
 * look for uninitialised memory report this look at it: they want an object that is static or zero.
 *
 * Status: NULL_POINTER, MISALIGNED, RUNNING for THREADS; OUT_OF_RANGE for N_THREADS, also when the system has no more
 * threads: then none runs, and the object is as after heed_threads_stop. */
HEED_API heed_status heed_threads_start(heed_threads *threads, int32_t n_threads);

/* Fills *executor, with n_threads workers. It may be copied and shared by several threads of yours: of calls at the
 * same time one has the threads, the others run on the thread that calls, and so does a call within a task. After
 * heed_threads_stop it does all work on the calling thread, as long as *threads exists. After the next start it uses
 * the new threads if they are at most as many as it was filled for; if they are more, it works on the calling thread
 * until it is filled again. Status: NULL_POINTER, MISALIGNED, UNKNOWN_STRUCT, NOT_INITIALIZED (also a copy of an
 * object) for THREADS; NULL_POINTER for EXECUTOR. */
HEED_API heed_status heed_threads_executor(heed_threads *threads, heed_executor *executor);

/* Ends the threads and waits until they are gone. No call may be running that uses an executor of *threads, neither now
 * nor during the next start. A second time does nothing.
 * Status: as heed_threads_executor for THREADS. */
HEED_API heed_status heed_threads_stop(heed_threads *threads);

/* fork: the parent goes on as before. The child has a copy of the object, but not the threads, whatever these and other
 * threads of the parent, with calls under way or not, were doing. In the child
 *
 * - calls with its executors work on the calling thread, and heed_threads_executor gives one worker;
 *
 * - heed_threads_stop returns at once;
 *
 * - heed_threads_start refuses the object until it is stopped, then starts threads of the child (where the system lets
 *   a child have threads: Linux does, POSIX does not promise it).
 *
 * The child is known by its process id. So the object must not lie in memory that processes share, and a descendant
 * that is given the id of the process that started the threads, after the end of that one, is taken for it. A call in
 * which the forking thread itself is, because a signal handler forks, may never return in the child. */

#ifdef __cplusplus
}
#endif

#endif
