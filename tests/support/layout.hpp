// Memory layouts: where the rows of a tensor lie, and what lies between them. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_LAYOUT_HPP
#define HEED_TESTS_SUPPORT_LAYOUT_HPP

#include <cstddef>
#include <vector>

#include "fence.hpp"
#include "heed/heed.h"

namespace heed_test {

enum class layout { head_major, token_major, packed, padded, token_major_padded };
constexpr layout all_layouts[] = {layout::head_major, layout::token_major, layout::packed, layout::padded,
                                  layout::token_major_padded};

// Where element (b, h, t, i) of one tensor lies.
struct placement {
  int32_t n_batch, n_heads, n_rows, dim;
  ptrdiff_t batch_stride, head_stride, row_stride;
  size_t at(int32_t b, int32_t h, int32_t t) const {
    return static_cast<size_t>(b * batch_stride + h * head_stride + t * row_stride);
  }
  size_t extent() const { return at(n_batch - 1, n_heads - 1, n_rows - 1) + size_t(dim); }
  size_t count() const { return size_t(n_batch) * n_heads * n_rows * dim; }
};

inline placement place(layout how, int32_t padding, int32_t n_batch, int32_t n_heads, int32_t n_rows, int32_t dim) {
  placement p = {n_batch, n_heads, n_rows, dim, 0, 0, 0};
  if (how == layout::head_major || how == layout::padded) {
    const int32_t pad = how == layout::padded ? padding : 0;
    p.row_stride = dim + pad;
    p.head_stride = n_rows * p.row_stride + 3 * pad;
    p.batch_stride = n_heads * p.head_stride + 5 * pad;
  } else {
    const int32_t pad = how == layout::token_major_padded ? padding : 0;
    p.head_stride = dim + pad;
    p.row_stride = n_heads * p.head_stride + 2 * pad;
    p.batch_stride = n_rows * p.row_stride + pad;
  }
  return p;
}

// Visits every row: visit(offset in the laid-out buffer, index of the row's first float in canonical order).
template <typename Visit>
void each_row(const placement &p, Visit visit) {
  size_t index = 0;
  for (int32_t b = 0; b < p.n_batch; ++b)
    for (int32_t h = 0; h < p.n_heads; ++h)
      for (int32_t t = 0; t < p.n_rows; ++t, index += size_t(p.dim)) visit(p.at(b, h, t), index);
}

inline void scatter(const placement &p, const std::vector<float> &from, float *to) {
  each_row(p, [&](size_t at, size_t index) { std::memcpy(to + at, &from[index], size_t(p.dim) * sizeof(float)); });
}

inline std::vector<float> gather(const placement &p, const float *from) {
  std::vector<float> to(p.count());
  each_row(p, [&](size_t at, size_t index) { std::memcpy(&to[index], from + at, size_t(p.dim) * sizeof(float)); });
  return to;
}

// The same of a result, and the checks of what lies around its rows. `all`: each row must have been written.
inline std::vector<float> gather(const placement &p, const fenced_floats &from, bool all = true) {
  std::vector<bool> is_row(from.count());
  each_row(p, [&](size_t at, size_t) { std::fill_n(is_row.begin() + std::ptrdiff_t(at), p.dim, true); });
  size_t n_written = 0, n_left = 0;
  for (size_t i = 0; i < from.count(); ++i) {
    n_written += !is_row[i] && !from.untouched(i);
    n_left += is_row[i] && from.untouched(i);
  }
  EXPECT_EQ(n_written, 0u) << "floats between rows were written";
  EXPECT_TRUE(!all || n_left == 0) << n_left << " floats of the result were not written";
  EXPECT_TRUE(from.guard_intact()) << "memory in front of the result was written";
  return gather(p, from.data());
}

inline heed_tensor input_view(const placement &p, const float *data) {
  return {data, p.batch_stride, p.head_stride, p.row_stride};
}
inline heed_tensor_out output_view(const placement &p, float *data) {
  return {data, p.batch_stride, p.head_stride, p.row_stride};
}

}  // namespace heed_test

#endif
