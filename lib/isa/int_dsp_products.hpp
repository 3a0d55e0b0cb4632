// Products in integers with SMLAD. Two rows are widened, less their zero point, up to 128 inputs at a time, if those are
// all then once for all outputs; weights when they are needed: four bytes become two words of two numbers each.
#ifndef HEED_ISA_INT_DSP_PRODUCTS_HPP
#define HEED_ISA_INT_DSP_PRODUCTS_HPP

#include "../generic/integers/product.hpp"
#include "int_dsp.hpp"

namespace heed {
namespace {

struct dsp_dots {
  static constexpr int32_t rows = 2, outputs = 2, piece = 256;

  struct tile {
    const uint32_t *x;  // of each four numbers of two rows the even two and the odd two of the one, then of the other
    const int8_t *a;    // weights of the first output
    ptrdiff_t b;        // those of the second, an address; or how far apart words of outputs are that lie side by side
    int32_t fours;      // at least 1
    int32_t sums[4];    // of a row, then of the other
  };

// r2 to r5 are the rows' numbers, r8 to r11 the sums.
#define HEED_SUM(acc, x, w) "smlad r" #acc ", r" #x ", r" #w ", r" #acc "\n"
#define HEED_OUTPUT(load, acc0, acc1)               \
  load "sxtb16 r7, r6, ror #8\n sxtb16 r6, r6\n"    \
  HEED_SUM(acc0, 2, 6) HEED_SUM(acc0, 3, 7) HEED_SUM(acc1, 4, 6) HEED_SUM(acc1, 5, 7)
#define HEED_TILE(first, second)                                                                \
  "push {r0, r7}\n add lr, r0, #16\n ldmia lr, {r8-r11}\n ldr r12, [r0]\n ldr lr, [r0, #12]\n"  \
  "ldrd r0, r1, [r0, #4]\n"                                                                     \
  "1:\n ldmia r12!, {r2-r5}\n" HEED_OUTPUT(first, 8, 10) HEED_OUTPUT(second, 9, 11)             \
  "subs lr, #1\n bne 1b\n pop {r0, r7}\n add lr, r0, #16\n stmia lr, {r8-r11}\n"
  template <bool SIDE_BY_SIDE>
  static HEED_NOINLINE void multiply(tile &t) {
    register tile *at asm("r0") = &t;
    if constexpr (SIDE_BY_SIDE)
      asm volatile(HEED_TILE("ldr r6, [r0]\n", "ldr r6, [r0, #4]\n add r0, r1\n")
                   : "+r"(at)::"r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory");
    else
      asm volatile(HEED_TILE("ldr r6, [r0], #4\n", "ldr r6, [r1], #4\n")
                   : "+r"(at)::"r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory");
  }
#undef HEED_TILE
#undef HEED_OUTPUT
#undef HEED_SUM

  // n numbers of two rows; behind them none, less the zero point, for which weights are 0.
  static HEED_NOINLINE void widen(const int8_t *x, const int8_t *y, int32_t n, int32_t zero_point, uint32_t *to) {
    const uint32_t minus = dsp::lower(static_cast<uint32_t>(-zero_point), static_cast<uint32_t>(-zero_point));
    for (; n > 0; n -= 4, x += 4, y += 4, to += 4) {
      dsp::widen(dsp::four(x, n), minus, to);
      dsp::widen(dsp::four(y, n), minus, to + 2);
    }
  }

  // n inputs of two widened rows and two outputs are added to the sums.
  static HEED_INLINE void add(tile &t, const uint32_t *x, const int_weights &w, const int8_t *a, const int8_t *b,
                              int32_t n) {
    t.x = x;
    t.a = a;
    t.fours = n >> 2;
    const bool side_by_side = w.layout == int_layout::panel && a != b;
    t.b = side_by_side ? w.step : reinterpret_cast<ptrdiff_t>(b);
    if (t.fours) side_by_side ? multiply<true>(t) : multiply<false>(t);
    const int32_t left = n & 3, done = t.fours;
    if (!left) return;
    x += 4 * done;
    const uint32_t p = dsp::four(a + done * w.step, left), q = dsp::four(b + done * w.step, left);
    const auto sum = [&](int32_t acc, const uint32_t *row, uint32_t bytes) HEED_INLINED {
      return dsp::add_products(row[1], dsp::odd(bytes), dsp::add_products(row[0], dsp::even(bytes), acc));
    };
    t.sums[0] = sum(t.sums[0], x, p), t.sums[1] = sum(t.sums[1], x, q);
    t.sums[2] = sum(t.sums[2], x + 2, p), t.sums[3] = sum(t.sums[3], x + 2, q);
  }

  template <int ROWS, int OUTPUTS>
  static HEED_NOINLINE void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                                 int32_t depth, int32_t *sums) {
    if (w.layout == int_layout::in_out || (w.layout == int_layout::panel && OUTPUTS == 1))
      return plain_dots::dots<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    const int8_t *a = w.data, *b = w.data + (OUTPUTS - 1) * w.output;
    uint32_t wide[piece];
    tile t = {};
    for (int32_t i = 0; i < depth; i += piece, x += piece, a += piece / 4 * w.step, b += piece / 4 * w.step) {
      const int32_t n = depth - i < piece ? depth - i : piece;
      widen(x, x + (ROWS - 1) * x_stride, n, zero_point, wide);
      add(t, wide, w, a, b, n);
    }
    sums[0] = t.sums[0];
    if (OUTPUTS == 2) sums[1] = t.sums[1];
    if (ROWS == 2) sums[OUTPUTS] = t.sums[2];
    if (ROWS == 2 && OUTPUTS == 2) sums[3] = t.sums[3];
  }

  // All outputs of two rows, or of one that is taken for both. Two outputs at a time: an odd last one with the one before.
  static HEED_NOINLINE void project_rows(const int_product &b, const uint32_t *wide, int32_t row, bool two) {
    for (int32_t from = 0; from < b.n_cols; from += 2) {
      const int32_t n = from + 1 < b.n_cols ? from : from - 1;
      tile t = {};
      if (b.bias) t.sums[0] = t.sums[2] = b.bias[n], t.sums[1] = t.sums[3] = b.bias[n + 1];
      add(t, wide, b.w, b.w.of(n), b.w.of(n + 1), b.depth);
      for (int32_t i = 0; i < (two ? 4 : 2); i++)
        int_store(b.y, (row + (i >> 1)) * b.y_stride + n + (i & 1),
                  int_requantised_fast(t.sums[i], b.multiplier_of(n + (i & 1)), b.y_zero_point, b.wide), b.wide);
    }
  }
  static HEED_NOINLINE void project_widened(const int_product &b) {
    uint32_t wide[piece];
    for (int32_t r = 0; r < b.n_rows; r += 2) {
      const int8_t *x = b.x + r * b.x_stride;
      const bool two = r + 1 < b.n_rows;
      widen(x, two ? x + b.x_stride : x, b.depth, b.x_zero_point, wide);
      project_rows(b, wide, r, two);
    }
  }
  static void project(const int_product &b) {
    if (b.w.layout == int_layout::in_out || b.depth > piece || b.n_cols < 2)
      int_project<dsp_dots>(b);
    else
      project_widened(b);
  }
};

}  // namespace
}  // namespace heed

#endif
