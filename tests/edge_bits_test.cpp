// Cases that random shapes seldom meet, one by one: the reference's bits on every kernel. SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/narrow_tensors.hpp"

namespace heed_test {
namespace {

class edge_bits : public reference_or_self_test {
 protected:
  attention_result by_reference(const problem &p) const {
    const kernel_scope scope(reference_);
    return run(p, plain_setting(p, false));
  }
  static problem filled(random_source &r, int32_t n_heads, int32_t n_q, int32_t n_kv, int32_t dim) {
    problem p;
    p.n_heads = n_heads, p.n_q = n_q, p.n_kv = n_kv, p.head_dim = dim, p.v_dim = dim + 1;
    p.options.ranges = true;
    fill_typical(r, &p);
    return p;
  }
  void expect_narrow(problem p) const {
    for (const int32_t dtype : {HEED_F16, HEED_BF16, HEED_INT8}) {
      const narrow_problem numbers(&p, {own, dtype, dtype, own});
      EXPECT_TRUE(same_results(by_reference(p), run_narrow(p, {}, numbers))) << p.text() << numbers.formats.text();
    }
  }
};

// The last key of a block or a few, alone, with keys that are rows of narrow numbers.
TEST_P(edge_bits, few_keys_at_the_end_of_a_block) {
  random_source r(930000);
  for (int32_t left = 0; left < 20; ++left)
    for (const int32_t n_kv : {64, 128, 100}) {
      problem p = filled(r, 1, 1, n_kv, 21);
      p.causal = 1, p.causal_offset = n_kv - 1, p.options.left_window = left;
      expect_narrow(p);
    }
}

// Tiles of 4, 2 and 1 rows, the first of a call and later ones, with values of several registers and a rest.
TEST_P(edge_bits, few_rows_of_wide_values) {
  random_source r(935000);
  for (int32_t n_q = 1; n_q < 10; ++n_q) expect_narrow(filled(r, 1, n_q, 70, 80));
}

// Windows that begin one after another and all end where the keys do, and the other way about.
TEST_P(edge_bits, rows_that_share_one_end_of_their_ranges) {
  random_source r(940000);
  for (int32_t n_q = 2; n_q < 24; n_q += 3)
    for (const bool left : {false, true}) {
      problem p = filled(r, 1, n_q, 60, 18);
      p.causal_offset = 30;
      (left ? p.options.left_window : p.options.right_window) = 3;
      EXPECT_TRUE(same_results(by_reference(p), run(p))) << p.text();
      expect_narrow(p);
    }
}

// Heads of a group whose queries are not evenly spaced, in tiles that hold more than one query.
TEST_P(edge_bits, grouped_heads_in_any_layout) {
  random_source r(950000);
  for (const layout in : all_layouts)
    for (const int32_t n_q : {2, 5, 40}) {
      problem p = filled(r, 3, n_q, 70, 20);
      setting s;
      s.in = in, s.padding = 5;
      EXPECT_TRUE(same_results(by_reference(p), run(p, s))) << p.text();
      for (const int32_t dtype : {HEED_F16, HEED_INT8}) {
        const narrow_problem numbers(&p, {own, dtype, dtype, own});
        EXPECT_TRUE(same_results(by_reference(p), run_narrow(p, s, numbers))) << p.text() << numbers.formats.text();
      }
    }
}

// One tile whose chunks of keys are spread over workers, behind pinned keys, behind an earlier call, and both.
TEST_P(edge_bits, chunks_over_workers_after_others) {
  random_source r(960000);
  reverse_executor executor(3);
  for (int32_t i = 1; i < 4; ++i) {
    problem p = filled(r, 1, 8, 7000, 60);
    p.causal = 1, p.causal_offset = p.n_kv - p.n_q;
    if (i & 1) p.options.pinned = 70, p.options.left_window = 6500;
    setting s;
    s.executor = executor.get();
    s.workspace_bytes = 3 * heed_workspace_bytes(p.head_dim, p.v_dim);
    if (i & 2) p.options.partial = true, s.keys = keys_in::calls, s.splits = {1024};
    EXPECT_TRUE(same_results(by_reference(p), run(p, s))) << p.text();
  }
  EXPECT_GT(executor.most_tasks(), 1);
}

// Rows with and without gaps, each array for itself, whole and in pieces.
TEST_P(edge_bits, gaps_between_rows_of_elements) {
  const int32_t dim = 300, n = 3000;
  random_source r(970000);
  const std::vector<float> a = bell_floats(r, size_t(n) * (dim + 1)), b = bell_floats(r, size_t(n) * (dim + 1));
  reverse_executor executor(3);
  for (int32_t gaps = 0; gaps < 8; ++gaps) {
    const auto stride = [=](int32_t bit) { return ptrdiff_t{dim + (gaps >> bit & 1)}; };
    const int32_t rows = gaps == 0 ? n : 7;
    std::vector<float> y(size_t(rows) * size_t(stride(2)), 7.0f), expected = y;
    for (int32_t i = 0; i < rows; ++i)
      for (int32_t j = 0; j < dim; ++j)
        expected[size_t(i * stride(2) + j)] = a[size_t(i * stride(0) + j)] + b[size_t(i * stride(1) + j)];
    ASSERT_EQ(heed_add({a.data(), rows, dim, stride(0)}, {b.data(), rows, dim, stride(1)},
                       {y.data(), rows, dim, stride(2)}, executor.get()),
              HEED_OK);
    EXPECT_TRUE(same_bits(expected, y)) << "gaps " << gaps;
  }
}

HEED_TEST_EVERY_KERNEL(edge_bits);

}  // namespace
}  // namespace heed_test
