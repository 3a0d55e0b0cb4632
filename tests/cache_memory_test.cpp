// What a cache reads and writes: nothing of slots without tokens, nothing beside the buffer and the new tokens, nothing
// at all while it is read. SPDX-License-Identifier: MIT
#include "support/cached_runs.hpp"
#include "support/data.hpp"

namespace heed_test {
namespace {

class cache_bytes : public kernel_test {
 protected:
  // A life that wraps, goes back and begins anew, in memory that was full of `fill`.
  struct life {
    std::vector<unsigned char> bytes;
    attention_result result;
  };
  static life live(const heed_cache_shape &s, unsigned char fill, bool at_the_front, uint64_t seed) {
    random_source r(seed);
    const cache_memory memory(slot_cache, s, at_the_front);
    std::memset(memory.data(), fill, memory.count());
    heed_cache cache;
    EXPECT_EQ(status_name(heed_cache_init(&cache, &s, memory.all())), "HEED_OK");
    cache_model model(size_t(s.n_sequences), sequence_model(s));
    for (int32_t i = 0; i < s.n_sequences; ++i)
      for (int32_t n = 0; n < (s.kind == HEED_CACHE_RING ? 6 : 2); ++n) {
        const tokens t = random_tokens(r, s, r.between(1, s.capacity / 2));
        EXPECT_EQ(status_name(append(&cache, i, t)), "HEED_OK");
        model[size_t(i)].append(t, nullptr);
        if (r.chance(70)) continue;
        const int32_t left = model[size_t(i)].length() - r.between(0, s.spare);
        if (left < 0 || heed_cache_truncate(&cache, i, left) != HEED_OK) continue;
        model[size_t(i)].truncate(left);
      }
    problem p = problem_over(s, model, 2, s.spare + 1, longest(model));
    p.q = bell_floats(r, p.q_floats()), p.causal = 1;
    p.options.lse = p.options.column_sums = p.options.weights = true;
    life l = {memory.copy(), {}};
    EXPECT_EQ(mprotect(region_of(slot_cache).begin, size_t(region_of(slot_cache).end - region_of(slot_cache).begin),
                       PROT_READ),
              0);
    l.result = run_cached(p, {}, &cache, true).result;
    EXPECT_EQ(mprotect(region_of(slot_cache).begin, size_t(region_of(slot_cache).end - region_of(slot_cache).begin),
                       PROT_READ | PROT_WRITE),
              0);
    EXPECT_TRUE(memory.holds(l.bytes));
    EXPECT_TRUE(memory.guard_intact());
    return l;
  }
  static heed_cache_shape random_shape(random_source &r, int32_t dtype) {
    const bool ring = r.chance(60);
    return cache_shape(ring ? HEED_CACHE_RING : HEED_CACHE_LINEAR, r.between(2, 130), r.between(1, 2), r.size(1, 40),
                       r.size(1, 40), dtype, ring ? r.between(0, 5) : 0, ring ? r.between(0, 9) : 0, r.between(1, 2));
  }
};

TEST_P(cache_bytes, slots_without_tokens_are_neither_read_nor_written) {
  for (int32_t i = 0; i < repetitions(40); ++i) {
    random_source r(7400 + static_cast<uint64_t>(i));
    const heed_cache_shape s = random_shape(r, i % 4);
    const uint64_t seed = r.next();
    const life nan = live(s, 0xff, true, seed), zero = live(s, 0, false, seed),
               large = live(s, 0x7b, r.chance(50), seed);
    EXPECT_TRUE(same_results(nan.result, zero.result)) << text_of(s);
    EXPECT_TRUE(same_results(nan.result, large.result)) << text_of(s);
    for (size_t at = 0; at < nan.bytes.size(); ++at) {
      const bool written = nan.bytes[at] == zero.bytes[at] && zero.bytes[at] == large.bytes[at];
      const bool left = nan.bytes[at] == 0xff && zero.bytes[at] == 0 && large.bytes[at] == 0x7b;
      ASSERT_TRUE(written || left) << "byte " << at << " depends on what the memory held: " << text_of(s);
    }
  }
}

// New tokens change the bytes of their rows, the length and the mark of a saved cache, and no other.
TEST_P(cache_bytes, a_token_takes_the_bytes_of_its_rows) {
  for (int32_t i = 0; i < repetitions(40); ++i) {
    random_source r(7500 + static_cast<uint64_t>(i));
    const heed_cache_shape s = random_shape(r, i % 4);
    const cache_memory memory(slot_cache, s, r.chance(50));
    heed_cache cache;
    ASSERT_EQ(heed_cache_init(&cache, &s, memory.all()), HEED_OK);
    std::vector<bool> taken(memory.count());
    for (int32_t left = s.capacity; left > 0;) {
      const int32_t n = r.between(1, left);
      const std::vector<unsigned char> before = memory.copy();
      ASSERT_EQ(status_name(append(&cache, 0, random_tokens(r, s, n))), "HEED_OK");
      size_t n_changed = 0;
      for (size_t at = 0; at < before.size(); ++at) {
        if (before[at] == memory.data()[at]) continue;
        ++n_changed;
        ASSERT_FALSE(taken[at] && at >= 256) << "byte " << at << " is another token's";
        taken[at] = true;
      }
      const size_t row = size_t(s.head_dim + s.v_dim) * HEED_DTYPE_BYTES(s.dtype) + (s.dtype == HEED_INT8 ? 8 : 0);
      EXPECT_LE(n_changed, size_t(n) * s.n_kv_heads * row + 12) << text_of(s);
      left -= n;
    }
  }
}

// Tokens that lie right behind an inaccessible page, and right in front of one, at any multiple of 4.
TEST_P(cache_bytes, nothing_beside_the_new_tokens_is_read) {
  heed_rope rope;
  ASSERT_EQ(heed_rope_init(&rope, HEED_ROPE_INTERLEAVED), HEED_OK);
  for (int32_t i = 0; i < repetitions(120); ++i) {
    random_source r(7600 + static_cast<uint64_t>(i));
    const heed_cache_shape s =
        cache_shape(HEED_CACHE_LINEAR, 20, r.between(1, 3), 2 * r.size(1, 70), r.size(1, 140), i % 4);
    const tokens t = random_tokens(r, s, r.between(1, 20));
    const bool at_the_front = r.chance(50);
    const auto lay = [&](slot where, const std::vector<float> &x, const placement &at) {
      float *data = at_the_front ? reinterpret_cast<float *>(region_of(where).begin)
                                 : reinterpret_cast<float *>(region_of(where).end) - at.extent();
      std::fill_n(data, at.extent(), not_a_number);
      scatter(at, x, data);
      return input_view(at, data);
    };
    const layout how = all_layouts[r.between(0, 4)];
    const heed_tensor k = lay(slot_k, t.k, place(how, 3, 1, s.n_kv_heads, t.n, s.head_dim));
    const heed_tensor v = lay(slot_v, t.v, place(how, 3, 1, s.n_kv_heads, t.n, s.v_dim));
    const cache_memory memory(slot_cache, s, true), other(slot_other_cache, s, true);
    heed_cache cache, plain;
    ASSERT_EQ(heed_cache_init(&cache, &s, memory.all()), HEED_OK);
    ASSERT_EQ(heed_cache_init(&plain, &s, other.all()), HEED_OK);
    const heed_rope *turn = r.chance(50) ? &rope : nullptr;
    EXPECT_EQ(status_name(heed_cache_append(&cache, 0, k, v, t.n, turn)), "HEED_OK");
    EXPECT_EQ(status_name(append(&plain, 0, t, turn)), "HEED_OK");
    EXPECT_TRUE(memory.holds(other.copy())) << "the layout of new tokens is of no account: " << text_of(s);
    EXPECT_TRUE(memory.guard_intact());
  }
}

HEED_TEST_EVERY_KERNEL(cache_bytes);

}  // namespace
}  // namespace heed_test
