// Threads of heed_threads for a test. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_THREAD_POOL_HPP
#define HEED_TESTS_SUPPORT_THREAD_POOL_HPP

#include <chrono>
#include <thread>

#include "heed/threads.h"
#include "refusal.hpp"
#include "tally.hpp"

namespace heed_test {

inline void sleep_microseconds(int n) { std::this_thread::sleep_for(std::chrono::microseconds(n)); }

// Threads that run as long as this object.
class pool {
 public:
  explicit pool(int32_t n_threads) {
    EXPECT_EQ(heed_threads_start(&threads, n_threads), HEED_OK);
    EXPECT_EQ(heed_threads_executor(&threads, &executor), HEED_OK);
    EXPECT_EQ(executor.struct_size, sizeof(heed_executor));
    EXPECT_EQ(executor.n_workers, n_threads);
  }
  ~pool() { EXPECT_EQ(heed_threads_stop(&threads), HEED_OK); }
  heed_threads threads;
  heed_executor executor;
};

// Is it shown that this executor has other threads than the caller's? Tasks wait for a second one to begin.
inline bool has_threads(const heed_executor &executor) {
  std::atomic<int32_t> begun{0};
  std::atomic<bool> together{false}, waited{false};
  expect_each_once(executor, 2, [&](int32_t, int32_t) {
    ++begun;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (begun < 2 && !waited && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (begun == 2 && !waited) together = true;
    waited = true;
  });
  return together;
}

}  // namespace heed_test

#endif
