// A layer of a transformer: what the public functions do one after another, on one kernel, after one check of
// everything.
#include "../isa_choice/front_door.hpp"
#include "../options/options.hpp"
#include "layer.hpp"
#include "../tasks/run.hpp"

namespace heed {
namespace {

constexpr bool transformer_macro_is_function(int32_t n, int32_t model_dim, int32_t n_heads, int32_t n_kv_heads,
                                             int32_t head_dim, int32_t v_dim, int32_t ffn_dim, bool gated) {
  const size_t attention = attention_floats(n_heads, n_kv_heads, head_dim, v_dim, true);
  const size_t hidden = static_cast<size_t>(ffn_dim) * (gated ? 2 : 1);
  return HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, model_dim, n_heads, n_kv_heads, head_dim, v_dim, ffn_dim, gated) ==
         layer_bytes(n, transformer_floats(model_dim, attention, hidden), head_dim, v_dim);
}
static_assert(transformer_macro_is_function(1, 1, 1, 1, 1, 1, 1, false) &&
                  transformer_macro_is_function(3, 6, 4, 2, 4, 3, 7, true) &&
                  transformer_macro_is_function(17, 768, 12, 12, 64, 64, 3072, false) &&
                  transformer_macro_is_function(5, 64, 8, 1, 80, 80, 65, true),
              "one formula");

size_t hidden_floats_of(const heed_transformer_layer &l) {
  const heed_attention_layer &a = *l.attention;
  return transformer_floats(a.model_dim, attention_floats(a.n_heads, a.n_kv_heads, a.head_dim, a.v_dim, true),
                            static_cast<size_t>(hidden_floats(l)));
}

// Cross-attention with its norm and its residual. It reads another sequence, so x are the rows of this layer alone.
HEED_NOINLINE heed_status run_cross(const some_rows &r, const attention_pass &of_rows) {
  heed_status status = begin_sublayer(r, sublayer::cross);
  if (status != HEED_OK) return status;
  const heed_matrix x = input_of_sublayer(r, sublayer::cross);
  attention_pass c = of_rows;
  c.layer = r.layer->cross;
  c.keys = nullptr;
  c.x = &x;
  status = run_attention_layer(r.k, c);
  return status == HEED_OK ? end_sublayer(r, sublayer::cross) : status;
}

}  // namespace

// Attention, cross-attention if there is one, feed-forward. In a parallel layer finish_attention() has done the last.
heed_status run_sublayers(const some_rows &r, const attention_pass &c) {
  heed_status status = begin_sublayer(r, sublayer::attention);
  if (status == HEED_OK) status = run_attention_layer(r.k, c);
  if (status == HEED_OK) status = finish_attention(r);
  if (status == HEED_OK && r.layer->cross) status = run_cross(r, c);
  return status == HEED_OK && !r.layer->parallel ? run_feed_forward(r) : status;
}

namespace {

heed_status run_transformer_layer(kernel_handle k, transformer_pass &c) {
  c.attention.y.n_rows = c.x.n_rows;
#ifndef HEED_SINGLE
  if (repays_stripes(k, c)) return run_stripes(k, c);
#endif
  return run_sublayers(
      {k, c.layer, c.x, c.y, c.attention.y, c.attention.rows, c.attention.executor, nullptr, nullptr, rms_kind::plain},
      c.attention);
}

// ----------------------------------------------------------------------------------------------------------- checks

void check_objects_of_layer(checker &check, const heed_transformer_layer *layer) {
  check.object(layer, access::read, HEED_ARG_LAYER);
  if (check.ok()) check.object(layer->attention, access::read, HEED_ARG_ATTENTION);
}

void check_transformer_shape(checker &check, const heed_transformer_layer &l) {
  check_attention_shape(check, *l.attention);
  check.require(l.attention->out_dim == l.attention->model_dim, HEED_SHAPE_MISMATCH, HEED_ARG_OUT_DIM);
  check.count(l.ffn_dim, HEED_MAX_DIM, HEED_ARG_FFN_DIM);
  check.require(l.parallel == 0 || l.parallel == 1, HEED_OUT_OF_RANGE, HEED_ARG_PARALLEL);
  check.require(l.ffn_order >= HEED_FFN_SEPARATE && l.ffn_order <= HEED_FFN_UP_GATE, HEED_OUT_OF_RANGE,
                HEED_ARG_FFN_ORDER);
  const bool together = l.ffn_order != HEED_FFN_SEPARATE;
  check.require(!together || l.ffn_dim <= HEED_MAX_DIM / 2, HEED_OUT_OF_RANGE, HEED_ARG_FFN_DIM);
  check.require(!together || !l.w_gate.data, HEED_SHAPE_MISMATCH, HEED_ARG_W_GATE);
}

// A parallel layer adds attention and feed-forward of one norm, so it has its norms first and no third sublayer.
void check_functions(checker &check, const heed_transformer_layer &l) {
  check.require(l.norm_first == 0 || l.norm_first == 1, HEED_OUT_OF_RANGE, HEED_ARG_NORM_FIRST);
  check.require(l.post_norm == 0 || l.post_norm == 1, HEED_OUT_OF_RANGE, HEED_ARG_POST_NORM);
  check.require(!l.parallel || (l.norm_first && !l.cross), HEED_SHAPE_MISMATCH, HEED_ARG_PARALLEL);
  check.require(l.norm != nullptr, HEED_NULL_POINTER, HEED_ARG_NORM);
  check.require(l.activation != nullptr, HEED_NULL_POINTER, HEED_ARG_ACTIVATION);
  check.require(is_finite(l.eps), HEED_NOT_FINITE, HEED_ARG_EPS);
  check.require(l.eps >= 0.0f, HEED_OUT_OF_RANGE, HEED_ARG_EPS);
}

void check_all_projections(checker &check, const heed_transformer_layer &l) {
  const int32_t dim = l.attention->model_dim;
  check.require(l.attention->wo.data != nullptr, HEED_NULL_POINTER, HEED_ARG_WO);
  if (check.ok()) check_attention_projections(check, *l.attention);
  const bool together = l.ffn_order != HEED_FFN_SEPARATE;
  const int32_t up_dim = together ? 2 * l.ffn_dim : l.ffn_dim;
  check_projection(check, l.w_up, l.b_up, dim, up_dim, HEED_ARG_W_UP, HEED_ARG_B_UP);
  check_projection(check, l.w_down, l.b_down, l.ffn_dim, dim, HEED_ARG_W_DOWN, HEED_ARG_B_DOWN);
  if (l.w_gate.data)
    check_projection(check, l.w_gate, l.b_gate, dim, l.ffn_dim, HEED_ARG_W_GATE, HEED_ARG_B_GATE);
  else
    check.require(!l.b_gate, HEED_SHAPE_MISMATCH, HEED_ARG_B_GATE);
  check.floats_or_null(l.norm1_weight, dim, HEED_ARG_NORM1_WEIGHT);
  check.floats_or_null(l.norm1_bias, dim, HEED_ARG_NORM1_BIAS);
  check.floats_or_null(l.norm2_weight, dim, HEED_ARG_NORM2_WEIGHT);
  check.floats_or_null(l.norm2_bias, dim, HEED_ARG_NORM2_BIAS);
  check.floats_or_null(l.norm_cross_weight, dim, HEED_ARG_NORM_CROSS_WEIGHT);
  check.floats_or_null(l.norm_cross_bias, dim, HEED_ARG_NORM_CROSS_BIAS);
  check.floats_or_null(l.post_norm1_weight, dim, HEED_ARG_POST_NORM1_WEIGHT);
  check.floats_or_null(l.post_norm1_bias, dim, HEED_ARG_POST_NORM1_BIAS);
  check.floats_or_null(l.post_norm2_weight, dim, HEED_ARG_POST_NORM2_WEIGHT);
  check.floats_or_null(l.post_norm2_bias, dim, HEED_ARG_POST_NORM2_BIAS);
  check.floats_or_null(l.post_norm_cross_weight, dim, HEED_ARG_POST_NORM_CROSS_WEIGHT);
  check.floats_or_null(l.post_norm_cross_bias, dim, HEED_ARG_POST_NORM_CROSS_BIAS);
}

// Its memory is that of the layer's own attention.
void check_cross_layer(checker &check, const transformer_pass &c) {
  check.object(c.layer->cross, access::read, HEED_ARG_CROSS);
  if (!check.ok()) return;
  const heed_attention_layer &l = *c.layer->cross, &own = *c.layer->attention;
  check.require(l.cross == 1 && l.model_dim == own.model_dim && l.out_dim == own.out_dim && l.n_heads == own.n_heads &&
                    l.head_dim == own.head_dim && l.v_dim == own.v_dim,
                HEED_SHAPE_MISMATCH, HEED_ARG_CROSS);
  check_attention_shape(check, l);
  check.require(has_output_projection(l), HEED_NULL_POINTER, HEED_ARG_WO);
  if (check.ok()) check_attention_projections(check, l);
  if (check.ok()) check_cross(check, l);
  if (check.ok()) check_layer_cache(check, l, c.attention.span, false);
  check.require(!check.ok() || !l.options || pass_at_once(own, c.attention.span), HEED_TOO_MANY_ROWS, HEED_ARG_N);
  if (check.ok() && l.options) check_attention_options(check, l, c.attention.span);
}

// y may be x itself, but not where some rows alone are wanted: the others would be overwritten before they are read.
void check_rows(checker &check, const transformer_pass &c) {
  const int32_t dim = c.layer->attention->model_dim;
  const bool in_place =
      !c.layer->out_rows && c.x.data == c.y.data && (c.x.n_rows == 1 || c.x.row_stride == c.y.row_stride);
  if (in_place)
    check.count(c.x.n_rows, HEED_MAX_COUNT, HEED_ARG_X);
  else
    check.matrix(c.x, HEED_ARG_X);
  check.require(c.x.dim == dim, HEED_SHAPE_MISMATCH, HEED_ARG_X);
  check.require(c.y.n_rows == c.attention.span.n_q && c.y.dim == dim, HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  check.matrix(c.y, HEED_ARG_Y);
}

// Are keys and values made apart from the rest?
bool is_apart(const transformer_pass &c) {
  const heed_attention_layer &a = *c.layer->attention;
  const row_span &span = c.attention.span;
  return span.n_q != span.n ||
         c.attention.workspace.bytes < rows_bytes(rows_in_memory(a, span), hidden_floats_of(*c.layer)) +
                                           HEED_WORKSPACE_MIN_BYTES(a.head_dim, a.v_dim);
}

// Then the memory has room for keys and values of all rows, and some rows of all else: of all, if the options count them.
void check_room_apart(checker &check, const transformer_pass &c) {
  if (!check.ok() || !is_apart(c)) return;
  const heed_transformer_layer &l = *c.layer;
  const row_span &span = c.attention.span;
  const int32_t rows = rows_apart(l, rows_at_once(*l.attention, span.n), c.attention.workspace.bytes);
  const bool counts = (l.attention->options && count_by_rows(*l.attention->options)) || (l.cross && l.cross->options);
  check.require(rows > 0 && (rows >= span.n_q || !counts), HEED_TOO_SMALL, HEED_ARG_WORKSPACE);
}

// Which rows are wanted.
void choose_rows(const heed_transformer_layer &l, row_span &span) {
  if (l.out_rows == 0 || l.out_rows > span.n || l.out_rows < -span.n) return;
  span.n_q = l.out_rows < 0 ? -l.out_rows : l.out_rows;
  span.skip = l.out_rows < 0 ? span.n - span.n_q : 0;
}

void check_transformer_pass(checker &check, const transformer_pass &c) {
  check_transformer_shape(check, *c.layer);
  check_functions(check, *c.layer);
  if (check.ok()) check_all_projections(check, *c.layer);
  check.require(!c.layer->out_rows || !c.attention.span.batch, HEED_UNSUPPORTED, HEED_ARG_OUT_ROWS);
  check.require(
      !c.layer->out_rows || c.layer->out_rows == c.attention.span.n_q || c.layer->out_rows == -c.attention.span.n_q,
      HEED_SHAPE_MISMATCH, HEED_ARG_OUT_ROWS);
  if (check.ok()) check_rows(check, c);
  const heed_attention_layer &a = *c.layer->attention;
  const int64_t floats = a.cache || a.batch ? static_cast<int64_t>(hidden_floats_of(*c.layer)) : 0;
  if (check.ok())
    check_attention_state(check, a, c.attention.span, floats, c.attention.workspace, c.attention.executor);
  check_room_apart(check, c);
}

// Two layers, x, y, memory, executor; weights, scales and biases of the feed-forward; norms.
constexpr int transformer_ranges = 6 + attention_layer_ranges + 3 * 4 + 12;

// Three checks of different sizes: each kind of layer pays the stack for the ranges that it can have.
HEED_NOINLINE heed_status check_transformer_with_options(const transformer_pass &c) {
  checker_of<transformer_ranges + option_ranges> check;
  check_objects_of_layer(check, c.layer);
  check_transformer_pass(check, c);
  if (check.ok()) check_attention_options(check, *c.layer->attention, c.attention.span);
  return check.finish();
}

HEED_NOINLINE heed_status check_with_cross(const transformer_pass &c) {
  checker_of<transformer_ranges + 1 + attention_layer_ranges + 2 * option_ranges> check;
  check_objects_of_layer(check, c.layer);
  check_transformer_pass(check, c);
  if (check.ok() && c.layer->attention->options) check_attention_options(check, *c.layer->attention, c.attention.span);
  if (check.ok()) check_cross_layer(check, c);
  return check.finish();
}

HEED_NOINLINE heed_status check_transformer_layer(transformer_pass &c) {
  checker_of<transformer_ranges> check;
  check_objects_of_layer(check, c.layer);
  if (check.ok()) c.attention.span.batch = c.layer->attention->batch;
  if (check.ok()) choose_rows(*c.layer, c.attention.span);
  if (check.ok() && c.layer->cross) return check_with_cross(c);
  if (check.ok() && c.layer->attention->options) return check_transformer_with_options(c);
  if (check.ok()) check_transformer_pass(check, c);
  return check.finish();
}

}  // namespace
}  // namespace heed

size_t heed_transformer_layer_min_bytes(const heed_transformer_layer *layer, int32_t n) {
  heed::checker_of<2> check;
  heed::check_objects_of_layer(check, layer);
  if (check.ok()) heed::check_transformer_shape(check, *layer);
  check.count(n, HEED_MAX_COUNT, HEED_ARG_N);
  if (!check.ok()) return 0;
  const uint64_t bytes = heed::least_bytes_apart(*layer, n);
  return heed::size_or_zero(bytes);
}

size_t heed_transformer_layer_bytes(const heed_transformer_layer *layer, int32_t n) {
  heed::checker_of<2> check;
  heed::check_objects_of_layer(check, layer);
  if (check.ok()) heed::check_transformer_shape(check, *layer);
  check.count(n, HEED_MAX_COUNT, HEED_ARG_N);
  if (!check.ok()) return 0;
  return heed::layer_bytes(n, heed::hidden_floats_of(*layer), layer->attention->head_dim, layer->attention->v_dim);
}

heed_status heed_transformer_layer_run(const heed_transformer_layer *layer, heed_matrix x, heed_matrix_out y,
                                       heed_memory memory, const heed_executor *executor) {
  heed::transformer_pass c = {
      layer, x, y, {nullptr, nullptr, {}, nullptr, nullptr, memory, executor, {nullptr, 0, x.n_rows, 0, x.n_rows}}};
  const heed_status status = heed::check_transformer_layer(c);
  if (status != HEED_OK) return status;
  c.attention.layer = layer->attention;
  const auto k = heed_front_door::kernel(executor);
  if (heed::is_apart(c)) return heed::run_apart(k, c);
  const int32_t n = heed::rows_in_memory(*layer->attention, c.attention.span), dim = layer->attention->model_dim;
  float *const rows = heed::take_rows(c.attention.workspace, heed::rows_bytes(n, heed::hidden_floats_of(*layer)));
  c.attention.x = layer->norm_first ? nullptr : &x;
  c.attention.y = heed_matrix_out_of(rows, n, dim);
  c.attention.rows = rows + static_cast<size_t>(n) * static_cast<size_t>(dim);
  return heed::run_pieces(x, y, c.attention.span, heed::rows_at_once(*layer->attention, x.n_rows),
                          [&] { return heed::run_transformer_layer(k, c); });
}
