// y = bias + x w with w in any format and layout: the chains of linear.hpp, so one row or a few read the weights as
// they lie, and many rows share pieces that are widened once.
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
  } else if (b.n_rows < 12) {
    return linear_few_rows<V>(b, w, n);
  }
  linear_copied_panels<V>(b, n, [&](float *copy, int32_t column, int32_t width, int32_t begin, int32_t end) {
    const T *from = w.data + begin * w.stride + column;
    for (int32_t i = begin; i < end; i++, from += w.stride, copy += copy_width<V>)
      widen_row<V>(copy, from, width, w.scales + (sizeof(T) == 1 ? column : 0));
  });
}

// ---- rows of w are outputs

// ROWS rows of x with the outputs of VECS registers: rows of w are transposed in registers, `step` columns at a time.
template <class V, int ROWS, int VECS, int step, class T>
static HEED_NOINLINE void project_outputs(const linear_block &b, const weights_of<T> &w, int32_t column) {
  const ptrdiff_t stride = w.stride, x_stride = b.x_stride;
  const T *rows = w.data + column * stride;
  const float *x = b.x;
  typename V::reg sum[ROWS][VECS], scale[VECS];
  HEED_UNROLL for (int v = 0; v < VECS; v++) {
    HEED_UNROLL for (int r = 0; r < ROWS; r++) sum[r][v] =
        b.bias ? V::load(b.bias + column + v * V::lanes) : V::set(0.0f);
    scale[v] = w.scale(V(), column + v * V::lanes);
  }
  int32_t i = 0;
  for (; i + step <= b.depth; i += step, x += step) {
    HEED_UNROLL for (int v = 0; v < VECS; v++) {
      const auto add = [&](auto j, typename V::reg weights) HEED_INLINED {
        weights = scaled<V, T>(weights, scale[v]);
        HEED_UNROLL for (int r = 0; r < ROWS; r++) sum[r][v] =
            V::fma(V::factor(x[r * x_stride + decltype(j)::value]), weights, sum[r][v]);
      };
      const T *from = rows + v * V::lanes * stride + i;
      if constexpr (step < columns_of<V, T>)
        columns_of_floats<V>(from, stride, add);
      else
        V::columns(from, stride, add);
    }
  }
  if (const int32_t left = b.depth - i; left > 0) {
    float columns[step * V::lanes];
    HEED_UNROLL for (int v = 0; v < VECS; v++) {
      transpose_rows<V>(columns, V::lanes, rows + v * V::lanes * stride + i, stride, i, left);
      for (int32_t j = 0; j < left; j++) {
        const typename V::reg weights = scaled<V, T>(V::load(columns + j * V::lanes), scale[v]);
        HEED_UNROLL for (int r = 0; r < ROWS; r++) sum[r][v] =
            V::fma(V::factor(x[r * x_stride + j]), weights, sum[r][v]);
      }
    }
  }
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    HEED_UNROLL for (int v = 0; v < VECS; v++) V::store(b.y + r * b.y_stride + column + v * V::lanes, sum[r][v]);
  }
}

// Chains that fill two units of latency 4, and no more rows of w at a time than needed: rows that are far apart push
// each other out of the cache.
template <class V, int ROWS, class T>
HEED_INLINE void project_outputs_of(const linear_block &b, const weights_of<T> &w, int32_t n) {
  constexpr int of_one = V::lanes == 16 ? (sizeof(T) == 4 ? 1 : 2) : V::lanes == 8 || V::compact ? 2 : 4;
  constexpr int vecs = of_one > ROWS ? of_one / ROWS : 1;
  const bool collide = static_cast<size_t>(w.stride) * sizeof(T) % 2048 == 0;
  // One row of floats: 4 columns at a time are faster than 16, as long as rows of w do not collide.
  constexpr int usual = columns_of<V, T>, few = sizeof(T) == 4 && ROWS == 1 ? 4 : usual;
  int32_t column = 0;
  for (; !collide && column + vecs * V::lanes <= n; column += vecs * V::lanes)
    project_outputs<V, ROWS, vecs, few>(b, w, column);
  for (; column < n; column += V::lanes) project_outputs<V, ROWS, 1, usual>(b, w, column);
}

template <class V, class T>
static void project_out_in(linear_block b, const weights_of<T> &w, int32_t n) {
  if (b.n_rows < (V::compact ? 2 : 6)) {
    const auto project = [&](auto rows) {
      constexpr int n_rows = decltype(rows)::value;
      for (; b.n_rows >= n_rows; b.n_rows -= n_rows) {
        project_outputs_of<V, n_rows>(b, w, n);
        b.x += n_rows * b.x_stride;
        b.y += n_rows * b.y_stride;
      }
    };
    if constexpr (!V::compact) project(constant<4>()), project(constant<2>());
    return project(constant<1>());
  }
  linear_copied_panels<V>(b, n, [&](float *copy, int32_t column, int32_t width, int32_t begin, int32_t end) {
    for (int32_t c = 0; c < width; c += V::lanes) {
      transpose_rows<V>(copy + c, copy_width<V>, w.data + (column + c) * w.stride + begin, w.stride, begin,
                        end - begin);
      if constexpr (sizeof(T) == 1) {
        const typename V::reg scale = V::load(w.scales + column + c);
        for (float *p = copy + c; p < copy + c + (end - begin) * copy_width<V>; p += copy_width<V>)
          V::store(p, V::mul(V::load(p), scale));
      }
    }
  });
}

// ---- both

// Fewer columns than lanes. Its panel is not to lie beneath the others.
template <class V, class T>
static HEED_NOINLINE void project_narrow(const linear_block &b, const weights_of<T> &w, bool out_in) {
  constexpr int32_t depth = copy_floats<V> / V::lanes;
  float copy[depth * V::lanes];
  for (int32_t begin = 0; begin < b.depth; begin += depth) {
    const int32_t end = b.depth - begin < depth ? b.depth : begin + depth;
    for (int32_t i = begin; i < end; i++)
      for (int32_t n = 0; n < b.n_cols; n++)
        copy[(i - begin) * V::lanes + n] =
            widen(w.data[out_in ? n * w.stride + i : i * w.stride + n], sizeof(T) == 1 ? w.scales[n] : 0.0f);
    sum_operands o = linear_operands<V>(b, 0, begin, end);
    o.b = copy;
    o.b_stride = V::lanes;
    sum_columns<V, narrow_vecs>(o, chain_at(b, begin), b.n_rows);
  }
}

template <class V, class T>
static void project_format(const linear_block &b, const stored_weights &s) {
  const weights_of<T> w = {static_cast<const T *>(s.data), s.stride, s.scales};
  if (b.n_cols < V::lanes) return project_narrow<V>(b, w, s.out_in);
  if (sizeof(T) < sizeof(float) && !s.out_in && is_one_small_row<V>(b, w)) return project_one_row<V>(b, w);
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
  with_format(w.format, [&](auto number) { project_format<V, decltype(number)>(b, w); });
}

}  // namespace heed

#endif
