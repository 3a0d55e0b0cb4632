// What a kernel does for options: its steps on the scores of a block.
#ifndef HEED_SCORE_RULE_HPP
#define HEED_SCORE_RULE_HPP

#include "kernel.hpp"

namespace heed {

namespace {

template <class A>
[[maybe_unused]] ptrdiff_t start_of(const A &array, const stream &s, const row_cursor &row) {
  return place_of(array, s.batch_entry, s.first_head + row.head, row.query);
}
template <class T>
[[maybe_unused]] const T *row_of(const input_rows &from, const stream &s, const row_cursor &row) {
  return static_cast<const T *>(from.data) + start_of(from, s, row);
}
[[maybe_unused]] float *row_of(const kept_rows &to, const stream &s, const row_cursor &row) {
  return to.data + start_of(to, s, row);
}

[[maybe_unused]] void fill_outside(float *row, const key_range &seen, int32_t n, float x) {
  for (int32_t j = 0; j < seen.first; j++) row[j] = x;
  for (int32_t j = seen.last; j < n; j++) row[j] = x;
}
// Logits become weights.
[[maybe_unused]] void finish_weights(decltype(kernel::softmax) softmax, float *row, const key_range &seen, int32_t n,
                                     float sink) {
  softmax({row + seen.first, 0, row + seen.first, 0, 1, seen.last - seen.first, 1.0f, sink});
  fill_outside(row, seen, n, 0.0f);
}

}  // namespace

// What a kernel does to the scores of a block (rules 12 to 15). Scores of keys that a row does not see may be anything,
// before and after.
struct score_steps {
  void (*softcap)(const tile &t, const key_block &b, float factor);
  void (*alibi)(const tile &t, const key_block &b, const float *slopes,  // of all heads
                bool symmetric, int64_t offset);
  // Both say whether they have hidden a key from a row.
  bool (*mask_additive)(const tile &t, const key_block &b, const input_rows &mask);
  bool (*mask_boolean)(const tile &t, const key_block &b, const input_rows &mask);
  bool (*values_are_finite)(const tile &t, const key_block &b);
  void (*add_visible)(const tile &t, const key_block &b, bool (*hides)(const tile &t, int32_t r, int32_t key));
  void (*sinks)(const tile &t, const partial &p, const float *logits);  // of all heads; changes m, l and acc
  void (*weights)(const tile &t, const key_block &b);                   // scores = exp2(scores - shift) * alpha
  void (*score_stored)(const tile &t, const key_block &b);              // x = q k^T * c of keys in a storage
  void (*add_stored)(const tile &t, const key_block &b);                // acc = acc * alpha + p v of such values
  bool (*stored_are_finite)(const tile &t, const key_block &b);
  void (*add_visible_stored)(const tile &t, const key_block &b, bool (*hides)(const tile &t, int32_t r, int32_t key));
  void (*score_narrow)(const tile &t, const key_block &b);  // the same as score_stored of any queries and keys
  void (*widen_queries)(const tile &t, float *to);          // to rows, or to qt of a tile whose lanes are queries
  void (*narrow_row)(const float *x, int32_t n, int32_t dtype, float scale, void *y);
  float (*magnitude)(const float *x, int32_t n);  // the greatest; infinity or NaN if one is not finite
};

}  // namespace heed

#endif
