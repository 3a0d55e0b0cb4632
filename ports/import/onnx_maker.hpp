// Makes graphs of ONNX, node by node, from those of another format. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_ONNX_MAKER_HPP
#define HEED_IMPORT_ONNX_MAKER_HPP

#include <stdexcept>

#include "onnx_graphs.hpp"

namespace heed_import {

class onnx_maker {
 protected:
  using list = std::vector<int64_t>;
  // Attributes of a node.
  struct how {
    std::map<std::string, int64_t> integers = {};
    std::map<std::string, list> lists = {};
    std::map<std::string, std::string> texts = {};
    std::map<std::string, double> reals = {};
  };

  // Each returns the name of a new value.
  std::string constant(const list &numbers) {
    onnx_tensor t;
    t.type = onnx_int64;
    t.dims = {numbers.size()};
    for (const int64_t number : numbers) t.integers.push_back(static_cast<uint64_t>(number));
    return constant(std::move(t));
  }
  std::string scalar(int64_t number) {
    onnx_tensor t;
    t.type = onnx_int64;
    t.integers = {static_cast<uint64_t>(number)};
    return constant(std::move(t));
  }
  std::string constant(float number) {
    onnx_tensor t;
    t.type = onnx_float;
    put(t.floats, number);
    return constant(std::move(t));
  }
  std::string constant(onnx_tensor &&t) {
    t.name = new_name();
    to_.tensors.push_back(std::move(t));
    return to_.tensors.back().name;
  }
  std::string made(const std::string &name, const std::string &operation, std::vector<std::string> inputs,
                   const how &given) {
    onnx_node node;
    node.name = name;
    node.operation = operation;
    node.inputs = std::move(inputs);
    node.integers = given.integers;
    for (const auto &[key, numbers] : given.lists) node.lists[key].assign(numbers.begin(), numbers.end());
    for (const auto &[key, text] : given.texts) node.texts[key] = {text};
    for (const auto &[key, number] : given.reals) node.floats[key] = {static_cast<float>(number)};
    node.outputs = {new_name()};
    to_.nodes.push_back(std::move(node));
    return to_.nodes.back().outputs[0];
  }
  // The node before has made `value`, which nothing reads yet: it shall have this name.
  void rename_last(const std::string &value, const std::string &name) {
    onnx_node &last = to_.nodes.back();
    if (last.outputs[0] != value) throw std::logic_error("an operator ends with its last node");
    last.outputs[0] = name;
  }
  // No name of a file: those have no control characters.
  std::string new_name() { return "\x01" + std::to_string(n_names_++); }

  onnx_graphs to_;

 private:
  size_t n_names_ = 0;
};

}  // namespace heed_import

#endif
