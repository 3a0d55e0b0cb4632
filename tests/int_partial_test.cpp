// States of rows of attention in integers are a commutative monoid: any split at blocks, any order, any grouping.
// SPDX-License-Identifier: MIT
#include "support/integers.hpp"

namespace heed_test {
namespace {

class int_partial : public int_kernel_test {};

// A part of a call: its keys [begin, end).
heed_int_attention part_of(const int_problem &p, int32_t begin, int32_t end, std::vector<int32_t> &lengths,
                           heed_memory partial) {
  heed_int_attention part = p.call;
  part.n_kv = end - begin;
  const int64_t position = static_cast<int64_t>(part.position) - begin;
  part.position = static_cast<int32_t>(position);
  part.k.data += begin * part.k.row_stride;
  part.v.data += begin * part.v.row_stride;
  if (part.mask.data) part.mask.data += begin;
  if (part.kv_lengths) {
    lengths.clear();
    for (int32_t length : p.lengths) lengths.push_back(std::min(std::max(length - begin, 0), part.n_kv));
    part.kv_lengths = lengths.data();
  }
  part.partial = partial;
  part.out.data = nullptr;  // nothing of it is used
  part.lse = nullptr;
  return part;
}

TEST_P(int_partial, any_split_gives_the_bits_of_the_whole) {
  for (int32_t i = 0; i < repetitions(150) && !HasFailure(); ++i) {
    random_source random(static_cast<uint64_t>(i) + 1000);
    int_problem p;
    int_limits limits;
    limits.n_kv = 2000;
    limits.n_q = 9;
    draw(random, p, limits);
    const std::vector<unsigned char> before = p.out;
    ASSERT_EQ(heed_int_attention_run(&p.call), HEED_OK);
    const std::vector<unsigned char> whole = p.out;
    const std::vector<int32_t> lse = p.lse;
    p.out = before;  // same size: call.out.data stays
    p.call.out.data = p.out.data();
    const size_t bytes = p.n_rows() * HEED_INT_PARTIAL_ROW_BYTES(p.call.v_dim);
    const int32_t n_rows = static_cast<int32_t>(p.n_rows()), n_blocks = (p.call.n_kv + 255) / 256;
    aligned_bytes memory[3] = {aligned_bytes(bytes), aligned_bytes(bytes), aligned_bytes(bytes)};
    for (aligned_bytes &each : memory) ASSERT_EQ(heed_int_partial_clear(n_rows, p.call.v_dim, each.get()), HEED_OK);
    std::vector<std::pair<int32_t, int32_t>> parts;
    for (int32_t b = 0; b < n_blocks;) {
      const int32_t end = random.between(b + 1, n_blocks);
      parts.push_back({b * 256, std::min(end * 256, p.call.n_kv)});
      b = end;
    }
    std::vector<int32_t> lengths;
    while (!parts.empty()) {
      const size_t which = random.below(static_cast<uint32_t>(parts.size()));
      const heed_int_attention part =
          part_of(p, parts[which].first, parts[which].second, lengths, memory[random.below(3)].get());
      ASSERT_EQ(heed_int_attention_run(&part), HEED_OK);
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(which));
    }
    const int32_t last = random.between(0, 2);
    for (int32_t j = 1; j < 3; ++j)
      ASSERT_EQ(heed_int_partial_merge(n_rows, p.call.v_dim, memory[last].get(), memory[(last + j) % 3].get()),
                HEED_OK);
    p.call.partial = memory[last].get();
    for (int twice = 0; twice < 2; ++twice) {  // a partial stays as it is
      ASSERT_EQ(heed_int_partial_finish(&p.call), HEED_OK);
      EXPECT_EQ(p.out, whole) << i;
      EXPECT_EQ(p.lse, lse) << i;
    }
    for (aligned_bytes &each : memory) EXPECT_TRUE(each.is_whole());
  }
}

// Blocks of all octaves, near each other and far apart.
TEST_P(int_partial, ten_thousand_orders_and_groupings) {
  constexpr int32_t n_blocks = 14, n_q = 3, dim = 8, v_dim = 5, n_kv = n_blocks * 256;
  random_source random(3);
  std::vector<int8_t> q(n_q * dim), k(n_kv * dim), v(n_kv * v_dim);
  for (int8_t &x : q) x = static_cast<int8_t>(random.between(-128, 127));
  for (int8_t &x : v) x = static_cast<int8_t>(random.between(-128, 127));
  for (int32_t b = 0; b < n_blocks; ++b)
    for (int32_t j = 0; j < 256 * dim; ++j)  // each block has scores of a size of its own
      k[static_cast<size_t>(b * 256 * dim + j)] = static_cast<int8_t>(random.between(-128, 127) >> (b % 7));
  aligned_bytes workspace(HEED_INT_WORKSPACE_BYTES(dim, v_dim));
  std::vector<int16_t> out(n_q * v_dim), first;
  heed_int_attention call = heed_int_attention_of(q.data(), k.data(), v.data(), n_q, n_kv, 1, 1, dim,
                                                  reinterpret_cast<int8_t *>(out.data()), workspace.get());
  call.v_dim = v_dim;
  call.v.row_stride = call.out.row_stride = v_dim;
  call.out.dtype = HEED_INT16;
  call.score = {0x60000000, -8};  // up to some 400 octaves
  call.value = {0x50000000, 7};
  ASSERT_EQ(heed_int_attention_run(&call), HEED_OK);
  first = out;
  const size_t bytes = n_q * HEED_INT_PARTIAL_ROW_BYTES(v_dim);
  std::vector<aligned_bytes> blocks(n_blocks, aligned_bytes(bytes));
  const auto clear = [&](aligned_bytes &m) { ASSERT_EQ(heed_int_partial_clear(n_q, v_dim, m.get()), HEED_OK); };
  for (int32_t b = 0; b < n_blocks; ++b) {
    clear(blocks[static_cast<size_t>(b)]);
    heed_int_attention part = call;
    part.n_kv = 256;
    part.k.data += b * 256 * dim;
    part.v.data += b * 256 * v_dim;
    part.partial = blocks[static_cast<size_t>(b)].get();
    ASSERT_EQ(heed_int_attention_run(&part), HEED_OK);
  }
  std::vector<unsigned char> state;
  aligned_bytes groups[4] = {aligned_bytes(bytes), aligned_bytes(bytes), aligned_bytes(bytes), aligned_bytes(bytes)};
  for (int32_t trial = 0; trial < repetitions(10000) && !HasFailure(); ++trial) {
    for (aligned_bytes &each : groups) clear(each);
    std::vector<int32_t> order(n_blocks);
    for (int32_t b = 0; b < n_blocks; ++b) order[static_cast<size_t>(b)] = b;
    for (int32_t b = n_blocks - 1; b > 0; --b)
      std::swap(order[static_cast<size_t>(b)], order[random.below(static_cast<uint32_t>(b + 1))]);
    for (int32_t b : order)
      heed_int_partial_merge(n_q, v_dim, groups[random.below(4)].get(), blocks[static_cast<size_t>(b)].get());
    const uint32_t from = random.below(4);
    for (uint32_t j = 1; j < 4; ++j)
      heed_int_partial_merge(n_q, v_dim, groups[from].get(), groups[(from + j) % 4].get());
    const unsigned char *data = static_cast<const unsigned char *>(groups[from].get().data);
    if (trial == 0) state.assign(data, data + bytes);
    EXPECT_EQ(std::memcmp(state.data(), data, bytes), 0) << trial;
  }
  call.partial = groups[0].get();
  std::memcpy(call.partial.data, state.data(), bytes);
  ASSERT_EQ(heed_int_partial_finish(&call), HEED_OK);
  EXPECT_EQ(out, first);
}

TEST_P(int_partial, a_row_that_has_seen_nothing_is_the_zero_point) {
  aligned_bytes memory(2 * HEED_INT_PARTIAL_ROW_BYTES(3));
  int8_t out[6] = {9, 9, 9, 9, 9, 9};
  int32_t lse[2] = {1, 1}, sink = -2048 * 3;
  heed_int_attention call = heed_int_attention_of(nullptr, nullptr, nullptr, 2, 1, 1, 1, 3, out, {nullptr, 0});
  call.out.zero_point = -5;
  call.v.zero_point = 100;
  call.value = heed_multiplier_of(1);
  call.partial = memory.get();
  call.lse = lse;
  ASSERT_EQ(heed_int_partial_clear(2, 3, memory.get()), HEED_OK);
  ASSERT_EQ(heed_int_partial_finish(&call), HEED_OK);
  for (int8_t x : out) EXPECT_EQ(x, -5);
  EXPECT_EQ(lse[0], INT32_MIN);
  call.sinks = &sink;  // it has a logit then, and no value
  ASSERT_EQ(heed_int_partial_finish(&call), HEED_OK);
  for (int8_t x : out) EXPECT_EQ(x, -5);
  EXPECT_NEAR(lse[1], sink, 3);
}

HEED_TEST_EVERY_INT_KERNEL(int_partial);

}  // namespace
}  // namespace heed_test
