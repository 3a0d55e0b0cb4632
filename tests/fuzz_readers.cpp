// libFuzzer over every reader of files. A damaged file is refused or read, and never does harm: the sanitizers see to it.
//   heed_fuzz_readers --reader=NAME [libFuzzer's arguments]    one of the readers below
//   heed_fuzz_readers --reader=NAME --seeds=FOLDER             writes small good files of this reader into FOLDER, and ends
// Readers that compare a sum get the right one, or no damage would pass it. SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "calibrate.hpp"
#include "description.hpp"
#include "int_model.h"
#include "map.hpp"
#include "kwt_network.hpp"
#include "readers.hpp"
#include "runs.hpp"
#include "support/fuzz_seeds.hpp"
#include "tokenizer.h"
#include "vocabulary.hpp"
#include "wav.h"
#ifdef HEED_TEST_COMPILE
#include "published.hpp"
#include "support/published_models.hpp"
#ifdef HEED_IMPORT_ONNX
#include "onnx/operators.hpp"
#include "support/onnx_model.hpp"
#include "support/tflite_file.hpp"
#include "support/tfjs_model.hpp"
#endif
#endif

namespace {

using heed_import::bytes;
using heed_import::span;

// What a reader's functions throw is its answer.
void answer(const std::function<void()> &read) {
  try {
    read();
  } catch (const std::runtime_error &) {
  } catch (const std::invalid_argument &) {
  }
}

// A file in memory that has a path.
class memory_file {
 public:
  memory_file() : file_(memfd_create("heed", 0)) {
    if (file_ < 0) std::abort();
  }
  std::string hold(const uint8_t *data, size_t size) const {
    if (ftruncate(file_, 0) != 0 || pwrite(file_, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
    return "/proc/self/fd/" + std::to_string(file_);
  }

 private:
  int file_;
};

// A copy of exactly this size, aligned to 64 bytes, so that a read beyond its end is seen.
class image {
 public:
  image(const uint8_t *data, size_t size) : size_(size) {
    if (posix_memalign(&data_, 64, size ? size : 1) != 0) std::abort();
    if (size) std::memcpy(data_, data, size);
  }
  ~image() { std::free(data_); }
  image(const image &) = delete;
  image &operator=(const image &) = delete;
  uint32_t word(size_t i) const {
    uint32_t w = 0;
    if (4 * i + 4 <= size_) std::memcpy(&w, bytes() + 4 * i, 4);
    return w;
  }
  void set_word(size_t i, uint32_t w) const {
    if (4 * i + 4 <= size_) std::memcpy(bytes() + 4 * i, &w, 4);
  }
  uint8_t *bytes() const { return static_cast<uint8_t *>(data_); }
  size_t size() const { return size_; }

 private:
  void *data_ = nullptr;
  size_t size_;
};

// FNV-1a over words, the last one filled up with 0, as the formats of heed have it.
uint32_t sum_of(const uint8_t *data, size_t n, uint32_t sum = 2166136261u) {
  for (size_t i = 0; i < n; i += 4) {
    uint32_t word = 0;
    std::memcpy(&word, data + i, n - i < 4 ? n - i : 4);
    sum = (sum ^ word) * 16777619u;
  }
  return sum;
}

template <std::vector<heed_import::tensor> read(span)>
void import(const uint8_t *data, size_t size) {
  answer([&] {
    const std::vector<uint8_t> exact(data, data + size);
    for (const heed_import::tensor &t : read({exact.data(), exact.size()}))
      if (t.left_out.empty() && t.refused.empty() && t.numbers().size > 0) heed_import::floats_of(t);
  });
}
std::vector<heed_import::tensor> read_one(span file) {
  try {
    std::vector<uint64_t> dims;
    (void)heed_import::read_npy_integers(file, dims);
  } catch (const heed_import::refusal &) {
  }
  return heed_import::read_npy(file, "w");
}

void right_sums(const image &file) {
  const size_t table = file.word(5);
  if (table >= 64 && table <= file.size()) file.set_word(6, sum_of(file.bytes() + 64, table - 64));
}

void flat_file(const uint8_t *data, size_t size) {
  const image file(data, size);
  right_sums(file);
  heed_file f;
  if (heed_file_open(&f, file.bytes(), size) != nullptr) return;
  (void)heed_file_check(&f);
  for (uint32_t i = 0; i < f.n_tensors; i++) {
    const heed_file_tensor t = heed_file_tensor_at(&f, i);
    heed_weights w;
    const float *floats;
    (void)heed_file_weights(&f, t.name, t.n_in, t.n_out, &w);
    (void)heed_file_zero_points(&f, t.name, t.n_in, t.n_out, &w);
    (void)heed_file_blocks(&f, t.name, t.n_in, t.n_out, &w);
    (void)heed_file_packed(&f, t.name, t.n_in, t.n_out, &w);
    if (heed_file_floats(&f, t.name, t.n_in * t.n_out, &floats) == nullptr && floats[0] != floats[0]) return;
  }
}

#ifdef HEED_IMPORT_TOKENIZERS
// With the tables of its vocabulary, if it has one.
std::vector<heed_import::tensor> read_gguf_and_words(span file) {
  std::vector<heed_import::tensor> all = heed_import::read_gguf(file);
  (void)heed_import::tokenizer_of_gguf(all);
  return all;
}
#endif

// The tables of a tokenizer, which are used as they are found.
void words_of_file(const uint8_t *data, size_t size) {
  const image file(data, size);
  right_sums(file);
  heed_file f;
  heed_tokenizer t;
  if (heed_file_open(&f, file.bytes(), size) != nullptr || heed_tokenizer_open(&t, &f) != nullptr) return;
  int32_t tokens[64], n = 0;
  uint64_t workspace[512];
  static const char text[] = "ab AB\xcc\x81 12[SEP]\xea\xb0\x81\xff";
  (void)heed_tokenizer_encode(&t, text, sizeof text - 1, HEED_TOKENIZER_ADD | HEED_TOKENIZER_SPECIAL, tokens, 64, &n,
                              heed_memory_of(workspace, sizeof workspace));
  char piece[8];
  for (int32_t i = 0; i < n && i < 64; ++i) (void)heed_tokenizer_decode(&t, -1, tokens[i], piece, sizeof piece);
}

void int_model_file(const uint8_t *data, size_t size) {
  const image file(data, size);
  file.set_word(3, static_cast<uint32_t>(size));
  if (size > 20) file.set_word(4, int_model_checksum(file.bytes() + 20, size - 20));
  int_model m;
  if (int_model_open(&m, file.bytes(), size) != nullptr) return;
  const heed_int_layer layer = int_model_layer_of(&m, 0);
  const size_t least = heed_int_layer_min_bytes(&layer, 2);
  if (least == 0 || least > (1 << 24)) return;
  std::vector<int16_t> x(2 * static_cast<size_t>(layer.model_dim));
  void *const room = std::aligned_alloc(64, (least + 63) / 64 * 64);
  (void)int_model_run(&m, x.data(), 2, heed_memory_of(room, least));
  std::free(room);
}

void wav(const uint8_t *data, size_t size) {
  const std::vector<uint8_t> exact(data, data + size);
  wav_file file;
  if (wav_open(&file, exact.data(), exact.size()) != nullptr) return;
  for (size_t i = 0; i < file.n_samples * static_cast<size_t>(file.channels); i++) (void)wav_sample(&file, i);
}

void map(const uint8_t *data, size_t size) {
  static const memory_file file;
  answer([&] { (void)heed_map::blocks(heed_map::read_map(file.hold(data, size)), true); });
}

void kwt_tflite(const uint8_t *data, size_t size) {
  const std::vector<uint8_t> exact(data, data + size);
  answer([&] { (void)network::read_kwt(exact.data(), exact.size()); });
}

// The text; its files of numbers are there.
void description(const uint8_t *data, size_t size) {
  static const std::string folder = heed_test::description_folder();
  std::ofstream(folder + "/model.txt", std::ios::binary)
      .write(reinterpret_cast<const char *>(data), std::streamsize(size));
  answer([&] { (void)calibrate::read_description(folder + "/model.txt"); });
}

// Receipts end with the digest of their lines.
void receipt(const uint8_t *data, size_t size) {
  std::string text(data, data + size);
  const size_t end = text.rfind("\nend ");
  text.resize(end == std::string::npos ? text.size() : end + 1);
  const auto digest = receipts::digest_of(text.data(), text.size());
  text += "end ";
  for (const uint8_t byte : digest) text += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  text += "\n";
  answer([&] {
    const receipts::receipt r = receipts::read(text);
    if (!receipts::first_difference(r, r).is_equal) return;
    (void)receipts::settings_of(r);
    (void)receipts::bisect(text, text);
  });
}

// Rows of numbers, as heed_replay reads them.
void numbers(const uint8_t *data, size_t size) {
  static const memory_file file;
  const std::string path = file.hold(data, size);
  answer([&] {
    const std::vector<receipts::numbers> rows = receipts::read_numbers(path);
    (void)receipts::first_number(rows, rows);
  });
}

#ifdef HEED_TEST_COMPILE
// A folder that goes when the program ends.
std::string models_folder() {
  static const std::string folder = std::filesystem::temp_directory_path() / ("heed_fuzz." + std::to_string(getpid()));
  static const bool removes = std::atexit([] { std::filesystem::remove_all(models_folder()); }) == 0;
  static_cast<void>(removes);
  return folder;
}

// The tensors of a model without their numbers: what families.cpp looks for in them.
std::vector<heed_import::tensor> shells_of(const std::string &kind) {
  std::vector<heed_import::tensor> shells;
  heed_compile::published_model model;
  heed_compile::read_published(model, published::write(models_folder(), kind), {});
  for (const heed_import::tensor &t : model.tensors) {
    heed_import::tensor shell;
    shell.name = t.name, shell.dtype = t.dtype, shell.dims = t.dims;
    if (t.dims.size() == 1) shell.own(bytes(t.numbers().data, t.numbers().data + t.numbers().size));
    shells.push_back(std::move(shell));
  }
  return shells;
}

// config.json beside the tensors of three models; the context is what the user asks for.
void network_config(const uint8_t *data, size_t size) {
  static const std::vector<heed_import::tensor> models[] = {shells_of("llama"), shells_of("bert-classes"),
                                                            shells_of("deit")};
  for (const std::vector<heed_import::tensor> &tensors : models)
    answer([&] { plans_of(heed_compile::network_of_config(std::string(data, data + size), tensors, 100), tensors); });
}

// Metadata of GGUF as their reader gives them, lines of "KEY VALUE", behind a line with the family.
void network_metadata(const uint8_t *data, size_t size) {
  static std::vector<heed_import::tensor> tensors = shells_of("gguf-llama");
  const uint8_t *const end = std::find(data, data + size, '\n');
  for (heed_import::tensor &t : tensors) {
    if (t.name == "general.architecture") t.own(bytes(data, end));
    if (t.name == "metadata") t.own(bytes(end == data + size ? end : end + 1, data + size));
    if (t.dtype == HEED_FILE_TEXT) t.dims = {static_cast<uint32_t>(t.numbers().size)};
  }
  answer([&] { plans_of(heed_compile::network_of_gguf(tensors, 100), tensors); });
}

// A checkpoint of llama2.c; what follows its counts and floats is its tokenizer.
void llama2(const uint8_t *data, size_t size) {
  const std::vector<uint8_t> exact(data, data + size);
  for (const size_t n_model : {size_t{28 + 4 * (16 + 4 + 64 + 4 + 48 + 4 + 4)}, size})
    answer([&] {
      const size_t n = std::min(n_model, size);
      const std::vector<heed_import::tensor> all =
          heed_compile::read_checkpoint({exact.data(), n}, {exact.data() + n, size - n});
      plans_of(heed_compile::network_of_gguf(all, 100), all);
    });
}

#ifdef HEED_IMPORT_ONNX
// A graph, and what it computes of zeros.
void onnx_model(const uint8_t *data, size_t size) {
  static const memory_file file;
  heed_compile::most_numbers = 1 << 12;
  answer([&] {
    heed_compile::graph_choices how;
    how.shapes["tokens"] = {3};
    std::unique_ptr<heed_compile::graph_model> model;
    try {
      model = heed_compile::read_graph(file.hold(data, size), how);
    } catch (const heed_import::refusal &) {
      model = heed_compile::read_graph(file.hold(data, size), {});
    }
    std::vector<heed_compile::shared_array> inputs;
    for (const int input : model->net.inputs) {
      const heed_compile::graph_value &value = model->net.values[static_cast<size_t>(input)];
      inputs.push_back(
          std::make_shared<heed_compile::array>(heed_compile::zeros_of(value.kind, value.dims, value.type)));
    }
    heed_compile::evaluate_graph(model->net, inputs, [](int, const heed_compile::array &) {});
  });
}

std::vector<bytes> onnx_model_seeds() {
  using namespace onnx_models;
  std::vector<bytes> seeds = {small_transformer()};
  const bytes kernel = with_tensor(initializer("w", {2, 1, 2, 2}, is_int8, bytes(8, 3)));
  const bytes scale = with_tensor(initializer("s", {}, is_float, floats({0.5f})));
  seeds.push_back(model(13, input("x", is_float, {"", 1, 4, 4}), output("y"), kernel, scale,
                        step(node("DequantizeLinear", {"w", "s"}, {}, {"k"})),
                        step(node("Conv", {"x", "k"}, of_integers("strides", {2, 2}), {"c"})),
                        step(node("MaxPool", {"c"}, of_integers("kernel_shape", {2, 2}), {"y"}))));
  seeds.push_back(model(21, input("x", is_float, {2, 4}), output("y"),
                        with_tensor(initializer("i", {3}, is_int64, int64s({1, 0, -1}))),
                        step(node("Gather", {"x", "i"}, of_integer("axis", 1), {"g"})),
                        step(node("ReduceMean", {"g"}, of_integer("keepdims", 0), {"r"})),
                        step(node("Slice", {"x", "i", "i"}, {}, {"y"}))));
  // A graph of TensorFlow Lite: a linear layer, and a part of it.
  const std::string numbers = tflite_data(std::vector<float>{1, 2, 3, 4, 5, 6});
  const std::string begin = tflite_data(std::vector<int32_t>{0, 1}), end = tflite_data(std::vector<int32_t>{2, 2});
  const std::string one = tflite_data(std::vector<int32_t>{1, 1});
  const tflite_file lite({{"x", {2, 3}, 0, ""},
                          {"w", {2, 3}, 0, numbers},
                          {"h", {2, 2}, 0, ""},
                          {"begin", {2}, 2, begin},
                          {"end", {2}, 2, end},
                          {"stride", {2}, 2, one},
                          {"y", {2, 1}, 0, ""}},
                         {{9, {0, 1, -1}, {2}, {{0, 1, 1}}}, {45, {2, 3, 4, 5}, {6}, {{1, 4, 2}}}}, {0}, {6});
  seeds.push_back(bytes(lite.text().begin(), lite.text().end()));
  // One of TensorFlow.js, without weights: rows that a mask keeps.
  tfjs_model js;
  js.input("x", "DT_FLOAT", {1, 4});
  js.node("Relu", "mask", {"x"}), js.node("Where", "places", {"mask"}), js.node("GatherNd", "rows", {"x", "places"});
  js.node("Neg", "turned", {"rows"}), js.node("Shape", "shape", {"x"}),
      js.node("ScatterNd", "back", {"places", "turned", "shape"});
  js.node("Softmax", "y", {"back"});
  const std::string json = js.json(0);
  seeds.emplace_back(json.begin(), json.end());
  return seeds;
}
#endif

std::vector<bytes> llama2_seeds() {
  bytes seed;
  for (const uint32_t count : {4u, 4u, 1u, 1u, 1u, 4u, 1u}) heed_import::put(seed, count, 4);
  for (int i = 0; i < 16 + 4 + 64 + 4 + 48 + 4 + 4; ++i) heed_import::put(seed, 0.5f);
  heed_import::put(seed, 3, 4);
  for (const std::string text : {"<unk>", "<s>", "</s>", "a b"}) {
    heed_import::put(seed, -1.0f);
    heed_import::put(seed, text.size(), 4);
    seed.insert(seed.end(), text.begin(), text.end());
  }
  return {seed};
}

std::vector<bytes> network_config_seeds() {
  std::vector<bytes> seeds;
  for (const char *const kind : {"llama-yarn", "llama-llama3", "gemma3_text-v5", "gpt_neox", "phi3-partial",
                                 "bert-classes", "roberta", "deit"}) {
    std::ifstream config(published::write(models_folder(), kind) + "/config.json", std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(config), std::istreambuf_iterator<char>());
  }
  return seeds;
}
std::vector<bytes> network_metadata_seeds() {
  std::vector<bytes> seeds;
  for (const std::string family : {"llama", "gemma3", "phi3", "gpt2"}) {
    std::string text = family + "\n";
    for (const std::string line :
         {"block_count 3", "embedding_length 64", "feed_forward_length 96", "attention.head_count 4",
          "attention.head_count_kv 2", "context_length 128", "rope.dimension_count 16", "rope.freq_base 10000",
          "rope.scaling.factor 8", "attention.sliding_window 8", "attention.layer_norm_rms_epsilon 1e-05"})
      text += family + "." + line + "\n";
    seeds.emplace_back(text.begin(), text.end());
  }
  return seeds;
}
#endif

const struct {
  const char *name;
  void (*read)(const uint8_t *, size_t);
  std::vector<bytes> (*seeds)();
} readers[] = {
    {"npy", import <read_one>, heed_test::npy_seeds},
#ifdef HEED_IMPORT_SAFETENSORS
    {"safetensors", import <heed_import::read_safetensors>, heed_test::safetensors_seeds},
#endif
    {"gguf", import <heed_import::read_gguf>, heed_test::gguf_seeds},
#ifdef HEED_IMPORT_ONNX
    {"onnx", import <heed_import::read_onnx>, heed_test::onnx_seeds},
#endif
    {"flat_file", flat_file, heed_test::flat_file_seeds},
#ifdef HEED_IMPORT_TOKENIZERS
    {"tokenizer_json", import <heed_import::read_tokenizer_json>, heed_test::tokenizer_json_seeds},
    {"words_of_gguf", import <read_gguf_and_words>, heed_test::words_of_gguf_seeds},
#endif
    {"words_of_file", words_of_file, heed_test::words_of_file_seeds},
    {"int_model", int_model_file, heed_test::int_model_seeds},
    {"tflite", kwt_tflite, heed_test::tflite_seeds},
    {"tflite_tensors", import <heed_import::read_tflite>, heed_test::tflite_tensors_seeds},
    {"wav", wav, heed_test::wav_seeds},
    {"map", map, heed_test::map_seeds},
    {"description", description, heed_test::description_seeds},
    {"receipt", receipt, heed_test::receipt_seeds},
    {"numbers", numbers, heed_test::numbers_seeds},
#ifdef HEED_TEST_COMPILE
    {"llama2", llama2, llama2_seeds},
    {"network_config", network_config, network_config_seeds},
    {"network_metadata", network_metadata, network_metadata_seeds},
#ifdef HEED_IMPORT_ONNX
    {"onnx_model", onnx_model, onnx_model_seeds},
#endif
#endif
};

void (*chosen)(const uint8_t *, size_t);

const char *value_of(const char *argument, const char *option) {
  const size_t n = std::strlen(option);
  return std::strncmp(argument, option, n) == 0 ? argument + n : nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  const char *name = "", *folder = nullptr;
  for (int i = 1; i < *argc; i++) {
    if (const char *value = value_of((*argv)[i], "--reader=")) name = value;
    if (const char *value = value_of((*argv)[i], "--seeds=")) folder = value;
  }
  for (const auto &r : readers) {
    if (std::strcmp(r.name, name) != 0) continue;
    chosen = r.read;
    if (!folder) return 0;
    int i = 0;
    for (const bytes &seed : r.seeds()) {
      if (seed.empty()) std::exit(2);
      std::ofstream file(std::string(folder) + "/seed" + std::to_string(i++), std::ios::binary);
      file.write(reinterpret_cast<const char *>(seed.data()), std::streamsize(seed.size()));
    }
    std::exit(i > 0 ? 0 : 3);
  }
  std::fprintf(stderr, "--reader= one of:");
  for (const auto &r : readers) std::fprintf(stderr, " %s", r.name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  chosen(data, size);
  return 0;
}
