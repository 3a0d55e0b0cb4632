// Files of a speech model whose counts, offsets and lengths lie: each is refused with a sentence, or it is heard as if nothing
// had been changed. The file has every tensor of Moonshine Tiny, with random numbers, and its vocabulary ends at a page
// without access. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>

#include "rows_digest.h"
#include "flat_file.hpp"
#include "speech.h"
#include "speech_files.hpp"
#include "support/fence.hpp"
#include "support/random.hpp"

namespace {

using namespace heed_test;
using heed_import::bytes;
using heed_import::tensor;

constexpr size_t header_bytes = HEED_FILE_HEADER_BYTES, entry_bytes = HEED_FILE_ENTRY_BYTES, word_bytes = 4;
constexpr size_t tensors_word = 16, contents_word = 20, sum_of_contents = 24;  // places in the header

speech net;

// ------------------------------------------------------------------------------------------------------- a whole model

bytes packed_numbers(int32_t n_in, int32_t n_out) {
  random_source r(7);
  std::vector<float> numbers(size_t(n_in) * size_t(n_out));
  for (float &x : numbers) x = 0.05f * r.uniform();
  const size_t n = heed_weights_packed_bytes(HEED_INT8, n_in, n_out);
  std::vector<uint8_t> memory(n + HEED_ALIGNMENT);
  uint8_t *const at = memory.data() + (0 - reinterpret_cast<uintptr_t>(memory.data())) % HEED_ALIGNMENT;
  const heed_weights plain = heed_weights_of(numbers.data(), nullptr, HEED_F32, HEED_IN_OUT, n_in, n_out);
  if (heed_weights_pack(plain, HEED_INT8, heed_memory{at, n}) != HEED_OK) throw std::runtime_error("not packed");
  return {at, at + n};
}

constexpr char sum_differs[] = "the file is damaged: the sum of a tensor differs";

// Pieces of one letter, but for the silent ones.
bytes good_vocabulary() {
  bytes v(SPEECH_SILENT_PIECES, 0);
  for (int i = SPEECH_SILENT_PIECES; i < SPEECH_PIECES; ++i) v.push_back(1), v.push_back('a');
  return v;
}

class model_writer {
 public:
  bytes file_with(const bytes &vocabulary) {
    if (tensors_.empty()) add_all();
    tensor &t = add("vocabulary", {uint32_t(vocabulary.size())}, HEED_FILE_U8, HEED_OUT_IN, vocabulary);
    t.scales = {1.0f}, t.zeros = {0};
    bytes file = heed_import::flat_file(tensors_);
    tensors_.pop_back();
    return file;
  }

 private:
  tensor &add(const std::string &name, const std::vector<uint32_t> &dims, int32_t dtype, int32_t layout,
              bytes numbers) {
    tensor t;
    t.name = name, t.dims = dims, t.dtype = dtype, t.layout = layout;
    t.own(std::move(numbers));
    tensors_.push_back(std::move(t));
    return tensors_.back();
  }
  void floats(const std::string &name, uint32_t n) {
    bytes numbers;
    for (uint32_t i = 0; i < n; ++i) heed_import::put(numbers, 0.5f + 0.001f * float(i % 7));
    add(name, {n}, HEED_F32, HEED_OUT_IN, std::move(numbers));
  }
  void matrix(const std::string &name, int32_t n_in, int32_t n_out) {
    bytes &numbers = matrices_[{n_in, n_out}];
    if (numbers.empty()) numbers = packed_numbers(n_in, n_out);
    add(name, {uint32_t(n_out), uint32_t(n_in)}, HEED_INT8, HEED_PACKED, numbers);
  }
  void layer(const std::string &name, bool decoder) {
    const int32_t up = decoder ? 2 * SPEECH_HIDDEN : SPEECH_HIDDEN;
    for (const char *norm : {"norm_1", "norm_2"}) floats(name + norm, SPEECH_DIM);
    for (const char *w : {"wq", "wk", "wv", "wo"}) matrix(name + w, SPEECH_DIM, SPEECH_DIM);
    if (decoder) floats(name + "norm_cross", SPEECH_DIM);
    for (const char *w : {"cross_q", "cross_k", "cross_v", "cross_o"})
      if (decoder) matrix(name + w, SPEECH_DIM, SPEECH_DIM);
    matrix(name + "w_up", SPEECH_DIM, up), floats(name + "b_up", uint32_t(up));
    matrix(name + "w_down", SPEECH_HIDDEN, SPEECH_DIM), floats(name + "b_down", SPEECH_DIM);
  }
  void add_all() {
    floats("frequencies", SPEECH_ROTARY_DIM / 2);
    matrix("conv_1", SPEECH_KERNEL_1, SPEECH_DIM);
    matrix("conv_2", SPEECH_KERNEL_2 * SPEECH_DIM, SPEECH_WIDE), floats("b_conv_2", SPEECH_WIDE);
    matrix("conv_3", SPEECH_KERNEL_3 * SPEECH_WIDE, SPEECH_DIM), floats("b_conv_3", SPEECH_DIM);
    for (const char *v : {"group_weight", "group_bias", "encoder_norm", "decoder_norm"}) floats(v, SPEECH_DIM);
    for (int l = 0; l < SPEECH_LAYERS; ++l) layer("encoder." + std::to_string(l) + ".", false);
    for (int l = 0; l < SPEECH_LAYERS; ++l) layer("decoder." + std::to_string(l) + ".", true);
    matrix("embedding", SPEECH_DIM, SPEECH_TOKENS);
  }
  std::vector<tensor> tensors_;
  std::map<std::pair<int32_t, int32_t>, bytes> matrices_;
};

// ---------------------------------------------------------------------------------------------------------- a file at the fence

uint32_t word_at(const uint8_t *at) { return uint32_t(heed_import::number_at(at, 4)); }
void set_word(uint8_t *at, uint32_t word) {
  for (int b = 0; b < 4; ++b) at[b] = uint8_t(word >> 8 * b);
}
uint32_t sum_of(const uint8_t *data, size_t n, uint32_t sum = 2166136261u) {
  for (size_t at = 0; at < n; at += 4) sum = (sum ^ word_at(data + at)) * 16777619u;
  return sum;
}

// A file whose last byte lies at a page without access.
class fenced_file {
 public:
  explicit fenced_file(const bytes &file) : n_(file.size()), data_(fence_of(slot_weights) - n_) {
    std::copy(file.begin(), file.end(), data_);
  }
  uint8_t *data() { return data_; }
  uint8_t *entry(uint32_t i) { return data_ + header_bytes + entry_bytes * i; }
  uint32_t n_tensors() const { return word_at(data_ + tensors_word); }
  void mend_sum() {
    set_word(data_ + sum_of_contents, sum_of(data_ + header_bytes, word_at(data_ + contents_word) - header_bytes));
  }

  // What a program says that opens it as all do; "" if it was heard, which leaves a digest.
  std::string heard(uint64_t *digest) {
    heed_file file;
    if (speech_open(&net, data_, n_) != SPEECH_OK) return net.error;
    const char *error = heed_file_open(&file, data_, n_);
    if (error == nullptr) error = heed_file_check(&file);
    if (error != nullptr) return error;
    *digest = use();
    return "";
  }

  // Sums may be forged, too: then it is refused, or used without harm.
  std::string opened() { return speech_open(&net, data_, n_) != SPEECH_OK ? net.error : (use(), ""); }

 private:
  static uint64_t use() {
    const std::vector<int16_t> sound(2800, 1000);  // room for one token
    const char *text;
    int32_t token, n_text = 0;
    for (const int t : {-1, 0, int{SPEECH_SILENT_PIECES}, SPEECH_PIECES - 1, int{SPEECH_PIECES}, int{SPEECH_TOKENS}})
      n_text += speech_text(&net.model, t, &text);
    EXPECT_EQ(n_text, 2);
    if (speech_hear(&net, sound.data(), int32_t(sound.size())) != SPEECH_OK) return 0;
    uint64_t digest = rows_digest(ROWS_DIGEST_BEGIN, net.x, net.n_rows * SPEECH_DIM);
    if (speech_next(&net, &token) == SPEECH_OK) digest = rows_digest(digest, net.logits, SPEECH_TOKENS);
    return digest;
  }
  size_t n_;
  uint8_t *data_;
};

model_writer &writer() {
  static model_writer w;
  return w;
}

TEST(speech_model, is_refused_when_its_vocabulary_is_another) {
  const bytes good = good_vocabulary();
  uint64_t digest;
  ASSERT_EQ(fenced_file(writer().file_with(good)).heard(&digest), "");
  const char *text;
  EXPECT_EQ(speech_text(&net.model, SPEECH_PIECES - 1, &text), 1);
  EXPECT_EQ(*text, 'a');
  const auto refusal_of = [](bytes v) { return fenced_file(writer().file_with(v)).opened(); };
  const auto changed = [&](size_t at, uint8_t length) {
    bytes v = good;
    v[at] = length;
    return v;
  };
  EXPECT_EQ(refusal_of({20, 'w', 'h', 'a', 't'}), "the vocabulary is truncated: it ends in the middle of a piece");
  EXPECT_EQ(refusal_of(bytes(21, 0)), "the vocabulary has fewer than 32000 pieces");
  EXPECT_EQ(refusal_of({good.begin(), good.end() - 2}), "the vocabulary has fewer than 32000 pieces");
  EXPECT_EQ(refusal_of({good.begin(), good.end() - 1}),
            "the vocabulary is truncated: it ends in the middle of a piece");
  EXPECT_EQ(refusal_of(changed(good.size() - 2, 2)), "the vocabulary is truncated: it ends in the middle of a piece");
  EXPECT_EQ(refusal_of(changed(good.size() - 2, 255)), "the vocabulary is truncated: it ends in the middle of a piece");
  EXPECT_EQ(refusal_of(changed(good.size() - 4, 3)), "the vocabulary has fewer than 32000 pieces");
  EXPECT_EQ(refusal_of(changed(good.size() - 2, 0)), "the vocabulary has more than 32000 pieces");
  EXPECT_EQ(refusal_of(changed(1, 1)), "the vocabulary has a text for token 0, 1 or 2, which say nothing");
  EXPECT_STREQ(net.model.name, "vocabulary");
}

TEST(speech_model, is_refused_or_heard_rightly_when_a_count_or_an_offset_lies) {
  fenced_file file(writer().file_with(good_vocabulary()));
  uint64_t right = 0, digest = 0;
  ASSERT_EQ(file.heard(&right), "");
  random_source r(3);
  int n_refused = 0, n_heard = 0;
  const auto lie = [&](uint8_t *at, bool in_header) {
    const uint32_t old = word_at(at);
    const std::vector<uint32_t> lies = {
        0, 1, old - 1, old + 1, old - 64, old + 64, 2 * old, old ^ 1u << r.below(32), INT32_MAX, UINT32_MAX};
    const uint32_t sum = word_at(file.data() + sum_of_contents);
    for (int i = 0; i < repetitions(3); ++i) {
      const uint32_t changed = r.pick(lies);
      if (changed == old) continue;
      set_word(at, changed);
      if (!in_header) file.mend_sum();
      const std::string why = file.heard(&digest);
      EXPECT_TRUE(!why.empty() || digest == right)
          << "word " << (at - file.data()) << ": " << old << " became " << word_at(at);
      ++(why.empty() ? n_heard : n_refused);
      if (why == sum_differs) file.opened();
    }
    set_word(at, old);
    set_word(file.data() + sum_of_contents, sum);
  };
  for (size_t at = 0; at < header_bytes; at += word_bytes) lie(file.data() + at, true);
  const uint32_t last = file.n_tensors() - 1;     // the vocabulary
  for (uint32_t i = last % 7; i <= last; i += 7)  // of layers, which are alike, some tensors
    for (size_t at = 0; at < entry_bytes; at += word_bytes) lie(file.entry(i) + at, false);
  EXPECT_GT(n_refused, n_heard);
  ASSERT_EQ(file.heard(&digest), "");
  EXPECT_EQ(digest, right);
}

// The vocabulary as its package has it: a count of 32 bits before the pieces.
TEST(speech_vocabulary, is_refused_when_it_is_another) {
  const std::string folder = testing::TempDir(), path = folder + "/vocabulary.bin";
  const auto read = [&](uint32_t count, const bytes &pieces) {
    bytes file(4);
    set_word(file.data(), count);
    file.insert(file.end(), pieces.begin(), pieces.end());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
    try {
      return speech_files::read_vocabulary(folder) == pieces ? std::string("good") : std::string("changed");
    } catch (const std::runtime_error &error) {
      return std::string(error.what()).substr(path.size() + 2);
    }
  };
  const bytes good = good_vocabulary();
  EXPECT_EQ(read(SPEECH_PIECES, good), "good");
  EXPECT_EQ(read(SPEECH_PIECES, bytes(21, 0)), "the vocabulary has fewer than 32000 pieces");
  EXPECT_EQ(read(SPEECH_PIECES, {}), "the vocabulary has fewer than 32000 pieces");
  EXPECT_EQ(read(21, bytes(21, 0)), "has 21 pieces, not 32000");
  EXPECT_EQ(read(SPEECH_PIECES, {good.begin(), good.end() - 1}),
            "the vocabulary is truncated: it ends in the middle of a piece");
  std::remove(path.c_str());
}

}  // namespace
