// See model_file.hpp. SPDX-License-Identifier: MIT
#include "model_file.hpp"

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "../names.hpp"

namespace calibrate {
namespace {

heed_multiplier unit_of(double scale) { return heed_multiplier_of(static_cast<float>(scale)); }

template <typename T>
void put_array(flat_bytes &file, const T *numbers, int32_t n) {
  file.put(numbers, static_cast<size_t>(n) * sizeof(T));
}

void put_linear(flat_bytes &file, const heed_int_projection &l) {
  file.put(l.w.data, static_cast<size_t>(l.w.n_in) * static_cast<size_t>(l.w.n_out));
  put_array(file, l.bias, l.w.n_out);
  put_array(file, l.multipliers, l.w.n_out);
}

void put_layer(flat_bytes &file, const int_layer &of) {
  const heed_int_layer &l = of.layer();
  int_model_layer n = {};
  n.score = l.score;
  n.value = l.value;
  n.to_h = l.to_h;
  n.to_g = l.to_g;
  n.of_x = l.of_x;
  n.of_attention = l.of_attention;
  n.of_a = l.of_a;
  n.of_hidden = l.of_hidden;
  n.gate = l.gate;
  n.x_scale = unit_of(of.x_scale());
  n.y_scale = unit_of(of.y_scale());
  n.norm1_shift = l.norm1.shift;
  n.norm1_eps = l.norm1.eps;
  n.norm2_shift = l.norm2.shift;
  n.norm2_eps = l.norm2.eps;
  file.put(&n, sizeof n);
  for (const heed_int_projection *linear : {&l.wq, &l.wk, &l.wv, &l.wo, &l.w_up, &l.w_gate, &l.w_down}) {
    if (linear->w.data) put_linear(file, *linear);
  }
  for (const heed_int_norm *norm : {&l.norm1, &l.norm2}) {
    put_array(file, norm->weight, l.model_dim);
    put_array(file, norm->bias, l.model_dim);
  }
  put_array(file, l.activation, 256);
}

}  // namespace

void flat_bytes::put(const void *data, size_t n_bytes, size_t alignment) {
  const uint8_t *from = static_cast<const uint8_t *>(data);
  bytes_.insert(bytes_.end(), from, from + n_bytes);
  bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
}

std::vector<uint8_t> model_file(const std::vector<int_layer> &layers) {
  if (layers.empty()) throw std::invalid_argument("a model has one layer at least");
  const heed_int_layer &first = layers.front().layer();
  int_model_header h = {};
  h.magic[0] = INT_MODEL_MAGIC_0;
  h.magic[1] = INT_MODEL_MAGIC_1;
  h.version = INT_MODEL_VERSION;
  h.n_layers = static_cast<int32_t>(layers.size());
  h.model_dim = first.model_dim;
  h.ffn_dim = first.ffn_dim;
  h.n_heads = first.n_heads;
  h.n_kv_heads = first.n_kv_heads;
  h.head_dim = first.head_dim;
  h.norm_first = first.norm_first;
  h.causal = first.causal;
  h.gated = first.w_gate.w.data != nullptr;
  h.rms_norm = first.norm == heed_int_rms_norm;
  h.x_scale = unit_of(layers.front().x_scale());
  h.y_scale = unit_of(layers.back().y_scale());
  flat_bytes numbers;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].has_rope()) throw std::invalid_argument("the flat file has no place for rotary embedding");
    const size_t before = numbers.bytes().size();
    put_layer(numbers, layers[i]);
    if (before != i * (numbers.bytes().size() - before)) throw std::invalid_argument("the layers have different sizes");
  }
  const size_t n = numbers.bytes().size();
  if (n > UINT32_MAX - sizeof h)
    throw std::invalid_argument("the layers take 4 GB or more, which the file cannot state");
  h.layer_bytes = static_cast<uint32_t>(n / layers.size());
  h.n_bytes = static_cast<uint32_t>(sizeof h + n);
  flat_bytes file;
  file.put(&h, sizeof h);
  file.put(numbers.bytes().data(), n);
  std::vector<uint8_t> bytes = file.take();
  const size_t begin = offsetof(int_model_header, layer_bytes);
  const uint32_t checksum = int_model_checksum(&bytes[begin], bytes.size() - begin);
  std::memcpy(&bytes[offsetof(int_model_header, checksum)], &checksum, sizeof checksum);
  return bytes;
}

bool is_c_name(const std::string &name) { return names::identifier(name) == name; }

std::string c_array(const std::string &name, const std::vector<uint8_t> &bytes) {
  if (!is_c_name(name))
    throw std::invalid_argument("the array's name is none that C allows: letters, digits and _, no word of C");
  std::string text =
      "/* Made by heed_calibrate: see int_model.h. For little-endian processors. */\n#include <stdint.h>\n\n"
      "__attribute__((aligned(64))) static const uint32_t " +
      name + "[" + std::to_string(bytes.size() / 4) + "] = {";
  for (size_t i = 0; i < bytes.size() / 4; ++i) {
    uint32_t word;
    char number[16];
    std::memcpy(&word, &bytes[4 * i], 4);
    std::snprintf(number, sizeof number, "%s0x%08x,", i % 8 == 0 ? "\n  " : " ", static_cast<unsigned>(word));
    text += number;
  }
  return text + "\n};\n";
}

}  // namespace calibrate
