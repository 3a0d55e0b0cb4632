// AVX2 with VNNI (AVX-VNNI): 8 words, 16 registers; vpdpbusd adds four products of bytes to a word.
#include "int_x86_256.hpp"

namespace heed {
namespace {

struct avxvnni : int_256 {
  static constexpr int dims = 4, keys = 4, planes = 2;
  static constexpr int32_t key_offset = 128, ones = 0x01010101;
  static constexpr int score_rows = 4;  // 8 sums + 2 registers of keys + 1 query
  static constexpr int plain_rows = 2;  // 8 sums + 4 keys + 1 query
  static constexpr int sum_rows = 1;    // 8 sums + 4 registers of values + 1 probability

  static HEED_INLINE reg query(const int8_t *q, int32_t n) { return load_n(q, n); }
  static HEED_INLINE reg centred(reg x, int32_t) { return x; }
  static HEED_INLINE reg offset(reg x) { return flip(x, set(static_cast<int32_t>(0x80808080))); }
  static HEED_INLINE reg keys_at(const int8_t *p) { return offset(load(p)); }
  static HEED_INLINE reg keys_at(const int8_t *p, int32_t n) { return offset(load_n(p, n)); }
  static HEED_INLINE reg dot(reg sum, reg key, reg query) { return _mm256_dpbusd_avx_epi32(sum, key, query); }
  static HEED_INLINE reg dot16(reg sum, reg a, reg b) { return _mm256_dpwssd_avx_epi32(sum, a, b); }

  // Values of four keys: bytes of four rows side by side; in_order makes dimensions ascend.
  static HEED_INLINE void side_by_side(const reg (&row)[4], reg *x) {
    const reg a = _mm256_unpacklo_epi8(row[0], row[1]), b = _mm256_unpackhi_epi8(row[0], row[1]);
    const reg c = _mm256_unpacklo_epi8(row[2], row[3]), d = _mm256_unpackhi_epi8(row[2], row[3]);
    x[0] = _mm256_unpacklo_epi16(a, c);
    x[1] = _mm256_unpackhi_epi16(a, c);
    x[2] = _mm256_unpacklo_epi16(b, d);
    x[3] = _mm256_unpackhi_epi16(b, d);
  }
  static HEED_INLINE void values(const int8_t *const (&row)[4], int32_t i, reg *x) {
    const reg rows[4] = {load(row[0] + i), load(row[1] + i), load(row[2] + i), load(row[3] + i)};
    side_by_side(rows, x);
  }
  static HEED_INLINE void in_order(reg *x) {
    const reg a = x[0], b = x[1], c = x[2], d = x[3];
    x[0] = _mm256_permute2x128_si256(a, b, 0x20);
    x[1] = _mm256_permute2x128_si256(c, d, 0x20);
    x[2] = _mm256_permute2x128_si256(a, b, 0x31);
    x[3] = _mm256_permute2x128_si256(c, d, 0x31);
  }
  static HEED_INLINE void values(const int8_t *const (&row)[4], int32_t i, int32_t n, reg *x) {
    const reg rows[4] = {load_n(row[0] + i, n), load_n(row[1] + i, n), load_n(row[2] + i, n), load_n(row[3] + i, n)};
    side_by_side(rows, x);
  }
  static HEED_INLINE reg add_values(reg sum, reg p, reg v) { return _mm256_dpbusd_avx_epi32(sum, p, v); }
  static HEED_INLINE reg join_planes(reg high, reg low) { return add(_mm256_slli_epi32(high, 7), low); }
  static HEED_INLINE reg split(reg p) {
    return _mm256_packus_epi16(_mm256_srli_epi16(p, 7), _mm256_and_si256(p, set16(127)));
  }
};

}  // namespace

HEED_DEFINE_INT_X86(int_avxvnni, avxvnni, "avxvnni", cpu_has_avxvnni)

}  // namespace heed
