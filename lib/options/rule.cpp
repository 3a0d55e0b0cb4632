// The engine that all options share: a call's rule is put together here and does its work block by block and tile by
// tile.
#include "call_rule.hpp"
#include "../isa_choice/dispatch.hpp"
#include "../tasks/attention_plan.hpp"
#include "ranges.hpp"

namespace heed {

// With pinned keys a block may be visited twice, for rows that see it as pinned and for others: each keeps its own.
static void keep_seen(const tile &t, const key_block &b, const heed_tensor_out &to, float factor) {
  const ptrdiff_t x_row = t.lanes_are_queries ? 1 : block_keys;
  const ptrdiff_t x_key = t.lanes_are_queries ? t.row_capacity : 1;
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    float *y = row_of(to, *t.s, row) + b.begin;
    const key_range seen = seen_of_block(t, b, r);
    for (int32_t j = seen.first; j < seen.last; j++) y[j] = t.scores[r * x_row + j * x_key] * factor;
  }
}

// Where the arrays of a stream lie that the call itself does not have.
static void place_stream(const score_rule &own, stream &s) {
  const auto &r = static_cast<const call_rule &>(own);
  if (r.place_rows) r.place_rows(r, s);
  if (r.place_cached) r.place_cached(r, s);
  if (r.place_typed) r.place_typed(r, s);
  if (r.put_out) r.put_out(r, s);
}

// The position of query 0 as keys of the block see it: those in pinned slots keep their numbers when others are numbered
// anew.
static int64_t offset_from(const call_rule &r, const stream &s, const key_block &b) {
  const int64_t offset = offset_of_entry(r, s);
  return r.states && b.begin + r.first_key < r.kept_in.pinned_slots ? offset + r.states[s.batch_entry].taken_back
                                                                    : offset;
}

// Scores as they come from q k^T to what the softmax takes (rules 12 to 14).
static after_rule apply_rule(const tile &t, const key_block &b) {
  const call_rule &r = rule_of(t);
  const auto keep = [&](int stage, float factor) {
    const heed_tensor_out *to = r.kept[stage];
    if (!to || t.again) return;
    if (r.pinned > 0)
      keep_seen(t, b, *to, factor);
    else
      r.keep(t, b, {to->data, to->batch_stride, to->head_stride, to->row_stride}, factor);
  };
  const float unit = r.softcap ? r.cap : ln2;
  keep(HEED_SCORES_RAW, unit);
  if (r.softcap) r.softcap(t, b, r.cap * log2e);
  keep(HEED_SCORES_CAPPED, ln2);
  if (r.alibi) r.alibi(t, b, r.slopes, r.symmetric, offset_from(r, *t.s, b));
  const bool hidden = r.mask && r.mask(t, b, r.mask_of);
  keep(HEED_SCORES_BIASED, ln2);
  keep(stage_weights, 1.0f);
  if (t.again) {
    r.weights(t, b);
    r.look(t, b);
    return after_rule::skip;
  }
  return hidden && !r.values_are_finite(t, b) ? after_rule::add_visible : after_rule::add;
}

namespace {

// The logit of a row's sink; without sinks nothing.
float sink_of(const call_rule &r, const stream &s, const row_cursor &row) {
  if (!r.sinks) return negative_infinity;
  return r.sink_logits ? r.sink_logits[s.first_head + row.head] * log2e : 0.0f;
}

// What lies outside a row's range in the rows of scores and weights; softmax of the rows of weights.
HEED_NOINLINE void finish_kept(const tile &t) {
  const call_rule &r = rule_of(t);
  const stream &s = *t.s;
  row_cursor row(s, t.first_row);
  for (int32_t i = 0; i < t.n_rows; i++, row.next()) {
    key_range seen = {t.first[i], t.last[i]};
    const int32_t gap_end = r.pinned > 0 ? seen.first : 0;  // keys between the pinned ones and the range
    if (r.pinned > 0) seen.first = 0;
    for (int stage = HEED_SCORES_RAW; stage <= stage_weights; stage++) {
      if (!r.kept[stage]) continue;
      float *const y = row_of(*r.kept[stage], s, row);
      for (int32_t j = r.pinned; j < gap_end; j++) y[j] = negative_infinity;
      if (stage == stage_weights) {
        finish_weights(r.softmax, y, seen, r.call->n_kv, sink_of(r, s, row));
        for (int32_t j = r.pinned; j < gap_end; j++) y[j] = 0.0f;  // also in a row that is NaN
      } else {
        fill_outside(y, seen, r.call->n_kv, negative_infinity);
      }
    }
  }
}

}  // namespace

void finish_tile(const tile &t, const partial &p) {
  const call_rule &r = rule_of(t);
  if (r.sinks) r.sinks(t, p, r.sink_logits);
  if (r.log_sum_exp) r.log_sum_exp(t, p, *r.lse);
  if (r.suspend)
    r.suspend(t);
  else
    r.finish_rows(t, p);
  if (r.keeps) finish_kept(t);
  if (r.inspect) r.inspect(t, p);
}

static void settle(call_rule &r) {
  r.kept_in.first_key = r.place_cached ? r.first_key : 0;
  if (!r.score) r.score = r.score_keys;
  r.place = r.place_rows || r.place_cached || r.place_typed || r.put_out ? place_stream : nullptr;

  const bool looks = r.softcap || r.alibi || r.mask || r.inspect || r.keeps;
  r.apply = looks ? apply_rule : nullptr;
  if (r.keeps) r.sees = nullptr;  // scores of all blocks are wanted
  r.values_are_finite = r.add ? r.stored_are_finite : r.rows_are_finite;
  r.add_not_hidden = r.add ? r.stored_add_not_hidden : r.rows_add_not_hidden;

  const int32_t pinned = r.ranges && r.ranges->pinned > r.ring_pinned ? r.ranges->pinned : r.ring_pinned;
  r.pinned = larger_of(pinned - r.first_key, 0);
  const bool more = r.sinks || r.log_sum_exp || r.suspend || r.inspect || r.keeps;
  r.finish = more ? finish_tile : r.finish_rows;
}

namespace {

void check_options(checker &check, const heed_attention &call) {
  // A cache of other sequences is refused before anything looks at arrays of as many numbers as the call has sequences.
  if (call.cache && call.cache->shape.n_sequences != call.batch_size)
    head_of(call.cache)->code->check(check, call, call.cache);
  for (int i = 0; i < n_objects && check.ok(); i++)
    if (const void *object = object_of(call, i)) head_of(object)->code->check(check, call, object);
}

#ifndef HEED_BIND_ORDER  // a test binds in the reverse order: nothing may depend on it
#define HEED_BIND_ORDER(i) (i)
#endif

}  // namespace

void bind_objects(call_rule &rule, const heed_attention &call) {
  for (int i = 0; i < n_objects; i++)
    if (const void *object = object_of(call, HEED_BIND_ORDER(i))) head_of(object)->code->bind(rule, call, object);
  settle(rule);
}

namespace {

template <class K>
void run_ruled(K k, const heed_attention &call) {
  call_rule rule = rule_for(k, call);
  bind_objects(rule, call);
  run_streams(k, call, &rule);
}

void run_with_options(const kernel *k, const heed_attention &call) { run_ruled(handle_of(k), call); }

}  // namespace

const option_engine call_engine = {check_options, run_with_options};

}  // namespace heed
