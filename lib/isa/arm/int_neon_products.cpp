// Products in integers on any AArch64: products of 16 bits, four at a time. Numbers of four rows lose their zero point
// while they are widened.
#include "../../integer_steps/product_floats.hpp"
#include "int_neon.hpp"

namespace heed {
namespace {

struct smlal_dots {
  static constexpr int32_t rows = 4, outputs = 4;

  // Four numbers of an output twice side by side, if they are a panel's; else eight. n: those that there are.
  template <int ROWS, int OUTPUTS>
  static HEED_NOINLINE void add_panel(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                                      int32_t depth, int32_t *sums) {
    const int8x8_t zero = vdup_n_s8(static_cast<int8_t>(zero_point));
    int32x4_t acc[ROWS][OUTPUTS];
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) acc[r][n] = vdupq_n_s32(0);
    const int8_t *words = w.data;
    for (int32_t i = 0; i < depth; i += 4, words += w.step) {
      const int32_t left = smaller_of(depth - i, 4);
      int8_t bytes[16] = {};
      int8x16_t y;
      if (OUTPUTS == 4 && left == 4) {
        y = vld1q_s8(words);
      } else {
        for (int n = 0; n < OUTPUTS; n++) __builtin_memcpy(bytes + 4 * n, words + 4 * n, static_cast<size_t>(left));
        y = vld1q_s8(bytes);
      }
      const int16x8_t a = vmovl_s8(vget_low_s8(y)), b = vmovl_high_s8(y);
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        int32_t four = 0;
        __builtin_memcpy(&four, x + r * x_stride + i, static_cast<size_t>(left));
        const int16x8_t f = vsubl_s8(vreinterpret_s8_s32(vdup_n_s32(four)), zero);
        acc[r][0] = vmlal_s16(acc[r][0], vget_low_s16(a), vget_low_s16(f));
        if (OUTPUTS == 1) continue;
        constexpr int of_two = smaller_of(1, OUTPUTS - 1), of_three = smaller_of(2, OUTPUTS - 1);
        constexpr int of_four = smaller_of(3, OUTPUTS - 1);
        acc[r][of_two] = vmlal_high_s16(acc[r][of_two], a, f);
        acc[r][of_three] = vmlal_s16(acc[r][of_three], vget_low_s16(b), vget_low_s16(f));
        acc[r][of_four] = vmlal_high_s16(acc[r][of_four], b, f);
      }
    }
    write<ROWS, OUTPUTS>(acc, sums);
  }

  template <int ROWS, int OUTPUTS>
  static HEED_NOINLINE void add_rows(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                                     int32_t depth, int32_t *sums) {
    const int8x16_t zero = vdupq_n_s8(static_cast<int8_t>(zero_point));
    int32x4_t acc[ROWS][OUTPUTS];
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) acc[r][n] = vdupq_n_s32(0);
    for (int32_t i = 0; i < depth; i += 16) {
      int8x16_t y[OUTPUTS];
      HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) y[n] =
          neon_common::load_bytes(w.data + n * w.output + i, depth - i);
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        const int8x16_t f = neon_common::load_bytes(x + r * x_stride + i, depth - i);  // behind the last weights are 0
        const int16x8_t low = vsubl_s8(vget_low_s8(f), vget_low_s8(zero)), high = vsubl_high_s8(f, zero);
        HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) {
          const int16x8_t a = vmovl_s8(vget_low_s8(y[n])), b = vmovl_high_s8(y[n]);
          acc[r][n] = vmlal_high_s16(vmlal_s16(acc[r][n], vget_low_s16(a), vget_low_s16(low)), a, low);
          acc[r][n] = vmlal_high_s16(vmlal_s16(acc[r][n], vget_low_s16(b), vget_low_s16(high)), b, high);
        }
      }
    }
    write<ROWS, OUTPUTS>(acc, sums);
  }

  template <int ROWS, int OUTPUTS>
  static HEED_INLINE void write(const int32x4_t (&acc)[ROWS][OUTPUTS], int32_t *sums) {
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int n = 0; n < OUTPUTS; n++) sums[r * OUTPUTS + n] =
        vaddvq_s32(acc[r][n]);
  }

  template <int ROWS, int OUTPUTS>
  static HEED_INLINE void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                               int32_t depth, int32_t *sums) {
    if (w.layout == int_layout::panel)
      add_panel<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    else if (w.layout == int_layout::out_in)
      add_rows<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    else
      plain_dots::dots<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
  }
};

}  // namespace

extern const int_product_steps int_neon_products;
const int_product_steps int_neon_products = {int_project<smlal_dots>, int_project_floats<smlal_dots>};

}  // namespace heed
