// Files that the host programs around dreams read and make. Every function throws std::runtime_error with the path and
// a sentence. SPDX-License-Identifier: MIT
#ifndef HEED_DREAMS_FILES_HPP
#define HEED_DREAMS_FILES_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "dreams.h"

namespace dreams_files {

// The whole file.
std::vector<uint8_t> read(const std::string &path);

// Memory of whole cache lines, as dreams.h wants it.
class room {
 public:
  explicit room(size_t n_bytes = 0);
  heed_memory memory();

 private:
  std::vector<uint8_t> bytes_;
};

// A model's file in memory, placed so that what follows its header is aligned to cache lines.
class aligned_model {
 public:
  explicit aligned_model(const std::vector<uint8_t> &file);
  aligned_model(aligned_model &&) = default;
  aligned_model &operator=(aligned_model &&) = default;
  const void *data() const { return data_; }
  size_t size() const { return n_bytes_; }

 private:
  std::vector<uint8_t> memory_;
  uint8_t *data_;
  size_t n_bytes_;
};

// Opens a model in memory of its size: `memory`, which must stay as long as net.
dreams_status open(dreams &net, const aligned_model &model, const dreams_settings &settings, room &memory);
// The same for a tokenizer.
dreams_status open(dreams_words &words, const std::vector<uint8_t> &tokenizer, int32_t n_tokens, room &memory,
                   int32_t *bad_token = nullptr);

// The flat file of dreams_model.h from any model, words in this computer's byte order.
std::vector<uint32_t> flat_file(const std::string &path, const void *bytes, size_t n_bytes, int32_t dtype);

// A prompt of expected.txt: its tokens, all tokens, and where its rows of logits begin in logits.bin.
struct expected_text {
  std::string prompt, text;
  std::vector<int32_t> prompt_tokens, tokens;
  size_t first_logit = 0, n_rows = 0;
};
std::vector<expected_text> read_expected(const std::string &path);

// Numbers of logits.bin, little endian.
std::vector<float> read_floats(const std::string &path);

// Throws unless the status is DREAMS_OK.
void require_ok(const dreams &net, dreams_status status, const std::string &what);

}  // namespace dreams_files

#endif
