// The independent oracle: attention and the primitives in double precision, plain loops in mathematical order, and the
// error bounds that the public headers state. Shares nothing with the library. compare.hpp holds a result against it.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_ORACLE_HPP
#define HEED_TESTS_SUPPORT_ORACLE_HPP

#include <algorithm>
#include <cmath>
#include <vector>

#include "primitives.hpp"
#include "problem.hpp"

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

// The same without products of an infinity or a NaN.
inline double absolute_finite_dot(const float *a, const float *b, int32_t n) {
  double sum = 0;
  for (int32_t i = 0; i < n; ++i)
    if (std::isfinite(a[i]) && std::isfinite(b[i])) sum += std::fabs(double(a[i]) * b[i]);
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

// One query row with every option, and what its error bounds are made of. Keys outside the ranges have scores of
// -infinity, hidden ones that and weight 0.
struct exact_row {
  key_range range = {0, 0};
  std::vector<double> scores[3];  // raw, capped, biased: (n_kv) each
  std::vector<double> errors[3];  // of those, as f32 finds them
  std::vector<double> weights, out;
  std::vector<bool> seen;
  std::vector<bool> overflows;  // the finite products may, on the way: an infinite score may then be NaN
  double lse = -HUGE_VAL;
  double logit_error = 0;    // E of the header: the greatest of a key (or sink) that can have any weight
  double largest_logit = 0;  // max |biased score| over those
  double largest_value = 0;  // max |v| over visible values
  int32_t n_visible = 0;
  bool has_sink = false;
  bool spoiled = false;  // by a visible score of NaN or +infinity
};

// A key whose weight is below that of rounding for certain has no part in the errors, however large its own is.
constexpr double negligible = 45;  // exp(-45) = 2^-65

// cap * tanh(raw / cap): rounding of scale / cap, of the product, of tanh (7 half ulp), cap * log2(e), product.
inline void exact_cap(double cap, double raw, double raw_error, double *capped, double *error) {
  *capped = cap * std::tanh(raw / cap);
  const double reach = std::isfinite(raw) ? raw_error + 2 * half_ulp * std::fabs(raw) : 0;
  *error = std::max(cap * std::tanh((raw + reach) / cap) - *capped, *capped - cap * std::tanh((raw - reach) / cap)) +
           (7 + 3) * half_ulp * std::fabs(*capped) + 2 * cap * underflow;
}

// The scores of query i and key j, which lies in its range.
inline void exact_scores(const problem &p, int32_t b, int32_t h, int32_t i, int32_t j, double chain, exact_row *row) {
  const size_t at = size_t(j);
  const double scale = p.scale != HEED_SCALE_DEFAULT ? double(p.scale) : 1 / std::sqrt(double(p.head_dim));
  const float *q = p.q_row(b, h, i), *k = p.k_row(b, h, j);
  const double raw = row->scores[0][at] = scale * exact_dot(q, k, p.head_dim);
  const double size = absolute_finite_dot(q, k, p.head_dim);
  const double by_cap = p.options.cap > 0 ? 1 / double(p.options.cap) : 0;
  const double factor = std::max(1.0, std::fabs(scale) * std::max(2.0, by_cap));
  row->overflows[at] = size * factor >= 0x1p126;
  row->errors[0][at] = row->overflows[at] ? HUGE_VAL
                       : std::isfinite(raw)
                           ? std::fabs(scale) * ((chain * p.head_dim + 4) * half_ulp * size + p.head_dim * underflow)
                           : 0;  // the same infinity in any order
  // Kept scores are products of their own: of ln 2, or, raw ones under a cap, of the cap.
  row->errors[0][at] += (2 + p.options.cap) * underflow;
  double capped = raw, error = row->errors[0][at];
  if (p.options.cap != 0) exact_cap(p.options.cap, raw, row->errors[0][at], &capped, &error);
  if (row->overflows[at]) error = HUGE_VAL;
  // A small cap may make the score infinite: the capped one is the cap then, the raw one stays infinite.
  if (p.options.cap != 0 && std::fabs(raw) >= 0x1p126 * p.options.cap) row->errors[0][at] = HUGE_VAL;
  row->scores[1][at] = capped, row->errors[1][at] = error;
  const double mask = p.mask_at(b, h, i, j);
  row->seen[at] = mask != -HUGE_VAL;
  if (!row->seen[at]) return;
  const double slope = p.options.slopes.empty() ? 0 : double(p.options.slopes[size_t(h)]);
  const double distance = static_cast<double>(j - p.position(b, i));
  const double bias = slope * (p.options.symmetric ? -std::fabs(distance) : distance);
  row->scores[2][at] = capped + bias + mask;
  // The factors rounded (slope * log2(e), the distance in two terms, log2(e)), the products of the arithmetic without fma, two
  // sums.
  const bool biased = bias != 0 || mask != 0;
  row->errors[2][at] = error;
  if (biased && std::isfinite(capped))
    row->errors[2][at] += half_ulp * (6 * std::fabs(bias) + 4 * std::fabs(mask) + 2 * std::fabs(capped));
  row->spoiled |= std::isnan(row->scores[2][at]) || row->scores[2][at] == HUGE_VAL;
}

// From the biased scores: weights, log-sum-exp, E.
inline void exact_weights(const problem &p, int32_t h, exact_row *row) {
  const double sink = p.options.sink_logits.empty() ? 0 : double(p.options.sink_logits[size_t(h)]);
  row->has_sink = p.options.sinks && sink != -HUGE_VAL;
  std::vector<double> logits = row->scores[2], errors = row->errors[2];
  if (row->has_sink) logits.push_back(sink), errors.push_back(2 * half_ulp * std::fabs(sink));
  double highest = -HUGE_VAL, top = -HUGE_VAL, sum = 0;
  for (size_t j = 0; j < logits.size(); ++j)
    highest = std::max(highest, logits[j]), top = std::max(top, logits[j] - errors[j]);
  for (size_t j = 0; j < logits.size(); ++j) {
    if (logits[j] + errors[j] < top - negligible) continue;  // never so if the highest is -infinity
    row->logit_error = std::max(row->logit_error, errors[j]);
    if (std::isfinite(logits[j])) row->largest_logit = std::max(row->largest_logit, std::fabs(logits[j]));
  }
  row->weights.assign(size_t(p.n_kv), 0.0);
  if (highest == -HUGE_VAL) return;
  for (const double x : logits) sum += std::exp(x - highest);
  row->lse = highest + std::log(sum);
  for (size_t j = 0; j < row->weights.size(); ++j)
    if (row->seen[j]) row->weights[j] = std::exp(logits[j] - highest) / sum;
}

inline exact_row exact_attention_row(const problem &p, int32_t b, int32_t h, int32_t i, double chain) {
  exact_row row;
  row.range = p.range_of(b, i);
  for (int32_t stage = 0; stage < 3; ++stage) {
    row.scores[stage].assign(size_t(p.n_kv), -HUGE_VAL);
    row.errors[stage].assign(size_t(p.n_kv), 0.0);
  }
  row.seen.assign(size_t(p.n_kv), false);
  row.overflows.assign(size_t(p.n_kv), false);
  for (int32_t j = 0; j < row.range.end; ++j)
    if (row.range.holds(j)) exact_scores(p, b, h, i, j, chain, &row);
  exact_weights(p, h, &row);
  row.out.assign(size_t(p.v_dim), 0.0);
  for (int32_t j = 0; j < row.range.end; ++j) {
    if (!row.seen[size_t(j)]) continue;
    ++row.n_visible;
    for (int32_t n = 0; n < p.v_dim; ++n) {
      row.out[size_t(n)] += row.weights[size_t(j)] * p.v_row(b, h, j)[n];
      row.largest_value = std::max(row.largest_value, std::fabs(double(p.v_row(b, h, j)[n])));
    }
  }
  return row;
}

// Bounds of the header. chain is 1 with fma, 1.5 in the other. A sink is one more key, merged by itself.
inline double attention_bound(const exact_row &row, double chain) {
  const int32_t n = row.n_visible + row.has_sink;
  return (2 * row.logit_error + (chain * n + n / 8.0 + 48 + 8 * row.has_sink) * half_ulp) * row.largest_value +
         (n + 4) * underflow;
}
inline double softmax_bound(double exact, double largest_logit, int32_t n) {
  const double e = 3 * half_ulp * largest_logit;
  return exact * (2 * e + (n / 16.0 + 12) * half_ulp) + 0x1p-63;
}
// A weight's logit carries the score's own error E on top of the softmax's; a sink is merged.
inline double weight_bound(const exact_row &row, size_t j) {
  const double w = row.weights[j];
  return softmax_bound(w, row.largest_logit, row.n_visible) + w * (2.1 * row.logit_error + 8 * row.has_sink * half_ulp);
}
// The same where the denominator is that of the result: a sum over chunks, merged.
inline double merged_weight_bound(const exact_row &row, size_t j) {
  return weight_bound(row, j) + row.weights[j] * (row.n_visible / 64.0 + 8) * half_ulp;
}
inline double lse_bound(const exact_row &row) { return row.logit_error + 0x1p-22 * std::max(1.0, std::fabs(row.lse)); }
inline double dot_bound(int32_t n, double absolute_sum) {
  return (n / 64.0 + 8) * half_ulp * absolute_sum + n * underflow;
}
inline double weighted_sum_bound(int32_t n_kv, double absolute_sum, double chain) {
  return chain * n_kv * half_ulp * absolute_sum + n_kv * underflow;
}
inline double linear_bound(int32_t in, double absolute_sum, double chain) {
  return chain * (in + 1) * half_ulp * absolute_sum + in * underflow;
}

// The same with weights in blocks whose scales are below 8000.
inline double blocks_bound(int32_t in, double absolute_sum) {
  return (in / 32 + 36) * half_ulp * absolute_sum + 8001.0 * in * underflow;
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
