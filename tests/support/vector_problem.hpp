// What a case of vectors asks for: its tensors as floats with their strides, its mask, and which keys it shows.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_VECTOR_PROBLEM_HPP
#define HEED_TESTS_SUPPORT_VECTOR_PROBLEM_HPP

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "heed/heed.h"
#include "vectors.hpp"

namespace heed_test {

inline void require(bool holds, const std::string &otherwise) {
  if (!holds) throw vector_error(otherwise);
}

// Rows of `dim` floats for each batch entry, head and token.
struct vector_rows {
  std::vector<float> data;
  int32_t n_batch = 0, n_heads = 0, n_rows = 0, dim = 0;
  std::ptrdiff_t batch_stride = 0, head_stride = 0, row_stride = 0;

  size_t at(int32_t b, int32_t h, int32_t t) const {
    return static_cast<size_t>(b * batch_stride + h * head_stride + t * row_stride);
  }
  const float *row(int32_t b, int32_t h, int32_t t) const { return data.data() + at(b, h, t); }
  size_t count() const { return size_t(n_batch) * size_t(n_heads) * size_t(n_rows) * size_t(dim); }
};

// (batch, heads, rows, dim), or flat: (batch, rows, heads * dim).
inline vector_rows rows_of(int32_t n_batch, int32_t n_heads, int32_t n_rows, int32_t dim, bool flat) {
  vector_rows r = {{}, n_batch, n_heads, n_rows, dim, 0, 0, 0};
  r.row_stride = flat ? std::ptrdiff_t(n_heads) * dim : dim;
  r.head_stride = flat ? dim : std::ptrdiff_t(n_rows) * dim;
  r.batch_stride = std::ptrdiff_t(n_heads) * n_rows * dim;
  return r;
}

inline vector_rows rows_of(const std::string &name, const vector_tensor &t, int32_t n_heads_if_flat) {
  require(t.is_floating(), name + " is " + t.shape());
  const bool flat = t.dims.size() == 3;
  require(flat || t.dims.size() == 4, name + " is " + t.shape() + ", neither of 3 nor of 4 dimensions");
  const int32_t n_heads = flat ? n_heads_if_flat : t.dims[1];
  require(n_heads > 0 && (!flat || t.dims[2] % n_heads == 0),
          name + " " + t.shape() + " does not split into its heads");
  vector_rows r =
      rows_of(t.dims[0], n_heads, flat ? t.dims[1] : t.dims[2], flat ? t.dims[2] / n_heads : t.dims[3], flat);
  r.data = t.floats();
  return r;
}

// The rows of `now` after those of the past, for each batch entry and head.
inline vector_rows joined(const vector_rows &past, const vector_rows &now) {
  require(past.n_batch == now.n_batch && past.n_heads == now.n_heads && past.dim == now.dim,
          "the past does not fit the new keys and values");
  vector_rows all = rows_of(now.n_batch, now.n_heads, past.n_rows + now.n_rows, now.dim, false);
  for (int32_t b = 0; b < all.n_batch; ++b)
    for (int32_t h = 0; h < all.n_heads; ++h)
      for (int32_t t = 0; t < all.n_rows; ++t) {
        const float *from = t < past.n_rows ? past.row(b, h, t) : now.row(b, h, t - past.n_rows);
        all.data.insert(all.data.end(), from, from + all.dim);
      }
  return all;
}

// Beyond 2^127 a logit of heed, which is in base 2, is infinite and hides its key. Finite numbers hide nothing: they
// swallow the score, and so does this one.
constexpr double most_bias = 0x1p126;

// attn_mask, aligned at the right to (batch, heads, queries, keys); a dimension of 1 is repeated.
struct vector_mask {
  bool present = false, boolean = false;
  int32_t n_keys = 0;
  std::vector<uint8_t> attend;
  std::vector<float> bias;
  std::ptrdiff_t batch_stride = 0, head_stride = 0, query_stride = 0;

  // What is added to a score; -infinity also for the keys beyond the mask.
  double value(int32_t b, int32_t h, int32_t i, int32_t j) const {
    if (!present) return 0;
    if (j >= n_keys) return -HUGE_VAL;
    const size_t at = static_cast<size_t>(b * batch_stride + h * head_stride + i * query_stride + j);
    return boolean ? (attend[at] ? 0 : -HUGE_VAL) : double(bias[at]);
  }
};

inline vector_mask mask_of(const vector_tensor &t, int32_t batch, int32_t n_heads, int32_t n_q) {
  vector_mask m;
  m.present = true;
  m.boolean = t.type == "bool";
  require((m.boolean || t.is_floating()) && !t.dims.empty() && t.dims.size() <= 4, "attn_mask is " + t.shape());
  m.n_keys = t.dims.back();
  const int32_t full[] = {batch, n_heads, n_q};
  std::ptrdiff_t *const strides[] = {&m.batch_stride, &m.head_stride, &m.query_stride};
  std::ptrdiff_t stride = m.n_keys;
  for (size_t axis = 3, n = t.dims.size() - 1; n-- > 0;) {
    const int32_t dim = t.dims[n];
    --axis;
    require(dim == 1 || dim == full[axis], "attn_mask " + t.shape() + " does not broadcast");
    *strides[axis] = dim == 1 ? 0 : stride;
    stride *= dim;
  }
  for (const double x : t.numbers())
    if (m.boolean)
      m.attend.push_back(x != 0);
    else
      m.bias.push_back(std::isfinite(x) ? static_cast<float>(std::max(-most_bias, std::min(most_bias, x)))
                                        : nearest_float(x));
  return m;
}

// The qk_matmul_output_mode of heed_attention_weights; those before are stages of heed_scores.
constexpr int32_t weights_mode = 3;

struct vector_problem {
  int32_t batch, n_heads, n_kv_heads, n_q, n_kv, n_past = 0, head_dim, v_dim;
  vector_rows q, k, v;
  vector_mask mask;
  float scale;
  float softcap = 0;  // 0: none
  bool causal, ranged = false;
  int32_t left_window, right_window, mode;
  std::vector<int32_t> positions, kv_lengths;  // for each batch entry, or empty

  int32_t position(int32_t b) const { return positions.empty() ? n_past : positions[size_t(b)]; }
  int32_t kv_head(int32_t h) const { return h / (n_heads / n_kv_heads); }
  // -infinity hides the key.
  double bias(int32_t b, int32_t h, int32_t i, int32_t j) const {
    const int64_t p = int64_t{i} + position(b);
    const bool inside = (kv_lengths.empty() || j < kv_lengths[size_t(b)]) && (!causal || j <= p) &&
                        (left_window < 0 || j >= p - left_window) && (right_window < 0 || j <= p + right_window);
    return inside ? mask.value(b, h, i, j) : -HUGE_VAL;
  }
};

inline int32_t clamped(double x, double low, double high) {
  return static_cast<int32_t>(std::max(low, std::min(high, x)));
}

inline int32_t whole_attribute(const vector_case &c, const std::string &name, double otherwise, double low) {
  const double x = c.attribute(name, otherwise);
  require(x >= low && x == std::floor(x), name + " is " + std::to_string(x));
  return clamped(x, low, INT32_MAX);
}

inline void require_known_names(const vector_case &c) {
  static const std::set<std::string> names = {"Q",
                                              "K",
                                              "V",
                                              "attn_mask",
                                              "past_key",
                                              "past_value",
                                              "nonpad_kv_seqlen",
                                              "Y",
                                              "present_key",
                                              "present_value",
                                              "qk_matmul_output",
                                              "is_causal",
                                              "kv_num_heads",
                                              "left_window_size",
                                              "q_num_heads",
                                              "qk_matmul_output_mode",
                                              "right_window_size",
                                              "scale",
                                              "softcap",
                                              "softmax_precision"};
  for (const auto &a : c.attributes) require(names.count(a.first), "no attribute is called " + a.first);
  for (const auto &t : c.inputs) require(names.count(t.first), "no input is called " + t.first);
  for (const auto &t : c.outputs) require(names.count(t.first), "no output is called " + t.first);
  for (const char *name : {"Q", "K", "V"}) require(c.input(name), std::string("there is no ") + name);
  require(!c.outputs.empty(), "there is no output to compare with");
}

// A given scale of 0 makes every score 0; heed refuses it. The queries take it.
inline void set_scale(const vector_case &c, vector_problem *p) {
  p->scale = static_cast<float>(c.attribute("scale", double(HEED_SCALE_DEFAULT)));
  if (c.attribute("scale", 1) != 0) return;
  p->scale = HEED_SCALE_DEFAULT;
  for (float &x : p->q.data) x *= 0.0f;
}

inline void set_lengths(const vector_tensor &lengths, bool past, vector_problem *p) {
  require((lengths.type == "i64" || lengths.type == "i32") && lengths.size() == size_t(p->batch),
          "nonpad_kv_seqlen is " + lengths.shape());
  for (const double n : lengths.numbers()) {
    p->kv_lengths.push_back(clamped(n, 0, p->n_kv));
    if (!past) p->positions.push_back(clamped(n - p->n_q, INT32_MIN, INT32_MAX));
  }
  p->ranged = true;
}

inline vector_problem problem_of(const vector_case &c) {
  require_known_names(c);
  vector_problem p;
  p.q = rows_of("Q", *c.input("Q"), whole_attribute(c, "q_num_heads", 1, 1));
  p.k = rows_of("K", *c.input("K"), whole_attribute(c, "kv_num_heads", 1, 1));
  p.v = rows_of("V", *c.input("V"), whole_attribute(c, "kv_num_heads", 1, 1));
  p.batch = p.q.n_batch, p.n_heads = p.q.n_heads, p.n_q = p.q.n_rows, p.head_dim = p.q.dim;
  const bool past = c.input("past_key") != nullptr;
  require(past == (c.input("past_value") != nullptr), "past_key and past_value come together");
  if (past) {
    const vector_rows keys = rows_of("past_key", *c.input("past_key"), 1);
    p.n_past = keys.n_rows;
    p.k = joined(keys, p.k);
    p.v = joined(rows_of("past_value", *c.input("past_value"), 1), p.v);
  }
  p.n_kv_heads = p.k.n_heads, p.n_kv = p.k.n_rows, p.v_dim = p.v.dim;
  require(p.k.n_batch == p.batch && p.k.dim == p.head_dim && p.n_heads % p.n_kv_heads == 0, "Q and K do not fit");
  require(p.v.n_batch == p.batch && p.v.n_heads == p.n_kv_heads && p.v.n_rows == p.n_kv, "K and V do not fit");
  set_scale(c, &p);
  p.softcap = static_cast<float>(std::max(0.0, c.attribute("softcap", 0)));
  p.causal = c.attribute("is_causal", 0) != 0;
  p.left_window = whole_attribute(c, "left_window_size", -1, -1);
  p.right_window = whole_attribute(c, "right_window_size", -1, -1);
  p.ranged = p.left_window >= 0 || p.right_window >= 0;
  p.mode = whole_attribute(c, "qk_matmul_output_mode", 0, 0);
  require(p.mode <= weights_mode, "qk_matmul_output_mode is " + std::to_string(p.mode));
  if (c.input("nonpad_kv_seqlen")) set_lengths(*c.input("nonpad_kv_seqlen"), past, &p);
  if (c.input("attn_mask")) p.mask = mask_of(*c.input("attn_mask"), p.batch, p.n_heads, p.n_q);
  return p;
}

}  // namespace heed_test

#endif
