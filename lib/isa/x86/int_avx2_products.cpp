// Products in integers with AVX2: bytes become pairs of 16 bits, inputs 0 and 2 of a word and inputs 1 and 3, since
// vpmaddubsw would saturate.
#include "int_x86_256_products.hpp"

namespace heed {
namespace {

struct avx2_pairs : x86_256 {
  static constexpr int32_t x_bytes = 2;
  static constexpr bool takes_zero_point = true;
  static HEED_INLINE reg bytes(const void *p) { return load(p); }
  static HEED_INLINE reg half(const void *p, bool high) {
    return _mm256_sub_epi8(nibbles(p, high), _mm256_set1_epi8(8));
  }
  static HEED_INLINE reg part(reg w, int i) {
    if (i == 0) w = _mm256_slli_epi16(w, 8);
    return _mm256_srai_epi16(w, 8);
  }
  static HEED_INLINE reg dot(reg acc, reg weights, reg x) {
    acc = add(acc, _mm256_madd_epi16(weights, x));
    asm volatile("" : "+x"(acc));  // products are added one after another: GCC would keep several, and has no registers
    return acc;
  }

  static void open(const int8_t *x, int32_t n, int32_t zero_point, int32_t inputs, unsigned char *to) {
    const reg zero = _mm256_set1_epi16(static_cast<int16_t>(zero_point));
    for (int32_t i = 0; i < inputs; i += 16) {
      reg wide = _mm256_setzero_si256();
      if (n - i >= 16) {
        wide = _mm256_sub_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x + i))), zero);
      } else if (n > i) {
        alignas(32) int16_t numbers[16] = {};
        for (int32_t k = 0; i + k < n; k++) numbers[k] = static_cast<int16_t>(x[i + k] - zero_point);
        wide = load(numbers);
      }
      store(to + 2 * i, _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(wide, 0xd8), 0xd8));
    }
  }
  static int32_t term(const unsigned char *, int32_t) { return 0; }
  static void add_weights(const int_words &, int32_t, int32_t *) {}
};

}  // namespace

extern const int_product_steps int_avx2_products;
const int_product_steps int_avx2_products = make_int_products<x86_products<avx2_pairs>>();

}  // namespace heed
