// A program of speech that heed_compile wrote from a made-up model, 3 s at once: every kernel gives the bits that it knows, threads change
// none, and sounds have a least and a greatest length. SPDX-License-Identifier: MIT
#include "speech.h"

#include <gtest/gtest.h>

#include <vector>

#include "../ports/import/file_bytes.hpp"
#include "rows_digest.h"
#include "speech_cut.h"
#include "support/kernels.hpp"
#include "support/random.hpp"
#include "support/executors.hpp"

namespace {

using namespace heed_test;

speech net;

void open() {
  static const heed_import::file_bytes file(MADE_UP_FOLDER "/speech.heed");
  ASSERT_STREQ(speech_open(&net, file.all().data, file.all().size), nullptr) << "layer " << net.fault_layer;
}

std::vector<int16_t> noise(size_t n) {
  random_source r(1);
  std::vector<int16_t> sound;
  while (sound.size() < n) sound.push_back(int16_t(9000 * double(r.uniform())));
  return sound;
}

uint64_t digest_of(const std::vector<int16_t> &sound) {
  EXPECT_STREQ(speech_sound(&net, sound.data(), int32_t(sound.size())), nullptr);
  uint64_t digest = rows_digest(ROWS_DIGEST_BEGIN, net.x, net.n_rows * SPEECH_DIM);
  for (int32_t token = 1; token >= 0;) {
    EXPECT_STREQ(speech_next(&net, &token), nullptr);
    digest = rows_digest(digest, net.logits, SPEECH_TOKENS);
  }
  return digest;
}

class speech_kernel : public kernel_test {};
HEED_TEST_EVERY_KERNEL(speech_kernel);

TEST_P(speech_kernel, gives_the_known_answers) { open(); }

TEST(speech_program, gives_the_same_bits_for_any_number_of_threads) {
  open();
  const std::vector<int16_t> sound = noise(40000);
  const uint64_t expected = digest_of(sound);
  for (int32_t n_workers = 2; n_workers <= 8; n_workers += 3) {
    const thread_executor threads(n_workers);
    net.executor = threads.get();
    EXPECT_EQ(digest_of(sound), expected) << n_workers << " threads";
    net.executor = nullptr;
  }
}

TEST(speech_program, refuses_sounds_that_are_too_short_or_too_long) {
  open();
  const std::vector<int16_t> sound = noise(SPEECH_SAMPLES + 1);
  int32_t token;
  EXPECT_STREQ(speech_next(&net, &token), "there is no sound yet");
  EXPECT_STREQ(speech_sound(&net, sound.data(), SPEECH_MIN_SAMPLES - 1), "the sound is shorter than 895 samples");
  EXPECT_NE(speech_sound(&net, sound.data(), SPEECH_SAMPLES + 1), nullptr);
  EXPECT_NE(speech_sound(&net, nullptr, SPEECH_MIN_SAMPLES), nullptr);
  EXPECT_STREQ(speech_next(&net, &token), "there is no sound yet");
  ASSERT_STREQ(speech_sound(&net, sound.data(), SPEECH_MIN_SAMPLES), nullptr);
  EXPECT_EQ(net.n_rows, 1);
  EXPECT_STREQ(speech_next(&net, &token), nullptr);
  EXPECT_EQ(token, -1) << "895 samples have room for no token";
  ASSERT_STREQ(speech_sound(&net, sound.data(), SPEECH_SAMPLES), nullptr);
  EXPECT_EQ(net.n_rows, SPEECH_ROWS);
  EXPECT_EQ(SPEECH_CONTEXT, 19) << "6 tokens a second, behind the first";
}

}  // namespace
