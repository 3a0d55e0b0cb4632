// See readers.hpp. The format: 8 bytes with the length of the header, the header in JSON, the numbers. Source:
// github.com/huggingface/safetensors. SPDX-License-Identifier: MIT
#include "readers.hpp"

#ifdef HEED_IMPORT_SAFETENSORS
#include <nlohmann/json.hpp>

namespace heed_import {
namespace {

using nlohmann::json;

// The format of a type; -1 for integers, which are no weights, -2 for all else.
int32_t format_of(const std::string &type) {
  if (type == "F32") return HEED_F32;
  if (type == "F16") return HEED_F16;
  if (type == "BF16") return HEED_BF16;
  if (type == "F64") return format_f64;
  if (type == "U8") return HEED_FILE_U8;
  if (type == "I8") return HEED_FILE_I8;
  for (const char *const integers : {"BOOL", "I16", "U16", "I32", "U32", "I64", "U64"}) {
    if (type == integers) return -1;
  }
  return -2;
}

// A list of numbers that are not negative; throws if it is none.
std::vector<uint64_t> list_of(const std::string &name, const json &value, const char *key) {
  const auto found = value.find(key);
  std::vector<uint64_t> list;
  if (!value.is_object() || found == value.end() || !found->is_array()) refuse(name, std::string("has no ") + key);
  for (const json &number : *found) {
    if (!number.is_number_unsigned()) refuse(name, std::string("has a ") + key + " that is not made of numbers");
    list.push_back(number.get<uint64_t>());
  }
  return list;
}

tensor tensor_of(const std::string &name, const json &value, span numbers) {
  tensor t;
  t.name = name;
  const std::vector<uint64_t> shape = list_of(name, value, "shape"), ends = list_of(name, value, "data_offsets");
  const auto type = value.find("dtype");
  if (type == value.end() || !type->is_string()) refuse(name, "has no dtype");
  if (ends.size() != 2 || ends[0] > ends[1] || ends[1] > numbers.size) {
    refuse(name, "lies beyond the end: the file is truncated or damaged");
  }
  t.format = format_of(type->get<std::string>());
  if (t.format == -1) t.left_out = "is of integers";
  if (t.format == -2) t.refused = "is of " + type->get<std::string>() + ", which heed has not";
  if (t.format < 0) return t;
  set_shape(t, shape);
  if (!t.refused.empty()) return t;
  if (ends[1] - ends[0] != bytes_of(t)) refuse(name, "has more or fewer bytes than its shape says");
  if (t.format == HEED_FILE_U8 || t.format == HEED_FILE_I8) t.scales = {1}, t.zeros = {0};
  t.refer({numbers.data + ends[0], static_cast<size_t>(ends[1] - ends[0])});
  return t;
}

}  // namespace

std::vector<tensor> read_safetensors(span file) {
  const uint64_t n_header = file.size < 8 ? 0 : number_at(file.data, 8);
  if (file.size < 8 || n_header > file.size - 8) throw refusal("is no safetensors file, or it is truncated");
  const uint8_t *const header = file.data + 8;
  const json table = json::parse(header, header + n_header, nullptr, false);
  if (!table.is_object()) throw refusal("is no safetensors file: its header is not an object of JSON");
  std::vector<tensor> tensors;
  for (const auto &[name, value] : table.items()) {
    if (name == "__metadata__") continue;
    if (!value.is_object()) refuse(name, "is not an object of JSON");
    tensors.push_back(tensor_of(name, value, {header + n_header, file.size - 8 - static_cast<size_t>(n_header)}));
  }
  return tensors;
}

}  // namespace heed_import
#else
namespace heed_import {
std::vector<tensor> read_safetensors(span) {
  throw refusal("this heed_import was built without nlohmann/json.hpp, so it reads no safetensors (Debian: nlohmann-json3-dev)");
}
}  // namespace heed_import
#endif
