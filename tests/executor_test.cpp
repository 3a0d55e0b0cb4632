// What becomes of a call whose executor does not do what types.h asks of it: as much as is promised there.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "heed/heed.h"
#include "support/executors.hpp"
#include "support/fence.hpp"
#include "support/random.hpp"
#ifdef HEED_TESTS_THREADS
#include "heed/threads.h"
#endif

namespace heed_test {
namespace {

constexpr int32_t n_workers = 2;
constexpr uint32_t unwritten = 0x7fc12345;
using floats = std::vector<float>;
using pieces = wrong_executor::pieces;

floats random_floats(size_t n) {
  random_source r(n);
  floats x(n);
  for (float &f : x) f = r.bell();
  return x;
}
bool same(float a, float b) { return bits_of(a) == bits_of(b); }
bool same(const floats &a, const floats &b) { return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0; }

// Calls with more pieces than workers, in fenced memory.
floats attend(const heed_executor *executor, int32_t n_q, int32_t n_kv, heed_partial *partial = nullptr) {
  constexpr int32_t heads = 8, dim = 32;
  const floats q = random_floats(size_t(n_q) * heads * dim), k = random_floats(size_t(n_kv) * heads * dim);
  const fenced_floats out(slot_out, q.size(), unwritten);
  const fenced_bytes workspace(slot_workspace, n_workers * heed_workspace_bytes(dim, dim) / 64 * 64);
  heed_attention call = heed_attention_of(q.data(), k.data(), k.data(), n_q, n_kv, heads, heads, dim, out.data(),
                                          heed_memory_of(workspace.data(), workspace.count()));
  heed_options options = heed_options_default();
  options.partial = partial;
  if (partial) call.options = &options, call.out = {};
  call.executor = executor;
  EXPECT_EQ(heed_attention_run(&call), HEED_OK);
  EXPECT_TRUE(workspace.guard_intact() && out.guard_intact());
  return floats(out.data(), out.data() + out.count());
}
floats attend_many_rows(const heed_executor *executor) { return attend(executor, 100, 100); }
floats attend_few_rows(const heed_executor *executor) {  // one head: its keys are split
  constexpr int32_t dim = 120, n_kv = 9000;
  const floats q = random_floats(dim), k = random_floats(size_t(n_kv) * dim);
  const fenced_floats out(slot_out, dim, unwritten);
  const fenced_bytes workspace(slot_workspace, n_workers * heed_workspace_bytes(dim, dim) / 64 * 64);
  heed_attention call = heed_attention_of(q.data(), k.data(), k.data(), 1, n_kv, 1, 1, dim, out.data(),
                                          heed_memory_of(workspace.data(), workspace.count()));
  call.executor = executor;
  EXPECT_EQ(heed_attention_run(&call), HEED_OK);
  EXPECT_TRUE(workspace.guard_intact() && out.guard_intact());
  return floats(out.data(), out.data() + dim);
}
floats project(const heed_executor *executor) {
  constexpr int32_t n = 200, in = 120, columns = 100;
  const floats x = random_floats(n * in), w = random_floats(in * columns);
  const fenced_floats y(slot_out, n * columns, unwritten);
  EXPECT_EQ(heed_linear(heed_matrix_of(x.data(), n, in), heed_weights_of_matrix(heed_matrix_of(w.data(), in, columns)),
                        nullptr, heed_matrix_out_of(y.data(), n, columns), executor),
            HEED_OK);
  EXPECT_TRUE(y.guard_intact());
  return floats(y.data(), y.data() + y.count());
}
constexpr int32_t norm_rows = 1000, norm_dim = 512;
floats norm(const heed_executor *executor) {
  const floats x = random_floats(size_t(norm_rows) * norm_dim);
  const fenced_floats y(slot_out, x.size(), unwritten);
  EXPECT_EQ(heed_rms_norm(heed_matrix_of(x.data(), norm_rows, norm_dim), nullptr, nullptr, 0,
                          heed_matrix_out_of(y.data(), norm_rows, norm_dim), executor),
            HEED_OK);
  EXPECT_TRUE(y.guard_intact());
  return floats(y.data(), y.data() + y.count());
}

struct kind_of_call {
  const char *name;
  floats (*run)(const heed_executor *executor);
  bool splits_keys;
};
const kind_of_call calls[] = {{"many rows", attend_many_rows, false},
                              {"few rows", attend_few_rows, true},
                              {"linear", project, false},
                              {"norm", norm, false}};

void run_all(int32_t n_tasks, const pieces &piece) {
  for (int32_t i = 0; i < n_tasks; ++i) piece(i, i % n_workers);
}

void expect_parts(const kind_of_call &c, const floats &actual) {
  const floats expected = c.run(nullptr);
  size_t left = 0, wrong = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    left += bits_of(actual[i]) == unwritten;
    wrong += bits_of(actual[i]) != unwritten && !same(actual[i], expected[i]);
  }
  EXPECT_EQ(wrong, 0u) << c.name;
  EXPECT_GT(left, 0u) << c.name;
  EXPECT_LT(left, actual.size()) << c.name;
}

// What is not run leaves its part of the output as it was, and memory around the call, too.
void expect_unwritten(const std::function<void(int32_t, const pieces &)> &hand_out) {
  for (const kind_of_call &c : calls) {
    wrong_executor wrong(n_workers, hand_out);
    const floats actual = c.run(wrong.get());
    EXPECT_GT(wrong.runs(), 0) << c.name;
    if (!c.splits_keys) expect_parts(c, actual);
  }
}

TEST(wrong_executor, worker_out_of_range_is_not_run) {
  for (const int32_t worker : {n_workers, n_workers + 1, 100, INT32_MAX, -1, INT32_MIN})
    expect_unwritten([=](int32_t n_tasks, const pieces &piece) {
      for (int32_t i = 0; i < n_tasks; ++i) piece(i, i == 1 ? worker : 0);
    });
}

TEST(wrong_executor, left_out_index_stays_unwritten) {
  for (const int32_t out : {0, 1})
    expect_unwritten([=](int32_t n_tasks, const pieces &piece) {
      for (int32_t i = 0; i < n_tasks; ++i)
        if (i != out) piece(i, 0);
    });
}

TEST(wrong_executor, no_index_at_all_stays_unwritten) {
  for (const kind_of_call &c : calls) {
    wrong_executor wrong(n_workers, [](int32_t, const pieces &) {});
    const floats actual = c.run(wrong.get());
    if (c.splits_keys) continue;
    EXPECT_TRUE(std::all_of(actual.begin(), actual.end(), [](float x) { return bits_of(x) == unwritten; })) << c.name;
  }
}

TEST(wrong_executor, index_out_of_range_is_not_run) {
  for (const kind_of_call &c : calls) {
    wrong_executor wrong(n_workers, [](int32_t n_tasks, const pieces &piece) {
      run_all(n_tasks, piece);
      for (const int32_t index : {n_tasks, n_tasks + 1, INT32_MAX, -1, INT32_MIN}) piece(index, 0);
    });
    EXPECT_TRUE(same(c.run(wrong.get()), c.run(nullptr))) << c.name;
  }
}

void run_all_twice(int32_t n_tasks, const pieces &piece) {
  run_all(n_tasks, piece);
  run_all(n_tasks, piece);
}

TEST(wrong_executor, index_twice_gives_the_same_bits) {
  for (const kind_of_call &c : calls) {
    wrong_executor twice(n_workers, run_all_twice);
    EXPECT_TRUE(same(c.run(twice.get()), c.run(nullptr))) << c.name;
  }
}

TEST(wrong_executor, index_twice_counts_twice_in_place) {
  wrong_executor twice(n_workers, run_all_twice);
  const floats x = random_floats(size_t(norm_rows) * norm_dim);
  const auto activated = [&](int times, const heed_executor *executor) {
    floats y = x;
    for (int i = 0; i < times; ++i)
      EXPECT_EQ(heed_silu(heed_matrix_of(y.data(), norm_rows, norm_dim), heed_matrix{},
                          heed_matrix_out_of(y.data(), norm_rows, norm_dim), executor),
                HEED_OK);
    return y;
  };
  EXPECT_TRUE(same(activated(1, twice.get()), activated(2, nullptr)));
}

TEST(wrong_executor, index_twice_counts_twice_in_a_partial) {
  wrong_executor twice(n_workers, run_all_twice);
  constexpr int32_t n_q = 40, n_kv = 1024, heads = 8, dim = 32;
  const auto attended = [&](int times, const heed_executor *executor) {
    floats sum(HEED_PARTIAL_BYTES(1, heads, n_q, dim) / sizeof(float));
    heed_partial partial;
    EXPECT_EQ(heed_partial_init(&partial, 1, heads, n_q, dim, 0, heed_memory_of(sum.data(), 4 * sum.size())), HEED_OK);
    for (int i = 0; i < times; ++i) attend(executor, n_q, n_kv, &partial);
    return sum;
  };
  EXPECT_TRUE(same(attended(1, twice.get()), attended(2, nullptr)));
}

#ifdef HEED_TESTS_THREADS
// Threads that were started again, more of them than the executor was filled for, and a workspace for no more.
TEST(threads, started_again_keep_to_the_workspace) {
  heed_threads threads = {};
  heed_executor executor;
  ASSERT_EQ(heed_threads_start(&threads, n_workers), HEED_OK);
  ASSERT_EQ(heed_threads_executor(&threads, &executor), HEED_OK);
  ASSERT_EQ(heed_threads_stop(&threads), HEED_OK);
  ASSERT_EQ(heed_threads_start(&threads, 8), HEED_OK);
  wrong_executor slow(n_workers, [&](int32_t n_tasks, const pieces &piece) {  // so that all threads get some
    const heed_task wait_and_run = [](void *context, int32_t index, int32_t worker) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));
      (*static_cast<const pieces *>(context))(index, worker);
    };
    executor.run(executor.user, n_tasks, wait_and_run, const_cast<pieces *>(&piece));
  });
  for (const kind_of_call &c : calls)
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(same(c.run(slow.get()), c.run(nullptr))) << c.name;
  EXPECT_EQ(heed_threads_stop(&threads), HEED_OK);
}
#endif

}  // namespace
}  // namespace heed_test
