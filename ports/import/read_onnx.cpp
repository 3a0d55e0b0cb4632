// See readers.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>

#include "onnx_graphs.hpp"
#include "readers.hpp"

namespace heed_import {
namespace {

enum { onnx_float = 1, onnx_uint8 = 2, onnx_int8 = 3, onnx_float16 = 10, onnx_double = 11, onnx_bfloat16 = 16 };

// Constants of the graph, which are no weights.
bool is_integer(int32_t type) { return (type >= 4 && type <= 9) || type == 12 || type == 13; }

int32_t format_of(int32_t type) {
  switch (type) {
    case onnx_float:
      return HEED_F32;
    case onnx_double:
      return format_f64;
    case onnx_float16:
      return HEED_F16;
    case onnx_bfloat16:
      return HEED_BF16;
    case onnx_uint8:
      return HEED_FILE_U8;
    case onnx_int8:
      return HEED_FILE_I8;
    default:
      return -1;
  }
}

tensor converted(onnx_tensor &&p) {
  tensor t;
  t.name = p.name;
  const int32_t format = format_of(p.type);
  if (is_integer(p.type)) {
    t.left_out = "is of integers";
  } else if (format < 0) {
    t.refused = "is of ONNX's type " + std::to_string(p.type) + ", which heed has not";
  } else if (p.elsewhere) {
    t.refused = "lies in a file of its own: save the model with save_as_external_data=False";
  } else {
    set_shape(t, p.dims);
  }
  if (!t.left_out.empty() || !t.refused.empty()) return t;
  t.format = format;
  if (p.raw.size != 0) {
    t.refer(p.raw);
  } else if (!p.integers.empty()) {
    bytes numbers;
    for (const uint64_t i : p.integers) put(numbers, i, number_bytes(format));
    t.own(std::move(numbers));
  } else {
    t.own(std::move(p.floats));
  }
  if (t.numbers().size != bytes_of(t)) refuse(p.name, "has more or fewer numbers than its shape says");
  if (format == HEED_FILE_U8 || format == HEED_FILE_I8) t.scales = {1}, t.zeros = {0};
  return t;
}

bool ends_with(const std::string &text, const std::string &end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

using by_name = std::map<std::string, size_t>;

// "layers.0.q_proj.weight" for a node "/layers.0/q_proj/MatMul"; empty if it has no such name.
std::string name_after(const onnx_node &n) {
  const size_t slash = n.name.rfind('/');
  if (slash == std::string::npos || slash == 0) return "";
  std::string name = n.name.substr(n.name[0] == '/', slash - (n.name[0] == '/'));
  std::replace(name.begin(), name.end(), '/', '.');
  return name + (n.operation == "Add" ? ".bias" : ".weight");
}

std::vector<float> floats_of(const tensor &t) {
  if (t.format != HEED_F32) refuse(t.name, "is not of float, as scales and zero points are");
  std::vector<float> floats;
  for (size_t i = 0; i < t.numbers().size; i += 4) floats.push_back(f32_at(t.numbers().data + i));
  return floats;
}

constexpr char joined[] = "belongs to another one";
void mark_joined(tensor &part) {
  part.left_out = joined;
  part.own({});
}

// Gives t its scales and zero points, which then are no tensors of their own.
void join(tensor &t, tensor &scale, tensor *zero) {
  t.scales = floats_of(scale);
  const size_t n = t.scales.size();
  if (n != 1 && n != t.n_out()) refuse(t.name, "has " + std::to_string(n) + " scales, neither one nor one for each output");
  t.zeros.assign(n, 0);
  mark_joined(scale);
  if (zero == nullptr) return;
  if (zero->count() != n) refuse(t.name, "has more or fewer zero points than scales");
  if (zero->format == t.format) {
    for (size_t i = 0; i < n; ++i) {
      const uint8_t q = zero->numbers().data[i];
      t.zeros[i] = t.format == HEED_FILE_U8 ? q : static_cast<int8_t>(q);
    }
  } else {
    t.float_zeros = floats_of(*zero);
    t.zeros.clear();
    t.format = t.format == HEED_FILE_U8 ? HEED_FILE_U8_PLUS : HEED_FILE_I8_PLUS;
  }
  mark_joined(*zero);
}

// Where the weights of a node stand among its inputs, if it multiplies by them from the right.
bool multiplies(const onnx_node &n) {
  return n.operation == "MatMul" || n.operation == "MatMulInteger" || n.operation == "DynamicQuantizeMatMul" ||
         n.operation == "MatMulIntegerToFloat" || (n.operation == "Gemm" && !n.transposed);
}

}  // namespace

std::vector<tensor> read_onnx(span file) {
  onnx_graphs all = read_onnx_graphs(file);
  std::vector<tensor> tensors;
  by_name names;
  for (onnx_tensor &p : all.tensors) {
    if (!names.emplace(p.name, tensors.size()).second) refuse(p.name, "two initializers have this name");
    tensors.push_back(converted(std::move(p)));
  }
  const auto find = [&](const std::string &name) {
    const auto found = names.find(name);
    return found == names.end() || tensors[found->second].numbers().size == 0 ? nullptr : &tensors[found->second];
  };
  for (const onnx_node &n : all.nodes) {
    if (!multiplies(n) || n.inputs.size() < 2) continue;
    if (tensor *const t = find(n.inputs[1]); t && t->dims.size() > 1) t->layout = HEED_IN_OUT;
  }
  for (const onnx_node &n : all.nodes) {
    for (const std::string &input : n.inputs) {
      tensor *const t = input.compare(0, 6, "onnx::") == 0 ? find(input) : nullptr;
      if (t && t->dims.size() > 0) t->suggested = name_after(n);
    }
  }
  const auto is_quantized = [](const tensor *t) {
    return t && (t->format == HEED_FILE_U8 || t->format == HEED_FILE_I8);
  };
  for (const onnx_node &n : all.nodes) {
    if (n.operation != "DequantizeLinear" || n.inputs.size() < 2) continue;
    tensor *const t = find(n.inputs[0]), *const scale = find(n.inputs[1]);
    if (is_quantized(t) && scale) join(*t, *scale, n.inputs.size() > 2 ? find(n.inputs[2]) : nullptr);
  }
  for (tensor &t : tensors) {
    if (!t.left_out.empty() || !t.refused.empty() || !ends_with(t.name, "_quantized")) continue;
    const std::string name = t.name.substr(0, t.name.size() - 10);
    tensor *const scale = find(name + "_scale");
    if (is_quantized(&t) && scale) join(t, *scale, find(name + "_zero_point"));
    if (names.count(name) == 0) t.name = name;
  }
  const auto is_joined = [](const tensor &t) { return t.left_out == joined; };
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(), is_joined), tensors.end());
  return tensors;
}

}  // namespace heed_import
