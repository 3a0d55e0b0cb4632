// See quantize.hpp. SPDX-License-Identifier: MIT
#include "quantize.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace calibrate {
namespace {
constexpr double greatest_bias = 1e9;
}

int32_t rounded(double x, double limit) {
  return static_cast<int32_t>(std::lround(std::min(limit, std::max(-limit, x))));
}
heed_multiplier multiplier(double factor) { return heed_multiplier_of(static_cast<float>(factor)); }

heed_int_projection int_linear::view() const {
  return {heed_weights_of(numbers.data(), nullptr, HEED_INT8, HEED_OUT_IN, n_in, n_out), bias.data(),
          multipliers.data()};
}

heed_int_norm int_norm::view() const { return {weight.data(), bias.data(), shift, eps}; }

int_linear quantize_linear(const std::vector<double> &w, const std::vector<double> &bias, int32_t n_in, int32_t n_out,
                           quantity x, quantity y) {
  const size_t rows = static_cast<size_t>(n_in), outputs = static_cast<size_t>(n_out);
  int_linear l;
  l.n_in = n_in, l.n_out = n_out;
  l.numbers.resize(rows * outputs);
  for (size_t o = 0; o < outputs; o++) {
    double greatest = 0;
    for (size_t i = 0; i < rows; i++) greatest = std::max(greatest, std::fabs(w[i * outputs + o]));
    const double offset = y.zero * y.scale + (bias.empty() ? 0 : bias[o]);
    // Beside a large bias, weights are so small that their steps may be coarser: the bias fits into 30 bits.
    const double least = std::fabs(offset) / (x.scale * greatest_bias);
    const double scale = std::max(greatest > 0 ? greatest / 127 : 1, least);
    int32_t total = 0;
    for (size_t i = 0; i < rows; i++) {
      const int32_t number = rounded(w[i * outputs + o] / scale, 127);
      l.numbers[o * rows + i] = static_cast<int8_t>(number);
      total += number;
    }
    const double unit = x.scale * scale;
    l.bias.push_back(rounded(offset / unit, greatest_bias) - x.zero * total);
    l.multipliers.push_back(multiplier(unit / y.scale));
  }
  return l;
}

int_norm quantize_norm(const float *weight, const float *bias, int32_t dim, float eps, double x_scale, double y_scale) {
  int_norm n;
  double greatest = 1;
  for (int32_t i = 0; weight && i < dim; i++) greatest = std::max(greatest, std::fabs(static_cast<double>(weight[i])));
  for (int32_t i = 0; bias && i < dim; i++) greatest = std::max(greatest, std::fabs(static_cast<double>(bias[i])));
  if (greatest / y_scale > 1e9) throw std::invalid_argument("a norm's weights are too large for the range behind it");
  n.shift = std::max(0, std::min(20, 29 - static_cast<int32_t>(std::ceil(std::log2(greatest / y_scale)))));
  n.eps = static_cast<uint32_t>(std::min(4e9, static_cast<double>(eps) / (x_scale * x_scale) * 65536 + 0.5));
  const double unit = std::ldexp(1.0 / y_scale, n.shift);
  for (int32_t i = 0; i < dim; i++) {
    n.weight.push_back(rounded(weight ? static_cast<double>(weight[i]) * unit : unit, 2e9));
    n.bias.push_back(rounded(bias ? static_cast<double>(bias[i]) * unit : 0, 2e9));
  }
  return n;
}

}  // namespace calibrate
