// The OpenMP executor: what it promises and what it refuses. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#ifdef HEED_TESTS_OPENMP
#include <cstring>
#include <utility>

#include "heed/openmp.h"
#include "support/tally.hpp"

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
