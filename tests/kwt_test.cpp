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
using heed_test::random_kwt;

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
  static void SetUpTestSuite() {
    weights_ = random_kwt(1).release();
    for (const int32_t dtype : {HEED_F32, HEED_INT8}) file_of(dtype) = heed_test::aligned_file(*weights_, dtype);
  }
  static void TearDownTestSuite() { delete weights_; }
  void SetUp() override { use(file_of(HEED_F32)); }
  void TearDown() override { heed_isa_use(nullptr); }
  static heed_test::kwt_words_of_file &file_of(int32_t dtype) {
    static heed_test::kwt_words_of_file files[2];
    return files[dtype == HEED_INT8];
  }
  static void use(const heed_test::kwt_words_of_file &file) {
    ASSERT_EQ(kwt_init(&net, file.data(), 4 * file.size()), KWT_OK);
  }
  static network::kwt1 *weights_;
};
network::kwt1 *kwt_network::weights_ = nullptr;

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
  const int32_t n_kernels = heed_test::repetitions(100) < 100 ? 1 : heed_isa_count();
  for (const int32_t dtype : {HEED_F32, HEED_INT8}) {
    use(file_of(dtype));
    for (int32_t i = 0; i < n_kernels; ++i) {
      const char *name = heed_isa_name(i);
      ASSERT_EQ(heed_isa_use(name), HEED_OK) << name;
      kwt_result result;
      ASSERT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &result), KWT_OK) << name;
      const bool has_fma = heed_isa_arithmetic(name) == HEED_ARITHMETIC_FMA;
      const uint32_t expected = dtype == HEED_F32 ? has_fma ? 0x3b303aedu : 0x44604ea9u
                                : has_fma         ? 0x1e015569u
                                                  : 0x883c55dcu;
      EXPECT_EQ(hash_of(result), expected) << name << ", format " << dtype;
    }
  }
}

TEST_F(kwt_network, with_weights_in_int8_is_that_of_the_widened_ones_to_the_bit) {
  const std::vector<int16_t> pcm = random_audio(6);
  kwt_result a, b;
  use(file_of(HEED_INT8));
  EXPECT_LT(4 * file_of(HEED_INT8).size(), 900000u);
  ASSERT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &a), KWT_OK);
  const auto widened = std::make_unique<network::kwt1>(*weights_);
  heed_test::narrow(*widened);
  const heed_test::kwt_words_of_file file = heed_test::aligned_file(*widened, HEED_F32);
  use(file);
  ASSERT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &b), KWT_OK);
  EXPECT_EQ(hash_of(a), hash_of(b));
  use(file_of(HEED_F32));
  ASSERT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &b), KWT_OK);
  EXPECT_NE(hash_of(a), hash_of(b));
}

TEST_F(kwt_network, writes_weights_of_each_block_and_keeps_its_bits) {
  const std::vector<int16_t> pcm = random_audio(5);
  kwt_result a, b;
  ASSERT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &a), KWT_OK);
  constexpr size_t n = KWT_N_TOKENS;
  std::vector<float> weights(KWT_N_BLOCKS * n * n, -1.0f);
  std::vector<heed_attention_weights> outputs(KWT_N_BLOCKS);
  std::vector<heed_options> options(KWT_N_BLOCKS, heed_options_default());
  for (size_t i = 0; i < KWT_N_BLOCKS; ++i) {
    ASSERT_EQ(heed_attention_weights_init(&outputs[i], heed_head_major_out(&weights[i * n * n], n, 1, n)), HEED_OK);
    options[i].weights = &outputs[i];
  }
  net.options = options.data();
  ASSERT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &b), KWT_OK);
  net.options = nullptr;
  EXPECT_EQ(hash_of(a), hash_of(b));
  for (size_t row = 0; row < KWT_N_BLOCKS * n; ++row) {
    double sum = 0.0;
    for (size_t j = 0; j < n; ++j) {
      EXPECT_GE(weights[row * n + j], 0.0f);
      sum += double(weights[row * n + j]);
    }
    ASSERT_NEAR(sum, 1.0, 1e-5) << row;
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
  for (const uint64_t ticks : net.ticks) EXPECT_EQ(ticks, 3u);
  EXPECT_EQ(tick, 6u);  // one reading started the clock
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
  EXPECT_EQ(kwt_init(nullptr, weights_, 64), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_init(&net, nullptr, 64), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_init(&net, reinterpret_cast<const char *>(weights_) + 2, 64), KWT_MISALIGNED);
  EXPECT_EQ(kwt_init(reinterpret_cast<kwt *>(reinterpret_cast<uintptr_t>(&net) + 32), weights_, 64), KWT_MISALIGNED);
  for (const int32_t dtype : {HEED_F32, HEED_INT8}) {
    heed_test::kwt_words_of_file file = file_of(dtype);
    const size_t size = 4 * file.size();
    for (const size_t n : {size_t{0}, size_t{63}, size_t{64}, size - 1, size + 1, size_t{SIZE_MAX}})
      expect(KWT_WEIGHTS_SIZE, file.data(), n);
    auto &h = *reinterpret_cast<kwt_header *>(file.data());
    const kwt_header good = h;
    h.magic[0] = 0x48454544;  // as the other byte order sees it
    expect(KWT_WEIGHTS_MAGIC, file.data(), size);
    for (size_t word = 2; word <= offsetof(kwt_header, n_labels) / 4; ++word) {
      for (const uint32_t change : {1u, 2u, 3u, 0x80000000u}) {
        h = good;
        file[word] ^= change;
        const bool checksum = word == offsetof(kwt_header, checksum) / 4;
        expect(checksum ? KWT_WEIGHTS_DAMAGED : KWT_WEIGHTS_VERSION, file.data(), size);
      }
    }
    h = good;
    h.dtype = HEED_F16;
    h.n_bytes = KWT_WEIGHTS_BYTES(HEED_F16);
    expect(KWT_WEIGHTS_VERSION, file.data(), size);
    h = good;
    for (const size_t word : {size_t{16}, file.size() / 2, file.size() - 1}) {
      file[word] ^= 1;
      expect(KWT_WEIGHTS_DAMAGED, file.data(), size);
      file[word] ^= 1;
    }
    EXPECT_EQ(kwt_init(&net, file.data(), size), KWT_OK);
  }
}

// The checksum is right, but a matrix says that it is another one: refused when it is used, and nothing is written.
TEST_F(kwt_network, refuses_matrices_of_other_shapes) {
  const std::vector<int16_t> pcm(KWT_N_SAMPLES, 0);
  kwt_result result;
  std::memset(&result, 0x5a, sizeof result);
  const size_t matrix = 16 + KWT_LINES(KWT_FRAME * sizeof(float)) / 4;  // the first one
  for (const auto &[word, value] : {std::pair<size_t, uint32_t>(0, 1), {2, 9}, {3, HEED_BF16}, {4, 1}, {5, 4 * 122}}) {
    heed_test::kwt_words_of_file file = file_of(HEED_F32);
    if (word == 5) file[matrix + 4] = 16;  // fewer inputs, more outputs
    file[matrix + word] = value;
    reinterpret_cast<kwt_header *>(file.data())->checksum = kwt_checksum(&file[16], file.size() - 16);
    ASSERT_EQ(kwt_init(&net, file.data(), 4 * file.size()), KWT_OK);
    EXPECT_EQ(kwt_run_int16(&net, pcm.data(), pcm.size(), &result), KWT_HEED_FAILED) << word;
    EXPECT_EQ(HEED_STATUS_ARGUMENT(net.failure), HEED_ARG_PACKED) << word;
    for (size_t i = 0; i < sizeof result; ++i) ASSERT_EQ(reinterpret_cast<unsigned char *>(&result)[i], 0x5a);
  }
}

TEST(kwt_texts, exist_for_every_label_and_status) {
  EXPECT_STREQ(kwt_label(0), "_silence_");
  EXPECT_STREQ(kwt_label(11), "go");
  EXPECT_STREQ(kwt_label(-1), "?");
  EXPECT_STREQ(kwt_label(12), "?");
  for (int s = KWT_BAD_THRESHOLD; s <= KWT_OK; ++s) EXPECT_STRNE(kwt_status_text(kwt_status(s)), "unknown status") << s;
}

double relative_error(float found, double exact) { return std::fabs(double(found) - exact) / std::fabs(exact); }

TEST(kwt_math, log_keeps_its_error_bound) {
  for (uint32_t bits = 0x00800000u; bits < 0x7f800000u; bits += 1009) {
    float x, y;
    std::memcpy(&x, &bits, sizeof x);
    y = x;
    kwt_log(&y, 1, 0x1p-126f);
    if (x != 1.0f) {
      ASSERT_LE(relative_error(y, std::log(double(x))), 3 * 0x1p-24) << x;
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
    float out = re;
    kwt_magnitude(&out, &im, 1);
    const double exact = std::hypot(double(re), double(im));
    if (exact > 1e-14) {
      ASSERT_LE(relative_error(out, exact), 4 * 0x1p-24) << re << " " << im;
    }
  }
  float zero = 0.0f;
  kwt_magnitude(&zero, &zero, 1);
  EXPECT_GT(zero, 0.0f);
  EXPECT_LE(zero, 1.1e-15f);
}

// A Fourier transform by its definition, in double.
TEST(kwt_math, fold_keeps_every_bin) {
  heed_test::random_source r(7);
  std::vector<float> frame(KWT_PERIOD), folded(4 * KWT_FOLD, std::nanf(""));
  for (float &f : frame) f = r.uniform();
  kwt_fold(frame.data(), folded.data(), 1);
  for (int bin = 0; bin <= KWT_PERIOD / 2; ++bin) {
    double re = 0.0, im = 0.0, folded_re = 0.0, folded_im = 0.0;
    const auto angle = [&](int n) { return 2.0 * std::acos(-1.0) * (n * bin % KWT_PERIOD) / KWT_PERIOD; };
    for (int n = 0; n < KWT_PERIOD; ++n) {
      re += double(frame[size_t(n)]) * std::cos(angle(n));
      im += double(frame[size_t(n)]) * std::sin(angle(n));
    }
    for (int n = 0; n < KWT_FOLD; ++n) {
      folded_re += double(folded[size_t(bin % 2 * KWT_FOLD + n)]) * std::cos(angle(n));
      folded_im += double(folded[size_t((2 + bin % 2) * KWT_FOLD + n)]) * std::sin(angle(n));
    }
    EXPECT_NEAR(folded_re, re, 2e-5) << bin;
    EXPECT_NEAR(folded_im, im, 2e-5) << bin;
  }
}

}  // namespace
