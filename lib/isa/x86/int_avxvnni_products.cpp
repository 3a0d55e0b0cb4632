// Products in integers with AVX-VNNI, as with AVX-512 VNNI in half the width.
#include "int_x86_256_products.hpp"

namespace heed {
namespace {

struct vnni256 : x86_256 {
  static constexpr int32_t x_bytes = 1;
  static constexpr bool takes_zero_point = false;

  static HEED_INLINE reg bytes(const void *p) { return _mm256_xor_si256(load(p), _mm256_set1_epi8(-128)); }
  static HEED_INLINE reg half(const void *p, bool high) {
    return _mm256_add_epi8(nibbles(p, high), _mm256_set1_epi8(120));
  }
  static HEED_INLINE reg part(reg w, int) { return w; }
  static HEED_INLINE reg dot(reg acc, reg weights, reg x) { return _mm256_dpbusd_avx_epi32(acc, weights, x); }

  static void open(const int8_t *x, int32_t n, int32_t, int32_t inputs, unsigned char *to) {
    __builtin_memcpy(to, x, static_cast<size_t>(n));
    __builtin_memset(to + n, 0, static_cast<size_t>(inputs - n));
  }
  static int32_t term(const unsigned char *x, int32_t n) {
    reg sum = _mm256_setzero_si256();
    int32_t i = 0;
    for (; i + 32 <= n; i += 32) sum = _mm256_dpbusd_avx_epi32(sum, _mm256_set1_epi8(-128), load(x + i));
    if (i < n) {
      alignas(32) unsigned char rest[32] = {};
      __builtin_memcpy(rest, x + i, static_cast<size_t>(n - i));
      sum = _mm256_dpbusd_avx_epi32(sum, _mm256_set1_epi8(-128), load(rest));
    }
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return -_mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
  }
  static void add_weights(const int_words &w, int32_t n, int32_t *sums) {
    for (int32_t o = 0; o < w.width; o += lanes) {
      reg sum = load(sums + o);
      const unsigned char *word = w.data + 4 * o;
      for (int32_t i = 0; i < n; i += 4, word += w.step)
        sum = _mm256_dpbusd_avx_epi32(sum, set(ones_of(n - i)), load(word));
      store(sums + o, sum);
    }
  }
};

}  // namespace

extern const int_product_steps int_avxvnni_products;
const int_product_steps int_avxvnni_products = make_int_products<x86_products<vnni256>>();

}  // namespace heed
