// Keyword spotting in integers: its sound against double precision, its bits on every kernel, its refusals; the trained model,
// if HEED_KWT1 names its folder. SPDX-License-Identifier: MIT
#include "kwt_int.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "host_files.hpp"
#include "kwt_int_weights.hpp"
#include "kwt_oracle.hpp"

namespace heed_test {
namespace {

kwt_int net;

// A network with a transform that is one, and mel bands that overlap.
std::unique_ptr<network::kwt1> random_network() {
  auto w = random_kwt(11);
  const double turn = 2 * std::acos(-1.0);
  for (int n = 0; n < KWT_FRAME; ++n) {
    for (int bin = 0; bin < KWT_N_BINS; ++bin) {
      const double angle = turn * (n * bin % KWT_PERIOD) / KWT_PERIOD;
      w->dft[n][bin] = float(std::cos(angle));
      w->dft[n][KWT_N_BINS + bin] = float(-std::sin(angle));
    }
  }
  for (int bin = 0; bin < KWT_N_BINS; ++bin) {
    for (int m = 0; m < KWT_N_MEL; ++m) w->mel[bin][m] = std::fmax(0.0f, 1.0f - float(std::abs(bin - 3 * m)) * 0.25f);
  }
  return w;
}

std::vector<int16_t> softer(std::vector<int16_t> samples, int16_t divisor) {
  for (int16_t &s : samples) s = int16_t(s / divisor);
  return samples;
}

// Floats have two arithmetics; the file is to be the same on every computer.
bool use_no_fma() {
  for (int32_t i = 0; i < heed_isa_count(); ++i) {
    const char *name = heed_isa_name(i);
    if (heed_isa_arithmetic(name) == HEED_ARITHMETIC_NO_FMA && heed_isa_use(name) == HEED_OK) return true;
  }
  return false;
}

using aligned_bytes = std::vector<uint8_t, aligned_allocator<uint8_t>>;

class kwt_integers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    one_arithmetic_ = use_no_fma();
    weights_ = random_network().release();
    std::vector<network::clip> clips;
    for (uint64_t i = 0; i < 3; ++i) clips.push_back(random_audio(20 + i));
    clips.push_back(softer(random_audio(23), 40));
    const std::vector<uint8_t> file = network::to_integers(*weights_, clips).file;
    file_ = new aligned_bytes(file.begin(), file.end());
    heed_isa_use(nullptr);
  }
  static void TearDownTestSuite() {
    delete weights_;
    delete file_;
  }
  void SetUp() override { ASSERT_EQ(kwt_int_init(&net, file_->data(), file_->size()), KWT_OK); }
  void TearDown() override { heed_int_isa_use(nullptr); }
  static network::kwt1 *weights_;
  static aligned_bytes *file_;
  static bool one_arithmetic_;
};
network::kwt1 *kwt_integers::weights_ = nullptr;
aligned_bytes *kwt_integers::file_ = nullptr;
bool kwt_integers::one_arithmetic_ = false;

// Greatest and mean square errors of rows.
struct errors {
  double worst = 0, squares = 0, n = 0;
  void add(double found, double exact) {
    worst = std::max(worst, std::fabs(found - exact));
    squares += (found - exact) * (found - exact);
    n += 1;
  }
  double rms() const { return std::sqrt(squares / n); }
};

// Logs (98, 80) of clips in nats, against double precision.
errors log_errors(const network::kwt1 &w, const std::vector<int16_t> &pcm) {
  errors e;
  for (size_t f = 0; f < KWT_N_FRAMES; ++f) {
    uint32_t room[KWT_INT_ROOM / 4];
    int16_t logs[KWT_N_MEL];
    kwt_int_logs(net.sound, net.mel, &pcm[f * KWT_STEP], room, logs);
    matrix frame(1, std::vector<double>(KWT_FRAME));
    for (size_t i = 0; i < KWT_FRAME; ++i) frame[0][i] = pcm[f * KWT_STEP + i] / 32768.0 * double(w.window[i]);
    const matrix re = times(frame, w.dft[0], nullptr, KWT_N_BINS, 2 * KWT_N_BINS),
                 im = times(frame, w.dft[0] + KWT_N_BINS, nullptr, KWT_N_BINS, 2 * KWT_N_BINS);
    matrix bins(1, std::vector<double>(KWT_N_BINS));
    for (size_t i = 0; i < KWT_N_BINS; ++i) bins[0][i] = std::hypot(re[0][i], im[0][i]);
    const matrix mel = times(bins, w.mel[0], nullptr, KWT_N_MEL);
    for (size_t m = 0; m < KWT_N_MEL; ++m)
      e.add(logs[m] / 512.0 * std::log(2.0), std::log(std::fmax(mel[0][m], double(w.log_floor))));
  }
  return e;
}

TEST_F(kwt_integers, hear_quiet_sound_as_exactly_as_loud_sound) {
  for (const int divisor : {1, 30, 1000, 20000}) {
    const errors e = log_errors(*weights_, softer(random_audio(30), int16_t(divisor)));
    EXPECT_LT(e.worst, 0.004) << divisor;
    EXPECT_LT(e.rms(), 0.001) << divisor;
  }
  EXPECT_LT(log_errors(*weights_, std::vector<int16_t>(KWT_N_SAMPLES, 0)).worst, 0.001);
  EXPECT_LT(log_errors(*weights_, std::vector<int16_t>(KWT_N_SAMPLES, -32768)).worst, 0.004);
}

TEST_F(kwt_integers, are_near_double_precision) {
  for (uint64_t seed = 40; seed < 43; ++seed) {
    const std::vector<int16_t> pcm = random_audio(seed);
    std::vector<double> samples;
    for (const int16_t s : pcm) samples.push_back(s / 32768.0);
    kwt_int_result heard;
    ASSERT_EQ(kwt_int_run(&net, pcm.data(), pcm.size(), &heard), KWT_OK);
    const std::vector<double> expected = oracle_logits(*weights_, samples);
    for (size_t i = 0; i < KWT_N_LABELS; ++i) EXPECT_NEAR(std::ldexp(heard.logits[i], -16), expected[i], 0.1) << i;
  }
}

uint32_t digest_of(const kwt_int_result &heard) {
  uint32_t hash = 0x811c9dc5u;
  for (const int32_t logit : heard.logits) hash = (hash ^ uint32_t(logit)) * 0x01000193u;
  return hash;
}

TEST_F(kwt_integers, give_the_same_bits_everywhere) {
  const std::vector<int16_t> pcm = random_audio(50);
  for (int32_t i = 0; i < heed_int_isa_count(); ++i) {
    if (heed_int_isa_use(heed_int_isa_name(i)) != HEED_OK) continue;
    kwt_int_result heard;
    ASSERT_EQ(kwt_int_run(&net, pcm.data(), pcm.size(), &heard), KWT_OK);
    if (one_arithmetic_) {
      EXPECT_EQ(digest_of(heard), 3920247109u) << heed_int_isa_name(i);
    }
  }
}

uint32_t next_tick(void *user) { return *static_cast<uint32_t *>(user) += 3; }

TEST_F(kwt_integers, charge_every_stage_with_its_time) {
  const std::vector<int16_t> pcm = random_audio(5);
  kwt_int_result heard;
  uint32_t tick = 0;
  net.clock = next_tick;
  net.clock_user = &tick;
  ASSERT_EQ(kwt_int_run(&net, pcm.data(), pcm.size(), &heard), KWT_OK);
  for (const uint64_t ticks : net.ticks) EXPECT_EQ(ticks, 3u);
}

TEST_F(kwt_integers, refuse_bad_calls_and_leave_the_result_alone) {
  const std::vector<int16_t> pcm(KWT_N_SAMPLES + 1, 0);
  kwt_int_result heard;
  std::memset(&heard, 0x5a, sizeof heard);
  EXPECT_EQ(kwt_int_run(nullptr, pcm.data(), KWT_N_SAMPLES, &heard), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_int_run(&net, nullptr, KWT_N_SAMPLES, &heard), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_int_run(&net, pcm.data(), KWT_N_SAMPLES, nullptr), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_int_run(&net, pcm.data(), KWT_N_SAMPLES + 1, &heard), KWT_WRONG_LENGTH);
  const auto odd = reinterpret_cast<const int16_t *>(reinterpret_cast<uintptr_t>(pcm.data()) + 1);
  EXPECT_EQ(kwt_int_run(&net, odd, KWT_N_SAMPLES, &heard), KWT_MISALIGNED);
  for (size_t i = 0; i < sizeof heard; ++i) ASSERT_EQ(reinterpret_cast<unsigned char *>(&heard)[i], 0x5a);
}

TEST_F(kwt_integers, refuse_weights_that_are_not_their_own) {
  kwt_int_result heard;
  const std::vector<int16_t> pcm(KWT_N_SAMPLES, 0);
  aligned_bytes file = *file_;
  const auto expect = [&](kwt_status status, size_t n) {
    EXPECT_EQ(kwt_int_init(&net, file.data(), n), status) << n;
    EXPECT_EQ(kwt_int_run(&net, pcm.data(), pcm.size(), &heard), KWT_NOT_READY);
  };
  EXPECT_EQ(kwt_int_init(nullptr, file.data(), 64), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_int_init(&net, nullptr, 64), KWT_NULL_POINTER);
  EXPECT_EQ(kwt_int_init(&net, file.data() + 16, file.size()), KWT_MISALIGNED);
  for (const size_t n : {size_t{0}, size_t{63}, sizeof(kwt_int_header), file.size() - 1, file.size() + 1})
    expect(KWT_WEIGHTS_SIZE, n);
  const size_t layers_at = reinterpret_cast<kwt_int_header *>(file.data())->layers_at;
  const auto change = [&](size_t at, kwt_status status) {
    file[at] ^= 1;
    expect(status, file.size());
    file[at] ^= 1;
  };
  change(0, KWT_WEIGHTS_MAGIC);
  change(offsetof(kwt_int_header, version), KWT_WEIGHTS_VERSION);
  change(offsetof(kwt_int_header, n_bytes), KWT_WEIGHTS_SIZE);
  change(offsetof(kwt_int_header, checksum), KWT_WEIGHTS_DAMAGED);
  change(offsetof(kwt_int_header, layers_at), KWT_WEIGHTS_VERSION);
  change(100, KWT_WEIGHTS_DAMAGED);
  for (size_t at = layers_at; at < layers_at + offsetof(int_model_header, x_scale); at += 4)
    change(at, KWT_WEIGHTS_DAMAGED);
  change(file.size() - 1, KWT_WEIGHTS_DAMAGED);
  // The checksum is right, but a band lies beyond the bins, or a multiplier is none.
  const auto forge = [&](size_t at, uint8_t value) {
    const uint8_t before = file[at];
    kwt_int_header &h = *reinterpret_cast<kwt_int_header *>(file.data());
    const uint32_t checksum = h.checksum;
    file[at] = value;
    h.checksum = int_model_checksum(&h + 1, layers_at - sizeof h);
    expect(KWT_WEIGHTS_VERSION, file.size());
    h.checksum = checksum;
    file[at] = before;
  };
  forge(sizeof(kwt_int_header) + offsetof(kwt_int_sound, mel_first) + 2 * 79, 250);
  forge(sizeof(kwt_int_header) + offsetof(kwt_int_sound, mel_n), 9);
  forge(sizeof(kwt_int_header) + offsetof(kwt_int_sound, embedding_unit) + 3, 0);
  forge(sizeof(kwt_int_header) + offsetof(kwt_int_sound, label_unit) + 4, 40);
  // Sums that leave int32, and turns that make numbers larger.
  const auto forge_all = [&](size_t at, size_t n) {
    const std::vector<uint8_t> before(file.begin() + ptrdiff_t(at), file.begin() + ptrdiff_t(at + n));
    for (size_t i = 0; i < n; ++i) file[at + i] = i % 2 ? 0x7f : 0xff;
    forge(at, 0xff);
    std::copy(before.begin(), before.end(), file.begin() + ptrdiff_t(at));
  };
  const size_t first = sizeof(kwt_int_header);
  forge_all(first + offsetof(kwt_int_sound, embedding), 2 * KWT_N_MEL);
  forge_all(first + offsetof(kwt_int_sound, label), 2 * KWT_DIM);
  forge_all(first + offsetof(kwt_int_sound, sine) + 4 * 128, 4);
  EXPECT_EQ(kwt_int_init(&net, file.data(), file.size()), KWT_OK);
}

TEST(kwt_in_integers, refuses_networks_that_integers_cannot_have) {
  const std::vector<network::clip> clips(1, random_audio(1));
  auto w = random_network();
  EXPECT_THROW(network::to_integers(*w, {}), std::runtime_error);
  EXPECT_THROW(network::to_integers(*w, {network::clip(100)}), std::runtime_error);
  w->mel[3][1] = -1;
  EXPECT_THROW(network::to_integers(*w, clips), std::runtime_error);
  w = random_network();
  w->window[7] = 1.5f;
  EXPECT_THROW(network::to_integers(*w, clips), std::runtime_error);
  EXPECT_THROW(network::to_integers(*random_kwt(1), clips), std::runtime_error);
}

// Sound to words on the recorded clips: tests/kwt_int.sh. Here what the sound alone does to logs and tokens.
TEST(kwt_in_integers, the_trained_model_has_the_tokens_of_double_precision) {
  const char *folder = std::getenv("HEED_KWT1");
  if (!folder) GTEST_SKIP() << "HEED_KWT1 is not set: the trained model is not at hand";
  const std::string path = folder;
  const auto published = files::read(path + "/non_stream.tflite");
  const auto w = network::read_kwt(published.data(), published.size());
  const auto expected = host_files::read_expected(path + "/expected.tsv");
  std::vector<network::clip> clips;
  for (const auto &clip : expected) clips.push_back(host_files::read_wav(path + "/clips/" + clip.file));
  const std::vector<network::clip> some = {clips[0], clips[4], clips[8], clips[12], clips[16], clips[20]};
  const auto made = network::to_integers(*w, some);
  const aligned_bytes file(made.file.begin(), made.file.end());
  ASSERT_EQ(kwt_int_init(&net, file.data(), file.size()), KWT_OK);
  errors logs, tokens;
  double squares = 0;
  const double scale = made.integers.front().x_scale();
  for (const network::clip &clip : clips) {
    const errors e = log_errors(*w, clip);
    logs.worst = std::max(logs.worst, e.worst), logs.squares += e.squares, logs.n += e.n;
    std::vector<double> samples;
    for (const int16_t s : clip) samples.push_back(s / 32768.0);
    const matrix exact = oracle_tokens(*w, samples);
    for (size_t f = 0; f < KWT_N_FRAMES; ++f) {
      uint32_t room[KWT_INT_ROOM / 4];
      int16_t row[KWT_N_MEL], token[KWT_DIM];
      kwt_int_logs(net.sound, net.mel, &clip[f * KWT_STEP], room, row);
      kwt_int_embed(net.sound, row, net.sound->start[f + 1], token);
      for (size_t d = 0; d < KWT_DIM; ++d) {
        tokens.add(token[d] * scale, exact[f + 1][d]);
        squares += exact[f + 1][d] * exact[f + 1][d];
      }
    }
  }
  std::printf("          logs: greatest error %.4f, rms %.4f nats; tokens: greatest %.4f, rms %.5f, of rms %.3f\n",
              logs.worst, logs.rms(), tokens.worst, tokens.rms(), std::sqrt(squares / tokens.n));
  EXPECT_LT(logs.worst, 0.01);
  EXPECT_LT(tokens.rms(), 0.002);
}

}  // namespace
}  // namespace heed_test
