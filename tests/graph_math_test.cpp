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
  for (int32_t function = 0; function <= HEED_GRAPH_SQUARE; ++function)
    for (const float y : mapped(function, sweep(1e-6f, 80.0f, true))) {
      uint32_t word;
      std::memcpy(&word, &y, 4);
      if (y != y) word = 0x7fc00000u;
      sum = (sum ^ word) * 16777619u;
    }
  EXPECT_EQ(sum, 4084475297u);
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

}  // namespace
