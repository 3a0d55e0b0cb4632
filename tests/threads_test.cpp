// The executor of heed_threads: what it promises and what it refuses. invariance_test.cpp shows that it changes no bit.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#ifdef HEED_TESTS_THREADS
#include <cstring>

#include "support/random.hpp"
#include "support/thread_pool.hpp"

namespace heed_test {
namespace {

TEST(threads, refuse_bad_arguments) {
  heed_threads threads;
  heed_executor executor;
  std::memset(&threads, 0x5a, sizeof threads);
  std::memset(&executor, 0x5a, sizeof executor);
  const heed_threads before = threads;
  const heed_executor executor_before = executor;
  const auto refuses = [&](heed_status status, heed_fault fault, heed_argument argument) {
    EXPECT_EQ(status_name(status), status_name(HEED_STATUS(fault, argument)));
    EXPECT_EQ(std::memcmp(&before, &threads, sizeof threads), 0);
    EXPECT_EQ(std::memcmp(&executor_before, &executor, sizeof executor), 0);
  };
  const auto refuses_all = [&](heed_threads *wrong, heed_fault fault) {
    refuses(heed_threads_executor(wrong, &executor), fault, HEED_ARG_THREADS);
    refuses(heed_threads_stop(wrong), fault, HEED_ARG_THREADS);
  };
  for (const int32_t wrong : {0, -1, INT32_MIN, HEED_MAX_WORKERS + 1, INT32_MAX})
    refuses(heed_threads_start(&threads, wrong), HEED_OUT_OF_RANGE, HEED_ARG_N_THREADS);
  refuses(heed_threads_start(nullptr, 2), HEED_NULL_POINTER, HEED_ARG_THREADS);
  refuses(heed_threads_start(misaligned(&threads, 32), 2), HEED_MISALIGNED, HEED_ARG_THREADS);
  refuses_all(nullptr, HEED_NULL_POINTER);
  refuses_all(misaligned(&threads, 32), HEED_MISALIGNED);
  refuses_all(&threads, HEED_BAD_STRUCT_SIZE);
  heed_threads never_started = {};
  refuses_all(&never_started, HEED_NOT_INITIALIZED);
  never_started.struct_size = sizeof never_started;
  refuses_all(&never_started, HEED_NOT_INITIALIZED);
  pool running(2);
  EXPECT_EQ(heed_threads_executor(&running.threads, nullptr), HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_EXECUTOR));
  heed_threads copy = {};
  copy.struct_size = running.threads.struct_size;
  copy.code = running.threads.code;
  refuses_all(&copy, HEED_NOT_INITIALIZED);
}

TEST(threads, run_every_task_once) {
  for (const int32_t n_threads : {1, 2, 3, 8, 33}) {
    const pool p(n_threads);
    for (const int32_t n_tasks : {0, 1, 2, 7, 1000}) expect_each_once(p.executor, n_tasks);
    for (const int32_t n_tasks : {60000, 60001, 130000})  // of several jobs
      if (n_threads < 4) expect_each_once(p.executor, n_tasks);
  }
}

// Tasks that end only when as many threads have begun one: nobody may sleep on, whether it had parked or not.
TEST(threads, all_take_part) {
  constexpr int32_t n = 5;
  const pool p(n);
  for (const int pause : {0, 0, 20, 50000, 0, 50000}) {
    sleep_microseconds(pause);
    std::atomic<int32_t> begun{0};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    expect_each_once(p.executor, n, [&](int32_t, int32_t) {
      ++begun;
      while (begun < n && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    });
    EXPECT_LT(std::chrono::steady_clock::now(), deadline);
  }
}

// The caller takes the first tasks, helpers the last: what lies in a core's cache from one call is there in the next.
TEST(threads, take_tasks_from_both_ends) {
  const pool p(2);
  for (int i = 0; i < 100; ++i) {
    std::atomic<int32_t> begun{0}, astray{0};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    expect_each_once(p.executor, 6, [&](int32_t index, int32_t worker) {
      if (index == (worker ? 5 : 0)) ++begun;  // nobody goes on before both have begun
      while (begun < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      astray += begun < 2;
    });
    ASSERT_EQ(astray, 0);
  }
}

// Back to back, and with gaps in which threads are about to park: a late one must not touch a job that is gone.
TEST(threads, run_job_after_job) {
  const pool p(4);
  for (int i = 0; i < repetitions(20000); ++i) {
    expect_each_once(p.executor, 2 + i % 5);
    if (i % 16 == 0) sleep_microseconds(i % 7 * 10);
    if (HasFailure()) return;
  }
}

// Small jobs and large ones in turns, with nothing between: what a late thread still holds of one must not count in the
// next.
TEST(threads, mix_no_jobs) {
  const pool p(4);
  std::atomic<int32_t> runs{0};
  const heed_task count = [](void *context, int32_t, int32_t) { ++*static_cast<std::atomic<int32_t> *>(context); };
  for (int i = 0; i < repetitions(300000); ++i) {
    const int32_t n = i % 2 ? 2 : 40;
    runs = 0;
    p.executor.run(p.executor.user, n, count, &runs);
    ASSERT_EQ(runs, n) << "job " << i;
  }
}

// A caller that is done long before the others sleeps, and is woken.
TEST(threads, caller_waits_for_what_was_begun) {
  const pool p(3);
  for (int i = 0; i < 100; ++i)
    expect_each_once(p.executor, 6, [](int32_t, int32_t worker) { sleep_microseconds(worker == 0 ? 100 : 1000); });
}

TEST(threads, serve_callers_at_the_same_time) {
  const pool p(3);
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) expect_each_once(p.executor, 5);
    });
  for (std::thread &caller : callers) caller.join();
}

TEST(threads, run_jobs_within_tasks) {
  const pool p(3);
  for (int i = 0; i < 200; ++i)
    expect_each_once(p.executor, 4, [&](int32_t, int32_t) { expect_each_once(p.executor, 3); });
}

}  // namespace
}  // namespace heed_test
#else
TEST(threads, run_every_task_once) { GTEST_SKIP() << "this build has no heed_threads: it needs POSIX threads"; }
#endif
