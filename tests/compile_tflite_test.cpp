// Graphs of TensorFlow Lite as heed_compile reads them: each operator against its definition, computed here; what is refused.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "../ports/compile/onnx/steps.hpp"
#include "support/tflite_file.hpp"

namespace {

using heed_compile::array;
using heed_compile::refusal;
using ints = std::vector<int32_t>;

tflite_tensor floats(const std::string &name, const ints &shape, const std::vector<float> &numbers = {}) {
  return {name, shape, 0, tflite_data(numbers)};
}
tflite_tensor integers(const std::string &name, const ints &shape, const ints &numbers) {
  return {name, shape, 2, tflite_data(numbers)};
}

// Numbers that are not equal to each other, of both signs.
std::vector<float> some(size_t n) {
  std::vector<float> numbers;
  for (size_t i = 0; i < n; ++i) numbers.push_back(static_cast<float>((i * 37 + 11) % 64) / 16.0f - 2.0f);
  return numbers;
}

class tflite : public testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / ("heed_tflite_test." + std::to_string(getpid()))).string();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::unique_ptr<heed_compile::graph_model> read(const std::string &file) {
    std::ofstream(path_, std::ios::binary) << file;
    return heed_compile::read_graph(path_, {});
  }
  // What the operators make of tensor 0. The last tensor is the output.
  array run(const std::vector<tflite_tensor> &tensors, const std::vector<tflite_operation> &operations,
            const std::vector<float> &input) {
    const auto last = static_cast<int32_t>(tensors.size()) - 1;
    const auto model = read(tflite_file(tensors, operations, {0}, {last}).text());
    auto given = std::make_shared<array>();
    given->dims.assign(tensors[0].shape.begin(), tensors[0].shape.end());
    given->numbers.assign(input.begin(), input.end());
    array found;
    heed_compile::evaluate_graph(model->net, {given}, [&](int value, const array &a) {
      if (value == model->net.outputs[0]) found = a;
    });
    return found;
  }
  std::string refused(const std::vector<tflite_tensor> &tensors, const std::vector<tflite_operation> &operations) {
    try {
      read(tflite_file(tensors, operations, {0}, {static_cast<int32_t>(tensors.size()) - 1}).text());
    } catch (const refusal &error) {
      return std::string(error.what()).substr(path_.size() + 2);
    }
    return "it was taken";
  }

  std::string path_;
};

void expect_near(const array &found, const heed_compile::shape &dims, const std::vector<double> &expected) {
  ASSERT_EQ(found.dims, dims);
  ASSERT_EQ(found.numbers.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.numbers[i], expected[i], 1e-6) << i;
}

TEST_F(tflite, fully_connected_takes_rows_of_all_dimensions_and_has_a_bias_and_an_activation) {
  const std::vector<float> w = some(6), b = {0.5f, -0.25f}, x = some(12);
  const array found = run({floats("x", {2, 2, 3}), floats("w", {2, 3}, w), floats("b", {2}, b), floats("y", {4, 2})},
                          {{9, {0, 1, 2}, {3}, {{0, 1, 3}}}}, x);
  std::vector<double> expected;
  for (size_t row = 0; row < 4; ++row)
    for (size_t out = 0; out < 2; ++out) {
      double sum = b[out];
      for (size_t i = 0; i < 3; ++i) sum += static_cast<double>(x[3 * row + i]) * w[3 * out + i];
      expected.push_back(std::min(std::max(sum, 0.0), 6.0));
    }
  expect_near(found, {4, 2}, expected);
}

// The sum that both convolutions make, with zeros around the picture of (height 5, width 4).
struct picture {
  static constexpr int height = 5, width = 4;
  std::vector<float> x;
  int channels;
  double at(int row, int column, int channel) const {
    if (row < 0 || row >= height || column < 0 || column >= width) return 0;
    return x[static_cast<size_t>((row * width + column) * channels + channel)];
  }
};

TEST_F(tflite, convolution_pads_as_same_does) {
  const picture p = {some(5 * 4 * 2), 2};
  const std::vector<float> w = some(3 * 3 * 3 * 2), b = {1, 2, 3};
  const array found =
      run({floats("x", {1, 5, 4, 2}), floats("w", {3, 3, 3, 2}, w), floats("b", {3}, b), floats("y", {1, 3, 2, 3})},
          {{3, {0, 1, 2}, {3}, {{0, 1, 0}, {1, 4, 2}, {2, 4, 2}}}}, p.x);
  std::vector<double> expected;
  // SAME: a height of 5 needs 1 row above, a width of 4 none to the left.
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 2; ++column)
      for (int out = 0; out < 3; ++out) {
        double sum = b[static_cast<size_t>(out)];
        for (int i = 0; i < 3; ++i)
          for (int k = 0; k < 3; ++k)
            for (int c = 0; c < 2; ++c)
              sum += p.at(2 * row + i - 1, 2 * column + k, c) * w[static_cast<size_t>(((out * 3 + i) * 3 + k) * 2 + c)];
        expected.push_back(sum);
      }
  expect_near(found, {1, 3, 2, 3}, expected);
}

TEST_F(tflite, depthwise_convolution_has_outputs_beside_each_channel) {
  const picture p = {some(5 * 4 * 2), 2};
  const std::vector<float> w = some(2 * 2 * 4);
  const array found = run({floats("x", {1, 5, 4, 2}), floats("w", {1, 2, 2, 4}, w), floats("y", {1, 4, 3, 4})},
                          {{4, {0, 1, -1}, {2}, {{0, 1, 1}, {1, 4, 1}, {2, 4, 1}, {3, 4, 2}}}}, p.x);
  std::vector<double> expected;
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 3; ++column)
      for (int out = 0; out < 4; ++out) {
        double sum = 0;
        for (int i = 0; i < 2; ++i)
          for (int k = 0; k < 2; ++k)
            sum += p.at(row + i, column + k, out / 2) * w[static_cast<size_t>((i * 2 + k) * 4 + out)];
        expected.push_back(sum);
      }
  expect_near(found, {1, 4, 3, 4}, expected);
}

TEST_F(tflite, pools_count_what_lies_inside_alone) {
  const picture p = {some(5 * 4), 1};
  const array found = run({floats("x", {1, 5, 4, 1}), floats("y", {1, 3, 2, 1})},
                          {{1, {0}, {1}, {{0, 1, 0}, {1, 4, 2}, {2, 4, 2}, {3, 4, 2}, {4, 4, 2}}}}, p.x);
  std::vector<double> expected;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 2; ++column) {
      double sum = p.at(2 * row, 2 * column, 0) + p.at(2 * row, 2 * column + 1, 0);
      if (row < 2) sum += p.at(2 * row + 1, 2 * column, 0) + p.at(2 * row + 1, 2 * column + 1, 0);
      expected.push_back(sum / (row < 2 ? 4 : 2));
    }
  expect_near(found, {1, 3, 2, 1}, expected);
}

TEST_F(tflite, strided_slice_follows_its_masks) {
  const std::vector<float> x = some(24);  // (2, 3, 4)
  // x[1, ::-1, 1:]: the first axis is dropped; begin and end of the second are not read, nor the end of the third.
  const array found = run({floats("x", {2, 3, 4}), integers("begin", {3}, {1, 7, 1}), integers("end", {3}, {9, 7, 7}),
                           integers("stride", {3}, {1, -1, 1}), floats("y", {3, 3})},
                          {{45, {0, 1, 2, 3}, {4}, {{0, 4, 2}, {1, 4, 6}, {4, 4, 1}}}}, x);
  std::vector<double> expected;
  for (size_t row = 0; row < 3; ++row)
    for (size_t i = 1; i < 4; ++i) expected.push_back(x[12 + (2 - row) * 4 + i]);
  expect_near(found, {3, 3}, expected);
}

TEST_F(tflite, slices_packs_means_and_softmax_are_those_of_onnx) {
  const std::vector<float> x = some(6);
  // Two copies of the second row on each other, their mean, softmax with a factor.
  const array found =
      run({floats("x", {2, 3}), integers("begin", {2}, {1, 0}), integers("size", {2}, {1, -1}), floats("row", {1, 3}),
           floats("packed", {1, 2, 3}), integers("axis", {1}, {1}), floats("mean", {1, 3}), floats("y", {1, 3})},
          {{65, {0, 1, 2}, {3}, {}},
           {83, {3, 3}, {4}, {{0, 4, 2}, {1, 4, 1}}},
           {40, {4, 5}, {6}, {{0, 1, 0}}},
           {25, {6}, {7}, {{0, 4, tflite_float(2.0f)}}}},
          x);
  double sum = 0;
  for (size_t i = 3; i < 6; ++i) sum += std::exp(2.0 * x[i]);
  expect_near(found, {1, 3}, {std::exp(2.0 * x[3]) / sum, std::exp(2.0 * x[4]) / sum, std::exp(2.0 * x[5]) / sum});
}

TEST_F(tflite, products_of_batches_transpose_their_operands) {
  const std::vector<float> x = some(12);  // (2, 2, 3)
  const array found = run({floats("x", {2, 2, 3}), floats("y", {2, 2, 2})}, {{126, {0, 0}, {1}, {{1, 1, 1}}}}, x);
  std::vector<double> expected;
  for (size_t b = 0; b < 2; ++b)
    for (size_t i = 0; i < 2; ++i)
      for (size_t k = 0; k < 2; ++k) {
        double sum = 0;
        for (size_t c = 0; c < 3; ++c) sum += static_cast<double>(x[(b * 2 + i) * 3 + c]) * x[(b * 2 + k) * 3 + c];
        expected.push_back(sum);
      }
  expect_near(found, {2, 2, 2}, expected);
}

TEST_F(tflite, functions_of_one_number) {
  const struct {
    int32_t code;
    double (*f)(double);
  } functions[] = {{14, [](double x) { return 1 / (1 + std::exp(-x)); }},
                   {19, [](double x) { return std::max(x, 0.0); }},
                   {21, [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
                   {28, [](double x) { return std::tanh(x); }},
                   {47, [](double x) { return std::exp(x); }},
                   {59, [](double x) { return -x; }},
                   {92, [](double x) { return x * x; }},
                   {101, [](double x) { return std::fabs(x); }},
                   {117, [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
                   {150, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }}};
  const std::vector<float> x = some(8);
  for (const auto &function : functions) {
    std::vector<double> expected;
    for (const float number : x) expected.push_back(function.f(number));
    SCOPED_TRACE(function.code);
    expect_near(run({floats("x", {8}), floats("y", {8})}, {{function.code, {0}, {1}, {}}}, x), {8}, expected);
  }
  const std::vector<float> positive = {0.25f, 1, 4, 16};
  expect_near(run({floats("x", {4}), floats("y", {4})}, {{76, {0}, {1}, {}}}, positive), {4}, {2, 1, 0.5, 0.25});
}

// x f + (bias - mean f), where f = weight / sqrt(mean((x - mean)^2) + eps). `shifted` stands in the place of the second f.
std::vector<tflite_operation> layer_norm(int32_t shifted) {
  enum { x = 0, axis, eps, weight, bias, mean, squares, variance, sum, inverse, factor, scaled, shift, rest, y };
  return {{40, {x, axis}, {mean}, {{0, 1, 1}}},
          {99, {x, mean}, {squares}, {}},
          {40, {squares, axis}, {variance}, {{0, 1, 1}}},
          {0, {variance, eps}, {sum}, {}},
          {76, {sum}, {inverse}, {}},
          {18, {inverse, weight}, {factor}, {}},
          {18, {x, factor}, {scaled}, {}},
          {18, {mean, shifted}, {shift}, {}},
          {41, {bias, shift}, {rest}, {}},
          {0, {scaled, rest}, {y}, {}}};
}

TEST_F(tflite, the_moments_of_tensorflow_are_a_layer_norm) {
  const std::vector<tflite_tensor> tensors = {floats("x", {2, 4}),          integers("axis", {1}, {1}),
                                              floats("eps", {}, {0.25f}),   floats("weight", {4}, some(4)),
                                              floats("bias", {4}, some(4)), floats("mean", {2, 1}),
                                              floats("squares", {2, 4}),    floats("variance", {2, 1}),
                                              floats("sum", {2, 1}),        floats("inverse", {2, 1}),
                                              floats("factor", {2, 4}),     floats("scaled", {2, 4}),
                                              floats("shift", {2, 4}),      floats("rest", {2, 4}),
                                              floats("y", {2, 4})};
  const auto nodes = [&](int32_t shifted) {
    const auto model = read(tflite_file(tensors, layer_norm(shifted), {0}, {14}).text());
    return heed_compile::fused(model->net).nodes;
  };
  const std::vector<heed_compile::graph_node> whole = nodes(10);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].operation, "heed.norm");
  EXPECT_EQ(whole[0].inputs.size(), 3u);
  EXPECT_EQ(whole[0].attributes.at("eps").numbers->numbers, std::vector<double>{0.25});
  // The mean times something else is no layer norm.
  for (const heed_compile::graph_node &node : nodes(3)) EXPECT_NE(node.operation, "heed.norm");
}

// The weights of a graph that computes with floats may have 8 bits, as "dynamic range quantization" leaves them.
TEST_F(tflite, weights_of_8_bits_are_dequantised_and_keep_their_bits) {
  const std::string bytes("\x01\x02\x03\xff\xfe\x80", 6);
  const std::vector<float> x = some(6);
  const auto expected = [&](const std::vector<double> &scales, const std::vector<double> &zeros) {
    std::vector<double> y;
    for (size_t row = 0; row < 2; ++row)
      for (size_t o = 0; o < 2; ++o) {
        double sum = 0;
        for (size_t i = 0; i < 3; ++i)
          sum += static_cast<double>(x[3 * row + i]) *
                 (static_cast<double>(static_cast<int8_t>(bytes[3 * o + i])) - zeros[o]) * scales[o];
        y.push_back(sum);
      }
    return y;
  };
  const std::vector<tflite_operation> product = {{9, {0, 1, -1}, {2}, {}}};
  const auto with = [&](const std::vector<float> &scales, const ints &zeros) {
    return std::vector<tflite_tensor>{
        floats("x", {2, 3}), {"w", {2, 3}, 9, bytes, scales, zeros, 0}, floats("y", {2, 2})};
  };
  expect_near(run(with({0.5f}, {}), product, x), {2, 2}, expected({0.5, 0.5}, {0, 0}));
  expect_near(run(with({0.5f}, {-3}), product, x), {2, 2}, expected({0.5, 0.5}, {-3, -3}));
  expect_near(run(with({0.5f, 2}, {0, 7}), product, x), {2, 2}, expected({0.5, 2}, {0, 7}));
  const auto model = read(tflite_file(with({0.5f, 2}, {0, 7}), product, {0}, {2}).text());
  bool has_bytes = false;
  for (const heed_compile::graph_value &v : model->net.values)
    has_bytes = has_bytes || (v.weight != nullptr && v.weight->dtype == HEED_FILE_I8);
  EXPECT_TRUE(has_bytes);
  EXPECT_EQ(refused(with({1, 2, 3}, {}), product), "w: has 3 scales, neither one nor one for each output");
  EXPECT_EQ(refused(with({1, 2}, {0}), product), "w: has more or fewer zero points than scales");
  EXPECT_EQ(refused(with({1}, {200}), product), "w: has a zero point beyond its numbers");
  auto elsewhere = with({1, 2}, {});
  elsewhere[1].scaled_dimension = 9;
  EXPECT_EQ(refused(elsewhere, product), "w: has 2 scales, neither one nor one for each output");
  auto of_int8 = with({0.5f}, {});
  of_int8[0].type = 9;
  EXPECT_EQ(refused(of_int8, product),
            "x: is of type 9 of TensorFlow Lite; graphs of floats are read: convert the model without quantisation");
}

TEST_F(tflite, what_is_not_read_is_named) {
  const auto x = floats("x", {2, 3}), y = floats("y", {2, 3});
  EXPECT_EQ(refused({x, y}, {{200, {0}, {1}, {}}}),
            "operator code 200 y: is an operator of TensorFlow Lite that is not read");
  EXPECT_EQ(refused({x, {"w", {2}, 9, "ab"}, y}, {{0, {0, 1}, {2}, {}}}),
            "w: is of type 9 of TensorFlow Lite; graphs of floats are read: convert the model without quantisation");
  EXPECT_EQ(refused({x, y}, {{0, {0}, {1}, {}}}), "ADD y: lacks an input");
  EXPECT_EQ(refused({x, floats("w", {3}, some(3)), y}, {{9, {0, 1}, {2}, {}}}),
            "FULLY_CONNECTED y: has weights that are no matrix");
  EXPECT_EQ(refused({x, floats("w", {2, 3}), y}, {{40, {0, 1}, {2}, {}}}),
            "MEAN y: has a shape or an axis that is no constant");
  EXPECT_EQ(refused({x, y}, {{0, {0, 0}, {1}, {{0, 1, 9}}}}), "ADD y: has activation 9, which is not known");
  EXPECT_EQ(refused({x, y}, {{3, {0, 0}, {1}, {}}}), "CONV_2D y: reads what is no picture of 4 dimensions");
  EXPECT_EQ(refused({x, integers("i", {1}, {0}), y}, {{36, {0, 1}, {2}, {{1, 4, 1}}}}),
            "GATHER y: gathers by batches, which is not read");
  const auto three = integers("i", {3}, {0, 0, 0});
  EXPECT_EQ(refused({x, three, y}, {{45, {0, 1, 1, 1}, {2}, {}}}),
            "STRIDED_SLICE y: slices more dimensions than there are");
  EXPECT_EQ(refused({x, three, y}, {{45, {0, 1, 1, 1}, {2}, {{2, 4, 1}}}}),
            "STRIDED_SLICE y: has an ellipsis or a new axis, which is not read");
  EXPECT_EQ(refused({x, three, y}, {{34, {0, 1}, {2}, {}}}), "PAD y: pads other dimensions than there are");
  EXPECT_EQ(refused({x, floats("w", {-2, 3}, some(6)), y}, {{0, {0, 1}, {2}, {}}}), "w: has a negative dimension");
}

TEST_F(tflite, a_graph_that_reads_what_nothing_makes_is_refused) {
  const auto x = floats("x", {2}), y = floats("y", {2});
  const std::string why = refused({x, floats("z", {2}), y}, {{0, {0, 1}, {2}, {}}});
  EXPECT_NE(why.find("z"), std::string::npos) << why;
  // In a circle.
  const std::string circle = refused({x, floats("z", {2}), y}, {{0, {0, 2}, {1}, {}}, {0, {0, 1}, {2}, {}}});
  EXPECT_NE(circle.find("damaged"), std::string::npos) << circle;
}

}  // namespace
