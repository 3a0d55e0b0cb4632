// Narrow queries, keys, values and results: the bits of the f32 call on the widened numbers, in every combination of
// formats, options, layouts, workspaces, executors and splits of the keys, on every kernel. SPDX-License-Identifier:
// MIT
#include "support/cached_runs.hpp"
#include "support/data.hpp"
#include "support/kernels.hpp"
#include "support/narrow_tensors.hpp"

namespace heed_test {
namespace {

class narrow_bits : public reference_or_self_test {
 protected:
  // The same call in f32, by the reference.
  attention_result in_f32(const problem &p) const {
    const kernel_scope scope(reference_);
    return run(p, plain_setting(p, p.options.weights));
  }
  void compare(problem p, const narrow_formats &formats, const setting &s) {
    const narrow_problem numbers(&p, formats);
    const attention_result expected = numbers.rounded(in_f32(p), p.v_dim);
    EXPECT_TRUE(same_results(expected, run_narrow(p, s, numbers)))
        << p.text() << formats.text() << " workspace " << s.workspace_bytes;
  }
  void compare_shapes(size_t first, size_t last, int32_t count, uint64_t seed) {
    for (int32_t i = 0; i < repetitions(count) && !HasFailure(); ++i) {
      random_source r(seed + static_cast<uint64_t>(i));
      problem p = random_shape(r, families()[first + r.next() % (last - first + 1)]);
      limit_work(20000, &p);
      if (r.chance(70)) draw_features(r, &p);
      fill_random(r, &p);
      const auto executor = r.chance(10) ? random_executor(r) : nullptr;
      compare(p, random_formats(r, p), random_setting(r, p, executor.get()));
      if (HasFailure()) ADD_FAILURE() << "seed " << seed + static_cast<uint64_t>(i);
    }
  }
};

TEST_P(narrow_bits, small_shapes) { compare_shapes(0, 2, 4000, 810000); }
TEST_P(narrow_bits, several_blocks_of_keys) { compare_shapes(3, 3, 800, 820000); }
TEST_P(narrow_bits, more_than_1024_keys) { compare_shapes(4, 4, 400, 830000); }
TEST_P(narrow_bits, wide_rows) { compare_shapes(5, 6, 200, 840000); }
TEST_P(narrow_bits, full_tiles) { compare_shapes(7, 7, 300, 850000); }

// Each combination of formats, of few rows and of many, over one chunk of keys and two.
TEST_P(narrow_bits, every_combination_of_formats) {
  for (int32_t i = 0; i < 5 * 5 * 5 * 4 && !HasFailure(); ++i) {
    random_source r(860000 + static_cast<uint64_t>(i));
    if (!r.chance(std::max(repetitions(100), 10))) continue;
    const narrow_formats formats = {i % 5 - 1, i / 5 % 5 - 1, i / 25 % 5 - 1, i / 125 - 1};
    for (const int32_t n_q : {1, 50})
      for (const int32_t n_kv : {70, 1090}) {
        problem p;
        p.n_q = n_q, p.n_kv = n_kv, p.head_dim = r.size(1, 20), p.v_dim = r.size(1, 20), p.causal = r.chance(50);
        p.n_heads = r.between(1, 3), p.causal_offset = n_kv - n_q;
        fill_typical(r, &p);
        compare(p, formats, random_setting(r, p, nullptr));
      }
  }
}

// No workspace that is large enough for the minimum is too small, although queries may be wider than all of it.
TEST_P(narrow_bits, queries_wider_than_the_workspace) {
  for (int32_t i = 0; i < std::max(repetitions(60), 20) && !HasFailure(); ++i) {
    random_source r(870000 + static_cast<uint64_t>(i));
    problem p;
    p.head_dim = r.between(200, 1500), p.v_dim = r.between(1, 9);
    p.n_q = r.between(1, 5), p.n_heads = 1 + i % 2, p.n_kv = i % 10 == 0 ? 1030 : r.size(1, 70);
    if (p.n_kv > 1000) p.n_q = 1, p.head_dim = 300;
    if (r.chance(50)) draw_features(r, &p);
    fill_random(r, &p);
    setting s = random_setting(r, p, nullptr);
    s.workspace_bytes = heed_workspace_min_bytes(p.head_dim, p.v_dim) + (r.chance(50) ? 0 : r.next() % 4000);
    compare(p, random_formats(r, p), s);
  }
}

// Large enough to be split over workers, by tiles or by chunks of keys.
TEST_P(narrow_bits, split_over_workers) {
  int32_t n_split = 0;
  const int32_t count = repetitions(50);
  for (int32_t i = 0; i < count && !HasFailure(); ++i) {
    random_source r(880000 + static_cast<uint64_t>(i));
    problem p = random_shape(r, families()[r.next() % 5]);
    grow_work(r, 2100000, &p);
    if (r.chance(50)) draw_features(r, &p);
    fill_random(r, &p);
    const auto executor = random_executor(r);
    compare(p, random_formats(r, p), random_setting(r, p, executor.get()));
    n_split += executor->most_tasks() > 1;
  }
  EXPECT_GE(n_split, count / 8);
}

// Few rows and so many keys that workers take chunks of them.
TEST_P(narrow_bits, chunks_spread_over_workers) {
  for (int32_t i = 0; i < 8 && !HasFailure(); ++i) {
    random_source r(885000 + static_cast<uint64_t>(i));
    problem p;
    p.n_q = i % 2 ? 4 : 20, p.n_kv = 4500, p.head_dim = p.v_dim = 60;
    fill_typical(r, &p);
    reverse_executor executor(i < 4 ? 3 : 7);
    setting s;
    s.executor = executor.get();
    s.workspace_bytes = size_t(executor.get()->n_workers) * heed_workspace_bytes(p.head_dim, p.v_dim);
    compare(p, {r.between(HEED_F16, HEED_INT8), random_formats(r, p).k, random_formats(r, p).v, i % 3}, s);
    EXPECT_GT(executor.most_tasks(), 1);
  }
}

// Keys and values from a cache, which may have lost some behind its pinned ones; queries and result narrow.
TEST_P(narrow_bits, with_a_cache) {
  for (int32_t i = 0; i < repetitions(200) && !HasFailure(); ++i) {
    random_source r(890000 + static_cast<uint64_t>(i));
    const int32_t n = i % 10 == 9 ? 1100 : r.between(1, 150);
    heed_cache_shape s =
        cache_shape(HEED_CACHE_LINEAR, n, r.between(1, 2), r.size(1, 40), r.size(1, 40), r.between(0, 3));
    if (i % 3 == 2) s.kind = HEED_CACHE_RING, s.capacity = 2 * n / 3 + 1, s.pinned = r.between(0, 3), s.spare = 40;
    const cache_memory memory(slot_cache, s, false);
    heed_cache cache;
    ASSERT_EQ(heed_cache_init(&cache, &s, memory.all()), HEED_OK);
    cache_model model(1, sequence_model(s));
    for (int32_t left = n, some; left > 0; left -= some) {
      some = std::min(left, s.kind == HEED_CACHE_RING ? 40 : n);
      const tokens t = random_tokens(r, s, some);
      ASSERT_EQ(append(&cache, 0, t), HEED_OK);
      model[0].append(t, nullptr);
    }
    problem p = problem_over(s, model, r.between(1, 3), r.between(1, 40), n);
    p.q = bell_floats(r, p.q_floats()), p.causal = 1;
    narrow_formats formats = random_formats(r, p);
    formats.k = formats.v = own;
    const narrow_problem numbers(&p, formats);
    const attention_result expected = numbers.rounded(in_f32(as_tensors(p, s, model)), p.v_dim);
    setting with = random_setting(r, p, nullptr);
    with.weights = false;
    EXPECT_TRUE(same_results(expected, run_narrow(p, with, numbers, &cache)))
        << text_of(s) << p.text() << formats.text() << " workspace " << with.workspace_bytes;
  }
}

HEED_TEST_EVERY_KERNEL(narrow_bits);

}  // namespace
}  // namespace heed_test
