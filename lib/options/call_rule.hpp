// The rule of a call that has options: what each asked for, put together by their bind functions.
#ifndef HEED_CALL_RULE_HPP
#define HEED_CALL_RULE_HPP

#include "../kernel/dispatch.hpp"
#include "options.hpp"

namespace heed {

// Null: not asked for. In the order in which scores pass.
struct call_rule : score_rule {
  const heed_attention *call;
  const kernel *k;
  decltype(kernel::finish) finish_rows;
  decltype(kernel::keep) keep;
  decltype(kernel::softmax) softmax;
  float scale;
  int32_t n_keys;     // that exist for the mask
  kept_rows kept[4];  // raw, capped, biased, weights
  decltype(score_steps::softcap) softcap;
  float cap;
  decltype(score_steps::alibi) alibi;
  const float *slopes;
  decltype(score_steps::mask_boolean) mask;
  input_rows mask_of;
  decltype(score_steps::values_are_finite) values_are_finite;
  decltype(score_steps::add_visible) add_not_hidden;
  decltype(score_steps::sinks) sinks;
  const float *sink_logits;  // null: zeros
  void (*log_sum_exp)(const tile &t, const partial &p, const kept_rows &to);
  kept_rows lse;
  void (*inspect)(const tile &t, const partial &p);  // the second pass, and
  decltype(score_steps::weights) weights, look;      // what it does with a block
  const heed_column_sums *column_sums;
  const heed_top_k *top_k;
  const heed_ranges *ranges;
  void (*suspend)(const tile &t);  // the total goes to the caller instead of out
  heed_partial *sum;               // a call that adds to a partial
  int32_t first_key;               // of the call, in the context
  const struct heed_cache *cache;  // instead of k and v
  storage kept_in;                 // where it keeps them; or how narrow tensors do
  int32_t (*length)(const call_rule &rule,
                    int32_t sequence);              // tokens of a sequence; null: the queries do not end there
  void (*place)(const call_rule &rule, stream &s);  // where a stream's keys and values lie; null: as the call says
  int32_t window;                                   // of the cache: no left window is larger; -1: any
  const heed_narrow_tensors *narrow;                // instead of some tensors of the call
  void (*place_narrow)(const call_rule &rule, stream &s);  // where a stream finds them
  decltype(kernel::finish) finish_wide;                    // to rows of floats, where out is narrow
};

extern const option_engine call_engine;

after_rule apply_rule(const tile &t, const key_block &b);
void finish_tile(const tile &t, const partial &p);
template <class K>
void bind_kernel(call_rule &rule, K k) {
  rule.apply = apply_rule;
  rule.attend = k->attend;
  rule.merge = k->merge;
  rule.finish = finish_tile;
  rule.finish_rows = k->finish;
  rule.keep = k->keep;
  rule.softmax = k->softmax;
  rule.k = address_of(k);
}
void bind_kept(call_rule &rule, int stage, const heed_tensor_out &to);

inline const call_rule &rule_of(const tile &t) { return static_cast<const call_rule &>(*t.s->rule); }

inline const score_steps *steps_of(const call_rule &rule) { return scores_of(handle_of(rule.k)); }

}  // namespace heed

#endif
