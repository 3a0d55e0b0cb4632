// SSE2, the x86-64 baseline: 4 floats, 16 registers, no fused multiply-add.
#define HEED_FMA 0
#include "../portable/xsimd_model.hpp"

#include "../portable/cpu.hpp"

namespace heed {
namespace {

struct sse2 : xsimd_model<xsimd::sse2> {
  static constexpr int score_keys = 4, score_vecs = 2;  // 8 dots + 2 queries + 1 key + products
  static constexpr int sum_rows = 4, sum_vecs = 2;
  static constexpr bool loads_narrow = false, transposes_words = true;

  static HEED_INLINE reg fma(reg a, reg b, reg c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
  static HEED_INLINE reg max(reg a, reg b) { return _mm_max_ps(a, b); }
  static HEED_INLINE reg zero_below(reg y, reg x, float limit) {
    return _mm_andnot_ps(_mm_cmplt_ps(x, _mm_set1_ps(limit)), y);
  }
  static HEED_INLINE reg times_power(reg y, reg t) {
    return _mm_mul_ps(y, _mm_castsi128_ps(_mm_slli_epi32(_mm_castps_si128(t), 23)));
  }
  static HEED_INLINE reg power(reg y, reg t, reg x) { return zero_below(times_power(y, t), x, exp2_cutoff); }
  static HEED_INLINE reg inverse_guess(reg d) {
    const __m128i from = _mm_set1_epi32(static_cast<int>(inverse_bits));
    return _mm_castsi128_ps(_mm_sub_epi32(from, _mm_castps_si128(d)));
  }
  static HEED_INLINE reg if_negative(reg x, reg a, reg b) {
    const __m128 negative = _mm_castsi128_ps(_mm_srai_epi32(_mm_castps_si128(x), 31));
    return _mm_or_ps(_mm_and_ps(negative, a), _mm_andnot_ps(negative, b));
  }
  static HEED_INLINE float tree(reg r) {
    r = _mm_add_ps(r, _mm_movehl_ps(r, r));
    return _mm_cvtss_f32(_mm_add_ss(r, _mm_shuffle_ps(r, r, 1)));
  }
  static HEED_INLINE reg swap_pairs(reg r) { return _mm_shuffle_ps(r, r, 0xb1); }
  static HEED_INLINE reg hide(reg x, reg flags, uint32_t bits) {
    const __m128i some = _mm_and_si128(_mm_castps_si128(flags), _mm_set1_epi32(static_cast<int>(bits)));
    const __m128 none = _mm_castsi128_ps(_mm_cmpeq_epi32(some, _mm_setzero_si128()));
    return _mm_or_ps(_mm_andnot_ps(none, x), _mm_and_ps(none, set(negative_infinity)));
  }
  using xsimd_model::load;
  static HEED_INLINE __m128i load_8(const void *p) { return _mm_loadl_epi64(static_cast<const __m128i *>(p)); }
  static HEED_INLINE reg load(const f16 *p) {
    return reinterpret_cast<reg>(
        widen_four(f16(), reinterpret_cast<words4>(_mm_unpacklo_epi16(load_8(p), _mm_setzero_si128()))));
  }
  static HEED_INLINE reg load(const bf16 *p) {
    return _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), load_8(p)));
  }
  static HEED_INLINE reg load(const int8_t *p) {
    int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    const __m128i bytes = _mm_cvtsi32_si128(word), pairs = _mm_unpacklo_epi8(bytes, bytes);
    return _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(pairs, pairs), 24));
  }

  static HEED_INLINE reg load(const weight_byte *p) {
    int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    const __m128i zero = _mm_setzero_si128();
    return _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(word), zero), zero));
  }
  static HEED_INLINE void transpose_words(const char *p, ptrdiff_t bytes, reg (&out)[4]) {
    HEED_UNROLL for (int l = 0; l < 4; l++) out[l] = load(reinterpret_cast<const float *>(p + l * bytes));
    _MM_TRANSPOSE4_PS(out[0], out[1], out[2], out[3]);
  }

  // Words of 32 bits are transposed; each holds two or four numbers of its row.
  template <class T, class F>
  static HEED_INLINE void columns(const T *p, ptrdiff_t stride, F f) {
    if constexpr (sizeof(T) == 4) return columns_of_floats<sse2>(p, stride, f);
    reg words[4];
    transpose_words(reinterpret_cast<const char *>(p), stride * static_cast<ptrdiff_t>(sizeof(T)), words);
    for_each_constant<4>([&](auto w) HEED_INLINED {
      constexpr int i = decltype(w)::value * 4 / static_cast<int>(sizeof(T));
      split_words(T(), _mm_castps_si128(words[decltype(w)::value]),
                  [&](auto part, reg x) HEED_INLINED { f(constant<i + decltype(part)::value>(), x); });
    });
  }
  template <class T, class F>
  static HEED_INLINE void split_words(T, __m128i words, F f) {  // f16, bf16
    const __m128i low = _mm_and_si128(words, _mm_set1_epi32(0xffff));
    f(constant<0>(), reinterpret_cast<reg>(widen_four(T(), reinterpret_cast<words4>(low))));
    f(constant<1>(), reinterpret_cast<reg>(widen_four(T(), reinterpret_cast<words4>(_mm_srli_epi32(words, 16)))));
  }
  template <class F>
  static HEED_INLINE void split_words(int8_t, __m128i words, F f) {
    for_each_constant<4>([&](auto byte) HEED_INLINED {
      const __m128i top = _mm_slli_epi32(words, 24 - 8 * decltype(byte)::value);
      f(byte, _mm_cvtepi32_ps(_mm_srai_epi32(top, 24)));
    });
  }
  static HEED_INLINE void pin(reg &r) { asm("" : "+x"(r)); }

  static HEED_INLINE void transpose4(const float *p, ptrdiff_t stride, reg (&out)[4]) {
    HEED_UNROLL for (int l = 0; l < 4; l++) out[l] = load(p + l * stride);
    _MM_TRANSPOSE4_PS(out[0], out[1], out[2], out[3]);
  }
};

}  // namespace

HEED_DEFINE_KERNEL(kernel_sse2, sse2, "sse2", cpu_has_baseline)

}  // namespace heed
