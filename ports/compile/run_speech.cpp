// The calls of write_speech.cpp. See run.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "run_parts.hpp"
#include "speech_sizes.hpp"

namespace heed_compile {
namespace {

size_t product(int32_t a, int32_t b) { return static_cast<size_t>(a) * static_cast<size_t>(b); }

// Rows in memory.
struct buffer {
  int32_t n, dim;
  std::vector<float> numbers;
  buffer(int32_t n_rows, int32_t row_dim) : n(n_rows), dim(row_dim), numbers(product(n_rows, row_dim)) {}
  heed_matrix rows() const { return heed_matrix_of(numbers.data(), n, dim); }
  heed_matrix_out out() { return heed_matrix_out_of(numbers.data(), n, dim); }
};

float number_of(int16_t sample) { return static_cast<float>(sample) * (1.0f / 32768.0f); }

// log_of of the program.
int32_t log_of(float power) {
  constexpr uint64_t quarter_of_log10_2 = 323228497;
  const float number = power >= 1e-10f ? power : 1e-10f;
  uint32_t bits;
  std::memcpy(&bits, &number, 4);
  uint64_t log2 = static_cast<uint64_t>((bits >> 23) - 63) << 24;
  uint64_t y = static_cast<uint64_t>((bits & 0x7fffff) | 0x800000) << 8;
  for (uint32_t bit = 1u << 23; bit > 0; bit >>= 1) {
    y = y * y >> 31;
    if (y >> 32 == 0) continue;
    y >>= 1;
    log2 += bit;
  }
  return static_cast<int32_t>(log2 * quarter_of_log10_2 >> 32) - static_cast<int32_t>(quarter_of_log10_2 / 4) +
         (1 << 24);
}

class speech_machine {
 public:
  speech_machine(const network &net, const choices &c, heed_import::span file, int32_t n_rows, int32_t n_tokens)
      : net_(net),
        s_(net.speech),
        file_(file, !c.exact),
        attention_(static_cast<size_t>(net.n_layers)),
        cross_(attention_.size()),
        layers_(attention_.size()),
        caches_(attention_.size()),
        crosses_(attention_.size()) {
    if (net.rope.is_used) file_.open_rope(rope_, net.rope, "rope_frequencies");
    for (int32_t l = 0; l < net.n_layers; ++l) {
      if (l >= s_.n_layers) {
        open_cache(caches_[static_cast<size_t>(l)], c, n_tokens);
        open_cache(crosses_[static_cast<size_t>(l)], c, n_rows);
      }
      open_layer(l);
    }
  }

  // Rows of the encoder before its layers.
  buffer front(const std::vector<int16_t> &samples) const {
    return s_.takes_samples ? front_of_samples(samples) : front_of_spectrogram(spectrogram_of(samples));
  }

  void run_encoder(buffer &x, const see_rows &see) {
    for (int32_t l = 0; l < s_.n_layers; ++l) run_layer(l, x), see(l, 0, x.rows());
    norm("encoder_norm", x);
    for (int32_t l = s_.n_layers; l < net_.n_layers; ++l) {
      const heed_attention_layer &cross = cross_[static_cast<size_t>(l)];
      const size_t n_bytes = heed_attention_layer_bytes(&cross, 1);
      const memory workspace = memory_of(n_bytes);
      require(heed_attention_layer_encode(&cross, x.rows(), heed_memory_of(workspace.get(), n_bytes), nullptr));
    }
  }

  void run_decoder(const std::vector<int32_t> &tokens, const see_rows &see) {
    buffer y(static_cast<int32_t>(tokens.size()), net_.dim);
    const heed_weights embedding = file_.matrix("embedding", net_.dim, net_.n_tokens);
    require(heed_gather_rows(embedding, tokens.data(), y.out()));
    add_positions("positions", net_.n_positions, y);
    for (int32_t l = s_.n_layers; l < net_.n_layers; ++l) run_layer(l, y), see(l, 0, y.rows());
    norm("final_norm", y);
    buffer logits(y.n, net_.n_tokens);
    const heed_weights classifier = net_.is_tied ? embedding : file_.matrix("classifier", net_.dim, net_.n_tokens);
    require(heed_linear(y.rows(), classifier, nullptr, logits.out(), nullptr));
    see(net_.n_layers, 0, logits.rows());
  }

 private:
  void open_cache(heed_cache &cache, const choices &c, int32_t capacity) {
    heed_cache_shape shape = heed_cache_shape_default(capacity, net_.n_kv_heads, net_.head_dim);
    shape.dtype = dtype_of_cache(c);
    const size_t n_bytes = heed_cache_bytes(&shape);
    cache_memory_.push_back(memory_of(n_bytes));
    require(heed_cache_init(&cache, &shape, heed_memory_of(cache_memory_.back().get(), n_bytes)));
  }

  void open_layer(int32_t l) {
    const auto at = static_cast<size_t>(l);
    const bool decodes = l >= s_.n_layers;
    heed_attention_layer &a = attention_[at], &c = cross_[at];
    a = c = heed_attention_layer_default(net_.dim, decodes ? net_.n_heads : s_.n_heads);
    a.n_kv_heads = c.n_kv_heads = decodes ? net_.n_kv_heads : s_.n_kv_heads;
    if (net_.rope.is_used) a.rope = &rope_;
    heed_transformer_layer &t = layers_[at];
    t = heed_transformer_layer_default(&a, decodes ? net_.ffn_dim : s_.ffn_dim, norm_of(net_.norm),
                                       activation_of(decodes ? net_.activation : s_.activation));
    t.norm_first = 1;
    t.eps = static_cast<float>(net_.eps);
    if (decodes) {
      a.causal = 1, a.cache = &caches_[at];
      c.cross = 1, c.cache = &crosses_[at];
      t.cross = &c;
      if (net_.up_gate) t.ffn_order = HEED_FFN_UP_GATE;
    }
    file_.open_layer(net_, l, t, a, decodes ? &c : nullptr);
  }

  void run_layer(int32_t l, buffer &x) {
    const heed_transformer_layer &t = layers_[static_cast<size_t>(l)];
    const size_t n_bytes = heed_transformer_layer_bytes(&t, x.n);
    const memory workspace = memory_of(n_bytes);
    require(heed_transformer_layer_run(&t, x.rows(), x.out(), heed_memory_of(workspace.get(), n_bytes), nullptr));
  }

  void norm(const std::string &name, buffer &x) const {
    require(norm_of(net_.norm)(x.rows(), file_.floats(name + "_weight", net_.dim),
                               file_.floats(name + "_bias", net_.dim), static_cast<float>(net_.eps), x.out(), nullptr));
  }

  // The first rows of a table, if the model has it.
  void add_positions(const std::string &name, int32_t n_positions, buffer &x) const {
    const float *const positions = file_.floats(name, n_positions * net_.dim);
    if (positions != nullptr) require(heed_add(x.rows(), heed_matrix_of(positions, x.n, x.dim), x.out(), nullptr));
  }

  // Convolution `name` of rows x, and f of it.
  buffer convolved(const std::string &name, const buffer &x, int32_t kernel, int32_t stride, int32_t n_out,
                   heed_activation *f) const {
    const heed_matrix windows = heed_windows_of(x.rows(), kernel, stride);
    buffer y(windows.n_rows, n_out);
    require(heed_linear(windows, file_.matrix(name, windows.dim, n_out), file_.floats(name + "_bias", n_out), y.out(),
                        nullptr));
    require(f(y.rows(), heed_no_matrix(), y.out(), nullptr));
    return y;
  }

  buffer front_of_samples(const std::vector<int16_t> &samples) const {
    buffer sound(static_cast<int32_t>(samples.size()), 1);
    std::transform(samples.begin(), samples.end(), sound.numbers.begin(), number_of);
    buffer x = convolved("conv1", sound, 127, 64, net_.dim, heed_tanh);
    require(heed_group_norm(x.rows(), file_.floats("group_norm_weight", net_.dim),
                            file_.floats("group_norm_bias", net_.dim), 1, 1e-5f, x.out(), nullptr));
    x = convolved("conv2", x, 7, 3, 2 * net_.dim, heed_gelu);
    return convolved("conv3", x, 3, 2, net_.dim, heed_gelu);
  }

  // Between two rows of zeros.
  buffer spectrogram_of(const std::vector<int16_t> &samples) const {
    constexpr int32_t half = window_length / 2;
    const auto end = static_cast<int32_t>(samples.size()), n = end / window_step;
    const auto sample = [&](int32_t i) {
      const int32_t behind = i < 0 ? -i : i;
      return number_of(samples[static_cast<size_t>(behind < end ? behind : 2 * end - 2 - behind)]);
    };
    buffer even(n, n_frequencies), odd(n, n_frequencies - 2), spectrum(n, window_length), bands(n, s_.n_mels);
    for (int32_t r = 0; r < n; ++r) {
      float *const sums = even.numbers.data() + product(r, even.dim), *const rests =
                                                                          odd.numbers.data() + product(r, odd.dim);
      const int32_t begin = r * window_step - half;
      sums[0] = sample(begin), sums[half] = sample(begin + half);
      for (int32_t i = 1; i < half; ++i) {
        const float a = sample(begin + i), b = sample(begin + window_length - i);
        sums[i] = a + b, rests[i - 1] = a - b;
      }
    }
    const heed_matrix_out cosines = {spectrum.numbers.data(), n, even.dim, window_length};
    const heed_matrix_out sines = {spectrum.numbers.data() + even.dim, n, odd.dim, window_length};
    require(heed_linear(even.rows(), file_.matrix("dft_even", even.dim, even.dim), nullptr, cosines, nullptr));
    require(heed_linear(odd.rows(), file_.matrix("dft_odd", odd.dim, odd.dim), nullptr, sines, nullptr));
    for (float &number : spectrum.numbers) number *= number;
    require(heed_linear(spectrum.rows(), file_.matrix("mel_filters", window_length, s_.n_mels), nullptr, bands.out(),
                        nullptr));
    std::vector<int32_t> logs;
    for (const float power : bands.numbers) logs.push_back(log_of(power));
    const int32_t least = *std::max_element(logs.begin(), logs.end()) - (2 << 24);
    buffer rows(n + 2, s_.n_mels);
    for (size_t i = 0; i < logs.size(); ++i)
      rows.numbers[static_cast<size_t>(s_.n_mels) + i] =
          static_cast<float>(std::max(logs[i], least)) * (1.0f / 16777216.0f);
    return rows;
  }

  buffer front_of_spectrogram(const buffer &rows) const {
    buffer x = convolved("conv1", rows, 3, 1, net_.dim, heed_gelu);
    x.numbers.insert(x.numbers.begin(), static_cast<size_t>(net_.dim), 0.0f);
    ++x.n;
    x = convolved("conv2", x, 3, 2, net_.dim, heed_gelu);
    add_positions("encoder_positions", s_.n_positions, x);
    return x;
  }

  const network &net_;
  const speech_settings &s_;
  weights_in_file file_;
  heed_rope rope_;
  std::vector<heed_attention_layer> attention_, cross_;
  std::vector<heed_transformer_layer> layers_;
  std::vector<heed_cache> caches_, crosses_;
  std::vector<memory> cache_memory_;
};

}  // namespace

void run_sound(const network &net, const choices &c, heed_import::span file, const std::vector<int16_t> &samples,
               const std::vector<int32_t> &tokens, const see_rows &see) {
  const auto n = static_cast<int32_t>(samples.size());
  const int32_t n_rows = net.speech.takes_samples ? last_rows_of(n) : n / (2 * window_step);
  speech_machine m(net, c, file, n_rows, static_cast<int32_t>(tokens.size()));
  buffer x = m.front(samples);
  m.run_encoder(x, see);
  m.run_decoder(tokens, see);
}

std::vector<int16_t> known_sound() {
  std::vector<int16_t> samples;
  for (uint32_t i = 0; i < known_samples; ++i)
    samples.push_back(static_cast<int16_t>(static_cast<int32_t>(mixed(i) >> 16) - 32768));
  return samples;
}

}  // namespace heed_compile
