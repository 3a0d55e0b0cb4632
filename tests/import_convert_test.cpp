// heed_import's formats: each against the library's own; choice and names of tensors; code in C. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>

#include "c_arrays.hpp"
#include "flat_file.hpp"
#include "select.hpp"
#include "support/import_files.hpp"

namespace {

using namespace heed_import;
using namespace import_files;

tensor matrix(const std::string &name, uint32_t n_rows, uint32_t n_columns, int32_t layout = HEED_OUT_IN,
              uint32_t seed = 1) {
  heed_test::random_source r(seed);
  std::vector<float> numbers;
  for (uint32_t i = 0; i < n_rows * n_columns; ++i) numbers.push_back(float(r.between(-100000, 100000)) * 1e-5f);
  tensor t;
  t.name = name;
  t.dims = {n_rows, n_columns};
  t.layout = layout;
  t.own(floats(numbers));
  return t;
}

std::vector<float> product(const tensor &t, const std::vector<float> &x, int32_t n_out) {
  return import_files::product(t, x, int32_t(x.size()), n_out);
}

std::vector<float> row(size_t n) {
  std::vector<float> x;
  for (size_t i = 0; i < n; ++i) x.push_back(float(int(i * 37 % 19) - 9) * 0.125f);
  return x;
}

// Every format, plain and packed, from both layouts: the same bits packed and plain, and near the floats.
TEST(import_convert, gives_the_bits_of_the_library) {
  for (const int32_t layout : {HEED_OUT_IN, HEED_IN_OUT}) {
    const auto source = [&] { return layout == HEED_OUT_IN ? matrix("w", 20, 64) : matrix("w", 64, 20, HEED_IN_OUT); };
    const std::vector<float> x = row(64), exact = product(source(), x, 20);
    for (int32_t dtype = HEED_F32; dtype <= HEED_Q4_0; ++dtype) {
      SCOPED_TRACE(format_name(dtype));
      tensor plain = source(), packed = source();
      convert(plain, {dtype, false});
      convert(packed, {dtype, true});
      EXPECT_EQ(plain.dtype, dtype);
      EXPECT_EQ(packed.layout, HEED_PACKED);
      const std::vector<float> y = product(plain, x, 20);
      EXPECT_EQ(y, product(packed, x, 20));
      const double error = dtype == HEED_F32 ? 0 : dtype == HEED_F16 ? 5e-3 : dtype == HEED_Q4_0 ? 2 : 0.1;
      for (size_t i = 0; i < 20; ++i) EXPECT_NEAR(y[i], exact[i], error);
      tensor again = source();
      convert(again, {dtype, false});
      convert(again, {dtype, true});
      EXPECT_EQ(product(again, x, 20), y);  // what is narrow already is packed as it is
    }
  }
}

std::string refusal_of_format(tensor t, int32_t dtype, bool packed = false) {
  try {
    convert(t, {dtype, packed});
    return "";
  } catch (const refusal &error) {
    return error.what();
  }
}

TEST(import_convert, keeps_zero_points) {
  for (const int32_t dtype : {HEED_FILE_U8, HEED_FILE_I8}) {
    for (const size_t n_scales : {1, 20}) {
      const auto source = [&] {
        tensor t;
        t.name = "w", t.dims = {64, 20}, t.dtype = dtype, t.layout = HEED_IN_OUT;
        bytes numbers;
        for (int i = 0; i < 64 * 20; ++i) numbers.push_back(uint8_t(i * 67 % 256));
        t.own(std::move(numbers));
        for (size_t i = 0; i < n_scales; ++i) t.scales.push_back(0.01f * float(i + 1)), t.zeros.push_back(int(i) + 90);
        return t;
      };
      tensor packed = source(), widened = source();
      convert(packed, wish_of("packed-u8"));
      convert(widened, wish_of("f32"));
      const std::vector<float> x = row(64), y = product(source(), x, 20);
      EXPECT_EQ(product(packed, x, 20), y);
      EXPECT_EQ(product(widened, x, 20), y);
    }
  }
  EXPECT_EQ(refusal_of_format(matrix("w", 2, 2), HEED_UINT8, true), "w: has no zero points, which packed-u8 is for");
}

TEST(import_convert, keeps_quantised_bytes_where_it_can) {
  tensor t;
  t.name = "w", t.dims = {2, 2}, t.dtype = HEED_FILE_I8, t.scales = {0.5f}, t.zeros = {0};
  t.own({1, 0xff, 127, 0x81});
  convert(t, {HEED_INT8, false});
  EXPECT_EQ(t.dtype, HEED_INT8);
  EXPECT_EQ(t.scales, (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(floats_of(t), (std::vector<float>{0.5f, -0.5f, 63.5f, -63.5f}));
  t = tensor();
  t.name = "w", t.dims = {2, 2}, t.dtype = HEED_FILE_U8, t.layout = HEED_IN_OUT, t.scales = {0.5f, 2},
  t.zeros = {128, 1};
  t.own({0, 1, 255, 3});
  EXPECT_EQ(floats_of(t), (std::vector<float>{-64, 0, 63.5f, 4}));
  transpose(t);
  EXPECT_EQ(floats_of(t), (std::vector<float>{-64, 63.5f, 0, 4}));
  convert(t, {HEED_INT8, false});
  EXPECT_EQ(t.scales, (std::vector<float>{64 / 127.0f, 4 / 127.0f}));
  t = tensor();
  t.name = "w", t.dims = {1, 1, 3}, t.dtype = HEED_FILE_I8_PLUS, t.scales = {0.5f}, t.float_zeros = {0.25f};
  t.own({1, 0xff, 127});
  EXPECT_EQ(floats_of(t), (std::vector<float>{0.75f, -0.25f, 63.75f}));
}

TEST(import_convert, refuses_by_name) {
  const auto with = [](float f) {
    tensor t = matrix("w", 1, 32);
    bytes numbers(t.numbers().data, t.numbers().data + 128);
    std::memcpy(&numbers[0], &f, 4);
    t.own(std::move(numbers));
    return t;
  };
  EXPECT_EQ(refusal_of_format(with(1e5f), HEED_F16), "w: 100000.000000 is beyond f16: try bf16");
  EXPECT_EQ(refusal_of_format(with(NAN), HEED_INT8), "w: holds a NaN, an infinity, or numbers beyond the format");
  EXPECT_EQ(refusal_of_format(with(INFINITY), HEED_Q8_0), "w: holds a NaN or an infinity");
  EXPECT_EQ(refusal_of_format(with(1e9f), HEED_Q4_0), "w: the scale of a block is beyond f16");
  EXPECT_EQ(refusal_of_format(with(1e9f), HEED_Q4_0, true),
            "w: holds a NaN, an infinity, or numbers beyond the format");
  EXPECT_EQ(refusal_of_format(matrix("w", 2, 33), HEED_Q8_0),
            "w: has 33 inputs, no multiple of 32: q8_0 is possible only packed");
  EXPECT_EQ(refusal_of_format(matrix("w", 2, 33), HEED_Q8_0, true), "");
  tensor blocks = matrix("w", 1, 32);
  convert(blocks, {HEED_Q8_0, false});
  EXPECT_THROW(transpose(blocks), refusal);
  EXPECT_THROW(wish_of("q5_1"), refusal);
  EXPECT_THROW(wish_of("packed-keep"), refusal);
  EXPECT_TRUE(wish_of("packed-int4").packed);
  EXPECT_EQ(wish_of("int4").dtype, HEED_Q4_0);
}

TEST(import_select, matches_and_renames) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*c?", "abcbcd"));
  EXPECT_FALSE(matches("a*c?", "abc"));
  EXPECT_FALSE(matches("a", "ab"));
  const std::vector<rename_rule> rules = {
      {"model.layers.*.self_attn.?_proj.weight", "other"}, {"*.*", "*_*"}, {"x*", "**"}};
  EXPECT_EQ(renamed(rules, "model.layers.3.self_attn.q_proj.weight"), "other");
  EXPECT_EQ(renamed(rules, "a.b.c"), "a_b.c");
  EXPECT_EQ(renamed(rules, "none"), "none");
  EXPECT_THROW(renamed(rules, "xy"), refusal);
}

std::vector<tensor> model() {
  std::vector<tensor> all;
  all.push_back(matrix("wq", 3, 32));
  all.push_back(matrix("wk", 32, 3));
  all.push_back(matrix("norm", 32, 1));
  convert(all.back(), {HEED_F16, false});
  all.push_back(matrix("table", 4, 4));
  all.back().left_out = "is of integers";
  all.push_back(matrix("odd", 4, 4));
  all.back().refused = "is of a kind";
  return all;
}

TEST(import_select, applies_all_rules) {
  selection by;
  std::vector<std::string> left_out;
  EXPECT_THROW(selected(model(), by, left_out), refusal);  // odd
  by.leave_out = {"odd"};
  by.in_out = {"wk"};
  by.transpose = {"wk"};
  by.rename = {{"w?", "layer.w?"}, {"norm", "n"}};
  by.formats = {{wish_of("int8"), ""}, {wish_of("bf16"), "wq"}};
  const tensors t(selected(model(), by, left_out));
  EXPECT_EQ(left_out, std::vector<std::string>{"table: is of integers"});
  EXPECT_EQ(t.of("n").dtype, HEED_F32);
  EXPECT_EQ(t.of("layer.w?").dtype, HEED_BF16);
  by.rename = {{"wk", "new"}};
  const tensors again(selected(model(), by, left_out));
  EXPECT_EQ(again.of("new").dtype, HEED_INT8);
  EXPECT_EQ(again.of("new").dims, (std::vector<uint32_t>{3, 32}));
  EXPECT_EQ(again.of("new").layout, HEED_OUT_IN);
  EXPECT_EQ(again.of("new").scales.size(), 3u);
  by.only = {"wz"};
  EXPECT_THROW(selected(model(), by, left_out), refusal);
}

// What --in-out and --out-in would make wrong: blocks lie along inputs, scales belong to outputs.
TEST(import_select, refuses_another_layout_than_the_numbers_have) {
  const auto refusal_of = [](tensor t, const selection &by) {
    std::vector<tensor> all;
    std::vector<std::string> left_out;
    all.push_back(std::move(t));
    try {
      const std::vector<tensor> chosen = selected(std::move(all), by, left_out);
      expect_consistent(chosen.at(0));
      EXPECT_EQ(floats_of(chosen[0]).size(), chosen[0].count());
      return std::string();
    } catch (const refusal &error) {
      return std::string(error.what());
    }
  };
  selection in_out, out_in, both;
  in_out.in_out = both.in_out = {"w"};
  out_in.out_in = both.out_in = {"w"};
  EXPECT_EQ(refusal_of(matrix("w", 2, 32), in_out), "");
  EXPECT_EQ(refusal_of(matrix("w", 2, 32), both), "w: --in-out and --out-in both match it");
  for (const int32_t dtype : {HEED_Q8_0, HEED_Q4_0}) {
    tensor blocks = matrix("w", 32, 32);
    convert(blocks, {dtype, false});
    EXPECT_EQ(refusal_of(copy_of(blocks), out_in), "");
    EXPECT_EQ(refusal_of(std::move(blocks), in_out), "w: is in blocks of inputs: it is (out, in)");
  }
  for (const int32_t layout : {HEED_OUT_IN, HEED_IN_OUT}) {
    const selection &same = layout == HEED_OUT_IN ? out_in : in_out, &other = layout == HEED_OUT_IN ? in_out : out_in;
    tensor scaled = matrix("w", 3, 400, layout);
    convert(scaled, {HEED_INT8, false});
    EXPECT_EQ(refusal_of(copy_of(scaled), same), "");
    EXPECT_EQ(refusal_of(std::move(scaled), other), std::string("w: has a scale for each output: it is ") +
                                                        (layout == HEED_IN_OUT ? "(in, out)" : "(out, in)"));
    tensor quantized;
    quantized.name = "w", quantized.dims = {4, 4}, quantized.dtype = HEED_FILE_I8, quantized.layout = layout;
    quantized.scales = {1, 2, 3, 4}, quantized.zeros = {0, 0, 0, 0};
    quantized.own(bytes(16, 1));
    EXPECT_NE(refusal_of(copy_of(quantized), other), "");
    quantized.scales = {1}, quantized.zeros = {0};
    EXPECT_EQ(refusal_of(std::move(quantized), other), "");
  }
  tensor packed = matrix("w", 4, 4);
  convert(packed, {HEED_F32, true});
  EXPECT_NE(refusal_of(std::move(packed), in_out), "");
  tensor unsure = matrix("w", 4, 4);
  unsure.unsure = "two nodes differ";
  EXPECT_EQ(refusal_of(std::move(unsure), {}),
            "w: two nodes differ: --in-out or --out-in says what it is, --leave-out leaves it out");
}

TEST(import_convert, leaves_packed_weights_packed) {
  const auto packed = [] {
    tensor t = matrix("w", 4, 32);
    convert(t, {HEED_Q8_0, true});
    return t;
  };
  EXPECT_EQ(refusal_of_format(packed(), HEED_Q8_0, true), "");
  EXPECT_EQ(refusal_of_format(packed(), keep_format), "");
  for (const int32_t dtype : {HEED_F32, HEED_F16, HEED_INT8, HEED_Q8_0, HEED_Q4_0}) {
    EXPECT_EQ(refusal_of_format(packed(), dtype),
              "w: is packed: give the file that it was made of to have another format");
  }
  EXPECT_NE(refusal_of_format(packed(), HEED_F32, true), "");
  tensor t = packed();
  EXPECT_THROW(transpose(t), refusal);
}

// Scales and zero points of a wrong number never reach a loop over outputs.
TEST(import_convert, refuses_what_does_not_fit_together) {
  const auto of = [](size_t n_scales, size_t n_zeros) {
    tensor t;
    t.name = "w", t.dims = {400, 3}, t.dtype = HEED_FILE_I8, t.layout = HEED_OUT_IN;
    t.scales.assign(n_scales, 1), t.zeros.assign(n_zeros, 0);
    t.own(bytes(1200, 1));
    return t;
  };
  EXPECT_EQ(refusal_of_format(of(1, 1), HEED_F32), "");
  EXPECT_EQ(refusal_of_format(of(400, 400), HEED_F32), "");
  EXPECT_EQ(refusal_of_format(of(3, 3), HEED_F32), "w: has 3 scales for 400 outputs");
  EXPECT_EQ(refusal_of_format(of(400, 3), HEED_F32), "w: has more or fewer zero points than scales");
  tensor t = of(1, 1);
  t.own(bytes(1199, 1));
  EXPECT_EQ(refusal_of_format(std::move(t), HEED_F32), "w: has more or fewer bytes than its shape says");
}

}  // namespace
