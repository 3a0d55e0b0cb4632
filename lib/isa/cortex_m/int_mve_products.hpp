// Products in integers with Helium: 16 bytes of a row times 16 of an output are added to one register, which is why words
// of panels are gathered. A zero point costs a sum of weights.
#ifndef HEED_ISA_INT_MVE_PRODUCTS_HPP
#define HEED_ISA_INT_MVE_PRODUCTS_HPP

#include "../../integer_steps/product_floats.hpp"
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
      const int8x16_t second_row = ROWS == 2 ? vld1q_s8(y) : e;
      const int8x16_t second_output = OUTPUTS == 2 ? load<PANEL>(b, words) : p;
      sixteen(e, second_row, p, second_output);
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

  // Rule I10 of n sums of a row, four at a time: from a shift of 33 on, half a unit is no part of the product's lower half.
  // Sums that are small enough are shifted left by `room` for that.
  template <class T>
  static HEED_INLINE void requantise(const int32_t *sums, int32_t n, const int32_t *by, int32_t zero_point,
                                     int32_t room, T *y) {
    constexpr int32_t most = sizeof(T) == 1 ? 127 : 32767;
    const int32x4_t zero = vdupq_n_s32(zero_point);
    for (int32_t i = n >> 2; i > 0; i--, sums += 4, by += 8, y += 4) {
      const int32x4x2_t m = vld2q_s32(by);  // and e
      const int32x4_t high = vmulhq_s32(vshlq_r_s32(vld1q_s32(sums), room), m.val[0]);
      const int32x4_t out = vaddq_s32(vrshlq_s32(high, vaddq_n_s32(m.val[1], 1 - room)), zero);
      const int32x4_t in_range = vmaxq_s32(vminq_s32(out, vdupq_n_s32(most)), vdupq_n_s32(-most - 1));
      if constexpr (sizeof(T) == 1)
        vstrbq_s32(y, in_range);
      else
        vstrhq_s32(y, in_range);
    }
  }
  // How far sums are shifted so that every shift of the rule is 33 or more; less than 0 where they are too large.
  static HEED_INLINE int32_t room_of(const int_product &b) {
    int32_t greatest = -31;
    uint32_t most = 0;
    for (int32_t n = 0; n < b.n_cols; n++) {
      const int32_t bias = at_or_zero(b.bias, n);
      const uint32_t magnitude = bias < 0 ? 0u - static_cast<uint32_t>(bias) : static_cast<uint32_t>(bias);
      if (magnitude > most) most = magnitude;
      if (b.multipliers[2 * n + 1] > greatest) greatest = b.multipliers[2 * n + 1];
    }
    if (greatest < -1) return 0;
    const int32_t room = greatest + 2;
    const uint64_t sum = static_cast<uint64_t>(b.depth) * (255 * 128) + most;
    return room < 31 && sum < (UINT64_C(1) << (31 - room)) ? room : -1;
  }

  static constexpr int32_t group = 32;  // outputs whose sums are kept at a time

  // Sums of two rows, or of one that is taken for both, and outputs [from, from + n); those of the second row are a group
  // behind. An odd last output is taken twice.
  template <bool PANEL>
  static HEED_NOINLINE void sum_group(const int_product &b, const int8_t *row, const int8_t *next_row, int32_t from,
                                      int32_t n, int32_t *sums) {
    const uint32x4_t words = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(b.w.step));
    const ptrdiff_t step = PANEL ? 4 * b.w.step : 16;
    for (int32_t o = 0; o < n; o += 2, sums += 2) {
      const int32_t second = o + 1 < n ? 1 : 0, left = b.depth & 15;
      const int8_t *x = row, *y = next_row, *p = b.w.of(from + o), *q = p + second * b.w.output;
      int32_t x0 = 0, x1 = 0, sum_p = 0, sum_q = 0;
      if (b.bias) x0 = b.bias[from + o], x1 = b.bias[from + o + second];
      int32_t y0 = x0, y1 = x1;
      const auto sixteen = [&](int8x16_t e, int8x16_t f, int8x16_t g, int8x16_t h) HEED_INLINED {
        x0 = vmladavaq_s8(x0, e, g);
        x1 = vmladavaq_s8(x1, e, h);
        y0 = vmladavaq_s8(y0, f, g);
        y1 = vmladavaq_s8(y1, f, h);
        sum_p = vaddvaq_s8(sum_p, g);
        sum_q = vaddvaq_s8(sum_q, h);
      };
      for (int32_t i = b.depth >> 4; i > 0; i--, x += 16, y += 16, p += step, q += step)
        sixteen(vld1q_s8(x), vld1q_s8(y), load<PANEL>(p, words), load<PANEL>(q, words));
      if (left)
        sixteen(vldrbq_z_s8(x, helium::first_8bit(left)), vldrbq_z_s8(y, helium::first_8bit(left)),
                load<PANEL>(p, words, left), load<PANEL>(q, words, left));
      const uint32_t zero = static_cast<uint32_t>(b.x_zero_point), zero_p = zero * static_cast<uint32_t>(sum_p),
                     zero_q = zero * static_cast<uint32_t>(sum_q);
      const auto less = [](int32_t sum, uint32_t by) { return static_cast<int32_t>(static_cast<uint32_t>(sum) - by); };
      sums[0] = less(x0, zero_p), sums[1] = less(x1, zero_q);
      sums[group] = less(y0, zero_p), sums[group + 1] = less(y1, zero_q);
    }
  }

  template <bool PANEL>
  static HEED_NOINLINE void project_rows(const int_product &b, int32_t row, bool two, int32_t room) {
    int32_t sums[2 * group];
    const int8_t *x = b.x + row * b.x_stride;
    for (int32_t from = 0, n; from < b.n_cols; from += n) {
      n = smaller_of(b.n_cols - from, group);
      const int8_t *const second = two ? x + b.x_stride : x;
      sum_group<PANEL>(b, x, second, from, n, sums);
      for (int32_t r = 0; r < 1 + two; r++) {
        const int32_t *of_row = sums + r * group, *by = b.multipliers + 2 * from, done = room < 0 ? 0 : n & -4;
        const ptrdiff_t at = (row + r) * b.y_stride + from;
        if (b.wide)
          requantise(of_row, done, by, b.y_zero_point, room, static_cast<int16_t *>(b.y) + at);
        else
          requantise(of_row, done, by, b.y_zero_point, room, static_cast<int8_t *>(b.y) + at);
        if (done < n) int_requantise(b, of_row + done, row + r, from + done, n - done);
      }
    }
  }
  static void project(const int_product &b) {
    if (b.w.layout == int_layout::in_out) return int_project<plain_dots>(b);
    const int32_t room = room_of(b);
    for (int32_t r = 0; r < b.n_rows; r += 2)
      b.w.layout == int_layout::panel ? project_rows<true>(b, r, r + 1 < b.n_rows, room)
                                      : project_rows<false>(b, r, r + 1 < b.n_rows, room);
  }
};

// Rows of floats.
struct mve_floats : plain_floats<mve_dots> {
  static uint32_t greatest(const float *x, int32_t n) {
    uint32x4_t most = vdupq_n_u32(0);
    for (; n > 0; n -= 4, x += 4) {
      const uint32x4_t bits = vreinterpretq_u32_f32(vldrwq_z_f32(x, helium::first_32bit(n)));
      most = vmaxq_u32(most, vbicq_u32(bits, vdupq_n_u32(0x80000000)));
    }
    return vmaxvq_u32(0, most);
  }

  // Behind the numbers are zeros, up to a multiple of 16.
  static int32_t quantise(const float *x, int32_t n, float inverse, int8_t *to) {
    const int8_t *const end = to + ((n + 15) & -16);
    int32_t sum = 0, left = inverse == 0.0f ? 0 : n;
    for (; to != end; x += 4, to += 4) {
      const float32x4_t numbers = vldrwq_z_f32(x, helium::first_32bit(left));
      left = left < 4 ? 0 : left - 4;
      const float32x4_t rounded = vaddq_n_f32(vmulq_n_f32(numbers, inverse), 12582912.0f);
      const int32x4_t whole = vsubq_n_s32(vreinterpretq_s32_f32(rounded), 0x4b400000);
      vstrbq_s32(to, whole);
      sum = vaddvaq_s32(sum, whole);
    }
    return sum;
  }

  // One row or two, and outputs two by two; the last of an odd number is taken twice.
  template <int ROWS>
  static HEED_NOINLINE void add_rows(const quantised_rows &q, const int_weights &w, int32_t n_cols, float *y,
                                     float *z) {
    const uint32x4_t words = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(w.step));
    const ptrdiff_t step = 4 * w.step;
    const int32_t left = q.depth & 15;
    const bool first = q.begin == 0;
    const mve_pred16_t there = helium::first_32bit((left + 3) >> 2);
    const int8_t *const numbers = q.numbers, *const end = numbers + (q.depth - left), *p = w.data;
    for (int32_t n = n_cols; n > 0; n -= 2, p += 8, y += 2, z += 2) {
      const int32_t second = n > 1 ? 1 : 0;
      const int8_t *x = numbers, *next = x + (ROWS - 1) * int_piece, *a = p, *b = p + 4 * second;
      int32_t x0 = 0, x1 = 0, y0 = 0, y1 = 0;
      if (!first)
        x0 = stored_integer(y), x1 = stored_integer(y + second), y0 = stored_integer(z),
        y1 = stored_integer(z + second);
      const auto sixteen = [&](int32x4_t g, int32x4_t h) HEED_INLINED {
        const int8x16_t e = vld1q_s8(x), v = vreinterpretq_s8_s32(g), u = vreinterpretq_s8_s32(h);
        x0 = vmladavaq_s8(x0, e, v);
        x1 = vmladavaq_s8(x1, e, u);
        if (ROWS == 1) return;
        const int8x16_t f = vld1q_s8(next);
        y0 = vmladavaq_s8(y0, f, v);
        y1 = vmladavaq_s8(y1, f, u);
      };
      for (; x != end; x += 16, next += 16, a += step, b += step)
        sixteen(vldrwq_gather_offset_s32(reinterpret_cast<const int32_t *>(a), words),
                vldrwq_gather_offset_s32(reinterpret_cast<const int32_t *>(b), words));
      if (left)
        sixteen(vldrwq_gather_offset_z_s32(reinterpret_cast<const int32_t *>(a), words, there),
                vldrwq_gather_offset_z_s32(reinterpret_cast<const int32_t *>(b), words, there));
      store_integer(y + second, x1), store_integer(y, x0);
      if (ROWS == 2) store_integer(z + second, y1), store_integer(z, y0);
    }
  }
  static void add(const quantised_rows &q, const int_weights &w, int32_t n_cols, float *y, ptrdiff_t y_stride) {
    if (q.n_rows == 1) return add_rows<1>(q, w, n_cols, y, y);
    add_rows<2>(q, w, n_cols, y, y + y_stride);
  }

  static void scale(const linear_block &b, const packed_panel &w, const int_row_scale &of, float *y, int32_t) {
    const auto *scales = reinterpret_cast<const float *>(w.data);
    const auto *zeros = reinterpret_cast<const int32_t *>(w.data) + w.width;  // in the lowest bytes
    const int32_t sum = w.dtype == stored_uint8 ? of.sum : 0;
    const float *bias = b.bias;
    for (int32_t n = b.n_cols; n > 0; n -= 4, y += 4, scales += 4, zeros += 4) {
      const mve_pred16_t there = helium::first_32bit(n);
      int32x4_t sums = vldrwq_z_s32(reinterpret_cast<const int32_t *>(y), there);
      if (sum) sums = vmlaq_n_s32(sums, vshrq_n_s32(vshlq_n_s32(vldrwq_z_s32(zeros, there), 24), 24), -sum);
      const float32x4_t x = vmulq_f32(vmulq_n_f32(vcvtq_f32_s32(sums), of.scale), vldrwq_z_f32(scales, there));
      float32x4_t more = vdupq_n_f32(0.0f);
      if (bias) more = vldrwq_z_f32(bias, there), bias += 4;
      vstrwq_p_f32(y, vaddq_f32(x, more), there);
    }
  }
};

}  // namespace
}  // namespace heed

#endif
