// Damaged counts, dimensions and flags of caches, their memory and layers. SPDX-License-Identifier: MIT
#include "support/damage.hpp"

namespace heed_test {
namespace {

constexpr int32_t n = 3, dim = 8, head_dim = 4, n_heads = 2, hidden = 8, n_kept = 5;
constexpr size_t workspace_bytes = HEED_WORKSPACE_BYTES(head_dim, head_dim);

void run_in_order(void *, int32_t n_tasks, heed_task task, void *context) {
  for (int32_t i = 0; i < n_tasks; ++i) task(context, i, 0);
}

// Everything that a call with a cache takes.
class damaged_layers : public damage_test {
 protected:
  heed_cache_shape *make_shape(int32_t kind, int32_t dtype, int32_t spare = 7) {
    heed_cache_shape s = heed_cache_shape_default(20, 1, head_dim);
    s.kind = kind, s.dtype = dtype;
    if (kind == HEED_CACHE_RING) s.pinned = 2, s.spare = spare;
    return object(s);
  }
  // With some tokens in it.
  void fill(heed_cache *cache, const heed_cache_shape &s, heed_memory memory) {
    const heed_tensor rows = heed_token_major(rows_, n_kept, 1, head_dim);
    ASSERT_EQ(heed_cache_init(cache, &s, memory), HEED_OK);
    ASSERT_EQ(heed_cache_append(cache, 0, rows, rows, n_kept, nullptr), HEED_OK);
  }
  // The handle, and every number of the header and the state of the sequence.
  static numbers numbers_of_cache(heed_cache *cache) {
    numbers all = numbers_of("handle", &cache->shape);
    append(&all, numbers_in("header", cache->buffer, 13));
    append(&all, numbers_in("state", static_cast<char *>(cache->buffer) + 128, 2));
    return all;
  }
  heed_memory memory(size_t bytes) { return heed_memory_of(output<char>(bytes), bytes); }
  // Enough for both.
  heed_memory memory_of_caches(const heed_cache_shape *a, const heed_cache_shape *b) {
    return memory(std::max(heed_cache_bytes(a), heed_cache_bytes(b)));
  }
  heed_weights weights(int32_t dtype, int32_t n_in, int32_t n_out) const {
    return heed_weights_of(rows_, rows_, dtype, HEED_OUT_IN, n_in, n_out);
  }
  heed_executor *e_ = object<heed_executor>(heed_executor_of(run_in_order, nullptr, 2));
  const float *rows_ = floats(256);
};

TEST_F(damaged_layers, of_a_cache) {
  heed_cache_shape *const ring = make_shape(HEED_CACHE_RING, HEED_INT8);
  heed_cache_shape *const linear = make_shape(HEED_CACHE_LINEAR, HEED_F32);
  int32_t *const arguments = integers({0, n, n_kept - 1});
  heed_rope *const rope = object<heed_rope>();
  heed_rope_init(rope, HEED_ROPE_INTERLEAVED);
  heed_ranges *const ranges = object<heed_ranges>();
  heed_ranges_init(ranges), ranges->left_window = 4;
  heed_options *const options = object(heed_options_default());
  heed_attention *const call = object<heed_attention>();
  heed_cache *const cache = changing<heed_cache>(), *const fresh = changing<heed_cache>();
  const heed_memory buffer = memory_of_caches(ring, linear), other = memory_of_caches(ring, linear);
  float *const out = output(n * n_heads * head_dim);
  *call = heed_attention_of(rows_, nullptr, nullptr, n, 30, n_heads, 1, head_dim, out, memory(workspace_bytes));
  call->options = options, call->executor = e_, call->causal = 1, call->cache = cache;
  options->ranges = ranges;
  for (heed_cache_shape *const shape : {ring, linear}) {
    fill(cache, *shape, buffer);
    numbers all = numbers_of_cache(cache);
    append(&all, numbers_of("shape", shape)), append(&all, numbers_in("sequence, n, length", arguments, 3));
    append(&all, numbers_of(rope)), append(&all, numbers_of(call));
    append(
        &all,
        {{"left_window", &ranges->left_window}, {"right_window", &ranges->right_window}, {"pinned", &ranges->pinned}});
    const heed_tensor new_rows = heed_token_major(rows_, n, 1, head_dim);
    const auto append_with = [=](const heed_rope *with) {
      return heed_cache_append(cache, arguments[0], new_rows, new_rows, arguments[1], with);
    };
    damage(
        all,
        {{"append", [=] { return append_with(nullptr); }},
         {"append with rope", [=] { return append_with(rope); }},
         {"truncate", [=] { return heed_cache_truncate(cache, arguments[0], arguments[2]); }},
         {"length",
          [=] { return static_cast<heed_status>(std::min<int64_t>(HEED_OK, heed_cache_length(cache, arguments[0]))); }},
         {"longest", [=] { return std::min(HEED_OK, heed_cache_longest(cache)); }},
         {"reset", [=] { return heed_cache_reset(cache); }},
         {"save", [=] { return heed_cache_save(cache); }},
         {"attention", [=] { return heed_attention_run(call); }},
         {"init", [=] { return heed_cache_init(fresh, shape, other); }},
         {"bytes", [=] { return heed_cache_bytes(shape) > other.bytes ? heed_status{-1} : HEED_OK; }}});
    ASSERT_EQ(heed_cache_save(cache), HEED_OK);
    damage(all, {{"open", [=] { return heed_cache_load(fresh, shape, buffer); }}});
  }
}

// Both layers, without a cache and with one of either kind.
class damaged_layer : public damaged_layers {
 protected:
  void SetUp() override {
    heed_rope_init(rope_, HEED_ROPE_HALVES), heed_ranges_init(ranges_);
    options_->ranges = ranges_;
    *layer_ = heed_attention_layer_default(dim, n_heads);
    layer_->n_kv_heads = 1, layer_->causal = 1, layer_->rope = rope_, layer_->options = options_;
    layer_->wq = weights(HEED_F16, dim, dim), layer_->wk = layer_->wv = weights(HEED_INT8, dim, head_dim);
    layer_->wo = weights(HEED_F32, dim, dim);
    layer_->bq = layer_->bk = layer_->bv = layer_->bo = rows_;
    *y_ = heed_matrix_out_of(output(n * dim), n, dim);
    all_ = {{"model_dim", &layer_->model_dim},
            {"n_heads", &layer_->n_heads},
            {"n_kv_heads", &layer_->n_kv_heads},
            {"head_dim", &layer_->head_dim},
            {"v_dim", &layer_->v_dim},
            {"out_dim", &layer_->out_dim},
            {"causal", &layer_->causal},
            {"n_workers", &e_->n_workers},
            {"left_window", &ranges_->left_window},
            {"right_window", &ranges_->right_window},
            {"pinned", &ranges_->pinned}};
    append(&all_, numbers_of("x", x_)), append(&all_, numbers_of("y", y_)), append(&all_, numbers_of(rope_));
    for (const auto &[name, w] :
         {std::pair("wq", &layer_->wq), {"wk", &layer_->wk}, {"wv", &layer_->wv}, {"wo", &layer_->wo}})
      append(&all_, numbers_of(name, w));
  }
  void damage_each(const std::string &name, const std::function<heed_status()> &run) {
    damage(all_, {{name, run}});
    heed_cache *const cache = changing<heed_cache>();
    const heed_memory buffer = memory_of_caches(ring_, linear_);
    layer_->cache = cache;
    for (const heed_cache_shape *const shape : {ring_, linear_}) {
      fill(cache, *shape, buffer);
      numbers with_cache = numbers_of_cache(cache);
      append(&with_cache, all_);
      damage(with_cache, {{name + " with a cache", run}});
    }
  }

  heed_attention_layer *layer_ = object<heed_attention_layer>();
  heed_matrix *x_ = object(heed_matrix_of(rows_, n, dim));
  heed_rope *rope_ = object<heed_rope>();
  heed_ranges *ranges_ = object<heed_ranges>();
  heed_options *options_ = object(heed_options_default());
  heed_cache_shape *ring_ = make_shape(HEED_CACHE_RING, HEED_F16, n - 2);
  heed_cache_shape *linear_ = make_shape(HEED_CACHE_LINEAR, HEED_INT8);
  heed_matrix_out *y_ = object<heed_matrix_out>();
  numbers all_;
};

TEST_F(damaged_layer, of_attention) {
  const heed_memory all = memory(HEED_ATTENTION_LAYER_BYTES(n, n_heads, 1, head_dim, head_dim));
  damage_each("attention layer", [=] { return heed_attention_layer_run(layer_, *x_, *y_, all, e_); });
}

TEST_F(damaged_layer, of_attention_without_wo) {
  const heed_memory all = memory(HEED_ATTENTION_LAYER_BYTES(n, n_heads, 1, head_dim, head_dim));
  layer_->wo.data = layer_->bo = nullptr;
  damage_each("without wo", [=] { return heed_attention_layer_run(layer_, *x_, *y_, all, e_); });
}

TEST_F(damaged_layer, of_a_transformer) {
  heed_transformer_layer *const t = object(heed_transformer_layer_default(layer_, hidden, heed_rms_norm, heed_silu));
  t->w_up = t->w_gate = weights(HEED_F16, dim, hidden), t->w_down = weights(HEED_BF16, hidden, dim);
  append(&all_, {{"ffn_dim", &t->ffn_dim}, {"norm_first", &t->norm_first}});
  for (const auto &[name, w] : {std::pair("w_up", &t->w_up), {"w_gate", &t->w_gate}, {"w_down", &t->w_down}})
    append(&all_, numbers_of(name, w));
  const heed_memory all =
      memory(HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, dim, n_heads, 1, head_dim, head_dim, hidden, 1));
  damage_each("transformer layer", [=] { return heed_transformer_layer_run(t, *x_, *y_, all, e_); });
}

}  // namespace
}  // namespace heed_test
