// y = bias + x w (rule 10). y itself holds the chains between blocks of depth, so no workspace is needed and the order
// of each chain stays the same.
#ifndef HEED_GENERIC_LINEAR_HPP
#define HEED_GENERIC_LINEAR_HPP

#include "compact.hpp"
#include "few_rows.hpp"
#include "sum_rows.hpp"

namespace heed {

// Columns from `column` on, inputs [begin, end), whose weights w has in rows w_stride apart.
HEED_INLINE sum_operands operands_with(const linear_block &b, const float *w, ptrdiff_t w_stride, int32_t column,
                                       int32_t begin, int32_t end) {
  return {b.x + begin,
          b.x_stride,
          1,
          w,
          w_stride,
          b.y + column,
          b.y_stride,
          b.bias ? b.bias + column : nullptr,
          end - begin,
          nullptr,
          w_stride,
          b.n_cols,
          0};
}
template <class V>
HEED_INLINE sum_operands linear_operands(const linear_block &b, int32_t column, int32_t begin, int32_t end) {
  return operands_with(b, b.w + begin * b.w_stride + column, b.w_stride, column, begin, end);
}

HEED_INLINE chain chain_at(const linear_block &b, int32_t begin) {
  return begin > 0 ? chain::keep : b.bias ? chain::bias : chain::zero;
}

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
  const bool again = V::lanes == 16 && sizeof(T) == sizeof(float) && times_again(b) > 1;  // 8 lanes would gain nothing
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
    HEED_UNROLL for (int v = 0; v < n_vecs; v++) sum[v] = from ? V::load(from + column + v * V::lanes) : V::set(0.0f);
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
static void linear_one_row(const linear_block &b, const weights_of<T> &w, int32_t n) {
  constexpr int depth = 8;
  int32_t i = 0;
  for (; i + depth <= b.depth; i += depth) add_w_rows<V, depth>(b, w, i, n);
  for (; i < b.depth; i++) add_w_rows<V, 1>(b, w, i, n);
}

// One row, VECS registers of columns: all of depth in registers. Unless they are WHOLE, all that there are, at most so
// many: those beyond repeat the last, which overlaps others.
template <class V, int VECS, bool WHOLE, class T>
static HEED_NOINLINE void project_row(const linear_block &b, const weights_of<T> &w, int32_t column) {
  typename V::reg sum[VECS];
  scaling<V, T> scale[VECS];
  int32_t at[VECS];
  const int32_t last = b.n_cols - V::lanes;
  HEED_UNROLL for (int v = 0; v < VECS; v++) {
    at[v] = WHOLE || v * V::lanes < last ? v * V::lanes : last;
    sum[v] = b.bias ? V::load(b.bias + column + at[v]) : V::set(0.0f);
    scale[v] = w.scale(V(), column + at[v]);
  }
  const float *const x = b.x;
  const T *p = w.data + column;
  const ptrdiff_t stride = w.stride;
  for (int32_t i = 0; i < b.depth; i++, p += stride) {
    const auto factor = V::factor(x[i]);
    HEED_UNROLL for (int v = 0; v < VECS; v++) sum[v] =
        V::fma(factor, scaled<V, T>(V::load(p + at[v]), scale[v]), sum[v]);
  }
  HEED_UNROLL for (int v = 0; v < VECS; v++) V::store(b.y + column + at[v], sum[v]);
}

// One row of any number of columns, at least a register: the last panel overlaps columns that are done, and computes
// them again from the start.
template <class V, class T>
static void project_one_row(const linear_block &b, const weights_of<T> &w) {
  if (b.n_cols < 4 * V::lanes) return project_row<V, 4, false>(b, w, 0);
  int32_t column = 0;
  const auto panels = [&](auto registers, bool all) {
    constexpr int vecs = decltype(registers)::value, width = vecs * V::lanes;
    if (b.n_cols < width) return;
    for (; column < b.n_cols && (all || column + width <= b.n_cols); column += width)
      project_row<V, vecs, true>(b, w, column + width <= b.n_cols ? column : b.n_cols - width);
  };
  panels(constant<8>(), b.n_cols % (8 * V::lanes) > 4 * V::lanes);
  panels(constant<4>(), true);
}
// Where columns may be read one panel after another: rows that fit one, or weights in the second-level cache.
template <class V, class T>
static bool is_one_small_row(const linear_block &b, const weights_of<T> &w) {
  constexpr int64_t most_bytes = 256 * 1024;
  return !V::compact && b.n_rows == 1 &&
         (b.n_cols <= 8 * V::lanes ||
          (w.stride <= most_bytes &&
           static_cast<int64_t>(b.depth) * w.stride * static_cast<int>(sizeof(T)) <= most_bytes));
}

constexpr int32_t contiguous_stride = 64, contiguous_rows = 4;
// Many rows: panels of w that all rows use, from the second-level cache. The first rows ask for what comes next: deeper
// rows of w, other columns, or, behind contiguous rows, most likely another panel of packed weights.
template <class V>
static void linear_panels(const linear_block &b, int32_t n) {
  constexpr int32_t panel = V::sum_vecs * V::lanes, depth = 384;
  const ptrdiff_t behind = b.w_stride <= contiguous_stride ? b.depth * b.w_stride : 0;
  for (int32_t column = 0; column < n; column += panel) {
    const int32_t width = n - column < panel ? n - column : panel;
    const ptrdiff_t other = column + panel < n ? panel : behind > 0 ? behind - column : 0;
    for (int32_t begin = 0; begin < b.depth; begin += depth) {
      const int32_t end = b.depth - begin < depth ? b.depth : begin + depth;
      sum_operands o = linear_operands<V>(b, column, begin, end);
      if (!V::compact) o.next = end < b.depth ? depth * b.w_stride : other > 0 ? other - begin * b.w_stride : 0;
      sum_whole<V>(o, chain_at(b, begin), b.n_rows, width);
    }
  }
}

// Rows of w that lie one after another, as those of a panel of packed weights: some of them at a time for all columns
// and rows, 4 by 4, which together ask for the next ones.
template <class V>
static void linear_contiguous(const linear_block &b, int32_t n) {
  constexpr int32_t depth = 64, rows = contiguous_rows;
  for (int32_t begin = 0; begin < b.depth; begin += depth) {
    const int32_t end = b.depth - begin < depth ? b.depth : begin + depth, groups = (b.n_rows + rows - 1) / rows;
    sum_operands o = linear_operands<V>(b, 0, begin, end);
    const bool fetch = b.depth - end >= depth;
    o.ahead_stride = b.w_stride / groups;
    for (int32_t row = 0; row < b.n_rows; row += rows) {
      if (fetch) o.ahead = b.w + end * b.w_stride + depth * o.ahead_stride * (row / rows);
      sum_whole<V>(o, chain_at(b, begin), b.n_rows - row < rows ? b.n_rows - row : rows, n);
      o.a += rows * o.a_row;
      o.acc += rows * o.acc_stride;
    }
  }
}

// Whether few rows of a small panel repay that: where panels of columns read it a cache line at a time, which from
// memory takes 2 to 3 times as long.
template <class V>
HEED_INLINE bool is_group_of_contiguous(const linear_block &b) {
  return V::sum_vecs * V::lanes == 16 && b.n_rows > 1 && b.n_rows <= contiguous_rows;
}

// Pieces of w copied to the stack for all rows to use, 6 KB at a time (4 KB would be a sixth slower), where that much
// is at hand. The step puts w[begin, end)[column, + width) there, rows copy_width apart; w is a weights_of<T>.
using copy_step = void (*)(float *copy, const void *w, int32_t column, int32_t width, int32_t begin, int32_t end);
template <class V>
constexpr int32_t copy_floats = V::copies_panels ? 1536
                                : V::compact     ? 96
                                                 : 128;
template <class V>
constexpr int32_t copy_width = !V::copies_panels ? V::sum_vecs * V::lanes
                               : V::lanes == 16  ? 32
                                                 : 16;
// Where rows of w are inputs, pieces are taken in their order, for as many columns as y keeps in the second-level cache
// meanwhile.
template <class V>
static HEED_NOINLINE void linear_copied_panels(const linear_block &b, int32_t n, const void *w, copy_step fill,
                                               bool out_in) {
  constexpr int32_t most_width = copy_width<V>, depth = copy_floats<V> / most_width, y_floats = 65536;
  float copy[depth * most_width];
  const auto sum = [&](int32_t column, int32_t width, int32_t begin) HEED_INLINED {
    const int32_t end = b.depth - begin < depth ? b.depth : begin + depth;
    fill(copy, w, column, width, begin, end);
    sum_whole<V>(operands_with(b, copy, most_width, column, begin, end), chain_at(b, begin), b.n_rows, width);
  };
  int32_t block = most_width;
  if (!out_in && b.n_rows < y_floats / most_width) block = y_floats / b.n_rows / most_width * most_width;
  for (int32_t first = 0; first < n; first += block) {
    const int32_t last = n - first < block ? n : first + block;
    for (int32_t begin = 0; begin < b.depth; begin += depth)
      for (int32_t column = first; column < last; column += most_width)
        sum(column, last - column < most_width ? last - column : most_width, begin);
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

// Whether few rows of floats repay strips: w is not to be in the second-level cache, from where panels are up to a tenth
// faster. From memory strips take half their time, of 9 to 16 rows a fifth to a half (from a third-level cache 1.1 to 1.4
// times as long).
HEED_INLINE bool repays_strips(const linear_block &b) {
  const float bytes = 4.0f * static_cast<float>(b.depth) * static_cast<float>(b.w_stride);
  return b.n_rows <= 8 ? bytes > 0x1p18f : b.n_rows <= 16 && bytes > 0x1p20f;
}

template <class V>
static void linear(const linear_block &b) {
  const chain from = b.bias ? chain::bias : chain::zero;
  if (b.n_cols < V::lanes) return sum_columns<V, narrow_vecs>(linear_operands<V>(b, 0, 0, b.depth), from, b.n_rows);
  const weights_of<float> weights = {b.w, b.w_stride, nullptr, nullptr, 0, 0, 0};
  if (is_one_small_row<V>(b, weights)) return project_one_row<V>(b, weights);
  const int32_t whole = b.n_cols / V::lanes * V::lanes;
  // Panels of one cache line a row, rows a multiple of 2 KB apart, would all lie in a few sets of the first-level cache
  // (57 % of the peak instead of 89): they are copied.
  const bool collide = V::copies_panels && V::sum_vecs * V::lanes <= 16 && b.w_stride % 512 == 0;
  const bool contiguous = b.w_stride <= contiguous_stride;
  // Strips also take two rows of small weights: three quarters of the time of panels, unless there are 32 registers.
  const bool large = repays_strips(b), two = b.n_rows == 2 && !contiguous && !many_registers<V>;
  if (!V::compact && contiguous && (large ? b.n_rows > (V::lanes == 16 ? 6 : 2) : is_group_of_contiguous<V>(b))) {
    linear_contiguous<V>(b, whole);
  } else if (!V::compact && b.n_rows == 1) {
    linear_one_row<V>(b, weights, whole);
  } else if (!V::compact && (large || two || (collide && b.n_rows < 12))) {
    linear_strips<V>(b, weights, whole);
  } else if (collide && b.n_rows >= 32) {
    if constexpr (V::copies_panels) linear_copied_panels<V>(b, whole, &weights, copy_weights<V, float>, false);
  } else {
    linear_panels<V>(b, whole);
  }
  if (whole == b.n_cols) return;
  // The last register overlaps columns that are done: it computes them again from the start.
  if constexpr (V::compact)
    compact_rows<V, 1, false>(b, weights, b.n_cols - V::lanes);
  else
    sum_columns<V, 1>(linear_operands<V>(b, b.n_cols - V::lanes, 0, b.depth), from, b.n_rows);
}

}  // namespace heed

#endif
