// Attention in integers on a Cortex-M that multiplies two pairs of 16 bits at a time (SMLAD: M4, M7, M33).
//
// Scores and sums are the same product: rows of int16 times pairs of columns, which are keys, or columns of values. Where
// there is room, a block is widened once: for each pair of columns and each four of depth its four words lie as they are
// read. Of four bytes, the even two are a word, then the odd two: so the processor widens them. Queries lie likewise;
// of values, two keys are a word.
#ifndef HEED_ISA_INT_DSP_HPP
#define HEED_ISA_INT_DSP_HPP

#include "int_dsp_sums.hpp"

namespace heed {
namespace {
namespace dsp {

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

// A key beyond the last has probability 0: any will do.
void pack_values(const int_rows &v, void *to) {
  constexpr int32_t pair = int_block;  // words of a pair of columns
  const int32_t n = (v.n + 3) & ~3;
  for (int32_t j = 0; j < n; j += 2) {
    const int32_t first = j < v.n ? j : 0;
    const int8_t *const a = v.data + first * v.stride;
    const int8_t *const b = j + 1 < v.n ? a + v.stride : a;
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

void scores(const void *queries, ptrdiff_t query_bytes, int32_t n_rows, int32_t, const int_rows &k, int32_t *s) {
  if (k.packed) return multiply_rows(queries, query_bytes, n_rows, k.packed, k.dim, k.dim, k.n, s, int_block);
  const uint32_t *q = static_cast<const uint32_t *>(queries);
  if (n_rows > 1)
    two_rows_of_scores(q, query_bytes / 4, k, s);
  else
    row_of_scores(q, k, s);
}

void sums(int32_t *p, int32_t n_rows, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
  if (v.packed) return multiply_rows(p, 4 * int_block, n_rows, v.packed, v.n, int_block, v.dim, acc, acc_stride);
  if (n_rows > 1)
    two_rows_of_sums(p, v, acc, acc + acc_stride);
  else
    row_of_sums(p, v, 0, acc);
}

int32_t greatest(const int32_t *s, int32_t n) {
  int32_t max = s[0], i = n & 3;
  const auto take = [&](int32_t x) HEED_INLINED { max = larger_of(x, max); };
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
