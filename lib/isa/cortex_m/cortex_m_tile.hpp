// The register tile of 4 x 4 scalars for a Cortex-M with an FPU, in assembly: no compiler loads several registers at
// once, which takes M4 n + 1 cycles instead of 2 n, and none places the loads between the products, where M7 has them
// for nothing. Two steps of depth a pass: 32 products, 12 loads, nothing else.
#ifndef HEED_ISA_CORTEX_M_TILE_HPP
#define HEED_ISA_CORTEX_M_TILE_HPP

#include "../../no_vectors/one_lane_product.hpp"

namespace heed {

// s0 to s15 are the tile, row by row; s16 to s23 what is loaded of b, s24 to s31 two numbers of each row of a.
#define HEED_VFMA(acc, a, b) "vfma.f32 s" #acc ", s" #a ", s" #b "\n"
#define HEED_LOAD(from, numbers) "vldmia %[" #from "]!, {" numbers "}\n"
#define HEED_ROW(a, b0, b1, b2, b3, c0, c1, c2, c3, then) \
  HEED_VFMA(c0, a, b0) then HEED_VFMA(c1, a, b1) HEED_VFMA(c2, a, b2) HEED_VFMA(c3, a, b3)
// The first step of depth, in whose course the other rows of a are loaded, and the second.
#define HEED_FIRST_STEP(b0, b1, b2, b3, then)                          \
  HEED_ROW(24, b0, b1, b2, b3, 0, 1, 2, 3, HEED_LOAD(a1, "s26-s27"))   \
  HEED_ROW(26, b0, b1, b2, b3, 4, 5, 6, 7, HEED_LOAD(a2, "s28-s29"))   \
  HEED_ROW(28, b0, b1, b2, b3, 8, 9, 10, 11, HEED_LOAD(a3, "s30-s31")) \
  HEED_ROW(30, b0, b1, b2, b3, 12, 13, 14, 15, then)
#define HEED_SECOND_STEP(b0, b1, b2, b3)       \
  HEED_ROW(25, b0, b1, b2, b3, 0, 1, 2, 3, )   \
  HEED_ROW(27, b0, b1, b2, b3, 4, 5, 6, 7, )   \
  HEED_ROW(29, b0, b1, b2, b3, 8, 9, 10, 11, ) \
  HEED_ROW(31, b0, b1, b2, b3, 12, 13, 14, 15, "subs %[depth], #2\n")
// The last column where there are no more; `depth` holds the number of columns.
#define HEED_NEXT_COLUMN(from, to, n) \
  "cmp %[depth], #" #n "\n it le\n movle lr, #0\n add %[" #to "], %[" #from "], lr, lsl #2\n"

// One function, because its registers have names: s0-s15 are the 4 x 4 sums, s16-s23 two numbers of each of 4 columns,
// s24-s31 two of each of 4 rows. With depth 5 and contiguous columns, say: numbers 0 of rows and columns go to s25, s27
// and so on, and s17, s19 and so on; HEED_SECOND_STEP adds their products; then twice two numbers of each are loaded, and
// HEED_FIRST_STEP and HEED_SECOND_STEP add a product of each pair, the second while the next are being loaded.
// multiply_tile<V, operand::any, 4, 4> where b has contiguous columns or contiguous rows, in the latter case a multiple
// of four of them. An odd depth begins with a second step.
[[maybe_unused]] static HEED_NOINLINE void multiply_tile_cortex_m(product &p) {
  const float *b = p.b;
  float *to = p.acc;
  for (int32_t left = p.n_cols; left > 0; left -= 4, b += 4 * p.b_col, to += 4) {
    const float *a0, *a1, *a2, *a3, *b0 = b, *b1, *b2, *b3;
    int32_t depth = left;
    asm volatile(
        "ldr lr, [%[p], %[b_col]]\n"
        HEED_NEXT_COLUMN(b0, b1, 1) HEED_NEXT_COLUMN(b1, b2, 2) HEED_NEXT_COLUMN(b2, b3, 3)
        "ldrd %[a0], %[a1], [%[p]]\n"
        "ldrd %[a2], %[a3], [%[p], #8]\n"
        "ldr %[depth], [%[p], %[p_depth]]\n"
        "ldr lr, [%[p], %[acc_stride]]\n"
        "vldmia %[to], {s0-s3}\n"
        "add %[to], %[to], lr, lsl #2\n"
        "vldmia %[to], {s4-s7}\n"
        "add %[to], %[to], lr, lsl #2\n"
        "vldmia %[to], {s8-s11}\n"
        "add %[to], %[to], lr, lsl #2\n"
        "vldmia %[to], {s12-s15}\n"
        "ldr lr, [%[p], %[b_depth]]\n"
        "tst %[depth], #1\n"
        "beq 1f\n"
        HEED_LOAD(a0, "s25") HEED_LOAD(a1, "s27") HEED_LOAD(a2, "s29") HEED_LOAD(a3, "s31")
        "1:\n"
        "cmp lr, #1\n"
        "bne 4f\n"
        // Columns are contiguous: two numbers of each.
        "tst %[depth], #1\n"
        "beq 2f\n"
        "add %[depth], #1\n"
        HEED_LOAD(b0, "s17") HEED_LOAD(b1, "s19") HEED_LOAD(b2, "s21") HEED_LOAD(b3, "s23")
        "b 3f\n"
        "2:\n"
        HEED_LOAD(b0, "s16-s17") HEED_LOAD(a0, "s24-s25")
        HEED_LOAD(b1, "s18-s19") HEED_LOAD(b2, "s20-s21") HEED_LOAD(b3, "s22-s23")
        HEED_FIRST_STEP(16, 18, 20, 22, )
        "3:\n"
        HEED_SECOND_STEP(17, 19, 21, 23)
        "bne 2b\n"
        "b 7f\n"
        // Rows are: four numbers of two.
        "4:\n"
        "lsl lr, lr, #2\n"
        "tst %[depth], #1\n"
        "beq 5f\n"
        "add %[depth], #1\n"
        "vldmia %[b0], {s20-s23}\n"
        "add %[b0], lr\n"
        "b 6f\n"
        "5:\n"
        HEED_LOAD(a0, "s24-s25")
        "vldmia %[b0], {s16-s19}\n"
        "add %[b0], lr\n"
        HEED_FIRST_STEP(16, 17, 18, 19, "vldmia %[b0], {s20-s23}\n add %[b0], lr\n")
        "6:\n"
        HEED_SECOND_STEP(20, 21, 22, 23)
        "bne 5b\n"
        "7:\n"
        "ldr lr, [%[p], %[acc_stride]]\n"
        "vstmia %[to], {s12-s15}\n"
        "sub %[to], %[to], lr, lsl #2\n"
        "vstmia %[to], {s8-s11}\n"
        "sub %[to], %[to], lr, lsl #2\n"
        "vstmia %[to], {s4-s7}\n"
        "sub %[to], %[to], lr, lsl #2\n"
        "vstmia %[to], {s0-s3}\n"
        : [a0] "=&r"(a0), [a1] "=&r"(a1), [a2] "=&r"(a2), [a3] "=&r"(a3), [b0] "+r"(b0), [b1] "=&r"(b1), [b2] "=&r"(b2),
          [b3] "=&r"(b3), [depth] "+r"(depth), [to] "+r"(to)
        : [p] "r"(&p), [b_col] "i"(offsetof(product, b_col)), [b_depth] "i"(offsetof(product, b_depth)),
          [p_depth] "i"(offsetof(product, depth)), [acc_stride] "i"(offsetof(product, acc_stride))
        : "lr", "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13",
          "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29",
          "s30", "s31");
  }
}

#undef HEED_NEXT_COLUMN
#undef HEED_SECOND_STEP
#undef HEED_FIRST_STEP
#undef HEED_ROW
#undef HEED_LOAD
#undef HEED_VFMA

}  // namespace heed

#endif
