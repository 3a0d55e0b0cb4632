// See readers.hpp. The format: github.com/ggml-org/ggml, docs/gguf.md. SPDX-License-Identifier: MIT
#include <algorithm>

#include "checked_reader.hpp"
#include "readers.hpp"

namespace heed_import {
namespace {

std::string text(checked_reader &c) { return c.text(c.number(8)); }

constexpr uint64_t type_array = 9;

// Bytes of a value of the metadata; 0 for texts and lists.
int value_bytes(uint64_t type) {
  static const int n_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  if (type > 12) throw refusal("is damaged: a value of an unknown type");
  return n_bytes[type];
}

void skip_list(checked_reader &c) {
  const uint64_t type = c.number(4);
  if (type == type_array) throw refusal("is damaged: a list of lists");
  const size_t n_bytes = static_cast<size_t>(value_bytes(type)), n = c.count(8, n_bytes == 0 ? 8 : n_bytes);
  if (n_bytes != 0) return c.skip(uint64_t{n} * n_bytes);
  for (size_t i = 0; i < n; ++i) text(c);
}

// The alignment of tensors, the only value that counts here.
uint64_t read_metadata(checked_reader &c, size_t n) {
  uint64_t alignment = 32;
  for (size_t i = 0; i < n; ++i) {
    const std::string key = text(c);
    const uint64_t type = c.number(4);
    if (key == "general.alignment" && type == 4) {
      alignment = c.number(4);
      if (alignment == 0 || alignment % 8 != 0)
        throw refusal("is damaged: an alignment of " + std::to_string(alignment));
    } else if (type == type_array) {
      skip_list(c);
    } else if (value_bytes(type) == 0) {
      text(c);
    } else {
      c.skip(static_cast<uint64_t>(value_bytes(type)));
    }
  }
  return alignment;
}

int32_t format_of(uint64_t type) {
  switch (type) {
    case 0:
      return HEED_F32;
    case 1:
      return HEED_F16;
    case 2:
      return HEED_Q4_0;
    case 8:
      return HEED_Q8_0;
    case 28:
      return format_f64;
    case 30:
      return HEED_BF16;
    default:
      return -1;
  }
}

std::string type_name(uint64_t type) {
  static const char *const names[] = {"",        "",       "",        "Q4_1",  "Q4_2",   "Q4_3",  "Q5_0",  "Q5_1",
                                      "",        "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
                                      "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
                                      "I8",      "I16",    "I32",     "I64",   "",       "IQ1_M"};
  return type < 30 ? names[type] : "number " + std::to_string(type);
}

bool is_integer(uint64_t type) { return type >= 24 && type <= 27; }

struct entry {
  tensor t;
  uint64_t offset;
};

entry read_entry(checked_reader &c) {
  entry e;
  e.t.name = text(c);
  const uint64_t n_dims = c.number(4);
  if (n_dims > 8) refuse(e.t.name, "is damaged: has " + std::to_string(n_dims) + " dimensions");
  std::vector<uint64_t> dims(static_cast<size_t>(n_dims));
  for (size_t i = dims.size(); i > 0; --i) dims[i - 1] = c.number(8);
  const uint64_t type = c.number(4);
  e.offset = c.number(8);
  e.t.dtype = format_of(type);
  if (is_integer(type)) {
    e.t.left_out = "is of integers";
  } else if (e.t.dtype < 0) {
    e.t.refused = "has the format " + type_name(type) + ": F32, F16, BF16, Q8_0 and Q4_0 are read, the others are not";
  } else {
    set_shape(e.t, dims);
  }
  const bool in_blocks = e.t.dtype == HEED_Q8_0 || e.t.dtype == HEED_Q4_0;
  if (in_blocks && is_usable(e.t) && (dims.empty() || dims.back() % 32 != 0)) {
    refuse(e.t.name, "is damaged: its rows are no whole blocks of 32");
  }
  return e;
}

}  // namespace

std::vector<tensor> read_gguf(span file) {
  constexpr size_t least_entry = 8 + 4 + 4 + 8, least_value = 8 + 4 + 1;
  if (file.size < 8 || std::memcmp(file.data, "GGUF", 4) != 0) throw refusal("is no GGUF file");
  checked_reader c(file);
  c.skip(4);
  const uint64_t version = c.number(4);
  if (version != 2 && version != 3)
    throw refusal("has version " + std::to_string(version) + " of GGUF: 2 and 3 are read");
  const size_t n_tensors = c.count(8, least_entry), n_values = c.count(8, least_value);
  const uint64_t alignment = read_metadata(c, n_values);
  std::vector<entry> entries;
  for (size_t i = 0; i < n_tensors; ++i) entries.push_back(read_entry(c));
  const bool has_numbers = std::any_of(entries.begin(), entries.end(), [](const entry &e) { return is_usable(e.t); });
  if (has_numbers) c.align(alignment);  // a file without numbers may end before
  std::vector<tensor> tensors;
  for (entry &e : entries) {
    if (is_usable(e.t)) e.t.refer(c.part(e.offset, bytes_of(e.t), e.t.name));
    tensors.push_back(std::move(e.t));
  }
  return tensors;
}

}  // namespace heed_import
