// Products in integers by tiles of dot products: rows of x as they lie, weights in any layout (rule I10).
//
// M has rows and outputs, the sizes of its tile, and
//   template <int ROWS, int OUTPUTS>
//   static void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w, int32_t depth,
//                    int32_t *sums);
// which writes sums[r * OUTPUTS + n] = sum (x[r * x_stride + i] - zero_point) * weight (i, n), i < depth. ROWS is M::rows,
// 2 (of 4) or 1, OUTPUTS is M::outputs or 1.
#ifndef HEED_GENERIC_INT_PRODUCT_HPP
#define HEED_GENERIC_INT_PRODUCT_HPP

#include "../kernel_contract/int_products.hpp"

namespace heed {

namespace {  // member functions are weak symbols otherwise

// In plain C++, for processors without vectors.
struct plain_dots {
  [[maybe_unused]] static constexpr int32_t rows = 2, outputs = 2;

  template <int ROWS, int OUTPUTS>
  static HEED_NOINLINE void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                                 int32_t depth, int32_t *sums) {
    int32_t acc[ROWS][OUTPUTS] = {};
    const ptrdiff_t next = w.next, output = w.output;
    const int8_t *word = w.data;
    const int32_t run = w.step == 4 * next ? depth : 4;  // inputs that lie equally far apart
    for (int32_t i = 0; i < depth; word += w.step) {
      const int8_t *at = word;
      for (const int32_t end = end_of_block(i, run, depth); i < end; i++, at += next) {
        int32_t weight[OUTPUTS];
        for (int n = 0; n < OUTPUTS; n++) weight[n] = at[n * output];
        for (int r = 0; r < ROWS; r++) {
          const int32_t number = x[r * x_stride + i] - zero_point;
          for (int n = 0; n < OUTPUTS; n++) acc[r][n] += number * weight[n];
        }
      }
    }
    for (int r = 0; r < ROWS; r++)
      for (int n = 0; n < OUTPUTS; n++) sums[r * OUTPUTS + n] = acc[r][n];
  }
};

}  // namespace

// f(sums, row, rows, output, outputs) for each tile; sums of a row are `outputs` apart.
template <class M, class F>
HEED_INLINE void each_int_tile(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, int32_t n_rows, int_weights w,
                               int32_t n_cols, int32_t depth, F f) {
  int32_t sums[M::rows * M::outputs];
  for (int32_t n = 0, outputs; n < n_cols; n += outputs, w.data += outputs * w.output) {
    outputs = n_cols - n < M::outputs ? 1 : M::outputs;
    for (int32_t r = 0, rows; r < n_rows; r += rows) {
      rows = M::rows;
      if (n_rows - r < M::rows) rows = M::rows == 4 && n_rows - r > 1 ? 2 : 1;
      const int8_t *const from = x + r * x_stride;
      constexpr int two = M::rows == 4 ? 2 : 1;  // rows of a tile between
      if (two == 2 && rows == 2)
        outputs > 1 ? M::template dots<two, M::outputs>(from, x_stride, zero_point, w, depth, sums)
                    : M::template dots<two, 1>(from, x_stride, zero_point, w, depth, sums);
      else if (rows > 1 && outputs > 1)
        M::template dots<M::rows, M::outputs>(from, x_stride, zero_point, w, depth, sums);
      else if (rows > 1)
        M::template dots<M::rows, 1>(from, x_stride, zero_point, w, depth, sums);
      else if (outputs > 1)
        M::template dots<1, M::outputs>(from, x_stride, zero_point, w, depth, sums);
      else
        M::template dots<1, 1>(from, x_stride, zero_point, w, depth, sums);
      f(sums, r, rows, n, outputs);
    }
  }
}

// Rule I10 for processors of 32 bits, which shift 64 bits slowly: from a shift of 33 on, half a unit is no part of the
// product's lower half. Where the shift is smaller, the sum goes up first, if it has room for that.
[[maybe_unused]] static HEED_NOINLINE int32_t int_requantised_near(int32_t sum, int32_t m, int32_t e,
                                                                   int32_t zero_point, bool wide) {
  const int32_t up = e + 2, raised = static_cast<int32_t>(static_cast<uint32_t>(sum) << (up & 31));
  if (up > 31 || raised >> up != sum) return int_requantised(sum, {m, e}, zero_point, wide);
  const int32_t high = static_cast<int32_t>((static_cast<int64_t>(raised) * m) >> 32), most = greatest_output(wide);
  return clamp_to(((high + 1) >> 1) + zero_point, -most - 1, most);
}
// n sums of a row become outputs from `output` on.
template <class T>
HEED_INLINE void requantise_as(const int_product &b, const int32_t *sums, int32_t row, int32_t output, int32_t n) {
  const int32_t zero_point = b.y_zero_point, *by = b.multipliers + 2 * output;
  T *y = static_cast<T *>(b.y) + row * b.y_stride + output, *const end = y + n;
  do {
    const int32_t sum = *sums++, m = by[0], e = by[1], down = -2 - e;
    int32_t number;
    by += 2;
    if (down >= 0)
      number =
          saturated<T>((((static_cast<int32_t>((static_cast<int64_t>(sum) * m) >> 32) >> down) + 1) >> 1) + zero_point);
    else
      number = int_requantised_near(sum, m, e, zero_point, sizeof(T) == 2);
    *y++ = static_cast<T>(number);
  } while (y != end);
}
[[maybe_unused]] static HEED_NOINLINE void int_requantise(const int_product &b, const int32_t *sums, int32_t row,
                                                          int32_t output, int32_t n) {
  if (b.wide)
    requantise_as<int16_t>(b, sums, row, output, n);
  else
    requantise_as<int8_t>(b, sums, row, output, n);
}

template <class M>
static void int_project(const int_product &b) {
  each_int_tile<M>(
      b.x, b.x_stride, b.x_zero_point, b.n_rows, b.w, b.n_cols, b.depth,
      [&](int32_t *sums, int32_t row, int32_t rows, int32_t output, int32_t outputs) {
        for (int32_t r = 0; r < rows; r++, sums += outputs) {
          for (int32_t n = 0; b.bias && n < outputs; n++)
            sums[n] = static_cast<int32_t>(static_cast<uint32_t>(sums[n]) + static_cast<uint32_t>(b.bias[output + n]));
          int_requantise(b, sums, row + r, output, outputs);
        }
      });
}

}  // namespace heed

#endif
