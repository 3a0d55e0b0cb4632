// Builds ONNX graphs for tests, node by node. SPDX-License-Identifier: MIT
#ifndef HEED_TEST_GRAPH_BUILDER_HPP
#define HEED_TEST_GRAPH_BUILDER_HPP

#include "support/import_files.hpp"

namespace published_graphs {

using namespace import_files;
using dims = std::vector<int64_t>;

enum { of_floats = 1, of_uint8 = 2, of_int8 = 3, of_int64 = 7, of_booleans = 9 };

// A model that grows at its end: each node gives the name of its result.
class builder {
 public:
  explicit builder(int64_t opset = 17) : opset_(opset) {}

  std::string input(const std::string &name, const dims &shape, uint64_t type = of_floats) {
    add(graph_, protobuf::text(11, value_info(name, shape, type)));
    return name;
  }
  void output(const std::string &name) { add(graph_, protobuf::text(12, value_info(name, {}, of_floats, false))); }
  std::string floats(const std::string &name, const dims &shape, const std::vector<float> &numbers) {
    return tensor(name, shape, of_floats, import_files::floats(numbers));
  }
  // Numbers between -size and size, around `middle`.
  std::string weight(const std::string &name, const dims &shape, float size = 0.3f, float middle = 0) {
    std::vector<float> numbers;
    int64_t n = 1;
    for (const int64_t dim : shape) n *= dim;
    for (int64_t i = 0; i < n; ++i) {
      seed_ = seed_ * 1664525u + 1013904223u;
      numbers.push_back(middle + size * (static_cast<float>(seed_ >> 8) / 8388608.0f - 1.0f));
    }
    return floats(name, shape, numbers);
  }
  std::string number(float x) { return floats(fresh("constant"), {}, {x}); }
  std::string integers(const std::vector<int64_t> &list, bool is_scalar = false) {
    return table(fresh("integers"), is_scalar ? dims() : dims{static_cast<int64_t>(list.size())}, list);
  }
  std::string table(const std::string &name, const dims &shape, const std::vector<int64_t> &list) {
    return tensor(name, shape, of_int64, onnx::int64s(list));
  }
  std::string node(const std::string &operation, const onnx::names &inputs, const bytes &attributes = {},
                   const std::string &output = "", const std::string &domain = "") {
    const std::string result = output.empty() ? fresh(operation) : output;
    add(graph_, protobuf::text(1, onnx::node(operation, inputs, attributes, {result}, domain)));
    return result;
  }
  std::vector<std::string> parts(const std::string &operation, const onnx::names &inputs, size_t n,
                                 const bytes &attributes = {}, const std::string &domain = "") {
    onnx::names results;
    for (size_t i = 0; i < n; ++i) results.push_back(fresh(operation));
    add(graph_, protobuf::text(1, onnx::node(operation, inputs, attributes, results, domain)));
    return results;
  }
  std::string byte(const std::string &name, uint64_t type, uint8_t number) { return tensor(name, {}, type, {number}); }
  // Bytes that look random, of a type that packs numbers into them.
  std::string packed(const std::string &name, const dims &shape, uint64_t type = of_uint8) {
    bytes raw;
    int64_t n = 1;
    for (const int64_t dim : shape) n *= dim;
    for (int64_t i = 0; i < n; ++i) raw.push_back(static_cast<uint8_t>((seed_ = seed_ * 1664525u + 1013904223u) >> 24));
    return tensor(name, shape, type, raw);
  }
  bytes file() const {
    const bytes opset = add(protobuf::text(1, std::string()), protobuf::number(2, static_cast<uint64_t>(opset_)));
    const bytes other = add(protobuf::text(1, std::string("com.microsoft")), protobuf::number(2, 1));
    return add(protobuf::number(1, 8), protobuf::text(7, graph_), protobuf::text(8, opset), protobuf::text(8, other));
  }

 private:
  std::string fresh(const std::string &what) { return "/" + what + "_" + std::to_string(n_++); }
  std::string tensor(const std::string &name, const dims &shape, uint64_t type, const bytes &raw) {
    const std::vector<uint64_t> unsigned_shape(shape.begin(), shape.end());
    add(graph_, protobuf::text(5, onnx::initializer(name, unsigned_shape, type, raw)));
    return name;
  }
  static bytes value_info(const std::string &name, const dims &shape, uint64_t type, bool has_shape = true) {
    bytes all;
    for (const int64_t dim : shape) add(all, protobuf::text(1, protobuf::number(1, static_cast<uint64_t>(dim))));
    bytes tensor = protobuf::number(1, type);
    if (has_shape) add(tensor, protobuf::text(2, all));
    return add(protobuf::text(1, name), protobuf::text(2, protobuf::text(1, tensor)));
  }

  int64_t opset_;
  int n_ = 0;
  uint32_t seed_ = 12345;
  bytes graph_;
};

}  // namespace published_graphs

#endif
