// Partial results: however the keys of a context are divided, the bits of one call. SPDX-License-Identifier: MIT
#include "support/data.hpp"
#include "support/judge.hpp"
#include "support/kernels.hpp"
#include "support/settings.hpp"

namespace heed_test {
namespace {

class features_partial : public kernel_test {
 protected:
  // Three chunks and a bit, with features; what partial results go without is not asked for.
  static problem long_context(uint64_t seed, int32_t n_kv) {
    random_source r(seed);
    problem p;
    p.n_heads = 2, p.n_q = r.between(1, 5), p.n_kv = n_kv, p.head_dim = 4, p.v_dim = r.between(1, 9);
    draw_features(r, &p);
    p.options.partial = p.options.lse = true;
    settle(&p);
    fill_typical(r, &p);
    return p;
  }
  static placed_partial merged_chunk(placed_call *placed, const problem &p, slot which, int32_t first) {
    placed_partial part(p, which, first);
    EXPECT_TRUE(add_keys(placed, first, std::min(p.n_kv, first + 1024), &part.partial));
    return part;
  }
};

// Every way to cut three chunks and a bit.
TEST_P(features_partial, every_division) {
  for (uint64_t seed = 700000; seed < 700000 + uint64_t(repetitions(12)) && !HasFailure(); ++seed) {
    const problem p = long_context(seed, 3072 + static_cast<int32_t>(seed % 7) * 100);
    const attention_result expected = run(p, plain_setting(p, false));
    setting s;
    for (int32_t cuts = 0; cuts < 8; ++cuts) {
      s.keys = keys_in::calls;
      s.splits.clear();
      for (int32_t c = 0; c < 3; ++c)
        if (cuts >> c & 1 && 1024 * (c + 1) < p.n_kv) s.splits.push_back(1024 * (c + 1));
      EXPECT_TRUE(same_results(expected, run(p, s))) << "cuts " << cuts << ": " << p.text();
    }
    s.keys = keys_in::merged_chunks;
    EXPECT_TRUE(same_results(expected, run(p, s))) << "merged: " << p.text();
  }
}

// Machines of one arithmetic have different kernels.
TEST_P(features_partial, pieces_on_different_kernels) {
  const std::string reference = reference_of(GetParam());
  if (reference.empty()) GTEST_SKIP() << "a build with one fixed kernel has no scalar reference";
  const problem p = long_context(710000, 2500);
  const attention_result expected = run(p, plain_setting(p, false));
  placed_call placed(p, {});
  placed_partial total(p, slot_partial, 0);
  for (const int32_t end : {1024, 2048, 2500}) {
    const kernel_scope scope(end == 2048 ? reference : GetParam());
    EXPECT_TRUE(add_keys(&placed, total.partial.n_keys, end, &total.partial));
  }
  const kernel_scope scope(reference);
  ASSERT_EQ(heed_partial_finish(&total.partial, placed.options.sinks(), placed.call.out, placed.options.lse()),
            HEED_OK);
  EXPECT_TRUE(same_results(expected, placed.result()));
}

// One chunk goes on where another partial ends, whether that was merged or handed on.
TEST_P(features_partial, merged_and_handed_on) {
  const problem p = long_context(720000, 3100);
  const attention_result expected = run(p, plain_setting(p, false));
  placed_call placed(p, {});
  placed_partial total = merged_chunk(&placed, p, slot_partial, 0);  // in place of an empty one
  placed_partial part = merged_chunk(&placed, p, slot_part, 1024);
  ASSERT_EQ(heed_partial_merge(&total.partial, &part.partial), HEED_OK);
  EXPECT_EQ(total.partial.first_key, 0);
  EXPECT_EQ(total.partial.n_keys, 2048);
  EXPECT_TRUE(add_keys(&placed, 2048, 3072, &total.partial));
  part = merged_chunk(&placed, p, slot_part, 3072);
  ASSERT_EQ(heed_partial_merge(&total.partial, &part.partial), HEED_OK);
  ASSERT_EQ(heed_partial_finish(&total.partial, placed.options.sinks(), placed.call.out, placed.options.lse()),
            HEED_OK);
  EXPECT_TRUE(same_results(expected, placed.result()));
}

// What a window hides from all queries need not be there: a partial may begin at any chunk.
TEST_P(features_partial, begins_where_the_window_does) {
  random_source r(730000);
  problem p;
  p.n_q = 3, p.n_kv = 3000, p.head_dim = 5, p.v_dim = 6, p.causal = 1, p.causal_offset = 2990;
  p.options.ranges = p.options.lse = true, p.options.left_window = 1500;
  p.options.slopes = {0.125f};
  fill_typical(r, &p);
  const attention_result expected = run(p, plain_setting(p, false));
  placed_call placed(p, {});
  placed_partial total(p, slot_partial, 1024);
  EXPECT_TRUE(add_keys(&placed, 1024, 2048, &total.partial));
  EXPECT_TRUE(add_keys(&placed, 2048, 3000, &total.partial));
  ASSERT_EQ(heed_partial_finish(&total.partial, nullptr, placed.call.out, placed.options.lse()), HEED_OK);
  EXPECT_TRUE(same_results(expected, placed.result()));
}

// Nothing added yet: rows that see nothing.
TEST_P(features_partial, empty) {
  problem p;
  p.batch = 2, p.n_heads = 3, p.n_q = 4, p.v_dim = 5;
  random_source r(1);
  p.options.sinks = p.options.lse = true;
  p.options.sink_logits = {1, -2, -infinity};
  fill_typical(r, &p);
  const placed_call placed(p, {});
  const placed_partial partial(p, slot_partial, 2048);
  const size_t rows = size_t{2} * 3 * 4, n = partial_floats(p);
  const heed_partial &x = partial.partial;
  EXPECT_EQ(x.first_key, 2048);
  EXPECT_EQ(x.n_keys, 0);
  EXPECT_EQ(std::vector<float>(x.data, x.data + rows), std::vector<float>(rows, -infinity));
  EXPECT_TRUE(same_bits(std::vector<float>(n - rows, 0.0f), {x.data + rows, x.data + n}));
  ASSERT_EQ(heed_partial_finish(&x, nullptr, placed.call.out, placed.options.lse()), HEED_OK);
  const attention_result without = placed.result();
  EXPECT_TRUE(same_bits(std::vector<float>(rows * 5, 0.0f), without.out));
  EXPECT_EQ(without.lse, std::vector<float>(rows, -infinity));
  ASSERT_EQ(heed_partial_finish(&x, placed.options.sinks(), placed.call.out, placed.options.lse()), HEED_OK);
  const attention_result with = placed.result();
  EXPECT_TRUE(same_bits(std::vector<float>(rows * 5, 0.0f), with.out));
  for (size_t i = 0; i < rows; ++i) {
    const float sink = p.options.sink_logits[i / 4 % 3];
    if (sink == -infinity) {
      EXPECT_EQ(with.lse[i], sink);
    } else {
      EXPECT_NEAR(with.lse[i], sink, 5e-7);
    }
  }
}

// What the header says the three are: maximum in base 2, sum, and sum of values.
TEST_P(features_partial, numbers_of_a_partial) {
  const problem p = long_context(740000, 900);
  placed_call placed(p, {});
  const placed_partial partial = merged_chunk(&placed, p, slot_partial, 0);
  const size_t rows = size_t(p.n_heads) * p.n_q;
  for (size_t row = 0; row < rows; ++row) {
    const exact_row exact = exact_attention_row(p, 0, int32_t(row) / p.n_q, int32_t(row) % p.n_q, chain_factor());
    const float m = partial.partial.data[row], l = partial.partial.data[rows + row];
    if (!has_bounds(exact) || exact.has_sink) continue;
    if (exact.n_visible == 0) {
      EXPECT_EQ(m, -infinity);
      EXPECT_EQ(l, 0);
      continue;
    }
    const double highest = *std::max_element(exact.scores[2].begin(), exact.scores[2].end());
    judge_error(m * std::log(2.0), highest, exact.logit_error + 0x1p-22 * std::fabs(highest), "m");
    judge_error((m + std::log2(l)) * std::log(2.0), exact.lse, lse_bound(exact) + 0x1p-21, "l");
    for (size_t n = 0; n < size_t(p.v_dim); ++n)
      judge_error(partial.partial.data[2 * rows + row * size_t(p.v_dim) + n] / l, exact.out[n],
                  attention_bound(exact, chain_factor()), "acc");
  }
}

// Scores that are zeros of both signs, in any order: the bits of a partial are the same on every kernel.
TEST_P(features_partial, a_maximum_of_zero_is_positive) {
  constexpr int32_t n_q = 37, n_kv = 70, dim = 3;
  random_source r(750000);
  const std::vector<float> q(n_q * dim, 0.0f), k = bell_floats(r, n_kv * dim);
  std::vector<float> mask(n_q * n_kv), data(HEED_PARTIAL_BYTES(1, 1, n_q, dim) / sizeof(float));
  for (float &x : mask) x = r.chance(50) ? 0.0f : -0.0f;
  HEED_MEMORY(workspace, HEED_WORKSPACE_BYTES(dim, dim));
  for (const int32_t n : {1, 5, n_q}) {
    heed_mask zeros;
    heed_partial partial;
    ASSERT_EQ(heed_mask_init_additive(&zeros, mask.data(), n_kv, 0, 0, n_kv), HEED_OK);
    const heed_memory memory = heed_memory_of(data.data(), data.size() * sizeof(float));
    ASSERT_EQ(heed_partial_init(&partial, 1, 1, n, dim, 0, memory), HEED_OK);
    heed_options options = heed_options_default();
    options.mask = &zeros, options.partial = &partial;
    heed_attention call = heed_attention_of(q.data(), k.data(), k.data(), n, n_kv, 1, 1, dim, nullptr, workspace);
    call.scale = -1, call.options = &options;
    ASSERT_EQ(heed_attention_run(&call), HEED_OK);
    for (int32_t i = 0; i < n; ++i) {
      EXPECT_EQ(bits_of(data[size_t(i)]), 0u) << "m of query " << i;
      EXPECT_EQ(data[size_t(n + i)], 70.0f) << "l of query " << i;
    }
  }
}

HEED_TEST_EVERY_KERNEL(features_partial);

}  // namespace
}  // namespace heed_test
