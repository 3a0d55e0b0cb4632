// See dreams_files.hpp. SPDX-License-Identifier: MIT
#include "dreams_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "../files.hpp"
#include "../names.hpp"

namespace dreams_files {
namespace {

constexpr size_t line = DREAMS_FILE_ALIGNMENT, llama2_header_bytes = 28;

[[noreturn]] void refuse(const std::string &path, const std::string &why) {
  throw std::runtime_error(path + ": " + why);
}

// A flat file as it grows.
class flat_writer {
 public:
  explicit flat_writer(int32_t dtype) : words_(sizeof(dreams_header) / 4), format_(dtype) {}

  void norm(const float *weights, int32_t n) { put(weights, size_t(n) * 4); }

  // (n_out, n_in) or (n_in, n_out) floats become (n_in, n_out) in the format.
  void matrix(const heed_weights &w) {
    const size_t n_in = size_t(w.n_in), n_out = size_t(w.n_out);
    const ptrdiff_t in = w.layout == HEED_OUT_IN ? 1 : w.row_stride, out = w.layout == HEED_OUT_IN ? w.row_stride : 1;
    const float *numbers = static_cast<const float *>(w.data);
    std::vector<float> transposed(n_in * n_out);
    for (size_t i = 0; i < n_in; ++i)
      for (size_t o = 0; o < n_out; ++o) transposed[i * n_out + o] = numbers[ptrdiff_t(i) * in + ptrdiff_t(o) * out];
    if (format_ == HEED_F32) return put(transposed.data(), transposed.size() * 4);
    std::vector<int8_t> narrow(transposed.size());
    std::vector<float> scales(n_out);
    const heed_status status = heed_weights_quantize(heed_matrix_of(transposed.data(), w.n_in, w.n_out), HEED_IN_OUT,
                                                     narrow.data(), scales.data());
    if (status != HEED_OK) throw std::runtime_error(heed_status_text(status));
    put(narrow.data(), narrow.size());
    put(scales.data(), scales.size() * 4);
  }

  std::vector<uint32_t> finish(const int32_t *dims) {
    dreams_header header = {};
    header.magic[0] = DREAMS_FILE_MAGIC_0;
    header.magic[1] = DREAMS_FILE_MAGIC_1;
    header.version = DREAMS_FILE_VERSION;
    if (words_.size() > UINT32_MAX / 4)
      throw std::runtime_error("the flat file has more than 4 GB, which it cannot state");
    header.n_bytes = uint32_t(4 * words_.size());
    header.checksum = dreams_checksum(&words_[sizeof header / 4], words_.size() - sizeof header / 4);
    header.dtype = format_;
    std::copy(dims, dims + 7, header.dims);
    std::memcpy(words_.data(), &header, sizeof header);
    return std::move(words_);
  }

 private:
  void put(const void *data, size_t n_bytes) {
    const size_t first = words_.size();
    words_.resize(first + (n_bytes + line - 1) / line * line / 4);
    std::memcpy(&words_[first], data, n_bytes);
  }
  std::vector<uint32_t> words_;
  int32_t format_;
};

// Whole numbers, and nothing else.
std::vector<int32_t> numbers_of(const std::string &path, const std::string &list) {
  std::vector<int32_t> numbers;
  std::istringstream in(list);
  for (std::string word; in >> word;) {
    int32_t number = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
    if (read.ec != std::errc() || read.ptr != word.data() + word.size())
      refuse(path, names::for_terminal(word.substr(0, 60)) + " is not a whole number");
    numbers.push_back(number);
  }
  return numbers;
}

// What follows the word, which begins a line.
bool after(const std::string &line_of_file, const std::string &word, std::string &rest) {
  if (line_of_file.compare(0, word.size() + 1, word + " ") != 0) return false;
  rest = line_of_file.substr(word.size() + 1);
  return true;
}

}  // namespace

std::vector<uint8_t> read(const std::string &path) { return files::read(path, SIZE_MAX); }

room::room(size_t n_bytes) : bytes_(n_bytes + 64) {}

heed_memory room::memory() {
  const size_t first = (64 - reinterpret_cast<uintptr_t>(bytes_.data()) % 64) % 64;
  return heed_memory_of(bytes_.data() + first, bytes_.size() - 64);
}

dreams_status open(dreams &net, const aligned_model &model, const dreams_settings &settings, room &memory) {
  size_t needed = 0;
  const dreams_status status = dreams_bytes(model.data(), model.size(), &settings, &needed);
  if (status != DREAMS_OK) return status;
  memory = room(needed);
  return dreams_open(&net, model.data(), model.size(), &settings, memory.memory());
}

dreams_status open(dreams_words &words, const std::vector<uint8_t> &tokenizer, int32_t n_tokens, room &memory,
                   int32_t *bad_token) {
  if (tokenizer.empty()) return DREAMS_WORDS_SHORT;  // its data may be null
  memory = room(DREAMS_WORDS_BYTES(n_tokens));
  return dreams_words_open(&words, tokenizer.data(), tokenizer.size(), n_tokens, memory.memory(), bad_token);
}

aligned_model::aligned_model(const std::vector<uint8_t> &file)
    : memory_(file.size() + 2 * line), n_bytes_(file.size()) {
  uint32_t magic = 0;
  if (file.size() >= 4) std::memcpy(&magic, file.data(), 4);
  const size_t header = magic == DREAMS_FILE_MAGIC_0 ? 0 : llama2_header_bytes;
  const size_t first = reinterpret_cast<uintptr_t>(memory_.data()) % line;
  data_ = memory_.data() + (line - first) % line + (line - header) % line;
  std::copy(file.begin(), file.end(), data_);
}

std::vector<uint32_t> flat_file(const std::string &path, const void *bytes, size_t n_bytes, int32_t dtype) {
  dreams_model m;
  dreams_status status = dreams_model_sizes(&m, bytes, n_bytes);
  room layers(status == DREAMS_OK ? DREAMS_MODEL_BYTES(m.n_layers) : 0);
  if (status == DREAMS_OK) status = dreams_model_read(&m, bytes, n_bytes, layers.memory());
  if (status != DREAMS_OK) refuse(path, dreams_status_text(status));
  if (m.embeddings.dtype != HEED_F32) refuse(path, "its weights are narrow already");
  const bool own_classifier = m.classifier.data != m.embeddings.data;
  flat_writer file(dtype);
  const auto norms = [&](const float *dreams_model_layer::*which) {
    for (int32_t l = 0; l < m.n_layers; ++l) file.norm(m.layers[l].*which, m.dim);
  };
  const auto matrices = [&](dreams_matrix first, dreams_matrix last) {
    for (int which = first; which <= last; ++which)
      for (int32_t l = 0; l < m.n_layers; ++l) file.matrix(m.layers[l].matrices[which]);
  };
  file.matrix(m.embeddings);
  norms(&dreams_model_layer::norm_1);
  matrices(DREAMS_WQ, DREAMS_WO);
  norms(&dreams_model_layer::norm_2);
  matrices(DREAMS_GATE, DREAMS_UP);
  file.norm(m.last_norm, m.dim);
  if (own_classifier) file.matrix(m.classifier);
  const int32_t n_tokens = own_classifier ? -m.n_tokens : m.n_tokens;
  const int32_t dims[7] = {m.dim, m.ffn_dim, m.n_layers, m.n_heads, m.n_kv_heads, n_tokens, m.n_positions};
  return file.finish(dims);
}

std::vector<expected_text> read_expected(const std::string &path) {
  const std::vector<uint8_t> file = read(path);
  std::istringstream in(std::string(file.begin(), file.end()));
  std::vector<expected_text> all;
  expected_text one;
  bool in_text = false;
  std::string rest;
  for (std::string text; std::getline(in, text);) {
    if (after(text, "smallest_gap", rest)) {
      in_text = false;
    } else if (in_text) {
      one.text += "\n" + text;
    } else if (after(text, "prompt", rest)) {
      one = expected_text();
      one.prompt = rest;
    } else if (after(text, "prompt_tokens", rest)) {
      one.prompt_tokens = numbers_of(path, rest);
    } else if (after(text, "tokens", rest)) {
      one.tokens = numbers_of(path, rest);
    } else if (after(text, "text", one.text)) {
      in_text = true;
    } else if (after(text, "logits", rest)) {
      const std::vector<int32_t> numbers = numbers_of(path, rest);
      if (numbers.size() != 2 || numbers[0] < 0 || numbers[0] % 4 != 0 || numbers[1] < 1)
        refuse(path, "\"" + names::for_terminal(text) + "\": no offset and rows");
      one.first_logit = size_t(numbers[0]) / 4;  // stated in bytes
      one.n_rows = size_t(numbers[1]);
    } else if (text == "end") {
      if (one.prompt_tokens.empty() || one.prompt_tokens.size() > one.n_rows || one.tokens.size() != one.n_rows + 1)
        refuse(path, "prompt \"" + names::for_terminal(one.prompt) + "\" has other numbers of tokens and logits");
      all.push_back(one);
    }
  }
  if (all.empty()) refuse(path, "lists no prompts");
  return all;
}

std::vector<float> read_floats(const std::string &path) {
  const std::vector<uint8_t> bytes = read(path);
  if (bytes.size() % 4 != 0) refuse(path, "has no whole number of floats of 4 bytes");
  std::vector<float> numbers(bytes.size() / 4);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const uint8_t *p = &bytes[4 * i];
    const uint32_t word = p[0] | uint32_t(p[1]) << 8 | uint32_t(p[2]) << 16 | uint32_t(p[3]) << 24;
    std::memcpy(&numbers[i], &word, 4);
  }
  return numbers;
}

void require_ok(const dreams &net, dreams_status status, const std::string &what) {
  if (status == DREAMS_OK) return;
  std::string why = dreams_status_text(status);
  if (status == DREAMS_HEED_FAILED || (status == DREAMS_SETTINGS && net.failure != HEED_OK))
    why += std::string(" (") + heed_status_argument(net.failure) + ": " + heed_status_text(net.failure) + ")";
  throw std::runtime_error(what + ": " + why);
}

}  // namespace dreams_files
