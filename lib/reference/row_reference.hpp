// The scalar reference of norms, activations and rotary embedding: rules 16 to 21 and 26 in plain loops.
#ifndef HEED_ROW_REFERENCE_HPP
#define HEED_ROW_REFERENCE_HPP

#include "../kernel_contract/row_steps.hpp"
#include "option_reference.hpp"
#include "packed_reference.hpp"
#include "../kernel_contract/root.hpp"

namespace heed {
namespace {
namespace scalar {

union word {
  float number;
  uint32_t bits;
};

// -------------------------------------------------------------------------------------------------------- norms

float inverse_root(const norm_rows &b, float sum) {
  return reciprocal_or_zero(square_root(sum / static_cast<float>(b.divisor) + b.eps));
}

void scale_row(const norm_rows &b, const float *x, float *y, float pivot, float rest, float factor) {
  for (int32_t i = 0; i < b.dim; i++) {
    y[i] = ((x[i] - pivot) - rest) * factor;
    float weight = at_or_zero(b.weight, i);
    if (b.plus_one) weight = 1.0f + weight;
    if (b.weight && b.bias)
      y[i] = multiply_add(y[i], weight, b.bias[i]);
    else if (b.weight)
      y[i] *= weight;
    else if (b.bias)
      y[i] += b.bias[i];
  }
}

void rms_norm(const norm_rows &b) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    const float *x = b.x + r * b.x_stride;
    scale_row(b, x, b.y + r * b.y_stride, 0.0f, 0.0f, inverse_root(b, dot(x, x, b.dim)));
  }
}

void layer_norm(const norm_rows &b) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    const float *x = b.x + r * b.x_stride;
    const float pivot = pivot_of_row(x, b.dim);
    float sums[n_dot_sums] = {}, squares[n_dot_sums] = {};
    for (int32_t i = 0; i < b.dim; i++) sums[i % n_dot_sums] += x[i] - pivot;
    const float rest = tree_sum(sums, n_dot_sums) / static_cast<float>(b.dim);
    for (int32_t i = 0; i < b.dim; i++) {
      const float d = (x[i] - pivot) - rest;
      squares[i % n_dot_sums] = multiply_add(d, d, squares[i % n_dot_sums]);
    }
    const float factor = inverse_root(b, tree_sum(squares, n_dot_sums));
    scale_row(b, x, b.y + r * b.y_stride, pivot, rest, factor);
  }
}

// -------------------------------------------------------------------------------------------------- activations

// exp(-(x + rest)), where it is a normal number; +0 where x is so large that rule 9 would cut off, if so wanted
float exp_minus(float x, float rest, bool cut_off) {
  const float t = x * -log2e, magic_sum = t + exp2_magic, n = magic_sum - exp2_magic;
  if (cut_off && t < exp2_cutoff) return 0.0f;
  const float g = multiply_add(n, ln2_low, multiply_add(n, ln2_high, x)) + rest;
  float y = multiply_add(exp_c6, g, exp_c5);
  y = multiply_add(y, g, exp_c4);
  y = multiply_add(y, g, exp_c3);
  y = multiply_add(y, g, exp_c2);
  y = multiply_add(y, g, -1.0f);
  y = multiply_add(y, g, 1.0f);
  word power = {magic_sum};
  power.bits <<= 23;
  return y * power.number;
}

// 1 / -d within 1.3e-4
float rough_inverse(float d) {
  word r = {d};
  r.bits = inverse_bits - r.bits;
  const float h = multiply_add(d, r.number, 1.0f);
  return multiply_add(multiply_add(h, h, h), r.number, r.number);
}

float sigmoid(float x) {
  constexpr float one = HEED_FMA ? 1.0f : sigmoid_unit;
  const float d = one * -exp_minus(x, 0.0f, true) - one, r = rough_inverse(d);
  return multiply_add(multiply_add(d, r, 1.0f), r, r) * one;
}

float silu_of(float x) { return x < silu_least ? 0.0f : x * sigmoid(x); }

float gelu_tanh_of(float x) {
  return x < gelu_tanh_least ? 0.0f : x * sigmoid(x * multiply_add(gelu_cubic, x * x, gelu_linear));
}

// exp(z^2 / 2) * Phi(z), z negative
float scaled_tail(float z) {
  float p = gelu_p[4], q = gelu_q[5];
  for (int i = 3; i >= 0; i--) p = multiply_add(p, z, gelu_p[i]);
  for (int i = 4; i >= 0; i--) q = multiply_add(q, z, gelu_q[i]);
  const float r = rough_inverse(q), quotient = p * r;
  return multiply_add(multiply_add(q, quotient, p), r, quotient);
}

float magnitude_of(float x) { return x < 0.0f ? -x : x; }

float gelu_of(float x) {
  if (x < gelu_least) return 0.0f;
  if (x != x) return x;
  const float z = maximum_over_nan(gelu_least, -magnitude_of(x));
  const float coarse = (z + gelu_grid) - gelu_grid, rest = (z - coarse) * (z + coarse);
  const float below = exp_minus(coarse * coarse * 0.5f, rest * 0.5f, false) * scaled_tail(z);
  return x * (x < 0.0f ? below : 1.0f - below);
}

float small_or_tanh_of(float x) { return magnitude_of(x) < tanh_least ? x : tanh_of(x); }

float sigmoid_of(float x) { return x < sigmoid_least ? 0.0f : sigmoid(x); }

float relu_of(float x) { return x < 0.0f ? 0.0f : x; }

template <float function(float)>
void activate(const element_rows &b) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    const float *x = b.x + r * b.x_stride;
    float *y = b.y + r * b.y_stride;
    for (ptrdiff_t i = 0; i < b.dim; i++) {
      const float result = function(x[i]);
      y[i] = b.other ? result * b.other[r * b.other_stride + i] : result;
    }
  }
}

void add(const element_rows &b) {
  for (int32_t r = 0; r < b.n_rows; r++)
    for (ptrdiff_t i = 0; i < b.dim; i++)
      b.y[r * b.y_stride + i] = b.x[r * b.x_stride + i] + b.other[r * b.other_stride + i];
}

// --------------------------------------------------------------------------------------------- rotary embedding

void sine_cosine(uint64_t angle, float &sin, float &cos) {
  const uint64_t quarter = (angle + (static_cast<uint64_t>(1) << 61)) >> 62;
  const int64_t rest = static_cast<int64_t>(angle - (quarter << 62));
  const float z = static_cast<float>(static_cast<int32_t>(rest >> 30)) * 0x1p-31f, z2 = z * z;
  float s = multiply_add(sin_c7, z2, sin_c5), c = multiply_add(cos_c8, z2, cos_c6);
  s = multiply_add(s, z2, sin_c3);
  s = multiply_add(s, z2, sin_c1) * z;
  c = multiply_add(c, z2, cos_c4);
  c = multiply_add(c, z2, cos_c2);
  c = multiply_add(c, z2, 1.0f);
  const float sines[4] = {s, c, -s, -c};  // of the angle plus 0 to 3 quarters of a turn
  sin = sines[quarter];
  cos = sines[(quarter + 1) & 3];
}

void rope(const rope_rows &b) {
  for (int32_t t = 0; t < b.n_tokens; t++) {
    const int64_t position = b.positions ? b.positions[t] : b.position + t;
    for (int32_t i = 0; i < b.n_pairs; i++) {
      float sin, cos;
      sine_cosine(static_cast<uint64_t>(position) * b.frequencies[i], sin, cos);
      sin *= b.factor;
      cos *= b.factor;
      const int32_t first = b.partner == 1 ? 2 * i : i;
      for (int32_t h = 0; h < b.n_heads; h++) {
        const float *x = b.x + t * b.x_token_stride + h * b.x_head_stride + first;
        float *y = b.y + t * b.y_token_stride + h * b.y_head_stride + first;
        const float a0 = x[0], b0 = x[b.partner];
        y[0] = multiply_add(a0, cos, b0 * -sin);
        y[b.partner] = multiply_add(b0, cos, a0 * sin);
      }
    }
  }
}

constexpr row_steps make_row_table() {
  row_steps s = {};
  s.rms_norm = rms_norm;
  s.layer_norm = layer_norm;
  s.gelu = activate<gelu_of>;
  s.gelu_tanh = activate<gelu_tanh_of>;
  s.silu = activate<silu_of>;
  s.relu = activate<relu_of>;
  s.tanh = activate<small_or_tanh_of>;
  s.sigmoid = activate<sigmoid_of>;
  s.add = add;
  s.rope = rope;
  return s;
}
[[maybe_unused]] constexpr row_steps row_table = make_row_table();

}  // namespace scalar
}  // namespace

#define HEED_DEFINE_REFERENCE(symbol, name, has_fma, available)        \
  HEED_DECLARE_KERNEL(symbol)                                          \
  const kernel symbol = scalar::make_kernel(name, has_fma, available); \
  const product_steps symbol##_products = scalar::products;            \
  const project_steps symbol##_project = {scalar::project};            \
  const packed_steps symbol##_packed = scalar::packed_table;           \
  const score_steps symbol##_scores = scalar::steps;                   \
  const row_steps symbol##_rows = scalar::row_table;

}  // namespace heed

#endif
