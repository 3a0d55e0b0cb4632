// Sums of integers in place of results, and rows of floats whose numbers are so large that products of their sums and
// scales are infinite before the last one (rule 25).
#ifndef HEED_GENERIC_INT_LARGE_ROWS_HPP
#define HEED_GENERIC_INT_LARGE_ROWS_HPP

#include "../kernel_contract/int_products.hpp"

namespace heed {

HEED_INLINE int32_t stored_integer(const float *y) {
  int32_t number;
  __builtin_memcpy(&number, y, sizeof number);
  return number;
}
HEED_INLINE void store_integer(float *y, int32_t number) { __builtin_memcpy(y, &number, sizeof number); }

// Scale of an output of an int8 panel: little-endian on every processor.
HEED_INLINE float panel_scale(const packed_panel &w, int32_t n) {
  const unsigned char *p = w.data + 4 * n;
  return float_of_bits(p[0] | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
                       static_cast<uint32_t>(p[3]) << 24);
}

// A row that is large. Of weights with zero points, of.sum times each is taken from the sums.
[[maybe_unused]] static HEED_NOINLINE void scale_large_row(const linear_block &b, const packed_panel &w,
                                                           const int_row_scale &of, float *y) {
  for (int32_t n = 0; n < b.n_cols; n++) {
    const int32_t less = of.sum != 0 && w.dtype == stored_uint8 ? panel_zero(w, n) * of.sum : 0;
    y[n] = int_scaled_by_large(stored_integer(y + n) - less, of.scale, panel_scale(w, n)) + (at_or_zero(b.bias, n));
  }
}

}  // namespace heed

#endif
