// Rows that nothing reads are not computed. A classifier reads the row of its class token, so the last layer's products behind attention have
// one row to make instead of all. See rewrite.hpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <set>

#include "rewrite.hpp"

namespace heed_compile {
namespace {

// Places [first, first + n) of one dimension.
struct part {
  size_t axis;
  int64_t first, n;
  bool operator==(const part &other) const { return axis == other.axis && first == other.first && n == other.n; }
};
using parts = std::vector<std::optional<part>>;  // of each input of a node; none: all of it

// What all readers of a value want of it.
struct demand {
  bool is_read = false, is_whole = false;
  part of = {0, 0, 0};
  void want(const std::optional<part> &p) {
    if (!p || (is_read && !(of == *p))) is_whole = true;
    if (p) of = *p;
    is_read = true;
  }
  bool is_part() const { return is_read && !is_whole; }
};

bool is_elementwise(const std::string &operation) {
  static const std::set<std::string> known = {"Abs",       "Add",        "And",         "Cast",     "Ceil",
                                              "Clip",      "Cos",        "Div",         "Dropout",  "Elu",
                                              "Equal",     "Erf",        "Exp",         "Floor",    "Gelu",
                                              "Greater",   "HardSwish",  "HardSigmoid", "Identity", "heed.activation",
                                              "LeakyRelu", "Less",       "Log",         "Max",      "Min",
                                              "Mul",       "Neg",        "Not",         "Or",       "PRelu",
                                              "Pow",       "Reciprocal", "Relu",        "Sigmoid",  "Sign",
                                              "Sin",       "Softplus",   "Softsign",    "Sqrt",     "Sub",
                                              "Sum",       "Swish",      "Tanh",        "Where"};
  return known.count(operation) != 0;
}

class row_finder {
 public:
  explicit row_finder(const graph &net) : net_(net), demands_(net.values.size()) {
    for (const int v : net.outputs) at(v).want({});
    for (size_t i = net.nodes.size(); i > 0; --i) look_at(net.nodes[i - 1]);
  }
  // Of a value that is made in part: which one.
  std::optional<part> part_of(int v) const {
    const demand &d = demands_[static_cast<size_t>(v)];
    return d.is_part() ? std::optional<part>(d.of) : std::nullopt;
  }
  // What a node reads to make this part of its result; none: it cannot.
  std::optional<parts> sources_of(const graph_node &n, const part &p) const;
  // The part that a node takes out of its first input, if it does nothing else.
  std::optional<part> cut_by(const graph_node &n) const;

 private:
  demand &at(int v) { return demands_[static_cast<size_t>(v)]; }
  const shape &dims(int v) const { return net_.values[static_cast<size_t>(v)].dims; }

  void look_at(const graph_node &n) {
    parts wanted(n.inputs.size());
    for (const int v : n.outputs)
      if (v != no_value && n.outputs.size() > 1) at(v).is_whole = true;
    const int out = n.outputs.at(0);
    const std::optional<part> given = out == no_value ? std::nullopt : part_of(out);
    const std::optional<parts> sources = given ? sources_of(n, *given) : std::nullopt;
    if (sources) {
      wanted = *sources;
    } else {
      if (given) at(out).is_whole = true;  // its readers cut it
      if (const std::optional<part> cut = cut_by(n)) wanted[0] = cut;
    }
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] != no_value) at(n.inputs[i]).want(wanted[i]);
  }

  // The integers of an input that is a constant, or is left out.
  std::optional<std::vector<int64_t>> constant_of(const graph_node &n, size_t i) const {
    if (i >= n.inputs.size() || n.inputs[i] == no_value) return std::vector<int64_t>();
    const graph_value &v = net_.values[static_cast<size_t>(n.inputs[i])];
    if (!v.is_constant) return std::nullopt;
    constexpr double most = 2147483647.0;
    std::vector<int64_t> integers;
    for (const double number : numbers_of(v)->numbers)
      integers.push_back(static_cast<int64_t>(std::min(std::max(number, -most), most)));
    return integers;
  }
  parts of_rows(const graph_node &n, const part &p, size_t out_rank) const;
  std::optional<size_t> reshaped_from(const graph_node &n, const part &p) const;

  const graph &net_;
  std::vector<demand> demands_;
};

size_t from_end(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// Inputs that are spread over the result: those that have its rows are read in part.
parts row_finder::of_rows(const graph_node &n, const part &p, size_t out_rank) const {
  parts from(n.inputs.size());
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i] == no_value) continue;
    const shape &own = dims(n.inputs[i]);
    const size_t missing = out_rank - std::min(out_rank, own.size());
    if (p.axis >= missing && own.at(p.axis - missing) > 1) from[i] = part{p.axis - missing, p.first, p.n};
  }
  return from;
}

// The dimension of the input that is the same one, between the same numbers of places.
std::optional<size_t> row_finder::reshaped_from(const graph_node &n, const part &p) const {
  const shape &from = dims(n.inputs[0]), &to = dims(n.outputs[0]);
  const int64_t before = product_of(to, 0, p.axis);
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] == to[p.axis] && product_of(from, 0, d) == before) return d;
  return std::nullopt;
}

std::optional<parts> row_finder::sources_of(const graph_node &n, const part &p) const {
  const std::string &operation = n.operation;
  const shape &to = dims(n.outputs[0]);
  if (is_elementwise(operation)) return of_rows(n, p, to.size());
  parts from(n.inputs.size());
  from[0] = p;
  const bool is_row = p.axis + 1 < to.size() && dims(n.inputs[0]).size() == to.size();
  if (operation == "heed.linear" || operation == "heed.norm") return is_row ? std::optional<parts>(from) : std::nullopt;
  if (operation == "heed.attention") {  // queries
    if (p.axis + 2 != to.size()) return std::nullopt;
    if (n.inputs.at(3) != no_value) from[3] = of_rows(n, p, to.size())[3];
    return from;
  }
  if (operation == "LayerNormalization" || operation == "RMSNormalization" ||
      operation == "SimplifiedLayerNormalization")
    return p.axis < from_end(integer_of(n, "axis", -1), to.size()) ? std::optional<parts>(from) : std::nullopt;
  if (operation == "Transpose") {
    const std::vector<int64_t> perm = integers_of(n, "perm");
    from[0]->axis = perm.empty() ? to.size() - 1 - p.axis : from_end(perm.at(p.axis), to.size());
    return from;
  }
  if (operation == "Reshape" || operation == "Squeeze" || operation == "Unsqueeze" || operation == "Flatten") {
    const std::optional<size_t> axis = reshaped_from(n, p);
    if (!axis) return std::nullopt;
    from[0]->axis = *axis;
    return from;
  }
  if (operation == "MatMul") {
    const size_t right = dims(n.inputs[1]).size();
    const bool is_one = right == 2 || (right > 2 && p.axis + 2 == to.size());  // not a part of several products
    return is_row && is_one ? std::optional<parts>(from) : std::nullopt;
  }
  if (operation == "Gemm") {
    if (p.axis != 0 || integer_of(n, "transA", 0) != 0) return std::nullopt;
    if (n.inputs.size() > 2 && n.inputs[2] != no_value) from[2] = of_rows(n, p, 2)[2];
    return from;
  }
  return std::nullopt;
}

std::optional<part> row_finder::cut_by(const graph_node &n) const {
  if (n.inputs.empty() || n.inputs[0] == no_value) return std::nullopt;
  const shape &from = dims(n.inputs[0]);
  if (n.operation == "Gather") {
    const std::optional<std::vector<int64_t>> index = constant_of(n, 1);
    const size_t axis = from_end(integer_of(n, "axis", 0), from.size());
    if (!index || index->size() != 1 || axis >= from.size() || from[axis] < 2) return std::nullopt;
    const int64_t first = (*index)[0] < 0 ? (*index)[0] + from[axis] : (*index)[0];
    return first >= 0 && first < from[axis] ? std::optional<part>({axis, first, 1}) : std::nullopt;
  }
  if (n.operation != "Slice" || n.inputs.size() < 3) return std::nullopt;  // older ones have attributes
  // The shape says how many places are left, of one dimension; where they begin is said by the slice.
  const shape &to = dims(n.outputs[0]);
  std::optional<part> found;
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] == to[d]) continue;
    if (found) return std::nullopt;
    found = part{d, 0, to[d]};
  }
  const std::optional<std::vector<int64_t>> starts = constant_of(n, 1), axes = constant_of(n, 3),
                                            steps = constant_of(n, 4);
  if (!found || !starts || !axes || !steps || found->n < 1) return std::nullopt;
  for (size_t i = 0; i < starts->size(); ++i) {
    const size_t axis = axes->empty() ? i : from_end(axes->at(i), from.size());
    if (!steps->empty() && steps->at(i) != 1) return std::nullopt;
    const int64_t size = from.at(axis), first = (*starts)[i] < 0 ? (*starts)[i] + size : (*starts)[i];
    if (axis == found->axis) found->first = std::min(std::max<int64_t>(first, 0), size);
  }
  return found;
}

class row_maker {
 public:
  explicit row_maker(const graph &net) : find_(net) {}

  void rewrite(rewriter &r) {
    const graph_node &n = r.node();
    const int out = n.outputs.at(0);
    const std::optional<part> wanted = out == no_value ? std::nullopt : find_.part_of(out);
    if (wanted) {
      made_[out] = in_part(r, *wanted);
    } else if (!n.inputs.empty() && made_.count(n.inputs[0]) != 0) {
      r.finish(r.reshaped(made_[n.inputs[0]], r.out_dims()));  // it cuts out what is left
    } else {
      r.keep(n.inputs);
    }
  }

 private:
  int in_part(rewriter &r, const part &wanted) {
    const parts sources = *find_.sources_of(r.node(), wanted);
    std::vector<int> inputs = r.node().inputs;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (sources[i]) inputs[i] = of_input(r, inputs[i], *sources[i]);
    shape to = r.out_dims();
    to.at(wanted.axis) = wanted.n;
    const std::string &operation = r.node().operation;
    if (operation == "Reshape" || operation == "Squeeze" || operation == "Unsqueeze" || operation == "Flatten")
      return r.reshaped(inputs[0], to);
    return r.made(operation, inputs, to, r.node().attributes, r.value(r.node().outputs[0]).kind);
  }
  int of_input(rewriter &r, int v, const part &p) {
    const auto found = made_.find(v);
    return found != made_.end() ? found->second : r.part(v, p.axis, p.first, p.n);
  }

  row_finder find_;
  std::map<int, int> made_;  // values of which a part is made
};

}  // namespace

graph with_rows_that_are_read(const graph &net, std::deque<tensor> &weights) {
  row_maker maker(net);
  return rewriter(net, weights).run([&](rewriter &r) { maker.rewrite(r); });
}

}  // namespace heed_compile
