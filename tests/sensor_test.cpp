// The network of ports/sensor: its refusals; and with the published weights and recordings, if HEED_EEG names their
// folder, every stage against double precision, in floats and in integers, on every kernel. SPDX-License-Identifier: MIT
#include "sensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "sensor_files.hpp"

namespace {

// Of the embeddings of all recordings in integers, on every processor.
constexpr uint32_t integer_digest = 0xfdc4e8a7;

sensor net;
sensor_int int_net;

class sensor_model : public testing::Test {
 protected:
  void SetUp() override {
    const char *variable = std::getenv("HEED_EEG");
    if (!variable) GTEST_SKIP() << "HEED_EEG is not set: the trained weights are not at hand";
    folder_ = variable;
    weights_ = sensor_files::read_weights(folder_);
    for (const auto &e : sensor_files::read_expected(folder_ + "/expected.tsv"))
      recordings_.emplace_back(e, sensor_files::read_recording(folder_ + "/" + e.name + ".f32"));
    ASSERT_EQ(recordings_.size(), 2u);
  }
  void TearDown() override {
    heed_isa_use(nullptr);
    heed_int_isa_use(nullptr);
  }
  static void give(const std::vector<float> &recording) {
    for (size_t i = 0; i < recording.size(); i += SENSOR_ROW) ASSERT_EQ(sensor_row(&net, &recording[i]), SENSOR_OK);
  }
  std::string folder_;
  std::unique_ptr<sensor_weights> weights_;
  std::vector<std::pair<sensor_files::expected_recording, std::vector<float>>> recordings_;
};

TEST_F(sensor_model, has_the_class_and_embedding_of_double_precision_on_every_kernel) {
  std::map<std::pair<int32_t, std::string>, std::vector<float>> of_arithmetic;
  for (int32_t i = 0; i < heed_isa_count(); ++i) {
    const char *kernel = heed_isa_name(i);
    SCOPED_TRACE(kernel);
    ASSERT_EQ(heed_isa_use(kernel), HEED_OK);
    ASSERT_EQ(sensor_start(&net, weights_.get(), sizeof *weights_), SENSOR_OK);
    for (const auto &[expected, recording] : recordings_) {
      sensor_result result;
      give(recording);
      ASSERT_EQ(sensor_finish(&net, &result), SENSOR_OK);
      EXPECT_EQ(result.nearer, expected.nearer);
      for (size_t c = 0; c < SENSOR_N_CLASSES; ++c)
        EXPECT_NEAR(double(result.distances[c]), expected.distances[c], 2e-5);
      std::vector<float> bits(result.embedding, result.embedding + SENSOR_DIM);
      for (size_t k = 0; k < SENSOR_DIM; ++k) EXPECT_NEAR(double(bits[k]), expected.embedding[k], 2e-6);
      const auto first = of_arithmetic.emplace(std::make_pair(heed_isa_arithmetic(kernel), expected.name), bits).first;
      EXPECT_EQ(std::memcmp(first->second.data(), bits.data(), sizeof result.embedding), 0);
    }
  }
}

TEST_F(sensor_model, follows_double_precision_through_every_stage) {
  std::map<std::string, std::vector<double>> stages;  // "layer0.attention 1"
  std::ifstream trace(folder_ + "/expected.trace.txt");
  for (std::string line; std::getline(trace, line);) {
    std::istringstream words(line);
    std::string stage, row;
    words >> stage >> row;
    for (double v; words >> v;) stages[stage + " " + row].push_back(v);
  }
  double worst = 0;
  size_t n_stages = 0;
  const auto compare = [&](const std::string &stage) {
    for (size_t row = 0; row < 2; ++row) {
      const std::vector<double> &expected = stages[stage + " " + std::to_string(row)];
      ASSERT_EQ(expected.size(), size_t{SENSOR_DIM}) << stage;
      for (size_t i = 0; i < SENSOR_DIM; ++i)
        worst = std::max(worst, std::fabs(double(net.x[row * SENSOR_DIM + i]) - expected[i]));
    }
    ++n_stages;
  };
  ASSERT_EQ(sensor_start(&net, weights_.get(), sizeof *weights_), SENSOR_OK);
  give(recordings_[0].second);
  for (size_t i = 0; i < SENSOR_DIM; ++i) net.x[i] = weights_->class_token[i] + weights_->positions[i];
  compare("embedded");
  for (int32_t layer = 0; layer < SENSOR_N_LAYERS; ++layer) {
    sensor_run_layer(&net, layer, SENSOR_N_TOKENS, net.x);
    compare("layer" + std::to_string(layer));
  }
  EXPECT_EQ(n_stages, size_t{1 + SENSOR_N_LAYERS});
  EXPECT_LT(worst, 1e-5);
  std::printf("          rows 0 and 1 of %zu stages: within %.1e of double precision\n", n_stages, worst);
}

TEST_F(sensor_model, has_one_digest_in_integers_on_every_kernel) {
  const auto weights = sensor_files::quantize(*weights_, {recordings_[0].second});
  for (int32_t i = 0; i < heed_int_isa_count(); ++i) {
    SCOPED_TRACE(heed_int_isa_name(i));
    ASSERT_EQ(heed_int_isa_use(heed_int_isa_name(i)), HEED_OK);
    ASSERT_EQ(sensor_int_start(&int_net, weights.get(), sizeof *weights), SENSOR_OK);
    std::vector<uint32_t> digits;
    for (const auto &[expected, recording] : recordings_) {
      const std::vector<int16_t> rows = sensor_files::to_int16(recording);
      for (size_t r = 0; r < rows.size(); r += SENSOR_ROW) ASSERT_EQ(sensor_int_row(&int_net, &rows[r]), SENSOR_OK);
      sensor_int_result result;
      ASSERT_EQ(sensor_int_finish(&int_net, &result), SENSOR_OK);
      EXPECT_EQ(result.nearer, expected.nearer);
      for (size_t c = 0; c < SENSOR_N_CLASSES; ++c)
        EXPECT_NEAR(std::ldexp(double(result.distances[c]), -2 * SENSOR_EMBEDDING_BITS), expected.distances[c], 0.25);
      for (size_t k = 0; k < SENSOR_DIM; ++k) {
        EXPECT_NEAR(std::ldexp(result.embedding[k], -SENSOR_EMBEDDING_BITS), expected.embedding[k], 0.02);
        digits.push_back(static_cast<uint32_t>(int32_t{result.embedding[k]}));
      }
    }
    EXPECT_EQ(sensor_checksum(digits.data(), digits.size()), integer_digest);
  }
}

// The scales do not depend on the kernel that is chosen, which stays chosen.
TEST_F(sensor_model, is_quantised_alike_on_every_kernel) {
  const auto first = sensor_files::quantize(*weights_, {recordings_[0].second});
  for (int32_t i = 0; i < heed_isa_count(); ++i) {
    ASSERT_EQ(heed_isa_use(heed_isa_name(i)), HEED_OK);
    const auto weights = sensor_files::quantize(*weights_, {recordings_[0].second});
    EXPECT_EQ(std::memcmp(first.get(), weights.get(), sizeof *weights), 0) << heed_isa_name(i);
    EXPECT_STREQ(heed_isa_current(), heed_isa_name(i));
  }
}

// -------------------------------------------------------------------------------------------------------- refusals

template <class W>
std::unique_ptr<W> nothing(uint32_t kind) {
  auto w = std::make_unique<W>();
  std::memset(static_cast<void *>(w.get()), 0, sizeof *w);
  sensor_files::write_header(*w, kind);
  return w;
}

// One network for both: start, row, finish.
struct floats {
  using number = float;
  using result = sensor_result;
  static constexpr uint32_t kind = SENSOR_FLOATS, other = SENSOR_INTEGERS;
  static constexpr auto start = sensor_start;
  static constexpr auto row = sensor_row;
  static constexpr auto finish = sensor_finish;
  static sensor &object() { return net; }
  static std::unique_ptr<sensor_weights> weights() { return nothing<sensor_weights>(kind); }
};
struct integers {
  using number = int16_t;
  using result = sensor_int_result;
  static constexpr uint32_t kind = SENSOR_INTEGERS, other = SENSOR_FLOATS;
  static constexpr auto start = sensor_int_start;
  static constexpr auto row = sensor_int_row;
  static constexpr auto finish = sensor_int_finish;
  static sensor_int &object() { return int_net; }
  static std::unique_ptr<sensor_int_weights> weights() { return nothing<sensor_int_weights>(kind); }
};

template <class N>
void refuse_weights() {
  auto w = N::weights();
  auto *o = &N::object();
  const size_t n = sizeof *w;
  EXPECT_EQ(N::start(nullptr, w.get(), n), SENSOR_NULL_POINTER);
  EXPECT_EQ(N::start(o, nullptr, n), SENSOR_NULL_POINTER);
  EXPECT_EQ(N::start(o, reinterpret_cast<char *>(w.get()) + 2, n), SENSOR_MISALIGNED);
  EXPECT_EQ(N::start(o, w.get(), 8), SENSOR_WEIGHTS_SIZE);
  EXPECT_EQ(N::start(o, w.get(), n - 4), SENSOR_WEIGHTS_SIZE);
  EXPECT_EQ(N::start(o, w.get(), n), SENSOR_OK);
  reinterpret_cast<uint32_t *>(w.get())[n / 4 - 1] ^= 1;
  EXPECT_EQ(N::start(o, w.get(), n), SENSOR_WEIGHTS_DAMAGED);
  sensor_files::write_header(*w, N::other);
  EXPECT_EQ(N::start(o, w.get(), n), SENSOR_WEIGHTS_MAGIC);
  typename N::number row[SENSOR_ROW] = {};
  typename N::result result;
  EXPECT_EQ(N::row(o, row), SENSOR_NOT_READY);
  EXPECT_EQ(N::finish(o, &result), SENSOR_NOT_READY);
}

template <class N>
void refuse_rows() {
  const auto w = N::weights();
  auto *o = &N::object();
  ASSERT_EQ(N::start(o, w.get(), sizeof *w), SENSOR_OK);
  typename N::number row[SENSOR_ROW + 1] = {};
  typename N::result result;
  EXPECT_EQ(N::row(nullptr, row), SENSOR_NULL_POINTER);
  EXPECT_EQ(N::row(o, nullptr), SENSOR_NULL_POINTER);
  const auto *between = reinterpret_cast<const typename N::number *>(reinterpret_cast<const char *>(row) + 1);
  EXPECT_EQ(N::row(o, between), SENSOR_MISALIGNED);
  EXPECT_EQ(N::finish(o, nullptr), SENSOR_NULL_POINTER);
  EXPECT_EQ(N::finish(o, &result), SENSOR_WRONG_COUNT);
}

TEST(sensor_refusals, are_the_same_in_floats_and_integers) {
  refuse_weights<floats>();
  refuse_weights<integers>();
  refuse_rows<floats>();
  refuse_rows<integers>();
}

TEST(sensor_rows, are_120) {
  const auto w = floats::weights();
  ASSERT_EQ(sensor_start(&net, w.get(), sizeof *w), SENSOR_OK);
  float row[SENSOR_ROW] = {};
  sensor_result result;
  for (int32_t i = 0; i < SENSOR_N_ROWS; ++i) ASSERT_EQ(sensor_row(&net, row), SENSOR_OK);
  EXPECT_EQ(sensor_row(&net, row), SENSOR_WRONG_COUNT);
  EXPECT_EQ(sensor_finish(&net, &result), SENSOR_OK);
  EXPECT_EQ(sensor_finish(&net, &result), SENSOR_WRONG_COUNT);
  row[7] = std::numeric_limits<float>::quiet_NaN();
  for (int32_t i = 0; i < SENSOR_N_ROWS; ++i) ASSERT_EQ(sensor_row(&net, row), SENSOR_OK);
  EXPECT_EQ(sensor_finish(&net, &result), SENSOR_NOT_FINITE);
}

// Weights that heed refuses: the status says why, and the next recording is asked anew.
// A number of a file that is none is refused where it is read, and a recording without a range where it is used.
TEST(sensor_rows, of_files_are_finite_numbers) {
  const std::string path = testing::TempDir() + "heed_sensor.f32";
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    const float numbers[] = {1, 2, bad, 4};
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(numbers), sizeof numbers);
    try {
      sensor_files::read_floats(path, 4);
      ADD_FAILURE() << "took " << bad;
    } catch (const std::runtime_error &error) {
      EXPECT_NE(std::string(error.what()).find("heed_sensor.f32: number 2, counted from 0"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_THROW(sensor_files::read_floats(path, 3), std::runtime_error);
  EXPECT_THROW(sensor_files::read_floats(path, 5), std::runtime_error);
  const auto zeros = std::make_unique<sensor_weights>();
  const std::vector<float> constant(size_t{SENSOR_N_ROWS} * SENSOR_ROW, 3.0f);
  EXPECT_THROW(sensor_files::quantize(*zeros, {constant}), std::runtime_error);
}

TEST(sensor_rows, are_refused_by_heed) {
  const auto w = integers::weights();  // multipliers of 0
  ASSERT_EQ(sensor_int_start(&int_net, w.get(), sizeof *w), SENSOR_OK);
  const int16_t row[SENSOR_ROW] = {};
  EXPECT_EQ(sensor_int_row(&int_net, row), SENSOR_HEED_FAILED);
  EXPECT_EQ(int_net.failure, HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_MULTIPLIERS));
  for (int32_t status = 0; status >= SENSOR_HEED_FAILED; --status)
    EXPECT_STRNE(sensor_status_text(static_cast<sensor_status>(status)), "unknown status");
}

}  // namespace
