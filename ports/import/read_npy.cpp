// See readers.hpp. The format: numpy.lib.format. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>

#include "checked_reader.hpp"
#include "flat_file.hpp"
#include "readers.hpp"
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

}  // namespace

std::vector<tensor> read_npy(span file, const std::string &name) {
  if (file.size < 10 || std::memcmp(file.data, "\x93NUMPY", 6) != 0)
    throw refusal("is no .npy file, or it is truncated");
  checked_reader c(file);
  c.skip(6);
  const uint64_t version = c.number(2) & 255;
  const std::string header = c.text(c.number(version == 1 ? 2 : 4));
  tensor t;
  t.name = name;
  const std::string type = after(header, "descr");
  t.dtype = format_of(type.size() < 2 ? type : type.substr(1, type.find('\'', 1) - 1));
  set_shape(t, shape_of(after(header, "shape")));
  if (!t.refused.empty()) throw refusal(t.refused);
  if (t.dims.size() > 1 && after(header, "fortran_order").compare(0, 5, "False") != 0) {
    throw refusal("lies in Fortran's order: save numpy.ascontiguousarray(a)");
  }
  if (c.left() != (is_usable(t) ? bytes_of(t) : 0)) throw refusal("has more or fewer bytes than its shape says");
  if (t.dtype == HEED_FILE_U8 || t.dtype == HEED_FILE_I8) t.scales = {1}, t.zeros = {0};
  t.refer(c.take(c.left()));
  std::vector<tensor> tensors;
  tensors.push_back(std::move(t));
  return tensors;
}

#ifndef HEED_IMPORT_TOKENIZERS
std::vector<tensor> tokenizer_of_gguf(const std::vector<tensor> &) {
  throw refusal("is not made: heed_import was built without utf8proc (Debian: libutf8proc-dev, nlohmann-json3-dev)");
}
std::vector<tensor> read_tokenizer_json(span) {
  throw refusal("is not read: heed_import was built without utf8proc (Debian: libutf8proc-dev, nlohmann-json3-dev)");
}
#endif

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

std::vector<tensor> read_model(span file, const std::string &path) {
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
  if (ends(".onnx")) return read_onnx(file);
  if (ends(".safetensors")) return read_safetensors(file);
  if (ends("tokenizer.json")) return read_tokenizer_json(file);
  throw refusal("is neither .npy nor .safetensors nor GGUF nor .onnx nor tokenizer.json");
}

}  // namespace heed_import
