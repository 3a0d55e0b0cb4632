// Trials of norms, activations, sums of rows, rotary embedding and narrow numbers. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_ROW_TRIALS_HPP
#define HEED_TESTS_SUPPORT_ROW_TRIALS_HPP

#include <string>
#include <vector>

#include "cache_flaws.hpp"
#include "primitive_trials.hpp"
#include "rows_oracle.hpp"

namespace heed_test {

class rows_trial : public matrix_trial {
 public:
  rows_trial(random_source &r, extent e) : matrix_trial(&r, e) {
    const bool small = e == extent::small;
    norm_ = r.chance(40) ? norms[r.between(0, 2)].call : nullptr;
    pairs_ = r.chance(25) ? heed_add : activations[r.between(0, 5)].call;
    const int32_t dim = r.chance(5) ? r.between(1000, 3000) : r.size(small ? 1 : 9, 140);
    const int32_t work = norm_ ? 4 : pairs_ == heed_add || pairs_ == heed_relu ? 2 : 29;  // of an element
    const int32_t n = e == extent::large ? 2100000 / work / dim + 2 : dim > 140 ? 2 : r.size(small ? 1 : 2, 40);
    x_numbers_ = any_matrix(r, n, dim);
    if (!norm_ && (pairs_ == heed_add || r.chance(50))) other_numbers_ = any_matrix(r, n, dim);
    if (norm_ && r.chance(70)) weight_numbers_ = any_floats(r, size_t(dim));
    if (norm_ && r.chance(70)) bias_numbers_ = any_floats(r, size_t(dim));
    eps_ = r.chance(60) ? 1e-5f : r.chance(50) ? 0 : std::ldexp(1.0f, r.between(-120, 20));
    const int32_t kind = r.between(0, 99);
    matrix *const replaced = kind < 20 ? &x_numbers_ : kind < 35 && other_numbers_.n_rows ? &other_numbers_ : nullptr;
    if (replaced) {
      const placement view = random_placement(r, 1, 1, n, dim);
      y_ = output_rows(view, memory.output(view));
      scatter(view, replaced->values, y_.data);
      (replaced == &x_numbers_ ? x_ : other_) = input_rows(view, y_.data);
    }
    if (replaced != &x_numbers_) x_ = put_matrix(r, e, &x_numbers_);
    if (other_numbers_.n_rows && replaced != &other_numbers_) other_ = put_matrix(r, e, &other_numbers_);
    const placement row = {1, 1, 1, dim, 0, 0, 0};
    if (!weight_numbers_.empty()) weight_ = put(row, &weight_numbers_);
    if (!bias_numbers_.empty()) bias_ = put(row, &bias_numbers_);
    if (!replaced) y_ = place_result(r, n, dim);
    in_place_ = replaced != nullptr;
    executor_argument_ = executor();
  }
  std::string text() const override {
    std::string name = "add";
    for (const named_norm &f : norms)
      if (f.call == norm_) name = f.name;
    for (const named_activation &a : activations)
      if (!norm_ && a.call == pairs_) name = a.name;
    return name + " of " + std::to_string(x_numbers_.n_rows) + " x " + std::to_string(x_numbers_.dim) +
           (other_.data ? " and another" : "") + (weight_ ? " weight" : "") + (bias_ ? " bias" : "") + " eps " +
           std::to_string(eps_) + (in_place_ ? " in place" : "");
  }
  heed_status call() override {
    return norm_ ? norm_(x_, weight_, bias_, eps_, y_, executor_argument_) : pairs_(x_, other_, y_, executor_argument_);
  }
  std::vector<float> plain() const override {
    return norm_ ? run_norm(norm_, x_numbers_, weight_numbers_, bias_numbers_, eps_).values
                 : run_activation(pairs_, x_numbers_, other_numbers_).values;
  }
  void judge(const std::vector<float> &result, double chain) const override {
    const auto dim = size_t(x_numbers_.dim);
    for (int32_t t = 0; norm_ && t < x_numbers_.n_rows; ++t) {
      const std::vector<float> row = x_numbers_.row(t);
      double squares = 0, sum = 0;
      for (const float x : row) squares += double(x) * x, sum += x;
      const double mean = norm_ == heed_layer_norm ? sum / double(dim) : 0,
                   variance = squares / double(dim) - mean * mean;
      if (!(squares < 0x1p120 && variance + eps_ > 0x1p-80 && variance + eps_ > 1e-6 * mean * mean)) continue;
      const std::vector<bounded> exact = exact_norm(norm_, row, weight_numbers_, bias_numbers_, eps_);
      for (size_t i = 0; i < dim; ++i) {
        const double subnormal = 2 * underflow * (1 + (weight_ ? std::fabs(weight_numbers_[i]) : 0));
        if (in_range(exact[i].value))
          judge_error(result[size_t(t) * dim + i], exact[i].value, exact[i].bound + subnormal);
      }
    }
    for (size_t i = 0; !norm_ && i < result.size(); ++i) {
      const double x = x_numbers_.values[i], other = other_.data ? other_numbers_.values[i] : 1;
      if (!std::isfinite(x) || !std::isfinite(other)) continue;
      if (pairs_ == heed_add) judge_error(result[i], x + other, half_ulp * std::fabs(x + other));
      if (pairs_ == heed_add || !in_range(std::fabs(x)) || !in_range(std::fabs(x * other))) continue;
      const bounded exact = exact_activation(pairs_, x_numbers_.values[i], chain);
      const double product = exact.value * other;
      judge_error(result[i], product, exact.bound * std::fabs(other) + half_ulp * std::fabs(product) + underflow);
    }
  }
  std::vector<spoilings> flaws(random_source &r) override {
    const int32_t most = norm_ ? HEED_MAX_DIM : HEED_MAX_COUNT;
    std::vector<spoilings> all = {flaws_in("y", &y_, output_flaws(most)),
                                  wrong_count("rows of y", &y_.n_rows, y_.n_rows),
                                  wrong_count("columns of y", &y_.dim, y_.dim), executor_flaws_in(&executor_argument_)};
    if (x_.data != y_.data) all.push_back(flaws_in("x", &x_, matrix_flaws<heed_matrix>(most)));
    if (norm_) all.push_back(wrong_values<float>("eps", &eps_, {not_a_number, infinity, -infinity, -1.0f}));
    if (weight_) all.push_back(wrong_floats("weight", &weight_));
    if (bias_) all.push_back(wrong_floats("bias", &bias_));
    if (other_.data && other_.data != y_.data) {
      spoilings of_other = flaws_in("other", &other_, matrix_flaws<heed_matrix>(most));
      if (pairs_ != heed_add) of_other.erase(of_other.begin());  // null: without
      all.push_back(of_other);
    }
    if (!in_place_) all.push_back(overlaps(r, &y_, {weight_, bias_}));
    float *const x = const_cast<float *>(x_.data);
    all.push_back(wrong_values<float *>("y beside x", &y_.data, {x + 1, x - 1}));
    all.push_back({{"y on x with another stride", [=] { y_.data = x, y_.row_stride = x_.row_stride + 1; }}});
    return all;
  }

 private:
  heed_norm *norm_;         // or
  heed_activation *pairs_;  // an activation or a sum
  matrix x_numbers_, other_numbers_ = {0, 0, {}};
  std::vector<float> weight_numbers_, bias_numbers_;
  float eps_;
  bool in_place_;
  heed_matrix x_, other_ = no_matrix;
  const float *weight_ = nullptr, *bias_ = nullptr;
  heed_matrix_out y_;
  const heed_executor *executor_argument_;
};

// ------------------------------------------------------------------------------------------------ rotary embedding

// How to rotate heads of so many floats, at least 2.
inline rope_problem random_rope(random_source &r, int32_t head_dim) {
  rope_problem p;
  p.head_dim = head_dim;
  if (head_dim < 2) return p;
  p.style = r.between(0, 1);
  if (head_dim % 2 || r.chance(40)) p.rotary_dim = 2 * r.between(1, head_dim / 2);
  if (r.chance(30)) p.base = 1.5f + std::ldexp(std::fabs(r.uniform()), r.between(0, 60));
  if (r.chance(30)) p.scale = std::ldexp(r.uniform(), r.between(-8, 4));
  if (r.chance(30)) p.factor = std::ldexp(1 + std::fabs(r.uniform()), r.between(-2, 2));
  for (int32_t i = r.chance(30) ? p.turned() / 2 : 0; i > 0; --i)
    p.inverse_frequencies.push_back(std::ldexp(r.uniform(), r.between(-20, 2)));
  return p;
}
inline heed_rope rope_from(const rope_problem &p) {
  heed_rope rope;
  EXPECT_EQ(heed_rope_init(&rope, p.style), HEED_OK);
  rope.rotary_dim = p.rotary_dim, rope.base = p.base, rope.scale = p.scale;
  rope.factor = p.factor;
  if (!p.inverse_frequencies.empty()) rope.inverse_frequencies = p.inverse_frequencies.data();
  return rope;
}
inline heed_rope place_rope(const rope_problem &p, stage *memory) {
  heed_rope rope = rope_from(p);
  if (p.n_axes > 1) {
    uint8_t *const axes = memory->inputs<uint8_t>(p.axes.size());
    std::copy(p.axes.begin(), p.axes.end(), axes);
    rope.n_axes = p.n_axes, rope.axes = axes;
  }
  if (p.inverse_frequencies.empty()) return rope;
  float *const frequencies = memory->inputs<float>(p.inverse_frequencies.size());
  std::copy(p.inverse_frequencies.begin(), p.inverse_frequencies.end(), frequencies);
  rope.inverse_frequencies = frequencies;
  return rope;
}

// Flaws of a rope in a trial's memory.
inline spoilings rope_spoilings(heed_rope *rope, int32_t head_dim, stage *memory) {
  spoilings all;
  for (const rope_flaw &f : rope_flaws(head_dim))
    all.push_back({"rope: " + f.what, [=] {
                     memory->edit([=] {
                       if (f.argument == HEED_ARG_BASE) rope->inverse_frequencies = nullptr;  // else of no account
                       f.apply(*rope);
                     });
                   }});
  return all;
}

class rope_trial : public trial {
 public:
  rope_trial(random_source &r, extent e) : trial(&r, e) {
    const bool regular = e == extent::regular, large = e == extent::large;
    rope_problem &p = numbers_;
    p = random_rope(r, r.size(regular || large ? 10 : 2, 140));
    p.n_heads = regular ? 2 : r.between(1, 4);
    p.n = large ? 700000 / (p.n_heads * p.head_dim) + 2 : r.size(regular ? 2 : 1, 30);
    p.position = r.chance(70) ? r.between(-100, 5000) : static_cast<int32_t>(r.next()) / 2;
    if (r.chance(30)) p.n_axes = r.between(2, HEED_ROPE_MAX_AXES);
    for (int32_t i = p.n_axes > 1 ? p.turned() / 2 : 0; i > 0; --i)
      p.axes.push_back(static_cast<uint8_t>(r.between(0, p.n_axes - 1)));
    for (int32_t i = r.chance(40) ? p.n * p.n_axes : 0; i > 0; --i)
      p.positions.push_back(r.chance(80) ? r.between(-100, 5000) : static_cast<int32_t>(r.next()));
    p.x = any_floats(r, size_t(p.n) * size_t(p.n_heads) * size_t(p.head_dim));
    const placement to = random_placement(r, 1, p.n_heads, p.n, p.head_dim);
    const auto view = regular ? random_placement : random_input_placement;
    in_place_ = r.chance(30);
    if (!in_place_) {
      const placement from = view(r, 1, p.n_heads, p.n, p.head_dim);
      x_ = input_view(from, put(from, &p.x));
    }
    y_ = output_view(to, memory.output(to));
    if (in_place_) x_ = input_view(to, y_.data), scatter(to, p.x, y_.data);
    rope_ = memory.inputs<heed_rope>(1);
    *rope_ = place_rope(p, &memory);
    if (!p.positions.empty()) {
      int32_t *const positions = memory.inputs<int32_t>(p.positions.size());
      std::copy(p.positions.begin(), p.positions.end(), positions);
      positions_ = positions;
    }
    n_ = p.n, n_heads_ = p.n_heads, head_dim_ = p.head_dim, position_ = p.position;
    executor_argument_ = executor();
  }
  std::string text() const override {
    return "rope of " + numbers_.text() + " at " + std::to_string(numbers_.position) +
           (positions_ ? " and others" : "") + (in_place_ ? " in place" : "");
  }
  heed_status call() override {
    return heed_rope_apply(rope_, x_, n_, n_heads_, head_dim_, position_, positions_, y_, executor_argument_);
  }
  std::vector<float> plain() const override { return run_rope(numbers_); }
  void judge(const std::vector<float> &result, double) const override {
    const rope_problem &p = numbers_;
    for (int32_t row = 0; row < p.n_heads * p.n; ++row)
      for (int32_t i = 0; i < p.turned() / 2; ++i) {
        const size_t first = size_t(row) * size_t(p.head_dim) + size_t(p.first_of(i)),
                     second = size_t(row) * size_t(p.head_dim) + size_t(p.second_of(i));
        const int32_t position = p.position_of(row % p.n, i);
        const long double angle = std::remainder(frequency_of(p, i) * position, 2 * M_PIl), a = p.factor * p.x[first],
                          b = p.factor * p.x[second];
        const double size = std::hypot(double(a), double(b));
        if (!in_range(size)) continue;
        const int ulps = p.factor == 1 ? 4 : 5;
        const double bound = size * (ulps * half_ulp + angle_bound(p, i, position) +
                                     std::fabs(double(frequency_of(p, i) * position)) * 0x1p-60) +
                             4 * underflow;
        judge_error(result[first], double(a * std::cos(angle) - b * std::sin(angle)), bound);
        judge_error(result[second], double(a * std::sin(angle) + b * std::cos(angle)), bound);
      }
  }
  std::vector<spoilings> flaws(random_source &r) override {
    std::vector<spoilings> all = {
        wrong_count("n", &n_, HEED_MAX_COUNT), wrong_count("n_heads", &n_heads_, HEED_MAX_DIM),
        wrong_count("head_dim", &head_dim_, HEED_MAX_DIM),
        without_batch(flaws_in("y", &y_, tensor_flaws<heed_tensor_out>())), executor_flaws_in(&executor_argument_)};
    if (!in_place_) all.push_back(without_batch(flaws_in("x", &x_, tensor_flaws<heed_tensor>())));
    if (!in_place_)  // beside x: at x itself, with its strides, the call would work in place
      all.push_back(
          wrong_values<float *>("y in x", &y_.data, {overlapping(r, 1, const_cast<float *>(x_.data) + 1, 8)}));
    all.push_back(wrong_values<heed_rope *>("rope", &rope_, {nullptr, misaligned(rope_, 4)}));
    for (const spoiling &f : rope_spoilings(rope_, head_dim_, &memory)) all.back().push_back(f);
    if (positions_)
      all.push_back(wrong_values<const int32_t *>("positions", &positions_,
                                                  {misaligned(positions_, 2), last_of_memory<int32_t>()}));
    else
      all.push_back(wrong_values<int64_t>("position", &position_, {INT64_MAX}));
    return all;
  }

 private:
  rope_problem numbers_;
  heed_rope *rope_;
  heed_tensor x_;
  heed_tensor_out y_;
  int32_t n_, n_heads_, head_dim_;
  int64_t position_;
  const int32_t *positions_ = nullptr;
  bool in_place_;
  const heed_executor *executor_argument_;
};

}  // namespace heed_test

#endif
