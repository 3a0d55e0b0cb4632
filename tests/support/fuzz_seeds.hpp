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
#include "flat_file.hpp"
#include "import_files.hpp"
#include "map.hpp"
#include "model_file.hpp"
#include "tokenizer_form.h"

namespace heed_test {

using heed_import::bytes;
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

inline seeds words_of_gguf_seeds() {
  using namespace files;
  const auto text = [](const std::string &t) { return add(little(t.size(), 8), letters(t)); };
  const auto list = [&](const std::string &key, uint64_t type, const std::vector<bytes> &parts) {
    bytes all = add(text("tokenizer.ggml." + key), little(9, 4), little(type, 4), little(parts.size(), 8));
    for (const bytes &part : parts) add(all, part);
    return all;
  };
  const auto file = [&](const std::string &model, const std::vector<bytes> &tokens, const bytes &more) {
    bytes all = add(letters("GGUF"), little(3, 4), little(0, 8), little(6, 8));
    add(all, text("tokenizer.ggml.model"), little(8, 4), text(model), list("tokens", 8, tokens));
    add(all, list("token_type", 5, {little(2, 4), little(6, 4), little(1, 4), little(1, 4), little(1, 4)}));
    add(all, list("scores", 6, std::vector<bytes>(5, little(0xc0000000, 4))));
    add(all, text("tokenizer.ggml.unknown_token_id"), little(4, 4), little(0, 4));
    return add(all, more);
  };
  const bytes merges = list("merges", 8, {text("a b")}),
              map = list("precompiled_charsmap", 0, std::vector<bytes>(16, little(0, 1)));
  const std::vector<bytes> tokens = {text("<unk>"), text("<0x41>"), text("a"), text("b"), text("ab")};
  return {file("gpt2", tokens, merges), file("llama", tokens, merges), file("t5", tokens, map),
          file("bert", tokens, merges)};
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

inline seeds tokenizer_json_seeds() {
  const auto model = [](const std::string &parts, const std::string &of_model) {
    return files::letters("{" + parts + "\"model\":{" + of_model + "}}");
  };
  return {model(R"("pre_tokenizer":{"type":"ByteLevel"},"added_tokens":[{"id":3,"content":"<s>","special":true}],)",
                R"("type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"])"),
          model(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAAAA=="},)",
                R"("type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["a",-1.5]])"),
          model(R"("pre_tokenizer":{"type":"BertPreTokenizer"},)",
                R"("type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"a":1,"##b":2})")};
}

// A tokenizer of three tokens, as vocabulary.cpp writes one. Each block of 256 characters has the classes of the first.
inline bytes words_of_file(int32_t model, int32_t flags, int32_t split) {
  std::vector<heed_import::tensor> all;
  const auto add = [&](const std::string &name, int32_t dtype, size_t n, bytes content) {
    heed_import::tensor t;
    t.name = name, t.dtype = dtype, t.dims = {static_cast<uint32_t>(n)}, t.is_metadata = true;
    t.own(std::move(content));
    all.push_back(std::move(t));
  };
  const auto words = [](const std::vector<int32_t> &numbers) {
    bytes content;
    for (const int32_t n : numbers) files::add(content, files::little(static_cast<uint32_t>(n), 4));
    return content;
  };
  const auto add_integers = [&](const std::string &name, const std::vector<int32_t> &numbers) {
    add(name, HEED_FILE_I32, numbers.size(), words(numbers));
  };
  const auto add_list = [&](const std::string &name, const std::vector<int32_t> &ends, const std::string &texts) {
    bytes list = words({static_cast<int32_t>(ends.size())});
    files::add(list, words(ends), files::letters(texts));
    add(name, HEED_FILE_LIST, list.size(), list);
  };
  std::vector<int32_t> facts(n_facts), of_bytes(512, -1);
  facts[fact_version] = facts[fact_growth] = facts[fact_n_added] = 1;
  facts[fact_model] = model, facts[fact_flags] = flags, facts[fact_split] = split, facts[fact_digits] = 3;
  facts[fact_unknown] = model == model_wordpiece ? 2 : -1, facts[fact_longest_word] = 9;
  facts[fact_n_sorted] = 3, facts[fact_n_pairs] = model == model_bpe;
  facts[fact_n_marks] = flags & flag_nfc ? 2 : 0, facts[fact_n_compositions] = flags & flag_nfc ? 1 : 0;
  of_bytes['a'] = 0, of_bytes['b'] = 1;
  bytes classes(2 * class_blocks + class_block, 0);
  for (int32_t c = 0; c < class_block; ++c) {
    const bool is_letter = c >= 'A' && c <= 'z', is_blank = c <= ' ' || c == 0x85;
    uint8_t &of = classes[2 * class_blocks + static_cast<size_t>(c)];
    of = c >= '0' && c <= '9' ? class_number : is_letter ? class_lower : is_blank ? class_blank : class_other;
    if (c == 'A' || c == 1) of = static_cast<uint8_t>(of + 16 * action_replace);
    if (c == 0) of = static_cast<uint8_t>(of + 16 * action_hangul);
  }
  add_integers("tokenizer", facts);
  add_list("tokenizer.tokens", {1, 2, 4}, "abab");
  add("tokenizer.kinds", HEED_FILE_TEXT, 3, bytes(3));
  add_integers("tokenizer.bytes", of_bytes);
  add_integers("tokenizer.sorted", {0, 2, 1});
  add_integers("tokenizer.added", {2});
  add_list("tokenizer.added_texts", {5}, "[SEP]");
  add("tokenizer.classes", HEED_FILE_TEXT, classes.size(), classes);
  if (model == model_bpe) add_integers("tokenizer.first", {0, 1, 1, 1}), add_integers("tokenizer.pairs", {1, 0, 2});
  if (model == model_unigram)
    add("tokenizer.scores", HEED_F32, 3, words({-1082130432, -1082130432, -1082130432}));  // -1.0
  if (flags & (flag_replace | flag_nfc)) {
    add_list("tokenizer.keys", {1, 3}, "A\xc3\x81"), add_list("tokenizer.values", {1, 4}, "aa\xcc\x81");
    add_integers("tokenizer.marks", {256 * 0x301 + 230, 256 * 0x323 + 220});
    add_integers("tokenizer.compositions", {'a', 0x301, 0xe1});
  }
  if (flags &
      flag_map) {  // "A" is "a": the root, whose children are where they are, and a child whose text is the first
    std::vector<int32_t> units(256);
    units['A'] = 'A' | 0x100, units[0] = 0;
    bytes map = words({4 * 256});
    files::add(map, words(units), files::letters(std::string("a\0", 2)));
    add("tokenizer.map", HEED_FILE_TEXT, map.size(), map);
  }
  return heed_import::flat_file(all);
}
inline seeds words_of_file_seeds() {
  return {words_of_file(model_bpe, flag_bytes, split_gpt2),
          words_of_file(model_bpe, flag_bytes | flag_nfc, split_gpt4o),
          words_of_file(model_bpe, flag_blank_each | flag_replace, split_blanks),
          words_of_file(model_unigram, flag_map | flag_one_unknown | flag_trim | flag_one_blank, split_blanks),
          words_of_file(model_wordpiece, flag_replace, split_bert)};
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

inline seeds tflite_tensors_seeds() { return {import_files::tflite_file({import_files::small_tflite_tensor()})}; }
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

inline seeds receipt_seeds() {
  return {files::letters(
      "heed-receipt 1\ncontract 51903703\narithmetic fma\nprogram dreams\nmodel " + std::string(64, 'a') +
      "\ndigest fingerprint\nlevel rows\nsetting prompt 1\nsetting cache int8\nsetting temperature 0.8\n"
      "input rows 4 " +
      std::string(64, 'b') + "\nrow 0 0 " + std::string(32, 'c') + "\nrow 1 0 " + std::string(32, 'd') +
      "\nlayer 0 1 " + std::string(32, 'e') + "\ntoken 0 1\nend \n")};
}

inline seeds numbers_seeds() { return {files::letters("0 0 1 2.5 -3e-7\n1 0 nan inf 0.1\n")}; }

}  // namespace heed_test

#endif
