// See kept_rows.hpp. SPDX-License-Identifier: MIT
#include "kept_rows.hpp"

#include <algorithm>
#include <set>

namespace heed_compile {
namespace {

// Each number of the output comes of the numbers at its place.
const std::set<std::string> of_numbers = {
    "Abs",       "Add",      "And",       "Cast", "Ceil",        "Clip",       "Cos",     "Div",
    "Elu",       "Equal",    "Erf",       "Exp",  "Floor",       "Gelu",       "Greater", "GreaterOrEqual",
    "HardSwish", "Identity", "LeakyRelu", "Less", "LessOrEqual", "Log",        "Max",     "Min",
    "Mul",       "Neg",      "Not",       "Or",   "Pow",         "Reciprocal", "Relu",    "Round",
    "Selu",      "Sigmoid",  "Sign",      "Sin",  "Softplus",    "Softsign",   "Sqrt",    "Sub",
    "Tanh",      "Where",    "Xor"};
// What these make of sums and places is told from shapes alone: a row that is added up or lost has another shape.
const std::set<std::string> of_shapes = {"MatMul",    "ReduceL2",   "ReduceMax", "ReduceMean",
                                         "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
                                         "Squeeze",   "Transpose",  "Unsqueeze"};
// Along one axis, which may not be that of the rows.
const std::set<std::string> of_an_axis = {"Concat", "LogSoftmax", "Softmax", "Split"};
// What may be done with shapes that have the number of rows in them.
const std::set<std::string> of_counts = {"Cast",       "Concat",  "Gather", "Identity", "Mul",
                                         "ReduceProd", "Reshape", "Slice",  "Squeeze",  "Unsqueeze"};

size_t axis_of(int64_t given, size_t rank) {
  return static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(rank) : given);
}

}  // namespace

const kept_rows::rows *kept_rows::of(int v) const {
  const auto found = rows_.find(v);
  return found == rows_.end() ? nullptr : &found->second;
}

bool kept_rows::concerns(const graph_node &node) const {
  if (node.operation == "NonZero" && node.inputs.size() == 1 && node.inputs[0] != no_value &&
      !value(node.inputs[0]).is_constant)
    return true;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](int v) { return v != no_value && has(v); });
}

array kept_rows::all_places(const shape &mask) {
  const int64_t n = count_of(mask);
  array places = zeros_of(element::integers, {static_cast<int64_t>(mask.size()), n}, type_int64);
  const std::vector<int64_t> strides = strides_of(mask);
  for (size_t d = 0; d < mask.size(); ++d)
    for (int64_t i = 0; i < n; ++i)
      places.numbers[d * static_cast<size_t>(n) + static_cast<size_t>(i)] =
          static_cast<double>(i / strides[d] % mask[d]);
  return places;
}

void kept_rows::refuse(const graph_node &node, const std::string &why) const {
  throw refusal(
      "node " + node.name + " (" + node.operation + "): " + why +
      ". How many rows its mask keeps depends on the numbers of an input, and memory of a program is a constant");
}

int kept_rows::mask_of(int v) const {
  const auto counted = counts_.find(v);
  if (counted != counts_.end()) return counted->second.mask;
  return of(v) != nullptr ? of(v)->mask : int{no_value};
}

// A prime number of rows, so that no shape has it by chance.
int64_t kept_rows::some_rows(int64_t n) const {
  const auto is_prime = [](int64_t x) {
    for (int64_t d = 2; d * d <= x; ++d)
      if (x % d == 0) return false;
    return true;
  };
  for (++n; n < 2 || !is_prime(n); ++n) {
  }
  return n;
}

shape kept_rows::other_dims(int v) const {
  shape dims = value(v).dims;
  if (const rows *const r = of(v)) dims.at(r->axis) = some_rows(dims.at(r->axis));
  return dims;
}

void kept_rows::expect_each_row(const graph_node &node, int64_t opset) const {
  const std::string &operation = node.operation;
  int mask = no_value;
  for (const int v : node.inputs) {
    if (v != no_value && counts_.count(v) != 0 && operation != "Reshape")
      refuse(node, "computes with the number of rows that a mask keeps");
    if (v == no_value || of(v) == nullptr) continue;
    if (mask != no_value && of(v)->mask != mask) refuse(node, "reads rows of two masks");
    mask = of(v)->mask;
  }
  if (of_numbers.count(operation) != 0 || of_shapes.count(operation) != 0) return;
  const rows *const first = of(node.inputs.at(0));
  const auto axis = [&](int64_t otherwise) {
    return axis_of(integer_of(node, "axis", otherwise), value(node.inputs[0]).dims.size());
  };
  if (of_an_axis.count(operation) != 0) {
    const bool is_softmax = operation == "Softmax" || operation == "LogSoftmax", is_flat = is_softmax && opset < 13;
    const size_t along = axis(is_flat ? 1 : is_softmax ? -1 : 0);
    for (const int v : node.inputs)  // a softmax of old versions is along all dimensions from the axis on
      if (v != no_value && of(v) != nullptr && (of(v)->axis == along || (is_flat && of(v)->axis > along)))
        refuse(node, "works along the rows that a mask keeps");
    return;
  }
  if (operation == "Slice" && first != nullptr) {
    const bool has_axes = node.inputs.size() > 3 && node.inputs[3] != no_value;
    bool is_of_rows = !has_axes;
    if (has_axes)
      for (const double a : numbers_of(value(node.inputs[3]))->numbers)
        if (axis_of(static_cast<int64_t>(a), value(node.inputs[0]).dims.size()) == first->axis) is_of_rows = true;
    if (is_of_rows) refuse(node, "takes some of the rows that a mask keeps");
    return;
  }
  if (operation == "Gather") {
    const rows *const second = of(node.inputs.at(1));
    if ((first != nullptr && second != nullptr) || (first != nullptr && first->axis == axis(0)))
      refuse(node, "takes some of the rows that a mask keeps");
    return;
  }
  if (operation != "Reshape" || first == nullptr)
    refuse(node, "is not known to work by itself on each row that a mask keeps");
}

void kept_rows::expect_only_counts(const graph_node &node) const {
  if (of_counts.count(node.operation) == 0) refuse(node, "computes with the number of rows that a mask keeps");
  const bool is_of_first = node.operation != "Concat" && node.operation != "Mul";
  for (size_t i = 1; is_of_first && i < node.inputs.size(); ++i)
    if (node.inputs[i] != no_value && has(node.inputs[i]))
      refuse(node, "computes with the number of rows that a mask keeps");
}

void kept_rows::follow_output(const graph_node &node, int output, const array &other) {
  const shape &dims = value(output).dims;
  const auto differs = [&] { refuse(node, "mixes the rows that a mask keeps, or counts them"); };
  if (dims.size() != other.dims.size()) differs();
  int mask = no_value;
  const rows *first = nullptr;
  for (const int v : node.inputs)
    if (v != no_value && of(v) != nullptr) first = first == nullptr ? of(v) : first, mask = of(v)->mask;
  const int64_t n = value(mask).dims.empty() ? 1 : count_of(value(mask).dims);
  size_t n_axes = 0, axis = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == other.dims[d]) continue;
    if (dims[d] != n || other.dims[d] != some_rows(n)) differs();
    axis = d, ++n_axes;
  }
  if (n_axes != 1) differs();
  // Numbers stay in their row if as many stand before the axis as did.
  if (node.operation == "Reshape") {
    const auto before = [](const shape &of, size_t end) {
      int64_t all = 1;
      for (size_t d = 0; d < end; ++d) all *= of[d];
      return all;
    };
    if (before(dims, axis) != before(value(node.inputs[0]).dims, first->axis)) differs();
  }
  const bool are_places =
      first->are_places && (node.operation == "Transpose" || node.operation == "Cast" || node.operation == "Identity");
  rows_[output] = {mask, axis, are_places};
}

void kept_rows::follow(const graph_node &node, int64_t opset) {
  std::vector<array> kept(node.inputs.size());
  std::vector<shared_array> constants(node.inputs.size());
  std::vector<const array *> given;
  bool has_rows = false;
  int mask = no_value;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int v = node.inputs[i];
    if (v == no_value) {
      given.push_back(nullptr);
      continue;
    }
    has_rows = has_rows || of(v) != nullptr;
    if (of(v) != nullptr) mask = of(v)->mask;
    const auto counted = counts_.find(v);
    if (counted != counts_.end()) {
      given.push_back(&counted->second.numbers), mask = counted->second.mask;
    } else if (value(v).is_constant && of(v) == nullptr) {
      constants[i] = numbers_of(value(v));
      given.push_back(constants[i].get());
    } else {
      kept[i] = zeros_of(value(v).kind, other_dims(v), value(v).type);
      given.push_back(&kept[i]);
    }
  }
  const bool is_shape = node.operation == "Shape";
  if (!is_shape) has_rows ? expect_each_row(node, opset) : expect_only_counts(node);
  results other;
  try {
    other = has_rows && !is_shape ? evaluate_shapes(node, opset, given) : evaluate(node, opset, given);
  } catch (const refusal &) {
    refuse(node, "does not work by itself on each row that a mask keeps");
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const int output = node.outputs[i];
    if (output == no_value) continue;
    if (has_rows && !is_shape) {
      follow_output(node, output, other.at(i));
      continue;
    }
    if (!value(output).is_constant) refuse(node, "has a shape that depends on the number of rows that a mask keeps");
    const shared_array own = numbers_of(value(output));
    if (own->dims != other.at(i).dims || own->numbers != other[i].numbers) counts_[output] = {other[i], mask};
  }
}

}  // namespace heed_compile
