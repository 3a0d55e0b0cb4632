// Factors and summands of channels behind a product with constant weights go into its weights and its bias: batch norms, and scales that
// training has left. See steps.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <optional>

#include "operators.hpp"
#include "steps.hpp"

namespace heed_compile {
namespace {

class scale_folder {
 public:
  explicit scale_folder(const graph &net)
      : net_(net), n_uses_(net.values.size(), 0), readers_(net.values.size()), is_gone_(net.nodes.size(), false) {
    for (size_t i = 0; i < net_.nodes.size(); ++i)
      for (const int v : net_.nodes[i].inputs)
        if (v != no_value) ++n_uses_[static_cast<size_t>(v)], readers_[static_cast<size_t>(v)] = i;
    for (const int v : net_.outputs) n_uses_[static_cast<size_t>(v)] += 2;  // no node is its only reader
  }

  graph run() {
    const size_t n = net_.nodes.size();
    for (size_t i = 0; i < n; ++i)
      if (!is_gone_[i]) fold(i);
    std::vector<graph_node> kept;
    for (size_t i = 0; i < n; ++i)
      if (!is_gone_[i]) kept.push_back(std::move(net_.nodes[i]));
    net_.nodes = std::move(kept);
    return std::move(net_);
  }

 private:
  using numbers = std::vector<double>;

  // y = s (x w) + t for each channel, which is an axis of the weights and one of the result.
  struct affine {
    size_t w_axis, axis;
    numbers s, t;
    bool has_scale = false;
  };

  const graph_value &value(int v) const { return net_.values[static_cast<size_t>(v)]; }

  // Weights of 8 bits stay as they are.
  bool has_float_weights(const graph_node &n) const {
    if (n.inputs.size() < 2 || n.inputs[1] == no_value) return false;
    const graph_value &w = value(n.inputs[1]);
    const bool is_float = w.weight == nullptr || w.weight->dtype == HEED_F32 || w.weight->dtype == HEED_F16 ||
                          w.weight->dtype == HEED_BF16;
    return w.is_constant && w.kind == element::floats && is_float;
  }

  std::optional<affine> affine_of(const graph_node &n) const {
    if (!has_float_weights(n)) return std::nullopt;
    const shape &w = value(n.inputs[1]).dims, &y = value(n.outputs.at(0)).dims;
    affine a;
    if (n.operation == "Conv") {
      a.w_axis = 0, a.axis = 1;
    } else if (n.operation == "MatMul" || n.operation == "Gemm") {
      a.w_axis = n.operation == "Gemm" && integer_of(n, "transB", 0) != 0 ? 0 : 1;
      a.axis = y.size() - 1;
      if (w.size() != 2 || real_of(n, "alpha", 1) != 1 || real_of(n, "beta", 1) != 1) return std::nullopt;
    } else {
      return std::nullopt;
    }
    if (a.w_axis >= w.size() || a.axis >= y.size() || w[a.w_axis] != y[a.axis] || y[a.axis] < 1) return std::nullopt;
    const auto n_channels = static_cast<size_t>(y[a.axis]);
    a.s.assign(n_channels, 1), a.t.assign(n_channels, 0);
    if (n.inputs.size() > 2 && n.inputs[2] != no_value) {
      const graph_value &bias = value(n.inputs[2]);
      if (!bias.is_constant || bias.dims.size() != 1 || bias.dims[0] != y[a.axis]) return std::nullopt;
      a.t = numbers_of(bias)->numbers;
    }
    return a;
  }

  // A constant as a number for each channel of an array (dims).
  std::optional<numbers> of_channels(int v, const shape &dims, size_t axis) const {
    if (v == no_value || !value(v).is_constant || value(v).kind != element::floats) return std::nullopt;
    const shape &own = value(v).dims;
    if (own.size() > dims.size() || count_of(own) == 0) return std::nullopt;
    for (size_t d = 0; d < own.size(); ++d) {
      const bool is_channel = d + dims.size() - own.size() == axis && own[d] == dims[axis];
      if (own[d] != 1 && !is_channel) return std::nullopt;
    }
    const numbers all = numbers_of(value(v))->numbers;
    return all.size() == 1 ? numbers(static_cast<size_t>(dims[axis]), all[0]) : all;
  }

  // Takes a node that reads `from` into a; false: it is none that can be taken.
  bool take(affine &a, const graph_node &n, int from) const {
    const shape &dims = value(from).dims;
    if (n.outputs.size() != 1 || n.outputs[0] == no_value || value(n.outputs[0]).dims != dims) return false;
    affine next = a;
    if (n.operation == "BatchNormalization") {
      if (a.axis != 1 || n.inputs.size() != 5 || n.inputs[0] != from) return false;
      std::vector<numbers> all;
      for (size_t i = 1; i < 5; ++i) {
        const auto one = of_channels(n.inputs[i], {1, dims[1]}, 1);
        if (!one) return false;
        all.push_back(*one);
      }
      for (size_t c = 0; c < a.s.size(); ++c) {
        const double factor = all[0][c] / std::sqrt(all[3][c] + real_of(n, "epsilon", 1e-5));
        next.s[c] *= factor, next.t[c] = next.t[c] * factor + all[1][c] - all[2][c] * factor;
      }
      next.has_scale = true;
    } else {
      if (n.inputs.size() != 2) return false;
      const bool is_first = n.inputs[0] == from;
      const auto by = of_channels(n.inputs[is_first ? 1 : 0], dims, a.axis);
      const bool is_scale = n.operation == "Mul" || (n.operation == "Div" && is_first);
      if (!by || (!is_scale && n.operation != "Add" && !(n.operation == "Sub" && is_first))) return false;
      for (size_t c = 0; c < a.s.size(); ++c) {
        const double x = n.operation == "Div" ? 1 / (*by)[c] : n.operation == "Sub" ? -(*by)[c] : (*by)[c];
        is_scale ? (next.s[c] *= x, next.t[c] *= x) : (next.t[c] += x);
      }
      next.has_scale = a.has_scale || is_scale;
    }
    for (size_t c = 0; c < a.s.size(); ++c)
      if (!std::isfinite(next.s[c]) || !std::isfinite(next.t[c])) return false;
    a = next;
    return true;
  }

  int new_constant(const std::string &name, const shape &dims, numbers all) {
    array made;
    made.dims = dims;
    made.numbers = std::move(all);
    graph_value v;
    v.name = name, v.dims = dims, v.is_constant = true;
    v.constant = std::make_shared<const array>(std::move(made));
    net_.values.push_back(std::move(v));
    return static_cast<int>(net_.values.size()) - 1;
  }

  int scaled_weights(int v, const affine &a) {
    const graph_value w = value(v);
    numbers all = numbers_of(w)->numbers;
    size_t inner = 1;
    for (size_t d = a.w_axis + 1; d < w.dims.size(); ++d) inner *= static_cast<size_t>(w.dims[d]);
    for (size_t i = 0; i < all.size(); ++i) all[i] *= a.s[i / inner % a.s.size()];
    return new_constant(w.name, w.dims, std::move(all));
  }

  void fold(size_t at) {
    std::optional<affine> a = affine_of(net_.nodes[at]);
    if (!a) return;
    std::vector<size_t> taken;
    int out = net_.nodes[at].outputs[0];
    while (n_uses_[static_cast<size_t>(out)] == 1) {
      const size_t reader = readers_[static_cast<size_t>(out)];
      if (!take(*a, net_.nodes[reader], out)) break;
      taken.push_back(reader);
      out = net_.nodes[reader].outputs[0];
    }
    const bool is_matmul = net_.nodes[at].operation == "MatMul";  // which has no bias: sums behind it stay
    if (taken.empty() || (is_matmul && !a->has_scale)) return;
    if (a->has_scale) net_.nodes[at].inputs[1] = scaled_weights(net_.nodes[at].inputs[1], *a);
    const bool has_summand = std::any_of(a->t.begin(), a->t.end(), [](double t) { return t != 0; });
    int bias = no_value;
    if (has_summand) bias = new_constant(net_.nodes[at].name + "_bias", {static_cast<int64_t>(a->t.size())}, a->t);
    if (is_matmul && has_summand) {
      graph_node &last = net_.nodes[taken.back()];
      last.operation = "Add";
      last.attributes.clear();
      last.inputs = {net_.nodes[at].outputs[0], bias};
      taken.pop_back();
    } else {
      net_.nodes[at].outputs[0] = out;
      net_.nodes[at].inputs.resize(2);
      if (has_summand) net_.nodes[at].inputs.push_back(bias);
    }
    for (const size_t i : taken) is_gone_[i] = true;
  }

  graph net_;
  std::vector<int> n_uses_;
  std::vector<size_t> readers_;
  std::vector<bool> is_gone_;
};

}  // namespace

graph with_folded_scales(const graph &net) { return scale_folder(net).run(); }

}  // namespace heed_compile
