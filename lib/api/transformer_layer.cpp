// A layer of a transformer: what the public functions do one after another, on one kernel, after one check of
// everything.
#include "../options/cache.hpp"
#include "../boundary/front_door.hpp"
#include "../options/options.hpp"
#include "rope.hpp"
#include "run.hpp"

namespace heed {
namespace {

// What heed_block_run was given.
struct block_call {
  const heed_block *block;
  heed_matrix x;
  heed_matrix_out y;
  float *activations;
  size_t n_activations;
  void *workspace;
  size_t workspace_bytes;
  const heed_executor *executor;
};

bool is_gated(const heed_block &b) { return b.w_gate.data != nullptr; }

// Where intermediate rows lie: those of model_dim, then q, k, v and context, later the hidden ones in their place.
struct block_rows {
  float *model, *q, *k, *v, *context, *up, *gate;
};
block_rows rows_of(const block_call &c) {
  const heed_block &b = *c.block;
  const size_t n = static_cast<size_t>(c.x.n_rows), heads = static_cast<size_t>(b.n_heads),
               kv_heads = static_cast<size_t>(b.n_kv_heads), d = static_cast<size_t>(b.head_dim);
  block_rows r = {};
  r.model = c.activations;
  r.q = r.up = r.model + n * static_cast<size_t>(b.model_dim);
  r.k = r.q + n * heads * d;
  r.v = r.k + n * kv_heads * d;
  r.context = r.v + n * kv_heads * static_cast<size_t>(b.v_dim);
  r.gate = r.up + n * static_cast<size_t>(b.hidden_dim);
  return r;
}

heed_matrix view(const heed_matrix_out &m) { return {m.data, m.n_rows, m.dim, m.row_stride}; }
heed_tensor view(const heed_tensor_out &t) { return {t.data, t.batch_stride, t.head_stride, t.row_stride}; }

// ------------------------------------------------------------------------------------------------------------ steps
// Each has a frame of its own, which is gone when the next one runs.

heed_matrix_out rows_between(const block_call &c) {
  return heed_matrix_out_of(rows_of(c).model, c.x.n_rows, c.block->model_dim);
}

template <class K>
HEED_NOINLINE heed_status normalise(K k, const block_call &c, const heed_matrix &x, bool second,
                                    const heed_matrix_out &y) {
  const heed_block &b = *c.block;
  const layer_executor executor(k, c.executor);
  return b.norm(x, second ? b.norm2_weight : b.norm1_weight, second ? b.norm2_bias : b.norm1_bias, b.eps, y,
                executor.get());
}

template <class K>
HEED_NOINLINE heed_status normalise_first(K k, const block_call &c) {
  return normalise(k, c, c.x, false, rows_between(c));
}
// Between the sublayers: the rows of the second one, or what the first one gave.
template <class K>
HEED_NOINLINE heed_status normalise_between(K k, const block_call &c) {
  return c.block->norm_first ? normalise(k, c, view(c.y), true, rows_between(c))
                             : normalise(k, c, view(c.y), false, c.y);
}
template <class K>
HEED_NOINLINE heed_status normalise_last(K k, const block_call &c) {
  return normalise(k, c, view(c.y), true, c.y);
}

template <class K>
HEED_NOINLINE void run_projections(K k, const block_call &c) {
  const heed_block &b = *c.block;
  const block_rows r = rows_of(c);
  const heed_matrix x = b.norm_first ? view(rows_between(c)) : c.x;
  const auto to = [&](float *y, const heed_weights &w, const float *bias) {
    run_project(k, x, w, bias, heed_matrix_out_of(y, x.n_rows, w.n_out), c.executor);
  };
  to(r.q, b.wq, b.bq);
  to(r.k, b.wk, b.bk);
  to(r.v, b.wv, b.bv);
}

template <class K>
HEED_NOINLINE void turn(K k, const block_call &c, float *data, int32_t n_heads, int32_t position) {
  const heed_tensor_out rows = heed_token_major_out(data, c.x.n_rows, n_heads, c.block->head_dim);
  c.block->rope->code->run(address_of(k), {c.block->rope, view(rows), c.x.n_rows, n_heads, c.block->head_dim, position,
                                           nullptr, rows, c.executor});
}

// Turned queries and keys; keys and values in the cache, if there is one.
template <class K>
HEED_NOINLINE heed_status run_positions(K k, const block_call &c) {
  const heed_block &b = *c.block;
  const block_rows r = rows_of(c);
  const int32_t n = c.x.n_rows, position = b.cache ? states_of(*b.cache)->length : 0;
  if (b.rope) {
    turn(k, c, r.q, b.n_heads, position);
    turn(k, c, r.k, b.n_kv_heads, position);
  }
  if (!b.cache) return HEED_OK;
  return functions_of(*b.cache).append(address_of(k),
                                       {b.cache, 0, n, heed_token_major(r.k, n, b.n_kv_heads, b.head_dim),
                                        heed_token_major(r.v, n, b.n_kv_heads, b.v_dim)});
}

heed_attention attention_of(const block_call &c, const heed_options &options) {
  const heed_block &b = *c.block;
  const block_rows r = rows_of(c);
  const int32_t n = c.x.n_rows;
  heed_attention call = heed_attention_of(n, n, b.n_heads, b.n_kv_heads, b.head_dim, r.q, r.k, r.v, r.context,
                                          c.workspace, c.workspace_bytes);
  call.v_dim = b.v_dim;
  call.v = heed_token_major(r.v, n, b.n_kv_heads, b.v_dim);
  call.out = heed_token_major_out(r.context, n, b.n_heads, b.v_dim);
  call.scale = b.scale;
  call.causal = b.causal;
  call.executor = c.executor;
  if (b.cache) {
    call.k = call.v = heed_tensor();
    call.n_kv = states_of(*b.cache)->length;
  }
  if (b.cache || b.options) call.options = &options;
  return call;
}

heed_options options_with_cache(const heed_block &b) {
  heed_options options = HEED_OPTIONS;
  if (b.options) options = *b.options;
  options.cache = b.cache;
  return options;
}

template <class K>
HEED_NOINLINE void run_attention_of(K k, const block_call &c) {
  const heed_options options = options_with_cache(*c.block);
  run_attention(k, attention_of(c, options));
}

// y = x + rows w + bias
template <class K>
void run_residual(K k, const block_call &c, const heed_matrix &x, float *rows, const heed_weights &w,
                  const float *bias) {
  const int32_t n = c.x.n_rows;
  const heed_matrix_out sum = heed_matrix_out_of(rows_of(c).model, n, w.n_out);
  run_project(k, heed_matrix_of(rows, n, w.n_in), w, bias, sum, c.executor);
  run_add(k, x, view(sum), c.y, c.executor);
}
template <class K>
HEED_NOINLINE void add_attention(K k, const block_call &c) {
  run_residual(k, c, c.x, rows_of(c).context, c.block->wo, c.block->bo);
}
template <class K>
HEED_NOINLINE void add_feed_forward(K k, const block_call &c) {
  const block_rows r = rows_of(c);
  run_residual(k, c, view(c.y), is_gated(*c.block) ? r.gate : r.up, c.block->w_down, c.block->b_down);
}

template <class K>
HEED_NOINLINE heed_status activate(K k, const block_call &c, const heed_matrix &x, const heed_matrix &up,
                                   const heed_matrix_out &y) {
  const layer_executor executor(k, c.executor);
  return c.block->activation(x, up, y, executor.get());
}

template <class K>
HEED_NOINLINE heed_status run_hidden(K k, const block_call &c) {
  const heed_block &b = *c.block;
  const block_rows r = rows_of(c);
  const heed_matrix x = view(b.norm_first ? rows_between(c) : c.y);
  const heed_matrix_out up = heed_matrix_out_of(r.up, x.n_rows, b.hidden_dim),
                        gate = heed_matrix_out_of(r.gate, x.n_rows, b.hidden_dim);
  run_project(k, x, b.w_up, b.b_up, up, c.executor);
  if (!is_gated(b)) return activate(k, c, view(up), heed_matrix(), up);
  run_project(k, x, b.w_gate, b.b_gate, gate, c.executor);
  return activate(k, c, view(gate), view(up), gate);
}

template <class K>
heed_status run_block(K k, const block_call &c) {
  const bool first = c.block->norm_first != 0;
  heed_status status = first ? normalise_first(k, c) : HEED_OK;
  if (status != HEED_OK) return status;
  run_projections(k, c);
  status = run_positions(k, c);
  if (status != HEED_OK) return status;
  run_attention_of(k, c);
  add_attention(k, c);
  status = normalise_between(k, c);
  if (status == HEED_OK) status = run_hidden(k, c);
  if (status != HEED_OK) return status;
  add_feed_forward(k, c);
  return first ? HEED_OK : normalise_last(k, c);
}

// ----------------------------------------------------------------------------------------------------------- checks

void check_dimensions(checker &check, const heed_block &b) {
  check.count(b.model_dim, HEED_MAX_DIM, HEED_ARG_MODEL_DIM);
  check.count(b.hidden_dim, HEED_MAX_DIM, HEED_ARG_HIDDEN_DIM);
  check_heads(check, b.n_heads, b.n_kv_heads, b.head_dim, b.v_dim, b.scale, b.causal);
  const int64_t widest = b.head_dim > b.v_dim ? b.head_dim : b.v_dim;
  check.require(widest * b.n_heads <= HEED_MAX_DIM, HEED_OUT_OF_RANGE, HEED_ARG_N_HEADS);
  check.require(b.norm_first == 0 || b.norm_first == 1, HEED_OUT_OF_RANGE, HEED_ARG_NORM_FIRST);
  check.require(b.norm != nullptr, HEED_NULL_POINTER, HEED_ARG_NORM);
  check.require(b.activation != nullptr, HEED_NULL_POINTER, HEED_ARG_ACTIVATION);
  check.require(is_finite(b.eps), HEED_NOT_FINITE, HEED_ARG_EPS);
  check.require(b.eps >= 0.0f, HEED_OUT_OF_RANGE, HEED_ARG_EPS);
}

void check_projection(checker &check, const heed_weights &w, const float *bias, int32_t n_in, int32_t n_out,
                      heed_argument w_name, heed_argument bias_name) {
  if (!check.ok()) return;
  check_weights(check, w, n_in, w_name);
  check.require(w.n_out == n_out, HEED_MISFIT, w_name);
  check.floats_or_null(bias, n_out, bias_name);
}

void check_all_weights(checker &check, const heed_block &b) {
  const int32_t q = b.n_heads * b.head_dim, k = b.n_kv_heads * b.head_dim, v = b.n_kv_heads * b.v_dim,
                context = b.n_heads * b.v_dim;
  check_projection(check, b.wq, b.bq, b.model_dim, q, HEED_ARG_WQ, HEED_ARG_BQ);
  check_projection(check, b.wk, b.bk, b.model_dim, k, HEED_ARG_WK, HEED_ARG_BK);
  check_projection(check, b.wv, b.bv, b.model_dim, v, HEED_ARG_WV, HEED_ARG_BV);
  check_projection(check, b.wo, b.bo, context, b.model_dim, HEED_ARG_WO, HEED_ARG_BO);
  check_projection(check, b.w_up, b.b_up, b.model_dim, b.hidden_dim, HEED_ARG_W_UP, HEED_ARG_B_UP);
  check_projection(check, b.w_down, b.b_down, b.hidden_dim, b.model_dim, HEED_ARG_W_DOWN, HEED_ARG_B_DOWN);
  if (is_gated(b))
    check_projection(check, b.w_gate, b.b_gate, b.model_dim, b.hidden_dim, HEED_ARG_W_GATE, HEED_ARG_B_GATE);
  else
    check.require(!b.b_gate, HEED_MISFIT, HEED_ARG_B_GATE);
  check.floats_or_null(b.norm1_weight, b.model_dim, HEED_ARG_WEIGHT);
  check.floats_or_null(b.norm2_weight, b.model_dim, HEED_ARG_WEIGHT);
  check.floats_or_null(b.norm1_bias, b.model_dim, HEED_ARG_BIAS);
  check.floats_or_null(b.norm2_bias, b.model_dim, HEED_ARG_BIAS);
}

void check_rows(checker &check, const block_call &c) {
  const int32_t dim = c.block->model_dim;
  const bool in_place = c.x.data == c.y.data && (c.x.n_rows == 1 || c.x.row_stride == c.y.row_stride);
  if (in_place)
    check.count(c.x.n_rows, HEED_MAX_COUNT, HEED_ARG_X);
  else
    check.matrix(c.x.data, c.x.n_rows, c.x.dim, c.x.row_stride, access::read, HEED_ARG_X);
  check.require(c.x.dim == dim, HEED_MISFIT, HEED_ARG_X);
  check.require(c.y.n_rows == c.x.n_rows && c.y.dim == dim, HEED_MISFIT, HEED_ARG_Y);
  check.matrix(c.y.data, c.y.n_rows, c.y.dim, c.y.row_stride, access::write, HEED_ARG_Y);
}

void check_buffers(checker &check, const block_call &c) {
  const heed_block &b = *c.block;
  const size_t heads = static_cast<size_t>(b.n_heads) + static_cast<size_t>(b.n_kv_heads),
               attention = heads * (static_cast<size_t>(b.head_dim) + static_cast<size_t>(b.v_dim)),
               hidden = static_cast<size_t>(b.hidden_dim) * (is_gated(b) ? 2 : 1);
  const size_t of_a_row = static_cast<size_t>(b.model_dim) + (attention > hidden ? attention : hidden);
  size_t bytes;
  const bool overflow = __builtin_mul_overflow(of_a_row * sizeof(float), static_cast<size_t>(c.x.n_rows), &bytes);
  check.require(!overflow && c.n_activations >= bytes / sizeof(float), HEED_TOO_SMALL, HEED_ARG_ACTIVATIONS);
  if (!check.ok()) return;
  check.buffer(c.activations, bytes, 0, sizeof(float), HEED_ARG_ACTIVATIONS);
  check.buffer(c.workspace, c.workspace_bytes, HEED_WORKSPACE_MIN_BYTES(b.head_dim, b.v_dim), HEED_WORKSPACE_ALIGNMENT,
               HEED_ARG_WORKSPACE);
  check.executor(c.executor);
}

void check_positions(checker &check, const block_call &c) {
  const heed_block &b = *c.block;
  if (b.rope) {
    check.object(b.rope, access::read, HEED_ARG_ROPE);
    if (check.ok()) check.require(b.rope->code != nullptr, HEED_NOT_INITIALIZED, HEED_ARG_ROPE);
    if (check.ok()) b.rope->code->check(check, *b.rope, b.head_dim);
  }
  if (!b.cache || !check.ok()) return;
  check_cache(check, b.cache, access::write);
  if (!check.ok()) return;
  const heed_cache_shape &s = b.cache->shape;
  check.require(s.n_sequences == 1 && s.n_kv_heads == b.n_kv_heads && s.head_dim == b.head_dim && s.v_dim == b.v_dim,
                HEED_MISFIT, HEED_ARG_CACHE);
  check.require(b.causal == 1, HEED_MISFIT, HEED_ARG_CAUSAL);
  check.require(s.kind == HEED_CACHE_LINEAR || c.x.n_rows <= s.spare + 1, HEED_MISFIT, HEED_ARG_CACHE);
  if (check.ok()) functions_of(*b.cache).check_room(check, *b.cache, 0, c.x.n_rows);
}

// Options are those of attention once the cache holds the new tokens.
void check_attention_options(checker &check, const block_call &c) {
  const heed_block &b = *c.block;
  check_objects(check, b.options);
  if (!check.ok() || !b.options) return;
  check.require(!b.options->partial, HEED_MISFIT, HEED_ARG_PARTIAL);
  check.require(!b.options->cache, HEED_MISFIT, HEED_ARG_CACHE);
  check.require(!b.options->narrow, HEED_MISFIT, HEED_ARG_NARROW);
  if (const heed_ranges *ranges = b.cache && b.cache->shape.kind == HEED_CACHE_RING ? b.options->ranges : nullptr) {
    check.require(!ranges->offsets, HEED_MISFIT, HEED_ARG_OFFSETS);  // older queries' keys may be gone
    check.require(ranges->pinned <= b.cache->shape.pinned, HEED_MISFIT, HEED_ARG_PINNED);
  }
  heed_attention call = attention_of(c, *b.options);
  if (b.cache) call.n_kv += c.x.n_rows;
  if (const option_engine *engine = check.ok() ? engine_of(b.options) : nullptr) engine->check(check, call, *b.options);
}

constexpr int block_ranges = 3 + 7 * 3 + 4 + 3 + 2 + 2;  // block, x, y; weights; norms; memory; rope; cache

void check_call(checker &check, const block_call &c) {
  check_dimensions(check, *c.block);
  if (check.ok()) check_all_weights(check, *c.block);
  if (check.ok()) check_rows(check, c);
  if (check.ok()) check_buffers(check, c);
  if (check.ok()) check_positions(check, c);
}

HEED_NOINLINE heed_status check_with_options(const block_call &c) {
  checker_of<block_ranges + option_ranges> check;
  check.object(c.block, access::read, HEED_ARG_BLOCK);
  check_call(check, c);
  if (check.ok()) check_attention_options(check, c);
  return check.finish();
}

HEED_NOINLINE heed_status check_block(const block_call &c) {
  checker_of<block_ranges> check;
  check.object(c.block, access::read, HEED_ARG_BLOCK);
  if (check.ok() && c.block->options) return check_with_options(c);
  if (check.ok()) check_call(check, c);
  return check.finish();
}

}  // namespace
}  // namespace heed

heed_status heed_block_run(const heed_block *block, heed_matrix x, heed_matrix_out y, float *activations,
                           size_t n_activations, void *workspace, size_t workspace_bytes,
                           const heed_executor *executor) {
  const heed::block_call call = {block, x, y, activations, n_activations, workspace, workspace_bytes, executor};
  const heed_status status = heed::check_block(call);
  return status == HEED_OK ? heed::run_block(heed_front_door::kernel(executor), call) : status;
}
