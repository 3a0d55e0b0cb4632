// heed_compile --integers: how far a model in integers is from a computation in double precision, which samples and models are refused,
// and that its numbers depend on no kernel. tests/compile_integers.sh runs the programs. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "flat_file.hpp"
#include "integers.hpp"
#include "published.hpp"
#include "run.hpp"
#include "support/published_models.hpp"
#include "support/published_samples.hpp"

namespace {

using namespace heed_compile;

std::string folder() {
  return (std::filesystem::temp_directory_path() / ("heed_compile_integers." + std::to_string(getpid()))).string();
}
struct remove_folder : testing::Environment {
  void SetUp() override { std::filesystem::create_directories(folder()); }
  void TearDown() override { std::filesystem::remove_all(folder()); }
};
const testing::Environment *const removes = testing::AddGlobalTestEnvironment(new remove_folder);

struct calibrated {
  explicit calibrated(const std::string &kind, const choices &how = {}) : how(how) {
    net = read_published(source, published::write(folder(), kind), how);
    plans = plans_of(net, source.tensors);
    weights = weights_of_plans(net, plans);
  }
  std::vector<sample> samples(const std::string &npy) const {
    published::write_npy(folder() + "/rows.npy", npy);
    return read_samples(net, how, folder() + "/rows.npy");
  }
  std::vector<sample> samples(uint64_t n, uint64_t seed) const {
    return samples(net.what == task::vision ? published::pictures_npy(n, seed) : published::texts_npy(n, seed));
  }
  // Norms that make one or two numbers of each row much larger than others, as those of real models: heed's weights and the reference's
  // alike.
  void add_outliers(float factor, bool are_two) {
    for (auto &[name, numbers] : weights)
      if (name.find("norm") != std::string::npos && name.find("_weight") != std::string::npos) {
        numbers[5] *= factor;
        if (are_two) numbers[numbers.size() - 9] *= -factor;
      }
  }
  choices how;
  published_model source;
  network net;
  std::vector<plan> plans;
  source_weights weights;
};

double rms_of(const integer_error &e) { return std::sqrt(e.squares / static_cast<double>(e.n)) / e.largest; }

std::vector<std::string> encoders() {
  std::vector<std::string> all;
  for (const std::string &kind : published::kinds())
    if (published::is_encoder(kind)) all.push_back(kind);
  return all;
}

// The error of a layer beside its greatest number: on the samples, and on others of their kind.
TEST(heed_compile_integers, are_near_to_double_precision) {
  EXPECT_GE(encoders().size(), 11u);
  for (const std::string &kind : encoders()) {
    if (kind == "bert-outliers") continue;  // see below
    const calibrated c(kind);
    const integer_model m = in_integers(c.net, c.how, c.weights, c.samples(16, 1));
    for (const uint64_t seed : {1, 2}) {
      const integer_errors e = errors_in_integers(c.net, m, c.weights, c.samples(16, seed));
      for (size_t l = 0; l < e.layers.size(); ++l) {
        EXPECT_GT(e.layers[l].n, 0u);
        EXPECT_LT(rms_of(e.layers[l]), l + 1 < e.layers.size() ? 0.015 : 0.04)
            << kind << ", seed " << seed << ", " << l;
        EXPECT_LT(e.layers[l].greatest, 0.1 * e.layers[l].largest) << kind << ", seed " << seed << ", " << l;
      }
      if (c.net.n_classes == 0) {
        EXPECT_GT(e.least_cosine, 0.99) << kind << ", seed " << seed;
      }
      if (c.net.n_classes > 0) {
        EXPECT_GE(e.n_same_class, 15u) << kind << ", seed " << seed;
      }
    }
  }
}

// Rows of int8 have one unit, so a number that is much larger than the others would take their resolution: scales of channels leave it to
// them. Each case has the mean cosine of results of 32 samples, and the error of the first layer beside its greatest number; with one
// scale for all channels each of them is worse. Norms come last in bert and roberta, and first in vit.
TEST(heed_compile_integers, bear_outliers) {
  const struct {
    const char *kind;
    float factor;
    bool are_two;
    double least_cosine, most_error;
  } cases[] = {{"bert", 8, true, 0.997, 0.002},         {"roberta", 40, false, 0.997, 0.006},
               {"bert-classes", 8, true, 0.998, 0.002}, {"vit", 8, true, 0.985, 0.013},
               {"vit-classes", 8, true, 0.98, 0.013},   {"vit", 40, false, 0.9995, 0.025}};
  for (const auto &[kind, factor, are_two, least_cosine, most_error] : cases) {
    calibrated c(kind);
    c.add_outliers(factor, are_two);
    double cosines = 0, error = 0;
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      const std::vector<sample> samples = c.samples(16, seed);
      const integer_model m = in_integers(c.net, c.how, c.weights, samples);
      EXPECT_EQ(m.layers.front().has_channels(), !c.net.norm_first) << kind;
      for (const sample &s : samples) {
        const integer_errors e = errors_in_integers(c.net, m, c.weights, {s});
        cosines += e.least_cosine / 32, error += rms_of(e.layers[0]) / 32;
      }
    }
    EXPECT_GT(cosines, least_cosine) << kind << " times " << factor;
    EXPECT_LT(error, most_error) << kind << " times " << factor;
    std::printf("             %s, times %.0f: cosine %.4f, error %.4f\n", kind, static_cast<double>(factor), cosines,
                error);
  }
}

// The norm of a layer does one product more for each number: where no number is an outlier, it does not.
TEST(heed_compile_integers, have_no_scales_of_channels_in_their_norms_without_outliers) {
  for (const std::string &kind : encoders()) {
    const calibrated c(kind);
    const integer_model m = in_integers(c.net, c.how, c.weights, c.samples(16, 1));
    EXPECT_EQ(m.layers.front().has_channels(), kind == "bert-outliers") << kind;
  }
}

std::vector<std::string> decoders() {
  std::vector<std::string> all;
  for (const std::string &kind : published::kinds())
    if (published::is_integer_decoder(kind)) all.push_back(kind);
  return all;
}

// Each token of a sample is read behind the exact ones before it, and has logits. Those of random weights are near to each other, and
// numbers beyond the ranges of the first samples are clamped.
TEST(heed_compile_integers, decoders_are_near_to_double_precision) {
  EXPECT_GE(decoders().size(), 2u);
  for (const std::string &kind : decoders()) {
    const calibrated c(kind);
    const integer_model m = in_integers(c.net, c.how, c.weights, c.samples(16, 1));
    for (const uint64_t seed : {1, 2}) {
      const std::vector<sample> samples = c.samples(16, seed);
      size_t n_tokens = 0;
      for (const sample &s : samples) n_tokens += s.tokens.size();
      const integer_errors e = errors_in_integers(c.net, m, c.weights, samples);
      for (size_t l = 0; l < e.layers.size(); ++l) {
        const bool is_layer = l + 1 < e.layers.size();
        EXPECT_EQ(e.layers[l].n, n_tokens * static_cast<size_t>(is_layer ? c.net.dim : c.net.n_tokens));
        EXPECT_LT(rms_of(e.layers[l]), 0.02) << kind << ", seed " << seed << ", " << l;
        EXPECT_LT(e.layers[l].greatest, 0.2 * e.layers[l].largest) << kind << ", seed " << seed << ", " << l;
      }
      EXPECT_EQ(e.n_results, n_tokens);
      EXPECT_GT(static_cast<double>(e.n_same_class), 0.85 * static_cast<double>(n_tokens)) << kind << ", seed " << seed;
    }
  }
}

// An embedding that makes the logits, too, is one table, unless the final norm has outliers: then its matrix has scales of channels.
TEST(heed_compile_integers, have_one_table_of_a_tied_embedding) {
  calibrated c("gpt2");
  const std::vector<sample> samples = c.samples(16, 1);
  const integer_model plain = in_integers(c.net, c.how, c.weights, samples);
  EXPECT_TRUE(plain.is_tied);
  EXPECT_EQ(plain.classes.numbers, plain.embedding.numbers);
  c.weights["final_norm_weight"][5] *= 100;
  const integer_model scaled = in_integers(c.net, c.how, c.weights, samples);
  EXPECT_FALSE(scaled.is_tied);
  const auto bytes = [&](const integer_model &m) { return part_outside(c.net, m, "MODEL").bytes.numbers.size(); };
  EXPECT_EQ(bytes(scaled) - bytes(plain), plain.embedding.numbers.size());
  choices all = c.how;
  all.percent = 99.9999;  // which leaves out no number here, and has no scales of channels
  const integer_model unscaled = in_integers(c.net, all, c.weights, samples);
  EXPECT_TRUE(unscaled.is_tied);
  const auto error = [&](const integer_model &m) {
    return rms_of(errors_in_integers(c.net, m, c.weights, samples).layers.back());
  };
  EXPECT_LT(error(scaled), 0.8 * error(unscaled));
}

// All numbers that the model shows.
std::vector<int32_t> numbers_of_run(const calibrated &c, const integer_model &m, const sample &s) {
  std::vector<int32_t> numbers;
  const see_integers see = [&](int32_t, int64_t, heed_int_matrix rows, double) {
    for (int32_t i = 0; i < rows.n_rows * rows.dim; ++i)
      numbers.push_back(rows.dtype == HEED_INT16 ? static_cast<const int16_t *>(rows.data)[i]
                                                 : static_cast<const int8_t *>(rows.data)[i]);
  };
  if (c.net.what == task::vision)
    run_picture_in_integers(c.net, m, pixels_in_integers(m, s.pixels), see);
  else
    run_tokens_in_integers(c.net, m, s.tokens, see);
  return numbers;
}

std::vector<heed_import::bytes> bytes_of_tensors(const calibrated &c, const std::vector<sample> &samples) {
  const integer_model m = in_integers(c.net, c.how, c.weights, samples);
  choices how = c.how;
  how.name = "model";
  std::vector<heed_import::bytes> all;
  for (const tensor &t : integer_tensors(c.net, how, m))
    all.emplace_back(t.numbers().data, t.numbers().data + t.numbers().size);
  return all;
}

TEST(heed_compile_integers, are_the_same_with_every_kernel) {
  for (const std::string kind : {"bert-classes", "bert-outliers", "deit", "gpt2"}) {
    const calibrated c(kind);
    const std::vector<sample> samples = c.samples(4, 3);
    const integer_model m = in_integers(c.net, c.how, c.weights, samples);
    const std::vector<int32_t> expected = numbers_of_run(c, m, samples[0]);
    const std::string before = heed_int_isa_current();
    for (int32_t i = 0; i < heed_int_isa_count(); ++i) {
      ASSERT_EQ(heed_int_isa_use(heed_int_isa_name(i)), HEED_OK);
      EXPECT_EQ(numbers_of_run(c, m, samples[0]), expected) << kind << ", " << heed_int_isa_name(i);
    }
    heed_int_isa_use(before.c_str());
  }
}

// Nor does the file depend on the kernel of floats that has seen the samples.
TEST(heed_compile_integers, have_one_file_for_every_kernel) {
  const calibrated c("bert-outliers");
  const std::vector<sample> samples = c.samples(4, 3);
  const std::vector<heed_import::bytes> expected = bytes_of_tensors(c, samples);
  const std::string before = heed_isa_current();
  for (int32_t i = 0; i < heed_isa_count(); ++i) {
    ASSERT_EQ(heed_isa_use(heed_isa_name(i)), HEED_OK);
    EXPECT_EQ(bytes_of_tensors(c, samples), expected) << heed_isa_name(i);
    EXPECT_STREQ(heed_isa_current(), heed_isa_name(i)) << "the kernel in use stays";
  }
  heed_isa_use(before.c_str());
}

template <class F>
std::string refused(const F &f) {
  try {
    f();
  } catch (const refusal &error) {
    return error.what();
  }
  return "it is taken";
}
void expect_in(const std::string &part, const std::string &text) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no \"" << part << "\"";
}

TEST(heed_compile_integers, refuse_bad_texts) {
  using published::little_endian;
  using published::npy;
  const calibrated c("bert");
  const auto said = [&](const std::string &file) { return refused([&] { c.samples(file); }); };
  const auto one = [](int64_t token) { return npy("<i8", {1, 3}, little_endian(std::vector<int64_t>{4, token, 5})); };
  expect_in("rows.npy: sample 0, number 1 (both counted from 0): is 94, and the model has tokens from 0 to 93",
            said(one(94)));
  expect_in("is -2", said(one(-2)));
  expect_in("is 4294967297", said(one((int64_t{1} << 32) + 1)));
  expect_in("number 2 (both counted from 0): is 5", said(one(-1)));  // behind the end of its text
  expect_in("number 0", said(npy("<i8", {1, 2}, little_endian(std::vector<int64_t>{-1, -1}))));
  // 2^64 - 2 without a sign.
  expect_in("is -2", said(npy("<u8", {1, 2}, little_endian(std::vector<int64_t>{1, -2}))));
  expect_in("has the shape (6), and not (n, length)", said(npy("<i4", {6}, little_endian(std::vector<int32_t>(6)))));
  expect_in("has the shape (1, 129), and not (n, length): tokens of texts, at most 128",
            said(npy("<i4", {1, 129}, little_endian(std::vector<int32_t>(129)))));
  expect_in("has no numbers", said(npy("<i8", {0, 20}, "")));
  expect_in("has no numbers", said(npy("<i8", {4, 0}, "")));
  expect_in("is of '<f4', and not of whole numbers", said(npy("<f4", {1, 2}, little_endian(std::vector<float>(2)))));
  expect_in("more or fewer bytes than its shape", said(npy("<i4", {2, 2}, little_endian(std::vector<int32_t>(5)))));
  expect_in("fewer bytes than its shape",
            said(npy("<i4", {uint64_t{1} << 62, 8}, little_endian(std::vector<int32_t>(5)))));
  expect_in("is no .npy file", said("short"));
  expect_in("cannot be opened", refused([&] { read_samples(c.net, c.how, folder() + "/none.npy"); }));
  for (const std::string type : {"|u1", "|i1"}) {
    const std::vector<sample> s = c.samples(npy(type, {2, 2}, little_endian(std::vector<int8_t>{1, 2, 3, 4})));
    ASSERT_EQ(s.size(), 2u);
    EXPECT_EQ(s[1].tokens, (std::vector<int32_t>{3, 4})) << type;
  }
  EXPECT_EQ(c.samples(npy("<i2", {1, 3}, little_endian(std::vector<int16_t>{7, 8, -1})))[0].tokens.size(), 2u);
}

TEST(heed_compile_integers, refuse_bad_pictures) {
  using published::little_endian;
  using published::npy;
  const calibrated c("vit");
  const auto said = [&](const std::string &file) { return refused([&] { c.samples(file); }); };
  std::vector<float> pixels(2 * 32 * 32 * 3);
  EXPECT_EQ(c.samples(npy("<f4", {2, 32, 32, 3}, little_endian(pixels))).size(), 2u);
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    std::vector<float> some = pixels;
    some[3072 + 17] = bad;
    expect_in("sample 1, number 17 (both counted from 0): is infinite or no number",
              said(npy("<f4", {2, 32, 32, 3}, little_endian(some))));
  }
  expect_in("has the shape (2, 3, 32, 32), and not (n, 32, 32, 3)",
            said(npy("<f4", {2, 3, 32, 32}, little_endian(pixels))));
  expect_in("has the shape (6144)", said(npy("<f4", {6144}, little_endian(pixels))));
  expect_in("has no numbers", said(npy("<f4", {0, 32, 32, 3}, "")));
  expect_in("holds bytes, and not the floats", said(npy("|u1", {2, 32, 32, 3}, std::string(6144, 'a'))));
  expect_in("is of '<i4'", said(npy("<i4", {2, 32, 32, 3}, little_endian(pixels))));
}

TEST(heed_compile_integers, refuse_what_they_cannot_compute_by_its_name) {
  const std::pair<const char *, const char *> models[] = {{"gemma2", "a cap on scores"},
                                                          {"phi3", "a gate in one matrix"},
                                                          {"mistral", "a sliding window of fewer tokens"},
                                                          {"qwen3", "a norm of queries and keys"},
                                                          {"whisper", "a model of speech"},
                                                          {"gpt_neox", "parallel"}};
  for (const auto &[kind, why] : models) {
    const calibrated c(kind);
    expect_in(why, refused([&] { expect_possible_in_integers(c.net, c.how); }));
  }
  const network good = calibrated("bert").net;
  EXPECT_EQ(refused([&] { expect_possible_in_integers(good, {}); }), "it is taken");
  const auto changed = [&](const auto &change) {
    network net = good;
    change(net);
    return refused([&] { expect_possible_in_integers(net, {}); });
  };
  expect_in("a rotary embedding of an encoder", changed([](network &n) { n.rope.is_used = true; }));
  expect_in("a rotary embedding of its own", changed([](network &n) { n.local_rope.is_used = true; }));
  expect_in("a cap on scores", changed([](network &n) { n.attention_softcap = 30; }));
  expect_in("a norm of queries", changed([](network &n) { n.qk_norm = "heed_rms_norm"; }));
  expect_in("a norm behind each sublayer", changed([](network &n) { n.post_norm = true; }));
  expect_in("parallel", changed([](network &n) { n.parallel = true; }));
  expect_in("a gate in one matrix", changed([](network &n) { n.gate_up = true; }));
  expect_in("a sliding window", changed([](network &n) { n.windows = {0, 4}; }));
  expect_in("the activation heed_tanh", changed([](network &n) { n.activation = "heed_tanh"; }));
  expect_in("65536 inputs", changed([](network &n) { n.ffn_dim = 65537; }));
}

TEST(heed_compile_integers, refuse_weights_that_are_no_numbers) {
  calibrated c("bert");
  c.weights["layers.1.w_up"][7] = 3e38f;
  const std::vector<sample> samples = c.samples(2, 1);
  expect_in("sample 0, layer 1, counted from 0: ", refused([&] { in_integers(c.net, c.how, c.weights, samples); }));
}

}  // namespace
