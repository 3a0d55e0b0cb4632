// A transformer layer in pieces of rows: keys and values of all rows first, then all else of the rows that are wanted, as
// many at a time as the memory has room for.
#include "../isa_choice/front_door.hpp"
#include "../cache/cache.hpp"
#include "layer.hpp"
#include "../tasks/run.hpp"

namespace heed {
namespace {

constexpr bool min_macro_is_function(int32_t n, int32_t dim, int32_t n_heads, int32_t n_kv_heads, int32_t head_dim,
                                     int32_t v_dim, int32_t hidden, int32_t gated) {
  return HEED_TRANSFORMER_LAYER_MIN_BYTES_OF_HEADS(n, dim, n_heads, n_kv_heads, head_dim, v_dim, hidden, gated) <=
         HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n, dim, n_heads, n_kv_heads, head_dim, v_dim, hidden, gated);
}
static_assert(min_macro_is_function(2, 16, 4, 4, 4, 4, 4, 0) && min_macro_is_function(121, 16, 4, 2, 4, 4, 64, 1),
              "less than for all rows at once");

uint64_t key_bytes(const heed_transformer_layer &l, int32_t n) {
  const widths w = widths_of(*l.attention);
  return uint64_t{4} * static_cast<uint64_t>(n) * static_cast<uint64_t>(int64_t{w.k} + w.v);
}
// Of a row: what a sublayer gives, then q and context, or the hidden row.
uint64_t row_bytes(const heed_transformer_layer &l) {
  const widths w = widths_of(*l.attention);
  return 4 *
         static_cast<uint64_t>(l.attention->model_dim + HEED_LAYER_GREATER(int64_t{w.q} + w.context, hidden_floats(l)));
}
// A cache keeps keys and values, which then lie where q, context and hidden rows come: a row has no more of them, since there are
// no more key heads than heads. All rows that pass at once have room there (check_attention_state).
uint64_t kept_key_bytes(const heed_transformer_layer &l, int32_t n) { return l.attention->cache ? 0 : key_bytes(l, n); }

// A pass over rows whose memory has been cut.
struct apart {
  kernel_handle k;
  const transformer_pass *c;
  float *keys, *given, *inner;
  heed_memory workspace;
  int32_t at_once;  // rows
};

some_rows some_of(const apart &a, const heed_matrix &x, const heed_matrix_out &y) {
  return {a.k,
          a.c->layer,
          x,
          y,
          heed_matrix_out_of(a.given, x.n_rows, x.dim),
          a.inner,
          a.c->attention.executor,
          nullptr,
          nullptr,
          rms_kind::plain};
}

// Keys and values of rows [first, first + n), which the cache keeps, if there is one.
HEED_NOINLINE heed_status make_keys(const apart &a, int32_t first, int32_t n) {
  const heed_attention_layer &l = *a.c->attention.layer;
  const widths w = widths_of(l);
  float *const values = a.keys + static_cast<ptrdiff_t>(n) * w.k;
  for (int32_t i = 0; i < n; i += a.at_once) {
    const int32_t rows = smaller_of(n - i, a.at_once);
    const some_rows r = some_of(a, rows_of_piece(a.c->x, first + i, rows), {});
    const heed_status status = begin_sublayer(r, sublayer::attention);
    if (status != HEED_OK) return status;
    const heed_matrix x = input_of_sublayer(r, sublayer::attention);
    run_project(a.k, x, l.wk, l.bk, heed_matrix_out_of(a.keys + static_cast<ptrdiff_t>(i) * w.k, rows, w.k),
                r.executor);
    run_project(a.k, x, l.wv, l.bv, heed_matrix_out_of(values + static_cast<ptrdiff_t>(i) * w.v, rows, w.v),
                r.executor);
  }
  attention_pass pass = a.c->attention;
  pass.y.n_rows = n;
  const heed_status status = l.qk_norm ? normalise_keys(a.k, pass, a.keys) : HEED_OK;
  if (status != HEED_OK) return status;
  const int64_t position = l.cache ? position_of(*states_of(*l.cache)) : 0;
  if (l.rope) rotate_heads(a.k, pass, a.keys, l.n_kv_heads, position, first, n);
  return l.cache ? append_tokens(a.k, l, {nullptr, first, n, 0, n}, a.keys, values, pass.executor) : HEED_OK;
}

// Row `begin` and those behind it, whose keys are those of rows [first, first + n).
HEED_NOINLINE heed_status run_rows_apart(const apart &a, int32_t first, int32_t n, int32_t begin, int32_t rows) {
  const transformer_pass &c = *a.c;
  const heed_matrix x = rows_of_piece(c.x, begin, rows);
  const some_rows r = some_of(a, x, rows_of_piece(c.y, begin - c.attention.span.skip, rows));
  const heed_matrix *const inputs = c.layer->norm_first ? nullptr : &x;
  return run_sublayers(r, {c.attention.layer,
                           inputs,
                           r.given,
                           a.inner,
                           a.keys,
                           a.workspace,
                           r.executor,
                           {nullptr, first, n, begin - first, rows}});
}

}  // namespace

uint64_t least_bytes_apart(const heed_transformer_layer &l, int32_t n) {
  return HEED_LAYER_ROUND(key_bytes(l, n) + row_bytes(l)) +
         HEED_WORKSPACE_MIN_BYTES(l.attention->head_dim, l.attention->v_dim);
}

// With little memory few rows and the least workspace; with more the rows get their part first.
int32_t rows_apart(const heed_transformer_layer &l, int32_t n, size_t bytes) {
  constexpr uint64_t enough = 32;
  const uint64_t keys = kept_key_bytes(l, n), row = row_bytes(l);
  const auto beside = [&](size_t workspace) {
    const uint64_t room = bytes < workspace ? 0 : (bytes - workspace) / 64 * 64;
    return room < keys ? 0 : (room - keys) / row;
  };
  uint64_t rows = beside(HEED_WORKSPACE_MIN_BYTES(l.attention->head_dim, l.attention->v_dim));
  const uint64_t fast = beside(HEED_WORKSPACE_BYTES(l.attention->head_dim, l.attention->v_dim));
  if (rows > enough && !l.attention->cache) rows = larger_of(fast, enough);
  return rows > static_cast<uint64_t>(n) ? n : static_cast<int32_t>(rows);
}

heed_status run_apart(kernel_handle k, const transformer_pass &c) {
  const heed_transformer_layer &l = *c.layer;
  const int32_t n = c.x.n_rows, most = rows_at_once(*l.attention, n), first_wanted = c.attention.span.skip,
                end_wanted = first_wanted + c.attention.span.n_q;
  apart a = {k, &c, nullptr, nullptr, nullptr, c.attention.workspace, 0};
  a.at_once = rows_apart(l, most, a.workspace.bytes);
  const uint64_t keys = kept_key_bytes(l, most), rows = static_cast<uint64_t>(a.at_once);
  a.keys = take_rows(a.workspace, HEED_LAYER_ROUND(keys + rows * row_bytes(l)));
  a.given = a.keys + keys / sizeof(float);
  a.inner = a.given + static_cast<ptrdiff_t>(a.at_once) * c.x.dim;
  if (l.attention->cache) a.keys = a.inner;
  for (int32_t first = 0; first < n; first += most) {
    const int32_t some = smaller_of(n - first, most), end = smaller_of(first + some, end_wanted);
    heed_status status = make_keys(a, first, some);
    for (int32_t i = larger_of(first, first_wanted); i < end && status == HEED_OK; i += a.at_once)
      status = run_rows_apart(a, first, some, i, smaller_of(end - i, a.at_once));
    if (status != HEED_OK) return status;
  }
  return HEED_OK;
}

}  // namespace heed
