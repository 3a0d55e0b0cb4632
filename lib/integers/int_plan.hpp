// From a call with valid arguments to tiles on workers: streams (batch entry, key/value head) times tiles of rows, or the
// blocks of one tile.
#ifndef HEED_INT_PLAN_HPP
#define HEED_INT_PLAN_HPP

#include "../tasks/tasks.hpp"
#include "int_attend.hpp"

namespace heed {
namespace {

// Firmware that is to be small does not split the keys of few rows over its workers.
#if defined(HEED_SINGLE) && defined(__OPTIMIZE_SIZE__)
constexpr bool splits_blocks = false;
#else
constexpr bool splits_blocks = true;
#endif

template <class K>
struct int_job {
  K k;
  const heed_int_attention *call;
  int_layout layout;
  size_t worker_bytes;
  int32_t n_workers, tile_rows, n_tiles;  // of a stream
  ptrdiff_t n_rows, n_items;
  int32_t n_tasks;
  ptrdiff_t item;  // whose blocks are split
};

template <class K>
int_layout int_layout_of(K k, const heed_int_attention &call, ptrdiff_t n_rows, size_t bytes) {
  const size_t of_row = HEED_INT_SIZE_OF_SCORES(call.head_dim, call.v_dim),
               of_state = HEED_INT_PARTIAL_ROW_BYTES(call.v_dim),
               of_number = static_cast<size_t>(k->packed_bytes) * int_block,
               of_keys = of_number * HEED_INT_SIZE_ROUND(call.head_dim) + (k->packed_bytes == 1 ? 1024 : 0),
               of_block = of_keys + of_number * HEED_INT_SIZE_ROUND(call.v_dim);
  int_layout own;
  int32_t n = 1;
  while (n < k->rows && n < n_rows && bytes >= static_cast<size_t>(n + 1) * (of_row + of_state)) n++;
  size_t rest = bytes - static_cast<size_t>(n) * of_row;
  own.packs = n_rows >= k->packs_from && rest >= of_block + static_cast<size_t>(n) * of_state;
  const size_t block = own.packs ? of_block : 0;
  rest = (rest - block) / of_state;
  own.score_rows = n;
  own.state_rows = rest < 0x10000 ? static_cast<int32_t>(rest) : 0x10000;
  own.query_bytes = static_cast<ptrdiff_t>(4 * HEED_INT_SIZE_ROUND(call.head_dim) + 64);
  own.acc_stride = static_cast<ptrdiff_t>(HEED_INT_SIZE_ROUND(call.v_dim));
  own.values_at = of_keys;
  own.queries_at = block;
  own.scores_at = block + static_cast<size_t>(n) * static_cast<size_t>(own.query_bytes);
  own.acc_at = own.scores_at + static_cast<size_t>(n) * 1024;
  own.states_at = own.acc_at + static_cast<size_t>(n) * 4 * static_cast<size_t>(own.acc_stride);
  return own;
}

template <class K>
unsigned char *int_workspace_of(const int_job<K> &job, int32_t worker) {
  return static_cast<unsigned char *>(job.call->workspace.data) + static_cast<size_t>(worker) * job.worker_bytes;
}

template <class K>
ptrdiff_t int_tile_index(const int_job<K> &job, ptrdiff_t item) {
  return item - int_quotient(item, job.n_tiles) * job.n_tiles;
}
template <class K>
HEED_INT_STEP int_tile int_tile_of(const int_job<K> &job, const int_stream &s, ptrdiff_t index, int32_t worker) {
  int_tile t;
  t.s = &s;
  t.layout = &job.layout;
  t.workspace = int_workspace_of(job, worker);
  t.first_row = index * job.tile_rows;
  t.n_rows = job.n_rows - t.first_row < job.tile_rows ? static_cast<int32_t>(job.n_rows - t.first_row) : job.tile_rows;
  t.first = t.row(0).first;
  t.last = t.row(t.n_rows - 1).last;
  t.in_partial = job.call->partial.data != nullptr;
  t.has_states = t.in_partial || job.call->sinks || t.last > (t.first & -int_block) + int_block ||
                 (s.wrap > t.first && s.wrap < t.last);
  return t;
}

inline void clear_states(const int_tile &t) {
  for (int32_t r = 0; r < t.n_rows; r++) t.state(r).clear();
}

template <class K>
void finish_states(K k, const int_tile &t) {
  for (int32_t r = 0; r < t.n_rows; r++)
    finish_state(k, *t.s, t.row(r), t.state(r), t.acc(), static_cast<int32_t>(t.layout->acc_stride));
}

template <class K>
HEED_NOINLINE void run_int_item(const int_job<K> &job, ptrdiff_t item, int32_t worker) {
  const int_stream s = int_stream_of(*job.call, int_quotient(item, job.n_tiles));
  int_tile t = int_tile_of(job, s, int_tile_index(job, item), worker);
#ifndef HEED_SINGLE
  if (job.n_tiles == 1 && item + job.n_tasks < job.n_items) {
    const int_stream next = int_stream_of(*job.call, item + job.n_tasks);
    const int32_t row = next.row_of(t.first & -int_block);
    t.next_k = next.k + row * next.k_stride;
    t.next_v = next.v + row * next.v_stride;
  }
#endif
  const bool whole = t.has_states && !t.in_partial;
  if (whole) clear_states(t);
  attend_blocks(job.k, t, t.first & -int_block, t.last);
  if (whole) finish_states(job.k, t);
}

// With no more tasks than workspaces each task has its own. With more, the executor's workers have one each.
template <class K>
void int_item_task(void *context, int32_t index, int32_t worker) {
  const auto &job = *static_cast<const int_job<K> *>(context);
  const int32_t room = job.n_tasks <= job.n_workers ? index : worker;  // whose part of the workspace
  for (ptrdiff_t item = index; item < job.n_items; item += job.n_tasks) run_int_item(job, item, room);
}

// Blocks of one tile as tasks, each with states of its own, which are merged here.
inline int32_t blocks_of(const int_tile &t) {
  return t.last <= t.first ? 0 : (t.last - (t.first & -int_block) + int_block - 1) / int_block;
}
template <class K>
void int_block_task(void *context, int32_t index, int32_t) {
  const auto &job = *static_cast<const int_job<K> *>(context);
  const int_stream s = int_stream_of(*job.call, int_quotient(job.item, job.n_tiles));
  int_tile t = int_tile_of(job, s, int_tile_index(job, job.item), index);
  t.in_partial = false;
  clear_states(t);
  const pieces parts = {blocks_of(t), 1, job.n_tasks};
  const int32_t begin = (t.first & -int_block) + parts.begin(index) * int_block;
  const int32_t end = begin + parts.size(index) * int_block;
  attend_blocks(job.k, t, begin, smaller_of(end, t.last));
}
template <class K>
HEED_NOINLINE void merge_int_tasks(const int_job<K> &job) {
  const int_stream s = int_stream_of(*job.call, int_quotient(job.item, job.n_tiles));
  const int_tile to = int_tile_of(job, s, int_tile_index(job, job.item), 0);
  for (int32_t i = to.in_partial ? 0 : 1; i < job.n_tasks; i++) {
    int_tile from = int_tile_of(job, s, int_tile_index(job, job.item), i);
    from.in_partial = false;
    for (int32_t r = 0; r < to.n_rows; r++) merge_states(to.state(r), from.state(r));
  }
  if (!to.in_partial) finish_states(job.k, to);
}
template <class K>
HEED_NOINLINE void run_int_split(int_job<K> &job) {
  for (job.item = 0; job.item < job.n_items; job.item++) {
    int32_t n_blocks;
    {
      const int_stream s = int_stream_of(*job.call, int_quotient(job.item, job.n_tiles));
      n_blocks = blocks_of(int_tile_of(job, s, int_tile_index(job, job.item), 0));
    }
    job.n_tasks = smaller_of(n_blocks, job.n_workers);
    if (n_blocks < 2) {
      run_int_item(job, job.item, 0);
      continue;
    }
    run_tasks(job.call->executor, job.n_tasks, int_block_task<K>, &job);
    merge_int_tasks(job);
  }
}

// How many workers pay, and have a piece of the workspace. The work is in multiply-adds: integers do twice as many in
// the time of floats.
inline int32_t int_workers(const heed_int_attention &call) {
  constexpr uint64_t least = static_cast<uint64_t>(2 * least_threaded_work);
  int32_t n_kv = call.n_kv;
  if (call.cache) n_kv = smaller_of(n_kv, call.cache->shape.capacity);
  if (call.causal) n_kv = (n_kv + 1) / 2;  // half of the pairs count
  const int32_t factors[] = {call.batch_size, call.n_heads, call.n_q, n_kv};
  uint64_t work = static_cast<uint64_t>(call.head_dim) + static_cast<uint64_t>(call.v_dim);
  for (int i = 0; i < 4 && work < least; i++) work *= static_cast<uint64_t>(factors[i]);
  if (work < least) return 1;
  const size_t room = call.workspace.bytes / (HEED_INT_WORKSPACE_MIN_BYTES(call.head_dim, call.v_dim) + 63);
  if (room >= static_cast<size_t>(call.executor->n_workers)) return call.executor->n_workers;
  return room < 1 ? 1 : static_cast<int32_t>(room);
}

constexpr int32_t least_tile_rows = 16;  // of tiles that are cut for threads

template <class K>
void run_int_call(K k, const heed_int_attention &call) {
  int_job<K> job;
  job.k = k;
  job.call = &call;
  job.n_workers = call.executor ? int_workers(call) : 1;
  job.worker_bytes = call.workspace.bytes;
  if (job.n_workers > 1) job.worker_bytes = job.worker_bytes / static_cast<size_t>(job.n_workers) / 64 * 64;
  job.n_rows = static_cast<ptrdiff_t>(int_quotient(call.n_heads, call.n_kv_heads)) * call.n_q;
  job.layout = int_layout_of(k, call, job.n_rows, job.worker_bytes);
  const ptrdiff_t n_streams = static_cast<ptrdiff_t>(call.batch_size) * call.n_kv_heads;
  // Rows whose keys all lie in one block need no states in the workspace, nor do those that have them in a partial.
  const bool needs_states = !call.partial.data && (call.n_kv > int_block || call.sinks || call.cache);
  ptrdiff_t most = needs_states ? job.layout.state_rows : 0x10000;
  if (job.n_workers > 1) {
    const ptrdiff_t even = int_quotient(job.n_rows * n_streams, job.n_workers * pieces_per_worker);
    const ptrdiff_t share = larger_of(even, least_tile_rows);
    if (share < most) most = share;
    if (job.layout.state_rows < most) most = job.layout.state_rows;  // also where blocks may be split
  }
  job.tile_rows = static_cast<int32_t>(smaller_of(job.n_rows, most));
  job.n_tiles = static_cast<int32_t>(int_quotient(job.n_rows + job.tile_rows - 1, job.tile_rows));
  job.n_items = n_streams * job.n_tiles;
  if (splits_blocks && job.n_workers > 1 && job.n_items < job.n_workers) return run_int_split(job);
  ptrdiff_t tasks = job.n_workers;
  if (job.n_workers < 2)
    tasks = 1;
  else if (job.n_workers == call.executor->n_workers)
    tasks *= 64;
  job.n_tasks = static_cast<int32_t>(smaller_of(job.n_items, tasks));
  run_tasks(call.executor, job.n_tasks, int_item_task<K>, &job);
}

}  // namespace
}  // namespace heed

#endif
