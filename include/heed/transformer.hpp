// heed for C++17: layers of a transformer whose shapes the compiler knows. Include heed.hpp; transformer.h says what is
// computed.
// SPDX-License-Identifier: MIT
#ifndef HEED_HEED_TRANSFORMER_HPP
#define HEED_HEED_TRANSFORMER_HPP

#include "cache.hpp"

namespace heed {

// What a layer needs besides its weights, for up to N rows and one worker.
template <int N, int ModelDim, int Heads, int KvHeads, int D, int Hidden, int V = D>
struct block_memory {
  static constexpr size_t n_floats = HEED_BLOCK_ACTIVATIONS(N, ModelDim, Heads, KvHeads, D, V, Hidden, 1);
  float activations[n_floats];
  workspace<D, V> scratch;
};

// A transformer layer; weights of other sizes do not compile. Everything that a member points to stays the caller's.
template <int ModelDim, int Heads, int KvHeads, int D, int Hidden, int V = D>
class block {
  static_assert(Heads % KvHeads == 0, "the number of query heads is no multiple of the number of key heads");

 public:
  // f: heed_rms_norm or heed_layer_norm. first: before attention and feed-forward (Llama), else after (the paper).
  block(heed_norm *f, bool first, float eps = 1e-5f) noexcept {
    c.struct_size = sizeof c;
    c.model_dim = ModelDim;
    c.n_heads = Heads;
    c.n_kv_heads = KvHeads;
    c.head_dim = D;
    c.v_dim = V;
    c.hidden_dim = Hidden;
    c.norm = f;
    c.norm_first = first;
    c.eps = eps;
  }
  block &norm_weights(const float (&first)[ModelDim], const float (&second)[ModelDim]) noexcept {
    c.norm1_weight = first;
    c.norm2_weight = second;
    return *this;
  }
  block &norm_biases(const float (&first)[ModelDim], const float (&second)[ModelDim]) noexcept {
    c.norm1_bias = first;
    c.norm2_bias = second;
    return *this;
  }
  block &attention(const weights<ModelDim, Heads * D> &wq, const weights<ModelDim, KvHeads * D> &wk,
                   const weights<ModelDim, KvHeads * V> &wv, const weights<Heads * V, ModelDim> &wo) noexcept {
    c.wq = wq.c;
    c.wk = wk.c;
    c.wv = wv.c;
    c.wo = wo.c;
    return *this;
  }
  block &attention_biases(const float (&bq)[Heads * D], const float (&bk)[KvHeads * D], const float (&bv)[KvHeads * V],
                          const float (&bo)[ModelDim]) noexcept {
    c.bq = bq;
    c.bk = bk;
    c.bv = bv;
    c.bo = bo;
    return *this;
  }
  block &feed_forward(heed_activation *f, const weights<ModelDim, Hidden> &up,
                      const weights<Hidden, ModelDim> &down) noexcept {
    c.activation = f;
    c.w_up = up.c;
    c.w_down = down.c;
    return *this;
  }
  block &feed_forward_biases(const float (&up)[Hidden], const float (&down)[ModelDim]) noexcept {
    c.b_up = up;
    c.b_down = down;
    return *this;
  }
  block &gate(const weights<ModelDim, Hidden> &w) noexcept {
    c.w_gate = w.c;
    return *this;
  }
  block &turn(const rope &r) noexcept {
    c.rope = r.c_rope();
    return *this;
  }
  block &causal() noexcept {
    c.causal = 1;
    return *this;
  }
  // Of one sequence: a decoder, one piece after another.
  template <heed_cache_kind Kind, int Capacity, int Pinned, int Spare, heed_format Format>
  block &keep(basic_cache<Kind, Capacity, Pinned, Spare, 1, KvHeads, D, V, Format> &kv) noexcept {
    c.cache = kv.c_cache();
    return causal();
  }

  // y may be x.
  template <int N, int Most>
  status run(const float (&x)[N][ModelDim], float (&y)[N][ModelDim],
             block_memory<Most, ModelDim, Heads, KvHeads, D, Hidden, V> &m) const noexcept {
    static_assert(N <= Most, "the memory is for fewer rows");
    return heed_block_run(&c, heed_matrix_of(x[0], N, ModelDim), heed_matrix_out_of(y[0], N, ModelDim), m.activations,
                          m.n_floats, m.scratch.bytes, m.scratch.n_bytes, nullptr);
  }

  heed_block c = {};  // for what has no function here: options of attention, scale, single biases
};

}  // namespace heed

#endif
