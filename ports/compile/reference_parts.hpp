// What reference.cpp and reference_speech.cpp share. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_REFERENCE_PARTS_HPP
#define HEED_COMPILE_REFERENCE_PARTS_HPP

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "reference.hpp"

namespace heed_compile {
namespace in_doubles {

struct rows {
  int32_t n, dim;
  std::vector<double> numbers;

  rows(int32_t n_rows, int32_t row_dim)
      : n(n_rows), dim(row_dim), numbers(static_cast<size_t>(n_rows) * static_cast<size_t>(row_dim)) {}
  double *row(int32_t r) { return numbers.data() + static_cast<ptrdiff_t>(r) * dim; }
  const double *row(int32_t r) const { return numbers.data() + static_cast<ptrdiff_t>(r) * dim; }
  void add(const rows &other) {
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] += other.numbers.at(i);
  }
};

// Eight sums, because a compiler may not reorder one of them, and so could not use its vectors.
inline double dot(const double *a, const double *b, int32_t n) {
  double sums[8] = {};
  int32_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int32_t k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Hendrycks and Gimpel 2016 (both GELUs), Elfwing et al. 2018 (SiLU).
using function = double (*)(double);
inline function activation_of(const std::string &name) {
  static const std::map<std::string, function> known = {
      {"heed_gelu", [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }},
      {"heed_gelu_tanh",
       [](double x) { return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2; }},
      {"heed_silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"heed_relu", [](double x) { return x > 0 ? x : 0; }},
      {"heed_tanh", [](double x) { return std::tanh(x); }}};
  const auto found = known.find(name);
  if (found == known.end()) throw std::logic_error("reference.cpp has no formula of the activation \"" + name + "\"");
  return found->second;
}

// Ba et al. 2016 (layer norm), Zhang and Sennrich 2019 (RMS norm). bias may be empty.
inline void norm_row(const std::string &name, double eps, const std::vector<double> &weight,
                     const std::vector<double> &bias, double *x, int32_t n) {
  const bool is_layer_norm = name == "heed_layer_norm", is_plus_one = name == "heed_rms_norm_plus_one";
  if (!is_layer_norm && !is_plus_one && name != "heed_rms_norm")
    throw std::logic_error("reference.cpp has no formula of the norm \"" + name + "\"");
  double mean = 0, squares = 0;
  for (int32_t i = 0; is_layer_norm && i < n; ++i) mean += x[i] / n;
  for (int32_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean) / n;
  for (int32_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    x[i] = (x[i] - mean) / std::sqrt(squares + eps);
    x[i] *= is_plus_one ? 1 + weight[at] : weight[at];
    if (!bias.empty()) x[i] += bias[at];
  }
}

// Su et al. 2021: pair i of each head turns by position * scale * frequency. Peng et al. 2023: the factor makes what
// has turned longer.
inline void rotate(const rope_settings &rope, int32_t head_dim, rows &x) {
  const int32_t n_turning = rope.rotary_dim > 0 ? rope.rotary_dim : head_dim, half = n_turning / 2;
  for (int32_t t = 0; t < x.n; ++t)
    for (int32_t i = 0; i < half; ++i) {
      const double frequency = rope.frequencies.empty()
                                   ? std::pow(rope.base, -2.0 * i / n_turning)
                                   : static_cast<double>(rope.frequencies.at(static_cast<size_t>(i)));
      const double angle = t * rope.scale * frequency;
      const double cosine = std::cos(angle) * rope.factor, sine = std::sin(angle) * rope.factor;
      for (int32_t head = 0; head < x.dim; head += head_dim) {
        double &a = x.row(t)[head + (rope.interleaved ? 2 * i : i)];
        double &b = x.row(t)[head + (rope.interleaved ? 2 * i + 1 : i + half)];
        const double turned = a * cosine - b * sine;
        b = a * sine + b * cosine;
        a = turned;
      }
    }
}

inline double capped(double number, double cap) { return cap > 0 ? cap * std::tanh(number / cap) : number; }

// In place. The greatest number is subtracted first, because exp has an end.
inline void softmax(std::vector<double> &numbers) {
  const double greatest = *std::max_element(numbers.begin(), numbers.end());
  double sum = 0;
  for (double &number : numbers) sum += number = std::exp(number - greatest);
  for (double &number : numbers) number /= sum;
}

// A network's weights, and products with them.
class formulas {
 public:
  formulas(const network &net, const weights_as_doubles &weights) : net_(net), weights_(weights) {}

 protected:
  // `count` numbers; or none, if it is optional.
  std::vector<double> numbers(const std::string &name, size_t count, bool is_optional) const {
    std::vector<double> all = weights_(name);
    if (all.size() != count && !(all.empty() && is_optional))
      throw std::logic_error(name + " has " + std::to_string(all.size()) + " numbers, and not " +
                             std::to_string(count));
    return all;
  }
  std::vector<double> vector(const std::string &name, int32_t n, bool is_optional = false) const {
    return numbers(name, static_cast<size_t>(n), is_optional);
  }

  // Adds row row_of(t) of a table to row t of x.
  template <class F>
  void add_rows_of(const std::string &name, rows &x, F row_of, bool is_optional = false) const {
    const std::vector<double> table = weights_(name);
    if (table.empty() && is_optional) return;
    const auto dim = static_cast<size_t>(x.dim);
    for (int32_t t = 0; t < x.n; ++t) {
      const auto row = static_cast<size_t>(row_of(t));
      if (row >= table.size() / dim) throw std::logic_error(name + " has no row " + std::to_string(row));
      for (size_t i = 0; i < dim; ++i) x.row(t)[i] += table[row * dim + i];
    }
  }

  rows linear(const rows &x, const std::string &matrix, const std::string &bias, int32_t n_out) const {
    const std::vector<double> w = numbers(matrix, static_cast<size_t>(x.dim) * static_cast<size_t>(n_out), false);
    const std::vector<double> b = bias.empty() ? std::vector<double>() : vector(bias, n_out, true);
    rows y(x.n, n_out);
    for (int32_t o = 0; o < n_out; ++o)
      for (int32_t t = 0; t < x.n; ++t)
        y.row(t)[o] = dot(w.data() + static_cast<ptrdiff_t>(o) * x.dim, x.row(t), x.dim) +
                      (b.empty() ? 0 : b[static_cast<size_t>(o)]);
    return y;
  }

  // Of each `length` numbers that lie side by side.
  void norm_parts(const std::string &norm_name, const std::string &name, int32_t length, rows &x) const {
    const std::vector<double> weight = vector(name + "_weight", length);
    const std::vector<double> bias = vector(name + "_bias", length, true);
    for (int32_t t = 0; t < x.n; ++t)
      for (int32_t at = 0; at < x.dim; at += length) norm_row(norm_name, net_.eps, weight, bias, x.row(t) + at, length);
  }
  void norm(const std::string &name, rows &x) const { norm_parts(net_.norm, name, x.dim, x); }

  static std::string of_layer(int32_t layer) { return "layers." + std::to_string(layer) + "."; }

  const network &net_;
  const weights_as_doubles &weights_;
};

}  // namespace in_doubles
}  // namespace heed_compile

#endif
