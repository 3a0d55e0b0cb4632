// Parts of a problem that must have the same result by themselves. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_SLICE_HPP
#define HEED_TESTS_SUPPORT_SLICE_HPP

#include <vector>

#include "setting.hpp"

namespace heed_test {

// Queries i .. i + n_q - 1 of head h of batch entry b. Their positions must be int32 numbers.
struct slice {
  int32_t b, h, i, n_q;
};
inline bool has_position(const problem &p, const slice &s) {
  return p.position(s.b, s.i) >= INT32_MIN && p.position(s.b, s.i + s.n_q) <= INT32_MAX;
}

inline problem_mask sliced_mask(const problem_mask &m, const slice &s) {
  problem_mask one = m;
  one.n_batch = one.n_heads = 1, one.n_q = m.n_q == 1 ? 1 : s.n_q;
  one.elements.clear();
  for (int32_t i = s.i; i < s.i + one.n_q; ++i) {
    const std::vector<float> row = part_of(m.elements, m.index(s.b, s.h, i), size_t(m.n_keys));
    one.elements.insert(one.elements.end(), row.begin(), row.end());
  }
  return one;
}

inline problem sliced(const problem &p, const slice &s) {
  problem one = p;
  one.batch = one.n_heads = one.n_kv_heads = 1, one.n_q = s.n_q;
  one.q.assign(p.q_row(s.b, s.h, s.i), p.q_row(s.b, s.h, s.i) + one.q_floats());
  one.k.assign(p.k_row(s.b, s.h, 0), p.k_row(s.b, s.h, 0) + one.k_floats());
  one.v.assign(p.v_row(s.b, s.h, 0), p.v_row(s.b, s.h, 0) + one.v_floats());
  extras &x = one.options;
  one.causal_offset = static_cast<int32_t>(p.position(s.b, s.i));
  x.offsets.clear();
  for (std::vector<int32_t> *array : {&x.left_windows, &x.right_windows, &x.kv_lengths})
    if (!array->empty()) *array = {(*array)[size_t(s.b)]};
  for (std::vector<float> *array : {&x.slopes, &x.sink_logits})
    if (!array->empty()) *array = {(*array)[size_t(s.h)]};
  if (x.mask.kind != mask_kind::none) x.mask = sliced_mask(x.mask, s);
  return one;
}

// The same part of the result; column sums are of all queries.
inline attention_result sliced(const problem &p, const attention_result &all, const slice &s) {
  const size_t head = size_t(s.b) * p.n_heads + s.h, first = head * p.n_q + s.i;
  const auto rows = [&](const auto &x, int32_t dim) {
    auto part = x;
    if (!x.empty()) part.assign(x.begin() + ptrdiff_t(first) * dim, x.begin() + ptrdiff_t(first + s.n_q) * dim);
    return part;
  };
  attention_result one;
  one.out = rows(all.out, p.v_dim);
  one.weights = rows(all.weights, p.n_kv), one.scores = rows(all.scores, p.n_kv), one.lse = rows(all.lse, 1);
  one.top_weights = rows(all.top_weights, p.options.k), one.top_keys = rows(all.top_keys, p.options.k);
  if (!all.column_sums.empty() && s.n_q == p.n_q)
    one.column_sums = part_of(all.column_sums, head * p.n_kv, size_t(p.n_kv));
  return one;
}

}  // namespace heed_test

#endif
