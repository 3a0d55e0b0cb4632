// Products in integers with AVX-512 VNNI: vpdpbusd takes weights as unsigned bytes, 128 more than they are.
#include "int_x86_products.hpp"

namespace heed {
namespace {

struct vnni512 {
  using reg = __m512i;
  static constexpr int32_t lanes = 16, six_outputs = 64, two_outputs = 64, x_bytes = 1;
  static constexpr bool takes_zero_point = false, many_registers = true;

  static HEED_INLINE reg load(const void *p) { return _mm512_loadu_si512(p); }
  static HEED_INLINE void store(void *p, reg x) { _mm512_storeu_si512(p, x); }
  static HEED_INLINE reg set(int32_t x) { return _mm512_set1_epi32(x); }
  static HEED_INLINE reg add(reg a, reg b) { return _mm512_add_epi32(a, b); }
  static HEED_INLINE reg bytes(const void *p) { return _mm512_xor_si512(load(p), _mm512_set1_epi8(-128)); }
  static HEED_INLINE reg half(const void *p, bool high) {
    const reg both = load(p), four = _mm512_set1_epi8(15);
    const reg nibbles = high ? _mm512_srli_epi16(both, 4) : both;
    return _mm512_add_epi8(_mm512_and_si512(nibbles, four), _mm512_set1_epi8(120));
  }
  static HEED_INLINE reg part(reg w, int) { return w; }
  static HEED_INLINE reg dot(reg acc, reg weights, reg x) { return _mm512_dpbusd_epi32(acc, weights, x); }
  static HEED_INLINE __m512 halves(const void *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i *>(p)));
  }
  static HEED_INLINE __m512 zero() { return _mm512_setzero_ps(); }
  static HEED_INLINE __m512 load_floats(const float *p) { return _mm512_loadu_ps(p); }
  static HEED_INLINE void store_floats(float *p, __m512 x) { _mm512_storeu_ps(p, x); }
  static HEED_INLINE __m512 add_scaled(__m512 sum, reg acc, __m512 scale) {
    return _mm512_add_ps(sum, _mm512_mul_ps(_mm512_cvtepi32_ps(acc), scale));
  }

  // The first n of 64 numbers, and zeros.
  template <class T>
  static HEED_INLINE reg load_first(const T *x, int32_t n) {
    if (n >= 64) return load(x);
    const uint64_t mask = n > 0 ? (1ull << n) - 1 : 0;
    return _mm512_maskz_loadu_epi8(mask, x);
  }

  static void open(const int8_t *x, int32_t n, int32_t, int32_t inputs, unsigned char *to) {
    for (int32_t i = 0; i < inputs; i += 64) store(to + i, load_first(x + i, n - i));
  }
  static int32_t term(const unsigned char *x, int32_t n) {
    const reg by = _mm512_set1_epi8(-128);
    reg sum = _mm512_setzero_si512(), second = sum;
    int32_t i = 0;
    for (; i + 128 <= n; i += 128) {
      sum = dot(sum, by, load(x + i));
      second = dot(second, by, load(x + i + 64));
    }
    for (; i < n; i += 64) sum = dot(sum, by, load_first(x + i, n - i));
    return -_mm512_reduce_add_epi32(add(sum, second));
  }
  static void add_weights(const int_words &w, int32_t n, int32_t *sums) {
    for (int32_t o = 0; o < w.width; o += lanes) {
      reg sum = load(sums + o);
      const unsigned char *word = w.data + 4 * o;
      for (int32_t i = 0; i < n; i += 4, word += w.step)
        sum = _mm512_dpbusd_epi32(sum, set(ones_of(n - i)), load(word));
      store(sums + o, sum);
    }
  }

  static HEED_INLINE void store_eight(const int_product &b, ptrdiff_t to, reg y) {
    if (b.wide)
      _mm_storeu_si128(reinterpret_cast<__m128i *>(static_cast<int16_t *>(b.y) + to), _mm512_cvtsepi64_epi16(y));
    else
      _mm_storel_epi64(reinterpret_cast<__m128i *>(static_cast<int8_t *>(b.y) + to), _mm512_cvtsepi64_epi8(y));
  }
  // Eight outputs of all rows: their multipliers are taken apart once.
  static void requantise(const int_product &b, int32_t row, int32_t n_rows, const int32_t *acc, const int32_t *start) {
    const reg zero_point = _mm512_set1_epi64(b.y_zero_point);
    for (int32_t n = 0; n < b.n_cols; n += 8) {
      const int32_t left = b.n_cols - n;
      const auto mask = static_cast<__mmask8>((1 << smaller_of(left, 8)) - 1);
      const reg pair = _mm512_maskz_loadu_epi64(mask, b.multipliers + 2 * n), e = _mm512_srai_epi64(pair, 32);
      const reg shift = _mm512_sub_epi64(_mm512_set1_epi64(31), e);
      const reg half = _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_sub_epi64(_mm512_set1_epi64(30), e));
      const __m256i from = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(start + n));
      for (int32_t r = 0; r < n_rows; r++) {
        const auto *at = reinterpret_cast<const __m256i *>(acc + r * panel_outputs + n);
        const reg sum = _mm512_cvtepi32_epi64(_mm256_add_epi32(from, _mm256_loadu_si256(at)));
        const reg y =
            _mm512_add_epi64(zero_point, _mm512_srav_epi64(_mm512_add_epi64(_mm512_mul_epi32(sum, pair), half), shift));
        const ptrdiff_t to = (row + r) * b.y_stride + n;
        if (left >= 8)  // stores with a mask take several times as long
          store_eight(b, to, y);
        else if (b.wide)
          _mm_mask_storeu_epi16(static_cast<int16_t *>(b.y) + to, mask, _mm512_cvtsepi64_epi16(y));
        else
          _mm_mask_storeu_epi8(static_cast<int8_t *>(b.y) + to, mask, _mm512_cvtsepi64_epi8(y));
      }
    }
  }

  static void scale(const linear_block &b, const packed_panel &w, const int_row_scale *scales) {
    const bool sums = has_output_scales(w.dtype), zeros = w.dtype == stored_uint8;
    for (int32_t n = 0; n < b.n_cols; n += lanes) {
      const auto mask = static_cast<__mmask16>((1 << smaller_of(b.n_cols - n, lanes)) - 1);
      const __m512 bias = b.bias ? _mm512_maskz_loadu_ps(mask, b.bias + n) : _mm512_setzero_ps();
      const __m512 by = sums ? _mm512_loadu_ps(w.data + 4 * n) : bias;
      // A zero point is the lowest byte of its word.
      const reg zero = zeros ? _mm512_srai_epi32(_mm512_slli_epi32(load(w.data + 4 * (w.width + n)), 24), 24)
                             : _mm512_setzero_si512();
      for (int32_t r = 0; r < b.n_rows; r++) {
        float *const y = b.y + r * b.y_stride + n;
        const __m512 row = _mm512_set1_ps(scales[r].scale);
        reg sum = load(y);
        if (zeros) sum = _mm512_sub_epi32(sum, _mm512_mullo_epi32(zero, set(scales[r].sum)));
        const __m512 scaled = sums ? _mm512_mul_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), row), by)
                                   : _mm512_mul_ps(_mm512_loadu_ps(y), row);
        _mm512_storeu_ps(y, _mm512_add_ps(scaled, bias));
      }
    }
  }
};

}  // namespace

extern const int_product_steps int_avx512vnni_products;
const int_product_steps int_avx512vnni_products = make_int_products<x86_products<vnni512>>();

}  // namespace heed
