// A language model's tokenizer: texts become tokens and come back; files that are damaged are refused.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <memory>

#include "dreams.h"
#include "support/dreams_models.hpp"

namespace {

using namespace heed_test;

dreams_words words;
dreams_files::room words_memory;

dreams_status open_words(const uint8_t *file, size_t n_bytes, int32_t n_tokens, int32_t *bad = nullptr) {
  words_memory = dreams_files::room(DREAMS_WORDS_BYTES(std::max(1, n_tokens)));
  return dreams_words_open(&words, file, n_bytes, n_tokens, words_memory.memory(), bad);
}

bytes with_word(bytes file, size_t word, int32_t number) {
  std::memcpy(&file[4 * word], &number, 4);
  return file;
}

std::string decode(const std::vector<int32_t> &tokens) {
  std::string text;
  std::vector<char> word(size_t(words.longest) + 1);
  for (size_t i = 1; i < tokens.size(); ++i)
    text.append(word.data(),
                size_t(dreams_decode(&words, tokens[i - 1], tokens[i], word.data(), int32_t(word.size()))));
  return text;
}

std::vector<int32_t> encode(const std::string &text) {
  std::vector<int32_t> tokens(text.size() + 2);
  int32_t n = 0;
  EXPECT_EQ(dreams_encode(&words, text.c_str(), tokens.data(), int32_t(tokens.size()), &n), DREAMS_OK);
  tokens.resize(size_t(n));
  return tokens;
}

TEST(dreams_tokenizer, joins_neighbours_and_gives_the_text_back) {
  const std::vector<std::string> vocabulary = small_vocabulary();
  const bytes file = tokenizer_of(vocabulary);
  ASSERT_EQ(open_words(file.data(), file.size(), int32_t(vocabulary.size())), DREAMS_OK);
  EXPECT_EQ(encode(""), std::vector<int32_t>({1}));
  EXPECT_EQ(encode("the"), std::vector<int32_t>({1, 261}));     // " t" + "he"
  EXPECT_EQ(encode("x"), std::vector<int32_t>({1, 295, 292}));  // " ", "x"
  EXPECT_EQ(encode("\xc3\xa9"), std::vector<int32_t>({1, 295, 296}));
  EXPECT_EQ(encode("\xc3\xa8"), std::vector<int32_t>({1, 295, 3 + 0xc3, 3 + 0xa8}));  // not in the vocabulary
  EXPECT_EQ(encode("Q"), std::vector<int32_t>({1, 295, 3 + 'Q'}));
  EXPECT_EQ(encode("\x80\xbf\xbf\xbf\xbf\x80"), std::vector<int32_t>({1, 295, 131, 194, 194, 194, 194, 131}));
  for (const char *text :
       {"the weather in there", "\xc3\xa9t\xc3\xa9 Q\n\xe2\x82\xac.", "a", "  two", "\xf0\x9f\x98\x80"})
    EXPECT_EQ(decode(encode(text)), text);
  random_source r(6);
  for (int i = 0; i < repetitions(2000); ++i) {
    std::string text;
    for (int32_t n = r.between(1, 60); n > 0; --n)
      text += char(r.chance(80) ? "ther in"[r.between(0, 6)] : r.between(1, 255));
    EXPECT_EQ(decode(encode(text)), text);
  }
  char word[4] = "...";
  for (const int32_t bad : {-1, int32_t(vocabulary.size()), INT32_MAX})
    EXPECT_EQ(dreams_decode(&words, 5, bad, word, 4), 0);
  EXPECT_EQ(dreams_decode(&words, 5, 261, word, 4), 3);  // " the"
  EXPECT_STREQ(word, " th");
  EXPECT_EQ(dreams_decode(&words, 5, 261, word, 0), 0);
}

TEST(dreams_tokenizer, says_when_a_text_is_too_long) {
  const std::vector<std::string> vocabulary = small_vocabulary();
  const bytes file = tokenizer_of(vocabulary);
  ASSERT_EQ(open_words(file.data(), file.size(), int32_t(vocabulary.size())), DREAMS_OK);
  std::vector<int32_t> tokens(6, -7);
  int32_t n = -1;
  for (int32_t capacity = 0; capacity < 5; ++capacity)
    EXPECT_EQ(dreams_encode(&words, "the", tokens.data(), capacity, &n), DREAMS_TEXT_TOO_LONG);
  EXPECT_EQ(n, -1);
  EXPECT_EQ(dreams_encode(&words, "the", tokens.data(), 5, &n), DREAMS_OK);
  EXPECT_EQ(tokens[5], -7);
  EXPECT_EQ(dreams_encode(nullptr, "", tokens.data(), 5, &n), DREAMS_NULL_POINTER);
}

TEST(dreams_tokenizer, that_is_damaged_is_refused_and_the_token_named) {
  const std::vector<std::string> vocabulary = small_vocabulary();
  const bytes file = tokenizer_of(vocabulary);
  const int32_t n_tokens = int32_t(vocabulary.size());
  int32_t bad = 0;
  const auto refusal = [&](const bytes &changed) {
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[changed.size() + 1]);
    std::copy(changed.begin(), changed.end(), exact.get());
    return open_words(exact.get(), changed.size(), n_tokens, &bad);
  };
  for (size_t n = 0; n < file.size(); ++n)
    ASSERT_EQ(refusal(bytes(file.begin(), file.begin() + ptrdiff_t(n))), DREAMS_WORDS_SHORT) << n;
  EXPECT_EQ(bad, n_tokens - 1);
  EXPECT_EQ(open_words(file.data(), file.size(), n_tokens - 1, &bad), DREAMS_WORDS_SIZE);
  EXPECT_EQ(bad, -1);
  EXPECT_EQ(open_words(file.data(), file.size(), n_tokens + 1, &bad), DREAMS_WORDS_SHORT);
  EXPECT_EQ(bad, n_tokens);
  for (const int32_t count : {0, -1, INT32_MIN})
    EXPECT_EQ(open_words(file.data(), file.size(), count, &bad), DREAMS_WRONG_COUNT);
  dreams_files::room few(DREAMS_WORDS_BYTES(n_tokens) - 1);
  EXPECT_EQ(dreams_words_open(&words, file.data(), file.size(), n_tokens, few.memory(), &bad), DREAMS_MEMORY);
  EXPECT_EQ(dreams_words_open(&words, file.data(), file.size(), INT32_MAX, few.memory(), &bad), DREAMS_MEMORY);
  EXPECT_EQ(dreams_words_open(&words, file.data(), file.size(), n_tokens, heed_memory_of(nullptr, 0), &bad),
            DREAMS_NULL_POINTER);
  for (const int32_t length : {0, -1, 17, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(refusal(with_word(file, 2, length)), DREAMS_WORDS_LENGTH) << length;
    EXPECT_EQ(bad, 0);
  }
  EXPECT_EQ(refusal(with_word(file, 1, 0x7fc00000)), DREAMS_WORDS_SCORE);
  int32_t tokens[8], n;
  EXPECT_EQ(dreams_encode(&words, "a", tokens, 8, &n), DREAMS_NOT_READY);
  random_source r(8);
  for (int i = 0; i < repetitions(20000); ++i) {  // whatever is accepted can be used
    bytes changed = file;
    for (int32_t k = r.between(1, 3); k > 0; --k)
      changed[size_t(r.between(0, int32_t(file.size()) - 1))] = uint8_t(r.next());
    if (refusal(changed) != DREAMS_OK) continue;
    open_words(changed.data(), changed.size(), n_tokens, &bad);
    int32_t many[64];
    EXPECT_EQ(dreams_encode(&words, "the weather in \xe2\x82\xac", many, 64, &n), DREAMS_OK);
  }
}

TEST(dreams_tokenizer, encodes_the_expected_prompts) {
  HEED_NEEDS_DREAMS();
  const bytes file = dreams_files::read(dreams_folder() + "/tokenizer.bin");
  ASSERT_EQ(open_words(file.data(), file.size(), 512), DREAMS_OK);
  for (const dreams_files::expected_text &e : dreams_files::read_expected(dreams_folder() + "/expected.txt")) {
    EXPECT_EQ(encode(e.prompt), e.prompt_tokens) << e.prompt;
    EXPECT_EQ(decode(e.tokens), e.text);
  }
}

}  // namespace
