// Rows in integers: each function against exact arithmetic in double precision, within half a unit, and against its rule
// in plain loops, to the bit and up to the limits; in place, strided, on threads; and what is refused.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "heed/int_rows.h"
#include "support/random.hpp"
#include "support/executors.hpp"

namespace heed_test {
namespace {

double value_of(heed_multiplier m) { return std::ldexp(double(m.m), m.e - 31); }
heed_multiplier drawn_factor(random_source &r, int32_t least, int32_t most) {
  return {int32_t(0x40000000 + r.below(0x3fffffff)), int32_t(r.between(least, most))};
}

// A matrix in either format, with gaps between its rows.
struct int_rows {
  int32_t dtype, n_rows, dim, zero_point;
  ptrdiff_t stride;
  std::vector<int16_t> wide;
  std::vector<int8_t> bytes;

  int_rows(random_source &r, int32_t format_, int32_t n_rows_, int32_t dim_, int32_t zero_point_, double fill = 1)
      : dtype(format_), n_rows(n_rows_), dim(dim_), zero_point(zero_point_), stride(dim_ + int32_t(r.below(3))) {
    const size_t n = size_t(stride) * size_t(n_rows);
    if (dtype == HEED_INT8)
      bytes.resize(n);
    else
      wide.resize(n);
    for (auto &x : bytes) x = int8_t(std::lround(double(r.uniform()) * 127 * fill));
    for (auto &x : wide) x = int16_t(std::lround(double(r.uniform()) * 32767 * fill));
  }
  void *data() { return dtype == HEED_INT8 ? static_cast<void *>(bytes.data()) : wide.data(); }
  int32_t at(int32_t row, int32_t i) const {
    const size_t k = size_t(row * stride + i);
    return dtype == HEED_INT8 ? bytes[k] : wide[k];
  }
  double real(int32_t row, int32_t i) const { return at(row, i) - zero_point; }
  heed_int_matrix in() { return {data(), dtype, n_rows, dim, stride, zero_point}; }
  heed_int_matrix_out out() { return {data(), dtype, n_rows, dim, stride, zero_point}; }
  bool operator==(const int_rows &other) const { return wide == other.wide && bytes == other.bytes; }
};

int32_t any_format(random_source &r) { return r.below(2) ? HEED_INT16 : HEED_INT8; }
int32_t any_zero(random_source &r, int32_t dtype) { return dtype == HEED_INT16 ? 0 : int32_t(r.between(-128, 127)); }

// y is the nearest integer to `exact`, in its range; `slack` more where a rule says so.
void expect_near(const int_rows &y, int32_t row, int32_t i, double exact, double slack) {
  const double high = y.dtype == HEED_INT8 ? 127 : 32767;
  const double wanted = std::min(high, std::max(-high - 1, exact + y.zero_point));
  EXPECT_LE(std::fabs(y.at(row, i) - wanted), 0.5 + 1e-9 + slack) << row << " " << i;
}

TEST(int_rows, sums_products_and_scales_round_once) {
  random_source r(730001);
  for (int32_t trial = 0; trial < 300 && !testing::Test::HasFailure(); ++trial) {
    const int32_t n = int32_t(r.between(1, 5)), dim = int32_t(r.between(1, 150)), f = any_format(r), g = any_format(r),
                  h = any_format(r);
    int_rows a(r, f, n, dim, any_zero(r, f)), b(r, g, n, dim, any_zero(r, g)), y(r, h, n, dim, any_zero(r, h));
    const heed_multiplier of_a = drawn_factor(r, -9, 3), of_b = drawn_factor(r, -9, 3), both = drawn_factor(r, -20, -5);
    ASSERT_EQ(heed_int_add(a.in(), of_a, b.in(), of_b, y.out(), nullptr), HEED_OK);
    for (int32_t i = 0; i < n * dim; ++i)
      expect_near(y, i / dim, i % dim,
                  a.real(i / dim, i % dim) * value_of(of_a) + b.real(i / dim, i % dim) * value_of(of_b), 0);
    ASSERT_EQ(heed_int_multiply(a.in(), b.in(), both, y.out(), nullptr), HEED_OK);
    for (int32_t i = 0; i < n * dim; ++i)
      expect_near(y, i / dim, i % dim, a.real(i / dim, i % dim) * b.real(i / dim, i % dim) * value_of(both), 0);
    ASSERT_EQ(heed_int_rescale(a.in(), of_a, y.out(), nullptr), HEED_OK);
    for (int32_t i = 0; i < n * dim; ++i)
      expect_near(y, i / dim, i % dim, a.real(i / dim, i % dim) * value_of(of_a), 0);
  }
}

struct norm_weights {
  std::vector<int32_t> weight, bias;
  heed_int_norm norm;
  norm_weights(random_source &r, int32_t dim, bool biased) : weight(size_t(dim)), bias(size_t(dim)) {
    norm = {weight.data(), biased ? bias.data() : nullptr, int32_t(r.between(0, 20)),
            uint32_t(r.below(3) ? r.below(1 << 20) : 0)};
    const double unit = std::ldexp(20.0, norm.shift);
    for (auto &x : weight) x = int32_t(std::lround(double(r.uniform()) * unit));
    for (auto &x : bias) x = int32_t(std::lround(double(r.uniform()) * unit));
  }
};

void check_norm(bool mean, random_source &r, int32_t dim, double fill) {
  const int32_t n = 2, f = any_format(r), h = any_format(r);
  int_rows x(r, f, n, dim, any_zero(r, f), fill), y(r, h, n, dim, any_zero(r, h));
  const norm_weights w(r, dim, r.below(2) != 0);
  ASSERT_EQ((mean ? heed_int_layer_norm : heed_int_rms_norm)(x.in(), w.norm, y.out(), nullptr), HEED_OK);
  for (int32_t row = 0; row < n; ++row) {
    double sum = 0, squares = 0;
    for (int32_t i = 0; i < dim; ++i) sum += mean ? x.real(row, i) : 0;
    for (int32_t i = 0; i < dim; ++i) squares += std::pow(x.real(row, i) - sum / dim, 2);
    const double root = std::sqrt(squares / dim + w.norm.eps / 65536.0);
    for (int32_t i = 0; i < dim; ++i) {
      const double z = root > 0 ? (x.real(row, i) - sum / dim) / root : 0,
                   weight = std::ldexp(w.weight[size_t(i)], -w.norm.shift);
      const double bias = w.norm.bias ? std::ldexp(w.bias[size_t(i)], -w.norm.shift) : 0;
      expect_near(y, row, i, z * weight + bias, std::fabs(weight) * (0x1p-20 + std::fabs(z) * 0x1p-29));
    }
  }
}

TEST(int_rows, norms_are_exact_to_twenty_bits) {
  random_source r(730002);
  for (int32_t trial = 0; trial < 300 && !testing::Test::HasFailure(); ++trial)
    check_norm(trial % 2 == 0, r, int32_t(r.between(1, 200)), trial % 7 == 0 ? 0.002 : 1);
  check_norm(true, r, HEED_INT_MAX_NORM_DIM, 1);
  check_norm(false, r, HEED_INT_MAX_NORM_DIM, 1);
}

// ------------------------------------------------------------------------------------------- the rules I11 and I12

int64_t rounded(int64_t x, int32_t shift) { return (x + (int64_t{1} << (shift - 1))) >> shift; }
int32_t in_range(int64_t x, const int_rows &y) {
  const int64_t most = y.dtype == HEED_INT8 ? 127 : 32767;
  return int32_t(std::min(most, std::max(-most - 1, x + y.zero_point)));
}
// Numbers that are anywhere, or at an end of their range, or 0.
int32_t any_number(random_source &r, int32_t least, int32_t most) {
  const auto kind = r.below(8);
  return kind == 0 ? least : kind == 1 ? most : kind == 2 ? 0 : int32_t(r.between(least, most));
}
heed_multiplier any_factor(random_source &r, int32_t least, int32_t most) {
  const auto kind = r.below(4);
  return {kind == 0   ? 0x40000000
          : kind == 1 ? INT32_MAX
                      : int32_t(0x40000000 + r.below(0x3fffffff)),
          int32_t(r.between(least, most))};
}
void fill(random_source &r, int_rows &x) {
  for (auto &number : x.bytes) number = int8_t(any_number(r, -128, 127));
  for (auto &number : x.wide) number = int16_t(any_number(r, -32768, 32767));
}
int_rows any_rows(random_source &r, int32_t n, int32_t dim, bool written = false) {
  const int32_t dtype = any_format(r);
  const int32_t zero = dtype == HEED_INT16 && written ? any_number(r, -32768, 32767) : any_zero(r, dtype);
  int_rows x(r, dtype, n, dim, zero);
  fill(r, x);
  return x;
}

TEST(int_rows, sums_products_and_scales_have_the_bits_of_the_rule) {
  random_source r(730008);
  for (int32_t trial = 0; trial < 4000 && !testing::Test::HasFailure(); ++trial) {
    const int32_t n = 2, dim = int32_t(r.between(1, trial % 50 ? 20 : 150));
    int_rows a = any_rows(r, n, dim), b = any_rows(r, n, dim), y = any_rows(r, n, dim, true);
    const heed_multiplier of_a = any_factor(r, -31, 30);
    const heed_multiplier of_b = any_factor(r, std::max(-31, of_a.e - 14), std::min(30, of_a.e + 14));
    const int32_t e = std::min(of_a.e, of_b.e);
    const auto expect = [&](const char *name, const auto &number) {
      for (int32_t i = 0; i < n * dim; ++i) {
        const int32_t row = i / dim, k = i % dim;
        ASSERT_EQ(y.at(row, k), in_range(number(a.at(row, k) - a.zero_point, b.at(row, k) - b.zero_point), y))
            << name << ", e " << of_a.e << " and " << of_b.e;
      }
    };
    ASSERT_EQ(heed_int_add(a.in(), of_a, b.in(), of_b, y.out(), nullptr), HEED_OK);
    expect("add", [&](int64_t x, int64_t z) {
      return rounded(x * of_a.m * (1 << (of_a.e - e)) + z * of_b.m * (1 << (of_b.e - e)), 31 - e);
    });
    ASSERT_EQ(heed_int_multiply(a.in(), b.in(), of_a, y.out(), nullptr), HEED_OK);
    expect("multiply", [&](int64_t x, int64_t z) { return rounded(x * z * of_a.m, 31 - of_a.e); });
    ASSERT_EQ(heed_int_rescale(a.in(), of_a, y.out(), nullptr), HEED_OK);
    expect("rescale", [&](int64_t x, int64_t) { return rounded(x * of_a.m, 31 - of_a.e); });
  }
}

uint64_t root_of(uint64_t x) {
  uint64_t root = uint64_t(std::sqrt(double(x)));
  while (root > UINT32_MAX || root * root > x) --root;
  while (root < UINT32_MAX && (root + 1) * (root + 1) <= x) ++root;
  return root;
}
// Returns whether a row's factor is 2^31, which has no room in an int32.
bool expect_norm(bool mean, int_rows &x, int_rows &y, const heed_int_norm &norm) {
  EXPECT_EQ((mean ? heed_int_layer_norm : heed_int_rms_norm)(x.in(), norm, y.out(), nullptr), HEED_OK);
  bool greatest = false;
  for (int32_t row = 0; row < x.n_rows; ++row) {
    const int64_t n = x.dim;
    int64_t sum = 0, squares = 0;
    for (int32_t i = 0; i < n; ++i) {
      const int64_t number = x.at(row, i) - x.zero_point;
      sum += mean ? number : 0;
      squares += number * number;
    }
    const uint64_t v = uint64_t(n * squares - sum * sum) + ((uint64_t(n * n) * norm.eps) >> 16);
    int32_t a = 0;
    while (v != 0 && v << (2 * a) >> 62 == 0) ++a;
    const int64_t factor = v == 0 ? 0 : int64_t((uint64_t{1} << 62) / root_of(v << (2 * a)));
    greatest |= factor >> 31 != 0;
    for (int32_t i = 0; i < n; ++i) {
      const int64_t z = v == 0 ? 0 : rounded((n * (x.at(row, i) - x.zero_point) - sum) * factor, 42 - a);
      const int64_t bias = norm.bias ? int64_t(norm.bias[i]) * (1 << 20) : 0;
      EXPECT_EQ(y.at(row, i), in_range(rounded(z * norm.weight[i] + bias, 20 + norm.shift), y))
          << (mean ? "layer" : "rms") << " of " << n << ", shift " << norm.shift << ", factor " << factor << ", a "
          << a;
      if (testing::Test::HasFailure()) return false;
    }
  }
  return greatest;
}

TEST(int_rows, norms_have_the_bits_of_the_rule) {
  random_source r(730009);
  int32_t n_greatest = 0;
  for (int32_t trial = 0; trial < 6000 && !testing::Test::HasFailure(); ++trial) {
    const int32_t dim =
        trial % 500 == 0 ? HEED_INT_MAX_NORM_DIM : int32_t(trial % 50 ? r.between(1, 20) : r.between(1, 300));
    int_rows x = any_rows(r, 1, dim), y = any_rows(r, 1, dim, true);
    const int32_t kind = trial % 4;  // powers of 2 of either sign; one number alone; small numbers; any
    for (int32_t i = 0; i < dim && kind < 3; ++i) {
      const int32_t power = 1 << (trial / 4 % (x.dtype == HEED_INT8 ? 7 : 15));
      const int32_t number = kind == 0   ? (i % 2 ? power : -power)
                             : kind == 1 ? (i ? 0 : power)
                                         : int32_t(r.between(-3, 3));
      const int32_t stored = std::min(x.dtype == HEED_INT8 ? 127 : 32767, number + x.zero_point);
      if (x.dtype == HEED_INT8)
        x.bytes[size_t(i)] = int8_t(std::max(-128, stored));
      else
        x.wide[size_t(i)] = int16_t(stored);
    }
    std::vector<int32_t> weight(static_cast<size_t>(dim)), bias(weight.size());
    const int32_t least = INT32_MIN >> r.below(24);
    for (auto &w : weight) w = any_number(r, least, -1 - least - (least == INT32_MIN));
    for (auto &b : bias) b = any_number(r, least, -1 - least - (least == INT32_MIN));
    const heed_int_norm norm = {weight.data(), r.below(4) ? bias.data() : nullptr, int32_t(r.between(0, 30)),
                                r.below(3)   ? 0
                                : r.below(3) ? uint32_t(r.below(1 << 20))
                                             : UINT32_MAX};
    for (const bool mean : {true, false}) n_greatest += expect_norm(mean, x, y, norm);
  }
  EXPECT_GT(n_greatest, 100);
}

TEST(int_rows, a_flat_row_is_the_bias) {
  random_source r(730003);
  int_rows x(r, HEED_INT16, 1, 70, 0, 0), y(r, HEED_INT16, 1, 70, 0);
  norm_weights w(r, 70, true);
  w.norm.eps = 0;
  for (const auto norm : {heed_int_layer_norm, heed_int_rms_norm}) {
    ASSERT_EQ(norm(x.in(), w.norm, y.out(), nullptr), HEED_OK);
    for (int32_t i = 0; i < 70; ++i) expect_near(y, 0, i, std::ldexp(w.bias[size_t(i)], -w.norm.shift), 0);
  }
}

double exact_activation(int32_t activation, double x) {
  if (activation == HEED_INT_GELU) return x * std::erfc(-x / std::sqrt(2.0)) / 2;
  if (activation == HEED_INT_GELU_TANH)
    return x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))) / 2;
  if (activation == HEED_INT_SILU) return x / (1 + std::exp(-x));
  return x > 0 ? x : 0;
}

// How far a table is beyond the bound of the header, as a share of it, at the worst number.
double share_of_table_bound(int32_t activation, heed_multiplier in, int32_t in_zero, heed_multiplier out,
                            int32_t out_zero) {
  int8_t table[256];
  EXPECT_EQ(heed_int_table(activation, in, in_zero, out, out_zero, table), HEED_OK);
  const double x_scale = value_of(in), y_units = value_of(out), bound = 0.5 + 0x1p-23 + 0x1p-20 * y_units;
  double worst = 0;
  for (int32_t x = -128; x < 128; ++x) {
    const double exact = exact_activation(activation, (x - in_zero) * x_scale) * y_units + out_zero;
    const double wanted = std::min(127.0, std::max(-128.0, exact));
    worst = std::max(worst, std::fabs(table[x + 128] - wanted) / bound);
  }
  return worst;
}

// Every pair of exponents, some factors of each: where numbers leave the table's series, where sums are shifted out.
TEST(int_rows, tables_are_the_activations) {
  random_source r(730004);
  for (int32_t activation = HEED_INT_GELU; activation <= HEED_INT_RELU; ++activation)
    for (int32_t e = -30; e <= 30; ++e)
      for (int32_t out_e = -30; out_e <= 30; ++out_e)
        for (int32_t draw = 0; draw < (e > -8 && e < 8 ? 8 : 2); ++draw) {
          const heed_multiplier in = drawn_factor(r, e, e), out = drawn_factor(r, out_e, out_e);
          const int32_t in_zero = int32_t(r.between(-128, 127)), out_zero = int32_t(r.between(-128, 127));
          ASSERT_LE(share_of_table_bound(activation, in, in_zero, out, out_zero), 1)
              << activation << ": " << in.m << ' ' << e << ' ' << in_zero << ", " << out.m << ' ' << out_e << ' '
              << out_zero;
        }
}

// Every x_scale of 12 bits around the ends of the series, with units so fine that the error shows.
TEST(int_rows, tables_keep_their_bound_at_every_scale) {
  for (int32_t activation = HEED_INT_GELU; activation <= HEED_INT_RELU; ++activation)
    for (int32_t e = -8; e <= 6; ++e)
      for (int32_t m = 1 << 11; m < 1 << 12; ++m) {
        const heed_multiplier in = {m << 19, e}, fine = {1 << 30, 24};
        ASSERT_LE(share_of_table_bound(activation, in, 0, fine, m % 256 - 128), 1)
            << activation << ' ' << m << ' ' << e;
      }
}

TEST(int_rows, a_lookup_takes_the_table) {
  random_source r(730005);
  int_rows x(r, HEED_INT8, 3, 77, 5), y(r, HEED_INT8, 3, 77, 0);
  int8_t table[256];
  for (int32_t i = 0; i < 256; ++i) table[i] = int8_t(int32_t(r.below(256)) - 128);
  ASSERT_EQ(heed_int_lookup(x.in(), table, y.out(), nullptr), HEED_OK);
  for (int32_t i = 0; i < 3 * 77; ++i) EXPECT_EQ(y.at(i / 77, i % 77), table[x.at(i / 77, i % 77) + 128]);
}

// In place, and on threads: the same numbers.
TEST(int_rows, in_place_and_on_threads) {
  random_source r(730006);
  for (const int32_t dtype : {HEED_INT8, HEED_INT16}) {
    const int32_t n = 700, dim = 130;
    int_rows a(r, dtype, n, dim, 0), b(r, dtype, n, dim, 0), y = a, z = a;
    const norm_weights w(r, dim, true);
    const heed_multiplier m = drawn_factor(r, -3, 0), product = drawn_factor(r, -14, -8);
    thread_executor threads(3);
    const auto check = [&](const auto &call) {
      y = a;
      z = a;
      ASSERT_EQ(call(a.in(), y.out(), nullptr), HEED_OK);
      ASSERT_EQ(call(z.in(), z.out(), threads.get()), HEED_OK);
      for (int32_t i = 0; i < n * dim; ++i) ASSERT_EQ(y.at(i / dim, i % dim), z.at(i / dim, i % dim));
    };
    check([&](auto x, auto to, auto e) { return heed_int_add(x, m, b.in(), m, to, e); });
    check([&](auto x, auto to, auto e) { return heed_int_multiply(b.in(), x, product, to, e); });
    check([&](auto x, auto to, auto e) { return heed_int_rescale(x, m, to, e); });
    check([&](auto x, auto to, auto e) { return heed_int_layer_norm(x, w.norm, to, e); });
    check([&](auto x, auto to, auto e) { return heed_int_rms_norm(x, w.norm, to, e); });
  }
}

// Of one row nobody looks at the distance to the next.
TEST(int_rows, one_row_is_in_place_whatever_its_strides) {
  random_source r(730010);
  int_rows x(r, HEED_INT8, 1, 40, 3), y = x;
  const heed_multiplier m = drawn_factor(r, -3, 0);
  ASSERT_EQ(heed_int_rescale(x.in(), m, y.out(), nullptr), HEED_OK);
  heed_int_matrix_out to = x.out();
  to.row_stride = 0;
  ASSERT_EQ(heed_int_rescale(x.in(), m, to, nullptr), HEED_OK);
  EXPECT_TRUE(x == y);
}

// So many rows that each worker of an executor has as many pieces as it may.
TEST(int_rows, many_rows_on_threads) {
  random_source r(730011);
  int_rows x(r, HEED_INT8, 7000, 130, 0), y = x, z = x;
  const heed_multiplier m = drawn_factor(r, -3, 0);
  thread_executor threads(3);
  ASSERT_EQ(heed_int_rescale(x.in(), m, y.out(), nullptr), HEED_OK);
  ASSERT_EQ(heed_int_rescale(x.in(), m, z.out(), threads.get()), HEED_OK);
  EXPECT_GT(threads.most_tasks(), 3);
  EXPECT_TRUE(y == z);
}

TEST(int_rows, refuses_what_is_wrong) {
  random_source r(730007);
  int_rows a(r, HEED_INT8, 2, 9, 0), b = a, y = a;
  const int_rows before = y;
  const heed_multiplier one = heed_multiplier_of(1);
  EXPECT_TRUE(heed_multiplier_one().m == one.m && heed_multiplier_one().e == one.e);
  const auto is = [&](heed_status status, heed_fault fault, heed_argument argument) {
    EXPECT_EQ(status, HEED_STATUS(fault, argument));
    EXPECT_TRUE(y == before);
  };
  heed_int_matrix x = a.in();
  x.data = nullptr;
  is(heed_int_rescale(x, one, y.out(), nullptr), HEED_NULL_POINTER, HEED_ARG_X);
  x = a.in();
  x.zero_point = 128;
  is(heed_int_rescale(x, one, y.out(), nullptr), HEED_OUT_OF_RANGE, HEED_ARG_X);
  x = a.in();
  x.dtype = HEED_F32;
  is(heed_int_rescale(x, one, y.out(), nullptr), HEED_BAD_DTYPE, HEED_ARG_X);
  x = a.in();
  x.dim = 8;
  is(heed_int_rescale(x, one, y.out(), nullptr), HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  is(heed_int_add(a.in(), one, x, one, y.out(), nullptr), HEED_SHAPE_MISMATCH, HEED_ARG_B);
  is(heed_int_rescale(a.in(), {1, 0}, y.out(), nullptr), HEED_OUT_OF_RANGE, HEED_ARG_MULTIPLIERS);
  is(heed_int_rescale(a.in(), {0x40000000, 31}, y.out(), nullptr), HEED_OUT_OF_RANGE, HEED_ARG_MULTIPLIERS);
  is(heed_int_add(a.in(), {0x40000000, 0}, b.in(), {0x40000000, -15}, y.out(), nullptr), HEED_OUT_OF_RANGE,
     HEED_ARG_MULTIPLIERS);
  is(heed_int_add(a.in(), {0x40000000, -15}, b.in(), {0x40000000, 0}, y.out(), nullptr), HEED_OUT_OF_RANGE,
     HEED_ARG_MULTIPLIERS);
  is(heed_int_multiply(a.in(), x, one, y.out(), nullptr), HEED_SHAPE_MISMATCH, HEED_ARG_B);
  x = a.in();
  x.n_rows = 1;
  is(heed_int_multiply(a.in(), x, one, y.out(), nullptr), HEED_SHAPE_MISMATCH, HEED_ARG_B);
  is(heed_int_rescale(x, one, y.out(), nullptr), HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  // In place are the same numbers at the same places.
  heed_int_matrix_out to = y.out();
  to.dtype = HEED_INT16;
  is(heed_int_rescale(y.in(), one, to, nullptr), HEED_OVERLAP, HEED_ARG_Y);
  x = y.in();
  x.row_stride = 2;
  is(heed_int_rescale(x, one, y.out(), nullptr), HEED_OVERLAP, HEED_ARG_Y);
  to = y.out();
  to.row_stride = 3;
  is(heed_int_rescale(a.in(), one, to, nullptr), HEED_BAD_STRIDE, HEED_ARG_Y);
  to = y.out();
  to.data = y.bytes.data() + 1;
  is(heed_int_rescale(y.in(), one, to, nullptr), HEED_OVERLAP, HEED_ARG_Y);
  heed_int_matrix wide = a.in();
  wide.dtype = HEED_INT16;
  wide.n_rows = 1;
  wide.dim = 2;
  wide.zero_point = 1;
  is(heed_int_rescale(wide, one, y.out(), nullptr), HEED_OUT_OF_RANGE, HEED_ARG_X);
  int32_t weight[9] = {};
  heed_int_norm norm = {nullptr, nullptr, 0, 0};
  is(heed_int_layer_norm(a.in(), norm, y.out(), nullptr), HEED_NULL_POINTER, HEED_ARG_WEIGHT);
  x = a.in();
  x.dim = 8;
  is(heed_int_layer_norm(x, norm, y.out(), nullptr), HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  for (const int32_t wrong : {31, -1}) {
    norm = {weight, nullptr, wrong, 0};
    is(heed_int_rms_norm(a.in(), norm, y.out(), nullptr), HEED_OUT_OF_RANGE, HEED_ARG_WEIGHT);
  }
  norm.shift = 0;
  norm.bias = reinterpret_cast<int32_t *>(reinterpret_cast<uintptr_t>(weight) + 1);
  is(heed_int_rms_norm(a.in(), norm, y.out(), nullptr), HEED_MISALIGNED, HEED_ARG_BIAS);
  is(heed_int_lookup(a.in(), nullptr, y.out(), nullptr), HEED_NULL_POINTER, HEED_ARG_WEIGHT);
  int8_t table[256] = {};
  is(heed_int_lookup(wide, table, y.out(), nullptr), HEED_OUT_OF_RANGE, HEED_ARG_X);
  for (const int32_t wrong : {4, -1})
    is(heed_int_table(wrong, one, 0, one, 0, table), HEED_OUT_OF_RANGE, HEED_ARG_ACTIVATION);
  is(heed_int_table(0, one, 300, one, 0, table), HEED_OUT_OF_RANGE, HEED_ARG_X);
  is(heed_int_table(0, one, 0, one, 0, nullptr), HEED_NULL_POINTER, HEED_ARG_Y);
}

}  // namespace
}  // namespace heed_test
