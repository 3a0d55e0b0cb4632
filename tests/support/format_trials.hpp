// Trials of what makes numbers narrow and wide. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FORMAT_TRIALS_HPP
#define HEED_TESTS_SUPPORT_FORMAT_TRIALS_HPP

#include <algorithm>
#include <string>
#include <vector>

#include "caches.hpp"
#include "primitive_trials.hpp"

namespace heed_test {

// The plain setting is an arithmetic of its own: no kernel takes part.
class format_trial : public matrix_trial {
 public:
  format_trial(random_source &r, extent e) : matrix_trial(&r, extent::small) {
    const bool regular = e == extent::regular;
    kind_ = static_cast<decltype(kind_)>(r.between(0, 2));
    format_ = kind_ == quantized ? int32_t{HEED_INT8} : r.between(HEED_F32, HEED_INT8);
    layout_ = kind_ == quantized ? r.between(0, 1) : int32_t{HEED_OUT_IN};
    const int32_t n = r.size(regular ? 2 : 1, 30), dim = r.size(regular ? 9 : 1, 140);
    if (kind_ == widened)
      place_widened(r, n, dim);
    else
      place_narrowed(r, e, n, dim);
  }
  std::string text() const override {
    static const char *const names[] = {"narrow", "widen", "quantize"};
    return std::string(names[kind_]) + " " + std::to_string(numbers_.n_rows) + " x " + std::to_string(numbers_.dim) +
           " format " + std::to_string(format_) + " layout " + std::to_string(layout_);
  }
  heed_status call() override {
    return kind_ == narrowed  ? heed_convert_from_f32(x_, y_)
           : kind_ == widened ? heed_convert_to_f32(stored_, wide_)
                              : heed_weights_quantize(x_, layout_, static_cast<int8_t *>(y_.data), y_.scales);
  }
  std::vector<float> plain() const override {
    std::vector<float> all = numbers_.values, scales;
    if (kind_ == widened) return all;
    const bool columns = layout_ == HEED_IN_OUT;
    for (int32_t i = 0; format_ == HEED_INT8 && i < n_scales(); ++i) {
      std::vector<float *> row;
      for (size_t at = 0; at < all.size(); ++at)
        if (int32_t(columns ? at % size_t(numbers_.dim) : at / size_t(numbers_.dim)) == i) row.push_back(&all[at]);
      float largest = 0;
      for (const float *x : row) largest = std::max(largest, std::fabs(*x));
      float scale = largest / 127;
      if (std::isinf(127 * scale)) scale = std::nextafter(scale, 0.0f);
      for (float *x : row) *x = scale == 0 ? 0 : std::nearbyint(std::max(-127.0f, std::min(127.0f, *x / scale))) + 0.0f;
      scales.push_back(scale);
    }
    for (float &x : all) {
      if (format_ == HEED_F16) x = nearest_of(x, 10, -14, 15);
      if (format_ == HEED_BF16) x = nearest_of(x, 7, -126, 127);
    }
    all.insert(all.end(), scales.begin(), scales.end());
    return all;
  }
  std::vector<spoilings> flaws(random_source &r) override {
    std::vector<spoilings> all;
    if (kind_ == widened) {
      all = {flaws_in("x", &stored_, narrow_flaws<heed_typed_matrix>()),
             flaws_in("y", &wide_, output_flaws(HEED_MAX_COUNT)),
             wrong_values<int32_t>("format", &stored_.dtype, {-1, 4, INT32_MAX}),
             overlaps(r, &wide_, {static_cast<const float *>(stored_.data), stored_.scales})};
      if (format_ == HEED_INT8)
        all.push_back(wrong_values<const float *>("scales", &stored_.scales, {nullptr, misaligned(stored_.scales)}));
      return all;
    }
    all = {flaws_in("x", &x_, matrix_flaws<heed_matrix>(HEED_MAX_COUNT))};
    float *const x = const_cast<float *>(x_.data);
    all.push_back(wrong_values<void *>("y", &y_.data, {nullptr, x, x + 1}));
    if (format_ == HEED_INT8) {
      all.push_back(wrong_values<float *>("scales", &y_.scales, {nullptr, misaligned(y_.scales), x}));
      all.push_back({{"NaN", [=] { memory.edit([=] { *x = not_a_number; }); }},
                     {"infinity", [=] { memory.edit([=] { x[numbers_.dim - 1] = -infinity; }); }}});
    }
    if (kind_ == quantized) all.push_back(wrong_values<int32_t>("layout", &layout_, {-1, 2, INT32_MIN}));
    if (kind_ == quantized) return all;
    all.push_back(flaws_in("y", &y_, narrow_flaws<heed_typed_matrix_out>()));
    all.push_back(wrong_values<int32_t>("format", &y_.dtype, {-1, 4, INT32_MAX}));
    all.push_back(wrong_values<ptrdiff_t>("rows of y overlap", &y_.row_stride, {0, y_.dim - 1}));
    all.push_back(wrong_count("rows of y", &y_.n_rows, y_.n_rows));
    return all;
  }

 private:
  int32_t n_scales() const { return layout_ == HEED_IN_OUT ? numbers_.dim : numbers_.n_rows; }

  void place_narrowed(random_source &r, extent e, int32_t n, int32_t dim) {
    numbers_ = any_matrix(r, n, dim);
    const int32_t exponent = r.chance(60) ? 0 : r.between(-30, 125);
    for (float &x : numbers_.values) {
      x = std::ldexp(x, exponent);
      if (format_ == HEED_INT8 && !std::isfinite(x)) x = 1;
    }
    x_ = put_matrix(r, e, &numbers_);
    placement to = random_placement(r, 1, 1, n, dim);
    if (kind_ == quantized) to = {1, 1, n, dim, 0, 0, dim};
    void *const data = memory.output(format_, to);
    y_ = {data, nullptr, format_, n, dim, to.row_stride};
    if (format_ == HEED_INT8) y_.scales = memory.output({1, 1, 1, n_scales(), 0, 0, 0});
  }
  // Rounded numbers, or any bits at all.
  void place_widened(random_source &r, int32_t n, int32_t dim) {
    numbers_ = any_matrix(r, n, dim);
    narrow_numbers stored = round_rows(format_, dim, &numbers_.values);
    const size_t bytes = HEED_DTYPE_BYTES(format_);
    if (r.chance(50))
      for (size_t i = 0; i < stored.bytes.size(); ++i) {
        stored.bytes[i] = static_cast<unsigned char>(static_cast<int32_t>(r.uniform() * 0x1p23f) >> 8);
        if (stored.dtype == HEED_INT8 && stored.bytes[i] == 128) stored.bytes[i] = 0;
      }
    for (size_t i = 0; i < numbers_.values.size(); ++i)
      numbers_.values[i] =
          number_at(format_, &stored.bytes[i * bytes]) * (format_ == HEED_INT8 ? stored.scales[i / size_t(dim)] : 1.0f);
    const placement from = random_placement(r, 1, 1, n, dim);
    stored_ = {put(from, stored), nullptr, format_, n, dim, from.row_stride};
    if (format_ == HEED_INT8) stored_.scales = put({1, 1, 1, n, 0, 0, 0}, &stored.scales);
    wide_ = place_result(r, n, dim);
  }
  // Those of matrices that are flaws whatever a number's size is.
  template <typename Matrix>
  std::vector<flaw<Matrix>> narrow_flaws() const {
    std::vector<flaw<Matrix>> all = matrix_flaws<Matrix>(HEED_MAX_COUNT);
    const size_t bytes = HEED_DTYPE_BYTES(format_);
    const auto of_bytes = [=](const flaw<Matrix> &f) {
      return (f.what == "misaligned by 1" && bytes < 2) || (f.what == "misaligned by 2" && bytes < 4) ||
             (f.fault == HEED_OVERFLOW && bytes < 4);
    };
    all.erase(std::remove_if(all.begin(), all.end(), of_bytes), all.end());
    return all;
  }

  enum { narrowed, widened, quantized } kind_;
  int32_t format_, layout_;
  matrix numbers_;  // wide ones
  heed_matrix x_;
  heed_typed_matrix_out y_;
  heed_typed_matrix stored_;
  heed_matrix_out wide_;
};

}  // namespace heed_test

#endif
