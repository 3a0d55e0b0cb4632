// Options that change a score or keep one: softcap, ALiBi, sinks, scores, weights, log-sum-exp. Their init functions, which
// alone name their code, what they must be, and how they become part of a call's rule.
#include "call_rule.hpp"

namespace heed {
namespace {

// Rows of n numbers for each query.
void check_kept(checker &check, const heed_attention &call, const heed_tensor_out &o, int32_t n,
                heed_argument argument) {
  check.tensor(o.data, {call.batch_size, call.n_heads, call.n_q}, {o.batch_stride, o.head_stride, o.row_stride}, n,
               access::write, argument);
}
void check_scores(checker &check, const heed_attention &call, const void *object) {
  const auto &o = object_as<heed_scores>(object);
  check.require(o.stage >= HEED_SCORES_RAW && o.stage <= HEED_SCORES_BIASED, HEED_OUT_OF_RANGE, HEED_ARG_SCORES);
  check_kept(check, call, o.out, call.n_kv, HEED_ARG_SCORES);
}
void bind_scores(call_rule &rule, const heed_attention &, const void *object) {
  rule.kept[object_as<heed_scores>(object).stage] = &object_as<heed_scores>(object).out;
  rule.keeps = true;
}
constexpr heed_code scores_code = {sizeof(heed_scores), check_scores, bind_scores, &call_engine};

void check_attention_weights(checker &check, const heed_attention &call, const void *object) {
  check_kept(check, call, object_as<heed_attention_weights>(object).out, call.n_kv, HEED_ARG_WEIGHTS);
}
void bind_attention_weights(call_rule &rule, const heed_attention &, const void *object) {
  rule.kept[stage_weights] = &object_as<heed_attention_weights>(object).out;
  rule.keeps = true;
}
constexpr heed_code weights_code = {sizeof(heed_attention_weights), check_attention_weights, bind_attention_weights,
                                    &call_engine};

void check_softcap(checker &check, const heed_attention &call, const void *object) {
  const float cap = object_as<heed_softcap>(object).cap;
  check.logit(cap, HEED_ARG_SOFTCAP);
  check.require(cap > 0.0f, HEED_OUT_OF_RANGE, HEED_ARG_SOFTCAP);
  if (!check.ok()) return;
  const float factor = scale_of(call) / cap;
  check.require(is_finite(factor), HEED_NOT_FINITE, HEED_ARG_SOFTCAP);
  check.require(!is_zero_or_subnormal(factor), HEED_OUT_OF_RANGE, HEED_ARG_SOFTCAP);
}
void bind_softcap(call_rule &rule, const heed_attention &, const void *object) {
  rule.cap = object_as<heed_softcap>(object).cap;
  rule.c = rule.scale / rule.cap;
  rule.softcap = steps_of(rule)->softcap;
}
constexpr heed_code softcap_code = {sizeof(heed_softcap), check_softcap, bind_softcap, &call_engine};

void check_alibi(checker &check, const heed_attention &call, const void *object) {
  const heed_alibi &alibi = object_as<heed_alibi>(object);
  const float *slopes = alibi.slopes;
  check.require(alibi.symmetric == 0 || alibi.symmetric == 1, HEED_OUT_OF_RANGE, HEED_ARG_ALIBI);
  check.array(slopes, static_cast<size_t>(call.n_heads), access::read, HEED_ARG_ALIBI);
  for (int32_t h = 0; h < call.n_heads && check.ok(); h++) check.logit(slopes[h], HEED_ARG_ALIBI);
}
void bind_alibi(call_rule &rule, const heed_attention &, const void *object) {
  rule.slopes = object_as<heed_alibi>(object).slopes;
  rule.symmetric = object_as<heed_alibi>(object).symmetric != 0;
  rule.alibi = steps_of(rule)->alibi;
}
constexpr heed_code alibi_code = {sizeof(heed_alibi), check_alibi, bind_alibi, &call_engine};

void check_sinks(checker &check, const heed_attention &call, const void *object) {
  const float *logits = object_as<heed_sinks>(object).logits;
  if (!logits) return;
  check.array(logits, static_cast<size_t>(call.n_heads), access::read, HEED_ARG_SINKS);
  for (int32_t h = 0; h < call.n_heads && check.ok(); h++)  // data, of which subnormal numbers are part
    check.require(is_finite(logits[h] * log2e) || logits[h] == negative_infinity, HEED_NOT_FINITE, HEED_ARG_SINKS);
}
void bind_sinks(call_rule &rule, const heed_attention &, const void *object) {
  rule.sink_logits = object_as<heed_sinks>(object).logits;
  rule.sinks = steps_of(rule)->sinks;
}
constexpr heed_code sinks_code = {sizeof(heed_sinks), check_sinks, bind_sinks, &call_engine};

// (m + log2(l)) ln 2. The logarithm by sums and products alone, the same in both arithmetics: l = 2^k z, z in
// [sqrt(1/2), sqrt(2)), log z = 2 atanh(u), u = (z - 1) / (z + 1).
float log_sum_exp(float m, float l) {
  if (l == 0.0f) return negative_infinity;
  if (l != l) return l;
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

void write_lse(const tile &t, const partial &p, const heed_tensor_out &to) {
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) *row_of(to, *t.s, row) = log_sum_exp(p.m[r], p.l[r]);
}
void check_lse(checker &check, const heed_attention &call, const void *object) {
  check_kept(check, call, object_as<heed_lse>(object).out, 1, HEED_ARG_LSE);
}
void bind_lse(call_rule &rule, const heed_attention &, const void *object) {
  rule.lse = &object_as<heed_lse>(object).out;
  rule.log_sum_exp = write_lse;
}
constexpr heed_code lse_code = {sizeof(heed_lse), check_lse, bind_lse, &call_engine};

}  // namespace
}  // namespace heed

heed_status heed_scores_init(heed_scores *scores, int32_t stage, heed_tensor_out out) {
  return heed::make(scores, HEED_ARG_SCORES, heed::scores_code, stage, out);
}

heed_status heed_attention_weights_init(heed_attention_weights *weights, heed_tensor_out out) {
  return heed::make(weights, HEED_ARG_WEIGHTS, heed::weights_code, out);
}

heed_status heed_softcap_init(heed_softcap *softcap, float cap) {
  return heed::make(softcap, HEED_ARG_SOFTCAP, heed::softcap_code, cap);
}

heed_status heed_alibi_init(heed_alibi *alibi, const float *slopes) {
  return heed::make(alibi, HEED_ARG_ALIBI, heed::alibi_code, slopes, int32_t{0});
}

heed_status heed_sinks_init(heed_sinks *sinks, const float *logits) {
  return heed::make(sinks, HEED_ARG_SINKS, heed::sinks_code, logits);
}

heed_status heed_lse_init(heed_lse *lse, heed_tensor_out out) {
  return heed::make(lse, HEED_ARG_LSE, heed::lse_code, out);
}
