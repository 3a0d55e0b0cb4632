// What an ONNX file says about tensors and nodes. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_ONNX_GRAPHS_HPP
#define HEED_IMPORT_ONNX_GRAPHS_HPP

#include <map>

#include "tensor.hpp"

namespace heed_import {

// What a TensorProto says.
struct onnx_tensor {
  std::vector<uint64_t> dims, integers;
  int32_t type = 0;
  std::string name;
  span raw;
  bytes floats;  // float_data or double_data, little-endian
  bool elsewhere = false, sparse = false;
  bool is_operand = false;  // of a node Constant
  size_t graph = 0;         // that it belongs to
};

struct onnx_node {
  std::string name, operation, domain;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, int64_t> integers;             // attributes
  std::map<std::string, std::vector<uint64_t>> lists;  // of integers, the same
  size_t graph = 0;

  int64_t integer(const std::string &attribute, int64_t otherwise) const {
    const auto found = integers.find(attribute);
    return found == integers.end() ? otherwise : found->second;
  }
};

struct onnx_graph {
  size_t parent = 0;  // of graph 0: itself
  std::string path;   // the nodes and attributes that lead to it: "if.then_branch"; empty for graph 0
  std::vector<std::string> inputs;
};

// All graphs of a model. What a graph within a node holds stands before that node.
struct onnx_graphs {
  std::vector<onnx_tensor> tensors;
  std::vector<onnx_node> nodes;
  std::vector<onnx_graph> graphs;
};

// The tensors refer to the file. Throws refusal.
onnx_graphs read_onnx_graphs(span file);

}  // namespace heed_import

#endif
