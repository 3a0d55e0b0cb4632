// See readers.hpp. The format: github.com/ggml-org/ggml, docs/gguf.md. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>

#include "checked_reader.hpp"
#include "ggml_blocks.hpp"
#include "readers.hpp"

namespace heed_import {
namespace {

std::string text(checked_reader &c) { return c.text(c.number(8)); }

// Bytes of a value of the metadata; 0 for texts and lists.
int value_bytes(uint64_t type) {
  static const int n_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  if (type > 12) throw refusal("is damaged: a value of an unknown type");
  return n_bytes[type];
}

// What the file says of the model, as tensors of the flat file: numbers are lines of the text "metadata"; a text, a list and an array
// are tensors of their own.
class metadata {
 public:
  void add_number(const std::string &key, const std::string &value) {
    if (key.empty() || key.find_first_of(" \n") != std::string::npos || key.find('\0') != std::string::npos)
      throw refusal("is damaged: a key with a blank, a line feed or a byte of 0");
    lines_ += key + " " + value + "\n";
  }
  void add(const std::string &key, int32_t dtype, bytes &&content) {
    tensor t;
    t.name = key, t.dtype = dtype, t.is_metadata = true;
    const uint64_t n = content.size() / static_cast<uint64_t>(number_bytes(dtype));
    if (key.empty() || n == 0) return;  // the flat file has no tensor without bytes
    if (n > INT32_MAX) refuse(key, "has 2^31 bytes or more");
    t.dims = {static_cast<uint32_t>(n)};
    t.own(std::move(content));
    tensors_.push_back(std::move(t));
  }
  void leave_out(const std::string &key, const std::string &why) {
    tensor t;
    t.name = key, t.left_out = why, t.is_metadata = true;
    tensors_.push_back(std::move(t));
  }
  std::vector<tensor> take() {
    add("metadata", HEED_FILE_TEXT, bytes(lines_.begin(), lines_.end()));
    return std::move(tensors_);
  }

 private:
  std::string lines_;
  std::vector<tensor> tensors_;
};

enum value_type { u8, i8, u16, i16, u32, i32, f32, boolean, text_value, list_value, u64, i64, f64 };

int64_t sign_extended(uint64_t word, int n_bytes) {
  const int unused = 64 - 8 * n_bytes;
  return static_cast<int64_t>(word << unused) >> unused;
}

std::string number_text(checked_reader &c, uint64_t type) {
  const int n_bytes = value_bytes(type);
  const span at = c.take(static_cast<uint64_t>(n_bytes));
  const uint64_t word = number_at(at.data, n_bytes);
  char text[40];
  double number;
  switch (type) {
    case f32:
      std::snprintf(text, sizeof text, "%.9g", static_cast<double>(f32_at(at.data)));
      return text;
    case f64:
      std::memcpy(&number, &word, 8);
      std::snprintf(text, sizeof text, "%.17g", number);
      return text;
    case i8:
    case i16:
    case i32:
    case i64:
      return std::to_string(sign_extended(word, n_bytes));
    default:
      return std::to_string(word);
  }
}

// Count, ends and texts, as heed_file.h has them.
bytes list_of_texts(checked_reader &c, size_t n) {
  std::vector<span> texts;
  uint64_t end = 0;
  bytes list;
  put(list, n, 4);
  for (size_t i = 0; i < n; ++i) {
    texts.push_back(c.take(c.number(8)));
    end += texts.back().size;
    if (end > INT32_MAX) throw refusal("has lists of 2^31 bytes or more");
    put(list, end, 4);
  }
  for (const span &text : texts) list.insert(list.end(), text.data, text.data + text.size);
  return list;
}

void read_list(checked_reader &c, const std::string &key, metadata &m) {
  const uint64_t type = c.number(4);
  if (type == list_value) throw refusal("is damaged: a list of lists");
  const int n_bytes = value_bytes(type);
  const size_t n = c.count(8, n_bytes == 0 ? 8 : static_cast<size_t>(n_bytes));
  if (type == text_value) return m.add(key, HEED_FILE_LIST, list_of_texts(c, n));
  bytes numbers;
  for (size_t i = 0; i < n; ++i) {
    const span at = c.take(static_cast<uint64_t>(n_bytes));
    const uint64_t word = number_at(at.data, n_bytes);
    const bool has_sign = type == i8 || type == i16 || type == i32;
    if (type == u64 || type == i64 || type == f64 || (type == u32 && word > INT32_MAX)) {
      c.skip(static_cast<uint64_t>(n - i - 1) * static_cast<uint64_t>(n_bytes));
      return m.leave_out(key, "has numbers of 64 bits, or of 2^31 and more");
    }
    put(numbers, has_sign ? static_cast<uint64_t>(sign_extended(word, n_bytes)) : word, 4);
  }
  m.add(key, type == f32 ? int32_t{HEED_F32} : int32_t{HEED_FILE_I32}, std::move(numbers));
}

// Returns the alignment of tensors.
uint64_t read_metadata(checked_reader &c, size_t n, metadata &m) {
  uint64_t alignment = 32;
  for (size_t i = 0; i < n; ++i) {
    const std::string key = text(c);
    const uint64_t type = c.number(4);
    if (type == list_value) {
      read_list(c, key, m);
    } else if (type == text_value) {
      const std::string value = text(c);
      m.add(key, HEED_FILE_TEXT, bytes(value.begin(), value.end()));
    } else if (key == "general.alignment" && type == u32) {
      alignment = c.number(4);
      if (alignment == 0 || alignment % 8 != 0)
        throw refusal("is damaged: an alignment of " + std::to_string(alignment));
    } else {
      value_bytes(type);  // refuses other types
      m.add_number(key, number_text(c, type));
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
      break;
  }
  const int32_t dtype = format_ggml + static_cast<int32_t>(type & 0xffff);
  return type < 0x10000 && ggml_block_of(dtype) != nullptr ? dtype : -1;
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
    e.t.refused = "has the format " + type_name(type) +
                  ", which is not read: llama-quantize makes another one of the file from which it was made";
  } else {
    set_shape(e.t, dims);
  }
  const uint64_t n = static_cast<uint64_t>(block_numbers(e.t.dtype));
  if (n > 1 && is_usable(e.t) && (dims.empty() || dims.back() % n != 0)) {
    refuse(e.t.name, "is damaged: its rows are no whole blocks of " + std::to_string(n));
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
  metadata values;
  const uint64_t alignment = read_metadata(c, n_values, values);
  std::vector<entry> entries;
  for (size_t i = 0; i < n_tensors; ++i) entries.push_back(read_entry(c));
  const bool has_numbers = std::any_of(entries.begin(), entries.end(), [](const entry &e) { return is_usable(e.t); });
  if (has_numbers) c.align(alignment);  // a file without numbers may end before
  std::vector<tensor> tensors = values.take();
  for (entry &e : entries) {
    if (is_usable(e.t)) e.t.refer(c.part(e.offset, bytes_of(e.t), e.t.name));
    tensors.push_back(std::move(e.t));
  }
  return tensors;
}

}  // namespace heed_import
