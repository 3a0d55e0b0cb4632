// See readers.hpp. The format: TensorFlow Lite's schema, version 3. SPDX-License-Identifier: MIT
#include <cmath>
#include <set>

#include "readers.hpp"
#include "tflite_graph.hpp"

namespace heed_import {
namespace {

// What of it has numbers that heed computes with.
bool set_format(tensor &t, uint8_t element_type) {
  switch (static_cast<tflite::type>(element_type)) {
    case tflite::type::float32:
      t.dtype = HEED_F32;
      return true;
    case tflite::type::float16:
      t.dtype = HEED_F16;
      return true;
    case tflite::type::float64:
      t.dtype = format_f64;
      return true;
    case tflite::type::uint8:
      t.dtype = HEED_FILE_U8;
      return true;
    case tflite::type::int8:
      t.dtype = HEED_FILE_I8;
      return true;
    default:
      return false;
  }
}

// One scale for all, or one for each output, which are the first dimension or the last.
void set_scales(tensor &t, const tflite::graph &g, const tflite::tensor &from) {
  const size_t n = from.scales.length;
  if (n == 0) {
    t.scales = {1}, t.zeros = {0};
    return;
  }
  if (from.zeros.length != n && from.zeros.length != 0) {
    t.refused = "has more or fewer zero points than scales";
    return;
  }
  const auto last = static_cast<int32_t>(t.dims.size()) - 1;
  const int32_t axis = from.scaled_dimension;
  if (n > 1 && (axis < 0 || axis > last || t.dims[static_cast<size_t>(axis)] != n)) {
    t.refused = "has " + std::to_string(n) + " scales, neither one nor one for each output";
    return;
  }
  if (n > 1 && axis != 0 && axis != last) {
    t.refused = "has its scales along dimension " + std::to_string(axis) + ", neither the first nor the last";
    return;
  }
  if (n > 1 && axis == last && last > 0) t.layout = HEED_IN_OUT;
  const int32_t least = t.dtype == HEED_FILE_U8 ? 0 : -128;
  for (size_t i = 0; i < n; ++i) {
    const float scale = g.file.f32(from.scales.first + 4 * i);
    const uint64_t low = from.zeros.length == 0 ? 0 : g.file.u32(from.zeros.first + 8 * i);
    const uint64_t high = from.zeros.length == 0 ? 0 : g.file.u32(from.zeros.first + 8 * i + 4);
    const auto zero = static_cast<int64_t>(high << 32 | low);
    if (!std::isfinite(scale)) t.refused = "has a scale that is not finite";
    if (zero < least || zero > least + 255) t.refused = "has a zero point beyond its numbers";
    t.scales.push_back(scale);
    t.zeros.push_back(static_cast<int32_t>(zero));
  }
}

tensor tensor_of(const tflite::graph &g, const tflite::tensor &from, span file) {
  tensor t;
  t.name = from.name;
  std::vector<uint64_t> dims;
  for (const int32_t dim : from.shape) {
    if (dim < 0) refuse(t.name, "has a dimension below 0");
    dims.push_back(static_cast<uint64_t>(dim));
  }
  if (!set_format(t, from.element_type)) {
    t.left_out = "is of integers, texts or another kind that is no weight";
    return t;
  }
  set_shape(t, dims);
  if (!is_usable(t)) return t;
  if (from.data.length != bytes_of(t)) refuse(t.name, "has more or fewer bytes than its shape says");
  if (t.dtype == HEED_FILE_U8 || t.dtype == HEED_FILE_I8) set_scales(t, g, from);
  if (is_usable(t)) t.refer({file.data + from.data.first, from.data.length});
  return t;
}

}  // namespace

std::vector<tensor> read_tflite(span file) {
  std::vector<tensor> all;
  std::set<std::string> names;
  try {
    const tflite::graph g = tflite::read_graph(file.data, file.size);
    for (size_t i = 0; i < g.tensors.size(); ++i) {
      if (g.tensors[i].data.length == 0) continue;  // is computed
      tensor t = tensor_of(g, g.tensors[i], file);
      if (t.name.empty()) t.name = "tensor";
      if (!names.insert(t.name).second) t.name += "." + std::to_string(i), names.insert(t.name);
      all.push_back(std::move(t));
    }
  } catch (const tflite::format_error &error) {
    throw refusal(error.what());
  }
  return all;
}

}  // namespace heed_import
