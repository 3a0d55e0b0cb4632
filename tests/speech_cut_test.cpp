// The cut of a stream of sound at its pauses, and between words where it has none. Compiled for 3 s at once, so that cuts come
// soon. SPDX-License-Identifier: MIT
#include "speech_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../ports/import/file_bytes.hpp"
#include "speech_align.h"
#include "support/random.hpp"

namespace {

using namespace heed_test;

speech net;
speech_cut cut;
constexpr int seconds_at_once = SPEECH_SAMPLES / SPEECH_RATE;

struct piece {
  int64_t first;
  std::vector<int16_t> samples;
};

std::vector<piece> pieces_of(const std::vector<int16_t> &stream) {
  std::vector<piece> pieces;
  const auto keep = [&](int32_t n) {
    if (n > 0) pieces.push_back({cut.first, {cut.samples, cut.samples + n}});
  };
  speech_cut_start(&cut);
  for (size_t at = 0; at + SPEECH_FRAME <= stream.size(); at += SPEECH_FRAME) keep(speech_cut_take(&cut, &stream[at]));
  keep(speech_cut_finish(&cut));
  return pieces;
}

// Noise of an amplitude for each second.
std::vector<int16_t> noise(std::initializer_list<double> seconds_and_amplitudes, int offset = 0) {
  random_source r(1);
  std::vector<int16_t> stream;
  for (auto p = seconds_and_amplitudes.begin(); p != seconds_and_amplitudes.end(); p += 2)
    for (int i = 0; i < int(p[0] * SPEECH_RATE); ++i) stream.push_back(int16_t(offset + p[1] * double(r.uniform())));
  return stream;
}

TEST(speech_cut, hears_nothing_in_silence_noise_and_an_offset) {
  EXPECT_TRUE(pieces_of(noise({20, 0})).empty());
  EXPECT_TRUE(pieces_of(noise({20, 30})).empty());
  EXPECT_TRUE(pieces_of(noise({20, 0}, 12000)).empty());
  EXPECT_TRUE(pieces_of(noise({5, 10, 0.04, 9000, 5, 10})).empty()) << "a click";
}

TEST(speech_cut, keeps_what_surrounds_a_sound) {
  const std::vector<int16_t> stream = noise({2, 20, 1, 3000, 2, 20});
  const std::vector<piece> pieces = pieces_of(stream);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_NEAR(double(pieces[0].first) / SPEECH_RATE, 1.7, 0.05);
  EXPECT_NEAR(double(pieces[0].samples.size()) / SPEECH_RATE, 1.7, 0.05);
  EXPECT_TRUE(std::equal(pieces[0].samples.begin(), pieces[0].samples.end(), stream.begin() + pieces[0].first));
}

TEST(speech_cut, cuts_at_pauses_and_not_between_words) {
  EXPECT_EQ(pieces_of(noise({1, 20, 0.8, 3000, 0.3, 20, 0.8, 3000, 1, 20, 0.5, 2000, 2, 20})).size(), 2u);
}

TEST(speech_cut, begins_and_ends_with_the_stream) {
  const std::vector<piece> pieces = pieces_of(noise({1, 3000}));
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].first, 0);
  EXPECT_EQ(pieces[0].samples.size(), size_t(SPEECH_RATE));
  EXPECT_TRUE(pieces_of({}).empty());
  EXPECT_TRUE(pieces_of(noise({0.02, 3000})).empty());
}

TEST(speech_cut, cuts_a_long_sound_where_it_is_quietest) {
  const std::vector<int16_t> stream = noise({2.5, 3000, 0.1, 100, 3, 3000, 1, 3000});
  const std::vector<piece> pieces = pieces_of(stream);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_NEAR(double(pieces[1].first) / SPEECH_RATE, 2.55, 0.06);
  int64_t at = 0;
  for (const piece &p : pieces) {
    EXPECT_EQ(p.first, at) << "no sample is lost";
    EXPECT_LE(p.samples.size(), size_t(SPEECH_SAMPLES));
    at += int64_t(p.samples.size());
  }
  EXPECT_EQ(size_t(at), stream.size() / SPEECH_FRAME * SPEECH_FRAME);
}

// Whatever is left behind a forced cut: a piece is long enough to be heard, and nothing else is lost.
TEST(speech_cut, leaves_no_rest_that_is_too_short) {
  for (const double more : {0.0, 0.02, 0.04, 0.06, 0.5, 3.0}) {
    const std::vector<int16_t> stream = noise({seconds_at_once + more, 3000});
    const std::vector<piece> pieces = pieces_of(stream);
    int64_t at = 0;
    for (const piece &p : pieces) {
      EXPECT_GE(p.samples.size(), size_t(SPEECH_MIN_SAMPLES)) << more;
      EXPECT_EQ(p.first, at) << more;
      at += int64_t(p.samples.size());
    }
    EXPECT_EQ(size_t(at), stream.size() / SPEECH_FRAME * SPEECH_FRAME) << more;
  }
  // The caller may end a piece elsewhere: a rest of two frames says nothing.
  const std::vector<int16_t> stream = noise({seconds_at_once + 0.04, 3000});
  int32_t n = 0;
  speech_cut_start(&cut);
  for (size_t at = 0; at + SPEECH_FRAME <= stream.size(); at += SPEECH_FRAME) {
    n = speech_cut_take(&cut, &stream[at]);
    EXPECT_EQ(n > 0, cut.is_forced == 1);
    if (n > 0) speech_cut_before(&cut, SPEECH_MAX_FRAMES);
  }
  EXPECT_EQ(cut.first, SPEECH_SAMPLES);
  EXPECT_EQ(speech_cut_finish(&cut), 0);
}

// The token that stands for a text.
int32_t token_of(const std::string &text) {
  char found[8];
  for (int32_t token = 3; token < SPEECH_TOKENS; ++token)
    if (heed_tokenizer_decode(&net.words, 3, token, found, sizeof found) == text.size() &&
        text.compare(0, text.size(), found, text.size()) == 0)
      return token;
  throw std::runtime_error("no token is " + text);
}

// Sound of one loudness, in which words begin at known places of the alignment.
TEST(speech_cut, is_cut_where_a_word_begins) {
  static speech_alignment a;
  static const heed_import::file_bytes file(MADE_UP_FOLDER "/speech.heed");
  ASSERT_STREQ(speech_open(&net, file.all().data, file.all().size), nullptr);
  const int32_t blank = token_of(" "), letter = token_of("b"), comma = token_of(",");
  const std::vector<int16_t> stream = noise({1.9, 3000, 0.1, 1000, 0.5, 3000, 0.1, 100, 0.4, 3000});
  const auto row = [](double seconds) {
    return (int32_t(seconds * SPEECH_RATE) - SPEECH_ROW_CENTRE) / SPEECH_ROW_SAMPLES;
  };
  a.net = &net;
  const auto cut_at = [&](std::initializer_list<std::pair<int32_t, double>> tokens_and_seconds) {
    net.n = 1;
    speech_cut_start(&cut);
    for (size_t at = 0; at + SPEECH_FRAME <= stream.size(); at += SPEECH_FRAME) speech_cut_take(&cut, &stream[at]);
    for (const auto &t : tokens_and_seconds) a.first[net.n - 1] = row(t.second), net.tokens[net.n++] = t.first;
    a.n_tokens = net.n - 1;
    EXPECT_EQ(speech_align_cut(&a, &cut), a.n_tokens);
    return std::make_pair(a.n_tokens, double(cut.n_done * SPEECH_FRAME) / SPEECH_RATE);
  };
  const auto at_2_6 = cut_at({{blank, 0.1}, {blank, 1.9}, {letter, 2.2}, {blank, 2.6}, {letter, 2.8}});
  EXPECT_EQ(at_2_6.first, 3) << "two words, of three tokens, stay";
  EXPECT_NEAR(at_2_6.second, 2.55, 0.05);
  const auto at_1_9 = cut_at({{blank, 0.1}, {blank, 1.9}, {letter, 2.2}, {letter, 2.6}, {letter, 2.8}});
  EXPECT_EQ(at_1_9.first, 1) << "the quietest place is within a word";
  EXPECT_NEAR(at_1_9.second, 1.95, 0.05);
  const auto at_comma = cut_at({{blank, 0.1}, {blank, 1.9}, {comma, 2.1}, {blank, 2.3}, {letter, 2.8}});
  EXPECT_EQ(at_comma.first, 3) << "behind a comma it may be louder";
  EXPECT_NEAR(at_comma.second, 2.4, 0.1);
  const auto before_2_46 = cut_at({{blank, 0.1}, {blank, 2.42}, {letter, 2.46}, {letter, 2.8}});
  EXPECT_EQ(before_2_46.first, 1);
  EXPECT_LT(before_2_46.second, 2.47) << "the quiet place lies behind the word's next token";
  const auto at_end = cut_at({{blank, 0.1}, {blank, 1.0}, {letter, 2.0}, {comma, 3.0}});
  EXPECT_EQ(at_end.first, 4) << "no word begins in the second half: all stay";
  EXPECT_EQ(at_end.second, seconds_at_once);
}

TEST(speech_cut, gets_used_to_a_noisier_room) {
  const std::vector<piece> pieces = pieces_of(noise({3, 20, 40, 400, 1, 8000, 2, 400}));
  ASSERT_GE(pieces.size(), 2u);
  EXPECT_NEAR(double(pieces.back().first) / SPEECH_RATE, 42.7, 0.1) << "it hears what is louder than the noise";
  EXPECT_LT(double(pieces[pieces.size() - 2].first) / SPEECH_RATE, 35.0) << "the noise no more";
}

}  // namespace
