/* heed: an executor on POSIX threads that wait for work. It is a library of its own (heed_threads), so that the core
 * needs no threads.
 *
 *   static heed_threads threads;
 *   heed_executor executor;
 *   heed_threads_start(&threads, 4);                  // three threads beside the calling one
 *   heed_threads_executor(&threads, &executor);
 *   call.executor = &executor;                        // of as many calls as you like, one after another or at once
 *   heed_threads_stop(&threads);
 *
 * The calling thread works too, and takes every task that no other thread has begun. So a call waits only for threads
 * that are in the middle of a task. It never waits for a thread that is late because its core is busy with something
 * else. Between calls the threads look for the next call for 50 us, then they sleep. A caller that waits does the same.
 * On Linux the threads are batch threads (SCHED_BATCH), so that one that wakes up does not preempt the caller.
 *
 * Use this executor where there are POSIX threads. Use heed_openmp if the program has OpenMP's threads anyway: two sets
 * of threads would compete for the same cores.
 *
 * fork: The parent goes on as before. The child has a copy of the object, but not the threads. This holds whatever
 * these and other threads of the parent were doing, with calls under way or not. In the child
 *
 *  - calls with its executors work on the calling thread, and heed_threads_executor gives one worker;
 *  - heed_threads_stop returns at once;
 *  - heed_threads_start refuses the object until it is stopped. Then it starts threads of the child, if the system lets
 *    a child have threads. Linux does; POSIX does not promise it.
 *
 * The object recognises a child by its process id. So the object must not lie in memory that processes share. After the
 * process that started the threads has ended, a descendant with the same id is taken for that process. If a signal
 * handler forks during a call of the same thread, that call may never return in the child.
 *
 * SPDX-License-Identifier: MIT */
#ifndef HEED_THREADS_H
#define HEED_THREADS_H

#include "heed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The threads and what they share. The object uses no heap. It takes 8.7 KB where pointers have 64 bits, aligned to 64
 * bytes. It must stay in its place from start to stop. The system makes the stacks of the threads, with its default
 * size; heed needs HEED_STACK_BYTES of each. */
typedef struct heed_threads {
  uint32_t struct_size;
  const heed_code *code;
  HEED_ALIGNED uint64_t state[64]; /* opaque */
  void *handles[HEED_MAX_WORKERS]; /* opaque */
} heed_threads;

/* Starts n_threads - 1 threads, because the calling thread works too. n_threads is 1 to HEED_MAX_WORKERS: the number of
 * cores that heed may use. The new threads take no signals. The memory may hold anything, with one exception. If an
 * object was started in this place and not stopped since, it is refused (RUNNING), and nothing of it changes.
 * heed_threads_start recognises such an object by an address of the library, by its own address, and by a mark that
 * heed_threads_stop removes. So it does not detect threads whose object was overwritten. Tools that look for
 * uninitialised memory report that it reads the object: make the object static or zero for them.
 * Status: RUNNING for THREADS; OUT_OF_RANGE for N_THREADS also if the system has no more threads: then none runs,
 * and the object is as after heed_threads_stop. */
HEED_API heed_status heed_threads_start(heed_threads *threads, int32_t n_threads);

/* Fills *executor, with n_threads workers. You may copy it, and several of your threads may share it. If calls run at
 * the same time, one of them has the threads. The others run on the thread that calls, and so does a call within a
 * task. After heed_threads_stop, the executor does all work on the calling thread, as long as *threads exists. After
 * the next start, it uses the new threads if they are at most as many as it was filled for. If they are more, it works
 * on the calling thread until it is filled again.
 * Status: NOT_INITIALIZED for THREADS also if it is a copy of an object. */
HEED_API heed_status heed_threads_executor(heed_threads *threads, heed_executor *executor);

/* Ends the threads and waits until they are gone. No call that uses an executor of *threads may be running, neither now
 * nor during the next start. A second heed_threads_stop does nothing.
 * Status: as heed_threads_executor. */
HEED_API heed_status heed_threads_stop(heed_threads *threads);

#ifdef __cplusplus
}
#endif

#endif
