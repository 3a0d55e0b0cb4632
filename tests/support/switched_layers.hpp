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
  heed_attention call = heed_attention_of(numbers_from(1), numbers_from(3000), numbers_from(600000), s.n_q, s.n_kv,
                                          s.n_heads, s.n_kv_heads, s.dim, nullptr, switched_workspace());
  call.out = heed_token_major_out(w->take(size_t(s.n_q) * s.n_heads * s.dim), s.n_q, s.n_heads, s.dim);
  call.causal = s.n_q > 1, call.position = s.n_kv - s.n_q;
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
    heed_attention_weights_init(&weights_, rows(n_q, n_kv));
    heed_lse_init(&lse_, rows(n_q, 1));
    heed_column_sums_init(&sums_, rows(1, n_kv));
    const size_t n_top = size_t(n_q) * n_heads * 3;
    heed_top_k_init(&top_k_, 3, w->take(n_top), w->take<int32_t>(n_top));
    options_.ranges = &ranges_, options_.mask = &mask_, options_.softcap = &softcap_, options_.alibi = &alibi_;
    options_.sinks = &sinks_, options_.scores = &scores_, options_.lse = &lse_, options_.column_sums = &sums_;
    options_.weights = &weights_, options_.top_k = &top_k_;
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
  heed_attention_weights weights_;
  heed_lse lse_;
  heed_column_sums sums_;
  heed_top_k top_k_;
  heed_options options_ = heed_options_default();
};

inline heed_narrow_tensors narrow_tensors_of(const attention_size &s, int32_t format, heed_attention *call,
                                             written *w) {
  heed_narrow_tensors narrow;
  heed_narrow_tensors_init(&narrow);
  const void *data = narrow_numbers_of(format);
  narrow.q = heed_narrow_token_major(data, positive_numbers(), format, s.n_q, s.n_heads, s.dim);
  narrow.k = narrow.v = heed_narrow_head_major(data, positive_numbers(), format, s.n_kv, s.n_kv_heads, s.dim);
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
    heed_cache_shape shape = heed_cache_shape_default(s.n_kv, s.n_kv_heads, s.dim);
    shape.format = format;
    memory_.expect_ok(heed_cache_init(&cache, &shape, memory_.memory(heed_cache_bytes(&shape))));
    memory_.expect_ok(heed_cache_append(&cache, 0, heed_token_major(numbers_from(3000), s.n_kv, s.n_kv_heads, s.dim),
                                        heed_token_major(numbers_from(600000), s.n_kv, s.n_kv_heads, s.dim), s.n_kv,
                                        nullptr));
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
                      heed_attention_weights weights;
                      heed_attention_weights_init(
                          &weights,
                          heed_head_major_out(w->take(size_t(s.n_q) * s.n_heads * s.n_kv), s.n_q, s.n_heads, s.n_kv));
                      heed_options options = heed_options_default();
                      options.weights = &weights;
                      call.options = &options;
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
                        heed_options options = heed_options_default();
                        options.lse = &lse;
                        options.narrow = &narrow;
                        call.options = &options;
                        w->expect_ok(heed_attention_run(&call));
                      }});
      const auto cache = std::make_shared<filled_cache>(size, format);
      all->push_back({"attention over a cache" + in, false, [=, s = size](const heed_executor *e, written *w) {
                        heed_attention call = switched_attention(s, e, w);
                        call.k = call.v = heed_tensor();
                        call.position = 0;
                        call.cache = &cache->cache;
                        w->expect_ok(heed_attention_run(&call));
                      }});
    }
    all->push_back({"attention into a partial" + of, false, [s = size](const heed_executor *e, written *w) {
                      heed_attention call = switched_attention(s, e, w);
                      heed_partial partial;
                      heed_partial_init(&partial, 1, s.n_heads, s.n_q, s.dim, 0,
                                        w->memory(HEED_PARTIAL_BYTES(1, s.n_heads, s.n_q, s.dim)));
                      heed_options options = heed_options_default();
                      options.partial = &partial;
                      call.options = &options, call.out.data = nullptr;
                      w->expect_ok(heed_attention_run(&call));
                    }});
  }
}

// ---------------------------------------------------------------------------------------------------------- layers

// What both layers may be, and what a transformer layer adds.
struct attention_kind {
  const char *name;
  bool with_wo, with_options;
  int32_t weights_format, layout;
  int32_t cache_format;  // -1: no cache
  int32_t spare;         // of a ring; 0: linear
};
struct transformer_kind {
  attention_kind attention;
  heed_norm *norm;
  bool norm_first, gated;
  heed_activation *activation;
};

// A layer and what it points to.
class switched_layer {
 public:
  switched_layer(const attention_kind &kind, written *w) : kind_(kind), options_(n, n, n_heads, w) {
    layer_.n_kv_heads = n_kv_heads, layer_.causal = 1;
    layer_.wq = weights(dim, dim), layer_.wk = layer_.wv = weights(dim, n_kv_heads * head_dim);
    if (kind.with_wo) layer_.wo = weights(dim, dim), layer_.bo = numbers_from(9);
    layer_.bq = layer_.bk = numbers_from(9);
    if (kind.with_options) layer_.options = options_.get();
    if (kind.cache_format < 0) return;
    heed_cache_shape shape = heed_cache_shape_default(n, n_kv_heads, head_dim);
    shape.format = kind.cache_format;
    if (kind.spare > 0) shape.kind = HEED_CACHE_RING, shape.capacity = 90, shape.spare = kind.spare;
    w->expect_ok(heed_cache_init(&cache_, &shape, w->memory(heed_cache_bytes(&shape))));
    heed_rope_init(&rope_, HEED_ROPE_HALVES);
    layer_.cache = &cache_, layer_.rope = &rope_;
  }
  switched_layer(const switched_layer &) = delete;
  switched_layer &operator=(const switched_layer &) = delete;

  void run(const heed_executor *e, written *w) {
    const size_t context = kind_.with_wo ? 0 : n_heads * head_dim;
    const size_t floats = HEED_LAYER_QKV_FLOATS(n_heads, n_kv_heads, head_dim, head_dim) - context;
    const heed_memory memory = memory_of(HEED_LAYER_ROUND(4 * floats * at_once()), w);
    w->expect_ok(heed_attention_layer_run(&layer_, x(), y(w), memory, e));
  }
  void run(const transformer_kind &kind, const heed_executor *e, written *w) {
    heed_transformer_layer t = heed_transformer_layer_default(&layer_, hidden, kind.norm, kind.activation);
    layer_.causal = layer_.cache != nullptr, t.norm_first = kind.norm_first;
    t.norm1_weight = numbers_from(10), t.norm1_bias = numbers_from(20), t.norm2_weight = numbers_from(30);
    t.w_up = weights(dim, hidden), t.w_down = weights(hidden, dim), t.b_up = numbers_from(9);
    if (kind.gated) t.w_gate = weights(dim, hidden);
    const size_t bytes =
        HEED_TRANSFORMER_LAYER_BYTES(at_once(), dim, n_heads, n_kv_heads, head_dim, head_dim, hidden, kind.gated);
    const heed_memory memory = memory_of(bytes - of_a_worker, w);
    w->expect_ok(heed_transformer_layer_run(&t, x(), y(w), memory, e));
  }

 private:
  static constexpr int32_t n = 600, dim = 64, n_heads = 4, n_kv_heads = 2, head_dim = 16, hidden = 128;
  static constexpr size_t of_a_worker = HEED_WORKSPACE_BYTES(head_dim, head_dim);

  heed_weights weights(int32_t n_in, int32_t n_out) const {
    const int32_t format = kind_.weights_format;
    return heed_weights_of(narrow_numbers_of(format), positive_numbers(), format, kind_.layout, n_in, n_out);
  }
  static heed_matrix x() { return heed_matrix_of(numbers_from(0), n, dim); }
  static heed_matrix_out y(written *w) { return heed_matrix_out_of(w->take(size_t{n} * dim), n, dim); }
  // Rows that pass at once.
  size_t at_once() const { return kind_.spare > 0 ? size_t(kind_.spare) + 1 : n; }
  // All that is no workspace has the layer's rows.
  static heed_memory memory_of(size_t rows, written *w) { return w->memory(rows, rows + 2 * of_a_worker); }

  const attention_kind kind_;
  const all_options options_;
  heed_attention_layer layer_ = heed_attention_layer_default(dim, n_heads);
  heed_cache cache_;
  heed_rope rope_;
};

inline void add_layers(switched_calls *all) {
  static const attention_kind kinds[] = {
      {"attention layer", true, false, HEED_F32, HEED_IN_OUT, -1, 0},
      {"attention layer with options", true, true, HEED_F32, HEED_OUT_IN, -1, 0},
      {"attention layer without wo", false, false, HEED_INT8, HEED_IN_OUT, -1, 0},
      {"attention layer, options and a cache", true, true, HEED_F16, HEED_IN_OUT, HEED_BF16, 0},
      {"attention layer, ring in pieces", true, false, HEED_BF16, HEED_OUT_IN, HEED_F16, 400}};
  for (const attention_kind &kind : kinds)
    all->push_back(
        {kind.name, false, [&kind](const heed_executor *e, written *w) { switched_layer(kind, w).run(e, w); }});
}

inline void add_transformers(switched_calls *all) {
  static const transformer_kind kinds[] = {
      {{"encoder, norm last", true, false, HEED_F32, HEED_IN_OUT, -1, 0}, heed_layer_norm, false, false, heed_gelu},
      {{"encoder, norm first", true, false, HEED_F16, HEED_OUT_IN, -1, 0},
       heed_layer_norm,
       true,
       false,
       heed_gelu_tanh},
      {{"encoder, gated", true, false, HEED_BF16, HEED_IN_OUT, -1, 0}, heed_rms_norm, false, true, heed_relu},
      {{"decoder, f32 cache", true, false, HEED_INT8, HEED_OUT_IN, HEED_F32, 0}, heed_rms_norm, true, true, heed_silu},
      {{"decoder, f16 cache", true, false, HEED_F32, HEED_OUT_IN, HEED_F16, 0}, heed_rms_norm, true, true, heed_silu},
      {{"decoder, bf16 ring", true, false, HEED_INT8, HEED_IN_OUT, HEED_BF16, 400},
       heed_layer_norm,
       true,
       false,
       heed_gelu},
      {{"decoder, int8 cache", true, false, HEED_F32, HEED_IN_OUT, HEED_INT8, 0},
       heed_rms_norm,
       false,
       true,
       heed_silu}};
  for (const transformer_kind &kind : kinds)
    all->push_back({kind.attention.name, false, [&kind](const heed_executor *e, written *w) {
                      switched_layer(kind.attention, w).run(kind, e, w);
                    }});
}

}  // namespace heed_test

#endif
