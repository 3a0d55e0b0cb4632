// A transformer layer in little memory, and of only some rows: the bits of the whole call, on every kernel; and what is
// refused. SPDX-License-Identifier: MIT
#include "support/kernels.hpp"
#include "support/layer_checks.hpp"

namespace heed_test {
namespace {

class layer_pieces : public kernel_test {};

heed_transformer_layer transformer_of(const random_layer &l) {
  heed_transformer_layer t = l.transformer;
  t.attention = &l.attention;
  return t;
}

TEST_P(layer_pieces, any_memory_and_any_rows_give_the_rows_of_the_whole) {
  for (uint64_t i = 0; i < uint64_t(repetitions(250)) && !HasFailure(); ++i) {
    random_source r(900000 + i);
    random_layer l(r, true, r.chance(50));
    heed_attention_layer &a = l.attention;
    const int32_t n = r.size(1, 60), dim = a.model_dim;
    if (r.chance(40)) l.options.ranges = true, l.options.left_window = r.between(0, 20);
    const bool cached = a.causal && r.chance(50), ring = r.chance(50);
    const int32_t dtype = r.between(HEED_F32, HEED_INT8);
    const heed_cache_shape shape =
        ring ? cache_shape(HEED_CACHE_RING, r.between(1, 30), a.n_kv_heads, a.head_dim, a.v_dim, dtype, r.between(0, 5),
                           r.between(0, 9))
             : cache_shape(HEED_CACHE_LINEAR, 2 * n, a.n_kv_heads, a.head_dim, a.v_dim, dtype);
    owned_cache whole(shape), apart(shape);
    const floats x = bell_floats(r, size_t(n) * size_t(dim));
    const auto executor = r.chance(30) ? random_executor(r) : nullptr;
    layer_setting s;
    for (int32_t turn = 0; turn < (cached ? 2 : 1); ++turn) {
      const floats expected = run_layer(l, x, n, s, cached ? &whole.cache : nullptr).y;
      heed_transformer_layer t = transformer_of(l);
      t.out_rows = r.chance(30) ? 0 : r.between(1, n) * (r.chance(50) ? 1 : -1);
      const int32_t rows = t.out_rows == 0 ? n : std::abs(t.out_rows), first = t.out_rows < 0 ? n - rows : 0;
      // With a cache for the rows that pass at once, which a ring limits.
      const int32_t at_once = cached && ring ? std::min(n, shape.spare + 1) : n;
      const size_t most = heed_transformer_layer_bytes(&t, at_once);
      const size_t least =
          cached ? most - heed_workspace_bytes(a.head_dim, a.v_dim) + heed_workspace_min_bytes(a.head_dim, a.v_dim)
                 : heed_transformer_layer_min_bytes(&t, n);
      const size_t bytes = r.chance(40) ? least : least + r.next() % (most > least ? most - least : 1);
      ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                   l.text() + " rows " + std::to_string(n) + " out " + std::to_string(t.out_rows) +
                                       " bytes " + std::to_string(bytes) + " of " + std::to_string(most) +
                                       (cached ? " in " + text_of(shape) : "") + " seed " + std::to_string(i));
      heed_ranges ranges;
      expect_done(heed_ranges_init(&ranges));
      ranges.left_window = l.options.left_window;
      heed_options options = heed_options_default();
      options.ranges = &ranges;
      heed_attention_layer own = a;
      if (l.options.ranges) own.options = &options;
      own.cache = cached ? &apart.cache : nullptr;
      t.attention = &own;
      const bool in_place = t.out_rows == 0 && r.chance(50);
      const fenced_bytes memory(slot_activations, bytes);
      const fenced_floats in(slot_q, x.size(), unread_bits), out(slot_out, size_t(rows) * size_t(dim), unwritten_bits);
      std::copy(x.begin(), x.end(), in.data());
      float *const y = in_place ? in.data() : out.data();
      expect_done(heed_transformer_layer_run(&t, heed_matrix_of(in.data(), n, dim), heed_matrix_out_of(y, rows, dim),
                                             heed_memory_of(memory.data(), memory.count()),
                                             executor ? executor->get() : nullptr));
      EXPECT_TRUE(in.guard_intact() && out.guard_intact() && memory.guard_intact());
      EXPECT_TRUE(same_bits(rows_from(expected, dim, first, rows), floats(y, y + rows * dim)));
      if (cached) {
        EXPECT_TRUE(same_bits(whole.contents(), apart.contents())) << "the cache";
      }
    }
  }
}

TEST_P(layer_pieces, options_count_by_the_rows_of_y) {
  random_source r(4);
  random_layer l(r, {24, 2, 2, 12, 12, 24, 40}, false);
  l.attention.causal = 0, l.options = {};
  const int32_t n = 30;
  const floats x = bell_floats(r, n * 24);
  l.options.weights = true;
  const layer_result all = run_layer(l, x, n, {}, nullptr);
  heed_transformer_layer t = transformer_of(l);
  t.out_rows = -3;
  floats weights(2 * 3 * n), y(3 * 24);
  heed_attention_weights kept;
  expect_done(heed_attention_weights_init(&kept, heed_head_major_out(weights.data(), 3, 2, n)));
  heed_options options = heed_options_default();
  options.weights = &kept;
  heed_attention_layer own = l.attention;
  own.options = &options, t.attention = &own;
  const fenced_bytes memory(slot_activations, heed_transformer_layer_bytes(&t, n));
  const auto run = [&](size_t bytes) {
    return heed_transformer_layer_run(&t, heed_matrix_of(x.data(), n, 24), heed_matrix_out_of(y.data(), 3, 24),
                                      heed_memory_of(memory.data(), bytes), nullptr);
  };
  expect_done(run(memory.count()));
  EXPECT_TRUE(same_bits(rows_from(all.y, 24, n - 3, 3), y));
  for (int32_t h = 0; h < 2; ++h)
    EXPECT_TRUE(same_bits(part_of(all.attended.weights, size_t(h * n + n - 3) * n, 3 * n),
                          part_of(weights, size_t(h) * 3 * n, 3 * n)));
  const auto needs_all_rows = [&] {
    EXPECT_EQ(run(heed_transformer_layer_min_bytes(&t, n)), HEED_STATUS(HEED_TOO_SMALL, HEED_ARG_WORKSPACE));
  };
  needs_all_rows();
  const int32_t positions[3] = {n - 3, n - 2, n - 1};
  heed_ranges ranges;
  expect_done(heed_ranges_init(&ranges));
  options = heed_options_default();
  options.ranges = &ranges, ranges.positions = positions;
  needs_all_rows();
  ranges.positions = nullptr, ranges.kv_lengths = &n;
  needs_all_rows();
}

// Heads wider than 1024 take more workspace for a row.
TEST_P(layer_pieces, wide_heads) {
  random_source r(6);
  random_layer l(r, {24, 1, 1, 1040, 1030, 24, 40}, false);
  l.options = {};
  const int32_t n = 40;
  const floats x = bell_floats(r, n * 24), expected = run_layer(l, x, n, {}, nullptr).y;
  const heed_transformer_layer t = transformer_of(l);
  for (const size_t bytes : {heed_transformer_layer_min_bytes(&t, n), heed_transformer_layer_min_bytes(&t, n) + 400000,
                             heed_transformer_layer_bytes(&t, n)}) {
    const fenced_bytes memory(slot_activations, bytes);
    floats y(x.size());
    expect_done(heed_transformer_layer_run(&t, heed_matrix_of(x.data(), n, 24), heed_matrix_out_of(y.data(), n, 24),
                                           heed_memory_of(memory.data(), memory.count()), nullptr));
    EXPECT_TRUE(same_bits(expected, y)) << bytes << " bytes";
  }
}

HEED_TEST_EVERY_KERNEL(layer_pieces);

TEST(bad_layer_pieces, are_refused) {
  random_source r(5);
  random_layer l(r, {24, 2, 2, 12, 12, 24, 40}, false);
  l.attention.causal = 0;
  heed_transformer_layer t = transformer_of(l);
  const int32_t n = 9;
  floats x = bell_floats(r, n * 24), y(n * 24, 7.0f);
  const fenced_bytes memory(slot_activations, heed_transformer_layer_bytes(&t, n));
  const auto refused = [&](heed_fault fault, heed_argument argument, const float *from, int32_t rows, size_t bytes) {
    EXPECT_EQ(heed_transformer_layer_run(&t, heed_matrix_of(from, n, 24), heed_matrix_out_of(y.data(), rows, 24),
                                         heed_memory_of(memory.data(), bytes), nullptr),
              HEED_STATUS(fault, argument));
    EXPECT_EQ(y, floats(y.size(), 7.0f));
  };
  const size_t least = heed_transformer_layer_min_bytes(&t, n);
  EXPECT_LT(least, memory.count());
  refused(HEED_TOO_SMALL, HEED_ARG_WORKSPACE, x.data(), n, least - 1);
  for (const int32_t wrong : {n + 1, -n - 1, INT32_MIN, INT32_MAX}) {
    t.out_rows = wrong;
    refused(HEED_SHAPE_MISMATCH, HEED_ARG_OUT_ROWS, x.data(), n, memory.count());
  }
  t.out_rows = 2;
  refused(HEED_SHAPE_MISMATCH, HEED_ARG_Y, x.data(), n, memory.count());
  refused(HEED_OVERLAP, HEED_ARG_Y, y.data(), 2, memory.count());
  const int32_t lengths[2] = {4, 5};
  heed_ragged_batch batch;
  expect_done(heed_ragged_batch_init(&batch, 2, lengths));
  l.attention.batch = &batch;
  refused(HEED_UNSUPPORTED, HEED_ARG_OUT_ROWS, x.data(), 2, memory.count());
  t.out_rows = 0;
  refused(HEED_TOO_SMALL, HEED_ARG_WORKSPACE, x.data(), n, least);
  EXPECT_EQ(heed_transformer_layer_min_bytes(nullptr, 1), 0u);
  EXPECT_EQ(heed_transformer_layer_min_bytes(&t, 0), 0u);
}

}  // namespace
}  // namespace heed_test
