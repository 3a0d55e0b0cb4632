// Speech to text on heed: files that are not models, and, with HEED_MOONSHINE, every stage of the trained
// network and one digest for the bits of all logits. speech.c is compiled for 3 s at once, with room for 8 workers.
// SPDX-License-Identifier: MIT
#include "speech.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "rows_digest.h"
#include "sound_files.hpp"
#include "speech_files.hpp"
#include "support/executors.hpp"
#include "support/kernels.hpp"
#include "support/random.hpp"

namespace {

using namespace heed_test;

speech net;

// -------------------------------------------------------------------------------------------------------------- files

TEST(speech_open, refuses_what_is_no_model) {
  HEED_ALIGNED static uint8_t zeros[128];
  EXPECT_EQ(speech_open(nullptr, zeros, sizeof zeros), SPEECH_NULL_POINTER);
  EXPECT_EQ(speech_open(&net, nullptr, 0), SPEECH_MODEL);
  EXPECT_EQ(speech_open(&net, zeros, sizeof zeros), SPEECH_MODEL);
  EXPECT_NE(net.error, nullptr);
  const std::vector<int16_t> sound(2000);
  int32_t token;
  EXPECT_EQ(speech_hear(&net, sound.data(), 2000), SPEECH_NOT_READY);
  EXPECT_EQ(speech_next(&net, &token), SPEECH_NOT_READY);
  for (int status = SPEECH_HEED_FAILED; status <= SPEECH_OK; ++status)
    EXPECT_STRNE(speech_status_text(speech_status(status)), "unknown status") << status;
}

// -------------------------------------------------------------------------------------------------- the trained model

const char *folder() { return std::getenv("HEED_MOONSHINE"); }
#ifdef HEED_IMPORT_ONNX
#define HEED_NEEDS_MOONSHINE() \
  if (folder() == nullptr) GTEST_SKIP() << "HEED_MOONSHINE does not name the folder of the model"
#else
#define HEED_NEEDS_MOONSHINE() GTEST_SKIP() << "built without protozero, so ONNX is not read"
#endif

// Made once for each format.
const speech_files::model &model_of(const std::string &dtype) {
  static std::map<std::string, speech_files::model> models;
  const auto found = models.find(dtype);
  if (found != models.end()) return found->second;
  speech_files::model m = speech_files::convert(folder(), speech_files::format_of(dtype));
  speech_files::prepare(m, dtype);
  return models.emplace(dtype, std::move(m)).first->second;
}

std::vector<int16_t> clip(const std::string &name) {
  return host_files::read_wav(std::string(folder()) + "/clips/" + name + ".wav");
}

void open(const std::string &dtype) {
  const speech_files::model &m = model_of(dtype);
  ASSERT_EQ(speech_open(&net, m.data(), m.size()), SPEECH_OK) << net.error << ": " << net.model.name;
}

// Of the encoder's output and all logits.
uint64_t digest_of(const std::vector<int16_t> &samples) {
  EXPECT_EQ(speech_hear(&net, samples.data(), int32_t(samples.size())), SPEECH_OK);
  uint64_t digest = rows_digest(ROWS_DIGEST_BEGIN, net.x, net.n_rows * SPEECH_DIM);
  for (int32_t token = 0; token >= 0;) {
    EXPECT_EQ(speech_next(&net, &token), SPEECH_OK);
    digest = rows_digest(digest, net.logits, SPEECH_TOKENS);
  }
  return digest;
}

// Half a second, so that scalar kernels end soon.
std::vector<int16_t> half_a_second() {
  const std::vector<int16_t> all = clip("door");
  return {all.begin() + 8000, all.begin() + 16000};
}

class speech_kernel : public kernel_test {};
HEED_TEST_EVERY_KERNEL(speech_kernel);

TEST_P(speech_kernel, gives_one_digest) {
  HEED_NEEDS_MOONSHINE();
  const bool has_fma = heed_isa_arithmetic(heed_isa_current()) == HEED_ARITHMETIC_FMA;
  const std::map<std::string, std::pair<uint64_t, uint64_t>> expected = {
      {"f32", {0x98c870fd7e35ccfu, 0xcf0e12775e249a82u}},
      {"int8", {0x98c870fd7e35ccfu, 0xcf0e12775e249a82u}},
      {"w8a8", {0xe32fcbca2ce802f0u, 0x3f536a4cef04b0d5u}}};  // int8 is f32 to the bit
  for (const auto &e : expected) {
    open(e.first);
    EXPECT_EQ(digest_of(half_a_second()), has_fma ? e.second.first : e.second.second) << e.first << std::hex;
  }
}

TEST(speech_trained, gives_the_same_bits_for_any_number_of_threads) {
  HEED_NEEDS_MOONSHINE();
  const std::vector<int16_t> sound = clip("alsa_front_center");
  for (const char *dtype : {"f32", "w8a8"}) {
    open(dtype);
    const uint64_t expected = digest_of(sound);
    for (int32_t n_workers = 2; n_workers <= 8; n_workers += 3) {
      const thread_executor threads(n_workers);
      net.executor = threads.get();
      EXPECT_EQ(digest_of(sound), expected) << dtype << ", " << n_workers << " threads";
      net.executor = nullptr;
    }
  }
}

TEST(speech_trained, refuses_sounds_that_are_too_short_or_too_long) {
  HEED_NEEDS_MOONSHINE();
  open("int8");
  const std::vector<int16_t> sound(SPEECH_MAX_SAMPLES + 1);
  int32_t token;
  EXPECT_EQ(speech_next(&net, &token), SPEECH_NOT_READY);
  EXPECT_EQ(speech_hear(&net, sound.data(), SPEECH_MIN_SAMPLES - 1), SPEECH_TOO_SHORT);
  EXPECT_EQ(speech_hear(&net, sound.data(), SPEECH_MAX_SAMPLES + 1), SPEECH_TOO_LONG);
  EXPECT_EQ(speech_hear(&net, nullptr, SPEECH_MIN_SAMPLES), SPEECH_NULL_POINTER);
  EXPECT_EQ(speech_next(&net, &token), SPEECH_NOT_READY);
  EXPECT_EQ(speech_hear(&net, sound.data(), SPEECH_MIN_SAMPLES), SPEECH_OK) << heed_status_text(net.failure);
  EXPECT_EQ(net.n_rows, 1);
  EXPECT_EQ(speech_next(&net, &token), SPEECH_OK);
  EXPECT_EQ(token, -1) << "895 samples have room for no token";
  EXPECT_EQ(speech_hear(&net, sound.data(), SPEECH_MAX_SAMPLES), SPEECH_OK) << heed_status_text(net.failure);
  EXPECT_EQ(net.n_rows, SPEECH_MAX_ROWS);
}

// Rows of the trace: the first one and one inside, after each stage.
struct trace {
  std::map<std::string, std::vector<std::pair<int, std::vector<double>>>> rows;
  int n_called[SPEECH_N_PARTS] = {};
  size_t n_compared = 0;
};

std::string stage_of(const trace &t, speech_part part) {
  const int n = t.n_called[part];
  const char *const stems[] = {"conv1_tanh", "groupnorm", "conv2_gelu", "conv3_gelu"};
  if (part <= SPEECH_PART_CONV_3) return stems[part];
  if (part == SPEECH_PART_ENCODER_LAYER) return "encoder_layer_" + std::to_string(n);
  if (part != SPEECH_PART_DECODER_LAYER) return "";
  return "step_" + std::to_string(n / SPEECH_LAYERS) + "_layer_" + std::to_string(n % SPEECH_LAYERS) + "_mlp";
}

void compare(void *context, speech_part part, heed_matrix rows) {
  trace &t = *static_cast<trace *>(context);
  const int pieces[] = {SPEECH_PIECE_1, 0, 2 * SPEECH_PIECE_3, SPEECH_PIECE_3};
  const std::string stage = stage_of(t, part);
  const int first = part <= SPEECH_PART_CONV_3 ? t.n_called[part] * pieces[part] : 0;
  ++t.n_called[part];
  const auto expected = t.rows.find(stage);
  if (expected == t.rows.end()) return;
  for (const auto &row : expected->second) {
    if (row.first < first || row.first >= first + rows.n_rows) continue;
    const float *x = rows.data + (row.first - first) * rows.row_stride;
    double error = 0.0, greatest = 0.0;
    for (int i = 0; i < rows.dim; ++i) {
      error = std::max(error, std::fabs(double(x[i]) - row.second[size_t(i)]));
      greatest = std::max(greatest, std::fabs(row.second[size_t(i)]));
    }
    EXPECT_LE(error, 4e-6 * std::max(1.0, greatest)) << stage << ", row " << row.first << " of up to " << greatest;
    ++t.n_compared;
  }
}

TEST(speech_trained, is_right_after_every_stage) {
  HEED_NEEDS_MOONSHINE();
  trace t;
  std::ifstream in(std::string(folder()) + "/expected/kitchen_light.trace.txt");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string stage;
    std::pair<int, std::vector<double>> row;
    words >> stage >> row.first;
    for (double number; words >> number;) row.second.push_back(number);
    t.rows[stage].push_back(row);
  }
  open("f32");
  net.watch = compare;
  net.context = &t;
  const std::vector<int16_t> sound = clip("kitchen_light");
  ASSERT_EQ(speech_hear(&net, sound.data(), int32_t(sound.size())), SPEECH_OK);
  int32_t token;
  for (int step = 0; step < 2; ++step) ASSERT_EQ(speech_next(&net, &token), SPEECH_OK);
  EXPECT_EQ(t.n_compared, 32u);
}

}  // namespace
