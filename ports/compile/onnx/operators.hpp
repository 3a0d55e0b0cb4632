// What the operators of ONNX are made of: one function for each in double precision, in the files operators_*.cpp.
// SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_OPERATORS_HPP
#define HEED_COMPILE_OPERATORS_HPP

#include "graph.hpp"

namespace heed_compile {

// TensorProto.DataType.
enum onnx_type : int32_t {
  type_float = 1,
  type_uint8 = 2,
  type_int8 = 3,
  type_uint16 = 4,
  type_int16 = 5,
  type_int32 = 6,
  type_int64 = 7,
  type_bool = 9,
  type_float16 = 10,
  type_double = 11,
  type_uint32 = 12,
  type_uint64 = 13,
  type_bfloat16 = 16,
  type_uint4 = 21,
  type_int4 = 22,
  type_uint2 = 25,
  type_int2 = 26
};

// The element of a type. Throws refusal for those that a program has not: texts, complex numbers, floats of 8 or 4 bits.
element element_of(int32_t type);
// The least and the greatest integer of a type.
struct integer_range {
  double least, most;
};
integer_range range_of(int32_t type);

// More numbers than this has no value of a graph. Tests of damaged files make it less.
extern int64_t most_numbers;

// How many numbers a shape has. Throws refusal if a dimension is negative, or if there are more than most_numbers.
int64_t count_of(const shape &dims);
std::string text_of(const shape &dims);
std::vector<int64_t> strides_of(const shape &dims);

array zeros_of(element kind, const shape &dims, int32_t type = 0);
inline array zeros_like(const array &a, const shape &dims) { return zeros_of(a.kind, dims, a.type); }

// An operator with its inputs. `only_shapes`: the numbers of the outputs do not matter, so functions that take long leave them 0.
struct call {
  const graph_node &node;
  int64_t opset;
  const std::vector<const array *> &inputs;
  bool only_shapes;

  [[noreturn]] void refuse(const std::string &why) const;
  void expect(bool is_right, const char *why) const {
    if (!is_right) refuse(why);
  }

  bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const array &in(size_t i) const;
  const array *maybe(size_t i) const { return has(i) ? inputs[i] : nullptr; }
  // An input of whole numbers, such as a shape.
  std::vector<int64_t> integers_in(size_t i) const;
  int64_t integer_in(size_t i) const;
  double number_in(size_t i) const;

  bool has_attribute(const std::string &name) const { return node.attributes.count(name) != 0; }
  int64_t integer(const std::string &name, int64_t otherwise) const;
  double number(const std::string &name, double otherwise) const;
  std::vector<int64_t> list(const std::string &name) const;
  std::string text(const std::string &name, const std::string &otherwise) const;
  bool needs_output(size_t i) const { return i < node.outputs.size() && node.outputs[i] != no_value; }

  // An axis that may count from the end.
  size_t axis(int64_t given, size_t rank) const;
  std::vector<size_t> axes(const std::vector<int64_t> &given, size_t rank) const;
  // Of an operator that has its axes as an input in newer versions, as an attribute in older ones.
  std::vector<int64_t> axes_given(size_t input) const;
};

using results = std::vector<array>;
using operation = std::function<results(const call &)>;
using operations = std::map<std::string, operation>;

results one(array &&a);

void add_elementwise(operations &all);
void add_shapes(operations &all);
void add_gathers(operations &all);
void add_reductions(operations &all);
void add_norms(operations &all);
void add_products(operations &all);
void add_convolutions(operations &all);
void add_images(operations &all);
void add_quantized(operations &all);
void add_attention(operations &all);
void add_microsoft(operations &all);
void add_recurrent(operations &all);

// As evaluate, but the numbers of the outputs may be 0.
results evaluate_shapes(const graph_node &node, int64_t opset, const std::vector<const array *> &inputs);
// Whether input i decides the shape of an output, so that it must be a constant.
bool decides_shape(const std::string &operation, size_t input);

// Parts that several files share.

// The shape of two operands whose dimensions of 1 repeat. Throws refusal.
shape broadcast_shape(const call &c, const shape &a, const shape &b);
array broadcast_to(const call &c, const array &a, const shape &dims);
array transposed(const array &a, const std::vector<size_t> &order);
// The same numbers in another shape.
array reshaped(const array &a, const shape &dims);
// Numbers first to first + n along an axis.
array part_of(const array &a, size_t axis, int64_t first, int64_t n);
array joined(const std::vector<const array *> &parts, size_t axis);
// The product of the last two dimensions, with those before them repeated.
array multiplied(const call &c, const array &a, const array &b);
// Softmax along the last dimension, in place.
void softmax_rows(array &a);
// Results of a sum or a product fit the type of integers.
double wrapped(double number, int32_t type);
double rounded_to_even(double number);
double gelu(double x);
double gelu_tanh(double x);

// Rows of `length` numbers that follow each other at `stride`: the dimension `axis` of a shape.
struct lines {
  int64_t outer, length, stride;
  lines(const shape &dims, size_t axis);
  int64_t at(int64_t o, int64_t k, int64_t inner) const { return (o * length + k) * stride + inner; }
};

}  // namespace heed_compile

#endif
