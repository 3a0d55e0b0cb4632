/* An executor of Windows threads. SPDX-License-Identifier: MIT */
#include <windows.h>

#include "executors.h"

static HANDLE start, done; /* semaphores */
static int32_t n_started = 1;
static heed_task task;
static void *context;
static LONG n_tasks;
static volatile LONG next;

static void work(int32_t worker) {
  for (LONG i; (i = InterlockedIncrement(&next) - 1) < n_tasks;) task(context, (int32_t)i, worker);
}

static DWORD WINAPI serve(void *worker) {
  while (WaitForSingleObject(start, INFINITE) == WAIT_OBJECT_0) {
    work((int32_t)(INT_PTR)worker);
    ReleaseSemaphore(done, 1, NULL);
  }
  return 0;
}

static void run(void *user, int32_t n, heed_task to_run, void *of) {
  const int32_t others = (int32_t)(INT_PTR)user - 1;
  task = to_run, context = of, n_tasks = n, next = 0;
  if (others > 0) ReleaseSemaphore(start, others, NULL);
  work(0);
  for (int32_t i = 0; i < others; i++) WaitForSingleObject(done, INFINITE);
}

int heed_windows_executor(int32_t n_workers, heed_executor *executor) {
  if (!start)
    start = CreateSemaphoreA(NULL, 0, HEED_MAX_WORKERS, NULL), done = CreateSemaphoreA(NULL, 0, HEED_MAX_WORKERS, NULL);
  if (!start || !done) return 0;
  for (; n_started < n_workers; n_started++) {
    const HANDLE thread = CreateThread(NULL, 0, serve, (void *)(INT_PTR)n_started, 0, NULL);
    if (!thread) return 0;
    CloseHandle(thread);
  }
  *executor = heed_executor_of(run, (void *)(INT_PTR)n_started, n_started);
  return 1;
}
