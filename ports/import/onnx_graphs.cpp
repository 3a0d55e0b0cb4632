// See onnx_graphs.hpp. The messages of ONNX are read with protozero, a library of headers alone: it needs neither a schema
// nor a code generator. Numbers of fields are those of onnx.proto. SPDX-License-Identifier: MIT
#include "onnx_graphs.hpp"

#ifdef HEED_IMPORT_ONNX
#include <protozero/pbf_reader.hpp>

namespace heed_import {
namespace {

using protozero::pbf_reader;
using wire = protozero::pbf_wire_type;
constexpr uint32_t field(uint32_t number, wire type) { return protozero::tag_and_type(number, type); }

std::string text_of(pbf_reader &message) {
  const protozero::data_view view = message.get_view();
  return std::string(view.data(), view.size());
}

span view_of(pbf_reader &message) {
  const protozero::data_view view = message.get_view();
  return {reinterpret_cast<const uint8_t *>(view.data()), view.size()};
}

// One number of a repeated field, or all of them.
void add_varints(pbf_reader &message, std::vector<uint64_t> &to) {
  if (message.wire_type() == wire::varint) return to.push_back(message.get_uint64());
  const protozero::data_view view = message.get_view();
  for (const char *at = view.data(), *const end = at + view.size(); at != end;) {
    to.push_back(protozero::decode_varint(&at, end));
  }
}

// A key and a value, of external data.
void add_place(pbf_reader message, onnx_tensor &p) {
  std::string key, value;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::length_delimited):
        key = text_of(message);
        break;
      case field(2, wire::length_delimited):
        value = text_of(message);
        break;
      default:
        message.skip();
    }
  }
  p.place[key] = value;
}

onnx_tensor tensor_of(pbf_reader message) {
  onnx_tensor p;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::varint):
      case field(1, wire::length_delimited):
        add_varints(message, p.dims);
        break;
      case field(2, wire::varint):
        p.type = message.get_int32();
        break;
      case field(4, wire::fixed32):
        put(p.floats, message.get_fixed32(), 4);
        break;
      case field(10, wire::fixed64):
        put(p.floats, message.get_fixed64(), 8);
        break;
      case field(4, wire::length_delimited):
      case field(10, wire::length_delimited): {
        const span list = view_of(message);
        p.floats.insert(p.floats.end(), list.data, list.data + list.size);
        break;
      }
      case field(5, wire::varint):
      case field(5, wire::length_delimited):
      case field(7, wire::varint):
      case field(7, wire::length_delimited):
      case field(11, wire::varint):
      case field(11, wire::length_delimited):
        add_varints(message, p.integers);
        break;
      case field(8, wire::length_delimited):
        p.name = text_of(message);
        break;
      case field(9, wire::length_delimited):
        p.raw = view_of(message);
        break;
      case field(13, wire::length_delimited):
        add_place(message.get_message(), p);
        break;
      case field(14, wire::varint):
        p.elsewhere = message.get_int32() != 0;
        break;
      default:
        message.skip();
    }
  }
  return p;
}

// The values of a tensor that is mostly 0; the places of its numbers are not read.
onnx_tensor sparse_tensor_of(pbf_reader message) {
  onnx_tensor p;
  while (message.next()) {
    if (message.tag_and_type() == field(1, wire::length_delimited))
      p = tensor_of(message.get_message());
    else
      message.skip();
  }
  p.sparse = true;
  return p;
}

// A node while it is read.
struct reading {
  onnx_node node;
  std::vector<onnx_tensor> constants;                         // of Constant
  std::vector<std::pair<std::string, pbf_reader>> subgraphs;  // and the attributes that hold them
};

onnx_tensor list_of_floats(const bytes &floats) {
  onnx_tensor p;
  p.type = 1;
  p.dims = {floats.size() / 4};
  p.floats = floats;
  return p;
}

onnx_tensor list_of_integers(const std::vector<uint64_t> &integers) {
  onnx_tensor p;
  p.type = 7;
  p.dims = {integers.size()};
  p.integers = integers;
  return p;
}

onnx_tensor scalar(onnx_tensor &&list) {
  list.dims.clear();
  return std::move(list);
}

std::vector<float> floats_in(const bytes &list) {
  std::vector<float> all;
  for (size_t at = 0; at + 4 <= list.size(); at += 4) all.push_back(f32_at(list.data() + at));
  return all;
}

void add_attribute(pbf_reader message, reading &of) {
  std::string name, reference;
  std::vector<uint64_t> integers;
  bytes number, floats;
  std::vector<std::string> texts;
  std::vector<onnx_tensor> tensors;
  std::vector<pbf_reader> subgraphs;
  int64_t integer = 0;
  int32_t kind = 0;  // AttributeProto.AttributeType; old files have none
  bool has_integer = false;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::length_delimited):
        name = text_of(message);
        break;
      case field(2, wire::fixed32):
        put(number, message.get_fixed32(), 4);
        break;
      case field(3, wire::varint):
        integer = message.get_int64(), has_integer = true;
        break;
      case field(4, wire::length_delimited):
      case field(9, wire::length_delimited):
        texts.push_back(text_of(message));
        break;
      case field(5, wire::length_delimited):
        tensors.push_back(tensor_of(message.get_message()));
        break;
      case field(6, wire::length_delimited):
      case field(11, wire::length_delimited):
        subgraphs.push_back(message.get_message());
        break;
      case field(7, wire::fixed32):
        put(floats, message.get_fixed32(), 4);
        break;
      case field(7, wire::length_delimited): {
        const span list = view_of(message);
        floats.insert(floats.end(), list.data, list.data + list.size);
        break;
      }
      case field(8, wire::varint):
      case field(8, wire::length_delimited):
        add_varints(message, integers);
        break;
      case field(20, wire::varint):
        kind = message.get_int32();
        break;
      case field(21, wire::length_delimited):
        reference = text_of(message);
        break;
      case field(22, wire::length_delimited):
        tensors.push_back(sparse_tensor_of(message.get_message()));
        break;
      default:
        message.skip();
    }
  }
  for (const pbf_reader &graph : subgraphs) of.subgraphs.emplace_back(name, graph);
  if (!reference.empty()) {
    of.node.references[name] = reference;
    return;
  }
  if (has_integer) of.node.integers[name] = integer;
  if (!number.empty()) of.node.floats[name] = floats_in(number);
  if (!floats.empty()) of.node.floats[name] = floats_in(floats);
  if (!texts.empty()) of.node.texts[name] = texts;
  if (!tensors.empty()) of.node.operands[name] = tensors[0];
  of.constants.insert(of.constants.end(), tensors.begin(), tensors.end());
  if (name == "value_float") of.constants.push_back(scalar(list_of_floats(number)));
  if (name == "value_int") of.constants.push_back(scalar(list_of_integers({static_cast<uint64_t>(integer)})));
  if (name == "value_floats") of.constants.push_back(list_of_floats(floats));
  if (name == "value_ints") of.constants.push_back(list_of_integers(integers));
  constexpr int32_t kind_integers = 7;
  if (!integers.empty() || kind == kind_integers) of.node.lists[name] = std::move(integers);
}

void add_graph(pbf_reader message, onnx_graphs &all, size_t parent, const std::string &path, int depth);

void add_node(pbf_reader message, onnx_graphs &all, size_t graph, int depth) {
  reading of;
  onnx_node &n = of.node;
  n.graph = graph;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::length_delimited):
        n.inputs.push_back(text_of(message));
        break;
      case field(2, wire::length_delimited):
        n.outputs.push_back(text_of(message));
        break;
      case field(3, wire::length_delimited):
        n.name = text_of(message);
        break;
      case field(4, wire::length_delimited):
        n.operation = text_of(message);
        break;
      case field(5, wire::length_delimited):
        add_attribute(message.get_message(), of);
        break;
      case field(7, wire::length_delimited):
        n.domain = text_of(message);
        break;
      case field(8, wire::length_delimited):
        n.overload = text_of(message);
        break;
      default:
        message.skip();
    }
  }
  if (n.operation == "Constant" && n.outputs.size() == 1 && of.constants.size() == 1) {
    onnx_tensor &p = of.constants[0];
    p.name = n.outputs[0];
    p.graph = graph;
    p.is_operand = true;
    all.tensors.push_back(std::move(p));
    return;
  }
  for (const auto &[attribute, subgraph] : of.subgraphs) {
    const std::string path = all.graphs[graph].path + (graph == 0 ? "" : ".");
    n.subgraphs[attribute] = all.graphs.size();
    add_graph(subgraph, all, graph, path + (n.name.empty() ? n.operation : n.name) + "." + attribute, depth + 1);
  }
  all.nodes.push_back(std::move(n));
}

onnx_dim dim_of(pbf_reader message) {
  onnx_dim dim;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::varint):
        dim.number = message.get_int64(), dim.has_number = true;
        break;
      case field(2, wire::length_delimited):
        dim.name = text_of(message);
        break;
      default:
        message.skip();
    }
  }
  return dim;
}

void add_shape(pbf_reader message, onnx_port &port) {
  port.has_shape = true;
  while (message.next()) {
    if (message.tag_and_type() == field(1, wire::length_delimited))
      port.dims.push_back(dim_of(message.get_message()));
    else
      message.skip();
  }
}

void add_tensor_type(pbf_reader message, onnx_port &port) {
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::varint):
        port.type = message.get_int32();
        break;
      case field(2, wire::length_delimited):
        add_shape(message.get_message(), port);
        break;
      default:
        message.skip();
    }
  }
}

void add_type(pbf_reader message, onnx_port &port) {
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::length_delimited):
        add_tensor_type(message.get_message(), port);
        break;
      case field(4, wire::length_delimited):  // a sequence
      case field(5, wire::length_delimited):  // a map
      case field(8, wire::length_delimited):  // a sparse tensor
      case field(9, wire::length_delimited):  // an optional value
        port.is_tensor = false;
        message.skip();
        break;
      default:
        message.skip();
    }
  }
}

onnx_port port_of(pbf_reader message) {
  onnx_port port;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::length_delimited):
        port.name = text_of(message);
        break;
      case field(2, wire::length_delimited):
        add_type(message.get_message(), port);
        break;
      default:
        message.skip();
    }
  }
  return port;
}

void add_graph(pbf_reader message, onnx_graphs &all, size_t parent, const std::string &path, int depth) {
  if (depth > 16) throw refusal("is damaged: graphs in graphs, more than 16 deep");
  const size_t graph = all.graphs.size();
  all.graphs.push_back({parent, path, {}, {}});
  const auto add_tensor = [&](onnx_tensor &&p) {
    p.graph = graph;
    all.tensors.push_back(std::move(p));
  };
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::length_delimited):
        add_node(message.get_message(), all, graph, depth);
        break;
      case field(5, wire::length_delimited):
        add_tensor(tensor_of(message.get_message()));
        break;
      case field(11, wire::length_delimited):
        all.graphs[graph].inputs.push_back(port_of(message.get_message()));
        break;
      case field(12, wire::length_delimited):
        all.graphs[graph].outputs.push_back(port_of(message.get_message()));
        break;
      case field(15, wire::length_delimited):
        add_tensor(sparse_tensor_of(message.get_message()));
        break;
      default:
        message.skip();
    }
  }
}

void add_opset(pbf_reader message, std::map<std::string, int64_t> &opsets) {
  std::string domain;
  int64_t version = 0;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::length_delimited):
        domain = text_of(message);
        break;
      case field(2, wire::varint):
        version = message.get_int64();
        break;
      default:
        message.skip();
    }
  }
  opsets[domain == "ai.onnx" ? "" : domain] = version;
}

void add_function(pbf_reader message, onnx_graphs &all) {
  onnx_function f;
  f.graph = all.graphs.size();
  all.graphs.push_back({f.graph, "", {}, {}});
  reading defaults;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::length_delimited):
        f.name = text_of(message);
        break;
      case field(4, wire::length_delimited):
        f.inputs.push_back(text_of(message));
        break;
      case field(5, wire::length_delimited):
        f.outputs.push_back(text_of(message));
        break;
      case field(6, wire::length_delimited):
        f.attributes.push_back(text_of(message));
        break;
      case field(7, wire::length_delimited):
        add_node(message.get_message(), all, f.graph, 1);
        break;
      case field(9, wire::length_delimited):
        add_opset(message.get_message(), f.opsets);
        break;
      case field(10, wire::length_delimited):
        f.domain = text_of(message);
        break;
      case field(11, wire::length_delimited):
        add_attribute(message.get_message(), defaults);
        break;
      case field(13, wire::length_delimited):
        f.overload = text_of(message);
        break;
      default:
        message.skip();
    }
  }
  f.defaults = std::move(defaults.node);
  all.functions.push_back(std::move(f));
}

}  // namespace

onnx_graphs read_onnx_graphs(span file, onnx_bodies bodies) {
  onnx_graphs all;
  bool found = false;
  std::vector<pbf_reader> functions;
  try {
    pbf_reader model(reinterpret_cast<const char *>(file.data), file.size);
    while (model.next()) {
      switch (model.tag_and_type()) {
        case field(7, wire::length_delimited):
          if (found) throw refusal("is damaged: it has two graphs");
          add_graph(model.get_message(), all, 0, "", 0);
          found = true;
          break;
        case field(8, wire::length_delimited):
          add_opset(model.get_message(), all.opsets);
          break;
        case field(25, wire::length_delimited):
          functions.push_back(model.get_message());
          break;
        default:
          model.skip();
      }
    }
    if (bodies == onnx_bodies::read && found)
      for (const pbf_reader &function : functions) add_function(function, all);
  } catch (const protozero::exception &) {
    throw refusal("is no ONNX file, or it is truncated or damaged");
  }
  if (!found) throw refusal("is no ONNX file: it has no graph");
  return all;
}

onnx_tensor read_onnx_tensor(span file) {
  try {
    return tensor_of(pbf_reader(reinterpret_cast<const char *>(file.data), file.size));
  } catch (const protozero::exception &) {
    throw refusal("is no tensor of ONNX, or it is truncated or damaged");
  }
}

}  // namespace heed_import
#else
namespace heed_import {
onnx_graphs read_onnx_graphs(span, onnx_bodies) {
  throw refusal("this program was built without protozero, so it reads no ONNX (Debian: libprotozero-dev)");
}
onnx_tensor read_onnx_tensor(span) { return {}; }
}  // namespace heed_import
#endif
