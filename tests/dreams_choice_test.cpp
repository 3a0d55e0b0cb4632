// How a language model's next token is chosen. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "dreams.h"

namespace {

HEED_MEMORY(workspace, HEED_SAMPLE_BYTES(5));

TEST(dreams_choosing, takes_the_greatest_without_a_temperature) {
  const std::vector<float> logits = {1.0f, 5.0f, -2.0f, 5.0f};
  dreams_choice greedy = {};
  EXPECT_EQ(dreams_choose(&greedy, logits.data(), 4, heed_memory_of(nullptr, 0)), 1);
  EXPECT_EQ(greedy.seed, 0u);
}

TEST(dreams_choosing, draws_by_probability_and_the_same_again) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.25f), std::log(0.15f), std::log(0.1f), -1e30f};
  const auto counts = [&](float top_p, uint64_t seed) {
    std::vector<int> n(5);
    dreams_choice choice = {1.0f, top_p, seed};
    for (int i = 0; i < 20000; ++i) ++n[size_t(dreams_choose(&choice, logits.data(), 5, workspace))];
    return n;
  };
  const std::vector<int> all = counts(0.0f, 1), most = counts(0.7f, 1);
  EXPECT_EQ(counts(0.0f, 1), all);
  EXPECT_EQ(counts(1.0f, 1), all);
  EXPECT_NE(counts(0.0f, 2), all);
  EXPECT_NEAR(all[0], 10000, 300);
  EXPECT_NEAR(all[1], 5000, 300);
  EXPECT_NEAR(all[3], 2000, 300);
  EXPECT_EQ(all[4], 0);
  EXPECT_NEAR(most[0], 13333, 300);  // 0.5 of 0.75
  EXPECT_EQ(most[2] + most[3] + most[4], 0);
}

TEST(dreams_choosing, survives_what_is_no_number) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float> &bad : {std::vector<float>{nan, nan}, {infinity, 0.0f}, {-infinity, -infinity}})
    for (const float temperature : {0.0f, 1.0f, 1e-40f}) {
      dreams_choice choice = {temperature, 0.9f, 3};
      const int32_t token = dreams_choose(&choice, bad.data(), 2, workspace);
      EXPECT_TRUE(token == 0 || token == 1);
    }
}

}  // namespace
