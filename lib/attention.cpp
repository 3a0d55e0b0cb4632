#include "dispatch.hpp"
#include "run.hpp"
#include "tiles.hpp"
#include "validate.hpp"

namespace heed {

// 1/sqrt(dim): isqrt of dim scaled into [2^61, 2^63) has 31 bits, its reciprocal as many.
float default_scale(int32_t dim) {
  int shift = 0;
  while (static_cast<uint64_t>(dim) << shift < static_cast<uint64_t>(1) << 61) shift += 2;
  const uint64_t scaled = static_cast<uint64_t>(dim) << shift;
  uint64_t root = static_cast<uint64_t>(1) << 32;  // Newton's steps from above, to the integer square root
  for (uint64_t next; (next = (root + scaled / root) / 2) < root;) root = next;
  // 1/sqrt(dim) = 2^(shift/2) / root = (2^62 / root) * 2^(shift/2 - 62), all but the division exact.
  union {
    uint32_t bits;
    float number;
  } power = {static_cast<uint32_t>(127 + shift / 2 - 62) << 23};
  return static_cast<float>((static_cast<uint64_t>(1) << 62) / root) * power.number;
}

namespace {

constexpr int64_t most_tasks_per_worker = 64;

// One call under way: streams (batch entry, key/value head) times tiles of rows.
struct attention_job {
  const kernel *k;
  const heed_attention *call;
  row_tiles tiles;
  float c;
  int32_t n_workers;
  size_t worker_bytes;
  int64_t n_items;
  int32_t n_tasks;
  // Splitting one tile's keys: chunks [first_chunk, ...) run as tasks, one workspace each.
  int64_t item;
  int32_t first_chunk;
};

stream make_stream(const attention_job &job, int64_t index) {
  const heed_attention &call = *job.call;
  const int32_t group = call.n_heads / call.n_kv_heads;
  const ptrdiff_t b = static_cast<ptrdiff_t>(index / call.n_kv_heads),
                  h = static_cast<ptrdiff_t>(index % call.n_kv_heads);
  const auto at = [b](const auto &t, ptrdiff_t head) { return t.data + b * t.batch_stride + head * t.head_stride; };
  stream s = {};
  s.q = at(call.q, h * group);
  s.q_query_stride = call.q.row_stride;
  s.q_head_stride = call.q.head_stride;
  s.k = at(call.k, h);
  s.k_stride = call.k.row_stride;
  s.v = at(call.v, h);
  s.v_stride = call.v.row_stride;
  s.out = at(call.out, h * group);
  s.out_query_stride = call.out.row_stride;
  s.out_head_stride = call.out.head_stride;
  if (call.weights.data) s.weights = at(call.weights, h * group);
  s.weights_query_stride = call.weights.row_stride;
  s.weights_head_stride = call.weights.head_stride;
  s.group = group;
  s.n_rows = static_cast<int64_t>(call.n_q) * group;
  s.n_kv = call.n_kv;
  s.head_dim = call.head_dim;
  s.v_dim = call.v_dim;
  s.c = job.c;
  s.causal = call.causal != 0;
  s.causal_offset = call.causal_offset;
  return s;
}

void *workspace_of(const attention_job &job, int32_t worker) {
  return static_cast<unsigned char *>(job.call->workspace) + static_cast<size_t>(worker) * job.worker_bytes;
}

int32_t chunk_end(const stream &s, int32_t chunk) {
  return s.n_kv - chunk * chunk_keys < chunk_keys ? s.n_kv : (chunk + 1) * chunk_keys;
}

// Chunks that the tile's last row sees, which sees most; one even when that is none.
int32_t count_chunks(const tile &t) {
  const int32_t visible = t.visible[t.n_rows - 1];
  return visible <= chunk_keys ? 1 : visible / chunk_keys + (visible % chunk_keys != 0);
}

void run_item(const attention_job &job, int64_t item, void *workspace) {
  const stream s = make_stream(job, item / job.tiles.n_tiles);
  const tile t = make_tile(job.tiles, item % job.tiles.n_tiles, s, workspace);
  const int32_t n_chunks = count_chunks(t);
  for (int32_t chunk = 0; chunk < n_chunks; chunk++) {
    job.k->attend(t, chunk * chunk_keys, chunk_end(s, chunk));
    if (n_chunks > 1) job.k->merge(t, chunk * chunk_keys);
  }
  job.k->finish(t, n_chunks > 1);
}

// With no more tasks than workspaces each task has its own. With more, the executor's workers have one each.
void item_task(void *context, int32_t index, int32_t worker) {
  const attention_job &job = *static_cast<const attention_job *>(context);
  void *workspace = workspace_of(job, job.n_tasks <= job.n_workers ? index : worker);
  for (int64_t item = index; item < job.n_items; item += job.n_tasks) run_item(job, item, workspace);
}

void chunk_task(void *context, int32_t index, int32_t) {
  const attention_job &job = *static_cast<const attention_job *>(context);
  const stream s = make_stream(job, job.item / job.tiles.n_tiles);
  const tile t = make_tile(job.tiles, job.item % job.tiles.n_tiles, s, workspace_of(job, index));
  const int32_t chunk = job.first_chunk + index;
  job.k->attend(t, chunk * chunk_keys, chunk_end(s, chunk));
}

// One tile, its chunks spread over the workers in waves; merged here, in ascending order, into the first tile's totals.
void run_item_split(attention_job &job, int64_t item) {
  const stream s = make_stream(job, item / job.tiles.n_tiles);
  const tile first = make_tile(job.tiles, item % job.tiles.n_tiles, s, workspace_of(job, 0));
  const int32_t n_chunks = count_chunks(first);
  if (n_chunks == 1) return run_item(job, item, workspace_of(job, 0));
  job.item = item;
  for (int32_t chunk = 0; chunk < n_chunks; chunk += job.n_workers) {
    job.first_chunk = chunk;
    const int32_t wave = n_chunks - chunk < job.n_workers ? n_chunks - chunk : job.n_workers;
    run_tasks(job.call->executor, wave, chunk_task, &job);
    for (int32_t i = 0; i < wave; i++) {
      tile t = make_tile(job.tiles, item % job.tiles.n_tiles, s, workspace_of(job, i));
      t.m_total = first.m_total;
      t.l_total = first.l_total;
      job.k->merge(t, (chunk + i) * chunk_keys);
    }
  }
  job.k->finish(first, true);
}

int32_t count_workers(const heed_attention &call) {
  const double work = static_cast<double>(call.batch) * call.n_heads * call.n_q * call.n_kv *
                      (call.head_dim + call.v_dim) * (call.causal ? 0.5 : 1.0);
  if (!call.executor || work < least_threaded_work) return 1;
  const size_t room = call.workspace_bytes / (HEED_WORKSPACE_MIN_BYTES(call.head_dim, call.v_dim) + 63);
  return room < static_cast<size_t>(call.executor->n_workers) ? static_cast<int32_t>(room) : call.executor->n_workers;
}

}  // namespace

void run_attention(const kernel &k, const heed_attention &call) {
  attention_job job = {};
  job.k = &k;
  job.call = &call;
  job.c = (call.scale == 0.0f ? default_scale(call.head_dim) : call.scale) * log2e;
  job.n_workers = count_workers(call);
  if (job.n_workers < 1) job.n_workers = 1;
  job.worker_bytes =
      job.n_workers == 1 ? call.workspace_bytes : call.workspace_bytes / static_cast<size_t>(job.n_workers) / 64 * 64;
  const int64_t rows = static_cast<int64_t>(call.n_q) * (call.n_heads / call.n_kv_heads);
  job.tiles = cut_rows(k, rows, call.head_dim, call.v_dim, job.worker_bytes);
  job.n_items = static_cast<int64_t>(call.batch) * call.n_kv_heads * job.tiles.n_tiles;
  if (job.n_workers == 1) {
    for (int64_t item = 0; item < job.n_items; item++) run_item(job, item, call.workspace);
  } else if (job.n_items < job.n_workers && call.n_kv > chunk_keys) {
    for (int64_t item = 0; item < job.n_items; item++) run_item_split(job, item);
  } else {
    // A workspace that does not serve all workers serves as many tasks, whichever workers run them.
    const bool for_all = job.n_workers == call.executor->n_workers;
    const int64_t most = for_all ? most_tasks_per_worker * job.n_workers : job.n_workers;
    job.n_tasks = static_cast<int32_t>(job.n_items < most ? job.n_items : most);
    run_tasks(call.executor, job.n_tasks, item_task, &job);
  }
}

namespace {

void check_attention(checker &check, const heed_attention &call) {
  check.count(call.batch, HEED_MAX_COUNT, HEED_ARG_BATCH);
  check_heads(check, call.n_heads, call.n_kv_heads, call.head_dim, call.v_dim, call.scale, call.causal);
  check.count(call.n_q, HEED_MAX_COUNT, HEED_ARG_N_Q);
  check.count(call.n_kv, HEED_MAX_COUNT, HEED_ARG_N_KV);
  if (!check.ok()) return;
  const auto tensor = [&](const auto &t, int32_t n_heads, int32_t n_rows, int32_t dim, access how,
                          heed_argument argument) {
    check.tensor(t.data, {call.batch, n_heads, n_rows}, {t.batch_stride, t.head_stride, t.row_stride}, dim, how,
                 argument);
  };
  tensor(call.q, call.n_heads, call.n_q, call.head_dim, access::read, HEED_ARG_Q);
  tensor(call.k, call.n_kv_heads, call.n_kv, call.head_dim, access::read, HEED_ARG_K);
  tensor(call.v, call.n_kv_heads, call.n_kv, call.v_dim, access::read, HEED_ARG_V);
  tensor(call.out, call.n_heads, call.n_q, call.v_dim, access::write, HEED_ARG_OUT);
  if (call.weights.data) tensor(call.weights, call.n_heads, call.n_q, call.n_kv, access::write, HEED_ARG_WEIGHTS);
  check.buffer(call.workspace, call.workspace_bytes, HEED_WORKSPACE_MIN_BYTES(call.head_dim, call.v_dim),
               HEED_WORKSPACE_ALIGNMENT, HEED_ARG_WORKSPACE);
  check.executor(call.executor);
}

}  // namespace
}  // namespace heed

heed_status heed_attention_run(const heed_attention *call) {
  heed::checker check;
  check.require(call != nullptr, HEED_NULL_POINTER, HEED_ARG_CALL);
  if (check.ok()) check.require(call->struct_size == sizeof(heed_attention), HEED_UNKNOWN_STRUCT, HEED_ARG_CALL);
  if (check.ok()) heed::check_attention(check, *call);
  if (check.finish() == HEED_OK) heed::run_attention(heed::current_kernel(), *call);
  return check.status;
}

heed_status heed_self_attention(heed_matrix x, float scale, heed_matrix_out out, void *workspace,
                                size_t workspace_bytes) {
  heed::checker check;
  check.count(x.n_rows, HEED_MAX_COUNT, HEED_ARG_N);
  check.count(x.dim, HEED_MAX_DIM, HEED_ARG_HEAD_DIM);
  check.finite(scale, HEED_ARG_SCALE);
  check.matrix(x.data, x.n_rows, x.dim, x.row_stride, heed::access::read, HEED_ARG_X);
  check.require(out.n_rows == x.n_rows && out.dim == x.dim, HEED_MISFIT, HEED_ARG_OUT);
  check.matrix(out.data, out.n_rows, out.dim, out.row_stride, heed::access::write, HEED_ARG_OUT);
  if (check.ok())
    check.buffer(workspace, workspace_bytes, HEED_WORKSPACE_MIN_BYTES(x.dim, x.dim), HEED_WORKSPACE_ALIGNMENT,
                 HEED_ARG_WORKSPACE);
  if (check.finish() != HEED_OK) return check.status;
  heed_attention call =
      heed_attention_of(x.n_rows, x.n_rows, 1, 1, x.dim, x.data, x.data, x.data, out.data, workspace, workspace_bytes);
  call.scale = scale;
  call.q.row_stride = call.k.row_stride = call.v.row_stride = x.row_stride;
  call.out.row_stride = out.row_stride;
  heed::run_attention(heed::current_kernel(), call);
  return HEED_OK;
}
