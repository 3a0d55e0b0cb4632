// AVX-512 with VNNI: 16 words, 32 registers; vpdpbusd adds four products of bytes to a word.
#include "int_x86_values.hpp"

namespace heed {
namespace {

struct avx512vnni {
  using reg = __m512i;
  static constexpr int lanes = 16, dims = 4, keys = 4, planes = 2;
  static constexpr int32_t key_offset = 128, ones = 0x01010101;
  static constexpr int score_rows = 4;     // 8 sums + 2 registers of keys + 1 query
  static constexpr int plain_rows = 4;     // 16 sums + 4 keys + 1 query
  static constexpr int sum_rows = 2;       // 16 sums + 4 registers of values + 1 probability
  static constexpr bool wide_sums = true;  // one row: 16 sums + 8 registers of values
  static constexpr bool unrolls = true;    // keys of one register, or two
  static constexpr int32_t packs_from = 8;

  static HEED_INLINE reg zero() { return _mm512_setzero_si512(); }
  static HEED_INLINE reg set(int32_t x) { return _mm512_set1_epi32(x); }
  static HEED_INLINE reg set16(uint32_t x) { return _mm512_set1_epi16(static_cast<int16_t>(x)); }
  static HEED_INLINE reg set64(int64_t x) { return _mm512_set1_epi64(x); }
  static HEED_INLINE reg load(const void *p) { return _mm512_loadu_si512(p); }
  static HEED_INLINE reg load_n(const int8_t *p, int32_t n) { return _mm512_maskz_loadu_epi8(~0ull >> (64 - n), p); }
  static HEED_INLINE void store(void *p, reg x) { _mm512_storeu_si512(p, x); }
  static HEED_INLINE reg add(reg a, reg b) { return _mm512_add_epi32(a, b); }
  static HEED_INLINE reg sub(reg a, reg b) { return _mm512_sub_epi32(a, b); }
  static HEED_INLINE reg mul(reg a, reg b) { return _mm512_mullo_epi32(a, b); }
  static HEED_INLINE reg max(reg a, reg b) { return _mm512_max_epi32(a, b); }
  static HEED_INLINE reg flip(reg a, reg b) { return _mm512_xor_si512(a, b); }
  static HEED_INLINE reg shift_up(reg x, __m128i n) { return _mm512_sll_epi32(x, n); }
  static HEED_INLINE reg down_by(reg x, reg n) { return _mm512_srlv_epi32(x, n); }
  static HEED_INLINE reg shift_sign(reg x, __m128i n) { return _mm512_sra_epi32(x, n); }
  static HEED_INLINE int32_t sum(reg x) { return _mm512_reduce_add_epi32(x); }
  static HEED_INLINE int32_t greatest(reg x) { return _mm512_reduce_max_epi32(x); }
  static HEED_INLINE reg first_words(reg x, int32_t n, reg other) {
    return _mm512_mask_mov_epi32(other, static_cast<__mmask16>((1u << n) - 1), x);
  }

  // Keys and queries.
  static HEED_INLINE reg query(const int8_t *q, int32_t n) { return load_n(q, n); }
  static HEED_INLINE reg centred(reg x, int32_t) { return x; }
  static HEED_INLINE reg offset(reg x) { return flip(x, set(static_cast<int32_t>(0x80808080))); }
  static HEED_INLINE reg keys_at(const int8_t *p) { return offset(load(p)); }
  static HEED_INLINE reg keys_at(const int8_t *p, int32_t n) { return offset(load_n(p, n)); }
  static HEED_INLINE reg dot(reg sum, reg key, reg query) { return _mm512_dpbusd_epi32(sum, key, query); }
  static HEED_INLINE void transpose(reg (&x)[16]) {  // of words
    reg a[16], b[16];
    HEED_UNROLL for (int i = 0; i < 16; i += 2) {
      a[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
      a[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    HEED_UNROLL for (int i = 0; i < 16; i += 4) {
      HEED_UNROLL for (int l = 0; l < 2; l++) {
        b[i + 2 * l] = _mm512_unpacklo_epi64(a[i + l], a[i + l + 2]);
        b[i + 2 * l + 1] = _mm512_unpackhi_epi64(a[i + l], a[i + l + 2]);
      }
    }
    HEED_UNROLL for (int l = 0; l < 4; l++) {
      reg four[4] = {b[l], b[l + 4], b[l + 8], b[l + 12]};
      in_order(four);
      HEED_UNROLL for (int i = 0; i < 4; i++) x[l + 4 * i] = four[i];
    }
  }
  // Each quarter of 128 bits holds a part of four sums, as fold leaves them.
  static HEED_INLINE reg fold(const reg (&x)[4]) {
    const reg a = add(_mm512_unpacklo_epi32(x[0], x[1]), _mm512_unpackhi_epi32(x[0], x[1]));
    const reg b = add(_mm512_unpacklo_epi32(x[2], x[3]), _mm512_unpackhi_epi32(x[2], x[3]));
    return add(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  }
  static HEED_INLINE reg halves(reg a, reg b) {
    return add(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
  }
  static HEED_INLINE reg join(const reg (&x)[4]) { return halves(halves(x[0], x[1]), halves(x[2], x[3])); }

  // Lanes of 16 bits.
  static HEED_INLINE reg narrow(reg a, reg b) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_packus_epi32(a, b));
  }
  static HEED_INLINE reg add16(reg a, reg b) { return _mm512_add_epi16(a, b); }
  static HEED_INLINE reg add_saturated16(reg a, reg b) { return _mm512_adds_epu16(a, b); }
  static HEED_INLINE reg min16(reg a, reg b) { return _mm512_min_epu16(a, b); }
  static HEED_INLINE reg mul16(reg a, reg b) { return _mm512_mullo_epi16(a, b); }
  static HEED_INLINE reg mul_high16(reg a, reg b) { return _mm512_mulhi_epu16(a, b); }
  static HEED_INLINE reg mulr(reg a, reg b) { return _mm512_mulhrs_epi16(a, b); }
  static HEED_INLINE reg abs16(reg x) { return _mm512_abs_epi16(x); }
  template <int N>
  static HEED_INLINE reg up16(reg x) {
    return _mm512_slli_epi16(x, N);
  }
  static HEED_INLINE reg power16(reg u) {  // 2^(15 - octaves)
    return _mm512_srlv_epi16(set16(0x8000), _mm512_srli_epi16(u, int_fraction));
  }
  static HEED_INLINE reg first16(reg x, int32_t n) {
    const uint32_t mask = n > 0 ? ~0u >> (32 - n) : 0;
    return _mm512_maskz_mov_epi16(mask, x);
  }
  static HEED_INLINE reg dot16(reg sum, reg a, reg b) { return _mm512_dpwssd_epi32(sum, a, b); }

  // Values of four keys. Bytes of four rows side by side; in_order makes dimensions ascend.
  static HEED_INLINE void side_by_side(const reg (&row)[4], reg *x) {
    const reg a = _mm512_unpacklo_epi8(row[0], row[1]), b = _mm512_unpackhi_epi8(row[0], row[1]);
    const reg c = _mm512_unpacklo_epi8(row[2], row[3]), d = _mm512_unpackhi_epi8(row[2], row[3]);
    x[0] = _mm512_unpacklo_epi16(a, c);
    x[1] = _mm512_unpackhi_epi16(a, c);
    x[2] = _mm512_unpacklo_epi16(b, d);
    x[3] = _mm512_unpackhi_epi16(b, d);
  }
  static HEED_INLINE void values(const int8_t *const (&row)[4], int32_t i, reg *x) {
    const reg rows[4] = {load(row[0] + i), load(row[1] + i), load(row[2] + i), load(row[3] + i)};
    side_by_side(rows, x);
  }
  static HEED_INLINE void in_order(reg *x) {  // a transpose of quarters
    const reg a = _mm512_shuffle_i32x4(x[0], x[1], 0x44), b = _mm512_shuffle_i32x4(x[0], x[1], 0xee);
    const reg c = _mm512_shuffle_i32x4(x[2], x[3], 0x44), d = _mm512_shuffle_i32x4(x[2], x[3], 0xee);
    x[0] = _mm512_shuffle_i32x4(a, c, 0x88);
    x[1] = _mm512_shuffle_i32x4(a, c, 0xdd);
    x[2] = _mm512_shuffle_i32x4(b, d, 0x88);
    x[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
  static HEED_INLINE void values(const int8_t *const (&row)[4], int32_t i, int32_t n, reg *x) {
    const reg rows[4] = {load_n(row[0] + i, n), load_n(row[1] + i, n), load_n(row[2] + i, n), load_n(row[3] + i, n)};
    side_by_side(rows, x);
  }
  static HEED_INLINE reg add_values(reg sum, reg p, reg v) { return _mm512_dpbusd_epi32(sum, p, v); }
  static HEED_INLINE reg join_planes(reg high, reg low) { return add(_mm512_slli_epi32(high, 7), low); }
  static HEED_INLINE reg split(reg p) {
    return _mm512_packus_epi16(_mm512_srli_epi16(p, 7), _mm512_and_si512(p, set16(127)));
  }

  // Lanes of 64 bits.
  static HEED_INLINE reg widen(const int32_t *p) {
    return _mm512_cvtepi32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
  }
  static HEED_INLINE reg add64(reg a, reg b) { return _mm512_add_epi64(a, b); }
  static HEED_INLINE reg up64(reg x, __m128i n) { return _mm512_sll_epi64(x, n); }
  static HEED_INLINE reg down64(reg x, __m128i n) { return _mm512_sra_epi64(x, n); }
  static HEED_INLINE void store_low(int32_t *p, reg x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtepi64_epi32(x));
  }
  static HEED_INLINE reg odd(reg x) { return _mm512_srli_epi64(x, 32); }
  static HEED_INLINE reg mul_even(reg a, reg b) { return _mm512_mul_epi32(a, b); }
  static HEED_INLINE reg high_words(reg even, reg of_odd) { return _mm512_mask_mov_epi32(odd(even), 0xaaaa, of_odd); }
  static HEED_INLINE void store_clamped(int8_t *p, reg x) {
    _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm512_cvtsepi32_epi8(x));
  }
  static HEED_INLINE void store_clamped(int16_t *p, reg x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtsepi32_epi16(x));
  }
};

}  // namespace

HEED_DEFINE_INT_X86(int_avx512vnni, avx512vnni, "avx512vnni", cpu_has_avx512vnni)

}  // namespace heed
