// The independent oracle: attention and the primitives in double precision, plain loops in mathematical order, and the
// error bounds that the public header states. Shares nothing with the library. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_ORACLE_HPP
#define HEED_TESTS_SUPPORT_ORACLE_HPP

#include <algorithm>
#include <cmath>
#include <vector>

#include "primitives.hpp"
#include "problem.hpp"
#include "run.hpp"

namespace heed_test {

constexpr double half_ulp = 0x1p-24;    // of 1 in f32
constexpr double underflow = 0x1p-149;  // the least float: what one operation may lose besides

inline double exact_dot(const float *a, const float *b, int32_t n) {
  double sum = 0;
  for (int32_t i = 0; i < n; ++i) sum += double(a[i]) * b[i];
  return sum;
}
inline double absolute_dot(const float *a, const float *b, int32_t n) {
  double sum = 0;
  for (int32_t i = 0; i < n; ++i) sum += std::fabs(double(a[i]) * b[i]);
  return sum;
}

// Softmax of scores that already carry their scale.
inline std::vector<double> exact_softmax(const std::vector<double> &scores) {
  std::vector<double> p;
  if (scores.empty()) return p;
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double s : scores) sum += std::exp(s - highest);
  for (const double s : scores) p.push_back(std::exp(s - highest) / sum);
  return p;
}

// One query row: weights (n_kv, zero where masked), out (v_dim), and what its error bound is made of.
struct exact_row {
  std::vector<double> weights, out;
  double logit_error = 0;    // E of the header
  double largest_logit = 0;  // max |scale * score| over visible keys
  double largest_value = 0;  // max |v| over visible values
  int32_t n_visible = 0;
};

inline exact_row exact_attention_row(const problem &p, int32_t b, int32_t h, int32_t i, double chain) {
  exact_row row;
  row.n_visible = p.n_visible(i);
  const double scale = p.scale != 0 ? double(p.scale) : 1 / std::sqrt(double(p.head_dim));
  std::vector<double> scores;
  double largest_sum = 0;
  for (int32_t j = 0; j < row.n_visible; ++j) {
    scores.push_back(scale * exact_dot(p.q_row(b, h, i), p.k_row(b, h, j), p.head_dim));
    largest_sum = std::max(largest_sum, absolute_dot(p.q_row(b, h, i), p.k_row(b, h, j), p.head_dim));
    row.largest_logit = std::max(row.largest_logit, std::fabs(scores.back()));
  }
  row.logit_error = std::fabs(scale) * ((chain * p.head_dim + 4) * half_ulp * largest_sum + p.head_dim * underflow);
  row.weights = exact_softmax(scores);
  row.out.assign(size_t(p.v_dim), 0.0);
  for (int32_t j = 0; j < row.n_visible; ++j)
    for (int32_t n = 0; n < p.v_dim; ++n) {
      row.out[size_t(n)] += row.weights[size_t(j)] * p.v_row(b, h, j)[n];
      row.largest_value = std::max(row.largest_value, std::fabs(double(p.v_row(b, h, j)[n])));
    }
  row.weights.resize(size_t(p.n_kv), 0.0);
  return row;
}

// Bounds of the header. chain is 1 in the fused profile, 1.5 in the other.
inline double attention_bound(const exact_row &row, double chain) {
  return (2 * row.logit_error + (chain * row.n_visible + row.n_visible / 8.0 + 48) * half_ulp) * row.largest_value +
         (row.n_visible + 4) * underflow;
}
inline double softmax_bound(double exact, double largest_logit, int32_t n) {
  const double e = 3 * half_ulp * largest_logit;
  return exact * (2 * e + (n / 16.0 + 12) * half_ulp) + 0x1p-63;
}
inline double dot_bound(int32_t n, double absolute_sum) {
  return (n / 64.0 + 8) * half_ulp * absolute_sum + n * underflow;
}
inline double weighted_sum_bound(int32_t n_kv, double absolute_sum, double chain) {
  return chain * n_kv * half_ulp * absolute_sum + n_kv * underflow;
}
inline double linear_bound(int32_t in, double absolute_sum, double chain) {
  return chain * (in + 1) * half_ulp * absolute_sum + in * underflow;
}

// Shows see_out and see_weight (actual, exact, bound, unit) each float of a result, where the bounds hold: they are
// first-order in E.
template <typename SeeOut, typename SeeWeight>
void compare_with_oracle(const problem &p, const attention_result &actual, double chain, SeeOut see_out,
                         SeeWeight see_weight) {
  size_t row_index = 0;
  for (int32_t b = 0; b < p.batch; ++b)
    for (int32_t h = 0; h < p.n_heads; ++h)
      for (int32_t i = 0; i < p.n_q; ++i, ++row_index) {
        const exact_row row = exact_attention_row(p, b, h, i, chain);
        if (!(row.logit_error <= 0.05)) continue;
        for (size_t n = 0; n < row.out.size(); ++n)
          see_out(actual.out[row_index * row.out.size() + n], row.out[n], attention_bound(row, chain),
                  row.largest_value + 0x1p-126);
        // A weight's logit carries the score's own error E on top of the softmax's.
        for (size_t j = 0; j < row.weights.size() && !actual.weights.empty(); ++j) {
          const double w = row.weights[j];
          see_weight(actual.weights[row_index * row.weights.size() + j], w,
                     softmax_bound(w, row.largest_logit, row.n_visible) + 2.1 * w * row.logit_error, 1);
        }
      }
}

struct exact_value {
  double value, absolute_sum;
};

// Element (t, o) of x w + bias; without bias also of a weighted sum of rows.
inline exact_value exact_linear(const matrix &x, const matrix &w, const std::vector<float> &bias, int32_t t,
                                int32_t o) {
  exact_value y = {0, 0};
  if (!bias.empty()) y = {double(bias[size_t(o)]), std::fabs(double(bias[size_t(o)]))};
  for (int32_t i = 0; i < x.dim; ++i) {
    const double product = double(x.values[size_t(t) * x.dim + i]) * w.values[size_t(i) * w.dim + o];
    y.value += product;
    y.absolute_sum += std::fabs(product);
  }
  return y;
}

}  // namespace heed_test

#endif
