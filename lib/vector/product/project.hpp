// y = bias + x w with w in any format and layout: the chains of linear.hpp. Few rows widen and transpose in registers;
// many share pieces for which that is done once.
#ifndef HEED_GENERIC_PROJECT_HPP
#define HEED_GENERIC_PROJECT_HPP

#include "byte_row.hpp"
#include "compact.hpp"
#include "linear.hpp"
#include "outputs.hpp"

namespace heed {

// ---- rows of w are inputs

template <class V, class T>
static void project_in_out(const linear_block &b, const weights_of<T> &w, int32_t n) {
  if constexpr (V::loads_narrow) {
    if constexpr (!has_zero_point(T()))
      if (b.n_rows == 1) return linear_one_row<V>(b, w, n);
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
  if (repays_fetching(w)) {  // the next piece, while this one is summed
    for (int32_t c = column; c < column + width; c++)
      for (int32_t i = 0; i < end - begin; i += 64 / static_cast<int>(sizeof(T)))
        __builtin_prefetch(w.data + c * w.stride + end + i, 0, 2);
  }
  for (int32_t c = column; c < column + width; c += V::lanes, copy += V::lanes)
    transpose_rows<V>(copy, copy_width<V>, w.data + c * w.stride + begin, w.stride, end - begin,
                      w.scale_of_rows(V(), c));
}

template <class V, class T>
static void project_out_in(const linear_block &b, const weights_of<T> &w, int32_t n) {
  linear_copied_panels<V>(b, n, &w, copy_transposed<V, T>, true);
}

// ---- both

// Fewer columns than lanes: number by number. Its panel is not to lie beneath the others.
template <class V>
static HEED_COLD void project_narrow(const linear_block &b, const stored_weights &w) {
  constexpr int32_t depth = copy_floats<V> / V::lanes;
  float copy[depth * V::lanes];
  for (int32_t begin = 0; begin < b.depth; begin += depth) {
    const int32_t end = b.depth - begin < depth ? b.depth : begin + depth;
    const auto fill = [&](auto number) HEED_INLINED {
      for (int32_t i = begin; i < end; i++)
        for (int32_t n = 0; n < b.n_cols; n++)
          copy[(i - begin) * V::lanes + n] = number(w.out_in ? n * w.stride + i : i * w.stride + n, n);
    };
    with_format(w.dtype, [&](auto number) {
      const auto *data = static_cast<const decltype(number) *>(w.data);
      fill([&](ptrdiff_t at, int32_t n) {
        if constexpr (sizeof number == 1)
          return byte_at(w, at, n);
        else
          return (void)n, widen(data[at]);
      });
    });
    sum_columns<V, narrow_vecs>(operands_with(b, copy, V::lanes, 0, begin, end), chain_at(b, begin), b.n_rows);
  }
}

// IN_OUT: never the other layout.
template <class V, class T, bool IN_OUT = false>
static void project_format(const linear_block &b, const stored_weights &s) {
  one_for_all<V> one;
  const weights_of<T> w = weights_in<V, T>(s, one);
  if constexpr (sizeof(T) < sizeof(float) && V::loads_narrow && !has_zero_point(T()))
    if (!s.out_in && is_one_small_row<V>(b, w)) return project_one_row<V>(b, w);
  if constexpr (!IN_OUT && (V::loads_narrow || sizeof(T) == sizeof(float)))
    if ((s.out_in || sizeof(T) == sizeof(float)) && project_few_outputs<V>(b, w)) return;
  if constexpr (has_zero_point(T()) && V::loads_narrow)
    if (b.n_rows == 1 && b.n_cols >= 4 * V::lanes) return project_byte_row<V>(b, w);
  const auto project = [&](const linear_block &part, const weights_of<T> &of_part, int32_t n) {
    if constexpr (sizeof(T) == sizeof(float))  // those of the other layout are heed_linear's
      project_out_in<V>(part, of_part, n);
    else if constexpr (IN_OUT)
      project_in_out<V>(part, of_part, n);
    else if (s.out_in)
      project_out_in<V>(part, of_part, n);
    else
      project_in_out<V>(part, of_part, n);
  };
  const int32_t whole = b.n_cols / V::lanes * V::lanes, last = b.n_cols - V::lanes;
  project(b, w, whole);
  // The last register overlaps columns that are done: it computes them again from the start.
  if (whole < b.n_cols) project(from_column(b, last), w.from(last, s.out_in), V::lanes);
}

// int8 whose rows are outputs take no longer as bytes with zero points.
template <class V>
static void project(const linear_block &b, const stored_weights &w) {
  if (b.n_cols < V::lanes) return project_narrow<V>(b, w);
  with_format(w.dtype, [&](auto number) {
    if constexpr (V::compact) {
      project_compact<V, decltype(number)>(b, w);
    } else if constexpr (sizeof number == 1) {
      if (w.out_in)
        project_format<V, weight_byte>(b, w);
      else
        project_format<V, decltype(number), true>(b, w);
    } else {
      project_format<V, decltype(number)>(b, w);
    }
  });
}

// With zero points.
template <class V>
static void project_bytes(const linear_block &b, const stored_weights &w) {
  if (b.n_cols < V::lanes) return project_narrow<V>(b, w);
  if constexpr (V::compact)
    project_compact<V, weight_byte>(b, w);
  else
    project_format<V, weight_byte>(b, w);
}

}  // namespace heed

#endif
