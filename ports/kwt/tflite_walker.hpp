// Walks a TensorFlow Lite graph backwards, from a tensor to the operator that produced it, and says clearly where the
// graph is not the expected one. SPDX-License-Identifier: MIT
#ifndef HEED_TFLITE_WALKER_HPP
#define HEED_TFLITE_WALKER_HPP

#include "../import/tflite_graph.hpp"

namespace tflite {

class walker {
 public:
  explicit walker(graph g);
  const graph &model() const { return graph_; }

  // Throws format_error that names the tensor.
  [[noreturn]] void refuse(int32_t tensor, const std::string &why) const;

  // The tensor before any reshapes, which move no element.
  int32_t source(int32_t tensor) const;
  // The operator that computes the tensor (reshapes skipped), which must be of this code and have no fused activation.
  const operation &producer(int32_t tensor, opcode code) const;
  bool comes_from(int32_t tensor, opcode code) const;
  bool constant(int32_t tensor) const;
  // Input number i, which must be there.
  int32_t input(const operation &op, size_t i) const;
  void same(int32_t a, int32_t b) const;

  // An operator of two inputs in either order: the one that is not `tensor`; the one that is computed by `code`; the
  // computed one and the constant one.
  int32_t other(const operation &op, int32_t tensor) const;
  int32_t operand_from(const operation &op, opcode code) const;
  struct computed_and_constant {
    int32_t computed, constant;
  };
  computed_and_constant split(const operation &op) const;

  void shape(int32_t tensor, const std::vector<int32_t> &expected) const;
  // Follows reshapes and transposes of the last two axes backwards; counts the transposes.
  int32_t before_transposes(int32_t tensor, int *n_transposes) const;

  // Numbers of a constant, all finite. The matrix stands (n_out, n_in) in the file and is written (n_in, n_out) with a
  // row stride of its own.
  float scalar(int32_t tensor) const;
  void expect_scalar(int32_t tensor, float value) const;
  std::vector<int32_t> integers(int32_t tensor) const;
  void vector(int32_t tensor, float *out, size_t n) const;
  void matrix(int32_t tensor, int32_t n_in, int32_t n_out, float *out, size_t row_stride) const;

 private:
  const tensor &at(int32_t tensor) const;
  const operation *find(int32_t tensor) const;
  std::vector<float> floats(int32_t tensor) const;

  graph graph_;
  std::vector<int32_t> producers_;  // per tensor: index of its operator, or -1
};

}  // namespace tflite

#endif
