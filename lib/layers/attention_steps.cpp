// Attention with its projections, of both layers: what the public functions do one after another, on one kernel.
#include "../isa_choice/front_door.hpp"
#include "../cache/cache.hpp"
#include "../options/options.hpp"
#include "layer.hpp"
#include "own_functions.hpp"
#include "../checks/rope_code.hpp"
#include "../tasks/run.hpp"

namespace heed {

// Without a cache keys and values are the rows of the call, and the first query wanted has position span.skip. With one,
// positions count from the newest token, and keys and values come from the cache.
heed_attention attention_of(const heed_attention_layer &l, const row_span &span, const attention_rows &r) {
  const int32_t n = span.n;
  heed_attention call = heed_attention_of(r.q, r.k, r.v, n, n, l.n_heads, l.n_kv_heads, l.head_dim, r.context, {});
  call.n_q = span.n_q;
  call.position = l.cache ? span.skip + span.n_q - n : span.skip;
  call.v_dim = l.v_dim;
  call.scale = l.scale;
  call.causal = l.causal;
  call.v = heed_token_major(r.v, n, l.n_kv_heads, l.v_dim);
  call.out = heed_token_major_out(r.context, n, l.n_heads, l.v_dim);
  call.options = l.options;
  if (l.cache) {
    call.k = call.v = heed_tensor();
    call.n_kv = states_of(*l.cache)->length;
    call.cache = l.cache;
  }
  if (span.batch) functions_of(*span.batch).shape(span, l.cache, true, call);
  return call;
}

// Each step has a frame of its own, which is gone when the next one runs.

// q, k and v of rows from row `first` of the call on. A layer that has its keys already makes q alone.
HEED_NOINLINE void project_inputs(kernel_handle k, const attention_pass &c, const heed_matrix &x, int32_t first,
                                  const heed_executor *executor) {
  const heed_attention_layer &l = *c.layer;
  const attention_rows r = rows_of(c);
  const auto to = [&](float *y, const heed_weights &w, const float *bias) {
    y += static_cast<ptrdiff_t>(first) * w.n_out;
    run_project(k, x, w, bias, heed_matrix_out_of(y, x.n_rows, w.n_out), executor);
  };
  to(r.q, l.wq, l.bq);
  if (!makes_keys(c)) return;
  to(r.k, l.wk, l.bk);
  to(r.v, l.wv, l.bv);
}

namespace {

// q or k, which lie in rows of all heads.
HEED_NOINLINE heed_status normalise_heads(kernel_handle k, const attention_pass &c, float *data, int32_t n_heads,
                                          const float *weight, const float *bias) {
  const heed_attention_layer &l = *c.layer;
  const int32_t n = c.y.n_rows, width = n_heads * l.head_dim;
  int32_t done = 0;
  heed_status status = HEED_OK;
  // Heads of all rows are more rows than a matrix may have only where there are many of both.
  const int32_t at_once = l.qk_norm_whole ? n : HEED_MAX_COUNT / n_heads;
  for (; status == HEED_OK && done < n; done += at_once) {
    const int32_t some = smaller_of(n - done, at_once);
    float *const from = data + static_cast<ptrdiff_t>(done) * width;
    const int32_t n_rows = l.qk_norm_whole ? some : some * n_heads;
    const int32_t dim = l.qk_norm_whole ? width : l.head_dim;
    status = run_norm(k, l.qk_norm, heed_matrix_of(from, n_rows, dim), weight, bias, l.qk_eps,
                      heed_matrix_out_of(from, n_rows, dim), c.executor);
  }
  return status;
}

heed_status normalise_tokens(kernel_handle k, const attention_pass &c, const attention_rows &r) {
  const heed_attention_layer &l = *c.layer;
  if (!l.qk_norm) return HEED_OK;
  const heed_status status = normalise_heads(k, c, r.q, l.n_heads, l.q_norm_weight, l.q_norm_bias);
  return status != HEED_OK || !makes_keys(c) ? status : normalise_keys(k, c, r.k);
}

// y = context wo + bo
HEED_NOINLINE void project_context(kernel_handle k, const attention_pass &c) {
  const heed_attention_layer &l = *c.layer;
  run_project(k, heed_matrix_of(rows_of(c).context, c.y.n_rows, l.wo.n_in), l.wo, l.bo, c.y, c.executor);
}

}  // namespace

// n rows of q or k, from `data` on. The first one is row `row` of the call.
HEED_NOINLINE void rotate_heads(kernel_handle k, const attention_pass &c, float *data, int32_t n_heads,
                                int64_t position, int32_t row, int32_t n) {
  const int32_t head_dim = c.layer->head_dim;
  c.layer->rope->code->run(address_of(k), {c.layer->rope, heed_token_major(data, n, n_heads, head_dim), n, n_heads,
                                           head_dim, position, positions_from(*c.layer->rope, row),
                                           heed_token_major_out(data, n, n_heads, head_dim), c.executor});
}

heed_status normalise_keys(kernel_handle k, const attention_pass &c, float *keys) {
  return normalise_heads(k, c, keys, c.layer->n_kv_heads, c.layer->k_norm_weight, c.layer->k_norm_bias);
}

heed_status append_tokens(kernel_handle k, const heed_attention_layer &l, const row_span &span, const float *keys,
                          const float *values, const heed_executor *executor) {
  if (span.batch) return functions_of(*span.batch).append_each(address_of(k), l, span, keys, values);
  return functions_of(*l.cache).check_and_append(
      address_of(k), {l.cache, 0, span.n, heed_token_major(keys, span.n, l.n_kv_heads, l.head_dim),
                      heed_token_major(values, span.n, l.n_kv_heads, l.v_dim), keeps_numbers(l), executor});
}

// Rows [first, first + n) of q, and of k where they are made here. The first row has the position behind the cached tokens;
// where keys are in the cache already, positions count back from its end.
void rotate_rows(kernel_handle k, const attention_pass &c, int32_t sequence, int32_t first, int32_t n) {
  const heed_attention_layer &l = *c.layer;
  const attention_rows r = rows_of(c);
  int64_t position = l.cache ? position_of(states_of(*l.cache)[sequence]) : 0;
  if (c.keys) position += c.span.skip - (l.cache ? c.span.n : 0);
  const int32_t row = c.span.first + c.span.skip + first;
  const auto from_first = [=](float *rows, int32_t n_heads) {
    return rows + static_cast<ptrdiff_t>(first) * n_heads * l.head_dim;
  };
  rotate_heads(k, c, from_first(r.q, l.n_heads), l.n_heads, position, row, n);
  if (!c.keys) rotate_heads(k, c, from_first(r.k, l.n_kv_heads), l.n_kv_heads, position, row, n);
}

// Norms and positions of q and k, then keys and values go into the cache. Only this step can fail: a norm of the caller's
// own, or numbers that the dtype of the cache cannot hold.
HEED_NOINLINE heed_status place_tokens(kernel_handle k, const attention_pass &c) {
  const heed_attention_layer &l = *c.layer;
  const attention_rows r = rows_of(c);
  const heed_status status = normalise_tokens(k, c, r);
  if (status != HEED_OK) return status;
  if (l.rope && c.span.batch)
    functions_of(*c.span.batch).rotate_each(address_of(k), c);
  else if (l.rope)
    rotate_rows(k, c, 0, 0, c.span.n_q);
  return l.cache && makes_keys(c) ? append_tokens(k, l, c.span, r.k, r.v, c.executor) : HEED_OK;
}

// Without wo the context is the result, so attention writes it straight to y.
HEED_NOINLINE void attend_tokens(kernel_handle k, const attention_pass &c) {
  heed_attention call = attention_of(*c.layer, c.span, rows_of(c));
  call.workspace = c.workspace;
  call.executor = c.executor;
  if (!has_output_projection(*c.layer)) {
    call.out.data = c.y.data;
    call.out.row_stride = c.y.row_stride;
  }
  if (c.span.batch) return functions_of(*c.span.batch).attend_each(address_of(k), call, c.span);
  run_attention(k, call);
}

heed_status run_attention_layer(kernel_handle k, const attention_pass &c) {
  const heed_matrix x = c.x ? *c.x : readable(c.y);
  project_inputs(k, c, x, 0, c.executor);
  const heed_status status = place_tokens(k, c);
  if (status != HEED_OK) return status;
  attend_tokens(k, c);
  if (has_output_projection(*c.layer)) project_context(k, c);
  return HEED_OK;
}

}  // namespace heed
