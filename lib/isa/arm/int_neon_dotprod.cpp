// Attention in integers with SDOT and UDOT (A55, A75, A76 and later): four products of bytes are added to a word. A
// probability of 15 bits is two bytes, and UDOT wants both factors unsigned: so values are stored as v + 128, and each
// sum has 128 times the sum of p too much. The zero point of a query costs sums of keys, which are packed behind them.
#include "../portable/cpu.hpp"
#include "int_neon.hpp"

namespace heed {
namespace {
namespace dotprod {

using namespace neon_common;

// A block as it is packed: panels of 16 columns (keys, or columns of values), 16 times four bytes of depth.
HEED_INLINE ptrdiff_t panel_bytes(int32_t depth) { return 16 * static_cast<ptrdiff_t>((depth + 15) & ~15); }
HEED_INLINE int32_t *sums_behind(const void *keys, int32_t dim) {
  return reinterpret_cast<int32_t *>(static_cast<char *>(const_cast<void *>(keys)) + int_block / 16 * panel_bytes(dim));
}

int32_t open_query(const int8_t *q, int32_t dim, int32_t zero_point, void *to) {
  int8_t *bytes = static_cast<int8_t *>(to);
  int32x4_t sum = vdupq_n_s32(0);
  for (int32_t i = 0; i < dim; i += 16) {
    const int8x16_t x = load_bytes(q + i, dim - i);
    vst1q_s8(bytes + i, x);
    sum = vdotq_s32(sum, x, vdupq_n_s8(1));
  }
  return vaddvq_s32(sum) - dim * zero_point;
}

HEED_INLINE int8x16_t words(int32x4_t x) { return vreinterpretq_s8_s32(x); }
HEED_INLINE int32x4_t words(int8x16_t x) { return vreinterpretq_s32_s8(x); }

// Four rows of four words: columns become rows.
HEED_INLINE void transpose(int8x16_t (&x)[4]) {
  const int64x2_t a = vreinterpretq_s64_s32(vtrn1q_s32(words(x[0]), words(x[1]))),
                  b = vreinterpretq_s64_s32(vtrn2q_s32(words(x[0]), words(x[1]))),
                  c = vreinterpretq_s64_s32(vtrn1q_s32(words(x[2]), words(x[3]))),
                  d = vreinterpretq_s64_s32(vtrn2q_s32(words(x[2]), words(x[3])));
  x[0] = vreinterpretq_s8_s64(vtrn1q_s64(a, c));
  x[1] = vreinterpretq_s8_s64(vtrn1q_s64(b, d));
  x[2] = vreinterpretq_s8_s64(vtrn2q_s64(a, c));
  x[3] = vreinterpretq_s8_s64(vtrn2q_s64(b, d));
}
// Four rows of bytes side by side, plus 128: four bytes of each column.
HEED_INLINE void interleave(const int8x16_t (&row)[4], uint8x16_t (&x)[4]) {
  const int16x8_t a = vreinterpretq_s16_s8(vzip1q_s8(row[0], row[1])),
                  b = vreinterpretq_s16_s8(vzip2q_s8(row[0], row[1])),
                  c = vreinterpretq_s16_s8(vzip1q_s8(row[2], row[3])),
                  d = vreinterpretq_s16_s8(vzip2q_s8(row[2], row[3]));
  const auto offset = [](int16x8_t y) HEED_INLINED { return veorq_u8(vreinterpretq_u8_s16(y), vdupq_n_u8(128)); };
  x[0] = offset(vzip1q_s16(a, c));
  x[1] = offset(vzip2q_s16(a, c));
  x[2] = offset(vzip1q_s16(b, d));
  x[3] = offset(vzip2q_s16(b, d));
}
// Columns [i, i + 16) of rows [j, j + 4), of which those behind the last are any.
HEED_INLINE void load_rows(const int_rows &from, int32_t j, int32_t i, int8x16_t (&x)[4]) {
  HEED_UNROLL for (int r = 0; r < 4; r++) x[r] =
      load_bytes(from.data + smaller_of(j + r, from.n - 1) * from.stride + i, from.dim - i);
}

void pack_keys(const int_rows &k, void *to) {
  int32_t *sums = sums_behind(to, k.dim);
  for (int32_t j = 0; j < k.n; j += 4) {
    int8_t *panel = static_cast<int8_t *>(to) + (j >> 4) * panel_bytes(k.dim) + 4 * (j & 15);
    int32x4_t sum = vdupq_n_s32(0);
    for (int32_t i = 0; i < k.dim; i += 16) {
      int8x16_t x[4];
      load_rows(k, j, i, x);
      transpose(x);
      HEED_UNROLL for (int c = 0; c < 4; c++) {
        vst1q_s8(panel + 16 * i + 64 * c, x[c]);
        sum = vdotq_s32(sum, x[c], vdupq_n_s8(1));
      }
    }
    vst1q_s32(sums + j, sum);
  }
}
void pack_values(const int_rows &v, void *to) {
  for (int32_t j = 0; j < v.n; j += 4) {
    uint8_t *panel = static_cast<uint8_t *>(to) + 16 * j;
    for (int32_t i = 0; i < v.dim; i += 16, panel += panel_bytes(int_block)) {
      int8x16_t row[4];
      uint8x16_t x[4];
      load_rows(v, j, i, row);
      interleave(row, x);
      HEED_UNROLL for (int c = 0; c < 4; c++) vst1q_u8(panel + 16 * c, x[c]);
    }
  }
}

// ROWS queries times panels of keys.
template <int ROWS>
HEED_NOINLINE void score_panels(const int8_t *q, ptrdiff_t q_stride, int32_t zero_point, const int_rows &k,
                                int32_t *s) {
  const int8_t *panel = static_cast<const int8_t *>(k.packed);
  const int32_t *sums = sums_behind(k.packed, k.dim);
  for (int32_t j = 0; j < k.n; j += 16, panel += panel_bytes(k.dim)) {
    int32x4_t x[ROWS][4];
    HEED_UNROLL for (int c = 0; c < 4; c++) x[0][c] = vmulq_n_s32(vld1q_s32(sums + j + 4 * c), -zero_point);
    HEED_UNROLL for (int r = 1; r < ROWS; r++) HEED_UNROLL for (int c = 0; c < 4; c++) x[r][c] = x[0][c];
    for (int32_t i = 0; i < k.dim; i += 16) {
      int8x16_t f[ROWS];
      HEED_UNROLL for (int r = 0; r < ROWS; r++) f[r] = vld1q_s8(q + r * q_stride + i);
      for_each_constant<4>([&](auto word) HEED_INLINED {
        HEED_UNROLL for (int c = 0; c < 4; c++) {
          const int8x16_t y = vld1q_s8(panel + 16 * i + 64 * decltype(word)::value + 16 * c);
          HEED_UNROLL for (int r = 0; r < ROWS; r++) x[r][c] = vdotq_laneq_s32(x[r][c], y, f[r], decltype(word)::value);
        }
      });
    }
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int c = 0; c < 4; c++)
        vst1q_s32(s + r * int_block + j + 4 * c, x[r][c]);
  }
}

// ROWS queries times keys as they lie, four at a time. SUMS: minus zero_point times sums of keys.
template <int ROWS, bool SUMS>
HEED_NOINLINE void score_keys(const int8_t *q, ptrdiff_t q_stride, int32_t zero_point, const int_rows &k, int32_t *s) {
  for (int32_t j = 0; j < k.n; j += 4) {
    int32x4_t x[ROWS][4], sum[4];
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int c = 0; c < 4; c++) x[r][c] = vdupq_n_s32(0);
    HEED_UNROLL for (int c = 0; c < 4; c++) sum[c] = vdupq_n_s32(0);
    for (int32_t i = 0; i < k.dim; i += 16) {
      int8x16_t y[4];
      load_rows(k, j, i, y);
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        const int8x16_t f = vld1q_s8(q + r * q_stride + i);
        HEED_UNROLL for (int c = 0; c < 4; c++) x[r][c] = vdotq_s32(x[r][c], y[c], f);
      }
      if (SUMS) HEED_UNROLL for (int c = 0; c < 4; c++) sum[c] = vdotq_s32(sum[c], y[c], vdupq_n_s8(1));
    }
    const auto total = [](const int32x4_t(&y)[4])
                           HEED_INLINED { return vpaddq_s32(vpaddq_s32(y[0], y[1]), vpaddq_s32(y[2], y[3])); };
    const int32x4_t minus = SUMS ? vmulq_n_s32(total(sum), -zero_point) : vdupq_n_s32(0);
    HEED_UNROLL for (int r = 0; r < ROWS; r++) vst1q_s32(s + r * int_block + j, vaddq_s32(total(x[r]), minus));
  }
}
void scores(const void *queries, ptrdiff_t query_bytes, int32_t n_rows, int32_t zero_point, const int_rows &k,
            int32_t *s) {
  four_rows(n_rows, [&](auto rows, int32_t r) {
    constexpr int n = decltype(rows)::value;
    const int8_t *q = static_cast<const int8_t *>(queries) + r * query_bytes;
    int32_t *to = s + r * int_block;
    if (k.packed)
      score_panels<n>(q, query_bytes, zero_point, k, to);
    else if (zero_point)
      score_keys<n, true>(q, query_bytes, zero_point, k, to);
    else
      score_keys<n, false>(q, query_bytes, 0, k, to);
  });
}

// ROWS rows of probabilities times values, packed or as they lie: sums of their lower bytes, and of their upper ones.
template <int ROWS, bool PACKED>
HEED_NOINLINE void sum_values(const int16_t *p, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  int32x4_t too_much[ROWS];
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    int32x4_t sum = vdupq_n_s32(0);
    for (int32_t j = 0; j < v.n; j += 8) sum = vpadalq_s16(sum, vld1q_s16(p + r * 2 * int_block + j));
    too_much[r] = vdupq_n_s32(-128 * vaddvq_s32(sum));
  }
  const uint8_t *panel = static_cast<const uint8_t *>(v.packed);
  for (int32_t i = 0; i < v.dim; i += 16, panel += PACKED ? panel_bytes(int_block) : 0) {
    uint32x4_t low[ROWS][4], high[ROWS][4];
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int c = 0; c < 4; c++) low[r][c] = high[r][c] =
        vdupq_n_u32(0);
    for (int32_t j = 0; j < v.n; j += 16) {
      uint8x16x2_t f[ROWS];
      HEED_UNROLL for (int r = 0; r < ROWS; r++) f[r] =
          vld2q_u8(reinterpret_cast<const uint8_t *>(p + r * 2 * int_block + j));
      for_each_constant<4>([&](auto word) HEED_INLINED {
        constexpr int w = decltype(word)::value;
        uint8x16_t y[4];
        if constexpr (PACKED) {
          HEED_UNROLL for (int c = 0; c < 4; c++) y[c] = vld1q_u8(panel + 16 * j + 64 * w + 16 * c);
        } else {
          int8x16_t row[4];
          load_rows(v, j + 4 * w, i, row);
          interleave(row, y);
        }
        HEED_UNROLL for (int c = 0; c < 4; c++) {
          HEED_UNROLL for (int r = 0; r < ROWS; r++) {
            low[r][c] = vdotq_laneq_u32(low[r][c], y[c], f[r].val[0], w);
            high[r][c] = vdotq_laneq_u32(high[r][c], y[c], f[r].val[1], w);
          }
        }
      });
    }
    HEED_UNROLL for (int r = 0; r < ROWS; r++) {
      HEED_UNROLL for (int c = 0; c < 4; c++) {
        const int32x4_t sum = vreinterpretq_s32_u32(vaddq_u32(low[r][c], vshlq_n_u32(high[r][c], 8)));
        vst1q_s32(acc + r * acc_stride + i + 4 * c, vaddq_s32(sum, too_much[r]));
      }
    }
  }
}
void sums(int32_t *p, int32_t n_rows, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  const int16_t *row = reinterpret_cast<const int16_t *>(p);
  for (int32_t r = 0; r < n_rows; r += 2, row += 4 * int_block, acc += 2 * acc_stride) {
    if (n_rows - r > 1)
      v.packed ? sum_values<2, true>(row, v, acc, acc_stride) : sum_values<2, false>(row, v, acc, acc_stride);
    else
      v.packed ? sum_values<1, true>(row, v, acc, acc_stride) : sum_values<1, false>(row, v, acc, acc_stride);
  }
}

}  // namespace dotprod
}  // namespace

extern const int_steps int_neon_dotprod;
const int_steps int_neon_dotprod = {"neon-dotprod",
                                    cpu_has_dotprod,
                                    4,
                                    4,
                                    dotprod::open_query,
                                    dotprod::pack_keys,
                                    dotprod::pack_values,
                                    dotprod::scores,
                                    neon_common::greatest,
                                    neon_common::probabilities,
                                    dotprod::sums,
                                    neon_common::add_to_bin,
                                    neon_common::join_bins,
                                    neon_common::finish};

}  // namespace heed
