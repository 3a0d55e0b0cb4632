// The layer of each family of models that the manual lists, against double precision; and decoders with
// cross-attention, whatever pieces their rows come in. SPDX-License-Identifier: MIT
#include "support/family_layers.hpp"
#include "support/family_oracle.hpp"
#include "support/kernels.hpp"

namespace heed_test {
namespace {

constexpr int32_t n_rows = 11;

class families : public kernel_test {
 protected:
  static constexpr size_t bytes =
      HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n_rows, dim, n_heads, n_heads, head_dim, head_dim, hidden + dim, 1);
  // The rows of the other sequence, in pieces of so many.
  void encode(family_layer &l, const floats &other, int32_t piece, size_t room) {
    for (int32_t i = 0; i < n_other; i += piece) {
      const int32_t n = std::min(piece, n_other - i);
      ASSERT_EQ(heed_attention_layer_encode(&l.c, heed_matrix_of(other.data() + std::ptrdiff_t{i} * dim, n, dim),
                                            heed_memory_of(memory, room), nullptr),
                HEED_OK);
    }
  }
  floats run(const family_layer &l, const floats &x, bool in_place) {
    floats y = x;
    EXPECT_EQ(
        heed_transformer_layer_run(&l.t, heed_matrix_of(in_place ? y.data() : x.data(), n_rows, dim),
                                   heed_matrix_out_of(y.data(), n_rows, dim), heed_memory_of(memory, bytes), nullptr),
        HEED_OK);
    return y;
  }
  alignas(64) unsigned char memory[bytes];
};

TEST_P(families, each_is_what_double_precision_says) {
  for (const family &f : all_families) {
    family_layer l;
    f.make(l);
    const floats x = bell_floats(l.r, n_rows * dim), other = bell_floats(l.r, n_other * dim);
    if (l.t.cross) encode(l, other, n_other, bytes);
    const floats y = run(l, x, false);
    EXPECT_TRUE(same_bits(y, run(l, x, true))) << f.name << " in place";
    exact_rows rows(n_rows, dim), others(n_other, dim);
    rows.x.assign(x.begin(), x.end()), others.x.assign(other.begin(), other.end());
    const exact_rows exact = exact_layer(l.t, rows, others);
    double greatest = 0, error = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      greatest = std::max(greatest, std::fabs(exact.x[i]));
      error = std::max(error, std::fabs(exact.x[i] - double{y[i]}));
    }
    EXPECT_LE(error, 2e-6 * greatest) << f.name;
  }
}

// The other sequence in any pieces and memory; the rows as one prompt or one after another, from a cache of their own.
TEST_P(families, pieces_of_both_sequences_change_no_bit) {
  family_layer l;
  l.causal(HEED_ROPE_HALVES, 0), l.with_cross(n_heads), l.draw(&l.c, true), l.draw(true);
  const floats x = bell_floats(l.r, n_rows * dim), other = bell_floats(l.r, n_other * dim);
  encode(l, other, n_other, bytes);
  const floats expected = run(l, x, false), kept = l.cache.contents();
  const size_t row = 2 * dim * sizeof(float);
  for (const int32_t piece : {1, 7, 22})
    for (const size_t room : {row, 3 * row, bytes}) {
      ASSERT_EQ(heed_cache_reset(&l.cache.cache), HEED_OK);
      encode(l, other, piece, room);
      EXPECT_TRUE(same_bits(kept, l.cache.contents())) << piece << " rows, " << room << " bytes";
    }
  owned_cache own(cache_shape(HEED_CACHE_LINEAR, n_rows, n_heads, head_dim, head_dim, HEED_F32));
  l.a.cache = &own.cache;
  floats y(x.size());
  for (int32_t i = 0; i < n_rows; ++i)
    ASSERT_EQ(heed_transformer_layer_run(&l.t, heed_matrix_of(x.data() + std::ptrdiff_t{i} * dim, 1, dim),
                                         heed_matrix_out_of(y.data() + std::ptrdiff_t{i} * dim, 1, dim),
                                         heed_memory_of(memory, bytes), nullptr),
              HEED_OK);
  EXPECT_TRUE(same_bits(expected, y));
  EXPECT_TRUE(same_bits(kept, l.cache.contents())) << "a run does not change the other sequence";
}

TEST_P(families, an_attention_layer_alone_attends_to_another_sequence) {
  family_layer l;
  l.with_cross(2), l.draw(&l.c, true);
  owned_cache cache(cache_shape(HEED_CACHE_LINEAR, n_other, 2, head_dim, head_dim, HEED_F32));
  l.c.cache = &cache.cache, l.c.bk = nullptr, l.c.bv = nullptr;
  l.c.qk_norm = heed_l2_norm, l.c.q_norm_weight = l.numbers(head_dim), l.c.k_norm_weight = l.numbers(head_dim);
  const floats x = bell_floats(l.r, n_rows * dim), other = bell_floats(l.r, n_other * dim);
  encode(l, other, 5, bytes);
  floats y(x.size());
  ASSERT_EQ(heed_attention_layer_run(&l.c, heed_matrix_of(x.data(), n_rows, dim),
                                     heed_matrix_out_of(y.data(), n_rows, dim), heed_memory_of(memory, bytes), nullptr),
            HEED_OK);
  exact_rows rows(n_rows, dim), others(n_other, dim);
  rows.x.assign(x.begin(), x.end()), others.x.assign(other.begin(), other.end());
  const exact_rows exact = exact_attention(l.c, rows, others);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(exact.x[i], double{y[i]}, 1e-5);
}

// Of the other sequence a row sees the first keys alone; the context is the result.
TEST_P(families, options_of_cross_attention_are_those_of_attention) {
  family_layer l;
  l.with_cross(n_heads), l.draw(&l.c, true), l.draw(true);
  l.c.wo = heed_weights(), l.c.bo = nullptr;
  const floats x = bell_floats(l.r, n_rows * dim), other = bell_floats(l.r, n_other * dim);
  const auto attended = [&] {
    floats y(x.size());
    EXPECT_EQ(
        heed_attention_layer_run(&l.c, heed_matrix_of(x.data(), n_rows, dim), heed_matrix_out_of(y.data(), n_rows, dim),
                                 heed_memory_of(memory, bytes), nullptr),
        HEED_OK);
    return y;
  };
  const int32_t first = 9;
  ASSERT_EQ(heed_attention_layer_encode(&l.c, heed_matrix_of(other.data(), first, dim), heed_memory_of(memory, bytes),
                                        nullptr),
            HEED_OK);
  const floats expected = attended();
  ASSERT_EQ(heed_cache_reset(&l.cache.cache), HEED_OK);
  encode(l, other, n_other, bytes);
  heed_ranges ranges;
  ASSERT_EQ(heed_ranges_init(&ranges), HEED_OK);
  ranges.kv_lengths = &first;
  l.options = heed_options_default(), l.options.ranges = &ranges, l.c.options = &l.options;
  EXPECT_TRUE(same_bits(expected, attended()));
}

// In a whole layer, too: all rows, and the last ones in little memory.
TEST_P(families, options_of_cross_attention_in_a_layer) {
  family_layer l;
  l.a.causal = 1, l.with_cross(n_heads), l.draw(&l.c, true), l.draw(true);
  const floats x = bell_floats(l.r, n_rows * dim), other = bell_floats(l.r, n_other * dim);
  encode(l, other, n_other, bytes);
  const floats expected = run(l, x, false);
  l.options = heed_options_default(), l.c.options = &l.options;
  EXPECT_TRUE(same_bits(expected, run(l, x, false)));
  heed_options own = heed_options_default();
  l.a.options = &own;
  EXPECT_TRUE(same_bits(expected, run(l, x, false)));
  l.t.out_rows = -4;
  floats y(4 * dim);
  const auto last = [&](size_t room) {
    return heed_transformer_layer_run(&l.t, heed_matrix_of(x.data(), n_rows, dim), heed_matrix_out_of(y.data(), 4, dim),
                                      heed_memory_of(memory, room), nullptr);
  };
  EXPECT_EQ(last(bytes), HEED_OK);
  EXPECT_TRUE(same_bits(floats(expected.end() - 4 * dim, expected.end()), y));
  EXPECT_EQ(last(heed_transformer_layer_min_bytes(&l.t, n_rows)), HEED_STATUS(HEED_TOO_SMALL, HEED_ARG_WORKSPACE));
}

// ------------------------------------------------------------------------------------------------------- bad arguments

TEST(bad_families, what_does_not_go_together) {
  static unsigned char
      memory[HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n_rows, dim, n_heads, n_heads, head_dim, head_dim, hidden + dim, 1) +
             64];
  unsigned char *const aligned = memory + (64 - reinterpret_cast<uintptr_t>(memory) % 64) % 64;
  const heed_memory room = heed_memory_of(aligned, sizeof memory - 64);
  const auto refuses = [&](heed_fault fault, heed_argument argument, const char *what,
                           const std::function<void(family_layer &)> &change) {
    family_layer l;
    l.a.causal = 1, l.with_cross(n_heads), l.draw(&l.c, true), l.draw(true);
    const floats x = bell_floats(l.r, n_other * dim);
    ASSERT_EQ(heed_attention_layer_encode(&l.c, heed_matrix_of(x.data(), n_other, dim), room, nullptr), HEED_OK);
    change(l);
    floats y(x.size(), 7.0f);
    EXPECT_EQ(heed_transformer_layer_run(&l.t, heed_matrix_of(x.data(), n_rows, dim),
                                         heed_matrix_out_of(y.data(), n_rows, dim), room, nullptr),
              HEED_STATUS(fault, argument))
        << what;
    EXPECT_EQ(y, floats(y.size(), 7.0f)) << what;
  };
  for (const int32_t wrong : {-1, 2}) {
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_POST_NORM, "post_norm", [=](family_layer &l) { l.t.post_norm = wrong; });
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_PARALLEL, "parallel", [=](family_layer &l) { l.t.parallel = wrong; });
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_FFN_ORDER, "ffn_order",
            [=](family_layer &l) { l.t.ffn_order = wrong * 2 - 1; });
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_CROSS, "cross", [=](family_layer &l) { l.a.cross = wrong; });
    refuses(HEED_OUT_OF_RANGE, HEED_ARG_QK_NORM_WHOLE, "whole", [=](family_layer &l) { l.a.qk_norm_whole = wrong; });
  }
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_PARALLEL, "parallel with cross", [](family_layer &l) { l.t.parallel = 1; });
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_PARALLEL, "parallel, norms last",
          [](family_layer &l) { l.t.cross = nullptr, l.t.parallel = 1, l.t.norm_first = 0; });
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_W_UP, "half of the matrix",
          [](family_layer &l) { l.t.ffn_order = HEED_FFN_UP_GATE; });
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_W_GATE, "two gates",
          [](family_layer &l) { l.t.ffn_order = HEED_FFN_UP_GATE, l.gate(); });
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_CROSS, "not made for it", [](family_layer &l) { l.c.cross = 0; });
  refuses(HEED_SHAPE_MISMATCH, HEED_ARG_CROSS, "other heads", [](family_layer &l) { l.c.n_heads = 2; });
  for (int32_t heed_attention_layer::*size : {&heed_attention_layer::model_dim, &heed_attention_layer::out_dim,
                                              &heed_attention_layer::head_dim, &heed_attention_layer::v_dim})
    refuses(HEED_SHAPE_MISMATCH, HEED_ARG_CROSS, "another size", [=](family_layer &l) { ++(l.c.*size); });
  refuses(HEED_MISALIGNED, HEED_ARG_CROSS, "by 1", [](family_layer &l) {
    l.t.cross = reinterpret_cast<const heed_attention_layer *>(reinterpret_cast<const char *>(&l.c) + 1);
  });
  refuses(HEED_UNSUPPORTED, HEED_ARG_KIND, "a ring", [](family_layer &l) { l.c.cache = &l.ring.cache; });
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_FFN_DIM, "value and gate together are too long",
          [](family_layer &l) { l.t.ffn_order = HEED_FFN_GATE_UP, l.t.ffn_dim = HEED_MAX_DIM / 2 + 1; });
  refuses(HEED_BAD_STRUCT_SIZE, HEED_ARG_OPTIONS, "options of cross", [](family_layer &l) {
    l.options = heed_options_default(), l.options.struct_size = 1, l.c.options = &l.options;
  });
  refuses(HEED_TOO_MANY_ROWS, HEED_ARG_N, "options of cross, rows in pieces", [](family_layer &l) {
    l.options = heed_options_default(), l.c.options = &l.options;
    l.a.cache = &l.ring.cache;
  });
  refuses(HEED_NULL_POINTER, HEED_ARG_CACHE, "no cache", [](family_layer &l) { l.c.cache = nullptr; });
  refuses(HEED_UNSUPPORTED, HEED_ARG_ROPE, "a rope", [](family_layer &l) { l.c.rope = &l.rope; });
  refuses(HEED_UNSUPPORTED, HEED_ARG_CAUSAL, "causal", [](family_layer &l) { l.c.causal = 1; });
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_N_KV, "an empty cache",
          [](family_layer &l) { EXPECT_EQ(heed_cache_reset(&l.cache.cache), HEED_OK); });
  refuses(HEED_NULL_POINTER, HEED_ARG_WO, "no wo", [](family_layer &l) { l.c.wo.data = nullptr; });
  const struct {
    heed_argument argument;
    const float *heed_attention_layer::*numbers;
  } of_heads[] = {{HEED_ARG_Q_NORM_WEIGHT, &heed_attention_layer::q_norm_weight},
                  {HEED_ARG_Q_NORM_BIAS, &heed_attention_layer::q_norm_bias},
                  {HEED_ARG_K_NORM_WEIGHT, &heed_attention_layer::k_norm_weight},
                  {HEED_ARG_K_NORM_BIAS, &heed_attention_layer::k_norm_bias}};
  for (const auto &one : of_heads)
    refuses(HEED_SHAPE_MISMATCH, one.argument, "numbers of a norm that is not there",
            [&](family_layer &l) { l.a.*one.numbers = l.numbers(head_dim); });
  refuses(HEED_NOT_FINITE, HEED_ARG_QK_EPS, "eps", [](family_layer &l) { l.a.qk_eps = INFINITY; });
  refuses(HEED_OUT_OF_RANGE, HEED_ARG_QK_EPS, "eps", [](family_layer &l) { l.a.qk_eps = -1e-6f; });
  const struct {
    heed_argument argument;
    const float *heed_transformer_layer::*numbers;
  } norms[] = {{HEED_ARG_NORM_CROSS_WEIGHT, &heed_transformer_layer::norm_cross_weight},
               {HEED_ARG_NORM_CROSS_BIAS, &heed_transformer_layer::norm_cross_bias},
               {HEED_ARG_POST_NORM1_WEIGHT, &heed_transformer_layer::post_norm1_weight},
               {HEED_ARG_POST_NORM1_BIAS, &heed_transformer_layer::post_norm1_bias},
               {HEED_ARG_POST_NORM2_WEIGHT, &heed_transformer_layer::post_norm2_weight},
               {HEED_ARG_POST_NORM2_BIAS, &heed_transformer_layer::post_norm2_bias},
               {HEED_ARG_POST_NORM_CROSS_WEIGHT, &heed_transformer_layer::post_norm_cross_weight},
               {HEED_ARG_POST_NORM_CROSS_BIAS, &heed_transformer_layer::post_norm_cross_bias}};
  for (const auto &one : norms)
    refuses(HEED_MISALIGNED, one.argument, "by 1", [&](family_layer &l) {
      l.t.*one.numbers = reinterpret_cast<const float *>(reinterpret_cast<const char *>(l.numbers(dim + 1)) + 1);
    });
}

TEST(bad_families, what_cannot_be_encoded) {
  family_layer l;
  l.with_cross(n_heads), l.draw(&l.c, true);
  const floats x = bell_floats(l.r, (n_other + 1) * dim), before = l.cache.contents();
  alignas(64) unsigned char memory[2 * dim * sizeof(float)];
  const heed_memory room = heed_memory_of(memory, sizeof memory);
  const auto status = [&](int32_t n, heed_memory m) {
    return heed_attention_layer_encode(&l.c, heed_matrix_of(x.data(), n, dim), m, nullptr);
  };
  EXPECT_EQ(status(n_other + 1, room), HEED_STATUS(HEED_FULL, HEED_ARG_CACHE));
  EXPECT_EQ(status(1, heed_memory_of(memory, sizeof memory - 1)), HEED_STATUS(HEED_TOO_SMALL, HEED_ARG_WORKSPACE));
  EXPECT_EQ(status(0, room), HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_X));
  l.c.cross = 0;
  EXPECT_EQ(status(1, room), HEED_STATUS(HEED_UNSUPPORTED, HEED_ARG_CROSS));
  l.c.cross = 1, l.c.cache = nullptr;
  EXPECT_EQ(status(1, room), HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_CACHE));
  EXPECT_EQ(heed_attention_layer_encode(nullptr, heed_matrix_of(x.data(), 1, dim), room, nullptr),
            HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_LAYER));
  EXPECT_TRUE(same_bits(before, l.cache.contents()));
}

HEED_TEST_EVERY_KERNEL(families);

}  // namespace
}  // namespace heed_test
