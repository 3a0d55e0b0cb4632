// AVX-512 (F, CD, DQ, BW, VL): 16 floats, 32 registers, in both arithmetics.
#ifndef HEED_ISA_AVX512_MODEL_HPP
#define HEED_ISA_AVX512_MODEL_HPP

#include "../portable/xsimd_model.hpp"

namespace heed {
namespace {

struct avx512 : xsimd_model<xsimd::avx512bw> {
  static constexpr int score_keys = 8, score_vecs = 3;  // 24 dots + 3 queries + 1 key
  static constexpr int sum_rows = 6, sum_vecs = 4;      // 24 sums + 4 columns + 1 factor
  static constexpr bool finds_nibbles = true, transposes_words = true, orders_tiles = true;

  static HEED_INLINE __mmask16 first(int32_t n) { return static_cast<__mmask16>((1u << n) - 1); }
  using xsimd_model::load;
  static HEED_INLINE reg load(const f16 *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
  }
  static HEED_INLINE reg load(const bf16 *p) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
    return of_bits(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static HEED_INLINE reg load(const int8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))));
  }
  static HEED_INLINE reg load(const weight_byte *p) {
    return of_bits(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))));
  }
  static HEED_INLINE reg of_bits(__m512i x) { return _mm512_castsi512_ps(x); }
  static HEED_INLINE reg masked(reg x, uint32_t mask, uint32_t flip) {
    const __m512i m = _mm512_set1_epi32(static_cast<int>(mask)), f = _mm512_set1_epi32(static_cast<int>(flip));
    if (mask == ~0u) return of_bits(_mm512_xor_si512(_mm512_castps_si512(x), f));
    return of_bits(_mm512_ternarylogic_epi32(_mm512_castps_si512(x), m, f, 0x6a));
  }
  static HEED_INLINE void codes_of_tile(const unsigned char *p, uint32_t flip, reg (&r)[4]) {
    const reg word = load(reinterpret_cast<const float *>(p)), half = shift_down<16>(word);
    r[0] = masked(word, 0xff, 0x4b000000 | flip), r[1] = masked(word, 0xff00, 0x47000000 | flip << 8);
    r[2] = masked(half, 0xff, 0x4b000000 | flip), r[3] = masked(half, 0xff00, 0x47000000 | flip << 8);
  }
  // Two registers give halves of two.
  static HEED_INLINE __m512i order(int v) {
    const __m512i n = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    return _mm512_add_epi32(n, _mm512_set1_epi32(v));
  }
  static HEED_INLINE void load_tile(const float *p, reg (&r)[4]) {
    HEED_UNROLL for (int v = 0; v < 4; v += 2) {
      const reg low = _mm512_permutex2var_ps(load(p), order(v), load(p + 16)),
                high = _mm512_permutex2var_ps(load(p + 32), order(v), load(p + 48));
      r[v] = _mm512_shuffle_f32x4(low, high, 0x44), r[v + 1] = _mm512_shuffle_f32x4(low, high, 0xee);
    }
  }
  static HEED_INLINE void store_tile(float *p, const reg (&r)[4]) {
    reg q[4];
    transpose_lanes(r[0], r[1], r[2], r[3], q);
    const reg a = _mm512_shuffle_f32x4(q[0], q[1], 0x44), b = _mm512_shuffle_f32x4(q[2], q[3], 0x44),
              c = _mm512_shuffle_f32x4(q[0], q[1], 0xee), d = _mm512_shuffle_f32x4(q[2], q[3], 0xee);
    store(p, _mm512_shuffle_f32x4(a, b, 0x88)), store(p + 16, _mm512_shuffle_f32x4(a, b, 0xdd));
    store(p + 32, _mm512_shuffle_f32x4(c, d, 0x88)), store(p + 48, _mm512_shuffle_f32x4(c, d, 0xdd));
  }
  // The last four bits of each word, less 8: a look-up ignores the others.
  static HEED_INLINE reg nibble(reg words) {
    const reg numbers = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    return _mm512_permutexvar_ps(_mm512_castps_si512(words), numbers);
  }

  static constexpr bool is_f16(f16) { return true; }
  template <class T>
  static constexpr bool is_f16(T) {
    return false;
  }
  // Words of 32 bits are transposed, 4 at a time; each holds two or four numbers of its row. Floats: 16 at a time.
  template <class T, class F>
  static HEED_INLINE void columns(const T *p, ptrdiff_t stride, F f) {
    constexpr int of_word = 4 / static_cast<int>(sizeof(T));
    const ptrdiff_t bytes = stride * static_cast<ptrdiff_t>(sizeof(T));
    if constexpr (sizeof(T) == 4) {
      reg columns[16];
      transpose16(p, stride, columns);
      for_each_constant<16>([&](auto i) HEED_INLINED { f(i, columns[decltype(i)::value]); });
    } else if constexpr (is_f16(T())) {
      for_each_constant<2>([&](auto part) HEED_INLINED {
        constexpr int first = 8 * decltype(part)::value;
        columns_of_halves(reinterpret_cast<const char *>(p + first), bytes,
                          [&](auto i, reg x) HEED_INLINED { f(constant<first + decltype(i)::value>(), x); });
      });
    } else {
      for_each_constant<static_cast<int>(sizeof(T))>([&](auto part) HEED_INLINED {
        reg words[4];
        transpose_words(reinterpret_cast<const char *>(p) + 16 * decltype(part)::value, bytes, words);
        for_each_constant<4>([&](auto w) HEED_INLINED {
          constexpr int word = 4 * decltype(part)::value + decltype(w)::value;
          split_words(T(), _mm512_castps_si512(words[decltype(w)::value]),
                      [&](auto i, reg x) HEED_INLINED { f(constant<of_word * word + decltype(i)::value>(), x); });
        });
      });
    }
  }
  // 16 x 16: 64 shuffles, one a cycle on most processors, where 4 columns at a time take 80.
  static HEED_INLINE void transpose16(const float *p, ptrdiff_t stride, reg (&out)[16]) {
    reg rows[4][4];
    HEED_UNROLL for (int i = 0; i < 4; i++) {  // rows i, i + 4, i + 8, i + 12: 4 x 4 blocks of 128 bits
      const float *q = p + i * stride;
      const reg a = load(q), b = load(q + 4 * stride), c = load(q + 8 * stride), d = load(q + 12 * stride);
      const reg ab_even = _mm512_shuffle_f32x4(a, b, 0x88), ab_odd = _mm512_shuffle_f32x4(a, b, 0xdd);
      const reg cd_even = _mm512_shuffle_f32x4(c, d, 0x88), cd_odd = _mm512_shuffle_f32x4(c, d, 0xdd);
      rows[0][i] = _mm512_shuffle_f32x4(ab_even, cd_even, 0x88);
      rows[1][i] = _mm512_shuffle_f32x4(ab_odd, cd_odd, 0x88);
      rows[2][i] = _mm512_shuffle_f32x4(ab_even, cd_even, 0xdd);
      rows[3][i] = _mm512_shuffle_f32x4(ab_odd, cd_odd, 0xdd);
    }
    HEED_UNROLL for (int i = 0; i < 4; i++) {
      reg four[4];
      transpose_lanes(rows[i][0], rows[i][1], rows[i][2], rows[i][3], four);
      HEED_UNROLL for (int j = 0; j < 4; j++) out[4 * i + j] = four[j];
    }
  }
  template <class F>
  static HEED_INLINE void split_words(bf16, __m512i words, F f) {
    f(constant<0>(), of_bits(_mm512_slli_epi32(words, 16)));
    f(constant<1>(), of_bits(_mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000)))));
  }
  // 8 numbers of 16 rows, rows l and l + 8 in the halves of a register: by 16, 32 and 64 bits, and each register is a
  // column in order.
  template <class F>
  static HEED_INLINE void columns_of_halves(const char *p, ptrdiff_t bytes, F f) {
    __m256i a[8], b[8];
    HEED_UNROLL for (int l = 0; l < 8; l++) {
      const __m128i *row = reinterpret_cast<const __m128i *>(p + l * bytes);
      const __m128i *other = reinterpret_cast<const __m128i *>(p + (l + 8) * bytes);
      a[l] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(row)), _mm_loadu_si128(other), 1);
    }
    HEED_UNROLL for (int l = 0; l < 8; l += 2) {
      b[l] = _mm256_unpacklo_epi16(a[l], a[l + 1]);
      b[l + 1] = _mm256_unpackhi_epi16(a[l], a[l + 1]);
    }
    HEED_UNROLL for (int h = 0; h < 2; h++) {
      HEED_UNROLL for (int l = 0; l < 2; l++) {
        a[4 * h + 2 * l] = _mm256_unpacklo_epi32(b[4 * l + h], b[4 * l + 2 + h]);
        a[4 * h + 2 * l + 1] = _mm256_unpackhi_epi32(b[4 * l + h], b[4 * l + 2 + h]);
      }
    }
    for_each_constant<4>([&](auto pair) HEED_INLINED {
      constexpr int i = decltype(pair)::value, at = i / 2 * 4 + i % 2;
      f(constant<2 * i>(), _mm512_cvtph_ps(_mm256_unpacklo_epi64(a[at], a[at + 2])));
      f(constant<2 * i + 1>(), _mm512_cvtph_ps(_mm256_unpackhi_epi64(a[at], a[at + 2])));
    });
  }
  template <class F>
  static HEED_INLINE void split_words(int8_t, __m512i words, F f) {
    // 2^23 + 128 + q from the byte by one operation of bits, (word & 0xff) ^ c: shifts are scarce, and a difference is
    // not.
    // The second byte becomes the low bits of 2^15 + 128 + q where it stands.
    const __m512i low = _mm512_set1_epi32(0xff), of_low = _mm512_set1_epi32(0x4b000080);
    const __m512i high = _mm512_set1_epi32(0xff00), of_high = _mm512_set1_epi32(0x47008000);
    for_each_constant<2>([&](auto pair) HEED_INLINED {
      constexpr int first = 2 * decltype(pair)::value;
      const __m512i word = first ? _mm512_srli_epi32(words, 16) : words;
      f(constant<first>(), sub(of_bits(_mm512_ternarylogic_epi32(word, low, of_low, 0x6a)), set(0x1.0001p+23f)));
      f(constant<first + 1>(), sub(of_bits(_mm512_ternarylogic_epi32(word, high, of_high, 0x6a)), set(0x1.01p+15f)));
    });
  }
  static HEED_INLINE reg load_n(const float *p, int32_t n) { return _mm512_maskz_loadu_ps(first(n), p); }
  static HEED_INLINE void store_n(float *p, reg r, int32_t n) { _mm512_mask_storeu_ps(p, first(n), r); }
  static HEED_INLINE reg fma(reg a, reg b, reg c) {
    if constexpr (has_fma) return _mm512_fmadd_ps(a, b, c);
    return _mm512_add_ps(_mm512_mul_ps(a, b), c);
  }
  static HEED_INLINE reg max(reg a, reg b) { return _mm512_max_ps(a, b); }
  static HEED_INLINE reg zero_below(reg y, reg x, float limit) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(limit), _CMP_NLT_UQ), y);
  }
  static HEED_INLINE reg hide(reg x, reg flags, uint32_t bits) {
    const __mmask16 attend =
        _mm512_test_epi32_mask(_mm512_castps_si512(flags), _mm512_set1_epi32(static_cast<int>(bits)));
    return _mm512_mask_mov_ps(set(negative_infinity), attend, x);
  }
  // Rounded by addition like the others: vrndscaleps would take ties to even, the sum with an odd constant takes them
  // to odd.
  static HEED_INLINE reg rounded(reg x, reg &t) {
    const reg magic = set(exp2_magic);
    return t = sub(add(x, magic), magic);
  }
  static HEED_INLINE reg times_power(reg y, reg t) { return _mm512_scalef_ps(y, t); }
  static HEED_INLINE reg power(reg y, reg t, reg x) {
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(exp2_cutoff), _CMP_NLT_UQ), y, t);
  }
  static HEED_INLINE reg inverse_guess(reg d) {
    const __m512i from = _mm512_set1_epi32(static_cast<int>(inverse_bits));
    return _mm512_castsi512_ps(_mm512_sub_epi32(from, _mm512_castps_si512(d)));
  }
  static HEED_INLINE reg if_negative(reg x, reg a, reg b) {
    return _mm512_mask_mov_ps(b, _mm512_movepi32_mask(_mm512_castps_si512(x)), a);
  }
  static HEED_INLINE float tree(reg r) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(r), _mm512_extractf32x8_ps(r, 1));
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  }
  // Halves of two rows in a register, then quarters of four, and so on: 15 shuffles for 8 rows, where trees take 32.
  template <class Op>
  static HEED_INLINE void fold8(const float *p, float *out, Op op) {
    const auto halves = [&](int r, int s) HEED_INLINED {
      const reg a = load(p + 16 * r), b = load(p + 16 * s);
      return op(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    };
    const auto quarters = [&](int r) HEED_INLINED {
      const reg a = halves(r, r + 2), b = halves(r + 4, r + 6);
      return _mm512_castps_pd(op(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd)));
    };
    const __m512d even = quarters(0), odd = quarters(1);
    const reg pairs =
        op(_mm512_castpd_ps(_mm512_unpacklo_pd(even, odd)), _mm512_castpd_ps(_mm512_unpackhi_pd(even, odd)));
    const __m512d sums =
        _mm512_castps_pd(op(_mm512_shuffle_ps(pairs, pairs, 0x88), _mm512_shuffle_ps(pairs, pairs, 0xdd)));
    const __m512i first = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
    _mm256_storeu_ps(out, _mm256_castpd_ps(_mm512_castpd512_pd256(_mm512_permutexvar_pd(first, sums))));
  }
  static HEED_INLINE reg swap_pairs(reg r) { return _mm512_permute_ps(r, 0xb1); }
  static HEED_INLINE void pin(reg &r) { asm("" : "+v"(r)); }

  // Rows l, l + 4, l + 8, l + 12 share a register, one to each 128-bit lane; then four 4 x 4 transposes at once.
  static HEED_INLINE __m128 load_4(const char *p) { return _mm_loadu_ps(reinterpret_cast<const float *>(p)); }
  static HEED_INLINE reg four_rows(const char *p, ptrdiff_t bytes) {
    const auto two = [=](const char *q) HEED_INLINED {
      return _mm256_insertf128_ps(_mm256_castps128_ps256(load_4(q)), load_4(q + 4 * bytes), 1);
    };
    return _mm512_insertf32x8(_mm512_castps256_ps512(two(p)), two(p + 8 * bytes), 1);
  }
  static HEED_INLINE void transpose4(const float *p, ptrdiff_t stride, reg (&out)[4]) {
    transpose_words(reinterpret_cast<const char *>(p), 4 * stride, out);
  }
  // 16 bytes of each of 16 rows as 4 words.
  static HEED_INLINE void transpose_words(const char *p, ptrdiff_t bytes, reg (&out)[4]) {
    transpose_lanes(four_rows(p, bytes), four_rows(p + bytes, bytes), four_rows(p + 2 * bytes, bytes),
                    four_rows(p + 3 * bytes, bytes), out);
  }
  static HEED_INLINE void transpose_lanes(reg a, reg b, reg c, reg d, reg (&out)[4]) {
    const __m512d ab_low = _mm512_castps_pd(_mm512_unpacklo_ps(a, b)),
                  ab_high = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
    const __m512d cd_low = _mm512_castps_pd(_mm512_unpacklo_ps(c, d)),
                  cd_high = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
    out[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab_low, cd_low));
    out[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab_low, cd_low));
    out[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab_high, cd_high));
    out[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab_high, cd_high));
  }
};

}  // namespace
}  // namespace heed

#endif
