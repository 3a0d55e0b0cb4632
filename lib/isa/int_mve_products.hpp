// Products in integers with Helium: 16 bytes of a row times 16 of an output are added to one register, which is why words
// of panels are gathered. A zero point costs a sum of weights.
#ifndef HEED_ISA_INT_MVE_PRODUCTS_HPP
#define HEED_ISA_INT_MVE_PRODUCTS_HPP

#include "../generic/integers/product.hpp"
#include "int_mve.hpp"

namespace heed {
namespace {

struct mve_dots {
  static constexpr int32_t rows = 2, outputs = 2;

  // 16 bytes as they lie, or four words; the first `there` bytes of them.
  template <bool PANEL>
  static HEED_INLINE int8x16_t load(const int8_t *w, uint32x4_t words) {
    if (!PANEL) return vld1q_s8(w);
    return vreinterpretq_s8_s32(vldrwq_gather_offset_s32(reinterpret_cast<const int32_t *>(w), words));
  }
  template <bool PANEL>
  static HEED_INLINE int8x16_t load(const int8_t *w, uint32x4_t words, int32_t n) {
    if (!PANEL) return vldrbq_z_s8(w, helium::first_8bit(n));
    const int32x4_t x = vldrwq_gather_offset_z_s32(reinterpret_cast<const int32_t *>(w), words,
                                                   helium::first_32bit((n + 3) >> 2));
    return vpselq_s8(vreinterpretq_s8_s32(x), vdupq_n_s8(0), helium::first_8bit(n));
  }

  template <bool PANEL, int ROWS, int OUTPUTS>
  static HEED_NOINLINE void add(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                                int32_t depth, int32_t *sums) {
    const uint32x4_t words = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(w.step));
    const int8_t *y = x + (ROWS - 1) * x_stride, *a = w.data, *b = w.data + (OUTPUTS - 1) * w.output;
    const ptrdiff_t step = PANEL ? 4 * w.step : 16;
    int32_t x0 = 0, x1 = 0, y0 = 0, y1 = 0, sum_a = 0, sum_b = 0;
    const auto sixteen = [&](int8x16_t e, int8x16_t f, int8x16_t p, int8x16_t q) HEED_INLINED {
      x0 = vmladavaq_s8(x0, e, p);
      if (OUTPUTS == 2) x1 = vmladavaq_s8(x1, e, q);
      if (ROWS == 2) y0 = vmladavaq_s8(y0, f, p);
      if (ROWS == 2 && OUTPUTS == 2) y1 = vmladavaq_s8(y1, f, q);
      sum_a = vaddvaq_s8(sum_a, p);
      if (OUTPUTS == 2) sum_b = vaddvaq_s8(sum_b, q);
    };
    for (int32_t i = depth >> 4; i > 0; i--, x += 16, y += 16, a += step, b += step) {
      const int8x16_t e = vld1q_s8(x), p = load<PANEL>(a, words);
      sixteen(e, ROWS == 2 ? vld1q_s8(y) : e, p, OUTPUTS == 2 ? load<PANEL>(b, words) : p);
    }
    const int32_t n = depth & 15;
    if (n) {
      const int8x16_t e = vldrbq_z_s8(x, helium::first_8bit(n)), f = vldrbq_z_s8(y, helium::first_8bit(n));
      sixteen(e, f, load<PANEL>(a, words, n), load<PANEL>(b, words, n));
    }
    sums[0] = x0 - zero_point * sum_a;
    if (OUTPUTS == 2) sums[1] = x1 - zero_point * sum_b;
    if (ROWS == 2) sums[OUTPUTS] = y0 - zero_point * sum_a;
    if (ROWS == 2 && OUTPUTS == 2) sums[3] = y1 - zero_point * sum_b;
  }

  template <int ROWS, int OUTPUTS>
  static HEED_INLINE void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                               int32_t depth, int32_t *sums) {
    if (w.layout == int_layout::in_out)
      plain_dots::dots<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    else if (w.layout == int_layout::panel)
      add<true, ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    else
      add<false, ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
  }
};

}  // namespace
}  // namespace heed

#endif
