// A graph of ONNX around one weight, and what its nodes mean, in double. SPDX-License-Identifier: MIT
#ifndef HEED_TEST_ONNX_GRAPH_HPP
#define HEED_TEST_ONNX_GRAPH_HPP

#include "support/import_files.hpp"

namespace import_files {

// It grows at its end. Each step writes a node, and does to `dims` and `numbers` what it means. `axis`
// says where the dimension of the scales is, if there are several.
class graph {
 public:
  // W (4, 4): every number differs. Floats, or bytes with scales and zero points.
  explicit graph(bool quantized) : quantized_(quantized) {
    for (int i = 0; i < 16; ++i) numbers.push_back(i * 5 % 17 - 8);
    if (!quantized) {
      add_tensor("W", {4, 4}, 1, floats(std::vector<float>(numbers.begin(), numbers.end())));
    } else {
      add_tensor("W", {4, 4}, 3, bytes(numbers.begin(), numbers.end()));
    }
  }
  std::vector<int64_t> dims = {4, 4};
  std::vector<double> numbers;
  std::string value = "W";
  int axis = -1;

  void same(const std::string &operation) { step(operation, {value}); }
  void transpose(const std::vector<int64_t> &order) {
    std::vector<int64_t> to;
    for (const int64_t from : order) to.push_back(dims[size_t(from)]);
    std::vector<double> turned;
    std::vector<int64_t> at(dims.size());  // of the output
    for (size_t k = 0; k < numbers.size(); ++k) {
      size_t rest = k;
      for (size_t d = dims.size(); d > 0; --d) at[d - 1] = int64_t(rest) % to[d - 1], rest /= size_t(to[d - 1]);
      std::vector<int64_t> from(dims.size());
      for (size_t d = 0; d < dims.size(); ++d) from[size_t(order[d])] = at[d];
      int64_t offset = 0;
      for (size_t d = 0; d < dims.size(); ++d) offset = offset * dims[d] + from[d];
      turned.push_back(numbers[size_t(offset)]);
    }
    numbers = turned, dims = to;
    step("Transpose", {value}, onnx::of_integers("perm", order));
  }
  void reshape(const std::string &operation, const std::vector<int64_t> &to, const std::vector<int64_t> &list,
               const char *attribute) {
    dims = to;
    if (attribute != nullptr) return step(operation, {value}, onnx::of_integers(attribute, list));
    const std::string shape = value + "_" + operation;
    add_tensor(shape, {list.size()}, 7, onnx::int64s(list));
    step(operation, {value, shape});
  }
  // One scale, or four along a dimension.
  void scale_numbers(int along) {
    const std::vector<float> scales = along < 0 ? std::vector<float>{0.5f} : std::vector<float>{1, 0.5f, 4, 2};
    const bytes zeros = along < 0 ? bytes{3} : bytes{1, 0, 255, 2};
    const std::vector<uint64_t> shape(along < 0 ? 0 : 1, 4);
    add_tensor("scales", shape, 1, floats(scales));
    add_tensor("zeros", shape, 3, zeros);
    for (size_t i = 0; i < numbers.size(); ++i) {
      int64_t stride = 1;
      for (size_t d = size_t(along + 1); d < dims.size(); ++d) stride *= dims[d];
      const size_t k = along < 0 ? 0 : size_t(int64_t(i) / stride % dims[size_t(along)]);
      numbers[i] = (numbers[i] - int8_t(zeros[k])) * double(scales[k]);
    }
    axis = along;
  }
  void dequantize(int along, bool from_the_end) {
    scale_numbers(along);
    const int64_t said = from_the_end ? along - int64_t(dims.size()) : along;
    step("DequantizeLinear", {value, "scales", "zeros"},
         along < 0 || said == 1 ? bytes() : onnx::of_integer("axis", said));
  }
  void read(const std::string &operation, const onnx::names &inputs, const bytes &attributes = {},
            const std::string &domain = "") {
    add(content_, protobuf::text(1, onnx::node(operation, inputs, attributes, {"y"}, domain)));
  }
  void add_tensor(const std::string &name, const std::vector<uint64_t> &shape, uint64_t type, const bytes &raw) {
    add(content_, protobuf::text(5, onnx::initializer(name, shape, type, raw)));
  }
  bytes file() const { return onnx::model_of(content_); }
  bool is_quantized() const { return quantized_; }

 private:
  void step(const std::string &operation, const onnx::names &inputs, const bytes &attributes = {}) {
    value += "'";
    add(content_, protobuf::text(1, onnx::node(operation, inputs, attributes, {value})));
  }
  bytes content_;
  bool quantized_;
};

// Steps between the weight and its reader: digits of `way`, to the base of 7.
inline void walk(graph &g, int way, bool with_scales) {
  for (int k = 0; k < 2; ++k, way /= 7) {
    switch (way % 7) {
      case 1:
        g.same("Identity");
        break;
      case 2:
        if (g.is_quantized() && !with_scales)
          g.same("Identity");
        else
          g.same("Cast");
        break;
      case 3:
        if (g.axis >= 0) g.axis = 1 - g.axis;
        g.transpose({1, 0});
        break;
      case 4:
        g.reshape("Reshape", {1, 4, 4}, {1, 4, -1}, nullptr);
        g.reshape("Squeeze", {4, 4}, {0}, "axes");
        break;
      case 5:
        g.reshape("Unsqueeze", {4, 1, 4}, {1}, "axes");
        if (g.axis >= 0) g.axis = 1 - g.axis;
        g.transpose({2, 1, 0});
        g.reshape("Reshape", {4, 4}, {0, -1}, nullptr);
        break;
      case 6:
        g.reshape("Flatten", {4, 4}, {}, "none");
        break;
      default:
        break;
    }
  }
}

}  // namespace import_files

#endif
