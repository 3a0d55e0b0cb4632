// Reshapes that only add or leave out dimensions of 1, and transposes: several in a row become one, or none, and a softmax between two of
// them has the shape of what it reads. So attention is found that an exporter has turned and flattened. See rewrite.hpp.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "rewrite.hpp"

namespace heed_compile {
namespace {

std::vector<size_t> longer_than_1(const shape &dims) {
  std::vector<size_t> places;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1) places.push_back(d);
  return places;
}

// Whether both have the same dimensions but for those of 1.
bool are_alike(const shape &a, const shape &b) {
  const std::vector<size_t> left = longer_than_1(a), right = longer_than_1(b);
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i)
    if (a[left[i]] != b[right[i]]) return false;
  return true;
}

// A value as another one, whose dimensions beyond 1 stand in this order.
struct form {
  int of;
  std::vector<size_t> order;
  bool is_in_order() const { return std::is_sorted(order.begin(), order.end()); }
};

// The dimensions of `of` that stand at those of a transpose.
std::vector<size_t> turned(const form &f, const shape &from, const std::vector<int64_t> &perm) {
  const std::vector<size_t> places = longer_than_1(from);
  std::vector<size_t> order;
  for (const int64_t d : perm) {
    const auto place = std::find(places.begin(), places.end(), static_cast<size_t>(d));
    if (place != places.end()) order.push_back(f.order[static_cast<size_t>(place - places.begin())]);
  }
  return order;
}

std::vector<int64_t> perm_of(const rewriter &r, const graph_node &n) {
  const auto given = n.attributes.find("perm");
  const auto rank = static_cast<int64_t>(r.dims(n.inputs[0]).size());
  if (given != n.attributes.end() && !given->second.integers.empty()) {
    std::vector<int64_t> perm = given->second.integers;
    for (int64_t &d : perm) d += d < 0 ? rank : 0;
    return perm;
  }
  std::vector<int64_t> perm;
  for (int64_t d = rank; d-- > 0;) perm.push_back(d);
  return perm;
}

bool moves_dimensions(const graph_node &n) {
  static const char *const known[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose"};
  return std::any_of(std::begin(known), std::end(known), [&](const char *one) { return n.operation == one; });
}

// What a value is behind nodes that only move dimensions, `depth` of them at most. n: the node that makes it, or null.
form form_of(const rewriter &r, const graph_node *n, int v, int depth = 32) {
  const bool is_turned = n != nullptr && n->operation == "Transpose";
  if (n != nullptr && moves_dimensions(*n) && depth > 0 && (is_turned || are_alike(r.dims(n->inputs[0]), r.dims(v)))) {
    form f = form_of(r, r.maker(n->inputs[0]), n->inputs[0], depth - 1);
    if (is_turned) f.order = turned(f, r.dims(n->inputs[0]), perm_of(r, *n));
    return f;
  }
  form self = {v, {}};
  for (size_t i = 0; i < longer_than_1(r.dims(v)).size(); ++i) self.order.push_back(i);
  return self;
}

// The value before reshapes of all kinds, as long as its rows are as long.
int before_reshapes(const rewriter &r, int v) {
  const shape dims = r.dims(v);
  for (const graph_node *n = r.maker(v); n != nullptr && moves_dimensions(*n) && n->operation != "Transpose";
       n = r.maker(v)) {
    const shape own = r.dims(n->inputs[0]);
    if (own.empty() || dims.empty() || own.back() != dims.back()) break;
    v = n->inputs[0];
  }
  return v;
}

void moved(rewriter &r) {
  const int out = r.node().outputs.at(0);
  const int before = r.node().operation == "Transpose" ? out : before_reshapes(r, r.in(0));
  if (before != out && before != r.in(0) && r.dims(before) == r.dims(out)) return r.finish(before);
  const form f = form_of(r, &r.node(), out);
  if (f.of == out || r.is_constant(f.of)) return r.keep(r.node().inputs);
  const shape to = r.dims(out);
  if (f.is_in_order()) return r.finish(r.reshaped(f.of, to));
  if (r.node().operation != "Transpose") return r.keep(r.node().inputs);  // other patterns begin with it
  // Dimensions of 1 stay where they are in the result.
  const std::vector<size_t> places = longer_than_1(to);
  shape from = to;
  std::vector<size_t> perm(to.size());
  for (size_t d = 0; d < to.size(); ++d) perm[d] = d;
  for (size_t i = 0; i < places.size(); ++i) {
    from[places[f.order[i]]] = to[places[i]];
    perm[places[i]] = places[f.order[i]];
  }
  r.finish(r.transposed(r.reshaped(f.of, from), perm));
}

void softmax(rewriter &r) {
  const shape dims = r.out_dims();
  form f = form_of(r, r.maker(r.in(0)), r.in(0));
  const int before = before_reshapes(r, r.in(0));
  if (f.of == r.in(0) && before != f.of) f = form_of(r, nullptr, before);
  const shape own = r.dims(f.of);
  const int64_t axis = r.integer("axis", r.opset() < 13 ? 1 : -1), rank = static_cast<int64_t>(dims.size());
  const bool is_last = axis == -1 || axis == rank - 1;
  const bool changes =
      f.of != r.in(0) && f.is_in_order() && is_last && !own.empty() && own.back() == dims.back() && own != dims;
  if (!changes) return r.keep(r.node().inputs);
  const int64_t last = static_cast<int64_t>(own.size()) - 1;
  const int made = r.made(r.node().operation, {f.of}, own, {{"axis", rewriter::of(last)}});
  r.finish(r.reshaped(made, dims));
}

// The bias of a product whose rows were reshaped comes before the reshape, so that both are one linear layer.
void add(rewriter &r) {
  for (size_t side = 0; side < 2 && r.node().inputs.size() == 2; ++side) {
    const int x = r.in(side), bias = r.in(1 - side), product = before_reshapes(r, x);
    const graph_node *const maker = r.maker(product);
    if (product == x || maker == nullptr || maker->operation != "MatMul" || r.dims(x) != r.out_dims()) continue;
    const shape own = r.dims(product), with = r.dims(bias);
    if (!r.is_constant(bias) || with.empty() || with.back() != own.back() ||
        product_of(with, 0, with.size()) != own.back())
      continue;
    const int vector = r.reshaped(bias, {own.back()});
    return r.finish(r.reshaped(r.made("Add", {product, vector}, own), r.out_dims()));
  }
  r.keep(r.node().inputs);
}

}  // namespace

void add_views(rewritings &all) {
  for (const char *const one : {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose"}) all[one] = moved;
  all["Softmax"] = softmax;
  all["Add"] = add;
}

}  // namespace heed_compile
