// The OpenMP executor: what it promises and what it refuses. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#ifdef HEED_TESTS_OPENMP
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "heed/openmp.h"

extern "C" void omp_set_num_threads(int);  // omp.h belongs to a compiler that was asked for OpenMP
extern "C" int omp_get_max_threads(void);

namespace heed_test {
namespace {

TEST(openmp_executor, refuses_bad_arguments) {
  EXPECT_EQ(heed_openmp_executor(2, nullptr), HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_EXECUTOR));
  heed_executor executor;
  std::memset(&executor, 0x5a, sizeof executor);
  const heed_executor before = executor;
  for (const int32_t wrong : {-1, INT32_MIN, HEED_MAX_WORKERS + 1, INT32_MAX}) {
    EXPECT_EQ(heed_openmp_executor(wrong, &executor), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_N_THREADS)) << wrong;
    EXPECT_EQ(std::memcmp(&before, &executor, sizeof executor), 0);
  }
}

struct tally {
  std::atomic<int> runs[1000] = {};
  std::atomic<int> busy[HEED_MAX_WORKERS] = {};
  std::atomic<int> faults{0};
  int32_t n_workers = 0;
};

void count_task(void *context, int32_t index, int32_t worker) {
  tally &t = *static_cast<tally *>(context);
  if (worker < 0 || worker >= t.n_workers) {
    ++t.faults;
    return;
  }
  if (t.busy[worker]++ != 0) ++t.faults;  // another task runs on the same worker
  ++t.runs[index];
  --t.busy[worker];
}

// Every task once, workers in range, and never two tasks at a time on one worker.
TEST(openmp_executor, runs_every_task_once) {
  for (const int32_t n_threads : {0, 1, 2, 3, 8, 33}) {
    heed_executor executor;
    ASSERT_EQ(heed_openmp_executor(n_threads, &executor), HEED_OK);
    EXPECT_EQ(executor.struct_size, sizeof(heed_executor));
    EXPECT_TRUE(n_threads == 0 || executor.n_workers == n_threads);
    ASSERT_GE(executor.n_workers, 1);
    for (const int32_t n_tasks : {1, 2, 7, 1000}) {
      tally t;
      t.n_workers = executor.n_workers;
      executor.run(executor.user, n_tasks, count_task, &t);
      EXPECT_EQ(t.faults, 0);
      for (int32_t i = 0; i < 1000; ++i) ASSERT_EQ(t.runs[i], i < n_tasks ? 1 : 0) << i << " of " << n_tasks;
    }
  }
}

// 0 stands for OpenMP's own number, but never for more workers than the library knows.
TEST(openmp_executor, takes_no_more_workers_than_there_may_be) {
  const int before = omp_get_max_threads();
  for (const auto &[n_threads, n_workers] : {std::pair(3, 3), {HEED_MAX_WORKERS, HEED_MAX_WORKERS}, {2000, 1024}}) {
    omp_set_num_threads(n_threads);
    heed_executor executor;
    ASSERT_EQ(heed_openmp_executor(0, &executor), HEED_OK);
    EXPECT_EQ(executor.n_workers, n_workers);
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace heed_test
#else
TEST(openmp_executor, runs_every_task_once) { GTEST_SKIP() << "this build has no heed_openmp: OpenMP was not found"; }
#endif
