// What a row does not see is never read, or reaches nothing. That nothing is written outside of an output, nor read
// outside of an array, is checked by every run of every suite: the arrays end at inaccessible pages, and what lies
// between their rows is NaN, or is looked at afterwards. SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/paged_rows.hpp"
#include "support/settings.hpp"
#include "support/slice.hpp"

namespace heed_test {
namespace {

class features_guard : public kernel_test {
 protected:
  template <typename Check>
  void each_problem(int32_t count, uint64_t seed, Check check) {
    for (int32_t n = 0; n < repetitions(count) && !HasFailure(); ++n) {
      random_source r(seed + static_cast<uint64_t>(n));
      problem p = random_shape(r, families()[r.next() % 5]);
      limit_work(20000, &p);
      draw_features(r, &p);
      check(p, r);
      if (HasFailure()) ADD_FAILURE() << "seed " << seed + static_cast<uint64_t>(n) << ": " << p.text();
    }
  }

  static bool is_read(const problem &p, int32_t b, int32_t j) {
    for (int32_t i = 0; i < p.n_q; ++i)
      if (p.range_of(b, i).holds(j)) return true;
    return false;
  }
  static bool hides_all(const problem &p, const slice &row, const std::vector<int32_t> &keys) {
    return std::none_of(keys.begin(), keys.end(), [&](int32_t j) { return p.sees(row.b, row.h, row.i, j); });
  }
  static void set_key(problem *p, int32_t b, int32_t h, int32_t j, float k, float v) {
    const ptrdiff_t row = ptrdiff_t(p->kv_row(b, h, j));
    std::fill_n(p->k.begin() + row * p->head_dim, p->head_dim, k);
    std::fill_n(p->v.begin() + row * p->v_dim, p->v_dim, v);
  }
};

// Each key and each value in a page of its own, inaccessible if it is outside the ranges of all queries.
TEST_P(features_guard, keys_outside_the_ranges_are_never_read) {
  int32_t n_hidden = 0;
  each_problem(250, 600000, [&](problem p, random_source &r) {
    while (p.batch * p.n_kv_heads * p.n_kv > paged_rows::most_rows()) p.n_kv = p.n_kv * 2 / 3;
    p.options = {};
    draw_features(r, &p);
    r.pick(features()).draw(r, &p);
    if (!p.options.ranges && !p.causal) {
      p.options.ranges = true;
      p.options.left_window = random_window(r, p), p.options.right_window = random_window(r, p);
    }
    settle(&p);
    fill_typical(r, &p);
    const setting s = random_setting(r, p, nullptr);
    const attention_result expected = run(p, plain_setting(p, false));
    placed_call placed(p, s);
    const auto hidden = [&p](int32_t b, int32_t, int32_t j) { return !is_read(p, b, j); };
    const bool at_the_end = r.chance(50);
    const paged_rows k(slot_k, {p.batch, p.n_kv_heads, p.n_kv, p.head_dim, 0, 0, 0}, p.k, at_the_end, hidden);
    const paged_rows v(slot_v, {p.batch, p.n_kv_heads, p.n_kv, p.v_dim, 0, 0, 0}, p.v, at_the_end, hidden);
    placed.call.k = k.view(), placed.call.v = v.view();
    EXPECT_TRUE(same_results(expected, run(&placed, p, s)));
    n_hidden += k.n_hidden();
  });
  EXPECT_GT(n_hidden, 0);
}

// Some keys that a row hides hold zeros, then NaN, infinities and the largest numbers: all rows that hide them stay.
TEST_P(features_guard, hidden_keys_reach_nothing) {
  static const std::vector<float> poisons = {not_a_number, infinity, -infinity, 3e38f, -3e38f};
  int32_t n_rows = 0;
  each_problem(400, 610000, [&](problem p, random_source &r) {
    if (r.chance(80)) (r.chance(50) ? draw_boolean_mask : draw_additive_mask)(r, &p);
    if (p.options.scores_stage < HEED_SCORES_BIASED) p.options.scores_stage = -1;  // of hidden keys, too
    fill_typical(r, &p);
    const slice row = {r.between(0, p.batch - 1), r.between(0, p.n_heads - 1), r.between(0, p.n_q - 1), 1};
    std::vector<int32_t> keys;
    const int32_t percent = r.chance(50) ? 100 : r.between(1, 60);
    for (int32_t j = 0; j < p.n_kv; ++j)
      if (!p.sees(row.b, row.h, row.i, j) && r.chance(percent)) keys.push_back(j);
    problem zeros = p;
    for (const int32_t j : keys) {
      set_key(&zeros, row.b, row.h, j, 0, 0);
      set_key(&p, row.b, row.h, j, r.pick(poisons), r.pick(poisons));
    }
    const setting s = random_setting(r, p, nullptr);
    const attention_result expected = run(zeros, s), actual = run(p, s);
    const int32_t group = p.n_heads / p.n_kv_heads;
    for (int32_t b = 0; b < p.batch; ++b)
      for (int32_t h = 0; h < p.n_heads; ++h) {
        const bool touched = b == row.b && h / group == row.h / group;
        bool whole = true;
        for (int32_t i = 0; i < p.n_q; ++i) {
          const slice one = {b, h, i, 1};
          if (touched && !hides_all(p, one, keys)) {
            whole = false;
            continue;
          }
          n_rows += touched && !keys.empty();
          EXPECT_TRUE(same_results(sliced(p, expected, one), sliced(p, actual, one)))
              << "query " << i << " of head " << h;
        }
        const slice all = {b, h, 0, p.n_q};
        if (whole) {
          EXPECT_TRUE(same_results(sliced(p, expected, all), sliced(p, actual, all))) << "head " << h;
        }
      }
  });
  EXPECT_GT(n_rows, repetitions(400));
}

// Rows that see nothing, beside rows that do: +0 everywhere, -infinity or the sink.
TEST_P(features_guard, rows_that_see_nothing) {
  for (const int32_t n_q : {1, 5, 20, 49})
    for (const int32_t n_kv : {3, 70, 1100})
      for (const bool sinks : {false, true}) {
        random_source r(static_cast<uint64_t>(n_q + n_kv));
        problem p;
        p.n_q = n_q, p.n_kv = n_kv, p.head_dim = p.v_dim = 9;
        extras &x = p.options;
        x.mask = {mask_kind::boolean, 1, 1, n_q, n_kv, {}};
        for (int32_t i = 0; i < n_q; ++i)
          x.mask.elements.insert(x.mask.elements.end(), size_t(n_kv), float(i % 3 == 1));
        x.sinks = sinks, x.sink_logits.assign(sinks, 1.25f);
        x.weights = x.lse = true, x.k = 2;
        fill_typical(r, &p);
        if (n_q == 1) fill_special(r, &p);
        const attention_result found = run(p);
        const auto zeros = [](const std::vector<float> &all, int32_t row, int32_t dim) {
          const std::vector<float> part = part_of(all, size_t(row) * dim, size_t(dim));
          return std::all_of(part.begin(), part.end(), [](float f) { return bits_of(f) == 0; });
        };
        for (int32_t i = 0; i < n_q; ++i) {
          const bool empty = i % 3 != 1;
          EXPECT_EQ(zeros(found.out, i, 9), empty) << i << " of " << p.text();
          EXPECT_EQ(zeros(found.weights, i, n_kv), empty) << i << " of " << p.text();
          EXPECT_EQ(zeros(found.top_weights, i, 2), empty) << i << " of " << p.text();
          EXPECT_EQ(found.top_keys[size_t(i) * 2] == -1 && found.top_keys[size_t(i) * 2 + 1] == -1, empty);
          if (empty && sinks) {
            EXPECT_NEAR(found.lse[size_t(i)], 1.25, 3e-7);
          } else if (empty) {
            EXPECT_EQ(found.lse[size_t(i)], -infinity);
          }
        }
      }
}

HEED_TEST_EVERY_KERNEL(features_guard);

}  // namespace
}  // namespace heed_test
