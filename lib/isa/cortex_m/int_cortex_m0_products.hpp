// Products in integers for cores with eight registers for everything (ARMv6-M, ARMv8-M Baseline): 4.2 instructions a product
// of two rows and two outputs, 4.9 of one row, where compilers take 7 to 8. High registers hold sums and the zero point.
#ifndef HEED_INT_CORTEX_M0_PRODUCTS_HPP
#define HEED_INT_CORTEX_M0_PRODUCTS_HPP

#include "../../integer_steps/product.hpp"
#include "int_cortex_m0_tile.hpp"

#ifdef HEED_CORTEX_M0_TILE

namespace heed {
namespace {

struct cortex_m0_dots {
  static constexpr int32_t rows = 2, outputs = 2;

  template <int ROWS, int OUTPUTS>
  static HEED_INLINE void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                               int32_t depth, int32_t *sums) {
    if (OUTPUTS == 1 || w.layout != int_layout::out_in)
      return plain_dots::dots<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    const weights both = {w.data, w.data + w.output, depth, -zero_point};
    if (ROWS == 2)
      multiply_two(x, x + x_stride, both, sums);
    else
      multiply_one(x, x, both, sums);
  }

 private:
  struct weights {
    const int8_t *a, *b;
    int32_t depth, added;  // to each number of x
  };
  static void multiply_two(const int8_t *x, const int8_t *y, const weights &w, int32_t *sums);
  static void multiply_one(const int8_t *x, const int8_t *, const weights &w, int32_t *sums);
};

// An input of two rows (r0, r1) and two outputs (r2, r3), which end there; r4 counts up to 0. The sums are r8 to r11.
#define HEED_M0_TWO                                                                                           \
  "ldrsb r5, [r0, r4]\n add r5, r12\n ldrsb r6, [r2, r4]\n movs r7, r5\n muls r7, r6, r7\n add r8, r7\n"      \
  "ldrsb r7, [r1, r4]\n add r7, r12\n muls r6, r7, r6\n add r10, r6\n ldrsb r6, [r3, r4]\n muls r5, r6, r5\n" \
  "add r9, r5\n muls r7, r6, r7\n add r11, r7\n adds r4, #1\n"
#define HEED_M0_ONE                                                                                             \
  "ldrsb r5, [r0, r4]\n add r5, r12\n ldrsb r6, [r2, r4]\n muls r6, r5, r6\n add r8, r6\n ldrsb r7, [r3, r4]\n" \
  "muls r7, r5, r7\n add r9, r7\n adds r4, #1\n"
// All inputs; then the sums are in r4 to r7, and where they go is in r0.
#define HEED_M0_ALL(product)                                                                                           \
  ".syntax unified\n push {r3, r4, r5, r6, r7, lr}\n mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n"            \
  "push {r4, r5, r6, r7}\n ldr r4, [r2, #12]\n mov r12, r4\n ldr r4, [r2, #8]\n ldr r3, [r2, #4]\n ldr r2, [r2, #0]\n" \
  "adds r0, r0, r4\n adds r1, r1, r4\n adds r2, r2, r4\n adds r3, r3, r4\n movs r5, #0\n mov r8, r5\n mov r9, r5\n"    \
  "mov r10, r5\n mov r11, r5\n rsbs r4, r4, #0\n b 2f\n"                                                               \
  "1:\n" product product product product                                                                               \
  "2: movs r5, r4\n adds r5, #4\n ble 1b\n cmp r4, #0\n beq 4f\n"                                                      \
  "3:\n" product                                                                                                       \
  "bne 3b\n"                                                                                                           \
  "4: mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n pop {r0, r1, r2, r3}\n mov r8, r0\n mov r9, r1\n"          \
  "mov r10, r2\n mov r11, r3\n pop {r0}\n"

__attribute__((naked)) void cortex_m0_dots::multiply_two(const int8_t *, const int8_t *, const weights &, int32_t *) {
  __asm volatile(HEED_M0_ALL(HEED_M0_TWO) "stmia r0!, {r4, r5, r6, r7}\n pop {r4, r5, r6, r7, pc}\n");
}
__attribute__((naked)) void cortex_m0_dots::multiply_one(const int8_t *, const int8_t *, const weights &, int32_t *) {
  __asm volatile(HEED_M0_ALL(HEED_M0_ONE) "stmia r0!, {r4, r5}\n pop {r4, r5, r6, r7, pc}\n");
}

#undef HEED_M0_TWO
#undef HEED_M0_ONE
#undef HEED_M0_ALL

}  // namespace
}  // namespace heed

#endif
#endif
