// Attention in integers on a Cortex-M that multiplies two pairs of 16 bits at a time (SMLAD: M4, M7, M33).
//
// Scores and sums are the same product: rows of int16 times pairs of columns, which are keys, or columns of values. Where
// there is room, a block is widened once: for each pair of columns and each four of depth its four words lie as they are
// read. Of four bytes, the even two are a word, then the odd two: so the processor widens them. Queries lie likewise;
// of values, two keys are a word.
#ifndef HEED_ISA_INT_DSP_HPP
#define HEED_ISA_INT_DSP_HPP

#include "../generic/integers/plain.hpp"

#include <arm_acle.h>

namespace heed {
namespace {
namespace dsp {

struct tile {
  const void *a[2];
  const void *b;
  int32_t fours;  // of depth
  int32_t *to[2];
  int32_t n_pairs;
  int32_t skip;  // bytes from the end of a pair that was read to the next one
};

// Two rows times n_pairs pairs of columns. r0 and r1 point to the rows, r12 to the columns; r8 to r11 are the sums.
HEED_NOINLINE void multiply(tile &t) {
#define HEED_SUM(acc, a, b) "smlad r" #acc ", r" #a ", r" #b ", r" #acc "\n"
#define HEED_FOUR                                                                                                 \
  "ldmia r12!, {r4-r7}\n ldrd r2, r3, [r0], #8\n" HEED_SUM(8, 2, 4) HEED_SUM(9, 2, 5) HEED_SUM(8, 3, 6) HEED_SUM( \
      9, 3, 7) "ldrd r2, r3, [r1], #8\n" HEED_SUM(10, 2, 4) HEED_SUM(11, 2, 5) HEED_SUM(10, 3, 6) HEED_SUM(11, 3, 7)
  register tile *at asm("r0") = &t;
  asm volatile(
      "push {r0, r7}\n"
      "ldr r12, [r0, #8]\n"
      "1:\n ldr r2, [sp]\n"
      "ldrd r0, r1, [r2]\n"
      "ldr lr, [r2, #12]\n"
      "mov r8, #0\n mov r9, #0\n mov r10, #0\n mov r11, #0\n"
      "b 3f\n"
      "2:\n" HEED_FOUR
      "subs lr, #1\n"
      "3:\n tst lr, #3\n"
      "bne 2b\n"
      "cmp lr, #0\n"
      "beq 5f\n"
      "4:\n" HEED_FOUR HEED_FOUR HEED_FOUR HEED_FOUR
      "subs lr, #4\n"
      "bne 4b\n"
      "5:\n"
      "ldr r0, [sp]\n"
      "ldrd r1, r2, [r0, #16]\n"
      "ldrd r3, r4, [r0, #24]\n"
      "strd r8, r9, [r1], #8\n"
      "strd r10, r11, [r2], #8\n"
      "strd r1, r2, [r0, #16]\n"
      "add r12, r4\n"
      "subs r3, #1\n"
      "str r3, [r0, #24]\n"
      "bne 1b\n"
      "pop {r0, r7}\n"
      : "+r"(at)
      :
      : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory");
#undef HEED_FOUR
#undef HEED_SUM
}

// Rows two by two; a last one is taken for both. Columns have `most` numbers, of which `depth` count.
void multiply_rows(const void *a, ptrdiff_t a_bytes, int32_t n_rows, const void *b, int32_t depth, int32_t most,
                   int32_t n, int32_t *to, ptrdiff_t to_stride) {
  for (int32_t r = 0; r < n_rows; r += 2) {
    const int32_t next = r + 1 < n_rows ? r + 1 : r;
    const char *row = static_cast<const char *>(a);
    tile t = {{row + r * a_bytes, row + next * a_bytes},
              b,
              (depth + 3) >> 2,
              {to + r * to_stride, to + next * to_stride},
              (n + 1) >> 1,
              ((most + 3) >> 2) - ((depth + 3) >> 2)};
    t.skip *= 16;
    multiply(t);
  }
}

// Four bytes, or the `left` that there are, and zeros.
HEED_INLINE uint32_t four(const int8_t *p, int32_t left) {
  uint32_t word = 0;
  if (left >= 4)
    __builtin_memcpy(&word, p, 4);
  else
    for (int32_t i = 0; i < left; i++) word |= static_cast<uint32_t>(static_cast<uint8_t>(p[i])) << (8 * i);
  return word;
}
HEED_INLINE uint32_t even(uint32_t bytes) { return static_cast<uint32_t>(__sxtb16(bytes)); }
HEED_INLINE uint32_t odd(uint32_t bytes) {  // no compiler turns them on the way
  uint32_t halves;
  asm("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(bytes));
  return halves;
}
// The lower halves of two words, and the upper ones.
HEED_INLINE uint32_t lower(uint32_t a, uint32_t b) {
  uint32_t both;
  asm("pkhbt %0, %1, %2, lsl #16" : "=r"(both) : "r"(a), "r"(b));
  return both;
}
HEED_INLINE uint32_t upper(uint32_t a, uint32_t b) {
  uint32_t both;
  asm("pkhtb %0, %1, %2, asr #16" : "=r"(both) : "r"(b), "r"(a));
  return both;
}
HEED_INLINE int32_t add_products(uint32_t a, uint32_t b, int32_t c) {
  return __smlad(static_cast<int16x2_t>(a), static_cast<int16x2_t>(b), c);
}

// Four bytes, widened, each plus a half of `add`.
HEED_INLINE void widen(uint32_t bytes, uint32_t add, uint32_t *to) {
  asm("sxtab16 %0, %1, %2" : "=r"(to[0]) : "r"(add), "r"(bytes));
  asm("sxtab16 %0, %1, %2, ror #8" : "=r"(to[1]) : "r"(add), "r"(bytes));
}

// Behind the last number are some that are multiplied by 0.
int32_t open_query(const int8_t *q, int32_t dim, int32_t zero_point, void *to) {
  const uint32_t minus = lower(static_cast<uint32_t>(-zero_point), static_cast<uint32_t>(-zero_point));
  uint32_t *words = static_cast<uint32_t *>(to);
  int32_t sum = zero_point * (-dim & 3);
  const auto add = [&](uint32_t bytes) HEED_INLINED {
    widen(bytes, minus, words);
    sum = add_products(words[1], 0x00010001, add_products(words[0], 0x00010001, sum));
    words += 2;
  };
  for (int32_t i = dim >> 2; i > 0; i--, q += 4) add(four(q, 4));
  if (dim & 3) add(four(q, dim & 3));
  return sum;
}

void pack_keys(const int_rows &k, void *to) {
  uint32_t *words = static_cast<uint32_t *>(to);
  for (int32_t j = 0; j < k.n; j += 2) {
    const int8_t *a = k.data + j * k.stride, *b = j + 1 < k.n ? a + k.stride : a;
    for (int32_t i = 0; i < k.dim; i += 4, words += 4) {
      const uint32_t x = four(a + i, k.dim - i), y = four(b + i, k.dim - i);
      words[0] = even(x);
      words[1] = even(y);
      words[2] = odd(x);
      words[3] = odd(y);
    }
  }
}

// Four columns of two keys: a word of each.
HEED_INLINE void transpose(const int8_t *a, const int8_t *b, int32_t left, uint32_t (&out)[4]) {
  const uint32_t x = four(a, left), y = four(b, left);
  out[0] = lower(even(x), even(y));
  out[1] = lower(odd(x), odd(y));
  out[2] = upper(even(x), even(y));
  out[3] = upper(odd(x), odd(y));
}

// A key beyond the last has probability 0: any will do.
void pack_values(const int_rows &v, void *to) {
  constexpr int32_t pair = int_block;  // words of a pair of columns
  const int32_t n = (v.n + 3) & ~3;
  for (int32_t j = 0; j < n; j += 2) {
    const int8_t *a = v.data + (j < v.n ? j : 0) * v.stride, *b = j + 1 < v.n ? a + v.stride : a;
    uint32_t *words = static_cast<uint32_t *>(to) + j;
    for (int32_t i = 0; i < v.dim; i += 4, words += 2 * pair) {
      uint32_t x[4];
      transpose(a + i, b + i, v.dim - i, x);
      words[0] = x[0];
      words[1] = x[1];
      words[pair] = x[2];
      words[pair + 1] = x[3];
    }
  }
}

// One or two rows times two keys as they lie.
template <int ROWS>
HEED_NOINLINE void scores_in_place(const uint32_t *q, ptrdiff_t q_stride, const int_rows &k, int32_t *s) {
  for (int32_t j = 0; j < k.n; j += 2) {
    const int8_t *a = k.data + j * k.stride, *b = j + 1 < k.n ? a + k.stride : a;
    int32_t x00 = 0, x01 = 0, x10 = 0, x11 = 0;
    const uint32_t *p = q, *r = q + q_stride;
    const auto add = [&](uint32_t x, uint32_t y) HEED_INLINED {
      x00 = add_products(p[1], odd(x), add_products(p[0], even(x), x00));
      x01 = add_products(p[1], odd(y), add_products(p[0], even(y), x01));
      if (ROWS == 1) return;
      x10 = add_products(r[1], odd(x), add_products(r[0], even(x), x10));
      x11 = add_products(r[1], odd(y), add_products(r[0], even(y), x11));
    };
    for (int32_t i = k.dim >> 2; i > 0; i--, a += 4, b += 4, p += 2, r += 2) add(four(a, 4), four(b, 4));
    if (k.dim & 3) add(four(a, k.dim & 3), four(b, k.dim & 3));
    s[j] = x00, s[j + 1] = x01;
    if (ROWS == 2) s[int_block + j] = x10, s[int_block + j + 1] = x11;
  }
}

void scores(const void *queries, ptrdiff_t query_bytes, int32_t n_rows, int32_t, const int_rows &k, int32_t *s) {
  if (k.packed) return multiply_rows(queries, query_bytes, n_rows, k.packed, k.dim, k.dim, k.n, s, int_block);
  const uint32_t *q = static_cast<const uint32_t *>(queries);
  if (n_rows > 1)
    scores_in_place<2>(q, query_bytes / 4, k, s);
  else
    scores_in_place<1>(q, 0, k, s);
}

// One or two rows times four columns of values as they lie.
template <int ROWS, bool FULL>
HEED_INLINE void sum_columns(const int32_t *p, const int_rows &v, int32_t i, int32_t *a0, int32_t *a1) {
  int32_t x00 = 0, x01 = 0, x02 = 0, x03 = 0, x10 = 0, x11 = 0, x12 = 0, x13 = 0;
  const int32_t left = FULL ? 4 : v.dim - i;
  const int8_t *a = v.data + i;
  const ptrdiff_t stride = v.stride;
  const auto add = [&](const int8_t *b) HEED_INLINED {
    uint32_t y[4], e, f;
    __builtin_memcpy(&e, p, 4);
    __builtin_memcpy(&f, ROWS == 2 ? p + int_block : p, 4);
    p++;
    transpose(a, b, left, y);
    x00 = add_products(e, y[0], x00), x01 = add_products(e, y[1], x01);
    x02 = add_products(e, y[2], x02), x03 = add_products(e, y[3], x03);
    if (ROWS == 1) return;
    x10 = add_products(f, y[0], x10), x11 = add_products(f, y[1], x11);
    x12 = add_products(f, y[2], x12), x13 = add_products(f, y[3], x13);
  };
  for (int32_t j = v.n >> 1; j > 0; j--, a += 2 * stride) add(a + stride);
  if (v.n & 1) add(a);
  a0[i] = x00, a0[i + 1] = x01, a0[i + 2] = x02, a0[i + 3] = x03;
  if (ROWS == 2) a1[i] = x10, a1[i + 1] = x11, a1[i + 2] = x12, a1[i + 3] = x13;
}
template <int ROWS>
HEED_NOINLINE void sums_in_place(const int32_t *p, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  int32_t i = 0;
  for (; i + 4 <= v.dim; i += 4) sum_columns<ROWS, true>(p, v, i, acc, acc + acc_stride);
  if (i < v.dim) sum_columns<ROWS, false>(p, v, i, acc, acc + acc_stride);
}

void sums(int32_t *p, int32_t n_rows, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  if (v.packed) return multiply_rows(p, 4 * int_block, n_rows, v.packed, v.n, int_block, v.dim, acc, acc_stride);
  if (n_rows > 1)
    sums_in_place<2>(p, v, acc, acc_stride);
  else
    sums_in_place<1>(p, v, acc, 0);
}

int32_t greatest(const int32_t *s, int32_t n) {
  int32_t max = s[0], i = n & 3;
  const auto take = [&](int32_t x) HEED_INLINED { max = x > max ? x : max; };
  for (; i > 0; i--) take(*s++);
  for (i = n >> 2; i > 0; i--, s += 4) {
    const int32_t a = s[0], b = s[1], c = s[2], d = s[3];  // loads in a row take a cycle each
    take(a), take(b), take(c), take(d);
  }
  return max;
}

void finish(const int32_t *a, int32_t n, const int_finish &f, int32_t zero_point, bool wide, void *out) {
  const int32_t q = f.q, up = f.up, shift = f.t - 32;
  const int64_t bias = static_cast<int64_t>(f.bias);
  for (int32_t i = 0; i < n; i++) {
    const int32_t x = static_cast<int32_t>(static_cast<uint32_t>(a[i]) << up);
    const int32_t high = static_cast<int32_t>((static_cast<int64_t>(x) * q + bias) >> 32),
                  y = __qadd(high >> shift, zero_point);
    if (wide)
      static_cast<int16_t *>(out)[i] = static_cast<int16_t>(__ssat(y, 16));
    else
      static_cast<int8_t *>(out)[i] = static_cast<int8_t>(__ssat(y, 8));
  }
}

}  // namespace dsp

namespace dsp {
constexpr int_steps make(const char *name) {
  return {name,
          plain_integers::always,
          2,
          5,
          open_query,
          pack_keys,
          pack_values,
          scores,
          greatest,
          plain_integers::probabilities,
          sums,
          plain_integers::add_to_bin,
          plain_integers::join_bins,
          finish};
}
}  // namespace dsp

}  // namespace
}  // namespace heed

#endif
