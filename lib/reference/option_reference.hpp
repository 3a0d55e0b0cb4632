// The scalar reference of what options do to the scores of a block: rules 12 to 15 and 22 in plain loops. A tile here has
// one row, except in sinks and widen_queries.
#ifndef HEED_OPTION_REFERENCE_HPP
#define HEED_OPTION_REFERENCE_HPP

#include "reference.hpp"

namespace heed {
namespace {
namespace scalar {

// tanh(u) = (1 - e) / (1 + e) with e = exp(-2 |u|) = 2^t (1 + f g), and a quotient of our own
float tanh_of(float u) {
  const float y = (-u > u ? -u : u) * (-2.0f * log2e);
  const float magic_sum = y + exp2_magic, f = y - (magic_sum - exp2_magic);
  float g = multiply_add(exp2_c6, f, exp2_c5);
  g = multiply_add(g, f, exp2_c4);
  g = multiply_add(g, f, exp2_c3);
  g = multiply_add(g, f, exp2_c2);
  g = multiply_add(g, f, exp2_c1);
  union {
    float number;
    uint32_t bits;
  } power;
  power.number = magic_sum;
  power.bits <<= 23;
  const bool vanishes = y < exp2_cutoff;
  const float two_t = vanishes ? 0.0f : power.number;
  const float small = vanishes ? 0.0f : g * f * power.number;
  const float numerator = (1.0f - two_t) - small, minus_denominator = numerator - 2.0f;
  float r = multiply_add(multiply_add(tanh_r2, minus_denominator, tanh_r1), minus_denominator, tanh_r0);
  for (int step = 0; step < 2; step++) r = multiply_add(multiply_add(minus_denominator, r, 1.0f), r, r);
  const float q = numerator * r;
  const float quotient = multiply_add(multiply_add(minus_denominator, q, numerator), r, q);
  return u < 0.0f ? -quotient : quotient;
}

void softcap(const tile &t, const key_block &b, float factor) {
  for (int32_t j = b.from; j < b.n; j++) t.scores[j] = tanh_of(t.scores[j]) * factor;
}

void alibi(const tile &t, const key_block &b, const float *slopes, bool symmetric, int64_t offset) {
  const row_cursor row(*t.s, t.first_row);
  const float slope = slopes[t.s->first_head + row.head] * log2e;
  const float of_block = static_cast<float>(b.begin - (row.query + offset));
  for (int32_t j = b.from; j < b.n; j++) {
    float distance = of_block + static_cast<float>(j);
    if (symmetric && distance > 0.0f) distance = 0.0f - distance;
    t.scores[j] = multiply_add(slope, distance, t.scores[j]);
  }
}

bool mask_additive(const tile &t, const key_block &b, const input_rows &from) {
  const float *mask = row_of<float>(from, *t.s, row_cursor(*t.s, t.first_row)) + b.begin;
  bool hidden = false;
  for (int32_t j = b.from; j < b.n; j++) {
    const bool here = mask[j] == negative_infinity;
    t.scores[j] = here ? negative_infinity : multiply_add(mask[j], log2e, t.scores[j]);
    hidden = hidden || here;
  }
  return hidden;
}

bool mask_boolean(const tile &t, const key_block &b, const input_rows &from) {
  const uint8_t *mask = row_of<uint8_t>(from, *t.s, row_cursor(*t.s, t.first_row)) + b.begin;
  bool hidden = false;
  for (int32_t j = b.from; j < b.n; j++) {
    if (!mask[j]) t.scores[j] = negative_infinity;
    hidden = hidden || !mask[j];
  }
  return hidden;
}

bool values_are_finite(const tile &, const key_block &) { return false; }  // hidden keys are always left out

void sinks(const tile &t, const partial &p, const float *logits) {
  for (int32_t r = 0; r < t.n_rows; r++) {
    const row_cursor row(*t.s, t.first_row + r);
    const float sink = logits ? logits[t.s->first_head + row.head] * log2e : 0.0f;
    const float m = maximum_over_nan(p.m[r], sink), shift = finite_maximum(m);
    const float a = exp2_nonpositive(p.m[r] - shift);
    p.m[r] = m;
    p.l[r] = p.l[r] * a + exp2_nonpositive(sink - shift);
    float *acc = p.acc ? p.acc + r * t.acc_stride : row.out();
    for (int32_t n = 0; n < t.s->v_dim; n++) acc[n] *= a;
  }
}

void weights(const tile &t, const key_block &b) {
  for (int32_t j = b.from; j < b.n; j++) {
    const bool hidden = t.scores[j] == negative_infinity;
    t.scores[j] = hidden ? 0.0f : exp2_nonpositive(t.scores[j] - *t.shift) * *t.alpha;
  }
}

void widen_queries(const tile &t, float *to) {
  const stream &s = *t.s;
  for (int32_t r = 0; r < t.n_rows; r++)
    for (int32_t i = 0; i < s.head_dim; i++) *to++ = query_element(s, row_cursor(s, t.first_row + r), i);
}

void narrow_row(const float *x, int32_t n, int32_t dtype, float scale, void *y) {
  with_narrow_format(dtype, [&](auto number) { narrow_numbers(x, n, scale, static_cast<decltype(number) *>(y)); });
}
float magnitude(const float *x, int32_t n) { return float_of_bits(greatest_magnitude(x, n)); }

constexpr score_steps make_steps() {
  score_steps s = {};
  s.softcap = softcap;
  s.alibi = alibi;
  s.mask_additive = mask_additive;
  s.mask_boolean = mask_boolean;
  s.values_are_finite = s.stored_are_finite = values_are_finite;
  s.add_visible = s.add_visible_stored = add_row;
  s.sinks = sinks;
  s.weights = weights;
  s.score_stored = s.score_narrow = score_row;
  s.widen_queries = widen_queries;
  s.narrow_row = narrow_row;
  s.magnitude = magnitude;
  return s;
}
[[maybe_unused]] constexpr score_steps steps = make_steps();

}  // namespace scalar
}  // namespace
}  // namespace heed

#endif
