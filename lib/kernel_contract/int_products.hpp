// Products in integers: what a kernel does for them, and rule I10 for single numbers. Also rule 25: rows of floats that
// are quantised on their way into a product with packed integers.
#ifndef HEED_INT_PRODUCTS_HPP
#define HEED_INT_PRODUCTS_HPP

#include "integers.hpp"
#include "packed_layout.hpp"

namespace heed {

constexpr int32_t int_most_depth = 65536;  // 65536 * 255 * 128 < 2^31

// Where weights lie. That of input i and output n is data[n * output + i / 4 * step + i % 4 * next].
enum class int_layout { out_in, in_out, panel };
struct int_weights {
  const int8_t *data;
  ptrdiff_t output, step, next;
  int_layout layout;
  HEED_INLINE const int8_t *of(int32_t n) const { return data + n * output; }
};
HEED_INLINE int_weights int_rows_of_outputs(const int8_t *data, ptrdiff_t stride) {
  return {data, stride, 4, 1, int_layout::out_in};
}
HEED_INLINE int_weights int_rows_of_inputs(const int8_t *data, ptrdiff_t stride) {
  return {data, 1, 4 * stride, stride, int_layout::in_out};
}
// Words of a panel of packed weights, behind its scales.
HEED_INLINE int_weights int_panel(const void *words, int32_t width) {
  return {static_cast<const int8_t *>(words), 4, static_cast<ptrdiff_t>(width) * 4, 1, int_layout::panel};
}

// y (n_rows, n_cols) of x (n_rows, depth) and weights (depth, n_cols). Of a panel n_cols is at most 64.
struct int_product {
  const int8_t *x;
  ptrdiff_t x_stride;
  int32_t x_zero_point;
  int_weights w;
  const int32_t *bias;         // [n_cols] or null
  const int32_t *multipliers;  // [n_cols] m and e, one after the other
  void *y;                     // int8, or int16 where wide
  ptrdiff_t y_stride;
  int32_t y_zero_point;
  bool wide;
  int32_t n_rows, depth, n_cols;
  HEED_INLINE multiplier multiplier_of(int32_t n) const { return {multipliers[2 * n], multipliers[2 * n + 1]}; }
};

// I10: clamp(zero_point + ((acc * m + 2^(30 - e)) >> (31 - e))), e from -31 to 30.
HEED_INLINE int32_t int_requantised(int32_t acc, multiplier by, int32_t zero_point, bool wide) {
  const int64_t y =
      ((static_cast<int64_t>(acc) * by.m + (static_cast<int64_t>(1) << (30 - by.e))) >> (31 - by.e)) + zero_point;
  const int32_t most = greatest_output(wide);
  return clamp_64(y, -most - 1, most);
}
HEED_INLINE void int_store(void *y, ptrdiff_t i, int32_t number, bool wide) {
  if (wide)
    static_cast<int16_t *>(y)[i] = static_cast<int16_t>(number);
  else
    static_cast<int8_t *>(y)[i] = static_cast<int8_t>(number);
}

// ------------------------------------------------------------------------------------------------ rows of floats (25)

// A row as integers: x is nearly scale * round(x * inverse). Rows whose greatest magnitude is below 2^-100 are 0, so
// that no step meets a subnormal. A row that is not finite has the scale NaN.
struct int_row_scale {
  float scale, inverse;
  int32_t sum = 0;  // of the integers, for weights with zero points
  // float(sum of products) * scale may be infinite, where that times the output's scale is not.
  HEED_INLINE bool is_large() const { return scale >= 0x1p96f; }
};
// (float(sum) * s_x) * s_w as if no product could be too large; s_x is large. 2^-32 and 2^32 are powers of two, so
// the bits are those of the plain products.
HEED_INLINE float int_scaled_by_large(int32_t sum, float row_scale, float scale) {
  return static_cast<float>(sum) * (row_scale * 0x1p-32f) * scale * 0x1p32f;
}
// A zero point of a panel of uint8.
HEED_INLINE int32_t panel_zero(const packed_panel &w, int32_t n) {
  return static_cast<int8_t>(w.data[4 * (static_cast<ptrdiff_t>(w.width) + n)]);
}
HEED_INLINE int_row_scale int_row_scale_of(uint32_t greatest) {
  if (greatest >= 0x7f800000) return {float_of_bits(0x7fc00000), 0.0f};
  if (greatest < (127u - 100) << 23) return {0.0f, 0.0f};
  const float most = float_of_bits(greatest);
  return {most / 127.0f, 127.0f / most};
}
// To nearest, ties to even: at most 127 in magnitude. Of a row without an inverse 0, whatever x is.
HEED_INLINE int32_t int_quantised(float x, float inverse) {
  if (inverse == 0.0f) return 0;
  return static_cast<int32_t>(bits_of_float(x * inverse + 12582912.0f)) - 0x4b400000;
}

// All panels of packed weights: int8, Q8_0 or Q4_0. The first output of a call is a multiple of 64.
struct int_panels {
  const unsigned char *data;
  int32_t dtype, n_out;
  HEED_INLINE packed_panel from(int32_t first, int32_t depth) const {
    return {data + static_cast<ptrdiff_t>(packed_output_bytes(dtype, static_cast<uint64_t>(depth))) * first, dtype,
            panel_width(n_out, first)};
  }
};

struct int_product_steps {
  void (*project)(const int_product &b);                                              // I10
  void (*project_floats)(const linear_block &b, const int_panels &w, int32_t first);  // 25, outputs from `first` on
};

}  // namespace heed

#endif
