// Products in integers with SMLAD. Two rows are widened, less their zero point, up to 256 inputs at a time, if those are
// all then once for all outputs; weights when they are needed: four bytes become two words of two numbers each.
#ifndef HEED_ISA_INT_DSP_PRODUCTS_HPP
#define HEED_ISA_INT_DSP_PRODUCTS_HPP

#include "../../integer_steps/product.hpp"
#include "int_dsp.hpp"

namespace heed {
namespace {

struct dsp_dots {
  static constexpr int32_t rows = 2, outputs = 2, piece = 256;

  static constexpr int32_t group = 32;  // outputs whose sums are kept at a time
  struct sums_of_rows {
    int32_t sums[2][group + 2];
  };

  // Two widened rows times pairs of outputs.
  struct tile {
    const uint32_t *x;  // of each four numbers of two rows the even two and the odd two of the one, then of the other
    int32_t fours;      // at least 1
    const int8_t *a;    // weights of the first output
    ptrdiff_t b;        // those of the second, an address; or how far apart words of outputs are that lie side by side
    int32_t *to;        // sums of the first row; those of the second are group + 2 numbers behind them
    int32_t n_pairs;    // at least 1
    ptrdiff_t next_a, next_b;  // what a and b move by from the end of a pair to the next one
    const int32_t *bias;       // sums begin with it
    ptrdiff_t next_bias;       // 8, or 0
  };

// r2 to r5 are the rows' numbers, r8 to r11 the sums.
#define HEED_SUM(acc, x, w) "smlad r" #acc ", r" #x ", r" #w ", r" #acc "\n"
#define HEED_OUTPUT(load, acc0, acc1)                                                                           \
  load "sxtb16 r7, r6, ror #8\n sxtb16 r6, r6\n" HEED_SUM(acc0, 2, 6) HEED_SUM(acc0, 3, 7) HEED_SUM(acc1, 4, 6) \
      HEED_SUM(acc1, 5, 7)
#define HEED_FOUR(first, second) "ldmia r12!, {r2-r5}\n" HEED_OUTPUT(first, 8, 10) HEED_OUTPUT(second, 9, 11)
#define HEED_TILE(first, second) \
  "push {r0, r7}\n"                                                                                               \
  "1:\n ldr r7, [sp]\n ldrd r12, lr, [r7]\n ldrd r0, r1, [r7, #8]\n ldrd r2, r3, [r7, #32]\n"                      \
  "ldrd r8, r9, [r2]\n mov r10, r8\n mov r11, r9\n add r2, r3\n str r2, [r7, #32]\n tst lr, #1\n beq 2f\n"           \
  HEED_FOUR(first, second) "subs lr, #1\n beq 3f\n"                                                              \
  "2:\n" HEED_FOUR(first, second) HEED_FOUR(first, second) "subs lr, #2\n bne 2b\n"                              \
  "3:\n ldr r7, [sp]\n ldr r6, [r7, #16]\n strd r10, r11, [r6, %1]\n strd r8, r9, [r6], #8\n str r6, [r7, #16]\n"  \
  "ldrd r2, r3, [r7, #24]\n add r0, r2\n add r1, r3\n strd r0, r1, [r7, #8]\n"                                    \
  "ldr r2, [r7, #20]\n subs r2, #1\n str r2, [r7, #20]\n bne 1b\n pop {r0, r7}\n"
#define HEED_CHANGES "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory"
  template <bool SIDE_BY_SIDE>
  static HEED_NOINLINE void multiply(tile &t) {
    register tile *at asm("r0") = &t;
    constexpr size_t apart = sizeof(int32_t) * (group + 2);
    if constexpr (SIDE_BY_SIDE)
      asm volatile(HEED_TILE("ldr r6, [r0]\n", "ldr r6, [r0, #4]\n add r0, r1\n")
                   : "+r"(at)
                   : "i"(apart)
                   : HEED_CHANGES);
    else
      asm volatile(HEED_TILE("ldr r6, [r0], #4\n", "ldr r6, [r1], #4\n") : "+r"(at) : "i"(apart) : HEED_CHANGES);
  }

#undef HEED_CHANGES
#undef HEED_TILE
#undef HEED_FOUR
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

  // n inputs of two widened rows, times 2 * n_pairs outputs from a on.
  static HEED_NOINLINE void add(const uint32_t *x, const int_weights &w, const int8_t *a, int32_t n, int32_t n_pairs,
                                const int32_t *bias, int32_t *to) {
    static constexpr int32_t none[2] = {0, 0};
    const int32_t fours = n >> 2, left = n & 3;
    const ptrdiff_t done = fours * w.step;
    const bool side_by_side = w.layout == int_layout::panel;
    const ptrdiff_t second = side_by_side ? w.step : reinterpret_cast<ptrdiff_t>(a + w.output);
    const ptrdiff_t to_next = side_by_side ? 0 : 2 * w.output - done;
    const int32_t *const start = bias ? bias : none;
    const int32_t bias_bytes = bias ? 8 : 0;
    tile t = {x, fours, a, second, to, n_pairs, 2 * w.output - done, to_next, start, bias_bytes};
    if (fours) side_by_side ? multiply<true>(t) : multiply<false>(t);
    if (!left) return;
    x += 4 * fours;
    a += done;
    for (int32_t o = 0; o < 2 * n_pairs; o++, a += w.output) {
      if (!fours) to[o] = to[o + group + 2] = at_or_zero(bias, o);
      const uint32_t bytes = dsp::four(a, left), even = dsp::even(bytes), odd = dsp::odd(bytes);
      to[o] = dsp::add_products(x[1], odd, dsp::add_products(x[0], even, to[o]));
      to[o + group + 2] = dsp::add_products(x[3], odd, dsp::add_products(x[2], even, to[o + group + 2]));
    }
  }

  template <int ROWS, int OUTPUTS>
  static HEED_NOINLINE void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                                 int32_t depth, int32_t *sums) {
    if (w.layout == int_layout::in_out || OUTPUTS == 1)
      return plain_dots::dots<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    constexpr int32_t piece = 96;  // it keeps the stack small
    uint32_t wide[piece];
    sums_of_rows s;
    for (int r = 0; r < ROWS; r++) sums[2 * r] = sums[2 * r + 1] = 0;
    const int8_t *a = w.data;
    for (int32_t i = 0; i < depth; i += piece, x += piece, a += piece / 4 * w.step) {
      const int32_t n = smaller_of(depth - i, piece);
      widen(x, x + (ROWS - 1) * x_stride, n, zero_point, wide);
      add(wide, w, a, n, 1, nullptr, s.sums[0]);
      for (int r = 0; r < ROWS; r++) sums[2 * r] += s.sums[r][0], sums[2 * r + 1] += s.sums[r][1];
    }
  }

  // All outputs of two rows, or of one that is taken for both. An odd last one comes with the one before it.
  static HEED_NOINLINE void project_rows(const int_product &b, const uint32_t *wide, int32_t row, bool two) {
    sums_of_rows s;
    for (int32_t from = 0, n; from < b.n_cols; from += n) {
      n = smaller_of(b.n_cols - from, group);
      const int32_t *bias = offset_or_null(b.bias, from);
      if (n > 1) add(wide, b.w, b.w.of(from), b.depth, n >> 1, bias, s.sums[0]);
      if (n & 1) {
        add(wide, b.w, b.w.of(from + n - 2), b.depth, 1, offset_or_null(bias, n - 2), s.sums[0] + group);
        s.sums[0][n - 1] = s.sums[0][group + 1], s.sums[1][n - 1] = s.sums[1][group + 1];
      }
      int_requantise(b, s.sums[0], row, from, n);
      if (two) int_requantise(b, s.sums[1], row + 1, from, n);
    }
  }
  static HEED_NOINLINE void project_widened(const int_product &b) {
    uint32_t wide[piece];
    for (int32_t r = 0; r < b.n_rows; r += 2) {
      const int8_t *x = b.x + r * b.x_stride;
      const bool two = r + 1 < b.n_rows;
      const int8_t *const second = two ? x + b.x_stride : x;
      widen(x, second, b.depth, b.x_zero_point, wide);
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
