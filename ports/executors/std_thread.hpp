// An executor of std::thread for C++ programs, where there are no POSIX threads (those have heed_threads). C++17.
//   heed::std_threads threads(4);   // three threads wait, until `threads` ends; the caller is the fourth
//   call.executor = threads.get();
// One call at a time. A task may not use the same executor. SPDX-License-Identifier: MIT
#ifndef HEED_EXECUTORS_STD_THREAD_HPP
#define HEED_EXECUTORS_STD_THREAD_HPP

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#if __has_include("heed/heed.h")
#include "heed/heed.h"
#else
#include "heed.h"  // of the two files
#endif

namespace heed {

class std_threads {
 public:
  explicit std_threads(int32_t n_workers) : executor_(heed_executor_of(run, this, n_workers)) {
    for (int32_t worker = 1; worker < n_workers; ++worker) threads_.emplace_back([this, worker] { serve(worker); });
  }
  ~std_threads() {
    begin(nullptr, nullptr, 0);
    for (std::thread &thread : threads_) thread.join();
  }
  std_threads(const std_threads &) = delete;
  std_threads &operator=(const std_threads &) = delete;
  const heed_executor *get() const { return &executor_; }

 private:
  static void run(void *user, int32_t n_tasks, heed_task task, void *context) {
    std_threads &self = *static_cast<std_threads *>(user);
    self.begin(task, context, n_tasks);
    self.work(0);
    std::unique_lock<std::mutex> lock(self.mutex_);
    self.done_.wait(lock, [&] { return self.n_busy_ == 0; });
  }
  void begin(heed_task task, void *context, int32_t n_tasks) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      task_ = task, context_ = context, n_tasks_ = n_tasks, next_ = 0;
      n_busy_ = threads_.size();
      ++round_;
    }
    start_.notify_all();
  }
  void work(int32_t worker) {
    for (int32_t i = next_++; i < n_tasks_; i = next_++) task_(context_, i, worker);
  }
  void serve(int32_t worker) {
    for (unsigned round = 0;;) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        start_.wait(lock, [&] { return round_ != round; });
        round = round_;
      }
      if (!task_) return;
      work(worker);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (--n_busy_ == 0) done_.notify_one();
    }
  }

  heed_executor executor_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  heed_task task_ = nullptr;
  void *context_ = nullptr;
  int32_t n_tasks_ = 0;
  unsigned round_ = 0;
  size_t n_busy_ = 0;
  std::atomic<int32_t> next_{0};
  std::vector<std::thread> threads_;  // last: they use the rest
};

}  // namespace heed

#endif
