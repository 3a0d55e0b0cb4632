// From a published model and samples to a model in integers. See integers.hpp. SPDX-License-Identifier: MIT
#include "integers.hpp"

#include <algorithm>
#include <cmath>

#include "../import/file_bytes.hpp"
#include "../terminal.h"
#include "heed/heed.h"

namespace heed_compile {
namespace {

using calibrate::channel_scales;
using calibrate::histogram;
using calibrate::quantity;
using rows = std::vector<float>;

constexpr double headroom = 1.5;  // of int16, as in calibrate::choice
constexpr double headroom_of_logits = 3;
constexpr double wide = 32767;

void require(heed_status status) {
  if (status != HEED_OK) throw refusal(std::string("heed refuses a call of this model: ") + heed_status_text(status));
}

// The file that is written is the same on every computer: floats differ between the two arithmetics, and each computer has this one.
class one_arithmetic {
 public:
  one_arithmetic() : before_(heed_isa_current()) { require(heed_isa_use("no-fma")); }
  ~one_arithmetic() { heed_isa_use(before_.c_str()); }
  one_arithmetic(const one_arithmetic &) = delete;
  one_arithmetic &operator=(const one_arithmetic &) = delete;

 private:
  std::string before_;
};

double greatest_of(const float *x, size_t n) {
  double greatest = 0;
  for (size_t i = 0; i < n; ++i) greatest = std::max(greatest, std::fabs(static_cast<double>(x[i])));
  return greatest;
}

double wide_scale(double greatest) { return greatest > 0 ? headroom * greatest / wide : 1; }

// int8 with a zero point, which costs nothing: all 256 integers lie between the least and the greatest number.
quantity narrow(double low, double high) {
  if (!(high > low)) return {1, 0};
  const double scale = (high - low) / 255;
  return {scale, calibrate::rounded(-128 - low / scale, 128)};
}
quantity narrow(const histogram &seen, double percent) {
  const double limit = seen.limit(percent);
  return narrow(std::max(seen.low(), -limit), std::min(seen.high(), limit));
}

// A row's unit is at least that of the sum, which is no finer; and at most so large that the sum's range ends before the row's. Rows that
// are also outputs of a matrix may have a finer one, as far as heed_int_add takes it.
int_table quantize_table(const float *numbers, int32_t n_rows, int32_t dim, double sum_scale, bool is_matrix = false) {
  const double least = is_matrix ? sum_scale / 16 : sum_scale;
  int_table t;
  for (int32_t r = 0; r < n_rows; ++r) {
    const float *const row = numbers + static_cast<ptrdiff_t>(r) * dim;
    const double own = greatest_of(row, static_cast<size_t>(dim)) / 127;
    const double unit = std::min(std::max(own, least), 512 * sum_scale);
    t.scales.push_back(unit);
    t.units.push_back(calibrate::multiplier(unit / sum_scale));
    for (int32_t i = 0; i < dim; ++i)
      t.numbers.push_back(static_cast<int8_t>(calibrate::rounded(static_cast<double>(row[i]) / unit, 127)));
  }
  return t;
}

// A matrix (n_out, n_in) of the source, turned.
calibrate::matrix turned(const rows &w, int32_t n_in, int32_t n_out) {
  calibrate::matrix m{std::vector<double>(w.size()), static_cast<size_t>(n_in), static_cast<size_t>(n_out)};
  for (size_t o = 0; o < m.n_out; ++o)
    for (size_t i = 0; i < m.n_in; ++i) m.numbers[i * m.n_out + o] = static_cast<double>(w[o * m.n_in + i]);
  return m;
}

// Several rows lie behind each other in x, and all have the same channels.
calibrate::int_linear quantize_matrix(const rows &w, const rows &bias, int32_t n_in, int32_t n_out, quantity x,
                                      quantity y, const channel_scales &channels = {}) {
  const calibrate::matrix m = calibrate::scaled(turned(w, n_in, n_out), channels, {});
  return calibrate::quantize_linear(m.numbers, {bias.begin(), bias.end()}, n_in, n_out, x, y);
}

// The rows of a table as outputs, whose numbers are factor times the table's.
calibrate::int_linear linear_of_table(const int_table &t, int32_t dim, double factor, quantity x, quantity y) {
  calibrate::int_linear l;
  l.n_in = dim, l.n_out = static_cast<int32_t>(t.scales.size());
  l.numbers = t.numbers;
  for (size_t o = 0; o < t.scales.size(); ++o) {
    int32_t total = 0;
    for (size_t i = 0; i < static_cast<size_t>(dim); ++i) total += t.numbers[o * static_cast<size_t>(dim) + i];
    l.bias.push_back(-x.zero * total);
    l.multipliers.push_back(calibrate::multiplier(x.scale * t.scales[o] * factor / y.scale));
  }
  return l;
}

class recorder {
 public:
  recorder(const network &net, const choices &c, const source_weights &weights)
      : net_(net), weights_(weights), percent_(c.percent), n_rows_(context_of(net, c)) {
    if (net.rope.is_used) open_rope();
    if (net.norm == "heed_rms_norm_plus_one") add_one_to_norms();
    for (int32_t l = 0; l < net.n_layers; ++l) add_layer(l);
    if (net.what == task::vision)
      add_picture_tables();
    else
      add_text_tables();
  }

  void see(const sample &s) {
    rows x = net_.what == task::vision ? rows_of_picture(s.pixels) : rows_of_text(s.tokens);
    const auto n = static_cast<int32_t>(x.size()) / net_.dim;
    for (size_t l = 0; l < layers_.size(); ++l) x = calibrate::in_layer(l, [&] { return layers_[l].see(x, n); });
    if (net_.what == task::decoder)
      see_logits(x, n);
    else
      see_head(std::move(x), n);
  }

  integer_model quantize() {
    integer_model m;
    m.rows = n_rows_;
    calibrate::choice how;
    how.percent = percent_;
    if (net_.rope.is_used) how.n_positions = n_rows_;
    m.sum_scale = sum_scale();
    if (!net_.has_embedding_norm) how.x_scale = m.sum_scale;
    how.has_channels = !net_.norm_first && percent_ == 100;
    how.x_has_channels = net_.has_embedding_norm;
    if (how.has_channels && !net_.has_final_norm && net_.pool == network::pooling::first)
      how.y_channels = channels_of_head(calibrate::most_left_at_a_price);
    m.layers = calibrate::quantize(layers_, how);
    quantize_inputs(m);
    quantize_head(m);
    return m;
  }

 private:
  // Norms whose weights are around 0 become those of others.
  void add_one_to_norms() {
    for (const auto &[name, numbers] : weights_) {
      const bool is_norm = name.find("norm") != std::string::npos && name.find("_weight") != std::string::npos;
      if (!is_norm) continue;
      norms_[name] = numbers;
      for (float &number : norms_[name]) number += 1;
    }
  }

  const rows &of(const std::string &name) const {
    static const rows none;
    const auto changed = norms_.find(name);
    if (changed != norms_.end()) return changed->second;
    const auto found = weights_.find(name);
    return found == weights_.end() ? none : found->second;
  }
  const float *pointer(const std::string &name) const {
    const rows &numbers = of(name);
    return numbers.empty() ? nullptr : numbers.data();
  }
  heed_weights matrix(const std::string &name, int32_t n_in, int32_t n_out) const {
    return heed_weights_of(of(name).data(), nullptr, HEED_F32, HEED_OUT_IN, n_in, n_out);
  }

  void open_rope() {
    const rope_settings &r = net_.rope;
    require(heed_rope_init(&rope_, r.interleaved ? HEED_ROPE_INTERLEAVED : HEED_ROPE_HALVES));
    rope_.rotary_dim = r.rotary_dim;
    rope_.base = static_cast<float>(r.base), rope_.scale = static_cast<float>(r.scale);
    rope_.factor = static_cast<float>(r.factor);
    if (!r.frequencies.empty()) rope_.inverse_frequencies = r.frequencies.data();
  }

  void add_layer(int32_t l) {
    const std::string at = "layers." + std::to_string(l) + ".";
    const int32_t dim = net_.dim, q = net_.n_heads * net_.head_dim, k = net_.n_kv_heads * net_.head_dim;
    heed_attention_layer a = heed_attention_layer_default(dim, net_.n_heads);
    a.n_kv_heads = net_.n_kv_heads, a.head_dim = a.v_dim = net_.head_dim;
    a.causal = net_.what == task::decoder ? 1 : 0;
    if (net_.rope.is_used) a.rope = &rope_;
    if (net_.attention_scale > 0) a.scale = static_cast<float>(net_.attention_scale);
    a.wq = matrix(at + "wq", dim, q), a.wk = matrix(at + "wk", dim, k), a.wv = matrix(at + "wv", dim, k);
    a.wo = matrix(at + "wo", q, dim);
    a.bq = pointer(at + "bq"), a.bk = pointer(at + "bk"), a.bv = pointer(at + "bv"), a.bo = pointer(at + "bo");
    heed_transformer_layer t = heed_transformer_layer_default(&a, net_.ffn_dim, norm_function(), activation());
    t.norm_first = net_.norm_first ? 1 : 0;
    t.eps = static_cast<float>(net_.eps);
    t.w_up = matrix(at + "w_up", dim, net_.ffn_dim), t.w_down = matrix(at + "w_down", net_.ffn_dim, dim);
    if (!of(at + "w_gate").empty()) t.w_gate = matrix(at + "w_gate", dim, net_.ffn_dim);
    t.b_up = pointer(at + "b_up"), t.b_gate = pointer(at + "b_gate"), t.b_down = pointer(at + "b_down");
    t.norm1_weight = pointer(at + "norm1_weight"), t.norm1_bias = pointer(at + "norm1_bias");
    t.norm2_weight = pointer(at + "norm2_weight"), t.norm2_bias = pointer(at + "norm2_bias");
    layers_.emplace_back(t);
  }
  heed_norm *norm_function() const { return net_.norm == "heed_layer_norm" ? heed_layer_norm : heed_rms_norm; }
  heed_activation *activation() const {
    if (net_.activation == "heed_gelu") return heed_gelu;
    if (net_.activation == "heed_gelu_tanh") return heed_gelu_tanh;
    return net_.activation == "heed_silu" ? heed_silu : heed_relu;
  }

  // Positions that the program sees, if there is a table of them. All tokens are of kind 0, whose row is a part of each position.
  void add_text_tables() {
    const auto dim = static_cast<size_t>(net_.dim), offset = static_cast<size_t>(net_.position_offset) * dim;
    const rows &all = of("positions"), &kinds = of("token_types");
    if (!all.empty() || net_.has_token_types) positions_.resize(static_cast<size_t>(n_rows_) * dim);
    for (size_t i = 0; i < positions_.size(); ++i) {
      if (!all.empty()) positions_[i] = all[offset + i];
      if (net_.has_token_types) positions_[i] += kinds[i % dim];
    }
    embedding_ = of("embedding");
    for (float &number : embedding_) number *= static_cast<float>(net_.embedding_scale);
  }
  void add_picture_tables() {
    const auto dim = static_cast<size_t>(net_.dim), n_special = static_cast<size_t>(net_.n_special_rows) * dim;
    const rows &all = of("positions");
    special_ = of("class_token");
    const rows &second = of("distillation_token");
    special_.insert(special_.end(), second.begin(), second.end());
    for (size_t i = 0; i < n_special; ++i) special_[i] += all[i];
    positions_.assign(all.begin() + static_cast<ptrdiff_t>(n_special), all.end());
  }

  rows norm(const rows &x, const std::string &name) const {
    rows y(x.size());
    const auto n = static_cast<int32_t>(x.size()) / net_.dim;
    require(norm_function()(heed_matrix_of(x.data(), n, net_.dim), pointer(name + "_weight"), pointer(name + "_bias"),
                            static_cast<float>(net_.eps), heed_matrix_out_of(y.data(), n, net_.dim), nullptr));
    return y;
  }
  rows linear(const rows &x, const std::string &name, int32_t n_out) const {
    rows y(static_cast<size_t>(n_out));
    const auto n_in = static_cast<int32_t>(x.size());
    require(heed_linear(heed_matrix_of(x.data(), 1, n_in), matrix(name, n_in, n_out), pointer(name + "_bias"),
                        heed_matrix_out_of(y.data(), 1, n_out), nullptr));
    return y;
  }
  static void note(histogram &at, const rows &x, const char *what) {
    if (!std::all_of(x.begin(), x.end(), [](float number) { return std::isfinite(number); }))
      throw refusal(std::string(what) + " overflow: a number is infinite, or none");
    at.see(x.data(), x.size());
  }

  rows rows_of_text(const std::vector<int32_t> &tokens) {
    const auto dim = static_cast<size_t>(net_.dim);
    rows x;
    for (size_t t = 0; t < tokens.size(); ++t)
      for (size_t i = 0; i < dim; ++i)
        x.push_back(embedding_[static_cast<size_t>(tokens[t]) * dim + i] +
                    (positions_.empty() ? 0 : positions_[t * dim + i]));
    note(sums_, x, "rows before the layers");
    return net_.has_embedding_norm ? norm(x, "embedding_norm") : x;
  }
  rows rows_of_picture(const std::vector<float> &pixels) {
    note(pixels_, pixels, "pixels");
    const int32_t side = net_.image_size / net_.patch_size, line = net_.patch_size * net_.n_channels;
    rows x = special_, patch(static_cast<size_t>(net_.patch_size) * static_cast<size_t>(line));
    for (int32_t p = 0; p < side * side; ++p) {
      const ptrdiff_t width = static_cast<ptrdiff_t>(net_.image_size) * net_.n_channels;
      const float *const corner = pixels.data() + p / side * net_.patch_size * width + p % side * line;
      for (size_t i = 0; i < patch.size(); ++i) {
        const auto at = static_cast<ptrdiff_t>(i);
        patch[i] = corner[at / line * width + at % line];
      }
      const rows y = linear(patch, "patches", net_.dim);
      note(sums_, y, "rows of patches");  // they become int16 before positions are added
      x.insert(x.end(), y.begin(), y.end());
      for (size_t i = 0; i < y.size(); ++i)
        x[x.size() - y.size() + i] += positions_[static_cast<size_t>(p) * y.size() + i];
    }
    note(sums_, x, "rows before the layers");
    return x;
  }

  // The range of int16 rows before the layers. Every sum of a text lies in it, whether a sample has it or not, unless a token's row is
  // 16 times as large as any sample's: that would leave the others fewer than 11 bits.
  double sum_scale() const {
    if (net_.what == task::vision) return wide_scale(sums_.greatest());
    const double all =
        greatest_of(embedding_.data(), embedding_.size()) + greatest_of(positions_.data(), positions_.size());
    const double most = std::min(all, 16 * sums_.greatest());
    return most > 0 ? most / wide : 1;
  }

  void see_head(rows x, int32_t n) {
    const bool is_mean = net_.pool == network::pooling::mean;
    const auto dim = static_cast<size_t>(net_.dim);
    if (!is_mean) x.resize(static_cast<size_t>(net_.n_class_rows) * dim);
    if (net_.has_final_norm) {
      x = norm(x, "final_norm");
      note(normed_, x, "rows behind the final norm");
    }
    if (is_mean) {
      rows mean(dim);
      for (size_t i = 0; i < x.size(); ++i) mean[i % dim] += x[i] / static_cast<float>(n);
      x = mean;
      note(mean_, x, "means");
    }
    if (net_.n_classes > 0) {
      note(head_, x, "rows of the head");
      of_head_.see(x.data(), x.size() / dim, dim);
      if (net_.has_pooler) {
        x = linear(x, "pooler", net_.dim);
        note(pooled_, x, "rows of the pooler");
        for (float &number : x) number = static_cast<float>(pooler_activation(static_cast<double>(number)));
        note(activated_, x, "rows of the pooler");
      }
      x = linear(x, "classes", net_.n_classes);
    } else if (net_.normalizes) {
      double squares = 0;
      for (const float number : x) squares += static_cast<double>(number) * static_cast<double>(number);
      for (float &number : x)
        number = squares > 0 ? static_cast<float>(static_cast<double>(number) / std::sqrt(squares)) : 0;
    }
    note(result_, x, "results");
  }
  // The matrix that makes logits: the embedding itself, and not what embedding_scale makes of it.
  std::string classifier() const { return net_.is_tied ? "embedding" : "classifier"; }
  void see_logits(const rows &x, int32_t n) {
    const rows h = norm(x, "final_norm");
    note(head_, h, "rows behind the final norm");
    of_head_.see(h.data(), static_cast<size_t>(n), static_cast<size_t>(net_.dim));
    for (auto row = h.begin(); row != h.end(); row += net_.dim)
      note(result_, linear({row, row + net_.dim}, classifier(), net_.n_tokens), "logits");
  }
  double pooler_activation(double x) const {
    return net_.pooler_activation == "heed_tanh" ? std::tanh(x) : std::max(x, 0.0);
  }

  // Its rows hold numbers divided by their channels' scales.
  calibrate::int_norm int_norm(const std::string &name, double x_scale, double y_scale,
                               const channel_scales &channels = {}) const {
    const auto dim = static_cast<size_t>(net_.dim);
    const rows ones(dim, 1), &own = of(name + "_weight");
    const rows weight = calibrate::divided(own.empty() ? ones.data() : own.data(), channels, dim),
               bias = calibrate::divided(pointer(name + "_bias"), channels, dim);
    return calibrate::quantize_norm(weight.data(), bias.empty() ? nullptr : bias.data(), net_.dim,
                                    static_cast<float>(net_.eps), x_scale, y_scale);
  }

  void quantize_inputs(integer_model &m) const {
    const double x_scale = m.layers.front().x_scale();
    const auto n_positions = static_cast<int32_t>(positions_.size()) / net_.dim;
    m.positions = quantize_table(positions_.data(), n_positions, net_.dim, m.sum_scale);
    if (net_.what == task::vision) {
      m.pixels = narrow(pixels_, percent_);
      m.special_rows = calibrate::to_int16(special_, m.sum_scale);
      m.patches =
          quantize_matrix(of("patches"), of("patches_bias"), net_.patch_size * net_.patch_size * net_.n_channels,
                          net_.dim, m.pixels, {m.sum_scale});
      return;
    }
    m.embedding = quantize_table(embedding_.data(), net_.n_tokens, net_.dim, m.sum_scale, net_.is_tied);
    if (net_.has_embedding_norm)
      m.embedding_norm = int_norm("embedding_norm", m.sum_scale, x_scale, m.layers.front().x_channels());
  }

  // Scales for the rows of int8 that the first matrix of the head takes: a part of it for each row.
  channel_scales channels_of_head(double most) const {
    const bool is_decoder = net_.what == task::decoder;
    if ((net_.n_classes == 0 && !is_decoder) || percent_ < 100) return {};
    const int32_t n_rows = net_.has_pooler ? 1 : net_.n_class_rows;
    const calibrate::matrix all = is_decoder        ? turned(of(classifier()), net_.dim, net_.n_tokens)
                                  : net_.has_pooler ? turned(of("pooler"), net_.dim, net_.dim)
                                                    : turned(of("classes"), n_rows * net_.dim, net_.n_classes);
    const ptrdiff_t n = static_cast<ptrdiff_t>(all.numbers.size()) / n_rows;
    std::vector<calibrate::matrix> parts;
    std::vector<const calibrate::matrix *> behind;
    for (auto from = all.numbers.begin(); from != all.numbers.end(); from += n)
      parts.push_back({std::vector<double>(from, from + n), all.n_in / static_cast<size_t>(n_rows), all.n_out});
    for (const calibrate::matrix &part : parts) behind.push_back(&part);
    return calibrate::choose_scales(of_head_, behind, most);
  }

  void quantize_head(integer_model &m) const {
    double scale = m.layers.back().y_scale();  // of rows of int16
    if (net_.what == task::decoder) return quantize_logits(m, scale);
    if (has_wide_final_norm(net_)) {
      m.norm_scale = wide_scale(normed_.greatest());
      m.final_norm = int_norm("final_norm", scale, m.norm_scale);
      scale = m.norm_scale;
    }
    if (net_.pool == network::pooling::mean) {
      const double room = mean_.greatest() > 0 ? wide * scale / (headroom * mean_.greatest()) : 1;
      m.mean_shift = std::max(0, std::min(15, static_cast<int32_t>(std::floor(std::log2(room)))));
      scale = std::ldexp(scale, -m.mean_shift);
    }
    if (net_.n_classes > 0)
      quantize_classes(m, scale);
    else
      quantize_embedding(m, scale);
  }
  // One table is enough where the embedding makes the logits, unless scales of channels are worth another one.
  void quantize_logits(integer_model &m, double scale) const {
    const channel_scales channels =
        channels_of_head(net_.is_tied ? calibrate::most_left_at_a_price : calibrate::most_left);
    m.head = channels.empty() ? narrow(head_, percent_) : narrow(of_head_.low_of(channels), of_head_.high_of(channels));
    m.final_norm = int_norm("final_norm", scale, m.head.scale, channels);
    m.result_scale = headroom_of_logits / headroom * wide_scale(result_.greatest());
    m.is_tied = net_.is_tied && channels.empty();
    m.classes =
        m.is_tied ? linear_of_table(m.embedding, net_.dim, 1 / net_.embedding_scale, m.head, {m.result_scale})
                  : quantize_matrix(of(classifier()), {}, net_.dim, net_.n_tokens, m.head, {m.result_scale}, channels);
  }
  void quantize_classes(integer_model &m, double scale) const {
    const bool is_normed = net_.has_final_norm && !has_wide_final_norm(net_);
    channel_scales channels = is_normed ? channels_of_head(calibrate::most_left) : m.layers.back().y_channels();
    m.head = channels.empty() ? narrow(head_, percent_) : narrow(of_head_.low_of(channels), of_head_.high_of(channels));
    m.to_head = calibrate::multiplier(scale / m.head.scale);
    if (is_normed) m.final_norm = int_norm("final_norm", scale, m.head.scale, channels);
    quantity x = m.head;
    if (net_.has_pooler) {
      m.pooled = narrow(pooled_, percent_), m.activated = narrow(activated_, percent_);
      m.pooler = quantize_matrix(of("pooler"), of("pooler_bias"), net_.dim, net_.dim, x, m.pooled, channels);
      channels.clear();
      for (int32_t i = -128; i < 128; ++i) {
        const double exact = pooler_activation((i - m.pooled.zero) * m.pooled.scale) / m.activated.scale;
        const double number = std::round(exact) + m.activated.zero;
        m.pooler_activation.push_back(static_cast<int8_t>(std::max(-128.0, std::min(127.0, number))));
      }
      x = m.activated;
    }
    m.result_scale = wide_scale(result_.greatest());
    m.classes = quantize_matrix(of("classes"), of("classes_bias"), net_.n_class_rows * net_.dim, net_.n_classes, x,
                                {m.result_scale}, channels);
  }
  // No zero point: products of two embeddings then need none.
  void quantize_embedding(integer_model &m, double scale) const {
    m.result_scale = result_.greatest() > 0 ? result_.limit(percent_) / 127 : 1;
    if (net_.normalizes) {
      const std::vector<float> weight(static_cast<size_t>(net_.dim),
                                      static_cast<float>(1 / std::sqrt(static_cast<double>(net_.dim))));
      m.unit_length = calibrate::quantize_norm(weight.data(), nullptr, net_.dim, 0, 1, m.result_scale);
    } else if (net_.has_final_norm && !has_wide_final_norm(net_)) {
      m.final_norm = int_norm("final_norm", scale, m.result_scale);
    } else {
      m.to_head = calibrate::multiplier(scale / m.result_scale);
    }
  }

  const network &net_;
  const source_weights &weights_;
  source_weights norms_;  // instead of those of weights_
  double percent_;
  int32_t n_rows_;
  heed_rope rope_{};
  std::vector<calibrate::layer> layers_;
  rows embedding_, positions_, special_;
  calibrate::channel_ranges of_head_;
  histogram pixels_, sums_, normed_, mean_, head_, pooled_, activated_, result_;
};

}  // namespace

bool has_wide_final_norm(const network &net) {
  const bool needs_it = net.pool == network::pooling::mean || (net.n_classes == 0 && net.normalizes);
  return net.has_final_norm && needs_it;
}

source_weights weights_of_plans(const network &net, const std::vector<plan> &plans) {
  source_weights weights;
  for (size_t i = 0; i < plans.size(); ++i) {
    const std::vector<double> numbers = numbers_of(net, plans[i]);
    heed_import::file_bytes::forget(plans[i].source->numbers_in_file());
    if (!std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); }))
      throw refusal("--integers: " + names::for_terminal(plans[i].source->name) +
                    " has an infinite number, or one that is none");
    weights[plans[i].name].assign(numbers.begin(), numbers.end());
    show_progress("tensors", i + 1, plans.size());
  }
  return weights;
}

integer_model in_integers(const network &net, const choices &c, const source_weights &weights,
                          const std::vector<sample> &samples) {
  const one_arithmetic alike;
  recorder r(net, c, weights);
  for (size_t i = 0; i < samples.size(); ++i) {
    try {
      r.see(samples[i]);
    } catch (const std::exception &error) {
      throw refusal("--integers: sample " + std::to_string(i) + ", " + error.what());
    }
    show_progress("samples", i + 1, samples.size());
  }
  return r.quantize();
}

}  // namespace heed_compile
