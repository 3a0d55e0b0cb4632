// A transformer layer of a small model on several threads. Only attention needs what other rows have become. So a
// worker takes some rows through all that stands before it, and later through all that stands behind it: threads wait
// for each other three times instead of twelve, and rows stay in the caches of a core. On two cores of different
// third-level caches KWT-1 takes four fifths of its time on one, where single functions gained nothing; on two of the
// same three fifths.
#include "../boundary/tasks.hpp"
#include "layer.hpp"
#include "run.hpp"

namespace heed {
namespace {

// heed's own functions as steps of a kernel, for some rows at a time on any thread. A function of the caller's is not
// among them: it is called once, with all rows.
using norm_step = decltype(row_steps::layer_norm);
using activation_step = decltype(row_steps::gelu);

norm_step step_of(const row_steps &steps, heed_norm *norm) {
  if (norm == heed_layer_norm) return steps.layer_norm;
  return norm == heed_rms_norm ? steps.rms_norm : nullptr;
}
activation_step step_of(const row_steps &steps, heed_activation *activation) {
  if (activation == heed_gelu) return steps.gelu;
  if (activation == heed_gelu_tanh) return steps.gelu_tanh;
  if (activation == heed_silu) return steps.silu;
  return activation == heed_relu ? steps.relu : nullptr;
}
bool is_own(const heed_transformer_layer &l) {
  const bool norm = l.norm == heed_layer_norm || l.norm == heed_rms_norm;
  return norm && (l.activation == heed_gelu || l.activation == heed_gelu_tanh || l.activation == heed_silu ||
                  l.activation == heed_relu);
}

// ----------------------------------------------------------------------------------------------------------- stripes

struct stripes {
  kernel_handle k;
  const transformer_pass *c;
  pieces parts;
  float *hidden;  // where the projections were, shared out to the workers
  size_t worker_floats;
};

int32_t hidden_floats(const heed_transformer_layer &l) { return l.hidden_dim * (is_gated(l) ? 2 : 1); }

float work_of_inputs(const transformer_pass &c) {
  const widths w = widths_of(*c.layer->attention);
  return static_cast<float>(c.x.n_rows) * static_cast<float>(c.x.dim) * static_cast<float>(w.q + w.k + w.v);
}
float work_of_outputs(const transformer_pass &c) {
  const int32_t columns = widths_of(*c.layer->attention).context + c.layer->hidden_dim + hidden_floats(*c.layer);
  return static_cast<float>(c.x.n_rows) * static_cast<float>(c.x.dim) * static_cast<float>(columns);
}

pieces cut_stripes(const transformer_pass &c, float work) {
  return cut_product_rows(c.x.n_rows, work, c.attention.executor);
}

size_t projected_floats(const transformer_pass &c) {
  const widths w = widths_of(*c.layer->attention);
  return static_cast<size_t>(c.x.n_rows) *
         (static_cast<size_t>(w.q) + static_cast<size_t>(w.k) + static_cast<size_t>(w.v));
}

heed_matrix rows_from(const heed_matrix &m, int32_t begin, int32_t n) {
  return {m.data + begin * m.row_stride, n, m.dim, m.row_stride};
}
heed_matrix_out rows_from(const heed_matrix_out &m, int32_t begin, int32_t n) {
  return {m.data + begin * m.row_stride, n, m.dim, m.row_stride};
}

void normalise(const stripes &s, const heed_matrix &x, bool second, const heed_matrix_out &y) {
  const heed_transformer_layer &l = *s.c->layer;
  step_of(*row_steps_of(s.k), l.norm)({x.data, x.row_stride, second ? l.norm2_weight : l.norm1_weight,
                                       second ? l.norm2_bias : l.norm1_bias, l.eps, y.data, y.row_stride, y.n_rows,
                                       y.dim});
}

// Before attention: the first norm, q, k and v.
void input_task(void *context, int32_t index, int32_t) {
  const stripes &s = *static_cast<const stripes *>(context);
  const transformer_pass &c = *s.c;
  const heed_attention_layer &a = *c.attention.layer;
  const int32_t begin = s.parts.begin(index), n = s.parts.size(index);
  heed_matrix x = rows_from(c.x, begin, n);
  if (c.layer->norm_first) {
    const heed_matrix_out y = rows_from(c.attention.y, begin, n);
    normalise(s, x, false, y);
    x = view(y);
  }
  const attention_rows r = rows_of(c.attention);
  const auto to = [&](float *y, const heed_weights &w, const float *bias) {
    run_project(s.k, x, w, bias, heed_matrix_out_of(y + static_cast<ptrdiff_t>(begin) * w.n_out, n, w.n_out), nullptr);
  };
  to(r.q, a.wq, a.bq);
  to(r.k, a.wk, a.bk);
  to(r.v, a.wv, a.bv);
}

void run_hidden(const stripes &s, const heed_matrix &x, int32_t worker, const heed_matrix_out &y) {
  const heed_transformer_layer &l = *s.c->layer;
  float *const up = s.hidden + static_cast<size_t>(worker) * s.worker_floats;
  const ptrdiff_t floats = static_cast<ptrdiff_t>(x.n_rows) * l.hidden_dim;
  float *const gate = is_gated(l) ? up + floats : up;
  run_project(s.k, x, l.w_up, l.b_up, heed_matrix_out_of(up, x.n_rows, l.hidden_dim), nullptr);
  if (is_gated(l)) run_project(s.k, x, l.w_gate, l.b_gate, heed_matrix_out_of(gate, x.n_rows, l.hidden_dim), nullptr);
  const float *const other = is_gated(l) ? up : nullptr;
  step_of(*row_steps_of(s.k), l.activation)({gate, floats, other, floats, gate, floats, 1, floats});
  run_project(s.k, heed_matrix_of(gate, x.n_rows, l.hidden_dim), l.w_down, l.b_down, y, nullptr);
}

// Behind attention: all else.
void output_task(void *context, int32_t index, int32_t worker) {
  const stripes &s = *static_cast<const stripes *>(context);
  const transformer_pass &c = *s.c;
  const heed_attention_layer &a = *c.attention.layer;
  const int32_t begin = s.parts.begin(index), n = s.parts.size(index);
  const heed_matrix_out given = rows_from(c.attention.y, begin, n), y = rows_from(c.y, begin, n);
  const float *from = rows_of(c.attention).context + static_cast<ptrdiff_t>(begin) * a.wo.n_in;
  run_project(s.k, heed_matrix_of(from, n, a.wo.n_in), a.wo, a.bo, given, nullptr);
  run_add(s.k, rows_from(c.x, begin, n), view(given), y, nullptr);
  const heed_matrix_out x = c.layer->norm_first ? given : y;
  normalise(s, view(y), c.layer->norm_first != 0, x);
  run_hidden(s, view(x), worker, given);
  run_add(s.k, view(y), view(given), y, nullptr);
  if (!c.layer->norm_first) normalise(s, view(y), true, y);
}

}  // namespace

// Where each worker's share of weights lies in its second-level cache, and hidden rows of all workers find room.
bool repays_stripes(const transformer_pass &c) {
  constexpr int64_t most_weights = 65536;
  if (!c.attention.executor || !is_own(*c.layer)) return false;
  const widths w = widths_of(*c.layer->attention);
  const int64_t widest = w.q > w.context ? w.q : w.context;
  if ((widest > c.layer->hidden_dim ? widest : c.layer->hidden_dim) * c.x.dim > most_weights) return false;
  const pieces parts = cut_stripes(c, work_of_outputs(c));
  if (parts.n < 2) return false;
  int32_t most_rows = 0;
  for (int32_t i = 0; i < parts.n; i++)
    if (parts.size(i) > most_rows) most_rows = parts.size(i);
  return static_cast<size_t>(most_rows) * static_cast<size_t>(hidden_floats(*c.layer)) <=
         projected_floats(c) / static_cast<size_t>(c.attention.executor->n_workers);
}

heed_status run_stripes(kernel_handle k, const transformer_pass &c) {
  const heed_executor *const executor = c.attention.executor;
  stripes s = {k, &c, cut_stripes(c, work_of_inputs(c)), c.attention.rows,
               projected_floats(c) / static_cast<size_t>(executor->n_workers)};
  run_tasks(executor, s.parts.n, input_task, &s);
  const heed_status status = place_tokens(k, c.attention);
  if (status != HEED_OK) return status;
  attend(k, c.attention);
  s.parts = cut_stripes(c, work_of_outputs(c));
  run_tasks(executor, s.parts.n, output_task, &s);
  return HEED_OK;
}

}  // namespace heed
