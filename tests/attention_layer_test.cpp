// The attention layer is the composition of the public functions, to the bit, on every kernel: any weights, rotary
// embedding, options; with a cache, whatever pieces its rows come in. SPDX-License-Identifier: MIT
#include "support/kernels.hpp"
#include "support/layer_checks.hpp"

namespace heed_test {
namespace {

class attention_layer : public kernel_test {};

TEST_P(attention_layer, equals_its_parts) {
  for (uint64_t i = 0; i < uint64_t(repetitions(200)) && !HasFailure(); ++i) check_parts(false, 300000 + i);
}

TEST_P(attention_layer, with_a_cache_equals_its_parts) {
  for (uint64_t i = 0; i < uint64_t(repetitions(150)) && !HasFailure(); ++i) check_cached(false, 310000 + i);
}

TEST_P(attention_layer, any_pieces_give_the_rows_of_the_whole) {
  for (uint64_t i = 0; i < uint64_t(repetitions(100)) && !HasFailure(); ++i) check_pieces(false, 320000 + i);
}

TEST_P(attention_layer, keys_and_values_that_int8_cannot_hold) {
  for (uint64_t i = 0; i < 20 && !HasFailure(); ++i) check_what_int8_cannot_hold(false, 330000 + i);
}

// A layer turns whole heads, where heed_cache_append has room for HEED_CACHE_MAX_ROTARY_DIM; an int8 cache refuses keys
// that turn infinite.
TEST_P(attention_layer, wide_heads_and_keys_that_turn_infinite) {
  constexpr int32_t dim = HEED_CACHE_MAX_ROTARY_DIM + 4;
  HEED_MEMORY(memory, HEED_ATTENTION_LAYER_BYTES(2, 1, 1, dim, dim));
  static float identity[dim * dim], x[2 * dim], y[2 * dim];
  for (int32_t i = 0; i < dim; ++i) identity[i * dim + i] = 1, x[i] = x[dim + i] = float(i % 7);
  heed_rope rope;
  ASSERT_EQ(heed_rope_init(&rope, HEED_ROPE_HALVES), HEED_OK);
  owned_cache cache(cache_shape(HEED_CACHE_LINEAR, 4, 1, dim, dim, HEED_INT8));
  heed_attention_layer l = heed_attention_layer_default(dim, 1);
  l.wq = l.wk = l.wv = l.wo = heed_weights_of(identity, nullptr, HEED_F32, HEED_OUT_IN, dim, dim);
  l.rope = &rope, l.cache = &cache.cache, l.causal = 1;
  const auto run = [&] {
    return heed_attention_layer_run(&l, heed_matrix_of(x, 2, dim), heed_matrix_out_of(y, 2, dim), memory, nullptr);
  };
  ASSERT_EQ(status_name(run()), "HEED_OK");
  const floats before(y, y + 2 * dim), large(dim, 3e38f);
  l.bk = large.data();
  EXPECT_EQ(run(), HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_K));
  EXPECT_EQ(heed_cache_length(&cache.cache, 0), 2);
  EXPECT_TRUE(same_bits(before, floats(y, y + 2 * dim)));
}

// Large enough for threads: the same bits with 1 to 8 workers.
TEST_P(attention_layer, executors) {
  random_source r(1);
  const random_layer l(r, {64, 4, 2, 33, 40, 70, 0}, false);
  const floats x = bell_floats(r, 150 * 64), expected = run_layer(l, x, 150, {}, nullptr).y;
  for (int32_t n = 1; n <= 8; ++n) {
    thread_executor threads(n);
    layer_setting s;
    s.executor = threads.get();
    EXPECT_TRUE(same_bits(expected, run_layer(l, x, 150, s, nullptr).y)) << n << " threads";
    EXPECT_TRUE(n == 1 || threads.most_tasks() > 1) << "the layer is large enough to be split";
  }
}

// Enough tokens for threads, which fill the cache, too; its blocks of 16 begin within their pieces.
TEST_P(attention_layer, executors_fill_a_cache) {
  constexpr int32_t n = 150, n_before = 5, dim = 64;
  for (const int32_t dtype : {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8}) {
    random_source r(static_cast<uint64_t>(dtype));
    const random_layer l(r, {dim, 4, 4, 32, 24, 70, 0}, true);
    const heed_cache_shape shape = cache_shape(HEED_CACHE_LINEAR, n + n_before, 4, 32, 24, dtype);
    const floats before = bell_floats(r, n_before * dim), x = bell_floats(r, n * dim);
    owned_cache expected(shape);
    run_layer(l, before, n_before, {}, &expected.cache);
    const floats y = run_layer(l, x, n, {}, &expected.cache).y;
    for (int32_t workers = 2; workers <= 5; ++workers) {
      thread_executor threads(workers);
      layer_setting s;
      s.executor = threads.get();
      owned_cache actual(shape);
      run_layer(l, before, n_before, s, &actual.cache);
      EXPECT_TRUE(same_bits(y, run_layer(l, x, n, s, &actual.cache).y)) << "dtype " << dtype << ", " << workers;
      EXPECT_TRUE(same_bits(expected.contents(), actual.contents())) << "dtype " << dtype << ", " << workers;
    }
  }
}

TEST(attention_layer_bytes, are_those_of_the_macro) {
  random_source r(2);
  for (int32_t i = 0; i < 300; ++i) {
    const random_layer l(r, false, false);
    const heed_attention_layer &a = l.attention;
    const int32_t n = r.size(1, 1000);
    EXPECT_EQ(heed_attention_layer_bytes(&a, n),
              HEED_ATTENTION_LAYER_BYTES(n, a.n_heads, a.n_kv_heads, a.head_dim, a.v_dim));
    for (const int32_t wrong : {0, -1, INT32_MIN, HEED_MAX_COUNT + 1})
      EXPECT_EQ(heed_attention_layer_bytes(&a, wrong), 0u);
    heed_attention_layer bad = a;
    bad.n_heads = 0;
    EXPECT_EQ(heed_attention_layer_bytes(&bad, n), 0u);
    bad = a, bad.struct_size = 0;
    EXPECT_EQ(heed_attention_layer_bytes(&bad, n), 0u);
  }
  EXPECT_EQ(heed_attention_layer_bytes(nullptr, 1), 0u);
}

HEED_TEST_EVERY_KERNEL(attention_layer);

}  // namespace
}  // namespace heed_test
