// See graph.hpp. A value that depends on an input has only a shape here; all others are constants with their numbers.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include "../../import/file_bytes.hpp"
#include "../../import/tfjs_as_onnx.hpp"
#include "../../import/tflite_as_onnx.hpp"
#include "constants.hpp"
#include "graph_inputs.hpp"
#include "kept_rows.hpp"
#include "operators.hpp"

namespace heed_compile {
namespace {

using heed_import::onnx_files;
using heed_import::onnx_function;
using heed_import::onnx_graphs;
using heed_import::onnx_node;
using heed_import::onnx_port;
using heed_import::onnx_tensor;

constexpr int deepest = 16;
constexpr size_t most_nodes = 1000000;

// The values that nodes of one graph see, by their names.
struct scope {
  const scope *around;
  std::map<std::string, int> values;
  const std::map<std::string, attribute> *attributes;  // of the function that the graph is the body of, or null
  std::string prefix;                                  // of names of nodes

  int find(const std::string &name) const {
    for (const scope *s = this; s != nullptr; s = s->around) {
      const auto found = s->values.find(name);
      if (found != s->values.end()) return found->second;
    }
    return no_value;
  }
  // Whether it is an input of a function that its call leaves out.
  bool leaves_out(const std::string &name) const {
    const auto found = values.find(name);
    if (found != values.end()) return found->second == no_value;
    return around != nullptr && around->leaves_out(name);
  }
};

// Inputs whose dimensions alone decide the shapes of the outputs, so that their numbers are not read.
bool needs_only_dims(const std::string &operation, size_t input) {
  static const std::set<std::string> products = {"MatMul",
                                                 "Gemm",
                                                 "Conv",
                                                 "ConvTranspose",
                                                 "MatMulInteger",
                                                 "ConvInteger",
                                                 "QLinearMatMul",
                                                 "QLinearConv",
                                                 "com.microsoft.FusedMatMul",
                                                 "com.microsoft.MatMulNBits"};
  return operation == "Gather" ? input == 0 : products.count(operation) != 0;
}

class graph_reader {
 public:
  graph_reader(graph_model &model, onnx_graphs &&all, onnx_files &files, const graph_choices &how)
      : model_(model), net_(model.net), all_(std::move(all)), files_(files), how_(how), kept_rows_(model.net) {
    nodes_.resize(all_.graphs.size());
    tensors_.resize(all_.graphs.size());
    for (const onnx_node &n : all_.nodes) nodes_[n.graph].push_back(&n);
    for (const onnx_tensor &p : all_.tensors) tensors_[p.graph].push_back(&p);
  }

  void read() {
    const auto opset = all_.opsets.find("");
    if (opset == all_.opsets.end())
      throw refusal("does not say which version of ONNX's operators it has (opset_import)");
    net_.opset = opset->second;
    if (net_.opset < 1) throw refusal("has version " + std::to_string(net_.opset) + " of ONNX's operators");
    scope main = {nullptr, {}, nullptr, ""};
    std::vector<std::string> wanted;
    for (const onnx_port &output : all_.graphs[0].outputs) wanted.push_back(output.name);
    if (wanted.empty()) throw refusal("has no outputs");
    add_tensors(0, main);
    add_inputs(main);
    run(0, main, wanted, 0);
    for (const std::string &name : wanted) {
      const int value = main.find(name);
      if (value == no_value) throw refusal("output " + name + ": nothing makes it");
      expect_whole(value, "output " + name);
      net_.outputs.push_back(value);
    }
    keep_what_is_needed();
  }

 private:
  graph_value &at(int value) { return net_.values[static_cast<size_t>(value)]; }

  int add(graph_value &&value) {
    net_.values.push_back(std::move(value));
    return static_cast<int>(net_.values.size()) - 1;
  }

  void bind(scope &s, const std::string &name, int value) {
    if (!s.values.emplace(name, value).second) throw refusal(name + ": two nodes make this value, the file is damaged");
  }

  void add_tensors(size_t graph, scope &s) {
    for (const onnx_tensor *const p : tensors_[graph]) {
      if (p->name.empty()) continue;
      bind(s, p->name, add(constant_of_onnx(*p, &files_, model_.weights)));
    }
  }

  void add_inputs(scope &main) {
    std::vector<onnx_port> ports;
    for (const onnx_port &port : all_.graphs[0].inputs)
      if (main.values.count(port.name) == 0) ports.push_back(port);
    const std::vector<graph_value> inputs = inputs_of(ports, how_);
    for (const graph_value &input : inputs) {
      const int value = add(graph_value(input));
      bind(main, input.name, value);
      if (!input.is_constant) net_.inputs.push_back(value);
    }
  }

  // Names that a graph within a node reads from around it. It may make values of the same names as its node does.
  void add_names_of(size_t graph, std::set<std::string> &names) const {
    std::set<std::string> read, made;
    for (const onnx_node *const n : nodes_[graph]) {
      read.insert(n->inputs.begin(), n->inputs.end());
      made.insert(n->outputs.begin(), n->outputs.end());
      for (const auto &[name, subgraph] : n->subgraphs) add_names_of(subgraph, read);
    }
    for (const onnx_tensor *const p : tensors_[graph]) made.insert(p->name);
    for (const onnx_port &input : all_.graphs[graph].inputs) made.insert(input.name);
    for (const onnx_port &output : all_.graphs[graph].outputs) read.insert(output.name);
    for (const std::string &name : read)
      if (made.count(name) == 0) names.insert(name);
  }

  // Names of values that a node reads, also in graphs within it.
  std::set<std::string> names_read_by(const onnx_node &n) const {
    std::set<std::string> names(n.inputs.begin(), n.inputs.end());
    for (const auto &[name, subgraph] : n.subgraphs) add_names_of(subgraph, names);
    names.erase("");
    return names;
  }

  // Nodes that the wanted values need, so that one that nobody needs is not refused: in the order of the file, but each behind
  // those that it reads, as some tools write them in any order.
  std::vector<const onnx_node *> needed_nodes(size_t graph, const std::vector<std::string> &wanted) const {
    const std::vector<const onnx_node *> &all = nodes_[graph];
    std::map<std::string, size_t> makers;
    for (size_t i = 0; i < all.size(); ++i)
      for (const std::string &output : all[i]->outputs)
        if (!output.empty() && !makers.emplace(output, i).second)
          throw refusal(output + ": two nodes make this value, the file is damaged");
    std::vector<std::set<size_t>> waits_for(all.size()), readers(all.size());
    std::vector<bool> is_needed(all.size(), false);
    std::vector<size_t> found;
    const auto need = [&](const std::string &name) {
      const auto maker = makers.find(name);
      if (maker == makers.end() || is_needed[maker->second]) return;
      is_needed[maker->second] = true;
      found.push_back(maker->second);
    };
    for (const std::string &name : wanted) need(name);
    for (size_t k = 0; k < found.size(); ++k) {
      const size_t reader = found[k];
      for (const std::string &name : names_read_by(*all[reader])) {
        need(name);
        const auto maker = makers.find(name);
        if (maker == makers.end()) continue;
        waits_for[reader].insert(maker->second);
        readers[maker->second].insert(reader);
      }
    }
    std::set<size_t> ready;
    for (const size_t i : found)
      if (waits_for[i].empty()) ready.insert(i);
    std::vector<const onnx_node *> needed;
    while (!ready.empty()) {
      const size_t i = *ready.begin();
      ready.erase(ready.begin());
      needed.push_back(all[i]);
      for (const size_t reader : readers[i]) {
        waits_for[reader].erase(i);
        if (waits_for[reader].empty()) ready.insert(reader);
      }
    }
    for (const size_t i : found)
      if (!waits_for[i].empty())
        throw refusal("node " + all[i]->name + " (" + all[i]->operation +
                      ") reads what it makes itself, by way of other nodes: the file is damaged");
    return needed;
  }

  void run(size_t graph, scope &s, const std::vector<std::string> &wanted, int depth) {
    if (depth > deepest) throw refusal("has graphs and functions in each other, more than 16 deep");
    for (const onnx_node *const n : needed_nodes(graph, wanted)) add_node(*n, s, depth);
  }

  static std::string operation_of(const onnx_node &n) {
    const bool is_of_onnx = n.domain.empty() || n.domain == "ai.onnx";
    return is_of_onnx ? n.operation : n.domain + "." + n.operation;
  }

  std::map<std::string, attribute> attributes_of(const onnx_node &n, const scope &s) {
    std::map<std::string, attribute> made;
    for (const auto &[name, integer] : n.integers) made[name].integers = {integer};
    for (const auto &[name, list] : n.lists) made[name].integers.assign(list.begin(), list.end());
    for (const auto &[name, list] : n.floats) made[name].floats = list;
    for (const auto &[name, list] : n.texts) made[name].texts = list;
    for (const auto &[name, p] : n.operands) made[name].numbers = array_of_onnx(p, &files_);
    for (const auto &[name, reference] : n.references) {
      if (s.attributes == nullptr)
        throw refusal("node " + n.name + ": refers to an attribute of a function, but is in none");
      const auto found = s.attributes->find(reference);
      if (found != s.attributes->end()) made[name] = found->second;
    }
    return made;
  }

  void add_node(const onnx_node &n, scope &s, int depth) {
    if (++n_nodes_ > most_nodes) throw refusal("has more than 1000000 nodes");
    graph_node node;
    node.operation = operation_of(n);
    node.name = s.prefix + (n.name.empty() && !n.outputs.empty() ? n.outputs[0] : n.name);
    for (const std::string &input : n.inputs) {
      const int value = input.empty() ? no_value : s.find(input);
      if (value == no_value && !input.empty() && !s.leaves_out(input))
        throw refusal("node " + node.name + " (" + node.operation + ") reads " + input +
                      ", which no node makes: the file is damaged");
      node.inputs.push_back(value);
    }
    if (const onnx_function *const f = function_of(n)) return add_function(*f, n, node, s, depth);
    if (node.operation == "If") return add_branch(n, node, s, depth);
    if (!n.subgraphs.empty())
      throw refusal("node " + node.name + " (" + node.operation +
                    "): loops over graphs are not compiled; unroll it in the exporter");
    node.attributes = attributes_of(n, s);
    if (node.operation == "Constant") return add_constant(n, node, s);
    compute(node, n.outputs, s);
  }

  // A Constant whose value is an attribute of a function, or a text.
  void add_constant(const onnx_node &n, const graph_node &node, scope &s) {
    graph_value made;
    array a;
    for (const auto &[name, given] : node.attributes) {
      if (given.numbers != nullptr) a = *given.numbers;
      if (!given.texts.empty()) throw refusal("node " + node.name + ": has a text, which a program of heed has not");
      const bool is_list = name == "value_ints" || name == "value_floats";
      a.numbers.insert(a.numbers.end(), given.integers.begin(), given.integers.end());
      a.numbers.insert(a.numbers.end(), given.floats.begin(), given.floats.end());
      if (!given.integers.empty()) a.kind = element::integers;
      if (is_list) a.dims = {static_cast<int64_t>(a.numbers.size())};
    }
    if (n.outputs.size() != 1 || count_of(a.dims) != static_cast<int64_t>(a.numbers.size()))
      throw refusal("node " + node.name + " (Constant): has no value, or more than one");
    made.name = n.outputs[0];
    set_constant(made, std::move(a));
    bind(s, n.outputs[0], add(std::move(made)));
  }

  static void set_constant(graph_value &value, array &&a) {
    value.is_constant = true;
    value.kind = a.kind, value.type = a.type, value.dims = a.dims;
    value.constant = std::make_shared<const array>(std::move(a));
  }

  const onnx_function *function_of(const onnx_node &n) const {
    for (const onnx_function &f : all_.functions)
      if (f.name == n.operation && f.domain == n.domain && f.overload == n.overload) return &f;
    return nullptr;
  }

  void add_function(const onnx_function &f, const onnx_node &n, const graph_node &node, scope &s, int depth) {
    const auto opset = f.opsets.find("");
    if (opset != f.opsets.end() && opset->second != net_.opset)
      throw refusal("function " + f.name + " has another version of ONNX's operators than the model");
    if (n.inputs.size() > f.inputs.size() || n.outputs.size() > f.outputs.size())
      throw refusal("node " + node.name + ": has more inputs or outputs than the function " + f.name);
    std::map<std::string, attribute> attributes = attributes_of(f.defaults, s);
    for (auto &[name, given] : attributes_of(n, s)) attributes[name] = given;
    scope body = {nullptr, {}, &attributes, node.name + "/"};
    for (size_t i = 0; i < f.inputs.size(); ++i)
      if (i < node.inputs.size() && node.inputs[i] != no_value) bind(body, f.inputs[i], node.inputs[i]);
    // A function may read an input that its call leaves out: it then is left out there, too.
    for (size_t i = 0; i < f.inputs.size(); ++i) body.values.emplace(f.inputs[i], no_value);
    add_tensors(f.graph, body);
    run(f.graph, body, f.outputs, depth + 1);
    for (size_t i = 0; i < n.outputs.size(); ++i) take_output(body, f.outputs[i], s, n.outputs[i]);
  }

  void take_output(const scope &from, const std::string &made, scope &to, const std::string &name) {
    if (name.empty()) return;
    const int value = from.find(made);
    if (value == no_value) throw refusal("output " + made + " of a graph within the model: nothing makes it");
    bind(to, name, value);
  }

  // The names of the inputs that a value is made of: "input a", "inputs a, b".
  std::string inputs_behind(int value) const {
    std::set<int> made_of = {value};
    for (auto node = net_.nodes.rbegin(); node != net_.nodes.rend(); ++node)
      if (std::any_of(node->outputs.begin(), node->outputs.end(), [&](int v) { return made_of.count(v) != 0; }))
        made_of.insert(node->inputs.begin(), node->inputs.end());
    std::string names;
    size_t n = 0;
    for (const int input : net_.inputs) {
      if (made_of.count(input) == 0) continue;
      names += (n++ == 0 ? "" : ", ") + net_.values[static_cast<size_t>(input)].name;
    }
    return (n == 1 ? "input " : "inputs ") + names;
  }

  // Throws refusal if the shape or the numbers of a value depend on how many rows a mask keeps.
  void expect_whole(int value, const std::string &reader) {
    const int mask = kept_rows_.mask_of(value);
    if (mask == no_value) return;
    const bool is_count = kept_rows_.of(value) == nullptr;
    throw refusal(reader + ": the " + (is_count ? "numbers" : "shape") + " of " + at(value).name +
                  (is_count ? " depend" : " depends") + " on the numbers of " + at(mask).name + ", which depend on " +
                  inputs_behind(mask) +
                  ". Memory of a program is a constant. What is the same in all calls can be one: --value NAME=NUMBER");
  }

  void add_branch(const onnx_node &n, const graph_node &node, scope &s, int depth) {
    if (node.inputs.size() != 1 || node.inputs[0] == no_value)
      throw refusal("node " + node.name + " (If): needs one condition");
    const graph_value &condition = at(node.inputs[0]);
    if (!condition.is_constant)
      throw refusal("node " + node.name + " (If): its condition " + condition.name + " depends on " +
                    inputs_behind(node.inputs[0]) +
                    ", so the program would have to choose. Make it a constant: --value NAME=NUMBER");
    expect_whole(node.inputs[0], "node " + node.name + " (If)");
    const shared_array number = numbers_of(condition);
    if (number->numbers.size() != 1) throw refusal("node " + node.name + " (If): its condition is not one number");
    const auto branch = n.subgraphs.find(number->numbers[0] != 0 ? "then_branch" : "else_branch");
    if (branch == n.subgraphs.end()) throw refusal("node " + node.name + " (If): has no branch for its condition");
    const std::vector<onnx_port> &outputs = all_.graphs[branch->second].outputs;
    if (outputs.size() < n.outputs.size()) throw refusal("node " + node.name + " (If): its branch has too few outputs");
    scope inner = {&s, {}, s.attributes, s.prefix};
    std::vector<std::string> wanted;
    for (const onnx_port &output : outputs) wanted.push_back(output.name);
    add_tensors(branch->second, inner);
    run(branch->second, inner, wanted, depth + 1);
    for (size_t i = 0; i < n.outputs.size(); ++i) take_output(inner, outputs[i].name, s, n.outputs[i]);
  }

  // A node of the program, or a constant.
  void compute(graph_node &node, const std::vector<std::string> &outputs, scope &s) {
    if (!kept_rows_.concerns(node)) return compute_whole(node, outputs, s);
    if (node.operation == "NonZero") return place_all(node, outputs, s);
    const auto places = [&](size_t i) {
      const kept_rows::rows *const r = i < node.inputs.size() ? kept_rows_.of(node.inputs[i]) : nullptr;
      return r != nullptr && r->are_places && r->axis == 0 ? r : nullptr;
    };
    if (node.operation == "GatherND" && places(1) != nullptr) return gather_kept(node, *places(1), outputs, s);
    if (node.operation == "ScatterND" && places(1) != nullptr) return scatter_kept(node, *places(1), outputs, s);
    compute_whole(node, outputs, s);
    graph_node made = std::move(node);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i].empty()) made.outputs.resize(outputs.size(), no_value), made.outputs[i] = s.find(outputs[i]);
    kept_rows_.follow(made, net_.opset);
  }

  // ------------------------------------------------------------------------------------------- rows that a mask keeps

  void place_all(const graph_node &node, const std::vector<std::string> &outputs, scope &s) {
    if (outputs.size() != 1) throw refusal("node " + node.name + " (NonZero): has more outputs than this operator");
    graph_value made;
    made.name = outputs[0];
    set_constant(made, kept_rows::all_places(at(node.inputs[0]).dims));
    const int value = add(std::move(made));
    bind(s, outputs[0], value);
    kept_rows_.set(value, {node.inputs[0], 1, true});
  }

  // Whether a shape begins with that of the mask.
  static bool begins_with(const shape &dims, const shape &mask) {
    return dims.size() >= mask.size() && std::equal(mask.begin(), mask.end(), dims.begin());
  }

  // All rows.
  void gather_kept(const graph_node &node, const kept_rows::rows rows, const std::vector<std::string> &outputs,
                   scope &s) {
    const int from = node.inputs[0];
    const shape mask = at(rows.mask).dims, dims = from == no_value ? shape() : at(from).dims;
    if (from == no_value || kept_rows_.has(from) || !begins_with(dims, mask) || integer_of(node, "batch_dims", 0) != 0)
      throw refusal("node " + node.name +
                    " (GatherND): gathers with the places of a mask what has not the shape of the mask");
    shape to = {count_of(mask)};
    to.insert(to.end(), dims.begin() + static_cast<int64_t>(mask.size()), dims.end());
    const int made = reshaped(node.name, from, to, s, outputs);
    kept_rows_.set(made, {rows.mask, 0, false});
  }

  // Rows to their places, and what was there before to the others. Rows as many as all places have their places, too: there are as many
  // as the mask keeps, so the operator demands a mask that keeps all.
  void scatter_kept(const graph_node &node, const kept_rows::rows rows, const std::vector<std::string> &outputs,
                    scope &s) {
    const auto refuse = [&](const char *why) { throw refusal("node " + node.name + " (ScatterND): " + why); };
    if (node.inputs.size() != 3 || node.inputs[0] == no_value || node.inputs[2] == no_value) refuse("lacks inputs");
    const int before = node.inputs[0];
    int updates = node.inputs[2];
    const shape mask = at(rows.mask).dims, dims = at(before).dims;
    if (kept_rows_.has(before) || !begins_with(dims, mask) || text_of(node, "reduction", "none") != "none")
      refuse("scatters to the places of a mask what has not the shape of the mask, or adds");
    const kept_rows::rows *const of = kept_rows_.of(updates);
    const int64_t n = count_of(mask);
    if (of != nullptr ? of->mask != rows.mask || of->axis != 0 : at(updates).dims.empty() || at(updates).dims[0] != n)
      refuse("scatters to the places of a mask rows of another one, or more or fewer");
    const std::string &name = node.name;
    updates = reshaped(name, updates, dims, s, {});
    shape wide = mask;
    wide.resize(dims.size(), 1);
    int condition = rows.mask;
    if (at(condition).kind != element::booleans)
      condition = derived(name, "Cast", {condition}, {{"to", integer_attribute({type_bool})}}, s);
    condition = reshaped(name, condition, wide, s, {});
    derived(name, "Where", {condition, updates, narrowed(before)}, {}, s, outputs);
  }

  static attribute integer_attribute(const std::vector<int64_t> &numbers) {
    attribute a;
    a.integers = numbers;
    return a;
  }
  int new_constant(const shape &dims, const std::vector<double> &numbers) {
    array a;
    a.kind = element::integers, a.type = type_int64, a.dims = dims, a.numbers = numbers;
    graph_value made;
    set_constant(made, std::move(a));
    return add(std::move(made));
  }
  // A constant of equal numbers as one number.
  int narrowed(int value) {
    if (!at(value).is_constant) return value;
    const shared_array all = numbers_of(at(value));
    const auto is_other = [&](double x) { return x != all->numbers[0]; };
    if (all->numbers.empty() || std::any_of(all->numbers.begin(), all->numbers.end(), is_other)) return value;
    array one = *all;
    one.dims = {}, one.numbers.resize(1);
    graph_value made;
    made.name = at(value).name;
    set_constant(made, std::move(one));
    return add(std::move(made));
  }
  // A node that is not in the file. Its output has this name, or one that is in no file.
  int derived(const std::string &name, const std::string &operation, const std::vector<int> &inputs,
              const std::map<std::string, attribute> &attributes, scope &s,
              const std::vector<std::string> &outputs = {}) {
    graph_node node;
    node.name = name, node.operation = operation, node.inputs = inputs, node.attributes = attributes;
    const std::vector<std::string> made =
        outputs.empty() ? std::vector<std::string>{"\x02" + std::to_string(n_derived_++)} : outputs;
    compute_whole(node, made, s);
    return s.find(made[0]);
  }
  int reshaped(const std::string &name, int value, const shape &to, scope &s, const std::vector<std::string> &outputs) {
    const int dims = new_constant({static_cast<int64_t>(to.size())}, std::vector<double>(to.begin(), to.end()));
    return derived(name, "Reshape", {value, dims}, {{"allowzero", integer_attribute({1})}}, s, outputs);
  }

  // ---------------------------------------------------------------------------------------------------------------------

  void compute_whole(graph_node &node, const std::vector<std::string> &outputs, scope &s) {
    bool is_constant = node.operation == "Shape" || node.operation == "Size";
    const bool reads_only_dims = is_constant;
    is_constant = is_constant || std::all_of(node.inputs.begin(), node.inputs.end(),
                                             [&](int i) { return i == no_value || at(i).is_constant; });
    for (const std::string &name : outputs) node.outputs.push_back(name.empty() ? no_value : 0);
    if (is_constant && !reads_only_dims && take_weight(node, outputs, s)) return;
    if (!is_constant) gather_before_rounding(node);
    results made = is_constant ? evaluate(node, net_.opset, operands(node, reads_only_dims, false))
                               : evaluate_shapes(node, net_.opset, operands(node, false, true));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].empty()) continue;
      if (i >= made.size())
        throw refusal("node " + node.name + " (" + node.operation + "): has more outputs than this operator");
      graph_value value;
      value.name = outputs[i];
      value.kind = made[i].kind, value.type = made[i].type, value.dims = made[i].dims;
      if (is_constant) set_constant(value, std::move(made[i]));
      node.outputs[i] = add(std::move(value));
      bind(s, outputs[i], node.outputs[i]);
    }
    if (!is_constant) net_.nodes.push_back(node);
  }

  bool make_weight(const graph_node &node, graph_value &made) {
    std::vector<const graph_value *> inputs;
    for (const int input : node.inputs) inputs.push_back(input == no_value ? nullptr : &at(input));
    return keeps_weight(node, inputs, model_.weights, made);
  }

  // Rows of a table of integers that become floats with one scale: rows of a table of floats, which heed reads in 8 bits.
  void gather_before_rounding(graph_node &node) {
    if (node.operation != "DequantizeLinear" || node.inputs.size() < 2 || node.inputs[0] == no_value) return;
    for (size_t i = 1; i < node.inputs.size(); ++i)
      if (node.inputs[i] != no_value && count_of(at(node.inputs[i]).dims) != 1) return;
    const auto makes_rows = [&](const graph_node &n) { return n.outputs[0] == node.inputs[0]; };
    const auto gather = std::find_if(net_.nodes.rbegin(), net_.nodes.rend(), makes_rows);
    if (gather == net_.nodes.rend() || gather->operation != "Gather") return;
    const auto axis = gather->attributes.find("axis");
    if (axis != gather->attributes.end() && axis->second.integers != std::vector<int64_t>{0}) return;
    graph_node table = node;
    table.inputs[0] = gather->inputs.at(0);
    graph_value made;
    if (!make_weight(table, made)) return;
    made.name = at(gather->inputs[0]).name;
    node.operation = "Gather";
    node.attributes = gather->attributes;
    const int rows = gather->inputs.at(1);
    node.inputs = {add(std::move(made)), rows};
  }

  bool take_weight(const graph_node &node, const std::vector<std::string> &outputs, scope &s) {
    graph_value made;
    if (outputs.size() != 1 || !make_weight(node, made)) return false;
    made.name = outputs[0];
    bind(s, outputs[0], add(std::move(made)));
    return true;
  }

  // The inputs of a node: constants, zeros of what depends on an input, or no numbers where they do not matter.
  std::vector<const array *> operands(const graph_node &node, bool only_dims, bool is_checked) {
    kept_.clear();
    std::vector<const array *> given;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == no_value) {
        given.push_back(nullptr);
        continue;
      }
      const graph_value &value = at(node.inputs[i]);
      if (is_checked && !value.is_constant && decides_shape(node.operation, i))
        throw refusal("node " + node.name + " (" + node.operation +
                      "): the shape of its output depends on the numbers of " + value.name + ", which depend on " +
                      inputs_behind(node.inputs[i]) +
                      ". Memory of a program is a constant. What is the same in all calls can be one: --value "
                      "NAME=NUMBER");
      if (only_dims || (is_checked && needs_only_dims(node.operation, i))) {
        auto hollow = std::make_shared<array>();
        hollow->kind = value.kind, hollow->type = value.type, hollow->dims = value.dims;
        kept_.push_back(hollow);
      } else if (value.is_constant) {
        kept_.push_back(numbers_of(value));
      } else {
        kept_.push_back(std::make_shared<array>(zeros_of(value.kind, value.dims, value.type)));
      }
      given.push_back(kept_.back().get());
    }
    return given;
  }

  // Leaves out nodes and values that no output needs.
  void keep_what_is_needed() {
    std::vector<bool> is_needed(net_.values.size(), false);
    for (const int value : net_.outputs) is_needed[static_cast<size_t>(value)] = true;
    std::vector<graph_node> nodes;
    for (size_t i = net_.nodes.size(); i > 0; --i) {
      graph_node &node = net_.nodes[i - 1];
      const bool is_read = std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](int v) { return v != no_value && is_needed[static_cast<size_t>(v)]; });
      if (!is_read) continue;
      for (const int value : node.inputs)
        if (value != no_value) is_needed[static_cast<size_t>(value)] = true;
      nodes.push_back(std::move(node));
    }
    std::reverse(nodes.begin(), nodes.end());
    for (const int value : net_.inputs) is_needed[static_cast<size_t>(value)] = true;
    for (const graph_node &node : nodes)
      for (const int value : node.outputs)
        if (value != no_value) is_needed[static_cast<size_t>(value)] = true;
    std::vector<int> place(net_.values.size(), no_value);
    std::vector<graph_value> values;
    for (size_t i = 0; i < net_.values.size(); ++i) {
      if (!is_needed[i]) continue;
      place[i] = static_cast<int>(values.size());
      values.push_back(std::move(net_.values[i]));
    }
    const auto move = [&](std::vector<int> &list) {
      for (int &value : list)
        if (value != no_value) value = place[static_cast<size_t>(value)];
    };
    for (graph_node &node : nodes) move(node.inputs), move(node.outputs);
    move(net_.inputs), move(net_.outputs);
    net_.values = std::move(values);
    net_.nodes = std::move(nodes);
  }

  graph_model &model_;
  graph &net_;
  onnx_graphs all_;
  onnx_files &files_;
  const graph_choices &how_;
  std::vector<std::vector<const onnx_node *>> nodes_;
  std::vector<std::vector<const onnx_tensor *>> tensors_;
  std::vector<shared_array> kept_;
  kept_rows kept_rows_;
  size_t n_nodes_ = 0, n_derived_ = 0;
};

// Of ONNX, or of others in the same terms.
onnx_graphs graphs_of(heed_import::span file, const std::string &path, graph_model &model) {
  if (heed_import::is_tflite(file)) {
    model.net.source = "TensorFlow Lite";
    return heed_import::read_tflite_graphs(file);
  }
  const bool is_json = file.size > 0 && file.data[0] == '{';  // the first byte of ONNX is a field's number
  if (!is_json) return heed_import::read_onnx_graphs(file, heed_import::onnx_bodies::read);
  model.net.source = "TensorFlow.js";
  heed_import::tfjs_graphs read = heed_import::read_tfjs_graphs(file, path);
  model.files.push_back(read.numbers);
  model.paths.insert(model.paths.end(), read.paths.begin(), read.paths.end());
  model.note = read.note;
  model.filling = read.filling;
  return std::move(read.graphs);
}

}  // namespace

std::unique_ptr<graph_model> read_graph(const std::string &path, const graph_choices &how) {
  auto model = std::make_unique<graph_model>();
  try {
    const auto file = std::make_shared<const heed_import::file_bytes>(path);
    model->files.push_back(file);
    model->paths.push_back(path);
    onnx_files files(path);
    graph_reader(*model, graphs_of(file->all(), path, *model), files, how).read();
    for (const std::string &other : files.paths()) model->paths.push_back(other);
  } catch (const refusal &error) {
    throw refusal(path + ": " + error.what());
  }
  return model;
}

}  // namespace heed_compile
