// A result of attention, whatever it was asked for, against the oracle. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_COMPARE_HPP
#define HEED_TESTS_SUPPORT_COMPARE_HPP

#include <cmath>
#include <vector>

#include "oracle.hpp"

namespace heed_test {

enum class part { out, weights, scores, lse, column_sums, topk_weights };
inline const char *name_of(part which) {
  static const char *const names[] = {"out", "weights", "scores", "lse", "column sums", "top-k"};
  return names[static_cast<int>(which)];
}

// Bounds are first-order in E.
inline bool has_bounds(const exact_row &row) { return !row.spoiled && row.logit_error <= 0.05; }

// Shows see (part, found, exact, bound, unit) each float of a result for which there is a bound, and finds fault by
// itself with what must be exact: zeros, -infinities, what NaN and infinities reach.
template <typename See>
class comparison {
 public:
  comparison(const problem &p, const attention_result &found, double chain, See see)
      : p_(p), found_(found), chain_(chain), see_(see) {}

  void run() {
    for (int32_t b = 0; b < p_.batch; ++b)
      for (int32_t h = 0; h < p_.n_heads; ++h) {
        sums_.assign(size_t(p_.n_kv), 0.0), sum_bounds_.assign(size_t(p_.n_kv), 0.0), sums_known_ = true;
        for (int32_t i = 0; i < p_.n_q; ++i, ++row_index_) compare_row(exact_attention_row(p_, b, h, i, chain_));
        compare_column_sums((size_t(b) * p_.n_heads + h) * size_t(p_.n_kv));
      }
  }

 private:
  void compare_row(const exact_row &row) {
    compare_scores(row);
    compare_hidden(row);
    if (row.spoiled) return compare_spoiled(row);
    const bool bounded = has_bounds(row);
    sums_known_ &= bounded;
    if (row.n_visible == 0) expect_zeros(found_.out, row_index_ * row.out.size(), row.out.size(), "out");
    for (size_t n = 0; n < row.out.size(); ++n) {
      const float actual = found_.out[row_index_ * row.out.size() + n];
      if (!std::isfinite(row.out[n])) {
        if (std::isfinite(actual)) ADD_FAILURE() << "a value that is not finite reached nothing: " << actual;
      } else if (bounded) {
        see_(part::out, actual, row.out[n], attention_bound(row, chain_), row.largest_value + 0x1p-126);
      }
    }
    if (!bounded) return;
    compare_weights(row);
    if (!found_.lse.empty()) compare_lse(row, found_.lse[row_index_]);
    if (p_.options.k > 0) compare_top_k(row);
  }

  void compare_scores(const exact_row &row) {
    const int32_t stage = p_.options.scores_stage;
    if (stage < 0) return;
    for (size_t j = 0; j < size_t(p_.n_kv); ++j) {
      const float actual = found_.scores[row_index_ * size_t(p_.n_kv) + j];
      const double exact = row.scores[stage][j];
      const bool computed = stage < HEED_SCORES_BIASED || row.seen[j];  // else -infinity, whatever q and k hold
      if (exact == -HUGE_VAL && computed && row.overflows[j] && std::isnan(actual)) continue;
      if (exact == -HUGE_VAL || std::isnan(exact)) {
        if (!same_float(actual, static_cast<float>(exact)))
          ADD_FAILURE() << "score of key " << j << " is " << actual << ", not " << exact;
      } else if (std::fabs(exact) < 0x1p126) {
        see_(part::scores, actual, exact, row.errors[stage][j], std::max(1.0, std::fabs(exact)));
      }
    }
  }

  // What lies outside the ranges has weight +0, and what is hidden, too, unless the row is NaN.
  void compare_hidden(const exact_row &row) {
    for (size_t j = 0; j < row.seen.size() && !found_.weights.empty(); ++j)
      if (!row.seen[j] && (has_bounds(row) || !row.range.holds(static_cast<int32_t>(j))))
        expect_zeros(found_.weights, row_index_ * row.seen.size() + j, 1, "weight of a hidden key");
    const size_t k = size_t(p_.options.k), rest = std::min(size_t(row.n_visible), k);
    if (k == 0) return;
    expect_zeros(found_.top_weights, row_index_ * k + rest, k - rest, "weight of no key");
    for (size_t t = rest; t < k; ++t)
      if (found_.top_keys[row_index_ * k + t] != -1) ADD_FAILURE() << "a key in place of -1 in top-k";
  }
  void compare_spoiled(const exact_row &row) {
    sums_known_ = false;
    for (size_t n = 0; n < row.out.size(); ++n)
      if (!std::isnan(found_.out[row_index_ * row.out.size() + n]))
        ADD_FAILURE() << "a score of NaN or infinity reached nothing";
    if (!found_.lse.empty() && !std::isnan(found_.lse[row_index_]))
      ADD_FAILURE() << "the log-sum-exp of a row that is NaN is " << found_.lse[row_index_];
  }
  static void expect_zeros(const std::vector<float> &x, size_t first, size_t n, const char *what) {
    for (size_t i = first; i < first + n; ++i)
      if (bits_of(x[i]) != 0) ADD_FAILURE() << what << " is not +0: " << x[i];
  }

  void compare_weights(const exact_row &row) {
    for (size_t j = 0; j < row.weights.size(); ++j) {
      const size_t at = row_index_ * row.weights.size() + j;
      if (!found_.weights.empty()) see_(part::weights, found_.weights[at], row.weights[j], weight_bound(row, j), 1);
      sums_[j] += row.weights[j];
      sum_bounds_[j] += merged_weight_bound(row, j) + p_.n_q * half_ulp * row.weights[j];
    }
  }
  void compare_lse(const exact_row &row, float actual) {
    if (row.lse != -HUGE_VAL) {
      see_(part::lse, actual, row.lse, lse_bound(row), std::max(1.0, std::fabs(row.lse)));
    } else if (actual != -infinity) {
      ADD_FAILURE() << "log-sum-exp of nothing is " << actual;
    }
  }
  void compare_column_sums(size_t first) {
    for (size_t j = 0; j < size_t(p_.n_kv) && sums_known_ && !found_.column_sums.empty(); ++j)
      see_(part::column_sums, found_.column_sums[first + j], sums_[j], sum_bounds_[j], 1);
  }

  // The keys found are different ones that are seen, their weights do not ascend, equal ones are in order, and the t-th
  // weight is that of the t-th key in the exact order. Keys without a weight are not there.
  void compare_top_k(const exact_row &row) {
    const size_t k = size_t(p_.options.k);
    std::vector<bool> left = row.seen;
    std::vector<double> order(k, 0.0);
    double bound = 0;
    for (size_t j = 0; j < row.weights.size(); ++j)
      if (row.seen[j]) order.push_back(row.weights[j]), bound = std::max(bound, merged_weight_bound(row, j));
    std::sort(order.begin(), order.end(), std::greater<double>());
    int32_t last_key = -1;
    float last = infinity;
    for (size_t t = 0; t < k; ++t) {
      const int32_t key = found_.top_keys[row_index_ * k + t];
      const float weight = found_.top_weights[row_index_ * k + t];
      see_(part::topk_weights, weight, order[t], bound, 1);
      if (key == -1) {
        expect_zeros(found_.top_weights, row_index_ * k + t, 1, "weight of no key");
        last = 0;
        continue;
      }
      if (key < 0 || key >= p_.n_kv || !left[size_t(key)] || !(weight > 0 && weight <= last) ||
          (weight == last && key < last_key)) {
        ADD_FAILURE() << "top-k has key " << key << " of weight " << weight << " in place " << t;
        return;
      }
      see_(part::topk_weights, weight, row.weights[size_t(key)], merged_weight_bound(row, size_t(key)), 1);
      left[size_t(key)] = false, last = weight, last_key = key;
    }
  }

  const problem &p_;
  const attention_result &found_;
  const double chain_;
  See see_;
  size_t row_index_ = 0;
  std::vector<double> sums_, sum_bounds_;
  bool sums_known_ = true;
};

template <typename See>
void compare_with_oracle(const problem &p, const attention_result &found, double chain, See see) {
  comparison<See>(p, found, chain, see).run();
}

}  // namespace heed_test

#endif
