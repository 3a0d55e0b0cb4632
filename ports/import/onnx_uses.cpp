// See onnx_uses.hpp. Forwards, each constant value learns its dimensions; backwards, from each reader to the tensor, what is
// asked of them. SPDX-License-Identifier: MIT
#include "onnx_uses.hpp"

#include <algorithm>
#include <set>

#include "onnx_products.hpp"
#include "onnx_shapes.hpp"

namespace heed_import {

int onnx_scopes::find(size_t graph, const std::string &name) const {
  for (;; graph = graphs_[graph].parent) {
    const auto found = values_[graph].find(name);
    if (found != values_[graph].end()) return found->second;
    if (graph == 0) return onnx_none;
  }
}

namespace {

constexpr int onnx_somewhere = INT32_MAX;  // of a value whose dimensions are not known

struct value {
  bool is_constant = false, has_dims = false;
  onnx_dims dims;
  int tensor = onnx_none;  // that it is, or equals
  onnx_use use;
};

struct step {
  const onnx_node *node;
  std::vector<int> inputs;  // numbers of values
  int output = onnx_none;   // the first one, if it is a constant that has the numbers of the first input
};

// The integers of a tensor of int64.
std::vector<int64_t> integers_of(const onnx_tensor &p) {
  std::vector<int64_t> list(p.integers.begin(), p.integers.end());
  for (size_t at = 0; at + 8 <= p.raw.size; at += 8)
    list.push_back(static_cast<int64_t>(number_at(p.raw.data + at, 8)));
  return list;
}

std::string called(const onnx_node &n) { return n.operation + (n.name.empty() ? "" : " " + n.name); }

void be_unsure(onnx_use &use, const std::string &why) {
  if (use.unsure.empty()) use.unsure = why;
}

void ask(onnx_use &use, int axis, const std::string &reader) {
  if (use.outputs == onnx_none) use.outputs = axis, use.reader = reader;
  if (use.outputs != axis)
    be_unsure(use, use.reader + " and " + reader + " have their outputs along different dimensions of it");
}

void ask_scale(onnx_use &use, int scale, int zero, int axis) {
  const auto differ = [](int a, int b) { return a != onnx_none && b != onnx_none && a != b; };
  const bool is_scaled = use.scale != onnx_none || use.zero != onnx_none;
  if (differ(use.scale, scale) || differ(use.zero, zero) || (is_scaled && use.scale_axis != axis)) {
    use.refused = "has different scales in different places";
  }
  if (use.scale == onnx_none) use.scale = scale;
  if (use.zero == onnx_none) use.zero = zero;
  use.scale_axis = axis;
}

class follower {
 public:
  explicit follower(const onnx_graphs &all) : all_(all), scopes_(all) {}

  std::vector<onnx_use> uses() {
    for (size_t i = 0; i < all_.tensors.size(); ++i) {
      value v;
      v.is_constant = v.has_dims = true;
      v.dims = all_.tensors[i].dims;
      v.tensor = static_cast<int>(i);
      add(all_.tensors[i].graph, all_.tensors[i].name, std::move(v));
    }
    for (size_t g = 0; g < all_.graphs.size(); ++g) {
      for (const onnx_port &input : all_.graphs[g].inputs) {
        if (own_.count({g, input.name}) == 0) add(g, input.name, {});
      }
    }
    for (const onnx_node &n : all_.nodes) steps_.push_back(forwards(n));
    for (size_t i = steps_.size(); i > 0; --i) backwards(steps_[i - 1]);
    std::vector<onnx_use> uses;
    for (size_t i = 0; i < all_.tensors.size(); ++i) uses.push_back(values_[i].use);
    return uses;
  }

 private:
  int add(size_t graph, const std::string &name, value &&v) {
    const int number = static_cast<int>(values_.size());
    values_.push_back(std::move(v));
    if (name.empty()) return number;
    scopes_.set(graph, name, number);
    own_.insert({graph, name});
    return number;
  }

  step forwards(const onnx_node &n) {
    step s = {&n, {}, onnx_none};
    bool constant = !n.inputs.empty();
    for (const std::string &input : n.inputs) {
      const int v = input.empty() ? onnx_none : scopes_.find(n.graph, input);
      s.inputs.push_back(v);
      if (v == onnx_none && !input.empty()) miss(n.graph, input);
      constant = constant && (input.empty() || is_constant(v));
    }
    // A scale that is computed is refused where the weights are.
    if (n.operation == "DequantizeLinear" && !n.inputs.empty()) constant = is_constant(s.inputs[0]);
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      if (missing_.count({n.graph, n.outputs[i]}) != 0)
        refuse(n.outputs[i], "is read before a node makes it: the file is damaged");
      value made;
      made.is_constant = constant && i == 0;
      if (made.is_constant && s.inputs[0] != onnx_none) derive(s, made);
      const int number = add(n.graph, n.outputs[i], std::move(made));
      if (i == 0 && constant) s.output = number;
    }
    return s;
  }

  bool is_constant(int v) const { return v != onnx_none && at(v).is_constant; }

  void miss(size_t graph, const std::string &name) {
    for (size_t g = graph;; g = all_.graphs[g].parent) {
      missing_.insert({g, name});
      if (g == 0) return;
    }
  }

  void derive(const step &s, value &made) const {
    const value &from = at(s.inputs[0]);
    std::vector<int64_t> list;
    const int second = s.inputs.size() < 2 ? onnx_none : s.inputs[1];
    const bool has_list =
        second != onnx_none && at(second).tensor != onnx_none && tensor(at(second)).type == onnx_int64;
    if (has_list) list = integers_of(tensor(at(second)));
    made.has_dims = from.has_dims && onnx_keeps_numbers(*s.node, from.dims, has_list ? &list : nullptr, made.dims);
    if (s.node->operation == "Identity") made.tensor = from.tensor;
  }

  void backwards(const step &s) {
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      if (!is_constant(s.inputs[i])) continue;
      const onnx_product product = onnx_product_of(*s.node, i);
      if (product.side != onnx_side::none)
        by_product(s, at(s.inputs[i]), product);
      else if (s.output != onnx_none)
        by_step(s, i);
    }
  }

  void by_product(const step &s, value &v, const onnx_product &product) {
    const onnx_node &n = *s.node;
    const int rank = static_cast<int>(v.dims.size());
    if (product.side == onnx_side::packed) {
      v.use.refused = "is packed by " + called(n) + ", which heed has not";
      return;
    }
    if (product.side == onnx_side::unknown)
      return be_unsure(v.use, "it is not known what " + called(n) + " does with it");
    if (!v.has_dims) ask(v.use, onnx_somewhere, called(n));
    if (!v.has_dims || rank < 1) return;
    if (n.integer("transBatchA", 0) != 0 || n.integer("transBatchB", 0) != 0)
      be_unsure(v.use, "batches of " + called(n) + " are not followed");
    const int axis = axis_of(n, product.side, rank);
    if (rank > 1 && axis != onnx_none) ask(v.use, axis, called(n));
    if (product.scale >= 0 || product.zero >= 0) {
      ask_scale(v.use, tensor_of(s, product.scale, v.use), tensor_of(s, product.zero, v.use), axis);
    }
  }

  static int axis_of(const onnx_node &n, onnx_side side, int rank) {
    const int64_t given = n.integer("axis", 0);
    switch (side) {
      case onnx_side::first:
        return 0;
      case onnx_side::second:
        return rank > 1 ? 1 : onnx_none;
      case onnx_side::rows:
        return std::max(rank - 2, 0);
      case onnx_side::right:
        return n.integer("transB", 0) != 0 ? std::max(rank - 2, 0) : rank - 1;
      case onnx_side::left:
        return n.integer("transA", 0) != 0 ? rank - 1 : std::max(rank - 2, 0);
      case onnx_side::axis:
        if (given < -rank || given >= rank) return onnx_none;
        return static_cast<int>(given < 0 ? given + rank : given);
      default:
        return rank - 1;
    }
  }

  // What is asked of the output is asked of the input.
  void by_step(const step &s, size_t i) {
    const onnx_use &asked = at(s.output).use;
    value &v = at(s.inputs[i]);
    const bool keeps = i == 0 && v.has_dims && at(s.output).has_dims;
    const auto axis_of = [&](int axis) {
      return keeps ? onnx_source_axis(*s.node, v.dims, at(s.output).dims, axis) : onnx_none;
    };
    const bool is_weight = i == 0 || !at(s.output).has_dims;  // else it is a shape, or a scale
    if (!is_weight) return;
    if (!asked.refused.empty()) v.use.refused = asked.refused;
    if (!asked.unsure.empty()) be_unsure(v.use, asked.unsure);
    if (asked.outputs != onnx_none) {
      const int axis = axis_of(asked.outputs);
      if (axis != onnx_none)
        ask(v.use, axis, asked.reader);
      else
        be_unsure(v.use, called(*s.node) + " changes it before " + asked.reader + " reads it");
    }
    if (asked.scale != onnx_none || asked.zero != onnx_none)
      ask_scale(v.use, asked.scale, asked.zero, axis_of(asked.scale_axis));
    if (i == 0 && s.node->operation == "DequantizeLinear") dequantize(s, v);
  }

  void dequantize(const step &s, value &v) const {
    const int64_t rank = static_cast<int64_t>(v.dims.size()), given = s.node->integer("axis", 1);
    const int64_t axis = given < 0 ? given + rank : given;
    if (s.node->integer("block_size", 0) != 0) v.use.refused = "has scales for blocks of inputs, which heed has not";
    const int scale = tensor_of(s, 1, v.use), zero = tensor_of(s, 2, v.use);
    ask_scale(v.use, scale, zero, axis < 0 || axis >= rank ? onnx_none : static_cast<int>(axis));
  }

  // The tensor that input i is.
  int tensor_of(const step &s, int i, onnx_use &use) const {
    const size_t k = static_cast<size_t>(i);
    if (i < 0 || k >= s.inputs.size() || s.node->inputs[k].empty()) return onnx_none;
    const int tensor = s.inputs[k] == onnx_none ? onnx_none : at(s.inputs[k]).tensor;
    if (tensor == onnx_none) use.refused = "has a scale or a zero point that the model computes: " + called(*s.node);
    return tensor;
  }

  value &at(int number) { return values_[static_cast<size_t>(number)]; }
  const value &at(int number) const { return values_[static_cast<size_t>(number)]; }
  const onnx_tensor &tensor(const value &v) const { return all_.tensors[static_cast<size_t>(v.tensor)]; }

  const onnx_graphs &all_;
  onnx_scopes scopes_;
  std::vector<value> values_;
  std::vector<step> steps_;
  std::set<std::pair<size_t, std::string>> own_, missing_;
};

}  // namespace

std::vector<onnx_use> onnx_uses(const onnx_graphs &all) { return follower(all).uses(); }

}  // namespace heed_import
