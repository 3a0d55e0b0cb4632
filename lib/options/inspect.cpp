// Looking into a model: column sums of the weights and the largest weights of each row. A second pass over a tile's
// keys, whose rows are then known to their end, makes the scores again and the weights from them.
#include "call_rule.hpp"
#include "../tasks/tiles.hpp"

namespace heed {
namespace {

const heed_attention &call_of(const tile &t) { return *rule_of(t).call; }

float *sums_of(const tile &t, const row_cursor &row) {
  const heed_tensor_out &o = rule_of(t).column_sums->out;
  return o.data + place_of(o, t.s->batch_entry, t.s->first_head + row.head, 0);
}

// The k largest weights of one row so far, descending, and their keys.
struct largest {
  float *weights;
  int32_t *keys;
};
largest largest_of(const tile &t, const row_cursor &row) {
  const heed_attention &call = call_of(t);
  const heed_topk_weights &o = *rule_of(t).topk_weights;
  const ptrdiff_t head = static_cast<ptrdiff_t>(t.s->batch_entry) * call.n_heads + t.s->first_head + row.head;
  const ptrdiff_t at = (head * call.n_q + row.query) * o.k;
  return {o.weights + at, o.keys + at};
}

// An insertion sort: k is small, and most weights are smaller than the last one of the list.
void insert_largest(const largest &list, int32_t k, float weight, int32_t key) {
  const auto goes_before = [&](int32_t i) {  // of equals the smaller key
    return weight > list.weights[i] || (weight == list.weights[i] && key < list.keys[i]);
  };
  if (!goes_before(k - 1)) return;
  int32_t i = k - 1;
  for (; i > 0 && goes_before(i - 1); i--) {
    list.weights[i] = list.weights[i - 1];
    list.keys[i] = list.keys[i - 1];
  }
  list.weights[i] = weight;
  list.keys[i] = key;
}

// Weights go where they are wanted, row by row in ascending order.
void inspect_block(const tile &t, const key_block &b) {
  const call_rule &rule = rule_of(t);
  const stream &s = *t.s;
  const bool by_key = t.lanes_are_queries;
  const ptrdiff_t row_stride = by_key ? 1 : block_keys;
  const ptrdiff_t key_stride = by_key ? t.row_capacity : 1;
  row_cursor row(s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    const key_range seen = seen_of_block(t, b, r);
    const float *weights = t.scores + r * row_stride;
    if (rule.column_sums) {
      float *sums = sums_of(t, row) + b.begin;
      for (int32_t j = seen.first; j < seen.last; j++) sums[j] += weights[j * key_stride];
    }
    if (!rule.topk_weights) continue;
    const largest list = largest_of(t, row);
    for (int32_t j = seen.first; j < seen.last; j++)
      insert_largest(list, rule.topk_weights->k, weights[j * key_stride], b.begin + j);
  }
}

// Sums are of a head, so only its first row clears them. Lists begin with weight 0 and no key.
HEED_NOINLINE void clear_outputs(const tile &t) {
  const call_rule &rule = rule_of(t);
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    if (rule.column_sums && row.query == 0) {
      float *sums = sums_of(t, row);
      for (int32_t j = 0; j < call_of(t).n_kv; j++) sums[j] = 0.0f;
    }
    if (!rule.topk_weights) continue;
    const largest list = largest_of(t, row);
    for (int32_t i = 0; i < rule.topk_weights->k; i++) {
      list.weights[i] = 0.0f;
      list.keys[i] = -1;
    }
  }
}

// m and l of each row are known now, so a weight is exp(score - m) / l at once.
void inspect_tile(const tile &t, const partial &p) {
  const call_rule &rule = rule_of(t);
  clear_outputs(t);
  for (int32_t r = 0; r < t.n_rows; r++) {
    t.shift[r] = finite_maximum(p.m[r]);
    t.alpha[r] = reciprocal_or_zero(p.l[r]);
  }
  tile second = t;
  second.again = true;
  const auto look_at_all = [&] {
    for (int32_t begin = t.first[0] / chunk_keys * chunk_keys; begin < t.last[t.n_rows - 1]; begin += chunk_keys)
      rule.attend(second, begin);
  };
  look_at_all();
  if (!has_pinned(t)) return;
  see_pinned(t);  // rows that see these keys in their range come before those that see them as pinned
  look_at_all();
  see_ranges(t);
}

void check_column_sums(checker &check, const heed_attention &call, const void *object) {
  const heed_tensor_out &o = static_cast<const heed_column_sums *>(object)->out;
  check.tensor(o.data, {call.batch_size, call.n_heads, 1}, {o.batch_stride, o.head_stride, 0}, call.n_kv, access::write,
               HEED_ARG_COLUMN_SUMS);
}
void bind_pass(call_rule &rule) {
  rule.inspect = inspect_tile;
  rule.weights = steps_of(rule)->weights;
  rule.look = inspect_block;
}
void bind_column_sums(call_rule &rule, const heed_attention &, const void *object) {
  rule.column_sums = static_cast<const heed_column_sums *>(object);
  rule.by_stream = true;
  bind_pass(rule);
}
constexpr heed_code column_sums_code = {sizeof(heed_column_sums), check_column_sums, bind_column_sums, &call_engine};

void check_top_k(checker &check, const heed_attention &call, const void *object) {
  const auto &o = *static_cast<const heed_topk_weights *>(object);
  check.count(o.k, call.n_kv, HEED_ARG_TOPK_WEIGHTS);
  size_t n = static_cast<size_t>(call.batch_size);
  const bool overflow = __builtin_mul_overflow(n, static_cast<size_t>(call.n_heads), &n) ||
                        __builtin_mul_overflow(n, static_cast<size_t>(call.n_q), &n) ||
                        __builtin_mul_overflow(n, static_cast<size_t>(o.k), &n);
  check.require(!overflow, HEED_OVERFLOW, HEED_ARG_TOPK_WEIGHTS);
  check.array(o.weights, n, access::write, HEED_ARG_TOPK_WEIGHTS);
  check.array(o.keys, n, access::write, HEED_ARG_TOPK_WEIGHTS);
}
void bind_top_k(call_rule &rule, const heed_attention &, const void *object) {
  rule.topk_weights = static_cast<const heed_topk_weights *>(object);
  bind_pass(rule);
}
constexpr heed_code topk_weights_code = {sizeof(heed_topk_weights), check_top_k, bind_top_k, &call_engine};

}  // namespace
}  // namespace heed

heed_status heed_column_sums_init(heed_column_sums *sums, heed_tensor_out out) {
  return heed::make(sums, HEED_ARG_COLUMN_SUMS, heed::column_sums_code, out);
}

heed_status heed_topk_weights_init(heed_topk_weights *topk, int32_t k, float *weights, int32_t *keys) {
  return heed::make(topk, HEED_ARG_TOPK_WEIGHTS, heed::topk_weights_code, k, weights, keys);
}
