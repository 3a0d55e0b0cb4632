// The objects of options.h that decide what a score is: their init functions, which alone name their code, how they are
// checked, and how they become part of a call's rule.
#include "options.hpp"

#include "ranges.hpp"

namespace heed {

namespace {

constexpr int n_options = HEED_ARG_PARTIAL - HEED_ARG_RANGES + 1;

// The object of argument HEED_ARG_RANGES + i.
const void *option(const heed_options &options, int i) {
  const void *const objects[n_options] = {options.ranges, options.mask,   options.softcap, options.alibi,
                                          options.sinks,  options.scores, options.lse,     options.column_sums,
                                          options.top_k,  options.partial};
  return objects[i];
}

const option_head *head_of(const void *object) { return static_cast<const option_head *>(object); }

heed_argument argument_of(int i) { return static_cast<heed_argument>(HEED_ARG_RANGES + i); }

}  // namespace

void check_object(checker &check, const void *object, heed_argument argument) {
  if (!object || !check.ok()) return;
  check.pointer(object, alignof(option_head), argument);
  if (!check.ok()) return;
  const option_head *head = head_of(object);
  check.require(head->struct_size >= sizeof *head, HEED_UNKNOWN_STRUCT, argument);
  if (check.ok()) check.require(head->code != nullptr, HEED_NOT_INITIALIZED, argument);
  if (check.ok()) check.require(head->struct_size == head->code->object_bytes, HEED_UNKNOWN_STRUCT, argument);
  check.memory(object, head->struct_size, argument == HEED_ARG_PARTIAL ? access::write : access::read, argument);
}

void check_option_objects(checker &check, const heed_options *options) {
  if (!options) return;
  check.object(options, access::read, HEED_ARG_OPTIONS);
  for (int i = 0; i < n_options && check.ok(); i++) check_object(check, option(*options, i), argument_of(i));
}

void check_options(checker &check, const heed_attention &call, const heed_options *options) {
  for (int i = 0; options && i < n_options && check.ok(); i++) {
    const void *object = option(*options, i);
    if (object) head_of(object)->code->check(check, call, object);
  }
}

void bind_options(call_rule &rule, const heed_attention &call, const heed_options *options) {
  for (int i = 0; options && i < n_options; i++) {
    const void *object = option(*options, i);
    if (object) head_of(object)->code->bind(rule, call, object);
  }
}

namespace {

// In every init function: null and misaligned objects.
heed_status check_new(const void *object, heed_argument argument) {
  checker_of<1> check;
  check.pointer(object, alignof(option_head), argument);
  return check.status;
}

template <class T>
const T &as(const void *object) {
  return *static_cast<const T *>(object);
}

bool is_finite(float x) { return x - x == 0.0f; }

// n floats that are finite when multiplied by log2(e); or -infinity, where that is allowed.
void check_logits(checker &check, const float *x, int32_t n, bool minus_infinity, heed_argument argument) {
  check.array(x, static_cast<size_t>(n), access::read, argument);
  for (int32_t i = 0; i < n && check.ok(); i++)
    check.require(is_finite(x[i] * log2e) || (minus_infinity && x[i] == negative_infinity), HEED_NOT_FINITE, argument);
}

// ------------------------------------------------------------------------------------------------------------ scores

// Scores as they come from q k^T to what the softmax takes (rules 12 to 14).
after_rule apply_rule(const tile &t, const key_block &b) {
  const call_rule &r = rule_of(t);
  const auto keep = [&](int stage, float factor) {
    if (r.kept[stage].data) r.keep(t, b, r.kept[stage], factor);
  };
  keep(HEED_SCORES_RAW, r.softcap ? r.cap : ln2);
  if (r.softcap) r.softcap(t, b, r.cap * log2e);
  keep(HEED_SCORES_CAPPED, ln2);
  if (r.alibi) r.alibi(t, b, r.slopes);
  const bool hidden = r.mask && r.mask(t, b, r.mask_of);
  keep(HEED_SCORES_BIASED, ln2);
  keep(HEED_SCORES_WEIGHTS, 1.0f);
  return hidden && !r.values_are_finite(t, b) ? after_rule::add_visible : after_rule::add;
}

}  // namespace

// What lies outside a row's range in the rows of scores and weights; softmax of the rows of weights.
void finish_kept(const tile &t) {
  const call_rule &r = rule_of(t);
  const stream &s = *t.s;
  row_cursor row(s, t.first_row);
  for (int32_t i = 0; i < t.n_rows; i++, row.next()) {
    for (int stage = HEED_SCORES_RAW; stage <= HEED_SCORES_WEIGHTS; stage++) {
      if (!r.kept[stage].data) continue;
      float *to = row_of(r.kept[stage], s, row);
      const bool weights = stage == HEED_SCORES_WEIGHTS;
      const float outside = weights ? 0.0f : negative_infinity;
      const float sink = !r.sinks        ? negative_infinity
                         : r.sink_logits ? r.sink_logits[s.first_head + row.head] * log2e
                                         : 0.0f;
      if (weights) r.softmax(to + t.first[i], to + t.first[i], t.last[i] - t.first[i], 1.0f, sink);
      for (int32_t j = 0; j < t.first[i]; j++) to[j] = outside;
      for (int32_t j = t.last[i]; j < r.call->n_kv; j++) to[j] = outside;
    }
  }
}

void close_rows(const tile &t, const partial &p) {
  const call_rule &r = rule_of(t);
  if (r.sinks) r.sinks(t, p, r.sink_logits);
  if (r.log_sum_exp) r.log_sum_exp(t, p, r.lse);
}

void after_rows(const tile &t, const partial &p) {
  const call_rule &r = rule_of(t);
  finish_kept(t);
  if (r.inspect) r.inspect(t, p);
}

namespace {

void bind_kept(call_rule &rule, int stage, const heed_tensor_out &to) {
  rule.kept[stage] = {to.data, to.batch_stride, to.head_stride, to.row_stride};
  rule.apply = apply_rule;
  rule.after = after_rows;
  rule.sees = nullptr;  // scores of all blocks are wanted
}

}  // namespace

void bind_weights(call_rule &rule, const heed_tensor_out &weights) {
  if (weights.data) bind_kept(rule, HEED_SCORES_WEIGHTS, weights);
  if (!rule.apply) rule.apply = apply_rule;
}

namespace {

void check_scores(checker &check, const heed_attention &call, const void *object) {
  const auto &o = as<heed_scores>(object);
  check.require(o.stage >= HEED_SCORES_RAW && o.stage <= HEED_SCORES_WEIGHTS, HEED_OUT_OF_RANGE, HEED_ARG_SCORES);
  check.require(o.stage != HEED_SCORES_WEIGHTS || !call.weights.data, HEED_MISFIT, HEED_ARG_SCORES);
  check.tensor(o.out.data, {call.batch, call.n_heads, call.n_q},
               {o.out.batch_stride, o.out.head_stride, o.out.row_stride}, call.n_kv, access::write, HEED_ARG_SCORES);
}
void bind_scores(call_rule &rule, const heed_attention &, const void *object) {
  bind_kept(rule, as<heed_scores>(object).stage, as<heed_scores>(object).out);
}
constexpr heed_code scores_code = {sizeof(heed_scores), check_scores, bind_scores};

void check_softcap(checker &check, const heed_attention &call, const void *object) {
  const float cap = as<heed_softcap>(object).cap, scale = call.scale == 0.0f ? 1.0f : call.scale;
  check.require(is_finite(cap * log2e) && is_finite(scale / cap), HEED_NOT_FINITE, HEED_ARG_SOFTCAP);
  check.require(cap > 0.0f, HEED_OUT_OF_RANGE, HEED_ARG_SOFTCAP);
}
void bind_softcap(call_rule &rule, const heed_attention &, const void *object) {
  rule.cap = as<heed_softcap>(object).cap;
  rule.c = rule.scale / rule.cap;
  rule.softcap = steps_of(rule)->softcap;
}
constexpr heed_code softcap_code = {sizeof(heed_softcap), check_softcap, bind_softcap};

void check_alibi(checker &check, const heed_attention &call, const void *object) {
  check_logits(check, as<heed_alibi>(object).slopes, call.n_heads, false, HEED_ARG_ALIBI);
}
void bind_alibi(call_rule &rule, const heed_attention &, const void *object) {
  rule.slopes = as<heed_alibi>(object).slopes;
  rule.alibi = steps_of(rule)->alibi;
}
constexpr heed_code alibi_code = {sizeof(heed_alibi), check_alibi, bind_alibi};

void check_sinks(checker &check, const heed_attention &call, const void *object) {
  const float *logits = as<heed_sinks>(object).logits;
  if (logits) check_logits(check, logits, call.n_heads, true, HEED_ARG_SINKS);
}
void bind_sinks(call_rule &rule, const heed_attention &, const void *object) {
  rule.sink_logits = as<heed_sinks>(object).logits;
  rule.sinks = steps_of(rule)->sinks;
  rule.close = close_rows;
}
constexpr heed_code sinks_code = {sizeof(heed_sinks), check_sinks, bind_sinks};

// (m + log2(l)) ln 2. The logarithm by sums and products alone, the same in both profiles: l = 2^k z, z in
// [sqrt(1/2), sqrt(2)), log z = 2 atanh(u), u = (z - 1) / (z + 1).
float log_sum_exp(float m, float l) {
  if (l == 0.0f) return negative_infinity;
  union {
    float number;
    int32_t bits;
  } z = {l};
  const int32_t k = (z.bits - 0x3f3504f3) >> 23;
  z.bits -= k * (1 << 23);
  const float u = (z.number - 1.0f) / (z.number + 1.0f), u2 = u * u;
  const float series = u2 * (0.6666667f + u2 * (0.4f + u2 * (0.28571430f + u2 * 0.22222222f)));
  const float log_z = u * 2.0f + u * series;
  return (m + (static_cast<float>(k) + log_z * log2e)) * ln2;
}

void write_lse(const tile &t, const partial &p, const kept_rows &to) {
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) *row_of(to, *t.s, row) = log_sum_exp(p.m[r], p.l[r]);
}
void check_lse(checker &check, const heed_attention &call, const void *object) {
  const heed_tensor_out &o = as<heed_lse>(object).out;
  check.tensor(o.data, {call.batch, call.n_heads, call.n_q}, {o.batch_stride, o.head_stride, o.row_stride}, 1,
               access::write, HEED_ARG_LSE);
}
void bind_lse(call_rule &rule, const heed_attention &, const void *object) {
  const heed_tensor_out &o = as<heed_lse>(object).out;
  rule.lse = {o.data, o.batch_stride, o.head_stride, o.row_stride};
  rule.log_sum_exp = write_lse;
  rule.close = close_rows;
}
constexpr heed_code lse_code = {sizeof(heed_lse), check_lse, bind_lse};

// ------------------------------------------------------------------------------------------------------------- masks

void check_mask(checker &check, const heed_attention &call, const heed_mask &o, size_t element_bytes) {
  check.count(o.n_keys, HEED_MAX_COUNT, HEED_ARG_MASK);
  check.tensor(o.data, {call.batch, call.n_heads, call.n_q}, {o.batch_stride, o.head_stride, o.query_stride},
               o.n_keys < call.n_kv ? o.n_keys : call.n_kv, access::read, HEED_ARG_MASK, element_bytes);
}

bool is_hidden(const uint8_t x) { return x == 0; }
bool is_hidden(const float x) { return x == negative_infinity; }

template <class T>
bool hides(const tile &t, int32_t r, int32_t key) {
  return is_hidden(row_of<T>(rule_of(t).mask_of, *t.s, row_cursor(*t.s, t.first_row + r))[key]);
}

// Is a key of the block attended by a row? Most blocks say so at once.
template <class T>
bool sees(const tile &t, const key_block &b) {
  const T *before = nullptr;
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    const T *x = row_of<T>(rule_of(t).mask_of, *t.s, row) + b.begin;
    if (x == before) continue;
    before = x;
    for (int32_t j = b.from; j < b.n; j++)
      if (!is_hidden(x[j])) return true;
  }
  return false;
}

template <class T>
void add_visible(const tile &t, const key_block &b) {
  steps_of(rule_of(t))->add_visible(t, b, hides<T>);
}

template <class T>
void bind_mask(call_rule &rule, const void *object) {
  const auto &o = as<heed_mask>(object);
  rule.mask_of = {o.data, o.batch_stride, o.head_stride, o.query_stride};
  rule.n_keys = o.n_keys;
  rule.range = range_of_entry;
  rule.values_are_finite = steps_of(rule)->values_are_finite;
  rule.sees = sees<T>;
  rule.add_visible = add_visible<T>;
}

void check_boolean(checker &check, const heed_attention &call, const void *object) {
  check_mask(check, call, as<heed_mask>(object), sizeof(uint8_t));
}
void bind_boolean(call_rule &rule, const heed_attention &, const void *object) {
  bind_mask<uint8_t>(rule, object);
  rule.mask = steps_of(rule)->mask_boolean;
}
constexpr heed_code boolean_code = {sizeof(heed_mask), check_boolean, bind_boolean};

void check_additive(checker &check, const heed_attention &call, const void *object) {
  check_mask(check, call, as<heed_mask>(object), sizeof(float));
}
void bind_additive(call_rule &rule, const heed_attention &, const void *object) {
  bind_mask<float>(rule, object);
  rule.mask = steps_of(rule)->mask_additive;
}
constexpr heed_code additive_code = {sizeof(heed_mask), check_additive, bind_additive};

}  // namespace
}  // namespace heed

heed_status heed_scores_init(heed_scores *scores, int32_t stage, heed_tensor_out out) {
  const heed_status status = heed::check_new(scores, HEED_ARG_SCORES);
  if (status == HEED_OK) *scores = {sizeof *scores, &heed::scores_code, stage, out};
  return status;
}

heed_status heed_softcap_init(heed_softcap *softcap, float cap) {
  const heed_status status = heed::check_new(softcap, HEED_ARG_SOFTCAP);
  if (status == HEED_OK) *softcap = {sizeof *softcap, &heed::softcap_code, cap};
  return status;
}

heed_status heed_alibi_init(heed_alibi *alibi, const float *slopes) {
  const heed_status status = heed::check_new(alibi, HEED_ARG_ALIBI);
  if (status == HEED_OK) *alibi = {sizeof *alibi, &heed::alibi_code, slopes};
  return status;
}

heed_status heed_sinks_init(heed_sinks *sinks, const float *logits) {
  const heed_status status = heed::check_new(sinks, HEED_ARG_SINKS);
  if (status == HEED_OK) *sinks = {sizeof *sinks, &heed::sinks_code, logits};
  return status;
}

heed_status heed_lse_init(heed_lse *lse, heed_tensor_out out) {
  const heed_status status = heed::check_new(lse, HEED_ARG_LSE);
  if (status == HEED_OK) *lse = {sizeof *lse, &heed::lse_code, out};
  return status;
}

heed_status heed_mask_init_boolean(heed_mask *mask, const uint8_t *data, int32_t n_keys, ptrdiff_t batch_stride,
                                   ptrdiff_t head_stride, ptrdiff_t query_stride) {
  const heed_status status = heed::check_new(mask, HEED_ARG_MASK);
  if (status == HEED_OK)
    *mask = {sizeof *mask, &heed::boolean_code, n_keys, data, batch_stride, head_stride, query_stride};
  return status;
}

heed_status heed_mask_init_additive(heed_mask *mask, const float *data, int32_t n_keys, ptrdiff_t batch_stride,
                                    ptrdiff_t head_stride, ptrdiff_t query_stride) {
  const heed_status status = heed::check_new(mask, HEED_ARG_MASK);
  if (status == HEED_OK)
    *mask = {sizeof *mask, &heed::additive_code, n_keys, data, batch_stride, head_stride, query_stride};
  return status;
}
