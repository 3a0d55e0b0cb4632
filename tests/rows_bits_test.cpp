// Norms, activations, sums and rotary embedding: every kernel gives the bits of the scalar reference, whatever the
// layout, in place or not, in threads or not. SPDX-License-Identifier: MIT
#include "support/rows.hpp"
#include "support/rows_oracle.hpp"
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class rows_bits : public reference_test {
 protected:
  // run(false) on the reference, run(true) on the kernel.
  template <typename Run>
  void compare(Run run, const std::string &what) {
    const std::vector<float> actual = run(true);
    const kernel_scope scope(reference_);
    EXPECT_TRUE(same_bits(run(false), actual)) << what;
  }

  rows_setting random_setting_of(random_source &r, bool has_other, const heed_executor *executor) {
    rows_setting s;
    s.padding = r.chance(50) ? 0 : r.between(1, 17);
    s.other_padding = r.chance(50) ? s.padding : r.between(0, 17);
    s.in_place = r.between(0, has_other ? 2 : 1);
    s.executor = r.chance(25) ? executor : nullptr;
    return s;
  }
  static matrix random_matrix(random_source &r, int32_t n_rows, int32_t dim) {
    return {n_rows, dim, any_floats(r, size_t(n_rows) * dim)};
  }
  static int32_t random_dim(random_source &r) { return r.chance(5) ? r.between(500, 3000) : r.size(1, 200); }
};

// Any bits, half of them where the functions bend.
std::vector<float> floats_of_any_size(random_source &r, size_t n) {
  std::vector<float> x(n);
  for (float &f : x) {
    f = r.chance(50) ? r.uniform() * 16 : float_of(r.next());
    if (std::fpclassify(f) == FP_SUBNORMAL && flushes_subnormals) f = 0;
  }
  return x;
}

TEST_P(rows_bits, activations) {
  thread_executor executor(3);
  for (int32_t i = 0; i < repetitions(600) && !HasFailure(); ++i) {
    random_source r(700000 + static_cast<uint64_t>(i));
    const int32_t n = r.size(1, 20), dim = random_dim(r);
    const size_t count = size_t(n) * dim;
    const matrix x = {n, dim, r.chance(50) ? floats_of_any_size(r, count) : any_floats(r, count)};
    const matrix up = r.chance(50) ? random_matrix(r, n, dim) : matrix{};
    const rows_setting s = random_setting_of(r, up.n_rows > 0, executor.get());
    for (const named_activation &f : activations)
      compare([&](bool here) { return run_activation(f.call, x, up, here ? s : rows_setting()).values; },
              std::string(f.name) + ", seed " + std::to_string(i));
  }
}

// One float of every 4099, in rows of a length that is no multiple of a register.
TEST_P(rows_bits, activations_over_all_floats) {
  constexpr uint32_t step = 4099;
  constexpr int32_t dim = 8191;
  for (uint64_t first = 0; first < uint64_t{1} << 32 && !HasFailure(); first += uint64_t{step} * dim) {
    matrix x = {1, dim, {}};
    for (uint32_t i = 0; i < dim; ++i) {
      const float f = float_of(static_cast<uint32_t>(first) + i * step);
      x.values.push_back(std::fpclassify(f) == FP_SUBNORMAL && flushes_subnormals ? 0.0f : f);
    }
    for (const named_activation &f : activations)
      compare([&](bool) { return run_activation(f.call, x).values; }, f.name);
  }
}

TEST_P(rows_bits, sums_of_rows) {
  thread_executor executor(3);
  for (int32_t i = 0; i < repetitions(400) && !HasFailure(); ++i) {
    random_source r(710000 + static_cast<uint64_t>(i));
    const int32_t n = r.size(1, 20), dim = random_dim(r);
    const matrix a = random_matrix(r, n, dim), b = random_matrix(r, n, dim);
    const rows_setting s = random_setting_of(r, true, executor.get());
    compare([&](bool here) { return run_add(a, b, here ? s : rows_setting()).values; }, std::to_string(i));
    std::vector<float> expected;
    for (size_t k = 0; k < a.values.size(); ++k) expected.push_back(a.values[k] + b.values[k]);
    EXPECT_TRUE(same_bits(expected, run_add(a, b, s).values));
  }
}

TEST_P(rows_bits, norms) {
  thread_executor executor(3);
  for (int32_t i = 0; i < repetitions(600) && !HasFailure(); ++i) {
    random_source r(720000 + static_cast<uint64_t>(i));
    const int32_t n = r.size(1, 20), dim = random_dim(r);
    matrix x = random_matrix(r, n, dim);
    if (flushes_subnormals)  // of numbers below 2^-63 the squares are subnormal
      for (float &f : x.values) f = std::fabs(f) < 0x1p-50f ? 0.0f : f;
    const std::vector<float> weight = r.chance(50) ? bell_floats(r, size_t(dim)) : std::vector<float>();
    const std::vector<float> bias = r.chance(50) ? bell_floats(r, size_t(dim)) : std::vector<float>();
    const float eps = r.chance(20) ? 0.0f : std::ldexp(1.0f, -r.between(0, 40));
    const rows_setting s = random_setting_of(r, false, executor.get());
    for (const named_norm &f : norms)
      compare([&](bool here) { return run_norm(f.call, x, weight, bias, eps, here ? s : rows_setting()).values; },
              std::string(f.name) + ", seed " + std::to_string(i));
  }
}

// Rows that a kernel takes whole, as models have them, with and without weight and bias.
TEST_P(rows_bits, norms_of_long_rows) {
  random_source r(725000);
  for (const int32_t dim : {256, 320, 1024})
    for (heed_norm *norm : {heed_rms_norm, heed_rms_norm_plus_one, heed_layer_norm, heed_l2_norm})
      for (int32_t given = 0; given < 4; ++given) {
        const matrix x = {3, dim, bell_floats(r, size_t(3) * size_t(dim))};
        const std::vector<float> weight = given & 1 ? bell_floats(r, size_t(dim)) : std::vector<float>();
        const std::vector<float> bias = given & 2 ? bell_floats(r, size_t(dim)) : std::vector<float>();
        compare([&](bool) { return run_norm(norm, x, weight, bias, 1e-5f).values; }, "dim " + std::to_string(dim));
      }
}

// The steps that the rules state, written out.
TEST_P(rows_bits, documented_steps_of_norms) {
  const bool has_fma = heed_isa_arithmetic(GetParam().c_str()) == HEED_ARITHMETIC_FMA;
  const auto step = [=](float a, float b, float c) { return has_fma ? std::fma(a, b, c) : a * b + c; };
  const auto tree = [](float *sums) {
    for (int32_t half = 32; half > 0; half /= 2)
      for (int32_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    return sums[0];
  };
  for (const int32_t n : {1, 2, 63, 64, 65, 130, 768}) {
    random_source r(static_cast<uint64_t>(n));
    std::vector<float> x = bell_floats(r, size_t(n));
    const std::vector<float> w = bell_floats(r, size_t(n)), b = bell_floats(r, size_t(n));
    if (n % 2 == 0) make_hard_for_norms(r, &x);
    for (const named_norm &f : norms) {
      std::vector<float> d = x;
      float sums[64] = {}, squares[64] = {};
      if (f.call == heed_layer_norm) {
        const float pivot = median_of_three(x[0], x[size_t(n) / 2], x[size_t(n) - 1]);
        for (float &di : d) di -= pivot;
        for (int32_t i = 0; i < n; ++i) sums[i % 64] += d[size_t(i)];
        const float rest = tree(sums) / static_cast<float>(n);
        for (float &di : d) di -= rest;
      }
      for (int32_t i = 0; i < n; ++i) squares[i % 64] = step(d[size_t(i)], d[size_t(i)], squares[i % 64]);
      const float divisor = f.call == heed_l2_norm ? 1.0f : static_cast<float>(n);
      const float factor = 1.0f / std::sqrt(tree(squares) / divisor + 1e-5f);
      std::vector<float> expected;
      for (size_t i = 0; i < size_t(n); ++i) expected.push_back(step(d[i] * factor, w[i], b[i]));
      EXPECT_TRUE(same_bits(expected, run_norm(f.call, {1, n, x}, w, b, 1e-5f).values)) << f.name << " of " << n;
    }
  }
}

// Large enough to be cut into pieces of rows; the last is a short one.
TEST_P(rows_bits, rows_in_pieces) {
  random_source r(251);
  const matrix x = {251, 380, bell_floats(r, 251 * 380)};
  for (const named_activation &f : activations) {
    reverse_executor executor(3);
    rows_setting s;
    s.executor = executor.get();
    EXPECT_TRUE(same_bits(run_activation(f.call, x, x).values, run_activation(f.call, x, x, s).values)) << f.name;
    EXPECT_EQ(executor.most_tasks(), f.call == heed_relu ? 0 : 12) << f.name;
  }
  const matrix wide = {251, 2500, uniform_floats(r, 251 * 2500)};
  for (const named_norm &f : norms) {
    reverse_executor executor(3);
    rows_setting s;
    s.executor = executor.get(), s.padding = 3;
    EXPECT_TRUE(same_bits(run_norm(f.call, wide, {}, {}, 0).values, run_norm(f.call, wide, {}, {}, 0, s).values));
    EXPECT_EQ(executor.most_tasks(), 12) << f.name;
  }
}

// ------------------------------------------------------------------------------------------------ rotary embedding

rope_problem random_rope(random_source &r) {
  static const std::vector<float> bases = {10000, 500000, 1.0000001f, 2, 3e38f, 100};
  rope_problem p;
  p.n = r.size(1, 20), p.n_heads = r.between(1, 5), p.head_dim = r.chance(10) ? r.between(100, 300) : r.size(2, 130);
  p.style = r.between(0, 1);
  p.rotary_dim = r.chance(50) || p.head_dim == 1 ? 2 * r.between(1, p.head_dim / 2) : 0;
  if (p.head_dim % 2 != 0 && p.rotary_dim == 0) ++p.head_dim;
  p.base = r.chance(50) ? 10000 : r.pick(bases);
  p.scale = r.chance(50) ? 1.0f : r.bell();
  p.position = r.chance(50) ? r.between(0, 4000) : static_cast<int32_t>(r.next()) / 2;
  if (r.chance(30))
    for (int32_t t = 0; t < p.n; ++t)
      p.positions.push_back(r.chance(50) ? r.between(0, 100) : static_cast<int32_t>(r.next()));
  if (r.chance(30))
    for (int32_t i = 0; i < p.turned() / 2; ++i)
      p.inverse_frequencies.push_back(std::ldexp(r.bell(), r.between(-30, 14)));
  p.x = any_floats(r, size_t(p.n) * p.n_heads * p.head_dim);
  return p;
}

TEST_P(rows_bits, rotary_embedding) {
  thread_executor executor(3);
  for (int32_t i = 0; i < repetitions(1000) && !HasFailure(); ++i) {
    random_source r(730000 + static_cast<uint64_t>(i));
    const rope_problem p = random_rope(r);
    rope_setting s;
    s.x_layout = all_layouts[r.next() % 5], s.y_layout = all_layouts[r.next() % 5];
    s.padding = r.between(0, 9);
    s.in_place = r.chance(50);
    s.executor = r.chance(25) ? executor.get() : nullptr;
    compare([&](bool here) { return run_rope(p, here ? s : rope_setting()); }, p.text());
  }
}

TEST_P(rows_bits, rotary_embedding_in_pieces) {
  random_source r(5);
  rope_problem p;
  p.n = 500, p.n_heads = 8, p.head_dim = 128, p.position = -7;
  p.x = bell_floats(r, 500 * 8 * 128);
  for (const bool given : {false, true}) {
    for (int32_t t = 0; given && t < p.n; ++t) p.positions.push_back(t * t - 300);
    reverse_executor executor(3);
    rope_setting s;
    s.executor = executor.get();
    EXPECT_TRUE(same_bits(run_rope(p), run_rope(p, s)));
    EXPECT_EQ(executor.most_tasks(), 12);
  }
}

// A token's result depends on its position alone: not on its neighbours, on other heads, or on how wide the head is.
TEST_P(rows_bits, a_token_is_rotated_by_its_position_alone) {
  for (int32_t i = 0; i < repetitions(200) && !HasFailure(); ++i) {
    random_source r(740000 + static_cast<uint64_t>(i));
    const rope_problem all = random_rope(r);
    const std::vector<float> y = run_rope(all);
    const int32_t t = r.between(0, all.n - 1), h = r.between(0, all.n_heads - 1);
    const size_t at = (size_t(h) * all.n + size_t(t)) * size_t(all.head_dim);
    rope_problem one = all;
    one.n = one.n_heads = 1, one.positions.clear(), one.position = all.position_of(t, 0);
    one.x = part_of(all.x, at, size_t(all.head_dim));
    EXPECT_TRUE(same_bits(part_of(y, at, size_t(all.head_dim)), run_rope(one))) << all.text();
    one.rotary_dim = one.head_dim = all.turned();  // without the elements that are not turned
    one.x.resize(size_t(one.head_dim));
    EXPECT_TRUE(same_bits(part_of(y, at, size_t(one.head_dim)), run_rope(one))) << all.text();
    for (int32_t k = all.turned(); k < all.head_dim; ++k)
      EXPECT_TRUE(same_float(y[at + size_t(k)], all.x[at + size_t(k)]));
  }
}

// Both styles turn the same pairs, which lie elsewhere.
TEST_P(rows_bits, styles_differ_in_place_alone) {
  random_source r(3);
  rope_problem p;
  p.n = 9, p.n_heads = 2, p.head_dim = 70, p.rotary_dim = 66;
  p.x = bell_floats(r, 9 * 2 * 70);
  rope_problem halves = p;
  halves.style = HEED_ROPE_HALVES;
  const auto each = [&](auto visit) {
    for (size_t row = 0; row < 18; ++row)
      for (int32_t i = 0; i < 33; ++i) {
        visit(row * 70 + size_t(p.first_of(i)), row * 70 + size_t(halves.first_of(i)));
        visit(row * 70 + size_t(p.second_of(i)), row * 70 + size_t(halves.second_of(i)));
      }
  };
  each([&](size_t from, size_t to) { halves.x[to] = p.x[from]; });
  const std::vector<float> y = run_rope(p);
  std::vector<float> expected = halves.x;
  each([&](size_t from, size_t to) { expected[to] = y[from]; });
  EXPECT_TRUE(same_bits(expected, run_rope(halves)));
}

HEED_TEST_EVERY_KERNEL(rows_bits);

}  // namespace
}  // namespace heed_test
