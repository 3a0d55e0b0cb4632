// Attention and rotations that several operators have. See operators_attention.cpp. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_ATTENTION_HPP
#define HEED_COMPILE_ATTENTION_HPP

#include "operators.hpp"

namespace heed_compile {

// (batch, rows, heads * numbers) as (batch, heads, rows, numbers), and back. Throws refusal if the heads do not divide it.
array split_heads(const call &c, const array &x, int64_t n_heads);
array join_heads(const array &x);

struct attention_settings {
  double scale = 0;    // of the scores; 0: 1 / sqrt(numbers of a head)
  double softcap = 0;  // 0: none
  // Added to the scores, in a shape that repeats to (batch, heads, queries, keys), or null. Rows that are all -infinity make zeros.
  const array *bias = nullptr;
};

struct attended {
  array rows;                       // (batch, heads, queries, numbers of a value)
  array scores, biased, softmaxed;  // of each query and key
};

// q (batch, heads, queries, n), k (batch, heads of keys, keys, n), v (batch, heads of keys, keys, m).
attended attend(const call &c, const array &q, const array &k, const array &v, const attention_settings &how);

// Adds one bias to another, in the shape that both repeat to.
array sum_of(const call &c, const array &a, const array &b);
// 0 where a key may be seen and `filter` elsewhere: by query i of key j, if j <= i + offset and, with a window, j > i + offset - window.
array causal_bias(int64_t queries, int64_t keys, int64_t offset, int64_t window, double filter);

// Rotates the first `n_rotated` numbers of each head of x (batch, heads, rows, n); 0: all. cos and sin have one row for each batch
// and row, of half as many numbers.
array rotated(const call &c, const array &x, const array &cos, const array &sin, int64_t n_rotated, bool interleaved);
// Rows of a table (positions, n) for each of the positions (batch, rows).
array rows_at(const call &c, const array &table, const std::vector<int64_t> &positions, int64_t batch, int64_t rows);

}  // namespace heed_compile

#endif
