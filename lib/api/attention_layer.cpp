#include "../boundary/front_door.hpp"
#include "../options/options.hpp"
#include "run.hpp"

namespace heed {
namespace {

struct widths {
  int32_t q, k, v, context;  // of a row of each projection and of the context
};

widths layer_widths(const heed_layer &layer) {
  return {layer.n_heads * layer.head_dim, layer.n_kv_heads * layer.head_dim, layer.n_kv_heads * layer.v_dim,
          layer.n_heads * layer.v_dim};
}

// What heed_layer_run was given.
struct layer_call {
  const heed_layer *layer;
  heed_matrix x;
  heed_matrix_out y;
  float *activations;
  size_t n_activations;
  void *workspace;
  size_t workspace_bytes;
  const heed_executor *executor;
};

void check_dimensions(checker &check, const heed_layer &layer) {
  check.count(layer.model_dim, HEED_MAX_DIM, HEED_ARG_MODEL_DIM);
  check_heads(check, layer.n_heads, layer.n_kv_heads, layer.head_dim, layer.v_dim, layer.scale, layer.causal);
  check.count(layer.out_dim, HEED_MAX_DIM, HEED_ARG_OUT_DIM);
  const int64_t widest = layer.head_dim > layer.v_dim ? layer.head_dim : layer.v_dim;
  check.require(widest * layer.n_heads <= HEED_MAX_DIM, HEED_OUT_OF_RANGE, HEED_ARG_N_HEADS);
  if (check.ok())
    check.require(layer.wo || layer.out_dim == layer_widths(layer).context, HEED_MISFIT, HEED_ARG_OUT_DIM);
}

void check_weights(checker &check, const heed_layer &layer) {
  const widths w = layer_widths(layer);
  check.matrix(layer.wq, layer.model_dim, w.q, w.q, access::read, HEED_ARG_WQ);
  check.matrix(layer.wk, layer.model_dim, w.k, w.k, access::read, HEED_ARG_WK);
  check.matrix(layer.wv, layer.model_dim, w.v, w.v, access::read, HEED_ARG_WV);
  if (layer.wo) check.matrix(layer.wo, w.context, layer.out_dim, layer.out_dim, access::read, HEED_ARG_WO);
  check.floats_or_null(layer.bq, w.q, HEED_ARG_BQ);
  check.floats_or_null(layer.bk, w.k, HEED_ARG_BK);
  check.floats_or_null(layer.bv, w.v, HEED_ARG_BV);
  check.require(layer.wo || !layer.bo, HEED_MISFIT, HEED_ARG_BO);
  check.floats_or_null(layer.bo, layer.out_dim, HEED_ARG_BO);
}

void check_rows(checker &check, const heed_layer &layer, heed_matrix x, heed_matrix_out y) {
  check.matrix(x.data, x.n_rows, x.dim, x.row_stride, access::read, HEED_ARG_X);
  check.require(x.dim == layer.model_dim, HEED_MISFIT, HEED_ARG_X);
  check.matrix(y.data, y.n_rows, y.dim, y.row_stride, access::write, HEED_ARG_Y);
  check.require(y.n_rows == x.n_rows && y.dim == layer.out_dim, HEED_MISFIT, HEED_ARG_Y);
}

// Floats that the activations need: q, k, v and, where it does not go straight to y, the context. A count that does not
// fit size_t is too large for any buffer.
size_t activation_floats(const heed_layer &layer, int32_t n) {
  const widths w = layer_widths(layer);
  const size_t of_a_row = static_cast<size_t>(w.q) + w.k + w.v + (layer.wo ? w.context : 0);
  size_t floats;
  const bool overflow = __builtin_mul_overflow(static_cast<size_t>(n), of_a_row, &floats);
  return overflow || floats > SIZE_MAX / sizeof(float) ? SIZE_MAX / sizeof(float) : floats;
}

// Where the projections and the context lie.
struct layer_rows {
  float *q, *k, *v, *context;
};
layer_rows rows_of(const layer_call &c) {
  const widths w = layer_widths(*c.layer);
  const size_t n = static_cast<size_t>(c.x.n_rows);
  float *const q = c.activations, *const k = q + n * w.q, *const v = k + n * w.k;
  return {q, k, v, v + n * w.v};
}

// Each step has a frame of its own, which is gone when the next one runs.
template <class K>
HEED_NOINLINE void run_projections(K kernel, const layer_call &c) {
  const heed_layer &layer = *c.layer;
  const widths w = layer_widths(layer);
  const layer_rows rows = rows_of(c);
  const auto to = [&](float *y, int32_t width, const float *weight, const float *bias) {
    run_linear(kernel, c.x, heed_matrix_of(weight, layer.model_dim, width), bias,
               heed_matrix_out_of(y, c.x.n_rows, width), c.executor);
  };
  to(rows.q, w.q, layer.wq, layer.bq);
  to(rows.k, w.k, layer.wk, layer.bk);
  to(rows.v, w.v, layer.wv, layer.bv);
}

template <class K>
HEED_NOINLINE void run_attention_of(K kernel, const layer_call &c) {
  const heed_layer &layer = *c.layer;
  const layer_rows rows = rows_of(c);
  const int32_t n = c.x.n_rows;
  heed_attention call = heed_attention_of(n, n, layer.n_heads, layer.n_kv_heads, layer.head_dim, rows.q, rows.k, rows.v,
                                          rows.context, c.workspace, c.workspace_bytes);
  call.v_dim = layer.v_dim;
  call.scale = layer.scale;
  call.causal = layer.causal;
  call.executor = c.executor;
  call.options = options_of(layer);
  call.v = heed_token_major(rows.v, n, layer.n_kv_heads, layer.v_dim);
  call.out = heed_token_major_out(rows.context, n, layer.n_heads, layer.v_dim);
  if (!layer.wo) {
    call.out.data = c.y.data;
    call.out.row_stride = c.y.row_stride;
  }
  run_attention(kernel, call);
}

template <class K>
HEED_NOINLINE void run_output(K kernel, const layer_call &c) {
  const heed_layer &layer = *c.layer;
  const int32_t width = layer_widths(layer).context;
  run_linear(kernel, heed_matrix_of(rows_of(c).context, c.x.n_rows, width),
             heed_matrix_of(layer.wo, width, layer.out_dim), layer.bo, c.y, c.executor);
}

template <class K>
void run_layer(K kernel, const layer_call &c) {
  run_projections(kernel, c);
  run_attention_of(kernel, c);
  if (c.layer->wo) run_output(kernel, c);
}

// Options are those of the layer's attention.
void check_layer_options(checker &check, const heed_layer &layer, int32_t n) {
  const heed_options *options = options_of(layer);
  check_objects(check, options);
  if (!check.ok()) return;
  check.require(!options->partial, HEED_MISFIT, HEED_ARG_PARTIAL);
  check.require(!options->cache, HEED_MISFIT, HEED_ARG_CACHE);
  check.require(!options->narrow, HEED_MISFIT, HEED_ARG_NARROW);
  heed_attention call = {};
  call.struct_size = sizeof call;
  call.batch = 1;
  call.n_heads = layer.n_heads;
  call.n_kv_heads = layer.n_kv_heads;
  call.n_q = call.n_kv = n;
  call.head_dim = layer.head_dim;
  call.v_dim = layer.v_dim;
  call.scale = layer.scale;
  call.options = options;
  if (const option_engine *engine = check.ok() ? engine_of(options) : nullptr) engine->check(check, call, *options);
}

void check_call(checker &check, const layer_call &c) {
  const heed_layer &layer = *c.layer;
  check_dimensions(check, layer);
  if (check.ok()) check_weights(check, layer);
  if (check.ok()) check_rows(check, layer, c.x, c.y);
  if (!check.ok()) return;
  const size_t needed = activation_floats(layer, c.x.n_rows);
  check.require(c.n_activations >= needed, HEED_TOO_SMALL, HEED_ARG_ACTIVATIONS);
  check.buffer(c.activations, needed * sizeof(float), 0, sizeof(float), HEED_ARG_ACTIVATIONS);
  check.buffer(c.workspace, c.workspace_bytes, HEED_WORKSPACE_MIN_BYTES(layer.head_dim, layer.v_dim),
               HEED_WORKSPACE_ALIGNMENT, HEED_ARG_WORKSPACE);
  check.executor(c.executor);
}

constexpr int layer_ranges = 14;  // layer, x, y, 8 weights and biases, activations, workspace, executor

HEED_NOINLINE heed_status check_with_options(const layer_call &c) {
  checker_of<layer_ranges + option_ranges> check;
  check.object(c.layer, access::read, HEED_ARG_LAYER);
  check_call(check, c);
  if (check.ok()) check_layer_options(check, *c.layer, c.x.n_rows);
  return check.finish();
}

HEED_NOINLINE heed_status check_layer(const layer_call &c) {
  checker_of<layer_ranges> check;
  check.object(c.layer, access::read, HEED_ARG_LAYER);
  if (check.ok() && options_of(*c.layer)) return check_with_options(c);
  if (check.ok()) check_call(check, c);
  return check.finish();
}

}  // namespace
}  // namespace heed

heed_status heed_layer_run(const heed_layer *layer, heed_matrix x, heed_matrix_out y, float *activations,
                           size_t n_activations, void *workspace, size_t workspace_bytes,
                           const heed_executor *executor) {
  const heed::layer_call call = {layer, x, y, activations, n_activations, workspace, workspace_bytes, executor};
  const heed_status status = heed::check_layer(call);
  if (status == HEED_OK) heed::run_layer(heed_front_door::kernel(executor), call);
  return status;
}
