// What a call asks of its scores beyond ranges: one rule for the whole call, which all of its tiles read. The init
// function of each option names the code that is put in here (options.cpp), so a program links what it asks for.
#ifndef HEED_SCORE_RULE_HPP
#define HEED_SCORE_RULE_HPP

#include "heed/heed.h"
#include "kernel.hpp"

namespace heed {

// An array over (batch, heads, queries, ...) that is read: a mask. Strides count elements.
struct mask_rows {
  const void *data;
  ptrdiff_t batch_stride, head_stride, query_stride;
};

namespace {
template <class T>
[[maybe_unused]] const T *row_of(const mask_rows &from, const stream &s, const row_cursor &row) {
  return static_cast<const T *>(from.data) + s.batch_entry * from.batch_stride +
         (s.first_head + row.head) * from.head_stride + row.query * from.query_stride;
}
}  // namespace

// What a kernel does to the scores of a block (rules 12 to 15). Scores of keys that a row does not see may be anything,
// before and after.
struct score_steps {
  void (*softcap)(const tile &t, const key_block &b, float factor);
  void (*alibi)(const tile &t, const key_block &b, const float *slopes);  // slopes of all heads
  // Both say whether they have hidden a key from a row.
  bool (*mask_additive)(const tile &t, const key_block &b, const mask_rows &mask);
  bool (*mask_boolean)(const tile &t, const key_block &b, const mask_rows &mask);
  bool (*values_are_finite)(const tile &t, const key_block &b);
  void (*add_visible)(const tile &t, const key_block &b, bool (*hides)(const tile &t, int32_t r, int32_t key));
  void (*sinks)(const tile &t, const partial &p, const float *logits);  // of all heads; changes m, l and alpha
  void (*weights)(const tile &t, const key_block &b);                   // scores = exp2(scores - shift) * alpha
};

// Null: not asked for. In the order in which scores pass.
struct call_rule : score_rule {
  heed_attention *call;
  const score_steps *steps;
  decltype(kernel::keep) keep;
  decltype(kernel::softmax) softmax;
  decltype(kernel::attend) attend;
  float scale, c;     // dot * c is the first score
  int32_t n_keys;     // that exist for the mask
  kept_rows kept[4];  // raw, capped, biased, weights
  decltype(score_steps::softcap) softcap;
  float cap;
  decltype(score_steps::alibi) alibi;
  const float *slopes;
  decltype(score_steps::mask_boolean) mask;
  mask_rows mask_of;
  decltype(score_steps::values_are_finite) values_are_finite;
  decltype(score_steps::sinks) sinks;
  const float *sink_logits;  // null: zeros
  void (*log_sum_exp)(const tile &t, const partial &p, const kept_rows &to);
  kept_rows lse;
  void (*inspect)(const tile &t, const partial &p);
  const heed_column_sums *column_sums;
  const heed_top_k *top_k;
  const call_rule *first_pass;  // in the second
  const heed_ranges *ranges;
  heed_partial *sum;  // a call that adds to a partial
  int32_t first_key;  // of the call, in the context
};

}  // namespace heed

#endif
