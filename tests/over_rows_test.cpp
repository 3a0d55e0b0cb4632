// Group norm and the mean over rows: the bits of the documented steps on every kernel, whatever the layout and the threads;
// the bounds of the header; NaN. SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/executors.hpp"
#include "support/judge.hpp"
#include "support/kernels.hpp"
#include "support/rows.hpp"
#include "support/rows_oracle.hpp"

namespace heed_test {
namespace {

using over_rows = kernel_test;

// Rule 27, as it is written.
float halved(std::vector<float> sums) {
  for (size_t half = sums.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}
template <typename Term>
float sum_of_group(const matrix &x, int32_t first, int32_t size, Term term) {
  std::vector<float> rows(16, 0.0f);
  for (int32_t r = 0; r < x.n_rows; ++r) {
    std::vector<float> sums(64, 0.0f);
    for (int32_t i = 0; i < size; ++i) sums[size_t(i) % 64] += term(x.values[size_t(r) * x.dim + first + i]);
    rows[size_t(r) % 16] += halved(sums);
  }
  return halved(rows);
}
float pivot_of_group(const matrix &x, int32_t first, int32_t size) {
  const size_t middle = size_t(x.n_rows / 2) * x.dim + first + size / 2;
  const size_t last = size_t(x.n_rows - 1) * x.dim + first + size - 1;
  return median_of_three(x.values[size_t(first)], x.values[middle], x.values[last]);
}
matrix documented_group_norm(const matrix &x, const std::vector<float> &weight, const std::vector<float> &bias,
                             int32_t n_groups, float eps) {
  matrix y = x;
  const int32_t size = x.dim / n_groups;
  const float n = static_cast<float>(x.n_rows) * static_cast<float>(size);
  for (int32_t first = 0; first < x.dim; first += size) {
    const float pivot = pivot_of_group(x, first, size);
    const float rest = sum_of_group(x, first, size, [=](float xi) { return xi - pivot; }) / n;
    const float squares = sum_of_group(x, first, size, [=](float xi) {
      const float d = (xi - pivot) - rest;
      const volatile float square = d * d;  // rounded by itself
      return square;
    });
    const float root = std::sqrt(squares / n + eps), factor = root == 0 ? 0 : 1 / root;
    for (int32_t r = 0; r < x.n_rows; ++r)
      for (int32_t i = first; i < first + size; ++i) {
        volatile float d = ((x.values[size_t(r) * x.dim + i] - pivot) - rest) * factor;
        if (!weight.empty()) d = d * weight[size_t(i)];
        if (!bias.empty()) d = d + bias[size_t(i)];
        y.values[size_t(r) * x.dim + i] = d;
      }
  }
  return y;
}
matrix run_group_norm(const matrix &x, const std::vector<float> &weight, const std::vector<float> &bias,
                      int32_t n_groups, float eps, const rows_setting &s = {}) {
  const float *w = fenced_copy(slot_k, weight), *b = fenced_copy(slot_v, bias);
  const auto call = [=](heed_matrix in, heed_matrix, heed_matrix_out y, const heed_executor *executor) {
    return heed_group_norm(in, w, b, n_groups, eps, y, executor);
  };
  return run_elements(call, x, {}, s);
}
std::vector<float> run_mean(const matrix &x, int32_t padding = 0, const heed_executor *executor = nullptr) {
  const result_rows y(1, x.dim, 0);
  EXPECT_EQ(heed_mean_rows(put(slot_q, x, padding), y.view().data, executor), HEED_OK);
  return y.take().values;
}
int32_t any_divisor(random_source &r, int32_t n) {
  for (;;) {
    const int32_t d = r.chance(30) ? 1 : r.chance(30) ? n : r.between(1, n);
    if (n % d == 0) return d;
  }
}

TEST_P(over_rows, group_norm_as_documented) {
  for (int32_t i = 0; i < repetitions(150) && !HasFailure(); ++i) {
    random_source r(830000 + static_cast<uint64_t>(i));
    const int32_t n = r.size(1, 70), dim = r.chance(10) ? r.between(200, 600) : r.size(1, 150);
    matrix x = {n, dim, bell_floats(r, size_t(n) * dim)};
    if (r.chance(50)) make_hard_for_norms(r, &x.values);
    const std::vector<float> weight = r.chance(70) ? bell_floats(r, size_t(dim)) : std::vector<float>();
    const std::vector<float> bias = r.chance(70) ? bell_floats(r, size_t(dim)) : std::vector<float>();
    const int32_t n_groups = any_divisor(r, dim);
    const float eps = r.chance(50) ? 1e-5f : 0;
    rows_setting s;
    s.padding = r.between(0, 5), s.other_padding = r.between(0, 5), s.in_place = r.between(0, 1);
    reverse_executor executor(r.between(1, 5));
    if (r.chance(50)) s.executor = executor.get();
    EXPECT_TRUE(same_bits(documented_group_norm(x, weight, bias, n_groups, eps).values,
                          run_group_norm(x, weight, bias, n_groups, eps, s).values))
        << n << " x " << dim << ", " << n_groups << " groups, seed " << i;
  }
}

// So large that threads take groups, or rows of the one group.
TEST_P(over_rows, in_pieces) {
  random_source r(5);
  const matrix x = {1100, 288, bell_floats(r, 1100 * 288)};
  const std::vector<float> weight = bell_floats(r, 288), bias = bell_floats(r, 288);
  for (const int32_t n_groups : {1, 32, 288}) {
    const matrix expected = documented_group_norm(x, weight, bias, n_groups, 1e-5f);
    for (const int32_t threads : {2, 3, 16}) {
      reverse_executor executor(threads);
      rows_setting s;
      s.executor = executor.get(), s.in_place = 1;
      EXPECT_TRUE(same_bits(expected.values, run_group_norm(x, weight, bias, n_groups, 1e-5f, s).values));
      EXPECT_GT(executor.most_tasks(), 1) << n_groups;
    }
  }
  reverse_executor executor(3);
  EXPECT_TRUE(same_bits(run_mean(x), run_mean(x, 3, executor.get())));
  EXPECT_GT(executor.most_tasks(), 1);
}

TEST_P(over_rows, group_norm_within_the_stated_bound) {
  worst w;
  for (int32_t i = 0; i < repetitions(100) && !HasFailure(); ++i) {
    random_source r(840000 + static_cast<uint64_t>(i));
    const int32_t n = r.chance(10) ? r.between(300, 1000) : r.size(1, 100), dim = r.size(1, 130);
    const int32_t n_groups = any_divisor(r, dim), size = dim / n_groups;
    matrix x = {n, dim, bell_floats(r, size_t(n) * dim)};
    for (float &xi : x.values) xi = std::ldexp(xi, r.between(-1, 1));
    if (r.chance(70)) make_hard_for_norms(r, &x.values);
    const std::vector<float> weight = bell_floats(r, size_t(dim)), bias = bell_floats(r, size_t(dim));
    const matrix y = run_group_norm(x, weight, bias, n_groups, 1e-5f);
    for (int32_t g = 0; g < n_groups; ++g) {
      double mean = 0, magnitude = 0, squares = 0;
      const auto each = [&](auto f) {
        for (int32_t t = 0; t < n; ++t)
          for (int32_t c = g * size; c < (g + 1) * size; ++c) f(size_t(t) * dim + size_t(c), size_t(c));
      };
      const double count = double(n) * size, pivot = pivot_of_group(x, g * size, size);
      each([&](size_t at, size_t) {
        mean += (x.values[at] - pivot) / count, magnitude += std::fabs(x.values[at] - pivot) / count;
      });
      mean += pivot;
      each([&](size_t at, size_t) { squares += (x.values[at] - mean) * (x.values[at] - mean) / count; });
      const double factor = 1 / std::sqrt(squares + double(1e-5f));
      const double distance = magnitude * factor, shift = half_ulp * (size / 64.0 + n / 16.0 + 18) * distance;
      each([&](size_t at, size_t c) {
        const double scaled = (x.values[at] - mean) * factor * weight[c],
                     chain = size / 128.0 + n / 32.0 + 18 + distance;
        w.see(y.values[at], scaled + bias[c],
              half_ulp * (chain * std::fabs(scaled) + std::fabs(bias[c])) + shift * std::fabs(weight[c]) +
                  shift * shift * std::fabs(scaled),
              1);
      });
    }
  }
  w.record("group_norm");
}

TEST_P(over_rows, mean_as_documented_and_within_its_bound) {
  worst w;
  for (int32_t i = 0; i < repetitions(100) && !HasFailure(); ++i) {
    random_source r(850000 + static_cast<uint64_t>(i));
    const int32_t n = r.chance(10) ? r.between(300, 3000) : r.size(1, 100), dim = r.size(1, 70);
    const matrix x = {n, dim, bell_floats(r, size_t(n) * dim)};
    const std::vector<float> y = run_mean(x, r.between(0, 5));
    for (int32_t c = 0; c < dim; ++c) {
      const auto same = [](float xi) { return xi; };
      EXPECT_TRUE(same_float(sum_of_group(x, c, 1, same) / static_cast<float>(n), y[size_t(c)])) << n << " x " << dim;
      double exact = 0, size = 0;
      for (int32_t t = 0; t < n; ++t)
        exact += double(x.values[size_t(t) * dim + c]) / n, size += std::fabs(x.values[size_t(t) * dim + c]) / n;
      w.see(y[size_t(c)], exact, (n / 16.0 + 6) * half_ulp * size, 1);
    }
  }
  w.record("mean_rows");
}

// Of equal numbers nothing is left, not even without eps, in groups of any size.
TEST_P(over_rows, groups_of_equal_numbers) {
  for (const int32_t n : {1, 2, 3, 15, 16, 17, 100, 333})
    for (const int32_t dim : {1, 3, 6, 35, 64, 150}) {
      std::vector<float> bias;
      matrix x = {n, dim, {}}, expected = x;
      for (int32_t i = 0; i < dim; ++i) bias.push_back(static_cast<float>(i) / 7);
      for (int32_t r = 0; r < n; ++r) {
        x.values.insert(x.values.end(), size_t(dim), 0.1f);
        expected.values.insert(expected.values.end(), bias.begin(), bias.end());
      }
      for (const int32_t n_groups : {1, dim % 3 == 0 ? 3 : 1, dim}) {
        EXPECT_EQ(run_group_norm(x, bias, bias, n_groups, 0).values, expected.values) << n << " x " << dim;
        EXPECT_EQ(run_group_norm(x, {}, {}, n_groups, 1e-5f).values, std::vector<float>(x.values.size(), 0.0f));
      }
    }
}

TEST_P(over_rows, special_numbers) {
  const std::vector<float> weight(6, 2.0f), bias(6, 3.0f);
  const matrix equal = {4, 6, std::vector<float>(24, 7.0f)};
  for (const int32_t n_groups : {1, 3, 6}) {
    EXPECT_EQ(run_group_norm(equal, weight, bias, n_groups, 0).values, std::vector<float>(24, 3.0f));
    EXPECT_EQ(run_group_norm(equal, {}, {}, n_groups, 0).values, std::vector<float>(24, 0.0f));
    for (const float bad : {not_a_number, infinity, -infinity}) {
      random_source r(6);
      matrix x = {4, 6, bell_floats(r, 24)};
      const matrix clean = run_group_norm(x, weight, {}, n_groups, 1e-5f);
      x.values[6 * 2 + 5] = bad;
      const matrix y = run_group_norm(x, weight, {}, n_groups, 1e-5f);
      const size_t first = size_t(6 - 6 / n_groups);
      for (size_t i = 0; i < 24; ++i)
        EXPECT_TRUE(i % 6 < first ? same_float(clean.values[i], y.values[i]) : std::isnan(y.values[i])) << n_groups;
    }
  }
  const matrix x = {3, 4, {1, infinity, infinity, -0.0f, 2, 5, -infinity, -0.0f, 6, 5, 5, -0.0f}};
  const std::vector<float> y = run_mean(x);
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[1], infinity);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(bits_of(y[3]), 0u) << "a sum of zeros is +0";
}

HEED_TEST_EVERY_KERNEL(over_rows);

}  // namespace
}  // namespace heed_test
