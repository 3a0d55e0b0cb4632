// The greatest, the k largest, and tokens drawn from logits: against sorting, against the documented steps on every kernel,
// and what is refused. SPDX-License-Identifier: MIT
#include <numeric>

#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/primitives.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

using choosing = kernel_test;

// Few different numbers, so that there are ties, and NaN.
matrix any_rows(random_source &r, int32_t n, int32_t dim) {
  matrix x = {n, dim, any_floats(r, size_t(n) * dim)};
  const int32_t kind = r.between(0, 3);
  for (float &xi : x.values) {
    if (kind == 0) xi = static_cast<float>(r.between(-3, 3));
    if (kind == 1 && r.chance(30)) xi = r.chance(50) ? not_a_number : r.chance(50) ? infinity : -infinity;
    if (kind == 2 && r.chance(90)) xi = not_a_number;
  }
  return x;
}

std::vector<int32_t> sorted(const std::vector<float> &row) {
  std::vector<int32_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(std::remove_if(order.begin(), order.end(), [&](int32_t i) { return std::isnan(row[size_t(i)]); }),
              order.end());
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return row[size_t(a)] > row[size_t(b)]; });
  return order;
}

TEST(choosing_rows, the_greatest_and_the_largest) {
  for (int32_t i = 0; i < repetitions(400) && !::testing::Test::HasFailure(); ++i) {
    random_source r(890000 + static_cast<uint64_t>(i));
    const matrix x = any_rows(r, r.between(1, 4), r.chance(10) ? r.between(200, 3000) : r.size(1, 100));
    const int32_t k = r.chance(20) ? x.dim : r.chance(20) ? 1 : r.between(1, x.dim), padding = r.between(0, 5);
    const result_rows indices(1, x.n_rows * k, 0);
    std::vector<int32_t> best(size_t(x.n_rows));
    auto *const found = reinterpret_cast<int32_t *>(indices.view().data);
    std::vector<float> values(size_t(x.n_rows) * k);
    ASSERT_EQ(heed_argmax(put(slot_q, x, padding), best.data()), HEED_OK);
    ASSERT_EQ(heed_topk(put(slot_q, x, padding), k, found, r.chance(80) ? values.data() : nullptr), HEED_OK);
    for (int32_t t = 0; t < x.n_rows; ++t) {
      const std::vector<float> row = x.row(t);
      std::vector<int32_t> order = sorted(row);
      order.resize(size_t(x.dim), -1);
      EXPECT_EQ(best[size_t(t)], order[0]) << "seed " << i;
      for (int32_t j = 0; j < k; ++j) {
        EXPECT_EQ(found[t * k + j], order[size_t(j)]) << j << " of " << k << " of " << x.dim << ", seed " << i;
        const float value = values[size_t(t) * k + j];
        EXPECT_TRUE(value == 0 || value == (order[size_t(j)] < 0 ? -infinity : row[size_t(order[size_t(j)])]));
      }
    }
    indices.take();
  }
}

// Rule 28, as it is written.
struct documented_sum {
  float before = 0, block = 0;
  int n = 0;
  float add(float p) {
    block = block + p;
    const float sum = before + block;
    if (++n == 64) before = sum, block = 0, n = 0;
    return sum;
  }
};
int32_t documented_sample(const std::vector<float> &x, float temperature, int32_t top_k, float top_p, float random) {
  const int32_t n = int32_t(x.size());
  const std::vector<float> p = run_softmax({1, n, x}, 1 / temperature).values;
  std::vector<int32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  const auto total_of = [&] {
    documented_sum sum;
    float total = 0;
    for (const int32_t i : order) total = sum.add(p[size_t(i)]);
    return total;
  };
  float total = total_of();
  if (top_k < n || top_p < 1) {
    order = sorted(x);
    if (top_k < n) order.resize(size_t(top_k)), total = total_of();
    documented_sum sum;
    const float least = top_p * total;
    for (size_t i = 0; i < order.size(); ++i)
      if ((total = sum.add(p[size_t(order[i])])) >= least) order.resize(i + 1);
  }
  documented_sum sum;
  int32_t token = 0;
  for (const int32_t i : order) {
    if (p[size_t(i)] > 0) token = i;
    if (sum.add(p[size_t(i)]) > random * total) break;
  }
  return token;
}
int32_t run_sample(const std::vector<float> &x, float temperature, int32_t top_k, float top_p, float random) {
  const int32_t n = int32_t(x.size());
  const result_rows result(1, 1, 0);
  auto *const token = reinterpret_cast<int32_t *>(result.view().data);
  const size_t bytes = HEED_SAMPLE_BYTES(n);
  EXPECT_EQ(heed_sample_bytes(n), bytes);
  const fenced_bytes workspace(slot_workspace, bytes);
  EXPECT_EQ(heed_sample(fenced_copy(slot_q, x), n, temperature, top_k, top_p, random, token,
                        heed_memory_of(workspace.data(), bytes)),
            HEED_OK);
  const int32_t drawn = *token;
  result.take();
  return drawn;
}

TEST_P(choosing, samples_as_documented) {
  for (int32_t i = 0; i < repetitions(300) && !HasFailure(); ++i) {
    random_source r(900000 + static_cast<uint64_t>(i));
    std::vector<float> x = bell_floats(r, size_t(r.chance(10) ? r.between(500, 4000) : r.size(1, 200)));
    const int32_t n = int32_t(x.size());
    if (r.chance(30))
      for (float &xi : x) xi = r.chance(30) ? -infinity : static_cast<float>(r.between(-2, 2));
    x[size_t(r.between(0, n - 1))] = 1;
    const float temperature = r.chance(30) ? 1 : std::ldexp(1 + std::fabs(r.uniform()), r.between(-5, 3));
    const int32_t top_k = r.chance(40) ? HEED_MAX_COUNT : r.between(1, n);
    const float top_p = r.chance(40) ? 1 : std::max(std::fabs(r.uniform()), 0x1p-20f);
    for (const float random : {0.0f, 0x1.fffffep-1f, std::min(std::fabs(r.uniform()), 0x1.fffffep-1f)})
      EXPECT_EQ(documented_sample(x, temperature, top_k, top_p, random),
                run_sample(x, temperature, top_k, top_p, random))
          << n << " tokens, temperature " << temperature << ", top_k " << top_k << ", top_p " << top_p << ", random "
          << random << ", seed " << i;
    EXPECT_EQ(run_sample(x, temperature, 1, 1, 0.7f), sorted(x)[0]) << "one alone is the greatest";
  }
}

// Many tokens that are left, and zeros of both signs, which are equal.
TEST_P(choosing, samples_among_many_as_documented) {
  for (int32_t i = 0; i < 20 && !HasFailure(); ++i) {
    random_source r(905000 + static_cast<uint64_t>(i));
    std::vector<float> x(size_t(r.between(513, 3000)));
    for (float &xi : x) xi = r.chance(20) ? r.uniform() : r.chance(50) ? 0.0f : -0.0f;
    const int32_t n = int32_t(x.size()), top_k = r.chance(50) ? n : r.between(513, n);
    for (const float top_p : {0.5f, 0.9f, 1.0f})
      for (const float random : {0.1f, 0.5f, 0.9f})
        EXPECT_EQ(documented_sample(x, 1, top_k, top_p, random), run_sample(x, 1, top_k, top_p, random))
            << n << " tokens, top_k " << top_k << ", top_p " << top_p << ", random " << random << ", seed " << i;
  }
}

// Each token as often as it is probable: random numbers a step apart.
TEST_P(choosing, every_token_has_its_share) {
  const std::vector<float> x = {std::log(0.1f), std::log(0.5f), -infinity, std::log(0.25f), std::log(0.15f)};
  const auto shares = [&](int32_t top_k, float top_p) {
    constexpr int32_t n = 2000;
    std::vector<double> found(5);
    for (int32_t i = 0; i < n; ++i) found[size_t(run_sample(x, 1, top_k, top_p, (float(i) + 0.5f) / n))] += 1.0 / n;
    return found;
  };
  const auto expect = [&](const std::vector<double> &wanted, const std::vector<double> &found) {
    for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(wanted[i], found[i], 0.001) << i;
  };
  expect({0.1, 0.5, 0, 0.25, 0.15}, shares(5, 1));
  expect({0, 2 / 3.0, 0, 1 / 3.0, 0}, shares(2, 1));
  expect({0, 0.5 / 0.9, 0, 0.25 / 0.9, 0.15 / 0.9}, shares(5, 0.8f));
  expect({0, 2 / 3.0, 0, 1 / 3.0, 0}, shares(3, 0.8f));
  expect({0, 1, 0, 0, 0}, shares(5, 0.4f));
}

HEED_TEST_EVERY_KERNEL(choosing);

// ------------------------------------------------------------------------------------------------------------ refusals

struct sample_arguments {
  const float *x;
  int32_t n;
  float temperature;
  int32_t top_k;
  float top_p, random;
  int32_t *result;
  heed_memory workspace;
};

TEST(choosing_rows, sampling_refuses_what_is_wrong) {
  arena memory;
  float *const x = memory.take(8);
  auto *const result = reinterpret_cast<int32_t *>(memory.take(1));
  const heed_memory workspace = heed_memory_of(memory.take_aligned(16), 64);
  using A = sample_arguments;
  const A good = {x, 8, 0.7f, 5, 0.9f, 0.5f, result, workspace};
  const auto call = [](const A &a) {
    return heed_sample(a.x, a.n, a.temperature, a.top_k, a.top_p, a.random, a.result, a.workspace);
  };
  const auto refuses = [&](auto change, heed_fault fault, heed_argument argument, const std::string &what) {
    A a = good;
    change(a);
    memory.refuses([&] { return call(a); }, fault, argument, what);
  };
  refuses([](A &a) { a.x = nullptr; }, HEED_NULL_POINTER, HEED_ARG_X, "null");
  refuses([](A &a) { a.x = misaligned(a.x); }, HEED_MISALIGNED, HEED_ARG_X, "misaligned");
  refuses([](A &a) { a.x = top_of_memory() + 2; }, HEED_OVERFLOW, HEED_ARG_X, "high");
  for (const int32_t n : {0, -1, beyond_count}) refuses([=](A &a) { a.n = n; }, HEED_OUT_OF_RANGE, HEED_ARG_N, "n");
  for (const float t : {0.0f, -0.0f, -1.0f, 1e-40f, 3e38f})
    refuses([=](A &a) { a.temperature = t; }, HEED_OUT_OF_RANGE, HEED_ARG_TEMPERATURE, std::to_string(t));
  for (const float t : {NAN, INFINITY, -INFINITY}) {
    refuses([=](A &a) { a.temperature = t; }, HEED_NOT_FINITE, HEED_ARG_TEMPERATURE, "temperature");
    refuses([=](A &a) { a.top_p = t; }, HEED_NOT_FINITE, HEED_ARG_TOP_P, "top_p");
    refuses([=](A &a) { a.random = t; }, HEED_NOT_FINITE, HEED_ARG_RANDOM, "random");
  }
  for (const int32_t k : {0, -1, beyond_count})
    refuses([=](A &a) { a.top_k = k; }, HEED_OUT_OF_RANGE, HEED_ARG_TOP_K, "top_k");
  for (const float p : {0.0f, -0.1f, 1.0001f})
    refuses([=](A &a) { a.top_p = p; }, HEED_OUT_OF_RANGE, HEED_ARG_TOP_P, "top_p");
  for (const float u : {-0.1f, 1.0f, 2.0f})
    refuses([=](A &a) { a.random = u; }, HEED_OUT_OF_RANGE, HEED_ARG_RANDOM, "random");
  refuses([](A &a) { a.result = nullptr; }, HEED_NULL_POINTER, HEED_ARG_RESULT, "null");
  refuses([](A &a) { a.result = misaligned(a.result); }, HEED_MISALIGNED, HEED_ARG_RESULT, "misaligned");
  refuses([&](A &a) { a.result = reinterpret_cast<int32_t *>(x + 3); }, HEED_OVERLAP, HEED_ARG_RESULT, "in x");
  refuses([](A &a) { a.workspace.data = nullptr; }, HEED_NULL_POINTER, HEED_ARG_WORKSPACE, "null");
  refuses([](A &a) { a.workspace.data = misaligned(static_cast<char *>(a.workspace.data), 4); }, HEED_MISALIGNED,
          HEED_ARG_WORKSPACE, "misaligned");
  refuses([](A &a) { a.workspace.bytes = 63; }, HEED_TOO_SMALL, HEED_ARG_WORKSPACE, "a byte less");
  refuses([&](A &a) { a.x = static_cast<float *>(workspace.data) + 3; }, HEED_OVERLAP, HEED_ARG_WORKSPACE, "on x");
  for (const float bad : {NAN, INFINITY, 3e38f}) {
    const float before = x[5];
    x[5] = bad;
    refuses([](A &) {}, HEED_NOT_FINITE, HEED_ARG_X, "a logit");
    x[5] = before;
  }
  EXPECT_EQ(status_name(call(good)), "HEED_OK");
  for (int32_t i = 0; i < 8; ++i) x[i] = -INFINITY;
  refuses([](A &) {}, HEED_NOT_FINITE, HEED_ARG_X, "nothing but -infinity");
  for (const int32_t n : {0, -1, beyond_count}) EXPECT_EQ(heed_sample_bytes(n), 0u);
}

TEST(choosing_rows, the_greatest_and_the_largest_refuse_what_is_wrong) {
  arena memory;
  float *const x = memory.take(15), *const values = memory.take(9);
  auto *const indices = reinterpret_cast<int32_t *>(memory.take(9));
  const heed_matrix good = heed_matrix_of(x, 3, 5);
  for (const flaw<heed_matrix> &wrong : matrix_flaws<heed_matrix>(HEED_MAX_COUNT)) {
    heed_matrix bad = good;
    wrong.apply(bad);
    memory.refuses([&] { return heed_argmax(bad, indices); }, wrong.fault, HEED_ARG_X, wrong.what);
    memory.refuses([&] { return heed_topk(bad, 1, indices, values); }, wrong.fault, HEED_ARG_X, wrong.what);
  }
  for (const int32_t k : {0, -1, 6})
    memory.refuses([=] { return heed_topk(good, k, indices, values); }, HEED_OUT_OF_RANGE, HEED_ARG_K, "k");
  const auto refuses = [&](int32_t *to, float *with, heed_fault fault, heed_argument argument) {
    if (argument == HEED_ARG_INDICES) memory.refuses([=] { return heed_argmax(good, to); }, fault, argument, "argmax");
    memory.refuses([=] { return heed_topk(good, 3, to, with); }, fault, argument, "largest");
  };
  refuses(nullptr, values, HEED_NULL_POINTER, HEED_ARG_INDICES);
  refuses(misaligned(indices), values, HEED_MISALIGNED, HEED_ARG_INDICES);
  refuses(reinterpret_cast<int32_t *>(top_of_memory()) + 6, values, HEED_OVERFLOW, HEED_ARG_INDICES);
  refuses(reinterpret_cast<int32_t *>(x) + 14, values, HEED_OVERLAP, HEED_ARG_INDICES);
  refuses(indices, misaligned(values), HEED_MISALIGNED, HEED_ARG_VALUES);
  refuses(indices, top_of_memory() + 1, HEED_OVERFLOW, HEED_ARG_VALUES);
  refuses(indices, x + 14, HEED_OVERLAP, HEED_ARG_VALUES);
  memory.refuses([=] { return heed_topk(good, 3, indices, reinterpret_cast<float *>(indices) + 8); }, HEED_OVERLAP,
                 HEED_ARG_INDICES, "values on indices");
  EXPECT_EQ(status_name(heed_topk(good, 3, indices, values)), "HEED_OK");
  EXPECT_EQ(status_name(heed_argmax(good, indices)), "HEED_OK");
}

}  // namespace
}  // namespace heed_test
