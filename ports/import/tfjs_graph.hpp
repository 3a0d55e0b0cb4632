// Reads a graph model of TensorFlow.js: model.json, which has a TensorFlow GraphDef as JSON and a list of weights, and the shards beside
// it, which have their numbers. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_TFJS_GRAPH_HPP
#define HEED_IMPORT_TFJS_GRAPH_HPP

#include <map>

#include "tensor.hpp"

namespace heed_import::tfjs {

// A dimension; -1: any.
using dims = std::vector<int64_t>;

// Attributes of a node by their kinds. JSON has 64-bit integers as texts, and texts in base64 or as lists of bytes.
struct node {
  std::string name, operation;
  std::vector<std::string>
      inputs;  // NAME, or NAME:1 and so on for the other outputs; without those that only wait (^NAME)
  std::map<std::string, std::vector<int64_t>> integers;  // one, or a list; a boolean is 0 or 1
  std::map<std::string, std::vector<double>> reals;
  std::map<std::string, std::vector<std::string>> texts;
  std::map<std::string, int32_t> types;  // TensorProto's numbers of ONNX; 0: one that ONNX has not
  bool has_shape = false;                // of a Placeholder
  dims shape;

  int64_t integer(const std::string &attribute, int64_t otherwise) const;
  double real(const std::string &attribute, double otherwise) const;
  std::string text(const std::string &attribute, const std::string &otherwise) const;
  std::vector<int64_t> list(const std::string &attribute) const;
  int32_t type(const std::string &attribute) const;
};

// Numbers of a Const.
struct weight {
  std::vector<uint64_t> dims;
  int32_t type = 0;             // of the graph's numbers: ONNX's float, int32 or bool
  int32_t stored = 0;           // of the numbers in the file: the same, or float16, uint8 or uint16
  double scale = 1, least = 0;  // of uint8 and uint16: number * scale + least
  span numbers;
};

// A port of the model's signature.
struct port {
  std::string name, shown;  // of the node (perhaps with :0), and of the signature
};

struct graph {
  std::vector<node> nodes;  // no two of one name
  std::map<std::string, weight> weights;
  std::vector<port> inputs, outputs;         // empty: the file does not say
  std::vector<std::string> paths;            // of the shards
  std::shared_ptr<const bytes> all_numbers;  // that the weights refer to
};

// `path` is that of model.json. Throws refusal.
graph read_graph(span json, const std::string &path);

}  // namespace heed_import::tfjs

#endif
