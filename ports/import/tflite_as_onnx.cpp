// See tflite_as_onnx.hpp. A graph of TensorFlow Lite as the same graph of ONNX: each operator becomes one or more of ONNX's. Numbers of fields are those
// of the schema, schema.fbs in TensorFlow's sources. SPDX-License-Identifier: MIT
#include "tflite_as_onnx.hpp"

#include <cstring>
#include <set>

#include "onnx_maker.hpp"
#include "tflite_graph.hpp"

namespace heed_import {
namespace {

using tflite::opcode;

enum activation_code { no_activation = 0, relu = 1, relu_n1_to_1 = 2, relu6 = 3, tanh_activation = 4 };
enum padding_code { padding_same = 0, padding_valid = 1 };

// Fields of the tables of options.
namespace options_of_fully_connected {
enum { activation = 0, keep_num_dims = 2 };
}
namespace options_of_convolution {
enum { padding = 0, stride_w = 1, stride_h = 2, activation = 3, dilation_w = 4, dilation_h = 5 };
}
namespace options_of_depthwise {
enum { padding = 0, stride_w = 1, stride_h = 2, activation = 4, dilation_w = 5, dilation_h = 6 };
}
namespace options_of_pool {
enum { padding = 0, stride_w = 1, stride_h = 2, filter_w = 3, filter_h = 4, activation = 5 };
}
namespace options_of_slice {
enum { begin_mask = 0, end_mask = 1, ellipsis_mask = 2, new_axis_mask = 3, shrink_axis_mask = 4 };
}

// Stands for "to the end": no dimension has so many numbers.
constexpr int64_t to_the_end = INT64_C(1) << 31;

class translator : onnx_maker {
 public:
  explicit translator(const tflite::graph &from, span file) : from_(from), file_(file) {
    name_tensors();
    to_.opsets[""] = 17;
    to_.graphs.resize(1);
    for (size_t i = 0; i < from_.tensors.size(); ++i)
      if (from_.tensors[i].data.length != 0) add_constant(i);
    for (const int32_t input : from_.inputs) to_.graphs[0].inputs.push_back(port_of(input));
    for (const int32_t output : from_.outputs) to_.graphs[0].outputs.push_back(port_of(output));
    for (const tflite::operation &op : from_.operations) translate(op);
  }
  onnx_graphs take() { return std::move(to_); }

 private:
  const tflite::tensor &tensor_of(int32_t i) const { return from_.tensors[static_cast<size_t>(i)]; }
  const std::string &name_of(int32_t i) const { return names_[static_cast<size_t>(i)]; }

  // Names of a file may be empty, and two tensors may have the same.
  void name_tensors() {
    std::set<std::string> taken;
    for (size_t i = 0; i < from_.tensors.size(); ++i) {
      std::string name = from_.tensors[i].name;
      if (name.empty() || !taken.insert(name).second) {
        name += "#" + std::to_string(i);
        if (!taken.insert(name).second) throw refusal(names::for_terminal(name + ": two tensors have this name"));
      }
      names_.push_back(name);
    }
  }

  [[noreturn]] void refuse(const tflite::operation &op, const std::string &why) const {
    const std::string output = op.outputs.empty() ? "" : " " + name_of(op.outputs[0]);
    throw refusal(names::for_terminal(tflite::opcode_name(op.code) + output + ": " + why));
  }

  // TensorProto's number of a type.
  int32_t type_of(const tflite::tensor &t) const {
    switch (t.element_type) {
      case 0:
        return 1;  // float
      case 1:
        return 10;  // float16
      case 2:
        return 6;  // int32
      case 4:
        return 7;  // int64
      case 6:
        return 9;  // bool
      default:
        throw refusal(names::for_terminal(
            t.name + ": is of type " + std::to_string(t.element_type) +
            " of TensorFlow Lite; graphs of floats are read: convert the model without quantisation"));
    }
  }

  void add_constant(size_t i) {
    const tflite::tensor &t = from_.tensors[i];
    const bool is_of_bytes = t.element_type == 9 || t.element_type == 3;
    const bool is_quantised = is_of_bytes && t.scales.length != 0;
    onnx_tensor constant;
    constant.name = is_quantised ? new_name() : names_[i];
    constant.type = !is_quantised ? type_of(t) : t.element_type == 9 ? 3 : 2;
    for (const int32_t dim : t.shape) {
      if (dim < 0) throw refusal(names::for_terminal(names_[i] + ": has a negative dimension"));
      constant.dims.push_back(static_cast<uint64_t>(dim));
    }
    constant.raw = {file_.data + t.data.first, t.data.length};
    to_.tensors.push_back(constant);
    if (is_quantised) dequantise(i, constant);
  }

  // Weights of 8 bits in a graph that computes with floats.
  void dequantise(size_t i, const onnx_tensor &quantised) {
    const tflite::tensor &t = from_.tensors[i];
    const size_t n = t.scales.length, rank = t.shape.size();
    const auto expect = [&](bool is_good, const std::string &why) {
      if (!is_good) throw refusal(names::for_terminal(names_[i] + ": " + why));
    };
    expect(t.zeros.length == n || t.zeros.length == 0, "has more or fewer zero points than scales");
    const auto axis = static_cast<size_t>(t.scaled_dimension);
    expect(n == 1 || (t.scaled_dimension >= 0 && axis < rank && quantised.dims[axis] == n),
           "has " + std::to_string(n) + " scales, neither one nor one for each output");
    onnx_tensor scales, zeros;
    scales.type = 1, zeros.type = quantised.type;
    if (n > 1) scales.dims = zeros.dims = {n};
    scales.raw = {file_.data + t.scales.first, 4 * n};
    const int64_t least = quantised.type == 3 ? -128 : 0;
    for (size_t k = 0; k < n; ++k) {
      const size_t at = t.zeros.first + 8 * k;
      const uint64_t low = t.zeros.length == 0 ? 0 : from_.file.u32(at);
      const uint64_t high = t.zeros.length == 0 ? 0 : from_.file.u32(at + 4);
      const auto zero = static_cast<int64_t>(high << 32 | low);
      expect(zero >= least && zero <= least + 255, "has a zero point beyond its numbers");
      zeros.integers.push_back(static_cast<uint64_t>(zero));
    }
    onnx_node node;
    node.name = names_[i];
    node.operation = "DequantizeLinear";
    node.inputs = {quantised.name, constant(std::move(scales)), constant(std::move(zeros))};
    node.integers["axis"] = n > 1 ? t.scaled_dimension : 0;
    node.outputs = {names_[i]};
    to_.nodes.push_back(std::move(node));
  }

  onnx_port port_of(int32_t i) const {
    const tflite::tensor &t = tensor_of(i);
    onnx_port port;
    port.name = name_of(i);
    port.type = type_of(t);
    port.has_shape = true;
    for (const int32_t dim : t.shape) {
      onnx_dim d;
      d.has_number = dim >= 0;
      d.number = dim;
      port.dims.push_back(d);
    }
    return port;
  }

  int32_t index(const tflite::operation &op, size_t i) const {
    if (i >= op.inputs.size() || op.inputs[i] < 0) refuse(op, "lacks an input");
    return op.inputs[i];
  }
  bool has_input(const tflite::operation &op, size_t i) const { return i < op.inputs.size() && op.inputs[i] >= 0; }
  std::string input(const tflite::operation &op, size_t i) const { return name_of(index(op, i)); }
  const std::vector<int32_t> &shape_of(const tflite::operation &op, size_t i) const {
    return tensor_of(index(op, i)).shape;
  }
  int32_t output(const tflite::operation &op) const {
    if (op.outputs.size() != 1) refuse(op, "has no output, or more than one");
    return op.outputs[0];
  }

  // The numbers of an input that is a constant, such as a shape.
  list integers(const tflite::operation &op, size_t i) const {
    const tflite::tensor &t = tensor_of(index(op, i));
    const bool is_wide = t.element_type == 4;
    if (t.data.length == 0 || (t.element_type != 2 && !is_wide))
      refuse(op, "has a shape or an axis that is no constant");
    list numbers;
    const size_t n_bytes = is_wide ? 8 : 4;
    for (size_t at = 0; at + n_bytes <= t.data.length; at += n_bytes) {
      const uint64_t low = from_.file.u32(t.data.first + at);
      const uint64_t high = is_wide ? from_.file.u32(t.data.first + at + 4) : 0;
      numbers.push_back(is_wide ? static_cast<int64_t>(high << 32 | low) : static_cast<int32_t>(low));
    }
    return numbers;
  }

  // Adds a node. Returns the name of its output.
  std::string add(const tflite::operation &op, const std::string &operation, const std::vector<std::string> &inputs,
                  const how &given = {}) {
    return made(name_of(output(op)), operation, inputs, given);
  }
  // The node before has made the output of the operator, unless that would rename what another one reads.
  void set(const tflite::operation &op, const std::string &value) { rename_last(value, name_of(output(op))); }

  std::string activated(const tflite::operation &op, const std::string &value, int code) {
    switch (code) {
      case no_activation:
        return value;
      case relu:
        return add(op, "Relu", {value});
      case relu_n1_to_1:
        return add(op, "Clip", {value, constant(-1.0f), constant(1.0f)});
      case relu6:
        return add(op, "Clip", {value, constant(0.0f), constant(6.0f)});
      case tanh_activation:
        return add(op, "Tanh", {value});
      default:
        refuse(op, "has activation " + std::to_string(code) + ", which is not known");
    }
  }

  void unary(const tflite::operation &op, const char *operation) { set(op, add(op, operation, {input(op, 0)})); }
  void binary(const tflite::operation &op, const char *operation) {
    set(op, add(op, operation, {input(op, 0), input(op, 1)}));
  }
  // With an activation in its options.
  void sum_or_product(const tflite::operation &op, const char *operation) {
    const std::string value = add(op, operation, {input(op, 0), input(op, 1)});
    set(op, activated(op, value, from_.option_u8(op, 0, 0)));
  }
  void square(const tflite::operation &op, const std::string &value) { set(op, add(op, "Mul", {value, value})); }
  void reciprocal_root(const tflite::operation &op) {
    const std::string root = add(op, "Sqrt", {input(op, 0)});
    set(op, add(op, "Reciprocal", {root}));
  }
  void reduction(const tflite::operation &op, const std::string &operation) {
    how given;
    given.integers["keepdims"] = from_.option_u8(op, 0, 0) != 0 ? 1 : 0;
    std::vector<std::string> inputs = {input(op, 0)};
    const list axes = integers(op, 1);
    // In version 17 the sum alone has its axes as an input.
    if (operation == "ReduceSum")
      inputs.push_back(constant(axes));
    else
      given.lists["axes"] = axes;
    set(op, add(op, operation, inputs, given));
  }

  void fully_connected(const tflite::operation &op) {
    namespace options = options_of_fully_connected;
    const std::vector<int32_t> &w = shape_of(op, 1);
    if (w.size() != 2) refuse(op, "has weights that are no matrix");
    const bool keeps = from_.option_u8(op, options::keep_num_dims, 0) != 0;
    std::string rows = input(op, 0);
    if (!keeps && shape_of(op, 0).size() != 2) rows = add(op, "Reshape", {rows, constant(list{-1, w[1]})});
    const std::string weights = add(op, "Transpose", {input(op, 1)}, {{}, {{"perm", {1, 0}}}, {}});
    std::string y = add(op, "MatMul", {rows, weights});
    if (has_input(op, 2)) y = add(op, "Add", {y, input(op, 2)});
    set(op, activated(op, y, from_.option_u8(op, options::activation, 0)));
  }

  std::string transposed(const tflite::operation &op, const std::string &value, const list &order) {
    return add(op, "Transpose", {value}, {{}, {{"perm", order}}, {}});
  }
  std::string operand(const tflite::operation &op, size_t i, bool is_transposed) {
    if (!is_transposed) return input(op, i);
    const size_t rank = shape_of(op, i).size();
    if (rank < 2) refuse(op, "transposes what is no matrix");
    list order(rank);
    for (size_t k = 0; k < rank; ++k) order[k] = static_cast<int64_t>(k);
    std::swap(order[rank - 1], order[rank - 2]);
    return transposed(op, input(op, i), order);
  }
  void batch_product(const tflite::operation &op) {
    const std::string a = operand(op, 0, from_.option_u8(op, 0, 0) != 0);
    const std::string b = operand(op, 1, from_.option_u8(op, 1, 0) != 0);
    set(op, add(op, "MatMul", {a, b}));
  }

  // Pictures are (batch, height, width, channels) here, and (batch, channels, height, width) in ONNX.
  std::string picture(const tflite::operation &op, size_t i) {
    if (shape_of(op, i).size() != 4) refuse(op, "reads what is no picture of 4 dimensions");
    return transposed(op, input(op, i), {0, 3, 1, 2});
  }
  void set_picture(const tflite::operation &op, const std::string &value, int activation) {
    set(op, activated(op, transposed(op, value, {0, 2, 3, 1}), activation));
  }
  std::string padding(const tflite::operation &op) const {
    return from_.option_u8(op, 0, 0) == padding_same ? "SAME_UPPER" : "VALID";
  }
  list pair(const tflite::operation &op, int height, int width) const {
    return {from_.option_i32(op, height, 1), from_.option_i32(op, width, 1)};
  }

  void convolution(const tflite::operation &op) {
    namespace options = options_of_convolution;
    const std::string x = picture(op, 0), w = picture(op, 1);
    const int64_t channels = shape_of(op, 0)[3], per_output = shape_of(op, 1)[3];
    if (per_output < 1 || channels % per_output != 0) refuse(op, "has weights for another number of channels");
    convolve(op, x, w, channels / per_output, pair(op, options::stride_h, options::stride_w),
             pair(op, options::dilation_h, options::dilation_w), from_.option_u8(op, options::activation, 0));
  }
  void depthwise(const tflite::operation &op) {
    namespace options = options_of_depthwise;
    const std::string x = picture(op, 0);
    // Weights are (1, height, width, outputs).
    if (shape_of(op, 1).size() != 4 || shape_of(op, 1)[0] != 1) refuse(op, "has weights of another shape");
    const std::string w = transposed(op, input(op, 1), {3, 0, 1, 2});
    convolve(op, x, w, shape_of(op, 0)[3], pair(op, options::stride_h, options::stride_w),
             pair(op, options::dilation_h, options::dilation_w), from_.option_u8(op, options::activation, 0));
  }
  void convolve(const tflite::operation &op, const std::string &x, const std::string &w, int64_t groups,
                const list &strides, const list &dilations, int activation) {
    std::vector<std::string> inputs = {x, w};
    if (has_input(op, 2)) inputs.push_back(input(op, 2));
    how given;
    given.integers["group"] = groups;
    given.lists = {{"strides", strides}, {"dilations", dilations}};
    given.texts["auto_pad"] = padding(op);
    set_picture(op, add(op, "Conv", inputs, given), activation);
  }
  void pool(const tflite::operation &op, const char *operation) {
    namespace options = options_of_pool;
    how given;
    given.lists = {{"kernel_shape", pair(op, options::filter_h, options::filter_w)},
                   {"strides", pair(op, options::stride_h, options::stride_w)}};
    given.texts["auto_pad"] = padding(op);
    const std::string x = picture(op, 0);
    set_picture(op, add(op, operation, {x}, given), from_.option_u8(op, options::activation, 0));
  }

  void strided_slice(const tflite::operation &op) {
    namespace options = options_of_slice;
    const auto has = [&](int mask, size_t axis) {
      return (static_cast<uint32_t>(from_.option_i32(op, mask, 0)) >> axis & 1) != 0;
    };
    if (from_.option_i32(op, options::ellipsis_mask, 0) != 0 || from_.option_i32(op, options::new_axis_mask, 0) != 0)
      refuse(op, "has an ellipsis or a new axis, which is not read");
    list begin = integers(op, 1), end = integers(op, 2), axes, dropped;
    const list stride = integers(op, 3);
    const size_t n = begin.size();
    if (n > shape_of(op, 0).size() || n > 31 || end.size() != n || stride.size() != n)
      refuse(op, "slices more dimensions than there are");
    for (size_t i = 0; i < n; ++i) {
      const bool is_forward = stride[i] > 0;
      axes.push_back(static_cast<int64_t>(i));
      if (has(options::shrink_axis_mask, i)) {
        end[i] = begin[i] == -1 ? to_the_end : begin[i] + 1;
        dropped.push_back(static_cast<int64_t>(i));
        continue;
      }
      if (has(options::begin_mask, i)) begin[i] = is_forward ? 0 : to_the_end;
      if (has(options::end_mask, i)) end[i] = is_forward ? to_the_end : -to_the_end;
    }
    std::string y = add(op, "Slice", {input(op, 0), constant(begin), constant(end), constant(axes), constant(stride)});
    if (!dropped.empty()) y = add(op, "Squeeze", {y, constant(dropped)});
    set(op, y);
  }
  void slice(const tflite::operation &op) {
    const list begin = integers(op, 1), size = integers(op, 2);
    if (size.size() != begin.size()) refuse(op, "has a begin and a size that do not fit each other");
    list end, axes;
    for (size_t i = 0; i < begin.size(); ++i) {
      end.push_back(size[i] < 0 ? to_the_end : begin[i] + size[i]);
      axes.push_back(static_cast<int64_t>(i));
    }
    set(op, add(op, "Slice", {input(op, 0), constant(begin), constant(end), constant(axes)}));
  }

  void pack(const tflite::operation &op) {
    const int64_t axis = from_.option_i32(op, 1, 0);
    std::vector<std::string> parts;
    for (size_t i = 0; i < op.inputs.size(); ++i)
      parts.push_back(add(op, "Unsqueeze", {input(op, i), constant(list{axis})}));
    set(op, add(op, "Concat", parts, {{{"axis", axis}}, {}, {}}));
  }
  void concatenation(const tflite::operation &op) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < op.inputs.size(); ++i) parts.push_back(input(op, i));
    const std::string y = add(op, "Concat", parts, {{{"axis", from_.option_i32(op, 0, 0)}}, {}, {}});
    set(op, activated(op, y, from_.option_u8(op, 1, 0)));
  }
  // Reshapes, and what removes or adds dimensions of 1: the shape of the output is in the file.
  void reshape(const tflite::operation &op) {
    const std::vector<int32_t> &y = tensor_of(output(op)).shape;
    set(op, add(op, "Reshape", {input(op, 0), constant(list(y.begin(), y.end()))}, {{{"allowzero", 1}}, {}, {}}));
  }
  void transpose(const tflite::operation &op) { set(op, transposed(op, input(op, 0), integers(op, 1))); }
  void gather(const tflite::operation &op) {
    if (from_.option_i32(op, 1, 0) != 0) refuse(op, "gathers by batches, which is not read");
    set(op, add(op, "Gather", {input(op, 0), input(op, 1)}, {{{"axis", from_.option_i32(op, 0, 0)}}, {}, {}}));
  }
  void pad(const tflite::operation &op) {
    const list pairs = integers(op, 1);
    const size_t rank = shape_of(op, 0).size();
    if (pairs.size() != 2 * rank) refuse(op, "pads other dimensions than there are");
    list pads(pairs.size());
    for (size_t i = 0; i < rank; ++i) {
      pads[i] = pairs[2 * i];
      pads[rank + i] = pairs[2 * i + 1];
    }
    set(op, add(op, "Pad", {input(op, 0), constant(pads)}));
  }
  void softmax(const tflite::operation &op) {
    std::string x = input(op, 0);
    const float beta = from_.option_f32(op, 0, 0);
    if (beta != 1.0f) x = add(op, "Mul", {x, constant(beta)});
    set(op, add(op, "Softmax", {x}, {{{"axis", -1}}, {}, {}}));
  }
  void cast(const tflite::operation &op) {
    set(op, add(op, "Cast", {input(op, 0)}, {{{"to", type_of(tensor_of(output(op)))}}, {}, {}}));
  }
  void gelu(const tflite::operation &op) {
    const bool is_approximate = from_.option_u8(op, 0, 0) != 0;
    how given;
    given.texts["approximate"] = is_approximate ? "tanh" : "none";
    set(op, add(op, "Gelu", {input(op, 0)}, given));
  }

  void translate(const tflite::operation &op) {
    switch (op.code) {
      case opcode::add:
        return sum_or_product(op, "Add");
      case opcode::sub:
        return sum_or_product(op, "Sub");
      case opcode::mul:
        return sum_or_product(op, "Mul");
      case opcode::div:
        return sum_or_product(op, "Div");
      case opcode::maximum:
        return binary(op, "Max");
      case opcode::minimum:
        return binary(op, "Min");
      case opcode::pow:
        return binary(op, "Pow");
      case opcode::squared_difference:
        return square(op, add(op, "Sub", {input(op, 0), input(op, 1)}));
      case opcode::square:
        return square(op, input(op, 0));
      case opcode::abs:
        return unary(op, "Abs");
      case opcode::exp:
        return unary(op, "Exp");
      case opcode::log:
        return unary(op, "Log");
      case opcode::neg:
        return unary(op, "Neg");
      case opcode::sqrt:
        return unary(op, "Sqrt");
      case opcode::rsqrt:
        return reciprocal_root(op);
      case opcode::tanh:
        return unary(op, "Tanh");
      case opcode::logistic:
        return unary(op, "Sigmoid");
      case opcode::relu:
        return unary(op, "Relu");
      case opcode::relu6:
        return set(op, activated(op, input(op, 0), relu6));
      case opcode::hard_swish:
        return unary(op, "HardSwish");
      case opcode::gelu:
        return gelu(op);
      case opcode::mean:
        return reduction(op, "ReduceMean");
      case opcode::sum:
        return reduction(op, "ReduceSum");
      case opcode::reduce_max:
        return reduction(op, "ReduceMax");
      case opcode::softmax:
        return softmax(op);
      case opcode::fully_connected:
        return fully_connected(op);
      case opcode::batch_matmul:
        return batch_product(op);
      case opcode::conv_2d:
        return convolution(op);
      case opcode::depthwise_conv_2d:
        return depthwise(op);
      case opcode::average_pool_2d:
        return pool(op, "AveragePool");
      case opcode::max_pool_2d:
        return pool(op, "MaxPool");
      case opcode::concatenation:
        return concatenation(op);
      case opcode::pack:
        return pack(op);
      case opcode::reshape:
      case opcode::squeeze:
      case opcode::expand_dims:
        return reshape(op);
      case opcode::transpose:
        return transpose(op);
      case opcode::gather:
        return gather(op);
      case opcode::strided_slice:
        return strided_slice(op);
      case opcode::slice:
        return slice(op);
      case opcode::pad:
        return pad(op);
      case opcode::cast:
      case opcode::dequantize:
        return cast(op);
    }
    refuse(op, "is an operator of TensorFlow Lite that is not read");
  }

  const tflite::graph &from_;
  span file_;
  std::vector<std::string> names_;
};

}  // namespace

bool is_tflite(span file) { return file.size >= 8 && std::memcmp(file.data + 4, "TFL3", 4) == 0; }

onnx_graphs read_tflite_graphs(span file) {
  try {
    const tflite::graph graph = tflite::read_graph(file.data, file.size);
    return translator(graph, file).take();
  } catch (const tflite::format_error &error) {
    throw refusal(error.what());
  }
}

}  // namespace heed_import
