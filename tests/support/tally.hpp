// What an executor promises: every task once, workers in range, and never two tasks at a time on one worker.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_TALLY_HPP
#define HEED_TESTS_SUPPORT_TALLY_HPP

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <vector>

#include "heed/heed.h"

namespace heed_test {

struct tally {
  tally(int32_t n_workers, int32_t n_tasks, std::function<void(int32_t, int32_t)> also)
      : runs(static_cast<size_t>(n_tasks)), busy(static_cast<size_t>(n_workers)), also(std::move(also)) {}
  std::vector<std::atomic<int>> runs, busy;
  std::function<void(int32_t index, int32_t worker)> also;
  std::atomic<int> faults{0};
  std::atomic<bool> over{false};

  static void count(void *context, int32_t index, int32_t worker) {
    tally &t = *static_cast<tally *>(context);
    const size_t w = static_cast<size_t>(worker);
    if (t.over || worker < 0 || w >= t.busy.size() || index < 0 || static_cast<size_t>(index) >= t.runs.size()) {
      ++t.faults;
      return;
    }
    if (t.busy[w]++ != 0) ++t.faults;  // another task runs on the same worker
    if (t.also) t.also(index, worker);
    ++t.runs[static_cast<size_t>(index)];
    --t.busy[w];
  }
  void expect_each_once() const {
    EXPECT_EQ(faults, 0);
    for (size_t i = 0; i < runs.size(); ++i) ASSERT_EQ(runs[i], 1) << i << " of " << runs.size();
  }
};

// also(index, worker) is a part of each task.
inline void expect_each_once(const heed_executor &executor, int32_t n_tasks,
                             std::function<void(int32_t index, int32_t worker)> also = nullptr) {
  tally t(executor.n_workers, n_tasks, std::move(also));
  executor.run(executor.user, n_tasks, tally::count, &t);
  t.over = true;
  t.expect_each_once();
}

}  // namespace heed_test

#endif
