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
        add_varints(message, p.integers);
        break;
      case field(8, wire::length_delimited):
        p.name = text_of(message);
        break;
      case field(9, wire::length_delimited):
        p.raw = view_of(message);
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

void add_attribute(pbf_reader message, reading &of) {
  std::string name;
  std::vector<uint64_t> integers;
  bytes number, floats;
  std::vector<pbf_reader> subgraphs;
  int64_t integer = 0;
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
      case field(5, wire::length_delimited):
        of.constants.push_back(tensor_of(message.get_message()));
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
      case field(22, wire::length_delimited):
        of.constants.push_back(sparse_tensor_of(message.get_message()));
        break;
      default:
        message.skip();
    }
  }
  for (const pbf_reader &graph : subgraphs) of.subgraphs.emplace_back(name, graph);
  if (has_integer) of.node.integers[name] = integer;
  if (name == "value_float") of.constants.push_back(scalar(list_of_floats(number)));
  if (name == "value_int") of.constants.push_back(scalar(list_of_integers({static_cast<uint64_t>(integer)})));
  if (name == "value_floats") of.constants.push_back(list_of_floats(floats));
  if (name == "value_ints") of.constants.push_back(list_of_integers(integers));
  if (!integers.empty()) of.node.lists[name] = std::move(integers);
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
    add_graph(subgraph, all, graph, path + (n.name.empty() ? n.operation : n.name) + "." + attribute, depth + 1);
  }
  all.nodes.push_back(std::move(n));
}

std::string name_of_value(pbf_reader message) {
  std::string name;
  while (message.next()) {
    if (message.tag_and_type() == field(1, wire::length_delimited))
      name = text_of(message);
    else
      message.skip();
  }
  return name;
}

void add_graph(pbf_reader message, onnx_graphs &all, size_t parent, const std::string &path, int depth) {
  if (depth > 16) throw refusal("is damaged: graphs in graphs, more than 16 deep");
  const size_t graph = all.graphs.size();
  all.graphs.push_back({parent, path, {}});
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
        all.graphs[graph].inputs.push_back(name_of_value(message.get_message()));
        break;
      case field(15, wire::length_delimited):
        add_tensor(sparse_tensor_of(message.get_message()));
        break;
      default:
        message.skip();
    }
  }
}

}  // namespace

onnx_graphs read_onnx_graphs(span file) {
  onnx_graphs all;
  bool found = false;
  try {
    pbf_reader model(reinterpret_cast<const char *>(file.data), file.size);
    while (model.next()) {
      if (model.tag_and_type() == field(7, wire::length_delimited)) {
        if (found) throw refusal("is damaged: it has two graphs");
        add_graph(model.get_message(), all, 0, "", 0);
        found = true;
      } else {
        model.skip();
      }
    }
  } catch (const protozero::exception &) {
    throw refusal("is no ONNX file, or it is truncated or damaged");
  }
  if (!found) throw refusal("is no ONNX file: it has no graph");
  return all;
}

}  // namespace heed_import
#else
namespace heed_import {
onnx_graphs read_onnx_graphs(span) {
  throw refusal("this program was built without protozero, so it reads no ONNX (Debian: libprotozero-dev)");
}
}  // namespace heed_import
#endif
