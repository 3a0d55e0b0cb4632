#include "dispatch.hpp"
#include "run.hpp"
#include "tiles.hpp"
#include "validate.hpp"

namespace heed {

static float square_root(int32_t n) {
#if defined(__NO_MATH_ERRNO__) && (defined(__SSE2__) || defined(__aarch64__) || (defined(__ARM_FP) && __ARM_FP >= 4))
  return __builtin_sqrtf(static_cast<float>(n));  // an instruction, correctly rounded
#else
  int shift = 0;
  while (static_cast<uint64_t>(n) << shift < static_cast<uint64_t>(1) << 48) shift += 2;
  const uint64_t scaled = static_cast<uint64_t>(n) << shift;
  uint32_t root = 0;  // bit by bit: 25 of them, one more than a float has, so that adding 1 rounds it
  for (uint32_t bit = 1u << 24; bit != 0; bit >>= 1)
    if (static_cast<uint64_t>(root + bit) * (root + bit) <= scaled) root += bit;
  union {
    uint32_t bits;
    float number;
  } power = {static_cast<uint32_t>(127 + 1 - shift / 2) << 23};
  return static_cast<float>((root + 1) / 2) * power.number;
#endif
}

float default_scale(int32_t dim) { return 1.0f / square_root(dim); }

namespace {

constexpr int32_t most_tasks_per_worker = 64;

// One call under way: streams (batch entry, key/value head) times tiles of rows. K is a kernel known at compile time or
// a pointer to one. On 32-bit machines rows and items are fewer than 2^29, because rows of out do not overlap.
template <class K>
struct attention_job {
  K k;
  const heed_attention *call;
  row_tiles tiles;
  float c;
  int32_t n_workers;
  size_t worker_bytes;
  ptrdiff_t n_items;
  int32_t n_tasks;
  // Splitting one tile's keys: chunks [first_chunk, ...) run as tasks, one workspace each.
  ptrdiff_t item;
  int32_t first_chunk;
};

stream make_stream(const heed_attention &call, float c, ptrdiff_t index) {
  const int32_t group = call.n_heads / call.n_kv_heads;
  const ptrdiff_t b = index / call.n_kv_heads, h = index % call.n_kv_heads;
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
  s.n_rows = static_cast<ptrdiff_t>(call.n_q) * group;
  s.n_kv = call.n_kv;
  s.head_dim = call.head_dim;
  s.v_dim = call.v_dim;
  s.c = c;
  s.causal = call.causal != 0;
  s.causal_offset = call.causal_offset;
  return s;
}

template <class K>
void *workspace_of(const attention_job<K> &job, int32_t worker) {
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

template <bool WITH_WEIGHTS, class K>
void run_tile(K k, const stream &s, const row_tiles &tiles, ptrdiff_t index, void *workspace) {
  const tile t = make_tile(k, tiles, index, s, workspace);
  const int32_t n_chunks = count_chunks(t);
  for (int32_t chunk = 0; chunk < n_chunks; chunk++) {
    k->attend(t, chunk * chunk_keys, chunk_end(s, chunk));
    if (n_chunks > 1) k->merge(t, chunk * chunk_keys);
  }
  k->finish(t, n_chunks > 1);
  if (WITH_WEIGHTS && s.weights) k->weigh(t);
}

template <class K>
void run_item(const attention_job<K> &job, ptrdiff_t item, void *workspace) {
  const stream s = make_stream(*job.call, job.c, item / job.tiles.n_tiles);
  run_tile<true>(job.k, s, job.tiles, item % job.tiles.n_tiles, workspace);
}

// With no more tasks than workspaces each task has its own. With more, the executor's workers have one each.
template <class K>
void item_task(void *context, int32_t index, int32_t worker) {
  const auto &job = *static_cast<const attention_job<K> *>(context);
  void *workspace = workspace_of(job, job.n_tasks <= job.n_workers ? index : worker);
  for (ptrdiff_t item = index; item < job.n_items; item += job.n_tasks) run_item(job, item, workspace);
}

template <class K>
void chunk_task(void *context, int32_t index, int32_t) {
  const auto &job = *static_cast<const attention_job<K> *>(context);
  const stream s = make_stream(*job.call, job.c, job.item / job.tiles.n_tiles);
  const tile t = make_tile(job.k, job.tiles, job.item % job.tiles.n_tiles, s, workspace_of(job, index));
  const int32_t chunk = job.first_chunk + index;
  job.k->attend(t, chunk * chunk_keys, chunk_end(s, chunk));
}

// One tile, its chunks spread over the workers in waves; merged here, in ascending order, into the first tile's totals.
template <class K>
void run_item_split(attention_job<K> &job, ptrdiff_t item) {
  const stream s = make_stream(*job.call, job.c, item / job.tiles.n_tiles);
  const tile first = make_tile(job.k, job.tiles, item % job.tiles.n_tiles, s, workspace_of(job, 0));
  const int32_t n_chunks = count_chunks(first);
  if (n_chunks == 1) return run_item(job, item, workspace_of(job, 0));
  job.item = item;
  for (int32_t chunk = 0; chunk < n_chunks; chunk += job.n_workers) {
    job.first_chunk = chunk;
    const int32_t wave = n_chunks - chunk < job.n_workers ? n_chunks - chunk : job.n_workers;
    run_tasks(job.call->executor, wave, chunk_task<K>, &job);
    for (int32_t i = 0; i < wave; i++) {
      tile t = make_tile(job.k, job.tiles, item % job.tiles.n_tiles, s, workspace_of(job, i));
      t.m_total = first.m_total;
      t.l_total = first.l_total;
      job.k->merge(t, (chunk + i) * chunk_keys);
    }
  }
  job.k->finish(first, true);
  if (s.weights) job.k->weigh(first);
}

float factor_of(float scale, int32_t head_dim) { return (scale == 0.0f ? default_scale(head_dim) : scale) * log2e; }

int32_t count_workers(const heed_attention &call) {
  const float work = static_cast<float>(call.batch) * static_cast<float>(call.n_heads) * static_cast<float>(call.n_q) *
                     static_cast<float>(call.n_kv) * static_cast<float>(call.head_dim + call.v_dim) *
                     (call.causal ? 0.5f : 1.0f);
  if (work < least_threaded_work) return 1;
  const size_t room = call.workspace_bytes / (HEED_WORKSPACE_MIN_BYTES(call.head_dim, call.v_dim) + 63);
  if (room >= static_cast<size_t>(call.executor->n_workers)) return call.executor->n_workers;
  return room < 1 ? 1 : static_cast<int32_t>(room);
}

template <class K>
attention_job<K> make_job(K k, const heed_attention &call, int32_t n_workers) {
  attention_job<K> job = {};
  job.k = k;
  job.call = &call;
  job.c = factor_of(call.scale, call.head_dim);
  job.n_workers = n_workers;
  job.worker_bytes = call.workspace_bytes / static_cast<size_t>(n_workers) / 64 * 64;
  const ptrdiff_t rows = static_cast<ptrdiff_t>(call.n_q) * (call.n_heads / call.n_kv_heads);
  job.tiles = cut_rows(k, rows, call.head_dim, call.v_dim, job.worker_bytes);
  job.n_items = static_cast<ptrdiff_t>(call.batch) * call.n_kv_heads * job.tiles.n_tiles;
  return job;
}

// Without threads.
template <class K>
void run_alone(K k, const heed_attention &call) {
  const float c = factor_of(call.scale, call.head_dim);
  const ptrdiff_t rows = static_cast<ptrdiff_t>(call.n_q) * (call.n_heads / call.n_kv_heads);
  const row_tiles tiles = cut_rows(k, rows, call.head_dim, call.v_dim, call.workspace_bytes);
  const ptrdiff_t n_streams = static_cast<ptrdiff_t>(call.batch) * call.n_kv_heads;
  for (ptrdiff_t i = 0; i < n_streams; i++) {
    const stream s = make_stream(call, c, i);
    for (ptrdiff_t j = 0; j < tiles.n_tiles; j++) run_tile<true>(k, s, tiles, j, call.workspace);
  }
}

template <class K>
HEED_NOINLINE void run_threaded(K k, const heed_attention &call, int32_t n_workers) {
  attention_job<K> job = make_job(k, call, n_workers);
  if (job.n_items < n_workers && call.n_kv > chunk_keys) {
    for (ptrdiff_t item = 0; item < job.n_items; item++) run_item_split(job, item);
  } else {
    // A workspace that does not serve all workers serves as many tasks, whichever workers run them.
    const bool for_all = n_workers == call.executor->n_workers;
    const ptrdiff_t most = for_all ? most_tasks_per_worker * n_workers : n_workers;
    job.n_tasks = static_cast<int32_t>(job.n_items < most ? job.n_items : most);
    run_tasks(call.executor, job.n_tasks, item_task<K>, &job);
  }
}

template <class K>
heed_status run_any(K k, const heed_attention &call) {
  const int32_t n_workers = call.executor ? count_workers(call) : 1;
  if (n_workers > 1)
    run_threaded(k, call, n_workers);
  else
    run_alone(k, call);
  return HEED_OK;
}

}  // namespace

heed_status run_attention(const kernel *k, const heed_attention &call) { return run_any(k, call); }
#ifdef HEED_SINGLE
heed_status run_attention(fixed_kernel k, const heed_attention &call) { return run_any(k, call); }
#endif

namespace {

// Checks have frames of their own, which are gone when kernels run.
void check_call(checker &check, const heed_attention &call) {
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

HEED_NOINLINE heed_status check_attention(const heed_attention *call) {
  checker_of<8> check;  // q, k, v, out, weights, workspace, executor, call
  check.object(call, access::read, HEED_ARG_CALL);
  if (check.ok()) check_call(check, *call);
  return check.finish();
}

HEED_NOINLINE heed_status check_self_attention(const heed_matrix &x, float scale, const heed_matrix_out &out,
                                               void *workspace, size_t workspace_bytes) {
  checker_of<3> check;
  check.count(x.n_rows, HEED_MAX_COUNT, HEED_ARG_N);
  check.count(x.dim, HEED_MAX_DIM, HEED_ARG_HEAD_DIM);
  check.scale(scale);
  check.matrix(x.data, x.n_rows, x.dim, x.row_stride, access::read, HEED_ARG_X);
  check.require(out.n_rows == x.n_rows && out.dim == x.dim, HEED_MISFIT, HEED_ARG_OUT);
  check.matrix(out.data, out.n_rows, out.dim, out.row_stride, access::write, HEED_ARG_OUT);
  if (check.ok())
    check.buffer(workspace, workspace_bytes, HEED_WORKSPACE_MIN_BYTES(x.dim, x.dim), HEED_WORKSPACE_ALIGNMENT,
                 HEED_ARG_WORKSPACE);
  return check.finish();
}

}  // namespace
}  // namespace heed

heed_status heed_attention_run(const heed_attention *call) {
  const heed_status status = heed::check_attention(call);
  if (status != HEED_OK) return status;
  return heed::run_attention(heed::current_kernel(), *call);
}

heed_status heed_self_attention(heed_matrix x, float scale, heed_matrix_out out, void *workspace,
                                size_t workspace_bytes) {
  const heed_status status = heed::check_self_attention(x, scale, out, workspace, workspace_bytes);
  if (status != HEED_OK) return status;
  heed::stream s = {};
  s.q = s.k = s.v = x.data;
  s.q_query_stride = s.k_stride = s.v_stride = x.row_stride;
  s.out = out.data;
  s.out_query_stride = out.row_stride;
  s.group = 1;
  s.n_rows = s.n_kv = x.n_rows;
  s.head_dim = s.v_dim = x.dim;
  s.c = heed::factor_of(scale, x.dim);
  const auto k = heed::current_kernel();
  const heed::row_tiles tiles = heed::cut_rows(k, x.n_rows, x.dim, x.dim, workspace_bytes);
  for (ptrdiff_t i = 0; i < tiles.n_tiles; i++) heed::run_tile<false>(k, s, tiles, i, workspace);
  return HEED_OK;
}
