// Layers that are rounded: one place of a layer, a layer of integers among floats, many layers. See calibrate.hpp.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "calibrate.hpp"

namespace calibrate {

std::vector<float> layer::round_at(place only, const std::vector<float> &x, int32_t n) const {
  return run(x, n, [&](place where, std::vector<float> &rows) {
    const site &s = sites_[where];
    if (where != only || s.scale == 0) return;
    const double least = s.bits == 16 ? -32767 : s.zero != 0 ? -128 : -127, most = s.bits == 16 ? 32767 : 127;
    for (size_t i = 0; i < rows.size(); ++i) {
      const double scale = s.scale * scale_at(s.channels, i);
      const double unit = std::round(static_cast<double>(rows[i]) / scale) + s.zero;
      rows[i] = static_cast<float>((std::min(most, std::max(least, unit)) - s.zero) * scale);
    }
  });
}

std::vector<float> int_layer::run(const std::vector<float> &x, int32_t n) const {
  std::vector<int16_t> rows = to_int16(x, x_scale_, x_channels_);
  const size_t bytes = heed_int_layer_bytes(&layer_, n);
  std::vector<unsigned char> room(bytes + 64);
  void *aligned = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
  const int32_t dim = layer_.model_dim;
  const heed_status status = heed_int_layer_run(&layer_, heed_int_matrix_of(rows.data(), HEED_INT16, n, dim, 0),
                                                heed_int_matrix_out_of(rows.data(), HEED_INT16, n, dim, 0),
                                                heed_memory_of(aligned, bytes), nullptr);
  if (status != HEED_OK)
    throw std::invalid_argument(std::string(heed_status_argument(status)) + ": " + heed_status_text(status));
  return to_float(rows, y_scale_, y_channels_);
}

std::vector<int_layer> quantize(std::vector<layer> &layers, const choice &c) {
  std::vector<channel_scales> of_rows(layers.size() + 1);  // those that go into each layer, and out of the last one
  of_rows.back() = c.y_channels;
  choice next = c;
  next.has_channels = !c.y_channels.empty();
  for (size_t l = 0; c.has_channels && l < layers.size(); ++l) {
    if (l > 0 || c.x_has_channels) of_rows[l] = layers[l].wanted_channels(at_h);
    next.has_channels = next.has_channels || !of_rows[l].empty() || !layers[l].wanted_channels(at_g).empty();
  }
  std::vector<int_layer> integers;
  for (layer &l : layers) {
    next.x_channels = of_rows[integers.size()], next.y_channels = of_rows[integers.size() + 1];
    integers.push_back(in_layer(integers.size(), [&] { return l.quantize(next); }));
    next.x_scale = integers.back().y_scale();
  }
  return integers;
}

}  // namespace calibrate
