// A graph of ONNX as heed_compile sees it: every shape is a list of numbers, and what does not depend on an input is a constant.
// read_graph.cpp reads it, operators.hpp computes it in double precision, lower.hpp makes calls of heed of it.
// SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_GRAPH_HPP
#define HEED_COMPILE_GRAPH_HPP

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../../import/tensor.hpp"

namespace heed_compile {

using heed_import::refusal;
using heed_import::tensor;

// What a program has of ONNX's types: float (all widths), int32_t (all integers), uint8_t of 0 or 1 (booleans).
enum class element { floats, integers, booleans };

using shape = std::vector<int64_t>;

// Numbers with a shape, row by row. Integers and booleans are doubles, too; those beyond 2^53 stand for "to the end" and the like.
struct array {
  element kind = element::floats;
  shape dims;
  std::vector<double> numbers;
  int32_t type = 0;  // of TensorProto: quantisation rounds to it, and integers wrap in it; 0: float, int64 or bool
};
using shared_array = std::shared_ptr<const array>;

struct graph_value {
  std::string name;  // of the file
  element kind = element::floats;
  shape dims;
  int32_t type = 0;  // as that of array
  bool is_constant = false;
  shared_array constant;  // of a constant: its numbers, unless `weight` has them
  // Of a constant that is a tensor of the file, of floats (quantised ones, too) or of 8-bit integers (which then have the scale 1):
  // as the importer reads it. `dims` are those of the value. If it has several scales, its layout says along which dimension.
  const tensor *weight = nullptr;
};

struct attribute {
  std::vector<int64_t> integers;  // also one
  std::vector<float> floats;
  std::vector<std::string> texts;
  shared_array numbers;  // a tensor
};

enum { no_value = -1 };

struct graph_node {
  std::string name;       // of the file, or of its first output
  std::string operation;  // "MatMul"; of another domain than ONNX's: "com.microsoft.Attention"
  std::map<std::string, attribute> attributes;
  std::vector<int> inputs, outputs;  // places in graph::values, or no_value
};

// Attributes by their names: an empty list or `otherwise`, if the node has none.
std::vector<int64_t> integers_of(const graph_node &n, const std::string &name);
int64_t integer_of(const graph_node &n, const std::string &name, int64_t otherwise);
double real_of(const graph_node &n, const std::string &name, double otherwise);
std::string text_of(const graph_node &n, const std::string &name, const std::string &otherwise);

struct graph {
  std::string source = "ONNX";  // or "TensorFlow Lite", "TensorFlow.js"
  int64_t opset = 0;
  std::vector<graph_value> values;
  std::vector<graph_node> nodes;  // in an order in which they can run
  std::vector<int> inputs, outputs;
};

// What the user says of a graph whose shapes are not all known.
struct graph_choices {
  std::map<std::string, std::vector<int64_t>> shapes;  // of an input by its name, or {n} of a symbolic dimension
  std::map<std::string, double> values;                // inputs that shall be constants: all their numbers are this one
  std::map<std::string, shared_array> numbers;  // inputs that shall be constants with these numbers, and this shape
};

// Reads a model and its files of external data. Control flow (If with a condition that is constant) is resolved, functions of the model are
// put in, all shapes are computed, constants are folded, nodes that no output needs are left out: only nodes of floats, integers
// and booleans that depend on an input remain. Throws refusal, which names the node, the value or the dimension, and what to do.
// The model keeps what the values' weights refer to.
struct graph_model {
  graph net;
  std::deque<tensor> weights;                      // stay where they are
  std::vector<std::shared_ptr<const void>> files;  // that the weights refer to
  std::vector<std::string> paths;                  // all files that were read
  std::string note;                                // what the user should know; or empty
  int32_t filling = 0;                             // what stands behind the last token of a short text
};
std::unique_ptr<graph_model> read_graph(const std::string &path, const graph_choices &how);

// The numbers of a constant, as doubles.
shared_array numbers_of(const graph_value &value);

// One operator in double precision, by its definition in ONNX: an independent reference, and what folds constants and computes shapes.
// An input that is left out is null. Throws refusal with the node's name if it is not known or its inputs do not fit it.
std::vector<array> evaluate(const graph_node &node, int64_t opset, const std::vector<const array *> &inputs);
// Whether there is such an operator.
bool is_known(const std::string &operation);

// The whole graph in double precision. inputs: in the order of net.inputs. `see` gets each value as it is computed.
void evaluate_graph(const graph &net, const std::vector<shared_array> &inputs,
                    const std::function<void(int value, const array &)> &see);

}  // namespace heed_compile

#endif
