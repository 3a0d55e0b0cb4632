// Trials of the primitives. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PRIMITIVE_TRIALS_HPP
#define HEED_TESTS_SUPPORT_PRIMITIVE_TRIALS_HPP

#include <string>
#include <vector>

#include "packed.hpp"
#include "primitives.hpp"
#include "trial.hpp"

namespace heed_test {

inline heed_matrix input_rows(const placement &p, const float *data) { return {data, p.n_rows, p.dim, p.row_stride}; }
inline heed_matrix_out output_rows(const placement &p, float *data) { return {data, p.n_rows, p.dim, p.row_stride}; }

inline matrix any_matrix(random_source &r, int32_t n_rows, int32_t dim) {
  return {n_rows, dim, any_floats(r, size_t(n_rows) * dim)};
}

class matrix_trial : public trial {
 protected:
  using trial::trial;

  heed_matrix put_matrix(random_source &r, extent e, matrix *m) {
    const placement view = e == extent::regular ? random_placement(r, 1, 1, m->n_rows, m->dim)
                                                : random_input_placement(r, 1, 1, m->n_rows, m->dim);
    return input_rows(view, put(view, &m->values));
  }
  heed_matrix_out place_result(random_source &r, int32_t n_rows, int32_t dim) {
    const placement view = random_placement(r, 1, 1, n_rows, dim);
    result_floats_ = view.extent();
    return output_rows(view, memory.output(view));
  }
  // The result in each of these arrays: somewhere in them, or they in it.
  spoilings overlaps(random_source &r, heed_matrix_out *y, const std::vector<const float *> &inputs) const {
    std::vector<float *> wrong;
    for (const float *x : inputs)
      if (x) wrong.push_back(overlapping(r, result_floats_, const_cast<float *>(x), 1));
    return wrong_values<float *>("result in an input", &y->data, wrong);
  }

 private:
  size_t result_floats_ = 0;
};

class softmax_trial : public matrix_trial {
 public:
  softmax_trial(random_source &r, extent e) : matrix_trial(&r, e) {
    const int32_t least = e == extent::small ? 1 : 9, n = r.size(e == extent::small ? 1 : 2, 40);
    const bool wide = r.chance(5);
    const int32_t dim = wide ? r.between(1000, 3000) : r.size(least, 140);
    numbers_ = any_matrix(r, e == extent::large ? 126000 / dim + 2 : wide ? 2 : n, dim);
    scale_ = r.chance(50) ? 1.0f : r.chance(80) ? 4 * r.scale() : std::ldexp(r.scale(), r.between(-100, 100));
    in_place_ = r.chance(25);
    if (in_place_) {
      const placement view = random_placement(r, 1, 1, numbers_.n_rows, dim);
      y_ = output_rows(view, memory.output(view));
      scatter(view, numbers_.values, y_.data);
      x_ = input_rows(view, y_.data);
    } else {
      x_ = put_matrix(r, e, &numbers_);
      y_ = place_result(r, numbers_.n_rows, dim);
    }
    executor_argument_ = executor();
  }
  std::string text() const override {
    return "softmax of " + std::to_string(numbers_.n_rows) + " x " + std::to_string(numbers_.dim) + " scale " +
           std::to_string(scale_) + (in_place_ ? " in place" : "");
  }
  heed_status call() override { return heed_softmax(x_, scale_, y_, executor_argument_); }
  std::vector<float> plain() const override { return run_softmax(numbers_, scale_).values; }
  void judge(const std::vector<float> &result, double) const override {
    for (int32_t t = 0; t < numbers_.n_rows; ++t) {
      std::vector<double> scores;
      double largest = 0;
      for (const float f : numbers_.row(t)) scores.push_back(double(scale_) * f);
      for (const double s : scores) largest = std::max(largest, std::fabs(s));
      if (!(largest < 1e5)) continue;  // the bound is first-order in its E
      const std::vector<double> exact = exact_softmax(scores);
      for (size_t j = 0; j < exact.size(); ++j)
        judge_error(result[size_t(t) * exact.size() + j], exact[j], softmax_bound(exact[j], largest, numbers_.dim));
    }
  }
  std::vector<spoilings> flaws(random_source &) override {
    std::vector<spoilings> all = {
        flaws_in("x", &x_, matrix_flaws<heed_matrix>(HEED_MAX_COUNT)), flaws_in("y", &y_, output_flaws(HEED_MAX_COUNT)),
        wrong_scale(&scale_), executor_flaws_in(&executor_argument_), wrong_count("rows of y", &y_.n_rows, y_.n_rows)};
    float *x = const_cast<float *>(x_.data);
    all.push_back(wrong_values<float *>("y beside x", &y_.data, {x + 1, x - 1}));
    all.push_back({{"y on x with another stride", [=] { y_.data = x, y_.row_stride = x_.row_stride + 1; }}});
    return all;
  }

 private:
  matrix numbers_;
  float scale_;
  bool in_place_;
  heed_matrix x_;
  heed_matrix_out y_;
  const heed_executor *executor_argument_;
};

// A projection with weights of any format, a linear one, or a weighted sum of rows.
class product_trial : public matrix_trial {
 public:
  product_trial(random_source &r, extent e) : matrix_trial(&r, e) {
    const int32_t kind = r.between(0, 99);
    kind_ = kind < 25 ? weighted_sum : kind < 50 ? linear : projection;
    const bool regular = e == extent::regular, large = e == extent::large;
    const int32_t least = e == extent::small ? 1 : 9;
    const bool whole_blocks = kind_ == projection && r.chance(20);
    const int32_t depth = whole_blocks ? 32 * r.between(1, 3) : r.size(least, 70);
    const int32_t out = r.size(least, r.chance(80) ? 70 : 600);
    const int32_t n = regular ? r.between(2, 5) : r.size(1, std::max(1, std::min(60, 60000 / (depth * out))));
    x_numbers_ = any_matrix(r, large ? 2000000 / (depth * out) + 2 : n, depth);
    w_numbers_ = any_matrix(r, depth, out);
    if (kind_ != weighted_sum && r.chance(50)) bias_numbers_ = any_floats(r, size_t(out));
    x_ = put_matrix(r, e, &x_numbers_);
    if (kind_ == projection)
      whole_blocks &&r.chance(60) ? place_blocks(r) : place_weights(r);
    else
      w_ = put_matrix(r, e, &w_numbers_);
    if (!bias_numbers_.empty()) bias_ = put({1, 1, 1, out, 0, 0, 0}, &bias_numbers_);
    y_ = place_result(r, x_.n_rows, out);
    executor_argument_ = executor();
  }
  std::string text() const override {
    static const char *const names[] = {"weighted sum", "linear", "projection"};
    return std::string(names[kind_]) + " of " + std::to_string(x_numbers_.n_rows) + " x " +
           std::to_string(w_numbers_.n_rows) + " x " + std::to_string(w_numbers_.dim) + (bias_ ? " with bias" : "") +
           (kind_ == projection
                ? " format " + std::to_string(weights_.dtype) + " layout " + std::to_string(weights_.layout)
                : "");
  }
  heed_status call() override {
    return kind_ == weighted_sum ? heed_weighted_sum(x_, w_, y_, executor_argument_)
           : kind_ == linear     ? heed_linear(x_, heed_weights_of_matrix(w_), bias_, y_, executor_argument_)
                                 : heed_linear(x_, weights_, bias_, y_, executor_argument_);
  }
  std::vector<float> plain() const override {
    if (kind_ == projection && has_blocks(weights_.dtype)) return run_blocks().values;
    return kind_ == weighted_sum ? run_weighted_sum(x_numbers_, w_numbers_).values
                                 : run_linear(x_numbers_, w_numbers_, bias_numbers_).values;
  }
  void judge(const std::vector<float> &result, double chain) const override {
    const int32_t depth = w_numbers_.n_rows, out = w_numbers_.dim;
    for (int32_t i = 0; i < x_numbers_.n_rows * out; ++i) {
      const exact_value e = exact_linear(x_numbers_, w_numbers_, bias_numbers_, i / out, i % out);
      if (!in_range(e.absolute_sum)) continue;
      judge_error(result[size_t(i)], e.value,
                  kind_ == weighted_sum                               ? weighted_sum_bound(depth, e.absolute_sum, chain)
                  : kind_ == projection && has_blocks(weights_.dtype) ? blocks_bound(depth, e.absolute_sum)
                                                                      : linear_bound(depth, e.absolute_sum, chain));
    }
  }
  std::vector<spoilings> flaws(random_source &r) override {
    const auto *const w = kind_ == projection ? static_cast<const float *>(weights_.data) : w_.data;
    std::vector<spoilings> all = {
        flaws_in("x", &x_, matrix_flaws<heed_matrix>(HEED_MAX_COUNT)),
        flaws_in("y", &y_, output_flaws(HEED_MAX_COUNT)),
        wrong_count("rows of y", &y_.n_rows, y_.n_rows),
        wrong_count("depth of x", &x_.dim, x_.dim),
        executor_flaws_in(&executor_argument_),
        overlaps(r, &y_, {x_.data, w, bias_, weights_.scales, static_cast<const float *>(weights_.zero_points)})};
    if (kind_ == projection)
      all.push_back(weights_flaws("w", &weights_, &bias_, true));
    else
      all.push_back(flaws_in("w", &w_, matrix_flaws<heed_matrix>(HEED_MAX_COUNT)));
    if (bias_) all.push_back(wrong_floats("bias", &bias_));
    return all;
  }

 private:
  // The weights become what the format holds of them.
  void place_weights(random_source &r) {
    matrix &w = w_numbers_;
    if (r.chance(25)) return place_bytes(r);
    const int32_t dtype = r.between(HEED_F32, HEED_INT8), layout = r.between(0, 1);
    const bool turned = layout == HEED_OUT_IN;
    const int32_t rows = turned ? w.dim : w.n_rows, dim = turned ? w.n_rows : w.dim;
    std::vector<float> all = turned ? transposed(w.values, w.n_rows, w.dim) : w.values;
    narrow_numbers stored = {dtype, dim, std::vector<unsigned char>(all.size()), std::vector<float>(size_t(w.dim))};
    if (dtype == HEED_INT8) {
      for (float &x : all) x = std::isfinite(x) ? x : 1;
      auto *const q = reinterpret_cast<int8_t *>(stored.bytes.data());
      EXPECT_EQ(heed_weights_quantize(heed_matrix_of(all.data(), rows, dim), layout, q, stored.scales.data()), HEED_OK);
      for (size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<float>(q[i]) * stored.scales[turned ? i / size_t(dim) : i % size_t(dim)];
    } else {
      stored = round_rows(dtype, dim, &all);
    }
    w.values = turned ? transposed(all, rows, dim) : all;
    if (r.chance(40)) return pack_weights(r, {{dtype, stored.bytes}, {}, layout, w.n_rows, w.dim, dim}, stored.scales);
    const placement view = random_placement(r, 1, 1, rows, dim);
    weights_ = heed_weights_of(put(view, stored), nullptr, dtype, layout, w.n_rows, w.dim);
    weights_.row_stride = view.row_stride;
    if (dtype == HEED_INT8) weights_.scales = put({1, 1, 1, w.dim, 0, 0, 0}, &stored.scales);
  }
  // With zero points.
  void place_bytes(random_source &r) {
    const weights from = random_weights(r, HEED_UINT8, r.between(0, 1), w_numbers_.n_rows, w_numbers_.dim, 0);
    take_numbers(numbers_of(from));
    if (r.chance(40)) return pack_weights(r, from, {});
    const bool turned = from.layout == HEED_OUT_IN;
    const placement view = random_placement(r, 1, 1, turned ? from.n_out : from.n_in, from.stride);
    weights_ = heed_weights_of(put(view, narrow_numbers{HEED_INT8, from.stride, from.numbers.bytes, {}}), nullptr,
                               from.numbers.dtype, from.layout, from.n_in, from.n_out);
    weights_.row_stride = view.row_stride;
    const auto n = int32_t(from.scales.size());
    kept_scales_ = from.scales;
    weights_.scales = put({1, 1, 1, n, 0, 0, 0}, &kept_scales_);
    void *const zeros = from.zeros.empty() ? nullptr : memory.input_bytes(from.zeros.size(), 1);
    if (zeros) std::memcpy(zeros, from.zeros.data(), from.zeros.size());
    weights_ = heed_weights_with_zero_points(weights_, zeros, n);
  }
  // In their format, or in any if their numbers are of a usual size.
  void pack_weights(random_source &r, weights from, const std::vector<float> &scales) {
    if (from.numbers.dtype == HEED_INT8 && !from.shifted) from.scales = scales;
    bool usual = true;
    for (const float x : w_numbers_.values) usual = usual && (x == 0 || (std::fabs(x) > 1e-9f && std::fabs(x) < 6e4f));
    const int32_t same = from.shifted ? HEED_UINT8 : from.numbers.dtype;
    const int32_t dtype = usual && r.chance(from.shifted ? 40 : 100) ? r.between(HEED_F32, HEED_Q4_0) : same;
    const numeric_weights numbers = converted(numbers_of(from), dtype);
    kept_ = packer::pack(numbers);
    void *const to = memory.input_bytes(kept_.size(), HEED_ALIGNMENT);
    heed_weights plain = heed_weights_of(from.numbers.bytes.data(), from.scales.data(), from.numbers.dtype, from.layout,
                                         from.n_in, from.n_out);
    if (from.shifted)
      plain = heed_weights_with_zero_points(plain, from.zeros.empty() ? nullptr : from.zeros.data(),
                                            int32_t(from.scales.size()));
    EXPECT_EQ(heed_weights_pack(plain, dtype, heed_memory_of(to, kept_.size())), HEED_OK);
    EXPECT_EQ(std::memcmp(to, kept_.data(), kept_.size()), 0) << "packed bytes";
    EXPECT_EQ(heed_weights_open(&weights_, to, kept_.size()), HEED_OK);
    take_numbers(numbers);
  }
  void place_blocks(random_source &r) {
    const numeric_weights numbers =
        random_blocks(r, r.chance(50) ? HEED_Q8_0 : HEED_Q4_0, w_numbers_.n_rows, w_numbers_.dim);
    kept_ = packer::pack(numbers);
    const int32_t blocks = numbers.n_blocks() + (r.chance(50) ? 0 : r.between(1, 2));
    const bytes_of_weights file = file_of(numbers, blocks);
    void *const to = memory.input_bytes(file.size(), 1);
    std::memcpy(to, file.data(), file.size());
    weights_ = heed_weights_of_blocks(to, numbers.dtype, numbers.n_in, numbers.n_out);
    weights_.row_stride = ptrdiff_t{32} * blocks;
    take_numbers(numbers);
  }
  void take_numbers(const numeric_weights &from) {
    w_numbers_.values.clear();
    for (int32_t i = 0; i < from.n_in; ++i)
      for (int32_t o = 0; o < from.n_out; ++o) w_numbers_.values.push_back(from.widened(i, o));
  }
  // Packed, whole, at a fence.
  matrix run_blocks() const {
    const result_rows y(x_numbers_.n_rows, w_numbers_.dim, 0);
    EXPECT_EQ(heed_linear(put_at_fence(x_numbers_), open_at_fence(kept_), fenced_copy(slot_v, bias_numbers_), y.view(),
                          nullptr),
              HEED_OK);
    return y.take();
  }
  static heed_matrix put_at_fence(const matrix &m) { return heed_test::put(slot_q, m, 0); }
  static std::vector<float> transposed(const std::vector<float> &x, int32_t rows, int32_t dim) {
    std::vector<float> y;
    for (int32_t i = 0; i < dim; ++i)
      for (int32_t t = 0; t < rows; ++t) y.push_back(x[size_t(t) * size_t(dim) + size_t(i)]);
    return y;
  }

  enum { weighted_sum, linear, projection } kind_;
  matrix x_numbers_, w_numbers_;  // (n, depth), (depth, out)
  std::vector<float> bias_numbers_;
  heed_matrix x_, w_;
  heed_weights weights_ = {};
  bytes_of_weights kept_;  // of packed weights and blocks: packed
  std::vector<float> kept_scales_;
  const float *bias_ = nullptr;
  heed_matrix_out y_;
  const heed_executor *executor_argument_;
};

class dot_trial : public trial {
 public:
  dot_trial(random_source &r, extent e) : trial(&r, extent::small) {
    n_ = r.chance(5) ? r.between(1000, 20000) : r.size(e == extent::regular ? 9 : 1, 600);
    a_numbers_ = any_floats(r, size_t(n_));
    b_numbers_ = any_floats(r, size_t(n_));
    const placement row = {1, 1, 1, n_, 0, 0, 0};
    a_ = put(row, &a_numbers_);
    b_ = r.chance(90) ? put(row, &b_numbers_) : a_;
    if (a_ == b_) b_numbers_ = a_numbers_;
    result_ = memory.output({1, 1, 1, 1, 0, 0, 0});
  }
  std::string text() const override { return "dot of " + std::to_string(n_); }
  heed_status call() override { return heed_dot(a_, b_, n_, result_); }
  std::vector<float> plain() const override { return {run_dot(a_numbers_, b_numbers_)}; }
  void judge(const std::vector<float> &result, double) const override {
    const auto n = static_cast<int32_t>(a_numbers_.size());
    const double size = absolute_dot(a_numbers_.data(), b_numbers_.data(), n);
    if (in_range(size)) judge_error(result[0], exact_dot(a_numbers_.data(), b_numbers_.data(), n), dot_bound(n, size));
  }
  std::vector<spoilings> flaws(random_source &r) override {
    const float *inside[] = {a_, b_};
    return {wrong_floats("a", &a_), wrong_floats("b", &b_), wrong_count("n", &n_, HEED_MAX_COUNT),
            wrong_values<float *>("result", &result_,
                                  {nullptr, misaligned(result_), const_cast<float *>(inside[0]) + r.between(0, n_ - 1),
                                   const_cast<float *>(inside[1]) + r.between(0, n_ - 1)})};
  }

 private:
  int32_t n_;
  std::vector<float> a_numbers_, b_numbers_;
  const float *a_, *b_;
  float *result_;
};

}  // namespace heed_test

#endif
