// What the sublayers of a transformer layer are made of besides attention, for some of its rows.
#include "../isa_choice/front_door.hpp"
#include "layer.hpp"
#include "own_functions.hpp"
#include "../tasks/run.hpp"

namespace heed {
namespace {

// Each step has a frame of its own, which is gone when the next one runs.

struct norm_weights {
  const float *weight, *bias;
};
// Of the norm before a sublayer, or behind it with norms last.
norm_weights norm_of_sublayer(const heed_transformer_layer &l, sublayer s) {
  if (s == sublayer::attention) return {l.norm1_weight, l.norm1_bias};
  return s == sublayer::hidden ? norm_weights{l.norm2_weight, l.norm2_bias}
                               : norm_weights{l.norm_cross_weight, l.norm_cross_bias};
}
norm_weights post_norm(const heed_transformer_layer &l, sublayer s) {
  if (s == sublayer::attention) return {l.post_norm1_weight, l.post_norm1_bias};
  return s == sublayer::hidden ? norm_weights{l.post_norm2_weight, l.post_norm2_bias}
                               : norm_weights{l.post_norm_cross_weight, l.post_norm_cross_bias};
}

// A step of the kernel where the worker has one at hand (stripes); else the function that the layer names.
HEED_NOINLINE heed_status normalise(const some_rows &r, const heed_matrix &x, norm_weights w,
                                    const heed_matrix_out &y) {
  if (r.norm) {
    r.norm(norm_rows_of(r.kind, x, w.weight, w.bias, r.layer->eps, y));
    return HEED_OK;
  }
  return run_norm(r.k, r.layer->norm, x, w.weight, w.bias, r.layer->eps, y, r.executor);
}

HEED_NOINLINE heed_status activate(const some_rows &r, const heed_matrix &x, const heed_matrix &up,
                                   const heed_matrix_out &y) {
  if (r.activation) {
    r.activation({x.data, x.row_stride, up.data, up.row_stride, y.data, y.row_stride, y.n_rows, y.dim});
    return HEED_OK;
  }
  return run_activation(r.k, r.layer->activation, x, up, y, r.executor);
}

// Value and gate side by side in each of these rows: the result takes the gate's place.
HEED_NOINLINE heed_status activate_halves(const some_rows &r, const heed_matrix_out &both, heed_matrix_out *gate) {
  const int32_t dim = r.layer->ffn_dim;
  const bool gate_first = r.layer->ffn_order == HEED_FFN_GATE_UP;
  const int32_t of_gate_at = gate_first ? 0 : dim;
  const int32_t of_value_at = gate_first ? dim : 0;
  *gate = {both.data + of_gate_at, both.n_rows, dim, both.row_stride};
  heed_status status = HEED_OK;
  for (int32_t i = 0; i < both.n_rows && status == HEED_OK; i++) {  // of more rows one would be woven into the other
    float *const row = both.data + i * both.row_stride;
    const heed_matrix_out of_gate = heed_matrix_out_of(row + of_gate_at, 1, dim);
    status = activate(r, readable(of_gate), heed_matrix_of(row + of_value_at, 1, dim), of_gate);
  }
  return status;
}

// to = activation(x w_up + b_up) w_down + b_down, with a gate or without; `hidden` is where the hidden rows lie.
HEED_NOINLINE heed_status run_hidden(const some_rows &r, const heed_matrix &x, float *hidden,
                                     const heed_matrix_out &to) {
  const heed_transformer_layer &l = *r.layer;
  const int32_t n = x.n_rows;
  const heed_matrix_out up = heed_matrix_out_of(hidden, n, l.w_up.n_out);
  run_project(r.k, x, l.w_up, l.b_up, up, r.executor);
  heed_matrix_out result = up;
  heed_status status;
  if (l.ffn_order != HEED_FFN_SEPARATE) {
    status = activate_halves(r, up, &result);
  } else if (!is_gated(l)) {
    status = activate(r, readable(up), heed_matrix(), up);
  } else {
    result.data += static_cast<ptrdiff_t>(n) * l.ffn_dim;
    run_project(r.k, x, l.w_gate, l.b_gate, result, r.executor);
    status = activate(r, readable(result), readable(up), result);
  }
  if (status == HEED_OK) run_project(r.k, readable(result), l.w_down, l.b_down, to, r.executor);
  return status;
}

// y = (x + attention) + hidden, both of x.
HEED_NOINLINE heed_status run_parallel(const some_rows &r) {
  const heed_transformer_layer &l = *r.layer;
  const heed_matrix_out rows = heed_matrix_out_of(r.hidden, r.x.n_rows, r.x.dim);
  heed_status status = normalise(r, r.x, norm_of_sublayer(l, sublayer::hidden), rows);
  if (status == HEED_OK)
    status = run_hidden(r, readable(rows), r.hidden + static_cast<ptrdiff_t>(rows.n_rows) * rows.dim, rows);
  if (status == HEED_OK && l.post_norm) status = normalise(r, readable(rows), post_norm(l, sublayer::hidden), rows);
  if (status == HEED_OK) status = end_sublayer(r, sublayer::attention);
  if (status == HEED_OK) run_add(r.k, readable(r.y), readable(rows), r.y, r.executor);
  return status;
}

}  // namespace

heed_status begin_sublayer(const some_rows &r, sublayer s) {
  if (!r.layer->norm_first) return HEED_OK;
  return normalise(r, residual_of(r, s), norm_of_sublayer(*r.layer, s), r.given);
}

heed_status end_sublayer(const some_rows &r, sublayer s) {
  const heed_transformer_layer &l = *r.layer;
  heed_status status = HEED_OK;
  if (l.post_norm) status = normalise(r, readable(r.given), post_norm(l, s), r.given);
  if (status != HEED_OK) return status;
  run_add(r.k, residual_of(r, s), readable(r.given), r.y, r.executor);
  return l.norm_first || l.post_norm ? HEED_OK : normalise(r, readable(r.y), norm_of_sublayer(l, s), r.y);
}

heed_status run_feed_forward(const some_rows &r) {
  heed_status status = begin_sublayer(r, sublayer::hidden);
  if (status == HEED_OK) status = run_hidden(r, input_of_sublayer(r, sublayer::hidden), r.hidden, r.given);
  return status == HEED_OK ? end_sublayer(r, sublayer::hidden) : status;
}

heed_status finish_attention(const some_rows &r) {
  return r.layer->parallel ? run_parallel(r) : end_sublayer(r, sublayer::attention);
}

}  // namespace heed
