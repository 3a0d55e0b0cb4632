// A convolution over time as a projection of overlapping rows: against a convolution in double precision, with the bits of
// the same rows side by side, whole or in a stream. SPDX-License-Identifier: MIT
#include "support/executors.hpp"
#include "support/judge.hpp"
#include "support/kernels.hpp"
#include "support/packed.hpp"
#include "support/rows_oracle.hpp"

namespace heed_test {
namespace {

class convolution : public kernel_test {
 protected:
  struct shape {
    int32_t n, channels, kernel, stride, outputs;
    int32_t n_windows() const { return (n - kernel) / stride + 1; }
    int32_t depth() const { return kernel * channels; }
    std::string text() const {
      return std::to_string(n) + " x " + std::to_string(channels) + ", kernel " + std::to_string(kernel) + ", stride " +
             std::to_string(stride) + ", outputs " + std::to_string(outputs);
    }
  };
  static shape any_shape(random_source &r) {
    shape s = {0, r.size(1, 40), r.between(1, 7), r.between(1, 3), r.size(1, 70)};
    s.n = s.kernel + r.size(0, 50);
    return s;
  }
  static matrix side_by_side(const shape &s, const std::vector<float> &x) {
    matrix rows = {s.n_windows(), s.depth(), {}};
    for (int32_t t = 0; t < rows.n_rows; ++t) {
      const auto first = x.begin() + ptrdiff_t(t) * s.stride * s.channels;
      rows.values.insert(rows.values.end(), first, first + s.depth());
    }
    return rows;
  }
  static matrix convolve(const shape &s, const std::vector<float> &x, const heed_weights &w,
                         const std::vector<float> &bias, const primitive_setting &how = {}) {
    const result_rows y(s.n_windows(), s.outputs, how.padding);
    const heed_matrix rows = heed_matrix_of(fenced_copy(slot_q, x), s.n, s.channels);
    EXPECT_EQ(
        heed_linear(heed_windows_of(rows, s.kernel, s.stride), w, fenced_copy(slot_v, bias), y.view(), how.executor),
        HEED_OK)
        << s.text();
    return y.take();
  }
};

// Weights of PyTorch and ONNX, (outputs, channels, kernel), laid out as weights.h says; a bias, and an activation in place.
TEST_P(convolution, within_the_bound_of_a_projection) {
  for (int32_t i = 0; i < repetitions(150) && !HasFailure(); ++i) {
    random_source r(910000 + static_cast<uint64_t>(i));
    const shape s = any_shape(r);
    const std::vector<float> x = bell_floats(r, size_t(s.n) * s.channels), bias = bell_floats(r, size_t(s.outputs));
    const std::vector<float> torch = bell_floats(r, size_t(s.outputs) * s.depth());
    std::vector<float> data(torch.size());
    for (int32_t o = 0; o < s.outputs; ++o)
      for (int32_t c = 0; c < s.channels; ++c)
        for (int32_t k = 0; k < s.kernel; ++k)
          data[(size_t(o) * s.kernel + k) * s.channels + c] = torch[(size_t(o) * s.channels + c) * s.kernel + k];
    const heed_weights w =
        heed_weights_of(fenced_copy(slot_k, data), nullptr, HEED_F32, HEED_OUT_IN, s.depth(), s.outputs);
    const matrix y = convolve(s, x, w, bias);
    const matrix active = run_activation(heed_gelu, y, {}, {0, 0, 1, nullptr});
    const double chain = chain_factor();
    for (int32_t t = 0; t < s.n_windows(); ++t)
      for (int32_t o = 0; o < s.outputs; ++o) {
        double exact = bias[size_t(o)], size = std::fabs(exact);
        for (int32_t c = 0; c < s.channels; ++c)
          for (int32_t k = 0; k < s.kernel; ++k) {
            const double product = double(torch[(size_t(o) * s.channels + c) * s.kernel + k]) *
                                   x[size_t(t * s.stride + k) * s.channels + c];
            exact += product, size += std::fabs(product);
          }
        const size_t at = size_t(t) * s.outputs + o;
        judge_error(y.values[at], exact, chain * (s.depth() + 1) * half_ulp * size + 0x1p-140, s.text().c_str());
        const bounded gelu = exact_activation(heed_gelu, y.values[at], chain);
        judge_error(active.values[at], gelu.value, gelu.bound, "gelu");
      }
  }
}

// In every format and layout, on threads, to rows that lie apart: the bits of rows that do not overlap.
TEST_P(convolution, has_the_bits_of_rows_side_by_side) {
  for (int32_t i = 0; i < repetitions(150) && !HasFailure(); ++i) {
    random_source r(920000 + static_cast<uint64_t>(i));
    const shape s = any_shape(r);
    const std::vector<float> x = bell_floats(r, size_t(s.n) * s.channels), bias = bell_floats(r, size_t(s.outputs));
    const int32_t packed = r.between(-1, 5);
    const weights plain = random_weights(r, packed < 0 ? formats[r.between(0, 3)] : int32_t{HEED_F32}, r.between(0, 1),
                                         s.depth(), s.outputs, 0);
    const heed_weights w = packed < 0 ? plain.view() : open_at_fence(pack(plain.view(), all_formats[packed]));
    reverse_executor executor(r.between(1, 4));
    primitive_setting how;
    how.padding = r.between(0, 5), how.executor = r.chance(50) ? executor.get() : nullptr;
    const matrix rows = side_by_side(s, x), overlapping = convolve(s, x, w, bias, how);
    const result_rows y(rows.n_rows, s.outputs, 0);
    ASSERT_EQ(heed_linear(put(slot_q, rows, 0), w, fenced_copy(slot_v, bias), y.view(), nullptr), HEED_OK);
    EXPECT_TRUE(same_bits(y.take().values, overlapping.values)) << s.text() << ", seed " << i;
  }
}

// New rows behind those that are kept: as ports/from-pytorch.md has it.
TEST_P(convolution, in_a_stream_has_the_bits_of_the_whole) {
  for (int32_t i = 0; i < repetitions(100) && !HasFailure(); ++i) {
    random_source r(930000 + static_cast<uint64_t>(i));
    const shape s = any_shape(r);
    const std::vector<float> x = bell_floats(r, size_t(s.n) * s.channels), bias = bell_floats(r, size_t(s.outputs));
    const weights plain = random_weights(r, HEED_F32, HEED_OUT_IN, s.depth(), s.outputs, 0);
    const heed_weights w = plain.view();
    const matrix whole = convolve(s, x, w, bias);
    std::vector<float> kept, y;
    int32_t skip = 0;  // rows between two windows, where stride is greater than kernel, that are still to come
    for (int32_t first = 0, n; first < s.n; first += n) {
      n = std::min(r.between(1, 12), s.n - first);
      kept.insert(kept.end(), x.begin() + ptrdiff_t(first) * s.channels, x.begin() + ptrdiff_t(first + n) * s.channels);
      const int32_t dropped = std::min(skip, int32_t(kept.size()) / s.channels);
      kept.erase(kept.begin(), kept.begin() + ptrdiff_t(dropped) * s.channels), skip -= dropped;
      shape here = s;
      here.n = int32_t(kept.size()) / s.channels;
      if (here.n < s.kernel) continue;
      const matrix part = convolve(here, kept, w, bias);
      y.insert(y.end(), part.values.begin(), part.values.end());
      const int32_t used = here.n_windows() * s.stride, gone = std::min(used, here.n);
      kept.erase(kept.begin(), kept.begin() + ptrdiff_t(gone) * s.channels), skip += used - gone;
    }
    EXPECT_TRUE(same_bits(whole.values, y)) << s.text() << ", seed " << i;
  }
}

HEED_TEST_EVERY_KERNEL(convolution);

TEST(windows, of_a_matrix) {
  float x[6][2] = {};
  const heed_matrix rows = heed_matrix_of(x[0], 6, 2), w = heed_windows_of(rows, 3, 2);
  EXPECT_EQ(w.data, x[0]);
  EXPECT_EQ(w.n_rows, 2);
  EXPECT_EQ(w.dim, 6);
  EXPECT_EQ(w.row_stride, 4);
  EXPECT_EQ(heed_windows_of(rows, 6, 5).n_rows, 1);
  EXPECT_EQ(heed_windows_of(rows, 1, 1).n_rows, 6);
  const heed_matrix apart = {x[0], 3, 2, 4};
  const float one[14] = {};
  float y[6];
  for (const heed_matrix &bad :
       {heed_windows_of(rows, 7, 1), heed_windows_of(rows, 0, 1), heed_windows_of(rows, 1, 0),
        heed_windows_of(rows, -1, -1), heed_windows_of(apart, 2, 1), heed_windows_of({x[0], 6, 0, 0}, 1, 1),
        heed_windows_of({x[0], HEED_MAX_COUNT, HEED_MAX_COUNT, HEED_MAX_COUNT}, HEED_MAX_COUNT, 1)}) {
    EXPECT_EQ(bad.n_rows, 0);
    EXPECT_EQ(heed_linear(bad, heed_weights_of(one, nullptr, HEED_F32, HEED_OUT_IN, 6, 1), nullptr,
                          heed_matrix_out_of(y, 1, 1), nullptr),
              HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_X));
  }
  // y may lie right behind x, and right before it: only what is read counts.
  float memory[4 + 9 + 4] = {};
  const heed_matrix windows = heed_windows_of(heed_matrix_of(memory + 4, 9, 1), 3, 2);
  for (float *const to : {memory, memory + 13})
    EXPECT_EQ(heed_linear(windows, heed_weights_of(one, nullptr, HEED_F32, HEED_OUT_IN, 3, 1), nullptr,
                          heed_matrix_out_of(to, 4, 1), nullptr),
              HEED_OK);
  EXPECT_EQ(heed_linear(windows, heed_weights_of(one, nullptr, HEED_F32, HEED_OUT_IN, 3, 1), nullptr,
                        heed_matrix_out_of(memory + 12, 4, 1), nullptr),
            HEED_STATUS(HEED_OVERLAP, HEED_ARG_Y));
}

}  // namespace
}  // namespace heed_test
