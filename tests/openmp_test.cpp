// The OpenMP executor: what it promises and what it refuses. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#ifdef HEED_TESTS_OPENMP
#include <cstring>
#include <utility>

#include "heed/openmp.h"
#include "support/tally.hpp"

extern "C" void omp_set_num_threads(int);  // omp.h belongs to a compiler that was asked for OpenMP
extern "C" int omp_get_max_threads(void);
extern "C" void omp_set_dynamic(int);
extern "C" void omp_set_max_active_levels(int);
extern "C" int omp_get_max_active_levels(void);

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

TEST(openmp_executor, runs_every_task_once) {
  for (const int32_t n_threads : {0, 1, 2, 3, 8, 33}) {
    heed_executor executor;
    ASSERT_EQ(heed_openmp_executor(n_threads, &executor), HEED_OK);
    EXPECT_EQ(executor.struct_size, sizeof(heed_executor));
    EXPECT_TRUE(n_threads == 0 || executor.n_workers == n_threads);
    ASSERT_GE(executor.n_workers, 1);
    for (const int32_t n_tasks : {1, 2, 7, 1000}) expect_each_once(executor, n_tasks);
  }
}

// Fewer threads than were asked for, and teams within teams: workers are those of the call's own team.
TEST(openmp_executor, keeps_its_workers_however_many_threads_there_are) {
  heed_executor executor;
  ASSERT_EQ(heed_openmp_executor(3, &executor), HEED_OK);
  const int levels = omp_get_max_active_levels();
  omp_set_dynamic(1);
  expect_each_once(executor, 50);
  omp_set_dynamic(0);
  for (const int most : {1, 2}) {
    omp_set_max_active_levels(most);
    expect_each_once(executor, 6, [&](int32_t, int32_t) { expect_each_once(executor, 5); });
  }
  omp_set_max_active_levels(levels);
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
