// Calls of attention, layers and caches for switched_calls.hpp. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_SWITCHED_LAYERS_HPP
#define HEED_TESTS_SUPPORT_SWITCHED_LAYERS_HPP

#include "switched_calls.hpp"

namespace heed_test {

// ------------------------------------------------------------------------------------------------------- attention

struct attention_size {
  int32_t n_q, n_kv, n_heads, n_kv_heads, dim;
};
constexpr attention_size prefill = {60, 1100, 2, 1, 16}, decode = {1, 9000, 8, 4, 16};

inline heed_attention switched_attention(const attention_size &s, const heed_executor *e, written *w) {
  heed_attention call =
      heed_attention_of(s.n_q, s.n_kv, s.n_heads, s.n_kv_heads, s.dim, numbers_from(1), numbers_from(3000),
                        numbers_from(600000), nullptr, switched_workspace(), switched_workspace_bytes);
  call.out = heed_token_major_out(w->take(size_t(s.n_q) * s.n_heads * s.dim), s.n_q, s.n_heads, s.dim);
  call.causal = s.n_q > 1, call.causal_offset = s.n_kv - s.n_q;
  call.executor = e;
  return call;
}

// Every option that goes with whole results.
class all_options {
 public:
  all_options(int32_t n_q, int32_t n_kv, int32_t n_heads, written *w) {
    heed_ranges_init(&ranges_), ranges_.left_window = n_kv - 2;
    heed_mask_init_additive(&mask_, numbers_from(50), n_kv, 0, 0, 1);
    heed_softcap_init(&softcap_, 20);
    heed_alibi_init(&alibi_, positive_numbers());
    heed_sinks_init(&sinks_, numbers_from(5));
    const auto rows = [=](int32_t n, int32_t dim) {
      return heed_head_major_out(w->take(size_t(n) * n_heads * dim), n, n_heads, dim);
    };
    heed_scores_init(&scores_, HEED_SCORES_BIASED, rows(n_q, n_kv));
    heed_lse_init(&lse_, rows(n_q, 1));
    heed_column_sums_init(&sums_, rows(1, n_kv));
    const size_t n_top = size_t(n_q) * n_heads * 3;
    heed_top_k_init(&top_k_, 3, w->take(n_top), w->take<int32_t>(n_top));
    options_.ranges = &ranges_, options_.mask = &mask_, options_.softcap = &softcap_, options_.alibi = &alibi_;
    options_.sinks = &sinks_, options_.scores = &scores_, options_.lse = &lse_, options_.column_sums = &sums_;
    options_.top_k = &top_k_;
  }
  all_options(const all_options &) = delete;
  all_options &operator=(const all_options &) = delete;
  const heed_options *get() const { return &options_; }

 private:
  heed_ranges ranges_;
  heed_mask mask_;
  heed_softcap softcap_;
  heed_alibi alibi_;
  heed_sinks sinks_;
  heed_scores scores_;
  heed_lse lse_;
  heed_column_sums sums_;
  heed_top_k top_k_;
  heed_options options_ = HEED_OPTIONS;
};

inline heed_narrow_tensors narrow_tensors_of(const attention_size &s, int32_t format, heed_attention *call,
                                             written *w) {
  heed_narrow_tensors narrow;
  heed_narrow_tensors_init(&narrow);
  const void *data = narrow_numbers_of(format);
  narrow.q = heed_narrow_token_major(data, format, positive_numbers(), s.n_q, s.n_heads, s.dim);
  narrow.k = narrow.v = heed_narrow_head_major(data, format, positive_numbers(), s.n_kv, s.n_kv_heads, s.dim);
  call->q = call->k = call->v = heed_tensor();
  if (format == HEED_F16 || format == HEED_BF16) return narrow;  // rounding hides what is left of a difference
  narrow.out = heed_narrow_token_major_out(w->take<uint16_t>(size_t(s.n_q) * s.n_heads * s.dim), HEED_F16, s.n_q,
                                           s.n_heads, s.dim);
  call->out = heed_tensor_out();
  return narrow;
}

// A cache that holds so many tokens, the same for every kernel.
class filled_cache {
 public:
  filled_cache(const attention_size &s, int32_t format) {
    heed_cache_shape shape = HEED_CACHE_SHAPE;
    shape.capacity = s.n_kv, shape.n_kv_heads = s.n_kv_heads, shape.head_dim = shape.v_dim = s.dim;
    shape.format = format;
    const size_t bytes = heed_cache_bytes(&shape);
    EXPECT_EQ(heed_cache_init(&cache, &shape, memory_.take<unsigned char>(bytes), bytes), HEED_OK);
    EXPECT_EQ(heed_cache_append(&cache, 0, s.n_kv, heed_token_major(numbers_from(3000), s.n_kv, s.n_kv_heads, s.dim),
                                heed_token_major(numbers_from(600000), s.n_kv, s.n_kv_heads, s.dim), nullptr),
              HEED_OK);
  }
  heed_cache cache;

 private:
  written memory_;
};

inline void add_attention(switched_calls *all) {
  for (const auto &[name, size] : {std::pair("prefill", prefill), std::pair("one query", decode)}) {
    const std::string of = std::string(", ") + name;
    all->push_back({"attention" + of, false, [s = size](const heed_executor *e, written *w) {
                      const heed_attention call = switched_attention(s, e, w);
                      w->expect_ok(heed_attention_run(&call));
                    }});
    all->push_back({"attention with weights" + of, false, [s = size](const heed_executor *e, written *w) {
                      heed_attention call = switched_attention(s, e, w);
                      call.weights =
                          heed_head_major_out(w->take(size_t(s.n_q) * s.n_heads * s.n_kv), s.n_q, s.n_heads, s.n_kv);
                      w->expect_ok(heed_attention_run(&call));
                    }});
    all->push_back({"attention with all options" + of, false, [s = size](const heed_executor *e, written *w) {
                      heed_attention call = switched_attention(s, e, w);
                      const all_options options(s.n_q, s.n_kv, s.n_heads, w);
                      call.options = options.get();
                      w->expect_ok(heed_attention_run(&call));
                    }});
    for (int32_t format = HEED_F32; format <= HEED_INT8; ++format) {
      const std::string in = std::string(" in ") + format_names[format] + of;
      all->push_back({"attention over narrow tensors" + in, false, [=, s = size](const heed_executor *e, written *w) {
                        heed_attention call = switched_attention(s, e, w);
                        const heed_narrow_tensors narrow = narrow_tensors_of(s, format, &call, w);
                        heed_lse lse;  // not rounded to the format of out
                        heed_lse_init(&lse,
                                      heed_head_major_out(w->take(size_t(s.n_q) * s.n_heads), s.n_q, s.n_heads, 1));
                        heed_options options = HEED_OPTIONS;
                        options.lse = &lse;
                        options.narrow = &narrow;
                        call.options = &options;
                        w->expect_ok(heed_attention_run(&call));
                      }});
      const auto cache = std::make_shared<filled_cache>(size, format);
      all->push_back({"attention over a cache" + in, false, [=, s = size](const heed_executor *e, written *w) {
                        heed_attention call = switched_attention(s, e, w);
                        call.k = call.v = heed_tensor();
                        call.causal_offset = 0;
                        heed_options options = HEED_OPTIONS;
                        options.cache = &cache->cache;
                        call.options = &options;
                        w->expect_ok(heed_attention_run(&call));
                      }});
    }
    all->push_back({"attention into a partial" + of, false, [s = size](const heed_executor *e, written *w) {
                      heed_attention call = switched_attention(s, e, w);
                      const size_t n = HEED_PARTIAL_FLOATS(1, s.n_heads, s.n_q, s.dim);
                      heed_partial partial;
                      heed_partial_init(&partial, w->take(n), n, 1, s.n_heads, s.n_q, s.dim, 0);
                      heed_options options = HEED_OPTIONS;
                      options.partial = &partial;
                      call.options = &options, call.out.data = nullptr;
                      w->expect_ok(heed_attention_run(&call));
                    }});
  }
}

// ---------------------------------------------------------------------------------------------------------- layers

inline void add_layers(switched_calls *all) {
  constexpr int32_t n = 600, dim = 64;
  for (const bool with_options : {false, true})
    all->push_back({with_options ? "layer with options" : "layer", false, [=](const heed_executor *e, written *w) {
                      const float *weights = numbers_from(123), *bias = numbers_from(77);
                      const all_options options(n, n, 4, w);
                      const heed_layer layer = {sizeof(heed_layer),
                                                dim,
                                                4,
                                                2,
                                                16,
                                                16,
                                                dim,
                                                0,
                                                1,
                                                weights,
                                                weights,
                                                weights,
                                                weights,
                                                bias,
                                                bias,
                                                bias,
                                                bias,
                                                with_options ? options.get() : nullptr};
                      const size_t n_activations = HEED_LAYER_ACTIVATIONS(n, 4, 2, 16, 16);
                      w->expect_ok(heed_layer_run(&layer, heed_matrix_of(numbers_from(0), n, dim),
                                                  heed_matrix_out_of(w->take(size_t(n) * dim), n, dim),
                                                  w->take(n_activations), n_activations, switched_workspace(),
                                                  switched_workspace_bytes, e));
                    }});
}

struct block_kind {
  const char *name;
  heed_norm *norm;
  bool norm_first, gated;
  heed_activation *activation;
  int32_t weights_format, layout;
  int32_t cache_format;  // -1: no cache
};

inline heed_block switched_block(const block_kind &kind) {
  heed_block b = {};
  b.struct_size = sizeof b;
  b.model_dim = 64, b.n_heads = 4, b.n_kv_heads = 2, b.head_dim = b.v_dim = 16, b.hidden_dim = 128;
  b.causal = kind.cache_format >= 0, b.norm_first = kind.norm_first;
  b.eps = 1e-5f;
  b.norm = kind.norm, b.activation = kind.activation;
  b.norm1_weight = numbers_from(10), b.norm1_bias = numbers_from(20), b.norm2_weight = numbers_from(30);
  const auto weights = [&](int32_t in, int32_t out) {
    return heed_weights_of(narrow_numbers_of(kind.weights_format), kind.weights_format, kind.layout, in, out,
                           positive_numbers());
  };
  b.wq = b.wo = weights(64, 64), b.wk = b.wv = weights(64, 32);
  b.w_up = weights(64, 128), b.w_down = weights(128, 64);
  if (kind.gated) b.w_gate = weights(64, 128);
  b.bq = b.bk = b.bo = b.b_up = numbers_from(9);
  return b;
}

inline void run_switched_block(heed_block *b, int32_t cache_format, const heed_executor *e, written *w) {
  constexpr int32_t n = 600, dim = 64;
  heed_cache cache;
  heed_rope rope;
  heed_rope_init(&rope, HEED_ROPE_HALVES);
  if (cache_format >= 0) {
    heed_cache_shape shape = HEED_CACHE_SHAPE;
    shape.capacity = n, shape.n_kv_heads = b->n_kv_heads, shape.head_dim = b->head_dim, shape.v_dim = b->v_dim;
    shape.format = cache_format;
    const size_t bytes = heed_cache_bytes(&shape);
    w->expect_ok(heed_cache_init(&cache, &shape, w->take<unsigned char>(bytes), bytes));
    b->cache = &cache, b->rope = &rope;
  }
  const size_t n_activations = HEED_BLOCK_ACTIVATIONS(n, 64, 4, 2, 16, 16, 128, 1);
  w->expect_ok(heed_block_run(b, heed_matrix_of(numbers_from(0), n, dim),
                              heed_matrix_out_of(w->take(size_t(n) * dim), n, dim), w->take(n_activations),
                              n_activations, switched_workspace(), switched_workspace_bytes, e));
}

inline void add_blocks(switched_calls *all) {
  static const block_kind kinds[] = {
      {"encoder, norm last", heed_layer_norm, false, false, heed_gelu, HEED_F32, HEED_IN_OUT, -1},
      {"encoder, norm first", heed_layer_norm, true, false, heed_gelu_tanh, HEED_F16, HEED_OUT_IN, -1},
      {"encoder, gated", heed_rms_norm, false, true, heed_relu, HEED_BF16, HEED_IN_OUT, -1},
      {"decoder, f32 cache", heed_rms_norm, true, true, heed_silu, HEED_INT8, HEED_OUT_IN, HEED_F32},
      {"decoder, f16 cache", heed_rms_norm, true, true, heed_silu, HEED_F32, HEED_OUT_IN, HEED_F16},
      {"decoder, bf16 cache", heed_layer_norm, true, false, heed_gelu, HEED_INT8, HEED_IN_OUT, HEED_BF16},
      {"decoder, int8 cache", heed_rms_norm, false, true, heed_silu, HEED_F32, HEED_IN_OUT, HEED_INT8}};
  for (const block_kind &kind : kinds)
    all->push_back({std::string("block: ") + kind.name, false, [&kind](const heed_executor *e, written *w) {
                      heed_block b = switched_block(kind);
                      run_switched_block(&b, kind.cache_format, e, w);
                    }});
}

}  // namespace heed_test

#endif
