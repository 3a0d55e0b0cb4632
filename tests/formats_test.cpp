// Narrow numbers: every one of them widens exactly, every float narrows to the nearest. SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/numbers.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

std::vector<uint16_t> all_halves() {
  std::vector<uint16_t> x(65536);
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<uint16_t>(i);
  return x;
}
double half_number(int32_t dtype, uint16_t bits) { return dtype == HEED_F16 ? f16_number(bits) : bf16_number(bits); }

TEST(formats, every_half_widens_exactly_and_comes_back) {
  const std::vector<uint16_t> halves = all_halves();
  for (const int32_t dtype : {HEED_F16, HEED_BF16}) {
    std::vector<float> wide(65536);
    ASSERT_EQ(heed_convert_to_f32(heed_typed_matrix_of(halves.data(), nullptr, dtype, 256, 256),
                                  heed_matrix_out_of(wide.data(), 256, 256)),
              HEED_OK);
    std::vector<uint16_t> again(65536);
    ASSERT_EQ(heed_convert_from_f32(heed_matrix_of(wide.data(), 256, 256),
                                    heed_typed_matrix_out_of(again.data(), nullptr, dtype, 256, 256)),
              HEED_OK);
    int n_wrong = 0;
    for (size_t i = 0; i < 65536; i++) {
      const float expected = static_cast<float>(half_number(dtype, halves[i]));
      n_wrong += !same_float(expected, wide[i]);
      n_wrong += std::isnan(expected) ? !std::isnan(half_number(dtype, again[i])) : again[i] != halves[i];
    }
    EXPECT_EQ(n_wrong, 0) << format_name(dtype);
  }
}

// Any weight format on any kernel: a projection of depth 1 and x = 1 shows the widened weight (a zero becomes +0).
class widening : public kernel_test {};

TEST_P(widening, every_half_is_exact) {
  const std::vector<uint16_t> halves = all_halves();
  const float one = 1.0f;
  for (const int32_t dtype : {HEED_F16, HEED_BF16})
    for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN})
      for (const int32_t n_rows : {1, 13}) {
        const heed_weights w = heed_weights_of(halves.data(), nullptr, dtype, layout, 1, 65536);
        std::vector<float> y(65536 * size_t(n_rows));
        ASSERT_EQ(heed_linear({&one, n_rows, 1, 0}, w, nullptr, heed_matrix_out_of(y.data(), n_rows, 65536), nullptr),
                  HEED_OK);
        int n_wrong = 0;
        for (size_t i = 0; i < y.size(); i++) {
          const float expected = static_cast<float>(half_number(dtype, halves[i % 65536]));
          if (flushes_subnormals && std::fpclassify(expected) == FP_SUBNORMAL) continue;
          n_wrong += !same_float(expected + 0.0f, y[i]);
        }
        EXPECT_EQ(n_wrong, 0) << format_name(dtype) << " layout " << layout << ", " << n_rows << " rows";
      }
}
// The same along the depth, where they are transposed: row o of the weights holds 64 numbers, x picks one.
TEST_P(widening, every_half_is_exact_in_rows) {
  const std::vector<uint16_t> halves = all_halves();
  std::vector<uint16_t> finite = halves;
  for (uint16_t &h : finite)
    if (!std::isfinite(f16_number(h)) || !std::isfinite(bf16_number(h))) h = 0x1234;
  for (const int32_t dtype : {HEED_F16, HEED_BF16})
    for (int32_t pick = 0; pick < 64; pick += 7) {
      std::vector<float> x(64), y(1024);
      x[size_t(pick)] = 1;
      const heed_weights w = heed_weights_of(finite.data(), nullptr, dtype, HEED_OUT_IN, 64, 1024);
      ASSERT_EQ(
          heed_linear(heed_matrix_of(x.data(), 1, 64), w, nullptr, heed_matrix_out_of(y.data(), 1, 1024), nullptr),
          HEED_OK);
      int n_wrong = 0;
      for (size_t o = 0; o < 1024; o++) {
        const float expected = static_cast<float>(half_number(dtype, finite[o * 64 + size_t(pick)]));
        if (flushes_subnormals && std::fpclassify(expected) == FP_SUBNORMAL) continue;
        n_wrong += !same_float(expected + 0.0f, y[o]);
      }
      EXPECT_EQ(n_wrong, 0) << format_name(dtype) << " column " << pick;
    }
}

TEST_P(widening, every_int8_with_a_scale) {
  const float one = 1.0f;
  std::vector<int8_t> q(256);
  for (size_t i = 0; i < 256; i++) q[i] = static_cast<int8_t>(i);
  for (const int32_t layout : {HEED_IN_OUT, HEED_OUT_IN})
    for (const float scale : {1.0f, 0.1f, 1e-30f, 3e36f}) {
      const std::vector<float> scales(256, scale);
      const heed_weights w = heed_weights_of(q.data(), scales.data(), HEED_INT8, layout, 1, 256);
      std::vector<float> y(256);
      ASSERT_EQ(heed_linear({&one, 1, 1, 1}, w, nullptr, heed_matrix_out_of(y.data(), 1, 256), nullptr), HEED_OK);
      for (size_t i = 0; i < 256; i++) EXPECT_EQ(y[i], static_cast<float>(q[i]) * scale + 0.0f) << int(q[i]);
    }
}
HEED_TEST_EVERY_KERNEL(widening);

// Floats against rounding in double: every 251st, and those next to every half and to every tie between two.
TEST(formats, floats_narrow_to_the_nearest) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 251) x.push_back(float_of(static_cast<uint32_t>(bits)));
  for (uint32_t i = 0; i < 65536; i++)
    for (const int32_t dtype : {HEED_F16, HEED_BF16}) {
      const double here = half_number(dtype, static_cast<uint16_t>(i)),
                   next = half_number(dtype, static_cast<uint16_t>(i + 1));
      for (const double middle : {here, (here + next) / 2}) {
        const float at = static_cast<float>(middle);
        for (const float near : {at, std::nextafter(at, infinity), std::nextafter(at, -infinity)}) x.push_back(near);
      }
    }
  for (const float edge : {65504.0f, 65519.0f, 65520.0f, 65535.0f, 65536.0f, 3.38953139e38f, 3.4e38f, 0x1p-24f,
                           0x1p-25f, 0x1.000002p-25f, 0x1p-133f, 0x1p-134f})
    for (const float sign : {1.0f, -1.0f}) x.push_back(edge * sign);
  const int32_t n = static_cast<int32_t>(x.size());
  std::vector<uint16_t> y(x.size());
  for (const int32_t dtype : {HEED_F16, HEED_BF16}) {
    ASSERT_EQ(
        heed_convert_from_f32(heed_matrix_of(x.data(), 1, n), heed_typed_matrix_out_of(y.data(), nullptr, dtype, 1, n)),
        HEED_OK);
    size_t n_wrong = 0, first = 0;
    for (size_t i = 0; i < x.size(); i++) {
      const double expected = dtype == HEED_F16 ? rounded(x[i], 10, 5) : rounded(x[i], 7, 8);
      const double found = half_number(dtype, y[i]);
      const bool same =
          std::isnan(expected) ? std::isnan(found) : expected == found && std::signbit(expected) == std::signbit(found);
      if (!same && n_wrong++ == 0) first = i;
    }
    EXPECT_EQ(n_wrong, 0u) << format_name(dtype) << ", the first " << std::hexfloat << x[first] << " to " << y[first];
  }
}

TEST(formats, int8_rows) {
  for (int32_t seed = 0; seed < repetitions(200) && !::testing::Test::HasFailure(); ++seed) {
    random_source r(static_cast<uint64_t>(seed));
    const int32_t n = r.size(1, 20), dim = r.size(1, 100), padding = r.between(0, 9);
    std::vector<float> x = bell_floats(r, size_t(n) * dim);
    const int exponent = r.between(-110, 120);
    for (float &f : x) f = std::ldexp(f, exponent);
    if (r.chance(20)) std::fill_n(x.begin(), dim, r.chance(50) ? 0.0f : -0.0f);
    std::vector<int8_t> y(size_t(n) * size_t(dim + padding), 99);
    std::vector<float> scales(static_cast<size_t>(n)), wide(size_t(n) * dim);
    const heed_typed_matrix_out to = {y.data(), scales.data(), HEED_INT8, n, dim, dim + padding};
    ASSERT_EQ(heed_convert_from_f32(heed_matrix_of(x.data(), n, dim), to), HEED_OK);
    const heed_typed_matrix from = {y.data(), scales.data(), HEED_INT8, n, dim, dim + padding};
    ASSERT_EQ(heed_convert_to_f32(from, heed_matrix_out_of(wide.data(), n, dim)), HEED_OK);
    for (int32_t i = 0; i < n; ++i) {
      const float *row = &x[size_t(i) * dim];
      float greatest = 0;
      for (int32_t j = 0; j < dim; ++j) greatest = std::max(greatest, std::fabs(row[j]));
      const float scale = greatest / 127;
      EXPECT_EQ(scales[size_t(i)], scale);
      for (int32_t j = 0; j < dim; ++j) {
        const int q = y[size_t(i) * size_t(dim + padding) + size_t(j)];
        const float quotient = scale == 0 ? 0 : row[j] / scale;
        EXPECT_EQ(q, std::nearbyint(quotient)) << quotient;
        EXPECT_EQ(wide[size_t(i) * dim + j], static_cast<float>(q) * scale);
      }
      for (int32_t j = dim; j < dim + padding; ++j) EXPECT_EQ(y[size_t(i) * size_t(dim + padding) + size_t(j)], 99);
    }
  }
}

// Numbers so large that 127 times the nearest quotient is infinite: the scale is rounded down.
TEST(formats, int8_of_the_largest_floats) {
  float x = std::numeric_limits<float>::max();
  for (int i = 0; i < 1000; ++i, x = std::nextafter(x, 0.0f)) {
    const float row[2] = {x, -x};
    int8_t q[2];
    float scale, wide[2];
    ASSERT_EQ(heed_convert_from_f32(heed_matrix_of(row, 1, 2), heed_typed_matrix_out_of(q, &scale, HEED_INT8, 1, 2)),
              HEED_OK);
    ASSERT_EQ(heed_convert_to_f32(heed_typed_matrix_of(q, &scale, HEED_INT8, 1, 2), heed_matrix_out_of(wide, 1, 2)),
              HEED_OK);
    EXPECT_EQ(q[0], 127);
    EXPECT_EQ(q[1], -127);
    EXPECT_TRUE(std::isfinite(wide[0]) && wide[0] == -wide[1]) << x;
    EXPECT_LE(std::fabs(double(wide[0]) - x), scale * (0.5 + 0x1p-16));
    float of_weights[2];
    ASSERT_EQ(heed_weights_quantize(heed_matrix_of(row, 1, 2), HEED_IN_OUT, q, of_weights), HEED_OK);
    EXPECT_EQ(of_weights[0], scale);
    EXPECT_EQ(of_weights[1], scale);
  }
}

// Numbers so small that the scale has few bits, or none: never beyond 127.
TEST(formats, int8_of_subnormals) {
  for (uint32_t greatest = 0; greatest < 1000; ++greatest) {
    const float x[2] = {float_of(greatest), -float_of(greatest)};
    int8_t q[2];
    float scale;
    ASSERT_EQ(heed_convert_from_f32(heed_matrix_of(x, 1, 2), heed_typed_matrix_out_of(q, &scale, HEED_INT8, 1, 2)),
              HEED_OK);
    EXPECT_EQ(q[0], -q[1]);
    EXPECT_TRUE(q[0] >= 0 && (q[0] > 0 || scale == 0)) << greatest;
  }
}

TEST(formats, weights_are_rows_or_columns) {
  random_source r(3);
  const int32_t n = 9, dim = 14;
  const std::vector<float> w = bell_floats(r, size_t(n) * dim);
  std::vector<float> turned(w.size());
  for (int32_t i = 0; i < n; ++i)
    for (int32_t j = 0; j < dim; ++j) turned[size_t(j) * n + i] = w[size_t(i) * dim + j];
  std::vector<int8_t> rows(w.size()), columns(w.size()), narrow(w.size());
  std::vector<float> a(9), b(9), c(9);
  ASSERT_EQ(heed_weights_quantize(heed_matrix_of(w.data(), n, dim), HEED_OUT_IN, rows.data(), a.data()), HEED_OK);
  ASSERT_EQ(heed_weights_quantize(heed_matrix_of(turned.data(), dim, n), HEED_IN_OUT, columns.data(), b.data()),
            HEED_OK);
  ASSERT_EQ(heed_convert_from_f32(heed_matrix_of(w.data(), n, dim),
                                  heed_typed_matrix_out_of(narrow.data(), c.data(), HEED_INT8, n, dim)),
            HEED_OK);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a, c);
  EXPECT_EQ(rows, narrow);
  for (int32_t i = 0; i < n; ++i)
    for (int32_t j = 0; j < dim; ++j) EXPECT_EQ(rows[size_t(i) * dim + j], columns[size_t(j) * n + i]);
}

}  // namespace
}  // namespace heed_test
