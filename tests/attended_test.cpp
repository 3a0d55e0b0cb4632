// What NAME_attend of programs of speech writes, beside a computation in double precision. The programs are those that heed_compile writes
// from made-up models. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "in_memory.hpp"
#include "listens.h"
#include "reference.hpp"
#include "run.hpp"
#include "speech.h"

namespace {

using namespace heed_compile;

// A program of heed_compile's: its functions, and its sizes.
template <class Model, int32_t Heads, int32_t Layers, int32_t Rows, int32_t Context, int32_t Samples>
struct traits {
  using model = Model;
  enum : int32_t { heads = Heads, layers = Layers, n_rows = Rows, context = Context, n_samples = Samples };
};
struct of_moonshine : traits<speech, SPEECH_HEADS, SPEECH_DECODER_LAYERS, SPEECH_ROWS, SPEECH_CONTEXT, 0> {
  static constexpr auto open = speech_open;
  static constexpr auto sound = speech_sound;
  static constexpr auto read = speech_read;
  static constexpr auto attend = speech_attend;
  static constexpr auto restart = speech_restart;
  static constexpr char name[] = "speech", folder[] = MADE_UP_FOLDER "/moonshine";
};
struct of_whisper
    : traits<listens, LISTENS_HEADS, LISTENS_DECODER_LAYERS, LISTENS_ROWS, LISTENS_CONTEXT, LISTENS_SAMPLES> {
  static constexpr auto open = listens_open;
  static constexpr auto sound = listens_sound;
  static constexpr auto read = listens_read;
  static constexpr auto attend = listens_attend;
  static constexpr auto restart = listens_restart;
  static constexpr char name[] = "listens", folder[] = MADE_UP_FOLDER "/whisper";
};

template <class T>
class attended : public testing::Test {};
using programs = testing::Types<of_moonshine, of_whisper>;
TYPED_TEST_SUITE(attended, programs);

// (tokens, rows of the encoder)
template <class T>
std::vector<double> expected_of(std::vector<int16_t> samples, const std::vector<int32_t> &tokens) {
  const in_memory c(T::folder);
  const auto weights = [&](const std::string &name) {
    for (const plan &p : c.plans)
      if (p.name == name) return numbers_of(c.net, p);
    return std::vector<double>();
  };
  std::vector<double> all;
  if (T::n_samples > 0) samples.resize(T::n_samples);  // Whisper hears silence behind a sound
  reference_of_sound(c.net, weights, samples, tokens, &all);
  return all;
}

TYPED_TEST(attended, is_what_the_formulas_say) {
  using T = TypeParam;
  static typename T::model model;
  static float rows[(T::context + T::heads) * T::n_rows];
  const heed_import::file_bytes file(std::string(MADE_UP_FOLDER "/") + T::name + ".heed");
  const std::vector<int16_t> sound = known_sound();
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 12; ++i) tokens.push_back((i * 37 + 5) % 40);
  const int32_t n = int32_t(tokens.size());
  ASSERT_STREQ(T::open(&model, file.all().data, file.all().size), nullptr);
  ASSERT_STREQ(T::sound(&model, sound.data(), int32_t(sound.size())), nullptr);
  ASSERT_STREQ(T::read(&model, tokens.data(), n), nullptr);
  const std::vector<float> logits(std::begin(model.logits), std::end(model.logits));
  T::restart(&model);
  ASSERT_STREQ(T::attend(&model, rows), nullptr);
  ASSERT_STREQ(T::read(&model, tokens.data(), n - 1), nullptr);
  ASSERT_STREQ(T::read(&model, tokens.data() + n - 1, 1), nullptr);
  EXPECT_EQ(logits, std::vector<float>(std::begin(model.logits), std::end(model.logits)));
  const std::vector<double> expected = expected_of<T>(sound, tokens);
  ASSERT_EQ(expected.size(), size_t(n) * size_t(model.n_rows));
  double worst = 0, unevenness = 0;
  for (int32_t t = 0; t < n; ++t) {
    const float *const row = rows + t * T::n_rows;
    EXPECT_NEAR(std::accumulate(row, row + model.n_rows, 0.0), double(T::heads) * T::layers, 1e-4);
    for (int32_t r = 0; r < model.n_rows; ++r) {
      worst = std::max(worst, std::fabs(double(row[r]) - expected[size_t(t * model.n_rows + r)]));
      unevenness = std::max(unevenness, std::fabs(double(row[r] - row[0])));
    }
  }
  EXPECT_LT(worst, 1e-5);
  EXPECT_GT(unevenness, 1e-2) << "all rows are attended to alike, so the test says nothing";
  // It ends, and rows stay.
  const std::vector<float> kept(std::begin(rows), std::end(rows));
  ASSERT_STREQ(T::attend(&model, nullptr), nullptr);
  T::restart(&model);
  ASSERT_STREQ(T::read(&model, tokens.data() + 3, 2), nullptr);
  EXPECT_EQ(kept, std::vector<float>(std::begin(rows), std::end(rows)));
}

}  // namespace
