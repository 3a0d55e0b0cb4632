// The tile of integer products for Thumb-2 cores without SIMD (Cortex-M3): 1.9 and 2.1 instructions a product, where
// compilers spill what fits.
#ifndef HEED_INT_CORTEX_M3_TILE_HPP
#define HEED_INT_CORTEX_M3_TILE_HPP

#include "../../integer_steps/plain.hpp"

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 2 && defined(__thumb__)
#define HEED_CORTEX_M3_TILE 1

namespace heed {
namespace {

struct cortex_m3_tile {
  static constexpr bool one_row_apart = true;
  static constexpr int32_t columns = 4;

  struct keys {
    const int8_t *a, *b;
    int32_t dim;
  };
  struct values {
    const int8_t *x;
    ptrdiff_t stride;
    int32_t n;
  };
  template <int ROWS>
  HEED_INLINE static void scores(const int32_t *p, const int32_t *r, const int8_t *a, const int8_t *b, int32_t dim,
                                 int32_t (&sums)[4]) {
    if constexpr (ROWS == 1) return plain_integers::tile::scores<1>(p, r, a, b, dim, sums);
    const keys k = {a, b, dim};
    add_scores(p, r, k, sums);
  }
  template <int ROWS, int COLUMNS>
  HEED_INLINE static void sums(const int16_t *p, const int16_t *r, const int8_t *x, ptrdiff_t stride, int32_t n,
                               int32_t (&sums)[8]) {
    if constexpr (ROWS == 1) return plain_integers::tile::sums<1, COLUMNS>(p, r, x, stride, n, sums);
    const values v = {x, stride, n};
    add_values(p, 0, v, sums);
  }

 private:
  static void add_scores(const int32_t *p, const int32_t *r, const keys &k, int32_t *sums);
  static void add_values(const int16_t *p, int32_t unused, const values &v, int32_t *sums);
};

// Two elements of two queries (r0, r1) and two keys (r2, r3); the sums are r4 to r7.
#define HEED_M3_SCORE                                               \
  "ldrd r8, r9, [r0], #8\n ldrd r10, r11, [r1], #8\n"               \
  "ldrsb lr, [r2], #1\n mla r4, r8, lr, r4\n mla r6, r10, lr, r6\n" \
  "ldrsb lr, [r2], #1\n mla r4, r9, lr, r4\n mla r6, r11, lr, r6\n" \
  "ldrsb lr, [r3], #1\n mla r5, r8, lr, r5\n mla r7, r10, lr, r7\n" \
  "ldrsb lr, [r3], #1\n mla r5, r9, lr, r5\n mla r7, r11, lr, r7\n"

__attribute__((naked)) void cortex_m3_tile::add_scores(const int32_t *, const int32_t *, const keys &, int32_t *) {
  __asm volatile(
      ".syntax unified\n push {r3, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
      "ldr r12, [r2, #8]\n ldrd r2, r3, [r2]\n movs r4, #0\n movs r5, #0\n movs r6, #0\n movs r7, #0\n"
      "subs r12, r12, #4\n blt 2f\n"
      "1:\n" HEED_M3_SCORE HEED_M3_SCORE
      "subs r12, r12, #4\n bge 1b\n"
      "2: adds r12, r12, #4\n beq 4f\n"
      "3: ldr r8, [r0], #4\n ldr r10, [r1], #4\n ldrsb lr, [r2], #1\n mla r4, r8, lr, r4\n"
      "mla r6, r10, lr, r6\n ldrsb lr, [r3], #1\n mla r5, r8, lr, r5\n mla r7, r10, lr, r7\n"
      "subs r12, r12, #1\n bne 3b\n"
      "4: pop {r3}\n stm r3, {r4, r5, r6, r7}\n pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

// A key of two rows of probabilities (r0, and 512 numbers behind it), four columns of its value (r2; r3 is the stride);
// the sums are r4 to r11.
#define HEED_M3_ADD                                                   \
  "ldrsh r12, [r0], #2\n ldrsh lr, [r0, #1022]\n"                     \
  "ldrsb r1, [r2, #1]\n mla r5, r12, r1, r5\n mla r9, lr, r1, r9\n"   \
  "ldrsb r1, [r2, #2]\n mla r6, r12, r1, r6\n mla r10, lr, r1, r10\n" \
  "ldrsb r1, [r2, #3]\n mla r7, r12, r1, r7\n mla r11, lr, r1, r11\n" \
  "ldrsb r1, [r2]\n mla r4, r12, r1, r4\n mla r8, lr, r1, r8\n add r2, r2, r3\n"

__attribute__((naked)) void cortex_m3_tile::add_values(const int16_t *, int32_t, const values &, int32_t *) {
  __asm volatile(
      ".syntax unified\n push {r3, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
      "ldr r1, [r2, #8]\n ldrd r2, r3, [r2]\n add r4, r0, r1, lsl #1\n bic r1, r1, #1\n add r1, r0, r1, lsl #1\n"
      "push {r1, r4}\n movs r4, #0\n movs r5, #0\n movs r6, #0\n movs r7, #0\n mov r8, r4\n mov r9, r4\n"
      "mov r10, r4\n mov r11, r4\n cmp r0, r1\n beq 2f\n"
      "1:\n" HEED_M3_ADD HEED_M3_ADD
      "ldr r1, [sp]\n cmp r0, r1\n bne 1b\n"
      "2: ldr r1, [sp, #4]\n cmp r0, r1\n beq 3f\n" HEED_M3_ADD
      "3: add sp, sp, #8\n pop {r3}\n stm r3, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
      "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

#undef HEED_M3_SCORE
#undef HEED_M3_ADD

}  // namespace
}  // namespace heed

#endif
#endif
