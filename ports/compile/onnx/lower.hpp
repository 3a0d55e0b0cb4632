// Nodes become steps. Values are views of storages, so reshapes, transposes, slices and repeated heads are no steps; what a call cannot
// take as it lies is copied first. lower.cpp has views and constants, lower_nodes.cpp the small operators, lower_shapes.cpp those
// that move numbers, lower_products.cpp linear layers, convolutions and attention, lower_recurrent.cpp recurrent
// layers. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_LOWER_HPP
#define HEED_COMPILE_LOWER_HPP

#include <limits>
#include <map>
#include <optional>

#include "steps.hpp"

namespace heed_compile {

class lowering {
 public:
  lowering(const graph &net, const lower_choices &how);
  steps run();

 private:
  using method = void (lowering::*)(const graph_node &);
  static const std::map<std::string, method> &methods();

  // ---------------------------------------------------------------------------------------------- lower.cpp: values, views
  const graph_value &value(int v) const { return net_.values[static_cast<size_t>(v)]; }
  int input(const graph_node &n, size_t i) const { return i < n.inputs.size() ? n.inputs[i] : int{no_value}; }
  bool has_input(const graph_node &n, size_t i) const { return input(n, i) != no_value; }
  [[noreturn]] void refuse(const graph_node &n, const std::string &why) const;
  void expect(bool is_good, const graph_node &n, const std::string &why) const {
    if (!is_good) refuse(n, why);
  }
  void join_equal_matrices();
  // The numbers of a constant input, or of none.
  std::vector<double> constant_numbers(const graph_node &n, size_t i) const;
  std::optional<double> scalar(int v) const;
  size_t axis_of(const graph_node &n, int64_t axis, size_t rank) const;

  view new_array(element kind, const shape &dims, const std::string &name);
  view constant_array(element kind, const shape &dims, const std::string &name, std::function<tensor()> make);
  view constant_integers(const std::vector<int64_t> &numbers, const std::string &name);
  view constant_floats(const std::vector<float> &numbers, const shape &dims, const std::string &name);
  view view_of(const graph_node &n, size_t i);
  view view_of(int v);
  void set(const graph_node &n, const view &v, size_t output = 0);
  // The result of a node as a new array.
  view result(const graph_node &n, size_t output = 0);

  static std::vector<int64_t> whole_strides(const shape &dims);
  static bool is_whole(const view &v);  // lies row by row, without gaps
  std::optional<view> reshaped(const view &v, const shape &dims) const;
  view flat(const view &v, const shape &dims);  // reshaped; a copy if that is needed
  view whole(const view &v);                    // row by row; a copy if that is needed
  view broadcast(const graph_node &n, view v, const shape &dims) const;
  static view turned(const view &v, const std::vector<size_t> &perm);
  // The order in which its dimensions lie; whether its numbers are side by side then; whether those of both lie in the same places.
  static std::vector<size_t> order_of(const view &v);
  static bool is_dense(const view &v);
  static bool lie_alike(const view &a, const view &b);
  static view lying(const view &v) { return turned(v, order_of(v)); }
  // New arrays whose dimensions lie in the order of x's, so that what follows a convolution or a transpose moves no numbers.
  view new_array_like(const view &x, element kind, const shape &dims, const std::string &name);
  view result_like(const graph_node &n, const view &x);
  // As rows for heed: (rows, dim), numbers of a row side by side.
  view rows(const view &v, size_t n_row_dims, bool allows_gaps);

  // --------------------------------------------------------------------------------------------------------- steps
  step &add(const graph_node &n, const char *function, std::vector<argument> arguments);
  argument read(const view &v) const;
  argument write(const view &v) const;
  static argument null() { return {}; }
  static argument number(int64_t n);
  static argument real_number(double x);
  static argument named(const std::string &name);
  static argument executor();
  argument workspace(int64_t n_bytes);
  argument weights(int constant) const;
  // arrays[0] is the result; all have the same dims. keeps_order: numbers are added up in the order of the dimensions.
  argument loop(const graph_node &n, std::vector<view> arrays, bool keeps_order = false);
  template <class T>
  argument table(std::vector<T> &of, const T &entry, argument::what kind);
  void copy(const graph_node &n, const view &to, const view &from);
  void see(const graph_node &n, size_t output = 0);
  // The result may take the place of this operand.
  void in_place(step &s, const view &result, const view &operand);
  static int32_t int_of(int64_t n) { return static_cast<int32_t>(n); }

  // ------------------------------------------------------------------------------------------ lower_nodes.cpp: arithmetic
  void map(const graph_node &n);
  void combine(const graph_node &n);
  void compare(const graph_node &n);
  void is_not(const graph_node &n);
  void is_nan(const graph_node &n);
  void choose(const graph_node &n);
  void cast(const graph_node &n);
  void clip(const graph_node &n);
  void reduce(const graph_node &n);
  void argmax(const graph_node &n);
  void topk(const graph_node &n);
  void cumulate(const graph_node &n);
  void softmax(const graph_node &n);
  void activation(const graph_node &n);
  void leaky(const graph_node &n);
  void hard_sigmoid(const graph_node &n);
  void norm(const graph_node &n);
  void batch_norm(const graph_node &n);
  void group_norm(const graph_node &n);
  void skip_norm(const graph_node &n);
  void biased_gelu(const graph_node &n);
  void activate(const graph_node &n, const std::string &function, const view &x, const view *up);
  void normalise(const graph_node &n, const std::string &function, const view &x, int weight, int bias, double eps);
  view combined(const graph_node &n, int32_t operation, const view &a, const view &b, const view &to);
  view sum_of(const graph_node &n, const view &a, const view &b, const view &to);

  // ----------------------------------------------------------------------------------------------------- lower_shapes.cpp
  void same(const graph_node &n);
  void reshape(const graph_node &n);
  void transpose(const graph_node &n);
  void expand(const graph_node &n);
  void slice(const graph_node &n);
  void split(const graph_node &n);
  void concat(const graph_node &n);
  void pad(const graph_node &n);
  void tile(const graph_node &n);
  void gather(const graph_node &n);
  void gather_each(const graph_node &n);
  void indices(const graph_node &n);
  void scatter(const graph_node &n);
  void trilu(const graph_node &n);
  view picked(const graph_node &n, const view &x, size_t axis, const std::vector<int64_t> &indices);
  view padded(const graph_node &n, const view &x, const std::vector<int64_t> &before, const std::vector<int64_t> &after,
              double number);

  // --------------------------------------------------------------------------------------------------- lower_products.cpp
  void matmul(const graph_node &n);
  void gemm(const graph_node &n);
  void linear(const graph_node &n);
  void attention(const graph_node &n);
  void onnx_attention(const graph_node &n);
  void microsoft_attention(const graph_node &n);
  void multi_head_attention(const graph_node &n);
  void convolution(const graph_node &n);
  void pool(const graph_node &n);
  int matrix_of(const graph_node &n, int v, int32_t layout, int64_t n_in, int64_t n_out);
  int new_matrix(const graph_node &n, const std::string &name, int64_t n_in, int64_t n_out,
                 std::function<tensor()> make);
  view linear_of(const graph_node &n, const view &x, int w, const view *bias, const view &y);
  struct attention_input {
    view q, k, v;  // (batch, heads, rows, dim)
    view mask;     // (batch, heads, queries, keys), or none
    bool is_boolean = false, is_causal = false;
    int64_t position = 0;
    double scale = 0, softcap = 0;  // scale 0: 1 / sqrt(dim)
  };
  // Out (batch, heads, queries, dim), whose numbers lie as (batch, queries, heads, dim).
  view attend(const graph_node &n, attention_input a);
  view heads_of(const view &x, int64_t n_heads) const;  // (batch, rows, heads * dim) as (batch, heads, rows, dim)
  struct windows {
    shape kernel, stride, dilation, before, after;
  };
  windows windows_of(const graph_node &n, const shape &x, const shape &kernel, const shape &y) const;

  // ------------------------------------------------------------------------------------------------- lower_recurrent.cpp
  void recurrent(const graph_node &n);
  void expect_usual_layer(const graph_node &n, const std::vector<std::string> &usual) const;
  int rows_as_matrix(const graph_node &n, int v, int64_t first, int64_t n_out, int64_t n_in);
  view first_state(const graph_node &n, size_t i, const shape &dims, const std::string &name);

  const graph &net_;
  lower_choices how_;
  steps p_;
  std::map<int, int> not_negative_;  // values that are the greater of an input and 0, and that input
  std::vector<view> views_;
  std::map<int, int> array_constants_;               // of values
  std::map<std::pair<int, int32_t>, int> matrices_;  // of values and layouts
};

}  // namespace heed_compile

#endif
