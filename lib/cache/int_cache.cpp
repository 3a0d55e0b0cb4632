// Caches of integers: how they lie in memory, how a call of attention reads one, and their life.
#include "int_cache.hpp"

#include "../kernel_contract/integers.hpp"

namespace heed {

// Slots of a head. A ring has whole pieces of 32: attention reads values of that many keys at once.
int32_t int_slots_of(const heed_int_cache_shape &s) {
  return is_ring(s) ? (s.capacity + s.spare + 31) / 32 * 32 : s.capacity;
}

ring_shape int_ring_of(const heed_int_cache_shape &s) { return {int_slots_of(s), 0, int_block}; }

namespace {

constexpr size_t state_bytes_of(int32_t n_sequences) {
  return (static_cast<size_t>(n_sequences) * sizeof(cache_state) + 63) / 64 * 64;
}
size_t head_bytes_of(const heed_int_cache_shape &s) {
  return static_cast<size_t>(int_slots_of(s)) * static_cast<size_t>(s.head_dim + s.v_dim);
}

}  // namespace

size_t int_cache_bytes_of(const heed_int_cache_shape &s) {
  size_t all;
  const uint64_t of_head = static_cast<uint64_t>(int_slots_of(s)) * static_cast<uint32_t>(s.head_dim + s.v_dim);
  const uint64_t of_states = static_cast<uint64_t>(s.n_sequences) * sizeof(cache_state);
  const bool overflow = of_head > SIZE_MAX || of_states > PTRDIFF_MAX ||
                        __builtin_mul_overflow(static_cast<size_t>(of_head), static_cast<size_t>(s.n_kv_heads), &all) ||
                        __builtin_mul_overflow(all, static_cast<size_t>(s.n_sequences), &all) ||
                        __builtin_add_overflow(all, int_cache_header_bytes + state_bytes_of(s.n_sequences), &all);
  return overflow || all > PTRDIFF_MAX ? 0 : all;
}

// Keys of a head lie one after another, then its values. Heads of a sequence follow each other.
int_cache_rows int_cache_rows_of(const heed_int_cache &cache, int32_t sequence, int32_t head) {
  const heed_int_cache_shape &s = cache.shape;
  const size_t index = static_cast<size_t>(sequence) * static_cast<size_t>(s.n_kv_heads) + static_cast<size_t>(head);
  int8_t *k = static_cast<int8_t *>(cache.buffer) + int_cache_header_bytes + state_bytes_of(s.n_sequences) +
              index * head_bytes_of(s);
  return {k, k + static_cast<ptrdiff_t>(int_slots_of(s)) * s.head_dim};
}

bool is_of_int_shape(const int_cache_header &h, const heed_int_cache_shape &s) {
  const auto *a = reinterpret_cast<const unsigned char *>(&h.shape), *b = reinterpret_cast<const unsigned char *>(&s);
  bool same = h.magic == int_cache_magic && h.version == int_cache_version;
  for (size_t i = 0; i < sizeof s; i++) same &= a[i] == b[i];  // they are words
  return same;
}

namespace {

void check_int_shape_numbers(checker &check, const heed_int_cache_shape &s) {
  check.require(s.kind == HEED_CACHE_LINEAR || is_ring(s), HEED_OUT_OF_RANGE, HEED_ARG_KIND);
  check.count(s.capacity, HEED_INT_MAX_KEYS, HEED_ARG_CAPACITY);
  check.require(s.spare >= 0 && s.spare <= HEED_INT_MAX_KEYS, HEED_OUT_OF_RANGE, HEED_ARG_SPARE);
  check.require(is_ring(s) || s.spare == 0, HEED_UNSUPPORTED, HEED_ARG_SPARE);
  check.count(s.n_sequences, HEED_MAX_COUNT, HEED_ARG_N_SEQUENCES);
  check.count(s.n_kv_heads, HEED_MAX_DIM, HEED_ARG_N_KV_HEADS);
  check.count(s.head_dim, HEED_INT_MAX_DIM, HEED_ARG_HEAD_DIM);
  check.count(s.v_dim, HEED_INT_MAX_DIM, HEED_ARG_V_DIM);
  check.require(s.k_zero >= -128 && s.k_zero <= 127, HEED_OUT_OF_RANGE, HEED_ARG_SHAPE);
  check.require(s.v_zero >= -128 && s.v_zero <= 127, HEED_OUT_OF_RANGE, HEED_ARG_SHAPE);
  if (check.ok()) check.require(int_cache_bytes_of(s) > 0, HEED_OVERFLOW, HEED_ARG_SHAPE);
}

// Could these numbers of a sequence be true? Memory that was damaged must not become an address.
bool is_sound_int_cache(const cache_state &state, const heed_int_cache_shape &s) {
  if (state.taken_back != 0 &&
      (!is_ring(s) || state.taken_back < 0 || state.taken_back > most_taken_back || state.oldest == 0))
    return false;
  return state.length >= 0 && state.length <= (is_ring(s) ? most_numbers : s.capacity) && state.oldest >= 0 &&
         state.oldest <= state.length && state.length - state.oldest <= int_slots_of(s);
}

// Of `length` tokens, does a query at that position see any that is gone? It sees those from position - left on; -1: all.
bool misses_tokens(const cache_state &state, int64_t length, int64_t position, int32_t left) {
  const int64_t first = left < 0 || position < left ? 0 : position - left;
  return oldest_position(state) > first && length > first;
}

}  // namespace

namespace {

void check_int_contents(checker &check, const heed_int_cache &cache, access how) {
  check.pointer(cache.buffer, HEED_ALIGNMENT, HEED_ARG_CACHE);
  if (check.ok()) check.require(is_of_int_shape(int_header_of(cache), cache.shape), HEED_CORRUPT, HEED_ARG_CACHE);
  if (!check.ok()) return;
  for (int32_t i = 0; i < cache.shape.n_sequences; i++)
    check.require(is_sound_int_cache(int_states_of(cache)[i], cache.shape), HEED_CORRUPT, HEED_ARG_CACHE);
  check.memory(cache.buffer, int_cache_bytes_of(cache.shape), how, HEED_ARG_CACHE);
}

}  // namespace

void check_int_cache(checker &check, const heed_int_cache *cache, access how) {
  check_int_cache_object(check, cache, how);
  if (check.ok()) check_int_contents(check, *cache, how);
}

namespace {

// ------------------------------------------------------------------------------------------------ in calls and layers

// The shape and the zero points of a cache are those of the call that reads it.
void check_fit(checker &check, const heed_int_cache_shape &s, int32_t n_kv_heads, int32_t head_dim, int32_t v_dim,
               int32_t k_zero, int32_t v_zero) {
  check.require(s.n_kv_heads == n_kv_heads, HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS);
  check.require(s.head_dim == head_dim, HEED_SHAPE_MISMATCH, HEED_ARG_HEAD_DIM);
  check.require(s.v_dim == v_dim, HEED_SHAPE_MISMATCH, HEED_ARG_V_DIM);
  check.require(s.k_zero == k_zero, HEED_SHAPE_MISMATCH, HEED_ARG_K);
  check.require(s.v_zero == v_zero, HEED_SHAPE_MISMATCH, HEED_ARG_V);
}

void check_cached_int_call(checker &check, const heed_int_attention &call) {
  const heed_int_cache &cache = *call.cache;
  const heed_int_cache_shape &s = cache.shape;
  check_int_contents(check, cache, access::read);
  check.require(!call.k.data, HEED_CONFLICT, HEED_ARG_K);
  check.require(!call.v.data, HEED_CONFLICT, HEED_ARG_V);
  check.require(!call.kv_lengths, HEED_CONFLICT, HEED_ARG_KV_LENGTHS);
  check.require(s.n_sequences == call.batch_size, HEED_SHAPE_MISMATCH, HEED_ARG_BATCH_SIZE);
  check_fit(check, s, call.n_kv_heads, call.head_dim, call.v_dim, call.k.zero_point, call.v.zero_point);
  for (int32_t b = 0; check.ok() && b < call.batch_size; b++) {
    const cache_state &state = int_states_of(cache)[b];
    const int64_t end = position_of(state);
    const int32_t own = is_ring(s) ? s.capacity - 1 : -1;
    const bool is_narrower = own < 0 || (call.left_window >= 0 && call.left_window < own);
    const int32_t left = is_narrower ? call.left_window : own;
    check.require(call.n_kv >= state.length, HEED_SHAPE_MISMATCH, HEED_ARG_N_KV);
    check.require(!misses_tokens(state, end, end - call.n_q + call.position, left), HEED_EVICTED, HEED_ARG_N_Q);
  }
}

// What attention reads. In a ring token t lies in slot t modulo the slots; the last field is the first token of this lap.
int_cached cached_head_of(const heed_int_cache &cache, int32_t sequence, int32_t head) {
  const heed_int_cache_shape &s = cache.shape;
  const int_cache_rows rows = int_cache_rows_of(cache, sequence, head);
  const int32_t length = int_states_of(cache)[sequence].length, slots = int_slots_of(s);
  if (!is_ring(s)) return {rows.k, rows.v, length, -1, 0, 0};
  const int32_t lap =
      length > 0 ? static_cast<int32_t>(static_cast<uint32_t>(length - 1) / static_cast<uint32_t>(slots)) : 0;
  return {rows.k, rows.v, length, s.capacity - 1, slots, lap * slots};
}

void check_layer_tokens(checker &check, const heed_int_layer &layer, int32_t n) {
  const heed_int_cache &cache = *layer.cache;
  const heed_int_cache_shape &s = cache.shape;
  check_int_contents(check, cache, access::write);
  check.require(s.n_sequences == 1, HEED_SHAPE_MISMATCH, HEED_ARG_N_SEQUENCES);
  check_fit(check, s, layer.n_kv_heads, layer.head_dim, layer.head_dim, layer.k_zero, layer.v_zero);
  check.require(layer.causal == 1, HEED_NOT_CAUSAL, HEED_ARG_CAUSAL);
  if (check.ok() && !is_ring(s)) check_int_room(check, cache, 0, n);
}

void store_tokens(const heed_int_cache &cache, int32_t begin, int32_t n, const int8_t *k, const int8_t *v) {
  const heed_int_cache_shape &s = cache.shape;
  const ptrdiff_t k_row = static_cast<ptrdiff_t>(s.n_kv_heads) * s.head_dim,
                  v_row = static_cast<ptrdiff_t>(s.n_kv_heads) * s.v_dim;
  store_rows(cache, 0, begin, n, {k, s.head_dim, k_row, nullptr, 0}, {v, s.v_dim, v_row, nullptr, 0}, write_bytes);
}

void count_layer_tokens(const heed_int_cache &cache, int32_t n) { count_int_tokens(cache, 0, n); }

constexpr heed_int_cache_code of_int_cache = {check_cached_int_call, cached_head_of, check_layer_tokens, store_tokens,
                                              count_layer_tokens};

}  // namespace

// --------------------------------------------------------------------------------------------------------------- life

heed_status check_new_int_cache(const heed_int_cache *cache, const heed_int_cache_shape *shape, heed_memory memory) {
  checker_of<3> check;
  check.buffer(cache, sizeof *cache, 0, alignof(heed_int_cache), HEED_ARG_CACHE);
  check.object(shape, access::read, HEED_ARG_SHAPE);
  if (check.ok()) check_int_shape_numbers(check, *shape);
  if (check.ok()) check.room(memory, int_cache_bytes_of(*shape), HEED_ALIGNMENT, HEED_ARG_MEMORY);
  return check.finish();
}

void make_int_handle(heed_int_cache *cache, const heed_int_cache_shape &shape, void *buffer) {
  *cache = {sizeof *cache, &of_int_cache, shape, buffer};
}

namespace {

// A cache, and one of its sequences.
heed_status check_int_sequence_index(const heed_int_cache *cache, int32_t sequence) {
  checker_of<2> check;
  check_int_cache(check, cache, access::read);
  if (check.ok())
    check.require(sequence >= 0 && sequence < cache->shape.n_sequences, HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE);
  return check.status;
}

}  // namespace
}  // namespace heed

using namespace heed;

size_t heed_int_cache_bytes(const heed_int_cache_shape *shape) {
  checker_of<1> check;
  check.object(shape, access::read, HEED_ARG_SHAPE);
  if (check.ok()) check_int_shape_numbers(check, *shape);
  if (!check.ok()) return 0;
  return int_cache_bytes_of(*shape);
}

heed_status heed_int_cache_init(heed_int_cache *cache, const heed_int_cache_shape *shape, heed_memory memory) {
  const heed_status status = check_new_int_cache(cache, shape, memory);
  if (status != HEED_OK) return status;
  make_int_handle(cache, *shape, memory.data);
  const heed_int_cache_shape &s = cache->shape;
  __builtin_memset(memory.data, 0, int_cache_bytes_of(s));  // a ring's blocks are read in whole pieces of 32 slots
  int_header_of(*cache) = {int_cache_magic, int_cache_version, s, 0, 0};
  return HEED_OK;
}

heed_status heed_int_cache_reset(heed_int_cache *cache) {
  const heed_status status = check_int_sequence_index(cache, 0);
  if (status != HEED_OK) return status;
  for (int32_t i = 0; i < cache->shape.n_sequences; i++) int_states_of(*cache)[i] = {0, 0, 0};
  int_header_of(*cache).saved = 0;
  return HEED_OK;
}

int64_t heed_int_cache_length(const heed_int_cache *cache, int32_t sequence) {
  const heed_status status = check_int_sequence_index(cache, sequence);
  return status == HEED_OK ? position_of(int_states_of(*cache)[sequence]) : status;
}

int32_t heed_int_cache_longest(const heed_int_cache *cache) {
  const heed_status status = check_int_sequence_index(cache, 0);
  if (status != HEED_OK) return status;
  int32_t longest = 0;
  for (int32_t i = 0; i < cache->shape.n_sequences; i++)
    if (int_states_of(*cache)[i].length > longest) longest = int_states_of(*cache)[i].length;
  return longest;
}

heed_status heed_int_cache_truncate(heed_int_cache *cache, int32_t sequence, int64_t length) {
  const heed_status status = check_int_sequence_index(cache, sequence);
  if (status != HEED_OK) return status;
  cache_state &state = int_states_of(*cache)[sequence];
  if (length < 0 || length > position_of(state)) return HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_LENGTH);
  // Of a window of one token, none of which is needed, no number is left.
  const bool lost = state.taken_back > 0 && length > 0 && length < oldest_position(state);
  if (lost || misses_tokens(state, length, length, cache->shape.capacity - 1))
    return HEED_STATUS(HEED_EVICTED, HEED_ARG_LENGTH);
  if (length == 0) state.taken_back = 0;
  state.length = static_cast<int32_t>(length - state.taken_back);
  if (state.oldest > state.length) state.oldest = state.length;
  int_header_of(*cache).saved = 0;
  return HEED_OK;
}
