// Attention in integers on any AArch64: products of 16 bits, four at a time. Where a block is packed, 16 columns (keys, or
// columns of values) are lanes, and a row's numbers are factors; else keys lie along registers.
#include "../portable/cpu.hpp"
#include "int_neon.hpp"

namespace heed {
namespace {
namespace smlal {

using namespace neon_common;

HEED_INLINE int16x8_t low16(int8x16_t x) { return vmovl_s8(vget_low_s8(x)); }
HEED_INLINE int16x8_t high16(int8x16_t x) { return vmovl_high_s8(x); }

// Zeros behind up to 16 numbers.
int32_t open_query(const int8_t *q, int32_t dim, int32_t zero_point, void *to) {
  int16_t *wide = static_cast<int16_t *>(to);
  const int8x16_t zero = vdupq_n_s8(static_cast<int8_t>(zero_point));
  int32x4_t sum = vdupq_n_s32(0);
  for (int32_t i = 0; i < dim; i += 16) {
    int8x16_t x = load_bytes(q + i, dim - i), z = zero;
    if (dim - i < 16) {
      int8_t zeros[16] = {};
      __builtin_memset(zeros, zero_point, static_cast<size_t>(dim - i));
      z = vld1q_s8(zeros);
    }
    const int16x8_t low = vsubl_s8(vget_low_s8(x), vget_low_s8(z)), high = vsubl_high_s8(x, z);
    sum = vpadalq_s16(vpadalq_s16(sum, low), high);
    vst1q_s16(wide + i, low);
    vst1q_s16(wide + i + 8, high);
  }
  return vaddvq_s32(sum);
}

// Panels of 16 columns: 16 numbers of each step of depth, of which there are `depth`, rounded up to 8.
HEED_INLINE ptrdiff_t panel_numbers(int32_t depth) { return 16 * static_cast<ptrdiff_t>((depth + 7) & ~7); }

// Eight numbers of each of eight keys, from i on.
HEED_INLINE void transpose_keys(const int_rows &k, int32_t j, int32_t i, int16_t *to) {
  int8x16_t x[8];
  HEED_UNROLL for (int r = 0; r < 8; r++) {
    const int8_t *from = k.data + (smaller_of(j + r, k.n - 1)) * k.stride + i;
    if (k.dim - i >= 8)
      x[r] = vcombine_s8(vld1_s8(from), vdup_n_s8(0));
    else
      x[r] = load_bytes(from, k.dim - i);
  }
  int8x16_t y[4], z[4];
  HEED_UNROLL for (int r = 0; r < 4; r++) y[r] = vzip1q_s8(x[r], x[r + 4]);  // 0 4, 1 5, 2 6, 3 7
  HEED_UNROLL for (int r = 0; r < 2; r++) z[2 * r] = vzip1q_s8(y[r], y[r + 2]),
                                                z[2 * r + 1] = vzip2q_s8(y[r], y[r + 2]);
  HEED_UNROLL for (int r = 0; r < 2; r++) {
    const int8x16_t a = vzip1q_s8(z[r], z[r + 2]), b = vzip2q_s8(z[r], z[r + 2]);
    vst1q_s16(to + (4 * r) * 16, low16(a));
    vst1q_s16(to + (4 * r + 1) * 16, high16(a));
    vst1q_s16(to + (4 * r + 2) * 16, low16(b));
    vst1q_s16(to + (4 * r + 3) * 16, high16(b));
  }
}
void pack_keys(const int_rows &k, void *to) {
  int16_t *panel = static_cast<int16_t *>(to);
  for (int32_t j = 0; j < k.n; j += 16, panel += panel_numbers(k.dim))
    for (int32_t i = 0; i < k.dim; i += 8) {
      transpose_keys(k, j, i, panel + 16 * i);
      transpose_keys(k, j + 8, i, panel + 16 * i + 8);
    }
}
// A key beyond the last has probability 0: any will do.
void pack_values(const int_rows &v, void *to) {
  const int32_t n = (v.n + 7) & ~7;
  for (int32_t j = 0; j < n; j++) {
    const int8_t *from = v.data + (j < v.n ? j : 0) * v.stride;
    int16_t *panel = static_cast<int16_t *>(to) + 16 * j;
    for (int32_t i = 0; i < v.dim; i += 16, panel += panel_numbers(int_block)) {
      const int8x16_t x = load_bytes(from + i, v.dim - i);
      vst1q_s16(panel, low16(x));
      vst1q_s16(panel + 8, high16(x));
    }
  }
}

// ROWS rows of numbers times n columns in panels.
template <int ROWS>
HEED_NOINLINE void multiply(const int16_t *a, ptrdiff_t a_stride, const int16_t *panel, int32_t depth, int32_t most,
                            int32_t n, int32_t *to, ptrdiff_t to_stride) {
  for (; n > 0; n -= 16, panel += panel_numbers(most), to += 16) {
    int32x4_t x[ROWS][4];
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int c = 0; c < 4; c++) x[r][c] = vdupq_n_s32(0);
    const int16_t *row = a, *b = panel;
    for (int32_t left = depth; left > 0; left -= 4, row += 4, b += 64) {
      int16x4_t f[ROWS];
      HEED_UNROLL for (int r = 0; r < ROWS; r++) f[r] = vld1_s16(row + r * a_stride);
      for_each_constant<4>([&](auto i) HEED_INLINED {
        constexpr int lane = decltype(i)::value;
        const int16x8_t y = vld1q_s16(b + 16 * lane), z = vld1q_s16(b + 16 * lane + 8);
        HEED_UNROLL for (int r = 0; r < ROWS; r++) {
          x[r][0] = vmlal_lane_s16(x[r][0], vget_low_s16(y), f[r], lane);
          x[r][1] = vmlal_high_lane_s16(x[r][1], y, f[r], lane);
          x[r][2] = vmlal_lane_s16(x[r][2], vget_low_s16(z), f[r], lane);
          x[r][3] = vmlal_high_lane_s16(x[r][3], z, f[r], lane);
        }
      });
    }
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int c = 0; c < 4; c++)
        vst1q_s32(to + r * to_stride + 4 * c, x[r][c]);
  }
}

// ROWS rows times keys as they lie, two at a time.
template <int ROWS>
HEED_NOINLINE void score_keys(const int16_t *q, ptrdiff_t q_stride, const int_rows &k, int32_t *s) {
  for (int32_t j = 0; j < k.n; j += 2) {
    const int8_t *a = k.data + j * k.stride, *b = j + 1 < k.n ? a + k.stride : a;
    int32x4_t x[ROWS][2];
    HEED_UNROLL for (int r = 0; r < ROWS; r++) x[r][0] = x[r][1] = vdupq_n_s32(0);
    for (int32_t i = 0; i < k.dim; i += 16) {
      const int8x16_t y = load_bytes(a + i, k.dim - i), z = load_bytes(b + i, k.dim - i);
      const int16x8_t y0 = low16(y), y1 = high16(y), z0 = low16(z), z1 = high16(z);
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        const int16x8_t f = vld1q_s16(q + r * q_stride + i), g = vld1q_s16(q + r * q_stride + i + 8);
        const auto add = [&](int32x4_t sum, int16x8_t low, int16x8_t high) HEED_INLINED {
          sum = vmlal_high_s16(vmlal_s16(sum, vget_low_s16(low), vget_low_s16(f)), low, f);
          return vmlal_high_s16(vmlal_s16(sum, vget_low_s16(high), vget_low_s16(g)), high, g);
        };
        x[r][0] = add(x[r][0], y0, y1);
        x[r][1] = add(x[r][1], z0, z1);
      }
    }
    HEED_UNROLL for (int r = 0; r < ROWS; r++) {
      const int32x4_t both = vpaddq_s32(x[r][0], x[r][1]);
      vst1_s32(s + r * int_block + j, vget_low_s32(vpaddq_s32(both, both)));
    }
  }
}
void scores(const void *queries, ptrdiff_t query_bytes, int32_t n_rows, int32_t, const int_rows &k, int32_t *s) {
  const int16_t *q = static_cast<const int16_t *>(queries);
  const ptrdiff_t stride = query_bytes / 2;
  four_rows(n_rows, [&](auto rows, int32_t r) {
    constexpr int n = decltype(rows)::value;
    if (k.packed)
      multiply<n>(q + r * stride, stride, static_cast<const int16_t *>(k.packed), k.dim, k.dim, k.n, s + r * int_block,
                  int_block);
    else
      score_keys<n>(q + r * stride, stride, k, s + r * int_block);
  });
}

// ROWS rows times values as they lie.
template <int ROWS>
HEED_NOINLINE void sum_values(const int16_t *p, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  for (int32_t i = 0; i < v.dim; i += 16) {
    int32x4_t x[ROWS][4];
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int c = 0; c < 4; c++) x[r][c] = vdupq_n_s32(0);
    const int8_t *from = v.data + i;
    for (int32_t j = 0; j < v.n; j++, from += v.stride) {
      const int8x16_t bytes = load_bytes(from, v.dim - i);
      const int16x8_t y = low16(bytes), z = high16(bytes);
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        const int16x8_t f = vld1q_dup_s16(p + r * 2 * int_block + j);
        x[r][0] = vmlal_s16(x[r][0], vget_low_s16(y), vget_low_s16(f));
        x[r][1] = vmlal_high_s16(x[r][1], y, f);
        x[r][2] = vmlal_s16(x[r][2], vget_low_s16(z), vget_low_s16(f));
        x[r][3] = vmlal_high_s16(x[r][3], z, f);
      }
    }
    HEED_UNROLL for (int r = 0; r < ROWS; r++) HEED_UNROLL for (int c = 0; c < 4; c++)
        vst1q_s32(acc + r * acc_stride + i + 4 * c, x[r][c]);
  }
}
void sums(int32_t *p, int32_t n_rows, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  const int16_t *row = reinterpret_cast<const int16_t *>(p);
  four_rows(n_rows, [&](auto rows, int32_t r) {
    constexpr int n = decltype(rows)::value;
    if (v.packed)
      multiply<n>(row + r * 2 * int_block, 2 * int_block, static_cast<const int16_t *>(v.packed), v.n, int_block, v.dim,
                  acc + r * acc_stride, acc_stride);
    else
      sum_values<n>(row + r * 2 * int_block, v, acc + r * acc_stride, acc_stride);
  });
}

}  // namespace smlal
}  // namespace

extern const int_steps int_neon;
const int_steps int_neon = {"neon",
                            cpu_has_neon,
                            4,
                            4,
                            smlal::open_query,
                            smlal::pack_keys,
                            smlal::pack_values,
                            smlal::scores,
                            neon_common::greatest,
                            neon_common::probabilities,
                            smlal::sums,
                            neon_common::add_to_bin,
                            neon_common::join_bins,
                            neon_common::finish};

}  // namespace heed
