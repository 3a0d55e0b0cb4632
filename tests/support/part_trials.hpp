// Trials of group norm, means, rows of an embedding, the greatest and sampling. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PART_TRIALS_HPP
#define HEED_TESTS_SUPPORT_PART_TRIALS_HPP

#include <numeric>
#include <string>
#include <vector>

#include "primitive_trials.hpp"
#include "rows_oracle.hpp"
#include "weights.hpp"

namespace heed_test {

// Group norm, or the mean, of rows.
class over_rows_trial : public matrix_trial {
 public:
  over_rows_trial(random_source &r, extent e) : matrix_trial(&r, e), is_mean_(r.chance(40)) {
    const bool regular = e == extent::regular;
    n_groups_ = r.between(1, 8);
    const int32_t dim = n_groups_ * r.size(regular ? 9 : 1, 40);
    numbers_ = any_matrix(r, e == extent::large ? 2100000 / dim / 4 + 2 : r.size(regular ? 2 : 1, 40), dim);
    const int32_t n = numbers_.n_rows;
    in_place_ = !is_mean_ && r.chance(30);
    if (in_place_) {
      const placement view = random_placement(r, 1, 1, n, dim);
      y_ = output_rows(view, memory.output(view));
      scatter(view, numbers_.values, y_.data);
      x_ = input_rows(view, y_.data);
    } else {
      x_ = put_matrix(r, e, &numbers_);
      y_ = is_mean_ ? heed_matrix_out{memory.output({1, 1, 1, dim, 0, 0, 0}), 1, dim, dim} : place_result(r, n, dim);
    }
    const placement row = {1, 1, 1, dim, 0, 0, 0};
    if (!is_mean_ && r.chance(60)) weight_numbers_ = any_floats(r, size_t(dim)), weight_ = put(row, &weight_numbers_);
    if (!is_mean_ && r.chance(60)) bias_numbers_ = any_floats(r, size_t(dim)), bias_ = put(row, &bias_numbers_);
    eps_ = r.chance(60) ? 1e-5f : r.chance(50) ? 0 : std::ldexp(1.0f, r.between(-120, 20));
    executor_argument_ = executor();
  }
  std::string text() const override {
    return (is_mean_ ? "mean_rows" : "group_norm with groups " + std::to_string(n_groups_)) + " of " +
           std::to_string(numbers_.n_rows) + " x " + std::to_string(numbers_.dim) + (weight_ ? " weight" : "") +
           (bias_ ? " bias" : "") + (in_place_ ? " in place" : "");
  }
  heed_status call() override {
    return is_mean_ ? heed_mean_rows(x_, y_.data, executor_argument_)
                    : heed_group_norm(x_, weight_, bias_, n_groups_, eps_, y_, executor_argument_);
  }
  // Rule 27, as it is written: no kernel takes part.
  std::vector<float> plain() const override {
    const int32_t dim = numbers_.dim, size = is_mean_ ? 1 : dim / n_groups_;
    const float n = static_cast<float>(numbers_.n_rows) * static_cast<float>(size);
    std::vector<float> y = is_mean_ ? std::vector<float>() : numbers_.values;
    for (int32_t first = 0; first < dim; first += size) {
      if (is_mean_) {
        y.push_back(sum_of_group(first, size, [](float x) { return x; }) / n);
        continue;
      }
      const size_t middle = size_t(numbers_.n_rows / 2) * size_t(dim) + size_t(first + size / 2);
      const float pivot = median_of_three(y[size_t(first)], y[middle], y[y.size() - size_t(dim - first - size) - 1]);
      const float rest = sum_of_group(first, size, [=](float x) { return x - pivot; }) / n;
      const auto from_mean = [=](float x) {
        const volatile float d = x - pivot;
        return d - rest;
      };
      const float squares = sum_of_group(first, size, [=](float x) {
        const volatile float d = from_mean(x);
        return d * d;
      });
      const float root = std::sqrt(squares / n + eps_), factor = root == 0 ? 0 : 1 / root;
      for (size_t row = 0; row < y.size(); row += size_t(dim))
        for (size_t i = size_t(first); i < size_t(first + size); ++i) {
          volatile float d = from_mean(y[row + i]) * factor;  // each step rounded by itself
          if (weight_) d = d * weight_numbers_[i];
          if (bias_) d = d + bias_numbers_[i];
          y[row + i] = d;
        }
    }
    return y;
  }
  void judge(const std::vector<float> &result, double) const override {
    for (int32_t c = 0; is_mean_ && c < numbers_.dim; ++c) {
      double sum = 0, size = 0;
      for (int32_t t = 0; t < numbers_.n_rows; ++t) {
        const double x = numbers_.values[size_t(t) * size_t(numbers_.dim) + size_t(c)];
        sum += x, size += std::fabs(x);
      }
      const double n = numbers_.n_rows;
      if (in_range(size)) judge_error(result[size_t(c)], sum / n, (n / 16 + 6) * half_ulp * size / n + underflow);
    }
  }
  std::vector<spoilings> flaws(random_source &r) override {
    std::vector<spoilings> all = {executor_flaws_in(&executor_argument_)};
    if (!in_place_) all.push_back(flaws_in("x", &x_, matrix_flaws<heed_matrix>(HEED_MAX_COUNT)));
    if (is_mean_) {
      all.push_back(wrong_values<float *>(
          "y", &y_.data, {nullptr, misaligned(y_.data), top_of_memory(), const_cast<float *>(x_.data)}));
      return all;
    }
    all.push_back(flaws_in("y", &y_, output_flaws(HEED_MAX_COUNT)));
    all.push_back(wrong_count("rows of y", &y_.n_rows, y_.n_rows));
    all.push_back(wrong_count("n_groups", &n_groups_, numbers_.dim));
    all.push_back(wrong_values<float>("eps", &eps_, {not_a_number, infinity, -infinity, -1.0f}));
    if (weight_) all.push_back(wrong_floats("weight", &weight_));
    if (bias_) all.push_back(wrong_floats("bias", &bias_));
    if (!in_place_) all.push_back(overlaps(r, &y_, {weight_, bias_}));
    return all;
  }

 private:
  static float halved(std::vector<float> sums) {
    for (size_t half = sums.size() / 2; half > 0; half /= 2)
      for (size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    return sums[0];
  }
  template <typename Term>
  float sum_of_group(int32_t first, int32_t size, Term term) const {
    std::vector<float> rows(16, 0.0f);
    for (int32_t t = 0; t < numbers_.n_rows; ++t) {
      std::vector<float> sums(64, 0.0f);
      for (int32_t i = 0; i < size; ++i) {
        const volatile float x = term(numbers_.values[size_t(t) * size_t(numbers_.dim) + size_t(first + i)]);
        sums[size_t(i) % 64] += x;
      }
      rows[size_t(t) % 16] += size == 1 ? sums[0] : halved(sums);
    }
    return halved(rows);
  }

  const bool is_mean_;
  bool in_place_;
  int32_t n_groups_;
  float eps_;
  matrix numbers_;
  std::vector<float> weight_numbers_, bias_numbers_;
  heed_matrix x_;
  heed_matrix_out y_;
  const float *weight_ = nullptr, *bias_ = nullptr;
  const heed_executor *executor_argument_;
};

// Rows of weights of any format. The plain setting is an arithmetic of its own: no kernel takes part.
class gather_trial : public matrix_trial {
 public:
  gather_trial(random_source &r, extent e) : matrix_trial(&r, extent::small) {
    const bool regular = e == extent::regular;
    const weights from = random_weights(r, weight_formats[r.between(0, 4)], r.between(0, 1),
                                        r.size(regular ? 9 : 1, 140), r.size(regular ? 9 : 1, 150), 0);
    const int32_t n = r.size(regular ? 2 : 1, 12);
    for (int32_t i = 0; i < n; ++i) rows_.push_back(r.between(0, from.n_out - 1));
    for (const int32_t row : rows_)
      for (int32_t i = 0; i < from.n_in; ++i) expected_.push_back(from.at(i, row));
    const size_t bytes = from.numbers.bytes.size();
    void *const data = memory.input_bytes(bytes, HEED_DTYPE_BYTES(from.numbers.dtype));
    std::memcpy(data, from.numbers.bytes.data(), bytes);
    scales_ = from.scales;
    w_ = heed_weights_of(data, scales_.empty() ? nullptr : put({1, 1, 1, int32_t(scales_.size()), 0, 0, 0}, &scales_),
                         from.numbers.dtype, from.layout, from.n_in, from.n_out);
    if (from.shifted) {
      void *const zeros = from.zeros.empty() ? nullptr : memory.input_bytes(from.zeros.size(), 1);
      if (zeros) std::memcpy(zeros, from.zeros.data(), from.zeros.size());
      w_ = heed_weights_with_zero_points(w_, zeros, int32_t(scales_.size()));
    }
    indices_ = put_few(rows_);
    y_ = place_result(r, n, from.n_in);
  }
  std::string text() const override {
    return "gather of " + std::to_string(rows_.size()) + " rows, " + std::to_string(w_.n_in) + " x " +
           std::to_string(w_.n_out) + " format " + std::to_string(w_.dtype) + " layout " + std::to_string(w_.layout) +
           (w_.code ? " with zero points" : "");
  }
  heed_status call() override { return heed_gather_rows(w_, indices_, y_); }
  std::vector<float> plain() const override { return expected_; }
  std::vector<spoilings> flaws(random_source &r) override {
    const float *none = nullptr;
    const auto n = int32_t(rows_.size());
    auto *const index = const_cast<int32_t *>(indices_) + r.between(0, n - 1);
    std::vector<spoilings> all = {weights_flaws("w", &w_, &none, true),
                                  flaws_in("y", &y_, output_flaws(HEED_MAX_COUNT)),
                                  wrong_values<const int32_t *>("rows", &indices_, {nullptr, misaligned(indices_, 2)}),
                                  overlaps(r, &y_, {static_cast<const float *>(w_.data), w_.scales})};
    // One output more than there are fits y as well, and heed reads none but those of the indices.
    const auto one_more = [](const spoiling &s) { return s.what == "w.n_out: value 2"; };
    all[0].erase(std::remove_if(all[0].begin(), all[0].end(), one_more), all[0].end());
    for (const int32_t wrong : {-1, w_.n_out, INT32_MIN, INT32_MAX})
      all.push_back({{"row " + std::to_string(wrong), [=] { memory.edit([=] { *index = wrong; }); }}});
    return all;
  }

 private:
  std::vector<int32_t> rows_;
  std::vector<float> expected_, scales_;
  heed_weights w_;
  const int32_t *indices_;
  heed_matrix_out y_;
};

// The greatest, the largest, or a token drawn.
class choose_trial : public matrix_trial {
 public:
  choose_trial(random_source &r, extent e) : matrix_trial(&r, extent::small), kind_(r.between(0, 2)) {
    const bool regular = e == extent::regular, draws = kind_ == 2;
    const int32_t dim = r.chance(5) ? r.between(1000, 3000) : r.size(regular ? 9 : 1, 140);
    numbers_ = any_matrix(r, draws ? 1 : r.size(regular ? 2 : 1, 9), dim);
    const int32_t n = numbers_.n_rows;
    for (float &x : numbers_.values) {
      if (r.chance(draws ? 0 : 10)) x = r.chance(50) ? not_a_number : -infinity;
      if (draws) x = r.chance(10) ? -infinity : r.bell();
      if (r.chance(30)) x = static_cast<float>(r.between(-2, 2));
    }
    if (draws) numbers_.values[size_t(r.between(0, dim - 1))] = 1;
    x_ = draws ? heed_matrix_of(put({1, 1, 1, dim, 0, 0, 0}, &numbers_.values), 1, dim) : put_matrix(r, e, &numbers_);
    k_ = r.between(1, dim);
    const int32_t n_indices = kind_ == 1 ? n * k_ : n;
    indices_ = reinterpret_cast<int32_t *>(memory.output({1, 1, 1, n_indices, 0, 0, 0}));
    if (kind_ == 1 && r.chance(70)) values_ = memory.output({1, 1, 1, n_indices, 0, 0, 0});
    temperature_ = r.chance(30) ? 1 : std::ldexp(1 + std::fabs(r.uniform()), r.between(-5, 3));
    top_p_ = r.chance(40) ? 1 : std::max(std::fabs(r.uniform()), 0x1p-20f);
    random_ = std::min(std::fabs(r.uniform()), 0x1.fffffep-1f);
    if (draws) workspace_ = memory.scratch(HEED_SAMPLE_BYTES(dim));
  }
  std::string text() const override {
    static const char *const names[] = {"argmax", "largest", "sample"};
    return std::string(names[kind_]) + " of " + std::to_string(numbers_.n_rows) + " x " + std::to_string(numbers_.dim) +
           " k " + std::to_string(k_) + " top_p " + std::to_string(top_p_);
  }
  heed_status call() override { return choose(x_, indices_, values_, workspace_); }
  // The first two by sorting; a token in memory of its own.
  std::vector<float> plain() const override {
    const int32_t n = numbers_.n_rows, dim = numbers_.dim;
    std::vector<float> found, values;
    if (kind_ == 2) {
      std::vector<float> memory_of_sample(HEED_SAMPLE_BYTES(dim) / 4 + 16);
      const uintptr_t address = (reinterpret_cast<uintptr_t>(memory_of_sample.data()) + 63) / 64 * 64;
      int32_t token = -1;
      EXPECT_EQ(choose(heed_matrix_of(numbers_.values.data(), 1, dim), &token, nullptr,
                       heed_memory_of(reinterpret_cast<void *>(address), HEED_SAMPLE_BYTES(dim))),
                HEED_OK);
      return {float_of(uint32_t(token))};
    }
    for (int32_t t = 0; t < n; ++t) {
      const std::vector<float> row = numbers_.row(t);
      std::vector<int32_t> order;
      for (int32_t i = 0; i < dim; ++i)
        if (!std::isnan(row[size_t(i)])) order.push_back(i);
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return row[size_t(a)] > row[size_t(b)]; });
      order.resize(size_t(dim), -1);
      for (int32_t j = 0; j < (kind_ == 1 ? k_ : 1); ++j) {
        const int32_t index = order[size_t(j)];
        found.push_back(float_of(uint32_t(index)));
        values.push_back(index < 0 ? -infinity : row[size_t(index)]);
      }
    }
    if (values_) found.insert(found.end(), values.begin(), values.end());
    return found;
  }
  std::vector<spoilings> flaws(random_source &) override {
    const float *const row = x_.data;
    std::vector<spoilings> all = {wrong_values<int32_t *>(
        "result", &indices_,
        {nullptr, misaligned(indices_, 2), reinterpret_cast<int32_t *>(const_cast<float *>(row))})};
    if (kind_ < 2) all.push_back(flaws_in("x", &x_, matrix_flaws<heed_matrix>(HEED_MAX_COUNT)));
    if (kind_ == 1) all.push_back(wrong_count("k", &k_, x_.dim));
    if (kind_ < 2) return all;
    const std::vector<spoilings> of_sample = {
        wrong_values<const float *>("x", &x_.data, {nullptr, misaligned(x_.data), top_of_memory()}),
        wrong_values<int32_t>("n", &x_.dim, {0, -1, HEED_MAX_COUNT + 1}),
        wrong_values<int32_t>("top_k", &k_, {0, -1, INT32_MIN}),
        wrong_values<float>("temperature", &temperature_, {0.0f, -1.0f, not_a_number, infinity}),
        wrong_values<float>("top_p", &top_p_, {0.0f, -1.0f, 1.5f, not_a_number}),
        wrong_values<float>("random", &random_, {-0.5f, 1.0f, not_a_number}),
        wrong_workspace(&workspace_, HEED_SAMPLE_BYTES(x_.dim))};
    all.insert(all.end(), of_sample.begin(), of_sample.end());
    return all;
  }

 private:
  heed_status choose(const heed_matrix &x, int32_t *indices, float *values, heed_memory workspace) const {
    return kind_ == 0   ? heed_argmax(x, indices)
           : kind_ == 1 ? heed_topk(x, k_, indices, values)
                        : heed_sample(x.data, x.dim, temperature_, k_, top_p_, random_, indices, workspace);
  }

  const int32_t kind_;
  matrix numbers_;
  heed_matrix x_;
  int32_t k_, *indices_;
  float *values_ = nullptr, temperature_, top_p_, random_;
  heed_memory workspace_ = {nullptr, 0};
};

inline std::unique_ptr<trial> make_part_trial(random_source &r, extent e) {
  const int32_t kind = r.between(0, 2);
  if (kind == 0) return std::make_unique<over_rows_trial>(r, e);
  if (kind == 1) return std::make_unique<gather_trial>(r, e);
  return std::make_unique<choose_trial>(r, e);
}

}  // namespace heed_test

#endif
