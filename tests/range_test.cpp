// The ranges that the header states: inside them results are right, at their ends they are what it says.
// SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/oracle.hpp"
#include "support/primitives.hpp"

namespace heed_test {
namespace {

using floats = std::vector<float>;

class range : public kernel_test {
 protected:
  static floats softmax(const floats &x, float scale = 1) {
    return run_softmax({1, static_cast<int32_t>(x.size()), x}, scale).values;
  }
};

TEST_P(range, softmax_up_to_the_largest_logit) {
  const float most = 0x1.62e42cp+127f;  // times log2(e) it is almost 2^128
  EXPECT_EQ(softmax({most, 1}), (floats{1, 0}));
  EXPECT_EQ(softmax({-most, -most}), (floats{0.5f, 0.5f}));
  EXPECT_EQ(softmax({most, -most, most, most}), (floats{0x1.555556p-2f, 0, 0x1.555556p-2f, 0x1.555556p-2f}));
  EXPECT_EQ(softmax({3e38f, 3e38f}, 0.5f), (floats{0.5f, 0.5f}));
  // Beyond: logits of +infinity and -infinity.
  EXPECT_TRUE(same_bits(floats(2, not_a_number), softmax({3e38f, 1})));
  EXPECT_EQ(softmax({-3e38f, -3e38f}), (floats{0, 0}));
  EXPECT_EQ(softmax({-3e38f, 1}), (floats{0, 1}));
}

TEST_P(range, scale) {
  const matrix x = {1, 2, {1, 2}};
  EXPECT_EQ(softmax({0, 1}, 2.3e38f), (floats{0, 1}));
  float y[2] = {7, 7};
  const auto refused = [&](float scale, heed_fault fault) {
    EXPECT_EQ(heed_softmax(heed_matrix_of(x.values.data(), 1, 2), scale, heed_matrix_out_of(y, 1, 2), nullptr),
              HEED_STATUS(fault, HEED_ARG_SCALE))
        << scale;
  };
  for (const float scale : {2.4e38f, -2.4e38f, HEED_SCALE_DEFAULT, infinity, -infinity, not_a_number})
    refused(scale, HEED_NOT_FINITE);
  for (const float scale : {0.0f, -0.0f, least_subnormal, -greatest_subnormal}) refused(scale, HEED_OUT_OF_RANGE);
  EXPECT_EQ(y[0], 7);
}

// Values are added before they are divided.
TEST_P(range, attention_of_large_values) {
  problem p;
  p.n_kv = 3, p.v_dim = 2, p.q = {1}, p.k = {0.5f, 0.5f, 0.5f};
  p.v = {0x1p125f, -3e38f, 0x1p125f, 3e38f, 0x1p125f, 1};
  const floats within = run(p).out;
  EXPECT_EQ(within[0], 0x1p125f);
  p.v = {3e38f, 0, 3e38f, 0, -3e38f, 0};
  EXPECT_EQ(run(p).out[0], infinity);
}

// Numbers so small that products are rounded to multiples of 2^-149, or to nothing.
TEST_P(range, underflow_within_the_stated_bounds) {
  if (flushes_subnormals) GTEST_SKIP() << "this unit flushes subnormals, where the contract ends";
  const double chain = chain_factor();
  EXPECT_EQ(run_dot({1e-30f}, {1e-30f}), 0.0f);
  for (int32_t i = 0; i < repetitions(200) && !HasFailure(); ++i) {
    random_source r(240000 + static_cast<uint64_t>(i));
    const int32_t n = r.size(1, 200);
    const auto tiny = [&](size_t count, int32_t low, int32_t high) {
      floats x = bell_floats(r, count);
      for (float &f : x) f = std::ldexp(f, r.between(low, high));
      return x;
    };
    const floats a = tiny(size_t(n), -80, -60), b = tiny(size_t(n), -85, -65);
    EXPECT_LE(std::fabs(run_dot(a, b) - exact_dot(a.data(), b.data(), n)),
              dot_bound(n, absolute_dot(a.data(), b.data(), n)));
    const matrix x = {2, n, tiny(2 * size_t(n), -80, -60)}, w = {n, 5, tiny(5 * size_t(n), -85, -65)};
    const matrix y = run_linear(x, w, {}), sums = run_weighted_sum(x, w);
    for (int32_t t = 0; t < 2; ++t)
      for (int32_t o = 0; o < 5; ++o) {
        const exact_value e = exact_linear(x, w, {}, t, o);
        EXPECT_LE(std::fabs(y.values[size_t(t) * 5 + o] - e.value), linear_bound(n, e.absolute_sum, chain));
        EXPECT_LE(std::fabs(sums.values[size_t(t) * 5 + o] - e.value), weighted_sum_bound(n, e.absolute_sum, chain));
      }
    problem p;
    p.n_kv = n, p.head_dim = 3, p.v_dim = 5, p.scale = r.chance(50) ? HEED_SCALE_DEFAULT : 1e37f;
    p.q = tiny(3, -80, -60), p.k = tiny(3 * size_t(n), -85, -65), p.v = tiny(5 * size_t(n), -149, -120);
    const floats out = run(p).out;
    const exact_row row = exact_attention_row(p, 0, 0, 0, chain);
    for (int32_t o = 0; o < 5; ++o)
      EXPECT_LE(std::fabs(out[size_t(o)] - row.out[size_t(o)]), attention_bound(row, chain)) << p.text();
  }
}

// A NaN in a value's column spoils that column; a NaN query that sees no key spoils nothing.
TEST_P(range, not_a_number_reaches_what_the_header_says) {
  problem p;
  p.n_q = 2, p.n_kv = 2, p.v_dim = 3, p.causal = 1, p.causal_offset = -1;
  p.q = {not_a_number, 1}, p.k = {1, 1}, p.v = {1, not_a_number, -infinity, 4, 5, 6};
  EXPECT_TRUE(same_bits({0, 0, 0, 1, not_a_number, -infinity}, run(p).out));
  p.q = {1, not_a_number};
  EXPECT_TRUE(same_bits({0, 0, 0, not_a_number, not_a_number, not_a_number}, run(p).out));
}

HEED_TEST_EVERY_KERNEL(range);

}  // namespace
}  // namespace heed_test
