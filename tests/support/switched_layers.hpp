// Calls of attention and layers for switched_calls.hpp. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_SWITCHED_LAYERS_HPP
#define HEED_TESTS_SUPPORT_SWITCHED_LAYERS_HPP

#include "switched_calls.hpp"

namespace heed_test {

struct attention_size {
  int32_t n_q, n_kv, n_heads, n_kv_heads, dim;
};
constexpr attention_size prefill = {60, 1100, 2, 1, 16}, decode = {1, 9000, 8, 4, 16};

inline void add_attention(switched_calls *all) {
  for (const auto &[name, size] : {std::pair("prefill", prefill), std::pair("one query", decode)})
    all->push_back({std::string("attention, ") + name, false, [s = size](const heed_executor *e, written *w) {
                      heed_attention call =
                          heed_attention_of(numbers_from(1), numbers_from(3000), numbers_from(600000), s.n_q, s.n_kv,
                                            s.n_heads, s.n_kv_heads, s.dim, nullptr, switched_workspace());
                      const size_t n = size_t(s.n_q) * size_t(s.n_heads) * size_t(s.dim);
                      call.out = heed_token_major_out(w->take(n), s.n_q, s.n_heads, s.dim);
                      call.causal = s.n_q > 1, call.position = s.n_kv - s.n_q;
                      call.executor = e;
                      w->expect_ok(heed_attention_run(&call));
                    }});
}

// A layer with rotary embedding and a cache, and what it points to: weights of int8, keys and values of f16.
class switched_layer {
 public:
  explicit switched_layer(written *w) {
    layer_.n_kv_heads = n_kv_heads, layer_.causal = 1;
    layer_.wq = layer_.wo = weights(dim, dim), layer_.wk = layer_.wv = weights(dim, n_kv_heads * head_dim);
    layer_.bq = layer_.bk = layer_.bo = numbers_from(9);
    heed_cache_shape shape = heed_cache_shape_default(n, n_kv_heads, head_dim);
    shape.dtype = HEED_F16;
    w->expect_ok(heed_cache_init(&cache_, &shape, w->memory(heed_cache_bytes(&shape))));
    heed_rope_init(&rope_, HEED_ROPE_HALVES);
    layer_.cache = &cache_, layer_.rope = &rope_;
  }
  switched_layer(const switched_layer &) = delete;
  switched_layer &operator=(const switched_layer &) = delete;

  void run_attention(const heed_executor *e, written *w) {
    const size_t bytes = HEED_ATTENTION_LAYER_BYTES(n, n_heads, n_kv_heads, head_dim, head_dim);
    const heed_memory memory = memory_of(bytes, w);
    w->expect_ok(heed_attention_layer_run(&layer_, x(), y(w), memory, e));
  }
  // Several sequences, without the cache.
  void run_batch(const heed_executor *e, written *w) {
    static constexpr int32_t lengths[] = {1, 250, 0, 349};
    heed_ragged_batch batch;
    w->expect_ok(heed_ragged_batch_init(&batch, 4, lengths));
    layer_.cache = nullptr, layer_.batch = &batch;
    const size_t bytes = HEED_ATTENTION_LAYER_BYTES(n, n_heads, n_kv_heads, head_dim, head_dim);
    w->expect_ok(heed_attention_layer_run(&layer_, x(), y(w), w->memory(0, bytes + of_a_worker), e));
  }
  // With heed's norms and activation, or with functions of the caller's that call them.
  void run_transformer(const heed_executor *e, written *w, bool is_own) {
    heed_norm *const norm = is_own ? heed_rms_norm : callers_norm;
    heed_transformer_layer t =
        heed_transformer_layer_default(&layer_, hidden, norm, is_own ? heed_silu : callers_activation);
    t.norm1_weight = numbers_from(10), t.norm2_weight = numbers_from(30), t.norm_first = 1;
    t.w_up = t.w_gate = weights(dim, hidden), t.w_down = weights(hidden, dim), t.b_up = numbers_from(9);
    const size_t bytes =
        HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, dim, n_heads, n_kv_heads, head_dim, head_dim, hidden, 1);
    const heed_memory memory = w->memory(0, bytes + of_a_worker);  // on threads other rows lie there
    w->expect_ok(heed_transformer_layer_run(&t, x(), y(w), memory, e));
  }

 private:
  static constexpr int32_t n = 600, dim = 64, n_heads = 4, n_kv_heads = 2, head_dim = 16, hidden = 128;
  static constexpr size_t of_a_worker = HEED_WORKSPACE_BYTES(head_dim, head_dim);

  static heed_status callers_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                                  const heed_executor *e) {
    return heed_rms_norm(x, weight, bias, eps, y, e);
  }
  static heed_status callers_activation(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *e) {
    return heed_silu(x, up, y, e);
  }
  static heed_weights weights(int32_t n_in, int32_t n_out) {
    return heed_weights_of(narrow_numbers_of(HEED_INT8), positive_numbers(), HEED_INT8, HEED_OUT_IN, n_in, n_out);
  }
  static heed_matrix x() { return heed_matrix_of(numbers_from(0), n, dim); }
  static heed_matrix_out y(written *w) { return heed_matrix_out_of(w->take(size_t{n} * dim), n, dim); }
  // For two workers. All that is no workspace has the layer's rows.
  static heed_memory memory_of(size_t bytes, written *w) { return w->memory(bytes - of_a_worker, bytes + of_a_worker); }

  heed_attention_layer layer_ = heed_attention_layer_default(dim, n_heads);
  heed_cache cache_;
  heed_rope rope_;
};

inline void add_layers(switched_calls *all) {
  all->push_back(
      {"attention layer", false, [](const heed_executor *e, written *w) { switched_layer(w).run_attention(e, w); }});
  all->push_back({"attention layer of a batch", false,
                  [](const heed_executor *e, written *w) { switched_layer(w).run_batch(e, w); }});
  all->push_back({"transformer layer", false,
                  [](const heed_executor *e, written *w) { switched_layer(w).run_transformer(e, w, true); }});
  all->push_back({"transformer layer with functions of the caller's", false,
                  [](const heed_executor *e, written *w) { switched_layer(w).run_transformer(e, w, false); }});
}

}  // namespace heed_test

#endif
