// Products of many rows: panels of columns of w, which all rows use from a cache. They are read where they lie
// (multiply_panels), some rows of w at a time where these are contiguous (multiply_contiguous), or from a copy on the
// stack (multiply_copied_panels).
#ifndef HEED_PANELS_HPP
#define HEED_PANELS_HPP

#include "sum_rows.hpp"
#include "ways.hpp"

namespace heed {

// Columns from `column` on, inputs [begin, end), whose weights w has in rows w_stride apart.
HEED_INLINE sum_operands operands_with(const linear_block &b, const float *w, ptrdiff_t w_stride, int32_t column,
                                       int32_t begin, int32_t end) {
  return {
      b.x + begin, b.x_stride, 1,        w,        w_stride, b.y + column, b.y_stride, offset_or_null(b.bias, column),
      end - begin, nullptr,    w_stride, b.n_cols, 0};
}
template <class V>
HEED_INLINE sum_operands linear_operands(const linear_block &b, int32_t column, int32_t begin, int32_t end) {
  return operands_with(b, b.w + begin * b.w_stride + column, b.w_stride, column, begin, end);
}

HEED_INLINE chain chain_at(const linear_block &b, int32_t begin) {
  if (begin > 0) return chain::keep;
  return b.bias ? chain::bias : chain::zero;
}

// Many rows: panels of w that all rows use, from the second-level cache. The first rows ask for what comes next: deeper
// rows of w, other columns, or, behind contiguous rows, most likely another panel of packed weights.
template <class V>
static void multiply_panels(const linear_block &b, const weights_of<float> &w, int32_t n) {
  constexpr int32_t panel = V::sum_vecs * V::lanes;
  const int32_t depth = depth_of_panels<V>(b, w), most_rows = rows_of_panels<V>(b);
  const ptrdiff_t behind = b.w_stride <= contiguous_stride ? b.depth * b.w_stride : 0;
  for (int32_t column = 0; column < n; column += panel) {
    const int32_t width = smaller_of(n - column, panel);
    ptrdiff_t other = column + panel < n ? panel : 0;  // how far behind the panel lies that comes next
    if (other == 0 && behind > 0) other = behind - column;
    for (int32_t row = 0; row < b.n_rows; row += most_rows) {
      const int32_t n_rows = smaller_of(b.n_rows - row, most_rows);
      for (int32_t begin = 0; begin < b.depth; begin += depth) {
        const int32_t end = end_of_block(begin, depth, b.depth);
        sum_operands o = linear_operands<V>(b, column, begin, end);
        if (!V::compact && row == 0 && end < b.depth)
          o.next = depth * b.w_stride;
        else if (!V::compact && row == 0 && other > 0)
          o.next = other - begin * b.w_stride;
        o.a += row * b.x_stride;
        o.acc += row * b.y_stride;
        sum_whole<V>(o, chain_at(b, begin), n_rows, width);
      }
    }
  }
}

// Rows of w that lie one after another, as those of a panel of packed weights: some of them at a time for all columns
// and rows, 4 by 4, which together ask for the next ones.
template <class V>
static void multiply_contiguous(const linear_block &b, int32_t n) {
  constexpr int32_t depth = 64, rows = contiguous_rows;
  for (int32_t begin = 0; begin < b.depth; begin += depth) {
    const int32_t end = end_of_block(begin, depth, b.depth), groups = (b.n_rows + rows - 1) / rows;
    sum_operands o = linear_operands<V>(b, 0, begin, end);
    const bool fetch = b.depth - end >= depth;
    o.ahead_stride = b.w_stride / groups;
    for (int32_t row = 0; row < b.n_rows; row += rows) {
      if (fetch) o.ahead = b.w + end * b.w_stride + depth * o.ahead_stride * (row / rows);
      sum_whole<V>(o, chain_at(b, begin), smaller_of(b.n_rows - row, rows), n);
      o.a += rows * o.a_row;
      o.acc += rows * o.acc_stride;
    }
  }
}

// Pieces of w are copied to the stack for all rows to use. The step puts w[begin, end)[column, + width) there, rows copy_width apart; w is a weights_of<T>.
using copy_step = void (*)(float *copy, const void *w, int32_t column, int32_t width, int32_t begin, int32_t end);
// Where rows of w are inputs, pieces are taken in their order, for as many columns as y keeps in the second-level cache
// meanwhile.
template <class V>
static HEED_NOINLINE void multiply_copied_panels(const linear_block &b, int32_t n, const void *w, copy_step fill,
                                                 bool out_in) {
  constexpr int32_t most_width = copy_width<V>, depth = copy_floats<V> / most_width, y_floats = 65536;
  float copy[depth * most_width];
  const auto sum = [&](int32_t column, int32_t width, int32_t begin) HEED_INLINED {
    const int32_t end = end_of_block(begin, depth, b.depth);
    fill(copy, w, column, width, begin, end);
    sum_whole<V>(operands_with(b, copy, most_width, column, begin, end), chain_at(b, begin), b.n_rows, width);
  };
  int32_t block = most_width;
  if (!out_in && b.n_rows < y_floats / most_width) block = y_floats / b.n_rows / most_width * most_width;
  for (int32_t first = 0; first < n; first += block) {
    const int32_t last = end_of_block(first, block, n);
    for (int32_t begin = 0; begin < b.depth; begin += depth)
      for (int32_t column = first; column < last; column += most_width)
        sum(column, smaller_of(last - column, most_width), begin);
  }
}

template <class V, class T>
static void copy_weights(float *copy, const void *weights, int32_t column, int32_t width, int32_t begin, int32_t end) {
  const auto &w = *static_cast<const weights_of<T> *>(weights);
  const T *from = w.data + begin * w.stride + column;
  scaling<V, T> scale[copy_width<V> / V::lanes];
  const int32_t n = width / V::lanes;
  for (int32_t v = 0; v < n; v++) scale[v] = w.scale(V(), column + v * V::lanes);
  for (int32_t i = begin; i < end; i++, from += w.stride, copy += copy_width<V>) {
    if (!V::compact) fetch(from + (end - begin) * w.stride);
    for (int32_t v = 0; v < n; v++) V::store(copy + v * V::lanes, scaled<V, T>(V::load(from + v * V::lanes), scale[v]));
  }
}

}  // namespace heed

#endif
