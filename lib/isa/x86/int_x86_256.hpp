// Registers of 256 bits for integer attention: what AVX2 has, with VNNI or without.
#ifndef HEED_ISA_INT_X86_256_HPP
#define HEED_ISA_INT_X86_256_HPP

#include "int_x86_values.hpp"

namespace heed {
namespace {

constexpr int32_t first_masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
constexpr int16_t numbers16[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

struct int_256 {
  using reg = __m256i;
  static constexpr int lanes = 8;
  static constexpr bool unrolls = false;
  static constexpr bool wide_sums = false;
  static constexpr int32_t packs_from = 8;

  static HEED_INLINE reg zero() { return _mm256_setzero_si256(); }
  static HEED_INLINE reg set(int32_t x) { return _mm256_set1_epi32(x); }
  static HEED_INLINE reg set16(uint32_t x) { return _mm256_set1_epi16(static_cast<int16_t>(x)); }
  static HEED_INLINE reg set64(int64_t x) { return _mm256_set1_epi64x(x); }
  static HEED_INLINE reg load(const void *p) { return _mm256_loadu_si256(static_cast<const __m256i *>(p)); }
  static HEED_INLINE __m128i load_16(const void *p) { return _mm_loadu_si128(static_cast<const __m128i *>(p)); }
  static HEED_INLINE void store(void *p, reg x) { _mm256_storeu_si256(static_cast<__m256i *>(p), x); }
  // The first n bytes, 1 to 32. A word that is not whole is loaded from before, or by bytes.
  static HEED_INLINE reg load_n(const int8_t *p, int32_t n) {
    const int32_t words = n / 4, rest = n % 4;
    reg x = _mm256_maskload_epi32(reinterpret_cast<const int *>(p), load(first_masks + 8 - words));
    if (rest == 0) return x;
    uint32_t last;
    if (words > 0) {
      last = static_cast<uint32_t>(word_at(p + n - 4)) >> (32 - 8 * rest);
    } else {
      const auto byte = [&](int32_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(p[i])) << (8 * i); };
      last = byte(0) | byte(rest / 2) | byte(rest - 1);
    }
    const reg there = _mm256_cmpeq_epi32(set(words), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_or_si256(x, _mm256_and_si256(there, set(static_cast<int32_t>(last))));
  }
  static HEED_INLINE __m128i load_16(const int8_t *p, int32_t n) { return _mm256_castsi256_si128(load_n(p, n)); }
  static HEED_INLINE reg add(reg a, reg b) { return _mm256_add_epi32(a, b); }
  static HEED_INLINE reg sub(reg a, reg b) { return _mm256_sub_epi32(a, b); }
  static HEED_INLINE reg mul(reg a, reg b) { return _mm256_mullo_epi32(a, b); }
  static HEED_INLINE reg max(reg a, reg b) { return _mm256_max_epi32(a, b); }
  static HEED_INLINE reg flip(reg a, reg b) { return _mm256_xor_si256(a, b); }
  static HEED_INLINE reg shift_up(reg x, __m128i n) { return _mm256_sll_epi32(x, n); }
  static HEED_INLINE reg down_by(reg x, reg n) { return _mm256_srlv_epi32(x, n); }
  static HEED_INLINE reg shift_sign(reg x, __m128i n) { return _mm256_sra_epi32(x, n); }
  static HEED_INLINE __m128i high_half(reg x) { return _mm256_extracti128_si256(x, 1); }
  static HEED_INLINE int32_t sum(reg x) {
    __m128i y = _mm_add_epi32(_mm256_castsi256_si128(x), high_half(x));
    y = _mm_add_epi32(y, _mm_shuffle_epi32(y, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(y, _mm_shuffle_epi32(y, 0xb1)));
  }
  static HEED_INLINE int32_t greatest(reg x) {
    __m128i y = _mm_max_epi32(_mm256_castsi256_si128(x), high_half(x));
    y = _mm_max_epi32(y, _mm_shuffle_epi32(y, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(y, _mm_shuffle_epi32(y, 0xb1)));
  }
  static HEED_INLINE reg first_words(reg x, int32_t n, reg other) {
    return _mm256_blendv_epi8(other, x, load(first_masks + 8 - n));
  }

  // Keys.
  static HEED_INLINE void transpose(reg (&x)[8]) {  // of words
    reg a[8], b[8];
    HEED_UNROLL for (int i = 0; i < 8; i += 2) {
      a[i] = _mm256_unpacklo_epi32(x[i], x[i + 1]);
      a[i + 1] = _mm256_unpackhi_epi32(x[i], x[i + 1]);
    }
    HEED_UNROLL for (int i = 0; i < 8; i += 4) {
      HEED_UNROLL for (int l = 0; l < 2; l++) {
        b[i + 2 * l] = _mm256_unpacklo_epi64(a[i + l], a[i + l + 2]);
        b[i + 2 * l + 1] = _mm256_unpackhi_epi64(a[i + l], a[i + l + 2]);
      }
    }
    HEED_UNROLL for (int l = 0; l < 4; l++) {
      x[l] = _mm256_permute2x128_si256(b[l], b[l + 4], 0x20);
      x[l + 4] = _mm256_permute2x128_si256(b[l], b[l + 4], 0x31);
    }
  }
  // Each half holds a part of four sums, as fold leaves them.
  static HEED_INLINE reg fold(const reg (&x)[4]) {
    return _mm256_hadd_epi32(_mm256_hadd_epi32(x[0], x[1]), _mm256_hadd_epi32(x[2], x[3]));
  }
  static HEED_INLINE reg join(const reg (&x)[2]) {
    return add(_mm256_permute2x128_si256(x[0], x[1], 0x20), _mm256_permute2x128_si256(x[0], x[1], 0x31));
  }

  // Lanes of 16 bits.
  static HEED_INLINE reg narrow(reg a, reg b) { return _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xd8); }
  static HEED_INLINE reg add16(reg a, reg b) { return _mm256_add_epi16(a, b); }
  static HEED_INLINE reg add_saturated16(reg a, reg b) { return _mm256_adds_epu16(a, b); }
  static HEED_INLINE reg min16(reg a, reg b) { return _mm256_min_epu16(a, b); }
  static HEED_INLINE reg mul16(reg a, reg b) { return _mm256_mullo_epi16(a, b); }
  static HEED_INLINE reg mul_high16(reg a, reg b) { return _mm256_mulhi_epu16(a, b); }
  static HEED_INLINE reg mulr(reg a, reg b) { return _mm256_mulhrs_epi16(a, b); }
  static HEED_INLINE reg abs16(reg x) { return _mm256_abs_epi16(x); }
  template <int N>
  static HEED_INLINE reg up16(reg x) {
    return _mm256_slli_epi16(x, N);
  }
  // 2^(15 - octaves), by bytes of a table: no variable shift of 16 bits. A byte's index has bit 7 from 16 octaves on,
  // which gives 0; of 0 to 7 octaves the high byte is not 0, of 8 to 15 the low one.
  static HEED_INLINE reg power16(reg u) {
    const reg octaves = mul16(_mm256_srli_epi16(u, int_fraction), set16(0x0101));
    const reg index = flip(add16(octaves, set16(0x7070)), set16(8));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_set_epi64x(0, 0x0102040810204080)), index);
  }
  static HEED_INLINE reg first16(reg x, int32_t n) {
    return _mm256_and_si256(x, _mm256_cmpgt_epi16(set16(static_cast<uint32_t>(n)), load(numbers16)));
  }

  // Lanes of 64 bits. There is no shift of signed ones.
  static HEED_INLINE reg widen(const int32_t *p) { return _mm256_cvtepi32_epi64(load_16(p)); }
  static HEED_INLINE reg add64(reg a, reg b) { return _mm256_add_epi64(a, b); }
  static HEED_INLINE reg up64(reg x, __m128i n) { return _mm256_sll_epi64(x, n); }
  static HEED_INLINE reg down64(reg x, __m128i n) {
    const reg sign = set64(INT64_MIN);
    return _mm256_sub_epi64(_mm256_srl_epi64(flip(x, sign), n), _mm256_srl_epi64(sign, n));
  }
  static HEED_INLINE void store_low(int32_t *p, reg x) {
    const reg low = _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm256_castsi256_si128(low));
  }
  static HEED_INLINE reg odd(reg x) { return _mm256_srli_epi64(x, 32); }
  static HEED_INLINE reg mul_even(reg a, reg b) { return _mm256_mul_epi32(a, b); }
  static HEED_INLINE reg high_words(reg even, reg of_odd) { return _mm256_blend_epi32(odd(even), of_odd, 0xaa); }
  static HEED_INLINE __m128i clamped(reg x) { return _mm_packs_epi32(_mm256_castsi256_si128(x), high_half(x)); }
  static HEED_INLINE void store_clamped(int8_t *p, reg x) {
    _mm_storel_epi64(reinterpret_cast<__m128i *>(p), _mm_packs_epi16(clamped(x), clamped(x)));
  }
  static HEED_INLINE void store_clamped(int16_t *p, reg x) {
    _mm_storeu_si128(reinterpret_cast<__m128i *>(p), clamped(x));
  }
};

}  // namespace
}  // namespace heed

#endif
