// heed_threads from start to stop: again, twice, in any memory, in a child of fork, and executors that outlive it.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#ifdef HEED_TESTS_THREADS
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "support/thread_pool.hpp"

#ifdef HEED_COVERAGE
extern "C" void __gcov_dump(void);
#endif

namespace heed_test {
namespace {

TEST(threads_life, do_not_start_twice) {
  for (const int32_t n_threads : {1, 4}) {
    pool p(n_threads);
    for (const int32_t again : {1, 2, 8})
      EXPECT_EQ(status_name(heed_threads_start(&p.threads, again)),
                status_name(HEED_STATUS(HEED_RUNNING, HEED_ARG_THREADS)));
    heed_executor executor;
    ASSERT_EQ(heed_threads_executor(&p.threads, &executor), HEED_OK);
    EXPECT_EQ(executor.n_workers, n_threads);
    EXPECT_TRUE(n_threads == 1 || has_threads(p.executor));
  }
}

// What lay there before does not matter: zeros, anything, an object that was stopped, a copy of one that was not.
TEST(threads_life, start_in_any_memory) {
  heed_threads threads, other;
  for (const int fill : {0, 0x5a, 0xff}) {
    std::memset(&threads, fill, sizeof threads);
    ASSERT_EQ(heed_threads_start(&threads, 2), HEED_OK) << fill;
    EXPECT_EQ(heed_threads_stop(&threads), HEED_OK);
  }
  ASSERT_EQ(heed_threads_start(&threads, 1), HEED_OK);
  std::memcpy(&other, &threads, sizeof other);
  ASSERT_EQ(heed_threads_start(&other, 2), HEED_OK);
  EXPECT_EQ(heed_threads_stop(&other), HEED_OK);
  EXPECT_EQ(heed_threads_stop(&threads), HEED_OK);
}

// A stopped object on a stack is overwritten piece by piece by whatever comes after it. Neither a stop nor a start
// takes what is left, here all but two words, for threads that run.
TEST(threads_life, start_where_one_was_stopped_and_overwritten_in_part) {
  heed_threads threads;
  std::memset(&threads, 0, sizeof threads);
  const size_t n_words = sizeof threads.state / sizeof *threads.state;
  for (size_t one = 0; one < n_words; ++one)
    for (size_t other = one; other < n_words; ++other)
      for (const uint64_t bits : {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 32}) {
        ASSERT_EQ(heed_threads_start(&threads, 1), HEED_OK);
        ASSERT_EQ(heed_threads_stop(&threads), HEED_OK);
        threads.state[one] = bits;
        threads.state[other] = 0;
        const int32_t fault = HEED_STATUS_FAULT(heed_threads_stop(&threads));  // there may be no object any more
        ASSERT_TRUE(fault == HEED_OK || fault == HEED_NOT_INITIALIZED) << one << ", " << other;
        ASSERT_EQ(status_name(heed_threads_start(&threads, 1)), status_name(HEED_OK)) << one << ", " << other;
        ASSERT_EQ(heed_threads_stop(&threads), HEED_OK);
      }
}

// Each executor of every generation, while each number of threads runs: a worker is always one of its own.
TEST(threads_life, old_executors_keep_their_workers) {
  heed_threads threads = {};
  std::vector<heed_executor> all;
  for (const int32_t n_threads : {2, 8, 1, 3, 2, 9, 64, 65, 66, 3}) {
    ASSERT_EQ(heed_threads_start(&threads, n_threads), HEED_OK);
    heed_executor executor;
    ASSERT_EQ(heed_threads_executor(&threads, &executor), HEED_OK);
    EXPECT_EQ(executor.n_workers, n_threads);
    all.push_back(executor);
    for (const heed_executor &e : std::vector<heed_executor>(all)) {
      const bool alone = n_threads < 2 || e.n_workers < n_threads;
      if (alone)
        expect_each_once(e, 40, [](int32_t, int32_t worker) {
          EXPECT_EQ(worker, 0);
          sleep_microseconds(20);
        });
      else
        EXPECT_TRUE(has_threads(e)) << e.n_workers << " of " << n_threads;
    }
    EXPECT_EQ(heed_threads_stop(&threads), HEED_OK);
    for (const heed_executor &e : all) expect_each_once(e, 10, [](int32_t, int32_t worker) { EXPECT_EQ(worker, 0); });
    ASSERT_EQ(heed_threads_executor(&threads, &executor), HEED_OK);
    all.push_back(executor);  // of threads that are gone
  }
}

TEST(threads_life, stop_and_start_again) {
  heed_threads threads;
  heed_executor executor;
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(heed_threads_start(&threads, 1 + i % 4), HEED_OK);
    ASSERT_EQ(heed_threads_executor(&threads, &executor), HEED_OK);
    if (i % 3 == 0) expect_each_once(executor, 10);
    if (i % 5 == 0) sleep_microseconds(1000);  // they are parked
    EXPECT_EQ(heed_threads_stop(&threads), HEED_OK);
    EXPECT_EQ(heed_threads_stop(&threads), HEED_OK);
    expect_each_once(executor, 10, [](int32_t, int32_t worker) { EXPECT_EQ(worker, 0); });
    EXPECT_EQ(heed_threads_executor(&threads, &executor), HEED_OK);
    EXPECT_EQ(executor.n_workers, 1);
  }
}

// A child of fork, which an alarm ends if it hangs: are there no faults?
template <typename Faults>
bool child_succeeds(const Faults &faults) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const int n_faults = faults();
#ifdef HEED_COVERAGE
    __gcov_dump();  // a child that ends so leaves no counts otherwise
#endif
    _exit(n_faults);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int count_faults_alone(const heed_executor &executor) {
  int32_t runs = 0;  // not atomic
  const heed_task count = [](void *context, int32_t, int32_t worker) {
    *static_cast<int32_t *>(context) += worker == 0;
  };
  executor.run(executor.user, 100, count, &runs);
  return runs != 100;
}

// What holds in a child.
int count_faults_of_child(pool &p) {
  heed_executor executor = {};
  int faults = count_faults_alone(p.executor);
  faults += heed_threads_executor(&p.threads, &executor) != HEED_OK || executor.n_workers != 1;
  for (int i = 0; i < 2; ++i) faults += heed_threads_stop(&p.threads) != HEED_OK;
  faults += count_faults_alone(p.executor);
#ifndef HEED_TESTS_RACES  // the thread sanitizer lets no child have threads
  faults += heed_threads_start(&p.threads, 3) != HEED_OK || !has_threads(p.executor);
  faults += heed_threads_stop(&p.threads) != HEED_OK;
#endif
  return faults;
}

TEST(threads_life, children_only_stop_them) {
  pool p(3);
  for (const int pause : {0, 20, 60, 5000}) {  // the threads look out for calls, are about to park, are parked
    expect_each_once(p.executor, 10);
    sleep_microseconds(pause);
    EXPECT_TRUE(child_succeeds([&] { return heed_threads_stop(&p.threads) != HEED_OK; })) << pause;
    EXPECT_TRUE(child_succeeds([&] { return count_faults_of_child(p); })) << pause;
    EXPECT_TRUE(has_threads(p.executor)) << "of the parent";
  }
}

TEST(threads_life, children_do_not_start_what_runs) {
  pool p(3);
  EXPECT_TRUE(
      child_succeeds([&] { return heed_threads_start(&p.threads, 2) != HEED_STATUS(HEED_RUNNING, HEED_ARG_THREADS); }));
}

TEST(threads_life, children_do_not_wait_for_a_call_of_their_parent) {
  pool p(3);
  std::atomic<int32_t> begun{0};
  std::atomic<bool> forked{false};
  std::thread caller([&] {
    expect_each_once(p.executor, 3, [&](int32_t, int32_t) {
      ++begun;
      while (!forked) std::this_thread::yield();
    });
  });
  while (begun < 3) std::this_thread::yield();
  EXPECT_TRUE(child_succeeds([&] { return count_faults_of_child(p); }));
  forked = true;
  caller.join();
}

// Without memory for stacks there are no threads.
#ifdef __GLIBC__
TEST(threads_life, may_not_be_had) {
  pthread_attr_t before, huge;
  pthread_getattr_default_np(&before);
  pthread_attr_init(&huge);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, SIZE_MAX / 4 + 1), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  heed_threads threads;
  const heed_status status = heed_threads_start(&threads, 2);
  pthread_setattr_default_np(&before);
  EXPECT_EQ(status, HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_N_THREADS));
  heed_executor executor;
  EXPECT_EQ(heed_threads_executor(&threads, &executor), HEED_OK);
  EXPECT_EQ(executor.n_workers, 1);
  expect_each_once(executor, 10);
  EXPECT_EQ(heed_threads_stop(&threads), HEED_OK);
}
#endif

}  // namespace
}  // namespace heed_test
#else
TEST(threads_life, stop_and_start_again) { GTEST_SKIP() << "this build has no heed_threads: it needs POSIX threads"; }
#endif
