// Random layers with all that they point to, and the public functions that they are made of, one call after another.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_LAYERS_HPP
#define HEED_TESTS_SUPPORT_LAYERS_HPP

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caches.hpp"
#include "data.hpp"
#include "heed/heed.h"
#include "heed/int_products.h"
#include "rows.hpp"
#include "run.hpp"

namespace heed_test {

using floats = std::vector<float>;

struct layer_sizes {
  int32_t model_dim, n_heads, n_kv_heads, head_dim, v_dim;
  int32_t out_dim;  // 0: without wo
  int32_t ffn_dim;  // 0: an attention layer alone
};
inline layer_sizes draw_sizes(random_source &r, bool transformer) {
  layer_sizes s = {};
  s.n_kv_heads = r.between(1, 3), s.n_heads = s.n_kv_heads * r.between(1, 3);
  s.model_dim = r.size(1, 70), s.head_dim = r.size(1, 34), s.v_dim = r.chance(50) ? s.head_dim : r.size(1, 34);
  s.out_dim = transformer ? s.model_dim : r.chance(60) ? r.size(1, 70) : 0;
  s.ffn_dim = transformer ? r.size(1, 90) : 0;
  return s;
}

// An attention layer, or a transformer layer around one. Copies share what they point to.
// Before the data of packed weights.
constexpr size_t packed_header_bytes = 64;

class random_layer {
 public:
  random_layer(random_source &r, const layer_sizes &s, bool decoder) : is_transformer(s.ffn_dim > 0) {
    heed_attention_layer &a = attention;
    a = heed_attention_layer_default(s.model_dim, s.n_heads);
    a.n_kv_heads = s.n_kv_heads, a.head_dim = s.head_dim, a.v_dim = s.v_dim;
    a.out_dim = s.out_dim ? s.out_dim : s.n_heads * s.v_dim;
    a.causal = decoder || r.chance(50);
    if (r.chance(50)) a.scale = std::fabs(r.bell()) + 0.01f;
    draw(r, s.model_dim, s.n_heads * s.head_dim, &a.wq, &a.bq);
    draw(r, s.model_dim, s.n_kv_heads * s.head_dim, &a.wk, &a.bk);
    draw(r, s.model_dim, s.n_kv_heads * s.v_dim, &a.wv, &a.bv);
    if (s.out_dim) draw(r, s.n_heads * s.v_dim, s.out_dim, &a.wo, &a.bo);
    if (s.head_dim > 1 && r.chance(decoder ? 80 : 30)) draw_rope(r);
    if (r.chance(30)) draw_qk_norm(r);
    transformer = heed_transformer_layer_default(nullptr, s.ffn_dim, nullptr, nullptr);
    if (is_transformer) draw_feed_forward(r);
  }
  random_layer(random_source &r, bool of_transformer, bool decoder)
      : random_layer(r, draw_sizes(r, of_transformer), decoder) {}

  heed_status run(heed_matrix x, heed_matrix_out y, heed_memory memory, const heed_executor *executor) const {
    if (!is_transformer) return heed_attention_layer_run(&attention, x, y, memory, executor);
    heed_transformer_layer t = transformer;
    t.attention = &attention;
    return heed_transformer_layer_run(&t, x, y, memory, executor);
  }
  // Floats of q, k, v and, with wo, the context of n rows.
  size_t kept_floats(int32_t n) const {
    const heed_attention_layer &a = attention;
    const size_t context = a.wo.data ? 0 : size_t(a.n_heads) * size_t(a.v_dim);
    return size_t(n) * (HEED_LAYER_QKV_FLOATS(a.n_heads, a.n_kv_heads, a.head_dim, a.v_dim) - context);
  }
  // What the layer needs besides the workspace, for so many rows at once.
  size_t bytes_besides_workspace(int32_t n) const {
    const heed_attention_layer &a = attention;
    if (!is_transformer) return HEED_LAYER_ROUND(4 * kept_floats(n));
    heed_transformer_layer t = transformer;
    t.attention = &attention;
    return heed_transformer_layer_bytes(&t, n) - HEED_WORKSPACE_BYTES(a.head_dim, a.v_dim);
  }
  // Multiply-adds for a row, without attention itself.
  int64_t work_of_a_row() const {
    int64_t all = 0;
    for (const heed_weights &w : {attention.wq, attention.wk, attention.wv, attention.wo, transformer.w_up,
                                  transformer.w_gate, transformer.w_down})
      all += int64_t{w.n_in} * w.n_out;
    return all;
  }
  // place(pointer, bytes, alignment) for every array of numbers; alignment 0: of few bytes, which may lie anywhere.
  template <typename Place>
  void each_array(Place place) {
    heed_attention_layer &a = attention;
    heed_transformer_layer &t = transformer;
    const auto visit = [&](auto &pointer, size_t alignment = sizeof(float)) {
      if (pointer) place(pointer, arrays_->at(pointer).bytes, alignment);
    };
    for (heed_weights *w : {&a.wq, &a.wk, &a.wv, &a.wo, &t.w_up, &t.w_gate, &t.w_down}) {
      if (w->layout == HEED_PACKED) {  // with the header before them, which calls compare
        const void *packed = static_cast<const char *>(w->data) - packed_header_bytes;
        place(packed, arrays_->at(w->data).bytes + packed_header_bytes, size_t{HEED_ALIGNMENT});
        w->data = static_cast<const char *>(packed) + packed_header_bytes;
      } else {
        visit(w->data, HEED_DTYPE_BYTES(w->dtype));
      }
      visit(w->scales), visit(w->zero_points, 0);
    }
    for (const float **b : {&a.bq,
                            &a.bk,
                            &a.bv,
                            &a.bo,
                            &t.b_up,
                            &t.b_gate,
                            &t.b_down,
                            &t.norm1_weight,
                            &t.norm1_bias,
                            &t.norm2_weight,
                            &t.norm2_bias,
                            &t.post_norm1_weight,
                            &t.post_norm1_bias,
                            &t.post_norm2_weight,
                            &t.post_norm2_bias,
                            &t.norm_cross_weight,
                            &t.norm_cross_bias,
                            &t.post_norm_cross_weight,
                            &t.post_norm_cross_bias,
                            &a.q_norm_weight,
                            &a.q_norm_bias,
                            &a.k_norm_weight,
                            &a.k_norm_bias})
      visit(*b);
  }
  std::string text() const {
    const heed_attention_layer &a = attention;
    return std::string(is_transformer ? "transformer" : "attention") + " layer of model_dim " +
           std::to_string(a.model_dim) + " heads " + std::to_string(a.n_heads) + "/" + std::to_string(a.n_kv_heads) +
           " head_dim " + std::to_string(a.head_dim) + " v_dim " + std::to_string(a.v_dim) + " out_dim " +
           std::to_string(a.out_dim) + (a.wo.data ? "" : " without wo") + " hidden " +
           std::to_string(transformer.ffn_dim) + (transformer.post_norm ? " norm after" : "") +
           (transformer.parallel ? " parallel" : "") + " order " + std::to_string(transformer.ffn_order) +
           (a.qk_norm ? " qk norm" : "") + " causal " + std::to_string(a.causal) + (a.rope ? " rope" : "") +
           options.text();
  }

  bool is_transformer;
  heed_attention_layer attention;
  heed_transformer_layer transformer;  // run() sets its attention
  extras options;                      // of attention; whoever runs the layer makes objects of them

 private:
  struct array {
    floats words;
    size_t bytes;
  };
  void *take(size_t bytes) {
    array a = {floats(bytes / 4 + 1), bytes};
    void *const data = a.words.data();
    arrays_->emplace(data, std::move(a));
    return data;
  }
  const float *some(random_source &r, int32_t n) {
    if (r.chance(30)) return nullptr;
    float *const x = static_cast<float *>(take(size_t(n) * 4));
    for (int32_t i = 0; i < n; ++i) x[i] = r.bell();
    return x;
  }
  void draw(random_source &r, int32_t n_in, int32_t n_out, heed_weights *w, const float **bias) {
    const int32_t layout = r.between(0, 1), dtype = r.between(HEED_F32, HEED_INT8);
    const int32_t rows = layout == HEED_IN_OUT ? n_in : n_out, dim = layout == HEED_IN_OUT ? n_out : n_in;
    floats numbers = bell_floats(r, size_t(n_in) * size_t(n_out));
    for (float &x : numbers) x *= 0.3f;
    const heed_matrix all = heed_matrix_of(numbers.data(), rows, dim);
    void *const data = take(numbers.size() * HEED_DTYPE_BYTES(dtype));
    float *const scales = dtype == HEED_INT8 ? static_cast<float *>(take(size_t(n_out) * 4)) : nullptr;
    EXPECT_EQ(dtype == HEED_INT8
                  ? heed_weights_quantize(all, layout, static_cast<int8_t *>(data), scales)
                  : heed_convert_from_f32(all, heed_typed_matrix_out_of(data, nullptr, dtype, rows, dim)),
              HEED_OK);
    *w = heed_weights_of(data, scales, dtype, layout, n_in, n_out);
    if (dtype == HEED_INT8 && r.chance(50)) draw_zero_points(r, static_cast<unsigned char *>(data), numbers.size(), w);
    if (r.chance(30)) pack(r, w);
    *bias = some(r, n_out);
  }
  // int8 become weights with zero points, small ones.
  void draw_zero_points(random_source &r, unsigned char *data, size_t n, heed_weights *w) {
    const int32_t n_scales = r.chance(30) ? 1 : w->n_out, middle = r.chance(50) ? 128 : 0;
    if (middle) w->dtype = HEED_UINT8;
    for (size_t i = 0; i < n; ++i) data[i] = static_cast<unsigned char>(data[i] ^ middle);
    unsigned char *zeros = nullptr;
    if (middle || r.chance(70)) {
      zeros = static_cast<unsigned char *>(take(size_t(n_scales)));
      for (int32_t i = 0; i < n_scales; ++i) zeros[i] = static_cast<unsigned char>(middle + r.between(-30, 30));
    }
    *w = heed_weights_with_zero_points(*w, zeros, n_scales);
  }
  // In any format. What is kept begins behind the header, where the weights' data do.
  void pack(random_source &r, heed_weights *w) {
    const int32_t dtype = w->code && r.chance(60) ? int32_t{HEED_UINT8} : r.between(HEED_F32, HEED_Q4_0);
    const size_t bytes = heed_weights_packed_bytes(dtype, w->n_in, w->n_out);
    array a = {floats(bytes / 4 + 16), bytes - packed_header_bytes};
    const uintptr_t address = (reinterpret_cast<uintptr_t>(a.words.data()) + 63) / 64 * 64;
    void *const to = reinterpret_cast<void *>(address);
    EXPECT_EQ(heed_weights_pack(*w, dtype, heed_memory_of(to, bytes)), HEED_OK);
    EXPECT_EQ(heed_weights_open(w, to, bytes), HEED_OK);
    const bool in_integers = dtype >= HEED_INT8 && r.chance(50);
    EXPECT_EQ(in_integers ? heed_weights_in_integers(w, *w) : HEED_OK, HEED_OK);
    arrays_->emplace(w->data, std::move(a));
  }
  void draw_rope(random_source &r) {
    rope_ = std::make_shared<heed_rope>();
    EXPECT_EQ(heed_rope_init(rope_.get(), r.between(0, 1)), HEED_OK);
    if (attention.head_dim % 2 || r.chance(50)) rope_->rotary_dim = 2 * r.between(1, attention.head_dim / 2);
    attention.rope = rope_.get();
  }
  void draw_qk_norm(random_source &r) {
    heed_attention_layer &a = attention;
    a.qk_norm = norms[r.between(0, 2)].call, a.qk_norm_whole = r.chance(50);
    a.q_norm_weight = some(r, a.qk_norm_whole ? a.n_heads * a.head_dim : a.head_dim);
    a.k_norm_weight = some(r, a.qk_norm_whole ? a.n_kv_heads * a.head_dim : a.head_dim);
    a.k_norm_bias = some(r, a.qk_norm_whole ? a.n_kv_heads * a.head_dim : a.head_dim);
  }
  // What families of models have besides: layers.h lists it.
  void draw_family(random_source &r) {
    heed_transformer_layer &t = transformer;
    const int32_t dim = attention.model_dim;
    if (r.chance(30)) t.norm = heed_rms_norm_plus_one;
    t.post_norm = r.chance(50);
    for (const float **x : {&t.post_norm1_weight, &t.post_norm1_bias, &t.post_norm2_weight, &t.post_norm2_bias})
      *x = some(r, dim);
    t.parallel = t.norm_first && r.chance(50);
  }
  void draw_feed_forward(random_source &r) {
    heed_transformer_layer &t = transformer;
    heed_activation *const activations[] = {heed_gelu, heed_gelu_tanh, heed_silu, heed_relu, heed_tanh, heed_sigmoid};
    const int32_t dim = attention.model_dim;
    t.norm_first = r.chance(50);
    t.norm = r.chance(50) ? heed_rms_norm : heed_layer_norm;
    t.activation = activations[r.between(0, 5)];
    for (const float **x : {&t.norm1_weight, &t.norm1_bias, &t.norm2_weight, &t.norm2_bias}) *x = some(r, dim);
    if (r.chance(40)) draw_family(r);
    if (r.chance(25)) t.ffn_order = r.between(HEED_FFN_GATE_UP, HEED_FFN_UP_GATE);
    draw(r, dim, t.ffn_dim * (t.ffn_order ? 2 : 1), &t.w_up, &t.b_up);
    if (!t.ffn_order && r.chance(50)) draw(r, dim, t.ffn_dim, &t.w_gate, &t.b_gate);
    draw(r, t.ffn_dim, dim, &t.w_down, &t.b_down);
  }

  std::shared_ptr<std::map<const void *, array>> arrays_ = std::make_shared<std::map<const void *, array>>();
  std::shared_ptr<heed_rope> rope_;
};

// ---------------------------------------------------------------------------------------------------------- options

// Its attention over n rows and so many keys, without the numbers.
inline problem attention_of(const random_layer &l, int32_t n, int32_t n_kv) {
  const heed_attention_layer &a = l.attention;
  problem p;
  p.n_heads = a.n_heads, p.n_kv_heads = a.n_kv_heads, p.n_q = n, p.n_kv = n_kv;
  p.head_dim = a.head_dim, p.v_dim = a.v_dim, p.scale = a.scale, p.causal = a.causal;
  p.options = l.options;
  return p;
}

// What a layer or a sequence may have: no partial results, positions as an array alone.
inline void draw_inner_features(random_source &r, problem *p) {
  draw_features(r, p);
  p->causal_offset = 0;
  p->options.partial = false;
}
inline void put_all(const problem &p, placed_options *options) {
  for (const feature &f : features())
    if (f.in(p)) (options->*f.put)();
}

// Options for n rows after so many others. A ring has neither positions nor other pinned keys than its own; and what
// counts by the rows of the call only if it takes them at once.
inline void draw_options(random_source &r, int32_t n, int32_t n_before, const heed_cache_shape *shape,
                         random_layer *l) {
  problem p = attention_of(*l, n, n_before + n);
  draw_inner_features(r, &p);
  extras &x = p.options;
  if (!shape) l->attention.causal = p.causal;
  if (shape && shape->kind == HEED_CACHE_RING) {
    x.offsets.clear(), x.pinned = std::min(x.pinned, shape->pinned);
    if (n > shape->spare + 1) {
      x.mask = {}, x.kv_lengths.clear(), x.scores_stage = -1, x.k = 0;
      x.weights = x.lse = x.column_sums = false;
    }
  }
  l->options = x;
}

// -------------------------------------------------------------------------------------------------------- the parts

// A cache of one sequence and its memory.
class owned_cache {
 public:
  explicit owned_cache(const heed_cache_shape &shape) : memory_(heed_cache_bytes(&shape) / 4 + 32, -1.0f) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(memory_.data());
    EXPECT_EQ(
        heed_cache_init(&cache, &shape,
                        heed_memory_of(reinterpret_cast<void *>((address + 63) / 64 * 64), heed_cache_bytes(&shape))),
        HEED_OK);
  }
  owned_cache(const owned_cache &) = delete;
  owned_cache &operator=(const owned_cache &) = delete;
  floats contents() const {
    const float *const from = static_cast<const float *>(cache.buffer);
    return {from, from + heed_cache_bytes(&cache.shape) / 4};
  }
  heed_cache cache;

 private:
  floats memory_;
};

}  // namespace heed_test

#endif
