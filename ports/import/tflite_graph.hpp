// Reads the graph of a TensorFlow Lite file: the few tables of its FlatBuffers schema (version 3) that readers of
// weights need, by hand and with every offset checked. SPDX-License-Identifier: MIT
//
// Why by hand: the schema is not packaged in Debian, generated code for it is 15,000 lines, and the format's one hard
// part, tables behind vtables, is thirty lines. Lists are capped, so that a hostile file costs some 40 MB at most.
#ifndef HEED_TFLITE_GRAPH_HPP
#define HEED_TFLITE_GRAPH_HPP

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tflite {

// What is wrong with the file, in a sentence for its user.
struct format_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Little-endian numbers at byte offsets; throws format_error beyond the end.
class bytes {
 public:
  bytes(const uint8_t *data, size_t size) : data_(data), size_(size) {}
  size_t size() const { return size_; }
  uint8_t u8(size_t at) const;
  uint16_t u16(size_t at) const;
  uint32_t u32(size_t at) const;
  float f32(size_t at) const;
  // Throws unless [at, at + n) lies inside.
  void need(size_t at, size_t n) const;

 private:
  const uint8_t *data_;
  size_t size_;
};

// A vector of FlatBuffers: `length` elements from `first` on, all inside the file.
struct span {
  size_t first = 0, length = 0;
};

enum class type : uint8_t { float32 = 0, float16 = 1, int32 = 2, uint8 = 3, int8 = 9, float64 = 10 };

struct tensor {
  uint8_t element_type = 0;
  std::vector<int32_t> shape;  // at most 64 dimensions
  span data;                   // bytes of a constant; empty for a variable
  std::string name;            // at most its last 200 characters
  span scales, zeros;          // of a quantised constant: f32 and int64, none or as many of both
  int32_t scaled_dimension = 0;
};

enum class opcode : int32_t {
  add = 0,
  average_pool_2d = 1,
  concatenation = 2,
  conv_2d = 3,
  depthwise_conv_2d = 4,
  dequantize = 6,
  fully_connected = 9,
  logistic = 14,
  max_pool_2d = 17,
  mul = 18,
  relu = 19,
  relu6 = 21,
  reshape = 22,
  softmax = 25,
  tanh = 28,
  pad = 34,
  gather = 36,
  transpose = 39,
  mean = 40,
  sub = 41,
  div = 42,
  squeeze = 43,
  strided_slice = 45,
  exp = 47,
  cast = 53,
  maximum = 55,
  minimum = 57,
  neg = 59,
  slice = 65,
  expand_dims = 70,
  log = 73,
  sum = 74,
  sqrt = 75,
  rsqrt = 76,
  pow = 78,
  reduce_max = 82,
  pack = 83,
  square = 92,
  squared_difference = 99,
  abs = 101,
  hard_swish = 117,
  batch_matmul = 126,
  gelu = 150
};

struct operation {
  opcode code;
  std::vector<int32_t> inputs;   // tensors, -1 for an absent one; at most 64
  std::vector<int32_t> outputs;  // at most 64
  size_t options = 0;            // table of the operator's options, 0 if it has none
};

// The first subgraph. Indices of tensors are valid or, for absent inputs, -1.
struct graph {
  bytes file;
  std::vector<tensor> tensors;
  std::vector<operation> operations;
  std::vector<int32_t> inputs, outputs;

  // Field of an options table as a byte, int32 or float, or fallback when absent.
  uint8_t option_u8(const operation &op, int field, uint8_t fallback) const;
  int32_t option_i32(const operation &op, int field, int32_t fallback) const;
  float option_f32(const operation &op, int field, float fallback) const;
};

// Throws format_error. The bytes must outlive the graph.
graph read_graph(const uint8_t *data, size_t size);

// "FULLY_CONNECTED", or the number of a code that is not in the list above.
std::string opcode_name(opcode code);

}  // namespace tflite

#endif
