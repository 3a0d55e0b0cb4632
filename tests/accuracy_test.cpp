// Against the double-precision oracle: the bounds that the header states, and how close typical data comes.
// SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/judge.hpp"
#include "support/kernels.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class accuracy : public kernel_test {
 protected:
  void SetUp() override {
    kernel_test::SetUp();
    if (!IsSkipped()) chain_ = chain_factor();
  }

  void check_attention(const problem &p, worst *out, worst *weights) {
    setting s;
    s.weights = true;
    const attention_result actual = run(p, s);
    compare_with_oracle(p, actual, chain_,
                        [&](part which, auto... x) { (which == part::out ? out : weights)->see(x...); });
    if (::testing::Test::HasFailure()) ADD_FAILURE() << p.text();
  }

  double chain_ = 1;
};

TEST_P(accuracy, attention_within_the_stated_bound) {
  worst out, weights;
  for (int32_t i = 0; i < repetitions(300) && !HasFailure(); ++i) {
    random_source r(200000 + static_cast<uint64_t>(i));
    problem p = random_shape(r, families()[r.next() % families().size()]);
    limit_work(200000, &p);
    fill_typical(r, &p);
    // From flat rows to rows that one key rules.
    const int32_t exponent = r.between(-6, 3);
    for (float &x : p.q) x = std::ldexp(x, exponent);
    check_attention(p, &out, &weights);
  }
  out.record("out");
  weights.record("weights");
  EXPECT_GT(out.error, 0);
}

// All values equal: only the sums' own error is left, and it must not grow with the number of keys.
TEST_P(accuracy, attention_of_equal_values) {
  for (const int32_t n_kv : {7, 64, 1000, 5000}) {
    random_source r(static_cast<uint64_t>(n_kv));
    problem p;
    p.n_q = 5, p.n_kv = n_kv, p.head_dim = p.v_dim = 16;
    fill_typical(r, &p);
    std::fill(p.v.begin(), p.v.end(), 1.0f);
    for (const float x : run(p).out) EXPECT_NEAR(x, 1.0, (chain_ * n_kv + 48) * half_ulp) << n_kv;
  }
}

// What typical data really gives, as a share of the largest value. The limits are 1.3 times what the kernels measure,
// so arithmetic twice as coarse does not pass.
TEST_P(accuracy, typical_error_is_small) {
  struct row {
    int32_t n_q, n_kv, dim, causal;
    double limit;
  };
  static const row shapes[] = {
      {98, 98, 64, 0, 2.5e-7}, {64, 512, 64, 1, 2.9e-7}, {24, 1500, 64, 0, 0.85e-7}, {16, 2048, 128, 1, 3.7e-7}};
  for (const row &s : shapes) {
    random_source r(static_cast<uint64_t>(s.n_kv));
    problem p;
    p.n_q = s.n_q, p.n_kv = s.n_kv, p.head_dim = p.v_dim = s.dim, p.causal = s.causal;
    p.causal_offset = s.n_kv - s.n_q;
    fill_typical(r, &p);
    worst out, weights;
    check_attention(p, &out, &weights);
    EXPECT_LE(out.error, s.limit) << p.text();
    out.record("keys_" + std::to_string(s.n_kv));
  }
}

// The exponential alone, against its first element, whose power is 1: 0.81 ulp (1.09 no-fma) of the polynomial and
// half an ulp of the product with the row's reciprocal. With a scale of ln 2 the factor is 1, so that x is the exponent
// itself.
TEST_P(accuracy, exponential) {
  const int32_t n = 40000;
  std::vector<float> x(size_t{n});
  for (int32_t i = 0; i < n; ++i) x[size_t(i)] = static_cast<float>(-i) * 0x1.0004p-10f;
  const matrix y = run_softmax({1, n, x}, 0x1.62e43p-1f);
  double greatest = 0;
  for (int32_t i = 0; i < n; ++i) {
    const double exact = std::exp2(double(x[size_t(i)])) * y.values[0];
    greatest = std::max(greatest, std::fabs(y.values[size_t(i)] - exact) / exact);
  }
  RecordProperty("exponential_ulp", std::to_string(greatest * 0x1p23));
  EXPECT_LE(greatest * 0x1p23, chain_ == 1 ? 1.5 : 1.8);
}

TEST_P(accuracy, softmax) {
  worst w;
  for (int32_t i = 0; i < repetitions(300) && !HasFailure(); ++i) {
    random_source r(210000 + static_cast<uint64_t>(i));
    const int32_t n = r.size(1, 2500);
    const matrix x = {3, n, bell_floats(r, 3 * size_t(n))};
    const int32_t exponent = r.between(-8, 6);
    const float scale = std::ldexp(r.scale(), exponent);
    const matrix y = run_softmax(x, scale);
    for (int32_t t = 0; t < 3; ++t) {
      std::vector<double> scores;
      double largest = 0, sum = 0;
      for (const float f : x.row(t))
        scores.push_back(double(scale) * f), largest = std::max(largest, std::fabs(scores.back()));
      const std::vector<double> exact = exact_softmax(scores);
      for (int32_t j = 0; j < x.dim; ++j) {
        const double actual = y.values[size_t(t) * x.dim + j];
        w.see(actual, exact[size_t(j)], softmax_bound(exact[size_t(j)], largest, x.dim), 1);
        sum += actual;
      }
      EXPECT_NEAR(sum, 1.0, (x.dim / 16.0 + 12) * half_ulp) << "weights of a row add up to 1";
    }
  }
  w.record("softmax");
}

TEST_P(accuracy, linear_and_weighted_sum) {
  worst w;
  for (int32_t i = 0; i < repetitions(200) && !HasFailure(); ++i) {
    random_source r(220000 + static_cast<uint64_t>(i));
    const int32_t n = r.size(1, 20), in = r.size(1, 300), out = r.size(1, 40);
    const matrix x = {n, in, bell_floats(r, size_t(n) * in)}, m = {in, out, bell_floats(r, size_t(in) * out)};
    const std::vector<float> bias = r.chance(50) ? bell_floats(r, size_t(out)) : std::vector<float>();
    const matrix y = run_linear(x, m, bias), sums = run_weighted_sum(x, m);
    for (int32_t t = 0; t < n; ++t)
      for (int32_t o = 0; o < out; ++o) {
        const exact_value e = exact_linear(x, m, bias, t, o), s = exact_linear(x, m, {}, t, o);
        w.see(y.values[size_t(t) * out + o], e.value, linear_bound(in, e.absolute_sum, chain_), 1);
        w.see(sums.values[size_t(t) * out + o], s.value, weighted_sum_bound(in, s.absolute_sum, chain_), 1);
      }
  }
  w.record("linear");
}

TEST_P(accuracy, dot) {
  worst w;
  for (int32_t i = 0; i < repetitions(1000) && !HasFailure(); ++i) {
    random_source r(230000 + static_cast<uint64_t>(i));
    const int32_t n = r.chance(10) ? r.between(1000, 100000) : r.size(1, 600);
    const std::vector<float> a = bell_floats(r, size_t(n)), b = bell_floats(r, size_t(n));
    const double bound = dot_bound(n, absolute_dot(a.data(), b.data(), n));
    w.see(run_dot(a, b), exact_dot(a.data(), b.data(), n), bound, 1);
  }
  w.record("dot");
}

HEED_TEST_EVERY_KERNEL(accuracy);

}  // namespace
}  // namespace heed_test
