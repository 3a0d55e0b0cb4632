// The layer of each family of models that the manual lists, against double precision; and decoders with
// cross-attention, whatever pieces their rows come in. SPDX-License-Identifier: MIT
#include <functional>
#include <list>

#include "support/data.hpp"
#include "support/family_oracle.hpp"
#include "support/kernels.hpp"
#include "support/layers.hpp"

namespace heed_test {
namespace {

constexpr int32_t n_rows = 11, n_other = 23, dim = 48, n_heads = 4, head_dim = 12, hidden = 80;

struct family_layer {
  family_layer() {
    a = heed_attention_layer_default(dim, n_heads);
    t = heed_transformer_layer_default(&a, hidden, heed_layer_norm, heed_gelu);
    t.norm_first = 1;
    EXPECT_EQ(heed_rope_init(&rope, HEED_ROPE_HALVES), HEED_OK);
  }
  heed_weights weights(int32_t in, int32_t out) {
    float *const w = numbers(in * out, 0.2f);
    return heed_weights_of(w, nullptr, HEED_F32, HEED_OUT_IN, in, out);
  }
  float *numbers(int32_t n, float by = 1.0f) {
    kept.push_back(bell_floats(r, size_t(n)));
    for (float &x : kept.back()) x *= by;
    return kept.back().data();
  }
  void draw(heed_attention_layer *l, bool biases) {
    l->wq = weights(dim, n_heads * head_dim), l->wk = weights(dim, l->n_kv_heads * head_dim);
    l->wv = weights(dim, l->n_kv_heads * head_dim), l->wo = weights(n_heads * head_dim, dim);
    if (biases) l->bq = numbers(dim), l->bv = numbers(dim), l->bo = numbers(dim);
  }
  // All weights, once the fields of a family are set.
  void draw(bool biases) {
    draw(&a, biases);
    const bool together = t.ffn_order != HEED_FFN_SEPARATE;
    t.w_up = weights(dim, hidden * (together ? 2 : 1)), t.w_down = weights(hidden, dim);
    if (biases) t.b_up = numbers(t.w_up.n_out), t.b_down = numbers(dim);
    t.norm1_weight = numbers(dim), t.norm2_weight = numbers(dim), t.norm_cross_weight = numbers(dim);
    if (biases) t.norm1_bias = numbers(dim), t.norm2_bias = numbers(dim), t.norm_cross_bias = numbers(dim);
    if (t.post_norm) t.post_norm1_weight = numbers(dim), t.post_norm2_weight = numbers(dim);
    if (t.post_norm) t.post_norm_cross_weight = numbers(dim);
  }
  void gate() { t.w_gate = weights(dim, hidden); }
  void grouped() { a.n_kv_heads = 2; }
  void causal(int32_t style, int32_t rotary_dim) {
    a.causal = 1, rope.style = style, rope.rotary_dim = rotary_dim, a.rope = &rope;
  }
  void with_cross(int32_t n_kv_heads) {
    c = heed_attention_layer_default(dim, n_heads);
    c.n_kv_heads = n_kv_heads, c.cross = 1, c.cache = &cache.cache;
    t.cross = &c;
  }
  random_source r{11};
  std::list<floats> kept;
  heed_attention_layer a, c;
  heed_transformer_layer t;
  heed_rope rope;
  owned_cache cache{cache_shape(HEED_CACHE_LINEAR, n_other, n_heads, head_dim, head_dim, HEED_F32)};
};

struct family {
  const char *name;
  std::function<void(family_layer &)> make;
};

// As ports/families.md lists them.
const family all_families[] = {
    {"BERT", [](family_layer &l) { l.t.norm_first = 0, l.draw(true); }},
    {"GPT-2", [](family_layer &l) { l.a.causal = 1, l.t.activation = heed_gelu_tanh, l.draw(true); }},
    {"Llama",
     [](family_layer &l) {
       l.grouped(), l.causal(HEED_ROPE_HALVES, 0), l.t.norm = heed_rms_norm, l.t.activation = heed_silu;
       l.gate(), l.draw(false);
     }},
    {"Qwen 3",
     [](family_layer &l) {
       l.grouped(), l.causal(HEED_ROPE_HALVES, 0), l.t.norm = heed_rms_norm, l.t.activation = heed_silu;
       l.a.qk_norm = heed_rms_norm, l.a.q_norm_weight = l.numbers(head_dim), l.a.k_norm_weight = l.numbers(head_dim);
       l.gate(), l.draw(false);
     }},
    {"Gemma 2",
     [](family_layer &l) {
       l.grouped(), l.causal(HEED_ROPE_HALVES, 0), l.t.norm = heed_rms_norm_plus_one;
       l.t.activation = heed_gelu_tanh, l.t.post_norm = 1, l.gate(), l.draw(false);
     }},
    {"Gemma 3",
     [](family_layer &l) {
       l.grouped(), l.causal(HEED_ROPE_HALVES, 0), l.t.norm = heed_rms_norm_plus_one;
       l.t.activation = heed_gelu_tanh, l.t.post_norm = 1, l.a.qk_norm = heed_rms_norm_plus_one;
       l.a.q_norm_weight = l.numbers(head_dim), l.a.k_norm_weight = l.numbers(head_dim), l.gate(), l.draw(false);
     }},
    {"OLMo 2",
     [](family_layer &l) {
       l.grouped(), l.causal(HEED_ROPE_HALVES, 0), l.t.norm = heed_rms_norm, l.t.activation = heed_silu;
       l.t.norm_first = 0, l.t.post_norm = 1, l.a.qk_norm = heed_rms_norm, l.a.qk_norm_whole = 1;
       l.a.q_norm_weight = l.numbers(n_heads * head_dim), l.a.k_norm_weight = l.numbers(2 * head_dim);
       l.gate(), l.draw(false);
     }},
    {"GPT-NeoX", [](family_layer &l) { l.causal(HEED_ROPE_HALVES, head_dim / 2), l.t.parallel = 1, l.draw(true); }},
    {"Phi",
     [](family_layer &l) {
       l.causal(HEED_ROPE_HALVES, head_dim / 2), l.t.parallel = 1, l.t.activation = heed_gelu_tanh, l.draw(true);
       l.t.norm2_weight = l.t.norm1_weight, l.t.norm2_bias = l.t.norm1_bias;
     }},
    {"Phi-3",
     [](family_layer &l) {
       l.causal(HEED_ROPE_HALVES, 0), l.t.norm = heed_rms_norm, l.t.activation = heed_silu;
       l.t.ffn_order = HEED_FFN_GATE_UP, l.draw(false);
     }},
    {"the paper's decoder",
     [](family_layer &l) {
       l.a.causal = 1, l.t.norm_first = 0, l.t.activation = heed_relu, l.with_cross(n_heads), l.draw(&l.c, true);
       l.draw(true);
     }},
    {"Whisper's decoder",
     [](family_layer &l) { l.a.causal = 1, l.with_cross(n_heads), l.draw(&l.c, true), l.draw(true); }},
    {"Moonshine's decoder",
     [](family_layer &l) {
       l.causal(HEED_ROPE_INTERLEAVED, head_dim - 4), l.t.activation = heed_silu;
       l.t.ffn_order = HEED_FFN_UP_GATE, l.with_cross(n_heads), l.draw(&l.c, false), l.draw(false);
     }},
    {"T5 Gemma's decoder",
     [](family_layer &l) {
       l.causal(HEED_ROPE_HALVES, 0), l.t.norm = heed_rms_norm_plus_one, l.t.activation = heed_gelu_tanh;
       l.t.post_norm = 1, l.gate(), l.with_cross(n_heads), l.draw(&l.c, false), l.draw(false);
     }},
};

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
