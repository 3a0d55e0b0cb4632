// The scalar reference of packed weights and of blocks with scales (rules 22 and 24).
#ifndef HEED_PACKED_REFERENCE_HPP
#define HEED_PACKED_REFERENCE_HPP

#include "../kernel_contract/packed_layout.hpp"
#include "reference.hpp"

namespace heed {
namespace {
namespace scalar {

// number(i, n): of input i and output n, with its scale.
template <class Number>
void multiply_numbers(const linear_block &b, bool in_blocks, Number number) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    const float *x = b.x + r * b.x_stride;
    for (int32_t n = 0; n < b.n_cols; n++) {
      float y = at_or_zero(b.bias, n), sum = 0.0f;
      for (int32_t i = 0; i < b.depth; i++) {
        const scaled_number w = number(i, n);
        const auto q = static_cast<float>(w.number);
        if (!in_blocks) {
          y = multiply_add(x[i], q * w.scale, y);
          continue;
        }
        sum = multiply_add(x[i], q, sum);
        if (i % block_inputs < block_inputs - 1 && i < b.depth - 1) continue;
        y = multiply_add(w.scale, sum, y);
        sum = 0.0f;
      }
      b.y[r * b.y_stride + n] = y;
    }
  }
}

[[maybe_unused]] void panel(const linear_block &b, const packed_panel &w) {
  multiply_numbers(b, !has_output_scales(w.dtype), [&](int32_t i, int32_t n) { return packed_number(w, i, n); });
}
[[maybe_unused]] void blocks(const linear_block &b, const stored_weights &w) {
  multiply_numbers(b, true, [&](int32_t i, int32_t n) { return block_number(w, i, n); });
}

[[maybe_unused]] void bytes(const linear_block &b, const stored_weights &w) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    for (int32_t n = 0; n < b.n_cols; n++) {
      float y = at_or_zero(b.bias, n);
      for (int32_t i = 0; i < b.depth; i++)
        y = multiply_add(b.x[r * b.x_stride + i], byte_at(w, place_of_weight(w, i, n), n), y);
      b.y[r * b.y_stride + n] = y;
    }
  }
}

[[maybe_unused]] constexpr packed_steps packed_table = {panel, blocks, bytes};

}  // namespace scalar
}  // namespace
}  // namespace heed

#endif
