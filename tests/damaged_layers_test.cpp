// Damaged counts, dimensions and flags of caches, their buffers, layers and blocks. SPDX-License-Identifier: MIT
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
  heed_cache_shape *make_shape(int32_t kind, int32_t format) {
    heed_cache_shape s = HEED_CACHE_SHAPE;
    s.kind = kind, s.format = format, s.capacity = 20, s.n_kv_heads = 1, s.head_dim = s.v_dim = head_dim;
    if (kind == HEED_CACHE_RING) s.pinned = 2, s.spare = 7;
    return object(s);
  }
  // With some tokens in it.
  void fill(heed_cache *cache, const heed_cache_shape &s, unsigned char *buffer) {
    const heed_tensor rows = heed_token_major(rows_, n_kept, 1, head_dim);
    ASSERT_EQ(heed_cache_init(cache, &s, buffer, heed_cache_bytes(&s)), HEED_OK);
    ASSERT_EQ(heed_cache_append(cache, 0, n_kept, rows, rows, nullptr), HEED_OK);
  }
  // The handle, and every number of the header and the state of the sequence.
  static numbers numbers_of_cache(heed_cache *cache) {
    numbers all = numbers_of("handle", &cache->shape);
    append(&all, numbers_in("header", cache->buffer, 13));
    append(&all, numbers_in("state", static_cast<char *>(cache->buffer) + 128, 2));
    return all;
  }
  heed_executor *e_ = object<heed_executor>({sizeof(heed_executor), 2, run_in_order, nullptr});
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
  heed_options *const options = object<heed_options>(HEED_OPTIONS);
  heed_attention *const call = object<heed_attention>();
  heed_cache *const cache = changing<heed_cache>(), *const fresh = changing<heed_cache>();
  const size_t bytes = std::max(heed_cache_bytes(ring), heed_cache_bytes(linear));
  unsigned char *const buffer = output<unsigned char>(bytes), *const other = output<unsigned char>(bytes);
  float *const out = output(n * n_heads * head_dim);
  void *const workspace = output<char>(workspace_bytes);
  *call = heed_attention_of(n, 30, n_heads, 1, head_dim, rows_, nullptr, nullptr, out, workspace, workspace_bytes);
  call->options = options, call->executor = e_, call->causal = 1;
  options->cache = cache, options->ranges = ranges;
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
      return heed_cache_append(cache, arguments[0], arguments[1], new_rows, new_rows, with);
    };
    damage(all, {{"append", [=] { return append_with(nullptr); }},
                 {"append with rope", [=] { return append_with(rope); }},
                 {"truncate", [=] { return heed_cache_truncate(cache, arguments[0], arguments[2]); }},
                 {"length", [=] { return std::min(HEED_OK, heed_cache_length(cache, arguments[0])); }},
                 {"reset", [=] { return heed_cache_reset(cache); }},
                 {"seal", [=] { return heed_cache_seal(cache); }},
                 {"attention", [=] { return heed_attention_run(call); }},
                 {"init", [=] { return heed_cache_init(fresh, shape, other, bytes); }},
                 {"bytes", [=] { return heed_cache_bytes(shape) > bytes ? heed_status{-1} : HEED_OK; }}});
    ASSERT_EQ(heed_cache_seal(cache), HEED_OK);
    damage(all, {{"open", [=] { return heed_cache_open(fresh, shape, buffer, bytes); }}});
  }
}

TEST_F(damaged_layers, of_a_layer) {
  heed_layer *const layer = object<heed_layer>();
  heed_matrix *const x = object(heed_matrix_of(rows_, n, dim));
  *layer = {sizeof *layer, dim,   n_heads, 1,     head_dim, head_dim, dim,   0,     1,
            rows_,         rows_, rows_,   rows_, rows_,    rows_,    rows_, rows_, nullptr};
  heed_matrix_out *const y = object<heed_matrix_out>();
  *y = heed_matrix_out_of(output(n * dim), n, dim);
  constexpr size_t n_activations = HEED_LAYER_ACTIVATIONS(n, n_heads, 1, head_dim, head_dim);
  float *const activations = output(n_activations);
  void *const workspace = output<char>(workspace_bytes);
  numbers all = {{"model_dim", &layer->model_dim}, {"n_heads", &layer->n_heads}, {"n_kv_heads", &layer->n_kv_heads},
                 {"head_dim", &layer->head_dim},   {"v_dim", &layer->v_dim},     {"out_dim", &layer->out_dim},
                 {"causal", &layer->causal},       {"n_workers", &e_->n_workers}};
  append(&all, numbers_of("x", x)), append(&all, numbers_of("y", y));
  const auto run = [=] {
    return heed_layer_run(layer, *x, *y, activations, n_activations, workspace, workspace_bytes, e_);
  };
  damage(all, {{"layer", run}});
  layer->wo = layer->bo = nullptr;
  damage(all, {{"layer without wo", run}});
}

TEST_F(damaged_layers, of_a_block) {
  heed_block *const b = object<heed_block>();
  heed_matrix *const x = object(heed_matrix_of(rows_, n, dim));
  heed_rope *const rope = object<heed_rope>();
  heed_rope_init(rope, HEED_ROPE_HALVES);
  heed_ranges *const ranges = object<heed_ranges>();
  heed_ranges_init(ranges);
  heed_options *const options = object<heed_options>(HEED_OPTIONS);
  options->ranges = ranges;
  heed_cache_shape *const ring = make_shape(HEED_CACHE_RING, HEED_F16);
  heed_cache_shape *const linear = make_shape(HEED_CACHE_LINEAR, HEED_INT8);
  heed_matrix_out *const y = object<heed_matrix_out>();
  *y = heed_matrix_out_of(output(n * dim), n, dim);
  heed_cache *const cache = changing<heed_cache>();
  unsigned char *const buffer = output<unsigned char>(std::max(heed_cache_bytes(ring), heed_cache_bytes(linear)));
  constexpr size_t n_activations = HEED_BLOCK_ACTIVATIONS(n, dim, n_heads, 1, head_dim, head_dim, hidden, 1);
  float *const activations = output(n_activations);
  void *const workspace = output<char>(workspace_bytes);
  b->struct_size = sizeof *b;
  b->model_dim = dim, b->n_heads = n_heads, b->n_kv_heads = 1, b->head_dim = b->v_dim = head_dim;
  b->hidden_dim = hidden, b->causal = 1, b->eps = 1, b->norm = heed_rms_norm, b->activation = heed_silu;
  b->rope = rope, b->options = options;
  const auto weights = [this](int32_t in, int32_t out) {
    return heed_weights_of(rows_, HEED_F16, HEED_OUT_IN, in, out, rows_);
  };
  b->wq = weights(dim, dim), b->wk = b->wv = weights(dim, head_dim), b->wo = weights(dim, dim);
  b->w_up = b->w_gate = weights(dim, hidden), b->w_down = weights(hidden, dim);
  numbers all = {{"model_dim", &b->model_dim},
                 {"n_heads", &b->n_heads},
                 {"n_kv_heads", &b->n_kv_heads},
                 {"head_dim", &b->head_dim},
                 {"v_dim", &b->v_dim},
                 {"hidden_dim", &b->hidden_dim},
                 {"causal", &b->causal},
                 {"norm_first", &b->norm_first},
                 {"n_workers", &e_->n_workers},
                 {"left_window", &ranges->left_window},
                 {"right_window", &ranges->right_window},
                 {"pinned", &ranges->pinned}};
  append(&all, numbers_of("x", x)), append(&all, numbers_of("y", y)), append(&all, numbers_of(rope));
  for (const auto &[name, w] : {std::pair("wq", &b->wq),
                                {"wk", &b->wk},
                                {"wv", &b->wv},
                                {"wo", &b->wo},
                                {"w_up", &b->w_up},
                                {"w_gate", &b->w_gate},
                                {"w_down", &b->w_down}})
    append(&all, numbers_of(name, w));
  const auto run = [=] {
    return heed_block_run(b, *x, *y, activations, n_activations, workspace, workspace_bytes, e_);
  };
  damage(all, {{"block", run}});
  b->cache = cache;
  for (const heed_cache_shape *const shape : {ring, linear}) {
    fill(cache, *shape, buffer);
    numbers with_cache = numbers_of_cache(cache);
    append(&with_cache, all);
    damage(with_cache, {{"block with a cache", run}});
  }
}

}  // namespace
}  // namespace heed_test
