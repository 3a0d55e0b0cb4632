// y = bias + x w with packed weights, or with blocks of scales (rules 22 and 24), number by number: for processors whose
// byte order is not that of the numbers.
#ifndef HEED_GENERIC_PACKED_PLAIN_HPP
#define HEED_GENERIC_PACKED_PLAIN_HPP

#include "../../kernel_contract/packed_layout.hpp"
#include "../vector.hpp"

namespace heed {

// Outputs [column, + n) of all rows, n at most a register, from numbers one after another.
template <class V, class Number>
static void add_numbers(const linear_block &b, bool in_blocks, int32_t column, int32_t n, Number number) {
  float w[block_inputs * V::lanes], lanes[V::lanes], scales[V::lanes];
  for (int32_t begin = 0; begin < b.depth; begin += block_inputs) {
    const int32_t depth = smaller_of(b.depth - begin, block_inputs);
    for (int32_t l = 0; l < V::lanes; l++) {
      for (int32_t i = 0; i < depth; i++) {
        const scaled_number q = number(begin + i, column + smaller_of(l, n - 1));
        const auto x = static_cast<float>(q.number);
        w[i * V::lanes + l] = in_blocks ? x : x * q.scale;
        scales[l] = q.scale;
      }
    }
    for (int32_t r = 0; r < b.n_rows; r++) {
      float *const y = b.y + r * b.y_stride + column;
      for (int32_t l = 0; l < n; l++) lanes[l] = begin ? y[l] : at_or_zero(b.bias, column + l);
      for (int32_t l = n; l < V::lanes; l++) lanes[l] = 0.0f;
      const typename V::reg from = V::load(lanes);
      typename V::reg sum = in_blocks ? V::set(0.0f) : from;
      for (int32_t i = 0; i < depth; i++)
        sum = V::fma(V::factor(b.x[r * b.x_stride + begin + i]), V::load(w + i * V::lanes), sum);
      if (in_blocks) sum = V::fma(V::load(scales), sum, from);
      V::store(lanes, sum);
      for (int32_t l = 0; l < n; l++) y[l] = lanes[l];
    }
  }
}

template <class V, class Number>
static HEED_NOINLINE void multiply_numbers(const linear_block &b, bool in_blocks, Number number) {
  for (int32_t column = 0; column < b.n_cols; column += V::lanes)
    add_numbers<V>(b, in_blocks, column, smaller_of(b.n_cols - column, V::lanes), number);
}

template <class V>
static void multiply_panel_plain(const linear_block &b, const packed_panel &w) {
  multiply_numbers<V>(b, !has_output_scales(w.dtype), [&](int32_t i, int32_t n) { return packed_number(w, i, n); });
}
template <class V>
static void multiply_blocks_plain(const linear_block &b, const stored_weights &w) {
  multiply_numbers<V>(b, true, [&](int32_t i, int32_t n) { return block_number(w, i, n); });
}

}  // namespace heed

#endif
