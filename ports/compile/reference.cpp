// See reference.hpp. All numbers are doubles, and all rows of a text pass through a layer together: there is no cache.
// SPDX-License-Identifier: MIT
#include "reference_parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace heed_compile {
namespace {

using namespace in_doubles;

class model : formulas {
 public:
  using formulas::formulas;

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
