// See operators.hpp. SPDX-License-Identifier: MIT
#include "operators.hpp"

#include <cmath>

namespace heed_compile {

int64_t most_numbers = int64_t{1} << 28;

element element_of(int32_t type) {
  switch (type) {
    case type_float:
    case type_float16:
    case type_double:
    case type_bfloat16:
      return element::floats;
    case type_bool:
      return element::booleans;
    case type_uint8:
    case type_int8:
    case type_uint16:
    case type_int16:
    case type_int32:
    case type_int64:
    case type_uint32:
    case type_uint64:
    case type_uint4:
    case type_int4:
    case type_uint2:
    case type_int2:
      return element::integers;
    case 8:
      throw refusal("has texts, which a program of heed has not");
    default:
      throw refusal("is of ONNX's type " + std::to_string(type) + ", which a program of heed has not");
  }
}

integer_range range_of(int32_t type) {
  switch (type) {
    case type_uint8:
      return {0, 255};
    case type_int8:
      return {-128, 127};
    case type_uint16:
      return {0, 65535};
    case type_int16:
      return {-32768, 32767};
    case type_int32:
      return {-2147483648.0, 2147483647.0};
    case type_uint32:
      return {0, 4294967295.0};
    case type_uint64:
      return {0, 18446744073709551615.0};
    case type_uint4:
      return {0, 15};
    case type_int4:
      return {-8, 7};
    case type_uint2:
      return {0, 3};
    case type_int2:
      return {-2, 1};
    default:
      return {-9223372036854775808.0, 9223372036854775807.0};
  }
}

std::string text_of(const shape &dims) {
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text.empty() ? "(one number)" : text;
}

int64_t count_of(const shape &dims) {
  bool is_empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) throw refusal("has the negative dimension " + std::to_string(dim));
    is_empty = is_empty || dim == 0;
  }
  if (is_empty) return 0;
  int64_t n = 1;
  for (const int64_t dim : dims) {
    if (dim > most_numbers / n) throw refusal("has too many numbers: " + text_of(dims));
    n *= dim;
  }
  return n;
}

std::vector<int64_t> strides_of(const shape &dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t d = dims.size(); d > 1; --d) strides[d - 2] = strides[d - 1] * dims[d - 1];
  return strides;
}

array zeros_of(element kind, const shape &dims, int32_t type) {
  array a;
  a.kind = kind;
  a.type = type;
  a.dims = dims;
  a.numbers.resize(static_cast<size_t>(count_of(dims)));
  return a;
}

results one(array &&a) {
  results all;
  all.push_back(std::move(a));
  return all;
}

lines::lines(const shape &dims, size_t axis) : outer(1), length(dims[axis]), stride(1) {
  for (size_t d = 0; d < axis; ++d) outer *= dims[d];
  for (size_t d = axis + 1; d < dims.size(); ++d) stride *= dims[d];
}

void call::refuse(const std::string &why) const {
  throw refusal("node " + node.name + " (" + node.operation + "): " + why);
}

const array &call::in(size_t i) const {
  if (!has(i)) refuse("has no input " + std::to_string(i));
  return *inputs[i];
}

std::vector<int64_t> call::integers_in(size_t i) const {
  std::vector<int64_t> list;
  for (const double number : in(i).numbers) {
    if (!(std::fabs(number) <= 9.3e18) || number != std::floor(number)) refuse("has a number that is no integer");
    // The greatest int64_t is no double; it stands for "to the end".
    if (number >= 9223372036854775807.0)
      list.push_back(INT64_MAX);
    else if (number <= -9223372036854775807.0)
      list.push_back(INT64_MIN);
    else
      list.push_back(static_cast<int64_t>(number));
  }
  return list;
}

int64_t call::integer_in(size_t i) const {
  const std::vector<int64_t> list = integers_in(i);
  if (list.size() != 1) refuse("input " + std::to_string(i) + " must be one number");
  return list[0];
}

double call::number_in(size_t i) const {
  if (in(i).numbers.size() != 1) refuse("input " + std::to_string(i) + " must be one number");
  return in(i).numbers[0];
}

int64_t call::integer(const std::string &name, int64_t otherwise) const {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return otherwise;
  if (found->second.integers.size() != 1) refuse("attribute " + name + " must be one integer");
  return found->second.integers[0];
}

double call::number(const std::string &name, double otherwise) const {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return otherwise;
  if (found->second.floats.size() != 1) refuse("attribute " + name + " must be one float");
  return static_cast<double>(found->second.floats[0]);
}

std::vector<int64_t> call::list(const std::string &name) const {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? std::vector<int64_t>() : found->second.integers;
}

std::string call::text(const std::string &name, const std::string &otherwise) const {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return otherwise;
  if (found->second.texts.size() != 1) refuse("attribute " + name + " must be one text");
  return found->second.texts[0];
}

size_t call::axis(int64_t given, size_t rank) const {
  const int64_t n = static_cast<int64_t>(rank);
  if (given < -n || given >= n)
    refuse("has the axis " + std::to_string(given) + ", but " + std::to_string(n) + " dimensions");
  return static_cast<size_t>(given < 0 ? given + n : given);
}

std::vector<size_t> call::axes(const std::vector<int64_t> &given, size_t rank) const {
  std::vector<size_t> all;
  std::vector<bool> seen(rank, false);
  for (const int64_t number : given) {
    const size_t a = axis(number, rank);
    if (seen[a]) refuse("names the axis " + std::to_string(number) + " twice");
    seen[a] = true;
    all.push_back(a);
  }
  return all;
}

std::vector<int64_t> call::axes_given(size_t input) const { return has(input) ? integers_in(input) : list("axes"); }

namespace {

const operations &table() {
  static const operations all = [] {
    operations made;
    add_elementwise(made);
    add_shapes(made);
    add_gathers(made);
    add_reductions(made);
    add_norms(made);
    add_products(made);
    add_convolutions(made);
    add_images(made);
    add_quantized(made);
    add_attention(made);
    add_microsoft(made);
    add_recurrent(made);
    return made;
  }();
  return all;
}

results run(const graph_node &node, int64_t opset, const std::vector<const array *> &inputs, bool only_shapes) {
  const call c = {node, opset, inputs, only_shapes};
  const auto found = table().find(node.operation);
  if (found == table().end()) c.refuse("heed_compile does not know this operator");
  // Before version 7 operands repeated in a way of their own.
  if (opset < 7 && c.integer("broadcast", 0) != 0)
    c.refuse("repeats its operand as version 6 of ONNX did: save the model with version 7 or newer");
  std::string why;
  try {
    return found->second(c);
  } catch (const refusal &error) {
    why = error.what();
  }
  // A part that does not know the node.
  if (why.compare(0, 5, "node ") == 0) throw refusal(why);
  c.refuse(why);
}

}  // namespace

bool is_known(const std::string &operation) { return table().count(operation) != 0; }

results evaluate(const graph_node &node, int64_t opset, const std::vector<const array *> &inputs) {
  return run(node, opset, inputs, false);
}
results evaluate_shapes(const graph_node &node, int64_t opset, const std::vector<const array *> &inputs) {
  return run(node, opset, inputs, true);
}

bool decides_shape(const std::string &operation, size_t input) {
  static const std::map<std::string, std::vector<size_t>> deciding = {{"Reshape", {1}},
                                                                      {"Expand", {1}},
                                                                      {"Tile", {1}},
                                                                      {"Slice", {1, 2, 3, 4}},
                                                                      {"Pad", {1, 3}},
                                                                      {"Squeeze", {1}},
                                                                      {"Unsqueeze", {1}},
                                                                      {"Split", {1}},
                                                                      {"ConstantOfShape", {0}},
                                                                      {"Range", {0, 1, 2}},
                                                                      {"Resize", {1, 2, 3}},
                                                                      {"Upsample", {1}},
                                                                      {"OneHot", {1}},
                                                                      {"TopK", {1}},
                                                                      {"NonZero", {0}},
                                                                      {"Compress", {1}},
                                                                      {"Unique", {0}},
                                                                      {"ReduceSum", {1}},
                                                                      {"ReduceMean", {1}},
                                                                      {"ReduceMax", {1}},
                                                                      {"ReduceMin", {1}},
                                                                      {"ReduceProd", {1}},
                                                                      {"ReduceL1", {1}},
                                                                      {"ReduceL2", {1}},
                                                                      {"ReduceLogSum", {1}},
                                                                      {"ReduceLogSumExp", {1}},
                                                                      {"ReduceSumSquare", {1}},
                                                                      {"CenterCropPad", {1}},
                                                                      {"MaxUnpool", {2}},
                                                                      {"DFT", {1, 2}},
                                                                      {"STFT", {1, 3}},
                                                                      {"BlackmanWindow", {0}},
                                                                      {"HannWindow", {0}},
                                                                      {"HammingWindow", {0}},
                                                                      {"MelWeightMatrix", {0, 1, 2, 3, 4}},
                                                                      {"AffineGrid", {1}},
                                                                      {"Col2Im", {1, 2}},
                                                                      {"Trilu", {1}},
                                                                      {"CumSum", {1}}};
  const auto found = deciding.find(operation);
  if (found == deciding.end()) return false;
  for (const size_t i : found->second)
    if (i == input) return true;
  return false;
}

}  // namespace heed_compile
