// Rows of an embedding: the widened weights of every format and layout, bit for bit; refusals. SPDX-License-Identifier: MIT
#include "support/packed.hpp"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

// Rows of w in fenced memory, several times and in any order.
void expect_rows(random_source &r, const heed_weights &w, const numeric_weights &numbers, const std::string &what) {
  std::vector<int32_t> rows;
  for (int32_t i = r.size(1, 12); i > 0; --i) rows.push_back(r.between(0, w.n_out - 1));
  if (r.chance(50)) rows.push_back(w.n_out - 1);
  const result_rows y(int32_t(rows.size()), w.n_in, r.between(0, 5));
  ASSERT_EQ(heed_gather_rows(w, fenced_copy(slot_v, rows), y.view()), HEED_OK) << what;
  const matrix found = y.take();
  for (int32_t t = 0; t < found.n_rows; ++t)
    for (int32_t i = 0; i < w.n_in; ++i) {
      const float expected = numbers.widened(i, rows[size_t(t)]), actual = found.values[size_t(t) * w.n_in + i];
      ASSERT_TRUE(same_float(expected, actual)) << what << ": input " << i << " of row " << rows[size_t(t)];
    }
}

TEST(gather, from_every_format_and_layout) {
  for (int32_t seed = 0; seed < 160 && !::testing::Test::HasFailure(); ++seed) {
    random_source r(860000 + static_cast<uint64_t>(seed));
    const weights w = random_weights(r, formats[seed % 4], seed / 4 % 2, r.size(1, 140), r.size(1, 150),
                                     r.chance(50) ? 0 : r.between(1, 9));
    const heed_weights view = w.view();
    expect_rows(r, view, numbers_of(w),
                "format " + std::to_string(view.dtype) + ", layout " + std::to_string(view.layout));
  }
}

TEST(gather, from_blocks) {
  for (int32_t seed = 0; seed < 60 && !::testing::Test::HasFailure(); ++seed) {
    random_source r(870000 + static_cast<uint64_t>(seed));
    const numeric_weights n = random_blocks(r, seed % 2 ? HEED_Q8_0 : HEED_Q4_0, 32 * r.between(1, 4), r.size(1, 150));
    expect_rows(r, blocks_at_fence(n, n.n_blocks() + (r.chance(50) ? 0 : r.between(1, 3))), n, "blocks");
  }
}

TEST(gather, from_packed_weights) {
  for (int32_t seed = 0; seed < 120 && !::testing::Test::HasFailure(); ++seed) {
    random_source r(880000 + static_cast<uint64_t>(seed));
    const int32_t dtype = all_formats[seed % 6];
    const weights w = random_weights(r, HEED_F32, seed % 2, r.size(1, 140), r.size(1, 150), 0);
    const numeric_weights n = converted(numbers_of(w), dtype);
    expect_rows(r, open_at_fence(pack(w.view(), dtype)), n, "packed, format " + std::to_string(dtype));
  }
}

// The bits of special numbers stay.
TEST(gather, special_numbers) {
  const float table[2][3] = {{infinity, -0.0f, least_subnormal}, {-infinity, not_a_number, 3e38f}};
  const int32_t rows[] = {1, 0, 1};
  float y[3][3];
  ASSERT_EQ(heed_gather_rows(heed_weights_of(table, nullptr, HEED_F32, HEED_OUT_IN, 3, 2), rows,
                             heed_matrix_out_of(y[0], 3, 3)),
            HEED_OK);
  for (int32_t t = 0; t < 3; ++t) EXPECT_EQ(std::memcmp(y[t], table[rows[t]], sizeof y[t]), 0);
}

// What a projection makes of unit vectors.
TEST(gather, as_a_projection_sees_the_weights) {
  random_source r(6);
  const weights w = random_weights(r, HEED_INT8, HEED_IN_OUT, 7, 9, 2);
  const heed_weights view = w.view();
  const int32_t rows[] = {8};
  float row[7];
  ASSERT_EQ(heed_gather_rows(view, rows, heed_matrix_out_of(row, 1, 7)), HEED_OK);
  for (int32_t i = 0; i < 7; ++i) {
    float x[7] = {}, y[9];
    x[i] = 1;
    ASSERT_EQ(heed_linear(heed_matrix_of(x, 1, 7), view, nullptr, heed_matrix_out_of(y, 1, 9), nullptr), HEED_OK);
    EXPECT_EQ(y[8], row[i]);
  }
}

TEST(gather, refuses_what_is_wrong) {
  arena memory;
  float *const table = memory.take(40), *const scales = memory.take(8), *const y = memory.take(32);
  auto *const rows = reinterpret_cast<int32_t *>(memory.take(4));
  for (int32_t i = 0; i < 4; ++i) rows[i] = 2 * i;
  struct arguments {
    heed_weights w;
    const int32_t *rows;
    heed_matrix_out y;
  };
  const arguments good = {heed_weights_of(table, nullptr, HEED_F32, HEED_OUT_IN, 5, 8), rows,
                          heed_matrix_out_of(y, 4, 5)};
  const auto refuses = [&](auto change, heed_fault fault, heed_argument argument, const std::string &what) {
    arguments a = good;
    change(a);
    memory.refuses([&] { return heed_gather_rows(a.w, a.rows, a.y); }, fault, argument, what);
  };
  using A = arguments;
  refuses([](A &a) { a.rows = nullptr; }, HEED_NULL_POINTER, HEED_ARG_ROWS, "null");
  refuses([](A &a) { a.rows = misaligned(a.rows); }, HEED_MISALIGNED, HEED_ARG_ROWS, "misaligned");
  refuses([](A &a) { a.rows = reinterpret_cast<int32_t *>(top_of_memory()) + 5; }, HEED_OVERFLOW, HEED_ARG_ROWS,
          "high");
  for (const int32_t wrong : {-1, 8, INT32_MIN, INT32_MAX})
    for (const int32_t at : {0, 3}) {
      const int32_t before = rows[at];
      rows[at] = wrong;
      refuses([](A &) {}, HEED_OUT_OF_RANGE, HEED_ARG_ROWS, "row " + std::to_string(wrong));
      rows[at] = before;
    }
  refuses([](A &a) { a.y.dim = 4; }, HEED_SHAPE_MISMATCH, HEED_ARG_Y, "columns");
  for (const flaw<heed_matrix_out> &wrong : output_flaws(HEED_MAX_COUNT))
    refuses([&](A &a) { wrong.apply(a.y); }, wrong.fault, HEED_ARG_Y, wrong.what);
  refuses([&](A &a) { a.y.data = table + 3; }, HEED_OVERLAP, HEED_ARG_Y, "in the table");
  refuses([&](A &a) { a.y.data = reinterpret_cast<float *>(rows) - 19; }, HEED_OVERLAP, HEED_ARG_Y, "on the rows");
  refuses([](A &a) { a.w.data = nullptr; }, HEED_NULL_POINTER, HEED_ARG_W, "null");
  refuses([](A &a) { a.w.dtype = HEED_Q8_0; }, HEED_NOT_INITIALIZED, HEED_ARG_W, "blocks of no function");
  refuses([](A &a) { a.w.dtype = 99; }, HEED_BAD_DTYPE, HEED_ARG_W, "format");
  refuses([](A &a) { a.w.layout = 9; }, HEED_BAD_LAYOUT, HEED_ARG_W, "layout");
  refuses([](A &a) { a.w.dtype = HEED_INT8; }, HEED_BAD_SCALES, HEED_ARG_W, "no scales");
  refuses([&](A &a) { a.w.dtype = HEED_INT8, a.w.scales = scales, a.y.data = scales + 7; }, HEED_OVERLAP, HEED_ARG_Y,
          "on the scales");
  EXPECT_EQ(status_name(heed_gather_rows(good.w, good.rows, good.y)), "HEED_OK");
}

}  // namespace
}  // namespace heed_test
