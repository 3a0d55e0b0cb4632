// Projections on a Cortex-M with an FPU, in assembly: 4 outputs of 1 to 4 rows, with weights of any format and layout,
// widened in registers, two inputs a pass. All numbers of rows share the code behind that of the formats, which no
// compiler arranges: what it made of one row alone was twice the code and, with int8, took 1.6 times the instructions.
#ifndef HEED_ISA_CORTEX_M_PROJECT_HPP
#define HEED_ISA_CORTEX_M_PROJECT_HPP

#include "../../no_vectors/one_lane_product.hpp"

namespace heed {

// Registers: r0 to r3 point to the 4 columns of w (IN_OUT: r0 to all, and r1 is the stride), r4 and r5 hold numbers on
// their way, r6 the inputs left, r8 the code for the rows, r9 to r12 point to rows of x. s0 to s15 are the sums, row by
// row; s16 to s19 and s20 to s23 weights of the first and the second input, s24 and s25 a row's two factors, s28 to s31
// scales. s26 keeps the tile, s27 the code for the rows. Loads are as wide as the numbers: those of a device must be.
#define HEED_VFMA(acc, a, b) "vfma.f32 s" #acc ", s" #a ", s" #b "\n"
#define HEED_FMAS(a, b0, b1, b2, b3, c0, c1, c2, c3) \
  HEED_VFMA(c0, a, b0) HEED_VFMA(c1, a, b1) HEED_VFMA(c2, a, b2) HEED_VFMA(c3, a, b3)
// 9 instructions of 4 bytes, and what stands for them where an odd number of inputs begins with one.
#define HEED_ROW(x, ...) \
  "vldmia " x "!, {s24-s25}\n" HEED_FMAS(24, 16, 17, 18, 19, __VA_ARGS__) HEED_FMAS(25, 20, 21, 22, 23, __VA_ARGS__)
#define HEED_ODD_ROW(x, ...) "vldmia " x "!, {s25}\n" HEED_FMAS(25, 20, 21, 22, 23, __VA_ARGS__)
#define HEED_ROWS(row) row("r12", 12, 13, 14, 15) row("r11", 8, 9, 10, 11) row("r10", 4, 5, 6, 7) row("r9", 0, 1, 2, 3)

// Weights of one input: narrow ones through core registers, there shifted or not, then converted or not.
#define HEED_2_NUMBERS(b0, b1) "vmov s" #b0 ", s" #b1 ", r4, r5\n"
#define HEED_INPUTS(load, bytes, shift, b0, b1, b2, b3)                                \
  load " r4, [r0]\n" load " r5, [r0, #" #bytes "]\n" shift HEED_2_NUMBERS(b0, b1) load \
      " r4, [r0, #2*" #bytes "]\n" load " r5, [r0, #3*" #bytes "]\n" shift             \
      HEED_2_NUMBERS(b2, b3) "add r0, r0, r1\n"
#define HEED_OUTPUTS(load, bytes, shift, b0, b1, b2, b3)                                            \
  load " r4, [r0], #" #bytes "\n" load " r5, [r1], #" #bytes "\n" shift HEED_2_NUMBERS(b0, b1) load \
      " r4, [r2], #" #bytes "\n" load " r5, [r3], #" #bytes "\n" shift                              \
      HEED_2_NUMBERS(b2, b3)
#define HEED_EACH(convert, b0, b1, b2, b3)                                                                         \
  convert " s" #b0 ", s" #b0 "\n" convert " s" #b1 ", s" #b1 "\n" convert " s" #b2 ", s" #b2 "\n" convert " s" #b3 \
          ", s" #b3 "\n"
#define HEED_SCALE(b, scale) "vmul.f32 s" #b ", s" #b ", s" #scale "\n"
#define HEED_SCALES(b0, b1, b2, b3) HEED_SCALE(b0, 28) HEED_SCALE(b1, 29) HEED_SCALE(b2, 30) HEED_SCALE(b3, 31)
#define HEED_F32_INPUTS(b0, b1, b2, b3) "vldmia r0, {s" #b0 "-s" #b3 "}\n add r0, r0, r1\n"
#define HEED_F32_OUTPUTS(b0, b1, b2, b3) \
  "vldmia r0!, {s" #b0 "}\n vldmia r1!, {s" #b1 "}\n vldmia r2!, {s" #b2 "}\n vldmia r3!, {s" #b3 "}\n"
#define HEED_F16(from, ...) from("ldrh", 2, , __VA_ARGS__) HEED_EACH("vcvtb.f32.f16", __VA_ARGS__)
#define HEED_F16_INPUTS(...) HEED_F16(HEED_INPUTS, __VA_ARGS__)
#define HEED_F16_OUTPUTS(...) HEED_F16(HEED_OUTPUTS, __VA_ARGS__)
#define HEED_SHIFT "lsls r4, r4, #16\n lsls r5, r5, #16\n"
#define HEED_BF16_INPUTS(...) HEED_INPUTS("ldrh", 2, HEED_SHIFT, __VA_ARGS__)
#define HEED_BF16_OUTPUTS(...) HEED_OUTPUTS("ldrh", 2, HEED_SHIFT, __VA_ARGS__)
#define HEED_INT8(from, ...) \
  from("ldrsb", 1, , __VA_ARGS__) HEED_EACH("vcvt.f32.s32", __VA_ARGS__) HEED_SCALES(__VA_ARGS__)
#define HEED_INT8_INPUTS(...) HEED_INT8(HEED_INPUTS, __VA_ARGS__)
#define HEED_INT8_OUTPUTS(...) HEED_INT8(HEED_OUTPUTS, __VA_ARGS__)

// All inputs of one format and layout. An odd number ("mi") begins with a second one.
#define HEED_TWO_A_PASS(first, second) \
  "1:\n" first(16, 17, 18, 19) "2:\n" second(20, 21, 22, 23) "blx r8\n" \
  "subs r6, r6, #2\n bne 1b\n"
#define HEED_WAY(label, begin, weights) #label ":\n" begin "bmi 2f\n" HEED_TWO_A_PASS(weights, weights) "b 9f\n"

// From the tile to its registers and on to the way of its format. The code for so many rows is the end of that for 4;
// "adr" is right only where the section has the alignment of ".balign".
#define HEED_BEGIN                                                                         \
  ".balign 4\n"                                                                            \
  "vmov s26, r0\n"                                                                         \
  "ldr r1, [r0, %[start]]\n"                                                               \
  "vldmia r1, {s0-s3}\n vldmia r1, {s4-s7}\n vldmia r1, {s8-s11}\n vldmia r1, {s12-s15}\n" \
  "ldr r1, [r0, %[scales]]\n"                                                              \
  "vldmia r1, {s28-s31}\n"                                                                 \
  "ldr r4, [r0, %[rows]]\n"                                                                \
  "rsb r4, r4, #4\n"                                                                       \
  "add r4, r4, r4, lsl #3\n"                                                               \
  "adr r8, 7f\n"                                                                           \
  "add r8, r8, r4, lsl #2\n"                                                               \
  "add r8, r8, #1\n"                                                                       \
  "vmov s27, r8\n"                                                                         \
  "ldr r5, [r0, %[way]]\n"                                                                 \
  "ldr r6, [r0, %[depth]]\n"                                                               \
  "add r4, r0, %[x]\n"                                                                     \
  "ldmia r4, {r9-r12}\n"                                                                   \
  "ldr r1, [r0, %[w_stride]]\n"                                                            \
  "ldr r0, [r0, %[w]]\n"                                                                   \
  "add r2, r0, r1, lsl #1\n"                                                               \
  "add r3, r2, r1\n"                                                                       \
  "lsls r4, r5, #31\n"                                                                     \
  "it mi\n addmi r1, r1, r0\n"                                                             \
  "lsls r4, r6, #31\n"                                                                     \
  "bpl 6f\n"                                                                               \
  "add r6, r6, #1\n"                                                                       \
  "adr r8, 8f\n"                                                                           \
  "add r8, r8, #1\n"                                                                       \
  "6:\n tbh [pc, r5, lsl #1]\n"
// The code for the rows, and the sums to y. keeps: what puts the tile into r0 again.
#define HEED_END(keeps, store) \
  "7:\n" HEED_ROWS(HEED_ROW) "bx lr\n"                                    \
  "8:\n" HEED_ROWS(HEED_ODD_ROW) "vmov r8, s27\n bx lr\n"                 \
  "9:\n" keeps                                                            \
  "ldr r1, [r0, %[y]]\n"                                                  \
  "ldr r2, [r0, %[y_stride]]\n"                                           \
  "ldr r3, [r0, %[rows]]\n"                                               \
  store(0, 1, 2, 3)                                                       \
  "cmp r3, #2\n blt 4f\n"                                                 \
  "add r1, r1, r2\n" store(4, 5, 6, 7)                                    \
  "beq 4f\n"                                                              \
  "add r1, r1, r2\n" store(8, 9, 10, 11)                                  \
  "cmp r3, #4\n bne 4f\n"                                                 \
  "add r1, r1, r2\n" store(12, 13, 14, 15)                                \
  "4:\n"
#define HEED_STORE(b0, b1, b2, b3) "vstmia r1, {s" #b0 "-s" #b3 "}\n"
#define HEED_IN_S26 "vmov r0, s26\n"
#define HEED_OPERANDS                                                                               \
  : "+r"(tile)                                                                                                      \
  : [start] "i"(offsetof(projection_tile, start)), [scales] "i"(offsetof(projection_tile, scales)),                 \
    [rows] "i"(offsetof(projection_tile, rows)), [way] "i"(offsetof(projection_tile, way)),                         \
    [depth] "i"(offsetof(projection_tile, depth)), [x] "i"(offsetof(projection_tile, x)),                           \
    [w_stride] "i"(offsetof(projection_tile, w_stride)), [w] "i"(offsetof(projection_tile, w)),                     \
    [y] "i"(offsetof(projection_tile, y)), [y_stride] "i"(offsetof(projection_tile, y_stride))
#define HEED_CLOBBERS                                                                                               \
  : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory", "s0", "s1", "s2",    \
    "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", \
    "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31"

[[maybe_unused]] static HEED_NOINLINE void project_tile_cortex_m(const projection_tile &t) {
  register const projection_tile *tile asm("r0") = &t;
  asm volatile(HEED_BEGIN
               "5:\n .hword (10f-5b)/2, (11f-5b)/2, (12f-5b)/2, (13f-5b)/2, (14f-5b)/2, (15f-5b)/2, (16f-5b)/2, "
               "(17f-5b)/2\n" HEED_WAY(10, , HEED_F32_INPUTS) HEED_WAY(11, , HEED_F32_OUTPUTS) HEED_WAY(
                   12, , HEED_F16_INPUTS) HEED_WAY(13, , HEED_F16_OUTPUTS) HEED_WAY(14, , HEED_BF16_INPUTS)
                   HEED_WAY(15, , HEED_BF16_OUTPUTS) HEED_WAY(16, , HEED_INT8_INPUTS) HEED_WAY(17, , HEED_INT8_OUTPUTS)
                       HEED_END(HEED_IN_S26, HEED_STORE) HEED_OPERANDS HEED_CLOBBERS);
}

// Packed words of four inputs: way 0 with scales (int8), way 2 as integers, whose sums are multiplied by scales and added to
// y (blocks). An odd number of inputs ends with a second one, which then lies a byte before its place. The step to the
// next two is 2 bytes and the rest of the stride in turn.
#define HEED_WORDS(at, b0, b1, b2, b3)                                                                             \
  "ldrsb r4, [r0, #" #at "]\n ldrsb r5, [r0, #4+" #at                                                              \
  "]\n" HEED_2_NUMBERS(b0, b1) "ldrsb r4, [r0, #8+" #at "]\n ldrsb r5, [r0, #12+" #at "]\n" HEED_2_NUMBERS(b2, b3) \
      HEED_EACH("vcvt.f32.s32", b0, b1, b2, b3)
#define HEED_BYTES_1(...) HEED_WORDS(0, __VA_ARGS__)
#define HEED_BYTES_2(...) HEED_WORDS(1, __VA_ARGS__) "add r0, r0, r2\n sub r2, r1, r2\n"
#define HEED_SCALED_1(...) HEED_BYTES_1(__VA_ARGS__) HEED_SCALES(__VA_ARGS__)
#define HEED_SCALED_2(...) HEED_BYTES_2(__VA_ARGS__) HEED_SCALES(__VA_ARGS__)
#define HEED_WORD_WAY(label, begin, first, second) \
#label ":\n" begin "mov r2, #2\n mov r3, #0\n bpl 1f\n"                               \
  "mov r3, r8\n vmov r8, s27\n subs r6, r6, #2\n beq 3f\n"                              \
  HEED_TWO_A_PASS(first, second)                                                        \
  "cmp r3, #0\n beq 9f\n"                                                               \
  "3:\n mov r8, r3\n mov r3, #0\n sub r0, r0, #1\n mov r6, #2\n b 2b\n"
#define HEED_STORE_OR_ADD(b0, b1, b2, b3) \
  "ldr r6, [r0, %[way]]\n cbz r6, 1f\n"                                                 \
  "vldmia r1, {s16-s19}\n" HEED_VFMA(16, 28, b0) HEED_VFMA(17, 29, b1)                    \
  HEED_VFMA(18, 30, b2) HEED_VFMA(19, 31, b3) "vstmia r1, {s16-s19}\n b 2f\n"             \
  "1:\n" HEED_STORE(b0, b1, b2, b3) "2:\n"

[[maybe_unused]] static HEED_NOINLINE void project_words_cortex_m(const projection_tile &t) {
  register const projection_tile *tile asm("r0") = &t;
  asm volatile(HEED_BEGIN "5:\n .hword (10f-5b)/2, 0, (11f-5b)/2, 0\n" HEED_WORD_WAY(10, , HEED_SCALED_1, HEED_SCALED_2)
                   HEED_WORD_WAY(11, , HEED_BYTES_1, HEED_BYTES_2) HEED_END(HEED_IN_S26, HEED_STORE_OR_ADD)
                       HEED_OPERANDS HEED_CLOBBERS);
}

#ifdef __ARM_FEATURE_DSP
// With zero points: way 0 and 1 uint8, 2 and 3 int8 (layouts as above), 4 packed words of int8. r7 has those of two outputs
// in its halves, negative, s26 or r2 those of the other two. So r7 and the tile are kept on the stack.
#define HEED_LESS(zeros) "sxtah r4, r4, " zeros "\n sxtah r5, r5, " zeros ", ror #16\n"
#define HEED_ZEROS(rest) "vmov lr, s26\n ldr r7, [lr, %[zeros]]\n ldr " rest ", [lr, %[zeros]+4]\n vmov s26, " rest "\n"
#define HEED_FLOATS(...) HEED_EACH("vcvt.f32.s32", __VA_ARGS__) HEED_SCALES(__VA_ARGS__)
#define HEED_SHIFTED_INPUTS(load, b0, b1, b2, b3)                                       \
  load " r4, [r0]\n" load " r5, [r0, #1]\n" HEED_LESS("r7") HEED_2_NUMBERS(b0, b1) load \
      " r4, [r0, #2]\n" load " r5, [r0, #3]\n" HEED_LESS("r2")                          \
          HEED_2_NUMBERS(b2, b3) "add r0, r0, r1\n" HEED_FLOATS(b0, b1, b2, b3)
#define HEED_SHIFTED_OUTPUTS(load, b0, b1, b2, b3)                                                   \
  load " r4, [r0], #1\n" load " r5, [r1], #1\n" HEED_LESS("r7") HEED_2_NUMBERS(b0, b1) load          \
      " r4, [r2], #1\n" load " r5, [r3], #1\n vmov lr, s26\n" HEED_LESS("lr") HEED_2_NUMBERS(b2, b3) \
          HEED_FLOATS(b0, b1, b2, b3)
#define HEED_SHIFTED_WORDS(at, b0, b1, b2, b3)                                      \
  "ldrsb r4, [r0, #" #at "]\n ldrsb r5, [r0, #4+" #at "]\n" HEED_LESS("r7")         \
      HEED_2_NUMBERS(b0, b1) "ldrsb r4, [r0, #8+" #at "]\n ldrsb r5, [r0, #12+" #at \
                             "]\n vmov lr, s26\n" HEED_LESS("lr") HEED_2_NUMBERS(b2, b3) HEED_FLOATS(b0, b1, b2, b3)
#define HEED_UINT8_INPUTS(...) HEED_SHIFTED_INPUTS("ldrb", __VA_ARGS__)
#define HEED_UINT8_OUTPUTS(...) HEED_SHIFTED_OUTPUTS("ldrb", __VA_ARGS__)
#define HEED_LESS_INPUTS(...) HEED_SHIFTED_INPUTS("ldrsb", __VA_ARGS__)
#define HEED_LESS_OUTPUTS(...) HEED_SHIFTED_OUTPUTS("ldrsb", __VA_ARGS__)
#define HEED_SHIFTED_1(...) HEED_SHIFTED_WORDS(0, __VA_ARGS__)
#define HEED_SHIFTED_2(...) HEED_SHIFTED_WORDS(1, __VA_ARGS__) "add r0, r0, r2\n sub r2, r1, r2\n"

[[maybe_unused]] static HEED_NOINLINE void project_bytes_cortex_m(const shifted_tile &t) {
  register const shifted_tile *tile asm("r0") = &t;
  asm volatile("push {r0, r7}\n" HEED_BEGIN
               "5:\n .hword (10f-5b)/2, (11f-5b)/2, (12f-5b)/2, (13f-5b)/2, (14f-5b)/2, 0\n" HEED_WAY(
                   10, HEED_ZEROS("r2"), HEED_UINT8_INPUTS) HEED_WAY(11, HEED_ZEROS("lr"), HEED_UINT8_OUTPUTS)
                   HEED_WAY(12, HEED_ZEROS("r2"), HEED_LESS_INPUTS) HEED_WAY(13, HEED_ZEROS("lr"), HEED_LESS_OUTPUTS)
                       HEED_WORD_WAY(14, HEED_ZEROS("lr"), HEED_SHIFTED_1, HEED_SHIFTED_2)
                           HEED_END("ldr r0, [sp]\n", HEED_STORE) "pop {r0, r7}\n" HEED_OPERANDS,
               [zeros] "i"(offsetof(shifted_tile, zeros))HEED_CLOBBERS);
}

#undef HEED_SHIFTED_2
#undef HEED_SHIFTED_1
#undef HEED_LESS_OUTPUTS
#undef HEED_LESS_INPUTS
#undef HEED_UINT8_OUTPUTS
#undef HEED_UINT8_INPUTS
#undef HEED_SHIFTED_WORDS
#undef HEED_SHIFTED_OUTPUTS
#undef HEED_SHIFTED_INPUTS
#undef HEED_FLOATS
#undef HEED_ZEROS
#undef HEED_LESS
#endif

#undef HEED_STORE_OR_ADD
#undef HEED_WORD_WAY
#undef HEED_SCALED_2
#undef HEED_SCALED_1
#undef HEED_BYTES_2
#undef HEED_BYTES_1
#undef HEED_WORDS
#undef HEED_CLOBBERS
#undef HEED_OPERANDS
#undef HEED_IN_S26
#undef HEED_STORE
#undef HEED_END
#undef HEED_BEGIN
#undef HEED_WAY
#undef HEED_TWO_A_PASS
#undef HEED_INT8_OUTPUTS
#undef HEED_INT8_INPUTS
#undef HEED_INT8
#undef HEED_BF16_OUTPUTS
#undef HEED_BF16_INPUTS
#undef HEED_SHIFT
#undef HEED_F16_OUTPUTS
#undef HEED_F16_INPUTS
#undef HEED_F16
#undef HEED_F32_OUTPUTS
#undef HEED_F32_INPUTS
#undef HEED_SCALES
#undef HEED_SCALE
#undef HEED_EACH
#undef HEED_OUTPUTS
#undef HEED_INPUTS
#undef HEED_2_NUMBERS
#undef HEED_ROWS
#undef HEED_ODD_ROW
#undef HEED_ROW
#undef HEED_FMAS
#undef HEED_VFMA

}  // namespace heed

#endif
