// The scalar reference: plain loops in the order of arithmetic.hpp, which every other kernel must reproduce bit for
// bit. It is the last fallback, the oracle of the self-test, and never vectorised (its build flags see to that).
// Included once by each of isa/reference_fused.cpp and isa/reference_unfused.cpp, which define HEED_FUSED.
#include "kernel.hpp"

namespace heed {
namespace {
namespace scalar {  // one translation unit may hold the other kernels, too

float multiply_add(float a, float b, float c) {
#if HEED_FUSED
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

float finite_maximum(float m) { return m == negative_infinity ? 0.0f : m; }

float reciprocal_or_zero(float l) { return l == 0.0f ? 0.0f : 1.0f / l; }

// One row over keys [begin, end), which lie in one block. scores: [64], sums: [16], acc: [v_dim].
void attend_block(const stream &s, const float *q, int32_t begin, int32_t end, float *scores, float *sums, float *acc,
                  float *m) {
  float new_m = *m;
  for (int32_t j = begin; j < end; j++) {
    const float *k = s.k + j * s.k_stride;
    float dot = 0.0f;
    for (int32_t i = 0; i < s.head_dim; i++) dot = multiply_add(q[i], k[i], dot);
    scores[j - begin] = dot * s.c;
    if (scores[j - begin] > new_m) new_m = scores[j - begin];
  }
  const float shift = finite_maximum(new_m);
  const float alpha = exp2_nonpositive(*m - shift);
  for (int32_t i = 0; i < n_sums; i++) sums[i] *= alpha;
  for (int32_t n = 0; n < s.v_dim; n++) acc[n] *= alpha;
  for (int32_t j = begin; j < end; j++) {
    const float *v = s.v + j * s.v_stride;
    const float p = exp2_nonpositive(scores[j - begin] - shift);
    sums[j % n_sums] += p;
    for (int32_t n = 0; n < s.v_dim; n++) acc[n] = multiply_add(p, v[n], acc[n]);
  }
  *m = new_m;
}

void attend(const tile &t, int32_t key_begin, int32_t key_end) {
  const stream &s = *t.s;
  for (int32_t r = 0; r < t.n_rows; r++) {
    const row_cursor row(s, t.first_row + r);
    const int32_t end = t.visible[r] < key_end ? t.visible[r] : key_end;
    float *sums = t.sums + r * n_sums, *acc = t.acc + r * t.acc_stride;
    for (int32_t i = 0; i < n_sums; i++) sums[i] = 0.0f;
    for (int32_t n = 0; n < s.v_dim; n++) acc[n] = 0.0f;
    t.m[r] = negative_infinity;
    for (int32_t begin = key_begin; begin < end; begin += block_keys) {
      const int32_t block_end = end - begin < block_keys ? end : begin + block_keys;
      attend_block(s, row.q(), begin, block_end, t.scores, sums, acc, &t.m[r]);
      if (s.weights)
        for (int32_t j = begin; j < block_end; j++) row.weights()[j] = t.scores[j - begin];
    }
    t.l[r] = tree_sum(sums, n_sums);
  }
}

void merge(const tile &t, int32_t key_begin) {
  const stream &s = *t.s;
  for (int32_t r = 0; r < t.n_rows; r++) {
    float *out = row_cursor(s, t.first_row + r).out();
    const float *acc = t.acc + r * t.acc_stride;
    if (key_begin == 0) {
      t.m_total[r] = t.m[r];
      t.l_total[r] = t.l[r];
      for (int32_t n = 0; n < s.v_dim; n++) out[n] = acc[n];
    } else if (t.visible[r] > key_begin) {
      const float m = t.m[r] > t.m_total[r] ? t.m[r] : t.m_total[r];
      const float shift = finite_maximum(m);
      const float a = exp2_nonpositive(t.m_total[r] - shift), b = exp2_nonpositive(t.m[r] - shift);
      for (int32_t n = 0; n < s.v_dim; n++) out[n] = multiply_add(acc[n], b, out[n] * a);
      t.l_total[r] = multiply_add(t.l[r], b, t.l_total[r] * a);
      t.m_total[r] = m;
    }
  }
}

void softmax(const float *x, float *y, int32_t n, float c) {
  float m = negative_infinity;
  for (int32_t j = 0; j < n; j++)
    if (x[j] * c > m) m = x[j] * c;
  const float shift = finite_maximum(m);
  float sums[n_sums] = {};
  for (int32_t j = 0; j < n; j++) {
    y[j] = exp2_nonpositive(x[j] * c - shift);
    sums[j % n_sums] += y[j];
  }
  const float factor = reciprocal_or_zero(tree_sum(sums, n_sums));
  for (int32_t j = 0; j < n; j++) y[j] *= factor;
}

void finish(const tile &t, bool merged) {
  const stream &s = *t.s;
  for (int32_t r = 0; r < t.n_rows; r++) {
    float *out = row_cursor(s, t.first_row + r).out();
    const float *acc = merged ? out : t.acc + r * t.acc_stride;
    const float factor = reciprocal_or_zero(merged ? t.l_total[r] : t.l[r]);
    for (int32_t n = 0; n < s.v_dim; n++) out[n] = acc[n] * factor;
  }
}

void weigh(const tile &t) { weigh_rows<softmax>(t); }

float dot(const float *a, const float *b, int32_t n) {
  float sums[n_dot_sums] = {};
  for (int32_t i = 0; i < n; i++) sums[i % n_dot_sums] = multiply_add(a[i], b[i], sums[i % n_dot_sums]);
  return tree_sum(sums, n_dot_sums);
}

void linear(const linear_block &b) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    for (int32_t n = 0; n < b.n_cols; n++) {
      float y = b.bias ? b.bias[n] : 0.0f;
      for (int32_t i = 0; i < b.depth; i++) y = multiply_add(b.x[r * b.x_stride + i], b.w[i * b.w_stride + n], y);
      b.y[r * b.y_stride + n] = y;
    }
  }
}

constexpr kernel make_kernel(const char *name, bool fused, bool (*available)()) {
  return {name, fused, available, 0, 8, attend, merge, finish, weigh, softmax, dot, linear};
}

}  // namespace scalar
}  // namespace
}  // namespace heed
