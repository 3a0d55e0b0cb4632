// heed for C++17: layers whose shapes the compiler knows. Weights of other sizes do not compile. Include heed.hpp.
// layers.h states what a layer computes. SPDX-License-Identifier: MIT
#ifndef HEED_HEED_LAYERS_HPP
#define HEED_HEED_LAYERS_HPP

#include "cache.hpp"
#include "rows.hpp"

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // GCC finds one where an int is the bound of an array
#endif

namespace heed {

// The memory of a layer, for up to Rows rows: layer_memory<decltype(layer), 8>.
template <class Layer, int Rows, int Workers = 1>
struct layer_memory {
  static_assert(Rows >= 1 && Rows <= HEED_MAX_COUNT, "number of rows out of range");
  static_assert(Workers >= 1 && Workers <= HEED_MAX_WORKERS, "number of workers out of range");
  // Its size.
  static constexpr size_t n_bytes = Layer::template n_bytes<Rows> + (Workers - 1) * Layer::n_bytes_of_worker;
  heed_memory memory() noexcept { return {bytes, n_bytes}; }  // for the functions of heed.h
  alignas(HEED_ALIGNMENT) unsigned char bytes[n_bytes];       // its memory
};

// Attention with its projections: heed_attention_layer. The object keeps pointers to the arrays that it is given.
template <int ModelDim, int Heads, int KvHeads, int D, int V = D, int OutDim = ModelDim>
class attention_layer {
  static_assert(Heads % KvHeads == 0, "the number of query heads is no multiple of the number of key heads");

 public:
  // Bytes of memory for each further worker, and for Rows rows with one worker.
  static constexpr size_t n_bytes_of_worker = HEED_WORKSPACE_BYTES(D, V);
  template <int Rows>
  static constexpr size_t n_bytes = HEED_ATTENTION_LAYER_BYTES(Rows, Heads, KvHeads, D, V);

  // A layer with the default scale, without a mask and without weights.
  attention_layer() noexcept {
    c.n_kv_heads = KvHeads;
    c.head_dim = D;
    c.v_dim = V;
    c.out_dim = OutDim;
  }
  // The weights. Without wo the result is the context of all heads.
  attention_layer &projections(const weights<ModelDim, Heads * D> &wq, const weights<ModelDim, KvHeads * D> &wk,
                               const weights<ModelDim, KvHeads * V> &wv,
                               const weights<Heads * V, OutDim> &wo) noexcept {
    c.wo = wo.c;
    return set_projections(wq, wk, wv);
  }
  attention_layer &projections(const weights<ModelDim, Heads * D> &wq, const weights<ModelDim, KvHeads * D> &wk,
                               const weights<ModelDim, KvHeads * V> &wv) noexcept {
    static_assert(OutDim == Heads * V, "the result is for other weights");
    return set_projections(wq, wk, wv);
  }
  // The biases.
  attention_layer &biases(const float (&bq)[Heads * D], const float (&bk)[KvHeads * D],
                          const float (&bv)[KvHeads * V]) noexcept {
    c.bq = bq;
    c.bk = bk;
    c.bv = bv;
    return *this;
  }
  attention_layer &biases(const float (&bq)[Heads * D], const float (&bk)[KvHeads * D], const float (&bv)[KvHeads * V],
                          const float (&bo)[OutDim]) noexcept {
    c.bo = bo;
    return biases(bq, bk, bv);
  }
  // The scale, instead of the default.
  attention_layer &scale(float x) noexcept {
    c.scale = x;
    return *this;
  }
  // Row i sees rows 0 to i.
  attention_layer &causal() noexcept {
    c.causal = 1;
    return *this;
  }
  // Rotates queries and keys.
  attention_layer &rotate(const rope &r) noexcept {
    c.rope = r.c_rope();
    return *this;
  }
  // Appends keys and values to a cache of one sequence: a decoder, one piece after another. The layer becomes causal.
  template <heed_cache_kind Kind, int Capacity, int Pinned, int Spare, heed_dtype Dtype>
  attention_layer &keep(basic_cache<Kind, Capacity, Pinned, Spare, 1, KvHeads, D, V, Dtype> &kv) noexcept {
    c.cache = kv.c_cache();
    return causal();
  }

  // Runs the layer on N rows.
  template <int N, int Most, int Workers>
  status run(const float (&x)[N][ModelDim], float (&y)[N][OutDim], layer_memory<attention_layer, Most, Workers> &m,
             const heed_executor *executor = nullptr) const noexcept {
    static_assert(N <= Most, "the memory is for fewer rows");
    return heed_attention_layer_run(&c, heed_matrix_of(x[0], N, ModelDim), heed_matrix_out_of(y[0], N, OutDim),
                                    m.memory(), executor);
  }

  // The layer of heed.h, for what has no function here: options of attention, single biases.
  heed_attention_layer c = heed_attention_layer_default(ModelDim, Heads);

 private:
  attention_layer &set_projections(const weights<ModelDim, Heads * D> &wq, const weights<ModelDim, KvHeads * D> &wk,
                                   const weights<ModelDim, KvHeads * V> &wv) noexcept {
    c.wq = wq.c;
    c.wk = wk.c;
    c.wv = wv.c;
    return *this;
  }
};

// A transformer layer: heed_transformer_layer. Its attention layer is the member `attention`.
template <int ModelDim, int Heads, int KvHeads, int D, int Hidden, int V = D>
class transformer_layer {
 public:
  // Bytes of memory for each further worker, and for Rows rows with one worker, gated or not.
  static constexpr size_t n_bytes_of_worker = HEED_WORKSPACE_BYTES(D, V);
  template <int Rows>
  static constexpr size_t n_bytes = HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(Rows, ModelDim, Heads, KvHeads, D, V, Hidden,
                                                                          1);

  // norm is heed_layer_norm or heed_rms_norm. activation is heed_gelu, heed_gelu_tanh, heed_silu, heed_relu,
  // heed_tanh or heed_sigmoid.
  transformer_layer(heed_norm *norm, heed_activation *activation) noexcept
      : c(heed_transformer_layer_default(&attention.c, Hidden, norm, activation)) {}
  // An object points into itself, so it cannot be copied.
  transformer_layer(const transformer_layer &) = delete;
  transformer_layer &operator=(const transformer_layer &) = delete;

  // Norms come before attention and feed-forward (Llama). Otherwise they come after (the paper).
  transformer_layer &norms_first() noexcept {
    c.norm_first = 1;
    return *this;
  }
  // The eps of both norms; 1e-5 by default.
  transformer_layer &eps(float x) noexcept {
    c.eps = x;
    return *this;
  }
  // The weights and the biases of both norms.
  transformer_layer &norm_weights(const float (&first)[ModelDim], const float (&second)[ModelDim]) noexcept {
    c.norm1_weight = first;
    c.norm2_weight = second;
    return *this;
  }
  transformer_layer &norm_biases(const float (&first)[ModelDim], const float (&second)[ModelDim]) noexcept {
    c.norm1_bias = first;
    c.norm2_bias = second;
    return *this;
  }
  // The weights and the biases of the feed-forward part.
  transformer_layer &feed_forward(const weights<ModelDim, Hidden> &up, const weights<Hidden, ModelDim> &down) noexcept {
    c.w_up = up.c;
    c.w_down = down.c;
    return *this;
  }
  transformer_layer &feed_forward_biases(const float (&up)[Hidden], const float (&down)[ModelDim]) noexcept {
    c.b_up = up;
    c.b_down = down;
    return *this;
  }
  // The weights of the gate, of a gated layer.
  transformer_layer &gate(const weights<ModelDim, Hidden> &w) noexcept {
    c.w_gate = w.c;
    return *this;
  }

  // Runs the layer on N rows. y may be x.
  template <int N, int Most, int Workers>
  status run(const float (&x)[N][ModelDim], float (&y)[N][ModelDim], layer_memory<transformer_layer, Most, Workers> &m,
             const heed_executor *executor = nullptr) const noexcept {
    static_assert(N <= Most, "the memory is for fewer rows");
    return heed_transformer_layer_run(&c, heed_matrix_of(x[0], N, ModelDim), heed_matrix_out_of(y[0], N, ModelDim),
                                      m.memory(), executor);
  }

  attention_layer<ModelDim, Heads, KvHeads, D, V> attention;  // its attention layer
  heed_transformer_layer c;  // the layer of heed.h, for what has no function here: single biases
};

}  // namespace heed

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif
