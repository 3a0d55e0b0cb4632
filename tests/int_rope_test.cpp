// Rotary embedding in integers: the bits of its rule in plain loops, near exact angles, on threads, and what is refused.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "heed/integers.h"
#include "support/executors.hpp"
#include "support/int_ropes.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

std::vector<int8_t> drawn_bytes(random_source &r, size_t n) {
  std::vector<int8_t> x(n);
  for (auto &each : x) each = int8_t(r.between(-128, 127));
  return x;
}

// (x + 2^13) / 2^14, rounded down, and clamped.
int8_t by_the_rule(int64_t x, int32_t zero) {
  const auto y = int64_t(std::floor(double(x + 8192) / 16384)) + zero;
  return int8_t(std::min<int64_t>(127, std::max<int64_t>(-128, y)));
}

TEST(int_rope, has_the_bits_of_the_rule) {
  random_source r(760001);
  for (int32_t trial = 0; trial < 400 && !testing::Test::HasFailure(); ++trial) {
    const int32_t n = r.between(1, 9), n_heads = r.between(1, 4), head_dim = r.size(2, 70),
                  half = r.between(1, head_dim / 2), style = r.between(0, 1), zero = r.between(-128, 127),
                  first = r.between(0, 5), gap = r.between(0, 3);
    std::vector<int16_t> table(size_t((first + n + 1) * 2 * half));
    for (auto &t : table) t = r.chance(20) ? int16_t(r.chance(50) ? -32768 : 32767) : int16_t(r.between(-16384, 16384));
    const heed_int_rope rope = {table.data(), first + n + 1, 2 * half, style};
    const int32_t dim = n_heads * head_dim, stride = dim + gap;
    std::vector<int8_t> x = drawn_bytes(r, size_t(n * stride)), wanted = x;
    for (int32_t t = 0; t < n; ++t)
      for (int32_t h = 0; h < n_heads; ++h)
        for (int32_t i = 0; i < half; ++i) {
          int8_t *const head = &wanted[size_t(t * stride + h * head_dim)];
          int8_t &one = head[style == HEED_ROPE_HALVES ? i : 2 * i],
                 &two = head[style == HEED_ROPE_HALVES ? i + half : 2 * i + 1];
          const int64_t a = one - zero, b = two - zero, c = table[size_t((first + t) * 2 * half + i)],
                        s = table[size_t((first + t) * 2 * half + half + i)];
          one = by_the_rule(a * c - b * s, zero), two = by_the_rule(a * s + b * c, zero);
        }
    ASSERT_EQ(heed_int_rope_run(&rope, {x.data(), HEED_INT8, n, dim, stride, zero}, n_heads, first, nullptr), HEED_OK);
    EXPECT_EQ(x, wanted) << trial;
  }
}

// Half a unit, and what the table's own rounding adds: 2^-15 of both elements.
TEST(int_rope, is_near_exact_angles) {
  random_source r(760002);
  double greatest = 0;
  for (const int32_t style : {HEED_ROPE_INTERLEAVED, HEED_ROPE_HALVES})
    for (const int32_t rotary_dim : {2, 16, 48}) {
      const int32_t n = 500, n_heads = 3, head_dim = 48, zero = r.between(-20, 20);
      const int_rope_table table(n + 7, rotary_dim, style);
      std::vector<int8_t> x = drawn_bytes(r, size_t(n * n_heads * head_dim));
      const std::vector<int8_t> before = x;
      ASSERT_EQ(heed_int_rope_run(table.get(), heed_int_matrix_out_of(x.data(), HEED_INT8, n, n_heads * head_dim, zero),
                                  n_heads, 7, nullptr),
                HEED_OK);
      for (int32_t row = 0; row < n * n_heads; ++row) {
        const size_t at = size_t(row * head_dim);
        std::vector<double> exact;
        for (size_t i = 0; i < size_t(head_dim); ++i) exact.push_back(before[at + i] - zero);
        const std::vector<double> old = exact;
        table.rotate(exact.data(), 7 + row / n_heads);
        for (int32_t i = 0; i < rotary_dim / 2; ++i) {
          const auto pair = table.elements(i);
          const double slack = std::ldexp(std::fabs(old[pair.first]) + std::fabs(old[pair.second]), -15);
          for (const size_t k : {pair.first, pair.second}) {
            const double error = std::fabs(x[at + k] - std::min(127.0, std::max(-128.0, exact[k] + zero)));
            EXPECT_LE(error, 0.5 + slack);
            greatest = std::max(greatest, error);
          }
        }
        for (size_t k = size_t(rotary_dim); k < size_t(head_dim); ++k) EXPECT_EQ(x[at + k], before[at + k]);
      }
    }
  EXPECT_GT(greatest, 0.5);
  RecordProperty("greatest_error", std::to_string(greatest));
}

TEST(int_rope, position_0_changes_nothing) {
  random_source r(760003);
  for (const int32_t style : {HEED_ROPE_INTERLEAVED, HEED_ROPE_HALVES})
    for (const int32_t zero : {-128, -7, 0, 127}) {
      const int_rope_table table(1, 32, style);
      std::vector<int8_t> x = drawn_bytes(r, 4 * 32);
      const std::vector<int8_t> before = x;
      ASSERT_EQ(
          heed_int_rope_run(table.get(), heed_int_matrix_out_of(x.data(), HEED_INT8, 1, 4 * 32, zero), 4, 0, nullptr),
          HEED_OK);
      EXPECT_EQ(x, before);
    }
}

TEST(int_rope, on_threads_and_row_by_row) {
  random_source r(760004);
  const int32_t n = 900, n_heads = 4, dim = 4 * 32;
  const int_rope_table table(n, 32, HEED_ROPE_HALVES);
  std::vector<int8_t> x = drawn_bytes(r, size_t(n * dim)), y = x, z = x;
  thread_executor threads(3);
  ASSERT_EQ(heed_int_rope_run(table.get(), heed_int_matrix_out_of(x.data(), HEED_INT8, n, dim, 3), n_heads, 0, nullptr),
            HEED_OK);
  ASSERT_EQ(
      heed_int_rope_run(table.get(), heed_int_matrix_out_of(y.data(), HEED_INT8, n, dim, 3), n_heads, 0, threads.get()),
      HEED_OK);
  EXPECT_GT(threads.most_tasks(), 1);
  EXPECT_EQ(y, x);
  for (int32_t t = 0; t < n; ++t)  // of one row nobody looks at the distance to the next
    ASSERT_EQ(heed_int_rope_run(table.get(), {&z[size_t(t * dim)], HEED_INT8, 1, dim, 0, 3}, n_heads, t, nullptr),
              HEED_OK);
  EXPECT_EQ(z, x);
}

TEST(int_rope, refuses_what_is_wrong) {
  random_source r(760005);
  const int_rope_table table(5, 8, HEED_ROPE_HALVES);
  std::vector<int8_t> x = drawn_bytes(r, 3 * 16);
  const std::vector<int8_t> before = x;
  const heed_int_matrix_out rows = heed_int_matrix_out_of(x.data(), HEED_INT8, 3, 16, 0);
  const auto is = [&](const heed_int_rope *rope, const heed_int_matrix_out &m, int32_t n_heads, int64_t first,
                      heed_fault fault, heed_argument argument) {
    EXPECT_EQ(heed_int_rope_run(rope, m, n_heads, first, nullptr), HEED_STATUS(fault, argument));
    EXPECT_EQ(x, before);
  };
  const auto with_rope = [&](auto change, heed_fault fault, heed_argument argument) {
    heed_int_rope rope = *table.get();
    change(rope);
    is(&rope, rows, 2, 0, fault, argument);
  };
  with_rope([](auto &p) { p.table = nullptr; }, HEED_NULL_POINTER, HEED_ARG_FREQUENCIES);
  with_rope([](auto &p) { p.table = misaligned(p.table); }, HEED_MISALIGNED, HEED_ARG_FREQUENCIES);
  for (const int32_t wrong : {0, -1, HEED_MAX_COUNT + 1})
    with_rope([&](auto &p) { p.n_positions = wrong; }, HEED_OUT_OF_RANGE, HEED_ARG_POSITIONS);
  for (const int32_t wrong : {0, -2, HEED_INT_MAX_DIM + 2})
    with_rope([&](auto &p) { p.rotary_dim = wrong; }, HEED_OUT_OF_RANGE, HEED_ARG_ROTARY_DIM);
  for (const int32_t wrong : {3, 10})
    with_rope([&](auto &p) { p.rotary_dim = wrong; }, HEED_SHAPE_MISMATCH, HEED_ARG_ROTARY_DIM);
  for (const int32_t wrong : {-1, 2}) with_rope([&](auto &p) { p.style = wrong; }, HEED_OUT_OF_RANGE, HEED_ARG_STYLE);
  is(nullptr, rows, 2, 0, HEED_NULL_POINTER, HEED_ARG_ROPE);
  is(misaligned(table.get()), rows, 2, 0, HEED_MISALIGNED, HEED_ARG_ROPE);
  for (const int64_t wrong : {int64_t(-1), INT64_MIN, int64_t(3), INT64_MAX})  // rows 3 to 5 of 5
    is(table.get(), rows, 2, wrong, HEED_OUT_OF_RANGE, HEED_ARG_POSITION);
  for (const int32_t wrong : {0, -1, INT32_MAX}) is(table.get(), rows, wrong, 0, HEED_OUT_OF_RANGE, HEED_ARG_N_HEADS);
  is(table.get(), rows, 3, 0, HEED_SHAPE_MISMATCH, HEED_ARG_N_HEADS);
  is(table.get(), rows, 4, 0, HEED_SHAPE_MISMATCH, HEED_ARG_ROTARY_DIM);
  const auto with_rows = [&](auto change, heed_fault fault) {
    heed_int_matrix_out m = rows;
    change(m);
    is(table.get(), m, 2, 0, fault, HEED_ARG_X);
  };
  with_rows([](auto &m) { m.data = nullptr; }, HEED_NULL_POINTER);
  with_rows([](auto &m) { m.dtype = HEED_INT16; }, HEED_BAD_DTYPE);
  with_rows([](auto &m) { m.dim = 0; }, HEED_OUT_OF_RANGE);
  with_rows([](auto &m) { m.n_rows = 0; }, HEED_OUT_OF_RANGE);
  for (const int32_t wrong : {-129, 128}) with_rows([&](auto &m) { m.zero_point = wrong; }, HEED_OUT_OF_RANGE);
  with_rows([](auto &m) { m.row_stride = 15; }, HEED_BAD_STRIDE);
  // The rows lie in the table.
  std::vector<int16_t> own(40);
  const heed_int_rope within = {own.data(), 5, 8, HEED_ROPE_HALVES};
  EXPECT_EQ(heed_int_rope_run(&within, heed_int_matrix_out_of(own.data() + 32, HEED_INT8, 1, 16, 0), 2, 0, nullptr),
            HEED_STATUS(HEED_OVERLAP, HEED_ARG_X));
  heed_executor executor = {};
  EXPECT_EQ(heed_int_rope_run(table.get(), rows, 2, 0, &executor),
            HEED_STATUS(HEED_NOT_INITIALIZED, HEED_ARG_EXECUTOR));
  EXPECT_EQ(heed_int_rope_run(table.get(), rows, 2, 2, nullptr), HEED_OK);  // rows 2 to 4 of 5
}

}  // namespace
}  // namespace heed_test
