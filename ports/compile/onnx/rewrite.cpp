// See rewrite.hpp. SPDX-License-Identifier: MIT
#include "rewrite.hpp"

#include <algorithm>

#include "constants.hpp"
#include "steps.hpp"

namespace heed_compile {

rewriter::rewriter(const graph &net, std::deque<tensor> &weights)
    : net_(net), weights_(weights), n_own_(net.values.size()) {}

graph rewriter::run(const std::function<void(rewriter &)> &each) {
  const std::vector<graph_node> nodes = std::move(net_.nodes);
  net_.nodes.clear();
  for (const graph_node &n : nodes) {
    node_ = &n;
    each(*this);
  }
  return std::move(net_);
}

graph rewriter::run(const rewritings &all) {
  return run([&](rewriter &r) {
    const auto found = all.find(r.node().operation);
    found == all.end() ? r.keep(r.node().inputs) : found->second(r);
  });
}

void rewriter::push(graph_node &&n) {
  for (const int v : n.outputs)
    if (v != no_value) maker_[v] = net_.nodes.size();
  net_.nodes.push_back(std::move(n));
}

const graph_node *rewriter::maker(int v) const {
  const auto found = maker_.find(v);
  return found == maker_.end() ? nullptr : &net_.nodes[found->second];
}

void rewriter::refuse(const std::string &why) const {
  throw refusal(names::for_terminal("the node " + node_->name + " (" + node_->operation + ") " + why));
}

int rewriter::in(size_t i) const {
  expect(has(i), "lacks input " + std::to_string(i));
  return node_->inputs[i];
}

std::vector<double> rewriter::numbers(size_t i) const {
  const graph_value &v = value(in(i));
  expect(v.is_constant, "has an input " + v.name + " that only a constant can be here");
  return numbers_of(v)->numbers;
}

std::vector<int64_t> rewriter::places(size_t i) const {
  std::vector<int64_t> all;
  for (const double number : numbers(i)) {
    expect(number > -2147483649.0 && number < 2147483648.0, "has an integer beyond 2^31");
    all.push_back(static_cast<int64_t>(number));
  }
  return all;
}

// ---------------------------------------------------------------------------------------------------------- attributes

size_t rewriter::axis(int64_t given, size_t rank) const {
  const auto most = static_cast<int64_t>(rank);
  expect(given >= -most && given < most, "has an axis that its input has not");
  return static_cast<size_t>(given < 0 ? given + most : given);
}

attribute rewriter::of(int64_t number) { return of(std::vector<int64_t>{number}); }
attribute rewriter::of(const std::vector<int64_t> &numbers) {
  attribute a;
  a.integers = numbers;
  return a;
}
attribute rewriter::of(const std::string &text) {
  attribute a;
  a.texts = {text};
  return a;
}
attribute rewriter::of_real(double number) {
  attribute a;
  a.floats = {static_cast<float>(number)};
  return a;
}

// ---------------------------------------------------------------------------------------------------------- new values

graph_value rewriter::new_value(const shape &dims, element kind) const {
  graph_value v;
  v.name = node_->name;
  v.kind = kind;
  v.dims = dims;
  return v;
}

int rewriter::add(graph_value &&v) {
  net_.values.push_back(std::move(v));
  return static_cast<int>(net_.values.size()) - 1;
}

int rewriter::made(const std::string &operation, const std::vector<int> &inputs, const shape &dims,
                   const attributes &settings, element kind) {
  graph_node n;
  n.name = node_->name;
  n.operation = operation;
  n.inputs = inputs;
  n.attributes = settings;
  graph_value v = new_value(dims, kind);
  std::vector<const graph_value *> operands;
  for (const int input : inputs) operands.push_back(input == no_value ? nullptr : &value(input));
  if (std::all_of(operands.begin(), operands.end(),
                  [](const graph_value *o) { return o == nullptr || o->is_constant; })) {
    if (!keeps_weight(n, operands, weights_, v)) {
      std::vector<shared_array> kept;
      std::vector<const array *> given;
      for (const graph_value *const o : operands) {
        kept.push_back(o == nullptr ? nullptr : numbers_of(*o));
        given.push_back(kept.back().get());
      }
      n.outputs = {0};
      v.constant = std::make_shared<const array>(std::move(evaluate(n, net_.opset, given).at(0)));
      v.is_constant = true;
    }
    v.name = operands.at(0)->name;
    return add(std::move(v));
  }
  n.outputs = {add(std::move(v))};
  push(std::move(n));
  return net_.nodes.back().outputs[0];
}

int rewriter::constant(const std::vector<double> &numbers, const shape &dims, element kind) {
  array a;
  a.kind = kind;
  a.dims = dims;
  a.numbers = numbers;
  graph_value v = new_value(dims, kind);
  v.is_constant = true;
  v.constant = std::make_shared<const array>(std::move(a));
  return add(std::move(v));
}

int rewriter::weight(tensor &&t, const shape &dims) {
  weights_.push_back(std::move(t));
  graph_value v;
  v.name = weights_.back().name;
  v.dims = dims;
  v.is_constant = true;
  v.weight = &weights_.back();
  return add(std::move(v));
}

int rewriter::reshaped(int v, const shape &to) {
  if (dims(v) == to) return v;
  const std::vector<double> numbers(to.begin(), to.end());
  const int as = constant(numbers, {static_cast<int64_t>(to.size())}, element::integers);
  return made("Reshape", {v, as}, to, {}, value(v).kind);
}

int rewriter::transposed(int v, const std::vector<size_t> &perm) {
  shape to;
  std::vector<int64_t> as;
  for (const size_t d : perm) to.push_back(value(v).dims.at(d)), as.push_back(static_cast<int64_t>(d));
  if (std::is_sorted(perm.begin(), perm.end())) return v;
  return made("Transpose", {v}, to, {{"perm", of(as)}}, value(v).kind);
}

int rewriter::expanded(int v, const shape &to) {
  if (dims(v) == to) return v;
  const std::vector<double> numbers(to.begin(), to.end());
  const int as = constant(numbers, {static_cast<int64_t>(to.size())}, element::integers);
  return made("Expand", {v, as}, to, {}, value(v).kind);
}

int rewriter::part(int v, size_t axis, int64_t first, int64_t n, int64_t step) {
  shape to = dims(v);
  if (first == 0 && n == to.at(axis) && step == 1) return v;
  to[axis] = n;
  const auto one = [&](int64_t x) { return constant({static_cast<double>(x)}, {1}, element::integers); };
  const int starts = one(first), ends = one(first + (n - 1) * step + 1), axes = one(static_cast<int64_t>(axis));
  return made("Slice", {v, starts, ends, axes, one(step)}, to, {}, value(v).kind);
}

int rewriter::joined(const std::vector<int> &parts, size_t axis) {
  shape to = dims(parts.at(0));
  for (size_t i = 1; i < parts.size(); ++i) to.at(axis) += value(parts[i]).dims.at(axis);
  return made("Concat", parts, to, {{"axis", of(static_cast<int64_t>(axis))}}, value(parts[0]).kind);
}

int rewriter::picked(int v, size_t axis, const std::vector<int64_t> &indices) {
  const auto n = static_cast<int64_t>(indices.size());
  shape to = dims(v);
  to.at(axis) = n;
  const std::vector<double> numbers(indices.begin(), indices.end());
  const int places = constant(numbers, {n}, element::integers);
  return made("Gather", {v, places}, to, {{"axis", of(static_cast<int64_t>(axis))}}, value(v).kind);
}

int rewriter::gathered(int v, int indices) {
  shape to = dims(indices);
  const shape own = dims(v);
  to.insert(to.end(), own.begin() + 1, own.end());
  return made("Gather", {v, indices}, to, {{"axis", of(int64_t{0})}}, value(v).kind);
}

shape rewriter::both_dims(int a, int b) const {
  shape left = dims(a), right = dims(b);
  if (left.size() < right.size()) left.swap(right);
  right.insert(right.begin(), left.size() - right.size(), 1);
  for (size_t d = 0; d < left.size(); ++d) {
    expect(left[d] == right[d] || left[d] == 1 || right[d] == 1, "has inputs whose shapes do not fit");
    if (left[d] == 1) left[d] = right[d];
  }
  return left;
}
int rewriter::both(const char *operation, int a, int b) {
  return made(operation, {a, b}, both_dims(a, b), {}, value(a).kind);
}
int rewriter::compared(const char *operation, int a, int b) {
  return made(operation, {a, b}, both_dims(a, b), {}, element::booleans);
}
int rewriter::chosen(int condition, int yes, int no) {
  const shape to = dims(condition);
  return made("Where", {condition, yes, no}, to, {}, value(yes).kind);
}

int rewriter::product(int a, int b) {
  const shape left = dims(a), right = dims(b);
  expect(left.size() >= 2 && right.size() >= 2 && left.back() == right[right.size() - 2],
         "has factors whose shapes do not fit");
  const bool is_longer = left.size() >= right.size();
  shape to = is_longer ? left : right;
  for (size_t d = 0; d + 2 < to.size(); ++d) {
    const size_t more = is_longer ? left.size() - right.size() : right.size() - left.size();
    const shape &other = is_longer ? right : left;
    if (d >= more && to[d] == 1) to[d] = other[d - more];
  }
  to[to.size() - 2] = left[left.size() - 2];
  to.back() = right.back();
  return made("MatMul", {a, b}, to);
}

int rewriter::sum_over(int v, const std::vector<int64_t> &axes) {
  if (axes.empty()) return v;
  const shape own = dims(v);
  shape to;
  for (size_t d = 0; d < own.size(); ++d)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end()) to.push_back(own[d]);
  return made("ReduceSum", {v}, to, {{"axes", of(axes)}, {"keepdims", of(int64_t{0})}}, value(v).kind);
}

void rewriter::finish(int v, size_t i) {
  const int as = node_->outputs.at(i);
  if (as == no_value) return;
  if (dims(v) != dims(as)) throw std::logic_error(node_->name + ": is rewritten with another shape");
  graph_node *const last = net_.nodes.empty() ? nullptr : &net_.nodes.back();
  if (last != nullptr && static_cast<size_t>(v) >= n_own_ && last->outputs == std::vector<int>{v}) {
    last->outputs[0] = as;
    maker_[as] = net_.nodes.size() - 1;
    return;
  }
  graph_node same;
  same.name = node_->name;
  same.operation = "Identity";
  same.inputs = {v};
  same.outputs = {as};
  push(std::move(same));
}

void rewriter::keep(const std::vector<int> &inputs) {
  graph_node same = *node_;
  same.inputs = inputs;
  push(std::move(same));
}

int64_t product_of(const shape &dims, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t d = from; d < to; ++d) n *= dims[d];
  return n;
}

graph prepared(graph_model &model) {
  static const rewritings operators = [] {
    rewritings all;
    add_einsum(all), add_resize(all), add_places(all), add_transposed_convolution(all);
    add_rotations(all), add_narrow_products(all), add_simple(all), add_rounded(all);
    return all;
  }();
  static const rewritings views = [] {
    rewritings all;
    add_views(all);
    return all;
  }();
  static const rewritings rest = [] {
    rewritings all;
    add_rounding(all);
    return all;
  }();
  const graph known = rewriter(model.net, model.weights).run(operators);
  const graph patterns = with_rows_that_are_read(fused(rewriter(known, model.weights).run(views)), model.weights);
  return rewriter(patterns, model.weights).run(rest);
}

}  // namespace heed_compile
