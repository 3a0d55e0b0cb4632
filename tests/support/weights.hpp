// Random weights of a projection in any format and layout, in fenced memory. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_WEIGHTS_HPP
#define HEED_TESTS_SUPPORT_WEIGHTS_HPP

#include <string>
#include <vector>

#include "data.hpp"
#include "numbers.hpp"
#include "primitives.hpp"

namespace heed_test {

// Weights that end at a fence, at any address that their format allows, rows padded by what nobody may read.
struct weights {
  stored_numbers numbers;
  std::vector<float> scales;  // of int8
  int32_t layout, n_in, n_out, stride;
  bool shifted = false;  // by zero points: there may be one scale for all outputs, and zero points may be null
  std::vector<unsigned char> zeros = {};

  float scale(int32_t o) const { return scales[scales.size() == 1 ? 0 : size_t(o)]; }
  int32_t byte(unsigned char bits) const {
    return numbers.dtype == HEED_UINT8 ? bits : static_cast<int32_t>(static_cast<int8_t>(bits));
  }
  int32_t zero(int32_t o) const { return zeros.empty() ? 0 : byte(zeros[zeros.size() == 1 ? 0 : size_t(o)]); }
  float at(int32_t i, int32_t o) const {
    const size_t at = layout == HEED_OUT_IN ? size_t(o) * stride + i : size_t(i) * stride + o;
    if (shifted) return static_cast<float>(byte(numbers.bytes[at]) - zero(o)) * scale(o);
    return scales.empty() ? numbers.at(at) : numbers.at(at) * scale(o);
  }
  matrix widened() const {
    matrix w = {n_in, n_out, {}};
    for (int32_t i = 0; i < n_in; ++i)
      for (int32_t o = 0; o < n_out; ++o) w.values.push_back(at(i, o));
    return w;
  }
  // In fenced memory, until the next call.
  heed_weights view() const {
    const int32_t n_rows = layout == HEED_OUT_IN ? n_out : n_in, dim = layout == HEED_OUT_IN ? n_in : n_out;
    const size_t bytes = (size_t(n_rows - 1) * stride + dim) * HEED_DTYPE_BYTES(numbers.dtype);
    unsigned char *data = fence_of(slot_k) - bytes;
    std::memcpy(data, numbers.bytes.data(), bytes);
    heed_weights w = heed_weights_of(data, nullptr, numbers.dtype, layout, n_in, n_out);
    w.row_stride = stride;
    if (!scales.empty()) {
      float *to = reinterpret_cast<float *>(fence_of(slot_mask)) - scales.size();
      std::copy(scales.begin(), scales.end(), to);
      w.scales = to;
    }
    if (!shifted) return w;
    unsigned char *to = fence_of(slot_sinks) - zeros.size();
    std::copy(zeros.begin(), zeros.end(), to);
    return heed_weights_with_zero_points(w, zeros.empty() ? nullptr : to, int32_t(scales.size()));
  }
};

constexpr int32_t weight_formats[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8, HEED_UINT8};

// HEED_UINT8: with zero points, also as int8; half of the numbers are the least or the greatest.
inline weights random_weights(random_source &r, int32_t dtype, int32_t layout, int32_t n_in, int32_t n_out,
                              int32_t padding) {
  const int32_t n_rows = layout == HEED_OUT_IN ? n_out : n_in, dim = layout == HEED_OUT_IN ? n_in : n_out;
  static constexpr int32_t extremes[] = {0, 127, 128, 255};
  weights w = {{dtype == HEED_UINT8 && r.chance(50) ? HEED_INT8 : dtype, {}}, {}, layout, n_in, n_out, dim + padding};
  w.numbers.bytes.resize(size_t(n_rows) * w.stride * HEED_DTYPE_BYTES(dtype));
  for (size_t i = 0; i < size_t(n_rows) * w.stride; ++i) {
    const bool gap = i % size_t(w.stride) >= size_t(dim);
    const float x = r.bell();
    if (dtype == HEED_F32) {
      const float value = gap ? not_a_number : x;
      std::memcpy(&w.numbers.bytes[4 * i], &value, 4);
    } else if (dtype == HEED_UINT8) {
      w.numbers.bytes[i] = static_cast<unsigned char>(r.chance(50) ? r.between(0, 255) : extremes[r.between(0, 3)]);
    } else if (dtype == HEED_INT8) {
      w.numbers.bytes[i] = static_cast<unsigned char>(r.between(-127, 127));
    } else {
      uint16_t bits = 0x7fff;  // NaN
      if (!gap) heed_convert_from_f32(heed_matrix_of(&x, 1, 1), heed_typed_matrix_out_of(&bits, nullptr, dtype, 1, 1));
      if (!gap && dtype == HEED_F16 && r.chance(5)) bits = static_cast<uint16_t>(r.between(0, 0x3ff));  // subnormal
      std::memcpy(&w.numbers.bytes[2 * i], &bits, 2);
    }
  }
  if (dtype == HEED_INT8)
    for (int32_t o = 0; o < n_out; ++o) w.scales.push_back(std::fabs(r.bell()) * 0.01f);
  if (dtype == HEED_UINT8) {
    w.shifted = true;
    const int32_t n = r.chance(50) ? 1 : n_out;
    for (int32_t o = 0; o < n; ++o) w.scales.push_back(r.bell() * 0.01f);
    for (int32_t o = 0; o < n && n_in % 8; ++o)
      w.zeros.push_back(static_cast<unsigned char>(r.chance(50) ? r.between(0, 255) : r.between(0, 1) * 255));
  }
  return w;
}

}  // namespace heed_test

#endif
