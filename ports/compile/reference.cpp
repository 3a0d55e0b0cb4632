// See reference.hpp. All numbers are doubles, and all rows of a text pass through a layer together: there is no cache.
// SPDX-License-Identifier: MIT
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace heed_compile {
namespace {

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
double dot(const double *a, const double *b, int32_t n) {
  double sums[8] = {};
  int32_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int32_t k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Hendrycks and Gimpel 2016 (both GELUs), Elfwing et al. 2018 (SiLU).
using function = double (*)(double);
function activation_of(const std::string &name) {
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
void norm_row(const std::string &name, double eps, const std::vector<double> &weight, const std::vector<double> &bias,
              double *x, int32_t n) {
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
void rotate(const rope_settings &rope, int32_t head_dim, rows &x) {
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

double capped(double number, double cap) { return cap > 0 ? cap * std::tanh(number / cap) : number; }

// In place. The greatest number is subtracted first, because exp has an end.
void softmax(std::vector<double> &numbers) {
  const double greatest = *std::max_element(numbers.begin(), numbers.end());
  double sum = 0;
  for (double &number : numbers) sum += number = std::exp(number - greatest);
  for (double &number : numbers) number /= sum;
}

class model {
 public:
  model(const network &net, const weights_as_doubles &weights) : net_(net), weights_(weights) {}

  std::vector<reference_rows> run_tokens(const std::vector<int32_t> &tokens) const {
    if (tokens.empty()) throw std::logic_error("there are no tokens");
    rows x(static_cast<int32_t>(tokens.size()), net_.dim);
    add_rows_of("embedding", x, [&](int32_t t) { return tokens[static_cast<size_t>(t)]; });
    for (double &number : x.numbers) number *= net_.embedding_scale;
    add_rows_of(
        "positions", x, [&](int32_t t) { return t + net_.position_offset; }, true);
    if (net_.has_token_types) add_rows_of("token_types", x, [](int32_t) { return 0; });
    if (net_.has_embedding_norm) norm("embedding_norm", x);
    return run_layers(std::move(x));
  }

  // Dosovitskiy et al. 2021; Touvron et al. 2021 (the token of distillation).
  std::vector<reference_rows> run_picture(const std::vector<float> &pixels) const {
    const int32_t size = net_.image_size, patch = net_.patch_size, channels = net_.n_channels, side = size / patch;
    if (pixels.size() != static_cast<size_t>(size) * static_cast<size_t>(size) * static_cast<size_t>(channels))
      throw std::logic_error("the picture has another size than the network's");
    rows patches(side * side, patch * patch * channels);
    for (int32_t p = 0; p < patches.n; ++p)
      for (int32_t i = 0; i < patches.dim; ++i) {
        const int32_t channel = i % channels, column = i / channels % patch, line = i / channels / patch;
        const int32_t pixel = (p / side * patch + line) * size + p % side * patch + column;
        patches.row(p)[i] = static_cast<double>(pixels[static_cast<size_t>(pixel * channels + channel)]);
      }
    patches = linear(patches, "patches", "patches_bias", net_.dim);
    rows x(net_.n_special_rows, net_.dim);
    x.numbers = vector("class_token", net_.dim);
    if (net_.n_special_rows == 2) {
      const std::vector<double> second = vector("distillation_token", net_.dim);
      x.numbers.insert(x.numbers.end(), second.begin(), second.end());
    }
    x.numbers.insert(x.numbers.end(), patches.numbers.begin(), patches.numbers.end());
    x.n += patches.n;
    add_rows_of("positions", x, [](int32_t t) { return t; });
    return run_layers(std::move(x));
  }

 private:
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

  // Vaswani et al. 2017. Ainslie et al. 2023: several heads share a head of keys and values. Beltagy et al. 2020: with
  // a window, a token sees itself and the window - 1 tokens before it.
  rows attention(int32_t layer, const rows &x) const {
    const std::string at = of_layer(layer);
    const int32_t dim = net_.head_dim, heads_of_kv = net_.n_heads / net_.n_kv_heads;
    const int32_t window = net_.windows.empty() ? 0 : net_.windows.at(static_cast<size_t>(layer));
    rows q = linear(x, at + "wq", at + "bq", net_.n_heads * dim);
    rows k = linear(x, at + "wk", at + "bk", net_.n_kv_heads * dim);
    const rows v = linear(x, at + "wv", at + "bv", net_.n_kv_heads * dim);
    if (!net_.qk_norm.empty()) {
      norm_parts(net_.qk_norm, at + "q_norm", net_.qk_norm_whole ? q.dim : dim, q);
      norm_parts(net_.qk_norm, at + "k_norm", net_.qk_norm_whole ? k.dim : dim, k);
    }
    const rope_settings &rope = window > 0 && net_.local_rope.is_used ? net_.local_rope : net_.rope;
    if (rope.is_used) rotate(rope, dim, q), rotate(rope, dim, k);
    const double scale = net_.attention_scale != 0 ? net_.attention_scale : 1 / std::sqrt(static_cast<double>(dim));
    rows context(x.n, net_.n_heads * dim);
    for (int32_t head = 0; head < net_.n_heads; ++head)
      for (int32_t t = 0; t < x.n; ++t) {
        const int32_t q_at = head * dim, kv_at = head / heads_of_kv * dim;
        const int32_t first = window > 0 ? std::max(t - window + 1, 0) : 0;
        const int32_t last = net_.what == task::decoder ? t : x.n - 1;
        std::vector<double> shares;
        for (int32_t j = first; j <= last; ++j)
          shares.push_back(capped(dot(q.row(t) + q_at, k.row(j) + kv_at, dim) * scale, net_.attention_softcap));
        softmax(shares);
        for (int32_t j = first; j <= last; ++j)
          for (int32_t i = 0; i < dim; ++i)
            context.row(t)[q_at + i] += shares[static_cast<size_t>(j - first)] * v.row(j)[kv_at + i];
      }
    return linear(context, at + "wo", at + "bo", net_.dim);
  }

  // Vaswani et al. 2017; Shazeer 2020 (with a gate).
  rows feed_forward(int32_t layer, const rows &x) const {
    const std::string at = of_layer(layer);
    const function activation = activation_of(net_.activation);
    rows hidden(x.n, net_.ffn_dim);
    if (net_.gate_up) {
      const rows both = linear(x, at + "w_up", at + "b_up", 2 * net_.ffn_dim);
      for (int32_t t = 0; t < x.n; ++t)
        for (int32_t i = 0; i < net_.ffn_dim; ++i)
          hidden.row(t)[i] = activation(both.row(t)[i]) * both.row(t)[net_.ffn_dim + i];
    } else if (!weights_(at + "w_gate").empty()) {
      hidden = linear(x, at + "w_up", at + "b_up", net_.ffn_dim);
      const rows gate = linear(x, at + "w_gate", at + "b_gate", net_.ffn_dim);
      for (size_t i = 0; i < hidden.numbers.size(); ++i) hidden.numbers[i] *= activation(gate.numbers[i]);
    } else {
      hidden = linear(x, at + "w_up", at + "b_up", net_.ffn_dim);
      for (double &number : hidden.numbers) number = activation(number);
    }
    return linear(hidden, at + "w_down", at + "b_down", net_.dim);
  }

  // Norms are before the sublayers (Xiong et al. 2020), or behind their sums (Vaswani et al. 2017). With post_norm they
  // are behind the sublayers (Gemma 2), and then not behind the sums (OLMo 2). Wang and Komatsuzaki 2021: parallel
  // sublayers both take x.
  rows run_layer(int32_t layer, const rows &x) const {
    const std::string at = of_layer(layer);
    const bool norm_of_sums = !net_.norm_first && !net_.post_norm;
    rows h = x;
    if (net_.norm_first) norm(at + "norm1", h);
    rows a = attention(layer, h);
    if (net_.post_norm) norm(at + "post_norm1", a);
    a.add(x);
    if (norm_of_sums) norm(at + "norm1", a);
    rows g = net_.parallel ? x : a;
    if (net_.norm_first) norm(at + "norm2", g);
    rows y = feed_forward(layer, g);
    if (net_.post_norm) norm(at + "post_norm2", y);
    y.add(a);
    if (norm_of_sums) norm(at + "norm2", y);
    return y;
  }

  std::vector<reference_rows> run_layers(rows x) const {
    std::vector<reference_rows> all;
    for (int32_t layer = 0; layer < net_.n_layers; ++layer) {
      x = run_layer(layer, x);
      all.push_back({layer, x.n, x.dim, x.numbers});
    }
    if (net_.has_final_norm) norm("final_norm", x);
    rows result = net_.what == task::decoder ? logits_of(x) : result_of(x);
    all.push_back({net_.n_layers, result.n, result.dim, std::move(result.numbers)});
    return all;
  }

  rows logits_of(const rows &x) const {
    rows logits = linear(x, net_.is_tied ? "embedding" : "classifier", "", net_.n_tokens);
    for (double &logit : logits.numbers) logit = capped(logit, net_.logits_softcap);
    return logits;
  }

  // Devlin et al. 2019: the first row goes through a dense layer, and makes the classes. Reimers and Gurevych 2019: the
  // mean of the rows is an embedding.
  rows result_of(const rows &x) const {
    if (net_.pool == network::pooling::none) throw std::logic_error("an encoder without a pooling has no result");
    const bool is_mean = net_.pool == network::pooling::mean;
    rows result(1, x.dim);
    for (int32_t t = 0; t < (is_mean ? x.n : 1); ++t)
      for (int32_t i = 0; i < x.dim; ++i) result.numbers[static_cast<size_t>(i)] += x.row(t)[i] / (is_mean ? x.n : 1);
    if (net_.has_pooler) {
      result = linear(result, "pooler", "pooler_bias", x.dim);
      const function activation = activation_of(net_.pooler_activation);
      for (double &number : result.numbers) number = activation(number);
    }
    // Touvron et al. 2021: a second token beside the first has a matrix of its own.
    if (net_.n_class_rows == 2) {
      result.numbers.insert(result.numbers.end(), x.row(1), x.row(1) + x.dim);
      result.dim *= 2;
    }
    if (net_.n_classes > 0) return linear(result, "classes", "classes_bias", net_.n_classes);
    const double length = net_.normalizes ? std::sqrt(dot(result.row(0), result.row(0), result.dim)) : 1;
    for (double &number : result.numbers) number /= length;
    return result;
  }

  static std::string of_layer(int32_t layer) { return "layers." + std::to_string(layer) + "."; }

  const network &net_;
  const weights_as_doubles &weights_;
};

}  // namespace

std::vector<reference_rows> reference_of_tokens(const network &net, const weights_as_doubles &weights,
                                                const std::vector<int32_t> &tokens) {
  return model(net, weights).run_tokens(tokens);
}

std::vector<reference_rows> reference_of_picture(const network &net, const weights_as_doubles &weights,
                                                 const std::vector<float> &pixels) {
  return model(net, weights).run_picture(pixels);
}

}  // namespace heed_compile
