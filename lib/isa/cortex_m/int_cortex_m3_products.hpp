// Products in integers for Thumb-2 cores without SIMD (Cortex-M3): two rows and two outputs at a time, 2.1 instructions a
// product, 2.6 with a zero point; one row 2.6 or 3.1. Compilers take 3.6 to 4.5.
#ifndef HEED_INT_CORTEX_M3_PRODUCTS_HPP
#define HEED_INT_CORTEX_M3_PRODUCTS_HPP

#include "../../integer_steps/product.hpp"
#include "int_cortex_m3_tile.hpp"

#ifdef HEED_CORTEX_M3_TILE

namespace heed {
namespace {

struct cortex_m3_dots {
  static constexpr int32_t rows = 2, outputs = 2;

  template <int ROWS, int OUTPUTS>
  static HEED_INLINE void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                               int32_t depth, int32_t *sums) {
    if (OUTPUTS == 1 || w.layout != int_layout::out_in)
      return plain_dots::dots<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    const weights both = {w.data, w.data + w.output, depth, -zero_point};
    if (ROWS == 1)
      multiply_one(x, x, both, sums);
    else if (zero_point == 0)
      multiply_two(x, x + x_stride, both, sums);
    else
      multiply_two_shifted(x, x + x_stride, both, sums);
  }

 private:
  struct weights {
    const int8_t *a, *b;
    int32_t depth, added;  // to each number of x
  };
  static void multiply_two(const int8_t *x, const int8_t *y, const weights &w, int32_t *sums);
  static void multiply_two_shifted(const int8_t *x, const int8_t *y, const weights &w, int32_t *sums);
  static void multiply_one(const int8_t *x, const int8_t *, const weights &w, int32_t *sums);
};

// An input of two rows (r0, r1) and two outputs (r2, r3); the sums are r4 to r7; lr is added to numbers of x.
#define HEED_M3_READ_TWO "ldrsb r8, [r0], #1\n ldrsb r10, [r1], #1\n ldrsb r9, [r2], #1\n ldrsb r11, [r3], #1\n"
#define HEED_M3_MULTIPLY_TWO "mla r4, r8, r9, r4\n mla r5, r8, r11, r5\n mla r6, r10, r9, r6\n mla r7, r10, r11, r7\n"
#define HEED_M3_TWO HEED_M3_READ_TWO HEED_M3_MULTIPLY_TWO
#define HEED_M3_TWO_SHIFTED HEED_M3_READ_TWO "add r8, lr\n add r10, lr\n" HEED_M3_MULTIPLY_TWO
#define HEED_M3_ONE                                                                                                \
  "ldrsb r8, [r0], #1\n ldrsb r9, [r2], #1\n ldrsb r11, [r3], #1\n add r8, lr\n mla r4, r8, r9, r4\n mla r5, r8, " \
  "r11, r5\n"
// All inputs; then r3 is where the sums go.
#define HEED_M3_ALL(product)                                                                             \
  ".syntax unified\n push {r3, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                                  \
  "ldrd r12, lr, [r2, #8]\n ldrd r2, r3, [r2]\n movs r4, #0\n movs r5, #0\n movs r6, #0\n movs r7, #0\n" \
  "subs r12, r12, #4\n blt 2f\n"                                                                         \
  "1:\n" product product product product                                                                 \
  "subs r12, r12, #4\n bge 1b\n"                                                                         \
  "2: adds r12, r12, #4\n beq 4f\n"                                                                      \
  "3:\n" product                                                                                         \
  "subs r12, r12, #1\n bne 3b\n"                                                                         \
  "4: pop {r3}\n"
#define HEED_M3_RETURN "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"

__attribute__((naked)) void cortex_m3_dots::multiply_two(const int8_t *, const int8_t *, const weights &, int32_t *) {
  __asm volatile(HEED_M3_ALL(HEED_M3_TWO) "stm r3, {r4, r5, r6, r7}\n" HEED_M3_RETURN);
}
__attribute__((naked)) void cortex_m3_dots::multiply_two_shifted(const int8_t *, const int8_t *, const weights &,
                                                                 int32_t *) {
  __asm volatile(HEED_M3_ALL(HEED_M3_TWO_SHIFTED) "stm r3, {r4, r5, r6, r7}\n" HEED_M3_RETURN);
}
__attribute__((naked)) void cortex_m3_dots::multiply_one(const int8_t *, const int8_t *, const weights &, int32_t *) {
  __asm volatile(HEED_M3_ALL(HEED_M3_ONE) "stm r3, {r4, r5}\n" HEED_M3_RETURN);
}

#undef HEED_M3_READ_TWO
#undef HEED_M3_MULTIPLY_TWO
#undef HEED_M3_TWO
#undef HEED_M3_TWO_SHIFTED
#undef HEED_M3_ONE
#undef HEED_M3_ALL
#undef HEED_M3_RETURN

}  // namespace
}  // namespace heed

#endif
#endif
