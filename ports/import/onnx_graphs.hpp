// What an ONNX file says about tensors and nodes. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_ONNX_GRAPHS_HPP
#define HEED_IMPORT_ONNX_GRAPHS_HPP

#include "tensor.hpp"

namespace heed_import {

// What a TensorProto says.
struct onnx_tensor {
  std::vector<uint64_t> dims, integers;
  int32_t type = 0;
  std::string name;
  span raw;
  bytes floats;  // float_data or double_data, little-endian
  bool elsewhere = false;
};

struct onnx_node {
  std::string name, operation;
  std::vector<std::string> inputs;
  bool transposed = false;  // the second input of Gemm
};

// All graphs of a model, in one list each.
struct onnx_graphs {
  std::vector<onnx_tensor> tensors;
  std::vector<onnx_node> nodes;
};

// The tensors refer to the file. Throws refusal.
onnx_graphs read_onnx_graphs(span file);

}  // namespace heed_import

#endif
