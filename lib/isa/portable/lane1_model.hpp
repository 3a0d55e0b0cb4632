// The generic algorithm without vectors: a register is one float. Included where HEED_FMA is defined.
#ifndef HEED_ISA_LANE1_MODEL_HPP
#define HEED_ISA_LANE1_MODEL_HPP

#include "../../vector/make_kernel.hpp"
#include "../../vector/widen.hpp"

// A Cortex-M whose FPU has the fused instruction.
#if HEED_FMA && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && defined(__ARM_FEATURE_FMA) && \
    defined(__ARM_FP) && (__ARM_FP & 4)
#define HEED_CORTEX_M_TILE 1
#include "../cortex_m/cortex_m_project.hpp"
#include "../cortex_m/cortex_m_rows.hpp"
#include "../cortex_m/cortex_m_tile.hpp"
#else
#define HEED_CORTEX_M_TILE 0
#endif

namespace heed {
namespace {

// Exponentials side by side: one alone is a chain of 12 dependent operations, for which greater processors wait. Where
// code is to be small, and for calls of functions, one; a model's own are pairs.
#if HEED_CORTEX_M_TILE
#elif defined(__SOFTFP__) || defined(__OPTIMIZE_SIZE__)
constexpr int lane1_exponentials = 1;
#else
constexpr int lane1_exponentials = 2;
#endif

HEED_INLINE float lane_fma(float a, float b, float c) {
#if HEED_FMA
  return HEED_FMAF(a, b, c);
#else
  return a * b + c;
#endif
}
HEED_INLINE float lane_max(float a, float b) { return a > b ? a : b; }
HEED_INLINE float lane_zero_below(float y, float x, float limit) {
#if defined(__clang__) && defined(__ARM_FEATURE_MVE)
  __asm("" : "+t"(x));  // clang 19 would vectorise with a "less than" of Helium that holds for NaN
#endif
  return x < limit ? 0.0f : y;
}
union lane_bits {
  float number;
  uint32_t bits;
};
HEED_INLINE float lane_times_power(float y, float t) {
  lane_bits power = {t};
  power.bits <<= 23;
  return y * power.number;
}
HEED_INLINE float lane_inverse_guess(float d) {
  lane_bits guess = {d};
  guess.bits = inverse_bits - guess.bits;
  return guess.number;
}

struct lane1 {
  using reg = float;
  static constexpr int lanes = 1;
  static constexpr bool has_fma = HEED_FMA;
  static constexpr bool compact = true, loads_narrow = false;
  // 16 chains, 4 + 1 operands: a unit of 32 registers
  static constexpr int sum_rows = most_product_rows, sum_vecs = most_product_rows;
  static constexpr bool own_tile = HEED_CORTEX_M_TILE;
#if HEED_CORTEX_M_TILE && defined(__ARM_FEATURE_DSP)
  static constexpr bool own_bytes = true;
  static HEED_INLINE void project_bytes(const shifted_tile &t) { project_bytes_cortex_m(t); }
#else
  static constexpr bool own_bytes = false;
#endif
#if !HEED_CORTEX_M_TILE
  static constexpr int exponentials = lane1_exponentials;
#else
  static HEED_INLINE void multiply_tile(product &p) { multiply_tile_cortex_m(p); }
  static HEED_INLINE void project_tile(const projection_tile &t) { project_tile_cortex_m(t); }
  static HEED_INLINE void exponentials_of_pairs(float *x, float *sums, int32_t n, float shift) {
    exponentials_cortex_m(x, sums, n, shift);
  }
  static HEED_INLINE float logits_of_fours(float *y, const float *x, int32_t n, float c, float m) {
    return logits_cortex_m(y, x, n, c, m);
  }
  static HEED_INLINE void scale_fours(float *y, const float *x, int32_t n, float c, float addend) {
    scale_cortex_m(y, x, n, c, addend);
  }
  static HEED_INLINE float tree_of_16(const float *x) { return tree_cortex_m(x); }
  static HEED_INLINE void clear_sixteens(float *x, int32_t n) { clear_cortex_m(x, n); }
  static HEED_INLINE void project_words(const projection_tile &t) { project_words_cortex_m(t); }
#endif

  static HEED_INLINE reg load(const float *p) { return *p; }
  template <class T>
  static HEED_INLINE reg load(const T *p) {
    return widen(*p);
  }
  static HEED_INLINE void store(float *p, reg r) { *p = r; }
  static HEED_INLINE reg set(float x) { return x; }
  static HEED_INLINE reg factor(float x) { return x; }
  static HEED_INLINE reg add(reg a, reg b) { return a + b; }
  static HEED_INLINE reg sub(reg a, reg b) { return a - b; }
  static HEED_INLINE reg mul(reg a, reg b) { return a * b; }
  static HEED_INLINE reg fma(reg a, reg b, reg c) { return lane_fma(a, b, c); }
  static HEED_INLINE reg max(reg a, reg b) { return lane_max(a, b); }
  static HEED_INLINE reg zero_below(reg y, reg x, float limit) { return lane_zero_below(y, x, limit); }
  static HEED_INLINE reg rounded(reg x, reg &t) {
    t = x + exp2_magic;
    return t - exp2_magic;
  }
  static HEED_INLINE reg times_power(reg y, reg t) { return lane_times_power(y, t); }
  static HEED_INLINE reg power(reg y, reg t, reg x) { return zero_below(times_power(y, t), x, exp2_cutoff); }
  static HEED_INLINE reg inverse_guess(reg d) { return lane_inverse_guess(d); }
  static HEED_INLINE reg if_negative(reg x, reg a, reg b) { return x < 0.0f ? a : b; }
  static HEED_INLINE void pin(reg &) {}
  static HEED_INLINE void transpose4(const float *p, ptrdiff_t, reg (&out)[4]) {
    for (int i = 0; i < 4; i++) out[i] = p[i];
  }
};

}  // namespace
}  // namespace heed

#endif
