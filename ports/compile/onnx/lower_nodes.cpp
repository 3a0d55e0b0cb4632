// Functions of numbers, reductions, norms and activations as steps. See lower.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "lower.hpp"
#include "operators.hpp"

namespace heed_compile {
namespace {

// The greatest row of numbers that heed takes.
int64_t row_of(const shape &dims) {
  const int64_t n = dims.empty() ? 1 : dims.back();
  return n >= 1 && n <= HEED_MAX_COUNT ? n : 1;
}

bool same_place(const view &a, const view &b) {
  return a.at == b.at && a.offset == b.offset && a.dims == b.dims && a.strides == b.strides;
}

}  // namespace

void lowering::map(const graph_node &n) {
  static const std::map<std::string, const char *> functions = {
      {"Neg", "HEED_GRAPH_NEGATE"},  {"Abs", "HEED_GRAPH_ABS"},           {"Sqrt", "HEED_GRAPH_SQRT"},
      {"Exp", "HEED_GRAPH_EXP"},     {"Log", "HEED_GRAPH_LOG"},           {"Reciprocal", "HEED_GRAPH_RECIPROCAL"},
      {"Erf", "HEED_GRAPH_ERF"},     {"Sin", "HEED_GRAPH_SIN"},           {"Cos", "HEED_GRAPH_COS"},
      {"Floor", "HEED_GRAPH_FLOOR"}, {"Ceil", "HEED_GRAPH_CEIL"},         {"Round", "HEED_GRAPH_ROUND"},
      {"Sign", "HEED_GRAPH_SIGN"},   {"Softplus", "HEED_GRAPH_SOFTPLUS"}, {"HardSwish", "HEED_GRAPH_HARD_SWISH"}};
  const view x = view_of(n, 0), y = result_like(n, x);
  const bool is_float = x.kind == element::floats;
  expect(is_float || x.kind == element::integers, n, "takes no booleans");
  step &s = add(n, is_float ? "heed_graph_map" : "heed_graph_map_integers",
                {named(functions.at(n.operation)), write(y), read(x), loop(n, {y, x})});
  in_place(s, y, x);
}

view lowering::combined(const graph_node &n, int32_t operation, const view &a, const view &b, const view &to) {
  static const char *const names[] = {"HEED_GRAPH_ADD",   "HEED_GRAPH_SUB", "HEED_GRAPH_MUL", "HEED_GRAPH_DIV",
                                      "HEED_GRAPH_MIN",   "HEED_GRAPH_MAX", "HEED_GRAPH_POW", "HEED_GRAPH_MOD",
                                      "HEED_GRAPH_PRELU", "HEED_GRAPH_AND", "HEED_GRAPH_OR",  "HEED_GRAPH_XOR"};
  const view left = broadcast(n, a, to.dims), right = broadcast(n, b, to.dims);
  const char *const function = to.kind == element::floats     ? "heed_graph_combine"
                               : to.kind == element::integers ? "heed_graph_combine_integers"
                                                              : "heed_graph_combine_booleans";
  const bool is_logic = operation >= HEED_GRAPH_AND;
  expect((to.kind == element::booleans) == is_logic, n, "has an input of another type");
  expect(!(operation == HEED_GRAPH_MOD && to.kind == element::floats), n, "is known for integers alone");
  step &s = add(n, function, {named(names[operation]), write(to), read(left), read(right), loop(n, {to, left, right})});
  if (left.at != right.at || same_place(left, right)) {
    in_place(s, to, left);
    if (s.in_place < 0) in_place(s, to, right);
  }
  return to;
}

// A residual connection: heed's own function shares it among threads.
view lowering::sum_of(const graph_node &n, const view &a, const view &b, const view &to) {
  const bool is_plain =
      lie_alike(a, to) && lie_alike(b, to) && is_dense(to) && to.kind == element::floats && count_of(to.dims) > 0;
  const int64_t dim = row_of(lying(to).dims);
  if (!is_plain || count_of(to.dims) / dim > HEED_MAX_COUNT) return combined(n, HEED_GRAPH_ADD, a, b, to);
  step &s =
      add(n, "heed_graph_add", {write(to), read(a), read(b), number(count_of(to.dims) / dim), number(dim), executor()});
  if (a.at != b.at) {
    in_place(s, to, a);
    if (s.in_place < 0) in_place(s, to, b);
  }
  return to;
}

void lowering::combine(const graph_node &n) {
  static const std::map<std::string, int32_t> operations = {
      {"Add", HEED_GRAPH_ADD}, {"Sum", HEED_GRAPH_ADD}, {"Sub", HEED_GRAPH_SUB}, {"Mul", HEED_GRAPH_MUL},
      {"Div", HEED_GRAPH_DIV}, {"Min", HEED_GRAPH_MIN}, {"Max", HEED_GRAPH_MAX}, {"Pow", HEED_GRAPH_POW},
      {"Mod", HEED_GRAPH_MOD}, {"And", HEED_GRAPH_AND}, {"Or", HEED_GRAPH_OR},   {"Xor", HEED_GRAPH_XOR}};
  const int32_t operation = operations.at(n.operation);
  if (operation == HEED_GRAPH_MOD) expect(integer_of(n, "fmod", 0) == 0, n, "is known without fmod alone");
  if (operation == HEED_GRAPH_POW) {
    const view x = view_of(n, 0);
    if (scalar(input(n, 1)) == 2.0) {
      const view y = result(n);
      const bool is_float = x.kind == element::floats;
      in_place(add(n, is_float ? "heed_graph_map" : "heed_graph_map_integers",
                   {named("HEED_GRAPH_SQUARE"), write(y), read(x), loop(n, {y, x})}),
               y, x);
      return;
    }
    if (scalar(input(n, 1)) == 0.5 && x.kind == element::floats) {
      const view y = result(n);
      in_place(add(n, "heed_graph_map", {named("HEED_GRAPH_SQRT"), write(y), read(x), loop(n, {y, x})}), y, x);
      return;
    }
  }
  expect(!n.inputs.empty(), n, "has no input");
  view sum = view_of(n, 0);
  if (n.inputs.size() == 1) {
    set(n, sum);
    return;
  }
  const storage &from = p_.storages[static_cast<size_t>(sum.at)];
  if (n.operation == "Max" && n.inputs.size() == 2 && from.where == place::input && scalar(n.inputs[1]) == 0.0)
    not_negative_[n.outputs.at(0)] = from.index;
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    const view next = view_of(n, i);
    expect(next.kind == sum.kind, n, "has inputs of two types");
    const graph_value &of = value(n.outputs.at(0));
    // An operand that is repeated, or a constant, has no say in how the result lies.
    const view &like = sum.dims == of.dims && !(is_whole(sum) && next.dims == of.dims) ? sum : next;
    const view to = i + 1 == n.inputs.size() ? result_like(n, like) : new_array_like(like, of.kind, of.dims, of.name);
    sum = operation == HEED_GRAPH_ADD ? sum_of(n, sum, next, to) : combined(n, operation, sum, next, to);
  }
}

void lowering::compare(const graph_node &n) {
  static const std::map<std::string, const char *> names = {{"Equal", "HEED_GRAPH_EQUAL"},
                                                            {"Less", "HEED_GRAPH_LESS"},
                                                            {"LessOrEqual", "HEED_GRAPH_LESS_OR_EQUAL"},
                                                            {"Greater", "HEED_GRAPH_GREATER"},
                                                            {"GreaterOrEqual", "HEED_GRAPH_GREATER_OR_EQUAL"}};
  const view y = result(n), a = broadcast(n, view_of(n, 0), y.dims), b = broadcast(n, view_of(n, 1), y.dims);
  expect(a.kind == b.kind && a.kind != element::booleans, n, "compares floats with floats or integers with integers");
  const bool is_float = a.kind == element::floats;
  add(n, is_float ? "heed_graph_compare" : "heed_graph_compare_integers",
      {named(names.at(n.operation)), write(y), read(a), read(b), loop(n, {y, a, b})});
}

void lowering::is_not(const graph_node &n) {
  const view x = view_of(n, 0), y = result(n);
  add(n, "heed_graph_not", {write(y), read(x), loop(n, {y, x})});
}
void lowering::is_nan(const graph_node &n) {
  const view x = view_of(n, 0), y = result(n);
  expect(x.kind == element::floats, n, "takes floats alone");
  add(n, "heed_graph_is_nan", {write(y), read(x), loop(n, {y, x})});
}

void lowering::choose(const graph_node &n) {
  const view y = result(n), condition = broadcast(n, view_of(n, 0), y.dims);
  const view a = broadcast(n, view_of(n, 1), y.dims), b = broadcast(n, view_of(n, 2), y.dims);
  expect(a.kind == y.kind && b.kind == y.kind && condition.kind == element::booleans, n, "has inputs of two types");
  add(n, y.kind == element::booleans ? "heed_graph_choose_bytes" : "heed_graph_choose",
      {write(y), read(condition), read(a), read(b), loop(n, {y, condition, a, b})});
}

void lowering::cast(const graph_node &n) {
  const view x = view_of(n, 0);
  const element to = value(n.outputs.at(0)).kind;
  if (to == x.kind) {
    set(n, x);
    return;
  }
  static const char *const functions[3][3] = {
      {nullptr, "heed_graph_float_to_integer", "heed_graph_float_to_boolean"},
      {"heed_graph_integer_to_float", nullptr, "heed_graph_integer_to_boolean"},
      {"heed_graph_boolean_to_float", "heed_graph_boolean_to_integer", nullptr}};
  const view y = result(n);
  add(n, functions[static_cast<size_t>(x.kind)][static_cast<size_t>(to)], {write(y), read(x), loop(n, {y, x})});
}

void lowering::clip(const graph_node &n) {
  view x = view_of(n, 0);
  const auto bound = [&](size_t i, const char *name) -> std::optional<double> {
    if (has_input(n, i)) return scalar(n.inputs[i]);
    return n.attributes.count(name) > 0 ? std::optional<double>(real_of(n, name, 0)) : std::nullopt;
  };
  const auto limit = [&](size_t i, const char *name, int32_t operation, bool is_last) {
    view edge;
    if (has_input(n, i)) {
      edge = view_of(n, i);
    } else if (const auto number = bound(i, name)) {
      edge = constant_floats({static_cast<float>(*number)}, {}, n.name + "_" + name);
    } else {
      return false;
    }
    const graph_value &of = value(n.outputs.at(0));
    x = combined(n, operation, x, edge, is_last ? result_like(n, x) : new_array_like(x, of.kind, of.dims, of.name));
    return true;
  };
  const bool has_most = has_input(n, 2) || n.attributes.count("max") > 0;
  const bool has_least = limit(1, "min", HEED_GRAPH_MAX, !has_most);
  limit(2, "max", HEED_GRAPH_MIN, true);
  if (!has_least && !has_most) set(n, x);
}

void lowering::reduce(const graph_node &n) {
  static const std::map<std::string, const char *> names = {{"ReduceSum", "HEED_GRAPH_SUM"},
                                                            {"ReduceMean", "HEED_GRAPH_MEAN"},
                                                            {"ReduceMax", "HEED_GRAPH_GREATEST"},
                                                            {"ReduceMin", "HEED_GRAPH_LEAST"},
                                                            {"ReduceProd", "HEED_GRAPH_PRODUCT"},
                                                            {"ReduceSumSquare", "HEED_GRAPH_SUM_OF_SQUARES"},
                                                            {"ReduceL1", "HEED_GRAPH_SUM_OF_MAGNITUDES"},
                                                            {"ReduceL2", "HEED_GRAPH_LENGTH"},
                                                            {"ReduceLogSumExp", "HEED_GRAPH_LOG_SUM_EXP"},
                                                            {"GlobalAveragePool", "HEED_GRAPH_MEAN"},
                                                            {"GlobalMaxPool", "HEED_GRAPH_GREATEST"}};
  view x = view_of(n, 0);
  const size_t rank = x.dims.size();
  std::vector<bool> is_reduced(rank, false);
  if (n.operation.compare(0, 6, "Global") == 0) {
    for (size_t d = 2; d < rank; ++d) is_reduced[d] = true;
  } else {
    std::vector<int64_t> axes = integers_of(n, "axes");
    for (const double axis : constant_numbers(n, 1)) axes.push_back(static_cast<int64_t>(axis));
    if (axes.empty() && integer_of(n, "noop_with_empty_axes", 0) != 0) {
      set(n, x);
      return;
    }
    for (const int64_t axis : axes) is_reduced[axis_of(n, axis, rank)] = true;
    if (axes.empty()) is_reduced.assign(rank, true);
  }
  view outer = x, inner = x;
  outer.dims.clear(), outer.strides.clear(), inner.dims.clear(), inner.strides.clear();
  for (size_t d = 0; d < rank; ++d) {
    view &to = is_reduced[d] ? inner : outer;
    to.dims.push_back(x.dims[d]);
    to.strides.push_back(x.strides[d]);
  }
  const view y = result(n);
  expect(count_of(y.dims) == count_of(outer.dims), n, "has a result of another shape");
  expect(count_of(inner.dims) > 0, n, "reduces nothing");
  // The mean over rows is mean pooling.
  const std::optional<view> pooled = reshaped(outer, {count_of(outer.dims)}),
                            over = reshaped(inner, {count_of(inner.dims)});
  const bool is_mean = n.operation == "ReduceMean" || n.operation == "GlobalAveragePool";
  if (is_mean && x.kind == element::floats && pooled && over && pooled->dims[0] > 1 && pooled->strides[0] == 1 &&
      over->strides[0] >= pooled->dims[0] && over->dims[0] > 1) {
    add(n, "heed_graph_mean_rows",
        {write(y), read(x), number(over->dims[0]), number(pooled->dims[0]), number(over->strides[0]), executor()});
    return;
  }
  view to = y;
  to.dims = outer.dims, to.strides = whole_strides(outer.dims);
  const bool is_float = x.kind == element::floats;
  expect(is_float || (x.kind == element::integers && n.operation != "ReduceMean"), n, "is known for floats alone");
  const argument over_outer = loop(n, {to, outer}), over_inner = loop(n, {inner, inner}, true);
  add(n, is_float ? "heed_graph_reduce" : "heed_graph_reduce_integers",
      {named(names.at(n.operation)), write(y), read(x), over_outer, over_inner});
}

void lowering::argmax(const graph_node &n) {
  const view x = whole(view_of(n, 0)), y = result(n);
  expect(x.kind == element::floats, n, "is known for floats alone");
  const size_t axis = axis_of(n, integer_of(n, "axis", 0), x.dims.size());
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < x.dims.size(); ++d) {
    if (d < axis) outer *= x.dims[d];
    if (d > axis) inner *= x.dims[d];
  }
  add(n, "heed_graph_argmax",
      {write(y), read(x), number(outer), number(x.dims[axis]), number(inner), number(n.operation == "ArgMin" ? 1 : 0),
       number(integer_of(n, "select_last_index", 0))});
}

void lowering::topk(const graph_node &n) {
  view x = view_of(n, 0);
  expect(x.kind == element::floats && integer_of(n, "largest", 1) == 1, n, "is known for the largest floats alone");
  const size_t rank = x.dims.size(), axis = axis_of(n, integer_of(n, "axis", -1), rank);
  expect(axis + 1 == rank, n, "is known over the last axis alone");
  x = whole(x);
  const int64_t k = value(n.outputs.at(0) != no_value ? n.outputs[0] : n.outputs.at(1)).dims.back();
  expect(k >= 1 && k <= x.dims.back(), n, "takes more numbers than there are");
  shape dims = x.dims;
  dims.back() = k;
  view values = new_array(element::floats, dims, n.name),
       indices = new_array(element::integers, dims, n.name + "_indices");
  add(n, "heed_graph_topk",
      {write(values), write(indices), read(x), number(count_of(x.dims) / x.dims.back()), number(x.dims.back()),
       number(k)});
  if (n.outputs[0] != no_value) set(n, values, 0);
  if (n.outputs.size() > 1 && n.outputs[1] != no_value) set(n, indices, 1);
}

void lowering::cumulate(const graph_node &n) {
  const view x = whole(view_of(n, 0)), y = result(n);
  expect(x.kind != element::booleans, n, "takes no booleans");
  const std::vector<double> axes = constant_numbers(n, 1);
  expect(axes.size() == 1, n, "needs one axis");
  const size_t axis = axis_of(n, static_cast<int64_t>(axes[0]), x.dims.size());
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < x.dims.size(); ++d) {
    if (d < axis) outer *= x.dims[d];
    if (d > axis) inner *= x.dims[d];
  }
  add(n, x.kind == element::floats ? "heed_graph_cumulate" : "heed_graph_cumulate_integers",
      {write(y), read(x), number(outer), number(x.dims[axis]), number(inner), number(integer_of(n, "exclusive", 0)),
       number(integer_of(n, "reverse", 0))});
}

void lowering::softmax(const graph_node &n) {
  view x = view_of(n, 0);
  const size_t rank = x.dims.size();
  expect(rank > 0, n, "has no axis");
  const size_t axis = axis_of(n, integer_of(n, "axis", net_.opset < 13 ? 1 : -1), rank);
  std::vector<size_t> perm;
  size_t n_row_dims = rank - axis;  // before operator set 13 a row is all from the axis on
  if (net_.opset >= 13) {
    for (size_t d = 0; d < rank; ++d)
      if (d != axis) perm.push_back(d);
    perm.push_back(axis);
    x = turned(x, perm);
    n_row_dims = 1;
  }
  const view as_rows = rows(x, n_row_dims, false);
  const graph_value &of = value(n.outputs.at(0));
  view y = new_array(element::floats, x.dims, of.name);
  if (as_rows.dims[1] > 0 && as_rows.dims[0] > 0) {
    step &s = add(n, "heed_graph_softmax",
                  {write(y), read(as_rows), number(as_rows.dims[0]), number(as_rows.dims[1]), executor()});
    in_place(s, y, as_rows);
  }
  if (n.operation == "LogSoftmax") {
    add(n, "heed_graph_map", {named("HEED_GRAPH_LOG"), write(y), read(y), loop(n, {y, y})});
  }
  if (!perm.empty()) {
    std::vector<size_t> back(rank);
    for (size_t d = 0; d < rank; ++d) back[perm[d]] = d;
    y = turned(y, back);
  }
  set(n, y);
}

void lowering::activate(const graph_node &n, const std::string &function, const view &x, const view *up) {
  const bool fits = is_dense(x) && x.dims == value(n.outputs.at(0)).dims && (up == nullptr || lie_alike(x, *up));
  const view from = fits ? x : whole(x);
  const view other = up == nullptr ? view() : fits ? *up : whole(*up);
  const view y = result_like(n, from);
  const int64_t dim = row_of(lying(y).dims), n_rows = count_of(y.dims) / dim;
  if (n_rows == 0) return;
  step &s = add(n, "heed_graph_activation",
                {named(function), write(y), read(from), up != nullptr ? read(other) : null(), number(n_rows),
                 number(dim), executor()});
  if (up == nullptr || from.at != other.at) in_place(s, y, from);
}

void lowering::activation(const graph_node &n) {
  const view x = view_of(n, 0);
  if (x.kind == element::integers) {
    expect(n.operation == "Relu", n, "takes floats alone");
    const view y = result(n);
    add(n, "heed_graph_map_integers", {named("HEED_GRAPH_RELU"), write(y), read(x), loop(n, {y, x})});
    return;
  }
  static const std::map<std::string, const char *> functions = {{"Relu", "heed_relu"},
                                                                {"Tanh", "heed_tanh"},
                                                                {"Sigmoid", "heed_sigmoid"},
                                                                {"Gelu", "heed_gelu"},
                                                                {"com.microsoft.Gelu", "heed_gelu"}};
  if (n.operation == "heed.activation") {
    const view up = has_input(n, 1) ? view_of(n, 1) : view();
    activate(n, text_of(n, "function", ""), x, has_input(n, 1) ? &up : nullptr);
  } else if (n.operation == "Swish" || n.operation == "com.microsoft.QuickGelu") {  // x * sigmoid(alpha x)
    const double alpha = real_of(n, "alpha", n.operation == "Swish" ? 1.0 : 1.702);
    if (alpha == 1.0) {
      activate(n, "heed_silu", x, nullptr);
      return;
    }
    const view factor = constant_floats({static_cast<float>(alpha)}, {}, n.name + "_alpha");
    const view scaled = combined(n, HEED_GRAPH_MUL, x, factor, new_array(element::floats, x.dims, n.name));
    const view up = x;
    activate(n, "heed_sigmoid", scaled, &up);
  } else {
    const bool is_tanh_form = text_of(n, "approximate", "none") == "tanh";
    activate(n, is_tanh_form ? "heed_gelu_tanh" : functions.at(n.operation), x, nullptr);
  }
}

void lowering::biased_gelu(const graph_node &n) {
  view x = view_of(n, 0);
  if (has_input(n, 1)) x = sum_of(n, x, view_of(n, 1), new_array(element::floats, x.dims, n.name));
  activate(n, n.operation == "com.microsoft.FastGelu" ? "heed_gelu_tanh" : "heed_gelu", x, nullptr);
}

void lowering::leaky(const graph_node &n) {
  const view x = view_of(n, 0);
  const view slope = n.operation == "PRelu"
                         ? view_of(n, 1)
                         : constant_floats({static_cast<float>(real_of(n, "alpha", 0.01))}, {}, n.name + "_alpha");
  combined(n, HEED_GRAPH_PRELU, x, slope, result_like(n, x));
}

// max(0, min(1, alpha x + beta))
void lowering::hard_sigmoid(const graph_node &n) {
  const view x = view_of(n, 0);
  const auto constant = [&](double c, const char *what) {
    return constant_floats({static_cast<float>(c)}, {}, n.name + what);
  };
  const auto next = [&] { return new_array_like(x, element::floats, x.dims, n.name); };
  view y = combined(n, HEED_GRAPH_MUL, x, constant(real_of(n, "alpha", 0.2), "_alpha"), next());
  y = combined(n, HEED_GRAPH_ADD, y, constant(real_of(n, "beta", 0.5), "_beta"), next());
  y = combined(n, HEED_GRAPH_MAX, y, constant(0, "_least"), next());
  combined(n, HEED_GRAPH_MIN, y, constant(1, "_most"), result_like(n, x));
}

void lowering::normalise(const graph_node &n, const std::string &function, const view &x, int weight, int bias,
                         double eps) {
  const size_t n_row_dims =
      n.operation == "heed.norm" ? 1 : x.dims.size() - axis_of(n, integer_of(n, "axis", -1), x.dims.size());
  const view from = rows(x, n_row_dims, true);
  const int64_t dim = from.dims[1];
  const auto vector = [&](int v) {
    if (v == no_value) return null();
    const view all = whole(broadcast(n, view_of(v), {dim}));
    return read(all);
  };
  const auto flat_vector = [&](int v) {
    if (v == no_value) return null();
    const view all = view_of(v);
    expect(count_of(all.dims) == dim || count_of(all.dims) == 1, n, "has a weight that is not as long as a row");
    if (count_of(all.dims) == dim) return read(whole(all));
    return vector(v);
  };
  const argument w = flat_vector(weight), b = flat_vector(bias);
  expect(dim >= 1 && from.dims[0] >= 1, n, "has rows without numbers");
  const view y = result(n);
  step &s = add(n, "heed_graph_norm",
                {named(function), write(y), read(from), number(from.dims[0]), number(dim), number(from.strides[0]), w,
                 b, real_number(eps), executor()});
  if (is_whole(from)) in_place(s, y, from);
}

void lowering::norm(const graph_node &n) {
  const bool is_rms =
      n.operation.find("RMS") != std::string::npos || n.operation.find("Simplified") != std::string::npos;
  for (size_t i = 1; i < n.outputs.size(); ++i)
    expect(n.outputs[i] == no_value, n, "has more than one result that is read");
  const std::string function = n.operation == "heed.norm" ? text_of(n, "norm", "")
                               : is_rms                   ? "heed_rms_norm"
                                                          : "heed_layer_norm";
  const double eps = n.operation == "heed.norm" ? real_of(n, "eps", 0) : real_of(n, "epsilon", 1e-5);
  normalise(n, function, view_of(n, 0), input(n, 1), input(n, 2), eps);
}

// The norm of a sum; output 3 is the sum.
void lowering::skip_norm(const graph_node &n) {
  const bool is_rms = n.operation.find("Simplified") != std::string::npos;
  const view x = view_of(n, 0), other = view_of(n, 1);
  view sum = sum_of(n, x, other, new_array(element::floats, x.dims, n.name + "_sum"));
  const size_t bias = is_rms ? 3 : 4;
  if (has_input(n, bias)) sum = sum_of(n, sum, view_of(n, bias), new_array(element::floats, x.dims, n.name + "_sum"));
  for (size_t i = 1; i < n.outputs.size(); ++i) {
    if (n.outputs[i] == no_value) continue;
    expect(i == 3, n, "has a result that is known for training alone");
    set(n, sum, 3);
  }
  normalise(n, is_rms ? "heed_rms_norm" : "heed_layer_norm", sum, input(n, 2), is_rms ? int{no_value} : input(n, 3),
            real_of(n, "epsilon", 1e-12));
}

// With constants for mean and variance it is a factor and a summand for each channel.
void lowering::batch_norm(const graph_node &n) {
  const view x = view_of(n, 0);
  expect(x.dims.size() >= 2, n, "has an input without channels");
  const std::vector<double> scale = constant_numbers(n, 1), bias = constant_numbers(n, 2),
                            mean = constant_numbers(n, 3), variance = constant_numbers(n, 4);
  const auto channels = static_cast<size_t>(x.dims[1]);
  expect(scale.size() == channels && bias.size() == channels && mean.size() == channels && variance.size() == channels,
         n, "has weights that are not as many as the channels");
  std::vector<float> factors, summands;
  for (size_t c = 0; c < channels; ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + real_of(n, "epsilon", 1e-5));
    factors.push_back(static_cast<float>(factor));
    summands.push_back(static_cast<float>(bias[c] - mean[c] * factor));
  }
  shape dims(x.dims.size() - 1, 1);
  dims[0] = x.dims[1];
  const view product = combined(n, HEED_GRAPH_MUL, x, constant_floats(factors, dims, n.name + "_factor"),
                                new_array_like(x, element::floats, x.dims, n.name));
  combined(n, HEED_GRAPH_ADD, product, constant_floats(summands, dims, n.name + "_summand"), result_like(n, x));
}

// Rows of time steps or pixels with their channels side by side, one group norm for each entry of the batch.
void lowering::group_norm(const graph_node &n) {
  const view x = view_of(n, 0);
  expect(x.dims.size() >= 3, n, "has an input without channels");
  const int64_t batch = x.dims[0], channels = x.dims[1],
                n_rows = count_of(x.dims) / std::max<int64_t>(1, batch * channels);
  const int64_t groups = n.operation == "InstanceNormalization" ? channels : integer_of(n, "num_groups", 1);
  expect(groups >= 1 && channels % groups == 0 && n_rows > 0, n, "has groups that do not divide the channels");
  const auto vector = [&](size_t i) {
    const std::vector<double> own = constant_numbers(n, i);
    expect(static_cast<int64_t>(own.size()) == channels || static_cast<int64_t>(own.size()) == groups, n,
           "has weights that are not as many as the channels");
    std::vector<float> all;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t at = static_cast<int64_t>(own.size()) == channels ? c : c / (channels / groups);
      all.push_back(static_cast<float>(own[static_cast<size_t>(at)]));
    }
    return constant_floats(all, {channels}, n.name + (i == 1 ? "_weight" : "_bias"));
  };
  const view weight = vector(1), bias = vector(2);
  std::vector<size_t> perm = {0}, back = {0, x.dims.size() - 1};
  for (size_t d = 2; d < x.dims.size(); ++d) perm.push_back(d), back.push_back(d - 1);
  perm.push_back(1);
  const view from = whole(turned(x, perm)), to = new_array(element::floats, from.dims, value(n.outputs.at(0)).name);
  for (int64_t b = 0; b < batch; ++b) {
    view x_b = from, y_b = to;
    x_b.offset += b * n_rows * channels, y_b.offset += b * n_rows * channels;
    step &s = add(n, "heed_graph_group_norm",
                  {write(y_b), read(x_b), number(n_rows), number(channels), read(weight), read(bias), number(groups),
                   real_number(real_of(n, "epsilon", 1e-5)), executor()});
    if (batch == 1) in_place(s, y_b, x_b);
  }
  set(n, turned(to, back));
}

}  // namespace heed_compile
