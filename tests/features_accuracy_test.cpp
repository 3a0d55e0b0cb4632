// Every feature of options.h against the double-precision oracle: the bounds that the headers state, and how close
// typical data comes. SPDX-License-Identifier: MIT
#include <gtest/gtest-spi.h>

#include <map>

#include "support/data.hpp"
#include "support/judge.hpp"
#include "support/kernels.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class features_accuracy : public kernel_test {
 protected:
  void SetUp() override {
    kernel_test::SetUp();
    if (!IsSkipped()) chain_ = chain_factor();
  }
  void check(const problem &p, std::map<part, worst> *seen) {
    const attention_result found = run(p);
    const bool failed = HasFailure();
    compare_with_oracle(p, found, chain_, [&](part which, auto... x) { (*seen)[which].see(x...); });
    if (HasFailure() && !failed) ADD_FAILURE() << p.text();
  }
  double chain_ = 1;
};

TEST_P(features_accuracy, within_the_stated_bounds) {
  std::map<part, worst> seen;
  for (int32_t i = 0; i < repetitions(500) && !HasFailure(); ++i) {
    random_source r(800000 + static_cast<uint64_t>(i));
    problem p = random_shape(r, families()[r.next() % families().size()]);
    limit_work(100000, &p);
    draw_features(r, &p);
    fill_typical(r, &p);
    // From flat rows to rows that one key rules.
    const int32_t exponent = r.between(-6, 3);
    for (float &x : p.q) x = std::ldexp(x, exponent);
    check(p, &seen);
  }
  for (const auto &[which, w] : seen) w.record(name_of(which));
  EXPECT_EQ(seen.size(), 6u) << "parts of the result that were compared";
}

// Every feature as models have it.
problem typical_problem(const feature &f) {
  random_source r(7);
  problem p;
  p.n_q = 24, p.n_kv = 512, p.head_dim = p.v_dim = 64, p.causal_offset = p.n_kv - p.n_q;
  f.draw(r, &p);
  extras &x = p.options;
  if (x.cap != 0) x.cap = 30;
  if (!x.slopes.empty()) x.slopes = {0.0625f};
  if (!x.sink_logits.empty()) x.sink_logits = {2};
  if (x.mask.kind == mask_kind::additive)
    for (float &m : x.mask.elements) m = r.chance(30) ? -infinity : r.bell();
  x.lse = true;
  fill_typical(r, &p);
  return p;
}

// As a share of the largest value. Arithmetic twice as coarse does not pass.
TEST_P(features_accuracy, typical_error_is_small) {
  for (const feature &f : features()) {
    std::map<part, worst> seen;
    check(typical_problem(f), &seen);
    EXPECT_LE(seen[part::out].error, 3.2e-7) << f.name;
    EXPECT_LE(seen[part::lse].error, 2.4e-7) << f.name;
    seen[part::out].record(f.name);
  }
}

// tanh alone: with one column, a scale and a cap of 1 the capped score is that of q itself.
TEST_P(features_accuracy, hyperbolic_tangent) {
  problem p;
  p.n_kv = 40000, p.scale = 1, p.options.cap = 1, p.options.scores_stage = HEED_SCORES_CAPPED;
  p.q = {1}, p.v.assign(p.v_floats(), 1.0f);
  for (int32_t j = 0; j < 20000; ++j) p.k.push_back(static_cast<float>(j) * 0x1.0004p-11f);  // up to 9.8
  for (int32_t j = 0; j < 20000; ++j) p.k.push_back(std::ldexp(1.0f + static_cast<float>(j % 97) / 97, j / 97 - 120));
  double greatest = 0;
  for (const float sign : {1.0f, -1.0f}) {
    p.q = {sign};
    const std::vector<float> found = run(p).scores;
    for (size_t j = 0; j < found.size(); ++j) {
      const double exact = std::tanh(double(sign) * p.k[j]);
      EXPECT_LE(std::fabs(found[j]), 1) << p.k[j];
      if (exact == 0) {
        EXPECT_EQ(found[j], 0);
      } else {
        greatest = std::max(greatest, std::fabs(found[j] - exact) / std::fabs(exact));
      }
    }
  }
  RecordProperty("tanh_half_ulp", std::to_string(greatest / half_ulp));
  EXPECT_LE(greatest, 7 * half_ulp);
}

// log-sum-exp alone: n equal scores of x are x + log n. The score itself is a product.
TEST_P(features_accuracy, logarithm) {
  double greatest = 0;
  for (int32_t n = 1; n <= 3000; n += n < 300 ? 1 : 97) {
    problem p;
    p.n_q = 8, p.n_kv = n, p.scale = 1, p.options.lse = true;
    p.q = {0, 1, -1, -0.5f, 7, -7, 100, -static_cast<float>(std::log(double(n)))};
    p.k.assign(size_t(n), 1.0f), p.v.assign(size_t(n), 1.0f);
    const std::vector<float> found = run(p).lse;
    for (size_t i = 0; i < 8; ++i) {
      const double exact = p.q[i] + std::log(double(n));
      const double bound = 0x1p-22 * std::max(1.0, std::fabs(exact)) + 2 * half_ulp * std::fabs(p.q[i]);
      greatest = std::max(greatest, std::fabs(found[i] - exact) / bound);
    }
  }
  RecordProperty("lse_share_of_bound", std::to_string(greatest));
  EXPECT_LE(greatest, 1);
}

// One key's score before the softmax, found as `score` by a kernel, against the oracle.
void compare_score(const std::vector<float> &q, const std::vector<float> &k, float score) {
  problem p;
  p.head_dim = static_cast<int32_t>(q.size());
  p.q = q, p.k = k, p.v = {1};
  p.options.scores_stage = HEED_SCORES_RAW;
  attention_result found;
  found.out = {not_a_number}, found.scores = {score};
  compare_with_oracle(p, found, 1.5, [](part, double, double, double, double) {});
}

// An infinite score is exact where the finite products cannot overflow; where they can it may be NaN.
TEST(oracle, knows_which_infinite_scores_are_exact) {
  compare_score({1, 1}, {-infinity, 3}, -infinity);
  EXPECT_NONFATAL_FAILURE(compare_score({1, 1}, {-infinity, 3}, not_a_number), "score of key 0");
  EXPECT_NONFATAL_FAILURE(compare_score({1, 1}, {-infinity, 3}, -3e38f), "score of key 0");
  EXPECT_NONFATAL_FAILURE(compare_score({1, not_a_number}, {-infinity, 3}, -infinity), "score of key 0");
  for (const float score : {-infinity, not_a_number}) compare_score({0x1p60f, 1}, {0x1p68f, -infinity}, score);
  EXPECT_NONFATAL_FAILURE(compare_score({0x1p60f, 1}, {0x1p68f, -infinity}, -3e38f), "score of key 0");
  EXPECT_NONFATAL_FAILURE(compare_score({0x1p60f, 1}, {0x1p68f, -infinity}, infinity), "score of key 0");
}

// The output of a row whose one visible key has a score of -infinity: the stored value times a weight of 0.
void compare_out_of_hidden_row(const std::vector<float> &q, const std::vector<float> &k, float out) {
  problem p;
  p.head_dim = static_cast<int32_t>(q.size());
  p.q = q, p.k = k, p.v = {1};
  attention_result found;
  found.out = {out};
  compare_with_oracle(p, found, 1.5, [](part which, double actual, double exact, double bound, double) {
    judge_error(actual, exact, bound, name_of(which));
  });
}

// What an infinite score lends the row is demanded where it is exact, and only there.
TEST(oracle, knows_which_rows_an_infinite_score_leaves_exact) {
  compare_out_of_hidden_row({1, 1}, {-infinity, 3}, 0);
  EXPECT_NONFATAL_FAILURE(compare_out_of_hidden_row({1, 1}, {-infinity, 3}, 1), "exceeds the bound");
  EXPECT_NONFATAL_FAILURE(compare_out_of_hidden_row({1, 1}, {-infinity, 3}, not_a_number), "exceeds the bound");
  for (const float out : {0.0f, not_a_number}) compare_out_of_hidden_row({0x1p60f, 1}, {0x1p68f, -infinity}, out);
}

HEED_TEST_EVERY_KERNEL(features_accuracy);

}  // namespace
}  // namespace heed_test
