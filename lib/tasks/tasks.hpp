// Work in pieces, on the threads of an executor of the caller's or here.
#ifndef HEED_TASKS_HPP
#define HEED_TASKS_HPP

#include "../kernel_contract/kernel.hpp"
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
HEED_NOINLINE inline void run_tasks_on(const heed_executor &executor, int32_t n, heed_task task, void *context) {
  guarded_task guarded = {task, context, n, executor.n_workers};
  executor.run(executor.user, n, run_guarded, &guarded);
}

// task(context, i, worker) for i < n: on the executor's threads, or here when there is none.
inline void run_tasks(const heed_executor *executor, int32_t n, heed_task task, void *context) {
  if (executor && n > 1) return run_tasks_on(*executor, n, task, context);
  for (int32_t i = 0; i < n; i++) task(context, i, 0);
}

// Work of a call, in multiply-adds, below which a second thread costs more than it saves: some 4 us of a core with
// AVX-512. A task is with a thread that waits for work, and done, half a microsecond to one later (measured with
// heed_threads on Zen 4).
#ifndef HEED_LEAST_THREADED_WORK  // tests of stacks: small calls take the same way as large ones
#define HEED_LEAST_THREADED_WORK 2e5f
#endif
constexpr float least_threaded_work = HEED_LEAST_THREADED_WORK;

// Rows or columns in pieces, one for each task: whole steps, shared out evenly; the last one has what is left besides.
struct pieces {
  int32_t total, step, n;
  int32_t begin(int32_t i) const {
    if (i == 0) return 0;
    if (i == n) return total;
    const int32_t steps = total / step;  // steps * i / n may not fit: whole n of them by themselves
    return (steps / n * i + steps % n * i / n) * step;
  }
  int32_t size(int32_t i) const { return begin(i + 1) - begin(i); }
};

// One piece where threads do not pay. Else some for each worker, so that none waits long for another, as far as each
// has work enough, and `least` rows or columns, at least a step.
constexpr int32_t pieces_per_worker = 4;
inline pieces cut_work(int32_t total, int32_t step, int32_t least, float work, const heed_executor *executor) {
  if (!executor || work < least_threaded_work || total < 2 * least) return {total, step, 1};
  const int32_t workers = executor->n_workers;
  const float paying = work * (2.0f / least_threaded_work);
  int32_t n = workers * pieces_per_worker;
  if (paying < static_cast<float>(n)) n = static_cast<int32_t>(paying);
  if (n > total / least) n = total / least;
  if (n > workers) n = n / workers * workers;
  return {total, step, n};
}

// Rows of a product: whole register tiles of most kernels, and enough of them to repay reading the weights once more.
inline pieces cut_product_rows(int32_t n, float work, const heed_executor *executor) {
  const int32_t most = n >= 48 * executor->n_workers ? 24 : 12;
  return cut_work(n, 6, most, work, executor);
}

}  // namespace heed

#endif
