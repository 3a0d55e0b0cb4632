// A layer of each family of models that the manual lists (ports/families.md). SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FAMILY_LAYERS_HPP
#define HEED_TESTS_SUPPORT_FAMILY_LAYERS_HPP

#include <functional>
#include <list>

#include "data.hpp"
#include "layers.hpp"

namespace heed_test {
namespace {

constexpr int32_t n_other = 23, dim = 48, n_heads = 4, head_dim = 12, hidden = 80;

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
  heed_options options;
  owned_cache cache{cache_shape(HEED_CACHE_LINEAR, n_other, n_heads, head_dim, head_dim, HEED_F32)};
  owned_cache ring{cache_shape(HEED_CACHE_RING, n_other, n_heads, head_dim, head_dim, HEED_F32, 0, 2)};
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

}  // namespace
}  // namespace heed_test

#endif
