// What the processor can do. One function per instruction set, asked before its kernel is first used.
#ifndef HEED_ISA_CPU_HPP
#define HEED_ISA_CPU_HPP

namespace heed {

bool cpu_has_baseline();  // true: the build's own target
bool cpu_has_fma();       // what the FMA generic and reference kernels were compiled for
bool cpu_has_avx2();      // with FMA and F16C, as every processor that has it
bool cpu_has_avx512();    // F, CD, DQ, BW, VL
bool cpu_has_avx512vnni();
bool cpu_has_avxvnni();
bool cpu_has_neon();
bool cpu_has_neon_fma();  // 32-bit Arm: VFPv4, too
bool cpu_has_dotprod();
bool cpu_has_rvv();          // 1.0, registers of 128 bits or more
bool cpu_has_sve(int bits);  // and its registers have so many bits

}  // namespace heed

#endif
