// The truth of products in integers: rules I10 and 25 in plain loops, number by number.
#ifndef HEED_INT_PRODUCT_REFERENCE_HPP
#define HEED_INT_PRODUCT_REFERENCE_HPP

#include "../kernel_contract/int_products.hpp"

namespace heed {
namespace {
namespace scalar {

[[maybe_unused]] void int_project(const int_product &b) {
  for (int32_t r = 0; r < b.n_rows; r++)
    for (int32_t n = 0; n < b.n_cols; n++) {
      uint32_t acc = b.bias ? static_cast<uint32_t>(b.bias[n]) : 0;
      for (int32_t i = 0; i < b.depth; i++)
        acc += static_cast<uint32_t>((b.x[r * b.x_stride + i] - b.x_zero_point) *
                                     b.w.of(n)[i / 4 * b.w.step + i % 4 * b.w.next]);
      int_store(b.y, r * b.y_stride + n,
                int_requantised(static_cast<int32_t>(acc), b.multiplier_of(n), b.y_zero_point, b.wide), b.wide);
    }
}

[[maybe_unused]] void int_project_floats(const linear_block &b, const int_panels &w, int32_t first) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    const float *x = b.x + r * b.x_stride;
    const int_row_scale row = int_row_scale_of(greatest_magnitude(x, b.depth));
    for (int32_t n = 0; n < b.n_cols; n++) {
      const packed_panel panel = w.from((first + n) / panel_outputs * panel_outputs, b.depth);
      const bool blocks = !has_output_scales(w.dtype);
      float y = 0.0f;
      int32_t acc = 0;
      for (int32_t i = 0; i < b.depth; i++) {
        const scaled_number q = packed_number(panel, i, (first + n) % panel_outputs);
        acc += int_quantised(x[i], row.inverse) * q.number;
        if (i < b.depth - 1 && (!blocks || i % block_inputs < block_inputs - 1)) continue;
        if (blocks)
          y += static_cast<float>(acc) * q.scale, acc = 0;
        else
          y = row.is_large() ? int_scaled_by_large(acc, row.scale, q.scale)
                             : static_cast<float>(acc) * row.scale * q.scale;
      }
      b.y[r * b.y_stride + n] = (blocks ? y * row.scale : y) + (at_or_zero(b.bias, n));
    }
  }
}

}  // namespace scalar
}  // namespace
}  // namespace heed

#endif
