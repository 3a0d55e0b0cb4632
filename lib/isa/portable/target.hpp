// What the compiler's target can do beyond the instruction sets that have a file here, in macros alone: the build asks
// this file, too (ports/cmake/isa.cmake).
//   HEED_TARGET_FMA      a fused multiply-add is one instruction. GCC says so itself, clang only for some targets; the
//   same
//                        processor must get the same arithmetic from both.
//   HEED_TARGET_VECTORS  there are registers of four floats
#ifndef HEED_ISA_TARGET_HPP
#define HEED_ISA_TARGET_HPP

#if defined(__arm__)
#if defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & 4)
#define HEED_TARGET_FMA 1
#endif
#elif defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__aarch64__) || defined(__s390__) ||               \
    (defined(__riscv_flen) && __riscv_flen >= 32) || (defined(__loongarch_frlen) && __loongarch_frlen >= 32) || \
    ((defined(__powerpc__) || defined(__ppc__)) && !defined(_SOFT_FLOAT) && !defined(__NO_FPRS__)) ||           \
    (defined(__mips_hard_float) && __mips_isa_rev >= 6)
#define HEED_TARGET_FMA 1
#endif

#if defined(__SSE2__) || defined(__aarch64__) || defined(__VSX__) || (defined(__VX__) && __ARCH__ >= 12) || \
    defined(__loongarch_sx) || defined(__mips_msa) || defined(__wasm_simd128__) || defined(__riscv_vector)
#define HEED_TARGET_VECTORS 1
#endif

#endif
