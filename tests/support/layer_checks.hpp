// What holds for both layers, of one random case: the suites and the kernels are the callers'.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_LAYER_CHECKS_HPP
#define HEED_TESTS_SUPPORT_LAYER_CHECKS_HPP

#include "layer_parts.hpp"
#include "settings.hpp"

namespace heed_test {

inline void expect_same(const layer_result &expected, const layer_result &actual) {
  EXPECT_TRUE(same_bits(expected.y, actual.y)) << "y";
  EXPECT_TRUE(same_bits(expected.kept, actual.kept)) << "q, k, v or the context in memory";
  EXPECT_TRUE(same_results(expected.attended, actual.attended));
}

// The layer is the composition of the public functions, to the bit, in any memory and with any executor.
inline void check_parts(bool transformer, uint64_t seed) {
  random_source r(seed);
  random_layer l(r, transformer, false);
  const int32_t n = r.size(1, 70);
  if (r.chance(50)) draw_options(r, n, 0, nullptr, &l);
  ::testing::ScopedTrace trace(__FILE__, __LINE__, l.text() + " rows " + std::to_string(n));
  const floats x = bell_floats(r, size_t(n) * size_t(l.attention.model_dim));
  const auto executor = r.chance(40) ? random_executor(r) : nullptr;
  const layer_setting s = random_layer_setting(r, l, executor ? executor->get() : nullptr);
  expect_same(compose(l, x, n, nullptr), run_layer(l, x, n, s, nullptr));
}

// The same with a cache that holds some tokens, of any kind: a ring may be given more rows than it takes at once.
inline void check_cached(bool transformer, uint64_t seed) {
  random_source r(seed);
  random_layer l(r, transformer, true);
  const heed_attention_layer &a = l.attention;
  const int32_t n = r.size(1, 70), n_before = r.between(0, 40);
  const bool ring = r.chance(60);
  const heed_cache_shape shape =
      ring ? cache_shape(HEED_CACHE_RING, r.between(1, 60), a.n_kv_heads, a.head_dim, a.v_dim,
                         r.between(HEED_F32, HEED_INT8), r.between(0, 9), r.chance(50) ? n + 9 : r.between(0, n))
           : cache_shape(HEED_CACHE_LINEAR, n_before + n, a.n_kv_heads, a.head_dim, a.v_dim,
                         r.between(HEED_F32, HEED_INT8));
  if (r.chance(50)) draw_options(r, n, n_before, &shape, &l);
  ::testing::ScopedTrace trace(
      __FILE__, __LINE__,
      l.text() + " rows " + std::to_string(n) + " after " + std::to_string(n_before) + " in " + text_of(shape));
  owned_cache expected(shape), actual(shape);
  for (heed_cache *const cache : {&expected.cache, &actual.cache}) {
    random_source same(seed);
    for (int32_t left = n_before, some; left > 0; left -= some) {
      some = std::min(left, shape.capacity + shape.spare);
      expect_done(append(cache, 0, random_tokens(same, shape, some)));
    }
  }
  const floats x = bell_floats(r, size_t(n) * size_t(a.model_dim));
  const auto executor = r.chance(40) ? random_executor(r) : nullptr;
  const layer_setting s = random_layer_setting(r, l, executor ? executor->get() : nullptr);
  expect_same(compose(l, x, n, &expected.cache), run_layer(l, x, n, s, &actual.cache));
  EXPECT_EQ(heed_cache_length(&actual.cache, 0), n_before + n);
  EXPECT_TRUE(same_bits(expected.contents(), actual.contents())) << "the cache";
}

// A sequence in any pieces gives the rows of the whole; in a ring, those of spare + 1 rows, too.
inline void check_pieces(bool transformer, uint64_t seed) {
  random_source r(seed);
  random_layer l(r, transformer, true);
  const heed_attention_layer &a = l.attention;
  const int32_t n = r.size(1, 80), dim = a.model_dim, dtype = r.between(HEED_F32, HEED_INT8), spare = r.between(0, 12);
  const bool ring = r.chance(50), by_spare = ring && r.chance(50);
  if (r.chance(50)) l.options.ranges = true, l.options.left_window = r.between(0, 40);
  const heed_cache_shape shape = ring ? cache_shape(HEED_CACHE_RING, r.between(1, 40), a.n_kv_heads, a.head_dim,
                                                    a.v_dim, dtype, r.between(0, 5), spare)
                                      : cache_shape(HEED_CACHE_LINEAR, n, a.n_kv_heads, a.head_dim, a.v_dim, dtype);
  owned_cache whole(shape), pieces(shape);
  const floats x = bell_floats(r, size_t(n) * size_t(dim));
  floats actual;
  for (int32_t t = 0, piece; t < n; t += piece) {
    piece = std::min(n - t, by_spare ? spare + 1 : r.chance(50) ? 1 : r.between(1, 20));
    const layer_setting s = random_layer_setting(r, l, nullptr);
    append(&actual, run_layer(l, rows_from(x, dim, t, piece), piece, s, &pieces.cache).y);
  }
  EXPECT_TRUE(same_bits(run_layer(l, x, n, {}, &whole.cache).y, actual)) << l.text() << " in " << text_of(shape);
  EXPECT_TRUE(same_bits(whole.contents(), pieces.contents())) << l.text() << " in " << text_of(shape);
}

// What an int8 cache cannot hold is found before y and the cache are written; of a prompt in pieces, before those of
// its piece are.
inline void check_what_int8_cannot_hold(bool transformer, uint64_t seed) {
  random_source r(seed);
  random_layer l(r, transformer, true);
  heed_attention_layer &a = l.attention;
  const int32_t n = 6, spare = 1;
  const floats infinite(size_t(a.n_kv_heads) * size_t(std::max(a.head_dim, a.v_dim)), infinity);
  const floats good = bell_floats(r, size_t(n) * size_t(a.model_dim));
  owned_cache cache(cache_shape(HEED_CACHE_RING, n, a.n_kv_heads, a.head_dim, a.v_dim, HEED_INT8, 0, spare));
  const floats expected = run_layer(l, good, n, {}, &cache.cache).y;
  const auto refused = [&](const float *bk, const float *bv, int32_t nan_row, heed_argument argument) {
    ASSERT_EQ(heed_cache_reset(&cache.cache), HEED_OK);
    random_layer bad = l;
    bad.attention.cache = &cache.cache;
    if (bk) bad.attention.bk = bk;
    if (bv) bad.attention.bv = bv;
    floats x = good, y(expected.size(), 7.0f);
    if (nan_row < n) x[size_t(nan_row) * size_t(a.model_dim)] = not_a_number;
    const fenced_bytes memory(slot_activations,
                              l.bytes_besides_workspace(n) + heed_workspace_bytes(a.head_dim, a.v_dim));
    EXPECT_EQ(bad.run(view(x, n), view(&y, n), heed_memory_of(memory.data(), memory.count()), nullptr),
              HEED_STATUS(HEED_NOT_FINITE, argument));
    const int32_t n_done = nan_row / (spare + 1) * (spare + 1) % n;
    EXPECT_EQ(heed_cache_length(&cache.cache, 0), n_done);
    EXPECT_TRUE(same_bits(rows_from(expected, a.out_dim, 0, n_done), rows_from(y, a.out_dim, 0, n_done)));
    EXPECT_EQ(rows_from(y, a.out_dim, n_done, n - n_done), floats(size_t(n - n_done) * size_t(a.out_dim), 7.0f));
  };
  refused(infinite.data(), nullptr, n, HEED_ARG_K);
  refused(nullptr, infinite.data(), n, HEED_ARG_V);
  refused(nullptr, nullptr, 0, HEED_ARG_K);
  refused(nullptr, nullptr, n - 1, HEED_ARG_K);
}

}  // namespace heed_test

#endif
