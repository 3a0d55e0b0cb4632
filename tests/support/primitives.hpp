// Runs the primitives in fenced memory with any row stride and executor. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PRIMITIVES_HPP
#define HEED_TESTS_SUPPORT_PRIMITIVES_HPP

#include <vector>

#include "fence.hpp"
#include "heed/heed.h"
#include "run.hpp"

namespace heed_test {

// A matrix without layout: n_rows * dim floats.
struct matrix {
  int32_t n_rows, dim;
  std::vector<float> values;
  std::vector<float> row(int32_t r) const { return part_of(values, size_t(r) * dim, size_t(dim)); }
};

// How a primitive is called; no bit depends on it.
struct primitive_setting {
  int32_t padding = 0;  // floats between rows
  bool in_place = false;
  const heed_executor *executor = nullptr;
};

inline placement rows_of(const matrix &m, int32_t padding) {
  return place(layout::padded, padding, 1, 1, m.n_rows, m.dim);
}

inline heed_matrix put(slot which, const matrix &m, int32_t padding) {
  const placement p = rows_of(m, padding);
  const fenced_floats memory(which, p.extent(), unread_bits);
  scatter(p, m.values, memory.data());
  return {memory.data(), m.n_rows, m.dim, p.row_stride};
}

// Memory for a result, and the check of it after the call.
class result_rows {
 public:
  result_rows(int32_t n_rows, int32_t dim, int32_t padding)
      : place_(place(layout::padded, padding, 1, 1, n_rows, dim)), memory_(slot_out, place_.extent(), unwritten_bits) {}
  heed_matrix_out view() const { return {memory_.data(), place_.n_rows, place_.dim, place_.row_stride}; }
  matrix take() const { return {place_.n_rows, place_.dim, gather(place_, memory_)}; }

 private:
  placement place_;
  fenced_floats memory_;
};

inline matrix run_softmax(const matrix &x, float scale, const primitive_setting &s = {}) {
  if (s.in_place) {
    const heed_matrix in = put(slot_out, x, s.padding);
    float *data = const_cast<float *>(in.data);
    EXPECT_EQ(heed_softmax(in, scale, {data, in.n_rows, in.dim, in.row_stride}, s.executor), HEED_OK);
    matrix y = {x.n_rows, x.dim, {}};
    for (int32_t r = 0; r < x.n_rows; ++r)
      y.values.insert(y.values.end(), data + r * in.row_stride, data + r * in.row_stride + x.dim);
    return y;
  }
  const result_rows y(x.n_rows, x.dim, s.padding);
  EXPECT_EQ(heed_softmax(put(slot_q, x, s.padding), scale, y.view(), s.executor), HEED_OK);
  return y.take();
}

inline matrix run_weighted_sum(const matrix &weights, const matrix &rows, const primitive_setting &s = {}) {
  const result_rows out(weights.n_rows, rows.dim, s.padding);
  EXPECT_EQ(heed_weighted_sum(put(slot_q, weights, s.padding), put(slot_k, rows, s.padding), out.view(), s.executor),
            HEED_OK);
  return out.take();
}

// bias is empty or as long as w's rows.
inline matrix run_linear(const matrix &x, const matrix &w, const std::vector<float> &bias,
                         const primitive_setting &s = {}) {
  const result_rows y(x.n_rows, w.dim, s.padding);
  const fenced_floats b(slot_v, bias.size(), unread_bits);
  std::copy(bias.begin(), bias.end(), b.data());
  const float *b_or_null = bias.empty() ? nullptr : b.data();
  EXPECT_EQ(heed_linear(put(slot_q, x, s.padding), heed_weights_of_matrix(put(slot_k, w, s.padding)), b_or_null,
                        y.view(), s.executor),
            HEED_OK);
  return y.take();
}

inline float run_dot(const std::vector<float> &a, const std::vector<float> &b) {
  const fenced_floats left(slot_q, a.size(), unread_bits), right(slot_k, b.size(), unread_bits);
  std::copy(a.begin(), a.end(), left.data());
  std::copy(b.begin(), b.end(), right.data());
  const fenced_floats result(slot_out, 1, unwritten_bits);
  EXPECT_EQ(heed_dot(left.data(), right.data(), static_cast<int32_t>(a.size()), result.data()), HEED_OK);
  EXPECT_TRUE(result.guard_intact());
  return *result.data();
}

}  // namespace heed_test

#endif
