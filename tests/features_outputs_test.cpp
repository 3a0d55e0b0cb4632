// The outputs besides the result, against each other. SPDX-License-Identifier: MIT
#include <numeric>

#include "support/data.hpp"
#include "support/judge.hpp"
#include "support/kernels.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class features_outputs : public kernel_test {
 protected:
  // Random problems with features, asked for everything.
  template <typename Check>
  void each_problem(int32_t count, uint64_t seed, Check check) {
    for (int32_t n = 0; n < repetitions(count) && !HasFailure(); ++n) {
      random_source r(seed + static_cast<uint64_t>(n));
      problem p = random_shape(r, families()[r.next() % 5]);
      limit_work(20000, &p);
      draw_features(r, &p);
      extras &x = p.options;
      x.partial = false, x.weights = x.lse = x.column_sums = true, x.k = p.n_kv;
      x.scores_stage = HEED_SCORES_BIASED;
      fill_typical(r, &p);
      check(p, r);
      if (HasFailure()) ADD_FAILURE() << "seed " << seed + static_cast<uint64_t>(n) << ": " << p.text();
    }
  }
  // Calls visit(index of the row, exact row) where bounds hold.
  template <typename Visit>
  static void each_row_with_bounds(const problem &p, Visit visit) {
    size_t row = 0;
    for (int32_t b = 0; b < p.batch; ++b)
      for (int32_t h = 0; h < p.n_heads; ++h)
        for (int32_t i = 0; i < p.n_q; ++i, ++row) {
          const exact_row exact = exact_attention_row(p, b, h, i, chain_factor());
          if (has_bounds(exact)) visit(row, exact);
        }
  }
};

// Weights are exp(score - log-sum-exp), also with a sink, and without one they add up to 1.
TEST_P(features_outputs, weights_follow_from_scores_and_lse) {
  each_problem(100, 500000, [](const problem &p, random_source &) {
    const attention_result all = run(p);
    each_row_with_bounds(p, [&](size_t row, const exact_row &exact) {
      double sum = 0;
      const double lse_error = lse_bound(exact) + half_ulp * std::fabs(exact.lse);
      for (size_t j = 0; j < size_t(p.n_kv); ++j) {
        const float score = all.scores[row * size_t(p.n_kv) + j], weight = all.weights[row * size_t(p.n_kv) + j];
        sum += weight;
        if (score == -infinity) {
          EXPECT_EQ(bits_of(weight), 0u);
        } else if (score > all.lse[row] - 80) {
          const double expected = std::exp(double(score) - all.lse[row]);
          judge_error(weight, expected,
                      weight_bound(exact, j) + expected * 1.1 * (lse_error + exact.errors[HEED_SCORES_BIASED][j]),
                      "weight from score");
        }
      }
      if (exact.n_visible > 0 && !exact.has_sink) {
        EXPECT_NEAR(sum, 1, (exact.n_visible / 16.0 + 12) * half_ulp);
      }
    });
  });
}

// Of top-k with all keys, added in ascending order of queries, to the bit.
TEST_P(features_outputs, column_sums_are_sums_of_top_k) {
  each_problem(200, 510000, [](const problem &p, random_source &) {
    const attention_result all = run(p);
    std::vector<float> sums;
    for (size_t head = 0; head < size_t(p.batch) * p.n_heads; ++head) {
      std::vector<float> of_head(size_t(p.n_kv), 0.0f);
      for (size_t at = head * p.n_q * p.n_kv; at < (head + 1) * p.n_q * p.n_kv; ++at)
        if (all.top_keys[at] >= 0) of_head[size_t(all.top_keys[at])] += all.top_weights[at];
      sums.insert(sums.end(), of_head.begin(), of_head.end());
    }
    EXPECT_TRUE(same_bits(sums, all.column_sums));
  });
}

// Few different numbers: equal weights everywhere. Scores are sums of few integers, so the oracle's are exact; a weight
// is nothing 64 ln 2 = 44.4 below the greatest.
TEST_P(features_outputs, top_k_prefers_the_lower_of_equal_keys) {
  each_problem(200, 520000, [](problem p, random_source &r) {
    p.options.cap = 0, p.options.slopes.clear(), p.options.sinks = false, p.options.sink_logits.clear(), p.scale = 1;
    if (p.options.mask.kind == mask_kind::additive) draw_boolean_mask(r, &p);
    fill_ties(r, &p);
    const attention_result all = run(p);
    each_row_with_bounds(p, [&](size_t row, const exact_row &exact) {
      const std::vector<double> &scores = exact.scores[HEED_SCORES_BIASED];
      const double highest = *std::max_element(scores.begin(), scores.end());
      std::vector<int32_t> order;
      for (int32_t j = 0; j < p.n_kv; ++j)
        if (exact.seen[size_t(j)] && scores[size_t(j)] > highest - 44.3) order.push_back(j);
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return scores[size_t(a)] > scores[size_t(b)]; });
      order.resize(size_t(p.n_kv), -1);
      const auto first = all.top_keys.begin() + ptrdiff_t(row) * p.n_kv;
      EXPECT_EQ(order, std::vector<int32_t>(first, first + p.n_kv));
    });
  });
}

// A NaN query sees blocks that the others hide, and the other way round: it spoils the sums of the keys that it sees.
TEST_P(features_outputs, column_sums_of_a_row_that_is_nan) {
  for (const int32_t n_q : {2, 5, 16, 49}) {
    random_source r(static_cast<uint64_t>(n_q));
    problem p;
    p.n_q = n_q, p.n_kv = 200, p.head_dim = 3, p.v_dim = 2;
    p.options.column_sums = true;
    problem_mask &m = p.options.mask = {mask_kind::additive, 1, 1, n_q, p.n_kv, {}};
    const auto sees = [](int32_t i, int32_t j) { return i == 1 ? j / 64 == 1 || j == 130 : j / 64 != 1; };
    for (int32_t i = 0; i < n_q; ++i)
      for (int32_t j = 0; j < p.n_kv; ++j) m.elements.push_back(sees(i, j) ? 0.0f : -infinity);
    fill_typical(r, &p);
    const std::vector<float> clean = run(p).column_sums;
    p.q[3] = not_a_number;
    const std::vector<float> sums = run(p).column_sums;
    for (int32_t j = 0; j < p.n_kv; ++j) {
      const float expected = sees(1, j) ? not_a_number : clean[size_t(j)];
      EXPECT_TRUE(same_float(sums[size_t(j)], expected)) << "key " << j << " of " << n_q << " queries";
    }
  }
}

TEST_P(features_outputs, fewer_keys_are_the_first_of_more) {
  each_problem(150, 530000, [](problem p, random_source &r) {
    fill_random(r, &p);
    const attention_result all = run(p);
    p.options.k = r.between(1, p.n_kv);
    const size_t k = size_t(p.options.k), n = size_t(p.n_kv);
    const attention_result some = run(p);
    attention_result first;
    for (size_t row = 0; row < all.top_keys.size() / n; ++row)
      for (size_t t = 0; t < k; ++t) {
        first.top_keys.push_back(all.top_keys[row * n + t]);
        first.top_weights.push_back(all.top_weights[row * n + t]);
      }
    EXPECT_TRUE(same_results(first, some));
  });
}

// Scores of every stage for what the mask hides, and -infinity outside the ranges.
TEST_P(features_outputs, stages_of_the_scores) {
  problem p;
  p.n_q = 2, p.n_kv = 4, p.head_dim = 1, p.scale = 2, p.causal = 1, p.causal_offset = 1;
  p.q = {1, 0.5f}, p.k = {1, 2, 3, 4}, p.v = {1, 2, 3, 4};
  p.options.cap = 4;
  p.options.slopes = {0.25f};
  p.options.mask = {mask_kind::additive, 1, 1, 2, 3, {0, 8, 8, -infinity, -1, 1}};
  const float x = -infinity;
  const auto capped = [](double raw) { return static_cast<float>(4 * std::tanh(raw / 4)); };
  const std::vector<float> expected[] = {
      {2, 4, x, x, 1, 2, 3, x},
      {capped(2), capped(4), x, x, capped(1), capped(2), capped(3), x},
      {capped(2) - 0.25f, capped(4) + 8, x, x, x, capped(2) - 0.25f - 1, capped(3) + 1, x}};
  for (int32_t stage = 0; stage < 3; ++stage) {
    p.options.scores_stage = stage;
    const std::vector<float> found = run(p).scores;
    ASSERT_EQ(found.size(), expected[stage].size());
    for (size_t j = 0; j < found.size(); ++j) {
      if (expected[stage][j] == x) {
        EXPECT_EQ(found[j], x) << stage << " " << j;
      } else {
        EXPECT_NEAR(found[j], expected[stage][j], stage == 0 ? 0 : 2e-6) << stage << " " << j;
      }
    }
  }
}

HEED_TEST_EVERY_KERNEL(features_outputs);

}  // namespace
}  // namespace heed_test
