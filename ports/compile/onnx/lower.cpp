// See lower.hpp. SPDX-License-Identifier: MIT
#include "lower.hpp"

#include <algorithm>
#include <cstring>

#include "../../import/convert.hpp"
#include "operators.hpp"

namespace heed_compile {
namespace {

constexpr int64_t most_numbers = std::numeric_limits<int32_t>::max() / 4;

int64_t checked_count(const shape &dims) {
  int64_t n = 1;
  for (const int64_t dim : dims) {
    if (dim < 0 || (dim > 0 && n > most_numbers / dim))
      throw refusal("a value of the graph has more than 2^29 numbers");
    n *= dim;
  }
  return n;
}

}  // namespace

lowering::lowering(const graph &net, const lower_choices &how) : net_(net), how_(how), views_(net.values.size()) {}

void lowering::refuse(const graph_node &n, const std::string &why) const {
  throw refusal(names::for_terminal("the node " + n.name + " (" + n.operation + ") " + why));
}

// ------------------------------------------------------------------------------------------------------- attributes

std::vector<double> lowering::constant_numbers(const graph_node &n, size_t i) const {
  if (!has_input(n, i)) return {};
  const graph_value &v = value(n.inputs[i]);
  if (!v.is_constant) refuse(n, "has an input " + v.name + " that only a constant can be here");
  return numbers_of(v)->numbers;
}
std::optional<double> lowering::scalar(int v) const {
  if (v == no_value || !value(v).is_constant || count_of(value(v).dims) != 1) return std::nullopt;
  return numbers_of(value(v))->numbers.at(0);
}
size_t lowering::axis_of(const graph_node &n, int64_t axis, size_t rank) const {
  const auto most = static_cast<int64_t>(rank);
  if (axis < -most || axis >= most) refuse(n, "has an axis that its input has not");
  return static_cast<size_t>(axis < 0 ? axis + most : axis);
}

// ------------------------------------------------------------------------------------------------------------ views

std::vector<int64_t> lowering::whole_strides(const shape &dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t n = 1;
  for (size_t d = dims.size(); d-- > 0;) strides[d] = n, n *= std::max<int64_t>(dims[d], 1);
  return strides;
}

bool lowering::is_whole(const view &v) {
  const std::vector<int64_t> strides = whole_strides(v.dims);
  for (size_t d = 0; d < v.dims.size(); ++d)
    if (v.dims[d] != 1 && v.strides[d] != strides[d]) return false;
  return true;
}

view lowering::new_array(element kind, const shape &dims, const std::string &name) {
  storage s;
  s.kind = kind;
  s.count = checked_count(dims);
  s.name = name;
  p_.storages.push_back(s);
  return {static_cast<int>(p_.storages.size()) - 1, 0, dims, whole_strides(dims), kind};
}

view lowering::constant_array(element kind, const shape &dims, const std::string &name, std::function<tensor()> make) {
  file_constant c;
  c.name = c.source = name;
  c.kind = kind;
  c.count = count_of(dims);
  c.make = std::move(make);
  p_.constants.push_back(std::move(c));
  view v = new_array(kind, dims, name);
  storage &s = p_.storages.back();
  s.where = place::constant;
  s.index = static_cast<int>(p_.constants.size()) - 1;
  return v;
}

view lowering::constant_integers(const std::vector<int64_t> &numbers, const std::string &name) {
  std::vector<double> all(numbers.begin(), numbers.end());
  const auto make = [all] {
    tensor t;
    heed_import::bytes to;
    for (const double number : all)
      heed_import::put(to, static_cast<uint64_t>(static_cast<uint32_t>(static_cast<int32_t>(number))), 4);
    t.dims = {static_cast<uint32_t>(all.size())};
    t.dtype = HEED_FILE_I32;
    t.own(std::move(to));
    return t;
  };
  return constant_array(element::integers, {static_cast<int64_t>(numbers.size())}, name, make);
}

view lowering::constant_floats(const std::vector<float> &numbers, const shape &dims, const std::string &name) {
  const auto make = [numbers] {
    tensor t;
    heed_import::bytes to;
    for (const float number : numbers) heed_import::put(to, number);
    t.dims = {static_cast<uint32_t>(numbers.size())};
    t.own(std::move(to));
    return t;
  };
  return constant_array(element::floats, dims, name, make);
}

view lowering::view_of(int v) {
  const graph_value &of = value(v);
  if (!of.is_constant) {
    if (views_[static_cast<size_t>(v)].at < 0) throw std::logic_error("no step has made " + of.name);
    return views_[static_cast<size_t>(v)];
  }
  if (count_of(of.dims) == 0)
    throw refusal("the constant " + of.name + " has no numbers, which a program has no use for");
  const auto found = array_constants_.find(v);
  if (found != array_constants_.end()) return {found->second, 0, of.dims, whole_strides(of.dims), of.kind};
  const auto make = [&of] {
    tensor t;
    heed_import::bytes to;
    const shared_array all = numbers_of(of);
    for (const double number : all->numbers) {
      const double clamped = std::min(std::max(number, -2147483648.0), 2147483647.0);
      if (of.kind == element::floats)
        heed_import::put(to, static_cast<float>(number));
      else if (of.kind == element::integers)
        heed_import::put(to, static_cast<uint64_t>(static_cast<uint32_t>(static_cast<int32_t>(clamped))), 4);
      else
        to.push_back(number != 0 ? 1 : 0);
    }
    t.dims = {static_cast<uint32_t>(all->numbers.size())};
    t.dtype = of.kind == element::floats     ? int32_t{HEED_F32}
              : of.kind == element::integers ? int32_t{HEED_FILE_I32}
                                             : int32_t{HEED_FILE_TEXT};
    t.is_metadata = of.kind == element::booleans;
    t.own(std::move(to));
    return t;
  };
  const view made = constant_array(of.kind, of.dims, of.name, make);
  array_constants_[v] = made.at;
  return made;
}
view lowering::view_of(const graph_node &n, size_t i) {
  if (!has_input(n, i)) refuse(n, "lacks input " + std::to_string(i));
  return view_of(n.inputs[i]);
}

void lowering::set(const graph_node &n, const view &v, size_t output) {
  view named = v;
  named.dims = value(n.outputs.at(output)).dims;
  if (named.dims.size() != v.strides.size() || count_of(named.dims) != count_of(v.dims))
    throw std::logic_error(n.name + ": its result has another shape");
  views_[static_cast<size_t>(n.outputs[output])] = named;
}

view lowering::result(const graph_node &n, size_t output) {
  expect(n.outputs.at(output) != no_value, n, "has a result that nothing reads");
  const graph_value &v = value(n.outputs.at(output));
  const view made = new_array(v.kind, v.dims, v.name);
  views_[static_cast<size_t>(n.outputs[output])] = made;
  return made;
}

// Strides of the same numbers in another shape, if there are such.
std::optional<view> lowering::reshaped(const view &v, const shape &dims) const {
  if (count_of(dims) != count_of(v.dims)) return std::nullopt;
  view to = v;
  to.dims = dims;
  to.strides.assign(dims.size(), 0);
  if (count_of(dims) == 0 || is_whole(v)) {
    to.strides = whole_strides(dims);
    return to;
  }
  shape from_dims;
  std::vector<int64_t> from_strides;
  for (size_t d = 0; d < v.dims.size(); ++d)
    if (v.dims[d] != 1) from_dims.push_back(v.dims[d]), from_strides.push_back(v.strides[d]);
  size_t from = 0, at = 0;
  while (from < from_dims.size()) {
    // The shortest runs of dimensions of both shapes with the same number of elements.
    size_t from_end = from + 1, at_end = at;
    int64_t n_from = from_dims[from], n_to = 1;
    while (at_end < dims.size() && (n_to < n_from || at_end == at)) n_to *= dims[at_end++];
    while (n_to != n_from) {
      if (n_from < n_to)
        n_from *= from_dims[from_end++];
      else
        n_to *= dims[at_end++];
    }
    for (size_t d = from; d + 1 < from_end; ++d)
      if (from_strides[d] != from_strides[d + 1] * from_dims[d + 1]) return std::nullopt;
    int64_t stride = from_strides[from_end - 1];
    for (size_t d = at_end; d-- > at;) to.strides[d] = stride, stride *= dims[d];
    from = from_end, at = at_end;
  }
  return to;
}

view lowering::whole(const view &v) {
  if (is_whole(v)) {
    view same = v;
    same.strides = whole_strides(v.dims);
    return same;
  }
  const view to = new_array(v.kind, v.dims, p_.storages[static_cast<size_t>(v.at)].name);
  graph_node none;
  none.name = p_.storages[static_cast<size_t>(v.at)].name;
  copy(none, to, v);
  return to;
}
view lowering::flat(const view &v, const shape &dims) {
  const std::optional<view> same = reshaped(v, dims);
  return same ? *same : *reshaped(whole(v), dims);
}

view lowering::broadcast(const graph_node &n, view v, const shape &dims) const {
  expect(v.dims.size() <= dims.size(), n, "has inputs whose shapes do not fit");
  const size_t more = dims.size() - v.dims.size();
  v.dims.insert(v.dims.begin(), more, 1);
  v.strides.insert(v.strides.begin(), more, 0);
  for (size_t d = 0; d < dims.size(); ++d) {
    expect(v.dims[d] == dims[d] || v.dims[d] == 1, n, "has inputs whose shapes do not fit");
    if (v.dims[d] != dims[d]) v.strides[d] = 0;
    v.dims[d] = dims[d];
  }
  return v;
}

view lowering::turned(const view &v, const std::vector<size_t> &perm) {
  view to = v;
  for (size_t d = 0; d < perm.size(); ++d) to.dims[d] = v.dims[perm[d]], to.strides[d] = v.strides[perm[d]];
  return to;
}

std::vector<size_t> lowering::order_of(const view &v) {
  std::vector<size_t> order(v.dims.size());
  bool is_ordered = true;
  for (size_t d = 0; d < order.size(); ++d) {
    order[d] = d;
    is_ordered = is_ordered && (v.dims[d] == 1 || v.strides[d] > 0);
  }
  if (!is_ordered || is_whole(v)) return order;
  // A dimension of 1 has no stride of its own.
  const auto reach = [&](size_t d) { return v.dims[d] == 1 ? std::numeric_limits<int64_t>::max() : v.strides[d]; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return reach(a) > reach(b); });
  return order;
}
bool lowering::is_dense(const view &v) { return is_whole(lying(v)); }
bool lowering::lie_alike(const view &a, const view &b) {
  if (a.dims != b.dims) return false;
  for (size_t d = 0; d < a.dims.size(); ++d)
    if (a.dims[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

view lowering::new_array_like(const view &x, element kind, const shape &dims, const std::string &name) {
  if (x.dims.size() != dims.size()) return new_array(kind, dims, name);
  const std::vector<size_t> order = order_of(x);
  shape as_lying(dims.size());
  std::vector<size_t> back(dims.size());
  for (size_t i = 0; i < order.size(); ++i) as_lying[i] = dims[order[i]], back[order[i]] = i;
  return turned(new_array(kind, as_lying, name), back);
}
view lowering::result_like(const graph_node &n, const view &x) {
  expect(n.outputs.at(0) != no_value, n, "has a result that nothing reads");
  const graph_value &v = value(n.outputs[0]);
  const view made = new_array_like(x, v.kind, v.dims, v.name);
  views_[static_cast<size_t>(n.outputs[0])] = made;
  return made;
}

view lowering::rows(const view &v, size_t n_row_dims, bool allows_gaps) {
  int64_t n_rows = 1, dim = 1;
  for (size_t d = 0; d < v.dims.size(); ++d) (d + n_row_dims < v.dims.size() ? n_rows : dim) *= v.dims[d];
  const std::optional<view> same = reshaped(v, {n_rows, dim});
  const bool fits = same && (dim == 1 || same->strides[1] == 1) && same->strides[0] >= 0 &&
                    (allows_gaps || n_rows == 1 || same->strides[0] == dim);
  if (!fits) return *reshaped(whole(v), {n_rows, dim});
  view good = *same;
  if (n_rows == 1) good.strides[0] = dim;
  return good;
}

// ------------------------------------------------------------------------------------------------------------ steps

argument lowering::read(const view &v) const {
  argument a;
  a.is = argument::what::pointer;
  a.index = v.at;
  a.number = v.offset;
  return a;
}
argument lowering::write(const view &v) const {
  argument a = read(v);
  a.is_written = true;
  return a;
}
argument lowering::number(int64_t n) {
  if (n < std::numeric_limits<int32_t>::min() || n > std::numeric_limits<int32_t>::max())
    throw refusal("the graph needs a count beyond 2^31");
  argument a;
  a.is = argument::what::integer;
  a.number = n;
  return a;
}
argument lowering::real_number(double x) {
  argument a;
  a.is = argument::what::real;
  a.real = x;
  return a;
}
argument lowering::named(const std::string &name) {
  argument a;
  a.is = argument::what::name;
  a.name = name;
  return a;
}
argument lowering::executor() {
  argument a;
  a.is = argument::what::executor;
  return a;
}
argument lowering::workspace(int64_t n_bytes) {
  p_.workspace_bytes = std::max(p_.workspace_bytes, n_bytes);
  argument a;
  a.is = argument::what::workspace;
  return a;
}
argument lowering::weights(int constant) const {
  argument a;
  a.is = argument::what::weights;
  a.index = constant;
  return a;
}

template <class T>
argument lowering::table(std::vector<T> &of, const T &entry, argument::what kind) {
  argument a;
  a.is = kind;
  for (size_t i = 0; i < of.size(); ++i)
    if (std::memcmp(&of[i], &entry, sizeof entry) == 0) {
      a.index = static_cast<int>(i);
      return a;
    }
  of.push_back(entry);
  a.index = static_cast<int>(of.size()) - 1;
  return a;
}
template argument lowering::table(std::vector<heed_graph_loop> &, const heed_graph_loop &, argument::what);
template argument lowering::table(std::vector<heed_graph_attention> &, const heed_graph_attention &, argument::what);
template argument lowering::table(std::vector<heed_graph_products> &, const heed_graph_products &, argument::what);
template argument lowering::table(std::vector<heed_graph_convolution> &, const heed_graph_convolution &,
                                  argument::what);

argument lowering::loop(const graph_node &n, std::vector<view> arrays, bool keeps_order) {
  if (!keeps_order) {
    const std::vector<size_t> order = order_of(arrays[0]);
    for (view &v : arrays) v = turned(v, order);
  }
  heed_graph_loop l;
  std::memset(&l, 0, sizeof l);
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides(arrays.size());
  for (size_t d = 0; d < arrays[0].dims.size(); ++d) {
    if (arrays[0].dims[d] == 1) continue;
    bool joins = !dims.empty();
    for (size_t i = 0; joins && i < arrays.size(); ++i)
      joins = strides[i].back() == arrays[i].strides[d] * arrays[i].dims[d];
    if (joins) {
      dims.back() *= arrays[0].dims[d];
      for (size_t i = 0; i < arrays.size(); ++i) strides[i].back() = arrays[i].strides[d];
    } else {
      dims.push_back(arrays[0].dims[d]);
      for (size_t i = 0; i < arrays.size(); ++i) strides[i].push_back(arrays[i].strides[d]);
    }
  }
  if (dims.empty()) {
    dims.push_back(1);
    for (auto &of : strides) of.push_back(0);
  }
  expect(dims.size() <= HEED_GRAPH_DIMS, n, "moves numbers through more than 6 dimensions");
  l.n_dims = static_cast<int32_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    l.dims[d] = static_cast<int32_t>(number(dims[d]).number);
    for (size_t i = 0; i < arrays.size(); ++i) l.strides[i][d] = static_cast<int32_t>(number(strides[i][d]).number);
  }
  return table(p_.loops, l, argument::what::loop);
}

step &lowering::add(const graph_node &n, const char *function, std::vector<argument> arguments) {
  step s;
  s.function = function;
  s.arguments = std::move(arguments);
  s.node = n.name;
  p_.list.push_back(std::move(s));
  return p_.list.back();
}

void lowering::copy(const graph_node &n, const view &to, const view &from) {
  if (count_of(to.dims) == 0) return;
  const char *const function = to.kind == element::booleans ? "heed_graph_copy_bytes" : "heed_graph_copy";
  add(n, function, {write(to), read(from), loop(n, {to, from})});
}

// The newest step has made this value: it is shown, and compared by --check.
void lowering::see(const graph_node &n, size_t output) {
  const int v = n.outputs.at(output);
  const view &shown = views_[static_cast<size_t>(v)];
  if (value(v).kind != element::floats || p_.list.empty()) return;
  step &s = p_.list.back();
  s.value = v;
  s.shown = shown;
}

void lowering::in_place(step &s, const view &to, const view &operand) {
  const storage &from = p_.storages[static_cast<size_t>(operand.at)];
  const bool is_same = (is_whole(to) && is_whole(operand) && count_of(to.dims) == count_of(operand.dims)) ||
                       (is_dense(operand) && lie_alike(to, operand));
  if (is_same && operand.offset == 0 && from.where == place::memory &&
      from.count == p_.storages[static_cast<size_t>(to.at)].count)
    s.in_place = operand.at;
}

// ------------------------------------------------------------------------------------------------------------- whole

// A table of tokens and the last projection of a tied model are one matrix, though exports have it twice.
void lowering::join_equal_matrices() {
  const auto floats_out_in = [](const file_constant &c) {
    tensor t = c.make();
    std::vector<float> floats = heed_import::floats_of(t);
    if (t.layout != HEED_IN_OUT) return floats;
    std::vector<float> other(floats.size());
    const auto n_in = static_cast<size_t>(c.n_in), n_out = static_cast<size_t>(c.n_out);
    for (size_t i = 0; i < n_in; ++i)
      for (size_t o = 0; o < n_out; ++o) other[o * n_in + i] = floats[i * n_out + o];
    return other;
  };
  for (size_t table = 0; table < p_.constants.size(); ++table) {
    if (!p_.constants[table].is_table) continue;
    std::vector<float> numbers;
    for (size_t i = 0; i < p_.constants.size(); ++i) {
      file_constant &other = p_.constants[i];
      const file_constant &one = p_.constants[table];
      if (i == table || !other.is_matrix || other.is_table || other.n_in != one.n_in || other.n_out != one.n_out)
        continue;
      if (numbers.empty()) numbers = floats_out_in(one);
      if (floats_out_in(other) != numbers) continue;
      for (step &s : p_.list)
        for (argument &a : s.arguments)
          if (a.is == argument::what::weights && a.index == static_cast<int>(i)) a.index = static_cast<int>(table);
      other.make = nullptr;  // is left out
    }
  }
}

steps lowering::run() {
  for (size_t i = 0; i < net_.inputs.size(); ++i) {
    const graph_value &v = value(net_.inputs[i]);
    const view made = new_array(v.kind, v.dims, v.name);
    storage &s = p_.storages.back();
    s.where = place::input;
    s.index = static_cast<int>(i);
    views_[static_cast<size_t>(net_.inputs[i])] = made;
    p_.inputs.push_back(made.at);
  }
  for (const graph_node &n : net_.nodes)
    if (methods().count(n.operation) == 0) refuse(n, "is an operator that heed_compile does not know");
  for (const graph_node &n : net_.nodes) {
    const size_t before = p_.list.size();
    (this->*methods().at(n.operation))(n);
    for (size_t o = 0; o < n.outputs.size(); ++o)
      if (n.outputs[o] != no_value && views_[static_cast<size_t>(n.outputs[o])].at < 0)
        throw std::logic_error(n.name + ": has not made all its results");
    if (n.outputs.at(0) == no_value || p_.list.empty()) continue;
    // A node that became several may end in a view of what its last step has made.
    const step &last = p_.list.back();
    const view &to = views_[static_cast<size_t>(n.outputs[0])];
    const bool is_view =
        last.node == n.name && last.shown.at == to.at && count_of(last.shown.dims) == count_of(to.dims);
    if (p_.list.size() > before || is_view) see(n);
  }
  std::vector<bool> is_taken(p_.storages.size(), false);
  for (size_t i = 0; i < net_.outputs.size(); ++i) {
    const graph_value &of = value(net_.outputs[i]);
    const view from = view_of(net_.outputs[i]);
    is_taken.resize(p_.storages.size(), false);
    storage &s = p_.storages[static_cast<size_t>(from.at)];
    int at = from.at;
    if (s.where != place::memory || !is_whole(from) || from.offset != 0 || s.count != count_of(from.dims) ||
        is_taken[static_cast<size_t>(at)]) {
      const view to = new_array(of.kind, of.dims, of.name);
      graph_node none;
      none.name = of.name;
      copy(none, to, from);
      at = to.at;
      is_taken.resize(p_.storages.size(), false);
    }
    storage &out = p_.storages[static_cast<size_t>(at)];
    out.where = place::output;
    out.index = static_cast<int>(i);
    out.name = of.name;
    is_taken[static_cast<size_t>(at)] = true;
    p_.outputs.push_back(at);
  }
  join_equal_matrices();
  place_storages(p_, how_);
  return std::move(p_);
}

const std::map<std::string, lowering::method> &lowering::methods() {
  static const std::map<std::string, method> all = [] {
    std::map<std::string, method> m;
    const auto put = [&m](method what, std::initializer_list<const char *> operations) {
      for (const char *operation : operations) m[operation] = what;
    };
    put(&lowering::map, {"Neg", "Abs", "Sqrt", "Reciprocal", "Exp", "Log", "Erf", "Sin", "Cos", "Floor", "Ceil",
                         "Round", "Sign", "Softplus", "HardSwish"});
    put(&lowering::activation, {"heed.activation", "Relu", "Tanh", "Sigmoid", "Gelu", "Swish", "com.microsoft.Gelu",
                                "com.microsoft.QuickGelu"});
    put(&lowering::biased_gelu, {"com.microsoft.FastGelu", "com.microsoft.BiasGelu"});
    put(&lowering::leaky, {"LeakyRelu", "PRelu"});
    put(&lowering::hard_sigmoid, {"HardSigmoid"});
    put(&lowering::combine, {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Mod", "And", "Or", "Xor", "Sum"});
    put(&lowering::compare, {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"});
    put(&lowering::is_not, {"Not"});
    put(&lowering::is_nan, {"IsNaN"});
    put(&lowering::choose, {"Where"});
    put(&lowering::cast, {"Cast", "CastLike"});
    put(&lowering::clip, {"Clip"});
    put(&lowering::reduce, {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare",
                            "ReduceL1", "ReduceL2", "ReduceLogSumExp", "GlobalAveragePool", "GlobalMaxPool"});
    put(&lowering::argmax, {"ArgMax", "ArgMin"});
    put(&lowering::topk, {"TopK"});
    put(&lowering::cumulate, {"CumSum"});
    put(&lowering::softmax, {"Softmax", "LogSoftmax"});
    put(&lowering::norm, {"heed.norm", "LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization",
                          "com.microsoft.SimplifiedLayerNormalization"});
    put(&lowering::skip_norm,
        {"com.microsoft.SkipLayerNormalization", "com.microsoft.SkipSimplifiedLayerNormalization"});
    put(&lowering::batch_norm, {"BatchNormalization"});
    put(&lowering::group_norm, {"GroupNormalization", "InstanceNormalization"});
    put(&lowering::same, {"Identity", "Dropout"});
    put(&lowering::reshape, {"Reshape", "Squeeze", "Unsqueeze", "Flatten"});
    put(&lowering::transpose, {"Transpose"});
    put(&lowering::expand, {"Expand"});
    put(&lowering::slice, {"Slice"});
    put(&lowering::split, {"Split"});
    put(&lowering::concat, {"Concat"});
    put(&lowering::pad, {"Pad"});
    put(&lowering::tile, {"Tile"});
    put(&lowering::gather, {"Gather"});
    put(&lowering::gather_each, {"GatherElements"});
    put(&lowering::indices, {"heed.indices"});
    put(&lowering::scatter, {"heed.scatter", "heed.scatter_sums"});
    put(&lowering::trilu, {"Trilu"});
    put(&lowering::matmul, {"MatMul"});
    put(&lowering::gemm, {"Gemm"});
    put(&lowering::linear, {"heed.linear"});
    put(&lowering::attention, {"heed.attention"});
    put(&lowering::onnx_attention, {"Attention"});
    put(&lowering::microsoft_attention, {"com.microsoft.Attention"});
    put(&lowering::multi_head_attention, {"com.microsoft.MultiHeadAttention"});
    put(&lowering::convolution, {"Conv"});
    put(&lowering::recurrent, {"LSTM", "GRU"});
    put(&lowering::pool, {"MaxPool", "AveragePool"});
    return m;
  }();
  return all;
}

steps lowered(const graph &net, const lower_choices &how) { return lowering(net, how).run(); }

}  // namespace heed_compile
