// Work in pieces, on the threads of an executor of the caller's or here.
#ifndef HEED_TASKS_HPP
#define HEED_TASKS_HPP

#include "../kernel/kernel.hpp"
#include "heed/heed.h"

namespace heed {

// A task on its way through an executor of the user's: a piece that was not asked for, or on a worker that has no part
// of the workspace, is not run, for it would write anywhere.
struct guarded_task {
  heed_task task;
  void *context;
  int32_t n_tasks, n_workers;
};
inline void run_guarded(void *context, int32_t index, int32_t worker) {
  const guarded_task &own = *static_cast<const guarded_task *>(context);
  if (index >= 0 && index < own.n_tasks && worker >= 0 && worker < own.n_workers) own.task(own.context, index, worker);
}

// In a frame of its own: calls without an executor need no room for it.
HEED_NOINLINE inline void run_on(const heed_executor &executor, int32_t n, heed_task task, void *context) {
  guarded_task guarded = {task, context, n, executor.n_workers};
  executor.run(executor.user, n, run_guarded, &guarded);
}

// task(context, i, worker) for i < n: on the executor's threads, or here when there is none.
inline void run_tasks(const heed_executor *executor, int32_t n, heed_task task, void *context) {
  if (executor && n > 1) return run_on(*executor, n, task, context);
  for (int32_t i = 0; i < n; i++) task(context, i, 0);
}

// A primitive is cut into pieces of rows, or of columns when there are few rows: so many for each worker.
constexpr int32_t pieces_per_worker = 4;
inline int32_t piece_size(int32_t total, int32_t n_workers, int32_t multiple) {
  const int32_t pieces = n_workers * pieces_per_worker, least = total / pieces + (total % pieces != 0);
  return (least + multiple - 1) / multiple * multiple;
}

// Multiply-adds below which starting threads costs more than it saves: about 10 microseconds of one core.
#ifndef HEED_LEAST_THREADED_WORK  // tests of stacks: small calls take the same way as large ones
#define HEED_LEAST_THREADED_WORK 2e6f
#endif
constexpr float least_threaded_work = HEED_LEAST_THREADED_WORK;

}  // namespace heed

#endif
