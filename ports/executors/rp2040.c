/* An executor of both cores of an RP2040 (Pico SDK, library pico_multicore). The cores take tasks in turn: a Cortex-M0+ has no
 * atomic counter. heed's stack on core 1 is the SDK's: set PICO_CORE1_STACK_SIZE to HEED_STACK_BYTES and what your
 * interrupts need. SPDX-License-Identifier: MIT */
#include "pico/multicore.h"

#include "executors.h"

static heed_task task;
static void *context;
static int32_t n_tasks;

static void work(int32_t core) {
  for (int32_t i = core; i < n_tasks; i += 2) task(context, i, core);
}

static void serve(void) {
  for (;;) {
    multicore_fifo_pop_blocking();
    __sync_synchronize();
    work(1);
    __sync_synchronize();
    multicore_fifo_push_blocking(0);
  }
}

static void run(void *user, int32_t n, heed_task to_run, void *of) {
  (void)user;
  task = to_run, context = of, n_tasks = n;
  __sync_synchronize();
  multicore_fifo_push_blocking(0);
  work(0);
  multicore_fifo_pop_blocking();
  __sync_synchronize();
}

void heed_rp2040_executor(heed_executor *executor) {
  multicore_launch_core1(serve);
  *executor = heed_executor_of(run, NULL, 2);
}
