// Every kernel gives the bits of the scalar reference: random shapes, data, layouts, workspaces and executors.
// SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class attention_bits : public reference_test {
 protected:
  // Random shapes of the families first..last; each must give the bits of the reference.
  void compare(size_t first, size_t last, int32_t count, uint64_t seed) {
    for (int32_t i = 0; i < repetitions(count) && !HasFailure(); ++i) {
      random_source r(seed + static_cast<uint64_t>(i));
      problem p = random_shape(r, families()[first + r.next() % (last - first + 1)]);
      limit_work(200000, &p);
      fill_random(r, &p);
      const auto executor = r.chance(10) ? random_executor(r) : nullptr;
      compare_one(p, random_setting(r, p, executor.get()), seed + static_cast<uint64_t>(i));
    }
  }

  // One shape, with numbers of everyday size.
  template <typename Shape>
  void compare_typical(Shape shape, const setting &s = {}) {
    random_source r(1);
    problem p;
    shape(p);
    fill_typical(r, &p);
    compare_one(p, s, 1);
  }

  void compare_one(const problem &p, const setting &s, uint64_t seed) {
    const attention_result actual = run(p, s);
    const kernel_scope scope(reference_);
    const attention_result expected = run(p, plain_setting(p, s.weights));
    EXPECT_TRUE(same_bits(expected.out, actual.out))
        << "out, seed " << seed << ": " << p.text() << " workspace " << s.workspace_bytes;
    EXPECT_TRUE(same_bits(expected.weights, actual.weights)) << "weights, seed " << seed << ": " << p.text();
  }
};

TEST_P(attention_bits, small_shapes) { compare(0, 2, 9000, 10000); }
TEST_P(attention_bits, several_blocks_of_keys) { compare(3, 3, 400, 20000); }
TEST_P(attention_bits, more_than_1024_keys) { compare(4, 4, 200, 30000); }
TEST_P(attention_bits, wide_rows) { compare(5, 6, 200, 40000); }
TEST_P(attention_bits, full_tiles) { compare(7, 7, 100, 50000); }

// Large enough to be split over workers, by tiles or by chunks of keys.
TEST_P(attention_bits, split_over_workers) {
  int32_t n_split = 0;
  for (int32_t i = 0; i < repetitions(60) && !HasFailure(); ++i) {
    random_source r(60000 + static_cast<uint64_t>(i));
    problem p = random_shape(r, families()[r.next() % 5]);
    grow_work(r, 2100000, &p);
    fill_random(r, &p);
    const auto executor = random_executor(r);
    setting s = random_setting(r, p, executor.get());
    compare_one(p, s, 60000 + static_cast<uint64_t>(i));
    n_split += executor->most_tasks() > 1;
  }
  EXPECT_GT(n_split, repetitions(60) / 4);
}

// Keys and values of more than 128 KB, which prefill fetches a block ahead.
TEST_P(attention_bits, streams_beyond_the_nearest_cache) {
  for (const int32_t causal : {0, 1}) {
    random_source r(static_cast<uint64_t>(causal));
    problem p;
    p.n_q = 70, p.n_kv = 300, p.head_dim = 64, p.v_dim = 64, p.causal = causal, p.causal_offset = 230;
    fill_typical(r, &p);
    compare_one(p, setting(), static_cast<uint64_t>(causal));
  }
}

// Rows of more than 512 KB: each tile fetches its rows of out and the next tile's queries meanwhile.
TEST_P(attention_bits, rows_beyond_the_second_cache) {
  compare_typical([](problem &p) { p.n_q = 1030, p.n_kv = 70, p.head_dim = 64, p.v_dim = 64; });
}

// Keys and values of more than 512 KB, fetched a block ahead by the tile of few rows that meets them first; under a
// mask the last block ends where more keys follow. The workspace has no room for queries as lanes; the values' rows
// take every width of a register tile, also the one for a single row.
TEST_P(attention_bits, few_rows_over_keys_beyond_the_second_cache) {
  setting s;
  s.workspace_bytes = 2 * HEED_WORKSPACE_MIN_BYTES(16, 164);
  for (const int32_t n_q : {1, 2, 4, 8})
    for (const int32_t causal : {0, 1})
      compare_typical(
          [&](problem &p) {
            p.n_q = n_q, p.n_kv = 1210, p.head_dim = 16, p.v_dim = 164, p.causal = causal, p.causal_offset = 1004 - n_q;
          },
          s);
}

// Prefill fetches the rows of k and v of the next block at the steps of its chains; here there are more steps than
// lines.
TEST_P(attention_bits, long_keys_and_short_values_beyond_the_nearest_cache) {
  compare_typical([](problem &p) { p.n_q = 48, p.n_kv = 450, p.head_dim = 64, p.v_dim = 16; });
}

// A second block of every length: sums of keys 16 apart have up to four terms, each number of them a way of its own.
TEST_P(attention_bits, last_blocks_of_every_length) {
  for (int32_t n = 1; n <= 64; ++n)
    compare_typical([&](problem &p) { p.n_q = 20, p.n_kv = 64 + n, p.head_dim = 3, p.v_dim = 2; });
}

// The diagonal crosses the end of a chunk inside a tile: some of its rows see keys of the second chunk, some none.
TEST_P(attention_bits, diagonal_across_the_end_of_a_chunk) {
  for (const int32_t n_q : {3, 7, 20, 50})
    for (const int32_t first : {1010, 1022, 1023})
      compare_typical([&](problem &p) {
        p.n_q = n_q, p.n_kv = 1100, p.head_dim = 5, p.v_dim = 7, p.causal = 1, p.causal_offset = first;
      });
}

// Fewer tiles than workers: keys are split by chunks, where there are several and the last row sees more than one.
TEST_P(attention_bits, fewer_tiles_than_workers) {
  struct {
    int32_t n_q, n_kv, dim, causal, most_tasks;
  } const cases[] = {{8, 1000, 128, 0, 0}, {30, 1100, 64, 1, 0}, {4, 4100, 64, 0, 5}};
  for (const auto &c : cases) {
    reverse_executor executor(8);
    setting s;
    s.executor = executor.get();
    s.workspace_bytes = 8 * HEED_WORKSPACE_BYTES(128, 128);
    compare_typical(
        [&](problem &p) { p.n_q = c.n_q, p.n_kv = c.n_kv, p.head_dim = p.v_dim = c.dim, p.causal = c.causal; }, s);
    EXPECT_EQ(executor.most_tasks(), c.most_tasks) << c.n_q << " queries";
  }
}

// Dimensions beyond the families: one row of 4097 floats, and one of HEED_MAX_DIM.
TEST_P(attention_bits, widest_rows) {
  for (const int32_t dim : {1025, 4097, HEED_MAX_DIM}) {
    random_source r(static_cast<uint64_t>(dim));
    problem p;
    p.n_q = 2, p.n_kv = 3, p.head_dim = dim, p.v_dim = dim;
    fill_typical(r, &p);
    const attention_result actual = run(p);
    const kernel_scope scope(reference_of(GetParam()));
    EXPECT_TRUE(same_bits(run(p, plain_setting(p, false)).out, actual.out)) << p.text();
  }
}

HEED_TEST_EVERY_KERNEL(attention_bits);

}  // namespace
}  // namespace heed_test
