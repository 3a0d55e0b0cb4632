// Every kernel gives the bits of the scalar reference: random shapes, data, layouts, workspaces and executors.
// SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class attention_bits : public kernel_test {
 protected:
  void SetUp() override {
    kernel_test::SetUp();
    reference_ = reference_of(GetParam());
    if (reference_.empty()) GTEST_SKIP() << "a build with one fixed kernel has no scalar reference";
  }

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

  void compare_one(const problem &p, const setting &s, uint64_t seed) {
    const attention_result actual = run(p, s);
    const kernel_scope scope(reference_);
    const attention_result expected = run(p, plain_setting(p, s.weights));
    EXPECT_TRUE(same_bits(expected.out, actual.out))
        << "out, seed " << seed << ": " << p.text() << " workspace " << s.workspace_bytes;
    EXPECT_TRUE(same_bits(expected.weights, actual.weights)) << "weights, seed " << seed << ": " << p.text();
  }

 private:
  std::string reference_;
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
