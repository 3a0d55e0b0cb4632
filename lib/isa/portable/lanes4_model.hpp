// The generic algorithm on the compiler's own vector type, which it maps to whatever 128-bit registers its target has:
// for processors without a file here, and as a second witness beside the reference. Included where HEED_FMA is
// defined.
#ifndef HEED_ISA_LANES4_MODEL_HPP
#define HEED_ISA_LANES4_MODEL_HPP

#include "../../vector/make_kernel.hpp"
#include "../../vector/widen.hpp"
#include "target.hpp"

namespace heed {
namespace {

// A register is a value of a vector type, never an array: a temporary array has an address, and GCC 11 and 12 let two
// of them share a stack slot too early (below -O3, on targets without vector registers: the first row of a tile got the
// accumulator of its last). What has no address cannot be shared.
struct lanes4 {
  typedef float reg __attribute__((vector_size(16)));
  typedef int32_t bits __attribute__((vector_size(16)));
  typedef float in_memory __attribute__((vector_size(16), aligned(4), may_alias));
  static constexpr int lanes = 4;
  static constexpr bool has_fma = HEED_FMA;
  static constexpr bool loads_narrow = false;
  static constexpr bool shuffles_bytes = false, finds_nibbles = false, transposes_words = false;
  static constexpr int factors_at_once = 1;
#ifdef HEED_TARGET_VECTORS
  static constexpr bool compact = false;
#else  // registers are memory themselves: with large tiles a call would exceed HEED_STACK_BYTES
  static constexpr bool compact = true;
#endif
#if defined(HEED_TARGET_VECTORS) && !defined(HEED_SINGLE)
  static constexpr bool copies_panels = true;
#else
  static constexpr bool copies_panels = false;
#endif
  static constexpr int score_keys = 4, score_vecs = 2, sum_rows = 4, sum_vecs = 2;  // for 16 registers

  static HEED_INLINE reg load(const float *p) { return *reinterpret_cast<const in_memory *>(p); }
  template <class T>
  static HEED_INLINE reg load(const T *p) {
    return load_narrow4(p);
  }
  template <class T, class F>
  static HEED_INLINE void columns(const T *p, ptrdiff_t stride, F f) {
    if constexpr (sizeof(T) == 4)
      columns_of_floats<lanes4>(p, stride, f);
    else
      columns_each4<lanes4>(p, stride, f);
  }
  static HEED_INLINE ptrdiff_t rows(ptrdiff_t stride) { return stride; }
  static HEED_INLINE reg column(const float *p, ptrdiff_t stride) {
    return reg{p[0], p[stride], p[2 * stride], p[3 * stride]};
  }
  template <class T>
  static HEED_INLINE reg column(const T *p, ptrdiff_t stride) {
    return load_narrow4(p, stride);
  }
  static HEED_INLINE void store(float *p, reg r) { *reinterpret_cast<in_memory *>(p) = r; }
  static HEED_INLINE reg load_n(const float *p, int32_t n) { return load_each<lanes4>(p, n); }
  static HEED_INLINE void store_n(float *p, reg r, int32_t n) { store_each<lanes4>(p, r, n); }
  static HEED_INLINE reg set(float x) { return reg{x, x, x, x}; }
  static HEED_INLINE reg factor(float x) { return set(x); }
  static HEED_INLINE reg add(reg a, reg b) { return a + b; }
  static HEED_INLINE reg sub(reg a, reg b) { return a - b; }
  static HEED_INLINE reg mul(reg a, reg b) { return a * b; }
  static HEED_INLINE reg fma(reg a, reg b, reg c) {
#if !HEED_FMA
    return a * b + c;
#elif defined(__clang__) && __has_builtin(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(a, b, c);
#else
    return reg{HEED_FMAF(a[0], b[0], c[0]), HEED_FMAF(a[1], b[1], c[1]), HEED_FMAF(a[2], b[2], c[2]),
               HEED_FMAF(a[3], b[3], c[3])};
#endif
  }
  typedef uint32_t words __attribute__((vector_size(16)));
  static HEED_INLINE reg masked(reg x, uint32_t mask, uint32_t flip) {
    return reinterpret_cast<reg>((reinterpret_cast<words>(x) & mask) ^ flip);
  }
  template <int BITS>
  static HEED_INLINE reg shift_down(reg x) {
    return reinterpret_cast<reg>(reinterpret_cast<words>(x) >> BITS);
  }
  static HEED_INLINE reg select(bits take_a, reg a, reg b) {
    return reinterpret_cast<reg>((take_a & reinterpret_cast<bits>(a)) | (~take_a & reinterpret_cast<bits>(b)));
  }
  static HEED_INLINE reg max(reg a, reg b) { return select(a > b, a, b); }
  static HEED_INLINE reg zero_below(reg y, reg x, float limit) { return select(x < set(limit), set(0.0f), y); }
  static HEED_INLINE reg hide(reg x, reg flags, uint32_t word) {
    const int32_t bit = static_cast<int32_t>(word);
    const bits some = reinterpret_cast<bits>(flags) & bits{bit, bit, bit, bit};
    return select(some != 0, x, set(negative_infinity));
  }
  static HEED_INLINE reg rounded(reg x, reg &t) {
    t = x + set(exp2_magic);
    return t - set(exp2_magic);
  }
  static HEED_INLINE reg times_power(reg y, reg t) {
    return y * reinterpret_cast<reg>(reinterpret_cast<bits>(t) << 23);
  }
  static HEED_INLINE reg power(reg y, reg t, reg x) { return zero_below(times_power(y, t), x, exp2_cutoff); }
  static HEED_INLINE reg inverse_guess(reg d) {
    return reinterpret_cast<reg>(inverse_bits - reinterpret_cast<words>(d));
  }
  static HEED_INLINE reg if_negative(reg x, reg a, reg b) { return select(reinterpret_cast<bits>(x) < 0, a, b); }
  static HEED_INLINE float tree(reg r) { return (r[0] + r[2]) + (r[1] + r[3]); }
  static HEED_INLINE reg swap_pairs(reg r) { return reg{r[1], r[0], r[3], r[2]}; }
  static HEED_INLINE void pin(reg &) {}
  static HEED_INLINE void transpose4(const float *p, ptrdiff_t stride, reg (&out)[4]) {
    HEED_UNROLL for (int i = 0; i < 4; i++) out[i] = reg{p[i], p[stride + i], p[2 * stride + i], p[3 * stride + i]};
  }
};

}  // namespace
}  // namespace heed

#endif
