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

void add_graph(pbf_reader message, onnx_graphs &all, int depth);

// Attributes of a node: graphs in it, and whether Gemm turns its weights.
void add_attribute(pbf_reader message, onnx_graphs &all, onnx_node &of, int depth) {
  std::string name;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::length_delimited):
        name = text_of(message);
        break;
      case field(3, wire::varint):
        if (const bool value = message.get_int64() != 0; name == "transB") of.transposed = value;
        break;
      case field(6, wire::length_delimited):
      case field(11, wire::length_delimited):
        add_graph(message.get_message(), all, depth + 1);
        break;
      default:
        message.skip();
    }
  }
}

void add_node(pbf_reader message, onnx_graphs &all, int depth) {
  onnx_node n;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::length_delimited):
        n.inputs.push_back(text_of(message));
        break;
      case field(3, wire::length_delimited):
        n.name = text_of(message);
        break;
      case field(4, wire::length_delimited):
        n.operation = text_of(message);
        break;
      case field(5, wire::length_delimited):
        add_attribute(message.get_message(), all, n, depth);
        break;
      default:
        message.skip();
    }
  }
  all.nodes.push_back(std::move(n));
}

void add_graph(pbf_reader message, onnx_graphs &all, int depth) {
  if (depth > 16) throw refusal("is damaged: graphs in graphs, more than 16 deep");
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire::length_delimited):
        add_node(message.get_message(), all, depth);
        break;
      case field(5, wire::length_delimited):
        all.tensors.push_back(tensor_of(message.get_message()));
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
        add_graph(model.get_message(), all, 0);
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
