// y = bias + x w with w in any format and layout: the chains of linear.hpp. Few rows widen and transpose in registers;
// many share pieces for which that is done once.
#ifndef HEED_GENERIC_PROJECT_HPP
#define HEED_GENERIC_PROJECT_HPP

#include "byte_row.hpp"
#include "compact.hpp"
#include "linear.hpp"
#include "outputs.hpp"

namespace heed {

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

// Fewer columns than lanes: number by number. Its panel is not to lie beneath the others.
template <class V>
static HEED_COLD void project_narrow(const linear_block &b, const stored_weights &w) {
  constexpr int32_t depth = copy_floats<V> / V::lanes;
  float copy[depth * V::lanes];
  for (int32_t begin = 0; begin < b.depth; begin += depth) {
    const int32_t end = end_of_block(begin, depth, b.depth);
    const auto fill = [&](auto number) HEED_INLINED {
      for (int32_t i = begin; i < end; i++)
        for (int32_t n = 0; n < b.n_cols; n++) copy[(i - begin) * V::lanes + n] = number(place_of_weight(w, i, n), n);
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

// n columns, whole registers of them, in a way that takes parts.
template <class V, class T, bool IN_OUT>
static HEED_NOINLINE void multiply_columns(way how, const linear_block &b, const weights_of<T> &w, int32_t n,
                                           bool out_in) {
  constexpr bool in_registers = V::loads_narrow && sizeof(T) < sizeof(float);
  if constexpr (in_registers && !has_zero_point(T()))
    if (how == way::one_row) return multiply_one_row<V>(b, w, n);
  if constexpr (in_registers)
    if (how == way::strips) return multiply_strips<V>(b, w, n);
  copy_step fill = copy_weights<V, T>;
  if constexpr (!IN_OUT)
    if (out_in) fill = copy_transposed<V, T>;
  multiply_copied_panels<V>(b, n, &w, fill, out_in);
}

// IN_OUT: never the other layout. Floats are those whose rows are outputs: the others are heed_linear's.
template <class V, class T, bool IN_OUT = false>
static void project_format(const linear_block &b, const stored_weights &s) {
  constexpr bool floats = sizeof(T) == sizeof(float), shifted = has_zero_point(T());
  constexpr bool in_registers = V::loads_narrow && !floats;
  one_for_all<V> one;
  const weights_of<T> w = weights_in<V, T>(s, one);
  const bool out_in = !IN_OUT && (floats || s.out_in);
  const way how = choose_typed_way<V, T>(b, w, out_in);
  if constexpr (in_registers && !shifted)
    if (how == way::small_row) return multiply_small_row<V>(b, w);
  if constexpr (!IN_OUT && (V::loads_narrow || floats))
    if (how == way::outputs) return multiply_outputs<V>(b, w);
  if constexpr (in_registers && shifted)
    if (how == way::byte_row) return multiply_byte_row<V>(b, w);
  const int32_t whole = b.n_cols / V::lanes * V::lanes, last = b.n_cols - V::lanes;
  multiply_columns<V, T, IN_OUT>(how, b, w, whole, out_in);
  // The last register overlaps columns that are done: it computes them again from the start.
  if (whole < b.n_cols)
    multiply_columns<V, T, IN_OUT>(how, from_column(b, last), w.from(last, s.out_in), V::lanes, out_in);
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
