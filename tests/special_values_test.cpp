// NaN, infinities and empty rows, as the header documents them. SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/primitives.hpp"
#include "support/run.hpp"

namespace heed_test {
namespace {

constexpr uint32_t plus_zero = 0;

class special_values : public kernel_test {
 protected:
  // 70 keys (two blocks), one head; rows of 5 floats, so that tails take part.
  static problem typical(int32_t n_q = 21, int32_t n_kv = 70, int32_t dim = 5) {
    random_source r(9);
    problem p;
    p.n_q = n_q, p.n_kv = n_kv, p.head_dim = p.v_dim = dim;
    fill_typical(r, &p);
    return p;
  }
  static problem causal(int32_t n) {
    problem p = typical(n, n);
    p.causal = 1;
    return p;
  }
  static attention_result with_weights(const problem &p) {
    setting s;
    s.weights = true;
    return run(p, s);
  }
  static std::vector<float> row(const std::vector<float> &all, int32_t i, int32_t dim) {
    return part_of(all, size_t(i) * dim, size_t(dim));
  }
  static bool all_bits(const std::vector<float> &x, uint32_t bits) {
    return std::all_of(x.begin(), x.end(), [bits](float f) { return bits_of(f) == bits; });
  }
  static bool all_nan(const std::vector<float> &x) {
    return std::all_of(x.begin(), x.end(), [](float f) { return std::isnan(f); });
  }
};

TEST_P(special_values, a_row_that_sees_nothing_is_plus_zero) {
  problem p = causal(21);
  p.causal_offset = -4;
  for (int32_t j = 17; j < 21; ++j) std::fill_n(p.v.begin() + j * 5, 5, not_a_number);
  const attention_result result = with_weights(p);
  for (int32_t i = 0; i < 21; ++i) {
    EXPECT_EQ(all_bits(row(result.out, i, 5), plus_zero), i < 4) << i;
    EXPECT_EQ(all_bits(row(result.weights, i, 21), plus_zero), i < 4) << i;
  }
  p.causal_offset = INT32_MIN;
  const attention_result nothing = with_weights(p);
  EXPECT_TRUE(all_bits(nothing.out, plus_zero));
  EXPECT_TRUE(all_bits(nothing.weights, plus_zero));
}

TEST_P(special_values, scores_of_minus_infinity_have_weight_zero) {
  problem p = typical();
  for (float &x : p.q) x = std::fabs(x) + 0.5f;
  std::fill_n(p.k.begin() + 66 * 5, 5, -infinity);
  const attention_result with = with_weights(p);
  for (int32_t i = 0; i < p.n_q; ++i) EXPECT_EQ(bits_of(with.weights[size_t(i * 70 + 66)]), plus_zero);
  EXPECT_FALSE(std::any_of(with.out.begin(), with.out.end(), [](float f) { return !std::isfinite(f); }));

  std::fill(p.k.begin(), p.k.end(), -infinity);
  const attention_result none = with_weights(p);
  EXPECT_TRUE(all_bits(none.out, plus_zero));
  EXPECT_TRUE(all_bits(none.weights, plus_zero));
}

// A whole first block of minus infinity, then ordinary keys: the maximum is still -infinity when the block ends.
TEST_P(special_values, minus_infinity_before_the_first_finite_score) {
  problem p = typical();
  for (float &x : p.q) x = std::fabs(x) + 0.5f;
  std::fill_n(p.k.begin(), 65 * 5, -infinity);
  problem tail = p;
  tail.n_kv = 5;
  tail.k = part_of(p.k, 65 * 5, 25), tail.v = part_of(p.v, 65 * 5, 25);
  const attention_result all = with_weights(p), alone = with_weights(tail);
  for (size_t i = 0; i < all.out.size(); ++i) EXPECT_NEAR(all.out[i], alone.out[i], 1e-5) << i;
}

TEST_P(special_values, a_score_of_plus_infinity_makes_its_row_nan) {
  problem p = typical();
  for (float &x : p.q) x = -std::fabs(x) - 0.5f;
  std::fill_n(p.k.begin() + 3 * 5, 5, infinity);
  p.q[size_t(7 * 5)] = 100;  // row 7: +inf, and NaN with the negative ones
  std::fill_n(p.q.begin() + 8 * 5, 5, 1.0f);
  const std::vector<float> out = run(p).out;
  EXPECT_TRUE(all_nan(row(out, 7, 5)));
  EXPECT_TRUE(all_nan(row(out, 8, 5)));
  for (const int32_t i : {0, 6, 9, 20}) EXPECT_FALSE(all_nan(row(out, i, 5))) << i;
}

TEST_P(special_values, nan_in_a_query_stays_in_its_row) {
  problem p = typical();
  const attention_result clean = with_weights(p);
  p.q[13 * 5 + 4] = not_a_number;
  const attention_result result = with_weights(p);
  for (int32_t i = 0; i < p.n_q; ++i) {
    if (i == 13) {
      EXPECT_TRUE(all_nan(row(result.out, i, 5)));
      EXPECT_TRUE(all_nan(row(result.weights, i, 70)));
    } else {
      EXPECT_TRUE(same_bits(row(clean.out, i, 5), row(result.out, i, 5))) << i;
    }
  }
}

TEST_P(special_values, nan_in_a_key_reaches_exactly_the_rows_that_see_it) {
  for (const float bad : {not_a_number, infinity}) {
    for (const int32_t j : {0, 1, 15, 16, 40, 63, 64, 69}) {
      problem p = causal(70);
      const attention_result clean = with_weights(p);
      p.k[size_t(j * 5 + 2)] = bad;
      for (float &x : p.q) x = std::fabs(x) + 0.5f;  // with +inf: every score of key j is +inf
      const attention_result result = with_weights(p);
      problem before = p;
      before.k = typical(70, 70).k;
      const attention_result reference = with_weights(before);
      for (int32_t i = 0; i < 70; ++i) {
        const std::vector<float> out = row(result.out, i, 5);
        EXPECT_TRUE(i < j ? same_bits(row(reference.out, i, 5), out) : ::testing::AssertionResult(all_nan(out)))
            << "key " << j << " row " << i;
      }
    }
  }
}

// Also when the key's weight is exactly zero: a NaN is not swallowed.
TEST_P(special_values, nan_in_a_value_reaches_the_rows_that_see_it) {
  for (const float spread : {1.0f, 1000.0f}) {
    problem p = causal(70);
    for (float &x : p.q) x *= spread;
    const std::vector<float> clean = run(p).out;
    p.v[40 * 5 + 2] = not_a_number;
    const std::vector<float> out = run(p).out;
    for (int32_t i = 0; i < 70; ++i) {
      EXPECT_EQ(std::isnan(out[size_t(i * 5 + 2)]), i >= 40) << i;
      if (i < 40) {
        EXPECT_TRUE(same_bits(row(clean, i, 5), row(out, i, 5))) << i;
      }
    }
  }
}

TEST_P(special_values, infinite_values) {
  problem p = typical(3, 4, 1);
  p.q = {1, 1, 1}, p.k = {0, 0, 0, -200}, p.v = {1, infinity, 2, 3};
  EXPECT_TRUE(all_bits(run(p).out, bits_of(infinity)));
  p.v = {1, 2, 3, infinity};  // weight exactly 0 times infinity
  EXPECT_TRUE(all_nan(run(p).out));
}

TEST_P(special_values, softmax_rows) {
  const float inf = infinity, nan = not_a_number;
  const matrix x = {7, 4, {0,    0, 0,    0,    1,    nan,  2, 3, 1, inf, 2,   3,   -inf, 1,
                           -inf, 1, -inf, -inf, -inf, -inf, 5, 5, 5, 5,   -44, -46, 0,    -inf}};
  const matrix y = run_softmax(x, 1.0f);
  EXPECT_EQ(y.row(0), std::vector<float>(4, 0.25f));
  EXPECT_TRUE(all_nan(y.row(1)));
  EXPECT_TRUE(all_nan(y.row(2)));
  EXPECT_TRUE(same_bits({0, 0.5f, 0, 0.5f}, y.row(3)));
  EXPECT_TRUE(all_bits(y.row(4), plus_zero));
  EXPECT_EQ(y.row(5), std::vector<float>(4, 0.25f));
  // exp(-44) is 2^-63.5 and stays, exp(-46) is 2^-66.4 and is exactly +0.
  EXPECT_NEAR(y.row(6)[0] * 0x1p63, std::exp(-44.0) * 0x1p63, 1e-4);
  EXPECT_EQ(bits_of(y.row(6)[1]), plus_zero);
  EXPECT_EQ(y.row(6)[2], 1.0f);
  EXPECT_EQ(bits_of(y.row(6)[3]), plus_zero);
  // The scale turns signs around; a very small one makes every row of modest numbers flat.
  EXPECT_TRUE(same_bits({0, 0.5f, 0, 0.5f}, run_softmax({1, 4, {inf, 1, inf, 1}}, -2.0f).values));
  EXPECT_EQ(run_softmax({1, 4, {1, 2, 3, 4}}, 0x1p-126f).values, std::vector<float>(4, 0.25f));
}

// Softmax and attention do not overflow where exp or the dot product's exponential would.
TEST_P(special_values, large_logits_are_stable) {
  EXPECT_TRUE(same_bits({0, 1, 0}, run_softmax({1, 3, {1e30f, 2e38f, -2e38f}}, 1.0f).values));
  EXPECT_TRUE(same_bits({0.5f, 0.5f}, run_softmax({1, 2, {-2e38f, -2e38f}}, 1.0f).values));
  problem p = typical(2, 3, 1);
  p.scale = 1, p.q = {1e15f, -1e15f}, p.k = {1e15f, 2e15f, -1e15f}, p.v = {1, 2, 3};
  EXPECT_TRUE(same_bits({2, 3}, run(p).out));
}

HEED_TEST_EVERY_KERNEL(special_values);

}  // namespace
}  // namespace heed_test
