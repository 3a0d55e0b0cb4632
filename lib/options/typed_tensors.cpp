// Tensors of a call in narrow formats: where a stream finds them, and rows of floats for its queries and for out.
#include "call_rule.hpp"
#include "options.hpp"
#include "../checks/check_dtypes.hpp"
#include "../tasks/tiles.hpp"

namespace heed {
namespace {

template <class T>
bool is_narrow(const T &x) {
  return x.data && x.dtype != HEED_F32;
}

// Bytes from a tensor's data to a row.
template <class T>
ptrdiff_t start_of_row(const T &x, int32_t batch_entry, ptrdiff_t head, ptrdiff_t row) {
  return (batch_entry * x.batch_stride + head * x.head_stride + row * x.row_stride) *
         static_cast<ptrdiff_t>(HEED_DTYPE_BYTES(x.dtype));
}
const float *typed_row_of(const heed_typed_tensor &x, int32_t batch_entry, ptrdiff_t head) {
  return reinterpret_cast<const float *>(static_cast<const unsigned char *>(x.data) +
                                         start_of_row(x, batch_entry, head, 0));
}
void *typed_row_of(const heed_typed_tensor_out &x, int32_t batch_entry, ptrdiff_t head, ptrdiff_t row) {
  return static_cast<unsigned char *>(x.data) + start_of_row(x, batch_entry, head, row);
}

// A stream's parts of the tensors; rows of narrow queries and out come with each tile.
void place_typed(const call_rule &rule, stream &s) {
  const heed_typed_tensors &o = *rule.typed;
  const int32_t b = s.batch_entry, kv_head = s.first_head / s.group;
  if (o.k.data) s.k = {typed_row_of(o.k, b, kv_head), o.k.row_stride};
  if (o.v.data) s.v = {typed_row_of(o.v, b, kv_head), o.v.row_stride};
  if (o.q.data && !is_narrow(o.q)) {
    s.q = typed_row_of(o.q, b, s.first_head);
    s.q_query_stride = o.q.row_stride;
    s.q_head_stride = o.q.head_stride;
  }
  if (o.out.data && !is_narrow(o.out)) {
    s.out = static_cast<float *>(typed_row_of(o.out, b, s.first_head, 0));
    s.out_query_stride = o.out.row_stride;
    s.out_head_stride = o.out.head_stride;
  }
}

// What row_cursor finds where the rows of a tile lie `stride` apart from `rows` on. A cursor counts rows from the begin
// of the stream, so the address of its row 0 lies before `rows`, and is never read: with first_row = 48 and group = 2
// the cursor of row 48 has query 24, head 0, and data + 24 * (2 * stride) + 0 is `rows`.
template <class T>
void let_rows_be(const tile &t, T *rows, ptrdiff_t stride, T *&data, ptrdiff_t &query_stride, ptrdiff_t &head_stride) {
  data = rows - t.first_row * stride;
  query_stride = t.s->group * stride;
  head_stride = stride;
}

void open_narrow(const tile &t, stream &s) {
  const call_rule &rule = rule_of(t);
  float *extra = extra_rows(t);
  if (is_narrow(rule.typed->out)) {
    float *const rows = rule.out_bytes > 0 ? extra : t.chunk.acc;
    let_rows_be(t, rows, t.acc_stride, s.out, s.out_query_stride, s.out_head_stride);
    if (rule.out_bytes > 0) extra += static_cast<ptrdiff_t>(t.row_capacity) * t.acc_stride;
  }
  if (!is_narrow(rule.typed->q)) return;
  s.q = nullptr;
  if (t.lanes_are_queries || rule.q_bytes > 0) steps_of(rule)->widen_queries(t, extra);
  if (!t.lanes_are_queries && rule.q_bytes > 0)
    let_rows_be<const float>(t, extra, s.head_dim, s.q, s.q_query_stride, s.q_head_stride);
}

// In the end, and before anything else uses the accumulator again.
void finish_narrow(const tile &t, const partial &p) {
  const call_rule &rule = rule_of(t);
  const stream &s = *t.s;
  const heed_typed_tensor_out &out = rule.typed->out;
  rule.finish_wide(t, p);
  row_cursor row(s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next())
    steps_of(rule)->narrow_row(row.out(), s.v_dim, out.dtype, 0.0f,
                               typed_row_of(out, s.batch_entry, s.first_head + row.head, row.query));
}

// All that can be wrong with scales has one name, but for their extent.
void check_typed_input(checker &check, const heed_typed_tensor &x, const int32_t (&counts)[3], int32_t dim,
                       heed_argument argument) {
  if (!x.data) return;
  check_format(check, x.dtype, argument);
  if (!check.ok()) return;
  check.tensor(x.data, counts, {x.batch_stride, x.head_stride, x.row_stride}, dim, access::read, argument,
               HEED_DTYPE_BYTES(x.dtype));
  if (!check.ok() || x.dtype != HEED_INT8) return;
  const heed_tensor &scales = x.scales;
  check.tensor(scales.data, counts, {scales.batch_stride, scales.head_stride, scales.row_stride}, 1, access::read,
               argument);
  if (!check.ok() && check.status != HEED_STATUS(HEED_OVERFLOW, argument))
    check.status = HEED_STATUS(HEED_BAD_SCALES, argument);
}

// What the call has itself is not given here, too (attention.cpp).
void check_narrow(checker &check, const heed_attention &call, const void *object) {
  const auto &o = object_as<heed_typed_tensors>(object);
  check.require(!o.k.data || !call.cache, HEED_CONFLICT, HEED_ARG_K);
  check.require(!o.v.data || !call.cache, HEED_CONFLICT, HEED_ARG_V);
  const int32_t keys[3] = {call.batch_size, call.n_kv_heads, call.n_kv};
  check_typed_input(check, o.q, {call.batch_size, call.n_heads, call.n_q}, call.head_dim, HEED_ARG_Q);
  check_typed_input(check, o.k, keys, call.head_dim, HEED_ARG_K);
  check_typed_input(check, o.v, keys, call.v_dim, HEED_ARG_V);
  const heed_typed_tensor_out &out = o.out;
  if (!out.data) return;
  check.require(!call.options->partial, HEED_CONFLICT, HEED_ARG_OUT);
  check.require(out.dtype >= HEED_F32 && out.dtype < HEED_INT8, HEED_BAD_DTYPE, HEED_ARG_OUT);
  if (check.ok())
    check.tensor(out.data, {call.batch_size, call.n_heads, call.n_q},
                 {out.batch_stride, out.head_stride, out.row_stride}, call.v_dim, access::write, HEED_ARG_OUT,
                 HEED_DTYPE_BYTES(out.dtype));
}

input_rows rows_of_scales(const heed_typed_tensor &x) {
  if (x.dtype != HEED_INT8) return {nullptr, 0, 0, 0};
  return {x.scales.data, x.scales.batch_stride, x.scales.head_stride, x.scales.row_stride};
}

// The keys of a chunk are those of a call, where nothing is pinned besides.
bool has_one_chunk(const heed_attention &call) {
  const heed_ranges *ranges = call.options->ranges;
  return call.n_kv <= chunk_keys && !(ranges && ranges->pinned > 0) && !(call.cache && call.cache->shape.pinned > 0);
}

// Out may lie in the accumulator of its only chunk. A long row of queries may not fit a small workspace.
void find_room(call_rule &rule, const heed_attention &call) {
  if (is_narrow(rule.typed->out) && !has_one_chunk(call))
    rule.out_bytes = 4 * static_cast<size_t>(round_up_16(call.v_dim));
  const size_t n_workers = call.executor ? static_cast<size_t>(call.executor->n_workers) : 1;
  const size_t each = call.workspace.bytes / n_workers, least = HEED_WORKSPACE_MIN_BYTES(call.head_dim, call.v_dim),
               q_bytes = 4 * static_cast<size_t>(call.head_dim);
  if (is_narrow(rule.typed->q) &&
      4 * HEED_WORKSPACE_ROW_FLOATS(call.v_dim) + rule.out_bytes + q_bytes <= (each < least ? least : each / 64 * 64))
    rule.q_bytes = q_bytes;
}

void bind_narrow(call_rule &rule, const heed_attention &call, const void *object) {
  const auto &o = object_as<heed_typed_tensors>(object);
  rule.typed = &o;
  rule.place_typed = place_typed;
  storage &at = rule.kept_in;
  rule.stored = &at;
  const score_steps *steps = steps_of(rule);
  if (is_narrow(o.k)) {
    at.key_format = o.k.dtype;
    at.key_scales = rows_of_scales(o.k);
  }
  if (is_narrow(o.v)) {
    at.value_format = o.v.dtype;
    at.value_scales = rows_of_scales(o.v);
    rule.add = steps->add_stored;
    rule.stored_are_finite = steps->stored_are_finite;
    rule.stored_add_not_hidden = steps->add_visible_stored;
  }
  if (is_narrow(o.q))
    at.queries = {{o.q.data, o.q.batch_stride, o.q.head_stride, o.q.row_stride}, rows_of_scales(o.q), o.q.dtype};
  if (is_narrow(o.q) || is_narrow(o.k)) rule.score = steps->score_narrow;
  if (is_narrow(o.out)) rule.finish_rows = finish_narrow;
  if (is_narrow(o.q) || is_narrow(o.out)) rule.open = open_narrow;
  find_room(rule, call);
}
constexpr heed_code narrow_code = {sizeof(heed_typed_tensors), check_narrow, bind_narrow, &call_engine};

}  // namespace
}  // namespace heed

heed_status heed_typed_tensors_init(heed_typed_tensors *narrow) {
  const heed_status status = heed::check_new(narrow, alignof(heed_typed_tensors), HEED_ARG_TYPED);
  if (status != HEED_OK) return status;
  *narrow = {};
  narrow->struct_size = sizeof *narrow;
  narrow->code = &heed::narrow_code;
  return status;
}
