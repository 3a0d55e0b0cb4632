// Words in a stream: which windows are heard, and what of it is told. SPDX-License-Identifier: MIT
#include "kwt_words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kwt_oracle.hpp"

namespace {

kwt net;
kwt_words words;

class kwt_stream : public testing::Test {
 protected:
  void SetUp() override {
    file_ = heed_test::aligned_file(*heed_test::random_kwt(1), HEED_INT8);
    use();
  }

  void use() {
    auto &header = *reinterpret_cast<kwt_header *>(file_.data());
    header.checksum = kwt_checksum(&file_[16], file_.size() - 16);
    ASSERT_EQ(kwt_init(&net, file_.data(), 4 * file_.size()), KWT_OK);
  }

  // The network hears this label whatever is said.
  void always(int32_t label, double confidence) {
    float *bias = reinterpret_cast<float *>(&file_[file_.size() - 16]),
          *matrix = bias - KWT_DIM * 16;  // labels in a panel
    std::fill(matrix, bias + KWT_N_LABELS, 0.0f);
    bias[label] = float(std::log(11.0 * confidence / (1.0 - confidence)));
    use();
  }

  int32_t hop() {
    const std::vector<int16_t> silence(KWT_HOP, 0);
    kwt_result heard;
    EXPECT_EQ(kwt_words_hear(&words, silence.data(), &heard), KWT_OK);
    return heard.label;
  }

  // One character a window: a letter is a word that it hears, a capital one clearly, a blank silence, ? an unknown
  // word. Returns what is told.
  std::string told(const std::string &heard, float threshold = 0.7f) {
    std::string result;
    EXPECT_EQ(kwt_words_start(&words, &net, threshold), KWT_OK);
    for (int i = 0; i < 7; ++i) EXPECT_EQ(hop(), -1);  // the first second
    for (const char c : heard) {
      const int32_t label = c == ' ' ? 0 : c == '?' ? 1 : 2 + (std::tolower(c) - 'a');
      always(label, std::islower(c) ? 0.5 : 0.9);
      const int32_t word = hop();
      result += word < 0 ? '.' : char('A' + word - 2);
    }
    return result;
  }

  heed_test::kwt_words_of_file file_;
};

TEST_F(kwt_stream, tells_a_word_once_when_three_windows_agree) {
  EXPECT_EQ(told("  AAAAAAAA   "), "....A........");
  EXPECT_EQ(told("AA AA AAA"), "........A");
  EXPECT_EQ(told("ABABAB BBB"), ".........B");
  EXPECT_EQ(told("AAAaAAAAA"), "..A......");
}

TEST_F(kwt_stream, tells_a_word_again_when_a_second_is_over) {
  EXPECT_EQ(told("AAAAAAAAAAAAAAAAAAAA"), "..A.......A.......A.");
  EXPECT_EQ(told("AAA     AAA"), "..A.......A");
  EXPECT_EQ(told("AAA  AAA  AAA"), "..A.........A");
}

TEST_F(kwt_stream, tells_another_word_at_once) { EXPECT_EQ(told("AAABBBAAA"), "..A..B..A"); }

TEST_F(kwt_stream, tells_no_silence_no_unknown_words_and_nothing_doubtful) {
  EXPECT_EQ(told("     ?????"), "..........");
  EXPECT_EQ(told("aaaaaaJJJ"), "........J");
  EXPECT_EQ(told("aaaaaa", 0.4f), "..A...");
}

TEST_F(kwt_stream, hears_windows_of_a_second) {
  const std::vector<int16_t> first = heed_test::random_audio(2), second = heed_test::random_audio(3);
  std::vector<int16_t> audio = first;
  audio.insert(audio.end(), second.begin(), second.end());
  ASSERT_EQ(kwt_words_start(&words, &net, 0.7f), KWT_OK);
  for (size_t end = KWT_HOP; end <= audio.size(); end += KWT_HOP) {
    kwt_result heard, expected;
    ASSERT_EQ(kwt_words_hear(&words, &audio[end - KWT_HOP], &heard), KWT_OK);
    if (end < KWT_N_SAMPLES) continue;
    ASSERT_EQ(kwt_run_int16(&net, &audio[end - KWT_N_SAMPLES], KWT_N_SAMPLES, &expected), KWT_OK);
    EXPECT_EQ(std::memcmp(heard.logits, expected.logits, sizeof heard.logits), 0) << end;
  }
}

TEST_F(kwt_stream, refuses_bad_calls) {
  kwt_result heard;
  std::vector<int16_t> samples(KWT_HOP + 1, 0);
  EXPECT_EQ(kwt_words_start(nullptr, &net, 0.5f), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_words_start(&words, nullptr, 0.5f), KWT_NULL_POINTER);
  for (const float bad : {-0.1f, 1.1f, std::nanf("")}) {
    EXPECT_EQ(kwt_words_start(&words, &net, bad), KWT_BAD_THRESHOLD);
  }
  ASSERT_EQ(kwt_words_start(&words, &net, 0.5f), KWT_OK);
  EXPECT_EQ(kwt_words_hear(nullptr, samples.data(), &heard), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_words_hear(&words, nullptr, &heard), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_words_hear(&words, samples.data(), nullptr), KWT_NULL_POINTER);
  const auto odd = reinterpret_cast<const int16_t *>(reinterpret_cast<uintptr_t>(samples.data()) + 1);
  EXPECT_EQ(kwt_words_hear(&words, odd, &heard), KWT_MISALIGNED);
  for (int i = 0; i < 7; ++i) hop();
  file_[0] = 0;
  kwt_init(&net, file_.data(), 4 * file_.size());
  EXPECT_EQ(kwt_words_hear(&words, samples.data(), &heard), KWT_NOT_READY);
  EXPECT_EQ(kwt_words_start(&words, &net, 0.5f), KWT_NOT_READY);
}

}  // namespace
