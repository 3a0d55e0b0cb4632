// How far a result of heed may lie from the exact one: the header's bound, in double precision, for the row's own
// numbers. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_VECTOR_BOUNDS_HPP
#define HEED_TESTS_SUPPORT_VECTOR_BOUNDS_HPP

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "vector_problem.hpp"

namespace heed_test {

// One rounding of the type relative to the number, and the most that it loses below the normal numbers.
struct rounding {
  double relative, absolute;
};
constexpr rounding f32_rounding = {0x1p-24, 0x1p-149};
// The numbers of an f16 tensor were rounded to f16 when they were made, and so was what led to them: the suite's
// reference computes in the type of its tensors. f64 tensors are rounded to f32 on their way to heed.
inline rounding rounding_of(const std::string &type) {
  if (type == "f16") return {0x1p-11, 0x1p-25};
  return type == "f64" ? f32_rounding : rounding{0, 0};
}

// Factor of the header's bounds for chains. Asked once: the processor takes its time to answer.
inline double chain_of_kernel() {
  static const double chain = heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA ? 1 : 1.5;
  return chain;
}

// Row i of head h: the exact scores and weights, and the greatest errors of all that heed gives for it.
class row_bounds {
 public:
  row_bounds(const vector_problem &p, const std::string &type, int32_t b, int32_t h, int32_t i)
      : p_(p), type_(rounding_of(type)), b_(b), h_(h), i_(i) {
    for (int32_t j = 0; j < p.n_kv; ++j) add_key(j);
    weigh();
  }

  // The largest of the visible scores, before the mask is added.
  double largest_score() const { return largest_score_; }
  // Of the score of key j at the stage of qk_matmul_output_mode 0, 1 or 2.
  double score_error(int32_t j) const { return stage_error_[size_t(j)]; }
  // A logit that is E too large or too small makes a weight exp(2 E) times too large at most.
  double weight_error(int32_t j) const {
    const double w = weight_[size_t(j)], softmax = 3 * f32_rounding.relative * largest_logit_;
    const double sums = (n_visible_ / 16.0 + 12) * f32_rounding.relative + 4 * type_.relative;
    return std::min(1.0, w * (growth(logit_error_ + softmax) + sums) + 0x1p-63 + type_.absolute);
  }
  // The sum of w v moves by that share of what the values differ from it; then it is rounded as the header says.
  double out_error(int32_t n) const {
    double out = 0, absolute = 0, spread = 0, largest = 0;
    for (const int32_t j : seen_) {
      out += weight_[size_t(j)] * value(j, n);
      absolute += weight_[size_t(j)] * std::fabs(value(j, n));
      largest = std::max(largest, std::fabs(value(j, n)));
    }
    for (const int32_t j : seen_) spread += weight_[size_t(j)] * std::fabs(value(j, n) - out);
    const double sums = (chain_ * n_visible_ + n_visible_ / 8.0 + 48) * f32_rounding.relative + 4 * type_.relative;
    return std::min(2 * largest, growth(logit_error_) * spread) + sums * absolute + 0x1p-60 * largest +
           (n_visible_ + 4) * f32_rounding.absolute + type_.absolute;
  }

 private:
  // Infinite where the error takes it all; then the other argument of the minimum counts.
  static double growth(double logit_error) { return std::expm1(2 * logit_error); }
  double value(int32_t j, int32_t n) const { return p_.v.row(b_, p_.kv_head(h_), j)[n]; }

  // Terms that do not grow with the length of a sum: four roundings in f32, and as many in the type of the tensors.
  double few(double magnitude) const { return 4 * (f32_rounding.relative + type_.relative) * magnitude; }

  void add_key(int32_t j) {
    const float *q = p_.q.row(b_, h_, i_), *k = p_.k.row(b_, p_.kv_head(h_), j);
    const double scale = p_.scale != HEED_SCALE_DEFAULT ? double(p_.scale) : 1 / std::sqrt(double(p_.head_dim));
    double dot = 0, sum = 0;
    for (int32_t n = 0; n < p_.head_dim; ++n) {
      dot += double(q[n]) * k[n];
      sum += std::fabs(double(q[n]) * k[n]);
    }
    const double magnitude = std::fabs(scale) * sum, bias = p_.bias(b_, h_, i_, j);
    const double raw = scale * dot, capped = p_.softcap > 0 ? p_.softcap * std::tanh(raw / p_.softcap) : raw;
    const bool visible = bias > -HUGE_VAL;
    double error = chain_ * p_.head_dim * f32_rounding.relative * magnitude + few(magnitude) +
                   std::fabs(scale) * p_.head_dim * f32_rounding.absolute + type_.absolute;
    stage_error_.push_back(error);
    // The cap has its largest slope where the score is nearest to 0; tanh and the products around it take three times
    // as many roundings.
    if (p_.softcap > 0) {
      const double nearest = std::max(0.0, std::fabs(raw) - error) / p_.softcap,
                   slope = 1 - std::pow(std::tanh(nearest), 2);
      error = slope * error + 3 * few(std::fabs(capped));
    }
    if (p_.mode > 0) stage_error_.back() = error;
    if (visible) error += few(std::fabs(bias));
    if (p_.mode > 1) stage_error_.back() = error;
    logit_.push_back(capped + bias);
    error_.push_back(error);
    if (!visible) return;
    seen_.push_back(j);
    largest_score_ = std::max(largest_score_, std::fabs(p_.mode > 0 ? capped : raw));
  }

  void weigh() {
    weight_.assign(logit_.size(), 0.0);
    n_visible_ = static_cast<double>(seen_.size());
    double top = -HUGE_VAL, least_top = -HUGE_VAL, sum = 0;
    for (const int32_t j : seen_) {
      top = std::max(top, logit_[size_t(j)]);
      least_top = std::max(least_top, logit_[size_t(j)] - error_[size_t(j)]);
    }
    for (const int32_t j : seen_) sum += weight_[size_t(j)] = std::exp(logit_[size_t(j)] - top);
    for (const int32_t j : seen_) {
      weight_[size_t(j)] /= sum;
      // A key whose weight is nothing, whatever the errors, does not count.
      if (logit_[size_t(j)] + error_[size_t(j)] < least_top - 50) continue;
      logit_error_ = std::max(logit_error_, error_[size_t(j)]);
      largest_logit_ = std::max(largest_logit_, std::fabs(logit_[size_t(j)]));
    }
  }

  const vector_problem &p_;
  rounding type_;
  int32_t b_, h_, i_;
  const double chain_ = chain_of_kernel();
  double n_visible_ = 0, largest_score_ = 0, logit_error_ = 0, largest_logit_ = 0;
  std::vector<double> logit_, error_, stage_error_, weight_;
  std::vector<int32_t> seen_;
};

}  // namespace heed_test

#endif
