// WebAssembly's vectors (SIMD128): what they do better than lanes4's loops.
#ifndef HEED_SIMD128_MODEL_HPP
#define HEED_SIMD128_MODEL_HPP

#include "../portable/lanes4_model.hpp"

#include <wasm_simd128.h>

namespace heed {
namespace {

struct simd128 : lanes4 {
  using lanes4::load;
  static HEED_INLINE reg load(const f16 *p) { return widen_four(f16(), words4(wasm_u32x4_load16x4(p))); }
  static HEED_INLINE reg load(const bf16 *p) { return widen_four(bf16(), words4(wasm_u32x4_load16x4(p))); }
  static HEED_INLINE reg load(const int8_t *p) {
    return widen_four(int8_t(),
                      words4(wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p)))));
  }
  static HEED_INLINE reg load(const weight_byte *p) {
    return reg(wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(wasm_v128_load32_zero(p))));
  }
  static HEED_INLINE reg max(reg a, reg b) { return reg(wasm_f32x4_pmax(v128_t(b), v128_t(a))); }  // b < a ? a : b
};

}  // namespace
}  // namespace heed

#endif
