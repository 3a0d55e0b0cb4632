// Functions of graph_math.h beside double precision, and exact ones beside the C library. SPDX-License-Identifier: MIT
#include "graph_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace {

heed_graph_loop row_of(int32_t n) {
  heed_graph_loop l = {};
  l.n_dims = 1;
  l.dims[0] = n;
  for (auto &strides : l.strides) strides[0] = 1;
  return l;
}

std::vector<float> mapped(int32_t function, const std::vector<float> &x) {
  std::vector<float> y(x.size());
  const heed_graph_loop loop = row_of(static_cast<int32_t>(x.size()));
  EXPECT_EQ(heed_graph_map(function, y.data(), x.data(), &loop), HEED_OK);
  return y;
}

// Numbers of every magnitude between two, and both signs if `has_both`.
std::vector<float> sweep(float least, float most, bool has_both) {
  std::vector<float> x;
  for (float at = least; at < most; at = std::max(at * 1.0007f, std::nextafter(at, most))) {
    x.push_back(at);
    if (has_both) x.push_back(-at);
  }
  return x;
}

// In units of the last place of the float.
double error_of(float y, double exact) {
  if (static_cast<double>(y) == exact) return 0;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(static_cast<double>(y) - exact) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

struct function_case {
  int32_t function;
  double (*exact)(double);
  float least, most;
  bool has_both;
};

TEST(GraphMath, FunctionsAreWithinHalfAUnit) {
  const function_case cases[] = {
      {HEED_GRAPH_EXP, [](double x) { return std::exp(x); }, 1e-8f, 87.0f, true},
      {HEED_GRAPH_LOG, [](double x) { return std::log(x); }, 1e-37f, 3e38f, false},
      {HEED_GRAPH_ERF, [](double x) { return std::erf(x); }, 1e-30f, 10.0f, true},
      {HEED_GRAPH_SIN, [](double x) { return std::sin(x); }, 1e-8f, 1048576.0f, true},
      {HEED_GRAPH_COS, [](double x) { return std::cos(x); }, 1e-8f, 1048576.0f, true},
      {HEED_GRAPH_TANH, [](double x) { return std::tanh(x); }, 1e-8f, 30.0f, true},
      {HEED_GRAPH_SIGMOID, [](double x) { return 1 / (1 + std::exp(-x)); }, 1e-8f, 80.0f, true},
      {HEED_GRAPH_SOFTPLUS, [](double x) { return std::log1p(std::exp(x)); }, 1e-8f, 80.0f, true}};
  for (const function_case &c : cases) {
    const std::vector<float> x = sweep(c.least, c.most, c.has_both), y = mapped(c.function, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, error_of(y[i], c.exact(static_cast<double>(x[i]))));
    EXPECT_LE(worst, 0.51) << "function " << c.function;
  }
}

TEST(GraphMath, RootsAndRoundingsAreExact) {
  std::vector<float> x = sweep(1e-44f, 3e38f, true);
  for (const float more : {0.0f, -0.0f, 0.5f, -0.5f, 1.5f, 2.5f, -2.5f, 8388607.5f, 16777216.0f, INFINITY})
    x.push_back(more);
  const std::vector<float> roots = mapped(HEED_GRAPH_SQRT, x), floors = mapped(HEED_GRAPH_FLOOR, x),
                           ceils = mapped(HEED_GRAPH_CEIL, x), rounds = mapped(HEED_GRAPH_ROUND, x),
                           inverses = mapped(HEED_GRAPH_RECIPROCAL, x);
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] < 0)) {
      EXPECT_EQ(roots[i], std::sqrt(x[i])) << x[i];
    } else {
      EXPECT_TRUE(std::isnan(roots[i])) << x[i];
    }
    EXPECT_EQ(floors[i], std::floor(x[i])) << x[i];
    EXPECT_EQ(ceils[i], std::ceil(x[i])) << x[i];
    EXPECT_EQ(rounds[i], std::nearbyint(x[i])) << x[i];
    EXPECT_EQ(std::signbit(rounds[i]), std::signbit(x[i])) << x[i];
    EXPECT_EQ(inverses[i], 1 / x[i]) << x[i];
  }
}

TEST(GraphMath, SpecialNumbersAreThoseOfTheLibrary) {
  const std::vector<float> x = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, -1.0f, 1000.0f, -1000.0f};
  const std::pair<int32_t, float (*)(float)> functions[] = {{HEED_GRAPH_EXP, [](float a) { return std::exp(a); }},
                                                            {HEED_GRAPH_LOG, [](float a) { return std::log(a); }},
                                                            {HEED_GRAPH_ERF, [](float a) { return std::erf(a); }},
                                                            {HEED_GRAPH_TANH, [](float a) { return std::tanh(a); }}};
  for (const auto &[function, exact] : functions) {
    const std::vector<float> y = mapped(function, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const float expected = exact(x[i]);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(y[i])) << function << " of " << x[i];
      } else {
        EXPECT_LE(error_of(y[i], static_cast<double>(expected)), 1.0) << function << " of " << x[i];
      }
    }
  }
}

TEST(GraphMath, PowersAreThoseOfTheLibrary) {
  std::vector<float> a, b;
  for (const float base : {0.0f, -0.0f, 0.3f, 1.0f, -1.0f, 2.0f, -2.0f, 17.5f, -3.0f, INFINITY, -INFINITY})
    for (const float exponent :
         {0.0f, 1.0f, 2.0f, 3.0f, -1.0f, -2.0f, -3.0f, 0.5f, -0.5f, 0.333f, 7.25f, INFINITY, -INFINITY})
      a.push_back(base), b.push_back(exponent);
  std::vector<float> y(a.size());
  const heed_graph_loop loop = row_of(static_cast<int32_t>(a.size()));
  ASSERT_EQ(heed_graph_combine(HEED_GRAPH_POW, y.data(), a.data(), b.data(), &loop), HEED_OK);
  for (size_t i = 0; i < a.size(); ++i) {
    const double exact = std::pow(static_cast<double>(a[i]), static_cast<double>(b[i]));
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(y[i])) << a[i] << "^" << b[i];
    } else if (std::isinf(exact)) {
      EXPECT_EQ(static_cast<double>(y[i]), exact) << a[i] << "^" << b[i];
    } else {
      EXPECT_LE(error_of(y[i], exact), 0.51) << a[i] << "^" << b[i];
    }
  }
}

// The same bits from any compiler: digests of sweeps, as an x86 with GCC made them.
TEST(GraphMath, BitsAreKnown) {
  uint32_t sum = 2166136261u;
  for (int32_t function = 0; function <= HEED_GRAPH_HARD_SWISH; ++function) {
    for (const float y : mapped(function, sweep(1e-6f, 80.0f, true))) {
      uint32_t word;
      std::memcpy(&word, &y, 4);
      if (y != y) word = 0x7fc00000u;
      sum = (sum ^ word) * 16777619u;
    }
    if (function == HEED_GRAPH_SQUARE) {
      EXPECT_EQ(sum, 4084475297u);
    }
  }
  EXPECT_EQ(sum, 4224598542u);
}

float one_of(int32_t operation, float a, float b) {
  switch (operation) {
    case HEED_GRAPH_ADD:
      return a + b;
    case HEED_GRAPH_SUB:
      return a - b;
    case HEED_GRAPH_MUL:
      return a * b;
    case HEED_GRAPH_DIV:
      return a / b;
    case HEED_GRAPH_MIN:
      return a < b || a != a ? a : b;
    case HEED_GRAPH_MAX:
      return a > b || a != a ? a : b;
    default:
      return a < 0 ? a * b : a;
  }
}
bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

// Rows of every length, of numbers side by side, repeated or apart.
TEST(GraphMath, BlocksHaveTheBitsOfSingleNumbers) {
  std::vector<float> a, b;
  for (int i = 0; i < 64; ++i) {
    a.push_back(i % 7 == 0 ? NAN : i % 5 == 0 ? -INFINITY : 0.37f * static_cast<float>(i - 30));
    b.push_back(i % 11 == 0 ? NAN : i % 6 == 0 ? -0.0f : 1.7f * static_cast<float>(20 - i));
  }
  for (const int32_t operation :
       {int32_t{HEED_GRAPH_ADD}, int32_t{HEED_GRAPH_SUB}, int32_t{HEED_GRAPH_MUL}, int32_t{HEED_GRAPH_DIV},
        int32_t{HEED_GRAPH_MIN}, int32_t{HEED_GRAPH_MAX}, int32_t{HEED_GRAPH_PRELU}})
    for (int32_t n = 1; n <= 20; ++n)
      for (const int32_t s0 : {1, 2})
        for (const int32_t s1 : {1, 3})
          for (const int32_t s2 : {0, 1, 2}) {
            heed_graph_loop loop = row_of(n);
            loop.strides[0][0] = s0, loop.strides[1][0] = s1, loop.strides[2][0] = s2;
            std::vector<float> y(64, 9);
            ASSERT_EQ(heed_graph_combine(operation, y.data(), a.data(), b.data(), &loop), HEED_OK);
            for (int32_t i = 0; i < n; ++i)
              EXPECT_TRUE(same_bits(y[size_t(i * s0)], one_of(operation, a[size_t(i * s1)], b[size_t(i * s2)])))
                  << operation << ", " << n << ": " << i;
            EXPECT_EQ(y[size_t((n - 1) * s0) + 1], 9) << "one behind the row";
          }
}

// By channels that lie side by side, apart, or in groups: the same sums in double precision.
TEST(GraphMath, ConvolutionsAreSumsInDoublePrecision) {
  for (const bool channels_last : {true, false})
    for (const int32_t groups : {1, 3, 21})
      for (const int32_t stride : {1, 2}) {
        heed_graph_convolution c = {};
        const int32_t channels = 21, in_height = 7, in_width = 9;
        c.n_batch = 2, c.n_out = 21, c.n_groups = groups, c.n_in_group = channels / groups;
        c.height = 3, c.width = 2, c.stride_y = stride, c.stride_x = 1, c.dilation_y = 1, c.dilation_x = 2;
        c.y_height = (in_height - 3) / stride + 1, c.y_width = in_width - 2;
        const int32_t last[] = {in_height * in_width * channels, 1, in_width * channels, channels},
                      first[] = {in_height * in_width * channels, in_height * in_width, in_width, 1};
        std::copy_n(channels_last ? last : first, 4, c.x_strides);
        std::vector<float> x(size_t(2 * in_height * in_width * channels)), w(size_t(c.n_in_group * 6 * c.n_out)),
            bias(21), y(size_t(2 * c.y_height * c.y_width * 21) + 1, 9);
        uint32_t seed = 1;
        for (auto *all : {&x, &w, &bias})
          for (float &number : *all) seed = seed * 1664525u + 1013904223u, number = float(seed >> 8) / 8388608.0f - 1;
        ASSERT_EQ(heed_graph_convolve(y.data(), x.data(), w.data(), bias.data(), &c), HEED_OK);
        EXPECT_EQ(y.back(), 9);
        size_t at = 0;
        for (int32_t n = 0; n < 2; ++n)
          for (int32_t row = 0; row < c.y_height; ++row)
            for (int32_t column = 0; column < c.y_width; ++column)
              for (int32_t o = 0; o < 21; ++o) {
                double sum = double(bias[size_t(o)]);
                for (int32_t k = 0; k < c.n_in_group; ++k)
                  for (int32_t i = 0; i < 3; ++i)
                    for (int32_t j = 0; j < 2; ++j)
                      sum +=
                          double(x[size_t(n * c.x_strides[0] + (o / (21 / groups) * c.n_in_group + k) * c.x_strides[1] +
                                          (row * stride + i) * c.x_strides[2] + (column + 2 * j) * c.x_strides[3])]) *
                          double(w[size_t(((k * 3 + i) * 2 + j) * 21 + o)]);
                ASSERT_TRUE(same_bits(y[at++], float(sum))) << channels_last << ", " << groups << ": " << at;
              }
      }
}

TEST(GraphMath, ReductionsIndicesAndSums) {
  const float x[] = {3, -1, 2, NAN, 5, 5};
  float y[3];
  heed_graph_loop outer = row_of(2), inner = row_of(3);
  outer.strides[1][0] = 3;
  ASSERT_EQ(heed_graph_reduce(HEED_GRAPH_GREATEST, y, x, &outer, &inner), HEED_OK);
  EXPECT_EQ(y[0], 3);
  EXPECT_TRUE(std::isnan(y[1]));
  ASSERT_EQ(heed_graph_reduce(HEED_GRAPH_LEAST, y, x, &outer, &inner), HEED_OK);
  EXPECT_EQ(y[0], -1);
  EXPECT_TRUE(std::isnan(y[1]));
  int32_t best[1];
  const float equal[] = {1, 7, 7, 2};
  heed_graph_argmax(best, equal, 1, 4, 1, 0, 0);
  EXPECT_EQ(best[0], 1);
  heed_graph_argmax(best, equal, 1, 4, 1, 0, 1);
  EXPECT_EQ(best[0], 2);
  const int32_t good[] = {-1, 0}, bad[] = {0, 2};
  EXPECT_EQ(heed_graph_gather(y, x, good, 1, 2, 2, 1), HEED_OK);
  EXPECT_EQ(y[0], -1);
  EXPECT_EQ(heed_graph_gather(y, x, bad, 1, 2, 2, 1), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_ROWS));
  const int32_t ones[] = {1, 1, 1};
  int32_t sums[3];
  heed_graph_cumulate_integers(sums, ones, 1, 3, 1, 1, 0);
  EXPECT_EQ(sums[2], 2);
  heed_graph_cumulate_integers(sums, ones, 1, 3, 1, 0, 1);
  EXPECT_EQ(sums[0], 3);
}

// The last update of a row stays, sums have all; a row that there is not is refused before a number is written.
TEST(GraphMath, UpdatesOfRows) {
  const float updates[] = {1, 2, 3, 4, 5, 6};
  const int32_t rows[] = {1, 0, 1};
  float y[] = {10, 10, 10, 10, 10, 10};
  EXPECT_EQ(heed_graph_scatter(y, updates, rows, 3, 3, 2), HEED_OK);
  EXPECT_EQ(std::vector<float>(y, y + 6), (std::vector<float>{3, 4, 5, 6, 10, 10}));
  EXPECT_EQ(heed_graph_scatter_sums(y, updates, rows, 3, 3, 2), HEED_OK);
  EXPECT_EQ(std::vector<float>(y, y + 6), (std::vector<float>{6, 8, 11, 14, 10, 10}));
  for (const int32_t bad : {-1, 3}) {
    const int32_t some[] = {0, bad, 1};
    EXPECT_EQ(heed_graph_scatter(y, updates, some, 3, 3, 2), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_ROWS));
    EXPECT_EQ(heed_graph_scatter_sums(y, updates, some, 3, 3, 2), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_ROWS));
    EXPECT_EQ(y[0], 6);
  }
}

}  // namespace
