// The part of a vector model that xsimd gives for every instruction set; each isa/*.cpp adds what only it has, and defines
// HEED_FMA: the arithmetic.
// Registers are kept raw, so that arrays of them stay in registers and an empty asm can pin them. xsimd::fma, max,
// reduce_add and exp are not used: 8.1's fma is not fma on AVX-512 and avx2, max treats NaN by instruction set, and
// the last two differ in their last bits. Builds with xsimd 8.1 (Debian 12) to 14.
#ifndef HEED_ISA_XSIMD_MODEL_HPP
#define HEED_ISA_XSIMD_MODEL_HPP

#include "../../vector/make_kernel.hpp"
#include "../../vector/widen.hpp"

#include <xsimd/xsimd.hpp>

namespace heed {

template <class Arch>
struct xsimd_model {
  using batch = xsimd::batch<float, Arch>;
  using reg = typename batch::register_type;
  static constexpr int lanes = static_cast<int>(batch::size);
  static constexpr bool has_fma = HEED_FMA;
  static constexpr bool compact = false, copies_panels = true, loads_narrow = true;
  static constexpr bool shuffles_bytes = false, finds_nibbles = false, transposes_words = false, orders_tiles = false;
  static constexpr int factors_at_once = 1;

  static HEED_INLINE reg load(const float *p) { return batch::load_unaligned(p).data; }
  template <class T>
  static HEED_INLINE reg load(const T *p) {
    if constexpr (lanes == 4)
      return reinterpret_cast<reg>(load_narrow4(p));
    else
      return load_narrow<xsimd_model>(p);
  }
  static HEED_INLINE void store(float *p, reg r) { batch(r).store_unaligned(p); }
  static HEED_INLINE reg load_n(const float *p, int32_t n) { return load_each<xsimd_model>(p, n); }
  static HEED_INLINE void store_n(float *p, reg r, int32_t n) { store_each<xsimd_model>(p, r, n); }
  static HEED_INLINE reg set(float x) { return batch(x).data; }
  static HEED_INLINE reg factor(float x) { return set(x); }
  static HEED_INLINE reg add(reg a, reg b) { return (batch(a) + batch(b)).data; }
  static HEED_INLINE reg sub(reg a, reg b) { return (batch(a) - batch(b)).data; }
  static HEED_INLINE reg mul(reg a, reg b) { return (batch(a) * batch(b)).data; }

  typedef uint32_t words __attribute__((vector_size(4 * lanes)));
  static HEED_INLINE reg masked(reg x, uint32_t mask, uint32_t flip) {
    return reinterpret_cast<reg>((reinterpret_cast<words>(x) & mask) ^ flip);
  }
  template <int BITS>
  static HEED_INLINE reg shift_down(reg x) {
    return reinterpret_cast<reg>(reinterpret_cast<words>(x) >> BITS);
  }

  static HEED_INLINE reg rounded(reg x, reg &t) {
    t = add(x, set(exp2_magic));
    return sub(t, set(exp2_magic));
  }
};

}  // namespace heed

#endif
