// NaN, infinities, zeros and the widest values in norms, activations and rotary embedding, as the header documents them.
// SPDX-License-Identifier: MIT
#include "support/rows_oracle.hpp"
#include "support/data.hpp"
#include "support/kernels.hpp"

namespace heed_test {
namespace {

using rows_special = kernel_test;

bool all_nan(const std::vector<float> &x) {
  return std::all_of(x.begin(), x.end(), [](float f) { return std::isnan(f); });
}

TEST_P(rows_special, activations) {
  for (const named_activation &f : activations) {
    for (const int32_t dim : {1, 5, 37}) {  // lanes and tails
      const auto value_of = [&](float x) {
        const matrix y = run_activation(f.call, {1, dim, std::vector<float>(size_t(dim), x)});
        for (const float yi : y.values) EXPECT_TRUE(same_float(yi, y.values[0])) << f.name << " of " << x;
        return y.values[0];
      };
      EXPECT_TRUE(std::isnan(value_of(not_a_number))) << f.name;
      const float least = limit_of(f.call, false), most = limit_of(f.call, true),
                  half = f.call == heed_sigmoid ? 0.5f : 0;
      EXPECT_EQ(value_of(infinity), most) << f.name;
      EXPECT_EQ(bits_of(value_of(-infinity)), bits_of(least)) << f.name;
      EXPECT_EQ(bits_of(value_of(-3.4e38f)), bits_of(least)) << f.name;
      EXPECT_EQ(value_of(3.4e38f), std::fmin(most, 3.4e38f)) << f.name;
      EXPECT_EQ(value_of(100.0f), std::fmin(most, 100.0f)) << f.name;
      EXPECT_EQ(bits_of(value_of(0.0f)), bits_of(half)) << f.name;
      EXPECT_EQ(bits_of(value_of(-0.0f)), bits_of(half == 0 ? -0.0f : half)) << f.name;
    }
  }
}

TEST_P(rows_special, tanh_far_from_zero_and_near_it) {
  random_source r(3);
  std::vector<float> x = {9.02f, 10, 22.1f, 22.2f, 23, 0x1.fffffep-13f, 0x1p-30f, 1e-36f};
  for (int32_t i = 0; i < 1000; ++i) x.push_back(std::ldexp(r.uniform(), r.between(-100, -12)));
  matrix minus = {1, int32_t(x.size()), x};
  for (float &xi : minus.values) xi = -xi;
  const std::vector<float> y = run_activation(heed_tanh, {1, minus.dim, x}).values;
  const std::vector<float> of_minus = run_activation(heed_tanh, minus).values;
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(y[i], x[i] > 9 ? 1 : x[i]) << x[i];
    EXPECT_EQ(of_minus[i], -y[i]) << "an odd function, at " << x[i];
  }
}

TEST_P(rows_special, gates) {
  const matrix x = {1, 4, {1, -infinity, infinity, 2}}, up = {1, 4, {not_a_number, 3, 0, -infinity}};
  for (const named_activation &f : activations) {
    const std::vector<float> y = run_activation(f.call, x, up).values;
    EXPECT_TRUE(std::isnan(y[0])) << f.name;
    EXPECT_EQ(y[1], 3 * limit_of(f.call, false)) << f.name;
    const bool bounded = f.call == heed_tanh || f.call == heed_sigmoid;
    EXPECT_TRUE(bounded ? y[2] == 0 : std::isnan(y[2])) << f.name << ": infinity * 0";
    EXPECT_EQ(y[3], -infinity) << f.name;
  }
}

TEST_P(rows_special, a_row_of_zeros) {
  for (const named_norm &f : norms) {
    const matrix zeros = {1, 21, std::vector<float>(21, 0.0f)};
    const std::vector<float> bias(21, 3.0f), weight(21, 2.0f);
    for (const float eps : {0.0f, 1e-5f}) {
      EXPECT_EQ(run_norm(f.call, zeros, {}, {}, eps).values, zeros.values) << f.name;
      EXPECT_EQ(run_norm(f.call, zeros, weight, bias, eps).values, bias) << f.name;
      EXPECT_EQ(run_norm(f.call, zeros, {}, bias, eps).values, bias) << f.name;
    }
  }
}

// Of equal numbers nothing is left, not even without eps, also where their sum is not exact or infinite. Nine rows, since
// few and many are added in ways of their own.
TEST_P(rows_special, rows_of_equal_numbers) {
  for (int32_t dim = 1; dim <= 300; ++dim) {
    const float numbers[] = {0.1f, -1.0f / 3, 10000.001f, 16777215, 3.4e38f, 0x1p-60f, -7.7f, 1e-3f, 0.7f};
    matrix x = {9, dim, {}}, expected = x;
    std::vector<float> weight, bias;
    for (int32_t i = 0; i < dim; ++i)
      weight.push_back(static_cast<float>(i)), bias.push_back(static_cast<float>(i) / 7);
    for (const float number : numbers) {
      x.values.insert(x.values.end(), size_t(dim), number);
      expected.values.insert(expected.values.end(), bias.begin(), bias.end());
    }
    for (const float eps : {0.0f, 1e-5f}) {
      EXPECT_EQ(run_norm(heed_layer_norm, x, {}, {}, eps).values, std::vector<float>(x.values.size(), 0.0f)) << dim;
      EXPECT_EQ(run_norm(heed_layer_norm, x, weight, bias, eps).values, expected.values) << dim;
    }
    for (int32_t r = 0; r < x.n_rows; r += 4)
      EXPECT_EQ(run_norm(heed_layer_norm, {1, dim, x.row(r)}, weight, bias, 0).values, bias) << dim;
  }
}

// Differences from the median of three that leave the range of floats: NaN, as the header says, although the mean is 0.
TEST_P(rows_special, differences_beyond_the_range) {
  matrix x = {1, 64, std::vector<float>(64, 0.0f)};
  x.values[0] = x.values[63] = -3e38f, x.values[1] = x.values[2] = 3e38f;
  for (const float y : run_norm(heed_layer_norm, x, {}, {}, 1e-5f).values) EXPECT_TRUE(std::isnan(y));
  EXPECT_EQ(run_norm(heed_rms_norm, x, {}, {}, 1e-5f).values, std::vector<float>(64, 0.0f));
}

TEST_P(rows_special, nan_and_infinity_in_a_row) {
  random_source r(1);
  for (const int32_t dim : {3, 64, 77}) {
    matrix x = {3, dim, bell_floats(r, size_t(3 * dim))};
    for (const named_norm &f : norms) {
      const matrix clean = run_norm(f.call, x, {}, {}, 1e-5f);
      matrix spoiled = x;
      spoiled.values[size_t(2 * dim - 1)] = not_a_number;
      const matrix y = run_norm(f.call, spoiled, {}, {}, 1e-5f);
      EXPECT_TRUE(all_nan(y.row(1))) << f.name;
      EXPECT_TRUE(same_bits(clean.row(0), y.row(0)));
      EXPECT_TRUE(same_bits(clean.row(2), y.row(2)));
      spoiled.values[size_t(2 * dim - 1)] = infinity;
      const std::vector<float> infinite = run_norm(f.call, spoiled, {}, {}, 1e-5f).row(1);
      EXPECT_TRUE(std::isnan(infinite.back())) << f.name;
      for (size_t i = 0; i + 1 < infinite.size(); ++i)
        EXPECT_TRUE(f.call == heed_layer_norm ? std::isnan(infinite[i]) : infinite[i] == 0) << f.name;
    }
  }
}

TEST_P(rows_special, rotary_embedding) {
  rope_problem p;
  p.head_dim = 8, p.position = 3;
  p.x = {1, 2, not_a_number, 4, 5, 6, 7, 8};
  const std::vector<float> y = run_rope(p);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(std::isnan(y[i]), i == 2 || i == 3) << i;
  p.x = {1, 2, 3, 4, 5, -0.0f, 7, 8};
  p.position = 0;
  EXPECT_EQ(run_rope(p), p.x) << "position 0 turns nothing";
  p.position = 12345, p.scale = 0;
  EXPECT_EQ(run_rope(p), p.x) << "scale 0 turns nothing";
  p.scale = 1, p.inverse_frequencies = {0, 1e-30f, -0.0f, 1e-45f};
  EXPECT_EQ(run_rope(p), p.x) << "frequencies that are too small to be seen";
}

// There and back again.
TEST_P(rows_special, a_negative_scale_turns_back) {
  random_source r(2);
  rope_problem p;
  p.head_dim = 96, p.position = 2000000000;
  p.x = bell_floats(r, 96);
  rope_problem back = p;
  back.x = run_rope(p), back.scale = -1;
  const std::vector<float> y = run_rope(back);
  for (size_t i = 0; i < 96; ++i) EXPECT_NEAR(y[i], p.x[i], 1e-6);
  back.scale = 1, back.position = -p.position;
  EXPECT_TRUE(same_bits(y, run_rope(back)));
}

HEED_TEST_EVERY_KERNEL(rows_special);

}  // namespace
}  // namespace heed_test
