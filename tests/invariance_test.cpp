// On one kernel, nothing about how a call is made changes a bit: workspace, executor, layout, wanted weights.
// SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/settings.hpp"

#ifdef HEED_TESTS_OPENMP
#include "heed/openmp.h"
#endif
#ifdef HEED_TESTS_THREADS
#include "heed/threads.h"
#endif

namespace heed_test {
namespace {

class invariance : public kernel_test {
 protected:
  // Shapes large enough to be split over threads: prefill, grouped heads, one long row, few rows with many keys.
  static std::vector<problem> problems() {
    struct row {
      int32_t batch, n_heads, n_kv_heads, n_q, n_kv, head_dim, v_dim, causal;
    };
    static const row rows[] = {{1, 4, 2, 150, 150, 40, 40, 1},
                               {2, 6, 2, 80, 90, 16, 24, 0},
                               {1, 1, 1, 1, 9000, 120, 120, 0},
                               {1, 4, 1, 6, 3100, 40, 24, 1},
                               {1, 1, 1, 60, 1300, 33, 33, 1}};
    std::vector<problem> all;
    for (const row &s : rows) {
      problem p;
      p.batch = s.batch, p.n_heads = s.n_heads, p.n_kv_heads = s.n_kv_heads, p.n_q = s.n_q, p.n_kv = s.n_kv;
      p.head_dim = s.head_dim, p.v_dim = s.v_dim, p.causal = s.causal, p.causal_offset = s.n_kv - s.n_q;
      random_source r(all.size() + 1);
      fill_typical(r, &p);
      all.push_back(p);
    }
    return all;
  }

  void expect_same(const problem &p, const setting &s, const attention_result &expected, const std::string &what) {
    // With HEED_TEST_PERCENT a share of the settings.
    if (!choice_.chance(std::max(repetitions(100), 8))) return;
    const attention_result actual = run(p, s);
    EXPECT_TRUE(same_bits(expected.out, actual.out)) << what << ": " << p.text();
    if (!s.weights) return;
    EXPECT_TRUE(same_bits(expected.weights, actual.weights)) << what << " (weights): " << p.text();
  }

  random_source choice_{1};

  static attention_result baseline(const problem &p) { return run(p, plain_setting(p, true)); }
};

TEST_P(invariance, workspace_size) {
  for (const problem &p : problems()) {
    const attention_result expected = baseline(p);
    const size_t least = heed_workspace_min_bytes(p.head_dim, p.v_dim);
    const size_t recommended = heed_workspace_bytes(p.head_dim, p.v_dim);
    const size_t step = (2 * recommended - least) / 40 + 1;
    for (size_t bytes = least; bytes <= 2 * recommended; bytes += step) {
      setting s;
      s.workspace_bytes = bytes;
      expect_same(p, s, expected, "workspace of " + std::to_string(bytes));
    }
  }
}

TEST_P(invariance, executors) {
  for (const problem &p : problems()) {
    const attention_result expected = baseline(p);
    for (int32_t n = 1; n <= 8; ++n) {
      thread_executor threads(n);
      reverse_executor reverse(n);
      interleaved_executor interleaved(n);
      for (const test_executor *executor :
           {static_cast<test_executor *>(&threads), static_cast<test_executor *>(&reverse),
            static_cast<test_executor *>(&interleaved)}) {
        setting s;
        s.executor = executor->get();
        s.weights = n % 2 == 0;
        // Enough for all workers, for some of them, for one; also in the smallest pieces, when a worker's index must
        // not reach beyond the pieces there are.
        for (const int32_t pieces : {n, (n + 1) / 2, 1})
          for (const size_t piece :
               {heed_workspace_bytes(p.head_dim, p.v_dim), heed_workspace_min_bytes(p.head_dim, p.v_dim) + 64}) {
            s.workspace_bytes = static_cast<size_t>(pieces) * piece;
            expect_same(p, s, expected,
                        std::to_string(n) + " workers, " + std::to_string(s.workspace_bytes) + " bytes");
          }
      }
    }
  }
}

// Without this the test above could pass because no call was ever split.
TEST_P(invariance, executors_are_used) {
  for (const problem &p : problems()) {
    reverse_executor executor(4);
    setting s;
    s.executor = executor.get();
    s.workspace_bytes = 4 * heed_workspace_bytes(p.head_dim, p.v_dim);
    run(p, s);
    EXPECT_GT(executor.most_tasks(), 1) << p.text();
  }
}

#ifdef HEED_TESTS_OPENMP
TEST_P(invariance, openmp) {
  for (const problem &p : problems()) {
    const attention_result expected = baseline(p);
    for (int32_t n = 0; n <= 8; ++n) {
      heed_executor executor;
      ASSERT_EQ(heed_openmp_executor(n, &executor), HEED_OK);
      setting s;
      s.executor = &executor;
      s.workspace_bytes = static_cast<size_t>(executor.n_workers) * heed_workspace_bytes(p.head_dim, p.v_dim);
      expect_same(p, s, expected, std::to_string(n) + " OpenMP threads");
    }
  }
}
#endif

#ifdef HEED_TESTS_THREADS
TEST_P(invariance, threads) {
  for (const problem &p : problems()) {
    const attention_result expected = baseline(p);
    for (int32_t n = 1; n <= 8; ++n) {
      heed_threads threads;
      heed_executor executor;
      ASSERT_EQ(heed_threads_start(&threads, n), HEED_OK);
      ASSERT_EQ(heed_threads_executor(&threads, &executor), HEED_OK);
      setting s;
      s.executor = &executor;
      s.workspace_bytes = static_cast<size_t>(n) * heed_workspace_bytes(p.head_dim, p.v_dim);
      expect_same(p, s, expected, std::to_string(n) + " threads");
      EXPECT_EQ(heed_threads_stop(&threads), HEED_OK);
    }
  }
}
#endif

TEST_P(invariance, layouts) {
  for (problem p : problems()) {
    if (p.n_kv < 200) p.n_kv = p.n_q, p.k.resize(p.k_floats()), p.v.resize(p.v_floats());  // then QKV can be packed
    const attention_result expected = baseline(p);
    for (const layout in : all_layouts)
      for (const layout out : all_layouts)
        for (const int32_t padding : {1, 16}) {
          setting s;
          s.in = in, s.out = out, s.padding = padding;
          expect_same(p, s, expected, "layout");
        }
  }
}

TEST_P(invariance, weights_wanted_or_not) {
  for (const problem &p : problems()) {
    setting s;
    const attention_result without = run(p, s);
    s.weights = true;
    EXPECT_TRUE(same_bits(without.out, run(p, s).out)) << p.text();
  }
}

HEED_TEST_EVERY_KERNEL(invariance);

}  // namespace
}  // namespace heed_test
