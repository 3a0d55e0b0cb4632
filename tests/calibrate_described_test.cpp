// A model of float layers as a text and two files: what it becomes, and what is wrong with it. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

#include "calibrate.hpp"
#include "description.hpp"
#include "model_file.hpp"
#include "report.hpp"
#include "kwt_oracle.hpp"

namespace heed_test {
namespace {

using rows = std::vector<float>;

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
        "# a model\nlayers 2 model_dim 16 ffn_dim 24\nheads 2 kv_heads 1 head_dim 16\nnorm rms norm_first 1 eps "
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
  int16_t x[10 * 16] = {};
  for (const int32_t rows : {INT32_MIN, -11, 11, INT32_MAX})
    EXPECT_EQ(int_model_run_rows(&model, x, 10, rows, nullptr, none),
              HEED_STATUS(HEED_SHAPE_MISMATCH, HEED_ARG_OUT_ROWS));
  EXPECT_EQ(int_model_run(&model, nullptr, 10, none), HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_X));
  EXPECT_EQ(int_model_run_rows(&model, nullptr, 10, 1, x, none), HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_X));
  int16_t *const odd = reinterpret_cast<int16_t *>(reinterpret_cast<uintptr_t>(x) + 1);
  EXPECT_EQ(int_model_run(&model, odd, 10, none), HEED_STATUS(HEED_MISALIGNED, HEED_ARG_X));
  for (const int32_t n : {0, -1, INT32_MIN}) {
    EXPECT_EQ(int_model_run(&model, x, n, none), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_N));
    EXPECT_EQ(int_model_run_rows(&model, x, n, 1, x, none), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_N));
  }
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
         {"layers 2", "model_dim 16", "ffn_dim 24", "heads 2", "kv_heads 1", "head_dim 16", "sequence 10"}) {
      const std::string name = std::string(count).substr(0, std::string(count).find(' '));
      expect(name + " is out of range", with(count, name + " " + number));
    }
  expect("heads is not a whole number", with("heads 2", "heads 2.5"));
  expect("heads is not a number: \"2x\"", with("heads 2", "heads 2x"));
  expect("ffn_dim is not a number: \"heads\"", with("ffn_dim 24\nheads", "ffn_dim heads"));
  expect("eps is not a number: \"activation\"", describe("eps activation gelu\n"));
  expect("norm has no value: \"norm_first\" follows", with("norm rms", "norm"));
  expect("gated has no value: \"layout\" follows", with("gated 1", "gated"));
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
  expect("/.: cannot be read", with("rows x.f32", "rows ."));
  for (const char *name : {"w.f32", "x.f32"}) {
    const std::string kept = read(folder_ + "/" + name);
    for (const size_t n : {size_t{0}, size_t{2}, kept.size() - 1}) {
      write(name, kept.data(), n);
      expect(name + (n == 0 ? ": is empty" : ": ends within a float: it has " + std::to_string(n) + " bytes"),
             describe(""));
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

}  // namespace
}  // namespace heed_test
