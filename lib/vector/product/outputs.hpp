// Products of few rows where rows of w are outputs: transposed in registers, each number read once for all rows.
#ifndef HEED_GENERIC_OUTPUTS_HPP
#define HEED_GENERIC_OUTPUTS_HPP

#include "ways.hpp"

namespace heed {

// A register of outputs: inputs from i on, fewer than a step. They pass through memory, again with some before them.
template <class V, class T>
static HEED_COLD void add_last_inputs(const linear_block &b, const weights_of<T> &w, int32_t rows, int32_t column,
                                      int32_t i) {
  constexpr int step = columns_of<V, T>;
  const int32_t n = smaller_of(b.depth, step), first = b.depth - n;
  float last[step * V::lanes];
  transpose_rows<V>(last, V::lanes, w.data + column * w.stride + first, w.stride, n, w.scale_of_rows(V(), column));
  for (int32_t r = 0; r < rows && r < b.n_rows; r++) {
    float *const y = b.y + r * b.y_stride + column;
    typename V::reg sum = V::load(y);
    for (int32_t k = i; k < b.depth; k++)
      sum = V::fma(V::factor(b.x[r * b.x_stride + k]), V::load(last + (k - first) * V::lanes), sum);
    V::store(y, sum);
  }
}

// Outputs [column, + VECS registers) of up to ROWS rows, whose weights are transposed in registers, once for all rows.
// Rows beyond those that there are repeat the last.
template <class V, int ROWS, int VECS, class T>
static HEED_NOINLINE void project_outputs(const linear_block &b, const weights_of<T> &w, int32_t column) {
  const ptrdiff_t stride = w.stride;
  const T *rows = w.data + column * stride;
  typename V::reg sum[ROWS][VECS];
  scaling<V, T> scale[VECS];
  const float *x[ROWS];
  const auto row = [&](int r) HEED_INLINED { return smaller_of(r, b.n_rows - 1); };
  HEED_UNROLL for (int r = 0; r < ROWS; r++) x[r] = b.x + (r ? row(r) * b.x_stride : 0);
  HEED_UNROLL for (int v = 0; v < VECS; v++) scale[v] = w.scale(V(), column + v * V::lanes);
  start_tile<V, ROWS, VECS>(sum,
                            [&](int, int v) HEED_INLINED { return load_or_zero<V>(b.bias, column + v * V::lanes); });
  const auto add = [&](auto vec, int32_t i, typename V::reg weight) HEED_INLINED {
    constexpr int v = decltype(vec)::value;
    HEED_UNROLL for (int r = 0; r < ROWS; r++) sum[r][v] = V::fma(V::factor(x[r][i]), weight, sum[r][v]);
  };
  constexpr int step = sizeof(T) == sizeof(float) ? 4 : columns_of<V, T>;  // of floats 4 are faster than 16
  // Several registers of outputs take turns after each step; where their rows collide in the first-level cache, after
  // 16 inputs, so that none reads a cache line in pieces between which the others push it out. One alone: loops of one
  // step took 1.3 to 1.7 times as long (f32, 512 x 1376).
  const bool collide = VECS == 1 || static_cast<size_t>(stride) * sizeof(T) % 2048 == 0;
  const int32_t run = collide ? 16 : step;
  const int32_t whole = b.depth / step * step;
  const bool fetches = repays_fetching(w);
  int32_t i = 0;
  while (i < whole) {
    if (fetches && i % (64 / static_cast<int>(sizeof(T))) == 0)
      for (int l = 0; l < VECS * V::lanes; l++) fetch(rows + (VECS * V::lanes + l) * stride + i);
    const int32_t end = end_of_block(i, run, whole);
    for_each_constant<VECS>([&](auto v) HEED_INLINED {
      for (int32_t k = i; k < end; k += step) {
        const T *from = rows + decltype(v)::value * V::lanes * stride + k;
        const auto add_column = [&](auto j, typename V::reg number)
                                    HEED_INLINED { add(v, k + decltype(j)::value, number); };
        if constexpr (step < columns_of<V, T>)
          columns_of_floats<V>(from, stride, add_column);
        else
          scaled_columns<V>(from, stride, scale[decltype(v)::value], add_column);
      }
    });
    i = end;
  }
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    float *to = b.y + (r ? row(r) * b.y_stride : 0) + column;
    HEED_UNROLL for (int v = 0; v < VECS; v++) V::store(to + v * V::lanes, sum[r][v]);
  }
  if (i < b.depth)
    for (int v = 0; v < VECS; v++) add_last_inputs<V>(b, w, ROWS, column + v * V::lanes, i);
}

// One row of at least a tile of outputs or, with 16 lanes, up to four rows: are_few_outputs() says which. The last tile
// overlaps outputs that are done.
template <class V, class T>
static void multiply_outputs(const linear_block &b, const weights_of<T> &w) {
  constexpr int32_t width = outputs_vecs<V> * V::lanes;
  const int32_t n = b.n_cols;
  if constexpr (V::lanes == 16)
    if (b.n_rows > 1) {
      // A tile of two rows would take a tenth less, and 5 KB.
      for (int32_t column = 0; column < n; column += V::lanes)
        project_outputs<V, 4, 1>(b, w, smaller_of(column, n - V::lanes));
      return;
    }
  for (int32_t column = 0; column < n; column += width)
    project_outputs<V, 1, outputs_vecs<V>>(b, w, smaller_of(column, n - width));
}

}  // namespace heed

#endif
