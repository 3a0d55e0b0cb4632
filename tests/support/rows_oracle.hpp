// Norms, activations and rotary embedding in double precision, and the bounds of the header. Those of activations are
// in units of 2^-24 of the result. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_ROWS_ORACLE_HPP
#define HEED_TESTS_SUPPORT_ROWS_ORACLE_HPP

#include <algorithm>
#include <cmath>
#include <vector>

#include "rows.hpp"
#include "oracle.hpp"

namespace heed_test {

struct bounded {
  double value, bound;
};

inline bounded relative(double exact, double units) { return {exact, units * half_ulp * std::fabs(exact) + 0x1p-149}; }

// chain: 1, or 1.5 without fma.
inline bounded exact_silu(double x, double chain) {
  if (x < -87) return {0, 0};
  return relative(x / (1 + std::exp(-x)), chain == 1 ? 4 : 5);
}
inline bounded exact_gelu(double x, double chain) {
  if (x < -12.9f) return {0, 0};
  return relative(x * std::erfc(-x * std::sqrt(0.5)) / 2, chain == 1 ? 8 : 10);
}
inline bounded exact_gelu_tanh(double x, double chain) {
  if (x < -9.99f) return {0, 0};
  const double v = 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return relative(x / (1 + std::exp(-v)), (chain == 1 ? 4 : 5) + (x < 0 ? 3 * std::fabs(v) : 0));
}
inline bounded exact_relu(double x, double) { return {x < 0 ? 0 : x, 0}; }
inline bounded exact_tanh(double x, double chain) { return relative(std::tanh(x), chain == 1 ? 5 : 6); }
inline bounded exact_sigmoid(double x, double chain) {
  if (x < -80) return {0, 0};
  return relative(1 / (1 + std::exp(-x)), chain == 1 ? 4 : 5);
}
// Of +infinity and -infinity.
inline float limit_of(heed_activation *f, bool positive) {
  if (f == heed_tanh) return positive ? 1.0f : -1.0f;
  return !positive ? 0.0f : f == heed_sigmoid ? 1.0f : infinity;
}
inline bounded exact_activation(heed_activation *f, float x, double chain) {
  return f == heed_silu        ? exact_silu(x, chain)
         : f == heed_tanh      ? exact_tanh(x, chain)
         : f == heed_sigmoid   ? exact_sigmoid(x, chain)
         : f == heed_gelu      ? exact_gelu(x, chain)
         : f == heed_gelu_tanh ? exact_gelu_tanh(x, chain)
                               : exact_relu(x, chain);
}

// Of zeros of both signs it takes the one that the library takes: the sign of a zero in the result depends on it.
inline float median_of_three(float a, float b, float c) {
  const float low = b < a ? b : a, high = b < a ? a : b;
  if (c < low) return low;
  return high < c ? high : c;
}

// One row; weight and bias may be empty. The chain of a sum of n squares is n / 64 + 9 roundings with the mean and eps;
// the root halves them. Then root, quotient, products and a sum; in layer_norm also two differences, each twice.
inline std::vector<bounded> exact_norm(heed_norm *f, const std::vector<float> &x, const std::vector<float> &weight,
                                       const std::vector<float> &bias, double eps) {
  const double n = static_cast<double>(x.size());
  const double pivot = median_of_three(x[0], x[x.size() / 2], x.back());
  double mean = 0, size = 0, squares = 0;
  if (f == heed_layer_norm) {
    for (const float xi : x) mean += (xi - pivot) / n, size += std::fabs(xi - pivot) / n;
    mean += pivot;
  }
  for (const float xi : x) squares += (xi - mean) * (xi - mean) / (f == heed_l2_norm ? 1 : n);
  const double r = 1 / std::sqrt(squares + eps);
  const bool centred = f == heed_layer_norm;
  const double shift = centred ? (n / 64 + 10) * half_ulp * size * r : 0;  // of the mean
  std::vector<bounded> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const double w = weight.empty() ? 1 : weight[i], b = bias.empty() ? 0 : bias[i];
    const double scaled = std::fabs((x[i] - mean) * r * w), chain = n / 128 + (centred ? 14 + size * r : 10);
    y.push_back({(x[i] - mean) * r * w + b, half_ulp * (chain * scaled + std::fabs(b)) + shift * std::fabs(w) +
                                                shift * shift * scaled + 0x1p-140});
  }
  return y;
}

// Radians for a position, and what a position may add to the error of an angle.
inline long double frequency_of(const rope_problem &p, int32_t i) {
  const long double f = p.inverse_frequencies.empty()
                            ? std::pow(static_cast<long double>(p.base), -2.0L * i / p.turned())
                            : static_cast<long double>(p.inverse_frequencies[size_t(i)]);
  return f * p.scale;
}
inline double angle_bound(const rope_problem &p, int32_t i, int32_t position) {
  const double f = p.inverse_frequencies.empty() ? 1 : std::fabs(p.inverse_frequencies[size_t(i)]);
  const double of_a_position = 2 * M_PI * 0x1p-60 * std::max(1.0, f * std::fabs(p.scale));
  return of_a_position * std::fabs(static_cast<double>(position)) + 2 * M_PI * 0x1p-34;
}

}  // namespace heed_test

#endif
