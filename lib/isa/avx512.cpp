// AVX-512 (F, CD, DQ, BW, VL): 16 floats, 32 registers.
#include "xsimd_model.hpp"

#include "cpu.hpp"

namespace heed {
namespace {

struct avx512 : xsimd_model<xsimd::avx512bw> {
  static constexpr int score_keys = 8, score_vecs = 3;  // 24 dots + 3 queries + 1 key
  static constexpr int sum_rows = 6, sum_vecs = 4;      // 24 sums + 4 columns + 1 factor

  static HEED_INLINE __mmask16 first(int32_t n) { return static_cast<__mmask16>((1u << n) - 1); }
  static HEED_INLINE reg load_n(const float *p, int32_t n) { return _mm512_maskz_loadu_ps(first(n), p); }
  static HEED_INLINE void store_n(float *p, reg r, int32_t n) { _mm512_mask_storeu_ps(p, first(n), r); }
  static HEED_INLINE reg fma(reg a, reg b, reg c) { return _mm512_fmadd_ps(a, b, c); }
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
  static HEED_INLINE reg split(reg x, reg &t) {
    const reg magic = set(exp2_magic);
    t = sub(add(x, magic), magic);
    return sub(x, t);
  }
  static HEED_INLINE reg power(reg y, reg t, reg x) {
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(exp2_cutoff), _CMP_NLT_UQ), y, t);
  }
  static HEED_INLINE void pin(reg &r) { asm("" : "+v"(r)); }

  // Rows l, l + 4, l + 8, l + 12 share a register, one to each 128-bit lane; then four 4 x 4 transposes at once.
  static HEED_INLINE reg four_rows(const float *p, ptrdiff_t stride) {
    reg r = _mm512_castps128_ps512(_mm_loadu_ps(p));
    r = _mm512_insertf32x4(r, _mm_loadu_ps(p + 4 * stride), 1);
    r = _mm512_insertf32x4(r, _mm_loadu_ps(p + 8 * stride), 2);
    return _mm512_insertf32x4(r, _mm_loadu_ps(p + 12 * stride), 3);
  }
  static HEED_INLINE void transpose4(const float *p, ptrdiff_t stride, reg (&out)[4]) {
    const reg a = four_rows(p, stride), b = four_rows(p + stride, stride);
    const reg c = four_rows(p + 2 * stride, stride), d = four_rows(p + 3 * stride, stride);
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

extern const kernel kernel_avx512;
const kernel kernel_avx512 = make_kernel<avx512>("avx512", true, cpu_has_avx512);

}  // namespace heed
