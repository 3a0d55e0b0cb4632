// The same visible keys give the same bits: however a prompt is cut into pieces, in a linear cache or a ring that has
// wrapped, on every kernel and any number of threads, alone or beside other sequences, whole or as partial results.
// SPDX-License-Identifier: MIT
#include "support/cached_runs.hpp"
#include "support/data.hpp"

namespace heed_test {
namespace {

// A prompt of one sequence: its queries, its new keys and values.
struct prompt {
  int32_t n, n_heads;
  tokens kv;
  std::vector<float> q;  // (n_heads, n, head_dim)
};
prompt random_prompt(random_source &r, const heed_cache_shape &s, int32_t n, int32_t group) {
  prompt p = {n, s.n_kv_heads * group, random_tokens(r, s, n), {}};
  p.q = bell_floats(r, size_t(p.n_heads) * n * s.head_dim);
  return p;
}
// Rows [first, first + n) of each head.
std::vector<float> rows_of(const std::vector<float> &all, int32_t n_heads, int32_t of, int32_t dim, int32_t first,
                           int32_t n) {
  std::vector<float> rows;
  for (int32_t h = 0; h < n_heads; ++h) {
    const std::vector<float> part = part_of(all, (size_t(h) * of + first) * dim, size_t(n) * dim);
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

class cache_bits : public reference_or_self_test {
 protected:
  void SetUp() override {
    reference_or_self_test::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(heed_rope_init(&rope_, HEED_ROPE_HALVES), HEED_OK);
  }

  // Each piece is appended, then attended to; what comes of it for all tokens: (n_heads, n, v_dim).
  std::vector<float> feed(const heed_cache_shape &s, const prompt &p, const std::vector<int32_t> &pieces,
                          const extras &options, const heed_rope *rope) {
    const cache_memory memory(slot_cache, s, false);
    heed_cache cache;
    EXPECT_EQ(status_name(heed_cache_init(&cache, &s, memory.all())), "HEED_OK");
    std::vector<float> all(size_t(p.n_heads) * p.n * s.v_dim);
    int32_t done = 0;
    for (const int32_t n : pieces) {
      const tokens t = {n, rows_of(p.kv.k, s.n_kv_heads, p.n, s.head_dim, done, n),
                        rows_of(p.kv.v, s.n_kv_heads, p.n, s.v_dim, done, n)};
      EXPECT_EQ(status_name(append(&cache, 0, t, rope)), "HEED_OK");
      problem of_piece = empty_problem(s, p.n_heads, n, done + n);
      of_piece.q = rows_of(p.q, p.n_heads, p.n, s.head_dim, done, n);
      of_piece.options = options;
      const std::vector<float> out = run_cached(of_piece, {}, &cache, true).result.out;
      for (int32_t h = 0; h < p.n_heads && !out.empty(); ++h)
        std::copy_n(&out[size_t(h) * n * s.v_dim], n * s.v_dim, &all[(size_t(h) * p.n + done) * s.v_dim]);
      done += n;
    }
    EXPECT_EQ(done, p.n);
    EXPECT_TRUE(memory.guard_intact());
    return all;
  }
  static problem empty_problem(const heed_cache_shape &s, int32_t n_heads, int32_t n_q, int32_t n_kv) {
    problem p;
    p.batch = s.n_sequences, p.n_kv_heads = s.n_kv_heads, p.n_heads = n_heads, p.n_q = n_q, p.n_kv = n_kv;
    p.head_dim = s.head_dim, p.v_dim = s.v_dim, p.causal = 1;
    p.k.assign(p.k_floats(), not_a_number), p.v.assign(p.v_floats(), not_a_number);
    return p;
  }
  // One call on tensors, by the reference.
  std::vector<float> on_tensors(const heed_cache_shape &s, const prompt &p, const extras &options,
                                const heed_rope *rope) const {
    const kernel_scope scope(reference_);
    cache_model model(1, sequence_model(s));
    model[0].append(p.kv, rope);
    problem all = problem_over(s, model, p.n_heads / s.n_kv_heads, p.n, p.n);
    all.q = p.q, all.causal = 1, all.options = options;
    return run(all, plain_setting(all, false)).out;
  }
  static std::vector<int32_t> random_pieces(random_source &r, int32_t n, int32_t most) {
    std::vector<int32_t> pieces;
    for (int32_t left = n; left > 0; left -= pieces.back()) pieces.push_back(std::min(left, r.between(1, most)));
    return pieces;
  }

  heed_rope rope_;
};

TEST_P(cache_bits, a_prompt_in_pieces_of_any_size) {
  for (int32_t i = 0; i < repetitions(24); ++i) {
    random_source r(7100 + static_cast<uint64_t>(i));
    const int32_t n = i % 12 == 11 ? 1100 : r.between(60, 150);
    const heed_cache_shape s =
        cache_shape(HEED_CACHE_LINEAR, n, r.between(1, 2), 2 * r.size(1, 10), r.size(1, 20), i % 4);
    const prompt p = random_prompt(r, s, n, r.between(1, 3));
    const heed_rope *rope = r.chance(50) ? &rope_ : nullptr;
    extras options;
    if (r.chance(50)) options.cap = 2;
    if (r.chance(50)) options.ranges = true, options.left_window = r.between(0, n), options.pinned = r.between(0, 9);
    const std::vector<float> expected = on_tensors(s, p, options, rope);
    EXPECT_TRUE(same_bits(expected, feed(s, p, {n}, options, rope))) << "one piece " << text_of(s) << options.text();
    EXPECT_TRUE(same_bits(expected, feed(s, p, random_pieces(r, n, 40), options, rope)))
        << text_of(s) << options.text();
    if (i % 3 > 0) continue;
    EXPECT_TRUE(same_bits(expected, feed(s, p, std::vector<int32_t>(size_t(n), 1), options, rope)))
        << "token by token " << text_of(s) << options.text();
  }
}

// A ring is a linear cache with its window, and pinned keys, in every call.
TEST_P(cache_bits, a_ring_that_wraps_is_a_window) {
  for (int32_t i = 0; i < repetitions(40); ++i) {
    random_source r(7200 + static_cast<uint64_t>(i));
    const int32_t window = i % 20 == 19 ? 1030 : r.size(1, 90), spare = r.between(0, 30),
                  n = window + spare + r.between(65, 200);
    const int32_t pinned = r.chance(60) ? r.between(1, r.chance(70) ? 6 : 70) : 0;
    const heed_cache_shape ring =
        cache_shape(HEED_CACHE_RING, window, r.between(1, 2), 2 * r.size(1, 10), r.size(1, 20), i % 4, pinned, spare);
    const heed_cache_shape linear =
        cache_shape(HEED_CACHE_LINEAR, n, ring.n_kv_heads, ring.head_dim, ring.v_dim, i % 4);
    const prompt p = random_prompt(r, ring, n, r.between(1, 3));
    const heed_rope *rope = r.chance(50) ? &rope_ : nullptr;
    extras options, windows;
    windows.ranges = true, windows.left_window = window - 1, windows.pinned = pinned;
    if (r.chance(50)) options.sinks = windows.sinks = true;
    const std::vector<float> expected = on_tensors(linear, p, windows, rope);
    EXPECT_TRUE(same_bits(expected, feed(linear, p, {n}, windows, rope))) << text_of(linear) << windows.text();
    EXPECT_TRUE(same_bits(expected, feed(ring, p, random_pieces(r, n, spare + 1), options, rope))) << text_of(ring);
    if (i % 4 > 0) continue;
    EXPECT_TRUE(same_bits(expected, feed(ring, p, std::vector<int32_t>(size_t(n), 1), options, rope))) << text_of(ring);
  }
}

// Several sequences of different length in one call are each of them alone, on any number of threads, in any split.
class cached_batch : public cache_bits {
 protected:
  void fill(const heed_cache_shape &s, random_source &r, const std::vector<int32_t> &lengths) {
    model_.assign(lengths.size(), sequence_model(s)), fed_.assign(lengths.size(), {});
    for (size_t b = 0; b < lengths.size(); ++b)
      for (int32_t left = lengths[b]; left > 0; left -= fed_[b].back().n) {
        fed_[b].push_back(random_tokens(r, s, std::min(left, r.between(1, 80))));
        EXPECT_EQ(status_name(append(&cache_, static_cast<int32_t>(b), fed_[b].back())), "HEED_OK");
        model_[b].append(fed_[b].back(), nullptr);
      }
  }
  void each_alone(const heed_cache_shape &s, const problem &p, const std::vector<float> &expected) {
    heed_cache_shape of_one = s;
    of_one.n_sequences = 1;
    const cache_memory memory(slot_other_cache, of_one, false);
    for (size_t b = 0; b < fed_.size(); ++b) {
      heed_cache alone;
      ASSERT_EQ(heed_cache_init(&alone, &of_one, memory.all()), HEED_OK);
      for (const tokens &t : fed_[b]) EXPECT_EQ(status_name(append(&alone, 0, t)), "HEED_OK");
      problem one = p;
      one.batch = 1;
      one.q = part_of(p.q, b * p.q.size() / fed_.size(), p.q.size() / fed_.size());
      const size_t n = expected.size() / fed_.size();
      EXPECT_TRUE(same_bits(part_of(expected, b * n, n), run_cached(one, {}, &alone, true).result.out)) << text_of(s);
    }
  }
  heed_cache cache_;
  cache_model model_;
  std::vector<std::vector<tokens>> fed_;  // of each sequence
};

TEST_P(cached_batch, equals_each_alone_on_1_to_8_threads) {
  for (int32_t i = 0; i < repetitions(16); ++i) {
    random_source r(7300 + static_cast<uint64_t>(i));
    const bool ring = r.chance(50);
    heed_cache_shape s = cache_shape(ring ? HEED_CACHE_RING : HEED_CACHE_LINEAR, ring ? r.between(900, 1500) : 3000, 2,
                                     r.size(4, 24), r.size(4, 24), i % 4, ring ? r.between(0, 5) : 0, ring ? 40 : 0, 3);
    const cache_memory memory(slot_cache, s, true);
    ASSERT_EQ(status_name(heed_cache_init(&cache_, &s, memory.all())), "HEED_OK");
    fill(s, r, {r.between(1500, 3000), r.between(1, 200), r.between(900, 1400)});
    problem p = problem_over(s, model_, r.between(1, 2), r.between(1, 12), longest(model_));
    p.q = bell_floats(r, p.q_floats()), p.causal = 1, p.options.lse = true;
    if (r.chance(50)) draw_alibi(r, &p);
    const problem plain = as_tensors(p, s, model_);
    attention_result expected;
    {
      const kernel_scope scope(reference_);
      expected = run(plain, plain_setting(plain, false));
    }
    for (int32_t n = 1; n <= 8; ++n) {
      thread_executor threads(n);
      setting with = random_setting(r, p, &threads);
      with.workspace_bytes = size_t(n) * (heed_workspace_bytes(p.head_dim, p.v_dim) + 64);
      EXPECT_TRUE(same_results(expected, run_cached(p, with, &cache_, true).result)) << n << " threads " << text_of(s);
    }
    p.options.partial = true;
    for (int32_t n = 0; n < 4; ++n)
      EXPECT_TRUE(same_results(expected, run_cached(p, random_setting(r, p, nullptr), &cache_, true).result))
          << "partial " << text_of(s);
    p.options.partial = false;
    each_alone(s, p, expected.out);
  }
}

HEED_TEST_EVERY_KERNEL(cache_bits);
HEED_TEST_EVERY_KERNEL(cached_batch);

}  // namespace
}  // namespace heed_test
