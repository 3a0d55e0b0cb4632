// See readers.hpp. The format: 8 bytes with the length of the header, the header in JSON, the numbers. Source:
// github.com/huggingface/safetensors. SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "checked_reader.hpp"
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

// Bits of a number; 0 for a type that is not known.
uint64_t bits_of(const std::string &type) {
  static const std::map<std::string, uint64_t> bits = {
      {"BOOL", 8},  {"U8", 8},   {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"I16", 16}, {"U16", 16}, {"F16", 16},
      {"BF16", 16}, {"I32", 32}, {"U32", 32}, {"F32", 32},    {"I64", 64},    {"U64", 64}, {"F64", 64}};
  const auto found = bits.find(type);
  return found == bits.end() ? 0 : found->second;
}

struct entry {
  tensor t;
  uint64_t begin, end;
};

entry entry_of(const std::string &name, const json &value) {
  entry e;
  tensor &t = e.t;
  t.name = name;
  const std::vector<uint64_t> shape = list_of(name, value, "shape"), ends = list_of(name, value, "data_offsets");
  const auto found = value.find("dtype");
  if (found == value.end() || !found->is_string()) refuse(name, "has no dtype");
  if (ends.size() != 2 || ends[0] > ends[1]) refuse(name, "has data_offsets that are no begin and end");
  e.begin = ends[0], e.end = ends[1];
  const std::string type = found->get<std::string>();
  const uint64_t bits = bits_of(type), n_bytes = e.end - e.begin;
  uint64_t rest = bits == 0 ? 0 : n_bytes / (bits / 8);
  bool is_empty = false, fits = bits == 0 || n_bytes % (bits / 8) == 0;
  for (const uint64_t dim : shape) {
    is_empty = is_empty || dim == 0;
    fits = fits && (dim == 0 || bits == 0 || rest % dim == 0);
    rest /= dim == 0 ? 1 : dim;
  }
  if (!fits || (bits != 0 && (is_empty ? n_bytes != 0 : rest != 1)))
    refuse(name, "has more or fewer bytes than its shape says");
  t.dtype = format_of(type);
  if (t.dtype == -1) t.left_out = "is of integers";
  if (t.dtype == -2) t.refused = "is of " + type + ", which heed has not";
  if (is_usable(t)) set_shape(t, shape);
  if (is_usable(t) && (t.dtype == HEED_FILE_U8 || t.dtype == HEED_FILE_I8)) t.scales = {1}, t.zeros = {0};
  return e;
}

// JSON whose objects have each key once.
json parsed(const std::string &text) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int, json::parse_event_t event, json &value) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  json table = json::parse(text, watch, false);
  if (!table.is_object() || text[0] != '{')
    throw refusal("is no safetensors file: its header is not an object of JSON");
  if (!twice.empty()) refuse(twice, "stands twice in the header");
  return table;
}

void check_metadata(const json &value) {
  if (value.is_null()) return;
  const auto is_text = [](const json &v) { return v.is_string(); };
  if (!value.is_object() || !std::all_of(value.begin(), value.end(), is_text))
    refuse("__metadata__", "is no table of texts");
}

}  // namespace

std::vector<tensor> read_safetensors(span file) {
  constexpr uint64_t most_header = 100000000;
  checked_reader c(file);
  const uint64_t n_header = file.size < 8 ? UINT64_MAX : c.number(8);
  if (n_header > c.left()) throw refusal("is no safetensors file, or it is truncated");
  if (n_header > most_header) throw refusal("has a header of more than 100 MB");
  const json table = parsed(c.text(n_header));
  std::vector<entry> entries;
  for (const auto &[name, value] : table.items()) {
    if (name == "__metadata__") {
      check_metadata(value);
      continue;
    }
    if (!value.is_object()) refuse(name, "is not an object of JSON");
    entries.push_back(entry_of(name, value));
    c.part(entries.back().begin, entries.back().end - entries.back().begin, name);
  }
  std::vector<const entry *> by_place;
  for (const entry &e : entries) by_place.push_back(&e);
  std::sort(by_place.begin(), by_place.end(),
            [](const entry *a, const entry *b) { return std::tie(a->begin, a->end) < std::tie(b->begin, b->end); });
  uint64_t end = 0;
  for (const entry *const e : by_place) {
    if (e->begin != end) refuse(e->t.name, "does not begin where the tensor before it ends: the file is damaged");
    end = e->end;
  }
  if (end != c.left()) throw refusal("has bytes that belong to no tensor: the file is damaged");
  std::vector<tensor> tensors;
  for (entry &e : entries) {
    if (is_usable(e.t)) e.t.refer(c.part(e.begin, e.end - e.begin, e.t.name));
    tensors.push_back(std::move(e.t));
  }
  return tensors;
}

}  // namespace heed_import
#else
namespace heed_import {
std::vector<tensor> read_safetensors(span) {
  throw refusal(
      "this heed_import was built without nlohmann/json.hpp, so it reads no safetensors (Debian: nlohmann-json3-dev)");
}
}  // namespace heed_import
#endif
