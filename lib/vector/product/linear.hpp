// y = bias + x w (rule 10). y itself holds the chains between blocks of depth, so no workspace is needed and the order
// of each chain stays the same. ways.hpp says which loop runs.
#ifndef HEED_GENERIC_LINEAR_HPP
#define HEED_GENERIC_LINEAR_HPP

#include "compact.hpp"
#include "one_row.hpp"
#include "panels.hpp"
#include "strips.hpp"

namespace heed {

// The last register of columns overlaps columns that are done: it computes them again from the start.
template <class V>
static void multiply_last_columns(const linear_block &b, const weights_of<float> &w) {
  if constexpr (V::compact)
    compact_rows<V, 1, false>(b, w, b.n_cols - V::lanes);
  else
    sum_columns<V, 1>(linear_operands<V>(b, b.n_cols - V::lanes, 0, b.depth), chain_at(b, 0), b.n_rows);
}

template <class V>
static void linear(const linear_block &b) {
  const weights_of<float> w = {b.w, b.w_stride, nullptr, nullptr, 0, 0, 0};
  const int32_t whole = b.n_cols / V::lanes * V::lanes;
  switch (choose_way<V>(b, w)) {
    case way::narrow:
      return sum_columns<V, narrow_vecs>(linear_operands<V>(b, 0, 0, b.depth), chain_at(b, 0), b.n_rows);
    case way::small_row:
      return multiply_small_row<V>(b, w);
    case way::one_row:
      multiply_one_row<V>(b, w, whole);
      break;
    case way::strips:
      multiply_strips<V>(b, w, whole);
      break;
    case way::contiguous:
      multiply_contiguous<V>(b, whole);
      break;
    case way::copied_panels:
      if constexpr (V::copies_panels) multiply_copied_panels<V>(b, whole, &w, copy_weights<V, float>, false);
      break;
    default:
      multiply_panels<V>(b, w, whole);
  }
  if (whole < b.n_cols) multiply_last_columns<V>(b, w);
}

}  // namespace heed

#endif
