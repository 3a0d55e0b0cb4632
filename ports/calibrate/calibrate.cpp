#include "calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace calibrate {
namespace {

constexpr double log2e = 1.4426950408889634;

void expect(bool condition, const char *otherwise) {
  if (!condition) throw std::invalid_argument(otherwise);
}
void expect_ok(heed_status status) {
  if (status != HEED_OK)
    throw std::invalid_argument(std::string(heed_status_argument(status)) + ": " + heed_status_text(status));
}

// y (n, n_out) = x w + bias.
std::vector<float> times(const std::vector<float> &x, int32_t n, const heed_weights &w, const float *bias) {
  std::vector<float> y(static_cast<size_t>(n) * static_cast<size_t>(w.n_out));
  expect_ok(
      heed_linear(heed_matrix_of(x.data(), n, w.n_in), w, bias, heed_matrix_out_of(y.data(), n, w.n_out), nullptr));
  return y;
}

// Weights of any format and layout: what they make of the unit rows.
matrix widened(const heed_weights &w) {
  matrix m;
  if (!w.data) return m;
  std::vector<float> units(static_cast<size_t>(w.n_in) * static_cast<size_t>(w.n_in));
  for (int32_t i = 0; i < w.n_in; i++) units[static_cast<size_t>(i) * static_cast<size_t>(w.n_in + 1)] = 1;
  const std::vector<float> numbers = times(units, w.n_in, w, nullptr);
  m.numbers.assign(numbers.begin(), numbers.end());
  m.n_in = static_cast<size_t>(w.n_in), m.n_out = static_cast<size_t>(w.n_out);
  return m;
}

std::vector<float> sum(const std::vector<float> &a, const std::vector<float> &b) {
  std::vector<float> y(a.size());
  for (size_t i = 0; i < a.size(); i++) y[i] = a[i] + b[i];
  return y;
}

double greatest_scale(const channel_scales &s) { return s.empty() ? 1 : *std::max_element(s.begin(), s.end()); }

// The norms of a layer whose rows of int16 have channels: their weights are followed by 2^15 times the scales, which are 1 at most.
template <heed_int_norm_function *norm>
heed_status norm_of_channels(heed_int_matrix x, heed_int_norm n, heed_int_matrix_out y, const heed_executor *executor) {
  for (int32_t r = 0; r < x.n_rows; r++) {
    const int16_t *const from = static_cast<const int16_t *>(x.data) + r * x.row_stride;
    int16_t *const to = static_cast<int16_t *>(y.data) + r * y.row_stride;
    for (int32_t i = 0; i < x.dim; i++) to[i] = static_cast<int16_t>((from[i] * n.weight[x.dim + i] + 16384) >> 15);
  }
  return norm({y.data, y.dtype, y.n_rows, y.dim, y.row_stride, 0}, n, y, executor);
}

heed_int_norm_function *norm_function(heed_norm *of_floats, bool has_channels) {
  if (of_floats == heed_layer_norm) return has_channels ? norm_of_channels<heed_int_layer_norm> : heed_int_layer_norm;
  return has_channels ? norm_of_channels<heed_int_rms_norm> : heed_int_rms_norm;
}

void add_channels(int_norm &n, const channel_scales &s) {
  const double unit = 32768 / greatest_scale(s);
  const size_t dim = n.weight.size();
  for (size_t i = 0; i < dim; i++) n.weight.push_back(rounded(scale_at(s, i) * unit, 32768));
}

int32_t activation_of(heed_activation *f) {
  if (f == heed_gelu) return HEED_INT_GELU;
  if (f == heed_gelu_tanh) return HEED_INT_GELU_TANH;
  if (f == heed_silu) return HEED_INT_SILU;
  expect(f == heed_relu, "the activation is none of heed's");
  return HEED_INT_RELU;
}

}  // namespace

void histogram::see(const float *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const double value = static_cast<double>(x[i]), magnitude = std::fabs(value);
    expect(std::isfinite(value), "a number is infinite, or none");
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
    greatest_ = std::max(greatest_, magnitude);
    if (width_ == 0 && magnitude > 0) width_ = 2 * magnitude / n_bins;
    while (magnitude > 0 && magnitude >= width_ * n_bins) {  // two bins become one
      for (size_t k = 0; k < n_bins / 2; k++) bins_[k] = bins_[2 * k] + bins_[2 * k + 1];
      std::fill(bins_.begin() + n_bins / 2, bins_.end(), 0);
      width_ *= 2;
    }
    bins_[magnitude > 0 ? static_cast<size_t>(magnitude / width_) : 0]++;
    squares_ += value * value;
    total_++;
  }
}

double histogram::rms() const { return total_ > 0 ? std::sqrt(squares_ / static_cast<double>(total_)) : 0; }

double histogram::limit(double percent) const {
  if (percent >= 100) return greatest_;
  const double wanted = static_cast<double>(total_) * percent / 100;
  double seen = 0;
  for (size_t k = 0; k < n_bins; k++) {
    seen += static_cast<double>(bins_[k]);
    if (seen >= wanted) return std::min(greatest_, width_ * static_cast<double>(k + 1));
  }
  return greatest_;
}

layer::layer(const heed_transformer_layer &of_floats) : floats_(of_floats) {
  expect(of_floats.attention != nullptr, "the layer has no attention");
  attention_ = *of_floats.attention;
  expect(!attention_.cache && !attention_.options, "caches and options are not possible");
  expect(!attention_.qk_norm && !of_floats.post_norm, "norms of q and k, and of a sublayer's result, are not possible");
  expect(!attention_.cross && !of_floats.cross && !attention_.batch, "cross-attention and batches are not possible");
  expect(!of_floats.parallel && of_floats.ffn_order == HEED_FFN_SEPARATE && !of_floats.out_rows,
         "parallel sublayers, another ffn_order and out_rows are not possible");
  expect(attention_.v_dim == attention_.head_dim, "v_dim is not head_dim");
  expect(floats_.norm == heed_layer_norm || floats_.norm == heed_rms_norm, "the norm is none of heed's");
  activation_of(floats_.activation);
  if (attention_.rope) {
    rope_ = *attention_.rope;
    expect(!rope_->positions, "positions of a rope's own are not possible");
    std::vector<float> head(static_cast<size_t>(std::max(1, attention_.head_dim)));
    rotate(*rope_, head, 1, static_cast<int32_t>(head.size()));  // heed refuses what is wrong with it
  }
  static const char *const names[n_places] = {"x", "h", "q",  "k",    "v",      "context", "attention", "sum1",
                                              "a", "g", "up", "gate", "hidden", "result",  "sum2",      "y"};
  for (size_t i = 0; i < n_places; i++) {
    const bool wide =
        i == at_x || i == at_attention || i == at_sum1 || i == at_a || i == at_result || i == at_sum2 || i == at_y;
    sites_[i].name = names[i];
    sites_[i].bits = wide ? 16 : 8;
  }
}

// What the layer makes of x (n, model_dim). `at` sees the numbers of each place on their way, and may change them.
std::vector<float> layer::run(const std::vector<float> &input, int32_t n, const visitor &at) const {
  const heed_transformer_layer &l = floats_;
  const heed_attention_layer &a = attention_;
  const int32_t dim = a.model_dim;
  expect(input.size() == static_cast<size_t>(n) * static_cast<size_t>(dim), "x is not (n, model_dim)");
  using rows = std::vector<float>;
  const auto seen = [&](place where, rows r) {
    at(where, r);
    return r;
  };
  const auto norm = [&](const rows &r, const float *weight, const float *bias) {
    rows y(r.size());
    expect_ok(
        l.norm(heed_matrix_of(r.data(), n, dim), weight, bias, l.eps, heed_matrix_out_of(y.data(), n, dim), nullptr));
    return y;
  };
  const auto activate = [&](const rows &r) {
    rows y(r.size());
    expect_ok(l.activation(heed_matrix_of(r.data(), n, l.ffn_dim), heed_no_matrix(),
                           heed_matrix_out_of(y.data(), n, l.ffn_dim), nullptr));
    return y;
  };
  const rows x = seen(at_x, input), h = seen(at_h, l.norm_first ? norm(x, l.norm1_weight, l.norm1_bias) : x);
  const auto with_positions = [&](place where, rows r) {
    if (!rope_) return r;
    rotate(*rope_, r, n, a.head_dim);
    return seen(where, r);
  };
  const rows q = with_positions(at_q, seen(at_q, times(h, n, a.wq, a.bq))),
             k = with_positions(at_k, seen(at_k, times(h, n, a.wk, a.bk))), v = seen(at_v, times(h, n, a.wv, a.bv));
  const rows attended = seen(at_attention, times(seen(at_context, attend(q, k, v, n)), n, a.wo, a.bo));
  rows sum1 = sum(x, attended);
  if (!l.norm_first) sum1 = norm(seen(at_sum1, sum1), l.norm1_weight, l.norm1_bias);
  const rows middle = seen(at_a, sum1),
             g = seen(at_g, l.norm_first ? norm(middle, l.norm2_weight, l.norm2_bias) : middle);
  rows hidden = seen(at_up, times(g, n, l.w_up, l.b_up));
  if (l.w_gate.data) {
    const rows gate = seen(at_gate, activate(seen(at_gate, times(g, n, l.w_gate, l.b_gate))));
    for (size_t i = 0; i < hidden.size(); i++) hidden[i] *= gate[i];
  } else {
    hidden = activate(hidden);
  }
  const rows result = seen(at_result, times(seen(at_hidden, hidden), n, l.w_down, l.b_down));
  rows sum2 = sum(middle, result);
  if (!l.norm_first) sum2 = norm(seen(at_sum2, sum2), l.norm2_weight, l.norm2_bias);
  return seen(at_y, sum2);
}

std::vector<float> layer::attend(const std::vector<float> &q, const std::vector<float> &k, const std::vector<float> &v,
                                 int32_t n) const {
  const heed_attention_layer &a = attention_;
  std::vector<float> context(static_cast<size_t>(n) * static_cast<size_t>(a.n_heads * a.head_dim));
  std::vector<unsigned char> room(
      HEED_WORKSPACE_BYTES(static_cast<size_t>(a.head_dim), static_cast<size_t>(a.head_dim)) + 64);
  void *aligned = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
  heed_attention call = heed_attention_of(q.data(), k.data(), v.data(), n, n, a.n_heads, a.n_kv_heads, a.head_dim,
                                          context.data(), heed_memory_of(aligned, room.size() - 64));
  call.scale = a.scale;
  call.causal = a.causal;
  expect_ok(heed_attention_run(&call));
  return context;
}

std::vector<float> layer::see(const std::vector<float> &x, int32_t n) {
  return run(x, n, [&](place where, const std::vector<float> &r) {
    for (const float v : r)
      if (!std::isfinite(v))
        throw std::invalid_argument(sites_[where].name + " overflows: a number is infinite, or none");
    sites_[where].seen.see(r.data(), r.size());
    sites_[where].of_channels.see(r.data(), static_cast<size_t>(n), r.size() / static_cast<size_t>(n));
  });
}

// Zero points cost nothing: they go into the biases of the products before and after. Only the hidden rows of a layer that is
// not gated have one: gelu and its like leave next to nothing below zero.
void layer::set_scale(place where, const choice &c) {
  site &s = sites_[where];
  const double greatest =
      s.channels.empty() ? s.seen.limit(s.bits == 16 ? 100 : c.percent) : s.of_channels.greatest_of(s.channels);
  const double limit = s.bits == 16 ? c.headroom * greatest : greatest;
  s.zero = 0;
  s.scale = limit > 0 ? limit / (s.bits == 16 ? 32767 : 127) : 1;
  if (limit == 0 || floats_.w_gate.data || (where != at_up && where != at_hidden)) return;
  const double low = std::min(0.0, std::max(s.seen.low(), -limit)),
               high = std::max(0.0, std::min(s.seen.high(), limit));
  s.scale = (high - low) / 255;
  s.zero = rounded(-128 - low / s.scale, 128);
}

layer::matrices layer::widened_matrices() const {
  const heed_transformer_layer &l = floats_;
  const heed_attention_layer &a = attention_;
  return {widened(a.wq),   widened(a.wk),     widened(a.wv),    widened(a.wo),
          widened(l.w_up), widened(l.w_gate), widened(l.w_down)};
}

channel_scales layer::wanted_channels(place where) const {
  const matrices m = widened_matrices();
  std::vector<const matrix *> behind = {&m.w_up, &m.w_gate};
  if (where == at_h) behind = {&m.wq, &m.wk, &m.wv};
  if (behind.back()->n_in == 0) behind.pop_back();
  return choose_scales(sites_[where].of_channels, behind, most_left_at_a_price);
}

// Both elements of a pair that turns need the same scale.
channel_ranges layer::joined_by_rope(place where) const {
  channel_ranges ranges = sites_[where].of_channels;
  if (!rope_) return ranges;
  const size_t dim = static_cast<size_t>(attention_.head_dim),
               pairs = static_cast<size_t>(rope_->rotary_dim == 0 ? attention_.head_dim : rope_->rotary_dim) / 2;
  const bool halves = rope_->style == HEED_ROPE_HALVES;
  for (size_t head = 0; head < ranges.n_channels(); head += dim)
    for (size_t i = 0; i < pairs; ++i)
      halves ? ranges.join(head + i, head + i + pairs) : ranges.join(head + 2 * i, head + 2 * i + 1);
  return ranges;
}

// Where rows of int8 go into products, their channels get scales, whose counterparts go into the numbers before: a norm's weights, or
// the outputs of a matrix. Where a norm comes last, the rows of int16 between have them, too.
void layer::choose_channels(const matrices &m, const choice &c) {
  for (site &s : sites_) s.channels.clear();
  if (c.percent < 100) return;  // of a channel no more than the greatest number is known
  const bool gated = floats_.w_gate.data != nullptr;
  const auto set = [&](std::initializer_list<place> places, const channel_scales &s) {
    for (const place where : places) sites_[where].channels = s;
  };
  const auto choose = [&](place where, const std::vector<const matrix *> &behind) {
    return choose_scales(sites_[where].of_channels, behind);
  };
  if (floats_.norm_first) {
    set({at_h}, choose(at_h, {&m.wq, &m.wk, &m.wv}));
    set({at_g}, gated ? choose(at_g, {&m.w_up, &m.w_gate}) : choose(at_g, {&m.w_up}));
  } else if (c.has_channels) {
    set({at_x, at_h, at_attention, at_sum1}, c.x_channels);
    set({at_a, at_g, at_result, at_sum2}, wanted_channels(at_g));
    set({at_y}, c.y_channels);
  }
  if (attention_.n_heads == attention_.n_kv_heads) {  // else a channel of k and v is one of several heads
    set({at_q}, choose_scales(joined_by_rope(at_q), joined_by_rope(at_k)));
    set({at_k}, inverse(sites_[at_q].channels));
    set({at_v, at_context}, choose(at_context, {&m.wo}));
  }
  if (gated) set({at_up, at_hidden}, choose(at_hidden, {&m.w_down}));
}

heed_int_projection layer::quantize_linear(int_layer &to, int which, const matrix &w, const float *bias, place x,
                                           place y) const {
  const auto n_in = static_cast<int32_t>(w.n_in), n_out = static_cast<int32_t>(w.n_out);
  const std::vector<float> offsets = divided(bias, sites_[y].channels, w.n_out);
  int_linear &l = to.linears_[static_cast<size_t>(which)];
  l = calibrate::quantize_linear(scaled(w, sites_[x].channels, sites_[y].channels).numbers,
                                 {offsets.begin(), offsets.end()}, n_in, n_out, quantity_of(x), quantity_of(y));
  return l.view();
}

heed_int_norm layer::quantize_norm(int_layer &to, int which, const float *weight, const float *bias, place x,
                                   place y) const {
  int_norm &n = to.norms_[static_cast<size_t>(which)];
  const auto dim = static_cast<size_t>(attention_.model_dim);
  const std::vector<float> ones(dim, 1), weights = divided(weight ? weight : ones.data(), sites_[y].channels, dim),
                                         offsets = divided(bias, sites_[y].channels, dim);
  const double x_scale = sites_[x].scale * greatest_scale(sites_[x].channels);
  n = calibrate::quantize_norm(weights.data(), bias ? offsets.data() : nullptr, attention_.model_dim, floats_.eps,
                               x_scale, sites_[y].scale);
  if (to.has_channels_) add_channels(n, sites_[x].channels);
  return n.view();
}

int_layer layer::quantize(const choice &c) {
  const heed_transformer_layer &l = floats_;
  const heed_attention_layer &a = attention_;
  const bool gated = l.w_gate.data != nullptr;
  int_layer to;
  to.has_channels_ = c.has_channels && !l.norm_first;
  const matrices m = widened_matrices();
  choose_channels(m, c);
  for (int i = 0; i < n_places; i++) set_scale(static_cast<place>(i), c);
  if (c.x_scale > 0) sites_[at_x].scale = c.x_scale;
  if (c.y_scale > 0) sites_[at_y].scale = c.y_scale;
  heed_int_layer &i = to.layer_;
  i = heed_int_layer_default(a.model_dim, a.n_heads, l.ffn_dim, norm_function(l.norm, to.has_channels_));
  i.n_kv_heads = a.n_kv_heads;
  i.head_dim = a.head_dim;
  i.norm_first = l.norm_first;
  i.causal = a.causal;
  const auto s = [&](place where) { return sites_[where].scale; };
  const place x_of_sum1 = l.norm_first ? at_a : at_sum1, y_of_sum2 = l.norm_first ? at_y : at_sum2;
  i.wq = quantize_linear(to, 0, m.wq, a.bq, at_h, at_q);
  i.wk = quantize_linear(to, 1, m.wk, a.bk, at_h, at_k);
  i.wv = quantize_linear(to, 2, m.wv, a.bv, at_h, at_v);
  i.wo = quantize_linear(to, 3, m.wo, a.bo, at_context, at_attention);
  i.w_up = quantize_linear(to, 4, m.w_up, l.b_up, at_g, at_up);
  if (gated) i.w_gate = quantize_linear(to, 5, m.w_gate, l.b_gate, at_g, at_gate);
  i.w_down = quantize_linear(to, 6, m.w_down, l.b_down, at_hidden, at_result);
  i.norm1 =
      quantize_norm(to, 0, l.norm1_weight, l.norm1_bias, l.norm_first ? at_x : at_sum1, l.norm_first ? at_h : at_a);
  i.norm2 =
      quantize_norm(to, 1, l.norm2_weight, l.norm2_bias, l.norm_first ? at_a : at_sum2, l.norm_first ? at_g : at_y);
  const double natural =
      a.scale == HEED_SCALE_DEFAULT ? 1 / std::sqrt(static_cast<double>(a.head_dim)) : static_cast<double>(a.scale);
  expect(natural > 0, "a negative scale of scores is not possible");
  i.score = multiplier(s(at_q) * s(at_k) * natural * log2e);
  i.value = multiplier(s(at_v) / s(at_context));
  i.to_h = multiplier(s(at_x) / s(at_h));
  i.to_g = multiplier(s(at_a) / s(at_g));
  i.of_x = multiplier(s(at_x) / s(x_of_sum1));
  i.of_attention = multiplier(s(at_attention) / s(x_of_sum1));
  i.of_a = multiplier(s(at_a) / s(y_of_sum2));
  i.of_hidden = multiplier(s(at_result) / s(y_of_sum2));
  to.table_.resize(256);
  const place before = gated ? at_gate : at_up, after = gated ? at_gate : at_hidden;
  expect_ok(heed_int_table(activation_of(l.activation), multiplier(s(before)), sites_[before].zero,
                           multiplier(1 / s(after)), sites_[after].zero, to.table_.data()));
  i.activation = to.table_.data();
  if (gated) i.gate = multiplier(s(at_gate) * s(at_up) / s(at_hidden));
  if (rope_) {
    to.rope_table_ = quantize_rope(*rope_, a.head_dim, c.n_positions);
    to.rope_ = std::make_unique<heed_int_rope>(to.rope_table_.view());
    i.rope = to.rope_.get();
  }
  to.x_scale_ = s(at_x);
  to.y_scale_ = s(at_y);
  to.x_channels_ = sites_[at_x].channels, to.y_channels_ = sites_[at_y].channels;
  return to;
}

double site::error() const {
  if (seen.rms() == 0) return 0;
  double squares = 1;
  if (!channels.empty()) {
    squares = 0;
    for (const double s : channels) squares += s * s / static_cast<double>(channels.size());
  }
  return scale * std::sqrt(squares) / 3.4641016 / seen.rms();
}

std::vector<int16_t> to_int16(const std::vector<float> &x, double scale, const channel_scales &s) {
  std::vector<int16_t> y;
  for (size_t i = 0; i < x.size(); i++)
    y.push_back(static_cast<int16_t>(rounded(static_cast<double>(x[i]) / (scale * scale_at(s, i)), 32767)));
  return y;
}
std::vector<float> to_float(const std::vector<int16_t> &x, double scale, const channel_scales &s) {
  std::vector<float> y;
  for (size_t i = 0; i < x.size(); i++) y.push_back(static_cast<float>(x[i] * (scale * scale_at(s, i))));
  return y;
}

}  // namespace calibrate
