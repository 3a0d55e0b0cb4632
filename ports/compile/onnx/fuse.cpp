// Patterns of exported graphs become functions of heed. A match replaces its last node; what nothing reads any more goes at the end.
// So numbers that others read, too, stay. See steps.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "operators.hpp"
#include "steps.hpp"

namespace heed_compile {
namespace {

constexpr double sqrt_half = 0.70710678118654752440;

bool is_one_of(const std::string &word, std::initializer_list<const char *> words) {
  return std::any_of(words.begin(), words.end(), [&](const char *one) { return word == one; });
}

attribute text_attribute(const std::string &text) {
  attribute a;
  a.texts = {text};
  return a;
}
attribute integer_attribute(int64_t number) {
  attribute a;
  a.integers = {number};
  return a;
}
attribute real_attribute(double number) {
  array one;
  one.numbers = {number};
  attribute a;
  a.numbers = std::make_shared<array>(one);
  return a;
}

class fuser {
 public:
  explicit fuser(const graph &net) : net_(net) {}

  graph run() {
    leave_out_empty_outputs();
    find_makers();
    for (graph_node &n : net_.nodes) fuse_rounding(n);
    for (graph_node &n : net_.nodes) fuse_quantised(n);
    find_makers();
    for (size_t i = net_.nodes.size(); i-- > 0;) fuse_activation(net_.nodes[i]);
    find_makers();
    for (graph_node &n : net_.nodes) fuse_norm(n);
    find_makers();
    for (size_t i = net_.nodes.size(); i-- > 0;) fuse_attention(net_.nodes[i]);
    for (graph_node &n : net_.nodes) fuse_linear(n);
    for (graph_node &n : net_.nodes) fuse_gate(n);
    leave_out_unused();
    return net_;
  }

 private:
  const graph_value &value(int v) const { return net_.values[static_cast<size_t>(v)]; }
  void find_makers() {
    maker_.assign(net_.values.size(), -1);
    uses_.assign(net_.values.size(), 0);
    for (size_t i = 0; i < net_.nodes.size(); ++i) {
      for (const int v : net_.nodes[i].outputs)
        if (v != no_value) maker_[static_cast<size_t>(v)] = static_cast<int>(i);
      for (const int v : net_.nodes[i].inputs)
        if (v != no_value) ++uses_[static_cast<size_t>(v)];
    }
    for (const int v : net_.outputs) ++uses_[static_cast<size_t>(v)];
  }

  // The node that makes a value, if it is of this kind; it may be turned through changes of type alone.
  const graph_node *made_by(int v, std::initializer_list<const char *> operations) const {
    v = behind_casts(v);
    if (v == no_value || maker_[static_cast<size_t>(v)] < 0) return nullptr;
    const graph_node &n = net_.nodes[static_cast<size_t>(maker_[static_cast<size_t>(v)])];
    return is_one_of(n.operation, operations) ? &n : nullptr;
  }
  int behind_casts(int v) const {
    for (int i = 0; v != no_value && i < 8; ++i) {
      const int m = maker_[static_cast<size_t>(v)];
      if (m < 0) return v;
      const graph_node &n = net_.nodes[static_cast<size_t>(m)];
      const bool is_same = is_one_of(n.operation, {"Identity", "Dropout", "Cast"}) && !n.inputs.empty() &&
                           n.inputs[0] != no_value && value(n.inputs[0]).kind == element::floats &&
                           value(v).kind == element::floats && n.outputs[0] == v;
      if (!is_same) return v;
      v = n.inputs[0];
    }
    return v;
  }

  std::optional<double> scalar(int v) const {
    if (v == no_value || !value(v).is_constant || count_of(value(v).dims) != 1) return std::nullopt;
    return numbers_of(value(v))->numbers.at(0);
  }
  bool is_vector_constant(int v, int64_t n) const {
    if (v == no_value || !value(v).is_constant || value(v).dims.empty()) return false;
    return value(v).dims.back() == n && count_of(value(v).dims) == n;
  }

  // Whether a reduction is over the last axis alone, and keeps it as 1.
  bool is_over_last(const graph_node &n) const {
    const int64_t rank = static_cast<int64_t>(value(n.inputs.at(0)).dims.size());
    const auto keeps = n.attributes.find("keepdims");
    if (keeps != n.attributes.end() && keeps->second.integers.at(0) == 0) return false;
    std::vector<int64_t> axes;
    const auto own = n.attributes.find("axes");
    if (own != n.attributes.end()) axes = own->second.integers;
    if (n.inputs.size() > 1 && n.inputs[1] != no_value) {
      if (!value(n.inputs[1]).is_constant) return false;
      for (const double axis : numbers_of(value(n.inputs[1]))->numbers) axes.push_back(static_cast<int64_t>(axis));
    }
    return axes.size() == 1 && (axes[0] == -1 || axes[0] == rank - 1);
  }

  // ------------------------------------------------------------------------------------------------------------ norms

  // What a value is the mean of, over the last axis.
  int mean_of(int v) const {
    const graph_node *const n = made_by(v, {"ReduceMean"});
    return n != nullptr && is_over_last(*n) ? behind_casts(n->inputs[0]) : int{no_value};
  }

  // The value and the eps in sqrt(mean(value^2) + eps).
  std::optional<std::pair<int, double>> root_of(int v) const {
    const graph_node *const root = made_by(v, {"Sqrt", "Pow"});
    if (root == nullptr) return std::nullopt;
    if (root->operation == "Pow" && scalar(root->inputs.at(1)) != 0.5) return std::nullopt;
    return squares_of(root->inputs[0]);
  }
  std::optional<std::pair<int, double>> squares_of(int v) const {
    double eps = 0;
    if (const graph_node *const sum = made_by(v, {"Add"})) {
      const int which = scalar(sum->inputs.at(1)) ? 1 : 0;
      if (!scalar(sum->inputs[static_cast<size_t>(which)])) return std::nullopt;
      eps = *scalar(sum->inputs[static_cast<size_t>(which)]);
      v = sum->inputs[static_cast<size_t>(1 - which)];
    }
    const graph_node *const square = made_by(mean_of(v), {"Pow", "Mul"});
    if (square == nullptr) return std::nullopt;
    const int x = behind_casts(square->inputs.at(0));
    const bool is_square =
        square->operation == "Pow" ? scalar(square->inputs.at(1)) == 2.0 : behind_casts(square->inputs.at(1)) == x;
    if (!is_square) return std::nullopt;
    return std::make_pair(x, eps);
  }

  void fuse_norm(graph_node &n) {
    // Products with a weight and sums with a bias come behind, so this node may be the last of them.
    if (n.operation == "Div" && n.inputs.size() == 2) {
      if (const auto root = root_of(n.inputs[1]))
        if (root->first == behind_casts(n.inputs[0])) make_norm(n, root->first, root->second);
    } else if (n.operation == "Mul" && n.inputs.size() == 2) {
      for (size_t side = 0; side < 2; ++side) {
        const int factor = n.inputs[side], x = behind_casts(n.inputs[1 - side]);
        std::optional<std::pair<int, double>> root;
        if (const graph_node *const inverse = made_by(factor, {"Reciprocal"})) root = root_of(inverse->inputs.at(0));
        if (const graph_node *const inverse = made_by(factor, {"Div"}))
          if (scalar(inverse->inputs.at(0)) == 1.0) root = root_of(inverse->inputs.at(1));
        if (const graph_node *const power = made_by(factor, {"Pow"}))
          if (scalar(power->inputs.at(1)) == -0.5) root = squares_of(power->inputs.at(0));
        if (root && root->first == x) {
          make_norm(n, x, root->second);
          return;
        }
        if (fuse_weighted_norm(n, factor, x)) return;
        add_to_norm(n, side, 1, 2);
      }
    } else if (n.operation == "Add" && n.inputs.size() == 2) {
      for (size_t side = 0; side < 2; ++side) {
        add_to_norm(n, side, 2, 3);
        fuse_moments(n, side);
      }
    }
  }

  // Whether both are one value, or the difference of the same two.
  bool are_same(int a, int b) const {
    if (a == b) return true;
    const graph_node *const left = made_by(a, {"Sub"}), *const right = made_by(b, {"Sub"});
    return left != nullptr && right != nullptr &&
           behind_casts(left->inputs.at(0)) == behind_casts(right->inputs.at(0)) &&
           behind_casts(left->inputs.at(1)) == behind_casts(right->inputs.at(1));
  }

  // x times (a weight / sqrt(mean(x^2) + eps)).
  bool fuse_weighted_norm(graph_node &n, int factor, int x) {
    const graph_node *const product = made_by(factor, {"Mul"});
    if (product == nullptr || product->inputs.size() != 2) return false;
    for (size_t i = 0; i < 2; ++i) {
      const graph_node *const inverse = made_by(product->inputs[i], {"Reciprocal"});
      const auto root = inverse != nullptr ? root_of(inverse->inputs.at(0)) : std::nullopt;
      const int weight = product->inputs[1 - i];
      const shape &dims = value(n.outputs[0]).dims;
      if (!root || !are_same(root->first, x) || dims.empty() || !is_vector_constant(weight, dims.back())) continue;
      make_norm(n, x, root->second);
      if (n.operation == "heed.norm") n.inputs.push_back(weight);
      return true;
    }
    return false;
  }

  // The operand of a product or a sum that is not `known`; no_value, if neither is.
  int other_operand(const graph_node &n, int known) const {
    if (n.inputs.size() != 2) return no_value;
    if (behind_casts(n.inputs[0]) == known) return n.inputs[1];
    return behind_casts(n.inputs[1]) == known ? n.inputs[0] : int{no_value};
  }

  // TensorFlow's layer norm: x f + (bias - mean f), where f is weight / sqrt(mean((x - mean)^2) + eps).
  void fuse_moments(graph_node &n, size_t side) {
    if (n.operation != "Add") return;  // it may have become a norm
    const graph_node *const scaled = made_by(n.inputs[side], {"Mul"});
    const graph_node *const rest = made_by(n.inputs[1 - side], {"Sub"});
    const graph_node *const shift = rest != nullptr ? made_by(rest->inputs.at(1), {"Mul"}) : nullptr;
    if (scaled == nullptr || shift == nullptr) return;
    for (const int operand : scaled->inputs) {
      const int x = behind_casts(operand), factor = behind_casts(other_operand(*scaled, x));
      const int mean = other_operand(*shift, factor);
      const graph_node *const product = made_by(factor, {"Mul"});
      if (mean == no_value || product == nullptr || mean_of(mean) != x) continue;
      for (size_t i = 0; i < 2; ++i) {
        const graph_node *const inverse = made_by(product->inputs[i], {"Reciprocal"});
        const auto root = inverse != nullptr ? root_of(inverse->inputs.at(0)) : std::nullopt;
        const graph_node *const difference = root ? made_by(root->first, {"Sub"}) : nullptr;
        if (difference == nullptr || behind_casts(difference->inputs[0]) != x || mean_of(difference->inputs.at(1)) != x)
          continue;
        const int weight = product->inputs[1 - i], bias = rest->inputs[0];
        const shape &dims = value(n.outputs[0]).dims;
        if (dims.empty() || value(x).dims != dims) continue;
        if (!is_vector_constant(weight, dims.back()) || !is_vector_constant(bias, dims.back())) continue;
        n.operation = "heed.norm";
        n.inputs = {x, weight, bias};
        n.attributes = {{"norm", text_attribute("heed_layer_norm")}, {"eps", real_attribute(root->second)}};
        return;
      }
    }
  }

  void make_norm(graph_node &n, int x, double eps) {
    const graph_node *const difference = made_by(x, {"Sub"});
    std::string kind = "heed_rms_norm";
    int from = x;
    if (difference != nullptr && mean_of(difference->inputs.at(1)) == behind_casts(difference->inputs[0])) {
      kind = "heed_layer_norm";
      from = difference->inputs[0];
    }
    if (value(from).dims != value(n.outputs[0]).dims || value(from).dims.empty()) return;
    n.operation = "heed.norm";
    n.inputs = {from};
    n.attributes = {{"norm", text_attribute(kind)}, {"eps", real_attribute(eps)}};
  }

  // A product with a weight, or a sum with a bias: input `place` of a norm that has fewer than `most` inputs.
  void add_to_norm(graph_node &n, size_t side, size_t place, size_t most) {
    const graph_node *const norm = made_by(n.inputs[side], {"heed.norm"});
    if (norm == nullptr || &n == norm || norm->inputs.size() >= most || value(n.inputs[side]).dims.empty()) return;
    const int vector = n.inputs[1 - side];
    if (!is_vector_constant(vector, value(n.inputs[side]).dims.back())) return;
    if (value(n.outputs[0]).dims != value(n.inputs[side]).dims) return;
    const graph_node whole = *norm;
    n.operation = whole.operation;
    n.attributes = whole.attributes;
    n.inputs = whole.inputs;
    n.inputs.resize(place, no_value);
    n.inputs.push_back(vector);
  }

  // ------------------------------------------------------------------------------------------------------ activations

  // A value as a function of another one, computed for one number: no result if it depends on anything else.
  std::optional<double> computed(int v, int from, double x, int depth) const {
    if (v == from) return x;
    if (const auto constant = scalar(v)) return constant;
    if (v == no_value || depth > 12 || maker_[static_cast<size_t>(v)] < 0) return std::nullopt;
    const graph_node &n = net_.nodes[static_cast<size_t>(maker_[static_cast<size_t>(v)])];
    if (n.outputs[0] != v || n.inputs.empty()) return std::nullopt;
    const auto a = computed(n.inputs[0], from, x, depth + 1);
    if (!a) return std::nullopt;
    const std::string &op = n.operation;
    if (is_one_of(op, {"Identity", "Dropout", "Cast"})) return value(v).kind == element::floats ? a : std::nullopt;
    if (op == "Erf") return std::erf(*a);
    if (op == "Tanh") return std::tanh(*a);
    if (op == "Sigmoid") return 1 / (1 + std::exp(-*a));
    if (op == "Exp") return std::exp(*a);
    if (op == "Neg") return -*a;
    if (op == "Relu") return std::max(*a, 0.0);
    if (op == "Sqrt") return std::sqrt(*a);
    if (op == "Reciprocal") return 1 / *a;
    if (op == "Clip") return clipped(n, *a);
    if (n.inputs.size() != 2) return std::nullopt;
    const auto b = computed(n.inputs[1], from, x, depth + 1);
    if (!b) return std::nullopt;
    if (op == "Add") return *a + *b;
    if (op == "Sub") return *a - *b;
    if (op == "Mul") return *a * *b;
    if (op == "Div") return *a / *b;
    if (op == "Pow") return std::pow(*a, *b);
    if (op == "Max") return std::max(*a, *b);
    if (op == "Min") return std::min(*a, *b);
    return std::nullopt;
  }
  std::optional<double> clipped(const graph_node &n, double x) const {
    for (const bool is_most : {false, true}) {
      const char *const name = is_most ? "max" : "min";
      const size_t place = is_most ? 2 : 1;
      std::optional<double> limit;
      if (n.inputs.size() > place && n.inputs[place] != no_value) {
        limit = scalar(n.inputs[place]);
        if (!limit) return std::nullopt;
      } else if (const auto found = n.attributes.find(name); found != n.attributes.end()) {
        limit = found->second.floats.empty() ? scalar_of(found->second) : static_cast<double>(found->second.floats[0]);
      }
      if (limit) x = is_most ? std::min(x, *limit) : std::max(x, *limit);
    }
    return x;
  }
  static std::optional<double> scalar_of(const attribute &a) {
    if (!a.numbers || a.numbers->numbers.size() != 1) return std::nullopt;
    return a.numbers->numbers[0];
  }

  // Values that a value depends on through functions of single numbers, the farthest last.
  void add_sources(int v, std::vector<int> &sources, int depth) const {
    if (v == no_value || value(v).is_constant || depth > 12 || sources.size() > 32) return;
    if (std::find(sources.begin(), sources.end(), v) != sources.end()) return;
    sources.push_back(v);
    if (maker_[static_cast<size_t>(v)] < 0) return;
    const graph_node &n = net_.nodes[static_cast<size_t>(maker_[static_cast<size_t>(v)])];
    if (!is_one_of(n.operation, {"Identity", "Dropout", "Cast", "Erf", "Tanh", "Sigmoid", "Exp", "Neg", "Relu", "Sqrt",
                                 "Reciprocal", "Add", "Sub", "Mul", "Div", "Pow", "Clip", "Max", "Min"}))
      return;
    for (const int input : n.inputs) add_sources(input, sources, depth + 1);
  }

  static double gelu(double x) { return x * 0.5 * std::erfc(-x * sqrt_half); }
  static double gelu_tanh(double x) { return x / (1 + std::exp(-1.5957691216057308 * (x + 0.044715 * x * x * x))); }
  static double silu(double x) { return x / (1 + std::exp(-x)); }
  static double tangent(double x) { return std::tanh(x); }
  static double logistic(double x) { return 1 / (1 + std::exp(-x)); }
  static double hard_swish(double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }

  // Whatever form an export gave an activation: it is the one whose numbers it has.
  void fuse_activation(graph_node &n) {
    if (!is_one_of(n.operation, {"Mul", "Div", "Add", "Sub", "Reciprocal"})) return;
    const int v = n.outputs.at(0);
    if (value(v).kind != element::floats || value(v).is_constant) return;
    std::vector<int> sources;
    add_sources(v, sources, 0);
    const std::pair<const char *, double (*)(double)> functions[] = {
        {"heed_gelu", gelu},    {"heed_gelu_tanh", gelu_tanh}, {"heed_silu", silu},
        {"heed_tanh", tangent}, {"heed_sigmoid", logistic},    {"HardSwish", hard_swish}};
    for (const int from : sources) {
      if (from == v || value(from).dims != value(v).dims || !computed(v, from, 0.5, 0)) continue;
      for (const auto &[name, f] : functions) {
        if (!is_function(v, from, f)) continue;
        const bool is_of_heed = std::string(name) != "HardSwish";
        n.operation = is_of_heed ? "heed.activation" : name;
        n.inputs = {from};
        n.attributes.clear();
        if (is_of_heed) n.attributes = {{"function", text_attribute(name)}};
        return;
      }
    }
  }
  bool is_function(int v, int from, double (*f)(double)) const {
    for (int i = -40; i <= 40; ++i) {
      const double x =
          i * 0.2 + (i > 0 ? 0.013 : -0.007);  // beyond 8 all of them are what they become, and exp overflows later
      const auto y = computed(v, from, x, 0);
      if (!y || !(std::fabs(*y - f(x)) <= 2e-6 * (1 + std::fabs(x)) * std::max(0.01, std::min(1.0, std::fabs(f(x))))))
        return false;
    }
    for (const double x : {-30.0, 0.0, 30.0}) {
      const auto y = computed(v, from, x, 0);
      if (!y || !(std::fabs(*y - f(x)) <= 2e-6 * (1 + std::fabs(x)))) return false;
    }
    return true;
  }

  // An activation times another value of the same shape.
  void fuse_gate(graph_node &n) {
    if (n.operation != "Mul" || n.inputs.size() != 2) return;
    for (size_t side = 0; side < 2; ++side) {
      const int gate = n.inputs[side], up = n.inputs[1 - side];
      const graph_node *const f = made_by(gate, {"heed.activation", "Sigmoid", "Relu", "Tanh", "Gelu"});
      if (f == nullptr || f->inputs.size() != 1 || uses_[static_cast<size_t>(gate)] != 1) continue;
      if (value(gate).dims != value(up).dims || value(up).is_constant) continue;
      std::string name = "heed_gelu";
      if (f->operation == "Sigmoid") name = "heed_sigmoid";
      if (f->operation == "Relu") name = "heed_relu";
      if (f->operation == "Tanh") name = "heed_tanh";
      if (f->operation == "heed.activation") name = f->attributes.at("function").texts.at(0);
      const auto form = f->attributes.find("approximate");
      if (f->operation == "Gelu" && form != f->attributes.end() && form->second.texts.at(0) == "tanh")
        name = "heed_gelu_tanh";
      const int x = f->inputs[0];
      n.operation = "heed.activation";
      n.inputs = {x, up};
      n.attributes = {{"function", text_attribute(name)}};
      return;
    }
  }

  // -------------------------------------------------------------------------------------------------------- quantisation

  // The node that makes a value, whatever its type.
  const graph_node *maker_of(int v, const char *operation) const {
    if (v == no_value || maker_[static_cast<size_t>(v)] < 0) return nullptr;
    const graph_node &n = net_.nodes[static_cast<size_t>(maker_[static_cast<size_t>(v)])];
    return n.operation == operation ? &n : nullptr;
  }

  // Rows that are rounded to 8 bits and come back: only their range is kept, so they lose nothing on their way. The range may be
  // all that is left of a relu.
  void fuse_rounding(graph_node &n) {
    if (n.operation != "DequantizeLinear") return;
    const graph_node *const to = maker_of(n.inputs.at(0), "QuantizeLinear");
    if (to == nullptr || n.inputs.size() < 2 || to->inputs.size() < 2) return;
    const auto scale = scalar(n.inputs[1]), same = scalar(to->inputs[1]);
    const auto zero_of = [&](const graph_node &of) -> std::optional<double> {
      if (of.inputs.size() < 3 || of.inputs[2] == no_value) return 0.0;
      return scalar(of.inputs[2]);
    };
    const auto zero = zero_of(n), same_zero = zero_of(*to);
    if (!scale || scale != same || !zero || zero != same_zero) return;
    const int32_t type = value(n.inputs[0]).type;
    constexpr int32_t is_uint8 = 2, is_int8 = 3;
    if (type != is_uint8 && type != is_int8) return;
    const double least = type == is_uint8 ? 0 : -128, most = least + 255;
    const int x = to->inputs[0], low = new_constant(n.name + "_least", (least - *zero) * *scale),
              high = new_constant(n.name + "_most", (most - *zero) * *scale);
    n.operation = "Clip";
    n.inputs = {x, low, high};
    n.attributes.clear();
  }
  int new_constant(const std::string &name, double number) {
    auto one = std::make_shared<array>();
    one->numbers = {number};
    graph_value v;
    v.name = name;
    v.is_constant = true;
    v.constant = one;
    net_.values.push_back(std::move(v));
    maker_.push_back(-1);
    uses_.push_back(0);
    return static_cast<int>(net_.values.size()) - 1;
  }

  // A product in integers of rows that are quantised on their way: heed's product of floats with weights of 8 bits.
  void fuse_quantised(graph_node &n) {
    if (n.operation != "Mul" || n.inputs.size() != 2) return;
    for (size_t side = 0; side < 2; ++side) {
      const graph_node *const cast = maker_of(n.inputs[side], "Cast");
      const graph_node *const product = cast != nullptr ? maker_of(cast->inputs.at(0), "MatMulInteger") : nullptr;
      const graph_node *const scales = maker_of(n.inputs[1 - side], "Mul");
      if (product == nullptr || scales == nullptr || product->inputs.size() < 2) continue;
      const graph_node *const rows = maker_of(product->inputs[0], "DynamicQuantizeLinear");
      const graph_value &w = value(product->inputs[1]);
      if (rows == nullptr || rows->outputs.size() < 3 || !w.is_constant || w.weight == nullptr || w.dims.size() != 2)
        continue;
      const bool is_first = scales->inputs.at(0) == rows->outputs[1];
      const int w_scale = scales->inputs[is_first ? 1 : 0];
      if (scales->inputs[is_first ? 0 : 1] != rows->outputs[1]) continue;
      const int64_t n_out = w.dims[1];
      const bool has_zero = product->inputs.size() > 3 && product->inputs[3] != no_value;
      const int zero = has_zero ? product->inputs[3] : int{no_value};
      const auto fits = [&](int v) { return scalar(v) || is_vector_constant(v, n_out); };
      if (!fits(w_scale) || (has_zero && !fits(zero))) continue;
      const int x = rows->inputs.at(0), matrix = product->inputs[1];
      n.operation = "heed.linear";
      n.inputs = {x, matrix, no_value, w_scale, zero};
      n.attributes.clear();
      return;
    }
  }

  // ------------------------------------------------------------------------------------------------------------ linear

  void fuse_linear(graph_node &n) {
    if (n.operation != "Add" || n.inputs.size() != 2) return;
    for (size_t side = 0; side < 2; ++side) {
      const graph_node *const product = made_by(n.inputs[side], {"MatMul", "heed.linear"});
      if (product == nullptr || value(n.inputs[side]).dims.empty()) continue;
      if (product->operation == "heed.linear" && product->inputs.at(2) != no_value) continue;
      const graph_value &w = value(product->inputs.at(1));
      const int64_t n_out = value(n.inputs[side]).dims.back();
      if (!w.is_constant || w.dims.size() != 2 || !is_vector_constant(n.inputs[1 - side], n_out)) continue;
      if (value(n.outputs[0]).dims != value(n.inputs[side]).dims) continue;
      const int bias = n.inputs[1 - side];
      std::vector<int> inputs = product->inputs;
      inputs.resize(std::max<size_t>(inputs.size(), 3), no_value);
      inputs[2] = bias;
      n.operation = "heed.linear";
      n.inputs = inputs;
      n.attributes.clear();
      return;
    }
  }

  // --------------------------------------------------------------------------------------------------------- attention

  struct scores {
    int q = no_value, k = no_value, mask = no_value;
    double scale = 1;
    std::string mask_kind;    // "", "additive", "boolean", "inverted"
    bool k_is_turned = true;  // (..., dim, keys)
  };

  bool leads_to_product(int v, int depth) const {
    const graph_node *const n = made_by(v, {"MatMul", "Mul", "Div", "Add", "Where"});
    if (n == nullptr || depth > 6) return false;
    if (n->operation == "MatMul") return !value(n->inputs.at(1)).is_constant && !value(n->inputs[0]).is_constant;
    for (const int input : n->inputs)
      if (!value(input).is_constant && value(input).kind == element::floats && leads_to_product(input, depth + 1))
        return true;
    return false;
  }

  // Factors of a value that are numbers.
  int without_factors(int v, double &scale) const {
    for (int i = 0; i < 8; ++i) {
      const graph_node *const n = made_by(v, {"Mul", "Div"});
      if (n == nullptr || n->inputs.size() != 2) break;
      const auto left = scalar(n->inputs[0]), right = scalar(n->inputs[1]);
      if (right) {
        scale = n->operation == "Mul" ? scale * *right : scale / *right;
        v = n->inputs[0];
      } else if (left && n->operation == "Mul") {
        scale *= *left;
        v = n->inputs[1];
      } else {
        break;
      }
    }
    return behind_casts(v);
  }

  std::optional<scores> scores_of(int v) const {
    scores s;
    for (int i = 0; i < 4; ++i) {
      double factor = 1;
      const int inside = without_factors(v, factor);
      if (factor != 1 && !made_by(inside, {"MatMul"})) return std::nullopt;  // a mask would be scaled, too
      s.scale *= factor;
      v = inside;
      if (made_by(v, {"MatMul"})) break;
      const graph_node *const n = made_by(v, {"Add", "Where"});
      if (n == nullptr || !s.mask_kind.empty()) return std::nullopt;
      if (n->operation == "Add") {
        const size_t side = leads_to_product(n->inputs.at(0), 0) ? 0 : 1;
        s.mask = n->inputs[1 - side];
        s.mask_kind = "additive";
        v = n->inputs[side];
      } else {
        const auto yes = scalar(n->inputs.at(1)), no = scalar(n->inputs.at(2));
        if (no && *no <= -1e4)
          s.mask_kind = "boolean", v = n->inputs[1];
        else if (yes && *yes <= -1e4)
          s.mask_kind = "inverted", v = n->inputs[2];
        else
          return std::nullopt;
        s.mask = n->inputs[0];
      }
    }
    const graph_node *const product = made_by(v, {"MatMul"});
    if (product == nullptr || value(product->inputs.at(1)).is_constant || value(product->inputs[0]).is_constant)
      return std::nullopt;
    s.q = without_factors(product->inputs[0], s.scale);
    s.k = without_factors(product->inputs[1], s.scale);
    if (const graph_node *const turn = made_by(s.k, {"Transpose"})) {
      const auto perm = turn->attributes.find("perm");
      const size_t rank = value(s.k).dims.size();
      if (rank >= 2 && perm != turn->attributes.end() && perm->second.integers.size() == rank) {
        bool swaps_last = true;
        for (size_t d = 0; d < rank; ++d) {
          const size_t from = d + 2 == rank ? rank - 1 : d + 1 == rank ? rank - 2 : d;
          swaps_last = swaps_last && perm->second.integers[d] == static_cast<int64_t>(from);
        }
        if (swaps_last) {
          s.k = without_factors(turn->inputs.at(0), s.scale);
          s.k_is_turned = false;
        }
      }
    }
    return s;
  }

  // Keys that are repeated for groups of heads: the ones that are repeated.
  int without_repeats(int v) const {
    const graph_node *const flat = made_by(v, {"Reshape"});
    const graph_node *const wide = flat != nullptr ? made_by(flat->inputs.at(0), {"Expand"}) : nullptr;
    if (wide == nullptr) return v;
    const graph_node *const narrow = made_by(wide->inputs.at(0), {"Unsqueeze", "Reshape"});
    if (narrow == nullptr) return v;
    const shape &all = value(v).dims, &five = value(flat->inputs[0]).dims, &own = value(narrow->inputs[0]).dims;
    const shape &one = value(wide->inputs[0]).dims;
    if (all.size() != 4 || five.size() != 5 || own.size() != 4 || one.size() != 5) return v;
    const bool fits = one == shape{own[0], own[1], 1, own[2], own[3]} && five[0] == own[0] && five[1] == own[1] &&
                      five[3] == own[2] && five[4] == own[3] && all == shape{own[0], own[1] * five[2], own[2], own[3]};
    return fits ? narrow->inputs[0] : v;
  }

  void fuse_attention(graph_node &n) {
    if (n.operation != "MatMul" || n.inputs.size() != 2 || value(n.inputs[0]).is_constant) return;
    int weights = behind_casts(n.inputs[0]);
    if (const graph_node *const guard = made_by(weights, {"Where"})) {  // rows that see no key
      if (made_by(guard->inputs.at(0), {"IsNaN"}) == nullptr || scalar(guard->inputs.at(1)) != 0.0) return;
      weights = behind_casts(guard->inputs.at(2));
    }
    const graph_node *const softmax = made_by(weights, {"Softmax"});
    if (softmax == nullptr) return;
    const shape &dims = value(softmax->inputs.at(0)).dims;
    const auto axis = softmax->attributes.find("axis");
    const int64_t which = axis != softmax->attributes.end() ? axis->second.integers.at(0) : net_.opset < 13 ? 1 : -1;
    if (dims.size() < 2 || dims.size() > 4) return;
    if (which != -1 && which != static_cast<int64_t>(dims.size()) - 1) return;
    const auto s = scores_of(softmax->inputs[0]);
    if (!s) return;
    const int k = s->k_is_turned ? s->k : without_repeats(s->k), v = without_repeats(behind_casts(n.inputs[1]));
    if (!fits(*s, k, v, dims, value(n.outputs[0]).dims)) return;
    graph_node whole;
    whole.name = n.name;
    whole.operation = "heed.attention";
    whole.inputs = {s->q, k, v, s->mask};
    whole.outputs = n.outputs;
    whole.attributes = {{"scale", real_attribute(s->scale)},
                        {"mask", text_attribute(s->mask_kind)},
                        {"turned", integer_attribute(s->k_is_turned ? 1 : 0)}};
    n = whole;
  }

  bool fits(const scores &s, int k, int v, const shape &dims, const shape &out) const {
    const size_t rank = dims.size();
    const shape &q_dims = value(s.q).dims, &k_dims = value(k).dims, &v_dims = value(v).dims;
    if (q_dims.size() != rank || k_dims.size() != rank || v_dims.size() != rank || out.size() != rank) return false;
    const int64_t n_q = dims[rank - 2], n_kv = dims[rank - 1], dim = q_dims[rank - 1];
    const int64_t k_rows = k_dims[s.k_is_turned ? rank - 1 : rank - 2],
                  k_dim = k_dims[s.k_is_turned ? rank - 2 : rank - 1];
    if (q_dims[rank - 2] != n_q || k_rows != n_kv || k_dim != dim || v_dims[rank - 2] != n_kv) return false;
    if (out[rank - 2] != n_q || out[rank - 1] != v_dims[rank - 1] || dim < 1 || n_kv < 1) return false;
    if (rank == 4 && (k_dims[0] != q_dims[0] || v_dims[0] != q_dims[0])) return false;
    if (rank >= 3) {
      const int64_t heads = q_dims[rank - 3], kv_heads = k_dims[rank - 3];
      if (kv_heads < 1 || v_dims[rank - 3] != kv_heads || heads % kv_heads != 0 || dims[rank - 3] != heads)
        return false;
    }
    if (dim > HEED_MAX_DIM || v_dims[rank - 1] > HEED_MAX_DIM) return false;
    return s.scale != 0 && std::isfinite(s.scale);
  }

  // ------------------------------------------------------------------------------------------------------------- rest

  // Such as the keys of a branch that computes none.
  void leave_out_empty_outputs() {
    std::vector<int> &all = net_.outputs;
    all.erase(std::remove_if(all.begin(), all.end(), [&](int v) { return count_of(value(v).dims) == 0; }), all.end());
  }

  void leave_out_unused() {
    std::set<int> needed(net_.outputs.begin(), net_.outputs.end());
    std::vector<graph_node> kept;
    for (size_t i = net_.nodes.size(); i-- > 0;) {
      graph_node &n = net_.nodes[i];
      const bool is_needed =
          std::any_of(n.outputs.begin(), n.outputs.end(), [&](int v) { return needed.count(v) > 0; });
      if (!is_needed) continue;
      for (int &v : n.outputs)
        if (needed.count(v) == 0) v = no_value;
      needed.insert(n.inputs.begin(), n.inputs.end());
      kept.push_back(std::move(n));
    }
    std::reverse(kept.begin(), kept.end());
    net_.nodes = std::move(kept);
  }

  graph net_;
  std::vector<int> maker_, uses_;
};

}  // namespace

graph fused(const graph &net) { return fuser(with_folded_scales(net)).run(); }

}  // namespace heed_compile
