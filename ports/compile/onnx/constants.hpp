// Constants of a graph: numbers of the file, as they lie there or as doubles. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_CONSTANTS_HPP
#define HEED_COMPILE_CONSTANTS_HPP

#include "../../import/onnx_tensors.hpp"
#include "graph.hpp"

namespace heed_compile {

// The numbers of a tensor as doubles. files: null, if it has no external data. Throws refusal.
shared_array array_of_onnx(const heed_import::onnx_tensor &p, heed_import::onnx_files *files);

// A constant with the numbers of a tensor: `weight`, if the importer reads it, else `constant`. `weights` keeps it.
graph_value constant_of_onnx(heed_import::onnx_tensor p, heed_import::onnx_files *files, std::deque<tensor> &weights);

// What a node makes of a weight, if that is still a weight: transposed, with other dimensions, or integers with their scales. Else false.
bool keeps_weight(const graph_node &node, const std::vector<const graph_value *> &inputs, std::deque<tensor> &weights,
                  graph_value &made);

}  // namespace heed_compile

#endif
