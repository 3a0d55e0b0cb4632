// Executors that a caller might bring: real threads, and sequential ones that choose the worst order.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_EXECUTORS_HPP
#define HEED_TESTS_SUPPORT_EXECUTORS_HPP

#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "heed/heed.h"

namespace heed_test {

// Base: counts how often it was asked, and with how many tasks.
class test_executor {
 public:
  virtual ~test_executor() = default;
  const heed_executor *get() const { return &executor_; }
  int32_t runs() const { return runs_; }
  int32_t most_tasks() const { return most_tasks_; }

 protected:
  explicit test_executor(int32_t n_workers)
      : n_workers_(n_workers), executor_(heed_executor_of(&test_executor::run, this, n_workers)) {}
  virtual void run_all(int32_t n_tasks, heed_task task, void *context) = 0;
  const int32_t n_workers_;

 private:
  static void run(void *user, int32_t n_tasks, heed_task task, void *context) {
    test_executor *self = static_cast<test_executor *>(user);
    ++self->runs_;
    if (n_tasks > self->most_tasks_) self->most_tasks_ = n_tasks;
    self->run_all(n_tasks, task, context);
  }
  heed_executor executor_;
  int32_t runs_ = 0, most_tasks_ = 0;
};

// Threads that take the next task as they get free; thread w is worker w.
class thread_executor : public test_executor {
 public:
  explicit thread_executor(int32_t n_workers) : test_executor(n_workers) {}

 private:
  void run_all(int32_t n_tasks, heed_task task, void *context) override {
    std::atomic<int32_t> next{0};
    const auto work = [&](int32_t worker) {
      for (int32_t i = next++; i < n_tasks; i = next++) task(context, i, worker);
    };
    std::vector<std::thread> threads;
    for (int32_t w = 1; w < n_workers_; ++w) threads.emplace_back(work, w);
    work(0);
    for (std::thread &t : threads) t.join();
  }
};

// Last task first, each on another worker.
class reverse_executor : public test_executor {
 public:
  explicit reverse_executor(int32_t n_workers) : test_executor(n_workers) {}

 private:
  void run_all(int32_t n_tasks, heed_task task, void *context) override {
    for (int32_t i = n_tasks - 1; i >= 0; --i) task(context, i, (n_tasks - i) % n_workers_);
  }
};

// Every third task, then the next ones, all on the last worker: its slice of the workspace is reused at once.
class interleaved_executor : public test_executor {
 public:
  explicit interleaved_executor(int32_t n_workers) : test_executor(n_workers) {}

 private:
  void run_all(int32_t n_tasks, heed_task task, void *context) override {
    for (int32_t first = 2; first >= 0; --first)
      for (int32_t i = first; i < n_tasks; i += 3) task(context, i, n_workers_ - 1);
  }
};

// In order, and does something else before each task and after the last.
class meddling_executor : public test_executor {
 public:
  meddling_executor(int32_t n_workers, std::function<void()> meddle)
      : test_executor(n_workers), meddle_(std::move(meddle)) {}

 private:
  void run_all(int32_t n_tasks, heed_task task, void *context) override {
    for (int32_t i = 0; i < n_tasks; ++i) {
      meddle_();
      task(context, i, i % n_workers_);
    }
    meddle_();
  }
  const std::function<void()> meddle_;
};

// One that breaks the contract: hand_out is given the pieces to hand out as it likes.
class wrong_executor : public test_executor {
 public:
  using pieces = std::function<void(int32_t index, int32_t worker)>;
  wrong_executor(int32_t n_workers, std::function<void(int32_t n_tasks, const pieces &piece)> hand_out)
      : test_executor(n_workers), hand_out_(std::move(hand_out)) {}

 private:
  void run_all(int32_t n_tasks, heed_task task, void *context) override {
    hand_out_(n_tasks, [&](int32_t index, int32_t worker) { task(context, index, worker); });
  }
  const std::function<void(int32_t, const pieces &)> hand_out_;
};

}  // namespace heed_test

#endif
