// heed_attention_run and heed_self_attention: what a call must be, then the plan.
#include "../isa_choice/front_door.hpp"
#include "../options/options.hpp"
#include "../tasks/attention_plan.hpp"
#include "../tasks/run.hpp"

namespace heed {
namespace {

// Arrays that a cache or options bring instead of the call's own.
struct brought {
  bool q, k, v, out;
};
brought brought_by(const heed_attention &call) {
  const heed_options *options = call.options;
  const bool cached = call.cache, summed = options && options->partial;
  const heed_typed_tensors *narrow = options ? options->typed : nullptr;
  if (!narrow) return {false, cached, cached, summed};
  return {narrow->q.data != nullptr, cached || narrow->k.data, cached || narrow->v.data, summed || narrow->out.data};
}

// Checks have frames of their own, which are gone when kernels run.
void check_call(checker &check, const heed_attention &call, const brought &elsewhere) {
  check.count(call.batch_size, HEED_MAX_COUNT, HEED_ARG_BATCH_SIZE);
  check_heads(check, call.n_heads, call.n_kv_heads, call.head_dim, call.v_dim, call.scale, call.causal);
  check.count(call.n_q, HEED_MAX_COUNT, HEED_ARG_N_Q);
  check.count(call.n_kv, HEED_MAX_COUNT, HEED_ARG_N_KV);
  if (!check.ok()) return;
  const auto tensor = [&](const auto &t, bool is_elsewhere, int32_t n_heads, int32_t n_rows, int32_t dim, access how,
                          heed_argument argument) {
    if (is_elsewhere) return check.require(!t.data, HEED_CONFLICT, argument);
    check.tensor(t.data, {call.batch_size, n_heads, n_rows}, {t.batch_stride, t.head_stride, t.row_stride}, dim, how,
                 argument);
  };
  tensor(call.q, elsewhere.q, call.n_heads, call.n_q, call.head_dim, access::read, HEED_ARG_Q);
  tensor(call.k, elsewhere.k, call.n_kv_heads, call.n_kv, call.head_dim, access::read, HEED_ARG_K);
  tensor(call.v, elsewhere.v, call.n_kv_heads, call.n_kv, call.v_dim, access::read, HEED_ARG_V);
  tensor(call.out, elsewhere.out, call.n_heads, call.n_q, call.v_dim, access::write, HEED_ARG_OUT);
  check.workspace(call.workspace, call.head_dim, call.v_dim);
  check.executor(call.executor);
}

HEED_NOINLINE heed_status check_with_options(const heed_attention *call) {
  checker_of<7 + option_ranges> check;
  check.object(call, access::read, HEED_ARG_CALL);
  check_objects(check, *call);
  if (check.ok()) check_call(check, *call, brought_by(*call));
  if (const option_engine *engine = check.ok() ? engine_of(*call) : nullptr) engine->check(check, *call);
  return check.finish();
}

HEED_NOINLINE heed_status check_attention(const heed_attention *call) {
  checker_of<7> check;  // q, k, v, out, workspace, executor, call
  check.object(call, access::read, HEED_ARG_CALL);
  if (check.ok() && (call->options || call->cache)) return check_with_options(call);
  if (check.ok()) check_call(check, *call, {});
  return check.finish();
}

HEED_NOINLINE heed_status check_self_attention(const heed_matrix &x, float scale, const heed_matrix_out &out,
                                               const heed_memory &workspace) {
  checker_of<3> check;
  check.count(x.n_rows, HEED_MAX_COUNT, HEED_ARG_N);
  check.count(x.dim, HEED_MAX_DIM, HEED_ARG_HEAD_DIM);
  check.scale(scale);
  check.matrix(x, HEED_ARG_X);
  check.require(out.n_rows == x.n_rows && out.dim == x.dim, HEED_SHAPE_MISMATCH, HEED_ARG_OUT);
  check.matrix(out, HEED_ARG_OUT);
  if (check.ok()) check.workspace(workspace, x.dim, x.dim);
  return check.finish();
}

}  // namespace
}  // namespace heed

heed_status heed_attention_run(const heed_attention *call) {
  const heed_status status = heed::check_attention(call);
  if (status != HEED_OK) return status;
  heed::run_attention(heed_front_door::kernel(call->executor), *call);
  return HEED_OK;
}

heed_status heed_self_attention(heed_matrix x, float scale, heed_matrix_out out, heed_memory workspace) {
  const heed_status status = heed::check_self_attention(x, scale, out, workspace);
  if (status != HEED_OK) return status;
  heed::stream s = {};
  s.q = x.data;
  s.k = s.v = {x.data, x.row_stride};
  s.q_query_stride = x.row_stride;
  s.out = out.data;
  s.out_query_stride = out.row_stride;
  s.group = 1;
  s.n_rows = s.n_kv = x.n_rows;
  s.head_dim = s.v_dim = x.dim;
  s.c = heed::natural_scale(scale, x.dim) * heed::log2e;
  const auto k = heed_front_door::kernel();
  const heed::row_tiles tiles = heed::cut_rows(k, x.n_rows, x.dim, x.dim, workspace.bytes);
  for (ptrdiff_t i = 0; i < tiles.n_tiles; i++) {
    const heed::tile t = heed::make_tile(k, tiles, i, s, workspace.data);
    heed::see_all(t);
    heed::run_plain_tile<true>(k, t);
  }
  return HEED_OK;
}
