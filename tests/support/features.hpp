// The one table of what options.h adds: how a feature is drawn at random into a problem, and how it is put into a
// call's options. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FEATURES_HPP
#define HEED_TESTS_SUPPORT_FEATURES_HPP

#include <cmath>
#include <functional>
#include <vector>

#include "placed_options.hpp"

namespace heed_test {

// ---------------------------------------------------------------------------------------------------------- drawing
inline int32_t random_window(random_source &r, const problem &p) {
  return r.chance(10) ? -1 : r.chance(5) ? INT32_MAX : r.chance(50) ? r.between(0, 9) : r.between(0, p.n_kv + 1);
}
inline int32_t random_offset(random_source &r, const problem &p) {
  if (r.chance(3)) return r.chance(50) ? INT32_MAX : INT32_MIN;
  return r.chance(40) ? p.n_kv - p.n_q : r.between(-p.n_q - 1, p.n_kv + 1);
}
template <typename Draw>
std::vector<int32_t> for_each_batch(const problem &p, Draw draw) {
  std::vector<int32_t> numbers;
  for (int32_t b = 0; b < p.batch; ++b) numbers.push_back(draw());
  return numbers;
}

// Broadcast from any axis; as many columns as keys, fewer, or more.
inline problem_mask random_mask_shape(random_source &r, const problem &p, mask_kind kind) {
  problem_mask m;
  m.kind = kind;
  m.n_batch = r.chance(50) ? 1 : p.batch;
  m.n_heads = r.chance(50) ? 1 : p.n_heads;
  m.n_q = r.chance(30) ? 1 : p.n_q;
  m.n_keys = r.chance(60) ? p.n_kv : r.chance(75) ? r.between(1, p.n_kv) : p.n_kv + r.between(1, 9);
  return m;
}
// Rows of hidden and seen keys: none hidden, all, most, some; runs of them that hide whole blocks; a diagonal; the
// first.
inline void hide_at_random(random_source &r, problem_mask *m, float hidden, const std::function<float()> &seen) {
  const size_t n_rows = size_t(m->n_batch) * m->n_heads * m->n_q;
  const int32_t pattern = r.between(0, 7);
  for (size_t row = 0; row < n_rows; ++row) {
    const int32_t percent = pattern == 0 ? 0 : pattern == 1 ? 95 : r.chance(5) ? 100 : r.between(0, 100);
    const int32_t first = r.between(0, m->n_keys);
    bool in_run = false;
    for (int32_t j = 0, left = 0; j < m->n_keys; ++j, --left) {
      if (left <= 0) in_run = r.chance(pattern == 6 ? 70 : percent), left = r.between(20, 300);
      const bool hide = pattern < 3    ? r.chance(percent)
                        : pattern == 3 ? j > static_cast<int32_t>(row) % m->n_q
                        : pattern == 4 ? j + 1 < m->n_keys && j / 64 != 1  // the last key, and the second block
                        : pattern == 7 ? j < first
                                       : in_run;
      m->elements.push_back(hide ? hidden : seen());
    }
  }
}
inline void draw_boolean_mask(random_source &r, problem *p) {
  problem_mask &m = p->options.mask = random_mask_shape(r, *p, mask_kind::boolean);
  const bool ones = r.chance(50);
  hide_at_random(r, &m, 0, [&] { return ones ? 1.0f : static_cast<float>(r.between(1, 255)); });
}
inline void draw_additive_mask(random_source &r, problem *p) {
  problem_mask &m = p->options.mask = random_mask_shape(r, *p, mask_kind::additive);
  const int32_t kind = r.between(0, 9);
  const float far = kind == 0 ? -1e9f : kind == 1 ? -1e38f : kind == 2 ? -65504.0f : -infinity;
  hide_at_random(r, &m, far, [&] { return kind < 5 ? r.bell() : kind == 5 ? 64 * r.bell() : 0.0f; });
}

inline void draw_softcap(random_source &r, problem *p) {
  static const std::vector<float> caps = {0x1p-10f, 0.5f, 2, 20, 30, 50, 1e4f};
  p->options.cap = r.chance(70) ? r.pick(caps) : std::fabs(r.bell()) + 0x1p-10f;
}
inline void draw_alibi(random_source &r, problem *p) {
  const int32_t kind = r.between(0, 3);
  p->options.slopes.clear();
  p->options.symmetric = r.chance(40);
  for (int32_t h = 0; h < p->n_heads; ++h)
    p->options.slopes.push_back(kind == 0 ? 0.0f
                                : kind == 1
                                    ? r.bell()
                                    : std::exp2(-8.0f * static_cast<float>(h + 1) / static_cast<float>(p->n_heads)));
}
inline void draw_sinks(random_source &r, problem *p) {
  p->options.sinks = true;
  p->options.sink_logits.clear();
  for (int32_t h = 0; h < p->n_heads; ++h)
    p->options.sink_logits.push_back(r.chance(10) ? -infinity : r.chance(5) ? 1e30f : 4 * r.bell());
}
inline void draw_smooth(random_source &, problem *p) {
  p->options.sinks = true;
  p->options.sink_logits.clear();
}
template <heed_scores_stage stage>
void draw_scores(random_source &, problem *p) {
  p->options.scores_stage = stage;
}

// ------------------------------------------------------------------------------------------------------------ table
struct feature {
  const char *name;
  void (*draw)(random_source &, problem *);
  bool (*in)(const problem &);
  void (placed_options::*put)();
};

inline const std::vector<feature> &features() {
  using r = random_source;
  using in = const problem;
  using po = placed_options;
  const auto ranges = [](in &p) { return p.options.ranges; };
  const auto masked = [](in &p) { return p.options.mask.kind != mask_kind::none; };
  const auto sinks = [](in &p) { return p.options.sinks; };
  const auto scores = [](in &p) { return p.options.scores_stage >= 0; };
  const auto softcap = [](in &p) { return p.options.cap != 0; };
  const auto alibi = [](in &p) { return !p.options.slopes.empty(); };
  const auto nothing = [](in &) { return false; };  // of options.h
  static const std::vector<feature> all = {
      {"causal", [](r &, problem *p) { p->causal = 1; }, nothing, &po::put_nothing},
      {"position", [](r &x, problem *p) { p->causal_offset = random_offset(x, *p); }, nothing, &po::put_nothing},
      {"open ranges", [](r &, problem *p) { p->options.ranges = true; }, ranges, &po::put_ranges},
      {"left window", [](r &x, problem *p) { p->options.ranges = true, p->options.left_window = random_window(x, *p); },
       ranges, &po::put_ranges},
      {"right window",
       [](r &x, problem *p) { p->options.ranges = true, p->options.right_window = random_window(x, *p); }, ranges,
       &po::put_ranges},
      {"left windows",
       [](r &x, problem *p) {
         p->options.ranges = true, p->options.left_windows = for_each_batch(*p, [&] { return random_window(x, *p); });
       },
       ranges, &po::put_ranges},
      {"right windows",
       [](r &x, problem *p) {
         p->options.ranges = true, p->options.right_windows = for_each_batch(*p, [&] { return random_window(x, *p); });
       },
       ranges, &po::put_ranges},
      {"positions",
       [](r &x, problem *p) {
         p->options.ranges = true, p->options.offsets = for_each_batch(*p, [&] { return random_offset(x, *p); });
       },
       ranges, &po::put_ranges},
      {"kv lengths",
       [](r &x, problem *p) {
         p->options.ranges = true, p->options.kv_lengths = for_each_batch(*p, [&] { return x.between(0, p->n_kv); });
       },
       ranges, &po::put_ranges},
      {"pinned keys",
       [](r &x, problem *p) {
         p->options.ranges = true, p->options.pinned = x.chance(3) ? HEED_MAX_COUNT : x.between(0, p->n_kv + 1);
         if (p->options.left_window < 0) p->options.left_window = random_window(x, *p);
       },
       ranges, &po::put_ranges},
      {"boolean mask", draw_boolean_mask, masked, &po::put_mask},
      {"additive mask", draw_additive_mask, masked, &po::put_mask},
      {"softcap", draw_softcap, softcap, &po::put_softcap},
      {"alibi", draw_alibi, alibi, &po::put_alibi},
      {"sinks", draw_sinks, sinks, &po::put_sinks},
      {"smooth softmax", draw_smooth, sinks, &po::put_sinks},
      {"raw scores", draw_scores<HEED_SCORES_RAW>, scores, &po::put_scores},
      {"capped scores", draw_scores<HEED_SCORES_CAPPED>, scores, &po::put_scores},
      {"biased scores", draw_scores<HEED_SCORES_BIASED>, scores, &po::put_scores},
      {"weights and scores",
       [](r &x, problem *p) { p->options.weights = true, p->options.scores_stage = x.between(0, HEED_SCORES_BIASED); },
       scores, &po::put_scores},
      {"weights", [](r &, problem *p) { p->options.weights = true; }, [](in &p) { return p.options.weights; },
       &po::put_weights},
      {"log-sum-exp", [](r &, problem *p) { p->options.lse = true; }, [](in &p) { return p.options.lse; },
       &po::put_lse},
      {"column sums", [](r &, problem *p) { p->options.column_sums = true; },
       [](in &p) { return p.options.column_sums; }, &po::put_column_sums},
      {"top-k", [](r &x, problem *p) { p->options.k = x.chance(20) ? p->n_kv : x.between(1, std::min(9, p->n_kv)); },
       [](in &p) { return p.options.k > 0; }, &po::put_top_k},
      {"partial results", [](r &, problem *p) { p->options.partial = true; }, nothing, &po::put_nothing}};
  return all;
}

// Partial results go without what needs the whole row.
inline void settle(problem *p) {
  extras &x = p->options;
  if (x.partial) x.weights = x.column_sums = false, x.k = 0;
  // A call whose keys all lie beyond a short mask has one column that hides instead, of which there is a score.
  const bool is_short = x.mask.kind != mask_kind::none && x.mask.n_keys < p->n_kv;
  if (x.partial && is_short && x.scores_stage >= 0) x.scores_stage = HEED_SCORES_BIASED;
}

// The features of a random problem: one, two, or any number of them. Its shape is there, its numbers are not.
inline void draw_features(random_source &r, problem *p) {
  const std::vector<feature> &all = features();
  p->causal = 0, p->causal_offset = 0;
  const int32_t kind = r.between(0, 9);
  if (kind < 5) {
    const int32_t percent = r.between(5, 60);
    for (const feature &f : all)
      if (r.chance(f.draw == all.back().draw ? 10 : percent)) f.draw(r, p);
  } else {
    for (int32_t n = kind < 6 ? 1 : 2; n > 0; --n) r.pick(all).draw(r, p);
  }
  settle(p);
}

}  // namespace heed_test

#endif
