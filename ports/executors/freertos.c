/* An executor of FreeRTOS tasks, for chips with several cores (SMP). FreeRTOSConfig.h needs configSUPPORT_STATIC_ALLOCATION and
 * configUSE_COUNTING_SEMAPHORES. With an FPU its port must save the registers of each task. SPDX-License-Identifier: MIT */
#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"

#include "executors.h"

#ifndef HEED_FREERTOS_WORKERS
#define HEED_FREERTOS_WORKERS 2
#endif
#ifndef HEED_FREERTOS_STACK_BYTES /* beside heed: the task's own calls, and interrupts where they use its stack */
#define HEED_FREERTOS_STACK_BYTES (HEED_STACK_BYTES + 1024)
#endif

enum { n_others = HEED_FREERTOS_WORKERS - 1, stack_words = HEED_FREERTOS_STACK_BYTES / sizeof(StackType_t) };
static StackType_t stacks[n_others][stack_words];
static StaticTask_t tasks[n_others];
static StaticSemaphore_t start_memory, done_memory;
static SemaphoreHandle_t start, done;
static heed_task task;
static void *context;
static int32_t n_tasks, next;

static void work(int32_t worker) {
  for (;;) {
    taskENTER_CRITICAL();
    const int32_t i = next++;
    taskEXIT_CRITICAL();
    if (i >= n_tasks) return;
    task(context, i, worker);
  }
}

static void serve(void *worker) {
  for (;;) {
    xSemaphoreTake(start, portMAX_DELAY);
    work((int32_t)(intptr_t)worker);
    xSemaphoreGive(done);
  }
}

static void run(void *user, int32_t n, heed_task to_run, void *of) {
  (void)user;
  task = to_run, context = of, n_tasks = n, next = 0;
  for (int i = 0; i < n_others; i++) xSemaphoreGive(start);
  work(0);
  for (int i = 0; i < n_others; i++) xSemaphoreTake(done, portMAX_DELAY);
}

void heed_freertos_executor(uint32_t priority, heed_executor *executor) {
  start = xSemaphoreCreateCountingStatic(n_others, 0, &start_memory);
  done = xSemaphoreCreateCountingStatic(n_others, 0, &done_memory);
  for (int i = 0; i < n_others; i++)
    xTaskCreateStatic(serve, "heed", stack_words, (void *)(intptr_t)(i + 1), priority, stacks[i], &tasks[i]);
  *executor = heed_executor_of(run, NULL, HEED_FREERTOS_WORKERS);
}
