// Batches: rows of several sequences in one call of a layer. Only attention sees which sequence a row is of.
#include "../isa_choice/front_door.hpp"
#include "../cache/cache.hpp"
#include "../options/call_rule.hpp"
#include "../tasks/attention_plan.hpp"
#include "layer.hpp"

namespace heed {
namespace {

// Lengths are counts, and together they are the rows of the call.
void check_lengths(checker &check, const heed_ragged_batch &batch, int32_t n) {
  check.count(batch.n_sequences, HEED_MAX_COUNT, HEED_ARG_N_SEQUENCES);
  if (!check.ok()) return;
  check.array(batch.lengths, static_cast<size_t>(batch.n_sequences), access::read, HEED_ARG_LENGTHS);
  int64_t sum = 0;
  for (int32_t i = 0; i < batch.n_sequences && check.ok(); i++) {
    check.require(batch.lengths[i] >= 0 && batch.lengths[i] <= HEED_MAX_COUNT, HEED_OUT_OF_RANGE, HEED_ARG_LENGTHS);
    sum += batch.lengths[i];
  }
  check.require(sum == n, HEED_SHAPE_MISMATCH, HEED_ARG_LENGTHS);
}

// f(sequence, first, n), for each sequence that has rows in the span: n of them, the first of which is its row `first`.
template <class F>
void each_sequence(const row_span &span, F f) {
  int32_t begin = -span.first;  // of a sequence, in the span
  for (int32_t i = 0; i < span.batch->n_sequences && begin < span.n; i++) {
    const int32_t end = begin + span.batch->lengths[i], from = larger_of(begin, 0), to = smaller_of(end, span.n);
    if (from < to) f(i, from, to - from);
    begin = end;
  }
}

// The cache must have room for the rows of each sequence.
void check_each(checker &check, const heed_attention_layer &layer, const row_span &span, bool appends) {
  each_sequence(span, [&](int32_t sequence, int32_t, int32_t n) {
    functions_of(*layer.cache).check_sequence(check, layer, sequence, n, appends);
  });
}

void rotate_each(const kernel *k, const attention_pass &c) {
  each_sequence(c.span,
                [&](int32_t sequence, int32_t first, int32_t n) { rotate_rows(handle_of(k), c, sequence, first, n); });
}

heed_status append_each(const kernel *k, const heed_attention_layer &l, const row_span &span, const float *keys,
                        const float *values) {
  const cache_functions &cache = functions_of(*l.cache);
  append_call call = {l.cache,
                      0,
                      span.n,
                      heed_token_major(keys, span.n, l.n_kv_heads, l.head_dim),
                      heed_token_major(values, span.n, l.n_kv_heads, l.v_dim),
                      keeps_numbers(l),
                      nullptr};
  const heed_status status = cache.check_numbers(k, call);  // of all, before any is kept
  if (status != HEED_OK) return status;
  each_sequence(span, [&](int32_t sequence, int32_t first, int32_t n) {
    call.sequence = sequence;
    call.n = n;
    call.k.data = keys + first * call.k.row_stride;
    call.v.data = values + first * call.v.row_stride;
    cache.append(k, call);
  });
  return HEED_OK;
}

int32_t longest_in_batch(const row_span &span) {
  int32_t longest = 0;
  each_sequence(span, [&](int32_t, int32_t, int32_t n) { longest = larger_of(n, longest); });
  return longest;
}

// Attention sees a batch as wide as its longest sequence. place_sequence() below then shortens each batch entry to its own
// rows. appended: the rows are in the cache already, so its lengths count them.
void shape_of_batch(const row_span &span, const heed_cache *cache, bool appended, heed_attention &call) {
  call.batch_size = span.batch->n_sequences;
  call.n_q = call.n_kv = longest_in_batch(span);
  if (!cache) return;
  call.n_kv = 0;
  const auto see = [&](int32_t n) { call.n_kv = larger_of(n, call.n_kv); };
  for (int32_t i = 0; i < call.batch_size; i++) see(states_of(*cache)[i].length);
  if (!appended) each_sequence(span, [&](int32_t i, int32_t, int32_t n) { see(states_of(*cache)[i].length + n); });
}

// Rows up to the first sequence that has more than a ring takes at once: of that one `at_once`.
int32_t piece_of_batch(const row_span &span, int32_t at_once) {
  int32_t begin = -span.first, end = 0;
  for (int32_t i = 0; i < span.batch->n_sequences; i++, begin = end) {
    end = begin + span.batch->lengths[i];
    const int32_t from = larger_of(begin, 0);
    if (end - from > at_once) return from + at_once;
  }
  return end;
}

// The rule of a call whose batch entries are the sequences: the rows of each lie behind those of the others.
void place_sequence(const call_rule &rule, stream &s) {
  const heed_attention &call = *rule.call;
  s.n_rows = 0;
  each_sequence(*static_cast<const row_span *>(rule.rows), [&](int32_t sequence, int32_t first, int32_t n) {
    if (sequence != s.batch_entry) return;
    const int32_t kv_head = s.first_head / s.group;
    s.n_rows = static_cast<ptrdiff_t>(n) * s.group;
    s.q = call.q.data + place_of(call.q, 0, s.first_head, first);
    s.out = call.out.data + place_of(call.out, 0, s.first_head, first);
    if (call.cache) return;
    s.n_kv = n;
    s.k.data = call.k.data + place_of(call.k, 0, kv_head, first);
    s.v.data = call.v.data + place_of(call.v, 0, kv_head, first);
  });
}

template <class K>
void attend_span(K k, const heed_attention &call, const row_span &span) {
  call_rule rule = rule_for(k, call);
  rule.rows = &span;
  rule.place_rows = place_sequence;
  bind_objects(rule, call);
  run_streams<true>(k, call, &rule);
}
void attend_each(const kernel *k, const heed_attention &call, const row_span &span) {
  attend_span(handle_of(k), call, span);
}

constexpr batch_functions batch_code = {{sizeof(heed_ragged_batch), nullptr, nullptr, nullptr},
                                        check_lengths,
                                        check_each,
                                        rotate_each,
                                        append_each,
                                        attend_each,
                                        shape_of_batch,
                                        longest_in_batch,
                                        piece_of_batch};

}  // namespace
}  // namespace heed

heed_status heed_ragged_batch_init(heed_ragged_batch *batch, int32_t n_sequences, const int32_t *lengths) {
  return heed::make(batch, HEED_ARG_BATCH, heed::batch_code.code, n_sequences, lengths);
}
