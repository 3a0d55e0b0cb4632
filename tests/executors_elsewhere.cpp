// The executors of ports/executors: attention has the bits that it has without one. Those for FreeRTOS and the RP2040 run on
// stubs of POSIX threads, that for Windows on Windows or Wine. Prints a line for each. SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>

#include "../ports/executors/executors.h"

#ifndef _WIN32  // Debian's MinGW has no std::thread
#include "../ports/executors/std_thread.hpp"

#include <pthread.h>
#include <semaphore.h>
// Two mailboxes, as between the cores of an RP2040.
static sem_t to_core[2];
static thread_local int core;
static void (*core1)();
extern "C" {
pthread_mutex_t stub_critical = PTHREAD_MUTEX_INITIALIZER;
static void *run_core1(void *) {
  core = 1;
  core1();
  return nullptr;
}
void multicore_launch_core1(void (*entry)(void)) {
  pthread_t thread;
  core1 = entry;
  sem_init(&to_core[0], 0, 0);
  sem_init(&to_core[1], 0, 0);
  pthread_create(&thread, nullptr, run_core1, nullptr);
}
void multicore_fifo_push_blocking(uint32_t) { sem_post(&to_core[1 - core]); }
uint32_t multicore_fifo_pop_blocking(void) {
  sem_wait(&to_core[core]);
  return 0;
}
}
#endif

enum { n = 128, d = 64, heads = 4, row = d * heads };
static float q[n * row], expected[n * row], out[n * row];
alignas(64) static unsigned char workspace[1 << 20];

static heed_status attend(float *to, const heed_executor *executor) {
  heed_attention call =
      heed_attention_of(q, q, q, n, n, heads, heads, d, to, heed_memory_of(workspace, sizeof workspace));
  call.executor = executor;
  return heed_attention_run(&call);
}

static int failed, runs;
static void run_counted(void *inner, int32_t n_tasks, heed_task task, void *context) {
  ++runs;
  static_cast<const heed_executor *>(inner)->run(static_cast<const heed_executor *>(inner)->user, n_tasks, task,
                                                 context);
}
static void check(const char *name, const heed_executor *executor) {
  const heed_executor counted =
      heed_executor_of(run_counted, const_cast<heed_executor *>(executor), executor->n_workers);
  bool same = true;
  runs = 0;
  for (int i = 0; i < 200 && same; ++i) {
    std::memset(out, 0xff, sizeof out);
    same = attend(out, &counted) == HEED_OK && std::memcmp(out, expected, sizeof out) == 0;
  }
  same = same && runs >= 200;
  std::printf("%s: %s\n", name, same ? "same bits in 200 calls" : "OTHER BITS, or not used");
  failed |= !same;
}

int main() {
  for (int i = 0; i < n * row; ++i) q[i] = static_cast<float>(i * 7919 % 1999) / 999.5f - 1;
  if (attend(expected, nullptr) != HEED_OK) return 1;
  heed_executor executor;
#ifdef _WIN32
  if (!heed_windows_executor(3, &executor)) return 1;
  check("Windows threads", &executor);
#else
  {
    heed::std_threads threads(3);
    check("std::thread", threads.get());
  }
  heed_rp2040_executor(&executor);
  check("RP2040's second core (stub)", &executor);
  heed_freertos_executor(1, &executor);
  check("FreeRTOS tasks (stub)", &executor);
#endif
  return failed;
}
