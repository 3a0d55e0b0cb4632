// See constants.hpp. SPDX-License-Identifier: MIT
#include "constants.hpp"

#include <algorithm>
#include <cmath>

#include "../../import/convert.hpp"
#include "operators.hpp"

namespace heed_compile {

using heed_import::bytes;
using heed_import::onnx_files;
using heed_import::onnx_tensor;
using heed_import::refuse;
using heed_import::span;

namespace {

// Bits of a number in raw data.
int bits_of(int32_t type) {
  switch (type) {
    case type_uint2:
    case type_int2:
      return 2;
    case type_uint4:
    case type_int4:
      return 4;
    case type_uint8:
    case type_int8:
    case type_bool:
      return 8;
    case type_uint16:
    case type_int16:
      return 16;
    case type_int32:
    case type_uint32:
      return 32;
    default:
      return 64;
  }
}

bool is_signed(int32_t type) { return range_of(type).least < 0; }

double from_bits(uint64_t word, int bits, bool has_sign) {
  if (has_sign && bits < 64 && (word >> (bits - 1) & 1) != 0) word |= ~uint64_t{0} << bits;
  return has_sign ? static_cast<double>(static_cast<int64_t>(word)) : static_cast<double>(word);
}

shape shape_of_onnx(const onnx_tensor &p) {
  shape dims;
  for (const uint64_t dim : p.dims) {
    if (dim > INT64_MAX / 2) refuse(p.name, "has a dimension that is negative or too large");
    dims.push_back(static_cast<int64_t>(dim));
  }
  return dims;
}

void expect_numbers(const onnx_tensor &p, bool has_them) {
  if (!has_them) refuse(p.name, "has more or fewer numbers than its shape says");
}

// Integers that are packed into bytes, the first one in the lowest bits.
std::vector<double> integers_of(const onnx_tensor &p, size_t n, onnx_files *files) {
  const int bits = bits_of(p.type);
  const bool has_sign = is_signed(p.type) && p.type != type_bool;
  const size_t n_bytes = (n * static_cast<size_t>(bits) + 7) / 8;
  std::vector<double> numbers(n);
  span raw = p.raw;
  std::shared_ptr<const uint8_t> keeper;
  if (p.elsewhere) {
    if (files == nullptr) refuse(p.name, "lies in a file of its own, and the folder of the model is not known");
    raw = files->numbers_of(p, n_bytes, keeper);
  }
  const bool is_packed = bits < 8, is_list = raw.size == 0 && !p.elsewhere;
  bytes packed;
  if (is_list && is_packed) {
    for (const uint64_t word : p.integers) packed.push_back(static_cast<uint8_t>(word));
    raw = {packed.data(), packed.size()};
  }
  if (is_list && !is_packed) {
    expect_numbers(p, p.integers.size() == n);
    for (size_t i = 0; i < n; ++i) {
      const uint64_t word = bits < 64 ? p.integers[i] & ((uint64_t{1} << bits) - 1) : p.integers[i];
      numbers[i] = from_bits(word, bits, has_sign);
    }
    return numbers;
  }
  expect_numbers(p, raw.size == n_bytes);
  for (size_t i = 0; i < n; ++i) {
    const size_t first_bit = i * static_cast<size_t>(bits);
    uint64_t word = heed_import::number_at(raw.data + first_bit / 8, std::max(bits / 8, 1));
    if (is_packed) word = word >> (first_bit % 8) & ((1u << bits) - 1);
    numbers[i] = from_bits(word, bits, has_sign);
  }
  return numbers;
}

std::vector<double> numbers_of_tensor(const tensor &t) {
  std::vector<double> numbers;
  const size_t n = static_cast<size_t>(t.count());
  numbers.reserve(n);
  const uint8_t *const data = t.numbers().data;
  if (t.dtype == heed_import::format_f64) {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t word = heed_import::number_at(data + 8 * i, 8);
      double number;
      std::memcpy(&number, &word, 8);
      numbers.push_back(number);
    }
    return numbers;
  }
  if (t.dtype != HEED_FILE_U8 && t.dtype != HEED_FILE_I8) {
    for (const float f : heed_import::floats_of(t)) numbers.push_back(static_cast<double>(f));
    return numbers;
  }
  const size_t n_out = static_cast<size_t>(t.n_out()), n_in = n / n_out;
  const bool is_last = t.layout == HEED_IN_OUT && t.dims.size() > 1;
  for (size_t i = 0; i < n; ++i) {
    const size_t out = is_last ? i % n_out : i / n_in, s = t.scales.size() == 1 ? 0 : out;
    const int q = t.dtype == HEED_FILE_U8 ? data[i] : static_cast<int8_t>(data[i]);
    numbers.push_back((q - t.zeros[s]) * static_cast<double>(t.scales[s]));
  }
  return numbers;
}

tensor copy_of(const tensor &t) {
  tensor copy;
  copy.name = t.name, copy.dims = t.dims, copy.dtype = t.dtype, copy.layout = t.layout;
  copy.scales = t.scales, copy.zeros = t.zeros;
  copy.refer(t.numbers());
  return copy;
}

bool is_bytes(const tensor &t) { return t.dtype == HEED_FILE_U8 || t.dtype == HEED_FILE_I8; }

void set_weight(graph_value &made, tensor &&t, const shape &dims, std::deque<tensor> &weights) {
  t.dims.clear();
  for (const int64_t dim : dims) t.dims.push_back(static_cast<uint32_t>(dim));
  weights.push_back(std::move(t));
  made.weight = &weights.back();
  made.dims = dims;
  made.is_constant = true;
}

// Scales lie along the first dimension or the last one.
bool keeps_scales(const tensor &t, const shape &from, const shape &to) {
  if (t.scales.size() < 2) return true;
  if (to.empty() || from.empty()) return false;
  const bool is_last = t.layout == HEED_IN_OUT && from.size() > 1;
  if (is_last) return to.size() > 1 && to.back() == from.back();
  return to.front() == from.front();
}

bool reshapes_weight(const graph_node &node, const std::vector<const graph_value *> &inputs,
                     std::deque<tensor> &weights, graph_value &made) {
  const graph_value &from = *inputs[0];
  // The operator says the shape, of an input whose numbers do not matter.
  std::vector<shared_array> kept = {std::make_shared<array>(zeros_of(from.kind, from.dims))};
  for (size_t i = 1; i < inputs.size(); ++i) kept.push_back(inputs[i] == nullptr ? nullptr : numbers_of(*inputs[i]));
  std::vector<const array *> given;
  for (const shared_array &a : kept) given.push_back(a.get());
  const shape to = evaluate_shapes(node, 13, given)[0].dims;
  if (to.size() > HEED_FILE_MAX_DIMS || !keeps_scales(*from.weight, from.dims, to)) return false;
  made.kind = from.kind, made.type = from.type;
  set_weight(made, copy_of(*from.weight), to, weights);
  return true;
}

bool dequantizes_weight(const graph_node &node, const std::vector<const graph_value *> &inputs,
                        std::deque<tensor> &weights, graph_value &made) {
  const graph_value &from = *inputs[0];
  if (inputs.size() < 2 || inputs[1] == nullptr || from.kind != element::integers || !is_bytes(*from.weight))
    return false;
  if (integer_of(node, "block_size", 0) != 0) return false;
  const shared_array scales = numbers_of(*inputs[1]);
  const graph_value *const zero = inputs.size() > 2 ? inputs[2] : nullptr;
  if (zero != nullptr && zero->kind != element::integers) return false;
  const shared_array zeros = zero == nullptr ? nullptr : numbers_of(*zero);
  const size_t n = scales->numbers.size();
  if (n == 0 || (zeros != nullptr && zeros->numbers.size() != n)) return false;
  for (const double scale : scales->numbers)
    if (!std::isfinite(scale)) throw refusal("has a scale that is not finite");
  tensor t = copy_of(*from.weight);
  if (n > 1) {
    const int64_t rank = static_cast<int64_t>(from.dims.size()), given = integer_of(node, "axis", 1);
    const int64_t axis = given < 0 ? given + rank : given;
    if (rank > HEED_FILE_MAX_DIMS || axis < 0 || axis >= rank || (axis != 0 && axis != rank - 1)) return false;
    if (from.dims[static_cast<size_t>(axis)] != static_cast<int64_t>(n)) return false;
    t.layout = axis == 0 ? HEED_OUT_IN : HEED_IN_OUT;
  }
  t.scales.assign(scales->numbers.begin(), scales->numbers.end());
  t.zeros.assign(n, 0);
  for (size_t i = 0; zeros != nullptr && i < n; ++i) t.zeros[i] = static_cast<int32_t>(zeros->numbers[i]);
  made.kind = element::floats;
  made.type = inputs[1]->type;
  set_weight(made, std::move(t), from.dims, weights);
  return true;
}

}  // namespace

shared_array array_of_onnx(const onnx_tensor &p, onnx_files *files) {
  array a;
  try {
    a.kind = element_of(p.type);
    if (p.sparse) throw refusal("is sparse, which a program of heed has not");
    a.type = p.type;
    a.dims = shape_of_onnx(p);
    const size_t n = static_cast<size_t>(count_of(a.dims));
    // A list of numbers is as long as its file; what lies elsewhere is compared with that file.
    if (a.kind != element::floats) {
      a.numbers = integers_of(p, n, files);
    } else if (n > 0) {
      onnx_tensor flat = p;
      flat.dims = {n};
      const tensor t = heed_import::tensor_of_onnx(std::move(flat), files);
      if (!heed_import::is_usable(t)) throw refusal(t.refused + t.left_out);
      a.numbers = numbers_of_tensor(t);
    }
  } catch (const refusal &error) {
    throw refusal("tensor " + p.name + ": " + error.what());
  }
  return std::make_shared<const array>(std::move(a));
}

graph_value constant_of_onnx(onnx_tensor p, onnx_files *files, std::deque<tensor> &weights) {
  graph_value made;
  made.name = p.name;
  made.is_constant = true;
  made.type = p.type;
  const bool is_narrow = bits_of(p.type) < 8;
  const bool is_float =
      p.type == type_float || p.type == type_float16 || p.type == type_double || p.type == type_bfloat16;
  const bool is_byte = p.type == type_uint8 || p.type == type_int8;
  if ((is_float || is_byte) && !p.sparse) {
    const int32_t type = p.type;
    made.dims = shape_of_onnx(p);
    onnx_tensor given = p;
    tensor t = heed_import::tensor_of_onnx(std::move(given), files);
    if (heed_import::is_usable(t)) {
      made.kind = element_of(type);
      weights.push_back(std::move(t));
      made.weight = &weights.back();
      return made;
    }
  }
  made.constant = array_of_onnx(p, files);
  made.kind = made.constant->kind;
  made.dims = made.constant->dims;
  const int64_t n = static_cast<int64_t>(made.constant->numbers.size());
  if (!is_narrow || n == 0 || made.dims.size() > HEED_FILE_MAX_DIMS) return made;
  // Integers of 4 bits or fewer: as bytes.
  tensor t;
  t.name = p.name;
  t.dtype = is_signed(p.type) ? HEED_FILE_I8 : HEED_FILE_U8;
  t.scales = {1}, t.zeros = {0};
  bytes numbers;
  for (const double number : made.constant->numbers) numbers.push_back(static_cast<uint8_t>(static_cast<int>(number)));
  t.own(std::move(numbers));
  set_weight(made, std::move(t), shape(made.dims), weights);
  made.constant = nullptr;
  return made;
}

bool keeps_weight(const graph_node &node, const std::vector<const graph_value *> &inputs, std::deque<tensor> &weights,
                  graph_value &made) {
  if (inputs.empty() || inputs[0] == nullptr || inputs[0]->weight == nullptr) return false;
  for (const graph_value *const input : inputs)
    if (input != nullptr && !input->is_constant) return false;
  const graph_value &from = *inputs[0];
  const std::string &operation = node.operation;
  if (operation == "Identity") {
    made = from;
    return true;
  }
  const auto to = node.attributes.find("to");
  if (operation == "Cast" && from.kind == element::floats && to != node.attributes.end() &&
      to->second.integers.size() == 1) {
    const int32_t type = static_cast<int32_t>(to->second.integers[0]);
    if (element_of(type) != element::floats) return false;
    made = from;
    made.type = type;
    return true;
  }
  if (operation == "Reshape" || operation == "Flatten" || operation == "Squeeze" || operation == "Unsqueeze")
    return reshapes_weight(node, inputs, weights, made);
  if (operation == "DequantizeLinear") return dequantizes_weight(node, inputs, weights, made);
  if (operation == "Transpose" && from.dims.size() == 2) {
    const auto perm = node.attributes.find("perm");
    if (perm != node.attributes.end() && perm->second.integers != std::vector<int64_t>{1, 0}) return false;
    tensor t = copy_of(*from.weight);
    heed_import::transpose(t);
    made.kind = from.kind, made.type = from.type;
    set_weight(made, std::move(t), {from.dims[1], from.dims[0]}, weights);
    return true;
  }
  return false;
}

namespace {

const attribute *attribute_of(const graph_node &n, const std::string &name) {
  const auto found = n.attributes.find(name);
  return found == n.attributes.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<int64_t> integers_of(const graph_node &n, const std::string &name) {
  const attribute *const a = attribute_of(n, name);
  return a == nullptr ? std::vector<int64_t>() : a->integers;
}
int64_t integer_of(const graph_node &n, const std::string &name, int64_t otherwise) {
  const attribute *const a = attribute_of(n, name);
  return a == nullptr || a->integers.empty() ? otherwise : a->integers[0];
}
double real_of(const graph_node &n, const std::string &name, double otherwise) {
  const attribute *const a = attribute_of(n, name);
  if (a == nullptr) return otherwise;
  if (a->numbers && !a->numbers->numbers.empty()) return a->numbers->numbers[0];
  return a->floats.empty() ? otherwise : static_cast<double>(a->floats[0]);
}
std::string text_of(const graph_node &n, const std::string &name, const std::string &otherwise) {
  const attribute *const a = attribute_of(n, name);
  return a == nullptr || a->texts.empty() ? otherwise : a->texts[0];
}

shared_array numbers_of(const graph_value &value) {
  if (value.constant != nullptr) return value.constant;
  if (value.weight == nullptr) throw refusal("value " + value.name + " is no constant");
  array a;
  a.kind = value.kind;
  a.type = value.type;
  a.dims = value.dims;
  a.numbers = numbers_of_tensor(*value.weight);
  return std::make_shared<const array>(std::move(a));
}

}  // namespace heed_compile
