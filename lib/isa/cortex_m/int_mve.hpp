// Attention in integers with Helium (M55, M85). A product of 16 bytes, or of 8 probabilities and 8 values, is one
// instruction that adds all of it to one register: so keys are read as they lie, and values by columns. Where there is
// room, a block of values is transposed once: 256 bytes for each column. Else lanes are columns.
#ifndef HEED_ISA_INT_MVE_HPP
#define HEED_ISA_INT_MVE_HPP

#include "../../integer_steps/plain.hpp"

#include <arm_mve.h>

namespace heed {
namespace {
namespace helium {

HEED_INLINE mve_pred16_t first_8bit(int32_t n) { return vctp8q(static_cast<uint32_t>(n)); }
HEED_INLINE mve_pred16_t first_16bit(int32_t n) { return vctp16q(static_cast<uint32_t>(n)); }
HEED_INLINE mve_pred16_t first_32bit(int32_t n) { return vctp32q(static_cast<uint32_t>(n)); }

// In vectors of 16 bytes; the last one is that of a key's last 16 bytes, with zeros where they are in the one before.
int32_t open_query(const int8_t *q, int32_t dim, int32_t zero_point, void *to) {
  int8_t *bytes = static_cast<int8_t *>(to);
  int32_t sum = -zero_point * dim;
  const auto write = [&](int8x16_t x) HEED_INLINED {
    vst1q_s8(bytes, x);
    sum = vaddvaq_s8(sum, x);
    bytes += 16;
  };
  for (int32_t i = dim >> 4; i > 0; i--, q += 16) write(vld1q_s8(q));
  const int32_t rest = dim & 15;
  if (dim < 16)
    write(vldrbq_z_s8(q, first_8bit(dim)));
  else if (rest)
    write(vpselq_s8(vdupq_n_s8(0), vld1q_s8(q + rest - 16), first_8bit(16 - rest)));
  return sum;
}

void pack_keys(const int_rows &, void *) {}

// Columns two by two: eight keys of the one, then of the other.
void pack_values(const int_rows &v, void *to) {
  const uint16x8_t column = vidupq_n_u16(0, 1);
  const uint16x8_t columns =
      vorrq_u16(vshlq_n_u16(vshrq_n_u16(column, 1), 9), vshlq_n_u16(vandq_u16(column, vdupq_n_u16(1)), 3));
  for (int32_t i = 0; i < v.dim; i += 8) {
    const mve_pred16_t there = first_16bit(v.dim - i);
    const int8_t *from = v.data + i;
    int8_t *pairs = static_cast<int8_t *>(to) + i * int_block;
    for (int32_t j = 0; j < v.n; j++, from += v.stride)
      vstrbq_scatter_offset_s16(pairs + (j >> 3 << 4) + (j & 7), columns, vldrbq_z_s16(from, there));
  }
}

// s[j] += q . k[j] over up to four vectors, the last of which begins at `last`.
template <int VECTORS>
HEED_INLINE void add_dots(const int8_t *q, const int8_t *k, ptrdiff_t last, ptrdiff_t stride, int32_t n, int32_t *s) {
  constexpr int second = VECTORS > 2 ? 16 : 0;
  constexpr int third = VECTORS > 3 ? 32 : 0;
  const int8x16_t q0 = vld1q_s8(q), q1 = vld1q_s8(q + second), q2 = vld1q_s8(q + third),
                  q3 = vld1q_s8(q + 16 * (VECTORS - 1));
  const int8_t *k3 = k + last;
  for (int32_t j = n; j > 0; j--, k += stride, k3 += stride) {
    int32_t x = *s;
    if (VECTORS > 1) x = vmladavaq_s8(x, q0, vld1q_s8(k));
    if (VECTORS > 2) x = vmladavaq_s8(x, q1, vld1q_s8(k + 16));
    if (VECTORS > 3) x = vmladavaq_s8(x, q2, vld1q_s8(k + 32));
    *s++ = vmladavaq_s8(x, q3, vld1q_s8(k3));
  }
}

void add_short_dots(const int8_t *q, const int_rows &k, int32_t *s) {
  const int8x16_t x = vld1q_s8(q);
  for (int32_t j = 0; j < k.n; j++) s[j] = vmladavaq_s8(s[j], x, vldrbq_z_s8(k.data + j * k.stride, first_8bit(k.dim)));
}

// -zero_point * sum k[j], for all rows.
void open_scores(int32_t n_rows, int32_t zero_point, const int_rows &k, int32_t *s) {
  for (int32_t j = 0; j < k.n; j++) {
    int32_t sum = 0;
    for (int32_t i = 0; zero_point && i < k.dim; i += 16)
      sum = vaddvaq_s8(sum, vldrbq_z_s8(k.data + j * k.stride + i, first_8bit(k.dim - i)));
    for (int32_t r = 0; r < n_rows; r++) s[r * int_block + j] = -zero_point * sum;
  }
}

void scores(const void *queries, ptrdiff_t query_bytes, int32_t n_rows, int32_t zero_point, const int_rows &k,
            int32_t *s) {
  if (zero_point)
    open_scores(n_rows, zero_point, k, s);
  else
    for (int32_t r = 0; r < n_rows; r++)
      for (int32_t j = 0; j < k.n; j += 4) vst1q_s32(s + r * int_block + j, vdupq_n_s32(0));
  for (int32_t r = 0; r < n_rows; r++, s += int_block) {
    const int8_t *q = static_cast<const int8_t *>(queries) + r * query_bytes, *key = k.data;
    int32_t left = k.dim;
    for (; left > 64; left -= 48, q += 48, key += 48) add_dots<3>(q, key, 32, k.stride, k.n, s);
    if (left > 48)
      add_dots<4>(q, key, left - 16, k.stride, k.n, s);
    else if (left > 32)
      add_dots<3>(q, key, left - 16, k.stride, k.n, s);
    else if (left > 16)
      add_dots<2>(q, key, left - 16, k.stride, k.n, s);
    else if (left == 16)
      add_dots<1>(q, key, 0, k.stride, k.n, s);
    else
      add_short_dots(q, k, s);
  }
}

int32_t greatest(const int32_t *s, int32_t n) {
  if (n < 4) {
    int32_t max = s[0];
    for (int32_t j = 1; j < n; j++)
      if (s[j] > max) max = s[j];
    return max;
  }
  int32x4_t max = vld1q_s32(s + n - 4);
  for (int32_t j = n >> 2; j > 0; j--, s += 4) max = vmaxq_s32(max, vld1q_s32(s));
  return vmaxvq_s32(INT32_MIN, max);
}

int32_t probabilities(int32_t *s, int32_t n, int32_t padded, const distance_rule &rule, int32_t max, uint32_t offset) {
  const int32x4_t h = vdupq_n_s32(-rule.h), m = vdupq_n_s32(max);
  const uint16x8_t m16 = vdupq_n_u16(static_cast<uint16_t>(rule.m16)),
                   limit = vdupq_n_u16(static_cast<uint16_t>(rule.limit));
  const int16x8_t g = vdupq_n_s16(static_cast<int16_t>(rule.g));
  int16_t *p = reinterpret_cast<int16_t *>(s);
  int32_t l = 0;
  for (int32_t left = n; left > 0; left -= 8, s += 8, p += 8) {
    const int32x4x2_t x = vld2q_s32(s);  // even ones and odd ones
    const uint32x4_t even = vshlq_u32(vreinterpretq_u32_s32(vsubq_s32(m, x.val[0])), h),
                     odd = vshlq_u32(vreinterpretq_u32_s32(vsubq_s32(m, x.val[1])), h);
    uint16x8_t u = vqmovntq_u32(vqmovnbq_u32(limit, even), odd);
    u = vqaddq_n_u16(vmulhq_u16(vshlq_u16(vminq_u16(u, limit), g), m16), static_cast<uint16_t>(offset));
    const int16x8_t t = vreinterpretq_s16_u16(veorq_u16(vshlq_n_u16(u, 16 - int_fraction), vdupq_n_u16(0x8000)));
    int16x8_t y = vaddq_n_s16(vqrdmulhq_n_s16(t, int_exp[3]), int_exp[2]);
    y = vaddq_n_s16(vqrdmulhq_s16(y, t), int_exp[1]);
    y = vaddq_n_s16(vqrdmulhq_s16(y, t), int_exp[0]);
    y = vrshlq_s16(y, vnegq_s16(vreinterpretq_s16_u16(vshrq_n_u16(u, int_fraction))));
    if (left < 8) y = vpselq_s16(y, vdupq_n_s16(0), first_16bit(left));
    vst1q_s16(p, y);
    l = vaddvaq_s16(l, y);
  }
  for (int32_t j = (n + 7) & ~7; j < padded; j += 8, p += 8) vst1q_s16(p, vdupq_n_s16(0));
  return l;
}

// Two rows times two columns. What lies behind v.n has probability 0.
void sum_columns(const int16_t *p0, const int16_t *p1, const int_rows &v, int32_t *a0, int32_t *a1) {
  const int8_t *column = static_cast<const int8_t *>(v.packed);
  for (int32_t i = 0; i < v.dim; i += 2, column += 2 * int_block) {
    int32_t x00 = 0, x01 = 0, x10 = 0, x11 = 0;
    const int8_t *x = column;
    const int16_t *p = p0, *q = p1;
    for (int32_t j = (v.n + 7) >> 3; j > 0; j--, x += 8, p += 8, q += 8) {
      const int16x8_t y = vldrbq_s16(x), e = vld1q_s16(p), f = vld1q_s16(q);
      x += 8;
#ifndef __clang__
      asm("" : "+r"(x));  // else GCC 12 adds to it twice
#endif
      const int16x8_t z = vldrbq_s16(x);
      x00 = vmladavaq_s16(x00, e, y);
      x10 = vmladavaq_s16(x10, f, y);
      x01 = vmladavaq_s16(x01, e, z);
      x11 = vmladavaq_s16(x11, f, z);
    }
    a0[i] = x00, a0[i + 1] = x01;
    a1[i] = x10, a1[i + 1] = x11;
  }
}

// One or two rows times columns [i, i + 8) as they lie; NARROW: of dim < 8 columns.
template <int ROWS, bool NARROW>
HEED_INLINE void sum_eight(const int16_t *p, const int_rows &v, int32_t i, int32_t *acc, ptrdiff_t acc_stride) {
  int32x4_t x0 = vdupq_n_s32(0), x1 = x0, y0 = x0, y1 = x0;
  const int8_t *from = v.data + i;
  const mve_pred16_t first_four = first_32bit(smaller_of(v.dim, 4));
  const mve_pred16_t second_four = v.dim > 4 ? first_32bit(v.dim - 4) : 0;
  for (int32_t j = v.n; j > 0; j--, from += v.stride) {
    const int32_t a = *p, b = ROWS == 2 ? p[2 * int_block] : 0;
    p++;
    const int32x4_t w = NARROW ? vldrbq_z_s32(from, first_four) : vldrbq_s32(from);
    const int32x4_t z = NARROW ? vldrbq_z_s32(from + 4, second_four) : vldrbq_s32(from + 4);
    x0 = vmlaq_n_s32(x0, w, a);
    x1 = vmlaq_n_s32(x1, z, a);
    if (ROWS == 1) continue;
    y0 = vmlaq_n_s32(y0, w, b);
    y1 = vmlaq_n_s32(y1, z, b);
  }
  vst1q_s32(acc + i, x0);
  vst1q_s32(acc + i + 4, x1);
  if (ROWS == 1) return;
  vst1q_s32(acc + acc_stride + i, y0);
  vst1q_s32(acc + acc_stride + i + 4, y1);
}
template <int ROWS>
HEED_NOINLINE void sum_rows(const int16_t *p, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  if (v.dim < 8) return sum_eight<ROWS, true>(p, v, 0, acc, acc_stride);
  for (int32_t i = 0; i < v.dim; i += 8) sum_eight<ROWS, false>(p, v, smaller_of(i, v.dim - 8), acc, acc_stride);
}

void sums(int32_t *p, int32_t n_rows, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  const int16_t *row = reinterpret_cast<const int16_t *>(p);
  for (int32_t r = 0; r < n_rows; r += 2, row += 4 * int_block, acc += 2 * acc_stride) {
    const bool two = r + 1 < n_rows;
    auto *const second_row = two ? row + 2 * int_block : row;
    auto *const second_acc = two ? acc + acc_stride : acc;
    if (v.packed)
      sum_columns(row, second_row, v, acc, second_acc);
    else
      two ? sum_rows<2>(row, v, acc, acc_stride) : sum_rows<1>(row, v, acc, acc_stride);
  }
}

// Four numbers at a time; out has room for as many.
template <class T>
HEED_INLINE void finish_as(const int32_t *a, int32_t n, const int_finish &f, int32_t zero_point, T *out) {
  constexpr int32_t most = sizeof(T) == 1 ? 127 : 32767;
  const int32x4_t shift = vdupq_n_s32(32 - f.t), high_q = vdupq_n_s32(f.q);
  const uint32_t low_bias = static_cast<uint32_t>(f.bias);
  const int32_t high_bias = static_cast<int32_t>(f.bias >> 32);
  for (; n > 0; n -= 4, a += 4, out += 4) {
    const int32x4_t x = vshlq_r_s32(vld1q_s32(a), f.up);
    const uint32x4_t low = vreinterpretq_u32_s32(vmulq_n_s32(x, f.q)),
                     half = vhaddq_n_u32(low, low_bias);  // bit 31: the carry
    int32x4_t y = vaddq_n_s32(vmulhq_s32(x, high_q), high_bias);
    y = vqaddq_n_s32(vshlq_s32(vaddq_s32(y, vreinterpretq_s32_u32(vshrq_n_u32(half, 31))), shift), zero_point);
    y = vmaxq_s32(vminq_s32(y, vdupq_n_s32(most)), vdupq_n_s32(-most - 1));
    const mve_pred16_t there = n < 4 ? first_32bit(n) : 0xffff;
    if constexpr (sizeof(T) == 1)
      vstrbq_p_s32(out, y, there);
    else
      vstrhq_p_s32(out, y, there);
  }
}
void finish(const int32_t *a, int32_t n, const int_finish &f, int32_t zero_point, bool wide, void *out) {
  if (wide)
    finish_as(a, n, f, zero_point, static_cast<int16_t *>(out));
  else
    finish_as(a, n, f, zero_point, static_cast<int8_t *>(out));
}

constexpr int_steps make(const char *name) {
  return {name,
          plain_integers::always,
          2,
          2,
          open_query,
          pack_keys,
          pack_values,
          scores,
          greatest,
          probabilities,
          sums,
          plain_integers::add_to_bin,
          plain_integers::join_bins,
          finish};
}

}  // namespace helium
}  // namespace
}  // namespace heed

#endif
