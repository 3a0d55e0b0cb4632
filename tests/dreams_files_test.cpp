// Files, texts and calls that a language model refuses, and says why.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "dreams.h"
#include "support/dreams_models.hpp"

namespace {

using namespace heed_test;

dreams net;
dreams_files::room memory;
const dreams_dims small = {48, 52, 3, 6, 2, -70, 250};

// A copy of exactly this size lets the address sanitizer see a read beyond the end.
dreams_status open(const bytes &file) {
  const size_t n = (file.size() + 3) / 4;
  const std::unique_ptr<uint32_t[]> exact(new uint32_t[n]);
  uint8_t *first = reinterpret_cast<uint8_t *>(exact.get()) + 0;
  std::copy(file.begin(), file.end(), first);
  size_t needed = 0;
  const dreams_status status = dreams_bytes(first, file.size(), nullptr, &needed);
  EXPECT_EQ(needed == 0, status != DREAMS_OK);
  if (needed > size_t{1} << 28) needed = 0;  // as many positions as no test has room for
  memory = dreams_files::room(needed);
  return dreams_open(&net, first, file.size(), nullptr, memory.memory());
}

bytes flat(const bytes &model, int32_t dtype) {
  const dreams_files::aligned_model aligned(model);
  const std::vector<uint32_t> file = dreams_files::flat_file("", aligned.data(), aligned.size(), dtype);
  const uint8_t *first = reinterpret_cast<const uint8_t *>(file.data());
  return bytes(first, first + 4 * file.size());
}

bytes with_word(bytes file, size_t word, int32_t number) {
  std::memcpy(&file[4 * word], &number, 4);
  return file;
}

// ------------------------------------------------------------------------------------------------------------ models

TEST(dreams_model, of_any_valid_dims_is_read) {
  for (const dreams_dims &d : {small, dreams_dims{64, 172, 4, 4, 4, 512, 128}, dreams_dims{2, 1, 1, 1, 1, 1, 1},
                               dreams_dims{56, 3, 2, 4, 1, 7, 1 << 14}}) {
    const bytes model = random_dreams(d, 1);
    EXPECT_EQ(open(model), DREAMS_OK);
    EXPECT_EQ(net.model.n_tokens, std::abs(d.tokens));
    EXPECT_EQ(net.model.n_positions, d.positions);
    for (const int32_t dtype : {HEED_F32, HEED_INT8}) {
      EXPECT_EQ(open(flat(model, dtype)), DREAMS_OK);
      EXPECT_EQ(net.model.classifier.dtype, dtype);
    }
  }
}

TEST(dreams_model, of_wrong_dims_is_refused_by_name) {
  const bytes model = random_dreams(small, 1), narrow = flat(model, HEED_INT8);
  const dreams_status names[7] = {DREAMS_MODEL_DIM,      DREAMS_MODEL_HIDDEN, DREAMS_MODEL_LAYERS,   DREAMS_MODEL_HEADS,
                                  DREAMS_MODEL_KV_HEADS, DREAMS_MODEL_TOKENS, DREAMS_MODEL_POSITIONS};
  const size_t flat_dims = offsetof(dreams_header, dims) / 4;
  for (size_t i = 0; i < 7; ++i) {
    for (const int32_t bad : {0, INT32_MIN, 1 << 30, 1 << 24, INT32_MAX}) {
      const bool possible = (i == 5 && bad == 1 << 24) || (i == 6 && bad >= 1 << 24 && bad <= 1 << 30);
      const dreams_status expected = possible ? DREAMS_MODEL_SIZE : names[i];
      EXPECT_EQ(open(with_word(model, i, bad)), expected) << i << ": " << bad;
      // A flat file has no tables that grow with positions.
      EXPECT_EQ(open(with_word(narrow, flat_dims + i, bad)), possible && i == 6 ? DREAMS_MEMORY : expected) << i;
    }
  }
  EXPECT_EQ(open(with_word(model, 3, 5)), DREAMS_MODEL_HEADS);
  EXPECT_EQ(open(with_word(model, 3, 2)), DREAMS_MODEL_SIZE);  // heads of 24: larger keys
  EXPECT_EQ(open(with_word(model, 4, 4)), DREAMS_MODEL_KV_HEADS);
  EXPECT_EQ(open(with_word(model, 1, 53)), DREAMS_MODEL_SIZE);
}

TEST(dreams_model, that_is_cut_off_or_too_long_is_refused) {
  const bytes model = random_dreams(small, 1), narrow = flat(model, HEED_INT8);
  for (const bytes *file : {&model, &narrow}) {
    const size_t header = file == &model ? 28 : 64;
    for (size_t n = 1; n < file->size(); n += n < 2 * header ? 1 : 997)
      EXPECT_EQ(open(bytes(file->begin(), file->begin() + ptrdiff_t(n))),
                n < header ? DREAMS_MODEL_SHORT : DREAMS_MODEL_SIZE)
          << n;
    bytes longer = *file;
    longer.resize(longer.size() + 64);
    EXPECT_EQ(open(longer), DREAMS_MODEL_SIZE);
  }
  const float one_logit = 0.0f;
  const int32_t token = 0;
  EXPECT_EQ(dreams_read(&net, &token, 1, const_cast<float *>(&one_logit), 1), DREAMS_NOT_READY);
}

TEST(dreams_model, that_is_damaged_is_refused) {
  const bytes model = random_dreams(small, 1), narrow = flat(model, HEED_INT8);
  random_source r(3);
  for (int i = 0; i < repetitions(200); ++i) {
    const size_t bit = size_t(r.between(64 * 8, int32_t(narrow.size()) * 8 - 1));
    bytes damaged = narrow;
    damaged[bit / 8] = uint8_t(damaged[bit / 8] ^ 1 << bit % 8);
    EXPECT_EQ(open(damaged), DREAMS_MODEL_DAMAGED) << bit;
    const size_t word = size_t(r.between(7, int32_t(model.size() / 4) - 1));
    const uint32_t bad = 0x7f800000u | r.next();
    EXPECT_EQ(open(with_word(model, word, int32_t(bad))), DREAMS_MODEL_DAMAGED) << word;
  }
  for (const size_t word : {1u, 2u}) EXPECT_EQ(open(with_word(narrow, word, 77)), DREAMS_MODEL_VERSION);
  EXPECT_EQ(open(with_word(narrow, 3, 64)), DREAMS_MODEL_SIZE);
  EXPECT_EQ(open(with_word(narrow, 4, 77)), DREAMS_MODEL_DAMAGED);
  EXPECT_EQ(open(with_word(narrow, 5, HEED_F16)), DREAMS_MODEL_VERSION);
}

TEST(dreams_model, of_random_bytes_is_refused) {
  random_source r(4);
  for (int i = 0; i < repetitions(20000); ++i) {
    bytes file(size_t(r.between(1, 400)));
    for (uint8_t &b : file) b = r.chance(70) ? 0 : uint8_t(r.between(0, r.chance(80) ? 4 : 255));
    EXPECT_NE(open(file), DREAMS_OK);
  }
}

TEST(dreams_model, needs_its_settings_to_fit) {
  const bytes model = random_dreams(small, 1);
  const dreams_files::aligned_model aligned(model);
  size_t most = 0;
  const dreams_settings plain = {};
  ASSERT_EQ(dreams_bytes(aligned.data(), aligned.size(), &plain, &most), DREAMS_OK);
  dreams_files::room enough(most);
  const heed_memory all = enough.memory();
  const auto open_with = [&](dreams_settings s) { return dreams_open(&net, aligned.data(), aligned.size(), &s, all); };
  for (const dreams_settings &s : {dreams_settings{4, 0, 0, 0, 0, 0},
                                   {-1, 0, 0, 0, 0, 0},
                                   {0, -1, 0, 0, 0, 0},
                                   {0, INT32_MAX, 0, 0, 0, 0},
                                   {0, 0, 1, 0, 0, 0},
                                   {0, 40, -1, 0, 0, 0},
                                   {0, 40, INT32_MAX, 0, 0, 0},
                                   {0, 0, 0, -1, 0, 0},
                                   {0, 0, 0, 0, -1, 0},
                                   {0, 0, 0, 0, DREAMS_MAX_PIECE + 1, 0},
                                   {0, 0, 0, 0, 0, -1}}) {
    EXPECT_EQ(open_with(s), DREAMS_SETTINGS);
    size_t none = 7;
    EXPECT_EQ(dreams_bytes(aligned.data(), aligned.size(), &s, &none), DREAMS_SETTINGS);
    EXPECT_EQ(none, 0u);
  }
  EXPECT_EQ(open_with({HEED_F32, 1 << 20, 0, 0, 0, 0}), DREAMS_MEMORY);
  EXPECT_EQ(open_with({HEED_INT8, 40, 4, 0, 0, 0}), DREAMS_OK);
  EXPECT_EQ(open_with({HEED_F32, 0, 0, 100, 0, 0}), DREAMS_OK);
  EXPECT_EQ(net.model.n_positions, 100);
  EXPECT_EQ(dreams_open(nullptr, aligned.data(), aligned.size(), nullptr, all), DREAMS_NULL_POINTER);
  EXPECT_EQ(dreams_open(&net, nullptr, aligned.size(), nullptr, all), DREAMS_NULL_POINTER);
  EXPECT_EQ(dreams_bytes(aligned.data(), aligned.size(), nullptr, nullptr), DREAMS_NULL_POINTER);
  const uint8_t *first = static_cast<const uint8_t *>(aligned.data());
  EXPECT_EQ(dreams_open(&net, first + 2, aligned.size() - 2, nullptr, all), DREAMS_MISALIGNED);
  const heed_memory off = heed_memory_of(static_cast<uint8_t *>(all.data) + 4, all.bytes - 4);
  EXPECT_EQ(dreams_open(&net, first, aligned.size(), nullptr, off), DREAMS_MISALIGNED);
}

// Every size of memory from the least workspace on gives the same bits; less is refused, and nothing is written behind it.
TEST(dreams_model, runs_in_any_memory_that_is_large_enough) {
  const dreams_files::aligned_model model(random_dreams(small, 1));
  size_t most = 0;
  ASSERT_EQ(dreams_bytes(model.data(), model.size(), nullptr, &most), DREAMS_OK);
  constexpr size_t head_dim = 48 / 6, cache = HEED_CACHE_BYTES(250, 1, 2, head_dim, head_dim, HEED_F32);
  constexpr size_t full = DREAMS_BYTES(3, 48, 6, 2, 52, DREAMS_PIECE, cache, HEED_WORKSPACE_BYTES(head_dim, head_dim));
  constexpr size_t least =
      DREAMS_BYTES(3, 48, 6, 2, 52, DREAMS_PIECE, cache, HEED_WORKSPACE_MIN_BYTES(head_dim, head_dim));
  EXPECT_EQ(most, full);
  std::vector<float> expected(70), found(70);
  const std::vector<int32_t> tokens(40, 3);
  for (const size_t n : {full, full - 64, least + 64, least, least - 1, least / 2, size_t{0}}) {
    dreams_files::room exact(n);
    const heed_memory of = exact.memory();
    const dreams_status status = dreams_open(&net, model.data(), model.size(), nullptr, of);
    ASSERT_EQ(status, n >= least ? DREAMS_OK : DREAMS_MEMORY) << n;
    if (status != DREAMS_OK) continue;
    ASSERT_EQ(dreams_read(&net, tokens.data(), 40, found.data(), 1), DREAMS_OK) << n;
    if (n == full) expected = found;
    EXPECT_EQ(found, expected) << n;
  }
  // README.md has these three.
  constexpr size_t narrow = HEED_CACHE_BYTES(128, 1, 4, 16, 16, HEED_INT8),
                   wide = HEED_CACHE_BYTES(128, 1, 4, 16, 16, HEED_F32);
  EXPECT_LE(DREAMS_BYTES(4, 64, 4, 4, 172, DREAMS_PIECE, wide, HEED_WORKSPACE_BYTES(16, 16)), 322000u);
  EXPECT_LE(DREAMS_BYTES(4, 64, 4, 4, 172, 4, narrow, HEED_WORKSPACE_MIN_BYTES(16, 16)), 98000u);
  EXPECT_LE(DREAMS_BYTES(5, 64, 8, 4, 172, DREAMS_PIECE, HEED_CACHE_BYTES(512, 1, 4, 8, 8, HEED_F32),
                         HEED_WORKSPACE_BYTES(8, 8)),
            715000u);
  dreams_settings workers = {};
  workers.workers = 3;
  ASSERT_EQ(dreams_bytes(model.data(), model.size(), &workers, &most), DREAMS_OK);
  EXPECT_EQ(most, full + 2 * HEED_WORKSPACE_BYTES(head_dim, head_dim));
}

TEST(dreams_reading, refuses_bad_calls_and_changes_nothing) {
  const dreams_files::aligned_model model(random_dreams(small, 1));
  ASSERT_EQ(open(net, model, {}, memory), DREAMS_OK);
  const int32_t n = net.model.n_positions;
  std::vector<int32_t> tokens(size_t(n) + 1, 3);
  std::vector<float> logits(70, 7.0f);
  EXPECT_EQ(dreams_read(nullptr, tokens.data(), 1, logits.data(), 1), DREAMS_NULL_POINTER);
  EXPECT_EQ(dreams_read(&net, nullptr, 1, logits.data(), 1), DREAMS_NULL_POINTER);
  EXPECT_EQ(dreams_read(&net, tokens.data(), 1, nullptr, 1), DREAMS_NULL_POINTER);
  for (const int32_t bad : {0, -1, INT32_MIN})
    EXPECT_EQ(dreams_read(&net, tokens.data(), bad, logits.data(), 0), DREAMS_WRONG_COUNT);
  for (const int32_t bad : {-1, 2})
    EXPECT_EQ(dreams_read(&net, tokens.data(), 1, logits.data(), bad), DREAMS_WRONG_COUNT);
  EXPECT_EQ(dreams_read(&net, tokens.data(), n + 1, logits.data(), 1), DREAMS_CONTEXT_FULL);
  for (const int32_t bad : {-1, 70, INT32_MAX}) {
    tokens[1] = bad;
    EXPECT_EQ(dreams_read(&net, tokens.data(), 2, logits.data(), 1), DREAMS_TOKEN);
  }
  tokens[1] = 3;
  EXPECT_EQ(dreams_position(&net), 0);
  EXPECT_EQ(logits, std::vector<float>(70, 7.0f));
  EXPECT_EQ(dreams_read(&net, tokens.data(), n, nullptr, 0), DREAMS_OK);
  EXPECT_EQ(dreams_read(&net, tokens.data(), 1, logits.data(), 1), DREAMS_CONTEXT_FULL);
  EXPECT_EQ(dreams_position(&net), n);
}

// Counts of expected.txt agree with each other before anything is read by them.
TEST(dreams_texts, that_are_expected_have_as_many_tokens_as_rows) {
  const std::string path = testing::TempDir() + "heed_expected.txt";
  const auto refusal = [&](const std::string &prompt, const std::string &tokens, const std::string &logits) {
    std::ofstream(path) << "prompt a\nprompt_tokens " << prompt << "\ntokens " << tokens << "\nlogits " << logits
                        << "\nend\n";
    try {
      dreams_files::read_expected(path);
    } catch (const std::runtime_error &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("1 2", "1 2 3", "8 2"), "");
  for (const char *prompt : {"1 2 3", "1 2 3 4 5 6 7 8 9", ""})
    EXPECT_NE(refusal(prompt, "1 2 3", "8 2").find("other numbers of tokens"), std::string::npos) << prompt;
  for (const char *logits : {"8 3", "8 1"})
    EXPECT_NE(refusal("1 2", "1 2 3", logits).find("other numbers of tokens"), std::string::npos) << logits;
  for (const char *logits : {"8", "8 0", "-4 2", "6 2", "8 -1"})
    EXPECT_NE(refusal("1 2", "1 2 3", logits).find("no offset and rows"), std::string::npos) << logits;
  for (const char *logits : {"8 x", "8 99999999999"})
    EXPECT_NE(refusal("1 2", "1 2 3", logits).find("is not a whole number"), std::string::npos) << logits;
}

TEST(dreams_texts, exist_for_every_status) {
  for (int s = DREAMS_MEMORY; s <= DREAMS_OK; ++s)
    EXPECT_STRNE(dreams_status_text(dreams_status(s)), "unknown status") << s;
}

}  // namespace
