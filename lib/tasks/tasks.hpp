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

// Work of a task, in multiply-adds of floats, which repays giving it to another thread: some 2 us of a core with AVX-512.
// A call of two tasks loses 0.7 us to its threads, and one of eight 1.1 us (heed_threads, two cores of a Zen 5 with
// different third-level caches: a word goes there and back in 0.45 us).
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

// What multiply-adds of other products count: four of integers are one of floats, which takes as long; a row alone waits
// for its weights.
constexpr int32_t integers_for_one_float = 4;
constexpr float work_of_one_row = 2;

constexpr int32_t pieces_per_worker = 4;  // at most

// Each piece has three steps or more, or each worker has one piece. Of five steps in four pieces a worker may get three.
inline int32_t several_for_each(int32_t n_pieces, int32_t n_steps, int32_t n_workers) {
  const int32_t n = n_pieces < n_steps / 3 ? n_pieces : n_steps / 3;
  return n < n_workers ? n_workers : n / n_workers * n_workers;
}

// One piece where threads do not pay. Else some for each worker, so that none waits long for another, as far as each
// has work enough, and `least` rows or columns, at least a step.
inline pieces cut_work(int32_t total, int32_t step, int32_t least, float work, const heed_executor *executor) {
  if (!executor || work < least_threaded_work || total < 2 * least) return {total, step, 1};
  const int32_t workers = executor->n_workers;
  const float paying = work * (1.0f / least_threaded_work);
  int32_t n = workers * pieces_per_worker;
  if (paying < static_cast<float>(n - 1)) n = 1 + static_cast<int32_t>(paying);
  if (n > total / least) n = total / least;
  if (n > workers) n = several_for_each(n, total / step, workers);
  return {total, step, n};
}

// Rows of a product: whole register tiles of most kernels, and enough of them to repay reading the weights once more.
inline pieces cut_product_rows(int32_t n, float work, const heed_executor *executor) {
  const int32_t most = n >= 48 * executor->n_workers ? 24 : 12;
  const int32_t step = n >= 24 * executor->n_workers ? 12 : 6;
  return cut_work(n, step, most, work, executor);
}

}  // namespace heed

#endif
