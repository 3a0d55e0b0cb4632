// Products in integers for Thumb-2 cores without SIMD (Cortex-M3): two rows and two outputs at a time, 2.1 instructions a
// product, where compilers take 3.6 to 4.5. A zero point costs a sum of weights.
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
    if (ROWS == 2 && OUTPUTS == 2 && w.layout == int_layout::out_in)
      of_two(x, x_stride, zero_point, w, depth, sums);
    else
      plain_dots::dots<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
  }

 private:
  struct weights {
    const int8_t *a, *b;
    int32_t depth;
  };
  static void multiply(const int8_t *x, const int8_t *y, const weights &w, int32_t *sums);

  static HEED_NOINLINE void of_two(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                                   int32_t depth, int32_t *sums) {
    const weights both = {w.data, w.data + w.output, depth};
    multiply(x, x + x_stride, both, sums);
    if (zero_point == 0) return;
    int32_t a = 0, b = 0;
    for (int32_t i = 0; i < depth; i++) a += both.a[i], b += both.b[i];
    sums[0] -= zero_point * a, sums[1] -= zero_point * b;
    sums[2] -= zero_point * a, sums[3] -= zero_point * b;
  }
};

// An input of two rows (r0, r1) and two outputs (r2, r3); the sums are r4 to r7.
#define HEED_M3_PRODUCT                                                                   \
  "ldrsb r8, [r0], #1\n ldrsb r10, [r1], #1\n ldrsb r9, [r2], #1\n ldrsb r11, [r3], #1\n" \
  "mla r4, r8, r9, r4\n mla r5, r8, r11, r5\n mla r6, r10, r9, r6\n mla r7, r10, r11, r7\n"

__attribute__((naked)) void cortex_m3_dots::multiply(const int8_t *, const int8_t *, const weights &, int32_t *) {
  __asm volatile(
      ".syntax unified\n push {r3, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
      "ldr r12, [r2, #8]\n ldrd r2, r3, [r2]\n movs r4, #0\n movs r5, #0\n movs r6, #0\n movs r7, #0\n"
      "subs r12, r12, #4\n blt 2f\n"
      "1:\n" HEED_M3_PRODUCT HEED_M3_PRODUCT HEED_M3_PRODUCT HEED_M3_PRODUCT
      "subs r12, r12, #4\n bge 1b\n"
      "2: adds r12, r12, #4\n beq 4f\n"
      "3:\n" HEED_M3_PRODUCT
      "subs r12, r12, #1\n bne 3b\n"
      "4: pop {r3}\n stm r3, {r4, r5, r6, r7}\n pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

#undef HEED_M3_PRODUCT

}  // namespace
}  // namespace heed

#endif
#endif
