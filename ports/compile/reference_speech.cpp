// Whisper and Moonshine in double precision. See reference.hpp. SPDX-License-Identifier: MIT
#include "reference_parts.hpp"

namespace heed_compile {
namespace {

using namespace in_doubles;

class speech_model : formulas {
 public:
  speech_model(const network &net, const weights_as_doubles &weights, std::vector<double> *attended)
      : formulas(net, weights), attended_(attended) {}

  std::vector<reference_rows> run(const std::vector<int16_t> &samples, const std::vector<int32_t> &tokens) const {
    std::vector<reference_rows> all;
    rows x = net_.speech.takes_samples ? front_of_samples(samples) : front_of_spectrogram(samples);
    for (int32_t l = 0; l < net_.speech.n_layers; ++l) {
      run_encoder_layer(l, x);
      all.push_back({l, x.n, x.dim, x.numbers});
    }
    norm("encoder_norm", x);
    if (attended_ != nullptr) attended_->assign(tokens.size() * static_cast<size_t>(x.n), 0);
    rows y(static_cast<int32_t>(tokens.size()), net_.dim);
    add_rows_of("embedding", y, [&](int32_t t) { return tokens[static_cast<size_t>(t)]; });
    add_rows_of(
        "positions", y, [](int32_t t) { return t; }, true);
    for (int32_t l = net_.speech.n_layers; l < net_.n_layers; ++l) {
      run_decoder_layer(l, x, y);
      all.push_back({l, y.n, y.dim, y.numbers});
    }
    norm("final_norm", y);
    const rows logits = linear(y, net_.is_tied ? "embedding" : "classifier", "", net_.n_tokens);
    all.push_back({net_.n_layers, logits.n, logits.dim, logits.numbers});
    return all;
  }

 private:
  // Output o of row t: the sum over channels and time steps. The table has its steps one behind the other.
  rows convolved(const std::string &name, const rows &x, int32_t kernel, int32_t stride, int32_t n_out,
                 const std::string &activation) const {
    rows windows((x.n - kernel) / stride + 1, kernel * x.dim);
    for (int32_t t = 0; t < windows.n; ++t)
      std::copy(x.row(t * stride), x.row(t * stride) + windows.dim, windows.row(t));
    rows y = linear(windows, name, name + "_bias", n_out);
    for (double &number : y.numbers) number = activation_of(activation)(number);
    return y;
  }

  // Jeffries et al. 2024. Wu and He 2018, with one group: all numbers have one mean and one deviation.
  rows front_of_samples(const std::vector<int16_t> &samples) const {
    rows sound(static_cast<int32_t>(samples.size()), 1);
    for (size_t i = 0; i < samples.size(); ++i) sound.numbers[i] = samples[i] / 32768.0;
    rows x = convolved("conv1", sound, 127, 64, net_.dim, "heed_tanh");
    const std::vector<double> weight = vector("group_norm_weight", net_.dim),
                              bias = vector("group_norm_bias", net_.dim);
    const auto count = static_cast<double>(x.numbers.size());
    double mean = 0, squares = 0;
    for (const double number : x.numbers) mean += number / count;
    for (const double number : x.numbers) squares += (number - mean) * (number - mean) / count;
    for (int32_t t = 0; t < x.n; ++t)
      for (int32_t i = 0; i < x.dim; ++i) {
        const auto at = static_cast<size_t>(i);
        x.row(t)[i] = (x.row(t)[i] - mean) / std::sqrt(squares + 1e-5) * weight[at] + bias[at];
      }
    x = convolved("conv2", x, 7, 3, 2 * net_.dim, "heed_gelu");
    return convolved("conv3", x, 3, 2, net_.dim, "heed_gelu");
  }

  // Radford et al. 2022: the power of each frequency in a window of Hann, in bands, as a logarithm.
  rows spectrogram_of(const std::vector<int16_t> &samples) const {
    const auto end = static_cast<int32_t>(samples.size());
    rows spectrogram(end / window_step, net_.speech.n_mels);
    const std::vector<double> filters = mel_filters_of(net_);
    double greatest = -10;
    for (int32_t t = 0; t < spectrogram.n; ++t) {
      std::vector<double> powers;
      for (int32_t k = 0; k < n_frequencies; ++k) {
        double cosines = 0, sines = 0;
        for (int32_t i = 0; i < window_length; ++i) {
          int32_t at = std::abs(t * window_step - window_length / 2 + i);
          if (at >= end) at = 2 * (end - 1) - at;
          const double hann = 0.5 - 0.5 * std::cos(2 * M_PI * i / window_length);
          const double number = hann * samples[static_cast<size_t>(at)] / 32768.0;
          cosines += number * std::cos(2 * M_PI * k * i / window_length);
          sines += number * std::sin(2 * M_PI * k * i / window_length);
        }
        powers.push_back(cosines * cosines + sines * sines);
      }
      for (int32_t band = 0; band < spectrogram.dim; ++band) {
        const double power =
            dot(filters.data() + static_cast<ptrdiff_t>(band) * n_frequencies, powers.data(), n_frequencies);
        spectrogram.row(t)[band] = std::log10(std::max(power, 1e-10));
        greatest = std::max(greatest, spectrogram.row(t)[band]);
      }
    }
    for (double &number : spectrogram.numbers) number = (std::max(number, greatest - 8) + 4) / 4;
    return spectrogram;
  }

  // Between rows of zeros.
  static rows padded(const rows &x) {
    rows y(x.n + 2, x.dim);
    std::copy(x.numbers.begin(), x.numbers.end(), y.numbers.begin() + x.dim);
    return y;
  }

  rows front_of_spectrogram(const std::vector<int16_t> &samples) const {
    const rows first = convolved("conv1", padded(spectrogram_of(samples)), 3, 1, net_.dim, "heed_gelu");
    rows x = convolved("conv2", padded(first), 3, 2, net_.dim, "heed_gelu");
    add_rows_of("encoder_positions", x, [](int32_t t) { return t; });
    return x;
  }

  struct heads {
    int32_t n, n_kv, dim;
  };

  // Rows x ask rows `from`. first: "" or "cross_".
  rows attention(int32_t layer, const rows &x, const rows &from, const heads &h, const std::string &first,
                 bool is_causal) const {
    const std::string at = of_layer(layer) + first;
    const bool is_cross = !first.empty();
    rows q = linear(x, at + "wq", at + "bq", h.n * h.dim), k = linear(from, at + "wk", at + "bk", h.n_kv * h.dim);
    const rows v = linear(from, at + "wv", at + "bv", h.n_kv * h.dim);
    if (net_.rope.is_used && !is_cross) rotate(net_.rope, h.dim, q), rotate(net_.rope, h.dim, k);
    rows context(x.n, h.n * h.dim);
    for (int32_t head = 0; head < h.n; ++head)
      for (int32_t t = 0; t < x.n; ++t) {
        const int32_t q_at = head * h.dim, kv_at = head / (h.n / h.n_kv) * h.dim;
        const int32_t n_seen = is_causal ? t + 1 : from.n;
        std::vector<double> shares;
        for (int32_t j = 0; j < n_seen; ++j)
          shares.push_back(dot(q.row(t) + q_at, k.row(j) + kv_at, h.dim) / std::sqrt(static_cast<double>(h.dim)));
        softmax(shares);
        for (int32_t j = 0; is_cross && attended_ != nullptr && j < n_seen; ++j)
          (*attended_)[static_cast<size_t>(t) * static_cast<size_t>(from.n) + static_cast<size_t>(j)] +=
              shares[static_cast<size_t>(j)];
        for (int32_t j = 0; j < n_seen; ++j)
          for (int32_t i = 0; i < h.dim; ++i)
            context.row(t)[q_at + i] += shares[static_cast<size_t>(j)] * v.row(j)[kv_at + i];
      }
    return linear(context, at + "wo", at + "bo", net_.dim);
  }

  rows normed(const std::string &name, rows x) const {
    norm(name, x);
    return x;
  }

  void run_encoder_layer(int32_t l, rows &x) const {
    const speech_settings &s = net_.speech;
    const std::string at = of_layer(l);
    const rows h = normed(at + "norm1", x);
    x.add(attention(l, h, h, {s.n_heads, s.n_kv_heads, s.head_dim}, "", false));
    rows hidden = linear(normed(at + "norm2", x), at + "w_up", at + "b_up", s.ffn_dim);
    for (double &number : hidden.numbers) number = activation_of(s.activation)(number);
    x.add(linear(hidden, at + "w_down", at + "b_down", net_.dim));
  }

  // encoded: the encoder's rows behind its norm.
  void run_decoder_layer(int32_t l, const rows &encoded, rows &y) const {
    const std::string at = of_layer(l);
    const heads of_decoder = {net_.n_heads, net_.n_kv_heads, net_.head_dim};
    const rows h = normed(at + "norm1", y);
    y.add(attention(l, h, h, of_decoder, "", true));
    y.add(attention(l, normed(at + "norm_cross", y), encoded, of_decoder, "cross_", false));
    const rows g = normed(at + "norm2", y);
    const rows up = linear(g, at + "w_up", at + "b_up", net_.up_gate ? 2 * net_.ffn_dim : net_.ffn_dim);
    rows hidden(y.n, net_.ffn_dim);
    for (int32_t t = 0; t < y.n; ++t)
      for (int32_t i = 0; i < net_.ffn_dim; ++i) {
        const double value = up.row(t)[i];
        hidden.row(t)[i] = net_.up_gate ? value * activation_of(net_.activation)(up.row(t)[net_.ffn_dim + i])
                                        : activation_of(net_.activation)(value);
      }
    y.add(linear(hidden, at + "w_down", at + "b_down", net_.dim));
  }

  std::vector<double> *attended_;
};

}  // namespace

std::vector<reference_rows> reference_of_sound(const network &net, const weights_as_doubles &weights,
                                               const std::vector<int16_t> &samples, const std::vector<int32_t> &tokens,
                                               std::vector<double> *attended) {
  return speech_model(net, weights, attended).run(samples, tokens);
}

}  // namespace heed_compile
