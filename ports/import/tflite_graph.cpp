// See tflite_graph.hpp. SPDX-License-Identifier: MIT
#include "tflite_graph.hpp"

#include <cstring>

namespace tflite {
namespace {

constexpr size_t max_list = 64;         // dimensions of a tensor, tensors of an operator: KWT-1 needs 4
constexpr size_t max_tables = 1 << 16;  // tensors or operators: KWT-1 has 809 and 612

// Numbers of the fields in the schema's tables.
namespace model_field {
enum { version = 0, operator_codes = 1, subgraphs = 2, buffers = 4 };
}
namespace code_field {
enum { deprecated_code = 0, code = 3 };
}
namespace subgraph_field {
enum { tensors = 0, inputs = 1, outputs = 2, operators = 3 };
}
namespace tensor_field {
enum { shape = 0, element_type = 1, buffer = 2, name = 3, quantization = 4 };
}
namespace quantization_field {
enum { scale = 2, zero_point = 3, dimension = 6 };
}
namespace operator_field {
enum { opcode_index = 0, inputs = 1, outputs = 2, options = 4 };
}

// Position of a table's field, 0 when the file leaves it out.
size_t field(const bytes &file, size_t table, int number) {
  const int64_t vtable = static_cast<int64_t>(table) - static_cast<int32_t>(file.u32(table));
  if (vtable < 0) throw format_error("a table's vtable lies before the file");
  const size_t at = static_cast<size_t>(vtable), entry = 4 + 2 * static_cast<size_t>(number);
  if (entry + 2 > file.u16(at)) return 0;
  const uint16_t offset = file.u16(at + entry);
  return offset == 0 ? 0 : table + offset;
}

size_t follow(const bytes &file, size_t at) { return at + file.u32(at); }

uint32_t u32_field(const bytes &file, size_t table, int number, uint32_t fallback) {
  const size_t at = field(file, table, number);
  return at == 0 ? fallback : file.u32(at);
}

uint8_t u8_field(const bytes &file, size_t table, int number, uint8_t fallback) {
  const size_t at = field(file, table, number);
  return at == 0 ? fallback : file.u8(at);
}

span vector_field(const bytes &file, size_t table, int number, size_t element_bytes) {
  const size_t at = field(file, table, number);
  if (at == 0) return {};
  const size_t vector = follow(file, at), length = file.u32(vector);
  if (length > file.size() / element_bytes) throw format_error("a list is longer than the file");
  file.need(vector + 4, length * element_bytes);
  return {vector + 4, length};
}

span tables_field(const bytes &file, size_t table, int number) {
  const span tables = vector_field(file, table, number, 4);
  if (tables.length > max_tables) throw format_error("the graph has more than 65536 tensors, operators or buffers");
  return tables;
}

size_t element_table(const bytes &file, span tables, size_t index) { return follow(file, tables.first + 4 * index); }

std::vector<int32_t> integers(const bytes &file, span numbers, const char *what) {
  if (numbers.length > max_list) throw format_error(std::string("too many numbers in ") + what);
  std::vector<int32_t> list;
  for (size_t i = 0; i < numbers.length; ++i) list.push_back(static_cast<int32_t>(file.u32(numbers.first + 4 * i)));
  return list;
}

std::vector<opcode> read_opcodes(const bytes &file, size_t model) {
  const span tables = tables_field(file, model, model_field::operator_codes);
  std::vector<opcode> codes;
  for (size_t i = 0; i < tables.length; ++i) {
    const size_t table = element_table(file, tables, i);
    // Codes below 128 stand in the old 8-bit field, all in the new one; older files have the old one alone.
    const int32_t old_code = static_cast<int8_t>(u8_field(file, table, code_field::deprecated_code, 0));
    const int32_t new_code = static_cast<int32_t>(u32_field(file, table, code_field::code, 0));
    codes.push_back(static_cast<opcode>(old_code > new_code ? old_code : new_code));
  }
  return codes;
}

tensor read_tensor(const bytes &file, size_t table, span buffers) {
  tensor t;
  t.element_type = u8_field(file, table, tensor_field::element_type, 0);
  t.shape = integers(file, vector_field(file, table, tensor_field::shape, 4), "a tensor's shape");
  const span name = vector_field(file, table, tensor_field::name, 1);
  const size_t kept = name.length < 200 ? name.length : 200;
  for (size_t i = name.length - kept; i < name.length; ++i) {
    const char c = static_cast<char>(file.u8(name.first + i));
    t.name += c >= ' ' && c <= '~' ? c : '?';
  }
  const uint32_t buffer = u32_field(file, table, tensor_field::buffer, 0);
  if (buffer >= buffers.length) throw format_error("a tensor names a buffer that the file does not have");
  t.data = vector_field(file, element_table(file, buffers, buffer), 0, 1);
  const size_t quantization = field(file, table, tensor_field::quantization);
  if (quantization != 0) {
    const size_t of = follow(file, quantization);
    t.scales = vector_field(file, of, quantization_field::scale, 4);
    t.zeros = vector_field(file, of, quantization_field::zero_point, 8);
    t.scaled_dimension = static_cast<int32_t>(u32_field(file, of, quantization_field::dimension, 0));
  }
  return t;
}

void check_indices(const std::vector<int32_t> &list, size_t n_tensors, int32_t least) {
  for (const int32_t index : list) {
    if (index < least || (index >= 0 && static_cast<size_t>(index) >= n_tensors)) {
      throw format_error("an operator names a tensor that the file does not have");
    }
  }
}

operation read_operation(const bytes &file, size_t table, const std::vector<opcode> &codes, size_t n_tensors) {
  const uint32_t index = u32_field(file, table, operator_field::opcode_index, 0);
  if (index >= codes.size()) throw format_error("an operator has a code that the file does not list");
  operation op{codes[index], {}, {}, 0};
  op.inputs = integers(file, vector_field(file, table, operator_field::inputs, 4), "an operator's inputs");
  op.outputs = integers(file, vector_field(file, table, operator_field::outputs, 4), "an operator's outputs");
  check_indices(op.inputs, n_tensors, -1);
  check_indices(op.outputs, n_tensors, 0);
  const size_t options = field(file, table, operator_field::options);
  if (options != 0) op.options = follow(file, options);
  return op;
}

}  // namespace

void bytes::need(size_t at, size_t n) const {
  if (at > size_ || n > size_ - at) throw format_error("the file ends in the middle: something points beyond its end");
}

uint8_t bytes::u8(size_t at) const {
  need(at, 1);
  return data_[at];
}

uint16_t bytes::u16(size_t at) const {
  need(at, 2);
  return static_cast<uint16_t>(data_[at] | data_[at + 1] << 8);
}

uint32_t bytes::u32(size_t at) const {
  need(at, 4);
  return static_cast<uint32_t>(data_[at]) | static_cast<uint32_t>(data_[at + 1]) << 8 |
         static_cast<uint32_t>(data_[at + 2]) << 16 | static_cast<uint32_t>(data_[at + 3]) << 24;
}

float bytes::f32(size_t at) const {
  const uint32_t bits = u32(at);
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

uint8_t graph::option_u8(const operation &op, int number, uint8_t fallback) const {
  return op.options == 0 ? fallback : u8_field(file, op.options, number, fallback);
}

int32_t graph::option_i32(const operation &op, int number, int32_t fallback) const {
  if (op.options == 0) return fallback;
  return static_cast<int32_t>(u32_field(file, op.options, number, static_cast<uint32_t>(fallback)));
}

float graph::option_f32(const operation &op, int number, float fallback) const {
  const size_t at = op.options == 0 ? 0 : field(file, op.options, number);
  return at == 0 ? fallback : file.f32(at);
}

graph read_graph(const uint8_t *data, size_t size) {
  const bytes file(data, size);
  if (size < 8 || std::memcmp(data + 4, "TFL3", 4) != 0)
    throw format_error("not a TensorFlow Lite file (no TFL3 mark)");
  const size_t model = follow(file, 0);
  if (u32_field(file, model, model_field::version, 0) != 3) throw format_error("the schema's version is not 3");
  const std::vector<opcode> codes = read_opcodes(file, model);
  const span subgraphs = tables_field(file, model, model_field::subgraphs);
  if (subgraphs.length == 0) throw format_error("the file holds no graph");
  const size_t subgraph = element_table(file, subgraphs, 0);
  const span buffers = tables_field(file, model, model_field::buffers);

  graph g{file, {}, {}, {}, {}};
  const span tensors = tables_field(file, subgraph, subgraph_field::tensors);
  for (size_t i = 0; i < tensors.length; ++i) {
    g.tensors.push_back(read_tensor(file, element_table(file, tensors, i), buffers));
  }
  const span operators = tables_field(file, subgraph, subgraph_field::operators);
  for (size_t i = 0; i < operators.length; ++i) {
    g.operations.push_back(read_operation(file, element_table(file, operators, i), codes, g.tensors.size()));
  }
  g.inputs = integers(file, vector_field(file, subgraph, subgraph_field::inputs, 4), "the graph's inputs");
  g.outputs = integers(file, vector_field(file, subgraph, subgraph_field::outputs, 4), "the graph's outputs");
  check_indices(g.inputs, g.tensors.size(), 0);
  check_indices(g.outputs, g.tensors.size(), 0);
  return g;
}

std::string opcode_name(opcode code) {
  switch (code) {
    case opcode::add:
      return "ADD";
    case opcode::average_pool_2d:
      return "AVERAGE_POOL_2D";
    case opcode::concatenation:
      return "CONCATENATION";
    case opcode::conv_2d:
      return "CONV_2D";
    case opcode::depthwise_conv_2d:
      return "DEPTHWISE_CONV_2D";
    case opcode::dequantize:
      return "DEQUANTIZE";
    case opcode::fully_connected:
      return "FULLY_CONNECTED";
    case opcode::logistic:
      return "LOGISTIC";
    case opcode::max_pool_2d:
      return "MAX_POOL_2D";
    case opcode::mul:
      return "MUL";
    case opcode::relu:
      return "RELU";
    case opcode::relu6:
      return "RELU6";
    case opcode::reshape:
      return "RESHAPE";
    case opcode::softmax:
      return "SOFTMAX";
    case opcode::tanh:
      return "TANH";
    case opcode::pad:
      return "PAD";
    case opcode::gather:
      return "GATHER";
    case opcode::transpose:
      return "TRANSPOSE";
    case opcode::mean:
      return "MEAN";
    case opcode::sub:
      return "SUB";
    case opcode::div:
      return "DIV";
    case opcode::squeeze:
      return "SQUEEZE";
    case opcode::strided_slice:
      return "STRIDED_SLICE";
    case opcode::exp:
      return "EXP";
    case opcode::cast:
      return "CAST";
    case opcode::maximum:
      return "MAXIMUM";
    case opcode::minimum:
      return "MINIMUM";
    case opcode::neg:
      return "NEG";
    case opcode::slice:
      return "SLICE";
    case opcode::expand_dims:
      return "EXPAND_DIMS";
    case opcode::log:
      return "LOG";
    case opcode::sum:
      return "SUM";
    case opcode::sqrt:
      return "SQRT";
    case opcode::rsqrt:
      return "RSQRT";
    case opcode::pow:
      return "POW";
    case opcode::reduce_max:
      return "REDUCE_MAX";
    case opcode::pack:
      return "PACK";
    case opcode::square:
      return "SQUARE";
    case opcode::squared_difference:
      return "SQUARED_DIFFERENCE";
    case opcode::abs:
      return "ABS";
    case opcode::hard_swish:
      return "HARD_SWISH";
    case opcode::batch_matmul:
      return "BATCH_MATMUL";
    case opcode::gelu:
      return "GELU";
  }
  return "operator code " + std::to_string(static_cast<int32_t>(code));
}

}  // namespace tflite
