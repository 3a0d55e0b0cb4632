// AVX2 with FMA: 8 floats, 16 registers.
#include "xsimd_model.hpp"

#include "cpu.hpp"

namespace heed {
namespace {

constexpr int32_t masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

struct avx2 : xsimd_model<xsimd::avx2> {
  static constexpr int score_keys = 4, score_vecs = 3;  // 12 dots + 3 queries + 1 key: all 16
  static constexpr int sum_rows = 6, sum_vecs = 2;      // 12 sums + 2 columns + 1 factor

  static HEED_INLINE __m256i first(int32_t n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(masks + 8 - n));
  }
  static HEED_INLINE reg load_n(const float *p, int32_t n) { return _mm256_maskload_ps(p, first(n)); }
  static HEED_INLINE void store_n(float *p, reg r, int32_t n) { _mm256_maskstore_ps(p, first(n), r); }
  static HEED_INLINE reg fma(reg a, reg b, reg c) { return _mm256_fmadd_ps(a, b, c); }
  static HEED_INLINE reg max(reg a, reg b) { return _mm256_max_ps(a, b); }
  static HEED_INLINE reg zero_below(reg y, reg x, float limit) {
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(limit), _CMP_LT_OQ), y);
  }
  static HEED_INLINE reg power(reg y, reg t, reg x) {
    const reg result = _mm256_mul_ps(y, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(t), 23)));
    return zero_below(result, x, exp2_cutoff);
  }
  static HEED_INLINE reg hide(reg x, reg flags, uint32_t bits) {
    const __m256i some = _mm256_and_si256(_mm256_castps_si256(flags), _mm256_set1_epi32(static_cast<int>(bits)));
    const __m256 none = _mm256_castsi256_ps(_mm256_cmpeq_epi32(some, _mm256_setzero_si256()));
    return _mm256_blendv_ps(x, set(negative_infinity), none);
  }
  static HEED_INLINE void pin(reg &r) { asm("" : "+x"(r)); }

  // Rows l and l + 4 share a register, one to each 128-bit half; then two 4 x 4 transposes at once.
  static HEED_INLINE reg two_rows(const float *p, ptrdiff_t stride) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + 4 * stride), 1);
  }
  static HEED_INLINE void transpose4(const float *p, ptrdiff_t stride, reg (&out)[4]) {
    const reg a = two_rows(p, stride), b = two_rows(p + stride, stride);
    const reg c = two_rows(p + 2 * stride, stride), d = two_rows(p + 3 * stride, stride);
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

extern const kernel kernel_avx2;
const kernel kernel_avx2 = make_kernel<avx2>("avx2", true, cpu_has_avx2);

}  // namespace heed
