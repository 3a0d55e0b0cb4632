// The scalar reference: plain loops in the order of arithmetic.hpp, which every other kernel must reproduce bit for
// bit. It is the last fallback, the oracle of the self-test, and never vectorised (its build flags see to that).
// Included once by each of isa/reference_fma.cpp and isa/reference_no_fma.cpp, which define HEED_FMA.
#ifndef HEED_REFERENCE_HPP
#define HEED_REFERENCE_HPP

#include "../kernel_contract/score_rule.hpp"
#include "../kernel_contract/stored_elements.hpp"

namespace heed {
namespace {
namespace scalar {  // one translation unit may hold the other kernels, too

float multiply_add(float a, float b, float c) {
#if HEED_FMA
  return HEED_FMAF(a, b, c);  // an instruction: the build gives this file a target that has it
#else
  return a * b + c;  // two roundings: -ffp-contract=off
#endif
}

float exp2_nonpositive(float x) {
  if (x < exp2_cutoff) return 0.0f;
  const float magic_sum = x + exp2_magic;
  const float f = x - (magic_sum - exp2_magic);
  float y = multiply_add(exp2_c6, f, exp2_c5);
  y = multiply_add(y, f, exp2_c4);
  y = multiply_add(y, f, exp2_c3);
  y = multiply_add(y, f, exp2_c2);
  y = multiply_add(y, f, exp2_c1);
  y = multiply_add(y, f, 1.0f);
  union {
    float number;
    uint32_t bits;
  } power;
  power.number = magic_sum;
  power.bits <<= 23;
  return y * power.number;
}

float tree_sum(float *sums, int32_t n) {  // sums[n], overwritten; n is a power of two
  for (int32_t half = n / 2; half > 0; half /= 2)
    for (int32_t i = 0; i < half; i++) sums[i] += sums[i + half];
  return sums[0];
}

// Row r of a tile as a tile of its own; its scores are in the first row's place.
tile row_tile(const tile &t, int32_t r) {
  tile row = t;
  row.first_row += r;
  row.n_rows = 1;
  row.chunk.m += r;
  row.chunk.l += r;
  row.chunk.acc += r * t.acc_stride;
  row.first += r;
  row.last += r;
  row.alpha += r;
  row.shift += r;
  row.sums += r * n_sums;
  return row;
}

// x: [64] of the block
void score_row(const tile &t, const key_block &b) {
  const stream &s = *t.s;
  const row_cursor row(s, t.first_row);
  for (int32_t j = b.from; j < b.n; j++) {
    float dot = 0.0f;
    for (int32_t i = 0; i < s.head_dim; i++)
      dot = multiply_add(query_element(s, row, i), key_element(s, b.begin + j, i), dot);
    t.scores[j] = dot * s.c;
  }
}

// scores -> exponentials; m, alpha, sums
void softmax_row(const tile &t, const key_block &b) {
  float m = *t.chunk.m;
  for (int32_t j = b.from; j < b.n; j++)
    if (t.scores[j] > m) m = t.scores[j];
  const float shift = finite_maximum(m);
  *t.alpha = exp2_nonpositive(*t.chunk.m - shift);
  *t.chunk.m = m;
  for (int32_t i = 0; i < n_sums; i++) t.sums[i] *= *t.alpha;
  for (int32_t j = b.from; j < b.n; j++) {
    t.scores[j] = exp2_nonpositive(t.scores[j] - shift);
    t.sums[j % n_sums] += t.scores[j];
  }
}

// acc = acc * alpha + p v, of the keys that are not hidden
void add_row(const tile &t, const key_block &b, bool (*hides)(const tile &t, int32_t r, int32_t key)) {
  const stream &s = *t.s;
  float *acc = t.chunk.acc;
  for (int32_t n = 0; n < s.v_dim; n++) acc[n] *= *t.alpha;
  for (int32_t j = b.from; j < b.n; j++) {
    if (hides && hides(t, 0, b.begin + j)) continue;
    for (int32_t n = 0; n < s.v_dim; n++) acc[n] = multiply_add(t.scores[j], value_element(s, b.begin + j, n), acc[n]);
  }
}

void attend_row(const tile &t, int32_t key_begin) {
  const score_rule *rule = t.s->rule;
  const int32_t first = larger_of(*t.first, key_begin);
  const int32_t end = end_of_block(key_begin, chunk_keys, *t.last);
  for (int32_t begin = first - first % block_keys; begin < end; begin += block_keys) {
    const key_block b = {begin, larger_of(first - begin, 0), smaller_of(end - begin, block_keys), false};
    if (rule && rule->sees && !rule->sees(t, b)) continue;
    score_row(t, b);
    const after_rule next = rule && rule->apply ? rule->apply(t, b) : after_rule::add;
    if (next == after_rule::skip) continue;
    softmax_row(t, b);
    if (next == after_rule::add)
      add_row(t, b, nullptr);
    else
      rule->add_visible(t, b);
  }
}

void attend(const tile &t, int32_t key_begin) {
  for (int32_t r = 0; r < t.n_rows; r++) {
    const tile row = row_tile(t, r);
    for (int32_t i = 0; i < n_sums; i++) row.sums[i] = 0.0f;
    for (int32_t n = 0; n < t.s->v_dim; n++) row.chunk.acc[n] = 0.0f;
    *row.chunk.m = negative_infinity;
    attend_row(row, key_begin);
    *row.chunk.l = tree_sum(row.sums, n_sums);
  }
}

void merge(const tile &t, bool first) {
  const stream &s = *t.s;
  for (int32_t r = 0; r < t.n_rows; r++) {
    float *out = row_cursor(s, t.first_row + r).out(), *m_total = t.total.m + r, *l_total = t.total.l + r;
    const float *acc = t.chunk.acc + r * t.acc_stride, m_chunk = t.chunk.m[r], l_chunk = t.chunk.l[r];
    if (first) {
      *m_total = m_chunk;
      *l_total = l_chunk;
      for (int32_t n = 0; n < s.v_dim; n++) out[n] = acc[n];
    } else {
      const float m = maximum_over_nan(*m_total, m_chunk);
      const float shift = finite_maximum(m);
      const float a = exp2_nonpositive(*m_total - shift), b = exp2_nonpositive(m_chunk - shift);
      for (int32_t n = 0; n < s.v_dim; n++) out[n] = multiply_add(acc[n], b, out[n] * a);
      *l_total = multiply_add(l_chunk, b, *l_total * a);
      *m_total = m;
    }
  }
}

void softmax(const softmax_rows &b) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    const float *x = b.x + r * b.x_stride;
    float *y = b.y + r * b.y_stride, m = b.sink, sums[n_sums] = {};
    for (int32_t j = 0; j < b.dim; j++)
      if (x[j] * b.c > m) m = x[j] * b.c;
    const float shift = finite_maximum(m);
    for (int32_t j = 0; j < b.dim; j++) {
      y[j] = exp2_nonpositive(x[j] * b.c - shift);
      sums[j % n_sums] += y[j];
    }
    const float factor = reciprocal_or_zero(tree_sum(sums, n_sums) + exp2_nonpositive(b.sink - shift));
    for (int32_t j = 0; j < b.dim; j++) y[j] *= factor;
  }
}

void finish(const tile &t, const partial &p) {
  const stream &s = *t.s;
  for (int32_t r = 0; r < t.n_rows; r++) {
    float *out = row_cursor(s, t.first_row + r).out();
    const float *acc = p.acc ? p.acc + r * t.acc_stride : out;
    const float factor = reciprocal_or_zero(p.l[r]);
    for (int32_t n = 0; n < s.v_dim; n++) out[n] = acc[n] * factor + 0.0f;  // a zero is +0
  }
}

float dot(const float *a, const float *b, int32_t n) {
  float sums[n_dot_sums] = {};
  for (int32_t i = 0; i < n; i++) sums[i % n_dot_sums] = multiply_add(a[i], b[i], sums[i % n_dot_sums]);
  return tree_sum(sums, n_dot_sums);
}

void linear(const linear_block &b) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    for (int32_t n = 0; n < b.n_cols; n++) {
      float y = at_or_zero(b.bias, n);
      for (int32_t i = 0; i < b.depth; i++) y = multiply_add(b.x[r * b.x_stride + i], b.w[i * b.w_stride + n], y);
      b.y[r * b.y_stride + n] = y;
    }
  }
}

// Rule 16, by powers of two in place of bits.
[[maybe_unused]] float widen(const stored_weights &w, ptrdiff_t at, int32_t column) {
  if (w.dtype == stored_f32) return static_cast<const float *>(w.data)[at];
  if (w.dtype == stored_int8) return static_cast<float>(static_cast<const int8_t *>(w.data)[at]) * w.scales[column];
  const uint32_t bits = static_cast<const uint16_t *>(w.data)[at];
  if (w.dtype == stored_bf16) {
    const uint32_t shifted = bits << 16;
    float x;
    __builtin_memcpy(&x, &shifted, sizeof x);
    return x;
  }
  const uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  const uint32_t significand = exponent > 0 ? fraction + 1024 : fraction;
  float x = static_cast<float>(significand) * 0x1p-24f;
  for (uint32_t e = 1; e < exponent; e++) x *= 2.0f;
  if (exponent == 31) x = fraction > 0 ? negative_infinity - negative_infinity : -negative_infinity;
  return bits >> 15 ? -x : x;
}

[[maybe_unused]] void project(const linear_block &b, const stored_weights &w) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    for (int32_t n = 0; n < b.n_cols; n++) {
      float y = at_or_zero(b.bias, n);
      for (int32_t i = 0; i < b.depth; i++)
        y = multiply_add(b.x[r * b.x_stride + i], widen(w, place_of_weight(w, i, n), n), y);
      b.y[r * b.y_stride + n] = y;
    }
  }
}

void keep(const tile &t, const key_block &b, const kept_rows &to, float factor) {
  float *y = row_of(to, *t.s, row_cursor(*t.s, t.first_row)) + b.begin;
  for (int32_t j = b.from; j < b.n; j++) y[j] = t.scores[j] * factor;
}

constexpr kernel make_kernel(const char *name, bool has_fma, bool (*available)()) {
  kernel k = {};
  k.name = name;
  k.has_fma = has_fma;
  k.available = available;
  k.max_key_rows = 8;
  k.attend = k.attend_plain = attend;
  k.merge = merge;
  k.finish = finish;
  k.keep = keep;
  k.softmax = softmax;
  return k;
}
[[maybe_unused]] constexpr product_steps products = {dot, linear};

}  // namespace scalar
}  // namespace
}  // namespace heed

#endif
