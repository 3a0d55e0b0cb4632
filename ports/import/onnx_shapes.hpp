// Nodes of ONNX that transpose or reshape a constant and leave its numbers alone. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_ONNX_SHAPES_HPP
#define HEED_IMPORT_ONNX_SHAPES_HPP

#include "onnx_graphs.hpp"

namespace heed_import {

using onnx_dims = std::vector<uint64_t>;

// Whether the first output of a node has the numbers of its first input, but for the scale of DequantizeLinear. Its
// dimensions are then `to`. `list` is the node's second input, if that is a constant of integers, or null.
bool onnx_keeps_numbers(const onnx_node &n, const onnx_dims &from, const std::vector<int64_t> *list, onnx_dims &to);

// The dimension of the input that dimension `axis` of such an output is; -1 if it is no whole one.
int onnx_source_axis(const onnx_node &n, const onnx_dims &from, const onnx_dims &to, int axis);

}  // namespace heed_import

#endif
