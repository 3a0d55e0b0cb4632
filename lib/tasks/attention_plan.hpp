// From a call with valid arguments to tiles on workers: streams (batch entry, key/value head) times tiles of rows, or
// the chunks of one tile. K is a kernel known at compile time or a pointer to one. On 32-bit machines rows and items
// are fewer than 2^29, because rows of out do not overlap.
#ifndef HEED_PLAN_HPP
#define HEED_PLAN_HPP

#include "tasks.hpp"
#include "tiles.hpp"

namespace heed {
namespace {

constexpr int32_t most_tasks_per_worker = 64;

float factor_of_call(const heed_attention &call, const score_rule *rule) {
  return rule ? rule->c : scale_of(call) * log2e;
}

template <class K>
struct attention_job {
  K k;
  const heed_attention *call;
  const score_rule *rule;
  row_tiles tiles;
  float c;
  int32_t n_workers;
  size_t worker_bytes;
  ptrdiff_t n_items;
  int32_t n_tasks;
  // Splitting one tile's keys: chunks from first_chunk on run as tasks, one workspace each.
  ptrdiff_t split_stream, split_tile;
  int32_t first_chunk;
};

// Of batch entry b and key/value head h.
stream make_stream(const heed_attention &call, const score_rule *rule, float c, ptrdiff_t b, ptrdiff_t h) {
  const int32_t group = call.n_heads / call.n_kv_heads;
  // As unsigned integers: where an option brings a tensor, data is null and its strides may be anything.
  const auto at = [b](const auto &t, ptrdiff_t head) {
    const uintptr_t n = static_cast<uintptr_t>(b) * static_cast<uintptr_t>(t.batch_stride) +
                        static_cast<uintptr_t>(head) * static_cast<uintptr_t>(t.head_stride);
    return reinterpret_cast<decltype(t.data)>(reinterpret_cast<uintptr_t>(t.data) + 4 * n);
  };
  stream s;
  s.q = at(call.q, h * group);
  s.q_query_stride = call.q.row_stride;
  s.q_head_stride = call.q.head_stride;
  s.k = {at(call.k, h), call.k.row_stride};
  s.v = {at(call.v, h), call.v.row_stride};
  s.out = at(call.out, h * group);
  s.out_query_stride = call.out.row_stride;
  s.out_head_stride = call.out.head_stride;
  s.group = group;
  s.n_rows = static_cast<ptrdiff_t>(call.n_q) * group;
  s.n_kv = call.n_kv;
  s.head_dim = call.head_dim;
  s.v_dim = call.v_dim;
  s.c = c;
  s.first_shift = -open_shift;
  s.last_shift = call.causal ? clamp_shift(static_cast<int64_t>(call.position) + 1) : open_shift;
  s.rule = rule;
  s.batch_entry = static_cast<int32_t>(b);
  s.first_head = static_cast<int32_t>(h) * group;
  if (rule && rule->place) rule->place(*rule, s);
  if (rule && rule->range) rule->range(*rule, s);
  return s;
}

template <class K>
stream stream_of(const attention_job<K> &job, ptrdiff_t index) {
  const int32_t n_kv_heads = job.call->n_kv_heads;
  return make_stream(*job.call, job.rule, job.c, index / n_kv_heads, index % n_kv_heads);
}

// Rows of a stream that has most of them.
ptrdiff_t rows_of_longest(const heed_attention &call) {
  return static_cast<ptrdiff_t>(call.n_q) * (call.n_heads / call.n_kv_heads);
}

template <class K>
void *workspace_of(const attention_job<K> &job, int32_t worker) {
  return static_cast<unsigned char *>(job.call->workspace.data) + static_cast<size_t>(worker) * job.worker_bytes;
}

// Of a stream without a rule, whose rows see the keys [0, last). SELF: of the caller's plain self-attention.
template <bool SELF, class K>
HEED_INLINE void run_plain_tile(K k, const tile &t) {
  const int32_t last = t.last[t.n_rows - 1];
  int32_t begin = 0;
  do {
    if (SELF)
      k->attend_plain(t, begin);
    else
      k->attend(t, begin);
    if (last > chunk_keys) k->merge(t, begin == 0);
    begin += chunk_keys;
  } while (begin < last);
  const partial &sums = last > chunk_keys ? t.total : t.chunk;
  k->finish(t, sums);
}

// The partials of pinned keys, merged before all others; is the total then begun?
bool add_pinned(const tile &t, bool begun) {
  if (!has_pinned(t)) return begun;
  const score_rule &rule = *t.s->rule;
  see_pinned(t);
  for (int32_t begin = 0; begin < pinned_of(*t.s); begin += chunk_keys, begun = true) {
    rule.attend(t, begin);
    rule.merge(t, !begun);
  }
  see_ranges(t);
  return true;
}

// The stream's rows of queries and of out are then those of this tile, where a rule says so.
void open_tile(const tile &t, stream &s) {
  if (s.rule->open) s.rule->open(t, s);
}

void run_ruled_tile(const tile &t, stream &s) {
  const score_rule &rule = *s.rule;
  open_tile(t, s);
  const chunk_range chunks = chunks_of(t);
  const bool begun = add_pinned(t, rule.resume && rule.resume(t)), merged = begun || chunks.n > 1;
  for (int32_t i = 0; i < chunks.n; i++) {
    rule.attend(t, chunks.begin + i * chunk_keys);
    if (merged) rule.merge(t, i == 0 && !begun);
  }
  const partial &sums = merged ? t.total : t.chunk;
  rule.finish(t, sums);
}

template <class K>
HEED_INLINE void run_tile_here(K k, stream &s, const row_tiles &tiles, ptrdiff_t index, void *workspace) {
  const tile t = make_tile(k, tiles, index, s, workspace);
  see_ranges(t);
  if (s.rule)
    run_ruled_tile(t, s);
  else
    run_plain_tile<false>(k, t);
}

template <class K>
HEED_NOINLINE void run_tile(K k, stream &s, const row_tiles &tiles, ptrdiff_t index, void *workspace) {
  run_tile_here(k, s, tiles, index, workspace);
}

// An item is a tile, or with rule->by_stream all tiles of a stream. UNEVEN, here and below: streams have different
// numbers of rows. A short one may have fewer tiles than a long one, or more, as rows that whole registers leave over
// have a tile of their own: the last item takes what there is.
template <bool UNEVEN, class K>
void run_item(const attention_job<K> &job, ptrdiff_t item, void *workspace) {
  const bool whole = job.rule && job.rule->by_stream;
  const ptrdiff_t n_tiles = job.tiles.n_tiles;
  const ptrdiff_t first = whole ? 0 : item % n_tiles;
  const ptrdiff_t index_of_stream = whole ? item : item / n_tiles;
  stream s = stream_of(job, index_of_stream);
  row_tiles own;
  if (UNEVEN) own = cut_rows_of(job.k, *job.call, job.rule, s.n_rows, job.worker_bytes);
  const row_tiles &tiles = UNEVEN ? own : job.tiles;
  const bool to_last = whole || (UNEVEN && (first + 1 == n_tiles || first >= tiles.n_tiles));
  const ptrdiff_t end = to_last ? tiles.n_tiles : first + 1;
  for (ptrdiff_t i = first; i < end; i++) run_tile(job.k, s, tiles, i, workspace);
}

// With no more tasks than workspaces each task has its own. With more, the executor's workers have one each.
template <bool UNEVEN, class K>
void item_task(void *context, int32_t index, int32_t worker) {
  const auto &job = *static_cast<const attention_job<K> *>(context);
  const int32_t room = job.n_tasks <= job.n_workers ? index : worker;
  void *workspace = workspace_of(job, room);
  for (ptrdiff_t item = index; item < job.n_items; item += job.n_tasks) run_item<UNEVEN>(job, item, workspace);
}

template <class K>
void chunk_task(void *context, int32_t index, int32_t) {
  const auto &job = *static_cast<const attention_job<K> *>(context);
  stream s = stream_of(job, job.split_stream);
  const tile t = make_tile(job.k, job.tiles, job.split_tile, s, workspace_of(job, index));
  see_ranges(t);
  if (s.rule) open_tile(t, s);
  job.k->attend(t, chunks_of(t).begin + (job.first_chunk + index) * chunk_keys);
}

// The chunk that a task has left in its workspace goes into the totals. In a frame of its own, which is gone when tasks
// run.
template <class K>
HEED_NOINLINE void merge_chunk(const attention_job<K> &job, stream &s, int32_t index, const partial &total,
                               bool begins) {
  tile t = make_tile(job.k, job.tiles, job.split_tile, s, workspace_of(job, index));
  see_ranges(t);
  t.total = total;
  job.k->merge(t, begins);
}

// One tile, its chunks spread over the workers in waves; merged here, in ascending order, into the first tile's totals.
template <class K>
HEED_NOINLINE void run_tile_split(attention_job<K> &job, stream &s) {
  const tile first = make_tile(job.k, job.tiles, job.split_tile, s, workspace_of(job, 0));
  see_ranges(first);
  const chunk_range chunks = chunks_of(first);
  if (chunks.n == 1) return run_tile(job.k, s, job.tiles, job.split_tile, workspace_of(job, 0));
  if (s.rule) open_tile(first, s);
  const bool begun = job.rule && add_pinned(first, job.rule->resume && job.rule->resume(first));
  for (int32_t chunk = 0; chunk < chunks.n; chunk += job.n_workers) {
    job.first_chunk = chunk;
    const int32_t wave = smaller_of(chunks.n - chunk, job.n_workers);
    run_tasks(job.call->executor, wave, chunk_task<K>, &job);
    for (int32_t i = 0; i < wave; i++) merge_chunk(job, s, i, first.total, chunk + i == 0 && !begun);
  }
  if (job.rule)
    job.rule->finish(first, first.total);
  else
    job.k->finish(first, first.total);
}

template <bool UNEVEN, class K>
HEED_NOINLINE void run_stream_split(attention_job<K> &job, ptrdiff_t index) {
  stream s = stream_of(job, index);
  if (UNEVEN) job.tiles = cut_rows_of(job.k, *job.call, job.rule, s.n_rows, job.worker_bytes);
  job.split_stream = index;
  for (job.split_tile = 0; job.split_tile < job.tiles.n_tiles; job.split_tile++) run_tile_split(job, s);
}

int32_t count_workers(const heed_attention &call) {
  const float work = static_cast<float>(call.batch_size) * static_cast<float>(call.n_heads) *
                     static_cast<float>(call.n_q) * static_cast<float>(call.n_kv) *
                     static_cast<float>(call.head_dim + call.v_dim) * (call.causal ? 0.5f : 1.0f);
  if (work < least_threaded_work) return 1;
  const size_t room = call.workspace.bytes / (HEED_WORKSPACE_MIN_BYTES(call.head_dim, call.v_dim) + 63);
  if (room >= static_cast<size_t>(call.executor->n_workers)) return call.executor->n_workers;
  return room < 1 ? 1 : static_cast<int32_t>(room);
}

template <class K>
attention_job<K> make_job(K k, const heed_attention &call, const score_rule *rule, int32_t n_workers) {
  attention_job<K> job = {};
  job.k = k;
  job.call = &call;
  job.rule = rule;
  job.c = factor_of_call(call, rule);
  job.n_workers = n_workers;
  job.worker_bytes = call.workspace.bytes / static_cast<size_t>(n_workers) / 64 * 64;
  job.tiles = cut_rows_of(k, call, rule, rows_of_longest(call), job.worker_bytes);
  job.n_items = static_cast<ptrdiff_t>(call.batch_size) * call.n_kv_heads;
  if (!rule || !rule->by_stream) job.n_items *= job.tiles.n_tiles;
  return job;
}

// Without threads. Each of the two ways has a frame of its own, so that one does not take the other's stack.
template <bool UNEVEN, class K>
HEED_NOINLINE void run_alone(K k, const heed_attention &call, const score_rule *rule) {
  row_tiles tiles = cut_rows_of(k, call, rule, rows_of_longest(call), call.workspace.bytes);
  const float c = factor_of_call(call, rule);
  for (int32_t b = 0; b < call.batch_size; b++)
    for (int32_t h = 0; h < call.n_kv_heads; h++) {
      stream s = make_stream(call, rule, c, b, h);
      if (UNEVEN) tiles = cut_rows_of(k, call, rule, s.n_rows, call.workspace.bytes);
      for (ptrdiff_t j = 0; j < tiles.n_tiles; j++) run_tile_here(k, s, tiles, j, call.workspace.data);
    }
}

template <bool UNEVEN, class K>
HEED_NOINLINE void run_threaded(K k, const heed_attention &call, const score_rule *rule, int32_t n_workers) {
  attention_job<K> job = make_job(k, call, rule, n_workers);
  if (job.n_items < n_workers && call.n_kv > chunk_keys) {
    const ptrdiff_t n_streams = static_cast<ptrdiff_t>(call.batch_size) * call.n_kv_heads;
    for (ptrdiff_t i = 0; i < n_streams; i++) run_stream_split<UNEVEN>(job, i);
  } else {
    // A workspace that does not serve all workers serves as many tasks, whichever workers run them.
    const bool for_all = n_workers == call.executor->n_workers;
    const ptrdiff_t most = for_all ? most_tasks_per_worker * n_workers : n_workers;
    job.n_tasks = static_cast<int32_t>(smaller_of(job.n_items, most));
    run_tasks(call.executor, job.n_tasks, item_task<UNEVEN, K>, &job);
  }
}

template <bool UNEVEN = false, class K>
void run_streams(K k, const heed_attention &call, const score_rule *rule) {
  const int32_t n_workers = call.executor ? count_workers(call) : 1;
  if (n_workers > 1)
    run_threaded<UNEVEN>(k, call, rule, n_workers);
  else
    run_alone<UNEVEN>(k, call, rule);
}

}  // namespace
}  // namespace heed

#endif
