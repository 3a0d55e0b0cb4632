// The rule of a call that has options or a cache. Each option's bind writes its own group of fields, and the hooks of
// score_rule that it alone decides, and reads no other; then settle() (rule.cpp) decides what depends on several. So
// binds may come in any order.
#ifndef HEED_CALL_RULE_HPP
#define HEED_CALL_RULE_HPP

#include "../isa_choice/dispatch.hpp"
#include "options.hpp"
#include "../checks/cache_state.hpp"

namespace heed {

constexpr int n_stages = 4;                  // at which scores may be kept: heed_scores_stage, and
constexpr int stage_weights = n_stages - 1;  // what becomes weights

// Null or 0: not asked for.
struct call_rule : score_rule {
  const heed_attention *call;
  const kernel *k;
  float scale;

  // Scores, in the order in which they pass.
  decltype(score_steps::softcap) softcap;
  float cap;
  decltype(score_steps::alibi) alibi;
  const float *slopes;
  bool symmetric;  // of ALiBi
  decltype(score_steps::mask_boolean) mask;
  input_rows mask_of;
  int32_t mask_keys;                                         // columns
  decltype(score_steps::values_are_finite) rows_are_finite;  // for a mask over rows of floats
  decltype(score_steps::add_visible) rows_add_not_hidden;
  const heed_tensor_out *kept[n_stages];
  bool keeps;  // any of them
  decltype(kernel::keep) keep;

  // What follows from a row's maximum and sum.
  decltype(score_steps::sinks) sinks;
  const float *sink_logits;  // null: zeros
  decltype(kernel::softmax) softmax;
  void (*log_sum_exp)(const tile &t, const partial &p, const heed_tensor_out &to);
  const heed_tensor_out *lse;

  // The second pass over the keys, and what it does with a block.
  void (*inspect)(const tile &t, const partial &p);
  decltype(score_steps::weights) weights, look;
  const heed_column_sums *column_sums;
  const heed_topk_weights *topk_weights;

  // Which keys are seen.
  const heed_ranges *ranges;
  int32_t first_key;          // of the call, in the context: a partial's next one
  const cache_state *states;  // of a cache's sequences: queries are the newest tokens
  int32_t window;             // of a ring: no left window is larger, and so many keys are pinned besides
  bool has_window;
  int32_t ring_pinned;

  // Where keys, values, queries and out lie.
  void (*place_rows)(const call_rule &rule, stream &s);  // of batch entries with different numbers of rows
  const void *rows;                                      // for it
  storage kept_in;                                       // in a cache, or narrow
  const unsigned char *cached_keys, *cached_values;      // of the first sequence and head
  size_t cached_head_bytes;                              // from head to head
  void (*place_cached)(const call_rule &rule, stream &s);
  decltype(score_steps::stored_are_finite) stored_are_finite;
  decltype(score_steps::add_visible_stored) stored_add_not_hidden;
  const heed_typed_tensors *typed;
  void (*place_typed)(const call_rule &rule, stream &s);

  // A partial: the total goes to the caller instead of out.
  heed_partial *sum;
  void (*put_out)(const call_rule &rule, stream &s);
  void (*suspend)(const tile &t);

  decltype(kernel::finish) finish_rows, finish_wide;  // to out, in its format; to floats

  // Settled.
  decltype(score_steps::values_are_finite) values_are_finite;
  decltype(score_steps::add_visible) add_not_hidden;
};

extern const option_engine call_engine;

void finish_tile(const tile &t, const partial &p);

// A rule of which nothing is bound.
template <class K>
HEED_NOINLINE call_rule rule_for(K k, const heed_attention &call) {
  call_rule rule = {};
  rule.call = &call;
  rule.k = address_of(k);
  rule.scale = scale_of(call);
  rule.c = rule.scale * log2e;
  rule.attend = k->attend;
  rule.merge = k->merge;
  rule.finish = finish_tile;
  rule.finish_rows = rule.finish_wide = k->finish;
  rule.keep = k->keep;
  rule.softmax = k->softmax;
  rule.kept_in.keys_are_rows = true;
  rule.kept_in.ring_slots = INT32_MAX;
  return rule;
}
// What the objects of a call say; then settled.
void bind_objects(call_rule &rule, const heed_attention &call);

inline const call_rule &rule_of(const tile &t) { return static_cast<const call_rule &>(*t.s->rule); }
inline const score_steps *steps_of(const call_rule &rule) { return scores_of(handle_of(rule.k)); }
inline float *row_of(const heed_tensor_out &to, const stream &s, const row_cursor &row) {
  return to.data + start_of(to, s, row);
}

}  // namespace heed

#endif
