// Products, rows and whole layers of integers, for the differential programs. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_INT_ROW_TRIALS_HPP
#define HEED_TESTS_SUPPORT_INT_ROW_TRIALS_HPP

#include <string>
#include <vector>

#include "../../lib/reference/int_product_reference.hpp"
#include "int_trials.hpp"
#include "packed.hpp"

namespace heed_test {

// Matrices that a call reads and writes, and the same numbers without gaps.
class int_matrix_trial : public int_trial {
 protected:
  using int_trial::int_trial;

  heed_int_matrix draw_input(random_source &r, int32_t n, int32_t dim, bool wide) {
    placement at = random_input_placement(r, 1, 1, n, dim);
    heed_int_matrix x = {nullptr,       wide ? HEED_INT16 : HEED_INT8,  n, dim,
                         at.row_stride, wide ? 0 : r.between(-128, 127)};
    const size_t bytes = at.extent() * (wide ? 2 : 1);
    unsigned char *data = static_cast<unsigned char *>(memory.input(stage_format(x.dtype), at.extent()));
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(any_byte(r));
    x.data = data;
    return x;
  }
  heed_int_matrix_out draw_output(random_source &r, int32_t n, int32_t dim, bool wide) {
    const placement at = random_placement(r, 1, 1, n, dim);
    const int32_t dtype = wide ? HEED_INT16 : HEED_INT8, most = wide ? 32767 : 127;
    y_at_ = at;
    return {memory.output(stage_format(dtype), at), dtype, n, dim, at.row_stride, r.between(-most - 1, most)};
  }
  // y as it is now, with rows of `to`, which have no gaps.
  std::vector<unsigned char> with_rows(const heed_int_matrix_out &y, const std::vector<int16_t> &rows) const {
    const size_t bytes = y.dtype == HEED_INT16 ? 2 : 1, row = static_cast<size_t>(y.dim) * bytes;
    const unsigned char *data = static_cast<const unsigned char *>(y.data);
    std::vector<unsigned char> all(data, data + y_at_.extent() * bytes);
    for (int32_t r = 0; r < y.n_rows; ++r)
      std::memcpy(&all[y_at_.at(0, 0, r) * bytes],
                  reinterpret_cast<const unsigned char *>(rows.data()) + static_cast<size_t>(r) * row, row);
    return all;
  }
  // Without gaps and threads, row by row: the plainest setting.
  template <class Call>
  std::vector<unsigned char> plainly(const heed_int_matrix_out &y, Call call) const {
    std::vector<int16_t> rows(static_cast<size_t>(y.n_rows) * static_cast<size_t>(y.dim));
    for (int32_t r = 0; r < y.n_rows; ++r) {
      heed_int_matrix_out one = y;
      one.n_rows = 1;
      one.data = reinterpret_cast<unsigned char *>(rows.data()) +
                 static_cast<size_t>(r) * static_cast<size_t>(y.dim) * (y.dtype == HEED_INT16 ? 2 : 1);
      EXPECT_EQ(call(r, one), HEED_OK);
    }
    return with_rows(y, rows);
  }
  static heed_int_matrix row_of(heed_int_matrix x, int32_t r) {
    const ptrdiff_t at = r == 0 ? 0 : r * x.row_stride;
    x.data = static_cast<const char *>(x.data) + at * (x.dtype == HEED_INT16 ? 2 : 1);
    x.n_rows = 1;
    return x;
  }
  // Any numbers, and more rows of them than rows of x: the first ones are used.
  heed_int_rope draw_int_rope(random_source &r, int32_t n_positions, int32_t head_dim) {
    const int32_t most = n_positions + r.between(0, 3), rotary_dim = 2 * r.between(1, head_dim / 2);
    std::vector<int16_t> table(static_cast<size_t>(most) * static_cast<size_t>(rotary_dim));
    for (int16_t &each : table) each = static_cast<int16_t>(r.chance(80) ? r.between(-16384, 16384) : r.next());
    return {put_numbers(table), most, rotary_dim, r.between(0, 1)};
  }
  static spoilings int_rope_flaws(heed_int_rope *rope, int32_t n) {
    spoilings all = wrong_values<const int16_t *>("table", &rope->table, {nullptr});
    const auto add = [&](spoilings more) { all.insert(all.end(), more.begin(), more.end()); };
    add(wrong_values<int32_t>("positions", &rope->n_positions, {0, -1, n - 1}));
    add(wrong_values<int32_t>("rotary_dim", &rope->rotary_dim, {0, -2, 1, 32770}));
    add(wrong_values<int32_t>("style", &rope->style, {-1, 2}));
    return all;
  }
  spoilings matrix_flaws(heed_int_matrix *x, heed_int_matrix_out *y) {
    spoilings all = wrong_values<const void *>("x", &x->data, {nullptr});
    const auto add = [&](spoilings more) { all.insert(all.end(), more.begin(), more.end()); };
    add(wrong_values<int32_t>("rows", &x->n_rows, {0, -1, y->n_rows + 1}));
    add(wrong_values<int32_t>("dim", &x->dim, {0, -1, x->dim + 1}));
    add(wrong_values<int32_t>("format", &x->dtype, {-1, HEED_F32, HEED_BF16}));
    add(wrong_values<int32_t>("zero point", &x->zero_point, {-129, 128}));
    add(wrong_values<void *>("y", &y->data, {nullptr}));
    add(wrong_values<int32_t>("rows of y", &y->n_rows, {0, y->n_rows + 2}));
    add(wrong_values<int32_t>("dim of y", &y->dim, {0, y->dim + 2}));
    add(wrong_values<int32_t>("format of y", &y->dtype, {-1, HEED_F32, HEED_BF16}));
    add(wrong_values<int32_t>("zero point of y", &y->zero_point, {-32769, 32768}));
    return all;
  }

  placement y_at_;
};

class int_project_trial : public int_matrix_trial {
 public:
  explicit int_project_trial(random_source &r) : int_matrix_trial(r) {
    const int32_t n = r.chance(40) ? r.between(1, 4) : r.size(1, 60), n_in = r.size(1, r.chance(5) ? 3000 : 260),
                  n_out = r.size(1, 200);
    x_ = draw_input(r, n, n_in, false);
    const int32_t layout = r.between(0, 2), gap = r.chance(40) ? r.between(1, 9) : 0;
    const bool out_in = layout == 0;
    const ptrdiff_t stride = (out_in ? n_in : n_out) + gap;
    const int8_t *data = put_bytes(r, static_cast<size_t>(stride) * static_cast<size_t>(out_in ? n_out : n_in));
    w_ = plain_ = heed_weights_of(data, nullptr, HEED_INT8, out_in ? HEED_OUT_IN : HEED_IN_OUT, n_in, n_out);
    w_.row_stride = plain_.row_stride = stride;
    if (layout == 2) pack_weights();
    std::vector<int32_t> bias;
    std::vector<heed_multiplier> multipliers;
    const bool wide = r.chance(50);
    for (int32_t o = 0; o < n_out; ++o) {
      bias.push_back(r.chance(95) ? r.between(-200000, 200000) : static_cast<int32_t>(r.next()));
      const int32_t likely = wide ? -3 : -10;
      multipliers.push_back(r.chance(5) ? random_multiplier(r, -31, 30) : random_multiplier(r, likely - 3, likely));
    }
    if (r.chance(70)) bias_ = put_numbers(bias);
    multipliers_ = put_numbers(multipliers);
    y_ = draw_output(r, n, n_out, wide);
  }
  std::string text() const override {
    return "project in integers, " + std::to_string(x_.n_rows) + " x " + std::to_string(x_.dim) + " x " +
           std::to_string(y_.dim) + ", layout " + std::to_string(w_.layout) + (bias_ ? ", bias" : "") +
           (y_.dtype == HEED_INT16 ? ", int16" : "");
  }
  heed_status call() override { return heed_int_linear(x_, w_, bias_, multipliers_, y_, executor()); }
  std::vector<unsigned char> expected() override {
    std::vector<int16_t> rows(static_cast<size_t>(y_.n_rows) * static_cast<size_t>(y_.dim));
    const int8_t *data = static_cast<const int8_t *>(plain_.data);
    const heed::int_weights weights = plain_.layout == HEED_OUT_IN ? heed::int_rows_of_outputs(data, plain_.row_stride)
                                                                   : heed::int_rows_of_inputs(data, plain_.row_stride);
    heed::scalar::int_project({static_cast<const int8_t *>(x_.data), x_.n_rows == 1 ? 0 : x_.row_stride, x_.zero_point,
                               weights, bias_, &multipliers_->m, rows.data(), y_.dim, y_.zero_point,
                               y_.dtype == HEED_INT16, x_.n_rows, x_.dim, y_.dim});
    return with_rows(y_, rows);
  }
  spoilings flaws() override {
    spoilings all = matrix_flaws(&x_, &y_);
    const auto add = [&](spoilings more) { all.insert(all.end(), more.begin(), more.end()); };
    add(wrong_values<const heed_multiplier *>("multipliers", &multipliers_, {nullptr}));
    add(wrong_values<void *>("y", &y_.data, {const_cast<void *>(x_.data)}));
    add(wrong_values<int32_t>("n_in", &w_.n_in, {0, w_.n_in + 2}));
    add(wrong_values<const void *>("w", &w_.data, {nullptr}));
    return all;
  }

 private:
  void pack_weights() {
    const std::vector<float> scales(static_cast<size_t>(w_.n_out), 1.0f);
    heed_weights scaled = w_;
    scaled.scales = scales.data();
    bytes_of_weights bytes = pack(scaled, HEED_INT8);
    void *data = memory.input_bytes(bytes.size(), HEED_ALIGNMENT);
    std::memcpy(data, bytes.data(), bytes.size());
    EXPECT_EQ(heed_weights_open(&w_, data, bytes.size()), HEED_OK);
  }

  heed_int_matrix x_;
  heed_weights w_, plain_;
  const int32_t *bias_ = nullptr;
  const heed_multiplier *multipliers_;
  heed_int_matrix_out y_;
};

// Sums, products, other scales, norms, activations.
class int_rows_trial : public int_matrix_trial {
 public:
  explicit int_rows_trial(random_source &r) : int_matrix_trial(r) {
    kind_ = r.between(0, 5);
    const int32_t n = r.chance(10) ? r.between(100, 400) : r.size(1, 20), dim = r.size(1, 300);
    const bool wide = kind_ != 5 && r.chance(50);
    if (r.chance(80)) {
      x_ = draw_input(r, n, dim, wide);
      y_ = draw_output(r, n, dim, kind_ != 5 && r.chance(50));
    } else {  // in place: numbers of y that the call takes from there
      y_ = draw_output(r, n, dim, wide);
      if (wide) y_.zero_point = 0;
      x_ = {y_.data, y_.dtype, n, dim, y_.row_stride, wide ? 0 : r.between(-128, 127)};
      unsigned char *data = static_cast<unsigned char *>(y_.data);
      const size_t bytes = y_at_.extent() * (wide ? 2 : 1);
      for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(any_byte(r));
    }
    other_ = kind_ < 2 ? draw_input(r, n, dim, r.chance(50)) : x_;
    const int32_t e = r.chance(90) ? r.between(-9, 3) : r.between(-31, 30);
    first_ = random_multiplier(r, e, e);
    second_ = random_multiplier(r, std::max(-31, e - 14), std::min(30, e + 14));
    std::vector<int32_t> weight, bias;
    const int32_t bits = r.between(0, 31);
    for (int32_t i = 0; i < dim; ++i) weight.push_back(static_cast<int32_t>(r.next()) >> bits);
    for (int32_t i = 0; i < dim; ++i) bias.push_back(static_cast<int32_t>(r.next()) >> bits);
    norm_.shift = r.between(0, 30);
    norm_.eps = r.chance(70) ? r.next() >> r.between(0, 31) : 0;
    norm_.weight = put_numbers(weight);
    norm_.bias = r.chance(70) ? put_numbers(bias) : nullptr;
    table_ = put_bytes(r, 256);
  }
  std::string text() const override {
    static const char *const names[] = {"add", "multiply", "rescale", "layer_norm", "rms_norm", "lookup"};
    return std::string("integers, ") + names[kind_] + " of " + std::to_string(x_.n_rows) + " x " +
           std::to_string(x_.dim) + (x_.data == y_.data ? ", in place" : "");
  }
  heed_status call() override { return run(x_, other_, y_, executor()); }
  std::vector<unsigned char> expected() override {
    return plainly(
        y_, [&](int32_t r, heed_int_matrix_out one) { return run(row_of(x_, r), row_of(other_, r), one, nullptr); });
  }
  spoilings flaws() override {
    if (x_.data == y_.data) return {};
    return matrix_flaws(&x_, &y_);
  }

 private:
  heed_status run(heed_int_matrix x, heed_int_matrix other, heed_int_matrix_out y, const heed_executor *e) const {
    switch (kind_) {
      case 0:
        return heed_int_add(x, first_, other, second_, y, e);
      case 1:
        return heed_int_multiply(x, other, first_, y, e);
      case 2:
        return heed_int_rescale(x, first_, y, e);
      case 3:
        return heed_int_layer_norm(x, norm_, y, e);
      case 4:
        return heed_int_rms_norm(x, norm_, y, e);
      default:
        return heed_int_lookup(x, table_, y, e);
    }
  }

  int32_t kind_;
  heed_int_matrix x_, other_;
  heed_int_matrix_out y_;
  heed_multiplier first_, second_;
  heed_int_norm norm_;
  const int8_t *table_;
};

// Rotary embedding, which is always in place: row by row, each with its position.
class int_rope_trial : public int_matrix_trial {
 public:
  explicit int_rope_trial(random_source &r) : int_matrix_trial(r) {
    n_heads_ = r.between(1, 5);
    const int32_t n = r.chance(10) ? r.between(100, 400) : r.size(1, 20), head_dim = r.size(2, 90);
    first_ = r.between(0, 4);
    rope_ = draw_int_rope(r, static_cast<int32_t>(first_) + n, head_dim);
    x_ = draw_output(r, n, n_heads_ * head_dim, false);
    int8_t *const data = static_cast<int8_t *>(x_.data);
    for (size_t i = 0; i < y_at_.extent(); ++i) data[i] = any_byte(r);
  }
  std::string text() const override {
    return "rope in integers, " + std::to_string(x_.n_rows) + " x " + std::to_string(n_heads_) + " heads, " +
           std::to_string(x_.dim) + " numbers, " + std::to_string(rope_.rotary_dim) + " of a head rotated, style " +
           std::to_string(rope_.style);
  }
  heed_status call() override { return heed_int_rope_run(&rope_, x_, n_heads_, first_, executor()); }
  std::vector<unsigned char> expected() override {
    const int8_t *const data = static_cast<const int8_t *>(x_.data);
    return plainly(x_, [&](int32_t r, heed_int_matrix_out one) {
      std::memcpy(one.data, data + (r == 0 ? 0 : r * x_.row_stride), static_cast<size_t>(x_.dim));
      return heed_int_rope_run(&rope_, one, n_heads_, first_ + r, nullptr);
    });
  }
  spoilings flaws() override {
    spoilings all = int_rope_flaws(&rope_, static_cast<int32_t>(first_) + x_.n_rows);
    const auto add = [&](spoilings more) { all.insert(all.end(), more.begin(), more.end()); };
    add(wrong_values<void *>("x", &x_.data, {nullptr}));
    add(wrong_values<int32_t>("rows", &x_.n_rows, {0, rope_.n_positions - static_cast<int32_t>(first_) + 1}));
    add(wrong_values<int32_t>("format", &x_.dtype, {-1, HEED_F32, HEED_INT16}));
    add(wrong_values<int32_t>("zero point", &x_.zero_point, {-129, 128}));
    add(wrong_values<int32_t>("heads", &n_heads_, {0, -1, x_.dim + 1}));
    add(wrong_values<int64_t>("first position", &first_, {-1, rope_.n_positions, INT64_MAX}));
    return all;
  }

 private:
  heed_int_rope rope_;
  heed_int_matrix_out x_;
  int32_t n_heads_;
  int64_t first_;
};

}  // namespace heed_test

#endif
