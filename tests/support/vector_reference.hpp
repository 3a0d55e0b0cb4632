// The ONNX operator Attention once more, for a random case: double precision, plain loops, and nothing shared with what
// reads and runs vectors. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_VECTOR_REFERENCE_HPP
#define HEED_TESTS_SUPPORT_VECTOR_REFERENCE_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace heed_test {

constexpr double hidden = -std::numeric_limits<double>::infinity();

// A number of f16 as a multiple of its step: 2^(exponent - 10).
struct half_steps {
  int exponent;
  double steps;
};
inline half_steps half_of(double magnitude) {
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  return {exponent, std::nearbyint(std::ldexp(magnitude, 10 - exponent))};
}
inline bool has_half_steps(double x) { return std::fabs(x) < 65520; }  // else an infinity or NaN

inline uint16_t half_bits(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return 0x7e00;
  if (!has_half_steps(x)) return sign | 0x7c00;
  const half_steps h = half_of(std::fabs(x));
  return static_cast<uint16_t>(sign | (((h.exponent + 14) << 10) + static_cast<int>(h.steps)));
}

// x as a tensor of the type holds it.
inline double as_type(const std::string &type, double x) {
  if (type == "f64" || std::isnan(x)) return x;
  const double most = type == "f16" ? 65520 : 0x1.ffffffp127;
  if (std::fabs(x) >= most) return std::copysign(-hidden, x);
  if (type == "f32") return static_cast<double>(static_cast<float>(x));
  const half_steps h = half_of(std::fabs(x));
  return std::copysign(std::ldexp(h.steps, h.exponent - 10), x);
}

struct reference_mask {
  std::string type;            // empty: none
  std::vector<int32_t> dims;   // 1 to 4 of them
  std::vector<double> values;  // of a boolean mask 0 or 1

  double bias(const int32_t (&at)[4]) const {
    if (type.empty()) return 0;
    if (at[3] >= dims.back()) return hidden;
    size_t index = 0;
    for (size_t n = 0; n < dims.size(); ++n) {
      const int32_t here = at[4 - dims.size() + n];
      index = index * size_t(dims[n]) + size_t(dims[n] == 1 ? 0 : here);
    }
    return type != "bool" ? values[index] : values[index] != 0 ? 0 : hidden;
  }
};

struct reference_case {
  std::string type;  // of Q, K, V and the outputs
  int32_t batch, n_heads, n_kv_heads, n_q, n_past, n_kv, head_dim, v_dim;
  bool rough;  // f32 cannot tell much: f16, or a mask whose numbers swallow the scores
  bool flat, has_past, causal, has_scale, wants_scores, wants_present;
  float scale, softcap;
  int32_t left_window, right_window, mode;
  std::vector<double> q, k, v;  // (batch, heads, rows, dim); keys and values with those of the past
  reference_mask mask;
  std::vector<int64_t> lengths;  // empty: not given
  std::string lengths_type;
  std::vector<double> y, scores;

  // What the mask, the ranges and the lengths add to a score.
  double bias(int32_t b, int32_t h, int32_t i, int32_t j) const {
    int64_t offset = 0;
    if (!lengths.empty()) offset = lengths[size_t(b)] - n_q;
    if (has_past) offset = n_past;
    const int64_t p = i + offset;
    double sum = mask.bias({b, h, i, j});
    if (causal && j > p) sum += hidden;
    if (left_window != -1 && j < p - left_window) sum += hidden;
    if (right_window != -1 && j > p + right_window) sum += hidden;
    if (!lengths.empty() && j >= lengths[size_t(b)]) sum += hidden;
    return sum;
  }

  void compute() {
    y.clear(), scores.clear();
    for (int32_t b = 0; b < batch; ++b)
      for (int32_t h = 0; h < n_heads; ++h)
        for (int32_t i = 0; i < n_q; ++i) compute_row(b, h, i);
  }

 private:
  void compute_row(int32_t b, int32_t h, int32_t i) {
    const double used = has_scale ? double(scale) : 1 / std::sqrt(double(head_dim));
    const size_t group = size_t(b) * size_t(n_kv_heads) + size_t(h / (n_heads / n_kv_heads));
    const double *const query =
        &q[((size_t(b) * size_t(n_heads) + size_t(h)) * size_t(n_q) + size_t(i)) * size_t(head_dim)];
    const double *const keys = &k[group * size_t(n_kv) * size_t(head_dim)];
    const double *const values = &v[group * size_t(n_kv) * size_t(v_dim)];
    std::vector<double> stage[4];
    double top = hidden, sum = 0;
    for (int32_t j = 0; j < n_kv; ++j) {
      double dot = 0;
      for (int32_t n = 0; n < head_dim; ++n) dot += query[n] * keys[std::ptrdiff_t(j) * head_dim + n];
      const double added = bias(b, h, i, j);
      stage[0].push_back(dot * used);
      stage[1].push_back(softcap > 0 ? softcap * std::tanh(stage[0].back() / softcap) : stage[0].back());
      stage[2].push_back(stage[1].back() + added);
      stage[3].push_back(added == hidden ? hidden : stage[2].back());
      top = std::max(top, stage[3].back());
    }
    for (double &w : stage[3]) sum += w = w == hidden ? 0 : std::exp(w - top);
    for (double &w : stage[3]) w = sum == 0 ? 0 : w / sum;
    for (int32_t n = 0; n < v_dim; ++n) {
      double out = 0;
      for (int32_t j = 0; j < n_kv; ++j)
        if (stage[3][size_t(j)] != 0) out += stage[3][size_t(j)] * values[std::ptrdiff_t(j) * v_dim + n];
      y.push_back(out);
    }
    if (wants_scores) scores.insert(scores.end(), stage[mode].begin(), stage[mode].end());
  }
};

}  // namespace heed_test

#endif
