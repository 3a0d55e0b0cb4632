// Rows of scores and of results on a Cortex-M with an FPU, in assembly: several numbers a load and a store, which no
// compiler makes, and two exponentials side by side.
#ifndef HEED_ISA_CORTEX_M_ROWS_HPP
#define HEED_ISA_CORTEX_M_ROWS_HPP

#include "../../vector/vector.hpp"

namespace heed {

// The polynomial of rule 9 for two numbers: each coefficient is what the next product is added to.
constexpr float exp2_of_two[14] = {exp2_c6, exp2_c5, exp2_c4, exp2_c3, exp2_c2, exp2_c1, 1.0f,
                                   exp2_c6, exp2_c5, exp2_c4, exp2_c3, exp2_c2, exp2_c1, 1.0f};

constexpr float eight_zeros[8] = {};

#define HEED_BOTH(operation, to0, to1, a0, a1, b0, b1) \
  operation " s" #to0 ", s" #a0 ", s" #b0 "\n" operation " s" #to1 ", s" #a1 ", s" #b1 "\n"
#define HEED_WITH(operation, to0, to1, a0, a1, b) \
  operation " s" #to0 ", s" #a0 ", %[" #b "]\n" operation " s" #to1 ", s" #a1 ", %[" #b "]\n"
#define HEED_ZERO_BELOW(y, x) \
  "vcmp.f32 s" #x ", %[cutoff]\n vmrs APSR_nzcv, fpscr\n it mi\n vmovmi.f32 s" #y ", %[zero]\n"

// x = exp2(x - shift) for n pairs of numbers, n at least 1, which are added to as many sums.
[[maybe_unused]] static HEED_NOINLINE void exponentials_cortex_m(float *x, float *sums, int32_t n, float shift) {
  asm volatile(
      "1:\n"
      "vldmia %[x], {s0-s1}\n"
      "vldmia %[c], {s2-s15}\n"
      HEED_WITH("vsub.f32", 0, 1, 0, 1, shift)
      HEED_WITH("vadd.f32", 16, 17, 0, 1, magic)
      HEED_WITH("vsub.f32", 18, 19, 16, 17, magic)
      HEED_BOTH("vsub.f32", 18, 19, 0, 1, 18, 19)
      HEED_BOTH("vfma.f32", 3, 10, 2, 9, 18, 19)
      HEED_BOTH("vfma.f32", 4, 11, 3, 10, 18, 19)
      HEED_BOTH("vfma.f32", 5, 12, 4, 11, 18, 19)
      HEED_BOTH("vfma.f32", 6, 13, 5, 12, 18, 19)
      HEED_BOTH("vfma.f32", 7, 14, 6, 13, 18, 19)
      HEED_BOTH("vfma.f32", 8, 15, 7, 14, 18, 19)
      "vmov r4, r5, s16, s17\n"
      "lsls r4, r4, #23\n lsls r5, r5, #23\n"
      "vmov s16, s17, r4, r5\n"
      HEED_BOTH("vmul.f32", 16, 17, 8, 15, 16, 17)
      HEED_ZERO_BELOW(16, 0) HEED_ZERO_BELOW(17, 1)
      "vldmia %[sums], {s18-s19}\n"
      "vstmia %[x]!, {s16-s17}\n"
      HEED_BOTH("vadd.f32", 18, 19, 18, 19, 16, 17)
      "vstmia %[sums]!, {s18-s19}\n"
      "subs %[n], #1\n"
      "bne 1b\n"
      : [x] "+r"(x), [sums] "+r"(sums), [n] "+r"(n)
      : [c] "r"(exp2_of_two), [shift] "t"(shift), [magic] "t"(exp2_magic), [cutoff] "t"(exp2_cutoff), [zero] "t"(0.0f)
      : "r4", "r5", "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12",
        "s13", "s14", "s15", "s16", "s17", "s18", "s19");
}

// y = x * c for 4 n numbers, n at least 1, and the greatest of m and these; NaN are passed over.
#define HEED_GREATER(x) "vcmp.f32 %[m], s" #x "\n vmrs APSR_nzcv, fpscr\n it mi\n vmovmi.f32 %[m], s" #x "\n"
[[maybe_unused]] static HEED_NOINLINE float logits_cortex_m(float *y, const float *x, int32_t n, float c, float m) {
  asm volatile(
      "1:\n"
      "vldmia %[x]!, {s4-s7}\n"
      HEED_WITH("vmul.f32", 4, 5, 4, 5, c) HEED_WITH("vmul.f32", 6, 7, 6, 7, c)
      HEED_GREATER(4) HEED_GREATER(5) HEED_GREATER(6) HEED_GREATER(7)
      "vstmia %[y]!, {s4-s7}\n"
      "subs %[n], #1\n"
      "bne 1b\n"
      : [x] "+r"(x), [y] "+r"(y), [n] "+r"(n), [m] "+t"(m)
      : [c] "t"(c)
      : "cc", "memory", "s4", "s5", "s6", "s7");
  return m;
}

// y = x * c + addend for 4 n numbers, n at least 1.
[[maybe_unused]] static HEED_NOINLINE void scale_cortex_m(float *y, const float *x, int32_t n, float c, float addend) {
  asm volatile(
      "1:\n"
      "vldmia %[x]!, {s4-s7}\n"
      HEED_WITH("vmul.f32", 4, 5, 4, 5, c) HEED_WITH("vmul.f32", 6, 7, 6, 7, c)
      HEED_WITH("vadd.f32", 4, 5, 4, 5, addend) HEED_WITH("vadd.f32", 6, 7, 6, 7, addend)
      "vstmia %[y]!, {s4-s7}\n"
      "subs %[n], #1\n"
      "bne 1b\n"
      : [x] "+r"(x), [y] "+r"(y), [n] "+r"(n)
      : [c] "t"(c), [addend] "t"(addend)
      : "cc", "memory", "s4", "s5", "s6", "s7");
}

// 16 n numbers become +0, n at least 1.
[[maybe_unused]] static HEED_NOINLINE void clear_cortex_m(float *x, int32_t n) {
  asm volatile(
      "vldmia %[zeros], {s0-s7}\n"
      "1:\n"
      "vstmia %[x]!, {s0-s7}\n"
      "vstmia %[x]!, {s0-s7}\n"
      "subs %[n], #1\n"
      "bne 1b\n"
      : [x] "+r"(x), [n] "+r"(n)
      : [zeros] "r"(eight_zeros)
      : "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7");
}

// The halving tree over 16 numbers.
HEED_INLINE float tree_cortex_m(const float *x) {
  register float sum asm("s0");
  asm volatile(
      "vldmia %[x], {s0-s15}\n" HEED_BOTH("vadd.f32", 0, 1, 0, 1, 8, 9) HEED_BOTH("vadd.f32", 2, 3, 2, 3, 10, 11)
          HEED_BOTH("vadd.f32", 4, 5, 4, 5, 12, 13) HEED_BOTH("vadd.f32", 6, 7, 6, 7, 14, 15)
              HEED_BOTH("vadd.f32", 0, 1, 0, 1, 4, 5) HEED_BOTH("vadd.f32", 2, 3, 2, 3, 6, 7)
                  HEED_BOTH("vadd.f32", 0, 1, 0, 1, 2, 3) "vadd.f32 s0, s0, s1\n"
      : "=t"(sum)
      : [x] "r"(x)
      : "memory", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15");
  return sum;
}

#undef HEED_GREATER
#undef HEED_ZERO_BELOW
#undef HEED_WITH
#undef HEED_BOTH

}  // namespace heed

#endif
