// New tokens of a cache: keys, rotated by a rope, go to groups of 16 slots side by side, values to rows; both are converted.
#include "cache.hpp"
#include "../isa_choice/front_door.hpp"
#include "../kernel_contract/numbers.hpp"
#include "../options/options.hpp"
#include "../layers/layer.hpp"
#include "../checks/rope_code.hpp"
#include "../tasks/run.hpp"
#include "../tasks/tasks.hpp"

namespace heed {

namespace {

// Are there numbers for n more tokens of a ring?
void check_numbers_for(checker &check, const heed_cache &cache, int32_t sequence, int32_t n, bool keeps_numbers) {
  const cache_state &state = states_of(cache)[sequence];
  const int32_t least = keeps_numbers ? state.length : state.length - surplus_of(state, ring_of(cache));
  check.require(n <= most_numbers - least, HEED_OUT_OF_RANGE, HEED_ARG_POSITION);
}

// Is there room for n tokens?
void check_room(checker &check, const heed_cache &cache, int32_t sequence, int32_t n, bool keeps_numbers) {
  const heed_cache_shape &s = cache.shape;
  if (s.kind == HEED_CACHE_LINEAR)
    return check.require(n <= s.capacity - states_of(cache)[sequence].length, HEED_FULL, HEED_ARG_CACHE);
  check.require(n <= s.capacity + s.spare, HEED_TOO_MANY_ROWS, HEED_ARG_N);
  check_numbers_for(check, cache, sequence, n, keeps_numbers);
}

}  // namespace

void check_tokens_of_sequence(checker &check, const heed_attention_layer &layer, int32_t sequence, int32_t n,
                              bool appends) {
  const int32_t length = states_of(*layer.cache)[sequence].length;
  if (!appends) return check.require(length > 0, HEED_OUT_OF_RANGE, HEED_ARG_N_KV);
  check_room(check, *layer.cache, sequence, rows_at_once(layer, n), keeps_numbers(layer));
  if (layer.cache->shape.kind == HEED_CACHE_RING)
    check_numbers_for(check, *layer.cache, sequence, n, keeps_numbers(layer));
}

void check_tokens(checker &check, const heed_attention_layer &layer, const row_span &span, bool appends) {
  const heed_cache &cache = *layer.cache;
  const heed_cache_shape &s = cache.shape;
  const access how = appends ? access::write : access::read;
  check_contents(check, cache, how);
  check.require(s.n_sequences == n_sequences_of(span), HEED_SHAPE_MISMATCH, HEED_ARG_N_SEQUENCES);
  check.require(s.n_kv_heads == layer.n_kv_heads, HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS);
  check.require(s.head_dim == layer.head_dim, HEED_SHAPE_MISMATCH, HEED_ARG_HEAD_DIM);
  check.require(s.v_dim == layer.v_dim, HEED_SHAPE_MISMATCH, HEED_ARG_V_DIM);
  check.require(!layer.cross || s.kind == HEED_CACHE_LINEAR, HEED_UNSUPPORTED, HEED_ARG_KIND);
  if (layer.cross)
    check.require(layer.causal == 0, HEED_UNSUPPORTED, HEED_ARG_CAUSAL);
  else
    check.require(layer.causal == 1, HEED_NOT_CAUSAL, HEED_ARG_CAUSAL);
  if (check.ok() && span.batch)
    functions_of(*span.batch).check_each(check, layer, span, appends);
  else if (check.ok())
    check_tokens_of_sequence(check, layer, 0, span.n, appends);
}

// In a ring the keys of older queries may be gone.
void check_options_of_tokens(checker &check, const heed_attention_layer &layer, const row_span &span) {
  if (layer.cache->shape.kind != HEED_CACHE_RING) return;
  const heed_ranges *ranges = layer.options->ranges;
  check.require(!ranges || !ranges->positions, HEED_UNSUPPORTED, HEED_ARG_POSITIONS);
  check.require(!ranges || ranges->pinned <= layer.cache->shape.pinned, HEED_UNSUPPORTED, HEED_ARG_PINNED);
  check.require(pass_at_once(layer, span) || !count_by_rows(*layer.options), HEED_TOO_MANY_ROWS, HEED_ARG_N);
}

namespace {

constexpr int32_t most_rotated = HEED_CACHE_MAX_ROTARY_DIM;
// Elements of keys that are rotated at once, on the stack: frequencies are made anew each time.
constexpr int32_t room_rotated = sizeof(void *) < 8 ? most_rotated : 4 * most_rotated;

// ------------------------------------------------------------------------------------------------------------ rows

// A row of dim numbers, of which the first n_rotated have been rotated.
struct new_row {
  const float *rotated, *x;
  int32_t n_rotated, dim;
  template <class F>
  void each_part(F f) const {  // f(numbers, first, n)
    if (n_rotated > 0) f(rotated, 0, n_rotated);
    if (n_rotated < dim) f(x + n_rotated, n_rotated, dim - n_rotated);
  }
};

template <class K>
float magnitude_of_row(K k, const new_row &row) {
  float greatest = 0.0f;
  row.each_part([&](const float *x, int32_t, int32_t n) {
    const float most = scores_of(k)->magnitude(x, n);
    if (!(most <= greatest)) greatest = most;  // NaN, too
  });
  return greatest;
}

// To every stride-th place from `to` on.
template <class T>
void spread_over_slots(const void *from, int32_t n, T *to, ptrdiff_t stride) {
  const T *numbers = static_cast<const T *>(from);
  for (int32_t i = 0; i < n; i++) to[i * stride] = numbers[i];
}

template <class T, class K>
void keep_row(K k, int32_t dtype, const new_row &row, unsigned char *data, ptrdiff_t first, ptrdiff_t stride,
              float scale) {
  T *to = reinterpret_cast<T *>(data) + first;
  row.each_part([&](const float *x, int32_t begin, int32_t n) {
    if (sizeof(T) == sizeof(float)) return spread_over_slots(x, n, to + begin * stride, stride);
    if (stride == 1) return scores_of(k)->narrow_row(x, n, dtype, scale, to + begin);
    constexpr int32_t at_once = 64;
    T narrowed[at_once];
    for (int32_t i = 0; i < n; i += at_once) {
      const int32_t part = smaller_of(n - i, at_once);
      scores_of(k)->narrow_row(x + i, part, dtype, scale, narrowed);
      spread_over_slots(narrowed, part, to + (begin + i) * stride, stride);
    }
  });
}

template <class K>
void keep_row(K k, int32_t dtype, const new_row &row, unsigned char *data, ptrdiff_t first, ptrdiff_t stride,
              float *scale) {
  if (dtype == HEED_F32) return keep_row<float>(k, dtype, row, data, first, stride, 0.0f);
  if (dtype != HEED_INT8) return keep_row<uint16_t>(k, dtype, row, data, first, stride, 0.0f);
  *scale = int8_scale(magnitude_of_row(k, row));
  keep_row<int8_t>(k, dtype, row, data, first, stride, *scale);
}

// ---------------------------------------------------------------------------------------------------------- tokens

const float *row_of_token(const heed_tensor &x, int32_t head, int32_t t) {
  return x.data + head * x.head_stride + t * x.row_stride;
}

// The slot of token t of a call.
ptrdiff_t slot_of_token(const append_call &c, int32_t t) {
  return slots_of(*c.cache).slot_of(states_of(*c.cache)[c.sequence].length + t);
}

template <class K>
void keep_key(K k, const append_call &c, int32_t head, ptrdiff_t slot, const new_row &row) {
  const heed_cache_shape &s = c.cache->shape;
  const cache_rows rows = cache_rows_of(*c.cache, c.sequence, head);
  keep_row(k, s.dtype, row, rows.keys, slot / 16 * 16 * s.head_dim + slot % 16, 16, rows.key_scales + slot);
}

template <class K>
HEED_NOINLINE void keep_keys(K k, const append_call &c, int32_t t) {
  const heed_cache_shape &s = c.cache->shape;
  const ptrdiff_t slot = slot_of_token(c, t);
  for (int32_t h = 0; h < s.n_kv_heads; h++) keep_key(k, c, h, slot, {nullptr, row_of_token(c.k, h, t), 0, s.head_dim});
}

template <class K>
HEED_NOINLINE void keep_values(K k, const append_call &c, int32_t t) {
  const heed_cache_shape &s = c.cache->shape;
  const ptrdiff_t slot = slot_of_token(c, t);
  for (int32_t h = 0; h < s.n_kv_heads; h++) {
    const cache_rows rows = cache_rows_of(*c.cache, c.sequence, h);
    keep_row(k, s.dtype, {nullptr, row_of_token(c.v, h, t), 0, s.v_dim}, rows.values, slot * s.v_dim, 1,
             rows.value_scales + slot);
  }
}

// f(head, row) for the keys of token t, rotated; as many heads are rotated at once as there is room for.
template <class K, class F>
HEED_INLINE void each_rotated_key(K k, const append_call &c, const heed_rope &rope, int32_t t, F f) {
  const heed_cache_shape &s = c.cache->shape;
  const int32_t n_rotated = rotary_dim_of(rope, s.head_dim), at_once = room_rotated / n_rotated;
  const int64_t position = position_of(states_of(*c.cache)[c.sequence]) + t;
  float rotated[room_rotated];
  for (int32_t h = 0; h < s.n_kv_heads; h++) {
    const float *key = row_of_token(c.k, h, t);
    if (h % at_once == 0) {
      const int32_t n = smaller_of(s.n_kv_heads - h, at_once);
      const heed_tensor keys = {key, 0, c.k.head_stride, 0};
      const heed_tensor_out to = {rotated, 0, n_rotated, 0};
      rope.code->run(address_of(k), {&rope, keys, 1, n, n_rotated, position, positions_from(rope, t), to, nullptr});
    }
    f(h, new_row{rotated + h % at_once * n_rotated, key, n_rotated, s.head_dim});
  }
}

template <class K>
HEED_NOINLINE void keep_rotated_keys(K k, const append_call &c, const heed_rope &rope, int32_t t) {
  const ptrdiff_t slot = slot_of_token(c, t);
  each_rotated_key(k, c, rope, t, [&](int32_t h, const new_row &row) { keep_key(k, c, h, slot, row); });
}

void count_tokens(const append_call &c) {
  const ring_shape ring = ring_of(*c.cache);
  cache_state &state = states_of(*c.cache)[c.sequence];
  state.length += c.n;
  const int32_t gone = state.length - ring.slots;
  if (gone > ring.pinned_slots && gone > state.oldest) state.oldest = gone;
  if (c.cache->shape.kind == HEED_CACHE_RING && !c.keeps_numbers) renumber(state, ring);
}

// -------------------------------------------------------------------------------------- what int8 has a scale for

template <class K>
HEED_NOINLINE bool rotated_are_finite(K k, const append_call &c, const heed_rope &rope, int32_t t) {
  bool finite = true;
  each_rotated_key(k, c, rope, t,
                   [&](int32_t, const new_row &row) { finite = finite && is_finite(magnitude_of_row(k, row)); });
  return finite;
}

// Are the rows finite, and those of keys when they are rotated? A pair grows by the root of 2 at most, so only rows
// beyond this magnitude must be rotated to tell.
constexpr float safe_to_rotate = 0x1p126f;

template <class K>
bool all_finite(K k, const append_call &c, const heed_tensor &x, int32_t dim, const heed_rope *rope) {
  for (int32_t t = 0; t < c.n; t++)
    for (int32_t h = 0; h < c.cache->shape.n_kv_heads; h++) {
      const float most = scores_of(k)->magnitude(row_of_token(x, h, t), dim);
      if (!is_finite(most) || (rope && most > safe_to_rotate && !rotated_are_finite(k, c, *rope, t))) return false;
    }
  return true;
}

template <class K>
heed_status check_numbers(K k, const append_call &c, const heed_rope *rope) {
  const heed_cache_shape &s = c.cache->shape;
  if (s.dtype != HEED_INT8) return HEED_OK;
  if (!all_finite(k, c, c.k, s.head_dim, rope)) return HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_K);
  if (!all_finite(k, c, c.v, s.v_dim, nullptr)) return HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_V);
  return HEED_OK;
}

template <class K>
HEED_INLINE void keep_tokens(K k, const append_call &c, int32_t begin, int32_t end) {
  for (int32_t t = begin; t < end; t++) {
    keep_keys(k, c, t);
    keep_values(k, c, t);
  }
}

template <class K>
struct append_job {
  K k;
  const append_call *call;
  pieces parts;
};

template <class K>
void append_task(void *context, int32_t index, int32_t) {
  const auto &job = *static_cast<const append_job<K> *>(context);
  keep_tokens(job.k, *job.call, job.parts.begin(index), job.parts.begin(index + 1));
}

// In a frame of its own: calls without an executor need no room for it.
template <class K>
HEED_NOINLINE void keep_tokens_on(K k, const append_call &c, const heed_executor &executor) {
  const heed_cache_shape &s = c.cache->shape;
  constexpr float work_of_number = 20.0f;
  const float numbers = static_cast<float>(c.n) * static_cast<float>(s.n_kv_heads) *
                        (static_cast<float>(s.head_dim) + static_cast<float>(s.v_dim));
  append_job<K> job = {k, &c, cut_work(c.n, 16, 16, work_of_number * numbers, &executor)};
  run_tasks(&executor, job.parts.n, append_task<K>, &job);
}

// Keys as they are. Tokens of one call to a ring may share a slot, and then the last one stays: they are not shared out.
template <class K>
void append_any(K k, const append_call &c) {
  header_of(*c.cache).saved = 0;
  if (c.executor && c.cache->shape.kind != HEED_CACHE_RING)
    keep_tokens_on(k, c, *c.executor);
  else
    keep_tokens(k, c, 0, c.n);
  count_tokens(c);
}

template <class K>
void append_rotated(K k, const append_call &c, const heed_rope &rope) {
  header_of(*c.cache).saved = 0;
  for (int32_t t = 0; t < c.n; t++) {
    keep_rotated_keys(k, c, rope, t);
    keep_values(k, c, t);
  }
  count_tokens(c);
}

HEED_NOINLINE heed_status check_append(const heed_cache *cache, int32_t sequence, const heed_tensor &k,
                                       const heed_tensor &v, int32_t n, const heed_rope *rope) {
  checker_of<9> check;
  check_cache(check, cache, access::write);
  if (!check.ok()) return check.status;
  const heed_cache_shape &s = cache->shape;
  check.require(sequence >= 0 && sequence < s.n_sequences, HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE);
  check.count(n, HEED_MAX_COUNT, HEED_ARG_N);
  if (!check.ok()) return check.status;
  check.tensor(k.data, {1, s.n_kv_heads, n}, {0, k.head_stride, k.row_stride}, s.head_dim, access::read, HEED_ARG_K);
  check.tensor(v.data, {1, s.n_kv_heads, n}, {0, v.head_stride, v.row_stride}, s.v_dim, access::read, HEED_ARG_V);
  if (rope) {
    check.object(rope, access::read, HEED_ARG_ROPE);
    if (check.ok()) check.require(rope->code != nullptr, HEED_NOT_INITIALIZED, HEED_ARG_ROPE);
    if (check.ok()) rope->code->check(check, *rope, s.head_dim, n);
    if (check.ok())
      check.require(rotary_dim_of(*rope, s.head_dim) <= most_rotated, HEED_OUT_OF_RANGE, HEED_ARG_ROTARY_DIM);
  }
  if (check.ok()) check_room(check, *cache, sequence, n, false);
  return check.finish();
}

}  // namespace

heed_status check_rows_to_append(const kernel *k, const append_call &c) {
  return check_numbers(handle_of(k), c, nullptr);
}
void append_rows(const kernel *k, const append_call &c) { append_any(handle_of(k), c); }
heed_status check_and_append_rows(const kernel *k, const append_call &c) {
  const heed_status status = check_rows_to_append(k, c);
  if (status == HEED_OK) append_rows(k, c);
  return status;
}

}  // namespace heed

heed_status heed_cache_append(heed_cache *cache, int32_t sequence, heed_tensor k, heed_tensor v, int32_t n,
                              const heed_rope *rope) {
  heed_status status = heed::check_append(cache, sequence, k, v, n, rope);
  if (status != HEED_OK) return status;
  const auto kernel = heed_front_door::kernel();
  const heed::append_call call = {cache, sequence, n, k, v, false, nullptr};
  status = heed::check_numbers(kernel, call, rope);
  if (status != HEED_OK) return status;
  if (rope)
    heed::append_rotated(kernel, call, *rope);
  else
    heed::append_any(kernel, call);
  return HEED_OK;
}
