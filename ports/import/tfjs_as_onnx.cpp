// See tfjs_as_onnx.hpp. Each operator of TensorFlow becomes one or more of ONNX's. No shape of a value between two nodes is known here.
// SPDX-License-Identifier: MIT
#include "tfjs_as_onnx.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "onnx_maker.hpp"
#include "tfjs_graph.hpp"

namespace heed_import {
namespace {

using tfjs::node;
using tfjs::weight;

// Stands for "to the end": no dimension has so many numbers.
constexpr int64_t to_the_end = INT64_C(1) << 31;

class translator : onnx_maker {
 public:
  explicit translator(tfjs::graph &&from) : from_(std::move(from)) {
    to_.opsets[""] = 18, to_.opsets["com.microsoft"] = 1;
    to_.graphs.resize(1);
    for (const node &n : from_.nodes) nodes_.emplace(n.name, &n);
    find_places();
    name_ports();
    for (const node &n : from_.nodes) translate(n);
    for (const std::string &output : outputs_) {
      onnx_port port;
      port.name = value(output);
      to_.graphs[0].outputs.push_back(port);
    }
  }
  tfjs_graphs take() { return {std::move(to_), from_.all_numbers, from_.paths, note_, filling_}; }

 private:
  using translation = void (translator::*)(const node &);

  [[noreturn]] static void refuse(const node &n, const std::string &why) {
    throw refusal(names::for_terminal("node " + n.name + " (" + n.operation + "): " + why));
  }
  static void expect(const node &n, bool is_good, const std::string &why) {
    if (!is_good) refuse(n, why);
  }

  // ------------------------------------------------------------------------------------------------------------- ports

  const node *node_of(const std::string &name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : found->second;
  }

  // The Placeholder that a value is computed from, through nodes that choose or turn numbers of their first input.
  const node *placeholder_behind(const std::string &name) const {
    static const std::set<std::string> through = {"Cast", "GatherV2", "Identity", "Reshape", "Slice", "StridedSlice"};
    const node *n = node_of(name);
    for (size_t i = 0; n != nullptr && i < from_.nodes.size(); ++i) {
      if (n->operation == "Placeholder") return n;
      if (through.count(n->operation) == 0 || n->inputs.empty()) return nullptr;
      n = node_of(n->inputs[0]);
    }
    return nullptr;
  }

  void find_places() {
    for (const node &n : from_.nodes) {
      if (n.operation != "SparseToDense" || n.inputs.size() < 3) continue;
      const node *const places = placeholder_behind(n.inputs[0]), *const values = placeholder_behind(n.inputs[2]);
      if (places == nullptr || values == nullptr || places == values) continue;
      if (places->shape != tfjs::dims{-1, 2} || values->shape != tfjs::dims{-1}) continue;
      places_[places->name] = values->name;
    }
  }

  // Whether a value is the values of a sparse tensor that is an input.
  bool is_of_text(const std::string &name) const {
    const node *const n = placeholder_behind(name);
    return n != nullptr &&
           std::any_of(places_.begin(), places_.end(), [&](const auto &p) { return p.second == n->name; });
  }

  // Ports have the names of the signature, or the last part of the node's name if no other node has it.
  void name_ports() {
    std::set<std::string> read, taken;
    for (const node &n : from_.nodes) {
      taken.insert(n.name);
      for (const std::string &input : n.inputs) read.insert(input.substr(0, input.find(':')));
    }
    const auto show = [&](const std::string &name, std::string shown) {
      if (names::ends_with(shown, ":0")) shown.resize(shown.size() - 2);
      shown = shown.substr(shown.rfind('/') + 1);
      if (!shown.empty() && taken.insert(shown).second) shown_[name] = shown;
    };
    for (const tfjs::port &port : from_.inputs) show(port.name, port.shown);
    for (const tfjs::port &port : from_.outputs) {
      if (node_of(port.name.substr(0, port.name.find(':'))) == nullptr)
        throw refusal(names::for_terminal("output " + port.shown + ": there is no node " + port.name));
      show(port.name, port.shown);
      outputs_.push_back(port.name);
    }
    if (!outputs_.empty()) return;
    for (const node &n : from_.nodes) {
      if (read.count(n.name) != 0 || n.operation == "Const" || n.operation == "Placeholder" || n.operation == "NoOp")
        continue;
      show(n.name, n.name);
      outputs_.push_back(n.name);
    }
  }

  const std::string &value(const std::string &name) const {
    const auto found = shown_.find(name);
    return found == shown_.end() ? name : found->second;
  }

  void placeholder(const node &n) {
    const auto values = places_.find(n.name);
    if (values != places_.end()) return places(n, values->second);
    onnx_port port;
    port.name = value(n.name);
    port.type = n.type("dtype");
    if (port.type == 0) refuse(n, "is an input of a type that is not read, such as a text");
    port.has_shape = n.has_shape;
    for (const int64_t size : n.shape) {
      onnx_dim dim;
      dim.has_number = size >= 0;
      dim.number = size;
      port.dims.push_back(dim);
    }
    for (const auto &[of, with] : places_)
      if (with == n.name) port.dims[0].name = "length";  // and no batch
    to_.graphs[0].inputs.push_back(port);
  }

  // (0, 0), (0, 1) and so on.
  void places(const node &n, const std::string &values) {
    note_ += (note_.empty() ? "" : "; ") + value(n.name) + " are those of one text, and no input; " +
             filling_of(n.name, value(values));
    const std::string dims = add(n, "Shape", {value(values)}), count = add(n, "Squeeze", {dims, constant(list{0})}),
                      second = add(n, "Range", {count_of_none(), count, one()}),
                      seconds = add(n, "Unsqueeze", {second, constant(list{1})}),
                      firsts = add(n, "Mul", {seconds, count_of_none()});
    set(n, add(n, "Concat", {firsts, seconds}, {{{"axis", 1}}, {}, {}, {}}));
  }
  // What a text has behind its end that is shorter than the program's: the number of the dense tensor where the sparse one has none.
  std::string filling_of(const std::string &places, const std::string &values) {
    for (const node &n : from_.nodes) {
      if (n.operation != "SparseToDense" || n.inputs.size() < 4) continue;
      const node *const behind = placeholder_behind(n.inputs[0]);
      const weight *const w = weight_of(n, 3);
      if (behind == nullptr || behind->name != places || w == nullptr || w->stored != onnx_int32 ||
          w->numbers.size != 4)
        continue;
      filling_ = static_cast<int32_t>(number_at(w->numbers.data, 4));
      return "a shorter text has " + std::to_string(filling_) + " at the end of its " + values;
    }
    return "every text has as many " + values;
  }
  std::string count_of_none() { return scalar(0); }
  std::string one() { return scalar(1); }

  // --------------------------------------------------------------------------------------------------------- constants

  void const_node(const node &n) {
    const auto found = from_.weights.find(n.name);
    if (found == from_.weights.end()) refuse(n, "has no numbers in weightsManifest");
    const weight &w = found->second;
    onnx_tensor t;
    t.dims = w.dims;
    t.type = w.stored, t.raw = w.numbers;
    t.name = value(n.name);
    if (w.stored == w.type) {
      to_.tensors.push_back(std::move(t));
    } else if (w.stored == onnx_float16) {
      set(n, add(n, "Cast", {constant(std::move(t))}, {{{"to", onnx_float}}, {}, {}, {}}));
    } else {
      dequantise(n, w, std::move(t));
    }
  }

  // Bytes whose zero is a whole number stay bytes. Others become floats, as in TensorFlow.js, or whole numbers.
  void dequantise(const node &n, const weight &w, onnx_tensor &&t) {
    const double zero = w.scale == 0 ? -1 : -w.least / w.scale;
    const bool is_whole = zero >= 0 && zero <= 255 && std::abs(zero - std::round(zero)) < 1e-4;
    if (w.type == onnx_float && w.stored == onnx_uint8 && is_whole) {
      onnx_tensor zeros;
      zeros.type = onnx_uint8;
      zeros.integers = {static_cast<uint64_t>(std::round(zero))};
      const std::string bytes = constant(std::move(t)), scale = constant(static_cast<float>(w.scale));
      return set(n, add(n, "DequantizeLinear", {bytes, scale, constant(std::move(zeros))}));
    }
    const int n_bytes = w.stored == onnx_uint8 ? 1 : 2;
    const span numbers = t.raw;
    t.raw = {};
    t.type = w.type;
    for (size_t at = 0; at < numbers.size; at += static_cast<size_t>(n_bytes)) {
      const double number = static_cast<double>(number_at(numbers.data + at, n_bytes)) * w.scale + w.least;
      if (w.type == onnx_float)
        put(t.floats, static_cast<float>(number));
      else if (std::abs(number) < 2147483647.0)
        t.integers.push_back(static_cast<uint64_t>(static_cast<int64_t>(std::round(number))));
      else
        refuse(n, "has a number of more than 32 bits");
    }
    to_.tensors.push_back(std::move(t));
  }

  const weight *weight_of(const node &n, size_t i) const {
    if (i >= n.inputs.size()) return nullptr;
    const node *const maker = node_of(n.inputs[i]);
    if (maker == nullptr || maker->operation != "Const") return nullptr;
    const auto found = from_.weights.find(maker->name);
    return found == from_.weights.end() ? nullptr : &found->second;
  }
  // The numbers of an input that is a constant, such as a shape.
  list integers(const node &n, size_t i) const {
    const weight *const w = weight_of(n, i);
    if (w == nullptr || w->stored != onnx_int32) refuse(n, "has a shape, an axis or a place that is no constant");
    list numbers;
    for (size_t at = 0; at < w->numbers.size; at += 4)
      numbers.push_back(static_cast<int32_t>(number_at(w->numbers.data + at, 4)));
    return numbers;
  }
  int64_t integer(const node &n, size_t i) const {
    const list numbers = integers(n, i);
    expect(n, numbers.size() == 1, "has more or fewer than one axis");
    return numbers[0];
  }
  const std::vector<uint64_t> &dims_of_weights(const node &n, size_t rank) const {
    const weight *const w = weight_of(n, 1);
    if (w == nullptr || w->dims.size() != rank)
      refuse(n, "has weights that are no constant of " + std::to_string(rank) + " dimensions");
    return w->dims;
  }

  // ------------------------------------------------------------------------------------------------------------- nodes

  std::string input(const node &n, size_t i) const {
    expect(n, i < n.inputs.size(), "lacks input " + std::to_string(i));
    return value(n.inputs[i]);
  }
  std::string add(const node &n, const std::string &operation, const std::vector<std::string> &inputs,
                  const how &given = {}) {
    return made(n.name, operation, inputs, given);
  }
  // The node before has made the output of this one.
  void set(const node &n, const std::string &result) { rename_last(result, value(n.name)); }

  static std::string renamed(const std::string &operation) {
    static const std::map<std::string, std::string> all = {{"AddV2", "Add"},
                                                           {"BiasAdd", "Add"},
                                                           {"RealDiv", "Div"},
                                                           {"Maximum", "Max"},
                                                           {"Minimum", "Min"},
                                                           {"LessEqual", "LessOrEqual"},
                                                           {"GreaterEqual", "GreaterOrEqual"},
                                                           {"LogicalAnd", "And"},
                                                           {"LogicalOr", "Or"},
                                                           {"LogicalNot", "Not"},
                                                           {"Sum", "ReduceSum"},
                                                           {"Mean", "ReduceMean"},
                                                           {"Max", "ReduceMax"},
                                                           {"Min", "ReduceMin"},
                                                           {"Prod", "ReduceProd"},
                                                           {"SelectV2", "Where"},
                                                           {"GatherNd", "GatherND"},
                                                           {"AvgPool", "AveragePool"}};
    const auto found = all.find(operation);
    return found == all.end() ? operation : found->second;
  }

  // Operators with the same inputs as ONNX's.
  void same(const node &n) {
    static const std::map<std::string, size_t> counts = {
        {"Add", 2},       {"AddV2", 2},    {"BiasAdd", 2},      {"Sub", 2},     {"Mul", 2},
        {"RealDiv", 2},   {"Maximum", 2},  {"Minimum", 2},      {"Pow", 2},     {"Less", 2},
        {"LessEqual", 2}, {"Greater", 2},  {"GreaterEqual", 2}, {"Equal", 2},   {"LogicalAnd", 2},
        {"LogicalOr", 2}, {"GatherNd", 2}, {"Range", 3},        {"SelectV2", 3}};
    const auto found = counts.find(n.operation);
    const size_t count = found == counts.end() ? 1 : found->second;
    expect(n, n.inputs.size() == count, "has more or fewer inputs than its operator");
    expect_channels_last(n);
    std::vector<std::string> inputs;
    for (size_t i = 0; i < count; ++i) inputs.push_back(input(n, i));
    set(n, add(n, renamed(n.operation), inputs));
  }
  static void expect_channels_last(const node &n) {
    expect(n, n.text("data_format", "NHWC") == "NHWC", "has its channels in front (NCHW), which is not read");
  }

  void cast(const node &n) {
    const int32_t type = n.type("DstT");
    expect(n, type != 0, "gives a type that is not read");
    set(n, add(n, "Cast", {input(n, 0)}, {{{"to", type}}, {}, {}, {}}));
  }
  void square(const node &n) { set(n, add(n, "Mul", {input(n, 0), input(n, 0)})); }
  void squared_difference(const node &n) {
    const std::string difference = add(n, "Sub", {input(n, 0), input(n, 1)});
    set(n, add(n, "Mul", {difference, difference}));
  }
  void reciprocal_root(const node &n) { set(n, add(n, "Reciprocal", {add(n, "Sqrt", {input(n, 0)})})); }
  void softmax(const node &n) { set(n, add(n, n.operation, {input(n, 0)}, {{{"axis", -1}}, {}, {}, {}})); }
  void leaky_relu(const node &n) {
    set(n, add(n, "LeakyRelu", {input(n, 0)}, {{}, {}, {}, {{"alpha", n.real("alpha", 0.2)}}}));
  }
  void relu6(const node &n) { set(n, activated(n, "Relu6", input(n, 0))); }

  void reduction(const node &n) {
    const list axes = integers(n, 1);
    if (axes.empty()) return set(n, add(n, "Identity", {input(n, 0)}));
    set(n, add(n, renamed(n.operation), {input(n, 0), constant(axes)},
               {{{"keepdims", n.integer("keep_dims", 0)}}, {}, {}, {}}));
  }

  // ---------------------------------------------------------------------------------------------------------- products

  std::string activated(const node &n, const std::string &activation, const std::string &x) {
    static const std::set<std::string> same = {"Relu", "Elu", "Sigmoid", "Tanh"};
    if (activation == "Relu6") {
      const std::string least = constant(0.0f);
      return add(n, "Clip", {x, least, constant(6.0f)});
    }
    if (activation == "LeakyRelu")
      return add(n, "LeakyRelu", {x}, {{}, {}, {}, {{"alpha", n.real("leakyrelu_alpha", 0.2)}}});
    if (same.count(activation) == 0) refuse(n, "has " + activation + " in it, which is not known");
    return add(n, activation, {x});
  }
  // The bias and the activation of a product that has them in it: the last nodes of this one.
  void finish(const node &n, std::string y) {
    const auto fused = n.texts.find("fused_ops");
    size_t next = 2;
    if (fused != n.texts.end())
      for (const std::string &operation : fused->second)
        y = operation == "BiasAdd" ? add(n, "Add", {y, input(n, next++)}) : activated(n, operation, y);
    expect(n, next == n.inputs.size(), "has inputs that it does not use");
    set(n, y);
  }
  void product(const node &n) {
    std::string a = input(n, 0), b = input(n, 1);
    if (n.integer("transpose_a", 0) != 0) a = add(n, "Transpose", {a}, {{}, {{"perm", {1, 0}}}, {}, {}});
    if (n.integer("transpose_b", 0) != 0) b = add(n, "Transpose", {b}, {{}, {{"perm", {1, 0}}}, {}, {}});
    finish(n, add(n, "MatMul", {a, b}));
  }
  void batch_product(const node &n) {
    const int64_t a = n.integer("adj_x", 0), b = n.integer("adj_y", 0);
    if (a == 0 && b == 0) return set(n, add(n, "MatMul", {input(n, 0), input(n, 1)}));
    const std::string y =
        add(n, "FusedMatMul", {input(n, 0), input(n, 1)}, {{{"transA", a}, {"transB", b}}, {}, {}, {}});
    to_.nodes.back().domain = "com.microsoft";
    set(n, y);
  }

  // Pictures are (batch, height, width, channels) here, and (batch, channels, height, width) in ONNX.
  std::string turned(const node &n, const std::string &x, const list &order) {
    return add(n, "Transpose", {x}, {{}, {{"perm", order}}, {}, {}});
  }
  std::string picture(const node &n) {
    expect_channels_last(n);
    return turned(n, input(n, 0), {0, 3, 1, 2});
  }
  how windows(const node &n) const {
    const auto pair = [&](const char *attribute, list &made) {
      const list all = n.list(attribute);
      if (all.empty()) return made = {1, 1}, void();
      expect(n, all.size() == 4 && all[0] == 1 && all[3] == 1,
             std::string("has ") + attribute + " of batches or channels");
      made = {all[1], all[2]};
    };
    how given;
    pair("strides", given.lists["strides"]);
    const std::string padding = n.text("padding", "");
    expect(n, padding == "SAME" || padding == "VALID", "has a padding that is neither SAME nor VALID");
    given.texts["auto_pad"] = padding == "SAME" ? "SAME_UPPER" : "VALID";
    pair(n.operation == "MaxPool" || n.operation == "AvgPool" ? "ksize" : "dilations",
         given.lists[n.operation == "MaxPool" || n.operation == "AvgPool" ? "kernel_shape" : "dilations"]);
    return given;
  }
  void convolution(const node &n) {
    const std::vector<uint64_t> &w = dims_of_weights(n, 4);
    const how given = windows(n);
    expect_channels_last(n);
    if (w[0] == 1 && w[1] == 1 && given.lists.at("strides") == list{1, 1}) {  // a linear layer of each pixel
      const std::string matrix =
          add(n, "Reshape", {input(n, 1), constant(list{static_cast<int64_t>(w[2]), static_cast<int64_t>(w[3])})});
      return finish(n, add(n, "MatMul", {input(n, 0), matrix}));
    }
    const std::string x = picture(n), kernel = turned(n, input(n, 1), {3, 2, 0, 1});
    finish(n, turned(n, add(n, "Conv", {x, kernel}, given), {0, 2, 3, 1}));
  }
  void depthwise(const node &n) {
    const std::vector<uint64_t> &w = dims_of_weights(n, 4);  // (height, width, inputs, outputs of each)
    how given = windows(n);
    given.integers["group"] = static_cast<int64_t>(w[2]);
    const std::string x = picture(n), kernel = turned(n, input(n, 1), {2, 3, 0, 1});
    const list dims = {static_cast<int64_t>(w[2] * w[3]), 1, static_cast<int64_t>(w[0]), static_cast<int64_t>(w[1])};
    const std::string kernels = add(n, "Reshape", {kernel, constant(dims)});
    finish(n, turned(n, add(n, "Conv", {x, kernels}, given), {0, 2, 3, 1}));
  }
  void pool(const node &n) {
    const how given = windows(n);
    const std::string x = picture(n);
    set(n, turned(n, add(n, renamed(n.operation), {x}, given), {0, 2, 3, 1}));
  }
  void batch_norm(const node &n) {
    expect(n, n.integer("is_training", 0) == 0, "is in training");
    const std::string x = picture(n);
    const std::string y = add(n, "BatchNormalization", {x, input(n, 1), input(n, 2), input(n, 3), input(n, 4)},
                              {{}, {}, {}, {{"epsilon", n.real("epsilon", 1e-4)}}});
    set(n, turned(n, y, {0, 2, 3, 1}));
  }

  // ------------------------------------------------------------------------------------------------------------ shapes

  void reshape(const node &n) {
    set(n, add(n, "Reshape", {input(n, 0), input(n, 1)}, {{{"allowzero", 1}}, {}, {}, {}}));
  }
  void squeeze(const node &n) {
    list axes = n.list("squeeze_dims");
    if (axes.empty()) axes = n.list("axis");
    std::vector<std::string> inputs = {input(n, 0)};
    if (!axes.empty()) inputs.push_back(constant(axes));
    set(n, add(n, "Squeeze", inputs));
  }
  void expand_dims(const node &n) { set(n, add(n, "Unsqueeze", {input(n, 0), constant(list{integer(n, 1)})})); }
  void shape_of(const node &n) { set(n, add(n, "Shape", {input(n, 0)})); }
  void transpose(const node &n) {
    set(n, add(n, "Transpose", {input(n, 0)}, {{}, {{"perm", integers(n, 1)}}, {}, {}}));
  }
  void pack(const node &n) {
    const int64_t axis = n.integer("axis", 0);
    std::vector<std::string> parts;
    for (size_t i = 0; i < n.inputs.size(); ++i)
      parts.push_back(add(n, "Unsqueeze", {input(n, i), constant(list{axis})}));
    set(n, add(n, "Concat", parts, {{{"axis", axis}}, {}, {}, {}}));
  }
  void concat(const node &n) {
    expect(n, n.inputs.size() >= 2, "lacks inputs");
    const int64_t axis = integer(n, n.inputs.size() - 1);
    std::vector<std::string> parts;
    for (size_t i = 0; i + 1 < n.inputs.size(); ++i) parts.push_back(input(n, i));
    set(n, add(n, "Concat", parts, {{{"axis", axis}}, {}, {}, {}}));
  }
  void split(const node &n) {
    const bool has_sizes = n.operation == "SplitV";
    const int64_t count = n.integer("num_split", 0);
    expect(n, count >= 1 && count <= 1024, "makes no parts, or too many");
    const int64_t axis = integer(n, has_sizes ? 2 : 0);
    std::vector<std::string> inputs = {input(n, has_sizes ? 0 : 1)};
    how given;
    given.integers["axis"] = axis;
    if (has_sizes) {
      const list sizes = integers(n, 1);
      expect(n, sizes.size() == static_cast<size_t>(count), "has more or fewer sizes than parts");
      inputs.push_back(constant(sizes));
    } else {
      given.integers["num_outputs"] = count;
    }
    set(n, add(n, "Split", inputs, given));
    for (int64_t i = 1; i < count; ++i) to_.nodes.back().outputs.push_back(value(n.name + ":" + std::to_string(i)));
  }
  void gather(const node &n) {
    expect(n, n.integer("batch_dims", 0) == 0, "has batch_dims, which is not read");
    std::string indices = input(n, 1);
    // What fills up a short text is no row of the table. It may be any: the graph has it masked.
    if (weight_of(n, 0) != nullptr && is_of_text(n.inputs[1])) indices = add(n, "Max", {indices, scalar(0)});
    set(n, add(n, "Gather", {input(n, 0), indices}, {{{"axis", integer(n, 2)}}, {}, {}, {}}));
  }
  void slice(const node &n) {
    const list begin = integers(n, 1), size = integers(n, 2);
    expect(n, size.size() == begin.size(), "has a begin and a size that do not fit each other");
    list end, axes;
    for (size_t i = 0; i < begin.size(); ++i) {
      end.push_back(size[i] < 0 ? to_the_end : begin[i] + size[i]);
      axes.push_back(static_cast<int64_t>(i));
    }
    set(n, add(n, "Slice", {input(n, 0), constant(begin), constant(end), constant(axes)}));
  }
  void strided_slice(const node &n) {
    const auto has = [&](const char *mask, size_t axis) { return (n.integer(mask, 0) >> axis & 1) != 0; };
    expect(n, n.integer("ellipsis_mask", 0) == 0 && n.integer("new_axis_mask", 0) == 0,
           "has an ellipsis or a new axis, which is not read");
    const list begin = integers(n, 1), end = integers(n, 2), stride = integers(n, 3);
    expect(n, begin.size() <= 31 && end.size() == begin.size() && stride.size() == begin.size(),
           "has a begin, an end and strides that do not fit each other");
    list begins, ends, axes, strides, dropped;
    for (size_t i = 0; i < begin.size(); ++i) {
      const bool is_forward = stride[i] > 0, is_dropped = has("shrink_axis_mask", i);
      if (!is_dropped && stride[i] == 1 && has("begin_mask", i) && has("end_mask", i)) continue;  // all of it
      const int64_t first = is_forward ? 0 : to_the_end, last = is_forward ? to_the_end : -to_the_end;
      axes.push_back(static_cast<int64_t>(i));
      if (is_dropped) {
        begins.push_back(begin[i]);
        ends.push_back(begin[i] == -1 ? to_the_end : begin[i] + 1);
        strides.push_back(1);
        dropped.push_back(static_cast<int64_t>(i));
        continue;
      }
      begins.push_back(has("begin_mask", i) ? first : begin[i]);
      ends.push_back(has("end_mask", i) ? last : end[i]);
      strides.push_back(stride[i]);
    }
    if (axes.empty()) return set(n, add(n, "Identity", {input(n, 0)}));
    const std::string from = constant(begins), to = constant(ends), along = constant(axes);
    std::string y = add(n, "Slice", {input(n, 0), from, to, along, constant(strides)});
    if (!dropped.empty()) y = add(n, "Squeeze", {y, constant(dropped)});
    set(n, y);
  }
  void pad(const node &n) {
    const list pairs = integers(n, 1);
    const size_t rank = pairs.size() / 2;
    list pads(2 * rank);
    for (size_t i = 0; i < rank; ++i) pads[i] = pairs[2 * i], pads[rank + i] = pairs[2 * i + 1];
    std::vector<std::string> inputs = {input(n, 0), constant(pads)};
    if (n.operation == "PadV2") inputs.push_back(input(n, 2));
    set(n, add(n, "Pad", inputs));
  }

  // ------------------------------------------------------------------------------------------------------------ places

  void where(const node &n) {
    expect(n, n.inputs.size() == 1, "has more than a condition");
    const std::string places = add(n, "NonZero", {input(n, 0)});
    set(n, turned(n, places, {1, 0}));
  }
  void scatter(const node &n) {
    const std::string zero = n.type("T") == onnx_float || n.type("T") == 0 ? constant(0.0f) : scalar(0);
    const std::string zeros = add(n, "Expand", {zero, input(n, 2)});
    set(n, add(n, "ScatterND", {zeros, input(n, 0), input(n, 1)}));
  }
  void sparse_to_dense(const node &n) {
    expect(n, n.inputs.size() == 4, "lacks inputs");
    const std::string others = add(n, "Expand", {input(n, 3), input(n, 1)});
    set(n, add(n, "ScatterND", {others, input(n, 0), input(n, 2)}));
  }

  void nothing(const node &) {}

  void translate(const node &n) {
    using self = translator;
    static const std::map<std::string, translation> all = {{"Placeholder", &self::placeholder},
                                                           {"Const", &self::const_node},
                                                           {"NoOp", &self::nothing},
                                                           {"Add", &self::same},
                                                           {"AddV2", &self::same},
                                                           {"BiasAdd", &self::same},
                                                           {"Sub", &self::same},
                                                           {"Mul", &self::same},
                                                           {"RealDiv", &self::same},
                                                           {"Maximum", &self::same},
                                                           {"Minimum", &self::same},
                                                           {"Pow", &self::same},
                                                           {"Less", &self::same},
                                                           {"LessEqual", &self::same},
                                                           {"Greater", &self::same},
                                                           {"GreaterEqual", &self::same},
                                                           {"Equal", &self::same},
                                                           {"LogicalAnd", &self::same},
                                                           {"LogicalOr", &self::same},
                                                           {"LogicalNot", &self::same},
                                                           {"Relu", &self::same},
                                                           {"Tanh", &self::same},
                                                           {"Sigmoid", &self::same},
                                                           {"Exp", &self::same},
                                                           {"Log", &self::same},
                                                           {"Sqrt", &self::same},
                                                           {"Neg", &self::same},
                                                           {"Abs", &self::same},
                                                           {"Sin", &self::same},
                                                           {"Cos", &self::same},
                                                           {"Floor", &self::same},
                                                           {"Ceil", &self::same},
                                                           {"Round", &self::same},
                                                           {"Sign", &self::same},
                                                           {"Erf", &self::same},
                                                           {"Reciprocal", &self::same},
                                                           {"Softplus", &self::same},
                                                           {"Softsign", &self::same},
                                                           {"Elu", &self::same},
                                                           {"Selu", &self::same},
                                                           {"Identity", &self::same},
                                                           {"SelectV2", &self::same},
                                                           {"GatherNd", &self::same},
                                                           {"Range", &self::same},
                                                           {"Relu6", &self::relu6},
                                                           {"LeakyRelu", &self::leaky_relu},
                                                           {"Cast", &self::cast},
                                                           {"Square", &self::square},
                                                           {"SquaredDifference", &self::squared_difference},
                                                           {"Rsqrt", &self::reciprocal_root},
                                                           {"Softmax", &self::softmax},
                                                           {"LogSoftmax", &self::softmax},
                                                           {"Sum", &self::reduction},
                                                           {"Mean", &self::reduction},
                                                           {"Max", &self::reduction},
                                                           {"Min", &self::reduction},
                                                           {"Prod", &self::reduction},
                                                           {"MatMul", &self::product},
                                                           {"_FusedMatMul", &self::product},
                                                           {"BatchMatMul", &self::batch_product},
                                                           {"BatchMatMulV2", &self::batch_product},
                                                           {"Conv2D", &self::convolution},
                                                           {"_FusedConv2D", &self::convolution},
                                                           {"DepthwiseConv2dNative", &self::depthwise},
                                                           {"FusedDepthwiseConv2dNative", &self::depthwise},
                                                           {"MaxPool", &self::pool},
                                                           {"AvgPool", &self::pool},
                                                           {"FusedBatchNorm", &self::batch_norm},
                                                           {"FusedBatchNormV3", &self::batch_norm},
                                                           {"Reshape", &self::reshape},
                                                           {"Squeeze", &self::squeeze},
                                                           {"ExpandDims", &self::expand_dims},
                                                           {"Shape", &self::shape_of},
                                                           {"Transpose", &self::transpose},
                                                           {"Pack", &self::pack},
                                                           {"ConcatV2", &self::concat},
                                                           {"Split", &self::split},
                                                           {"SplitV", &self::split},
                                                           {"GatherV2", &self::gather},
                                                           {"Slice", &self::slice},
                                                           {"StridedSlice", &self::strided_slice},
                                                           {"Pad", &self::pad},
                                                           {"PadV2", &self::pad},
                                                           {"Where", &self::where},
                                                           {"ScatterNd", &self::scatter},
                                                           {"SparseToDense", &self::sparse_to_dense}};
    const auto found = all.find(n.operation);
    if (found == all.end()) refuse(n, "is an operator of TensorFlow that is not read");
    (this->*found->second)(n);
  }

  tfjs::graph from_;
  std::map<std::string, const node *> nodes_;
  std::map<std::string, std::string> places_;  // Placeholders of places, and those of their values
  std::map<std::string, std::string> shown_;
  std::vector<std::string> outputs_;
  std::string note_;
  int32_t filling_ = 0;
};

}  // namespace

tfjs_graphs read_tfjs_graphs(span json, const std::string &path) {
  return translator(tfjs::read_graph(json, path)).take();
}

}  // namespace heed_import
