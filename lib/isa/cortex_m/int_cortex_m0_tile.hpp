// The tile of integer products for cores with eight registers for everything (ARMv6-M, ARMv8-M Baseline): 3.6
// instructions a product, where compilers take 7. Signed bytes are loaded with a register for the offset alone, words
// and unsigned halves with constants. High registers hold sums.
#ifndef HEED_INT_CORTEX_M0_TILE_HPP
#define HEED_INT_CORTEX_M0_TILE_HPP

#include "../../integer_steps/plain.hpp"

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1
#define HEED_CORTEX_M0_TILE 1

namespace heed {
namespace {

struct cortex_m0_tile {
  static constexpr bool one_row_apart = false;
  static constexpr int32_t columns = 2;

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
    const keys k = {a, b, dim};
    add_scores(p, r, k, sums);
  }
  template <int ROWS, int COLUMNS>
  HEED_INLINE static void sums(const int16_t *p, const int16_t *r, const int8_t *x, ptrdiff_t stride, int32_t n,
                               int32_t (&sums)[8]) {
    const values v = {x, stride, n};
    add_values(p, r, v, sums);
  }

 private:
  static void add_scores(const int32_t *p, const int32_t *r, const keys &k, int32_t *sums);
  static void add_values(const int16_t *p, const int16_t *r, const values &v, int32_t *sums);
};

// Four sums in r8 to r11, from 0; r3 is kept in r12. n, the third word at r2, is in r4, the others in r2 and r3.
#define HEED_M0_BEGIN                                                                                         \
  "push {r4, r5, r6, r7, lr}\n mov r4, r8\n mov r5, r9\n mov r6, r10\n mov r7, r11\n push {r4, r5, r6, r7}\n" \
  "mov r12, r3\n movs r4, #0\n mov r8, r4\n mov r9, r4\n mov r10, r4\n mov r11, r4\n"                         \
  "ldr r4, [r2, #8]\n ldr r3, [r2, #4]\n ldr r2, [r2, #0]\n"
#define HEED_M0_END \
  "pop {r4, r5, r6, r7}\n mov r8, r4\n mov r9, r5\n mov r10, r6\n mov r11, r7\n pop {r4, r5, r6, r7, pc}\n"

// Elements i of two queries (r0, r1) and two keys, which end at r2 and r3; r4 counts up to 0.
#define HEED_M0_SCORE(at)                                                    \
  "ldrsb r5, [r2, r4]\n ldrsb r6, [r3, r4]\n"                                \
  "ldr r7, [r0, #" at "]\n muls r7, r5, r7\n add r8, r7\n ldr r7, [r0, #" at \
  "]\n muls r7, r6, r7\n add r9, r7\n"                                       \
  "ldr r7, [r1, #" at "]\n muls r5, r7, r5\n add r10, r5\n muls r6, r7, r6\n add r11, r6\n adds r4, #1\n"

__attribute__((naked)) void cortex_m0_tile::add_scores(const int32_t *, const int32_t *, const keys &, int32_t *) {
  __asm volatile(".syntax unified\n" HEED_M0_BEGIN
                 "adds r2, r2, r4\n adds r3, r3, r4\n movs r5, #3\n ands r5, r4\n subs r6, r4, r5\n rsbs r4, r4, #0\n"
                 "mov lr, r5\n cmp r6, #0\n beq 2f\n"
                 "1:\n" HEED_M0_SCORE("0") HEED_M0_SCORE("4") HEED_M0_SCORE("8") HEED_M0_SCORE("12")
                 "adds r0, #16\n adds r1, #16\n mov r5, lr\n adds r5, r5, r4\n bne 1b\n"
                 "2: cmp r4, #0\n beq 4f\n"
                 "3:\n" HEED_M0_SCORE("0") "adds r0, #4\n adds r1, #4\n cmp r4, #0\n bne 3b\n"
                 "4: mov r0, r12\n mov r4, r8\n str r4, [r0]\n mov r4, r9\n str r4, [r0, #4]\n mov r4, r10\n"
                 "str r4, [r0, #8]\n mov r4, r11\n str r4, [r0, #12]\n" HEED_M0_END);
}

// Key j of two rows of probabilities (r0, r1), columns r3 = 0 and r4 = 1 of its value at r2; r12 is the stride.
#define HEED_M0_ADD(at)                                     \
  "ldrh r5, [r0, #" at "]\n ldrh r6, [r1, #" at             \
  "]\n ldrsb r7, [r2, r3]\n muls r7, r5, r7\n add r8, r7\n" \
  "ldrsb r7, [r2, r3]\n muls r7, r6, r7\n add r10, r7\n"    \
  "ldrsb r7, [r2, r4]\n muls r5, r7, r5\n add r9, r5\n muls r6, r7, r6\n add r11, r6\n add r2, r12\n"

__attribute__((naked)) void cortex_m0_tile::add_values(const int16_t *, const int16_t *, const values &, int32_t *) {
  __asm volatile(".syntax unified\n" HEED_M0_BEGIN
                 "mov r5, r12\n push {r5}\n mov r12, r3\n movs r3, #0\n lsls r5, r4, #1\n adds r5, r5, r0\n"
                 "mov lr, r5\n lsrs r5, r4, #2\n lsls r5, r5, #3\n adds r5, r5, r0\n push {r5}\n movs r4, #1\n"
                 "cmp r0, r5\n beq 2f\n"
                 "1:\n" HEED_M0_ADD("0") HEED_M0_ADD("2") HEED_M0_ADD("4") HEED_M0_ADD("6")
                 "adds r0, #8\n adds r1, #8\n ldr r5, [sp]\n cmp r0, r5\n bne 1b\n"
                 "2: cmp r0, lr\n beq 4f\n"
                 "3:\n" HEED_M0_ADD("0") "adds r0, #2\n adds r1, #2\n cmp r0, lr\n bne 3b\n"
                 "4: pop {r5}\n pop {r0}\n mov r4, r8\n str r4, [r0]\n mov r4, r9\n str r4, [r0, #4]\n mov r4, r10\n"
                 "str r4, [r0, #16]\n mov r4, r11\n str r4, [r0, #20]\n" HEED_M0_END);
}

#undef HEED_M0_BEGIN
#undef HEED_M0_END
#undef HEED_M0_SCORE
#undef HEED_M0_ADD

}  // namespace
}  // namespace heed

#endif
#endif
