// Projections of compact models: one row or two, with weights widened, and transposed, in registers. All of depth is one
// chain in a register, so that a column's weights are read one after another for two rows at a time, and none is copied.
#ifndef HEED_GENERIC_COMPACT_HPP
#define HEED_GENERIC_COMPACT_HPP

#include "ways.hpp"

namespace heed {

// The same from column `first` on.
HEED_INLINE linear_block from_column(linear_block b, int32_t first) {
  b.y += first;
  if (b.bias) b.bias += first;
  b.n_cols -= first;
  return b;
}

template <class V, int ROWS, int VECS, bool OUT_IN, class T>
static HEED_NOINLINE void compact_tile(const linear_block &b, const weights_of<T> &w, int32_t column) {
  const ptrdiff_t stride = w.stride, x_stride = b.x_stride, y_stride = b.y_stride;
  typename V::reg sum[ROWS][VECS];
  scaling<V, T> scale[VECS];
  HEED_UNROLL for (int v = 0; v < VECS; v++) scale[v] = w.scale(V(), column + v * V::lanes);
  const float *const bias = offset_or_null(b.bias, column);
  start_tile<V, ROWS, VECS>(sum, [=](int, int v) HEED_INLINED { return load_or_zero<V>(bias, v * V::lanes); });
  const auto of_rows = V::rows(stride);
  const float *x = b.x;
  const T *p = w.data + (OUT_IN ? column * stride : column);
  const auto add = [&](int32_t n) HEED_INLINED {
    HEED_UNROLL for (int32_t i = 0; i < n; i++) {
      typename V::reg columns[VECS];
      HEED_UNROLL for (int v = 0; v < VECS; v++) {
        const auto numbers =
            OUT_IN ? V::column(p + v * V::lanes * stride + i, of_rows) : V::load(p + i * stride + v * V::lanes);
        columns[v] = scaled<V, T>(numbers, scale[v]);
      }
      add_step<V, ROWS, VECS>(sum, columns, [=](int r) HEED_INLINED { return x[r * x_stride + i]; });
    }
    x += n;
    p += OUT_IN ? n : n * stride;
  };
  int32_t left = b.depth;
  for (; OUT_IN && left >= 2; left -= 2) add(2);
  for (; left > 0; left--) add(1);
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    HEED_UNROLL for (int v = 0; v < VECS; v++) V::store(b.y + r * y_stride + column + v * V::lanes, sum[r][v]);
  }
}

// VECS registers of columns for all rows, two by two; a last row is its own second one.
template <class V, int VECS, bool OUT_IN, class T>
static void compact_rows(linear_block b, const weights_of<T> &w, int32_t column) {
  for (; b.n_rows > 0; b.n_rows -= 2) {
    const ptrdiff_t x_step = 2 * b.x_stride, y_step = 2 * b.y_stride;
    if (b.n_rows == 1) b.x_stride = b.y_stride = 0;
    compact_tile<V, 2, VECS, OUT_IN>(b, w, column);
    b.x += x_step;
    b.y += y_step;
  }
}

// n columns (whole registers), as many side by side as registers hold with their scales: for all rows before the next.
template <class V, bool OUT_IN, class T>
static void compact_tiles(const linear_block &b, const weights_of<T> &w, int32_t n) {
  // Zero points take registers, too.
  constexpr int single = has_zero_point(T()) || OUT_IN ? 2 : V::sum_vecs;
  constexpr int with_scales = sizeof(T) == 1 ? 2 : single;
  constexpr int pair = has_zero_point(T()) ? 1 : with_scales;
  const bool collide = OUT_IN && static_cast<size_t>(w.stride) * sizeof(T) % 2048 == 0;  // in the first-level cache
  int32_t most = b.n_rows == 1 ? single : pair;
  if (collide) most = 1;
  for (int32_t column = 0, vecs; column < n; column += vecs * V::lanes) {
    const int32_t left = (n - column) / V::lanes;
    vecs = 1;
    if (left >= most)
      vecs = most;
    else if (left >= pair && !collide)
      vecs = pair;
    linear_block rows = b;
    const bool odd = vecs == single && (b.n_rows & 1) != 0;  // with a tile for the last row
    if (odd) rows.n_rows--;
    if (vecs == 1)
      compact_rows<V, 1, OUT_IN>(rows, w, column);
    else
      compact_rows<V, pair, OUT_IN>(rows, w, column);
    if (!odd) continue;
    rows.x += rows.n_rows * b.x_stride;
    rows.y += rows.n_rows * b.y_stride;
    compact_tile<V, 1, single, OUT_IN>(rows, w, column);
  }
}

template <class V, class T>
static void project_compact(const linear_block &b, const stored_weights &s) {
  one_for_all<V> one;
  const weights_of<T> w = weights_in<V, T>(s, one);
  const auto tiles = [&](const linear_block &part, const weights_of<T> &of_part, int32_t n) {
    if (s.out_in || sizeof(T) == sizeof(float))  // floats of the other layout are heed_linear's
      compact_tiles<V, true>(part, of_part, n);
    else
      compact_tiles<V, false>(part, of_part, n);
  };
  const int32_t whole = b.n_cols / V::lanes * V::lanes, last = b.n_cols - V::lanes;
  tiles(b, w, whole);
  // The last register overlaps columns that are done: it computes them again from the start.
  if (whole < b.n_cols) tiles(from_column(b, last), w.from(last, s.out_in), V::lanes);
}

}  // namespace heed

#endif
