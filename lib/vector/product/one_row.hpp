// Products of one row. Large weights are streamed in their own order (multiply_one_row). Weights in the second-level cache
// are read one panel of columns after another, with all of depth in registers (multiply_small_row).
#ifndef HEED_ONE_ROW_HPP
#define HEED_ONE_ROW_HPP

#include "ways.hpp"

namespace heed {

// y[0, n) += x[i] w[i] for DEPTH rows of w; from bias or +0 if this is the start.
template <class V, int DEPTH, class T>
static HEED_NOINLINE void add_w_rows(const linear_block &b, const weights_of<T> &of, int32_t begin, int32_t n) {
  const weights_of<T> weights = of;
  const float *x = b.x + begin;
  const T *w = weights.data + begin * weights.stride;
  float *const y = b.y;
  const ptrdiff_t w_stride = weights.stride;
  decltype(V::factor(0.0f)) factor[DEPTH];
  HEED_UNROLL for (int i = 0; i < DEPTH; i++) factor[i] = V::factor(x[i]);
  const float *from = begin == 0 ? b.bias : b.y;
  const bool again =
      V::lanes == 16 && sizeof(T) == sizeof(float) && times_again(b, of) > 1;  // 8 lanes would gain nothing
  const auto add = [=](auto vecs, int32_t column) {
    constexpr int n_vecs = decltype(vecs)::value;
    constexpr int of_line = 64 / static_cast<int>(sizeof(T)), lines = (n_vecs * V::lanes - 1) / of_line + 1;
    scaling<V, T> scale[n_vecs];
    HEED_UNROLL for (int v = 0; v < n_vecs; v++) scale[v] = weights.scale(V(), column + v * V::lanes);
    const T *behind = w + DEPTH * w_stride + column;
    for (int i = 0; i < DEPTH && column % of_line == 0; i++, behind += w_stride) {
      HEED_UNROLL for (int l = 0; l < lines; l++) fetch(behind + l * of_line);
      if (again) {  // the lines before
        HEED_UNROLL for (int l = 1; l <= lines; l++) fetch(behind - l * of_line);
      }
    }
    typename V::reg sum[n_vecs];
    HEED_UNROLL for (int v = 0; v < n_vecs; v++) sum[v] = load_or_zero<V>(from, column + v * V::lanes);
    HEED_UNROLL for (int i = 0; i < DEPTH; i++) {
      HEED_UNROLL for (int v = 0; v < n_vecs; v++) sum[v] =
          V::fma(factor[i], scaled<V, T>(V::load(w + i * w_stride + column + v * V::lanes), scale[v]), sum[v]);
    }
    HEED_UNROLL for (int v = 0; v < n_vecs; v++) V::store(y + column + v * V::lanes, sum[v]);
  };
  int32_t column = 0;
  for (; column + 4 * V::lanes <= n; column += 4 * V::lanes) add(constant<4>(), column);
  for (; column < n; column += V::lanes) add(constant<1>(), column);
}

// One row: as in few_rows.hpp, with all factors in registers, 8 rows of w abreast. No more: 4096 x 4096 would take a tenth
// longer.
template <class V, class T>
static void multiply_one_row(const linear_block &b, const weights_of<T> &w, int32_t n) {
  constexpr int depth = 8;
  int32_t i = 0;
  for (; i + depth <= b.depth; i += depth) add_w_rows<V, depth>(b, w, i, n);
  for (; i < b.depth; i++) add_w_rows<V, 1>(b, w, i, n);
}

// One row, VECS registers of columns: all of depth in registers. Unless they are WHOLE, all that there are, at most so
// many: those beyond repeat the last, which overlaps others.
template <class V, int VECS, bool WHOLE, class T>
static HEED_NOINLINE void small_row_panel(const linear_block &b, const weights_of<T> &w, int32_t column) {
  typename V::reg sum[VECS];
  scaling<V, T> scale[VECS];
  int32_t at[VECS];
  const int32_t last = b.n_cols - V::lanes;
  HEED_UNROLL for (int v = 0; v < VECS; v++) {
    at[v] = WHOLE || v * V::lanes < last ? v * V::lanes : last;
    sum[v] = load_or_zero<V>(b.bias, column + at[v]);
    scale[v] = w.scale(V(), column + at[v]);
  }
  const float *const x = b.x;
  const T *p = w.data + column;
  const ptrdiff_t stride = w.stride;
  for (int32_t i = 0; i < b.depth; i++, p += stride) {
    const auto factor = V::factor(x[i]);
    if (!V::compact && stride <= contiguous_stride) {  // a panel of packed weights, and others behind it
      HEED_UNROLL for (int at = 0; at < VECS * V::lanes * static_cast<int>(sizeof(T)); at += 64)
          __builtin_prefetch(reinterpret_cast<const char *>(p) + bytes_ahead + at, 0, 3);
    }
    HEED_UNROLL for (int v = 0; v < VECS; v++) sum[v] =
        V::fma(factor, scaled<V, T>(V::load(p + at[v]), scale[v]), sum[v]);
  }
  HEED_UNROLL for (int v = 0; v < VECS; v++) V::store(b.y + column + at[v], sum[v]);
}

// One row of any number of columns, at least a register: the last panel overlaps columns that are done, and computes
// them again from the start.
template <class V, class T>
static void multiply_small_row(const linear_block &b, const weights_of<T> &w) {
  if (b.n_cols < 4 * V::lanes) return small_row_panel<V, 4, false>(b, w, 0);
  int32_t column = 0;
  const auto panels = [&](auto registers, bool all) {
    constexpr int vecs = decltype(registers)::value, width = vecs * V::lanes;
    if (b.n_cols < width) return;
    for (; column < b.n_cols && (all || column + width <= b.n_cols); column += width)
      small_row_panel<V, vecs, true>(b, w, smaller_of(column, b.n_cols - width));
  };
  panels(constant<8>(), b.n_cols % (8 * V::lanes) > 4 * V::lanes);
  panels(constant<4>(), true);
}

}  // namespace heed

#endif
