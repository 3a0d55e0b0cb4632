// The engine of options: a call's rule is put together here and does its work block by block and tile by tile.
#include "call_rule.hpp"
#include "../kernel/dispatch.hpp"
#include "../plan/plan.hpp"
#include "ranges.hpp"

namespace heed {

// With pinned keys a block may be visited twice, for rows that see it as pinned and for others: each keeps its own.
static void keep_seen(const tile &t, const key_block &b, const kept_rows &to, float factor) {
  const ptrdiff_t x_row = t.lanes_are_queries ? 1 : block_keys, x_key = t.lanes_are_queries ? t.row_capacity : 1;
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    float *y = row_of(to, *t.s, row) + b.begin;
    const int32_t first = t.first[r] - b.begin, last = t.last[r] - b.begin;
    for (int32_t j = first > b.from ? first : b.from; j < last && j < b.n; j++)
      y[j] = t.scores[r * x_row + j * x_key] * factor;
  }
}

// Scores as they come from q k^T to what the softmax takes (rules 12 to 14).
after_rule apply_rule(const tile &t, const key_block &b) {
  const call_rule &r = rule_of(t);
  const auto keep = [&](int stage, float factor) {
    if (!r.kept[stage].data || t.again) return;
    if (r.pinned > 0)
      keep_seen(t, b, r.kept[stage], factor);
    else
      r.keep(t, b, r.kept[stage], factor);
  };
  keep(HEED_SCORES_RAW, r.softcap ? r.cap : ln2);
  if (r.softcap) r.softcap(t, b, r.cap * log2e);
  keep(HEED_SCORES_CAPPED, ln2);
  if (r.alibi) r.alibi(t, b, r.slopes, offset_of_entry(r, *t.s));
  const bool hidden = r.mask && r.mask(t, b, r.mask_of);
  keep(HEED_SCORES_BIASED, ln2);
  keep(HEED_SCORES_WEIGHTS, 1.0f);
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

bool keeps_any(const call_rule &r) {
  bool any = false;
  for (const kept_rows &rows : r.kept) any = any || rows.data;
  return any;
}

// What lies outside a row's range in the rows of scores and weights; softmax of the rows of weights.
HEED_NOINLINE void finish_kept(const tile &t) {
  const call_rule &r = rule_of(t);
  const stream &s = *t.s;
  row_cursor row(s, t.first_row);
  for (int32_t i = 0; i < t.n_rows; i++, row.next()) {
    key_range seen = {t.first[i], t.last[i]};
    const int32_t gap_end = r.pinned > 0 ? seen.first : 0;  // keys between the pinned ones and the range
    for (int stage = HEED_SCORES_RAW; stage <= HEED_SCORES_WEIGHTS; stage++)
      for (int32_t j = r.pinned; r.kept[stage].data && j < gap_end; j++)
        row_of(r.kept[stage], s, row)[j] = negative_infinity;
    if (r.pinned > 0) seen.first = 0;
    for (int stage = HEED_SCORES_RAW; stage < HEED_SCORES_WEIGHTS; stage++)
      if (r.kept[stage].data) fill_outside(row_of(r.kept[stage], s, row), seen, r.call->n_kv, negative_infinity);
    if (r.kept[HEED_SCORES_WEIGHTS].data) {
      float *const weights = row_of(r.kept[HEED_SCORES_WEIGHTS], s, row);
      finish_weights(r.softmax, weights, seen, r.call->n_kv, sink_of(r, s, row));
      for (int32_t j = r.pinned; j < gap_end; j++) weights[j] = 0.0f;  // also in a row that is NaN
    }
  }
}

}  // namespace

void finish_tile(const tile &t, const partial &p) {
  const call_rule &r = rule_of(t);
  if (r.sinks) r.sinks(t, p, r.sink_logits);
  if (r.log_sum_exp) r.log_sum_exp(t, p, r.lse);
  if (r.suspend)
    r.suspend(t);
  else
    r.finish_rows(t, p);
  if (keeps_any(r)) finish_kept(t);
  if (r.inspect) r.inspect(t, p);
}

namespace {

void check_options(checker &check, const heed_attention &call, const heed_options &options) {
  for (int i = 0; i < n_options && check.ok(); i++)
    if (const void *object = option_of(options, i)) head_of(object)->code->check(check, call, object);
}

template <class K>
void run_ruled(K k, const heed_attention &call) {
  call_rule rule = {};
  rule.call = &call;
  rule.n_keys = call.n_kv;
  rule.window = -1;
  rule.scale = scale_of(call);
  rule.c = rule.scale * log2e;
  bind_kernel(rule, k);
  for (int i = 0; i < n_options; i++)
    if (const void *object = option_of(*options_of(call), i)) head_of(object)->code->bind(rule, call, object);
  if (call.weights.data) bind_kept(rule, HEED_SCORES_WEIGHTS, call.weights);
  rule.pinned = rule.pinned > rule.first_key ? rule.pinned - rule.first_key : 0;
  run_streams(k, call, &rule);
}

void run_with_options(const kernel *k, const heed_attention &call) { run_ruled(handle_of(k), call); }

}  // namespace

void bind_kept(call_rule &rule, int stage, const heed_tensor_out &to) {
  rule.kept[stage] = {to.data, to.batch_stride, to.head_stride, to.row_stride};
  rule.sees = nullptr;  // scores of all blocks are wanted
}

const option_engine call_engine = {check_options, run_with_options};

}  // namespace heed
