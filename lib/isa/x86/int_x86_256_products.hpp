// What products in integers have in common where registers have 32 bytes.
#ifndef HEED_INT_X86_256_PRODUCTS_HPP
#define HEED_INT_X86_256_PRODUCTS_HPP

#include "int_x86_products.hpp"

namespace heed {
namespace {

struct x86_256 {
  using reg = __m256i;
  static constexpr int32_t lanes = 8, six_outputs = 16, two_outputs = 32;
  static constexpr bool many_registers = false;

  static HEED_INLINE reg load(const void *p) { return _mm256_loadu_si256(static_cast<const reg *>(p)); }
  static HEED_INLINE void store(void *p, reg x) { _mm256_storeu_si256(static_cast<reg *>(p), x); }
  static HEED_INLINE reg set(int32_t x) { return _mm256_set1_epi32(x); }
  static HEED_INLINE reg add(reg a, reg b) { return _mm256_add_epi32(a, b); }
  static HEED_INLINE reg nibbles(const void *p, bool high) {
    const reg both = load(p);
    const reg nibbles = high ? _mm256_srli_epi16(both, 4) : both;
    return _mm256_and_si256(nibbles, _mm256_set1_epi8(15));
  }
  static HEED_INLINE __m256 halves(const void *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i *>(p)));
  }
  static HEED_INLINE __m256 zero() { return _mm256_setzero_ps(); }
  static HEED_INLINE __m256 load_floats(const float *p) { return _mm256_loadu_ps(p); }
  static HEED_INLINE void store_floats(float *p, __m256 x) { _mm256_storeu_ps(p, x); }
  static HEED_INLINE __m256 add_scaled(__m256 sum, reg acc, __m256 scale) {
    return _mm256_add_ps(sum, _mm256_mul_ps(_mm256_cvtepi32_ps(acc), scale));
  }

  // Four multipliers taken apart. There is no arithmetic shift of 64 bits, so that all products are made positive.
  struct four_factors {
    reg pair, shift, half, back;
  };
  static HEED_INLINE four_factors factors_of(const int32_t *multipliers) {
    const reg pair = load(multipliers), e = _mm256_srli_epi64(pair, 32), words = _mm256_set1_epi64x(0xffffffff);
    const reg shift = _mm256_and_si256(_mm256_sub_epi64(_mm256_set1_epi64x(31), e), words);
    const reg below = _mm256_sub_epi64(shift, _mm256_set1_epi64x(1));
    const reg offset = _mm256_set1_epi64x(static_cast<int64_t>(1) << 62);
    return {pair, shift, _mm256_add_epi64(offset, _mm256_sllv_epi64(_mm256_set1_epi64x(1), below)),
            _mm256_srlv_epi64(offset, shift)};
  }
  static HEED_INLINE __m128i scaled(__m128i sum, const four_factors &f) {
    const reg product = _mm256_add_epi64(_mm256_mul_epi32(_mm256_cvtepi32_epi64(sum), f.pair), f.half);
    const reg y = _mm256_sub_epi64(_mm256_srlv_epi64(product, f.shift), f.back);
    return _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(y, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)));
  }

  // Eight outputs of all rows whose factors are below 1: what is shifted then fits 32 bits.
  static HEED_INLINE void requantise_eight(const int_product &b, int32_t row, int32_t n_rows, const int32_t *acc,
                                           reg start, int32_t n) {
    const int32_t most = greatest_output(b.wide);
    const reg high = set(most - b.y_zero_point), low = set(-most - 1 - b.y_zero_point),
              zero_point = set(b.y_zero_point);
    const four_factors first = factors_of(b.multipliers + 2 * n), second = factors_of(b.multipliers + 2 * n + 8);
    for (int32_t r = 0; r < n_rows; r++) {
      const reg sum = add(load(acc + r * panel_outputs), start);
      const reg y = _mm256_inserti128_si256(_mm256_castsi128_si256(scaled(_mm256_castsi256_si128(sum), first)),
                                            scaled(_mm256_extracti128_si256(sum, 1), second), 1);
      const reg all = add(_mm256_min_epi32(_mm256_max_epi32(y, low), high), zero_point);
      const __m128i wide = _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
      const ptrdiff_t to = (row + r) * b.y_stride + n;
      if (b.wide)
        _mm_storeu_si128(reinterpret_cast<__m128i *>(static_cast<int16_t *>(b.y) + to), wide);
      else
        _mm_storel_epi64(reinterpret_cast<__m128i *>(static_cast<int8_t *>(b.y) + to), _mm_packs_epi16(wide, wide));
    }
  }
  static void requantise(const int_product &b, int32_t row, int32_t n_rows, const int32_t *acc, const int32_t *start) {
    for (int32_t n = 0; n < b.n_cols; n += 8) {
      const int32_t end = end_of_block(n, 8, b.n_cols);
      bool together = end == n + 8;
      for (int32_t i = n; together && i < end; i++) together = b.multiplier_of(i).e <= 0;
      if (together) {
        requantise_eight(b, row, n_rows, acc + n, load(start + n), n);
        continue;
      }
      for (int32_t r = 0; r < n_rows; r++)
        for (int32_t i = n; i < end; i++) {
          const uint32_t sum = static_cast<uint32_t>(acc[r * panel_outputs + i]) + static_cast<uint32_t>(start[i]);
          int_store(b.y, (row + r) * b.y_stride + i,
                    int_requantised(static_cast<int32_t>(sum), b.multiplier_of(i), b.y_zero_point, b.wide), b.wide);
        }
    }
  }

  // y has whole panels, or a copy of one on the stack; biases have not.
  static void scale(const linear_block &b, const packed_panel &w, const int_row_scale *scales) {
    const bool sums = has_output_scales(w.dtype), zeros = w.dtype == stored_uint8;
    for (int32_t n = 0; n < b.n_cols; n += lanes) {
      alignas(32) float ends[lanes] = {};
      if (b.bias)
        for (int32_t i = 0; i < lanes && n + i < b.n_cols; i++) ends[i] = b.bias[n + i];
      const __m256 bias = _mm256_load_ps(ends);
      const __m256 by = sums ? _mm256_loadu_ps(reinterpret_cast<const float *>(w.data + 4 * n)) : bias;
      // A zero point is the lowest byte of its word.
      const reg zero = zeros ? _mm256_srai_epi32(_mm256_slli_epi32(load(w.data + 4 * (w.width + n)), 24), 24)
                             : _mm256_setzero_si256();
      for (int32_t r = 0; r < b.n_rows; r++) {
        float *const y = b.y + r * b.y_stride + n;
        const __m256 row = _mm256_set1_ps(scales[r].scale);
        reg sum = load(y);
        if (zeros) sum = _mm256_sub_epi32(sum, _mm256_mullo_epi32(zero, set(scales[r].sum)));
        const __m256 scaled = sums ? _mm256_mul_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), row), by)
                                   : _mm256_mul_ps(_mm256_loadu_ps(y), row);
        _mm256_storeu_ps(y, _mm256_add_ps(scaled, bias));
      }
    }
  }
};

}  // namespace
}  // namespace heed

#endif
