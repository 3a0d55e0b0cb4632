// Graph models of TensorFlow.js as heed_compile reads them: operators against their definitions, computed here; the rows that a mask keeps;
// what is refused. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <functional>

#include "../ports/compile/onnx/steps.hpp"
#include "readers.hpp"
#include "support/tfjs_model.hpp"

namespace {

using heed_compile::array;
using heed_compile::element;
using heed_compile::graph_choices;
using heed_compile::refusal;
using heed_compile::shape;
using tfjs_text::some;
using numbers = std::vector<double>;

array floats_of(const shape &dims, const std::vector<float> &given) {
  array a;
  a.dims = dims;
  a.numbers.assign(given.begin(), given.end());
  return a;
}

class tfjs : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / ("heed_tfjs_test." + std::to_string(getpid()))).string();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<heed_compile::graph_model> read(const tfjs_model &m, const graph_choices &how = {}) {
    return heed_compile::read_graph(m.write(folder_), how);
  }
  // The only output, as the operators compute it.
  array run(const tfjs_model &m, const std::vector<array> &inputs, const graph_choices &how = {}) {
    return outcome(read(m, how)->net, inputs);
  }
  static array outcome(const heed_compile::graph &net, const std::vector<array> &inputs) {
    std::vector<heed_compile::shared_array> given;
    for (const array &a : inputs) given.push_back(std::make_shared<array>(a));
    array found;
    if (net.values[static_cast<size_t>(net.outputs[0])].is_constant)
      return *heed_compile::numbers_of(net.values[static_cast<size_t>(net.outputs[0])]);
    heed_compile::evaluate_graph(net, given, [&](int value, const array &a) {
      if (value == net.outputs[0]) found = a;
    });
    return found;
  }
  std::string why(const std::function<void()> &read) {
    try {
      read();
    } catch (const refusal &error) {
      const std::string text = error.what(), path = folder_ + "/model.json: ";
      return text.compare(0, path.size(), path) == 0 ? text.substr(path.size()) : text;
    }
    return "it was taken";
  }
  std::string refused(const tfjs_model &m, const graph_choices &how = {}) {
    return why([&] { read(m, how); });
  }

  std::string folder_;
};

void expect_near(const array &found, const shape &dims, const numbers &expected) {
  ASSERT_EQ(found.dims, dims);
  ASSERT_EQ(found.numbers.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.numbers[i], expected[i], 1e-6) << i;
}

TEST_F(tfjs, operators_of_one_number) {
  const std::pair<const char *, double (*)(double)> all[] = {
      {"Relu", [](double x) { return std::max(x, 0.0); }},
      {"Relu6", [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
      {"LeakyRelu", [](double x) { return x < 0 ? 0.2 * x : x; }},
      {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {"Selu", [](double x) { return 1.0507009873554805 * (x < 0 ? 1.6732632423543772 * std::expm1(x) : x); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Abs", [](double x) { return std::abs(x); }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Sign", [](double x) { return x > 0   ? 1.0
                                     : x < 0 ? -1.0
                                             : 0.0; }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
      {"Square", [](double x) { return x * x; }},
      {"Identity", [](double x) { return x; }}};
  const std::vector<float> x = {-7.5f, -1.5f, -0.25f, 0, 0.5f, 2.5f, 8};
  for (const auto &[name, f] : all) {
    tfjs_model m;
    m.input("x", "DT_FLOAT", {7});
    m.node(name, "y", {"x"});
    numbers expected;
    for (const float number : x) expected.push_back(f(static_cast<double>(number)));
    SCOPED_TRACE(name);
    expect_near(run(m, {floats_of({7}, x)}), {7}, expected);
  }
}

TEST_F(tfjs, operators_of_positive_numbers) {
  const std::pair<const char *, double (*)(double)> all[] = {{"Log", [](double x) { return std::log(x); }},
                                                             {"Sqrt", [](double x) { return std::sqrt(x); }},
                                                             {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }},
                                                             {"Reciprocal", [](double x) { return 1 / x; }}};
  for (const auto &[name, f] : all) {
    tfjs_model m;
    m.input("x", "DT_FLOAT", {3});
    m.node(name, "y", {"x"});
    expect_near(run(m, {floats_of({3}, {0.25f, 1, 9})}), {3}, {f(0.25), f(1), f(9)});
  }
}

TEST_F(tfjs, operators_of_two_operands_repeat_the_smaller_one) {
  const std::pair<const char *, double (*)(double, double)> all[] = {
      {"Add", [](double a, double b) { return a + b; }},
      {"AddV2", [](double a, double b) { return a + b; }},
      {"BiasAdd", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"RealDiv", [](double a, double b) { return a / b; }},
      {"Maximum", [](double a, double b) { return std::max(a, b); }},
      {"Minimum", [](double a, double b) { return std::min(a, b); }},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"SquaredDifference", [](double a, double b) { return (a - b) * (a - b); }},
      {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"LessEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"GreaterEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }}};
  const std::vector<float> x = {0.5f, 2, 4, 1, 3, 2}, w = {2, 2, 3};
  for (const auto &[name, f] : all) {
    tfjs_model m;
    m.input("x", "DT_FLOAT", {2, 3});
    m.floats("w", {3}, w);
    m.node(name, "y", {"x", "w"});
    numbers expected;
    for (size_t i = 0; i < 6; ++i) expected.push_back(f(static_cast<double>(x[i]), static_cast<double>(w[i % 3])));
    SCOPED_TRACE(name);
    expect_near(run(m, {floats_of({2, 3}, x)}), {2, 3}, expected);
  }
}

TEST_F(tfjs, conditions_choose) {
  tfjs_model m;
  m.input("x", "DT_FLOAT", {4});
  m.floats("low", {}, {-1});
  m.floats("high", {}, {1});
  m.node("Greater", "above", {"x", "low"});
  m.node("Less", "below", {"x", "high"});
  m.node("LogicalAnd", "inside", {"above", "below"});
  m.node("LogicalNot", "outside", {"inside"});
  m.node("LogicalOr", "all", {"inside", "outside"});
  m.node("LogicalAnd", "not_inside", {"all", "outside"});
  m.node("SelectV2", "y", {"not_inside", "low", "x"});
  expect_near(run(m, {floats_of({4}, {-2, -0.5f, 0.5f, 3})}), {4}, {-1, -0.5, 0.5, -1});
}

TEST_F(tfjs, reductions_and_softmax) {
  const std::vector<float> x = some(6);
  const auto at = [&](size_t i) { return static_cast<double>(x[i]); };
  const std::pair<const char *, std::function<double(double, double)>> all[] = {
      {"Sum", [](double a, double b) { return a + b; }},
      {"Mean", [](double a, double b) { return (a + b) / 2; }},
      {"Max", [](double a, double b) { return std::max(a, b); }},
      {"Min", [](double a, double b) { return std::min(a, b); }},
      {"Prod", [](double a, double b) { return a * b; }}};
  for (const auto &[name, f] : all) {
    for (const bool keeps : {false, true}) {
      tfjs_model m;
      m.input("x", "DT_FLOAT", {3, 2});
      m.integers("axes", {1}, {-1});
      m.node(name, "y", {"x", "axes"}, std::string("\"keep_dims\":{\"b\":") + (keeps ? "true}" : "false}"));
      SCOPED_TRACE(name);
      expect_near(run(m, {floats_of({3, 2}, x)}), keeps ? shape{3, 1} : shape{3},
                  {f(at(0), at(1)), f(at(2), at(3)), f(at(4), at(5))});
    }
  }
  tfjs_model m;
  m.input("x", "DT_FLOAT", {1, 2});
  m.integers("axes", {0}, {});
  m.node("Sum", "same", {"x", "axes"});
  m.node("Softmax", "soft", {"same"});
  m.node("LogSoftmax", "logs", {"soft"});
  const double e = std::exp(1.0), a = 1 / (1 + e), b = e / (1 + e), sum = std::log(std::exp(a) + std::exp(b));
  expect_near(run(m, {floats_of({1, 2}, {1, 2})}), {1, 2}, {a - sum, b - sum});
}

TEST_F(tfjs, products_turn_their_operands) {
  const std::vector<float> x = some(6), w = some(8);
  for (const bool turns : {false, true}) {
    tfjs_model m;
    m.input("x", "DT_FLOAT", turns ? shape{2, 3} : shape{3, 2});
    m.floats("w", turns ? shape{4, 2} : shape{2, 4}, w);
    m.floats("b", {4}, {1, 2, 3, 4});
    const std::string turned = turns ? "true" : "false";
    m.node("_FusedMatMul", "y", {"x", "w", "b"},
           "\"transpose_a\":{\"b\":" + turned + "},\"transpose_b\":{\"b\":" + turned +
               "},\"fused_ops\":{\"list\":{\"s\":[\"Qmlhc0FkZA==\",[82,101,108,117]]}}");
    numbers expected;
    for (size_t i = 0; i < 3; ++i)
      for (size_t k = 0; k < 4; ++k) {
        double sum = static_cast<double>(k) + 1;
        for (size_t d = 0; d < 2; ++d)
          sum += static_cast<double>(turns ? x[3 * d + i] : x[2 * i + d]) *
                 static_cast<double>(turns ? w[2 * k + d] : w[4 * d + k]);
        expected.push_back(std::max(sum, 0.0));
      }
    expect_near(run(m, {floats_of(turns ? shape{2, 3} : shape{3, 2}, x)}), {3, 4}, expected);
  }
  tfjs_model m;
  m.input("x", "DT_FLOAT", {2, 2, 2});
  m.node("BatchMatMulV2", "y", {"x", "x"}, "\"adj_x\":{\"b\":false},\"adj_y\":{\"b\":true}");
  expect_near(run(m, {floats_of({2, 2, 2}, {1, 2, 3, 4, 0, 1, -1, 2})}), {2, 2, 2}, {5, 11, 11, 25, 1, 2, 2, 5});
}

// The sum that convolutions make, with zeros around a picture of height 4 and width 3.
double at(const std::vector<float> &x, int64_t channels, int64_t row, int64_t column, int64_t channel) {
  if (row < 0 || row >= 4 || column < 0 || column >= 3) return 0;
  return static_cast<double>(x[static_cast<size_t>((row * 3 + column) * channels + channel)]);
}
const char windows[] = "\"strides\":{\"list\":{\"i\":[\"1\",\"2\",\"1\",\"1\"]}},\"padding\":{\"s\":\"U0FNRQ==\"}";

TEST_F(tfjs, convolutions_have_their_channels_last) {
  const std::vector<float> x = some(24), w = some(3 * 2 * 2 * 2);
  tfjs_model m;
  m.input("x", "DT_FLOAT", {1, 4, 3, 2});
  m.floats("w", {3, 2, 2, 2}, w);
  m.floats("b", {2}, {0.5f, -0.5f});
  tfjs_model deep = m;
  m.node("_FusedConv2D", "y", {"x", "w", "b"},
         std::string(windows) + ",\"fused_ops\":{\"list\":{\"s\":[\"Qmlhc0FkZA==\",\"UmVsdTY=\"]}}");
  deep.node("FusedDepthwiseConv2dNative", "y", {"x", "w"}, windows);
  numbers expected, expected_deep;
  // SAME with a stride of 2 and a kernel of 3: of 4 rows none is added above, 1 below; of 3 columns 1 to the right.
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t column = 0; column < 3; ++column) {
      double sums[2] = {0.5, -0.5}, deep_sums[4] = {};
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t k = 0; k < 2; ++k)
          for (int64_t c = 0; c < 2; ++c)
            for (int64_t out = 0; out < 2; ++out) {
              const double product = at(x, 2, 2 * row + i, column + k, c) *
                                     static_cast<double>(w[static_cast<size_t>(((i * 2 + k) * 2 + c) * 2 + out)]);
              sums[out] += product, deep_sums[2 * c + out] += product;
            }
      for (const double sum : sums) expected.push_back(std::min(std::max(sum, 0.0), 6.0));
      for (const double sum : deep_sums) expected_deep.push_back(sum);
    }
  expect_near(run(m, {floats_of({1, 4, 3, 2}, x)}), {1, 2, 3, 2}, expected);
  expect_near(run(deep, {floats_of({1, 4, 3, 2}, x)}), {1, 2, 3, 4}, expected_deep);
}

TEST_F(tfjs, a_convolution_of_pixels_is_a_linear_layer) {
  tfjs_model m;
  m.input("x", "DT_FLOAT", {1, 2, 1, 2});
  m.floats("w", {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  m.node("Conv2D", "y", {"x", "w"}, "\"padding\":{\"s\":[86,65,76,73,68]}");
  expect_near(run(m, {floats_of({1, 2, 1, 2}, {1, 2, -1, 3})}), {1, 2, 1, 3}, {9, 12, 15, 11, 13, 15});
  const auto model = read(m);
  const heed_compile::graph net = heed_compile::prepared(*model);
  EXPECT_TRUE(std::any_of(net.nodes.begin(), net.nodes.end(), [](const auto &n) { return n.operation == "MatMul"; }));
}

TEST_F(tfjs, pools_and_batch_norms) {
  const std::vector<float> x = some(12);
  const std::string ksize = std::string(windows) + ",\"ksize\":{\"list\":{\"i\":[\"1\",\"2\",\"2\",\"1\"]}}";
  for (const bool is_max : {false, true}) {
    tfjs_model m;
    m.input("x", "DT_FLOAT", {1, 4, 3, 1});
    m.node(is_max ? "MaxPool" : "AvgPool", "y", {"x"}, ksize);
    numbers expected;
    for (int64_t row = 0; row < 4; row += 2)
      for (int64_t column = 0; column < 3; ++column) {
        double most = -9, sum = 0, n = 0;
        for (int64_t i = 0; i < 2; ++i)
          for (int64_t k = 0; k < 2 && column + k < 3; ++k)
            most = std::max(most, at(x, 1, row + i, column + k, 0)), sum += at(x, 1, row + i, column + k, 0), ++n;
        expected.push_back(is_max ? most : sum / n);
      }
    expect_near(run(m, {floats_of({1, 4, 3, 1}, x)}), {1, 2, 3, 1}, expected);
  }
  tfjs_model m;
  m.input("x", "DT_FLOAT", {1, 1, 2, 2});
  m.floats("scale", {2}, {2, 3}), m.floats("shift", {2}, {1, -1}), m.floats("mean", {2}, {0.5f, 1}),
      m.floats("variance", {2}, {4, 1});
  m.node("FusedBatchNormV3", "y", {"x", "scale", "shift", "mean", "variance"},
         "\"epsilon\":{\"f\":0.25},\"is_training\":{\"b\":false}");
  const auto normed = [](double x, double scale, double shift, double mean, double variance) {
    return (x - mean) / std::sqrt(variance + 0.25) * scale + shift;
  };
  expect_near(run(m, {floats_of({1, 1, 2, 2}, {1, 2, 3, 4})}), {1, 1, 2, 2},
              {normed(1, 2, 1, 0.5, 4), normed(2, 3, -1, 1, 1), normed(3, 2, 1, 0.5, 4), normed(4, 3, -1, 1, 1)});
}

TEST_F(tfjs, shapes_slices_and_parts) {
  tfjs_model m;
  m.input("x", "DT_FLOAT", {2, 4});  // 0 1 2 3, 4 5 6 7
  m.integers("begin", {2}, {1, 3}), m.integers("end", {2}, {0, 0}), m.integers("back", {2}, {2, -2});
  m.integers("row", {1}, {-1}), m.integers("after", {1}, {0}), m.integers("one", {1}, {1}), m.integers("axis", {}, {1}),
      m.integers("none", {}, {0});
  m.integers("sizes", {2}, {3, 1}), m.integers("turn", {2}, {1, 0}), m.integers("around", {2, 2}, {0, 1, 1, 0}),
      m.integers("pick", {2}, {2, 0});
  m.integers("start", {2}, {0, 1}), m.integers("size", {2}, {-1, 2});
  m.floats("edge", {}, {9});
  const auto check = [&](const char *what, const shape &dims, const numbers &expected,
                         const std::function<void(tfjs_model &)> &add) {
    SCOPED_TRACE(what);
    tfjs_model whole = m;
    add(whole);
    expect_near(run(whole, {floats_of({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})}), dims, expected);
  };
  check("backwards", {1, 2}, {3, 1}, [](tfjs_model &g) {
    g.node("StridedSlice", "y", {"x", "begin", "end", "back"},
           "\"begin_mask\":{\"i\":\"1\"},\"end_mask\":{\"i\":\"3\"}");
  });
  check("last row", {4}, {4, 5, 6, 7}, [](tfjs_model &g) {
    g.node("StridedSlice", "y", {"x", "row", "after", "one"}, "\"shrink_axis_mask\":{\"i\":\"1\"}");
  });
  check("all", {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}, [](tfjs_model &g) {
    g.node("StridedSlice", "y", {"x", "row", "after", "one"},
           "\"begin_mask\":{\"i\":\"1\"},\"end_mask\":{\"i\":\"1\"}");
  });
  check("slice", {2, 2}, {1, 2, 5, 6}, [](tfjs_model &g) { g.node("Slice", "y", {"x", "start", "size"}); });
  check("sizes", {2, 1}, {3, 7}, [](tfjs_model &g) {
    g.node("SplitV", "parts", {"x", "sizes", "axis"}, "\"num_split\":{\"i\":\"2\"}");
    g.node("Identity", "y", {"parts:1"});
    g.node("Identity", "hidden", {"parts:0"});
    g.node("ConcatV2", "unread", {"hidden", "y", "axis"});
    g.nodes = g.nodes.substr(0, g.nodes.rfind(",{\"name\":\"hidden"));
  });
  check("halves", {4, 2}, {0, 1, 4, 5, 2, 3, 6, 7}, [](tfjs_model &g) {
    g.node("Split", "parts", {"axis", "x"}, "\"num_split\":{\"i\":\"2\"}");
    g.node("ConcatV2", "y", {"parts", "parts:1", "none"});
  });
  check("packed", {2, 2, 4}, {0, 1, 2, 3, 0, -1, -2, -3, 4, 5, 6, 7, -4, -5, -6, -7}, [](tfjs_model &g) {
    g.node("Neg", "other", {"x"});
    g.node("Pack", "y", {"x", "other"}, "\"axis\":{\"i\":\"1\"}");
  });
  check("turned", {4, 2}, {0, 4, 1, 5, 2, 6, 3, 7}, [](tfjs_model &g) { g.node("Transpose", "y", {"x", "turn"}); });
  check("padded", {3, 5}, {0, 0, 1, 2, 3, 0, 4, 5, 6, 7, 0, 0, 0, 0, 0}, [](tfjs_model &g) {
    g.node("Pad", "y", {"x", "around"});
  });
  check("edged", {3, 5}, {9, 0, 1, 2, 3, 9, 4, 5, 6, 7, 9, 9, 9, 9, 9}, [](tfjs_model &g) {
    g.node("PadV2", "y", {"x", "around", "edge"});
  });
  check("picked", {2, 2}, {2, 0, 6, 4}, [](tfjs_model &g) { g.node("GatherV2", "y", {"x", "pick", "axis"}); });
  check("wide", {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}, [](tfjs_model &g) {
    g.node("ExpandDims", "wide", {"x", "axis"});
    g.node("Squeeze", "y", {"wide"}, "\"squeeze_dims\":{\"list\":{\"i\":[\"1\"]}}");
  });
  check("of a shape", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}, [](tfjs_model &g) {
    g.node("Transpose", "other", {"x", "turn"});
    g.node("Shape", "shape", {"other"});
    g.node("Reshape", "y", {"x", "shape"});
  });
  check("counted", {4}, {0, 1, 2, 3}, [](tfjs_model &g) {
    g.node("Shape", "shape", {"x"});
    g.node("GatherV2", "n", {"shape", "axis", "none"});
    g.integers("step", {}, {1});
    g.node("Range", "range", {"none", "n", "step"});
    g.node("Cast", "y", {"range"}, "\"DstT\":{\"type\":\"DT_FLOAT\"}");
  });
}

TEST_F(tfjs, weights_of_fewer_bits) {
  const auto found = [&](const char *type, const std::string &quantization, const std::string &bytes) {
    tfjs_model m;
    m.input("x", "DT_FLOAT", {3});
    m.quantization = quantization;
    m.weight("w", type, {3}, bytes);
    m.node("Cast", "floats", {"w"}, "\"DstT\":{\"type\":1}");
    m.node("Mul", "y", {"x", "floats"});
    return run(m, {floats_of({3}, {1, 1, 1})});
  };
  const std::string wide = tfjs_model::bytes_of(std::vector<uint16_t>{0, 1000, 65535});
  expect_near(found("float32", R"({"dtype":"uint8","scale":0.5,"min":-2})", {0, 4, '\xff'}), {3}, {-2, 0, 125.5});
  expect_near(found("float32", R"({"dtype":"uint8","scale":0.5,"min":-2.25})", {0, 4, '\xff'}), {3},
              {-2.25, -0.25, 125.25});
  expect_near(found("float32", R"({"dtype":"uint8","scale":0,"min":3})", {0, 4, '\xff'}), {3}, {3, 3, 3});
  expect_near(found("float32", R"({"dtype":"uint16","scale":0.0009765625,"min":-1})", wide), {3},
              {-1, -0.0234375, 62.9990234375});
  expect_near(found("int32", R"({"dtype":"uint8","scale":2,"min":-3})", {0, 4, '\xff'}), {3}, {-3, 5, 507});
  expect_near(found("float32", R"({"dtype":"float16"})", std::string("\0\x3c\0\xc0\0\x38", 6)), {3}, {1, -2, 0.5});
  // Bytes stay bytes.
  tfjs_model m;
  m.input("x", "DT_FLOAT", {1, 2});
  m.quantization = R"({"dtype":"uint8","scale":0.5,"min":-2})";
  m.weight("w", "float32", {2, 2}, {1, 2, 3, 4});
  m.node("MatMul", "y", {"x", "w"});
  const auto model = read(m);
  ASSERT_EQ(model->net.nodes.size(), 1u);
  const heed_compile::graph_value &w = model->net.values[static_cast<size_t>(model->net.nodes[0].inputs[1])];
  ASSERT_NE(w.weight, nullptr);
  EXPECT_EQ(w.weight->dtype, HEED_FILE_U8);
}

TEST_F(tfjs, names_and_ports) {
  tfjs_model m;
  m.input("module/x", "DT_FLOAT", {2});
  m.node("Neg", "module/last/y", {"module/x"});
  auto model = read(m);
  const auto name = [&](int v) { return model->net.values[static_cast<size_t>(v)].name; };
  EXPECT_EQ(model->net.source, "TensorFlow.js");
  EXPECT_EQ(name(model->net.inputs.at(0)), "module/x");
  EXPECT_EQ(name(model->net.outputs.at(0)), "y");
  const std::string path = m.write(folder_);
  std::string json = m.json();
  json.insert(
      1,
      R"("signature":{"inputs":{"picture":{"name":"module/x:0"}},"outputs":{"classes:0":{"name":"module/last/y:0"}}},)");
  std::ofstream(path) << json;
  model = heed_compile::read_graph(path, {});
  EXPECT_EQ(name(model->net.inputs.at(0)), "picture");
  EXPECT_EQ(name(model->net.outputs.at(0)), "classes");
  EXPECT_EQ(model->paths.size(), 3u);
}

// ---------------------------------------------------------------------------------------------------------------- texts

array tokens(const std::vector<double> &of, size_t n) {
  array a;
  a.kind = element::integers;
  a.dims = {static_cast<int64_t>(n)};
  a.numbers = of;
  a.numbers.resize(n, -1);
  return a;
}
graph_choices length(int64_t n) {
  graph_choices how;
  how.shapes["length"] = {n};
  return how;
}

TEST_F(tfjs, a_short_text_has_the_numbers_of_its_own_length) {
  const tfjs_model m = tfjs_text::model(4, tfjs_text::feed_forward);
  const numbers text = {3, 0, 8};
  // As TensorFlow has it: real tokens alone.
  const std::vector<float> table = some(36), w = some(12, 0.5f);
  const double b[] = {0.25, -0.5, 0.125};
  numbers expected(3);
  for (size_t row = 0; row < 3; ++row)
    for (size_t out = 0; out < 3; ++out) {
      double sum = b[out];
      for (size_t i = 0; i < 4; ++i)
        sum += (static_cast<double>(table[static_cast<size_t>(text[row]) * 4 + i]) + static_cast<double>(row)) *
               static_cast<double>(w[3 * i + out]);
      expected[out] += std::max(sum, 0.0);
    }
  for (const size_t n : {3, 4, 7}) {
    const array found = run(m, {tokens(text, n)}, length(static_cast<int64_t>(n)));
    expect_near(found, {1, 3}, expected);
  }
  const auto model = read(m, length(7));
  EXPECT_EQ(model->note, "indices are those of one text, and no input; a shorter text has -1 at the end of its values");
  EXPECT_EQ(model->net.inputs.size(), 1u);
  EXPECT_EQ(refused(m), "leaves sizes of its inputs open, values (length). Say them: --shape length=N");
  // A token beyond the table is found by the name of the input; what fills a text up is none of it, and taken.
  const heed_compile::steps p = heed_compile::lowered(heed_compile::prepared(*model), {});
  ASSERT_EQ(p.checks.size(), 1u);
  EXPECT_EQ(p.checks[0].most, 8);
  EXPECT_LT(p.checks[0].least, -1);
}

TEST_F(tfjs, a_layer_of_an_encoder_is_functions_of_heed) {
  const auto model = read(tfjs_text::layer());
  const heed_compile::steps p = heed_compile::lowered(heed_compile::prepared(*model), {});
  std::map<std::string, int> of;
  for (const heed_compile::step &s : p.list) ++of[s.function];
  EXPECT_EQ(of["heed_graph_norm"], 1);
  EXPECT_EQ(of["heed_graph_attend"], 1);
  EXPECT_EQ(of["heed_graph_linear"], 3);
  EXPECT_EQ(of["heed_graph_add"], 1);
  EXPECT_EQ(p.list.size(), 6u);
}

TEST_F(tfjs, what_mixes_the_rows_that_a_mask_keeps_is_refused) {
  const auto why = [&](const std::function<void(tfjs_model &)> &layer) {
    std::string text = refused(tfjs_text::model(4, layer), length(6));
    return text.substr(0, text.find(". How many"));
  };
  const std::string mixes = "mixes the rows that a mask keeps, or counts them",
                    alone = "does not work by itself on each row that a mask keeps";
  // The mean of all rows is taken from each.
  EXPECT_EQ(why([](tfjs_model &m) {
              m.node("Mean", "mean", {"kept", "zero"}, "\"keep_dims\":{\"b\":true}");
              m.node("Sub", "out", {"kept", "mean"});
            }),
            "node mean (ReduceMean): " + mixes);
  // As many rows as the mask has places, of which a mask would keep some.
  EXPECT_EQ(why([](tfjs_model &m) {
              m.floats("other", {6, 4}, some(24));
              m.node("Add", "out", {"kept", "other"});
            }),
            "node out (Add): " + alone);
  EXPECT_EQ(why([](tfjs_model &m) {
              m.node("BatchMatMul", "out", {"kept", "kept"}, "\"adj_x\":{\"b\":true}");
            }),
            "node out (com.microsoft.FusedMatMul): is not known to work by itself on each row that a mask keeps");
  EXPECT_EQ(why([](tfjs_model &m) {
              m.integers("turn", {2}, {1, 0});
              m.node("Transpose", "turned", {"kept", "turn"});
              m.node("MatMul", "out", {"turned", "kept"});
            }),
            "node out (MatMul): " + mixes);
  EXPECT_EQ(why([](tfjs_model &m) {
              m.integers("turn", {2}, {1, 0});
              m.node("Transpose", "turned", {"kept", "turn"});
              m.node("Softmax", "soft", {"turned"});
              m.node("Transpose", "out", {"soft", "turn"});
            }),
            "node soft (Softmax): works along the rows that a mask keeps");
  EXPECT_EQ(why([](tfjs_model &m) {
              m.integers("down", {1}, {-1});
              m.node("StridedSlice", "out", {"kept", "first", "first", "down"},
                     "\"begin_mask\":{\"i\":\"1\"},\"end_mask\":{\"i\":\"1\"}");
            }),
            "node out (Slice): takes some of the rows that a mask keeps");
  EXPECT_EQ(why([](tfjs_model &m) {
              m.integers("places_of_rows", {6}, {5, 4, 3, 2, 1, 0});
              m.node("GatherV2", "out", {"kept", "places_of_rows", "zero"});
            }),
            "node out (Gather): takes some of the rows that a mask keeps");
  // Rows of another number of numbers.
  EXPECT_EQ(why([](tfjs_model &m) {
              m.integers("flat", {1}, {-1});
              m.node("Reshape", "out", {"kept", "flat"});
            }),
            "node out (Reshape): " + mixes);
  EXPECT_EQ(why([](tfjs_model &m) {
              m.integers("turned", {2}, {4, -1});
              m.node("Reshape", "out", {"kept", "turned"});
            }),
            "node out (Reshape): " + mixes);
  // How many there are.
  EXPECT_EQ(why([](tfjs_model &m) {
              m.node("Shape", "size", {"kept"});
              m.node("GatherV2", "count", {"size", "zero", "zero"});
              m.node("Cast", "number", {"count"}, "\"DstT\":{\"type\":1}");
              m.node("RealDiv", "out", {"kept", "number"});
            }),
            "node out (Div): computes with the number of rows that a mask keeps");
  EXPECT_EQ(why([](tfjs_model &m) {
              m.node("Shape", "size", {"kept"});
              m.node("GatherV2", "count", {"size", "zero", "zero"});
              m.node("Range", "range", {"zero", "count", "one"});
              m.node("Identity", "out", {"kept"});
              m.node("Identity", "module/range", {"range"});
            }),
            "node range (Range): computes with the number of rows that a mask keeps");
  // Rows as they are.
  EXPECT_EQ(why([](tfjs_model &m) {
              m.node("Identity", "out", {"kept"});
              m.node("Neg", "module/others", {"kept"});
            }).substr(0, 76),
            "output others: the shape of others depends on the numbers of mask, which dep");
  // Rows that other places keep.
  EXPECT_EQ(why([](tfjs_model &m) {
              m.node("Less", "other", {"dense", "one"});
              m.node("Where", "others", {"other"});
              m.node("GatherNd", "of_others", {"text", "others"});
              m.node("Add", "out", {"kept", "of_others"});
            }),
            "node out (Add): reads rows of two masks");
  EXPECT_EQ(why([](tfjs_model &m) {
              m.node("Less", "other", {"dense", "one"});
              m.node("Where", "others", {"other"});
              m.node("GatherNd", "out", {"text", "others"});
            }),
            "node back (ScatterND): scatters to the places of a mask rows of another one, or more or fewer");
}

// -------------------------------------------------------------------------------------------------------------- refusals

TEST_F(tfjs, refuses_damaged_files) {
  tfjs_model m;
  m.input("x", "DT_FLOAT", {4});
  m.floats("w", {4}, some(4));
  m.node("Mul", "y", {"x", "w"});
  const std::string path = m.write(folder_);
  const auto read = [&] { heed_compile::read_graph(path, {}); };
  const auto with = [&](const std::string &from, const std::string &to) {
    std::string json = m.json();
    const size_t at = json.find(from);
    if (at == std::string::npos) return std::string("no " + from);
    std::ofstream(path) << json.replace(at, from.size(), to);
    const std::string found = why(read);
    m.write(folder_);
    return found;
  };
  EXPECT_EQ(why(read), "it was taken");
  std::filesystem::resize_file(folder_ + "/shard1", 7);
  EXPECT_EQ(why(read),
            "w: has a negative dimension, or more numbers than the shards: one of them is missing or too short");
  std::ofstream(folder_ + "/shard1") << "123456789";
  EXPECT_EQ(why(read), "weightsManifest: the shards have bytes that belong to no weight");
  std::filesystem::remove(folder_ + "/shard1");
  EXPECT_EQ(why(read), "the shard " + folder_ + "/shard1 cannot be opened");
  m.write(folder_);
  for (const char *const name : {"../shard1", "/etc/passwd", "C:\\\\x", "a/../../b", ""})
    EXPECT_NE(with("\"shard1\"", std::string("\"") + name + "\"").find("which is not in the folder of the model"),
              std::string::npos)
        << name;
  EXPECT_EQ(with("\"shard1\"", "\"shard0\""), "weightsManifest: names the shard shard0 twice");
  EXPECT_EQ(with("\"float32\"", "\"string\""), "w: is of string, which is not read");
  EXPECT_EQ(with("\"shape\":[4]", "\"shape\":[-4]"),
            "w: has a negative dimension, or more numbers than the shards: one of them is missing or too short");
  EXPECT_EQ(with("\"shape\":[4]", "\"shape\":[4294967296,4294967296]"),
            "w: has a negative dimension, or more numbers than the shards: one of them is missing or too short");
  EXPECT_EQ(with("\"shape\":[4]", "\"shape\":[\"4x\"]"), "w: has 4x where a number belongs");
  EXPECT_EQ(with("\"Mul\"", "\"LoopCond\""), "node y (LoopCond): is an operator of TensorFlow that is not read");
  EXPECT_EQ(with("\"DT_FLOAT\"", "\"DT_STRING\""),
            "node x (Placeholder): is an input of a type that is not read, such as a text");
  EXPECT_EQ(with("\"name\":\"y\"", "\"name\":\"x\""), "x: two nodes have this name");
  EXPECT_EQ(with("\"name\":\"y\"", "\"name\":\"\\u0001\""), "\\001: a name has control characters");
  EXPECT_EQ(with("[\"x\",\"w\"]", "[\"x\",\"z\"]").substr(0, 20), "node y (Mul) reads z");
  EXPECT_EQ(with("[\"x\",\"w\"]", "[\"x\"]"), "node y (Mul): has more or fewer inputs than its operator");
  EXPECT_EQ(with("\"weights\":[", "\"others\":["), "weightsManifest: has a group without weights");
  EXPECT_EQ(with("\"weightsManifest\":", "\"manifest\":"),
            "has no weightsManifest, so nothing says where its weights lie");
  EXPECT_EQ(with("\"node\":", "\"nodes\":"),
            "is no graph model of TensorFlow.js: it has no modelTopology with a list of nodes");
  EXPECT_EQ(with("graph-model", "layers-model").substr(0, 36), "is a layers model of TensorFlow.js; ");
  EXPECT_EQ(with("\"node\":", "\"library\":{\"function\":[1]},\"node\":"),
            "has functions, which are control flow, and not compiled");
  EXPECT_EQ(with("{\"format\"", "{").substr(0, 52), "is no model of TensorFlow.js that can be read: [json");
  const std::string deep(40, '[');
  EXPECT_EQ(with("{\"format\"", "{\"x\":" + deep).substr(0, 55),
            "is no model of TensorFlow.js: its parts lie deeper in e");
  tfjs_model two = m;
  two.floats("v", {4}, some(4));
  two.write(folder_);
  std::filesystem::resize_file(folder_ + "/shard1", 4);
  EXPECT_EQ(why(read), "v: lies beyond the end of the shards: one of them is missing or too short");
  m.node("Neg", "a", {"b"});
  m.node("Neg", "b", {"a", "^y"});
  EXPECT_EQ(why([&] { this->read(m); }), "it was taken");  // nothing needs what reads itself
  m.node("Add", "out", {"y", "b"});
  EXPECT_NE(refused(m).find("reads what it makes itself, by way of other nodes"), std::string::npos);
}

TEST_F(tfjs, refuses_weights_that_do_not_fit_their_quantization) {
  const auto found = [&](const std::string &quantization, const char *type = "float32") {
    tfjs_model m;
    m.input("x", "DT_FLOAT", {4});
    m.quantization = quantization;
    m.weight("w", type, {4}, "1234");
    m.node("Mul", "y", {"x", "w"});
    return refused(m);
  };
  EXPECT_EQ(found(R"({"dtype":"uint8","scale":1,"min":0})"), "it was taken");
  EXPECT_EQ(found(R"({"dtype":"uint4","scale":1,"min":0})"),
            "w: is quantised to uint4, which is not known of its type");
  EXPECT_EQ(found(R"({"dtype":"uint8","scale":1,"min":0})", "bool"),
            "w: is quantised to uint8, which is not known of its type");
  EXPECT_EQ(found(R"({"dtype":"uint8","min":0})"), "w: is quantised, but has no scale and min");
  EXPECT_EQ(found(R"({"dtype":"uint8","scale":1e39,"min":0})"), "w: has a scale or a min that is not finite");
  EXPECT_EQ(found(R"({"dtype":"uint8","scale":1e38,"min":0})", "int32"),
            "node w (Const): has a number of more than 32 bits");
}

#ifdef HEED_IMPORT_TOKENIZERS
TEST_F(tfjs, a_vocabulary_is_a_list_of_pieces_and_scores) {
  const auto found = [&](const std::string &text) {
    return why([&] {
      heed_import::read_model({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, "vocab.json");
    });
  };
  const std::string six = R"([["",0],["",0],["",0],["",0],["",0],["",0])";
  EXPECT_EQ(found(six + R"(,["a",-1],["b",null]])"), "it was taken");
  EXPECT_EQ(found(six + "]"), "vocab.json: is no list of pieces, or has too few or too many");
  EXPECT_EQ(found(six + R"(,["a"]])"), "vocab.json: an entry is no piece with its score");
  EXPECT_EQ(found(six + R"(,["a","b"]])"), "vocab.json: an entry is no piece with its score");
  EXPECT_EQ(found(six + R"(,["a",[[[1]]]]])"), "vocab.json: is no list of pieces and scores");
  EXPECT_EQ(found(six).substr(0, 27), "vocab.json: cannot be read:");
  EXPECT_EQ(found(R"({"a":1})").substr(0, 10), "is neither");  // of BPE, which tokenizer.json has, too
}
#endif

}  // namespace
