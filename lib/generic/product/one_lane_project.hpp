// y = bias + x w with w in any format and layout, on processors without vectors. One row widens each weight as it
// comes; more rows share pieces of 512 bytes that are widened once.
#ifndef HEED_GENERIC_ONE_LANE_PROJECT_HPP
#define HEED_GENERIC_ONE_LANE_PROJECT_HPP

#include "one_lane_product.hpp"
#include "../widen.hpp"

namespace heed {

template <class T>
HEED_INLINE const T *weight_at(const stored_weights &w, int32_t i, int32_t n) {
  return static_cast<const T *>(w.data) + (w.out_in ? n * w.stride + i : i * w.stride + n);
}

// One row of x, COLS outputs at a time; the last ones, fewer than that, repeat the last one.
template <class V, int COLS, class T>
static HEED_NOINLINE void project_one_row(const linear_block &b, const stored_weights &w) {
  const ptrdiff_t step = w.out_in ? 1 : w.stride;
  for (int32_t n = 0; n < b.n_cols; n += COLS) {
    const T *p[COLS];
    float acc[COLS], scale[COLS];
    HEED_UNROLL for (int j = 0; j < COLS; j++) {
      const int32_t column = n + j < b.n_cols ? n + j : b.n_cols - 1;
      p[j] = weight_at<T>(w, 0, column);
      acc[j] = b.bias ? b.bias[column] : 0.0f;
      scale[j] = sizeof(T) == 1 ? w.scales[column] : 0.0f;
    }
    const float *x = b.x;
    for (int32_t i = b.depth; i > 0; i--) {
      const float factor = *x++;
      HEED_UNROLL for (int j = 0; j < COLS; j++) {
        acc[j] = V::fma(factor, widen(*p[j], scale[j]), acc[j]);
        keep_pointer(p[j] += step);
      }
    }
    HEED_UNROLL for (int j = 0; j < COLS; j++) if (n + j < b.n_cols) b.y[n + j] = acc[j];
  }
}

constexpr int32_t panel_cols = most_product_rows, panel_rows = 128 / panel_cols;

// w[begin, end)[column, + width), rows `width` apart.
template <class T>
static HEED_NOINLINE void widen_panel(float *to, const stored_weights &w, int32_t begin, int32_t end, int32_t column,
                                      int32_t width) {
  for (int32_t n = column; n < column + width; n++, to++) {
    const T *p = weight_at<T>(w, begin, n);
    const ptrdiff_t step = w.out_in ? 1 : w.stride;
    const float scale = sizeof(T) == 1 ? w.scales[n] : 0.0f;
    float *next = to;
    for (int32_t i = begin; i < end; i++, p += step, next += width) *next = widen(*p, scale);
  }
}

template <class V>
static HEED_NOINLINE void project_panel(const linear_block &b, const float *panel, int32_t begin, int32_t end,
                                        int32_t column, int32_t width) {
  float *y = b.y + column;
  for (int32_t r = 0, rows; r < b.n_rows; r += rows, y += rows * b.y_stride) {
    rows = tile_height(b.n_rows - r, V::sum_rows);
    product p = {{}, panel, width, 1, y, b.y_stride, end - begin, width};
    for (int32_t i = 0; i < rows; i++) {
      p.a[i] = b.x + (r + i) * b.x_stride + begin;
      float *const to = y + i * b.y_stride;
      for (int32_t j = 0; begin == 0 && j < width; j++) to[j] = b.bias ? b.bias[column + j] : 0.0f;
    }
    multiply_exactly<V, values_operand>(p, rows);
  }
}

template <class V, class T>
static void project_one_lane_format(const linear_block &b, const stored_weights &w) {
  if (b.n_rows == 1) return project_one_row<V, panel_cols, T>(b, w);
  float panel[panel_rows * panel_cols];
  for (int32_t column = 0; column < b.n_cols; column += panel_cols) {
    const int32_t width = b.n_cols - column < panel_cols ? b.n_cols - column : panel_cols;
    for (int32_t begin = 0; begin < b.depth; begin += panel_rows) {
      const int32_t end = b.depth - begin < panel_rows ? b.depth : begin + panel_rows;
      widen_panel<T>(panel, w, begin, end, column, width);
      project_panel<V>(b, panel, begin, end, column, width);
    }
  }
}

template <class V>
static void project_one_lane(const linear_block &b, const stored_weights &w) {
  switch (w.format) {
    case stored_f32:
      return project_one_lane_format<V, float>(b, w);
    case stored_f16:
      return project_one_lane_format<V, f16>(b, w);
    case stored_bf16:
      return project_one_lane_format<V, bf16>(b, w);
    default:
      return project_one_lane_format<V, int8_t>(b, w);
  }
}

}  // namespace heed

#endif
