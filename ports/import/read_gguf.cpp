// See readers.hpp. The format: github.com/ggml-org/ggml, docs/gguf.md. SPDX-License-Identifier: MIT
#include "readers.hpp"

namespace heed_import {
namespace {

// Numbers and texts, one after another.
class cursor {
 public:
  explicit cursor(span file) : file_(file) {}
  size_t at() const { return at_; }
  void skip(uint64_t n_bytes) {
    if (n_bytes > file_.size - at_) throw refusal("is truncated or damaged: its tables lead beyond the end");
    at_ += static_cast<size_t>(n_bytes);
  }
  uint64_t number(int n_bytes) {
    const uint8_t *const p = file_.data + at_;
    skip(static_cast<uint64_t>(n_bytes));
    return number_at(p, n_bytes);
  }
  std::string text() {
    const uint64_t n = number(8);
    const uint8_t *const p = file_.data + at_;
    skip(n);
    return std::string(p, p + n);
  }

 private:
  span file_;
  size_t at_ = 0;
};

constexpr uint64_t type_string = 8, type_array = 9;

// Bytes of a value of the metadata; 0 for texts and lists.
int value_bytes(uint64_t type) {
  static const int n_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  if (type > 12) throw refusal("is damaged: a value of an unknown type");
  return n_bytes[type];
}

void skip_values(cursor &c, uint64_t type, uint64_t n) {
  const uint64_t n_bytes = static_cast<uint64_t>(value_bytes(type));
  if (type == type_array) throw refusal("is damaged: a list of lists");
  if (n_bytes != 0 && n > UINT64_MAX / n_bytes) throw refusal("is damaged: a list is longer than the file");
  if (n_bytes != 0) return c.skip(n * n_bytes);
  for (uint64_t i = 0; i < n; ++i) c.text();  // ends at the end of the file at the latest
}

// The alignment of tensors, the only value that counts here.
uint64_t read_metadata(cursor &c, uint64_t n) {
  uint64_t alignment = 32;
  for (uint64_t i = 0; i < n; ++i) {
    const std::string key = c.text();
    const uint64_t type = c.number(4);
    if (key == "general.alignment" && type == 4) {
      alignment = c.number(4);
      if (alignment == 0 || alignment % 8 != 0) throw refusal("is damaged: an alignment of " + std::to_string(alignment));
    } else if (type == type_array) {
      const uint64_t of = c.number(4);
      skip_values(c, of, c.number(8));
    } else {
      skip_values(c, type, 1);
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
  static const char *const names[] = {"",     "",     "",     "Q4_1", "Q4_2", "Q4_3",    "Q5_0",   "Q5_1",    "",      "Q8_1",
                                      "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K",    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
                                      "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8", "I16", "I32",    "I64",     "",      "IQ1_M"};
  return type < 30 ? names[type] : "number " + std::to_string(type);
}

struct entry {
  tensor t;
  uint64_t offset;
};

entry read_entry(cursor &c) {
  entry e;
  e.t.name = c.text();
  const uint64_t n_dims = c.number(4);
  if (n_dims > 8) refuse(e.t.name, "is damaged: has " + std::to_string(n_dims) + " dimensions");
  std::vector<uint64_t> dims(static_cast<size_t>(n_dims));
  for (size_t i = dims.size(); i > 0; --i) dims[i - 1] = c.number(8);
  const uint64_t type = c.number(4);
  e.offset = c.number(8);
  e.t.format = format_of(type);
  if (e.t.format < 0) {
    e.t.refused = "has the format " + type_name(type) + ": F32, F16, BF16, Q8_0 and Q4_0 are read, the others are not";
  }
  set_shape(e.t, dims);
  const bool in_blocks = e.t.format == HEED_Q8_0 || e.t.format == HEED_Q4_0;
  if (in_blocks && e.t.refused.empty() && (dims.empty() || dims.back() % 32 != 0)) {
    refuse(e.t.name, "is damaged: its rows are no whole blocks of 32");
  }
  return e;
}

}  // namespace

std::vector<tensor> read_gguf(span file) {
  cursor c(file);
  if (file.size < 8 || std::memcmp(file.data, "GGUF", 4) != 0) throw refusal("is no GGUF file");
  c.skip(4);
  const uint64_t version = c.number(4);
  if (version != 2 && version != 3) throw refusal("has version " + std::to_string(version) + " of GGUF: 2 and 3 are read");
  const uint64_t n_tensors = c.number(8), n_values = c.number(8), alignment = read_metadata(c, n_values);
  std::vector<entry> entries;
  for (uint64_t i = 0; i < n_tensors; ++i) entries.push_back(read_entry(c));
  const uint64_t first = (c.at() + alignment - 1) / alignment * alignment;
  std::vector<tensor> tensors;
  for (entry &e : entries) {
    if (e.t.refused.empty()) {
      const uint64_t n_bytes = bytes_of(e.t);
      if (first > file.size || e.offset > file.size - first || n_bytes > file.size - first - e.offset) {
        refuse(e.t.name, "lies beyond the end: the file is truncated or damaged");
      }
      e.t.refer({file.data + first + e.offset, static_cast<size_t>(n_bytes)});
    }
    tensors.push_back(std::move(e.t));
  }
  return tensors;
}

}  // namespace heed_import
