// Scores and sums of attention in integers with SMLAD: of packed blocks, and of rows as they lie. Two rows at a time are
// in assembly: they need all registers, and compilers spill what fits.
#ifndef HEED_ISA_INT_DSP_SUMS_HPP
#define HEED_ISA_INT_DSP_SUMS_HPP

#include "int_dsp_words.hpp"

namespace heed {
namespace {
namespace dsp {

#define HEED_CHANGES "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory"

// ----------------------------------------------------------------------------------------------------------- packed

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
      : HEED_CHANGES);
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

// ----------------------------------------------------------------------------------------------------- as they lie

struct keys_as_they_lie {
  const uint32_t *q[2];
  const int8_t *k;
  ptrdiff_t stride;
  int32_t *to;  // sums of the second row are a block behind those of the first
  int32_t n_pairs;
  const uint32_t *end;  // of the first row
  int32_t odd;          // is the number of fours of depth odd?
};

// Two rows (r0, r1) times pairs of keys (r2; r3 bytes apart); the sums are r8 to r11.
HEED_NOINLINE void score_keys(keys_as_they_lie &t) {
#define HEED_SUM(acc, a, b) "smlad " #acc ", " #a ", " #b ", " #acc "\n"
#define HEED_FOUR                                                                                             \
  "ldr r6, [r2, r3]\n ldr r4, [r2], #4\n sxtb16 r5, r4, ror #8\n sxtb16 r4, r4\n sxtb16 r7, r6, ror #8\n"     \
  "sxtb16 r6, r6\n ldrd r12, lr, [r0], #8\n" HEED_SUM(r8, r12, r4) HEED_SUM(r9, r12, r6) HEED_SUM(r8, lr, r5) \
      HEED_SUM(r9, lr, r7) "ldrd r12, lr, [r1], #8\n" HEED_SUM(r10, r12, r4) HEED_SUM(r11, r12, r6)           \
          HEED_SUM(r10, lr, r5) HEED_SUM(r11, lr, r7)
  register keys_as_they_lie *at asm("r0") = &t;
  asm volatile(
      "push {r0, r7}\n ldr r4, [r0, #24]\n push {r4}\n"
      "1:\n ldr r7, [sp, #4]\n ldrd r0, r1, [r7]\n ldrd r2, r3, [r7, #8]\n ldr r4, [r7, #28]\n"
      "mov r8, #0\n mov r9, #0\n mov r10, #0\n mov r11, #0\n"
      "cmp r4, #0\n beq 2f\n" HEED_FOUR
      "ldr r4, [sp]\n cmp r0, r4\n beq 3f\n"
      "2:\n" HEED_FOUR HEED_FOUR
      "ldr r4, [sp]\n cmp r0, r4\n bne 2b\n"
      "3:\n ldr r7, [sp, #4]\n ldrd r2, r3, [r7, #8]\n ldrd r4, r5, [r7, #16]\n"
      "strd r8, r9, [r4], #8\n strd r10, r11, [r4, #1016]\n"
      "add r2, r2, r3, lsl #1\n str r2, [r7, #8]\n subs r5, #1\n strd r4, r5, [r7, #16]\n bne 1b\n"
      "add sp, #4\n pop {r0, r7}\n"
      : "+r"(at)
      :
      : HEED_CHANGES);
#undef HEED_FOUR
}

struct values_as_they_lie {
  const int8_t *v;
  const int32_t *p;  // two probabilities a word; those of the second row are a block behind
  int32_t *to[2];
  ptrdiff_t stride;
  const int32_t *end;  // of the first row's probabilities
  int32_t n_fours;     // of columns
};

// Two rows (r1) times four columns of pairs of values (r0), added to r6 to r9 and r10 to lr. On the stack: stride, end, t.
HEED_NOINLINE void sum_values(values_as_they_lie &t) {
  register values_as_they_lie *at asm("r0") = &t;
  asm volatile(
      "push {r0, r7}\n ldrd r4, r5, [r0, #16]\n push {r4, r5}\n"
      "1:\n ldr r4, [sp, #8]\n ldrd r0, r1, [r4]\n ldrd r2, r3, [r4, #8]\n"
      "ldm r2, {r6, r7, r8, r9}\n ldm r3, {r10, r11, r12, lr}\n"
      "2:\n ldr r3, [sp]\n ldr r2, [r0]\n ldr r4, [r0, r3]\n add r0, r0, r3, lsl #1\n"
      "pkhbt r3, r2, r4, lsl #16\n pkhtb r4, r4, r2, asr #16\n sxtb16 r2, r3\n sxtb16 r3, r3, ror #8\n"
      "ldr r5, [r1, #1024]\n" HEED_SUM(r10, r5, r2) HEED_SUM(r11, r5, r3)
      "ldr r5, [r1], #4\n" HEED_SUM(r6, r5, r2) HEED_SUM(r7, r5, r3)
      "sxtb16 r2, r4\n sxtb16 r3, r4, ror #8\n" HEED_SUM(r8, r5, r2) HEED_SUM(r9, r5, r3)
      "ldr r5, [r1, #1020]\n" HEED_SUM(r12, r5, r2) HEED_SUM(lr, r5, r3)
      "ldr r4, [sp, #4]\n cmp r1, r4\n bne 2b\n"
      "ldr r4, [sp, #8]\n ldrd r2, r3, [r4, #8]\n stm r2!, {r6, r7, r8, r9}\n stm r3!, {r10, r11, r12, lr}\n"
      "strd r2, r3, [r4, #8]\n ldr r0, [r4]\n adds r0, #4\n str r0, [r4]\n"
      "ldr r1, [r4, #24]\n subs r1, #1\n str r1, [r4, #24]\n bne 1b\n"
      "add sp, #8\n pop {r0, r7}\n"
      : "+r"(at)
      :
      : HEED_CHANGES);
#undef HEED_SUM
}
#undef HEED_CHANGES

// A row times two keys.
HEED_NOINLINE void row_of_scores(const uint32_t *q, const int_rows &k, int32_t *s) {
  for (int32_t j = 0; j < k.n; j += 2) {
    const int8_t *a = k.data + j * k.stride, *b = j + 1 < k.n ? a + k.stride : a;
    int32_t x = 0, y = 0;
    const uint32_t *p = q;
    const auto add = [&](uint32_t e, uint32_t f) HEED_INLINED {
      x = add_products(p[1], odd(e), add_products(p[0], even(e), x));
      y = add_products(p[1], odd(f), add_products(p[0], even(f), y));
    };
    for (int32_t i = k.dim >> 2; i > 0; i--, a += 4, b += 4, p += 2) add(four(a, 4), four(b, 4));
    if (k.dim & 3) add(four(a, k.dim & 3), four(b, k.dim & 3));
    s[j] = x, s[j + 1] = y;
  }
}

HEED_NOINLINE void two_rows_of_scores(const uint32_t *q, ptrdiff_t q_stride, const int_rows &k, int32_t *s) {
  const int32_t fours = k.dim >> 2, left = k.dim & 3;
  if (fours == 0) {
    row_of_scores(q, k, s);
    return row_of_scores(q + q_stride, k, s + int_block);
  }
  keys_as_they_lie t = {{q, q + q_stride}, k.data, k.stride, s, k.n >> 1, q + 2 * fours, fours & 1};
  if (t.n_pairs) score_keys(t);
  if (k.n & 1) {
    t.stride = 0;
    t.n_pairs = 1;
    score_keys(t);
  }
  if (!left) return;
  const uint32_t *const x = q + 2 * fours, *const y = x + q_stride;
  const int8_t *rest = k.data + 4 * fours;
  for (int32_t j = 0; j < k.n; j++, s++, rest += k.stride) {
    const uint32_t bytes = four(rest, left), e = even(bytes), f = odd(bytes);
    s[0] = add_products(x[1], f, add_products(x[0], e, s[0]));
    s[int_block] = add_products(y[1], f, add_products(y[0], e, s[int_block]));
  }
}

// A row times columns from i on, four at a time. A last key that is alone is taken twice: behind it probabilities are 0.
template <bool FULL>
HEED_INLINE void sum_columns(const int32_t *p, const int_rows &v, int32_t i, int32_t *a) {
  int32_t x0 = 0, x1 = 0, x2 = 0, x3 = 0;
  const int32_t left = FULL ? 4 : v.dim - i;
  const int8_t *from = v.data + i;
  const ptrdiff_t stride = v.stride;
  const auto add = [&](const int8_t *next) HEED_INLINED {
    uint32_t y[4], e;
    __builtin_memcpy(&e, p, 4);
    p++;
    transpose(from, next, left, y);
    x0 = add_products(e, y[0], x0), x1 = add_products(e, y[1], x1);
    x2 = add_products(e, y[2], x2), x3 = add_products(e, y[3], x3);
  };
  for (int32_t j = v.n >> 1; j > 0; j--, from += 2 * stride) add(from + stride);
  if (v.n & 1) add(from);
  a[i] = x0, a[i + 1] = x1, a[i + 2] = x2, a[i + 3] = x3;
}
HEED_NOINLINE void row_of_sums(const int32_t *p, const int_rows &v, int32_t i, int32_t *acc) {
  for (; i + 4 <= v.dim; i += 4) sum_columns<true>(p, v, i, acc);
  if (i < v.dim) sum_columns<false>(p, v, i, acc);
}

HEED_NOINLINE void two_rows_of_sums(const int32_t *p, const int_rows &v, int32_t *a, int32_t *b) {
  const int32_t n_fours = v.dim >> 2, n_pairs = v.n >> 1;
  __builtin_memset(a, 0, static_cast<size_t>(n_fours) * 16);
  __builtin_memset(b, 0, static_cast<size_t>(n_fours) * 16);
  if (n_fours && n_pairs) {
    values_as_they_lie t = {v.data, p, {a, b}, v.stride, p + n_pairs, n_fours};
    sum_values(t);
  }
  if (n_fours && (v.n & 1)) {
    const int32_t *last = p + n_pairs;
    values_as_they_lie t = {v.data + (v.n - 1) * v.stride, last, {a, b}, 0, last + 1, n_fours};
    sum_values(t);
  }
  if ((v.dim & 3) == 0) return;
  row_of_sums(p, v, 4 * n_fours, a);
  row_of_sums(p + int_block, v, 4 * n_fours, b);
}

}  // namespace dsp
}  // namespace
}  // namespace heed

#endif
