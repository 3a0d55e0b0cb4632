// What an ONNX file says about tensors and nodes. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_ONNX_GRAPHS_HPP
#define HEED_IMPORT_ONNX_GRAPHS_HPP

#include <map>

#include "tensor.hpp"

namespace heed_import {

// TensorProto.DataType.
enum : int32_t {
  onnx_float = 1,
  onnx_uint8 = 2,
  onnx_int8 = 3,
  onnx_uint16 = 4,
  onnx_int32 = 6,
  onnx_int64 = 7,
  onnx_bool = 9,
  onnx_float16 = 10,
  onnx_double = 11,
  onnx_bfloat16 = 16
};

// What a TensorProto says.
struct onnx_tensor {
  std::vector<uint64_t> dims, integers;
  int32_t type = 0;
  std::string name;
  span raw;
  bytes floats;  // float_data or double_data, little-endian
  bool elsewhere = false, sparse = false;
  std::map<std::string, std::string> place;  // of external data: location, offset, length
  bool is_operand = false;                   // of a node Constant
  size_t graph = 0;                          // that it belongs to
};

struct onnx_node {
  std::string name, operation, domain, overload;
  std::vector<std::string> inputs, outputs;
  // Attributes, by their kinds.
  std::map<std::string, int64_t> integers;
  std::map<std::string, std::vector<uint64_t>> lists;  // of integers
  std::map<std::string, std::vector<float>> floats;    // one, or a list
  std::map<std::string, std::vector<std::string>> texts;
  std::map<std::string, onnx_tensor> operands;
  std::map<std::string, size_t> subgraphs;
  std::map<std::string, std::string> references;  // within a function: the attribute of the function that it is
  size_t graph = 0;

  int64_t integer(const std::string &attribute, int64_t otherwise) const {
    const auto found = integers.find(attribute);
    return found == integers.end() ? otherwise : found->second;
  }
};

// A dimension of a value: a number, a name, or neither.
struct onnx_dim {
  bool has_number = false;
  int64_t number = 0;
  std::string name;
};

// An input or an output of a graph.
struct onnx_port {
  std::string name;
  int32_t type = 0;        // 0: the file does not say
  bool has_shape = false;  // else nothing is known of its dimensions
  bool is_tensor = true;   // else a sequence, a map or an optional value
  std::vector<onnx_dim> dims;
};

struct onnx_graph {
  size_t parent = 0;  // of graph 0: itself
  std::string path;   // the nodes and attributes that lead to it: "if.then_branch"; empty for graph 0
  std::vector<onnx_port> inputs, outputs;
};

// What a model calls like an operator. Its body is a graph that sees no other.
struct onnx_function {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs, attributes;
  onnx_node defaults;  // attributes that a call may leave out
  std::map<std::string, int64_t> opsets;
  size_t graph = 0;
};

// All graphs of a model. What a graph within a node holds stands before that node.
struct onnx_graphs {
  std::vector<onnx_tensor> tensors;
  std::vector<onnx_node> nodes;
  std::vector<onnx_graph> graphs;
  std::vector<onnx_function> functions;
  std::map<std::string, int64_t> opsets;  // by domain; that of ONNX is ""
};

// Bodies of functions, whose weights are inputs, matter only to those who compute.
enum class onnx_bodies { leave_out, read };

// The tensors refer to the file. Throws refusal.
onnx_graphs read_onnx_graphs(span file, onnx_bodies bodies = onnx_bodies::leave_out);

// A tensor alone, as files of test data have it.
onnx_tensor read_onnx_tensor(span file);

}  // namespace heed_import

#endif
