// Keyword spotting: the network against an oracle, its bits on every kernel, its elementary functions, its refusals.
// SPDX-License-Identifier: MIT
#include "kwt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kwt_math.h"
#include "kwt_oracle.hpp"

namespace {

using heed_test::random_audio;
using heed_test::random_kwt_weights;

kwt net;

uint32_t hash_of(const kwt_result &result) {
  uint32_t hash = 0x811c9dc5u;
  for (const float logit : result.logits) {
    uint32_t bits;
    std::memcpy(&bits, &logit, sizeof bits);
    hash = (hash ^ bits) * 0x01000193u;
  }
  return hash;
}

class kwt_network : public testing::Test {
 protected:
  static void SetUpTestSuite() { weights_ = random_kwt_weights(1).release(); }
  static void TearDownTestSuite() { delete weights_; }
  void SetUp() override { ASSERT_EQ(kwt_init(&net, weights_, sizeof *weights_), KWT_OK); }
  void TearDown() override { heed_kernel_use(nullptr); }
  static kwt_weights *weights_;
};
kwt_weights *kwt_network::weights_ = nullptr;

TEST_F(kwt_network, agrees_with_the_oracle) {
  const std::vector<int16_t> pcm = random_audio(2);
  std::vector<double> samples;
  for (const int16_t s : pcm) samples.push_back(s / 32768.0);
  kwt_result result;
  ASSERT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &result), KWT_OK);
  const std::vector<double> expected = heed_test::oracle_logits(*weights_, samples);
  double sum = 0.0;
  for (size_t i = 0; i < KWT_N_LABELS; ++i) {
    EXPECT_NEAR(double(result.logits[i]), expected[i], 2e-5) << i;
    EXPECT_LE(expected[i], expected[size_t(result.label)]);
    sum += std::exp(expected[i]);
  }
  EXPECT_NEAR(double(result.confidence), std::exp(expected[size_t(result.label)]) / sum, 1e-5);
}

// The numbers hold for every processor and compiler: random weights and audio come from integers.
TEST_F(kwt_network, gives_the_same_bits_everywhere) {
  const std::vector<int16_t> pcm = random_audio(3);
  // Emulators and sanitizers take seconds per run; there the kernel in use stands for all.
  const int32_t n_kernels = heed_test::repetitions(100) < 100 ? 1 : heed_kernel_count();
  for (int32_t i = 0; i < n_kernels; ++i) {
    const char *name = heed_kernel_name(i);
    ASSERT_EQ(heed_kernel_use(name), HEED_OK) << name;
    kwt_result result;
    ASSERT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &result), KWT_OK) << name;
    EXPECT_EQ(hash_of(result), heed_kernel_profile(name) == HEED_PROFILE_FUSED ? 0xb14b9b6fu : 0x89e681bfu) << name;
  }
}

TEST_F(kwt_network, takes_float_samples_as_int16_over_32768) {
  const std::vector<int16_t> pcm = random_audio(4);
  std::vector<float> samples;
  for (const int16_t s : pcm) samples.push_back(float(s) / 32768.0f);
  kwt_result a, b;
  ASSERT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &a), KWT_OK);
  ASSERT_EQ(kwt_run_float(&net, samples.data(), samples.size(), &b), KWT_OK);
  EXPECT_EQ(hash_of(a), hash_of(b));
  EXPECT_EQ(a.label, b.label);
}

TEST_F(kwt_network, hears_nothing_wrong_in_digital_silence) {
  const std::vector<int16_t> pcm(KWT_N_SAMPLES, 0);
  kwt_result result;
  ASSERT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &result), KWT_OK);
  const std::vector<double> expected = heed_test::oracle_logits(*weights_, std::vector<double>(KWT_N_SAMPLES, 0.0));
  for (size_t i = 0; i < KWT_N_LABELS; ++i) EXPECT_NEAR(double(result.logits[i]), expected[i], 2e-5) << i;
}

uint32_t next_tick(void *user) { return *static_cast<uint32_t *>(user) += 3; }

TEST_F(kwt_network, charges_every_stage_with_its_time) {
  const std::vector<int16_t> pcm = random_audio(5);
  kwt_result result;
  uint32_t tick = std::numeric_limits<uint32_t>::max() - 5;  // wraps on the way
  net.clock = next_tick;
  net.clock_user = &tick;
  ASSERT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &result), KWT_OK);
  EXPECT_EQ(net.ticks[KWT_STAGE_ATTENTION], 3u * KWT_N_BLOCKS);
  EXPECT_EQ(net.ticks[KWT_STAGE_NORM], 3u * 2 * KWT_N_BLOCKS);
  uint64_t sum = 0;
  for (const uint64_t ticks : net.ticks) sum += ticks;
  EXPECT_EQ(sum, uint64_t{tick} + 6 - 3);  // all but the reading that started the clock
}

TEST_F(kwt_network, refuses_bad_calls_and_leaves_the_result_alone) {
  const std::vector<int16_t> pcm(KWT_N_SAMPLES + 1, 0);
  std::vector<float> samples(KWT_N_SAMPLES + 1, 0.0f);
  kwt_result result;
  std::memset(&result, 0x5a, sizeof result);
  EXPECT_EQ(kwt_run_int16(nullptr, pcm.data(), KWT_N_SAMPLES, &result), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_run_int16(&net, nullptr, KWT_N_SAMPLES, &result), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_run_int16(&net, pcm.data(), KWT_N_SAMPLES, nullptr), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_run_float(&net, nullptr, KWT_N_SAMPLES, &result), KWT_NULL_POINTER);
  for (const size_t n : {size_t{0}, size_t{KWT_N_SAMPLES} - 1, size_t{KWT_N_SAMPLES} + 1, SIZE_MAX}) {
    EXPECT_EQ(kwt_run_int16(&net, pcm.data(), n, &result), KWT_WRONG_LENGTH);
    EXPECT_EQ(kwt_run_float(&net, samples.data(), n, &result), KWT_WRONG_LENGTH);
  }
  const auto address = reinterpret_cast<uintptr_t>(samples.data()) + 1;
  EXPECT_EQ(kwt_run_float(&net, reinterpret_cast<const float *>(address), KWT_N_SAMPLES, &result), KWT_MISALIGNED);
  EXPECT_EQ(kwt_run_int16(&net, reinterpret_cast<const int16_t *>(address), KWT_N_SAMPLES, &result), KWT_MISALIGNED);
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF, 4.1f, -32768.0f}) {
    samples[KWT_N_SAMPLES - 1] = bad;
    EXPECT_EQ(kwt_run_float(&net, samples.data(), KWT_N_SAMPLES, &result), KWT_BAD_SAMPLE) << bad;
  }
  for (size_t i = 0; i < sizeof result; ++i) ASSERT_EQ(reinterpret_cast<unsigned char *>(&result)[i], 0x5a);
}

TEST_F(kwt_network, refuses_weights_that_are_not_its_own) {
  const std::vector<int16_t> pcm(KWT_N_SAMPLES, 0);
  kwt_result result;
  const auto expect = [&](kwt_status status, const void *weights, size_t n) {
    EXPECT_EQ(kwt_init(&net, weights, n), status);
    EXPECT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &result), KWT_NOT_READY);
  };
  kwt_weights_header &h = weights_->header;
  const size_t size = sizeof(kwt_weights);
  EXPECT_EQ(kwt_init(nullptr, weights_, size), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_init(&net, nullptr, size), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_init(&net, reinterpret_cast<const char *>(weights_) + 2, size), KWT_MISALIGNED);
  EXPECT_EQ(kwt_init(reinterpret_cast<kwt *>(reinterpret_cast<uintptr_t>(&net) + 32), weights_, size), KWT_MISALIGNED);
  for (const size_t n : {size_t{0}, size_t{63}, size_t{64}, size - 1, size + 1}) expect(KWT_WEIGHTS_SIZE, weights_, n);
  const kwt_weights_header good = h;
  h.magic[0] = 0x48454544;  // as the other byte order sees it
  expect(KWT_WEIGHTS_MAGIC, weights_, size);
  for (uint32_t *word = &h.version; word <= &h.n_labels; ++word) {
    h = good;
    *word += 1;
    expect(word == &h.checksum ? KWT_WEIGHTS_DAMAGED : KWT_WEIGHTS_VERSION, weights_, size);
  }
  h = good;
  float &last = weights_->b_label_padding[3];
  last = 1.0f;
  expect(KWT_WEIGHTS_DAMAGED, weights_, size);
  last = 0.0f;
  EXPECT_EQ(kwt_init(&net, weights_, size), KWT_OK);
}

TEST(kwt_texts, exist_for_every_label_and_status) {
  EXPECT_STREQ(kwt_label(0), "_silence_");
  EXPECT_STREQ(kwt_label(11), "go");
  EXPECT_STREQ(kwt_label(-1), "?");
  EXPECT_STREQ(kwt_label(12), "?");
  for (int s = KWT_HEED_FAILED; s <= KWT_OK; ++s) EXPECT_STRNE(kwt_status_text(kwt_status(s)), "unknown status") << s;
}

double relative_error(float found, double exact) { return std::fabs(double(found) - exact) / std::fabs(exact); }

TEST(kwt_math, gelu_keeps_its_error_bounds) {
  for (int32_t i = -1000000; i <= 1000000; ++i) {
    const float x = float(i) * 1e-4f;
    float y = x;
    kwt_gelu(&y, 1);
    // 1 + tanh(u) loses its digits in double, too, so the exact value takes the exponential form.
    const double u = std::sqrt(2.0 / std::acos(-1.0)) * (double(x) + 0.044715 * std::pow(double(x), 3.0));
    const double exact = double(x) / (1.0 + std::exp(-2.0 * u));
    ASSERT_LE(std::fabs(double(y) - exact), 1.2e-7 * std::fabs(double(x))) << x;
    if (x != 0.0f && std::fabs(x) <= 5.0f) {
      ASSERT_LE(relative_error(y, exact), 3e-6) << x;
    }
  }
}

TEST(kwt_math, log_and_rsqrt_keep_their_error_bounds) {
  for (uint32_t bits = 0x00800000u; bits < 0x7f800000u; bits += 1009) {
    float x, y;
    std::memcpy(&x, &bits, sizeof x);
    y = x;
    kwt_log(&y, 1, 0x1p-126f);
    if (x != 1.0f) {
      ASSERT_LE(relative_error(y, std::log(double(x))), 3 * 0x1p-24) << x;
    }
    if (x >= 1e-30f && x <= 1e36f) {
      ASSERT_LE(relative_error(kwt_rsqrt(x), 1.0 / std::sqrt(double(x))), 3 * 0x1p-24) << x;
    }
  }
  float one = 1.0f, low = 0.0f;
  kwt_log(&one, 1, 0x1p-126f);
  kwt_log(&low, 1, 1e-12f);
  EXPECT_EQ(one, 0.0f);
  EXPECT_NEAR(low, std::log(1e-12), 4e-6);
}

TEST(kwt_math, magnitude_keeps_its_error_bound) {
  heed_test::random_source r(6);
  for (int i = 0; i < 300000; ++i) {
    const float re = std::ldexp(r.uniform(), r.between(-10, 10)), im = std::ldexp(r.uniform(), r.between(-10, 10));
    float out;
    kwt_magnitude(&re, &im, &out, 1);
    const double exact = std::hypot(double(re), double(im));
    if (exact > 1e-14) {
      ASSERT_LE(relative_error(out, exact), 4 * 0x1p-24) << re << " " << im;
    }
  }
  float zero = 0.0f;
  kwt_magnitude(&zero, &zero, &zero, 1);
  EXPECT_GT(zero, 0.0f);
  EXPECT_LE(zero, 1.1e-15f);
}

TEST(kwt_math, norm_has_mean_beta_and_deviation_gamma) {
  heed_test::random_source r(7);
  std::vector<float> x(3 * KWT_DIM), branch(3 * KWT_DIM), gamma(KWT_DIM, 2.0f), beta(KWT_DIM, 0.5f);
  for (float &f : x) f = 10.0f + r.bell();
  for (float &f : branch) f = r.bell();
  heed_test::matrix exact, add;
  for (size_t t = 0; t < 3; ++t) {
    exact.emplace_back(x.begin() + ptrdiff_t(t) * KWT_DIM, x.begin() + ptrdiff_t(t + 1) * KWT_DIM);
    add.emplace_back(branch.begin() + ptrdiff_t(t) * KWT_DIM, branch.begin() + ptrdiff_t(t + 1) * KWT_DIM);
  }
  heed_test::oracle_norm(exact, add, gamma.data(), beta.data(), 1e-6);
  kwt_add_norm(x.data(), branch.data(), 3, gamma.data(), beta.data(), 1e-6f);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(double(x[i]), exact[i / KWT_DIM][i % KWT_DIM], 1e-5);
}

}  // namespace
