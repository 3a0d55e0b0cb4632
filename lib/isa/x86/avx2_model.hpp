// AVX2: 8 floats, 16 registers, in both arithmetics.
#ifndef HEED_ISA_AVX2_MODEL_HPP
#define HEED_ISA_AVX2_MODEL_HPP

#include "../portable/xsimd_model.hpp"

namespace heed {
namespace {

constexpr int32_t masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

// For a shuffle: byte k of each word, alone.
constexpr uint32_t byte_orders[4][8] = {
    {0x80808000, 0x80808004, 0x80808008, 0x8080800c, 0x80808000, 0x80808004, 0x80808008, 0x8080800c},
    {0x80808001, 0x80808005, 0x80808009, 0x8080800d, 0x80808001, 0x80808005, 0x80808009, 0x8080800d},
    {0x80808002, 0x80808006, 0x8080800a, 0x8080800e, 0x80808002, 0x80808006, 0x8080800a, 0x8080800e},
    {0x80808003, 0x80808007, 0x8080800b, 0x8080800f, 0x80808003, 0x80808007, 0x8080800b, 0x8080800f}};

struct avx2 : xsimd_model<xsimd::avx2> {
  static constexpr int score_keys = 4, score_vecs = 3;  // 12 dots + 3 queries + 1 key: all 16
  static constexpr int sum_rows = 6, sum_vecs = 2;      // 12 sums + 2 columns + 1 factor

  static HEED_INLINE __m256i first(int32_t n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(masks + 8 - n));
  }
  using xsimd_model::load;
  static HEED_INLINE __m128i load_16(const void *p) { return _mm_loadu_si128(static_cast<const __m128i *>(p)); }
  static HEED_INLINE reg load(const f16 *p) { return _mm256_cvtph_ps(load_16(p)); }
  static HEED_INLINE reg load(const bf16 *p) {
    return of_bits(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_16(p)), 16));
  }
  static HEED_INLINE reg load(const int8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(p))));
  }
  static HEED_INLINE reg load(const weight_byte *p) {
    return of_bits(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(p))));
  }
  static HEED_INLINE reg of_bits(__m256i x) { return _mm256_castsi256_ps(x); }
  static constexpr bool shuffles_bytes = true, transposes_words = true, orders_tiles = true;
  static HEED_INLINE reg byte_order(int byte) {
    return of_bits(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(byte_orders[byte])));
  }
  static HEED_INLINE reg shuffle_bytes(reg words, reg order) {
    return of_bits(_mm256_shuffle_epi8(_mm256_castps_si256(words), _mm256_castps_si256(order)));
  }
  // Four registers of outputs, whose bytes are unpacked, stand as quarters: 0 and 4, 1 and 5, 2 and 6, 3 and 7.
  static HEED_INLINE void codes_of_tile(const unsigned char *p, uint32_t flip, reg (&r)[4]) {
    const __m256i bytes = _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)),
                                           _mm256_set1_epi8(static_cast<char>(flip)));
    const __m256i top = _mm256_set1_epi16(0x4b00), none = _mm256_setzero_si256();
    const __m256i low = _mm256_unpacklo_epi8(bytes, none), high = _mm256_unpackhi_epi8(bytes, none);
    r[0] = of_bits(_mm256_unpacklo_epi16(low, top)), r[1] = of_bits(_mm256_unpackhi_epi16(low, top));
    r[2] = of_bits(_mm256_unpacklo_epi16(high, top)), r[3] = of_bits(_mm256_unpackhi_epi16(high, top));
  }
  static HEED_INLINE void load_tile(const float *p, reg (&r)[4]) {
    HEED_UNROLL for (int v = 0; v < 4; v++) r[v] = two_rows(reinterpret_cast<const char *>(p + 4 * v), 16);
  }
  static HEED_INLINE void store_tile(float *p, const reg (&r)[4]) {
    HEED_UNROLL for (int v = 0; v < 4; v += 2) {
      store(p + 4 * v, _mm256_permute2f128_ps(r[v], r[v + 1], 0x20));
      store(p + 16 + 4 * v, _mm256_permute2f128_ps(r[v], r[v + 1], 0x31));
    }
  }

  // Words of 32 bits are transposed; each holds two or four numbers of its row.
  template <class T, class F>
  static HEED_INLINE void columns(const T *p, ptrdiff_t stride, F f) {
    if constexpr (sizeof(T) == 4) return columns_of_floats<avx2>(p, stride, f);
    reg words[4];
    transpose_words(reinterpret_cast<const char *>(p), stride * static_cast<ptrdiff_t>(sizeof(T)), words);
    for_each_constant<4>([&](auto w) HEED_INLINED {
      constexpr int i = decltype(w)::value;
      split_words(T(), _mm256_castps_si256(words[i]), [&](auto part, reg x) HEED_INLINED {
        f(constant<i * 4 / static_cast<int>(sizeof(T)) + decltype(part)::value>(), x);
      });
    });
  }
  template <class F>
  static HEED_INLINE void split_words(bf16, __m256i words, F f) {
    f(constant<0>(), of_bits(_mm256_slli_epi32(words, 16)));
    f(constant<1>(), of_bits(_mm256_and_si256(words, _mm256_set1_epi32(static_cast<int>(0xffff0000)))));
  }
  template <class F>
  static HEED_INLINE void split_words(f16, __m256i words, F f) {  // low halves of all words, then high halves
    const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0, 1, 4, 5, 8, 9, 12,
                                           13, 2, 3, 6, 7, 10, 11, 14, 15);
    const __m256i halves = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(words, order), 0xd8);
    f(constant<0>(), _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
    f(constant<1>(), _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
  }
  template <class F>
  static HEED_INLINE void split_words(int8_t, __m256i words, F f) {
    for_each_constant<4>([&](auto byte) HEED_INLINED {
      const __m256i top = _mm256_slli_epi32(words, 24 - 8 * decltype(byte)::value);
      f(byte, _mm256_cvtepi32_ps(_mm256_srai_epi32(top, 24)));
    });
  }
  static HEED_INLINE reg load_n(const float *p, int32_t n) { return _mm256_maskload_ps(p, first(n)); }
  static HEED_INLINE void store_n(float *p, reg r, int32_t n) { _mm256_maskstore_ps(p, first(n), r); }
  static HEED_INLINE reg fma(reg a, reg b, reg c) {
    if constexpr (has_fma) return _mm256_fmadd_ps(a, b, c);
    return _mm256_add_ps(_mm256_mul_ps(a, b), c);
  }
  static HEED_INLINE reg max(reg a, reg b) { return _mm256_max_ps(a, b); }
  static HEED_INLINE reg zero_below(reg y, reg x, float limit) {
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(limit), _CMP_LT_OQ), y);
  }
  static HEED_INLINE reg times_power(reg y, reg t) {
    return _mm256_mul_ps(y, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(t), 23)));
  }
  static HEED_INLINE reg power(reg y, reg t, reg x) { return zero_below(times_power(y, t), x, exp2_cutoff); }
  static HEED_INLINE reg inverse_guess(reg d) {
    const __m256i from = _mm256_set1_epi32(static_cast<int>(inverse_bits));
    return _mm256_castsi256_ps(_mm256_sub_epi32(from, _mm256_castps_si256(d)));
  }
  static HEED_INLINE reg if_negative(reg x, reg a, reg b) { return _mm256_blendv_ps(b, a, x); }
  static HEED_INLINE float tree(reg r) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(r), _mm256_extractf128_ps(r, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  }
  static HEED_INLINE reg swap_pairs(reg r) { return _mm256_permute_ps(r, 0xb1); }
  static HEED_INLINE reg hide(reg x, reg flags, uint32_t bits) {
    const __m256i some = _mm256_and_si256(_mm256_castps_si256(flags), _mm256_set1_epi32(static_cast<int>(bits)));
    const __m256 none = _mm256_castsi256_ps(_mm256_cmpeq_epi32(some, _mm256_setzero_si256()));
    return _mm256_blendv_ps(x, set(negative_infinity), none);
  }
  static HEED_INLINE void pin(reg &r) { asm("" : "+x"(r)); }

  // Rows l and l + 4 share a register, one to each 128-bit half; then two 4 x 4 transposes at once.
  static HEED_INLINE __m128 load_4(const char *p) { return _mm_loadu_ps(reinterpret_cast<const float *>(p)); }
  static HEED_INLINE reg two_rows(const char *p, ptrdiff_t bytes) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(load_4(p)), load_4(p + 4 * bytes), 1);
  }
  static HEED_INLINE void transpose4(const float *p, ptrdiff_t stride, reg (&out)[4]) {
    transpose_words(reinterpret_cast<const char *>(p), 4 * stride, out);
  }
  // 16 bytes of each of 8 rows as 4 words.
  static HEED_INLINE void transpose_words(const char *p, ptrdiff_t bytes, reg (&out)[4]) {
    const reg a = two_rows(p, bytes), b = two_rows(p + bytes, bytes);
    const reg c = two_rows(p + 2 * bytes, bytes), d = two_rows(p + 3 * bytes, bytes);
    const __m256d ab_low = _mm256_castps_pd(_mm256_unpacklo_ps(a, b)),
                  ab_high = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
    const __m256d cd_low = _mm256_castps_pd(_mm256_unpacklo_ps(c, d)),
                  cd_high = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
    out[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(ab_low, cd_low));
    out[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(ab_low, cd_low));
    out[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(ab_high, cd_high));
    out[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(ab_high, cd_high));
  }
};

}  // namespace
}  // namespace heed

#endif
