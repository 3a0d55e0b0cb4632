// An attention problem as plain numbers, free of any layout, and random ones. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PROBLEM_HPP
#define HEED_TESTS_SUPPORT_PROBLEM_HPP

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "extras.hpp"
#include "floats.hpp"
#include "heed/heed.h"
#include "random.hpp"

namespace heed_test {

struct problem {
  int32_t batch = 1, n_heads = 1, n_kv_heads = 1, n_q = 1, n_kv = 1, head_dim = 1, v_dim = 1;
  float scale = HEED_SCALE_DEFAULT;
  int32_t causal = 0, causal_offset = 0;
  std::vector<float> q;  // (batch, n_heads, n_q, head_dim)
  std::vector<float> k;  // (batch, n_kv_heads, n_kv, head_dim)
  std::vector<float> v;  // (batch, n_kv_heads, n_kv, v_dim)
  std::string data;      // what the numbers are like
  extras options;        // what options.h adds

  size_t q_floats() const { return size_t(batch) * n_heads * n_q * head_dim; }
  size_t k_floats() const { return size_t(batch) * n_kv_heads * n_kv * head_dim; }
  size_t v_floats() const { return size_t(batch) * n_kv_heads * n_kv * v_dim; }
  size_t out_floats() const { return size_t(batch) * n_heads * n_q * v_dim; }
  size_t weights_floats() const { return size_t(batch) * n_heads * n_q * n_kv; }

  // The absolute position of query i.
  int64_t position(int32_t b, int32_t i) const { return int64_t{i} + of_batch(options.offsets, b, causal_offset); }
  // The keys inside the ranges of query i: no other is read.
  key_range range_of(int32_t b, int32_t i) const {
    const int64_t p = position(b, i);
    const int32_t left = of_batch(options.left_windows, b, options.left_window);
    const int32_t right = of_batch(options.right_windows, b, options.right_window);
    int64_t first = 0, end = of_batch(options.kv_lengths, b, n_kv);
    if (left >= 0) first = std::max(first, p - left);
    if (right >= 0) end = std::min(end, p + right + 1);
    if (causal) end = std::min(end, p + 1);
    if (options.mask.kind != mask_kind::none) end = std::min<int64_t>(end, options.mask.n_keys);
    if (end <= 0) return {0, 0};
    return {static_cast<int32_t>(std::min(first, end)), static_cast<int32_t>(end), options.pinned};
  }
  // What the mask adds to the score; -infinity hides the key.
  float mask_at(int32_t b, int32_t h, int32_t i, int32_t j) const { return options.mask.at(b, h, i, j); }
  // Whether the key takes part at all.
  bool sees(int32_t b, int32_t h, int32_t i, int32_t j) const {
    return range_of(b, i).holds(j) && mask_at(b, h, i, j) != -infinity;
  }
  // Of a problem without options: query i sees keys 0 .. n_visible - 1.
  int32_t n_visible(int32_t i) const { return range_of(0, i).end; }
  float scale_used() const {
    return scale != HEED_SCALE_DEFAULT ? scale : 1.0f / std::sqrt(static_cast<float>(head_dim));
  }
  const float *q_row(int32_t b, int32_t h, int32_t i) const {
    return q.data() + ((size_t(b) * n_heads + h) * n_q + i) * head_dim;
  }
  size_t kv_row(int32_t b, int32_t h, int32_t j) const {
    return (size_t(b) * n_kv_heads + h / (n_heads / n_kv_heads)) * n_kv + j;
  }
  const float *k_row(int32_t b, int32_t h, int32_t j) const { return k.data() + kv_row(b, h, j) * head_dim; }
  const float *v_row(int32_t b, int32_t h, int32_t j) const { return v.data() + kv_row(b, h, j) * v_dim; }

  std::string text() const {
    std::ostringstream s;
    s << "batch " << batch << " heads " << n_heads << "/" << n_kv_heads << " n_q " << n_q << " n_kv " << n_kv
      << " head_dim " << head_dim << " v_dim " << v_dim << " scale " << scale << " causal " << causal << " offset "
      << causal_offset << " data " << data << options.text();
    return s.str();
  }
};

// Sizes of one family of shapes: what the random shapes are drawn from.
struct family {
  int32_t n_q_low, n_q_high, n_kv_low, n_kv_high, dim_low, dim_high, heads_high;
};
// Small ones first; then one long row, several blocks of keys, several chunks of 1024, wide rows, very wide rows
// (beyond head_dim + v_dim = 1024 the workspace rule changes).
inline const std::vector<family> &families() {
  static const std::vector<family> all = {{1, 20, 1, 40, 1, 20, 3},    {1, 1, 1, 300, 1, 70, 2},
                                          {20, 70, 20, 70, 1, 18, 2},  {1, 12, 60, 200, 1, 34, 3},
                                          {1, 3, 1000, 2200, 1, 8, 2}, {1, 5, 1, 12, 100, 270, 2},
                                          {1, 20, 1, 6, 450, 600, 1},  {40, 56, 120, 136, 8, 18, 1}};
  return all;
}

inline void random_heads(random_source &r, int32_t highest, problem *p) {
  p->n_kv_heads = r.between(1, highest);
  p->n_heads = p->n_kv_heads * (r.chance(50) ? 1 : r.between(2, 5));
  if (r.chance(20)) p->n_kv_heads = 1;
  p->batch = r.chance(75) ? 1 : r.between(2, 3);
}

inline void random_mask(random_source &r, problem *p) {
  p->causal = r.chance(50);
  const int32_t kind = r.between(0, 5);
  p->causal_offset = kind < 2 ? 0 : kind == 2 ? p->n_kv - p->n_q : r.between(-p->n_q - 1, p->n_kv + 1);
  if (kind == 5) p->causal_offset = r.chance(50) ? INT32_MAX : INT32_MIN;
}

inline problem random_shape(random_source &r, const family &f) {
  problem p;
  random_heads(r, f.heads_high, &p);
  p.n_q = r.size(f.n_q_low, f.n_q_high);
  p.n_kv = r.size(f.n_kv_low, f.n_kv_high);
  p.head_dim = r.size(f.dim_low, f.dim_high);
  p.v_dim = r.chance(60) ? p.head_dim : r.size(f.dim_low, f.dim_high);
  random_mask(r, &p);
  p.scale = r.chance(70) ? HEED_SCALE_DEFAULT : r.chance(20) ? -r.scale() : std::fabs(r.bell()) + 0x1p-10f;
  return p;
}

}  // namespace heed_test

#endif
