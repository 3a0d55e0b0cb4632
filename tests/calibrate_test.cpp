// From layers of floats to layers of integers: ranges, percentiles, and the error of what comes out; the keyword model,
// if HEED_KWT1 names its folder. SPDX-License-Identifier: MIT
#include "calibrate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

#include "description.hpp"
#include "host_files.hpp"
#include "kwt_int_weights.hpp"
#include "model_file.hpp"
#include "report.hpp"
#include "tflite_weights.hpp"
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
  heed_rope rope;
  ASSERT_EQ(heed_rope_init(&rope, HEED_ROPE_HALVES), HEED_OK);
  a.rope = &rope;
  EXPECT_THROW(calibrate::layer{l}, std::invalid_argument);
  a.rope = nullptr;
  l.norm = nullptr;
  EXPECT_THROW(calibrate::layer{l}, std::invalid_argument);
}

// A text and two files of floats beside it.
class described : public testing::Test {
 protected:
  void SetUp() override {
    const std::string made = testing::TempDir() + "heed_described_" + std::to_string(std::random_device{}());
    folder_ = made;
    std::filesystem::create_directory(folder_);
    random_source r(760000);
    rows weights(2 * (2 * 16 * 32 + 2 * 16 * 16 + 3 * 16 * 24 + 16 * 5 + 24)), x(6 * 10 * 16);
    for (float &w : weights) w = r.bell() / 4;
    for (float &v : x) v = r.bell();
    write("w.f32", weights.data(), 4 * weights.size());
    write("x.f32", x.data(), 4 * x.size());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string &name, const void *data, size_t n) {
    std::ofstream(folder_ + "/" + name, std::ios::binary).write(static_cast<const char *>(data), std::streamsize(n));
  }
  // Two gated layers of 16: 2 heads of 16 over 1 of keys, hidden rows of 24; biases of some.
  std::string describe(const std::string &more) {
    const std::string text =
        "# a model\nlayers 2 model_dim 16 hidden_dim 24\nheads 2 kv_heads 1 head_dim 16\nnorm rms norm_first 1 eps "
        "1e-5\n"
        "activation silu gated 1 layout out_in causal 1\nbiases wo w_up norm1 norm2\nweights w.f32 rows x.f32 sequence "
        "10\n" +
        more;
    write("model.txt", text.data(), text.size());
    return folder_ + "/model.txt";
  }
  std::string read(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  void with_float(const std::string &name, size_t at, float x) {
    std::string file = read(folder_ + "/" + name);
    std::memcpy(&file[4 * at], &x, 4);
    write(name, file.data(), file.size());
  }
  std::string folder_;
};

TEST_F(described, becomes_a_file_that_runs_as_its_layers_do) {
  const calibrate::described_model m = calibrate::read_description(describe("\n"));
  ASSERT_EQ(m.sequences.size(), 6u);
  EXPECT_EQ(m.layers[1].b_up,
            m.layers[1].w_up.data ? static_cast<const float *>(m.layers[1].w_up.data) + 16 * 24 : nullptr);
  EXPECT_EQ(m.layers[1].b_gate, nullptr);
  std::vector<calibrate::layer> floats(m.layers.begin(), m.layers.end());
  std::vector<rows> expected = m.sequences;
  for (rows &x : expected)
    for (calibrate::layer &l : floats) x = l.see(x, 10);
  const std::vector<calibrate::int_layer> integers = calibrate::quantize(floats);
  const std::vector<uint8_t> bytes = calibrate::model_file(integers);
  std::vector<uint8_t, aligned_allocator<uint8_t>> file(bytes.begin(), bytes.end());
  int_model model;
  ASSERT_EQ(int_model_open(&model, file.data(), file.size()), nullptr);
  const heed_int_layer first = int_model_layer_of(&model, 0);
  std::vector<uint64_t> memory(heed_int_layer_bytes(&first, 10) / 8 + 16);
  void *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  double error = 0, power = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    std::vector<int16_t> x = calibrate::to_int16(m.sequences[i], integers.front().x_scale());
    ASSERT_EQ(int_model_run(&model, x.data(), 10, heed_memory_of(aligned, heed_int_layer_bytes(&first, 10))), HEED_OK);
    rows chained = m.sequences[i];
    for (const calibrate::int_layer &l : integers) chained = l.run(chained, 10);
    EXPECT_EQ(calibrate::to_float(x, integers.back().y_scale()), chained);
    for (size_t k = 0; k < chained.size(); ++k) {
      error += std::pow(double(chained[k] - expected[i][k]), 2);
      power += std::pow(double(expected[i][k]), 2);
    }
  }
  EXPECT_LT(std::sqrt(error / power), 0.05);
  const std::string array = calibrate::c_array("model", bytes);
  EXPECT_NE(array.find("uint32_t model[" + std::to_string(bytes.size() / 4) + "] = {"), std::string::npos);
  EXPECT_NE(array.find("0x44454548, 0x4d544e49,"), std::string::npos);
  for (const char *const name : {"", "int", "a b", "x[1]; int evil(void) { return 7; } int y", "a\n#error", "a__b",
                                 "caf\xc3\xa9", "heed_project"}) {
    EXPECT_THROW(calibrate::c_array(name, bytes), std::invalid_argument) << name;
  }
  // A damaged file is refused, wherever it is damaged.
  for (size_t at = 0; at < file.size(); at += at < sizeof(int_model_header) ? 1 : 997) {
    file[at] ^= 1;
    EXPECT_NE(int_model_open(&model, file.data(), file.size()), nullptr) << at;
    file[at] ^= 1;
  }
  EXPECT_NE(int_model_open(&model, file.data(), file.size() - 4), nullptr);
  EXPECT_NE(int_model_open(&model, file.data() + 4, file.size() - 4), nullptr);
  const heed_memory none = heed_memory_of(nullptr, 0);
  EXPECT_EQ(int_model_run(&model, nullptr, 10, none), HEED_STATUS(HEED_NOT_INITIALIZED, HEED_ARG_LAYER));
  ASSERT_EQ(int_model_open(&model, file.data(), file.size()), nullptr);
  for (const int32_t rows : {INT32_MIN, -11, 11, INT32_MAX})
    EXPECT_EQ(int_model_run_rows(&model, nullptr, 10, rows, nullptr, none),
              HEED_STATUS(HEED_MISFIT, HEED_ARG_OUT_ROWS));
}

// A file whose checksum is right may hold any counts: none is believed.
TEST_F(described, a_forged_file_is_refused_or_runs) {
  const calibrate::described_model m = calibrate::read_description(describe("\n"));
  std::vector<calibrate::layer> floats(m.layers.begin(), m.layers.end());
  for (rows x : m.sequences)
    for (calibrate::layer &l : floats) x = l.see(x, 10);
  const std::vector<uint8_t> bytes = calibrate::model_file(calibrate::quantize(floats));
  random_source r(780000);
  for (int i = 0; i < repetitions(4000); ++i) {
    std::vector<uint8_t, aligned_allocator<uint8_t>> file(bytes.begin(), bytes.end());
    int_model_header *h = reinterpret_cast<int_model_header *>(file.data());
    const int32_t interesting[] = {0, 1, 2, 3, -1, 5, 16, 32, 32768, 65536, INT32_MAX, INT32_MIN};
    for (int32_t k = r.between(1, 3); k > 0; --k) {
      const int32_t at = r.chance(60) ? r.between(5, 15) : r.between(16, 46);
      const int32_t number = r.chance(50) ? interesting[r.between(0, 11)] : int32_t(r.next());
      std::memcpy(&file[4 * size_t(at)], &number, 4);
    }
    h->checksum = int_model_checksum(&h->layer_bytes, file.size() - offsetof(int_model_header, layer_bytes));
    int_model model;
    if (int_model_open(&model, file.data(), file.size()) != nullptr) continue;
    const heed_int_layer first = int_model_layer_of(&model, 0);
    const size_t needed = heed_int_layer_bytes(&first, 10);
    ASSERT_NE(needed, 0u);
    std::vector<uint64_t> memory(needed / 8 + 16);
    void *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
    std::vector<int16_t> x(10 * size_t(h->model_dim), 100);
    int_model_run(&model, x.data(), 10, heed_memory_of(aligned, needed));
  }
}

TEST_F(described, says_what_is_wrong) {
  const auto expect = [&](const std::string &text, const std::string &path) {
    try {
      calibrate::read_description(path);
      ADD_FAILURE() << "took " << text;
    } catch (const std::runtime_error &error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  // The text, in which one word has another value.
  const auto with = [&](const std::string &from, const std::string &to) {
    std::string text = read(describe(""));
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    write("model.txt", text.data(), text.size());
    return folder_ + "/model.txt";
  };
  expect("cannot be opened", folder_ + "/none.txt");
  expect("nobody knows what \"speed\" is", describe("speed 3\n"));
  expect("nobody knows what \"\\033[31m\" is", describe("\x1b[31m 3\n"));
  expect("layers comes twice", describe("layers 3\n"));
  expect("has no value", describe("heads"));
  for (const char *number : {"0", "-1", "32769", "1e300", "nan", "inf", "99999999999999999999"})
    for (const char *count :
         {"layers 2", "model_dim 16", "hidden_dim 24", "heads 2", "kv_heads 1", "head_dim 16", "sequence 10"}) {
      const std::string name = std::string(count).substr(0, std::string(count).find(' '));
      expect(name + " is out of range", with(count, name + " " + number));
    }
  expect("heads is not a whole number", with("heads 2", "heads 2.5"));
  expect("heads is not a number: \"2x\"", with("heads 2", "heads 2x"));
  expect("kv_heads does not divide heads", with("heads 2 kv_heads 1", "heads 2 kv_heads 3"));
  expect("heads does not divide model_dim", with("heads 2 kv_heads 1 head_dim 16", "heads 5 kv_heads 1"));
  expect("heads times head_dim", with("heads 2 kv_heads 1 head_dim 16", "heads 32768 kv_heads 1 head_dim 32768"));
  for (const char *eps : {"-1e-5", "nan", "inf", "2"})
    expect("eps is out of range", with("eps 1e-5", std::string("eps ") + eps));
  expect("gated is 0 or 1, not \"2\"", with("gated 1", "gated 2"));
  expect("norm is layer or rms", with("norm rms", "norm none"));
  expect("layout is in_out or out_in", with("layout out_in", "layout in"));
  expect("activation is gelu or gelu_tanh or silu or relu", with("activation silu", "activation tanh"));
  expect("biases names no part of a layer: \"w_top\"", with("biases wo", "biases w_top"));
  expect("biases names w_gate",
         with("gated 1 layout out_in causal 1\nbiases wo", "gated 0 layout out_in causal 1\nbiases w_gate"));
  expect("w.f32: has 5584 floats, the layers need", with("layers 2", "layers 3"));
  expect("x.f32: has 960 floats, no whole number of sequences", with("sequence 10", "sequence 11"));
  expect("none.f32: cannot be opened", with("rows x.f32", "rows none.f32"));
  for (const char *name : {"w.f32", "x.f32"}) {
    const std::string kept = read(folder_ + "/" + name);
    for (const size_t n : {size_t{0}, size_t{2}, kept.size() - 1}) {
      write(name, kept.data(), n);
      expect(std::string(name) + ": is empty, or has no whole number of floats", describe(""));
    }
    write(name, std::string(kept.size(), '\0').data(), kept.size());
    expect(std::string(name) + ": every number is 0", describe(""));
    write(name, kept.data(), kept.size());
  }
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    const std::string kind = std::isnan(bad) ? ": not a number" : ": infinite";
    with_float("x.f32", 16 * 7 + 5, bad);
    expect("x.f32: row 7, column 5, counted from 0" + kind, describe(""));
    with_float("x.f32", 16 * 7 + 5, 1);
    with_float("w.f32", 16 + 16 * 3 + 2, bad);  // behind norm1 and its bias are 16 numbers each
    expect("w.f32: layer 0, wq, row 2, column 2, counted from 0" + kind, describe(""));
    with_float("w.f32", 16 + 16 * 3 + 2, 1);
    with_float("w.f32", 5583, bad);
    expect("w.f32: layer 1, w_down, row 15, column 23, counted from 0" + kind, describe(""));
    with_float("w.f32", 5583, 1);
  }
  EXPECT_NO_THROW(calibrate::read_description(describe("")));
}

// Numbers that leave the range of floats on their way are refused by the name of the place.
TEST_F(described, refuses_what_overflows_on_its_way) {
  const rows large(960, 3e38f);
  write("x.f32", large.data(), 4 * large.size());
  const calibrate::described_model m = calibrate::read_description(describe(""));
  heed_transformer_layer norm_last = m.layers[0];
  norm_last.norm_first = 0;
  calibrate::layer l(norm_last);
  try {
    l.see(m.sequences[0], 10);
    ADD_FAILURE() << "took an infinity";
  } catch (const std::invalid_argument &error) {
    EXPECT_NE(std::string(error.what()).find("overflows"), std::string::npos) << error.what();
  }
  calibrate::histogram h;
  const float bad[] = {INFINITY, -INFINITY, NAN};
  for (const float &x : bad) EXPECT_THROW(h.see(&x, 1), std::invalid_argument);
}

// Rows so small that the norm's weights leave the range of int32 are refused by the number of the layer.
TEST_F(described, refuses_ranges_that_no_integer_reaches) {
  rows tiny(960);
  for (size_t i = 0; i < tiny.size(); ++i) tiny[i] = float(i % 7) * 1e-30f;
  write("x.f32", tiny.data(), 4 * tiny.size());
  const calibrate::described_model m = calibrate::read_description(describe(""));
  heed_transformer_layer plain = m.layers[0];
  plain.norm1_bias = nullptr;
  std::vector<calibrate::layer> floats = {calibrate::layer(plain)};
  floats[0].see(m.sequences[0], 10);
  try {
    calibrate::quantize(floats);
    ADD_FAILURE() << "took a range of 1e-30";
  } catch (const std::invalid_argument &error) {
    EXPECT_NE(std::string(error.what()).find("layer 0, counted from 0: a norm's weights"), std::string::npos)
        << error.what();
  }
}

// A layer that sees nothing but zeros has no place that hurts.
TEST_F(described, reports_a_layer_of_zeros) {
  const rows zeros(160);
  calibrate::described_model m = calibrate::read_description(describe(""));
  m.attentions[0].bo = nullptr;
  heed_transformer_layer plain = m.layers[0];
  plain.norm1_bias = plain.norm2_bias = plain.b_up = nullptr;
  std::vector<calibrate::layer> floats = {calibrate::layer(plain)};
  floats[0].see(zeros, 10);
  const std::vector<calibrate::int_layer> integers = calibrate::quantize(floats);
  testing::internal::CaptureStdout();
  calibrate::print_report(floats, integers, {zeros}, true);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("nothing: every number is 0"), std::string::npos);
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
