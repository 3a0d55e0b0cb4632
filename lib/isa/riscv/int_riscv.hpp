// Steps of attention in integers for RISC-V without vectors: 3 and 2.9 instructions a multiply-add, where compilers for
// small code make 4.5 and 3.4. What is left over goes to the plain steps.
#ifndef HEED_INT_RISCV_HPP
#define HEED_INT_RISCV_HPP

#include "../../integer_steps/plain.hpp"

#if defined(__riscv_mul) && !defined(__riscv_32e)
#define HEED_RISCV_INTEGERS 1

namespace heed {
namespace {
namespace riscv_integers {

// An element of two queries and of four keys.
#define HEED_RISCV_KEY(key, one, other, at)                                                                          \
  "lb %[y], " at "(" key ")\n mul %[t], %[e], %[y]\n mul %[y], %[f], %[y]\n add " one ", " one ", %[t]\n add " other \
  ", " other ", %[y]\n"
#define HEED_RISCV_SCORE(words, at)                                                                    \
  "lw %[e], " words "(%[p])\n lw %[f], " words "(%[r])\n" HEED_RISCV_KEY("%[a]", "%[p0]", "%[r0]", at) \
      HEED_RISCV_KEY("%[b]", "%[p1]", "%[r1]", at) HEED_RISCV_KEY("%[c]", "%[p2]", "%[r2]", at)        \
          HEED_RISCV_KEY("%[d]", "%[p3]", "%[r3]", at)
#define HEED_RISCV_NEXT(words, bytes)                                                 \
  "addi %[p], %[p], " words "\n addi %[r], %[r], " words "\n addi %[a], %[a], " bytes \
  "\n"                                                                                \
  "addi %[b], %[b], " bytes "\n addi %[c], %[c], " bytes "\n addi %[d], %[d], " bytes "\n"

HEED_INLINE void four_keys(const int32_t *p, const int32_t *r, const int8_t *a, ptrdiff_t stride, int32_t dim,
                           int32_t *s, int32_t *s_other) {
  int32_t p0, p1, p2, p3, r0, r1, r2, r3, e, f, y, t;
  const int8_t *b = a + stride, *c = b + stride, *d = c + stride;
  const int32_t *fours = p + (dim & -4), *end = p + dim;
  __asm volatile(
      "li %[p0], 0\n li %[p1], 0\n li %[p2], 0\n li %[p3], 0\n li %[r0], 0\n li %[r1], 0\n li %[r2], 0\n li %[r3], 0\n"
      "beq %[p], %[fours], 2f\n"
      "1:\n" HEED_RISCV_SCORE("0", "0") HEED_RISCV_SCORE("4", "1") HEED_RISCV_SCORE("8", "2")
      HEED_RISCV_SCORE("12", "3") HEED_RISCV_NEXT("16", "4") "bne %[p], %[fours], 1b\n"
      "2: beq %[p], %[end], 4f\n"
      "3:\n" HEED_RISCV_SCORE("0", "0") HEED_RISCV_NEXT("4", "1") "bne %[p], %[end], 3b\n"
      "4:\n"
      : [p0] "=&r"(p0), [p1] "=&r"(p1), [p2] "=&r"(p2), [p3] "=&r"(p3), [r0] "=&r"(r0), [r1] "=&r"(r1), [r2] "=&r"(r2),
        [r3] "=&r"(r3), [e] "=&r"(e), [f] "=&r"(f), [y] "=&r"(y), [t] "=&r"(t), [p] "+r"(p), [r] "+r"(r), [a] "+r"(a),
        [b] "+r"(b), [c] "+r"(c), [d] "+r"(d)
      : [fours] "r"(fours), [end] "r"(end)
      : "memory");
  s[0] = p0, s[1] = p1, s[2] = p2, s[3] = p3;
  s_other[0] = r0, s_other[1] = r1, s_other[2] = r2, s_other[3] = r3;
}

// Small code computes a row that has no partner twice.
HEED_NOINLINE void score_rows(const int32_t *q, ptrdiff_t q_other, const int_rows &k, int32_t *s, ptrdiff_t s_other) {
  for (int32_t j = 0; j < k.n; j += 4)
    four_keys(q, q + q_other, k.data + j * k.stride, k.stride, k.dim, s + j, s + s_other + j);
}
inline void scores(const void *queries, ptrdiff_t query_bytes, int32_t n_rows, int32_t zero_point, const int_rows &k,
                   int32_t *s) {
  int_rows fours = k, rest = k;
  fours.n &= -4;
  rest.n &= 3;
  rest.data += fours.n * k.stride;
  const int32_t *q = static_cast<const int32_t *>(queries);
  for (int32_t i = 0; i < n_rows; i += 2, q += query_bytes / 2) {
    const bool two = i + 1 < n_rows;
    const int32_t to_query = two ? query_bytes / 4 : 0;  // of the second row
    const int32_t to_scores = two ? int_block : 0;
    score_rows(q, to_query, fours, s + i * int_block, to_scores);
  }
  if (rest.n > 0)
    plain_integers::scores<plain_integers::tile>(queries, query_bytes, n_rows, zero_point, rest, s + fours.n);
}

// Eight columns of a value, for a key of two rows of probabilities.
#define HEED_RISCV_COLUMN(i)                                                                     \
  "lb %[y], " #i "(%[x])\n mul %[t], %[e], %[y]\n mul %[y], %[f], %[y]\n add %[a" #i "], %[a" #i \
  "], %[t]\n add %[b" #i "], %[b" #i "], %[y]\n"

HEED_INLINE void eight_columns(const int16_t *p, const int16_t *r, const int8_t *x, ptrdiff_t stride, int32_t n,
                               int32_t *acc, int32_t *other) {
  int32_t a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, e, f, y, t;
  const int16_t *end = p + n;
  __asm volatile(
      "li %[a0], 0\n li %[a1], 0\n li %[a2], 0\n li %[a3], 0\n li %[a4], 0\n li %[a5], 0\n li %[a6], 0\n li %[a7], 0\n"
      "li %[b0], 0\n li %[b1], 0\n li %[b2], 0\n li %[b3], 0\n li %[b4], 0\n li %[b5], 0\n li %[b6], 0\n li %[b7], 0\n"
      "1: lh %[e], 0(%[p])\n lh %[f], 0(%[r])\n addi %[p], %[p], 2\n addi %[r], %[r], 2\n" HEED_RISCV_COLUMN(0)
          HEED_RISCV_COLUMN(1) HEED_RISCV_COLUMN(2) HEED_RISCV_COLUMN(3) HEED_RISCV_COLUMN(4) HEED_RISCV_COLUMN(5)
              HEED_RISCV_COLUMN(6) HEED_RISCV_COLUMN(7) "add %[x], %[x], %[stride]\n bne %[p], %[end], 1b\n"
      : [a0] "=&r"(a0), [a1] "=&r"(a1), [a2] "=&r"(a2), [a3] "=&r"(a3), [a4] "=&r"(a4), [a5] "=&r"(a5), [a6] "=&r"(a6),
        [a7] "=&r"(a7), [b0] "=&r"(b0), [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3), [b4] "=&r"(b4), [b5] "=&r"(b5),
        [b6] "=&r"(b6), [b7] "=&r"(b7), [y] "=&r"(y), [t] "=&r"(t), [e] "=&r"(e), [f] "=&r"(f), [p] "+r"(p),
        [r] "+r"(r), [x] "+r"(x)
      : [stride] "r"(stride), [end] "r"(end)
      : "memory");
  acc[0] = a0, acc[1] = a1, acc[2] = a2, acc[3] = a3, acc[4] = a4, acc[5] = a5, acc[6] = a6, acc[7] = a7;
  other[0] = b0, other[1] = b1, other[2] = b2, other[3] = b3, other[4] = b4, other[5] = b5, other[6] = b6,
  other[7] = b7;
}

// Eight columns at a time of n keys; the second row may be the first again.
HEED_NOINLINE void sum_rows(const int16_t *p, ptrdiff_t p_other, const int_rows &v, int32_t *acc, ptrdiff_t acc_other) {
  const int8_t *x = v.data;
  for (const int8_t *const end = x + v.dim; x != end; x += 8, acc += 8)
    eight_columns(p, p + p_other, x, v.stride, v.n, acc, acc + acc_other);
}
inline void sums(int32_t *p, int32_t n_rows, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  int_rows eights = v, rest = v;
  eights.dim &= -8;
  rest.dim &= 7;
  rest.data += eights.dim;
  const int16_t *rows = reinterpret_cast<const int16_t *>(p);
  for (int32_t i = 0; i < n_rows; i += 2, rows += 4 * int_block) {
    const bool two = i + 1 < n_rows;
    const int32_t to_row = two ? 2 * int_block : 0;
    const ptrdiff_t to_acc = two ? acc_stride : 0;
    sum_rows(rows, to_row, eights, acc + i * acc_stride, to_acc);
  }
  if (rest.dim > 0) plain_integers::sums<plain_integers::tile>(p, n_rows, rest, acc + eights.dim, acc_stride);
}

#undef HEED_RISCV_KEY
#undef HEED_RISCV_SCORE
#undef HEED_RISCV_NEXT
#undef HEED_RISCV_COLUMN

constexpr int_steps make(const char *name) {
  int_steps steps = plain_integers::make(name);
  steps.scores = scores;
  steps.sums = sums;
  return steps;
}

}  // namespace riscv_integers
}  // namespace
}  // namespace heed

#endif
#endif
