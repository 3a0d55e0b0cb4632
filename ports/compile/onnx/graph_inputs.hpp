// Inputs of a graph with their shapes. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_GRAPH_INPUTS_HPP
#define HEED_COMPILE_GRAPH_INPUTS_HPP

#include "../../import/onnx_graphs.hpp"
#include "graph.hpp"

namespace heed_compile {

// One value for each, with the shape that the file or the user says; those that the user makes constants are. Throws refusal.
std::vector<graph_value> inputs_of(const std::vector<heed_import::onnx_port> &ports, const graph_choices &how);

}  // namespace heed_compile

#endif
