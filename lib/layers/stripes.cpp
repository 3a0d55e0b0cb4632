// A transformer layer of a small model on several threads. Only attention needs what other rows have become. So a
// worker takes some rows through all that stands before it, and later through all that stands behind it: threads wait
// for each other three times instead of twelve, and rows stay in the caches of a core. On two cores of different
// third-level caches KWT-1 takes four fifths of its time on one, where single functions gained nothing; on two of the
// same three fifths.
#include "layer.hpp"
#include "own_functions.hpp"
#include "../tasks/run.hpp"

namespace heed {
namespace {

// A function of the caller's is called once, with all rows: such a layer has no stripes.
bool has_own_functions(kernel_handle k, const heed_transformer_layer &l) {
  const row_steps &steps = *row_steps_of(k);
  return own_norm_of(steps, l.norm).step && own_activation_of(steps, l.activation).step;
}

// ----------------------------------------------------------------------------------------------------------- stripes

struct stripes {
  kernel_handle k;
  const transformer_pass *c;
  pieces parts;
  float *hidden;  // where the projections were, shared out to the workers
  size_t worker_floats;
};

float work_of_inputs(const transformer_pass &c) {
  const widths w = widths_of(*c.layer->attention);
  return static_cast<float>(c.x.n_rows) * static_cast<float>(c.x.dim) * static_cast<float>(w.q + w.k + w.v);
}
float work_of_outputs(const transformer_pass &c) {
  const int64_t columns = widths_of(*c.layer->attention).context + c.layer->ffn_dim + hidden_floats(*c.layer);
  return static_cast<float>(c.x.n_rows) * static_cast<float>(c.x.dim) * static_cast<float>(columns);
}

size_t projected_floats(const transformer_pass &c) {
  const widths w = widths_of(*c.layer->attention);
  return static_cast<size_t>(c.x.n_rows) *
         (static_cast<size_t>(w.q) + static_cast<size_t>(w.k) + static_cast<size_t>(w.v));
}

// Hidden rows for which each worker has room.
size_t most_hidden_rows(const transformer_pass &c) {
  return projected_floats(c) / static_cast<size_t>(c.attention.executor->n_workers) /
         static_cast<size_t>(hidden_floats(*c.layer));
}
bool fit_in(const pieces &parts, size_t most_rows) {
  for (int32_t i = 0; i < parts.n; i++)
    if (static_cast<size_t>(parts.size(i)) > most_rows) return false;
  return true;
}

pieces cut_inputs(const transformer_pass &c) {
  return cut_product_rows(c.x.n_rows, work_of_inputs(c), c.attention.executor);
}
// More pieces than the work asks for where there is less memory.
pieces cut_outputs(const transformer_pass &c) {
  constexpr int32_t least_rows = 12, tile_rows = 6;
  const size_t most_rows = most_hidden_rows(c);
  const int32_t workers = c.attention.executor->n_workers;
  pieces parts = cut_product_rows(c.x.n_rows, work_of_outputs(c), c.attention.executor);
  for (; parts.n >= 2 && !fit_in(parts, most_rows); parts.n += workers) {
    parts.step = tile_rows;
    if (parts.total / (parts.n + workers) < least_rows) return {parts.total, tile_rows, 1};
  }
  return parts;
}

// Of the greatest matrix.
int64_t most_weight_bytes(const heed_transformer_layer &l) {
  const auto bytes = [](const heed_weights &w) {
    const int64_t numbers = int64_t{w.n_in} * w.n_out;
    if (w.dtype == HEED_Q4_0) return numbers / 2;
    if (w.dtype == HEED_Q8_0) return numbers;
    return numbers * HEED_DTYPE_BYTES(w.dtype);
  };
  return larger_of(larger_of(bytes(l.attention->wq), bytes(l.attention->wo)),
                   larger_of(bytes(l.w_up), bytes(l.w_down)));
}

// A worker's rows.
some_rows rows_of_worker(const stripes &s, int32_t index, int32_t worker) {
  const transformer_pass &c = *s.c;
  const row_steps &steps = *row_steps_of(s.k);
  const int32_t begin = s.parts.begin(index), n = s.parts.size(index);
  return {s.k,
          c.layer,
          rows_of_piece(c.x, begin, n),
          rows_of_piece(c.y, begin, n),
          rows_of_piece(c.attention.y, begin, n),
          s.hidden + static_cast<size_t>(worker) * s.worker_floats,
          nullptr,
          own_norm_of(steps, c.layer->norm).step,
          own_activation_of(steps, c.layer->activation).step,
          rms_kind_of(c.layer->norm)};
}

// Before attention: the first norm, q, k and v. Steps of a kernel have no status but HEED_OK.
void input_task(void *context, int32_t index, int32_t worker) {
  const stripes &s = *static_cast<const stripes *>(context);
  const some_rows r = rows_of_worker(s, index, worker);
  begin_sublayer(r, sublayer::attention);
  project_inputs(s.k, s.c->attention, input_of_sublayer(r, sublayer::attention), s.parts.begin(index), nullptr);
}

// Behind attention: all else.
void output_task(void *context, int32_t index, int32_t worker) {
  const stripes &s = *static_cast<const stripes *>(context);
  const some_rows r = rows_of_worker(s, index, worker);
  const heed_attention_layer &a = *s.c->attention.layer;
  const float *from = rows_of(s.c->attention).context + static_cast<ptrdiff_t>(s.parts.begin(index)) * a.wo.n_in;
  run_project(s.k, heed_matrix_of(from, r.x.n_rows, a.wo.n_in), a.wo, a.bo, r.given, nullptr);
  finish_attention(r);
  if (!r.layer->parallel) run_feed_forward(r);
}

}  // namespace

// Where each worker reads a matrix from its second-level cache, and hidden rows of all workers find room.
bool repays_stripes(kernel_handle k, const transformer_pass &c) {
  constexpr int64_t most_bytes = 640 * 1024;
  if (!c.attention.executor || !has_own_functions(k, *c.layer) || c.layer->cross || c.layer->attention->cross)
    return false;
  return most_weight_bytes(*c.layer) <= most_bytes && cut_outputs(c).n >= 2;
}

heed_status run_stripes(kernel_handle k, const transformer_pass &c) {
  const heed_executor *const executor = c.attention.executor;
  stripes s = {k, &c, cut_inputs(c), c.attention.rows, projected_floats(c) / static_cast<size_t>(executor->n_workers)};
  run_tasks(executor, s.parts.n, input_task, &s);
  const heed_status status = place_tokens(k, c.attention);
  if (status != HEED_OK) return status;
  attend_tokens(k, c.attention);
  s.parts = cut_outputs(c);
  run_tasks(executor, s.parts.n, output_task, &s);
  return HEED_OK;
}

}  // namespace heed
