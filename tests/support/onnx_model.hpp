// Models of ONNX with typed inputs and outputs, written byte by byte. SPDX-License-Identifier: MIT
#ifndef HEED_TEST_ONNX_MODEL_HPP
#define HEED_TEST_ONNX_MODEL_HPP

#include "support/import_files.hpp"

namespace onnx_models {

using import_files::add;
using import_files::bytes;
using import_files::floats;
using import_files::onnx::initializer;
using import_files::onnx::int64s;
using import_files::onnx::node;
using import_files::onnx::of_float;
using import_files::onnx::of_graph;
using import_files::onnx::of_integer;
using import_files::onnx::of_integers;
using import_files::onnx::of_tensor;
using import_files::protobuf::fixed;
using import_files::protobuf::number;
using import_files::protobuf::text;

enum { is_float = 1, is_uint8 = 2, is_int8 = 3, is_int32 = 6, is_int64 = 7, is_text = 8, is_bool = 9 };

// A dimension: a number, or a name.
struct dim {
  dim(int64_t n) : content(number(1, uint64_t(n))) {}
  dim(const char *name) : content(*name == 0 ? bytes() : text(2, std::string(name))) {}
  bytes content;
};

inline bytes port(const std::string &name, uint64_t type, const std::vector<dim> &dims) {
  bytes shape;
  for (const dim &d : dims) add(shape, text(1, d.content));
  const bytes tensor = add(number(1, type), text(2, shape));
  return add(text(1, name), text(2, text(1, tensor)));
}
inline bytes input(const std::string &name, uint64_t type, const std::vector<dim> &dims) {
  return text(11, port(name, type, dims));
}
inline bytes output(const std::string &name) { return text(12, text(1, name)); }
inline bytes with_tensor(const bytes &content) { return text(5, content); }
inline bytes step(const bytes &content) { return text(1, content); }

// A whole model, of parts of its graph.
template <typename... Parts>
bytes model(uint64_t opset, const Parts &...parts) {
  return add(number(1, 8), text(7, add(bytes(), parts...)), text(8, number(2, opset)));
}

// A layer of a transformer as exporters write it: (batch, tokens, 4) with two heads of 2, and shapes that are computed.
inline bytes small_transformer() {
  const auto matrix = [](const std::string &name, std::vector<uint64_t> dims, float first) {
    size_t n = 1;
    for (const uint64_t d : dims) n *= size_t(d);
    std::vector<float> numbers;
    for (size_t i = 0; i < n; ++i) numbers.push_back(first + 0.125f * float(i % 7));
    return with_tensor(initializer(name, dims, is_float, floats(numbers)));
  };
  bytes g;
  add(g, input("x", is_float, {"batch", "tokens", 4}), output("y"));
  for (const std::string name : {"wq", "wk", "wv", "wo"}) add(g, matrix(name, {4, 4}, -0.375f));
  add(g, matrix("norm", {4}, 1), matrix("shift", {4}, 0), matrix("bias", {4}, 0.25f));
  add(g, with_tensor(initializer("zero", {1}, is_int64, int64s({0}))),
      with_tensor(initializer("one", {1}, is_int64, int64s({1}))),
      with_tensor(initializer("heads", {2}, is_int64, int64s({2, 2}))),
      with_tensor(initializer("whole", {1}, is_int64, int64s({4}))));
  add(g, step(node("LayerNormalization", {"x", "norm", "shift"}, of_integer("axis", -1), {"n"})));
  add(g, step(node("Shape", {"x"}, {}, {"s"})), step(node("Gather", {"s", "zero"}, {}, {"b"})),
      step(node("Gather", {"s", "one"}, {}, {"t"})),
      step(node("Concat", {"b", "t", "heads"}, of_integer("axis", 0), {"split"})),
      step(node("Concat", {"b", "t", "whole"}, of_integer("axis", 0), {"join"})));
  for (const std::string part : {"q", "k", "v"}) {
    const bool is_key = part == "k";
    add(g, step(node("MatMul", {"n", "w" + part}, {}, {part + "0"})),
        step(node("Reshape", {part + "0", "split"}, {}, {part + "1"})),
        step(node("Transpose", {part + "1"},
                  of_integers("perm", is_key ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3}),
                  {part})));
  }
  add(g, step(node("MatMul", {"q", "k"}, {}, {"scores"})),
      step(node("Softmax", {"scores"}, of_integer("axis", -1), {"p"})), step(node("MatMul", {"p", "v"}, {}, {"h"})),
      step(node("Transpose", {"h"}, of_integers("perm", {0, 2, 1, 3}), {"turned"})),
      step(node("Reshape", {"turned", "join"}, {}, {"rows"})), step(node("MatMul", {"rows", "wo"}, {}, {"o"})),
      step(node("Add", {"o", "bias"}, {}, {"o1"})), step(node("Add", {"o1", "x"}, {}, {"y"})));
  return model(17, g);
}

}  // namespace onnx_models

#endif
