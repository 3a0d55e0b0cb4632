// See sensor_files.hpp: from floats to integers. The layers are ports/calibrate's; what stands before and behind them is
// here. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "calibrate.hpp"
#include "sensor_files.hpp"

namespace sensor_files {
namespace {

constexpr float eps = 1e-5f;
constexpr double headroom = 1.5;  // of int16 rows, as in calibrate::choice
constexpr size_t dim = SENSOR_DIM, row = SENSOR_ROW;

using calibrate::multiplier;
using calibrate::rounded;
using rows = std::vector<float>;

void expect_ok(heed_status status) {
  if (status != HEED_OK)
    throw std::runtime_error(std::string(heed_status_argument(status)) + ": " + heed_status_text(status));
}

rows norm(const float *x, size_t n, size_t width, const float *weight, const float *bias) {
  rows y(n * width);
  const int32_t rows = static_cast<int32_t>(n), numbers = static_cast<int32_t>(width);
  expect_ok(heed_layer_norm(heed_matrix_of(x, rows, numbers), weight, bias, eps,
                            heed_matrix_out_of(y.data(), rows, numbers), nullptr));
  return y;
}

rows times(const rows &x, size_t n_in, const float *w, const float *bias) {
  const int32_t n = static_cast<int32_t>(x.size() / n_in), in = static_cast<int32_t>(n_in), out = SENSOR_DIM;
  rows y(static_cast<size_t>(n) * dim);
  expect_ok(heed_linear(heed_matrix_of(x.data(), n, in), heed_weights_of_matrix(heed_matrix_of(w, in, out)), bias,
                        heed_matrix_out_of(y.data(), n, out), nullptr));
  return y;
}

double greatest_of(const calibrate::histogram &seen) {
  if (seen.greatest() == 0) throw std::runtime_error("the recording says nothing about ranges: its rows are constant");
  return seen.greatest();
}
double scale_of(const calibrate::histogram &seen, double limit) { return headroom * greatest_of(seen) / limit; }

std::vector<double> doubles(const float *x, size_t n) { return std::vector<double>(x, x + n); }

// What calibration keeps of a layer of floats.
heed_weights plain(const float *w, int32_t n_in, int32_t n_out) {
  return heed_weights_of(w, nullptr, HEED_F32, HEED_IN_OUT, n_in, n_out);
}
calibrate::layer layer_of(const sensor_layer_weights &w) {
  heed_attention_layer a = heed_attention_layer_default(SENSOR_DIM, SENSOR_N_HEADS);
  a.wq = plain(w.wq, SENSOR_DIM, SENSOR_DIM), a.wk = plain(w.wk, SENSOR_DIM, SENSOR_DIM);
  a.wv = plain(w.wv, SENSOR_DIM, SENSOR_DIM), a.wo = plain(w.wo, SENSOR_DIM, SENSOR_DIM);
  a.bo = w.bo;
  heed_transformer_layer l = heed_transformer_layer_default(&a, SENSOR_HIDDEN, heed_layer_norm, heed_gelu_tanh);
  l.norm_first = 1;
  l.norm1_weight = w.norm1_weight, l.norm1_bias = w.norm1_bias;
  l.norm2_weight = w.norm2_weight, l.norm2_bias = w.norm2_bias;
  l.w_up = plain(w.w_up, SENSOR_DIM, SENSOR_HIDDEN), l.w_down = plain(w.w_down, SENSOR_HIDDEN, SENSOR_DIM);
  l.b_up = w.b_up, l.b_down = w.b_down;
  return calibrate::layer(l);
}

template <class T, size_t N>
void copy(T (&to)[N], const void *from) {
  std::memcpy(to, from, sizeof to);
}
void copy_norm(sensor_int_norm &to, const heed_int_norm &from) {
  copy(to.weight, from.weight);
  copy(to.bias, from.bias);
  to.shift = from.shift;
  to.eps = from.eps;
}
template <size_t N>
void copy_linear(const calibrate::int_linear &from, int8_t (&numbers)[N], int32_t (&bias)[dim],
                 heed_multiplier (&multipliers)[dim]) {
  copy(numbers, from.numbers.data());
  copy(bias, from.bias.data());
  copy(multipliers, from.multipliers.data());
}
void copy_layer(sensor_int_layer_weights &to, const heed_int_layer &from) {
  copy_norm(to.norm1, from.norm1), copy_norm(to.norm2, from.norm2);
  copy(to.wq, from.wq.w.data), copy(to.wk, from.wk.w.data), copy(to.wv, from.wv.w.data), copy(to.wo, from.wo.w.data);
  copy(to.w_up, from.w_up.w.data), copy(to.w_down, from.w_down.w.data), copy(to.activation, from.activation);
  copy(to.bo, from.wo.bias), copy(to.b_up, from.w_up.bias), copy(to.b_down, from.w_down.bias);
  copy(to.of_q, from.wq.multipliers), copy(to.of_k, from.wk.multipliers), copy(to.of_v, from.wv.multipliers);
  copy(to.of_o, from.wo.multipliers), copy(to.of_up, from.w_up.multipliers);
  copy(to.of_down, from.w_down.multipliers);
  to.score = from.score, to.value = from.value, to.of_x = from.of_x, to.of_attention = from.of_attention;
  to.of_a = from.of_a, to.of_hidden = from.of_hidden;
}

// Every number of the network's way from rows to embedding, as the recordings have them.
struct observer {
  calibrate::histogram h, patch, last;
  std::vector<calibrate::layer> layers;

  explicit observer(const sensor_weights &w) {
    for (const sensor_layer_weights &l : w.layers) layers.push_back(layer_of(l));
  }

  void see(const sensor_weights &w, const rows &recording) {
    const rows plain_h = norm(recording.data(), SENSOR_N_ROWS, row, nullptr, nullptr);
    const rows full_h = norm(recording.data(), SENSOR_N_ROWS, row, w.patch_norm1_weight, w.patch_norm1_bias);
    const rows projected = times(full_h, row, w.patch_weight, w.patch_bias);
    const rows tokens = norm(projected.data(), SENSOR_N_ROWS, dim, w.patch_norm2_weight, w.patch_norm2_bias);
    rows x(w.class_token, w.class_token + dim);
    x.insert(x.end(), tokens.begin(), tokens.end());
    for (size_t i = 0; i < x.size(); ++i) x[i] += w.positions[i];
    for (calibrate::layer &l : layers) x = l.see(x, SENSOR_N_TOKENS);
    const rows g = norm(x.data(), 1, dim, w.head_norm_weight, w.head_norm_bias);
    h.see(plain_h.data(), plain_h.size());
    patch.see(projected.data(), projected.size());
    last.see(g.data(), g.size());
  }
};

// Calibration computes with the kernel that is everywhere, so that all computers find the same scales.
class one_kernel {
 public:
  one_kernel() : before_(heed_isa_current()) { expect_ok(heed_isa_use("scalar-no-fma")); }
  ~one_kernel() { heed_isa_use(before_); }

 private:
  const char *before_;
};

void quantize_patch(const sensor_weights &w, const observer &seen, double x_scale, sensor_int_weights &to) {
  const double row_scale = std::ldexp(1.0, -SENSOR_ROW_BITS), h_scale = greatest_of(seen.h) / 127,
               patch_scale = scale_of(seen.patch, 32767);
  const calibrate::int_norm alike = calibrate::quantize_norm(nullptr, nullptr, row, eps, row_scale, h_scale);
  to.patch_norm1_shift = alike.shift;
  to.patch_norm1_weight = alike.weight[0];
  to.patch_norm1_eps = alike.eps;
  // Weight and bias of the first norm go into the projection behind it.
  std::vector<double> weights = doubles(w.patch_weight, row * dim), bias = doubles(w.patch_bias, dim);
  for (size_t i = 0; i < row; ++i)
    for (size_t o = 0; o < dim; ++o) {
      bias[o] += static_cast<double>(w.patch_norm1_bias[i]) * weights[i * dim + o];
      weights[i * dim + o] *= static_cast<double>(w.patch_norm1_weight[i]);
    }
  copy_linear(calibrate::quantize_linear(weights, bias, row, dim, {h_scale}, {patch_scale}), to.patch_weight,
              to.patch_bias, to.of_patch);
  copy_norm(to.patch_norm2,
            calibrate::quantize_norm(w.patch_norm2_weight, w.patch_norm2_bias, dim, eps, patch_scale, x_scale).view());
  double greatest = 1e-30;  // if all are 0
  for (size_t i = dim; i < SENSOR_N_TOKENS * dim; ++i)
    greatest = std::max(greatest, std::fabs(static_cast<double>(w.positions[i])));
  for (size_t i = 0; i < dim; ++i) {
    const double first = static_cast<double>(w.class_token[i]) + static_cast<double>(w.positions[i]);
    to.class_token[i] = static_cast<int16_t>(rounded(first / x_scale, 32767));
  }
  for (size_t i = 0; i < SENSOR_N_ROWS * dim; ++i)
    to.positions[i] = static_cast<int8_t>(rounded(static_cast<double>(w.positions[dim + i]) / greatest * 127, 127));
  to.of_positions = multiplier(greatest / 127 / x_scale);
}

}  // namespace

std::unique_ptr<sensor_int_weights> quantize(const sensor_weights &w, const std::vector<rows> &recordings) {
  const one_kernel everywhere;
  observer seen(w);
  for (const rows &r : recordings) seen.see(w, r);
  auto to = std::make_unique<sensor_int_weights>();
  calibrate::choice choice;
  double x_scale = 0;
  for (size_t i = 0; i < SENSOR_N_LAYERS; ++i) {
    const calibrate::int_layer l = seen.layers[i].quantize(choice);
    copy_layer(to->layers[i], l.layer());
    if (i == 0) x_scale = l.x_scale();
    choice.x_scale = l.y_scale();
  }
  quantize_patch(w, seen, x_scale, *to);
  const double unit = std::ldexp(1.0, -SENSOR_EMBEDDING_BITS), last_scale = scale_of(seen.last, 127);
  copy_norm(
      to->head_norm,
      calibrate::quantize_norm(w.head_norm_weight, w.head_norm_bias, dim, eps, choice.x_scale, last_scale).view());
  copy_linear(calibrate::quantize_linear(doubles(w.head_weight, dim * dim), doubles(w.head_bias, dim), dim, dim,
                                         {last_scale}, {unit}),
              to->head_weight, to->head_bias, to->of_head);
  for (size_t i = 0; i < SENSOR_N_CLASSES * dim; ++i)
    to->prototypes[i] = static_cast<int16_t>(rounded(static_cast<double>(w.prototypes[i]) / unit, 32767));
  write_header(*to, SENSOR_INTEGERS);
  return to;
}

}  // namespace sensor_files
