// Small good files of every kind that the project's programs read, for fuzz_readers.cpp. With a folder of a published model, that
// model's own file is a seed, too. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FUZZ_SEEDS_HPP
#define HEED_TESTS_SUPPORT_FUZZ_SEEDS_HPP

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "calibrate.hpp"
#include "dreams_models.hpp"
#include "flat_file.hpp"
#include "import_files.hpp"
#include "map.hpp"
#include "model_file.hpp"
#include "speech_model.h"

namespace heed_test {

using seeds = std::vector<bytes>;
namespace files = import_files;

// Of a folder that a variable names; nothing without it.
inline seeds of_folder(const char *variable, const char *name) {
  const char *folder = std::getenv(variable);
  if (!folder) return {};
  return {files::read_file(std::string(folder) + "/" + name)};
}

inline seeds npy_seeds() {
  const auto npy = [](const std::string &header, size_t n) {
    std::string padded = header;
    padded.resize(117, ' ');
    return files::add(files::letters("\x93NUMPY"), bytes{1, 0}, files::little(118, 2), files::letters(padded + "\n"),
                      bytes(n));
  };
  return {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24),
          npy("{'descr': '|i1', 'fortran_order': False, 'shape': (), }", 1),
          npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }", 32)};
}

inline seeds safetensors_seeds() {
  const std::string header =
      R"({"__metadata__":{"dtype":"pt"},"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("n":{"dtype":"BF16","shape":[2],"data_offsets":[16,20]},"p":{"dtype":"I64","shape":[1],"data_offsets":[20,28]}})";
  return {files::add(files::little(header.size(), 8), files::letters(header), bytes(28))};
}

inline seeds gguf_seeds() {
  const auto text = [](const std::string &t) { return files::add(files::little(t.size(), 8), files::letters(t)); };
  const auto entry = [&](const std::string &name, uint64_t n, uint64_t type, uint64_t offset) {
    return files::add(text(name), files::little(1, 4), files::little(n, 8), files::little(type, 4),
                      files::little(offset, 8));
  };
  bytes file = files::add(files::letters("GGUF"), files::little(3, 4), files::little(4, 8), files::little(2, 8));
  files::add(file, text("general.name"), files::little(8, 4), text("small"));
  files::add(file, text("tokens"), files::little(9, 4), files::little(8, 4), files::little(2, 8), text("a"), text("b"));
  files::add(file, entry("f", 6, 0, 0), entry("q4", 32, 2, 32), entry("q8", 32, 8, 64), entry("k", 256, 12, 0));
  file.resize((file.size() + 31) / 32 * 32);
  return {files::add(file, bytes(128, 0x3c))};
}

inline seeds onnx_seeds() {
  using namespace files::protobuf;
  const auto initializer = [](const std::string &name, uint64_t type, const bytes &numbers) {
    return text(5, files::add(number(1, 4), number(1, 4), number(2, type), text(8, name), text(9, numbers)));
  };
  const auto node = [](const std::string &kind, const std::vector<std::string> &inputs, const std::string &output) {
    bytes all;
    for (const std::string &input : inputs) files::add(all, text(1, input));
    return text(1, files::add(all, text(2, output), text(4, kind)));
  };
  const bytes floats = files::add(initializer("w", 1, bytes(64, 1)), node("MatMul", {"x", "w"}, "y"));
  const bytes quantized =
      files::add(initializer("q", 3, bytes(16, 3)), initializer("s", 1, bytes(64, 1)), initializer("z", 3, bytes(16)),
                 node("DequantizeLinear", {"q", "s", "z"}, "d"), node("Transpose", {"d"}, "t"),
                 node("Gemm", {"x", "t"}, "y"), node("QLinearMatMul", {"x", "s", "z", "q", "s", "z", "s", "z"}, "y2"));
  return {text(7, floats), text(7, quantized)};
}

inline seeds flat_file_seeds() {
  const auto make = [](const std::string &name, int32_t dtype, const std::vector<uint32_t> &dims, size_t n_bytes) {
    heed_import::tensor t;
    t.name = name, t.dtype = dtype, t.dims = dims, t.own(bytes(n_bytes, 7));
    if (dtype == HEED_INT8) t.scales = {1, 2};
    if (dtype == HEED_FILE_U8) t.scales = {1}, t.zeros = {3};
    return t;
  };
  std::vector<heed_import::tensor> all;
  all.push_back(make("norm", HEED_F32, {3}, 12));
  all.push_back(make("wq", HEED_INT8, {2, 3}, 6));
  all.push_back(make("blocks", HEED_Q4_0, {2, 32}, 36));
  all.push_back(make("u8", HEED_FILE_U8, {2, 3}, 6));
  return {heed_import::flat_file(all)};
}

inline seeds int_model_seeds() {
  seeds all;
  for (const bool gated : {false, true}) {
    random_source r(9);
    std::vector<float> w(4096);
    for (float &x : w) x = r.bell() / 4;
    heed_attention_layer a = heed_attention_layer_default(8, 2);
    a.wq = a.wk = a.wv = a.wo = heed_weights_of(w.data(), nullptr, HEED_F32, HEED_OUT_IN, 8, 8);
    heed_transformer_layer l = heed_transformer_layer_default(&a, 12, heed_layer_norm, heed_gelu);
    l.w_up = heed_weights_of(w.data(), nullptr, HEED_F32, HEED_OUT_IN, 8, 12);
    if (gated) l.w_gate = l.w_up;
    l.w_down = heed_weights_of(w.data(), nullptr, HEED_F32, HEED_OUT_IN, 12, 8);
    l.norm1_weight = l.norm2_weight = w.data();
    calibrate::layer c(l);
    c.see(std::vector<float>(w.begin(), w.begin() + 40), 5);
    std::vector<calibrate::int_layer> layers;
    layers.push_back(c.quantize());
    all.push_back(calibrate::model_file(layers));
  }
  return all;
}

inline seeds tflite_seeds() { return of_folder("HEED_KWT1", "non_stream.tflite"); }

inline seeds wav_seeds() {
  const auto wav = [](uint64_t dtype, uint64_t channels, uint64_t rate, uint64_t bits, uint64_t n_bytes) {
    const bytes head = files::add(files::letters("WAVEfmt "), files::little(16, 4), files::little(dtype, 2),
                                  files::little(channels, 2), files::little(rate, 4),
                                  files::little(rate * channels * bits / 8, 4), files::little(channels * bits / 8, 2),
                                  files::little(bits, 2), files::letters("data"), files::little(n_bytes, 4), bytes(64));
    return files::add(files::letters("RIFF"), files::little(head.size(), 4), head);
  };
  return {wav(1, 1, 16000, 16, 64), wav(1, 2, 44100, 16, 64), wav(3, 1, 16000, 32, 0),
          wav(1, 1, 16000, 16, 0xffffffff)};
}

inline seeds map_seeds() {
  heed_map::panel p;
  p.rows = {"query", {"a", "b"}, "", 0.0, 1.0};
  p.columns = {"time", {}, "s", 0.05, 0.1};
  p.n_rows = 2, p.n_columns = 3, p.values = {0.0f, 0.5f, 1.0f, 0.25f, 0.75f, 2.0f};
  const char *const path = "seed.map";
  heed_map::write_map({"title", "note", 1, {p}}, path);
  const seeds all = {files::read_file(path)};
  std::remove(path);
  return all;
}

// A folder with weights and rows for the text below, in the folder that the program runs in.
inline std::string description_folder() {
  const std::string folder = "described";
  std::filesystem::create_directory(folder);
  const bytes numbers(4 * (2 * (2 * 16 * 32 + 2 * 16 * 16 + 3 * 16 * 24 + 16 * 5 + 24)), 0x3e);
  for (const char *file : {"/w.f32", "/x.f32"})
    std::ofstream(folder + file, std::ios::binary)
        .write(reinterpret_cast<const char *>(numbers.data()), std::streamsize(numbers.size()));
  return folder;
}

inline seeds description_seeds() {
  return {files::letters(
      "# a model\nlayers 2 model_dim 16 ffn_dim 24\nheads 2 kv_heads 1 head_dim 16\nnorm rms norm_first 1 eps "
      "1e-5\nactivation silu gated 1 layout out_in causal 1\nbiases wo w_up norm1 norm2\nweights w.f32 rows "
      "x.f32 sequence 1\n")};
}

inline seeds checkpoint_seeds() {
  seeds all = {random_dreams({8, 12, 2, 2, 1, 20, 16}, 1), random_dreams({8, 12, 2, 2, 2, -20, 16}, 2)};
  for (const int32_t dtype : {HEED_F32, HEED_INT8}) {
    const dreams_files::aligned_model aligned(all[0]);
    const std::vector<uint32_t> words = dreams_files::flat_file("", aligned.data(), aligned.size(), dtype);
    const uint8_t *first = reinterpret_cast<const uint8_t *>(words.data());
    all.push_back(bytes(first, first + 4 * words.size()));
  }
  return all;
}

inline seeds vocabulary_seeds() {
  bytes pieces(3, 0);
  for (int i = 3; i < SPEECH_PIECES; ++i)
    pieces.push_back(i % 3 ? 1 : 2), pieces.insert(pieces.end(), i % 3 ? 1 : 2, 'a');
  return {pieces};
}

inline seeds receipt_seeds() {
  return {files::letters(
      "heed-receipt 1\ncontract 51903703\narithmetic fma\nprogram dreams\nmodel " + std::string(64, 'a') +
      "\ndigest fingerprint\nlevel rows\nsetting prompt 1\nsetting cache int8\nsetting temperature 0.8\n"
      "input rows 4 " +
      std::string(64, 'b') + "\nrow 0 0 " + std::string(32, 'c') + "\nrow 1 0 " + std::string(32, 'd') +
      "\nlayer 0 1 " + std::string(32, 'e') + "\ntoken 0 1\nend \n")};
}

inline seeds numbers_seeds() { return {files::letters("0 0 1 2.5 -3e-7\n1 0 nan inf 0.1\n")}; }

inline seeds tokenizer_seeds() { return {tokenizer_of(small_vocabulary()), tokenizer_of({"a", "b", " "})}; }

}  // namespace heed_test

#endif
