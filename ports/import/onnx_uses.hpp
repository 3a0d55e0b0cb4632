// What the nodes of an ONNX model do with its tensors: along which dimension the outputs of a product lie, and with which
// scales integers become numbers. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_ONNX_USES_HPP
#define HEED_IMPORT_ONNX_USES_HPP

#include "onnx_graphs.hpp"

namespace heed_import {

// No dimension, or no tensor.
constexpr int onnx_none = -1;

struct onnx_use {
  int outputs = onnx_none;  // the dimension of the outputs of the products that read the tensor
  std::string reader;       // the operation that says so
  std::string unsure;       // why the dimension is not known; or empty
  std::string refused;      // why the tensor cannot be imported; or empty

  // Integers that a node multiplies by a scale. Both are numbers of tensors.
  int scale = onnx_none, zero = onnx_none;
  int scale_axis = onnx_none;  // the dimension along which the scales and the zero points lie, if they are many
};

// A value of a graph, found by its name: nodes of a graph read those of the graphs around it, too.
class onnx_scopes {
 public:
  explicit onnx_scopes(const onnx_graphs &all) : graphs_(all.graphs), values_(all.graphs.size()) {}
  void set(size_t graph, const std::string &name, int value) { values_[graph][name] = value; }
  int find(size_t graph, const std::string &name) const;

 private:
  const std::vector<onnx_graph> &graphs_;
  std::vector<std::map<std::string, int>> values_;
};

// One for each tensor of `all`. Follows a tensor through nodes that only transpose, reshape or scale it. Throws refusal.
std::vector<onnx_use> onnx_uses(const onnx_graphs &all);

}  // namespace heed_import

#endif
