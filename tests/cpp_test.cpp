// heed.hpp: the same results as the C interface, from static storage, with shapes that the compiler checks.
// SPDX-License-Identifier: MIT
#include "heed/heed.hpp"

#include <cstring>
#include <type_traits>

#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/run.hpp"

namespace heed_test {
namespace {

class cpp : public kernel_test {};

TEST(cpp_status, carries_the_code) {
  const heed::status good = HEED_OK, bad = HEED_STATUS(HEED_TOO_SMALL, HEED_ARG_WORKSPACE);
  EXPECT_TRUE(good);
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.code(), HEED_STATUS(HEED_TOO_SMALL, HEED_ARG_WORKSPACE));
  EXPECT_EQ(bad.fault(), HEED_TOO_SMALL);
  EXPECT_EQ(bad.argument(), HEED_ARG_WORKSPACE);
  EXPECT_STREQ(bad.text(), heed_status_text(bad.code()));
  EXPECT_STREQ(bad.argument_text(), "workspace");
}

TEST(cpp_storage, sizes_are_constants) {
  static_assert(heed::workspace<64>::n_bytes == HEED_WORKSPACE_BYTES(64, 64), "one worker");
  static_assert(heed::workspace<64, 32, 3>::n_bytes == 3 * HEED_WORKSPACE_BYTES(64, 32), "three workers");
  static_assert(alignof(heed::workspace<5>) == HEED_ALIGNMENT, "ready to use");
  static_assert(std::is_trivially_destructible<heed::sequence<4, 3>>::value, "nothing is owned");
  static_assert(heed::sequence<4, 3>::capacity == 4 && heed::sequence<4, 3>::dim == 3, "known to the compiler");
}

TEST(cpp_storage, sequence_appends_all_rows_or_none) {
  static heed::sequence<3, 2> s;
  const float row[2] = {1, 2}, rows[2][2] = {{3, 4}, {5, 6}};
  EXPECT_EQ(s.length(), 0);
  EXPECT_TRUE(s.append(row));
  EXPECT_TRUE(s.append(rows));
  EXPECT_TRUE(s.full());
  EXPECT_EQ(s.append(row).code(), HEED_STATUS(HEED_FULL, HEED_ARG_SEQUENCE));
  EXPECT_EQ(s.length(), 3);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(s.row(i / 2)[i % 2], float(i + 1));
  const heed_matrix view = s.view();
  EXPECT_EQ(view.data, s.row(0));
  EXPECT_EQ(view.n_rows, 3);
  EXPECT_EQ(view.dim, 2);
  s.clear();
  EXPECT_EQ(s.length(), 0);
  EXPECT_EQ(s.append(heed_matrix_of(row, 1, 1)).code(), HEED_STATUS(HEED_SHAPE_MISMATCH, HEED_ARG_ROWS));
  EXPECT_EQ(s.length(), 0);
  EXPECT_TRUE(s.append(rows));
  EXPECT_EQ(s.length(), 2);
}

TEST(cpp_storage, sequence_drops_the_oldest_rows) {
  static heed::sequence<3, 2> s;
  const float row[2] = {1, 2}, rows[2][2] = {{3, 4}, {5, 6}}, more[4][2] = {{7, 8}, {9, 10}, {11, 12}, {13, 14}};
  const auto begins_with = [](float first) {
    bool same = s.full();
    for (int i = 0; i < 6; ++i) same = same && s.row(i / 2)[i % 2] == first + float(i);
    return same;
  };
  EXPECT_TRUE(s.push(row));
  EXPECT_EQ(s.length(), 1);
  EXPECT_TRUE(s.push(rows));
  EXPECT_TRUE(begins_with(1));
  EXPECT_TRUE(s.push(more[0]));
  EXPECT_TRUE(begins_with(3));
  EXPECT_TRUE(s.push(more)) << "the last ones stay";
  EXPECT_TRUE(begins_with(9));
  EXPECT_EQ(s.push(heed_matrix_of(row, 1, 1)).code(), HEED_STATUS(HEED_SHAPE_MISMATCH, HEED_ARG_ROWS));
  EXPECT_TRUE(begins_with(9));
}

// Functions of C that no C++ function wraps take arrays and objects by their views.
TEST(cpp_views, reach_the_functions_of_c) {
  static float x[3][64], y[3][64], mean[64];
  static float q[3][4][16], rotated[3][4][16];
  for (int i = 0; i < 3 * 64; i++) x[i / 64][i % 64] = q[i / 64][i / 16 % 4][i % 16] = static_cast<float>(i % 7) - 3.0f;
  const float(&constant)[3][64] = x;
  EXPECT_EQ(heed_group_norm(heed::rows(constant), nullptr, nullptr, 4, 1e-5f, heed::rows(y), nullptr), HEED_OK);
  EXPECT_EQ(heed_mean_rows(heed::rows(x), mean, nullptr), HEED_OK);
  EXPECT_EQ(heed_relu(heed::row(mean), heed_matrix(), heed::row(mean), nullptr), HEED_OK);
  heed_rope rope;
  ASSERT_EQ(heed_rope_init(&rope, HEED_ROPE_HALVES), HEED_OK);
  EXPECT_EQ(heed_rope_apply(&rope, heed::heads(q), 3, 4, 16, 1, nullptr, heed::heads(rotated), nullptr), HEED_OK);
  EXPECT_NE(std::memcmp(q, rotated, sizeof q), 0);
  static heed::cache<64, 4, 16> cache;
  ASSERT_TRUE(cache.begin());
  EXPECT_EQ(heed_cache_append(cache, 0, heed::heads(q), heed::heads(q), 3, &rope), HEED_OK);
  EXPECT_EQ(heed_cache_longest(cache), 3);
  static heed::workspace<64> scratch;
  EXPECT_EQ(heed_self_attention(heed::rows(x), HEED_SCALE_DEFAULT, heed::rows(y), scratch), HEED_OK);
  static heed::memory<HEED_PARTIAL_BYTES(1, 4, 3, 16)> floats;
  heed_partial partial;
  EXPECT_EQ(heed_partial_init(&partial, 1, 4, 3, 16, 0, floats), HEED_OK);
  static const float w[64][32] = {};
  static float projected[3][32];
  EXPECT_EQ(heed_linear(heed::rows(x), heed::in_out(w), nullptr, heed::rows(projected), nullptr), HEED_OK);

  static int8_t bytes[2][8] = {{1, 2, 3, 4, -5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, 15, 16}};
  static int16_t sums[2][8];
  EXPECT_EQ(
      heed_int_add(heed::rows(bytes), {0x40000000, 1}, heed::rows(bytes), {0x40000000, 1}, heed::rows(sums), nullptr),
      HEED_OK);
  EXPECT_EQ(sums[0][4], -10);
  EXPECT_EQ(heed_int_rescale(heed::rows(sums), {0x40000000, 0}, heed::rows(bytes, 3), nullptr), HEED_OK);
  EXPECT_EQ(bytes[1][7], 19);
  static const int16_t quarters[2][2] = {{16384, 0}, {0, 16384}};
  const heed_int_rope turns = {quarters[0], 2, 2, HEED_ROPE_HALVES};
  EXPECT_EQ(heed_int_rope_run(&turns, heed::rows(bytes, 3), 4, 0, nullptr), HEED_OK);
  EXPECT_EQ(bytes[0][5], 9);    // position 0
  EXPECT_EQ(bytes[1][4], -11);  // (13, 14) becomes (-14, 13)
  EXPECT_EQ(bytes[1][5], 16);
}

TEST_P(cpp, self_attention_of_a_sequence) {
  static heed::sequence<5, 3> x, y;
  static heed::workspace<3> scratch;
  const float words[4][3] = {{.1f, .2f, .3f}, {.4f, .5f, .6f}, {.7f, .8f, .9f}, {.2f, .1f, .4f}};
  x.clear();
  ASSERT_TRUE(x.append(words));
  ASSERT_TRUE(heed::self_attention(x, y, scratch, 0.5f));
  ASSERT_EQ(y.length(), 4);
  problem p;
  p.n_q = p.n_kv = 4, p.head_dim = p.v_dim = 3, p.scale = 0.5f;
  p.q = p.k = p.v = {words[0], words[0] + 12};
  EXPECT_TRUE(same_bits(run(p).out, {y.row(0), y.row(0) + 12}));
  EXPECT_EQ(heed::self_attention(x, x, scratch).code(), HEED_STATUS(HEED_OVERLAP, HEED_ARG_OUT));
  x.clear();
  EXPECT_EQ(heed::self_attention(x, y, scratch).code(), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_N));
  EXPECT_EQ(y.length(), 4);
}

TEST_P(cpp, attention_on_arrays) {
  static float q[5][4][6], k[9][2][6], v[9][2][3], out[5][4][3];
  static heed::workspace<6, 3> scratch;
  random_source r(1);
  problem p;
  p.n_heads = 4, p.n_kv_heads = 2, p.n_q = 5, p.n_kv = 9, p.head_dim = 6, p.v_dim = 3;
  p.causal = 1, p.causal_offset = 4, p.scale = 0.25f;
  fill_typical(r, &p);
  scatter(place(layout::token_major, 0, 1, 4, 5, 6), p.q, q[0][0]);
  scatter(place(layout::token_major, 0, 1, 2, 9, 6), p.k, k[0][0]);
  scatter(place(layout::token_major, 0, 1, 2, 9, 3), p.v, v[0][0]);
  heed::attention_options options;
  options.causal = true, options.position = 4, options.scale = 0.25f;
  ASSERT_TRUE(heed::attention(q, k, v, out, scratch, options));
  std::vector<float> expected(p.out_floats());
  scatter(place(layout::token_major, 0, 1, 4, 5, 3), run(p).out, expected.data());
  EXPECT_TRUE(same_bits(expected, {out[0][0], out[0][0] + expected.size()}));
}

HEED_TEST_EVERY_KERNEL(cpp);

}  // namespace
}  // namespace heed_test
