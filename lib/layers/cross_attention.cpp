// Cross-attention: the keys and values of another sequence, which a layer computes once.
#include "../isa_choice/front_door.hpp"
#include "../cache/cache.hpp"
#include "layer.hpp"
#include "../tasks/run.hpp"

namespace heed {
namespace {

size_t encoded_floats(const heed_attention_layer &l) {
  const widths w = widths_of(l);
  return static_cast<size_t>(w.k) + static_cast<size_t>(w.v);
}

constexpr int encode_ranges = 4 + attention_layer_ranges;  // layer, x, memory, executor

HEED_NOINLINE heed_status check_encode(attention_pass &c) {
  checker_of<encode_ranges> check;
  check.object(c.layer, access::read, HEED_ARG_LAYER);
  if (!check.ok()) return check.finish();
  const heed_attention_layer &l = *c.layer;
  c.span.batch = l.batch;
  check_attention_shape(check, l);
  check.require(l.cross == 1, HEED_UNSUPPORTED, HEED_ARG_CROSS);
  if (check.ok()) check_attention_projections(check, l);
  check.matrix(*c.x, HEED_ARG_X);
  check.require(c.x->dim == l.model_dim, HEED_SHAPE_MISMATCH, HEED_ARG_X);
  check.room(c.workspace, encoded_floats(l) * sizeof(float), HEED_ALIGNMENT, HEED_ARG_WORKSPACE);
  check.executor(c.executor);
  if (check.ok()) check_batch(check, c.span);
  if (check.ok()) check_cross(check, l);
  if (check.ok()) check_layer_cache(check, l, c.span, true);
  return check.finish();
}

// As many rows as the memory has room for: their keys and values, with the norm of keys, go into the cache.
heed_status encode_rows(kernel_handle k, attention_pass &c) {
  const heed_attention_layer &l = *c.layer;
  const int32_t n = c.x->n_rows;
  float *const keys = c.rows, *const values = keys + static_cast<ptrdiff_t>(n) * l.wk.n_out;
  run_project(k, *c.x, l.wk, l.bk, heed_matrix_out_of(keys, n, l.wk.n_out), c.executor);
  run_project(k, *c.x, l.wv, l.bv, heed_matrix_out_of(values, n, l.wv.n_out), c.executor);
  c.y.n_rows = n;
  const heed_status status = l.qk_norm ? normalise_keys(k, c, keys) : HEED_OK;
  return status == HEED_OK ? append_tokens(k, l, c.span, keys, values, c.executor) : status;
}

}  // namespace
}  // namespace heed

heed_status heed_attention_layer_encode(const heed_attention_layer *layer, heed_matrix x, heed_memory memory,
                                        const heed_executor *executor) {
  heed::attention_pass c = {layer,   &x,     {},       static_cast<float *>(memory.data),
                            nullptr, memory, executor, {nullptr, 0, x.n_rows, 0, x.n_rows}};
  const heed_status status = heed::check_encode(c);
  if (status != HEED_OK) return status;
  const auto k = heed_front_door::kernel(executor);
  const size_t row_bytes = heed::encoded_floats(*layer) * sizeof(float);
  const size_t room = memory.bytes / row_bytes;
  heed_matrix_out none = {};
  const int32_t at_once = room < static_cast<size_t>(x.n_rows) ? static_cast<int32_t>(room) : x.n_rows;
  return heed::run_pieces(x, none, c.span, at_once, [&] { return heed::encode_rows(k, c); });
}
