// A program as a list of calls: of heed and of graph_math.h, with places in the program's memory. write_steps.cpp prints each as a
// line of C, and run_steps.cpp makes the same calls in the tool. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_STEPS_HPP
#define HEED_COMPILE_STEPS_HPP

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "../graph_recurrent.h"
#include "graph.hpp"

namespace heed_compile {

// Where numbers lie: in the program's memory, where the caller says, or in the file.
enum class place { memory, input, output, constant };

struct storage {
  place where = place::memory;
  element kind = element::floats;
  int64_t count = 0;
  int index = 0;         // of the graph's input or output, or in steps::constants
  std::string name;      // of the value that it holds
  int64_t address = -1;  // in the memory, in bytes; of inputs and outputs: where they lie for known answers
};

// Numbers of a storage: element [i][j]... is number offset + i * strides[0] + j * strides[1] + ...
struct view {
  int at = -1;  // in steps::storages
  int64_t offset = 0;
  shape dims, strides;
  element kind = element::floats;
};

// A tensor of the program's file.
struct file_constant {
  std::string name;    // in the file
  std::string source;  // in the model
  element kind = element::floats;
  bool is_matrix = false;  // packed weights (n_in, n_out); else an array of `count` numbers
  int32_t n_in = 0, n_out = 0;
  int64_t count = 0;
  bool is_table = false;         // rows of the matrix are read by their numbers
  std::function<tensor()> make;  // as the source has it, a matrix in HEED_OUT_IN or HEED_IN_OUT
};

// What a call is given.
struct argument {
  enum class what {
    null,
    pointer,
    weights,
    integer,
    real,
    loop,
    attention,
    products,
    convolution,
    name,
    workspace,
    executor
  };
  what is = what::null;
  int index = 0;       // pointer: of a storage; weights: of a constant; loop and the like: in its table
  int64_t number = 0;  // pointer: its first element; an integer
  double real = 0;
  std::string name;         // of a constant or a function of C
  bool is_written = false;  // pointer: what the call writes
};

struct step {
  std::string function;
  std::vector<argument> arguments;
  std::string node;  // of the source
  int value = -1;    // of the graph, whose numbers this step completes: it is shown. Or -1
  view shown;
  int in_place = -1;  // a storage that this step reads, and whose place its result may take
};

// Indices that come in as an input.
struct index_check {
  int input;
  int64_t least, most;
  bool is_refused = true;  // else known answers alone keep to it, and the call that reads the indices compares them
};

struct steps {
  std::vector<storage> storages;
  std::vector<file_constant> constants;
  std::vector<step> list;
  std::vector<heed_graph_loop> loops;
  std::vector<heed_graph_attention> attentions;
  std::vector<heed_graph_products> products;
  std::vector<heed_graph_convolution> convolutions;
  std::vector<index_check> checks;
  std::vector<int> inputs, outputs;  // storages, in the graph's order
  int64_t workspace_bytes = 0, memory_bytes = 0, workspace_address = 0;
};

struct lower_choices {
  bool keeps_known_answers = true;  // inputs and outputs have places in the memory, too
};

// Factors and summands of channels go into the weights before them.
graph with_folded_scales(const graph &net);

// Operators that others are made of become those (see rewrite.hpp), and patterns one node (below). The model keeps the weights that are
// made.
graph prepared(graph_model &model);

// Patterns of nodes become one: norms, activations, linear layers, attention (operations "heed.*"). Nodes that nothing needs go.
graph fused(const graph &net);

// Throws refusal for an operator that is not known, with the node's name. The graph outlives the result.
steps lowered(const graph &net, const lower_choices &how);

// Gives each storage its place: one lives from the first step that writes it to the last one that reads it.
void place_storages(steps &p, const lower_choices &how);

}  // namespace heed_compile

#endif
