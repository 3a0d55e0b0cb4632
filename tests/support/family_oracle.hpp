// A transformer layer of any family in double precision, in plain loops that share nothing with the library.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FAMILY_ORACLE_HPP
#define HEED_TESTS_SUPPORT_FAMILY_ORACLE_HPP

#include <algorithm>
#include <cmath>
#include <vector>

#include "heed/heed.h"

namespace heed_test {

using doubles = std::vector<double>;

// Rows of an exact layer. Its weights are f32, as PyTorch stores them (HEED_OUT_IN).
struct exact_rows {
  int32_t n, dim;
  doubles x;
  exact_rows(int32_t n_rows, int32_t n_dim) : n(n_rows), dim(n_dim), x(size_t(n_rows) * size_t(n_dim)) {}
  double &at(int32_t i, int32_t j) { return x[size_t(i) * size_t(dim) + size_t(j)]; }
  double at(int32_t i, int32_t j) const { return x[size_t(i) * size_t(dim) + size_t(j)]; }
};

inline exact_rows exact_project(const exact_rows &x, const heed_weights &w, const float *bias) {
  exact_rows y(x.n, w.n_out);
  const float *const numbers = static_cast<const float *>(w.data);
  for (int32_t i = 0; i < x.n; ++i)
    for (int32_t o = 0; o < w.n_out; ++o) {
      double sum = bias ? double{bias[o]} : 0.0;
      for (int32_t j = 0; j < x.dim; ++j) sum += x.at(i, j) * double{numbers[std::ptrdiff_t{o} * w.row_stride + j]};
      y.at(i, o) = sum;
    }
  return y;
}

// The elements first to first + n of each row, normalised.
inline void exact_norm(heed_norm *norm, exact_rows *x, int32_t first, int32_t n, const float *weight, const float *bias,
                       double eps) {
  for (int32_t i = 0; i < x->n; ++i) {
    double mean = 0, squares = 0;
    if (norm == heed_layer_norm)
      for (int32_t j = 0; j < n; ++j) mean += x->at(i, first + j) / n;
    for (int32_t j = 0; j < n; ++j) squares += (x->at(i, first + j) - mean) * (x->at(i, first + j) - mean) / n;
    if (norm == heed_l2_norm) squares *= n;
    for (int32_t j = 0; j < n; ++j) {
      const double w = (weight                           ? double{weight[j]}
                        : norm == heed_rms_norm_plus_one ? 0.0
                                                         : 1.0) +
                       (norm == heed_rms_norm_plus_one ? 1.0 : 0.0);
      double &to = x->at(i, first + j);
      to = (to - mean) / std::sqrt(squares + eps) * w + (bias ? double{bias[j]} : 0.0);
    }
  }
}

inline double exact_activation(heed_activation *f, double x) {
  if (f == heed_relu) return std::max(x, 0.0);
  if (f == heed_silu) return x / (1 + std::exp(-x));
  if (f == heed_gelu) return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
  return x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))) / 2;
}

inline void exact_turn(const heed_rope &rope, exact_rows *x, int32_t n_heads, int32_t head_dim) {
  const int32_t dim = rope.rotary_dim ? rope.rotary_dim : head_dim;
  for (int32_t t = 0; t < x->n; ++t)
    for (int32_t h = 0; h < n_heads; ++h)
      for (int32_t i = 0; i < dim / 2; ++i) {
        const int32_t a = h * head_dim + (rope.style == HEED_ROPE_HALVES ? i : 2 * i),
                      b = a + (rope.style == HEED_ROPE_HALVES ? dim / 2 : 1);
        const double angle = t * std::pow(double{rope.base}, -2.0 * i / dim), from = x->at(t, a), to = x->at(t, b);
        x->at(t, a) = from * std::cos(angle) - to * std::sin(angle);
        x->at(t, b) = to * std::cos(angle) + from * std::sin(angle);
      }
}

inline void exact_qk_norm(const heed_attention_layer &l, exact_rows *x, int32_t n_heads, const float *weight,
                          const float *bias) {
  const double eps = l.qk_eps;
  if (l.qk_norm_whole) return exact_norm(l.qk_norm, x, 0, x->dim, weight, bias, eps);
  for (int32_t h = 0; h < n_heads; ++h) exact_norm(l.qk_norm, x, h * l.head_dim, l.head_dim, weight, bias, eps);
}

// Rows x attend to rows of the same sequence, or of another.
inline exact_rows exact_attention(const heed_attention_layer &l, const exact_rows &x, const exact_rows &other) {
  exact_rows q = exact_project(x, l.wq, l.bq), k = exact_project(other, l.wk, l.bk),
             v = exact_project(other, l.wv, l.bv), context(x.n, l.n_heads * l.v_dim);
  if (l.qk_norm) {
    exact_qk_norm(l, &q, l.n_heads, l.q_norm_weight, l.q_norm_bias);
    exact_qk_norm(l, &k, l.n_kv_heads, l.k_norm_weight, l.k_norm_bias);
  }
  if (l.rope) exact_turn(*l.rope, &q, l.n_heads, l.head_dim), exact_turn(*l.rope, &k, l.n_kv_heads, l.head_dim);
  for (int32_t h = 0; h < l.n_heads; ++h) {
    const int32_t g = h / (l.n_heads / l.n_kv_heads);
    for (int32_t i = 0; i < x.n; ++i) {
      const int32_t n_seen = l.causal ? i + 1 : other.n;
      doubles p(static_cast<size_t>(n_seen));
      double total = 0;
      for (int32_t j = 0; j < n_seen; ++j) {
        double score = 0;
        for (int32_t e = 0; e < l.head_dim; ++e) score += q.at(i, h * l.head_dim + e) * k.at(j, g * l.head_dim + e);
        total += p[size_t(j)] = std::exp(score / std::sqrt(double(l.head_dim)));
      }
      for (int32_t j = 0; j < n_seen; ++j)
        for (int32_t e = 0; e < l.v_dim; ++e)
          context.at(i, h * l.v_dim + e) += p[size_t(j)] / total * v.at(j, g * l.v_dim + e);
    }
  }
  return exact_project(context, l.wo, l.bo);
}

inline exact_rows exact_layer(const heed_transformer_layer &t, const exact_rows &x, const exact_rows &other) {
  const auto norm = [&](exact_rows rows, const float *weight, const float *bias) {
    exact_norm(t.norm, &rows, 0, rows.dim, weight, bias, t.eps);
    return rows;
  };
  // from + what a sublayer gave, with the norms that stand behind it
  const auto join = [&](exact_rows from, exact_rows given, const float *after, const float *after_bias,
                        const float *weight, const float *bias) {
    if (t.post_norm) given = norm(given, after, after_bias);
    for (size_t i = 0; i < from.x.size(); ++i) from.x[i] += given.x[i];
    return t.norm_first || t.post_norm ? from : norm(from, weight, bias);
  };
  const auto first = [&](const exact_rows &rows, const float *weight, const float *bias) {
    return t.norm_first ? norm(rows, weight, bias) : rows;
  };
  const exact_rows h = first(x, t.norm1_weight, t.norm1_bias);
  exact_rows a = join(x, exact_attention(*t.attention, h, h), t.post_norm1_weight, t.post_norm1_bias, t.norm1_weight,
                      t.norm1_bias);
  if (t.cross)
    a = join(a, exact_attention(*t.cross, first(a, t.norm_cross_weight, t.norm_cross_bias), other),
             t.post_norm_cross_weight, t.post_norm_cross_bias, t.norm_cross_weight, t.norm_cross_bias);
  const exact_rows g = first(t.parallel ? x : a, t.norm2_weight, t.norm2_bias);
  const exact_rows up = exact_project(g, t.w_up, t.b_up);
  exact_rows f(x.n, t.ffn_dim), gate = t.w_gate.data ? exact_project(g, t.w_gate, t.b_gate) : up;
  const int32_t of_gate = t.ffn_order == HEED_FFN_UP_GATE ? t.ffn_dim : 0,
                of_up = t.ffn_order == HEED_FFN_GATE_UP ? t.ffn_dim : 0;
  for (int32_t i = 0; i < x.n; ++i)
    for (int32_t j = 0; j < t.ffn_dim; ++j)
      f.at(i, j) = exact_activation(t.activation, gate.at(i, of_gate + j)) *
                   (t.w_gate.data || t.ffn_order ? up.at(i, of_up + j) : 1.0);
  return join(a, exact_project(f, t.w_down, t.b_down), t.post_norm2_weight, t.post_norm2_bias, t.norm2_weight,
              t.norm2_bias);
}

}  // namespace heed_test

#endif
