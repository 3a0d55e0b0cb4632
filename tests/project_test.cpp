// Projections with weights of any format and layout: the bits of heed_linear with the widened weights.
// SPDX-License-Identifier: MIT
#include "support/kernels.hpp"
#include "support/packed.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

matrix run_project(const matrix &x, const weights &w, const std::vector<float> &bias, const primitive_setting &s = {}) {
  const result_rows y(x.n_rows, w.n_out, s.padding);
  EXPECT_EQ(heed_linear(put(slot_q, x, s.padding), w.view(), fenced_copy(slot_v, bias), y.view(), s.executor), HEED_OK);
  return y.take();
}

std::string text(int32_t n, const weights &w) {
  return std::to_string(n) + " x " + std::to_string(w.n_in) + " x " + std::to_string(w.n_out) + " " +
         format_name(w.numbers.dtype) + (w.shifted ? " shifted" : "") +
         (w.layout == HEED_OUT_IN ? " out,in" : " in,out") + " stride " + std::to_string(w.stride);
}

class project : public kernel_test {
 protected:
  void expect_linear(random_source &r, int32_t n, const weights &w, const primitive_setting &s = {}) {
    const matrix x = {n, w.n_in, any_floats(r, size_t(n) * w.n_in)};
    const std::vector<float> bias = r.chance(50) ? bell_floats(r, size_t(w.n_out)) : std::vector<float>();
    const matrix actual = run_project(x, w, bias, s);
    EXPECT_TRUE(same_bits(run_linear(x, w.widened(), bias).values, actual.values)) << text(n, w);
  }
};

TEST_P(project, equals_linear_with_widened_weights) {
  for (int32_t seed = 0; seed < repetitions(800) && !HasFailure(); ++seed) {
    random_source r(700000 + static_cast<uint64_t>(seed));
    const auto executor = r.chance(20) ? random_executor(r) : nullptr;
    primitive_setting s;
    s.padding = r.chance(50) ? 0 : r.between(1, 17);
    s.executor = executor ? executor->get() : nullptr;
    const int32_t n = r.chance(50) ? r.between(1, 4) : r.size(1, 50);
    const weights w = random_weights(r, weight_formats[seed % 5], seed / 5 % 2, r.size(1, 70), r.size(1, 70),
                                     r.chance(50) ? 0 : r.between(1, 9));
    expect_linear(r, n, w, s);
  }
}

// Each way that a projection is computed, with every format and layout: one row, few, many; more than one piece; rows
// of weights far apart.
TEST_P(project, in_every_way) {
  const int32_t shapes[][3] = {{1, 16, 16},   {1, 172, 64}, {1, 64, 172}, {2, 33, 130}, {3, 200, 47},  {4, 50, 50},
                               {5, 64, 64},   {6, 130, 33}, {7, 97, 19},  {24, 300, 3}, {49, 200, 61}, {1, 15, 512},
                               {1, 512, 100}, {9, 512, 40}, {40, 7, 512}, {1, 1, 1},    {2, 70, 1},    {50, 1, 70}};
  for (const auto &[n, in, out] : shapes)
    for (const int32_t dtype : weight_formats)
      for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN}) {
        random_source r(static_cast<uint64_t>(n + in + out));
        expect_linear(r, n, random_weights(r, dtype, layout, in, out, out % 3));
      }
}

// One row has ways of its own: by the number of columns, and where weights outgrow the second-level cache, lie far
// apart or in the same sets of the first-level cache.
TEST_P(project, one_row) {
  const auto expect = [&](int32_t dtype, int32_t layout, int32_t in, int32_t out, int32_t padding) {
    random_source r(static_cast<uint64_t>(in + out));
    const weights w = random_weights(r, dtype, layout, in, out, padding);
    const matrix x = {1, in, any_floats(r, size_t(in))};
    for (const std::vector<float> &bias : {std::vector<float>(), bell_floats(r, size_t(out))})
      EXPECT_TRUE(same_bits(run_linear(x, w.widened(), bias).values, run_project(x, w, bias).values)) << text(1, w);
  };
  for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN})
    for (const int32_t dtype : weight_formats)
      for (int32_t out = 1; out < 150; out += out < 20 ? 1 : 3) expect(dtype, layout, 9, out, 0);
  for (const int32_t dtype : weight_formats) {
    expect(dtype, HEED_IN_OUT, 1003, 300, 0);
    expect(dtype, HEED_IN_OUT, 2, 300, 270000);
    expect(dtype, HEED_OUT_IN, 2048 / HEED_DTYPE_BYTES(dtype), 100, 0);
  }
}

// (number - zero point) * scale at the ends of both ranges: the difference is exact, and 0 is +0.
TEST_P(project, with_zero_points_at_the_ends) {
  const unsigned char q[4] = {0, 255, 127, 128}, zeros[4] = {255, 0, 127, 128};
  const float scales[4] = {0.1f, -0.3f, 7.0f, -1.0f}, x[1] = {1};
  for (const bool is_unsigned : {false, true})
    for (const int32_t n_scales : {1, 4})
      for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN}) {
        const auto number = [=](unsigned char bits) {
          return is_unsigned ? int(bits) : int(static_cast<int8_t>(bits));
        };
        const heed_weights w = heed_weights_with_zero_points(
            heed_weights_of(q, scales, is_unsigned ? HEED_UINT8 : HEED_INT8, layout, 1, 4), zeros, n_scales);
        float y[4];
        ASSERT_EQ(heed_linear(heed_matrix_of(x, 1, 1), w, nullptr, heed_matrix_out_of(y, 1, 4), nullptr), HEED_OK);
        for (int o = 0; o < 4; ++o) {
          const int at = n_scales == 1 ? 0 : o;
          const volatile float wide = float(number(q[o]) - number(zeros[at])) * scales[at];
          EXPECT_EQ(y[o], wide) << o;
        }
      }
}

// Within the header's bound of a double.
TEST_P(project, with_zero_points_keeps_to_the_error) {
  for (int32_t seed = 0; seed < repetitions(100) && !HasFailure(); ++seed) {
    random_source r(705000 + static_cast<uint64_t>(seed));
    const weights w = random_weights(r, HEED_UINT8, seed % 2, r.size(1, 300), r.size(1, 90), r.between(0, 3));
    const matrix x = {r.between(1, 9), w.n_in, bell_floats(r, 9 * size_t(w.n_in))};
    const matrix y = run_project({x.n_rows, x.dim, {x.values.begin(), x.values.begin() + x.n_rows * x.dim}}, w, {});
    for (int32_t t = 0; t < x.n_rows; ++t)
      for (int32_t o = 0; o < w.n_out; ++o) {
        double exact = 0, sum = 0;
        for (int32_t i = 0; i < w.n_in; ++i) {
          const size_t at = w.layout == HEED_OUT_IN ? size_t(o) * w.stride + i : size_t(i) * w.stride + o;
          const double by =
              (w.byte(w.numbers.bytes[at]) - w.zero(o)) * double(w.scale(o)) * double(x.values[size_t(t * w.n_in + i)]);
          exact += by, sum += std::fabs(by);
        }
        EXPECT_LE(std::fabs(double(y.values[size_t(t * w.n_out + o)]) - exact), (2 * w.n_in + 2) * 0x1p-24 * sum);
      }
  }
}

// heed_linear and the plain chain in the reference's words.
TEST_P(project, equals_the_reference) {
  const std::string reference = reference_of(GetParam());
  if (reference.empty()) GTEST_SKIP() << "a build with one fixed kernel has no scalar reference";
  for (int32_t seed = 0; seed < repetitions(200) && !HasFailure(); ++seed) {
    random_source r(710000 + static_cast<uint64_t>(seed));
    const weights w = random_weights(r, weight_formats[seed % 5], seed / 5 % 2, r.size(1, 70), r.size(1, 70), 0);
    const matrix x = {r.size(1, 20), w.n_in, {}};
    const matrix filled = {x.n_rows, x.dim, any_floats(r, size_t(x.n_rows) * x.dim)};
    const matrix actual = run_project(filled, w, {});
    const kernel_scope scope(reference);
    EXPECT_TRUE(same_bits(run_project(filled, w, {}).values, actual.values)) << text(x.n_rows, w);
  }
}

TEST_P(project, in_pieces) {
  struct {
    int32_t n, in, out, pieces;
  } const cases[] = {{10, 200, 1001, 3}, {101, 100, 200, 3}};
  for (const auto &[n, in, out, pieces] : cases)
    for (const int32_t dtype : weight_formats)
      for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN}) {
        random_source r(static_cast<uint64_t>(n));
        reverse_executor executor(3);
        primitive_setting s;
        s.executor = executor.get();
        expect_linear(r, n, random_weights(r, dtype, layout, in, out, 0), s);
        EXPECT_EQ(executor.most_tasks(), pieces);
      }
}

// A weight of NaN or infinity, a scale of NaN: reaches its output and no other.
TEST_P(project, special_weights) {
  random_source r(5);
  for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN})
    for (const int32_t n : {1, 2, 20}) {
      weights w = random_weights(r, HEED_F16, layout, 40, 50, 0);
      const uint16_t special[2] = {0x7c00, 0x7e00};
      for (const size_t at : {0, 333, 1999}) std::memcpy(&w.numbers.bytes[2 * at], &special[at % 2], 2);
      expect_linear(r, n, w);
      weights q = random_weights(r, HEED_INT8, layout, 40, 50, 0);
      q.scales[7] = not_a_number, q.scales[49] = infinity, q.scales[0] = -0.0f;
      expect_linear(r, n, q);
    }
}

// A row alone may have any stride, also one whose multiples are beyond all numbers: a row of x and y, of weights in
// either layout, of blocks; packed weights have none. No bit depends on it, and the sanitizers see nobody multiply it.
TEST_P(project, a_row_alone_has_any_stride) {
  reverse_executor executor(3);
  const auto expect = [&](int32_t n, heed_weights w, int32_t n_rows) {
    random_source r(11);
    const matrix x = {n, w.n_in, bell_floats(r, size_t(n) * w.n_in)};
    const auto product = [&](ptrdiff_t stride, const heed_executor *on) {
      const result_rows y(n, w.n_out, 0);
      heed_matrix rows = put(slot_q, x, 0);
      heed_matrix_out to = y.view();
      if (n == 1 && stride != 0) rows.row_stride = to.row_stride = stride;
      if (n_rows == 1 && stride != 0) w.row_stride = stride;
      EXPECT_EQ(heed_linear(rows, w, nullptr, to, on), HEED_OK);
      return y.take().values;
    };
    const std::vector<float> usual = product(0, nullptr);
    for (const ptrdiff_t stride : {PTRDIFF_MAX / 4, PTRDIFF_MIN})
      for (const heed_executor *const on : {static_cast<const heed_executor *>(nullptr), executor.get()})
        EXPECT_TRUE(same_bits(usual, product(stride, on)))
            << n << " x " << w.n_in << " x " << w.n_out << " format " << w.dtype << " layout " << w.layout;
  };
  const int32_t shapes[][3] = {{1, 1, 1},  {1, 224, 1001}, {1, 1, 100},   {1, 96, 1},   {3, 1, 20},
                               {9, 1, 70}, {9, 96, 1},     {99, 1, 2100}, {40, 8000, 1}};
  for (const auto &[n, in, out] : shapes)
    for (const int32_t dtype : all_formats) {
      random_source r(static_cast<uint64_t>(in + out));
      if (has_blocks(dtype)) {
        if (in % 32 == 0) expect(n, blocks_at_fence(random_blocks(r, dtype, in, out), in / 32), out);
        continue;
      }
      expect(n, random_weights(r, dtype, HEED_IN_OUT, in, out, 0).view(), in);
      expect(n, random_weights(r, dtype, HEED_OUT_IN, in, out, 0).view(), out);
      expect(n, open_at_fence(pack(random_weights(r, dtype, HEED_IN_OUT, in, out, 0).view(), dtype)), 1);
    }
}

HEED_TEST_EVERY_KERNEL(project);

}  // namespace
}  // namespace heed_test
