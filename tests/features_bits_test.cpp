// Every feature of options.h, alone and with others: every kernel gives the bits of the scalar reference, whatever the
// layout, workspace, executor and split of the keys, and the reference is within the stated bounds of the oracle.
// SPDX-License-Identifier: MIT
#include "support/compare.hpp"
#include "support/data.hpp"
#include "support/judge.hpp"
#include "support/kernels.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class features_bits : public reference_test {
 protected:
  // Random shapes of the families first..last with random features.
  void compare(size_t first, size_t last, int32_t count, uint64_t seed) {
    for (int32_t i = 0; i < repetitions(count) && !HasFailure(); ++i) {
      random_source r(seed + static_cast<uint64_t>(i));
      problem p = shape(r, first, last);
      draw_features(r, &p);
      compare_problem(r, &p, seed + static_cast<uint64_t>(i));
    }
  }
  static problem shape(random_source &r, size_t first, size_t last) {
    problem p = random_shape(r, families()[first + r.next() % (last - first + 1)]);
    limit_work(20000, &p);
    return p;
  }

  // Two of the ways to run it.
  void compare_problem(random_source &r, problem *p, uint64_t seed) {
    const bool failed = HasFailure();
    fill_random(r, p);
    const attention_result expected = reference(*p);
    for (int32_t way = 0; way < 2; ++way) {
      const auto executor = r.chance(10) ? random_executor(r) : nullptr;
      compare_one(*p, random_setting(r, *p, executor.get()), expected, seed);
    }
    if (GetParam() == reference_) judge_attention(*p, expected, chain_factor());
    if (HasFailure() && !failed) ADD_FAILURE() << "seed " << seed << ": " << p->text();
  }
  attention_result reference(const problem &p) const {
    const kernel_scope scope(reference_);
    return run(p, plain_setting(p, false));
  }
  void compare_one(const problem &p, const setting &s, const attention_result &expected, uint64_t seed) {
    RecordProperty("combinations", ++n_combinations_);
    EXPECT_TRUE(same_results(expected, run(p, s)))
        << "seed " << seed << ": " << p.text() << " workspace " << s.workspace_bytes
        << (s.keys == keys_in::calls           ? ", partial results handed on"
            : s.keys == keys_in::merged_chunks ? ", partial results merged"
                                               : "");
  }

 private:
  int n_combinations_ = 0;
};

TEST_P(features_bits, small_shapes) { compare(0, 2, 5000, 300000); }
TEST_P(features_bits, several_blocks_of_keys) { compare(3, 3, 800, 310000); }
TEST_P(features_bits, more_than_1024_keys) { compare(4, 4, 400, 320000); }
TEST_P(features_bits, wide_rows) { compare(5, 6, 150, 330000); }
TEST_P(features_bits, full_tiles) { compare(7, 7, 200, 340000); }

// Each feature of the table alone, and each pair, over few and over many keys.
TEST_P(features_bits, every_pair) {
  const std::vector<feature> &all = features();
  uint64_t seed = 350000;
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = i; j < all.size() && !HasFailure(); ++j, ++seed) {
      random_source r(seed);
      if (!r.chance(std::max(repetitions(100), 10))) continue;
      problem p = shape(r, 0, 4);
      p.causal = 0, p.causal_offset = 0;
      all[i].draw(r, &p), all[j].draw(r, &p);
      settle(&p);
      compare_problem(r, &p, seed);
    }
}

// Large enough to be split over workers, by tiles or by chunks of keys.
TEST_P(features_bits, split_over_workers) {
  int32_t n_split = 0;
  const int32_t count = repetitions(60);
  for (int32_t i = 0; i < count && !HasFailure(); ++i) {
    const uint64_t seed = 360000 + static_cast<uint64_t>(i);
    random_source r(seed);
    problem p = random_shape(r, families()[r.next() % 5]);
    grow_work(r, 2100000, &p);
    draw_features(r, &p);
    fill_random(r, &p);
    const auto executor = random_executor(r);
    compare_one(p, random_setting(r, p, executor.get()), reference(p), seed);
    n_split += executor->most_tasks() > 1;
  }
  EXPECT_GE(n_split, count / 8);
}

// Windows and lengths that end around the boundaries of blocks and chunks, for tiles of every kind.
TEST_P(features_bits, ranges_across_blocks_and_chunks) {
  uint64_t seed = 370000;
  for (const int32_t n_q : {1, 3, 20, 50})
    for (const int32_t around : {64, 1024, 1088})
      for (const int32_t window : {0, 1, 40, 64, 100}) {
        random_source r(++seed);
        if (HasFailure() || !r.chance(std::max(repetitions(100), 10))) continue;
        problem p;
        p.n_q = n_q, p.n_kv = around + 70, p.head_dim = 5, p.v_dim = 7;
        p.causal_offset = around + r.between(-n_q, 2);
        p.options.ranges = p.options.lse = true;
        p.options.left_window = window, p.options.right_window = r.chance(50) ? 0 : window;
        if (r.chance(30)) p.options.kv_lengths = {around + r.between(-1, 1)};
        if (r.chance(30)) draw_boolean_mask(r, &p);
        p.options.partial = r.chance(50);
        compare_problem(r, &p, seed);
      }
}

HEED_TEST_EVERY_KERNEL(features_bits);

}  // namespace
}  // namespace heed_test
