// See tfjs_graph.hpp. SPDX-License-Identifier: MIT
#include "tfjs_graph.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "../base64.hpp"
#include "file_bytes.hpp"
#include "onnx_tensors.hpp"

namespace heed_import::tfjs {
namespace {

using json = nlohmann::json;

constexpr int most_depth = 32;
constexpr size_t most_nodes = 1000000, most_dims = 64;

[[noreturn]] void refuse_part(const std::string &name, const std::string &why) {
  throw refusal(names::for_terminal(name + ": " + why));
}

const json &member(const json &of, const char *key) {
  static const json nothing;
  if (!of.is_object()) return nothing;
  const auto found = of.find(key);
  return found == of.end() ? nothing : *found;
}

std::string text_of(const json &of, const std::string &name, const char *what) {
  if (!of.is_string()) refuse_part(name, std::string("has no ") + what);
  return of.get<std::string>();
}

// Integers of 64 bits are texts in JSON of protocol buffers, and numbers in that of some converters.
int64_t integer_of(const json &of, const std::string &name) {
  if (of.is_number_unsigned() && of.get<uint64_t>() > INT64_MAX) refuse_part(name, "has a number of more than 63 bits");
  if (of.is_number_integer()) return of.get<int64_t>();
  const std::string digits = text_of(of, name, "number where one belongs");
  const size_t first = !digits.empty() && digits[0] == '-' ? 1 : 0;
  const bool is_number = digits.size() > first && digits.size() <= first + 18 &&
                         digits.find_first_not_of("0123456789", first) == std::string::npos;
  if (!is_number) refuse_part(name, "has " + digits + " where a number belongs");
  return std::stoll(digits);
}

// In base64, or as a list of bytes.
std::string bytes_of_text(const json &of, const std::string &name) {
  std::string made;
  if (of.is_string()) {
    if (!from_base64(of.get<std::string>(), made)) refuse_part(name, "has a text that is not in base64");
    return made;
  }
  if (!of.is_array()) refuse_part(name, "has a text that is none");
  for (const json &byte : of) {
    const int64_t number = integer_of(byte, name);
    if (number < 0 || number > 255) refuse_part(name, "has a text with a byte that is none");
    made += static_cast<char>(number);
  }
  return made;
}

// TensorFlow's types, by their numbers or their names, as ONNX's.
int32_t type_of(const json &of) {
  static const std::map<std::string, int32_t> known = {
      {"1", onnx_float}, {"DT_FLOAT", onnx_float}, {"2", onnx_double},   {"DT_DOUBLE", onnx_double},
      {"3", onnx_int32}, {"DT_INT32", onnx_int32}, {"4", onnx_uint8},    {"DT_UINT8", onnx_uint8},
      {"6", onnx_int8},  {"DT_INT8", onnx_int8},   {"9", onnx_int64},    {"DT_INT64", onnx_int64},
      {"10", onnx_bool}, {"DT_BOOL", onnx_bool},   {"19", onnx_float16}, {"DT_HALF", onnx_float16}};
  const auto found = known.find(of.is_string() ? of.get<std::string>() : of.is_number_integer() ? of.dump() : "");
  return found == known.end() ? 0 : found->second;
}

void read_shape(const json &of, node &n) {
  const json &rank = member(of, "unknownRank");
  if (rank.is_boolean() && rank.get<bool>()) return;
  n.has_shape = true;
  const json &list = member(of, "dim");
  if (list.is_null()) return;
  if (!list.is_array() || list.size() > most_dims)
    refuse_part(n.name, "has a shape that is none, or of more than 64 dimensions");
  for (const json &dim : list) {
    const json &size = member(dim, "size");
    n.shape.push_back(size.is_null() ? 0 : integer_of(size, n.name));
  }
}

void read_attribute(const std::string &key, const json &value, node &n) {
  const json &list = member(value, "list");
  const auto all = [&](const char *kind) {
    const json &one = member(value, kind);
    if (!one.is_null()) return json::array({one});
    const json &many = member(list, kind);
    return many.is_array() ? many : json::array();
  };
  for (const json &i : all("i")) n.integers[key].push_back(integer_of(i, n.name));
  for (const json &b : all("b")) n.integers[key].push_back(b.is_boolean() && b.get<bool>() ? 1 : 0);
  for (const json &f : all("f"))
    if (f.is_number()) n.reals[key].push_back(f.get<double>());
  for (const json &s : all("s")) n.texts[key].push_back(bytes_of_text(s, n.name));
  const json &type = member(value, "type");
  if (!type.is_null()) n.types[key] = type_of(type);
  if (key == "shape" && member(value, "shape").is_object()) read_shape(value["shape"], n);
}

node node_of(const json &of) {
  node n;
  n.name = text_of(member(of, "name"), "a node", "name");
  n.operation = text_of(member(of, "op"), n.name, "op");
  for (const char c : n.name)
    if (c >= 0 && c < ' ') refuse_part(n.name, "a name has control characters");
  const json &inputs = member(of, "input");
  if (!inputs.is_null() && !inputs.is_array()) refuse_part(n.name, "has inputs that are no list");
  for (const json &input : inputs) {
    const std::string name = text_of(input, n.name, "name of an input");
    if (name.empty()) refuse_part(n.name, "has no name of an input");
    if (name[0] != '^') n.inputs.push_back(names::ends_with(name, ":0") ? name.substr(0, name.size() - 2) : name);
  }
  const json &attributes = member(of, "attr");
  if (attributes.is_object())
    for (const auto &[key, value] : attributes.items())
      if (key != "value" && key != "_output_shapes") read_attribute(key, value, n);
  return n;
}

// The shards of a group, one behind the other.
void add_shards(const json &group, const std::string &path, graph &g, bytes &all) {
  const json &paths = member(group, "paths");
  if (!paths.is_array()) throw refusal("weightsManifest: has a group without paths");
  for (const json &shard : paths) {
    const std::string name = text_of(shard, "weightsManifest", "path");
    if (!is_below_folder(name))
      refuse_part("weightsManifest", "a shard lies at " + name + ", which is not in the folder of the model");
    const std::string at = (std::filesystem::u8path(path).parent_path() / std::filesystem::u8path(name)).u8string();
    if (std::find(g.paths.begin(), g.paths.end(), at) != g.paths.end())
      refuse_part("weightsManifest", "names the shard " + name + " twice");
    try {
      const file_bytes file(at);
      all.insert(all.end(), file.all().data, file.all().data + file.all().size);
    } catch (const refusal &error) {
      throw refusal("the shard " + at + " " + error.what());
    }
    g.paths.push_back(at);
  }
}

// How the numbers lie in the file.
void read_quantization(const json &of, const std::string &name, weight &w) {
  const std::string stored = text_of(member(of, "dtype"), name, "dtype of its quantization");
  if (stored == "float16" && w.type == onnx_float) {
    w.stored = onnx_float16;
    return;
  }
  const json &scale = member(of, "scale"), &least = member(of, "min");
  if ((stored != "uint8" && stored != "uint16") || w.type == onnx_bool)
    refuse_part(name, "is quantised to " + stored + ", which is not known of its type");
  w.stored = stored == "uint8" ? onnx_uint8 : onnx_uint16;
  if (!scale.is_number() || !least.is_number()) refuse_part(name, "is quantised, but has no scale and min");
  w.scale = scale.get<double>(), w.least = least.get<double>();
  if (!(std::abs(w.scale) <= 3e38) || !(std::abs(w.least) <= 3e38))
    refuse_part(name, "has a scale or a min that is not finite");
}

uint64_t number_bytes_of(int32_t type) {
  return type == onnx_bool || type == onnx_uint8 ? 1 : type == onnx_float16 || type == onnx_uint16 ? 2 : 4;
}

weight weight_of(const json &of, const std::string &name, size_t most_bytes) {
  static const std::map<std::string, int32_t> types = {
      {"float32", onnx_float}, {"int32", onnx_int32}, {"bool", onnx_bool}};
  weight w;
  const std::string type = text_of(member(of, "dtype"), name, "dtype");
  const auto found = types.find(type);
  if (found == types.end()) refuse_part(name, "is of " + type + ", which is not read");
  w.type = w.stored = found->second;
  const json &quantization = member(of, "quantization");
  if (!quantization.is_null()) read_quantization(quantization, name, w);
  const json &shape = member(of, "shape");
  if (!shape.is_array() || shape.size() > most_dims)
    refuse_part(name, "has no shape, or one of more than 64 dimensions");
  uint64_t n = number_bytes_of(w.stored);
  for (const json &dim : shape) {
    const int64_t size = integer_of(dim, name);
    if (size < 0 || (n != 0 && static_cast<uint64_t>(size) > most_bytes / n))
      refuse_part(name,
                  "has a negative dimension, or more numbers than the shards: one of them is missing or too short");
    n *= static_cast<uint64_t>(size);
    w.dims.push_back(static_cast<uint64_t>(size));
  }
  w.numbers.size = static_cast<size_t>(n);
  return w;
}

void read_weights(const json &manifest, const std::string &path, graph &g) {
  if (!manifest.is_array()) throw refusal("has no weightsManifest, so nothing says where its weights lie");
  auto all = std::make_shared<bytes>();
  std::vector<std::pair<weight *, size_t>> places;
  for (const json &group : manifest) {
    size_t at = all->size();
    add_shards(group, path, g, *all);
    const json &weights = member(group, "weights");
    if (!weights.is_array()) throw refusal("weightsManifest: has a group without weights");
    for (const json &of : weights) {
      const std::string name = text_of(member(of, "name"), "a weight", "name");
      const weight w = weight_of(of, name, all->size());
      if (w.numbers.size > all->size() - at)
        refuse_part(name, "lies beyond the end of the shards: one of them is missing or too short");
      const auto added = g.weights.emplace(name, w);
      if (!added.second) refuse_part(name, "stands twice in weightsManifest");
      places.emplace_back(&added.first->second, at);
      at += w.numbers.size;
    }
    if (at != all->size()) throw refusal("weightsManifest: the shards have bytes that belong to no weight");
  }
  for (const auto &[w, at] : places) w->numbers.data = all->data() + at;
  g.all_numbers = all;
}

std::vector<port> ports_of(const json &table) {
  std::vector<port> all;
  if (!table.is_object()) return all;
  for (const auto &[shown, value] : table.items()) {
    const std::string name = text_of(member(value, "name"), shown, "name");
    all.push_back({names::ends_with(name, ":0") ? name.substr(0, name.size() - 2) : name, shown});
  }
  return all;
}

}  // namespace

int64_t node::integer(const std::string &attribute, int64_t otherwise) const {
  const auto found = integers.find(attribute);
  return found == integers.end() || found->second.empty() ? otherwise : found->second[0];
}
double node::real(const std::string &attribute, double otherwise) const {
  const auto found = reals.find(attribute);
  return found == reals.end() || found->second.empty() ? otherwise : found->second[0];
}
std::string node::text(const std::string &attribute, const std::string &otherwise) const {
  const auto found = texts.find(attribute);
  return found == texts.end() || found->second.empty() ? otherwise : found->second[0];
}
std::vector<int64_t> node::list(const std::string &attribute) const {
  const auto found = integers.find(attribute);
  return found == integers.end() ? std::vector<int64_t>() : found->second;
}
int32_t node::type(const std::string &attribute) const {
  const auto found = types.find(attribute);
  return found == types.end() ? 0 : found->second;
}

graph read_graph(span file, const std::string &path) {
  try {
    const auto is_flat = [](int depth, json::parse_event_t, json &) {
      if (depth > most_depth)
        throw refusal("is no model of TensorFlow.js: its parts lie deeper in each other than " +
                      std::to_string(most_depth));
      return true;
    };
    const json model = json::parse(file.data, file.data + file.size, is_flat);
    const json &topology = member(model, "modelTopology"), &nodes = member(topology, "node");
    if (member(topology, "model_config").is_object() || model.value("format", "") == "layers-model")
      throw refusal(
          "is a layers model of TensorFlow.js; convert it to a graph model (tensorflowjs_converter "
          "--output_format=tfjs_graph_model)");
    if (!nodes.is_array())
      throw refusal("is no graph model of TensorFlow.js: it has no modelTopology with a list of nodes");
    if (nodes.size() > most_nodes) throw refusal("has more than 1000000 nodes");
    const json &functions = member(member(topology, "library"), "function");
    if (functions.is_array() && !functions.empty())
      throw refusal("has functions, which are control flow, and not compiled");
    graph g;
    std::set<std::string> names;
    for (const json &of : nodes) {
      g.nodes.push_back(node_of(of));
      if (!names.insert(g.nodes.back().name).second) refuse_part(g.nodes.back().name, "two nodes have this name");
    }
    const json &signature = member(model, "signature").is_null()
                                ? member(member(model, "userDefinedMetadata"), "signature")
                                : member(model, "signature");
    g.inputs = ports_of(member(signature, "inputs"));
    g.outputs = ports_of(member(signature, "outputs"));
    read_weights(member(model, "weightsManifest"), path, g);
    return g;
  } catch (const json::exception &error) {
    throw refusal(std::string("is no model of TensorFlow.js that can be read: ") + error.what());
  }
}

}  // namespace heed_import::tfjs
