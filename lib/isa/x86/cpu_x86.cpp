#include "../portable/cpu.hpp"

#include <cpuid.h>

namespace heed {
namespace {

struct x86_features {
  bool avx2, avx512, avx512vnni;
};

// An instruction set counts when the processor has it and the system saves its registers (XCR0).
x86_features detect() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return {};
  constexpr unsigned needed = bit_FMA | bit_F16C | bit_OSXSAVE | bit_AVX;
  if ((c & needed) != needed) return {};
  unsigned saved, high;
  asm volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if ((saved & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return {};
  constexpr unsigned avx512 = bit_AVX512F | bit_AVX512CD | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  constexpr unsigned vnni = 1u << 11;
  x86_features f;
  f.avx2 = (b & bit_AVX2) != 0;
  f.avx512 = f.avx2 && (b & avx512) == avx512 && (saved & 0xe6) == 0xe6;
  f.avx512vnni = f.avx512 && (c & vnni) != 0;
  return f;
}

}  // namespace

bool cpu_has_baseline() { return true; }
bool cpu_has_fma() { return detect().avx2; }
bool cpu_has_avx2() { return detect().avx2; }
bool cpu_has_avx512() { return detect().avx512; }
bool cpu_has_avx512vnni() { return detect().avx512vnni; }
bool cpu_has_avxvnni() {
  unsigned a, b, c, d;
  return detect().avx2 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4) != 0;
}

}  // namespace heed
