// AVX2: 8 words, 16 registers. vpmaddubsw would saturate, so all numbers become 16 bits, and vpmaddwd adds two products.
#include "int_x86_256.hpp"

namespace heed {
namespace {

struct avx2 : int_256 {
  static constexpr int dims = 2, keys = 2, planes = 1;
  static constexpr int32_t key_offset = 0, ones = 0x00010001;
  static constexpr int score_rows = 4;  // 8 sums + 2 registers of keys + 1 query + 1 product
  static constexpr int plain_rows = 2;  // 8 sums + 4 keys + 1 query + 1 product
  static constexpr int sum_rows = 2;    // 8 sums + 4 registers of values + 1 probability + 1 product

  static HEED_INLINE reg query(const int8_t *q, int32_t n) { return keys_at(q, n); }
  static HEED_INLINE reg centred(reg x, int32_t zero_point) {
    return _mm256_sub_epi16(x, set16(static_cast<uint32_t>(zero_point)));
  }
  static HEED_INLINE reg keys_at(const int8_t *p) { return _mm256_cvtepi8_epi16(load_16(p)); }
  static HEED_INLINE reg keys_at(const int8_t *p, int32_t n) { return _mm256_cvtepi8_epi16(load_16(p, n)); }
  static HEED_INLINE reg dot16(reg sum, reg a, reg b) {
    reg result = add(sum, _mm256_madd_epi16(a, b));
    asm("" : "+x"(result));  // else GCC 12 adds two products first, and spills
    return result;
  }
  static HEED_INLINE reg dot(reg sum, reg key, reg query) { return dot16(sum, key, query); }

  // Values of two keys.
  static HEED_INLINE void side_by_side(__m128i a, __m128i b, reg &low, reg &high) {
    low = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(a, b));
    high = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(a, b));
  }
  static HEED_INLINE void values(const int8_t *const (&row)[2], int32_t i, reg *x) {
    side_by_side(load_16(row[0] + i), load_16(row[1] + i), x[0], x[1]);
    side_by_side(load_16(row[0] + i + 16), load_16(row[1] + i + 16), x[2], x[3]);
  }
  static HEED_INLINE void values(const int8_t *const (&row)[2], int32_t i, int32_t n, reg *x) {
    const reg a = load_n(row[0] + i, n), b = load_n(row[1] + i, n);
    side_by_side(_mm256_castsi256_si128(a), _mm256_castsi256_si128(b), x[0], x[1]);
    side_by_side(high_half(a), high_half(b), x[2], x[3]);
  }
  static HEED_INLINE void in_order(reg *) {}
  static HEED_INLINE reg add_values(reg sum, reg p, reg v) { return dot16(sum, p, v); }
  static HEED_INLINE reg join_planes(reg all, reg) { return all; }
};

}  // namespace

HEED_DEFINE_INT_X86(int_avx2, avx2, "avx2", cpu_has_avx2)

}  // namespace heed
