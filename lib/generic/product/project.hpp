// y = bias + x w with w in any format and layout: the chains of linear.hpp. Few rows widen and transpose in registers;
// many share pieces for which that is done once.
#ifndef HEED_GENERIC_PROJECT_HPP
#define HEED_GENERIC_PROJECT_HPP

#include "linear.hpp"

namespace heed {

// The same from column `first` on.
HEED_INLINE linear_block from_column(linear_block b, int32_t first) {
  b.y += first;
  if (b.bias) b.bias += first;
  b.n_cols -= first;
  return b;
}

// ---- rows of w are inputs

template <class V, class T>
static void project_in_out(const linear_block &b, const weights_of<T> &w, int32_t n) {
  if constexpr (V::compact) {
    if (b.n_rows == 1) {
      int32_t column = 0;
      for (; column + V::sum_vecs * V::lanes <= n; column += V::sum_vecs * V::lanes)
        project_row<V, V::sum_vecs>(b, w, column);
      for (; column < n; column += V::lanes) project_row<V, 1>(b, w, column);
      return;
    }
  } else if constexpr (V::loads_narrow) {
    if (b.n_rows == 1) return linear_few_rows<V>(b, w, n);
    // Beyond, widening a number for each tile of rows costs more than a copy.
    if (b.n_rows <= 24) return linear_strips<V>(b, w, n);
  }
  linear_copied_panels<V>(b, n, &w, copy_weights<V, T>, false);
}

// ---- rows of w are outputs

template <class V, class T>
static void copy_transposed(float *copy, const void *weights, int32_t column, int32_t width, int32_t begin,
                            int32_t end) {
  const auto &w = *static_cast<const weights_of<T> *>(weights);
  if (!V::compact) {  // the next piece, while this one is summed
    for (int32_t c = column; c < column + width; c++)
      for (int32_t i = 0; i < end - begin; i += 64 / static_cast<int>(sizeof(T)))
        __builtin_prefetch(w.data + c * w.stride + end + i, 0, 2);
  }
  for (int32_t c = column; c < column + width; c += V::lanes, copy += V::lanes)
    transpose_rows<V>(copy, copy_width<V>, w.data + c * w.stride + begin, w.stride, end - begin, w.scale(V(), c));
}

// A register of outputs: inputs from i on, fewer than a step. They pass through memory, again with some before them.
template <class V, class T>
static HEED_NOINLINE void add_last_inputs(const linear_block &b, const weights_of<T> &w, int32_t rows, int32_t column,
                                          int32_t i) {
  constexpr int step = columns_of<V, T>;
  const int32_t n = b.depth < step ? b.depth : step, first = b.depth - n;
  float last[step * V::lanes];
  transpose_rows<V>(last, V::lanes, w.data + column * w.stride + first, w.stride, n, w.scale(V(), column));
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
  typename V::reg sum[ROWS][VECS], scale[VECS];
  const float *x[ROWS];
  const auto row = [&](int r) HEED_INLINED { return r < b.n_rows ? r : b.n_rows - 1; };
  HEED_UNROLL for (int r = 0; r < ROWS; r++) x[r] = b.x + (r ? row(r) * b.x_stride : 0);
  HEED_UNROLL for (int v = 0; v < VECS; v++) scale[v] = w.scale(V(), column + v * V::lanes);
  start_tile<V, ROWS, VECS>(
      sum, [&](int, int v) HEED_INLINED { return b.bias ? V::load(b.bias + column + v * V::lanes) : V::set(0.0f); });
  const auto add = [&](auto vec, int32_t i, typename V::reg weight) HEED_INLINED {
    constexpr int v = decltype(vec)::value;
    HEED_UNROLL for (int r = 0; r < ROWS; r++) sum[r][v] = V::fma(V::factor(x[r][i]), weight, sum[r][v]);
  };
  constexpr int step = sizeof(T) == sizeof(float) ? 4 : columns_of<V, T>;  // of floats 4 are faster than 16
  // 16 of each output in turn: longer chains would wait for each other, and shorter ones read a cache line in pieces,
  // between which rows far apart push it out of the first-level cache.
  constexpr int run = V::compact ? step : 16;
  const int32_t whole = b.depth / step * step;
  int32_t i = 0;
  while (i < whole) {
    if (!V::compact && i % (64 / static_cast<int>(sizeof(T))) == 0)
      for (int l = 0; l < VECS * V::lanes; l++) fetch_ahead(rows + l * stride + i);
    const int32_t end = whole - i < run ? whole : i + run;
    for_each_constant<VECS>([&](auto v) HEED_INLINED {
      for (int32_t k = i; k < end; k += step) {
        const T *from = rows + decltype(v)::value * V::lanes * stride + k;
        const auto add_column = [&](auto j, typename V::reg number) HEED_INLINED {
          add(v, k + decltype(j)::value, scaled<V, T>(number, scale[decltype(v)::value]));
        };
        if constexpr (step < columns_of<V, T>)
          columns_of_floats<V>(from, stride, add_column);
        else
          V::columns(from, stride, add_column);
      }
    });
    i = end;
  }
  if constexpr (V::compact) {
    for (; i < b.depth; i++)
      for_each_constant<VECS>([&](auto v) HEED_INLINED {
        constexpr int vec = decltype(v)::value;
        add(v, i, scaled<V, T>(load_column<V>(rows + vec * V::lanes * stride + i, stride), scale[vec]));
      });
  }
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    float *to = b.y + (r ? row(r) * b.y_stride : 0) + column;
    HEED_UNROLL for (int v = 0; v < VECS; v++) V::store(to + v * V::lanes, sum[r][v]);
  }
  if (!V::compact && i < b.depth)
    for (int v = 0; v < VECS; v++) add_last_inputs<V>(b, w, ROWS, column + v * V::lanes, i);
}

// One row and at least as many outputs as a tile has, the last of which overlaps outputs that are done. Two registers
// of them are abreast, so that none waits for the other's chain; with 16 lanes a step has other work enough (int8 alone
// would gain 7 %).
template <class V>
constexpr int outputs_vecs = V::lanes == 16 ? 1 : 2;
template <class V, class T>
static void project_outputs_of_row(const linear_block &b, const weights_of<T> &w, int32_t n) {
  constexpr int32_t width = outputs_vecs<V> * V::lanes;
  for (int32_t column = 0; column < n; column += width)
    project_outputs<V, 1, outputs_vecs<V>>(b, w, column + width <= n ? column : n - width);
}

// 2 to 8 rows, where there are registers for it: with 16 of them a copy costs no more.
template <class V, class T>
static void project_outputs_of_rows(const linear_block &b, const weights_of<T> &w, int32_t n) {
  for (int32_t column = 0; column < n; column += V::lanes) {
    linear_block part = b;
    for (; part.n_rows > 2; part.n_rows -= 4) {
      project_outputs<V, 4, 1>(part, w, column);
      part.x += 4 * b.x_stride;
      part.y += 4 * b.y_stride;
    }
    if (part.n_rows > 0) project_outputs<V, 2, 1>(part, w, column);
  }
}

template <class V, class T>
static void project_out_in(const linear_block &b, const weights_of<T> &w, int32_t n) {
  if constexpr (V::compact) {
    if (b.n_rows == 1) {
      const bool collide = static_cast<size_t>(w.stride) * sizeof(T) % 2048 == 0;  // in the first-level cache
      int32_t column = 0;
      for (; !collide && column + 2 * V::lanes <= n; column += 2 * V::lanes) project_outputs<V, 1, 2>(b, w, column);
      for (; column < n; column += V::lanes) project_outputs<V, 1, 1>(b, w, column);
      return;
    }
  } else if constexpr (V::loads_narrow || sizeof(T) == sizeof(float)) {
    if (b.n_rows == 1 && n >= outputs_vecs<V> * V::lanes) return project_outputs_of_row<V>(b, w, n);
    if constexpr (V::lanes == 16)
      if (b.n_rows <= 8) return project_outputs_of_rows<V>(b, w, n);
  }
  linear_copied_panels<V>(b, n, &w, copy_transposed<V, T>, true);
}

// ---- both

// Fewer columns than lanes: number by number. Its panel is not to lie beneath the others.
template <class V>
static HEED_NOINLINE void project_narrow(const linear_block &b, const stored_weights &w) {
  constexpr int32_t depth = copy_floats<V> / V::lanes;
  float copy[depth * V::lanes];
  for (int32_t begin = 0; begin < b.depth; begin += depth) {
    const int32_t end = b.depth - begin < depth ? b.depth : begin + depth;
    with_format(w.format, [&](auto number) {
      const auto *data = static_cast<const decltype(number) *>(w.data);
      for (int32_t i = begin; i < end; i++)
        for (int32_t n = 0; n < b.n_cols; n++)
          copy[(i - begin) * V::lanes + n] =
              widen(data[w.out_in ? n * w.stride + i : i * w.stride + n], sizeof number == 1 ? w.scales[n] : 0.0f);
    });
    sum_operands o = linear_operands<V>(b, 0, begin, end);
    o.b = copy;
    o.b_stride = V::lanes;
    sum_columns<V, narrow_vecs>(o, chain_at(b, begin), b.n_rows);
  }
}

template <class V, class T>
static void project_format(const linear_block &b, const stored_weights &s) {
  const weights_of<T> w = {static_cast<const T *>(s.data), s.stride, s.scales};
  if constexpr (sizeof(T) < sizeof(float) && V::loads_narrow)
    if (!s.out_in && is_one_small_row<V>(b, w)) return project_one_row<V>(b, w);
  const auto project = [&](const linear_block &part, const weights_of<T> &of_part, int32_t n) {
    if (s.out_in || sizeof(T) == sizeof(float))  // floats of the other layout are heed_linear's
      project_out_in<V>(part, of_part, n);
    else
      project_in_out<V>(part, of_part, n);
  };
  const int32_t whole = b.n_cols / V::lanes * V::lanes, last = b.n_cols - V::lanes;
  project(b, w, whole);
  // The last register overlaps columns that are done: it computes them again from the start.
  if (whole < b.n_cols) project(from_column(b, last), w.from(last, s.out_in), V::lanes);
}

template <class V>
static void project(const linear_block &b, const stored_weights &w) {
  if (b.n_cols < V::lanes) return project_narrow<V>(b, w);
  with_format(w.format, [&](auto number) { project_format<V, decltype(number)>(b, w); });
}

}  // namespace heed

#endif
