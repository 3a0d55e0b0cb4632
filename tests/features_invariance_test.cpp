// What must be the same, said in two ways: to the bit where the contract promises it. SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/oracle.hpp"
#include "support/settings.hpp"
#include "support/slice.hpp"

namespace heed_test {
namespace {

class features_invariance : public kernel_test {
 protected:
  // Calls check(problem, source) with random problems of features that it may change.
  template <typename Check>
  void each_problem(int32_t count, uint64_t seed, Check check) {
    for (int32_t n = 0; n < repetitions(count) && !HasFailure(); ++n) {
      random_source r(seed + static_cast<uint64_t>(n));
      problem p = random_shape(r, families()[r.next() % 5]);
      limit_work(20000, &p);
      draw_features(r, &p);
      fill_typical(r, &p);
      check(p, r);
      if (HasFailure()) ADD_FAILURE() << "seed " << seed + static_cast<uint64_t>(n) << ": " << p.text();
    }
  }
  static void expect_same(const problem &a, const problem &b, const char *what) {
    EXPECT_TRUE(same_results(run(a), run(b))) << what << ": " << b.text();
  }

  // A mask of one kind: element (b, h, i, j) is attend or not.
  template <typename Attend>
  static problem_mask mask_of(const problem &p, mask_kind kind, Attend attend) {
    problem_mask m = {kind, p.batch, p.n_heads, p.n_q, p.n_kv, {}};
    for (int32_t b = 0; b < p.batch; ++b)
      for (int32_t h = 0; h < p.n_heads; ++h)
        for (int32_t i = 0; i < p.n_q; ++i)
          for (int32_t j = 0; j < p.n_kv; ++j) {
            const bool seen = attend(b, h, i, j);
            m.elements.push_back(kind == mask_kind::boolean ? float(seen) : seen ? 0.0f : -infinity);
          }
    return m;
  }
  // Stages before the mask differ between what is hidden and what is outside the ranges.
  static void drop_early_scores(problem *p) {
    if (p->options.scores_stage < HEED_SCORES_BIASED) p->options.scores_stage = -1;
  }
};

TEST_P(features_invariance, a_mask_that_hides_nothing_is_none) {
  each_problem(150, 400000, [](problem p, random_source &r) {
    p.options.mask = {};
    problem masked = p;
    masked.options.mask = random_mask_shape(r, p, mask_kind::boolean);
    problem_mask &m = masked.options.mask;
    m.n_keys = p.n_kv + (r.chance(50) ? 0 : 3);
    m.elements.assign(size_t(m.n_batch) * m.n_heads * m.n_q * m.n_keys, 1.0f);
    expect_same(p, masked, "boolean");
    m.kind = mask_kind::additive;
    std::fill(m.elements.begin(), m.elements.end(), 0.0f);
    expect_same(p, masked, "additive");
  });
}

TEST_P(features_invariance, neutral_options_are_none) {
  each_problem(150, 410000, [](problem p, random_source &) {
    extras &x = p.options;
    x.ranges = x.sinks = false, x.slopes.clear(), x.sink_logits.clear();
    x.left_window = x.right_window = -1;
    x.left_windows.clear(), x.right_windows.clear(), x.offsets.clear(), x.kv_lengths.clear();
    problem neutral = p;
    neutral.options.ranges = true;
    neutral.options.left_window = neutral.options.right_window = INT32_MAX;
    neutral.options.kv_lengths.assign(size_t(p.batch), p.n_kv);
    neutral.options.sinks = true;
    neutral.options.sink_logits.assign(size_t(p.n_heads), -infinity);
    neutral.options.symmetric = true;
    neutral.options.slopes.assign(size_t(p.n_heads), 0.0f);
    if (p.causal_offset > p.n_kv + 1 || p.causal_offset < -p.n_q - 1) return;
    expect_same(p, neutral, "open ranges, slopes of 0, sinks of -infinity");
  });
}

TEST_P(features_invariance, arrays_equal_numbers_for_all) {
  each_problem(100, 420000, [](problem p, random_source &r) {
    extras &x = p.options;
    x.ranges = true, x.left_window = random_window(r, p), x.right_window = random_window(r, p);
    x.left_windows.clear(), x.right_windows.clear(), x.offsets.clear();
    problem arrays = p;
    arrays.options.left_windows.assign(size_t(p.batch), x.left_window);
    arrays.options.right_windows.assign(size_t(p.batch), x.right_window);
    arrays.options.offsets.assign(size_t(p.batch), p.causal_offset);
    arrays.options.left_window = 3, arrays.options.right_window = 0, arrays.causal_offset = 7;
    expect_same(p, arrays, "arrays");
  });
}

TEST_P(features_invariance, smooth_softmax_is_sinks_of_zero) {
  each_problem(100, 430000, [](problem p, random_source &r) {
    draw_smooth(r, &p);
    problem zeros = p;
    zeros.options.sink_logits.assign(size_t(p.n_heads), 0.0f);
    expect_same(p, zeros, "sinks of 0");
  });
}

TEST_P(features_invariance, weights_and_scores_together_are_those_of_each_alone) {
  each_problem(150, 440000, [](problem p, random_source &r) {
    if (r.chance(50)) fill_random(r, &p);
    p.options.partial = false, p.options.weights = true, p.options.scores_stage = r.between(0, HEED_SCORES_BIASED);
    const attention_result both = run(p);
    problem weights = p, scores = p;
    weights.options.scores_stage = -1, scores.options.weights = false;
    const attention_result only_weights = run(weights), only_scores = run(scores);
    EXPECT_TRUE(only_weights.scores.empty() && only_scores.weights.empty());
    EXPECT_EQ(both.weights.size(), p.weights_floats());
    EXPECT_EQ(both.scores.size(), p.weights_floats());
    EXPECT_TRUE(same_results(both, only_weights));
    EXPECT_TRUE(same_results(both, only_scores));
  });
}

TEST_P(features_invariance, a_short_mask_is_a_number_of_keys) {
  each_problem(150, 450000, [](problem p, random_source &r) {
    p.options.mask = {};
    const int32_t length = r.between(1, p.n_kv);
    problem masked = p;
    masked.options.mask = {r.chance(50) ? mask_kind::boolean : mask_kind::additive, 1, 1, 1, length, {}};
    masked.options.mask.elements.assign(size_t(length), masked.options.mask.kind == mask_kind::boolean ? 1.0f : 0.0f);
    p.options.ranges = true;
    if (p.options.kv_lengths.empty()) p.options.kv_lengths.assign(size_t(p.batch), p.n_kv);
    for (int32_t &n : p.options.kv_lengths) n = std::min(n, length);
    expect_same(p, masked, "short mask");
  });
}

// Weights are a softmax of what lies inside the ranges, so their sums may begin at another key.
TEST_P(features_invariance, ranges_are_masks_of_the_same_keys) {
  each_problem(200, 460000, [](problem p, random_source &r) {
    extras &ranges = p.options;
    if (!ranges.partial) ranges.lse = ranges.column_sums = true, ranges.k = r.between(1, p.n_kv);
    if (!ranges.ranges && !p.causal) ranges.ranges = true, ranges.left_window = random_window(r, p);
    ranges.weights = false, ranges.scores_stage = r.chance(50) ? HEED_SCORES_BIASED : -1;
    ranges.pinned = 0;  // which are summed by themselves
    const auto sees = [&p](int32_t b, int32_t h, int32_t i, int32_t j) { return p.sees(b, h, i, j); };
    p.options.mask = {};
    problem masked = p;
    extras &x = masked.options;
    masked.causal = 0;
    x.left_window = x.right_window = -1;
    x.left_windows.clear(), x.right_windows.clear(), x.kv_lengths.clear();
    x.ranges = !x.offsets.empty();  // which ALiBi needs, too
    x.mask = mask_of(p, mask_kind::boolean, sees);
    expect_same(p, masked, "boolean mask");
    x.mask = mask_of(p, mask_kind::additive, sees);
    expect_same(p, masked, "additive mask");
    if (p.options.partial) return;
    p.options.weights = x.weights = true;
    const std::vector<float> of_ranges = run(p).weights, of_mask = run(masked).weights;
    for (size_t i = 0; i < of_mask.size(); ++i)
      EXPECT_NEAR(of_ranges[i], of_mask[i], of_ranges[i] * (p.n_kv / 8.0 + 24) * half_ulp);
  });
}

TEST_P(features_invariance, masks_of_zero_and_infinity_are_boolean) {
  each_problem(150, 470000, [](problem p, random_source &r) {
    draw_boolean_mask(r, &p);
    if (p.options.mask.n_keys < p.n_kv) drop_early_scores(&p);
    problem_mask m = p.options.mask;
    problem additive = p, ones = p, broadcast = p;
    for (float &x : m.elements) x = x == 0 ? -infinity : 0;
    m.kind = mask_kind::additive;
    additive.options.mask = m;
    expect_same(p, additive, "additive mask");
    for (float &x : ones.options.mask.elements) x = x != 0;
    expect_same(p, ones, "other bytes that are not zero");
    broadcast.options.mask = mask_of(
        p, mask_kind::boolean, [&p](int32_t b, int32_t h, int32_t i, int32_t j) { return p.mask_at(b, h, i, j) == 0; });
    expect_same(p, broadcast, "copies instead of broadcast");
  });
}

// A query's result depends on that row and what it sees: whatever the prompt, batch and heads around it.
TEST_P(features_invariance, rows_alone_are_rows_of_the_whole) {
  each_problem(200, 480000, [](const problem &p, random_source &r) {
    const attention_result all = run(p);
    for (int32_t n = 0; n < 4; ++n) {
      slice s = {r.between(0, p.batch - 1), r.between(0, p.n_heads - 1), r.between(0, p.n_q - 1), 1};
      if (n > 1) s.n_q = r.between(1, p.n_q - s.i);
      if (n == 3) s.i = 0, s.n_q = p.n_q;
      if (!has_position(p, s)) continue;
      const problem one = sliced(p, s);
      EXPECT_TRUE(same_results(sliced(p, all, s), run(one)))
          << "queries " << s.i << " .. " << s.i + s.n_q - 1 << " of head " << s.h << ", batch entry " << s.b;
    }
  });
}

TEST_P(features_invariance, outputs_change_nothing) {
  each_problem(150, 490000, [](problem p, random_source &r) {
    p.options.partial = false, p.options.weights = true, p.options.lse = p.options.column_sums = true;
    p.options.k = r.between(1, p.n_kv), p.options.scores_stage = r.between(0, 2);
    const attention_result all = run(p);
    p.options.weights = p.options.lse = p.options.column_sums = false;
    p.options.k = 0, p.options.scores_stage = -1;
    EXPECT_TRUE(same_bits(run(p).out, all.out));
  });
}

HEED_TEST_EVERY_KERNEL(features_invariance);

}  // namespace
}  // namespace heed_test
