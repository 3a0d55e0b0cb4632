// Products in integers with Helium: 16 bytes of a row times 16 of an output are added to one register, which is why words
// of panels are gathered. A zero point costs a sum of weights.
#ifndef HEED_ISA_INT_MVE_PRODUCTS_HPP
#define HEED_ISA_INT_MVE_PRODUCTS_HPP

#include "../generic/integers/product.hpp"
#include "int_mve.hpp"

namespace heed {
namespace {

struct mve_dots {
  static constexpr int32_t rows = 2, outputs = 2;

  // 16 bytes as they lie, or four words; the first `there` bytes of them.
  template <bool PANEL>
  static HEED_INLINE int8x16_t load(const int8_t *w, uint32x4_t words) {
    if (!PANEL) return vld1q_s8(w);
    return vreinterpretq_s8_s32(vldrwq_gather_offset_s32(reinterpret_cast<const int32_t *>(w), words));
  }
  template <bool PANEL>
  static HEED_INLINE int8x16_t load(const int8_t *w, uint32x4_t words, int32_t n) {
    if (!PANEL) return vldrbq_z_s8(w, helium::first_8bit(n));
    const int32x4_t x =
        vldrwq_gather_offset_z_s32(reinterpret_cast<const int32_t *>(w), words, helium::first_32bit((n + 3) >> 2));
    return vpselq_s8(vreinterpretq_s8_s32(x), vdupq_n_s8(0), helium::first_8bit(n));
  }

  template <bool PANEL, int ROWS, int OUTPUTS>
  static HEED_NOINLINE void add(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                                int32_t depth, int32_t *sums, int32_t stride) {
    const uint32x4_t words = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(w.step));
    const int8_t *y = x + (ROWS - 1) * x_stride, *a = w.data, *b = w.data + (OUTPUTS - 1) * w.output;
    const ptrdiff_t step = PANEL ? 4 * w.step : 16;
    int32_t x0 = 0, x1 = 0, y0 = 0, y1 = 0, sum_a = 0, sum_b = 0;
    const auto sixteen = [&](int8x16_t e, int8x16_t f, int8x16_t p, int8x16_t q) HEED_INLINED {
      x0 = vmladavaq_s8(x0, e, p);
      if (OUTPUTS == 2) x1 = vmladavaq_s8(x1, e, q);
      if (ROWS == 2) y0 = vmladavaq_s8(y0, f, p);
      if (ROWS == 2 && OUTPUTS == 2) y1 = vmladavaq_s8(y1, f, q);
      sum_a = vaddvaq_s8(sum_a, p);
      if (OUTPUTS == 2) sum_b = vaddvaq_s8(sum_b, q);
    };
    for (int32_t i = depth >> 4; i > 0; i--, x += 16, y += 16, a += step, b += step) {
      const int8x16_t e = vld1q_s8(x), p = load<PANEL>(a, words);
      sixteen(e, ROWS == 2 ? vld1q_s8(y) : e, p, OUTPUTS == 2 ? load<PANEL>(b, words) : p);
    }
    const int32_t n = depth & 15;
    if (n) {
      const int8x16_t e = vldrbq_z_s8(x, helium::first_8bit(n)), f = vldrbq_z_s8(y, helium::first_8bit(n));
      sixteen(e, f, load<PANEL>(a, words, n), load<PANEL>(b, words, n));
    }
    sums[0] = x0 - zero_point * sum_a;
    if (OUTPUTS == 2) sums[1] = x1 - zero_point * sum_b;
    if (ROWS == 2) sums[stride] = y0 - zero_point * sum_a;
    if (ROWS == 2 && OUTPUTS == 2) sums[stride + 1] = y1 - zero_point * sum_b;
  }

  template <int ROWS, int OUTPUTS>
  static HEED_INLINE void dots(const int8_t *x, ptrdiff_t x_stride, int32_t zero_point, const int_weights &w,
                               int32_t depth, int32_t *sums) {
    if (w.layout == int_layout::in_out)
      plain_dots::dots<ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums);
    else if (w.layout == int_layout::panel)
      add<true, ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums, OUTPUTS);
    else
      add<false, ROWS, OUTPUTS>(x, x_stride, zero_point, w, depth, sums, OUTPUTS);
  }

  // Rule I10 of n sums, four at a time: from a shift of 33 on, half a unit is no part of the product's lower half. Sums
  // that are small enough are shifted left by `room` for that.
  template <class T>
  static HEED_INLINE void requantise(const int_product &b, const int32_t *sums, int32_t from, int32_t n, int32_t room,
                                     T *y) {
    constexpr int32_t most = sizeof(T) == 1 ? 127 : 32767;
    const int32_t *by = b.multipliers + 2 * from, *bias = b.bias ? b.bias + from : nullptr;
    const uint32x4_t pairs = vidupq_n_u32(0, 2);
    for (; n > 0; n -= 4, sums += 4, by += 8, y += 4) {
      const mve_pred16_t there = helium::first_32bit(n);
      const int32x4_t m = vldrwq_gather_shifted_offset_z_s32(by, pairs, there),
                      e = vldrwq_gather_shifted_offset_z_s32(by + 1, pairs, there);
      int32x4_t acc = vld1q_s32(sums);
      if (bias) acc = vaddq_s32(acc, vld1q_z_s32(bias, there)), bias += 4;
      acc = vshlq_r_s32(acc, room);
      const int32x4_t high = vaddq_n_s32(vrshlq_s32(vmulhq_s32(acc, m), vaddq_n_s32(e, 1 - room)), b.y_zero_point);
      const int32x4_t out = vmaxq_s32(vminq_s32(high, vdupq_n_s32(most)), vdupq_n_s32(-most - 1));
      if constexpr (sizeof(T) == 1)
        vstrbq_p_s32(y, out, there);
      else
        vstrhq_p_s32(y, out, there);
    }
  }
  // How far sums are shifted so that every shift of the rule is 33 or more; less than 0 where they are too large.
  static HEED_INLINE int32_t room_of(const int_product &b) {
    int32_t greatest = -31;
    uint32_t most = 0;
    for (int32_t n = 0; n < b.n_cols; n++) {
      const int32_t bias = b.bias ? b.bias[n] : 0;
      const uint32_t magnitude = bias < 0 ? 0u - static_cast<uint32_t>(bias) : static_cast<uint32_t>(bias);
      if (magnitude > most) most = magnitude;
      if (b.multipliers[2 * n + 1] > greatest) greatest = b.multipliers[2 * n + 1];
    }
    if (greatest < -1) return 0;
    const int32_t room = greatest + 2;
    const uint64_t sum = static_cast<uint64_t>(b.depth) * (255 * 128) + most;
    return room < 31 && sum < (UINT64_C(1) << (31 - room)) ? room : -1;
  }

  // Two rows, or one that is taken for both; sums of up to 32 outputs are requantised together.
  template <bool PANEL>
  static HEED_NOINLINE void project_rows(const int_product &b, int32_t row, bool two, int32_t room) {
    constexpr int32_t group = 32;
    int32_t sums[2 * group];
    const int8_t *x = b.x + row * b.x_stride;
    int_weights w = b.w;
    for (int32_t from = 0, n; from < b.n_cols; from += n) {
      n = b.n_cols - from < group ? b.n_cols - from : group;
      for (int32_t o = 0; o < n; o += 2) {
        w.data = b.w.of(from + o);
        if (o + 1 == n) w.output = 0;
        add<PANEL, 2, 2>(x, two ? b.x_stride : 0, b.x_zero_point, w, b.depth, sums + o, group);
      }
      for (int32_t r = 0; r < 1 + two; r++) {
        const ptrdiff_t at = (row + r) * b.y_stride + from;
        if (b.wide)
          requantise(b, sums + r * group, from, n, room, static_cast<int16_t *>(b.y) + at);
        else
          requantise(b, sums + r * group, from, n, room, static_cast<int8_t *>(b.y) + at);
      }
    }
  }
  static void project(const int_product &b) {
    const int32_t room = room_of(b);
    if (b.w.layout == int_layout::in_out || room < 0) return int_project<mve_dots>(b);
    for (int32_t r = 0; r < b.n_rows; r += 2)
      b.w.layout == int_layout::panel ? project_rows<true>(b, r, r + 1 < b.n_rows, room)
                                      : project_rows<false>(b, r, r + 1 < b.n_rows, room);
  }
};

}  // namespace
}  // namespace heed

#endif
