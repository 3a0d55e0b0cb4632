// A call of attention over a cache, wrong in every way: the status names the argument, and no byte has changed.
// SPDX-License-Identifier: MIT
#include "support/cache_flaws.hpp"
#include "support/executors.hpp"
#include "support/kernels.hpp"

namespace heed_test {
namespace {

class bad_cached_call : public cache_test {
 protected:
  using call_type = heed_attention;
  void wrong(heed_fault fault, heed_argument argument, const std::string &what,
             const std::function<void(call_type &)> &change) {
    options_ = heed_options_default();
    call_type c = call(cache_);
    change(c);
    refuses(fault, argument, what, [&] { return heed_attention_run(&c); });
    options_ = heed_options_default();
  }
  heed_status run() {
    const call_type c = call(cache_);
    return heed_attention_run(&c);
  }
  // Up to a length of 300 for both.
  void fill_ring() {
    make(HEED_CACHE_RING, HEED_F16);
    for (const int32_t sequence : {0, 1})
      while (heed_cache_length(cache_, sequence) < 300)
        ASSERT_EQ(heed_cache_append(cache_, sequence, k(), v(), 1, nullptr), HEED_OK);
  }
};

TEST_F(bad_cached_call, the_good_ones_are_accepted) {
  for (int32_t dtype = HEED_F32; dtype <= HEED_INT8; ++dtype)
    for (const int32_t kind : {HEED_CACHE_LINEAR, HEED_CACHE_RING}) {
      make(kind, dtype);
      EXPECT_EQ(status_name(run()), "HEED_OK");
      ASSERT_EQ(heed_cache_reset(cache_), HEED_OK);
      std::fill_n(out_, 200, 7.0f);
      EXPECT_EQ(status_name(run()), "HEED_OK") << "an empty cache";
      for (int32_t i = 0; i < n_sequences * heads * n_q * v_dim; ++i) EXPECT_EQ(bits_of(out_[i]), 0u);
    }
}

TEST_F(bad_cached_call, shapes_that_do_not_fit) {
  make(HEED_CACHE_LINEAR, HEED_INT8);
  wrong(HEED_CONFLICT, HEED_ARG_K, "k", [&](call_type &c) { c.k = k(); });
  wrong(HEED_CONFLICT, HEED_ARG_V, "v", [&](call_type &c) { c.v = v(); });
  wrong(HEED_CONFLICT, HEED_ARG_K, "both", [&](call_type &c) { c.k = k(), c.v = v(); });
  for (const int32_t batch : {1, 3})
    wrong(HEED_SHAPE_MISMATCH, HEED_ARG_BATCH_SIZE, "batch", [&](call_type &c) { c.batch_size = batch; });
  static const int32_t windows[] = {-1, -1, -5};  // of two sequences: the third number is none of the call's
  heed_ranges ranges;
  ASSERT_EQ(heed_ranges_init(&ranges), HEED_OK);
  ranges.left_windows = windows;
  wrong(HEED_SHAPE_MISMATCH, HEED_ARG_BATCH_SIZE, "batch, beside an array of the batch",
        [&](call_type &c) { options_.ranges = &ranges, c.batch_size = 3; });
  for (const int32_t n : {1, 4})
    wrong(HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS, "heads", [&](call_type &c) { c.n_kv_heads = n; });
  for (const int32_t n : {dim - 1, dim + 1})
    wrong(HEED_SHAPE_MISMATCH, HEED_ARG_HEAD_DIM, "head_dim", [&](call_type &c) { c.head_dim = n; });
  for (const int32_t n : {v_dim - 1, v_dim - 2})
    wrong(HEED_SHAPE_MISMATCH, HEED_ARG_V_DIM, "v_dim", [&](call_type &c) { c.v_dim = n; });
  for (const int32_t n : {1, 6})
    wrong(HEED_SHAPE_MISMATCH, HEED_ARG_N_KV, "fewer columns than tokens", [&](call_type &c) { c.n_kv = n; });
  wrong(HEED_OUT_OF_RANGE, HEED_ARG_N_KV, "no columns", [&](call_type &c) { c.n_kv = 0; });
  wrong(HEED_OUT_OF_RANGE, HEED_ARG_N_Q, "no queries", [&](call_type &c) { c.n_q = 0; });
  EXPECT_EQ(status_name(run()), "HEED_OK");
}

TEST_F(bad_cached_call, queries_whose_keys_are_gone) {
  fill_ring();
  // The ring has 64 slots: what the first query sees may begin at token 236.
  wrong(HEED_EVICTED, HEED_ARG_N_Q, "n_q", [](call_type &c) {
    c.n_q = 54, c.n_kv = 300, c.out = {c.out.data, 0, 0, 4}, c.n_heads = 2, c.out.head_stride = 216,
    c.out.batch_stride = 432, c.q = {c.q.data, 0, 0, 0};
  });
  const auto position = [](int32_t at) { return [at](call_type &c) { c.position = at, c.n_kv = 300; }; };
  for (const int32_t at : {-51, -200, INT32_MIN}) wrong(HEED_EVICTED, HEED_ARG_N_Q, "position", position(at));
  static const int32_t positions[] = {0, -62};
  heed_ranges ranges;
  ASSERT_EQ(heed_ranges_init(&ranges), HEED_OK);
  const auto with_ranges = [&](call_type &c) { options_.ranges = &ranges, c.n_kv = 300; };
  ranges.positions = positions;
  wrong(HEED_EVICTED, HEED_ARG_N_Q, "position in one sequence", with_ranges);
  ranges.left_window = 0;
  wrong(HEED_EVICTED, HEED_ARG_N_Q, "its smallest window", with_ranges);
  ranges.positions = nullptr;
  ranges.pinned = pinned + 1;
  wrong(HEED_EVICTED, HEED_ARG_PINNED, "more than the ring has pinned", with_ranges);
  ranges.pinned = pinned;
  call_type c = call(cache_);
  with_ranges(c);
  EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK");
}

// Far behind all keys a window holds none of them, and pinned ones are seen as from anywhere.
TEST_F(bad_cached_call, queries_beyond_all_keys) {
  fill_ring();
  call_type c = call(cache_);
  c.n_kv = 300;
  std::vector<float> found[3];
  for (const int32_t position : {300, HEED_MAX_COUNT, INT32_MAX}) {
    c.position = position;
    EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK") << position;
    std::vector<float> &result = found[position == 300 ? 0 : position == INT32_MAX ? 2 : 1];
    for (int32_t i = 0; i < n_sequences * heads * n_q * v_dim; ++i) result.push_back(out_[i]);
  }
  EXPECT_NE(found[0], std::vector<float>(found[0].size()));
  EXPECT_EQ(found[1], found[0]);
  EXPECT_EQ(found[2], found[0]);
}

TEST_F(bad_cached_call, overlap) {
  make(HEED_CACHE_LINEAR, HEED_F32);
  const size_t n = heed_cache_bytes(shape_);
  for (float *in : {reinterpret_cast<float *>(buffer_), reinterpret_cast<float *>(buffer_ + n) - 1,
                    reinterpret_cast<float *>(cache_) + 2})
    wrong(HEED_OVERLAP, HEED_ARG_OUT, "out in the cache", [&](call_type &c) { c.out.data = in; });
  wrong(HEED_OVERLAP, HEED_ARG_WORKSPACE, "workspace in the cache",
        [&](call_type &c) { c.workspace.data = buffer_ + n - 64; });
  heed_lse lse;
  ASSERT_EQ(heed_lse_init(&lse, heed_token_major_out(reinterpret_cast<float *>(buffer_) + 50, n_q, heads, 1)), HEED_OK);
  wrong(HEED_OVERLAP, HEED_ARG_LSE, "lse in the cache", [&](call_type &) { options_.lse = &lse; });
}

// All options at once, on threads: there must be room for all that is checked.
TEST_F(bad_cached_call, everything_at_once) {
  make(HEED_CACHE_LINEAR, HEED_BF16);
  option_set set(&memory_, {n_sequences, heads, n_q, n_kv});
  thread_executor threads(2);
  call_type c = call(cache_);
  c.options = set.options, c.executor = threads.get();
  EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK");
  c.cache = nullptr, c.k = c.v = heed_token_major(in_, n_kv, kv_heads, dim);
  EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK") << "without a cache";
  c.cache = cache_, c.k = c.v = {};
  heed_partial partial;
  const size_t bytes = HEED_PARTIAL_BYTES(n_sequences, heads, n_q, v_dim);
  const heed_memory data = heed_memory_of(memory_.take(bytes / 4), bytes);
  ASSERT_EQ(heed_partial_init(&partial, n_sequences, heads, n_q, v_dim, 0, data), HEED_OK);
  set.leave_partial_options();
  set.options->partial = &partial, c.out.data = nullptr;
  EXPECT_EQ(status_name(heed_attention_run(&c)), "HEED_OK");
}

// What a cache knows is not asked again.
TEST_F(bad_cached_call, made_of_the_cache) {
  for (const int32_t kind : {HEED_CACHE_LINEAR, HEED_CACHE_RING}) {
    make(kind, HEED_F16);
    call_type expected = call(cache_);
    expected.n_kv = 7, expected.options = nullptr;
    ASSERT_EQ(status_name(heed_attention_run(&expected)), "HEED_OK");
    const std::vector<float> out(out_, out_ + n_sequences * heads * n_q * v_dim);
    std::fill_n(out_, out.size(), 7.0f);
    const call_type made = heed_attention_of_cache(cache_, in_, n_q, heads, out_, workspace());
    EXPECT_EQ(status_name(heed_attention_run(&made)), "HEED_OK");
    EXPECT_TRUE(same_bits(out, std::vector<float>(out_, out_ + out.size())));
    EXPECT_EQ(made.n_kv, 7) << "the longest sequence";
    EXPECT_EQ(made.batch_size, n_sequences);
    EXPECT_EQ(made.scale, HEED_SCALE_DEFAULT);
    EXPECT_EQ(made.causal, 1);
    EXPECT_EQ(made.position, 0);
    EXPECT_EQ(made.cache, cache_);
    EXPECT_TRUE(!made.k.data && !made.v.data && !made.options && !made.executor);
  }
  ASSERT_EQ(heed_cache_reset(cache_), HEED_OK);
  const call_type of_nothing = heed_attention_of_cache(cache_, in_, n_q, heads, out_, workspace());
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_N_KV, "no token yet", [&] { return heed_attention_run(&of_nothing); });
}

}  // namespace
}  // namespace heed_test
