// Norms, activations and rotary embedding against double precision: the bounds that the header states.
// SPDX-License-Identifier: MIT
#include "support/rows_oracle.hpp"
#include "support/data.hpp"
#include "support/judge.hpp"
#include "support/kernels.hpp"

namespace heed_test {
namespace {

class rows_accuracy : public kernel_test {
 protected:
  void SetUp() override {
    kernel_test::SetUp();
    if (!IsSkipped()) chain_ = chain_factor();
  }
  double chain_ = 1;
};

// One float of every 1009; heed_activation_sweep (activation_sweep.cpp) takes all.
TEST_P(rows_accuracy, activations_within_the_stated_bounds) {
  constexpr uint32_t step = 1009, n = 1 << 15;
  for (const named_activation &f : activations) {
    worst w;
    for (uint64_t first = 0; first < uint64_t{1} << 32; first += uint64_t{step} * n * 100 / size_t(repetitions(100))) {
      matrix x = {1, n, {}};
      for (uint32_t i = 0; i < n; ++i) x.values.push_back(float_of(static_cast<uint32_t>(first) + i * step));
      const matrix y = run_activation(f.call, x);
      for (size_t i = 0; i < n && !HasFailure(); ++i) {
        if (!std::isfinite(x.values[i]) || std::fabs(x.values[i]) < 0x1p-125f) continue;
        const bounded exact = exact_activation(f.call, x.values[i], chain_);
        w.see(y.values[i], exact.value, exact.bound, std::fabs(exact.value) * half_ulp + 0x1p-149);
      }
      ASSERT_FALSE(HasFailure()) << f.name;
    }
    w.record(f.name);
    EXPECT_TRUE(f.call == heed_relu || repetitions(100) < 100 || w.share > 0.5) << f.name << ": the bound is loose";
  }
}

// f(x) * up is rounded once more.
TEST_P(rows_accuracy, gates_within_the_stated_bounds) {
  random_source r(820000);
  for (const named_activation &f : activations) {
    worst w;
    for (int32_t i = 0; i < repetitions(50) && !HasFailure(); ++i) {
      matrix x = {1, 1000, {}}, up = {1, 1000, bell_floats(r, 1000)};
      for (int32_t k = 0; k < x.dim; ++k) x.values.push_back(r.bell() * 4);
      const matrix y = run_activation(f.call, x, up);
      for (size_t k = 0; k < x.values.size() && !HasFailure(); ++k) {
        const bounded exact = exact_activation(f.call, x.values[k], chain_);
        const double product = exact.value * up.values[k];
        w.see(y.values[k], product, exact.bound * std::fabs(up.values[k]) + half_ulp * std::fabs(product), 1);
      }
    }
    w.record(f.name);
  }
}

// Far below zero, where results are made +0, nothing is lost that matters.
TEST_P(rows_accuracy, what_is_made_zero_is_tiny) {
  const struct {
    heed_activation *call;
    double least, exact;
  } cases[] = {{heed_silu, -87, 0x1p-118}, {heed_gelu, -12.9f, 0x1p-121}, {heed_gelu_tanh, -9.99f, 0x1p-122}};
  for (const auto &c : cases) {
    const float least = static_cast<float>(c.least), beyond = std::nextafter(least, -infinity);
    const matrix y = run_activation(c.call, {1, 2, {least, beyond}});
    EXPECT_LT(y.values[0], 0);
    EXPECT_LT(std::fabs(y.values[0]), c.exact);
    EXPECT_GE(std::fabs(y.values[0]), 0x1p-126f) << "a subnormal result";
    EXPECT_EQ(bits_of(y.values[1]), 0u);
  }
}

TEST_P(rows_accuracy, a_sigmoid_that_is_made_zero_is_tiny) {
  const matrix y = run_activation(heed_sigmoid, {1, 2, {-80, std::nextafter(-80.0f, -infinity)}});
  EXPECT_GE(y.values[0], 0x1p-116f);
  EXPECT_LT(y.values[0], 0x1p-115f);
  EXPECT_EQ(bits_of(y.values[1]), 0u);
}

TEST_P(rows_accuracy, norms_within_the_stated_bounds) {
  for (const named_norm &f : norms) {
    worst w;
    for (int32_t i = 0; i < repetitions(500) && !HasFailure(); ++i) {
      random_source r(800000 + static_cast<uint64_t>(i));
      const int32_t dim = r.chance(5) ? r.between(1000, 20000) : r.size(1, 1000);
      std::vector<float> x = bell_floats(r, size_t(dim));
      if (r.chance(70)) make_hard_for_norms(r, &x);
      const int32_t exponent = r.between(-20, 20);
      for (float &xi : x) xi = std::ldexp(xi, exponent);
      const std::vector<float> weight = r.chance(70) ? bell_floats(r, x.size()) : std::vector<float>();
      const std::vector<float> bias = r.chance(70) ? bell_floats(r, x.size()) : std::vector<float>();
      const float eps = r.chance(50) ? 1e-5f : 1e-12f;
      const matrix y = run_norm(f.call, {1, dim, x}, weight, bias, eps);
      const std::vector<bounded> exact = exact_norm(f.call, x, weight, bias, eps);
      for (size_t k = 0; k < x.size() && !HasFailure(); ++k) w.see(y.values[k], exact[k].value, exact[k].bound, 1);
      if (HasFailure()) ADD_FAILURE() << f.name << " of " << dim << ", seed " << i;
    }
    w.record(f.name);
  }
}

// Whatever the mean is, layer_norm is as near as where it is 0.
TEST_P(rows_accuracy, a_large_mean_costs_nothing) {
  for (const int32_t dim : {16, 768, 777}) {
    std::vector<float> x;
    for (int32_t i = 0; i < dim; ++i) x.push_back(10000 + static_cast<float>(i % 16) * 1e-3f);
    const std::vector<float> y = run_norm(heed_layer_norm, {1, dim, x}, {}, {}, 1e-5f).values;
    const std::vector<bounded> exact = exact_norm(heed_layer_norm, x, {}, {}, double(1e-5f));
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], exact[i].value, 5e-7) << i << " of " << dim;
  }
}

// The root and the quotients are correctly rounded.
TEST_P(rows_accuracy, root_of_a_norm) {
  random_source r(9);
  for (int32_t i = 0; i < 2000; ++i) {
    const float x = std::ldexp(1 + std::fabs(r.uniform()), r.between(-50, 50)), square = x * x;
    const float expected = x * (1.0f / std::sqrt(square));
    EXPECT_TRUE(same_float(expected, run_norm(heed_rms_norm, {1, 1, {x}}, {}, {}, 0).values[0])) << x;
  }
}

// Pairs (1, 0) become (cos, sin) themselves.
TEST_P(rows_accuracy, sine_and_cosine) {
  worst w;
  for (int32_t i = 0; i < repetitions(2000) && !HasFailure(); ++i) {
    random_source r(810000 + static_cast<uint64_t>(i));
    rope_problem p;
    p.style = r.between(0, 1);
    p.head_dim = 2 * r.between(1, 100);
    const int32_t magnitude = r.between(0, 31);
    p.position = static_cast<int32_t>(r.next()) >> magnitude;
    if (r.chance(30)) p.scale = std::ldexp(r.bell(), r.between(-8, 4));
    if (r.chance(30)) p.base = std::ldexp(1 + std::fabs(r.uniform()), r.between(0, 100));
    if (p.base <= 1) p.base = 10000;
    for (int32_t k = 0; i % 4 == 0 && k < p.head_dim / 2; ++k)
      p.inverse_frequencies.push_back(std::ldexp(r.bell(), r.between(-20, 0)));
    p.x.assign(size_t(p.head_dim), 0);
    for (int32_t k = 0; k < p.head_dim / 2; ++k) p.x[size_t(p.first_of(k))] = 1;
    const std::vector<float> y = run_rope(p);
    for (int32_t k = 0; k < p.head_dim / 2 && !HasFailure(); ++k) {
      const long double angle = std::remainder(frequency_of(p, k) * p.position, 2 * M_PIl);
      const double bound = 1.41 * half_ulp + angle_bound(p, k, p.position) +
                           std::fabs(static_cast<double>(frequency_of(p, k) * p.position)) * 0x1p-60;  // the oracle's
      w.see(y[size_t(p.first_of(k))], static_cast<double>(std::cos(angle)), bound, 1);
      w.see(y[size_t(p.second_of(k))], static_cast<double>(std::sin(angle)), bound, 1);
    }
    if (HasFailure()) ADD_FAILURE() << p.text() << ", position " << p.position << ", seed " << i;
  }
  w.record("sine_and_cosine");
}

TEST_P(rows_accuracy, rotated_pairs_within_the_stated_bounds) {
  worst w;
  for (int32_t i = 0; i < repetitions(500) && !HasFailure(); ++i) {
    random_source r(830000 + static_cast<uint64_t>(i));
    rope_problem p;
    p.style = r.between(0, 1), p.head_dim = 2 * r.between(1, 100), p.position = r.between(-100000, 100000);
    p.x = bell_floats(r, size_t(p.head_dim));
    if (i % 2) p.factor = std::ldexp(1 + std::fabs(r.uniform()), r.between(-3, 3));
    const int ulps = i % 2 ? 5 : 4;
    const std::vector<float> y = run_rope(p);
    for (int32_t k = 0; k < p.head_dim / 2 && !HasFailure(); ++k) {
      const long double angle = std::remainder(frequency_of(p, k) * p.position, 2 * M_PIl);
      const long double a = p.factor * p.x[size_t(p.first_of(k))], b = p.factor * p.x[size_t(p.second_of(k))];
      const long double sin = std::sin(angle), cos = std::cos(angle);
      const double bound = std::hypot(double(a), double(b)) * (ulps * half_ulp + angle_bound(p, k, p.position));
      w.see(y[size_t(p.first_of(k))], static_cast<double>(a * cos - b * sin), bound, 1);
      w.see(y[size_t(p.second_of(k))], static_cast<double>(a * sin + b * cos), bound, 1);
    }
    if (HasFailure()) ADD_FAILURE() << p.text() << ", position " << p.position << ", seed " << i;
  }
  w.record("rotated_pairs");
}

// A turn leaves lengths as they are, and the product of a query and a key depends on the distance of their positions.
TEST_P(rows_accuracy, products_depend_on_distance) {
  random_source r(4);
  rope_problem q, k;
  q.head_dim = k.head_dim = 64;
  q.x = bell_floats(r, 64), k.x = bell_floats(r, 64);
  q.style = k.style = HEED_ROPE_HALVES;
  double first = 0;
  for (int32_t start = 0; start < 1600000000; start += 399999999) {
    q.position = start + 17, k.position = start + 5;
    const std::vector<float> a = run_rope(q), b = run_rope(k);
    double product = 0, length = 0, before = 0;
    for (size_t i = 0; i < 64; ++i)
      product += double(a[i]) * b[i], length += double(a[i]) * a[i], before += double(q.x[i]) * q.x[i];
    if (start == 0) first = product;
    EXPECT_NEAR(product, first, 1e-5);
    EXPECT_NEAR(length, before, 1e-5);
  }
}

HEED_TEST_EVERY_KERNEL(rows_accuracy);

}  // namespace
}  // namespace heed_test
