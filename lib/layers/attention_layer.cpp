// Attention with its projections: one check of everything, for both layers, and the public functions.
#include "../isa_choice/front_door.hpp"
#include "../cache/cache.hpp"
#include "../options/options.hpp"
#include "layer.hpp"
#include "../checks/rope_code.hpp"
#include "../tasks/run.hpp"

namespace heed {
namespace {

// The macro for static arrays and the function for programs are one formula: compared here when heed is compiled.
constexpr bool macro_is_function(int32_t n, int32_t n_heads, int32_t n_kv_heads, int32_t head_dim, int32_t v_dim) {
  return HEED_ATTENTION_LAYER_BYTES(n, n_heads, n_kv_heads, head_dim, v_dim) ==
         layer_bytes(n, attention_floats(n_heads, n_kv_heads, head_dim, v_dim, true), head_dim, v_dim);
}
static_assert(macro_is_function(1, 1, 1, 1, 1) && macro_is_function(3, 4, 2, 6, 3) &&
                  macro_is_function(17, 12, 1, 64, 80),
              "one formula");

}  // namespace

// ----------------------------------------------------------------------------------------------------------- checks

void check_attention_shape(checker &check, const heed_attention_layer &l) {
  check.count(l.model_dim, HEED_MAX_DIM, HEED_ARG_MODEL_DIM);
  check_heads(check, l.n_heads, l.n_kv_heads, l.head_dim, l.v_dim, l.scale, l.causal);
  check.count(l.out_dim, HEED_MAX_DIM, HEED_ARG_OUT_DIM);
  const int64_t widest = larger_of(l.head_dim, l.v_dim);
  check.require(widest * l.n_heads <= HEED_MAX_DIM, HEED_OUT_OF_RANGE, HEED_ARG_N_HEADS);
  check.require(l.qk_norm_whole == 0 || l.qk_norm_whole == 1, HEED_OUT_OF_RANGE, HEED_ARG_QK_NORM_WHOLE);
  check.require(l.cross == 0 || l.cross == 1, HEED_OUT_OF_RANGE, HEED_ARG_CROSS);
}

namespace {

// Norms of q and k: numbers for one head, or for all heads where the norm takes whole rows. None without a norm.
void check_qk_norm(checker &check, const heed_attention_layer &l) {
  check.require(is_finite(l.qk_eps), HEED_NOT_FINITE, HEED_ARG_QK_EPS);
  check.require(l.qk_eps >= 0.0f, HEED_OUT_OF_RANGE, HEED_ARG_QK_EPS);
  const auto numbers = [&](const float *data, int32_t n_heads, heed_argument name) {
    const int32_t n = l.qk_norm_whole ? n_heads * l.head_dim : l.head_dim;
    check.floats_or_null(data, n, name);
    check.require(!data || l.qk_norm, HEED_SHAPE_MISMATCH, name);
  };
  numbers(l.q_norm_weight, l.n_heads, HEED_ARG_Q_NORM_WEIGHT);
  numbers(l.q_norm_bias, l.n_heads, HEED_ARG_Q_NORM_BIAS);
  numbers(l.k_norm_weight, l.n_kv_heads, HEED_ARG_K_NORM_WEIGHT);
  numbers(l.k_norm_bias, l.n_kv_heads, HEED_ARG_K_NORM_BIAS);
}

}  // namespace

void check_projection(checker &check, const heed_weights &w, const float *bias, int32_t n_in, int32_t n_out,
                      heed_argument w_name, heed_argument bias_name) {
  if (!check.ok()) return;
  check_weights(check, w, n_in, w_name);
  check.require(w.n_out == n_out, HEED_SHAPE_MISMATCH, w_name);
  check.floats_or_null(bias, n_out, bias_name);
}

void check_attention_projections(checker &check, const heed_attention_layer &l) {
  const widths w = widths_of(l);
  check_projection(check, l.wq, l.bq, l.model_dim, w.q, HEED_ARG_WQ, HEED_ARG_BQ);
  check_projection(check, l.wk, l.bk, l.model_dim, w.k, HEED_ARG_WK, HEED_ARG_BK);
  check_projection(check, l.wv, l.bv, l.model_dim, w.v, HEED_ARG_WV, HEED_ARG_BV);
  check_qk_norm(check, l);
  if (has_output_projection(l))
    return check_projection(check, l.wo, l.bo, w.context, l.out_dim, HEED_ARG_WO, HEED_ARG_BO);
  check.require(l.out_dim == w.context, HEED_SHAPE_MISMATCH, HEED_ARG_OUT_DIM);
  check.require(!l.bo, HEED_SHAPE_MISMATCH, HEED_ARG_BO);
}

namespace {

void check_layer_rope(checker &check, const heed_attention_layer &l, int32_t n) {
  if (!l.rope) return;
  check.object(l.rope, access::read, HEED_ARG_ROPE);
  if (check.ok()) check.require(l.rope->code != nullptr, HEED_NOT_INITIALIZED, HEED_ARG_ROPE);
  if (check.ok()) l.rope->code->check(check, *l.rope, l.head_dim, n);
}

}  // namespace

// The keys of a cross-attention are those of another sequence, which have no positions here.
void check_cross(checker &check, const heed_attention_layer &l) {
  check.require(!l.rope, HEED_UNSUPPORTED, HEED_ARG_ROPE);
  check.require(l.cache != nullptr, HEED_NULL_POINTER, HEED_ARG_CACHE);
}

// appends: the call adds its tokens to the cache. Otherwise it reads what heed_attention_layer_encode has put there.
void check_layer_cache(checker &check, const heed_attention_layer &l, const row_span &span, bool appends) {
  const access how = appends ? access::write : access::read;
  check_object(check, l.cache, how, HEED_ARG_CACHE);
  if (l.cache && check.ok()) functions_of(*l.cache).check_tokens(check, l, span, appends);
}

void check_batch(checker &check, const row_span &span) {
  check_object(check, span.batch, access::read, HEED_ARG_BATCH);
  if (span.batch && check.ok()) functions_of(*span.batch).check_lengths(check, *span.batch, span.n);
}

void check_attention_state(checker &check, const heed_attention_layer &l, const row_span &span, size_t floats,
                           heed_memory memory, const heed_executor *executor) {
  const size_t least = HEED_WORKSPACE_MIN_BYTES(l.head_dim, l.v_dim);
  check.room(memory, least, HEED_ALIGNMENT, HEED_ARG_WORKSPACE);
  check.executor(executor);
  check_batch(check, span);
  if (l.cross) check_cross(check, l);
  check_layer_rope(check, l, span.n);
  check_layer_cache(check, l, span, !l.cross);
  if (check.ok())
    check.require(memory.bytes >= rows_bytes(rows_in_memory(l, span), floats) + least, HEED_TOO_SMALL,
                  HEED_ARG_WORKSPACE);
}

// Options count the keys that the cache will hold when attention runs: those it has, and the tokens of this call.
void check_attention_options(checker &check, const heed_attention_layer &l, const row_span &span) {
  heed_attention call = attention_of(l, span, {});
  call.cache = nullptr;  // has been checked, and is written
  if (l.cache && !l.cross && span.batch)
    functions_of(*span.batch).shape(span, l.cache, false, call);
  else if (l.cache && !l.cross)
    call.n_kv += span.n;
  check_objects(check, call);
  if (!check.ok()) return;
  check.require(!l.options->partial, HEED_UNSUPPORTED, HEED_ARG_PARTIAL);
  check.require(!l.options->typed, HEED_UNSUPPORTED, HEED_ARG_TYPED);
  if (l.cache && !l.cross) functions_of(*l.cache).check_options(check, l, span);
  if (const option_engine *engine = check.ok() ? engine_of(call) : nullptr) engine->check(check, call);
}

namespace {

// Floats of a row of this layer. Cross-attention makes no keys and values, so it needs room for q and context alone.
size_t attention_floats_of(const heed_attention_layer &l) {
  const widths w = own_widths_of(l);
  if (l.cross) return static_cast<size_t>(w.q) + (has_output_projection(l) ? static_cast<size_t>(w.context) : 0);
  return attention_floats(l.n_heads, l.n_kv_heads, l.head_dim, l.v_dim, has_output_projection(l));
}

void check_attention_pass(checker &check, const attention_pass &c) {
  const heed_attention_layer &l = *c.layer;
  const heed_matrix &x = *c.x;
  check_attention_shape(check, l);
  if (check.ok()) check_attention_projections(check, l);
  check.matrix(x, HEED_ARG_X);
  check.require(x.dim == l.model_dim, HEED_SHAPE_MISMATCH, HEED_ARG_X);
  check.matrix(c.y, HEED_ARG_Y);
  check.require(c.y.n_rows == x.n_rows && c.y.dim == l.out_dim, HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  if (check.ok()) check_attention_state(check, l, c.span, attention_floats_of(l), c.workspace, c.executor);
}

constexpr int pass_ranges = 5 + attention_layer_ranges;  // layer, x, y, memory, executor

// Apart, so that a layer without options has a smaller frame: its checker has fewer ranges.
HEED_NOINLINE heed_status check_layer_with_options(const attention_pass &c) {
  checker_of<pass_ranges + option_ranges> check;
  check.object(c.layer, access::read, HEED_ARG_LAYER);
  check_attention_pass(check, c);
  if (check.ok()) check_attention_options(check, *c.layer, c.span);
  return check.finish();
}

HEED_NOINLINE heed_status check_attention_layer(attention_pass &c) {
  checker_of<pass_ranges> check;
  check.object(c.layer, access::read, HEED_ARG_LAYER);
  if (check.ok()) c.span.batch = c.layer->batch;
  if (check.ok() && c.layer->options) return check_layer_with_options(c);
  if (check.ok()) check_attention_pass(check, c);
  return check.finish();
}

}  // namespace
}  // namespace heed

size_t heed_attention_layer_bytes(const heed_attention_layer *layer, int32_t n) {
  heed::checker_of<1> check;
  check.object(layer, heed::access::read, HEED_ARG_LAYER);
  if (check.ok()) heed::check_attention_shape(check, *layer);
  check.count(n, HEED_MAX_COUNT, HEED_ARG_N);
  if (!check.ok()) return 0;
  const size_t floats = heed::attention_floats(layer->n_heads, layer->n_kv_heads, layer->head_dim, layer->v_dim, true);
  return heed::layer_bytes(n, floats, layer->head_dim, layer->v_dim);
}

heed_status heed_attention_layer_run(const heed_attention_layer *layer, heed_matrix x, heed_matrix_out y,
                                     heed_memory memory, const heed_executor *executor) {
  heed::attention_pass c = {layer, &x, y, nullptr, nullptr, memory, executor, {nullptr, 0, x.n_rows, 0, x.n_rows}};
  const heed_status status = heed::check_attention_layer(c);
  if (status != HEED_OK) return status;
  c.rows = heed::take_rows(c.workspace,
                           heed::rows_bytes(heed::rows_in_memory(*layer, c.span), heed::attention_floats_of(*layer)));
  const auto k = heed_front_door::kernel(executor);
  return heed::run_pieces(x, c.y, c.span, heed::rows_at_once(*layer, x.n_rows),
                          [&] { return heed::run_attention_layer(k, c); });
}
