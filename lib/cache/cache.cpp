// Caches of keys and values: how they lie in memory, how a call of attention reads one, and their life.
#include "cache.hpp"
#include "../options/call_rule.hpp"
#include "../options/ranges.hpp"
#include "../checks/check_dtypes.hpp"

namespace heed {

namespace {

// Slots for n tokens.
constexpr int32_t whole_blocks(int64_t n) {
  return static_cast<int32_t>((n + block_keys - 1) / block_keys * block_keys);
}

constexpr cache_layout measure(const heed_cache_shape &s) {
  cache_layout l = {};
  l.pinned_slots = whole_blocks(s.pinned);
  l.ring_slots = whole_blocks(static_cast<int64_t>(s.capacity) + s.spare);
  l.states = (static_cast<size_t>(s.n_sequences) * sizeof(cache_state) + 63) / 64 * 64;
  const size_t slots = static_cast<size_t>(l.pinned_slots) + static_cast<size_t>(l.ring_slots);
  const size_t element = HEED_DTYPE_BYTES(s.dtype), heads = static_cast<size_t>(s.n_kv_heads);
  const size_t scale_bytes = s.dtype == HEED_INT8 ? sizeof(float) : 0;
  size_t all = 0;
  const bool overflow = __builtin_mul_overflow(slots, static_cast<size_t>(s.head_dim) * element, &l.key_bytes) ||
                        __builtin_mul_overflow(slots, static_cast<size_t>(s.v_dim) * element, &l.value_bytes) ||
                        __builtin_mul_overflow(slots, scale_bytes, &l.scale_bytes) ||
                        __builtin_add_overflow(l.key_bytes, l.value_bytes, &l.head_bytes) ||
                        __builtin_add_overflow(l.head_bytes, 2 * l.scale_bytes, &l.head_bytes) ||
                        __builtin_mul_overflow(l.head_bytes, heads, &all) ||
                        __builtin_mul_overflow(all, static_cast<size_t>(s.n_sequences), &all) ||
                        __builtin_add_overflow(all, cache_header_bytes + l.states, &all);
  l.bytes = overflow || slots > INT32_MAX || all > PTRDIFF_MAX ? 0 : all;
  return l;
}

// The constant expressions of cache.h are the same sums.
constexpr size_t bytes_of(int32_t capacity, int32_t pinned, int32_t spare, int32_t n_sequences, int32_t n_kv_heads,
                          int32_t head_dim, int32_t v_dim, int32_t dtype) {
  const int32_t kind = pinned || spare ? HEED_CACHE_RING : HEED_CACHE_LINEAR;
  return measure(
             {sizeof(heed_cache_shape), kind, capacity, pinned, spare, n_sequences, n_kv_heads, head_dim, v_dim, dtype})
      .bytes;
}
static_assert(bytes_of(64, 0, 0, 1, 1, 1, 1, HEED_F32) == HEED_CACHE_BYTES(64, 1, 1, 1, 1, HEED_F32), "one block");
static_assert(bytes_of(65, 0, 0, 9, 3, 24, 40, HEED_INT8) == HEED_CACHE_BYTES(65, 9, 3, 24, 40, HEED_INT8), "scales");
static_assert(bytes_of(512, 0, 0, 8, 2, 7, 5, HEED_BF16) == HEED_CACHE_BYTES(512, 8, 2, 7, 5, HEED_BF16), "odd rows");
static_assert(bytes_of(64, 1, 1, 2, 3, 24, 40, HEED_F16) == HEED_RING_BYTES(64, 1, 1, 2, 3, 24, 40, HEED_F16),
              "a ring");
static_assert(bytes_of(63, 65, 1, 1, 1, 8, 8, HEED_INT8) == HEED_RING_BYTES(63, 65, 1, 1, 1, 8, 8, HEED_INT8),
              "pinned tokens have blocks of their own");

}  // namespace

cache_layout layout_of(const heed_cache_shape &s) { return measure(s); }

storage slots_of(const heed_cache &cache) {
  const cache_layout l = layout_of(cache.shape);
  storage at = {};
  at.pinned_slots = l.pinned_slots;
  at.ring_slots = l.ring_slots;
  return at;
}

ring_shape ring_of(const heed_cache &cache) {
  const cache_layout l = layout_of(cache.shape);
  return {l.ring_slots, l.pinned_slots, chunk_keys};
}

// Behind the header and the states: for each sequence and head its keys, its values, the scales of both.
cache_rows cache_rows_of(const heed_cache &cache, int32_t sequence, int32_t head) {
  const cache_layout l = layout_of(cache.shape);
  unsigned char *keys =
      static_cast<unsigned char *>(cache.buffer) + cache_header_bytes + l.states +
      (static_cast<size_t>(sequence) * static_cast<size_t>(cache.shape.n_kv_heads) + static_cast<size_t>(head)) *
          l.head_bytes;
  unsigned char *values = keys + l.key_bytes, *scales = values + l.value_bytes;
  return {keys, values, reinterpret_cast<float *>(scales), reinterpret_cast<float *>(scales + l.scale_bytes)};
}

namespace {

void check_shape_numbers(checker &check, const heed_cache_shape &s) {
  check.require(s.kind == HEED_CACHE_LINEAR || s.kind == HEED_CACHE_RING, HEED_OUT_OF_RANGE, HEED_ARG_KIND);
  check.count(s.capacity, HEED_MAX_COUNT, HEED_ARG_CAPACITY);
  check.require(s.pinned >= 0 && s.pinned <= HEED_MAX_COUNT / 2, HEED_OUT_OF_RANGE, HEED_ARG_PINNED);
  check.require(s.spare >= 0 && s.spare <= HEED_MAX_COUNT / 2, HEED_OUT_OF_RANGE, HEED_ARG_SPARE);
  check.require(s.kind == HEED_CACHE_RING || s.pinned == 0, HEED_UNSUPPORTED, HEED_ARG_PINNED);
  check.require(s.kind == HEED_CACHE_RING || s.spare == 0, HEED_UNSUPPORTED, HEED_ARG_SPARE);
  check.count(s.n_sequences, HEED_MAX_COUNT, HEED_ARG_N_SEQUENCES);
  check.count(s.n_kv_heads, HEED_MAX_DIM, HEED_ARG_N_KV_HEADS);
  check.count(s.head_dim, HEED_MAX_DIM, HEED_ARG_HEAD_DIM);
  check.count(s.v_dim, HEED_MAX_DIM, HEED_ARG_V_DIM);
  check_format(check, s.dtype, HEED_ARG_DTYPE);
  if (check.ok()) check.require(layout_of(s).bytes > 0, HEED_OVERFLOW, HEED_ARG_SHAPE);
}

// Could these numbers of a sequence be true? Memory that was damaged must not become an address.
bool is_sound(const cache_state &state, const heed_cache_shape &s) {
  const bool ring = s.kind == HEED_CACHE_RING;
  if (state.taken_back != 0 && (!ring || state.taken_back < 0 || state.taken_back > most_taken_back ||
                                state.oldest <= layout_of(s).pinned_slots))
    return false;
  return state.length >= 0 && state.length <= (ring ? most_numbers : s.capacity) && state.oldest >= 0 &&
         state.oldest <= state.length;
}

// The position of the first key that a query at that position sees, but for pinned ones.
int64_t first_of_window(int64_t position, int32_t left) { return left < 0 || position < left ? 0 : position - left; }

// Are the keys at positions [first, end) of a sequence still there? Pinned ones are.
bool holds_tokens(const heed_cache_shape &s, const cache_state &state, int64_t first, int64_t end) {
  const int32_t pinned_slots = layout_of(s).pinned_slots;
  const int64_t needed = larger_of(first, pinned_slots);
  return oldest_position(state) <= needed || end <= needed;
}

}  // namespace

bool is_of_shape(const cache_header &h, const heed_cache_shape &s) {
  return h.magic == cache_magic && h.version >= least_version_of(s) && h.version <= cache_version && h.kind == s.kind &&
         h.capacity == s.capacity && h.pinned == s.pinned && h.spare == s.spare && h.n_sequences == s.n_sequences &&
         h.n_kv_heads == s.n_kv_heads && h.head_dim == s.head_dim && h.v_dim == s.v_dim && h.dtype == s.dtype;
}

void check_cache(checker &check, const heed_cache *cache, access how) {
  check.pointer(cache, alignof(heed_cache), HEED_ARG_CACHE);
  check_object(check, cache, how, HEED_ARG_CACHE);
  if (check.ok()) check_contents(check, *cache, how);
}

void check_contents(checker &check, const heed_cache &cache, access how) {
  check.pointer(cache.buffer, HEED_ALIGNMENT, HEED_ARG_CACHE);
  if (check.ok()) check.require(is_of_shape(header_of(cache), cache.shape), HEED_CORRUPT, HEED_ARG_CACHE);
  if (!check.ok()) return;
  for (int32_t i = 0; i < cache.shape.n_sequences && check.ok(); i++)
    check.require(is_sound(states_of(cache)[i], cache.shape), HEED_CORRUPT, HEED_ARG_CACHE);
  check.memory(cache.buffer, layout_of(cache.shape).bytes, how, HEED_ARG_CACHE);
}

namespace {

// ---------------------------------------------------------------------------------------------------- in attention

// The shape is that of the call, and every query finds the keys of its window.
void check_in_call(checker &check, const heed_attention &call, const void *object) {
  const auto &cache = object_as<heed_cache>(object);
  const heed_options *options = call.options;
  const heed_cache_shape &s = cache.shape;
  check_contents(check, cache, access::read);
  check.require(s.n_sequences == call.batch_size, HEED_SHAPE_MISMATCH, HEED_ARG_BATCH_SIZE);
  check.require(s.n_kv_heads == call.n_kv_heads, HEED_SHAPE_MISMATCH, HEED_ARG_N_KV_HEADS);
  check.require(s.head_dim == call.head_dim, HEED_SHAPE_MISMATCH, HEED_ARG_HEAD_DIM);
  check.require(s.v_dim == call.v_dim, HEED_SHAPE_MISMATCH, HEED_ARG_V_DIM);
  if (!check.ok()) return;
  const heed_ranges *ranges = options ? options->ranges : nullptr;
  const bool is_whole = !options || !options->partial;  // else n_kv counts the keys of a part
  const int32_t own = s.kind == HEED_CACHE_RING ? s.capacity - 1 : -1;
  for (int32_t b = 0; b < call.batch_size && check.ok(); b++) {
    const cache_state &state = states_of(cache)[b];
    check.require(!is_whole || call.n_kv >= state.length, HEED_SHAPE_MISMATCH, HEED_ARG_N_KV);
    const int32_t from_newest = ranges && ranges->positions ? ranges->positions[b] : call.position;
    int32_t left = -1;
    if (ranges) left = ranges->left_windows ? ranges->left_windows[b] : ranges->left_window;
    const int64_t end = position_of(state),
                  first = first_of_window(end - call.n_q + from_newest, least_window(left, own));
    check.require(holds_tokens(s, state, first, end), HEED_EVICTED, HEED_ARG_N_Q);
    check.require(!ranges || ranges->pinned <= s.pinned || state.oldest == 0, HEED_EVICTED, HEED_ARG_PINNED);
  }
}

void place_cached(const call_rule &rule, stream &s) {
  const size_t heads = static_cast<size_t>(s.batch_entry) * static_cast<size_t>(rule.call->n_kv_heads) +
                       static_cast<size_t>(s.first_head / s.group);
  s.k = {reinterpret_cast<const float *>(rule.cached_keys + heads * rule.cached_head_bytes), s.head_dim};
  s.v = {reinterpret_cast<const float *>(rule.cached_values + heads * rule.cached_head_bytes), s.v_dim};
}

// Where keys and values lie, and the steps of the kernel that read their dtype.
void bind_cache(call_rule &rule, const heed_attention &, const void *object) {
  const auto &cache = object_as<heed_cache>(object);
  const heed_cache_shape &shape = cache.shape;
  const cache_layout l = layout_of(shape);
  const cache_rows first = cache_rows_of(cache, 0, 0);
  const ptrdiff_t of_head = static_cast<ptrdiff_t>(l.head_bytes / sizeof(float));
  storage &at = rule.kept_in;
  rule.stored = &at;
  at.keys_are_rows = false;
  at.key_format = at.value_format = shape.dtype;
  at.pinned_slots = l.pinned_slots;
  at.ring_slots = l.ring_slots;
  at.key_scales = {first.key_scales, shape.n_kv_heads * of_head, of_head, 1};
  at.value_scales = {first.value_scales, shape.n_kv_heads * of_head, of_head, 1};
  rule.cached_keys = first.keys;
  rule.cached_values = first.values;
  rule.cached_head_bytes = l.head_bytes;
  rule.place_cached = place_cached;
  const score_steps *steps = steps_of(rule);
  rule.score_keys = steps->score_stored;
  rule.add = steps->add_stored;
  rule.stored_are_finite = steps->stored_are_finite;
  rule.stored_add_not_hidden = steps->add_visible_stored;
  rule.states = states_of(cache);
  rule.window = shape.capacity - 1;
  rule.has_window = shape.kind == HEED_CACHE_RING;
  rule.ring_pinned = shape.pinned;
  rule.range = range_of_entry;
}

constexpr cache_functions cache_code = {{sizeof(heed_cache), check_in_call, bind_cache, &call_engine},
                                        check_and_append_rows,
                                        check_rows_to_append,
                                        append_rows,
                                        check_tokens,
                                        check_tokens_of_sequence,
                                        check_options_of_tokens};

}  // namespace

// ------------------------------------------------------------------------------------------------------------ life

heed_status check_new_cache(const heed_cache *cache, const heed_cache_shape *shape, heed_memory memory) {
  checker_of<3> check;
  check.buffer(cache, sizeof *cache, 0, alignof(heed_cache), HEED_ARG_CACHE);
  check.object(shape, access::read, HEED_ARG_SHAPE);
  if (check.ok()) check_shape_numbers(check, *shape);
  if (check.ok()) check.room(memory, layout_of(*shape).bytes, HEED_ALIGNMENT, HEED_ARG_MEMORY);
  return check.finish();
}

void make_handle(heed_cache *cache, const heed_cache_shape &shape, void *buffer) {
  *cache = {sizeof *cache, &cache_code.code, shape, buffer};
}

namespace {

// A cache, and one of its sequences.
heed_status check_sequence_index(const heed_cache *cache, int32_t sequence) {
  checker_of<2> check;
  check_cache(check, cache, access::read);
  if (check.ok())
    check.require(sequence >= 0 && sequence < cache->shape.n_sequences, HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE);
  return check.status;
}

}  // namespace
}  // namespace heed

using namespace heed;

size_t heed_cache_bytes(const heed_cache_shape *shape) {
  checker_of<1> check;
  check.object(shape, access::read, HEED_ARG_SHAPE);
  if (check.ok()) check_shape_numbers(check, *shape);
  if (!check.ok()) return 0;
  return layout_of(*shape).bytes;
}

heed_status heed_cache_init(heed_cache *cache, const heed_cache_shape *shape, heed_memory memory) {
  const heed_status status = check_new_cache(cache, shape, memory);
  if (status != HEED_OK) return status;
  make_handle(cache, *shape, memory.data);
  const heed_cache_shape &s = cache->shape;
  __builtin_memset(memory.data, 0, cache_header_bytes + layout_of(s).states);
  header_of(*cache) = {cache_magic,  least_version_of(s), s.kind,  s.capacity, s.pinned, s.spare, s.n_sequences,
                       s.n_kv_heads, s.head_dim,          s.v_dim, s.dtype,    0,        0};
  return HEED_OK;
}

heed_status heed_cache_reset(heed_cache *cache) {
  const heed_status status = check_sequence_index(cache, 0);
  if (status != HEED_OK) return status;
  for (int32_t i = 0; i < cache->shape.n_sequences; i++) states_of(*cache)[i] = {0, 0, 0};
  header_of(*cache).saved = 0;
  return HEED_OK;
}

int64_t heed_cache_length(const heed_cache *cache, int32_t sequence) {
  const heed_status status = check_sequence_index(cache, sequence);
  return status == HEED_OK ? position_of(states_of(*cache)[sequence]) : status;
}

int32_t heed_cache_longest(const heed_cache *cache) {
  const heed_status status = check_sequence_index(cache, 0);
  if (status != HEED_OK) return status;
  int32_t longest = 0;
  for (int32_t i = 0; i < cache->shape.n_sequences; i++)
    if (states_of(*cache)[i].length > longest) longest = states_of(*cache)[i].length;
  return longest;
}

heed_status heed_cache_truncate(heed_cache *cache, int32_t sequence, int64_t length) {
  const heed_status status = check_sequence_index(cache, sequence);
  if (status != HEED_OK) return status;
  const heed_cache_shape &s = cache->shape;
  cache_state &state = states_of(*cache)[sequence];
  if (length < 0 || length > position_of(state)) return HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_LENGTH);
  const int64_t first = s.kind == HEED_CACHE_RING ? first_of_window(length, s.capacity - 1) : 0;
  // Tokens in pinned slots have numbers of their own. Of a window of one token, none of which is needed, no number is left.
  const bool only_pinned = length <= layout_of(s).pinned_slots,
             lost = state.taken_back > 0 && !only_pinned && length < oldest_position(state);
  if (lost || !holds_tokens(s, state, first, length)) return HEED_STATUS(HEED_EVICTED, HEED_ARG_LENGTH);
  if (only_pinned) state.taken_back = 0;
  state.length = static_cast<int32_t>(length - state.taken_back);
  if (state.oldest > state.length) state.oldest = state.length;
  header_of(*cache).saved = 0;
  return HEED_OK;
}
