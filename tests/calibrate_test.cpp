// From layers of floats to layers of integers: ranges, percentiles, and the error of what comes out; the keyword model,
// if HEED_KWT1 names its folder. SPDX-License-Identifier: MIT
#include "calibrate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "host_files.hpp"
#include "kwt_int_weights.hpp"
#include "model_file.hpp"
#include "kwt_oracle.hpp"

namespace heed_test {
namespace {

using rows = std::vector<float>;

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
    const rows found = c.quantize().run(x, n);
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
  heed_cache cache;
  a.cache = &cache;
  EXPECT_THROW(calibrate::layer{l}, std::invalid_argument);
  a.cache = nullptr;
  l.norm = nullptr;
  EXPECT_THROW(calibrate::layer{l}, std::invalid_argument);
}

TEST(calibrate, names_an_array_as_c_can) {
  for (const char *name : {"model", "m", "Model_2"}) EXPECT_TRUE(calibrate::is_c_name(name)) << name;
  for (const char *name : {"", "2m", "a b", "a;b", "int", "for", "m[1]", "a\n", "\xc3\xa9", "template"}) {
    EXPECT_FALSE(calibrate::is_c_name(name)) << name;
    EXPECT_THROW(calibrate::c_array(name, {1, 2, 3, 4}), std::invalid_argument) << name;
  }
}

// Weights that are next to nothing beside their bias, as pruned ones are: the bias is what comes out.
TEST(calibrate, a_bias_beside_tiny_weights_is_kept) {
  const std::vector<double> w(16, 1e-12), bias = {1.0};
  const calibrate::int_linear l = calibrate::quantize_linear(w, bias, 16, 1, {0.01, 5}, {0.02, -3});
  int64_t sum = l.bias[0];
  for (size_t i = 0; i < 16; ++i) sum += 5 * int64_t(l.numbers[i]);  // x is 0
  const double y = double(sum) * double(l.multipliers[0].m) * std::ldexp(1.0, l.multipliers[0].e - 31);
  EXPECT_NEAR(y * 0.02, 1.0 - 3 * 0.02, 1e-6);
}

// The place whose rounding is made a hundred times as coarse is the one that hurts.
TEST(calibrate, knows_which_place_hurts) {
  random_source r(770000);
  rows w(32 * 32), x(40 * 32);
  for (float &v : w) v = r.bell() / 6;
  for (float &v : x) v = r.bell();
  const heed_weights square = heed_weights_of(w.data(), nullptr, HEED_F32, HEED_OUT_IN, 32, 32);
  heed_attention_layer a = heed_attention_layer_default(32, 4);
  a.wq = a.wk = a.wv = a.wo = square;
  heed_transformer_layer l = heed_transformer_layer_default(&a, 32, heed_layer_norm, heed_relu);
  l.w_up = l.w_down = square;
  calibrate::layer c(l);
  rows loud = x;
  loud[7] = 4000;  // one number that eight bits have to reach
  const rows y = c.see(x, 40);
  c.see(loud, 40);
  c.quantize();
  const auto effect = [&](calibrate::place p) {
    const rows found = c.round_at(p, x, 40);
    double error = 0;
    for (size_t i = 0; i < y.size(); ++i) error += std::pow(double(found[i] - y[i]), 2);
    return error;
  };
  EXPECT_EQ(effect(calibrate::n_places), 0);
  for (int p = 0; p < calibrate::n_places; ++p) {
    if (p == calibrate::at_h) continue;
    EXPECT_GE(effect(calibrate::at_h), effect(calibrate::place(p))) << p;
  }
  EXPECT_EQ(c.sites()[calibrate::at_hidden].zero, -128);  // relu leaves nothing below zero
}

// Tokens in floats, all twelve layers in integers, the label in double precision: scales from 6 of the 24 clips.
TEST(calibrate, the_keyword_model_hears_all_words_in_integers) {
  const char *folder = std::getenv("HEED_KWT1");
  if (!folder) GTEST_SKIP() << "HEED_KWT1 is not set: the trained model is not at hand";
  const std::string path = folder;
  const auto file = files::read(path + "/non_stream.tflite");
  const auto net = network::read_kwt(file.data(), file.size());
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
  const network::float_layers of(*net);
  std::vector<calibrate::layer> layers(of.layers.begin(), of.layers.end());
  for (size_t t = 0; t < tokens.size(); t += 4) {
    rows x = tokens[t];
    for (calibrate::layer &l : layers) x = l.see(x, KWT_N_TOKENS);
  }
  const std::vector<calibrate::int_layer> integers = calibrate::quantize(layers);
  int32_t right = 0;
  double worst = 0, margin = 1e9;
  for (size_t t = 0; t < tokens.size(); ++t) {
    rows x = tokens[t];
    for (const calibrate::int_layer &l : integers) x = l.run(x, KWT_N_TOKENS);
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
