// Operators that other operators are made of: a node becomes some that lower.hpp knows. rewrite.cpp has the parts that all share, and
// the list of operators; rewrite_*.cpp have the operators. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_REWRITE_HPP
#define HEED_COMPILE_REWRITE_HPP

#include "operators.hpp"

namespace heed_compile {

class rewriter;
using rewriting = void (*)(rewriter &);
using rewritings = std::map<std::string, rewriting>;

class rewriter {
 public:
  rewriter(const graph &net, std::deque<tensor> &weights);
  // Each node is rewritten; of a list: each whose operation is in it.
  graph run(const std::function<void(rewriter &)> &each);
  graph run(const rewritings &all);

  // ------------------------------------------------------------------------------- the node that is rewritten
  const graph_node &node() const { return *node_; }
  int64_t opset() const { return net_.opset; }
  bool has(size_t i) const { return i < node_->inputs.size() && node_->inputs[i] != no_value; }
  bool makes(size_t i) const { return i < node_->outputs.size() && node_->outputs[i] != no_value; }
  int in(size_t i) const;
  // Of a value, by its place; kept copies, because new values move the old ones.
  const graph_value &value(int v) const { return net_.values.at(static_cast<size_t>(v)); }
  shape dims(int v) const { return value(v).dims; }
  shape out_dims(size_t i = 0) const { return dims(node_->outputs.at(i)); }
  bool is_constant(int v) const { return value(v).is_constant; }
  // The node before this one that makes a value, or null.
  const graph_node *maker(int v) const;
  // The numbers of an input that must be a constant.
  std::vector<double> numbers(size_t i) const;
  std::vector<int64_t> places(size_t i) const;

  int64_t integer(const char *name, int64_t otherwise) const { return integer_of(*node_, name, otherwise); }
  double real(const char *name, double otherwise) const { return real_of(*node_, name, otherwise); }
  std::string text(const char *name, const char *otherwise) const { return text_of(*node_, name, otherwise); }
  std::vector<int64_t> list(const char *name) const { return integers_of(*node_, name); }
  size_t axis(int64_t given, size_t rank) const;
  [[noreturn]] void refuse(const std::string &why) const;
  void expect(bool is_good, const std::string &why) const {
    if (!is_good) refuse(why);
  }

  // ----------------------------------------------------------------- new nodes: each gives the value that it makes
  // Nodes run in the order in which they are made, so calls must not stand among the arguments of one call.
  using attributes = std::map<std::string, attribute>;
  static attribute of(int64_t number);
  static attribute of(const std::vector<int64_t> &numbers);
  static attribute of(const std::string &text);
  static attribute of_real(double number);

  // If all inputs are constants, the result is one, too.
  int made(const std::string &operation, const std::vector<int> &inputs, const shape &dims,
           const attributes &settings = {}, element kind = element::floats);
  int constant(const std::vector<double> &numbers, const shape &dims, element kind = element::floats);
  int number(double x) { return constant({x}, {}); }
  int weight(tensor &&t, const shape &dims);
  int reshaped(int v, const shape &dims);
  int transposed(int v, const std::vector<size_t> &perm);
  int expanded(int v, const shape &dims);
  int part(int v, size_t axis, int64_t first, int64_t n, int64_t step = 1);
  int joined(const std::vector<int> &parts, size_t axis);
  int picked(int v, size_t axis, const std::vector<int64_t> &indices);
  int gathered(int v, int indices);               // rows of the first dimension
  int both(const char *operation, int a, int b);  // with broadcasting, of one type
  int compared(const char *operation, int a, int b);
  int chosen(int condition, int yes, int no);
  int product(int a, int b);  // MatMul
  int sum_over(int v, const std::vector<int64_t> &axes);
  int mapped(const char *operation, int v) { return made(operation, {v}, dims(v), {}, value(v).kind); }

  // This value is output i of the node.
  void finish(int v, size_t i = 0);
  // The node stays, with these inputs.
  void keep(const std::vector<int> &inputs);

 private:
  graph_value new_value(const shape &dims, element kind) const;  // with the node's name
  int add(graph_value &&v);
  void push(graph_node &&n);
  shape both_dims(int a, int b) const;

  graph net_;
  std::deque<tensor> &weights_;
  const graph_node *node_ = nullptr;
  size_t n_own_ = 0;             // values of the graph that was given
  std::map<int, size_t> maker_;  // places in the nodes of the new graph
};

void add_einsum(rewritings &all);
void add_resize(rewritings &all);
void add_places(rewritings &all);
void add_transposed_convolution(rewritings &all);
void add_rotations(rewritings &all);
void add_narrow_products(rewritings &all);
void add_simple(rewritings &all);
void add_rounded(rewritings &all);
void add_views(rewritings &all);
void add_rounding(rewritings &all);  // what patterns leave over

// The same graph without rows that no output needs.
graph with_rows_that_are_read(const graph &net, std::deque<tensor> &weights);

int64_t product_of(const shape &dims, size_t from, size_t to);

}  // namespace heed_compile

#endif
