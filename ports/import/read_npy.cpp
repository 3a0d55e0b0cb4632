// See readers.hpp. The format: numpy.lib.format. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>

#include "checked_reader.hpp"
#include "flat_file.hpp"
#include "readers.hpp"
#include "tflite_as_onnx.hpp"
#include "vocabulary.hpp"

namespace heed_import {
namespace {

// What stands behind 'KEY': in the header, which is a dictionary of Python.
std::string after(const std::string &header, const std::string &key) {
  const size_t at = header.find("'" + key + "':");
  if (at == std::string::npos) throw refusal("is damaged: its header has no '" + key + "'");
  const size_t value = header.find_first_not_of(' ', at + key.size() + 3);
  return value == std::string::npos ? "" : header.substr(value);
}

int32_t format_of(const std::string &type) {
  if (type == "<f4") return HEED_F32;
  if (type == "<f2") return HEED_F16;
  if (type == "<f8") return format_f64;
  if (type == "|u1") return HEED_FILE_U8;
  if (type == "|i1") return HEED_FILE_I8;
  throw refusal("is of '" + type + "': '<f8', '<f4', '<f2', '|u1' and '|i1' are read");
}

// "(3, 4), ...", "(3,)", "()".
std::vector<uint64_t> shape_of(const std::string &text) {
  std::vector<uint64_t> dims;
  const size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string::npos) throw refusal("is damaged: its shape is none");
  const char *at = text.c_str() + 1;
  while (at < text.c_str() + end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    if (*at < '0' || *at > '9') throw refusal("is damaged: its shape is none");
    char *next;
    dims.push_back(std::strtoull(at, &next, 10));
    at = next;
  }
  return dims;
}

// What the header says of the numbers, which c is then at.
struct description {
  std::string type;
  std::vector<uint64_t> dims;
};
description read_header(checked_reader &c, span file) {
  if (file.size < 10 || std::memcmp(file.data, "\x93NUMPY", 6) != 0)
    throw refusal("is no .npy file, or it is truncated");
  c.skip(6);
  const uint64_t version = c.number(2) & 255;
  const std::string header = c.text(c.number(version == 1 ? 2 : 4));
  const std::string type = after(header, "descr");
  description d = {type.size() < 2 ? type : type.substr(1, type.find('\'', 1) - 1), shape_of(after(header, "shape"))};
  if (d.dims.size() > 1 && after(header, "fortran_order").compare(0, 5, "False") != 0)
    throw refusal("lies in Fortran's order: save numpy.ascontiguousarray(a)");
  return d;
}

// Bytes of a whole number; 0: the type is another.
int whole_number_bytes(const std::string &type) {
  if (type == "<i8" || type == "<u8") return 8;
  if (type == "<i4" || type == "<u4") return 4;
  if (type == "<i2" || type == "<u2") return 2;
  return type == "|i1" || type == "|u1" ? 1 : 0;
}

}  // namespace

std::vector<tensor> read_npy(span file, const std::string &name) {
  checked_reader c(file);
  const description d = read_header(c, file);
  tensor t;
  t.name = name;
  t.dtype = format_of(d.type);
  set_shape(t, d.dims);
  if (!t.refused.empty()) throw refusal(t.refused);
  if (c.left() != (is_usable(t) ? bytes_of(t) : 0)) throw refusal("has more or fewer bytes than its shape says");
  if (t.dtype == HEED_FILE_U8 || t.dtype == HEED_FILE_I8) t.scales = {1}, t.zeros = {0};
  t.refer(c.take(c.left()));
  std::vector<tensor> tensors;
  tensors.push_back(std::move(t));
  return tensors;
}

std::vector<int64_t> read_npy_integers(span file, std::vector<uint64_t> &dims) {
  checked_reader c(file);
  const description d = read_header(c, file);
  const int size = whole_number_bytes(d.type);
  if (size == 0) throw refusal("is of '" + d.type + "', and not of whole numbers, such as '<i8' or '<i4'");
  const uint64_t n = c.left() / static_cast<uint64_t>(size);
  uint64_t count = 1;
  if (std::find(d.dims.begin(), d.dims.end(), 0u) != d.dims.end()) count = 0;
  for (const uint64_t dim : d.dims) {
    if (dim > 0 && count > n / dim) throw refusal("has fewer bytes than its shape says");
    count *= dim;
  }
  if (c.left() != count * static_cast<uint64_t>(size)) throw refusal("has more or fewer bytes than its shape says");
  dims = d.dims;
  const span all = c.take(c.left());
  std::vector<int64_t> numbers;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bits = number_at(all.data + i * static_cast<uint64_t>(size), size);
    const int unused = 64 - 8 * size;
    const bool is_signed = d.type[1] == 'i';
    // A number of 8 bytes without a sign that is beyond int64 becomes negative, and no token is.
    numbers.push_back(is_signed ? static_cast<int64_t>(bits << unused) >> unused : static_cast<int64_t>(bits));
  }
  return numbers;
}

#ifndef HEED_IMPORT_TOKENIZERS
std::vector<tensor> tokenizer_of_gguf(const std::vector<tensor> &) {
  throw refusal("is not made: heed_import was built without utf8proc (Debian: libutf8proc-dev, nlohmann-json3-dev)");
}
std::vector<tensor> read_tokenizer_json(span) {
  throw refusal("is not read: heed_import was built without utf8proc (Debian: libutf8proc-dev, nlohmann-json3-dev)");
}
std::vector<tensor> read_pieces_json(span file) { return read_tokenizer_json(file); }
#endif

bool is_list_of_pieces(span file) {
  const std::string text(file.data, file.data + std::min<size_t>(file.size, 64));
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '[') return false;
  const size_t second = text.find_first_not_of(" \t\r\n", first + 1);
  return second != std::string::npos && text[second] == '[';
}

namespace {

// The tables of a vocabulary take the place of its lists. One that is not known is left out, and says why.
std::vector<tensor> with_tokenizer(std::vector<tensor> &&all) {
  const auto is_list = [](const tensor &t) {
    for (const char *const name : {"tokens", "scores", "token_type", "merges", "precompiled_charsmap"})
      if (t.name == std::string("tokenizer.ggml.") + name) return true;
    return false;
  };
  if (std::none_of(all.begin(), all.end(), is_list)) return std::move(all);
  std::vector<tensor> tables;
  try {
    tables = tokenizer_of_gguf(all);
  } catch (const refusal &error) {
    tensor t;
    t.name = "tokenizer", t.left_out = error.what(), t.is_metadata = true;
    all.push_back(std::move(t));
    return std::move(all);
  }
  for (tensor &t : all)
    if (!is_list(t)) tables.push_back(std::move(t));
  return tables;
}

}  // namespace

std::vector<tensor> read_model(span file, const std::string &path, std::vector<std::string> *others) {
  const auto ends = [&](const std::string &end) {
    return path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
  };
  if (file.size >= 8 && std::memcmp(file.data, "HEEDFILE", 8) == 0) return read_flat_file(file);
  if (file.size >= 4 && std::memcmp(file.data, "GGUF", 4) == 0) return with_tokenizer(read_gguf(file));
  if (file.size >= 13 && std::memcmp(file.data, "heed-receipt ", 13) == 0) return read_receipt(file);
  if (file.size >= 6 && std::memcmp(file.data, "\x93NUMPY", 6) == 0) {
    const size_t slash = path.find_last_of('/'), from = slash == std::string::npos ? 0 : slash + 1;
    return read_npy(file, path.substr(from, path.find_last_of('.') - from));
  }
  if (is_tflite(file)) return read_tflite(file);
  if (ends(".onnx")) {
    std::vector<std::string> beside;
    return read_onnx_beside(file, path, others == nullptr ? beside : *others);
  }
  if (ends(".safetensors")) return read_safetensors(file);
  if (ends("tokenizer.json")) return read_tokenizer_json(file);
  if (ends("vocab.json") && is_list_of_pieces(file)) return read_pieces_json(file);
  throw refusal("is neither .npy nor .safetensors nor GGUF nor .onnx nor .tflite nor tokenizer.json");
}

}  // namespace heed_import
