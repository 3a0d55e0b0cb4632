// From layers of floats to layers of integers: ranges, percentiles, and the error of what comes out; the keyword model,
// if HEED_KWT1 names its folder. SPDX-License-Identifier: MIT
#include "calibrate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "host_files.hpp"
#include "tflite_weights.hpp"
#include "kwt_oracle.hpp"

namespace heed_test {
namespace {

using rows = std::vector<float>;

rows run(const calibrate::int_layer &l, const rows &x, int32_t n) {
  std::vector<int16_t> numbers = calibrate::to_int16(x, l.x_scale());
  const size_t bytes = heed_int_layer_bytes(&l.layer(), n);
  std::vector<unsigned char> room(bytes + 64);
  void *memory = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
  const int32_t dim = l.layer().model_dim;
  EXPECT_EQ(heed_int_layer_run(&l.layer(), heed_int_matrix_of(numbers.data(), HEED_INT16, n, dim, 0),
                               heed_int_matrix_out_of(numbers.data(), HEED_INT16, n, dim, 0),
                               heed_memory_of(memory, bytes), nullptr),
            HEED_OK);
  return calibrate::to_float(numbers, l.y_scale());
}

TEST(calibrate, a_histogram_knows_what_most_numbers_do_not_exceed) {
  calibrate::histogram h;
  for (int32_t i = 1; i <= 1000; ++i) {
    const float x = float(i % 2 ? i : -i) / 100;
    h.see(&x, 1);
  }
  EXPECT_EQ(h.greatest(), 10);
  EXPECT_EQ(h.low(), -10);
  EXPECT_NEAR(h.limit(50), 5, 0.02);
  EXPECT_NEAR(h.limit(99), 9.9, 0.02);
  EXPECT_NEAR(h.rms(), std::sqrt(33.38), 0.01);
}

// Random layers of each kind.
TEST(calibrate, a_layer_of_integers_is_near_its_floats) {
  for (int32_t kind = 0; kind < 4; ++kind) {
    random_source r(750000 + uint64_t(kind));
    const int32_t dim = 32, hidden = 64, n = 40;
    std::vector<rows> kept;
    const auto weights = [&](int32_t n_in, int32_t n_out) {
      kept.emplace_back(size_t(n_in * n_out));
      for (float &w : kept.back()) w = r.bell() / std::sqrt(float(n_in));
      return heed_weights_of(kept.back().data(), nullptr, HEED_F32, HEED_OUT_IN, n_in, n_out);
    };
    kept.reserve(16);
    heed_attention_layer a = heed_attention_layer_default(dim, 4);
    a.wq = weights(dim, dim), a.wk = weights(dim, dim), a.wv = weights(dim, dim), a.wo = weights(dim, dim);
    a.causal = kind % 2;
    heed_transformer_layer l =
        heed_transformer_layer_default(&a, hidden, kind < 2 ? heed_layer_norm : heed_rms_norm, heed_silu);
    l.norm_first = kind % 2;
    l.w_up = weights(dim, hidden), l.w_down = weights(hidden, dim);
    if (kind >= 2) l.w_gate = weights(dim, hidden);
    calibrate::layer c(l);
    rows x(size_t(n * dim)), y;
    for (int32_t i = 0; i < 8; ++i) {
      for (float &v : x) v = r.bell();
      y = c.see(x, n);
    }
    const rows found = run(c.quantize(), x, n);
    double error = 0, power = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      error += std::pow(double(found[i] - y[i]), 2);
      power += std::pow(double(y[i]), 2);
    }
    EXPECT_LT(std::sqrt(error / power), 0.05) << kind;
    for (const calibrate::site &s : c.sites()) EXPECT_LT(s.error(), 0.05) << s.name;
  }
}

TEST(calibrate, refuses_what_integers_cannot_do) {
  heed_attention_layer a = heed_attention_layer_default(8, 2);
  heed_transformer_layer l = heed_transformer_layer_default(&a, 8, heed_layer_norm, heed_gelu);
  EXPECT_NO_THROW(calibrate::layer{l});
  heed_rope rope;
  ASSERT_EQ(heed_rope_init(&rope, HEED_ROPE_HALVES), HEED_OK);
  a.rope = &rope;
  EXPECT_THROW(calibrate::layer{l}, std::invalid_argument);
  a.rope = nullptr;
  l.norm = nullptr;
  EXPECT_THROW(calibrate::layer{l}, std::invalid_argument);
}

// Tokens in floats, all twelve layers in integers, the label in double precision: scales from 6 of the 24 clips.
TEST(calibrate, the_keyword_model_hears_all_words_in_integers) {
  const char *folder = std::getenv("HEED_KWT1");
  if (!folder) GTEST_SKIP() << "HEED_KWT1 is not set: the trained model is not at hand";
  const std::string path = folder;
  auto net = std::make_unique<network::kwt1>();
  const auto file = host_files::read_file(path + "/non_stream.tflite");
  tflite::read_kwt(file.data(), file.size(), *net);
  const auto clips = host_files::read_expected(path + "/expected.tsv");
  std::vector<rows> tokens;
  for (const auto &clip : clips) {
    std::vector<double> samples;
    for (const int16_t s : host_files::read_wav(path + "/clips/" + clip.file)) samples.push_back(s / 32768.0);
    samples.resize(KWT_N_SAMPLES);
    tokens.emplace_back();
    for (const auto &row : oracle_tokens(*net, samples))
      for (const double v : row) tokens.back().push_back(float(v));
  }
  std::vector<heed_attention_layer> attentions(KWT_N_BLOCKS);
  std::vector<calibrate::layer> layers;
  const auto plain = [](const float *w, int32_t n_in, int32_t n_out) {
    return heed_weights_of(w, nullptr, HEED_F32, HEED_IN_OUT, n_in, n_out);
  };
  for (size_t i = 0; i < KWT_N_BLOCKS; ++i) {
    const network::block &b = net->blocks[i];
    heed_attention_layer &a = attentions[i] = heed_attention_layer_default(KWT_DIM, 1);
    a.wq = plain(b.wq[0], KWT_DIM, KWT_DIM), a.wk = plain(b.wk[0], KWT_DIM, KWT_DIM);
    a.wv = plain(b.wv[0], KWT_DIM, KWT_DIM), a.wo = plain(b.wo[0], KWT_DIM, KWT_DIM);
    a.bo = b.bo;
    heed_transformer_layer l = heed_transformer_layer_default(&a, KWT_HIDDEN, heed_layer_norm, heed_gelu_tanh);
    l.eps = net->norm_epsilon;
    l.norm1_weight = b.gamma_1, l.norm1_bias = b.beta_1, l.norm2_weight = b.gamma_2, l.norm2_bias = b.beta_2;
    l.w_up = plain(b.w1[0], KWT_DIM, KWT_HIDDEN), l.w_down = plain(b.w2[0], KWT_HIDDEN, KWT_DIM);
    l.b_up = b.b1, l.b_down = b.b2;
    layers.emplace_back(l);
  }
  for (size_t t = 0; t < tokens.size(); t += 4) {
    rows x = tokens[t];
    for (calibrate::layer &l : layers) x = l.see(x, KWT_N_TOKENS);
  }
  std::vector<calibrate::int_layer> integers;
  calibrate::choice choice;
  for (calibrate::layer &l : layers) {
    integers.push_back(l.quantize(choice));
    choice.x_scale = integers.back().y_scale();
  }
  int32_t right = 0;
  double worst = 0, margin = 1e9;
  for (size_t t = 0; t < tokens.size(); ++t) {
    rows x = tokens[t];
    for (const calibrate::int_layer &l : integers) x = run(l, x, KWT_N_TOKENS);
    const matrix logits =
        times({std::vector<double>(x.begin(), x.begin() + KWT_DIM)}, net->w_label[0], net->b_label, KWT_N_LABELS);
    double best = -1e9, second = -1e9, wanted_best = -1e9;
    size_t label = 0, wanted = 0;
    for (size_t i = 0; i < KWT_N_LABELS; ++i) {
      worst = std::max(worst, std::fabs(logits[0][i] - clips[t].logits[i]));
      if (clips[t].logits[i] > wanted_best) wanted_best = clips[t].logits[i], wanted = i;
      if (logits[0][i] > best)
        second = best, best = logits[0][i], label = i;
      else
        second = std::max(second, logits[0][i]);
    }
    right += label == wanted;
    margin = std::min(margin, best - second);
  }
  EXPECT_EQ(right, 24);
  EXPECT_LT(worst, 0.25);
  RecordProperty("greatest_logit_error", std::to_string(worst));
  std::printf("          24 words: %d right, greatest error of a logit %.3f, least margin %.2f (floats 2.20)\n", right,
              worst, margin);
}

}  // namespace
}  // namespace heed_test
