// libFuzzer over every reader of files. A damaged file is refused or read, and never does harm: the sanitizers see to it.
//   heed_fuzz_readers --reader=NAME [libFuzzer's arguments]    one of the readers below
//   heed_fuzz_readers --reader=NAME --seeds=FOLDER             writes small good files of this reader into FOLDER, and ends
// Readers that compare a sum get the right one, or no damage would pass it. SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "calibrate.hpp"
#include "description.hpp"
#include "dreams_files.hpp"
#include "int_model.h"
#include "map.hpp"
#include "readers.hpp"
#include "runs.hpp"
#include "speech_model.h"
#include "support/fuzz_seeds.hpp"
#include "tflite_weights.hpp"
#include "wav.h"

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
std::vector<heed_import::tensor> read_one(span file) { return heed_import::read_npy(file, "w"); }

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

void tflite_file(const uint8_t *data, size_t size) {
  const std::vector<uint8_t> exact(data, data + size);
  static const auto net = std::make_unique<network::kwt1>();
  answer([&] { tflite::read_kwt(exact.data(), exact.size(), *net); });
}

// The text; its files of numbers are there.
void description(const uint8_t *data, size_t size) {
  static const std::string folder = heed_test::description_folder();
  std::ofstream(folder + "/model.txt", std::ios::binary)
      .write(reinterpret_cast<const char *>(data), std::streamsize(size));
  answer([&] { (void)calibrate::read_description(folder + "/model.txt"); });
}

void tokenizer(const uint8_t *data, size_t size) {
  const std::vector<uint8_t> exact(data, data + size);
  int32_t tokens[64], n = 0;
  for (const int32_t n_tokens : {3, 300}) {
    dreams_words words;
    dreams_files::room memory;
    if (dreams_files::open(words, exact, n_tokens, memory) != DREAMS_OK) continue;
    std::vector<char> text(static_cast<size_t>(words.longest) + 1);
    (void)dreams_encode(&words, "a text, b", tokens, 64, &n);
    for (int32_t t = -1; t <= n_tokens; t++) (void)dreams_decode(&words, 1, t, text.data(), words.longest + 1);
  }
}

void checkpoint(const uint8_t *data, size_t size) {
  const image file(data, size);
  if (file.word(0) == DREAMS_FILE_MAGIC_0 && size > 64) {
    file.set_word(3, static_cast<uint32_t>(size));
    file.set_word(4, sum_of(file.bytes() + 64, size - 64));
  }
  size_t needed = 0;
  if (dreams_bytes(file.bytes(), size, nullptr, &needed) != DREAMS_OK || needed > (1 << 24)) return;
  dreams_files::room memory(needed);
  static dreams net;
  if (dreams_open(&net, file.bytes(), size, nullptr, memory.memory()) != DREAMS_OK) return;
  const int32_t last = net.model.n_tokens - 1;
  std::vector<float> logits(static_cast<size_t>(net.model.n_tokens));
  (void)dreams_read(&net, &last, 1, logits.data(), 1);
}

// A whole model is large: its flat file is fuzzed above, and here what only this reader trusts.
void vocabulary(const uint8_t *data, size_t size) {
  const std::vector<uint8_t> exact(data, data + size);
  if (speech_vocabulary_error(exact.data(), exact.size()) != nullptr) return;
  speech_model model = {};
  model.vocabulary.data = exact.data();
  model.vocabulary.n_bytes = static_cast<uint32_t>(exact.size());
  const char *text;
  int32_t n_bytes = 0;
  for (int32_t token = -1; token < SPEECH_PIECES + 2; token += 97) n_bytes += speech_text(&model, token, &text);
  if (n_bytes < 0) std::abort();
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
    {"int_model", int_model_file, heed_test::int_model_seeds},
    {"tflite", tflite_file, heed_test::tflite_seeds},
    {"wav", wav, heed_test::wav_seeds},
    {"map", map, heed_test::map_seeds},
    {"description", description, heed_test::description_seeds},
    {"checkpoint", checkpoint, heed_test::checkpoint_seeds},
    {"tokenizer", tokenizer, heed_test::tokenizer_seeds},
    {"vocabulary", vocabulary, heed_test::vocabulary_seeds},
    {"receipt", receipt, heed_test::receipt_seeds},
    {"numbers", numbers, heed_test::numbers_seeds},
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
