// y = bias + x w (rule 10). Blocks of depth keep a panel of w in the first-level cache; y itself holds the chains
// between blocks, so no workspace is needed and the order of each chain stays the same.
#ifndef HEED_GENERIC_LINEAR_HPP
#define HEED_GENERIC_LINEAR_HPP

#include "sum_rows.hpp"

namespace heed {

template <class V>
HEED_INLINE sum_operands linear_operands(const linear_block &b, int32_t column, int32_t begin, int32_t end) {
  return {b.x + begin, b.x_stride,   1,          b.w + begin * b.w_stride + column,
          b.w_stride,  b.y + column, b.y_stride, b.bias ? b.bias + column : nullptr,
          end - begin, nullptr,      0,          nullptr,
          b.w_stride};
}

template <class V>
static void linear(const linear_block &b) {
  const chain from = b.bias ? chain::bias : chain::zero;
  if (b.n_cols < V::lanes) return sum_narrow<V>(linear_operands<V>(b, 0, 0, b.depth), from, b.n_rows, b.n_cols);
  // Few rows: w is read once, so read it in its own order, and fetch the next rows meanwhile. Many rows: a panel of w
  // that all rows use, of 96 rows: deeper ones fall out of the second-level cache when w's rows are a multiple of 4 KB
  // apart.
  constexpr int32_t panel = V::sum_vecs * V::lanes;
  const bool few = b.n_rows <= V::sum_rows / 2;
  const int32_t depth_step = few ? 16 : 96;
  const int32_t whole = b.n_cols / V::lanes * V::lanes, column_step = few ? whole : panel;
  for (int32_t column = 0; column < whole; column += column_step) {
    const int32_t width = whole - column < column_step ? whole - column : column_step;
    for (int32_t begin = 0; begin < b.depth; begin += depth_step) {
      const int32_t end = b.depth - begin < depth_step ? b.depth : begin + depth_step;
      sum_operands o = linear_operands<V>(b, column, begin, end);
      if (few && end + depth_step <= b.depth) o.ahead = o.b + depth_step * b.w_stride;
      sum_whole<V>(o, begin == 0 ? from : chain::keep, b.n_rows, width);
    }
  }
  if (whole == b.n_cols) return;
  // The last register overlaps columns that are done: it computes them again from the start.
  sum_columns<V, 1>(linear_operands<V>(b, b.n_cols - V::lanes, 0, b.depth), from, b.n_rows);
}

}  // namespace heed

#endif
