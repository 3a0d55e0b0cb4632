// Products in integers with SMLAD. Four bytes become two words of two numbers each; rows of x lose their zero point on
// the way, for nothing.
#ifndef HEED_ISA_INT_DSP_PRODUCTS_HPP
#define HEED_ISA_INT_DSP_PRODUCTS_HPP

#include "../generic/integers/product.hpp"
#include "int_dsp.hpp"

namespace heed {
namespace {

struct dsp_dots {
  static constexpr int32_t rows = 2, outputs = 2;

  struct pair {
    uint32_t even, odd;
  };
  static HEED_INLINE pair widen(uint32_t bytes) { return {dsp::even(bytes), dsp::odd(bytes)}; }
  static HEED_INLINE pair widen(uint32_t bytes, uint32_t add) {
    pair p;
    asm("sxtab16 %0, %1, %2" : "=r"(p.even) : "r"(add), "r"(bytes));
    asm("sxtab16 %0, %1, %2, ror #8" : "=r"(p.odd) : "r"(add), "r"(bytes));
    return p;
  }
  static HEED_INLINE int32_t add(int32_t sum, pair a, pair b) {
    return dsp::add_products(a.odd, b.odd, dsp::add_products(a.even, b.even, sum));
  }

  template <int ROWS, int OUTPUTS>
  static HEED_NOINLINE void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                                 int32_t depth, int32_t *sums) {
    if (w.layout == int_layout::in_out)
      return plain_dots::dots<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    const uint32_t minus = dsp::lower(static_cast<uint32_t>(-zero_point), static_cast<uint32_t>(-zero_point));
    const int8_t *a = w.data, *b = w.data + (OUTPUTS - 1) * w.output, *y = x + (ROWS - 1) * x_stride;
    const ptrdiff_t step = w.step;
    int32_t x0 = 0, x1 = 0, y0 = 0, y1 = 0;
    const auto four = [&](int32_t n) HEED_INLINED {  // weights behind the last count nothing: they are 0
      const pair p = widen(dsp::four(a, n)), q = OUTPUTS == 2 ? widen(dsp::four(b, n)) : p;
      pair r = widen(dsp::four(x, n), minus);
      x0 = add(x0, r, p);
      if (OUTPUTS == 2) x1 = add(x1, r, q);
      if (ROWS == 1) return;
      r = widen(dsp::four(y, n), minus);
      y0 = add(y0, r, p);
      if (OUTPUTS == 2) y1 = add(y1, r, q);
    };
    for (int32_t i = depth >> 2; i > 0; i--, a += step, b += step, x += 4, y += 4) four(4);
    if (depth & 3) four(depth & 3);
    sums[0] = x0;
    if (OUTPUTS == 2) sums[1] = x1;
    if (ROWS == 2) sums[OUTPUTS] = y0;
    if (ROWS == 2 && OUTPUTS == 2) sums[3] = y1;
  }
};

}  // namespace
}  // namespace heed

#endif
