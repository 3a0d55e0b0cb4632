// See tflite_walker.hpp. SPDX-License-Identifier: MIT
#include "tflite_walker.hpp"

#include <cmath>
#include <utility>

namespace tflite {
namespace {

// Numbers of the field that holds the fused activation; -1 for operators without one.
int activation_field(opcode code) {
  switch (code) {
    case opcode::add:
    case opcode::sub:
    case opcode::mul:
    case opcode::fully_connected:
      return 0;
    case opcode::concatenation:
      return 1;
    default:
      return -1;
  }
}

}  // namespace

walker::walker(graph g) : graph_(std::move(g)), producers_(graph_.tensors.size(), -1) {
  for (size_t i = 0; i < graph_.operations.size(); ++i) {
    for (const int32_t output : graph_.operations[i].outputs) {
      int32_t &producer = producers_[static_cast<size_t>(output)];
      if (producer >= 0) refuse(output, "computed by two operators");
      producer = static_cast<int32_t>(i);
    }
  }
}

void walker::refuse(int32_t tensor, const std::string &why) const {
  throw format_error("not the graph of KWT-1: tensor " + std::to_string(tensor) + " (" + at(tensor).name + "): " + why);
}

const tensor &walker::at(int32_t tensor) const { return graph_.tensors[static_cast<size_t>(tensor)]; }

const operation *walker::find(int32_t tensor) const {
  const int32_t i = producers_[static_cast<size_t>(tensor)];
  return i < 0 ? nullptr : &graph_.operations[static_cast<size_t>(i)];
}

int32_t walker::source(int32_t tensor) const {
  // Counted, because a damaged file may hold a circle of reshapes.
  for (size_t steps = 0; steps <= graph_.operations.size(); ++steps) {
    const operation *op = find(tensor);
    if (op == nullptr || op->code != opcode::reshape) return tensor;
    tensor = input(*op, 0);
  }
  refuse(tensor, "reshaped in a circle");
}

bool walker::comes_from(int32_t tensor, opcode code) const {
  const operation *op = find(source(tensor));
  return op != nullptr && op->code == code;
}

const operation &walker::producer(int32_t tensor, opcode code) const {
  const operation *op = find(source(tensor));
  if (op == nullptr) refuse(tensor, "expected " + opcode_name(code) + ", found no operator");
  if (op->code != code) refuse(tensor, "expected " + opcode_name(code) + ", found " + opcode_name(op->code));
  const int activation = activation_field(code);
  if (activation >= 0 && graph_.option_u8(*op, activation, 0) != 0) refuse(tensor, "has a fused activation");
  return *op;
}

bool walker::constant(int32_t tensor) const { return at(tensor).data.length != 0; }

int32_t walker::input(const operation &op, size_t i) const {
  if (i >= op.inputs.size() || op.inputs[i] < 0) throw format_error(opcode_name(op.code) + " lacks an input");
  return op.inputs[i];
}

void walker::same(int32_t a, int32_t b) const {
  if (source(a) != source(b)) refuse(a, "expected tensor " + std::to_string(b) + " (" + at(b).name + ")");
}

int32_t walker::other(const operation &op, int32_t tensor) const {
  const int32_t a = input(op, 0), b = input(op, 1);
  if (source(a) == source(tensor)) return b;
  same(b, tensor);
  return a;
}

int32_t walker::operand_from(const operation &op, opcode code) const {
  const int32_t a = input(op, 0), b = input(op, 1);
  if (comes_from(a, code)) return a;
  producer(b, code);
  return b;
}

walker::computed_and_constant walker::split(const operation &op) const {
  const int32_t a = input(op, 0), b = input(op, 1);
  if (constant(a) == constant(b)) refuse(a, "expected a constant and a computed operand of " + opcode_name(op.code));
  return constant(a) ? computed_and_constant{b, a} : computed_and_constant{a, b};
}

void walker::shape(int32_t tensor, const std::vector<int32_t> &expected) const {
  if (at(tensor).shape == expected) return;
  const auto text = [](const std::vector<int32_t> &dims) {
    std::string list;
    for (const int32_t dim : dims) list += (list.empty() ? "" : " x ") + std::to_string(dim);
    return "(" + list + ")";
  };
  refuse(tensor, "shape " + text(at(tensor).shape) + ", expected " + text(expected));
}

int32_t walker::before_transposes(int32_t tensor, int *n_transposes) const {
  *n_transposes = 0;
  for (size_t steps = 0; steps <= graph_.operations.size(); ++steps) {
    if (!comes_from(tensor, opcode::transpose)) return source(tensor);
    const operation &op = producer(tensor, opcode::transpose);
    std::vector<int32_t> order = integers(input(op, 1));
    if (order.size() < 2) refuse(tensor, "a transpose of less than two axes");
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] != static_cast<int32_t>(i)) refuse(tensor, "a transpose of other than the last two axes");
    }
    tensor = input(op, 0);
    ++*n_transposes;
  }
  refuse(tensor, "transposed in a circle");
}

std::vector<float> walker::floats(int32_t tensor) const {
  const span data = at(tensor).data;
  if (at(tensor).element_type != static_cast<uint8_t>(type::float32)) refuse(tensor, "not of type float32");
  if (data.length == 0 || data.length % 4 != 0) refuse(tensor, "not a constant of whole floats");
  std::vector<float> numbers;
  for (size_t i = 0; i < data.length; i += 4) {
    numbers.push_back(graph_.file.f32(data.first + i));
    if (!std::isfinite(numbers.back())) refuse(tensor, "holds a NaN or an infinity");
  }
  return numbers;
}

float walker::scalar(int32_t tensor) const {
  const std::vector<float> numbers = floats(tensor);
  if (numbers.size() != 1) refuse(tensor, "expected one number");
  return numbers[0];
}

void walker::expect_scalar(int32_t tensor, float value) const {
  // Two units in the last place: converters fold constants in float or in double.
  const float found = scalar(tensor);
  if (std::fabs(found - value) > 2.4e-7f * std::fabs(value)) {
    refuse(tensor, "is " + std::to_string(found) + ", expected " + std::to_string(value));
  }
}

std::vector<int32_t> walker::integers(int32_t tensor) const {
  const span data = at(tensor).data;
  if (at(tensor).element_type != static_cast<uint8_t>(type::int32)) refuse(tensor, "not of type int32");
  if (data.length == 0 || data.length % 4 != 0) refuse(tensor, "not a constant of whole integers");
  std::vector<int32_t> numbers;
  for (size_t i = 0; i < data.length; i += 4) {
    numbers.push_back(static_cast<int32_t>(graph_.file.u32(data.first + i)));
  }
  return numbers;
}

void walker::vector(int32_t tensor, float *out, size_t n) const {
  const std::vector<float> numbers = floats(tensor);
  if (numbers.size() != n) {
    refuse(tensor, "has " + std::to_string(numbers.size()) + " numbers, expected " + std::to_string(n));
  }
  for (size_t i = 0; i < n; ++i) out[i] = numbers[i];
}

void walker::matrix(int32_t tensor, int32_t n_in, int32_t n_out, float *out, size_t row_stride) const {
  shape(tensor, {n_out, n_in});
  const std::vector<float> numbers = floats(tensor);
  const size_t rows = static_cast<size_t>(n_in), columns = static_cast<size_t>(n_out);
  if (numbers.size() != rows * columns) refuse(tensor, "has more or less data than its shape says");
  for (size_t i = 0; i < rows; ++i) {
    for (size_t o = 0; o < columns; ++o) out[i * row_stride + o] = numbers[o * rows + i];
  }
}

}  // namespace tflite
