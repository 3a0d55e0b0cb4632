// Primitives: every kernel gives the bits of the scalar reference, and those of the documented chains.
// SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/primitives.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class primitive_bits : public kernel_test {
 protected:
  static matrix random_matrix(random_source &r, int32_t n_rows, int32_t dim) {
    return {n_rows, dim, any_floats(r, size_t(n_rows) * dim)};
  }

  // Runs once on the kernel with a random setting, once on the reference with the plain one.
  template <typename Run>
  void compare(random_source &r, Run run_with, const std::string &what) {
    const auto executor = r.chance(25) ? random_executor(r) : nullptr;
    primitive_setting s;
    s.padding = r.chance(50) ? 0 : r.between(1, 17);
    s.executor = executor ? executor->get() : nullptr;
    const matrix actual = run_with(s);
    const std::string reference = reference_of(GetParam());
    if (reference.empty()) GTEST_SKIP() << "a build with one fixed kernel has no scalar reference";
    const kernel_scope scope(reference);
    EXPECT_TRUE(same_bits(run_with({}).values, actual.values)) << what;
  }

  // One step of a documented chain in the kernel's arithmetic.
  float step(float a, float b, float sum) const {
    if (heed_isa_arithmetic(GetParam().c_str()) == HEED_ARITHMETIC_FMA) return std::fma(a, b, sum);
    return a * b + sum;  // tests are compiled with -ffp-contract=off
  }
};

std::string sizes(int32_t a, int32_t b, int32_t c, int32_t seed) {
  return std::to_string(a) + " x " + std::to_string(b) + " x " + std::to_string(c) + ", seed " + std::to_string(seed);
}

TEST_P(primitive_bits, softmax) {
  for (int32_t i = 0; i < repetitions(500) && !HasFailure(); ++i) {
    random_source r(100000 + static_cast<uint64_t>(i));
    const int32_t n = r.size(1, 70), dim = r.chance(5) ? r.between(1000, 3000) : r.size(1, 140);
    const matrix x = random_matrix(r, n, dim);
    const float scale = r.chance(50) ? 1.0f : 4 * r.scale();
    compare(
        r, [&](const primitive_setting &s) { return run_softmax(x, scale, s); }, sizes(n, dim, 0, i));
    primitive_setting in_place;
    in_place.in_place = true;
    EXPECT_TRUE(same_bits(run_softmax(x, scale).values, run_softmax(x, scale, in_place).values)) << "in place";
  }
}

// Where 2^x is rounded to an integer exponent: every half from 0 down beyond the cut-off, and its neighbours. The scale
// is ln 2, so that the factor scale * log2(e) is 1 and the halves are exact.
TEST_P(primitive_bits, softmax_at_the_edges_of_the_exponential) {
  const std::string reference = reference_of(GetParam());
  if (reference.empty()) GTEST_SKIP() << "a build with one fixed kernel has no scalar reference";
  std::vector<float> x = {0.0f};
  for (float half = -0.5f; half > -66; half -= 0.5f)
    for (const float beside : {-infinity, 0.0f, infinity})
      x.push_back(beside == 0 ? half : std::nextafter(half, beside));
  const matrix rows = {1, static_cast<int32_t>(x.size()), x};
  const matrix actual = run_softmax(rows, 0x1.62e43p-1f);
  const kernel_scope scope(reference);
  EXPECT_TRUE(same_bits(run_softmax(rows, 0x1.62e43p-1f).values, actual.values));
}

TEST_P(primitive_bits, weighted_sum) {
  for (int32_t i = 0; i < repetitions(500) && !HasFailure(); ++i) {
    random_source r(110000 + static_cast<uint64_t>(i));
    const int32_t n = r.size(1, 40), n_kv = r.size(1, 70), dim = r.size(1, 100);
    const matrix weights = random_matrix(r, n, n_kv), values = random_matrix(r, n_kv, dim);
    compare(
        r, [&](const primitive_setting &s) { return run_weighted_sum(weights, values, s); }, sizes(n, n_kv, dim, i));
  }
}

TEST_P(primitive_bits, linear) {
  for (int32_t i = 0; i < repetitions(500) && !HasFailure(); ++i) {
    random_source r(120000 + static_cast<uint64_t>(i));
    const int32_t n = r.size(1, 60), in = r.size(1, 70), out = r.size(1, 100);
    const matrix x = random_matrix(r, n, in), w = random_matrix(r, in, out);
    const std::vector<float> bias = r.chance(50) ? bell_floats(r, size_t(out)) : std::vector<float>();
    compare(
        r, [&](const primitive_setting &s) { return run_linear(x, w, bias, s); }, sizes(n, in, out, i));
  }
}

// Each way that a projection is computed: few rows, panels of w deeper than one, and panels that are copied because w's
// rows lie a multiple of 2 KB apart.
TEST_P(primitive_bits, linear_in_every_way) {
  const std::string reference = reference_of(GetParam());
  if (reference.empty()) GTEST_SKIP() << "a build with one fixed kernel has no scalar reference";
  const int32_t shapes[][3] = {{1, 19, 130}, {3, 3, 150},   {2, 37, 64},    {3, 100, 70},  {11, 30, 512},
                               {20, 9, 512}, {50, 400, 70}, {40, 200, 512}, {33, 97, 1024}};
  for (const auto &[n, in, out] : shapes) {
    random_source r(static_cast<uint64_t>(out));
    const matrix x = random_matrix(r, n, in), w = random_matrix(r, in, out);
    for (const std::vector<float> &bias : {bell_floats(r, size_t(out)), std::vector<float>()}) {
      const matrix actual = run_linear(x, w, bias);
      const kernel_scope scope(reference);
      EXPECT_TRUE(same_bits(run_linear(x, w, bias).values, actual.values)) << sizes(n, in, out, 0);
    }
  }
}

// Large enough to be cut: into columns where there are few rows, else into rows; the last piece is a short one.
// 12 or 24 rows at least, 64 columns, and three times that, or 36 rows, where a worker has several; whole rounds for all workers.
TEST_P(primitive_bits, products_in_pieces) {
  const std::string reference = reference_of(GetParam());
  if (reference.empty()) GTEST_SKIP() << "a build with one fixed kernel has no scalar reference";
  struct {
    int32_t n, in, out, workers, pieces;
  } const cases[] = {{10, 200, 1001, 3, 3}, {101, 100, 200, 3, 3}, {101, 100, 200, 1, 2}, {101, 100, 200, 2, 2},
                     {101, 100, 200, 7, 7}, {128, 300, 384, 2, 2}, {99, 64, 64, 2, 2},    {99, 30, 64, 2, 0},
                     {5, 700, 64, 2, 0},    {40, 400, 130, 7, 2}};
  for (const auto &[n, in, out, workers, pieces] : cases) {
    random_source r(static_cast<uint64_t>(n));
    const matrix x = random_matrix(r, n, in), w = random_matrix(r, in, out);
    for (const std::vector<float> &bias : {bell_floats(r, size_t(out)), std::vector<float>()}) {
      reverse_executor executor(workers);
      primitive_setting s;
      s.executor = executor.get();
      const matrix actual = run_linear(x, w, bias, s), sums = run_weighted_sum(x, w, s);
      EXPECT_EQ(executor.most_tasks(), pieces) << sizes(n, in, out, 0) << ", workers " << workers;
      const kernel_scope scope(reference);
      EXPECT_TRUE(same_bits(run_linear(x, w, bias).values, actual.values)) << sizes(n, in, out, 0);
      EXPECT_TRUE(same_bits(run_weighted_sum(x, w).values, sums.values)) << sizes(n, in, out, 0);
    }
  }
}

TEST_P(primitive_bits, softmax_in_pieces) {
  random_source r(251);
  const matrix x = random_matrix(r, 251, 600);
  reverse_executor executor(3);
  primitive_setting s;
  s.executor = executor.get();
  EXPECT_TRUE(same_bits(run_softmax(x, 1).values, run_softmax(x, 1, s).values));
  EXPECT_EQ(executor.most_tasks(), 12) << "11 pieces of 21 rows, one of 20";
}

// One row has no stride: in place whatever the two say. Two rows with different strides overlap.
TEST_P(primitive_bits, softmax_in_place_with_two_strides) {
  const std::vector<float> x = {1, 2, 3, 5, 8};
  std::vector<float> y = x;
  ASSERT_EQ(heed_softmax({y.data(), 1, 5, 7}, 1, {y.data(), 1, 5, 9}, nullptr), HEED_OK);
  EXPECT_TRUE(same_bits(run_softmax({1, 5, x}, 1).values, y));
  y = x;
  EXPECT_EQ(heed_softmax({y.data(), 2, 2, 3}, 1, {y.data(), 2, 2, 2}, nullptr), HEED_STATUS(HEED_OVERLAP, HEED_ARG_Y));
  EXPECT_EQ(y, x);
}

TEST_P(primitive_bits, dot) {
  for (int32_t i = 0; i < repetitions(2000) && !HasFailure(); ++i) {
    random_source r(130000 + static_cast<uint64_t>(i));
    const int32_t n = r.chance(5) ? r.between(1000, 20000) : r.size(1, 600);
    const matrix a = random_matrix(r, 1, n), b = random_matrix(r, 1, n);
    compare(
        r,
        [&](const primitive_setting &) {
          return matrix{1, 1, {run_dot(a.values, b.values)}};
        },
        sizes(n, 0, 0, i));
  }
}

// The chains that the header documents, written out: no kernel, and not the reference either, may reorder them.
TEST_P(primitive_bits, documented_chain_of_linear) {
  random_source r(1);
  const matrix x = {7, 45, bell_floats(r, 7 * 45)}, w = {45, 37, bell_floats(r, 45 * 37)};
  for (const std::vector<float> &bias : {bell_floats(r, 37), std::vector<float>()}) {
    std::vector<float> expected;
    for (int32_t t = 0; t < 7; ++t)
      for (int32_t o = 0; o < 37; ++o) {
        float y = bias.empty() ? 0.0f : bias[size_t(o)];
        for (int32_t i = 0; i < 45; ++i) y = step(x.values[size_t(t * 45 + i)], w.values[size_t(i * 37 + o)], y);
        expected.push_back(y);
      }
    EXPECT_TRUE(same_bits(expected, run_linear(x, w, bias).values));
    if (!bias.empty()) continue;
    EXPECT_TRUE(same_bits(expected, run_weighted_sum(x, w).values));
  }
}

TEST_P(primitive_bits, documented_order_of_dot) {
  random_source r(2);
  for (const int32_t n : {1, 2, 63, 64, 65, 127, 128, 1000}) {
    const std::vector<float> a = bell_floats(r, size_t(n)), b = bell_floats(r, size_t(n));
    float sums[64] = {};
    for (int32_t i = 0; i < n; ++i) sums[i % 64] = step(a[size_t(i)], b[size_t(i)], sums[i % 64]);
    for (int32_t half = 32; half > 0; half /= 2)
      for (int32_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    EXPECT_TRUE(same_float(sums[0], run_dot(a, b))) << "n " << n;
  }
}

// Attention's weights are heed_softmax of the row's scores, each score one chain over head_dim.
TEST_P(primitive_bits, attention_weights_are_softmax_of_scores) {
  for (int32_t i = 0; i < repetitions(100) && !HasFailure(); ++i) {
    random_source r(140000 + static_cast<uint64_t>(i));
    problem p = random_shape(r, families()[static_cast<size_t>(i) % 4]);
    p.batch = p.n_heads = p.n_kv_heads = 1;
    limit_work(200000, &p);
    fill_typical(r, &p);
    setting s;
    s.weights = true;
    const std::vector<float> weights = run(p, s).weights;
    for (int32_t q = 0; q < p.n_q; ++q) {
      std::vector<float> expected;
      for (int32_t j = 0; j < p.n_visible(q); ++j) {
        float score = 0.0f;
        for (int32_t d = 0; d < p.head_dim; ++d) score = step(p.q_row(0, 0, q)[d], p.k_row(0, 0, j)[d], score);
        expected.push_back(score);
      }
      const int32_t n = p.n_visible(q);
      if (n > 0) expected = run_softmax({1, n, expected}, p.scale_used()).values;
      expected.resize(size_t(p.n_kv), 0.0f);
      EXPECT_TRUE(same_bits(expected, part_of(weights, size_t(q) * p.n_kv, size_t(p.n_kv)))) << p.text();
    }
  }
}

HEED_TEST_EVERY_KERNEL(primitive_bits);

}  // namespace
}  // namespace heed_test
