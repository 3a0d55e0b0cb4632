// Caches of keys and values: their life, and how a call of attention reads one.
#include "cache.hpp"
#include "call_rule.hpp"
#include "ranges.hpp"

namespace heed {

cache_layout layout_of(const heed_cache_shape &s) {
  cache_layout l = {};
  const auto round = [](int64_t n) { return static_cast<int32_t>((n + block_keys - 1) / block_keys * block_keys); };
  l.pinned_slots = round(s.pinned);
  l.ring_slots = round(static_cast<int64_t>(s.capacity) + s.spare);
  l.states = (static_cast<size_t>(s.n_sequences) * sizeof(cache_state) + 63) / 64 * 64;
  const size_t slots = static_cast<size_t>(l.pinned_slots) + static_cast<size_t>(l.ring_slots);
  const size_t element = HEED_FORMAT_BYTES(s.format), heads = static_cast<size_t>(s.n_kv_heads);
  size_t all;
  const bool overflow = __builtin_mul_overflow(slots, static_cast<size_t>(s.head_dim) * element, &l.key_bytes) ||
                        __builtin_mul_overflow(slots, static_cast<size_t>(s.v_dim) * element, &l.value_bytes) ||
                        __builtin_mul_overflow(slots, s.format == HEED_INT8 ? 4 : 0, &l.scale_bytes) ||
                        __builtin_add_overflow(l.key_bytes, l.value_bytes, &l.head_bytes) ||
                        __builtin_add_overflow(l.head_bytes, 2 * l.scale_bytes, &l.head_bytes) ||
                        __builtin_mul_overflow(l.head_bytes, heads, &all) ||
                        __builtin_mul_overflow(all, static_cast<size_t>(s.n_sequences), &all) ||
                        __builtin_add_overflow(all, cache_header_bytes + l.states, &all);
  l.bytes = overflow || slots > INT32_MAX || all > PTRDIFF_MAX ? 0 : all;
  return l;
}

storage storage_of(const heed_cache &cache) {
  const cache_layout l = layout_of(cache.shape);
  storage at = {};
  at.key_format = at.value_format = cache.shape.format;
  at.pinned_slots = l.pinned_slots;
  at.ring_slots = l.ring_slots;
  return at;
}

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

void check_numbers(checker &check, const heed_cache_shape &s) {
  check.require(s.kind == HEED_CACHE_LINEAR || s.kind == HEED_CACHE_RING, HEED_OUT_OF_RANGE, HEED_ARG_KIND);
  check.count(s.capacity, HEED_MAX_COUNT, HEED_ARG_CAPACITY);
  check.require(s.pinned >= 0 && s.pinned <= HEED_MAX_COUNT / 2, HEED_OUT_OF_RANGE, HEED_ARG_PINNED);
  check.require(s.spare >= 0 && s.spare <= HEED_MAX_COUNT / 2, HEED_OUT_OF_RANGE, HEED_ARG_SPARE);
  check.require(s.kind == HEED_CACHE_RING || s.pinned == 0, HEED_MISFIT, HEED_ARG_PINNED);
  check.require(s.kind == HEED_CACHE_RING || s.spare == 0, HEED_MISFIT, HEED_ARG_SPARE);
  check.count(s.n_sequences, HEED_MAX_COUNT, HEED_ARG_N_SEQUENCES);
  check.count(s.n_kv_heads, HEED_MAX_DIM, HEED_ARG_N_KV_HEADS);
  check.count(s.head_dim, HEED_MAX_DIM, HEED_ARG_HEAD_DIM);
  check.count(s.v_dim, HEED_MAX_DIM, HEED_ARG_V_DIM);
  check.require(s.format >= HEED_F32 && s.format <= HEED_INT8, HEED_OUT_OF_RANGE, HEED_ARG_FORMAT);
  if (check.ok()) check.require(layout_of(s).bytes > 0, HEED_OVERFLOW, HEED_ARG_SHAPE);
}

bool is_of_shape(const cache_header &h, const heed_cache_shape &s) {
  return h.magic == cache_magic && h.version == cache_version && h.kind == s.kind && h.capacity == s.capacity &&
         h.pinned == s.pinned && h.spare == s.spare && h.n_sequences == s.n_sequences && h.n_kv_heads == s.n_kv_heads &&
         h.head_dim == s.head_dim && h.v_dim == s.v_dim && h.format == s.format;
}

bool is_sound(const cache_state &state, const heed_cache_shape &s) {
  return state.length >= 0 && state.length <= (s.kind == HEED_CACHE_LINEAR ? s.capacity : HEED_MAX_COUNT) &&
         state.oldest >= 0 && state.oldest <= state.length;
}

// The first key that a query at that position sees, but for pinned ones.
int32_t first_of_window(int64_t position, int32_t left) {
  const int64_t first = left < 0 ? 0 : position - left;
  return first < 0 ? 0 : first > HEED_MAX_COUNT ? HEED_MAX_COUNT : static_cast<int32_t>(first);
}

// Are the keys [first, end) of a sequence still there? Pinned ones are.
bool holds(const heed_cache_shape &s, const cache_state &state, int32_t first, int32_t end) {
  const int32_t pinned_slots = layout_of(s).pinned_slots, needed = first > pinned_slots ? first : pinned_slots;
  return state.oldest <= needed || end <= needed;
}

}  // namespace

void check_cache(checker &check, const heed_cache *cache, access how) {
  check.pointer(cache, alignof(heed_cache), HEED_ARG_CACHE);
  check_object(check, cache, how, HEED_ARG_CACHE);
  if (!check.ok()) return;
  check.pointer(cache->buffer, HEED_CACHE_ALIGNMENT, HEED_ARG_CACHE);
  if (check.ok()) check.require(is_of_shape(header_of(*cache), cache->shape), HEED_DAMAGED, HEED_ARG_CACHE);
  if (!check.ok()) return;
  for (int32_t i = 0; i < cache->shape.n_sequences && check.ok(); i++)
    check.require(is_sound(states_of(*cache)[i], cache->shape), HEED_DAMAGED, HEED_ARG_CACHE);
  check.memory(cache->buffer, layout_of(cache->shape).bytes, how, HEED_ARG_CACHE);
}

namespace {

// ---------------------------------------------------------------------------------------------------- in attention

int32_t length_of(const call_rule &rule, int32_t sequence) { return states_of(*rule.cache)[sequence].length; }

void check_in_call(checker &check, const heed_attention &call, const void *object) {
  const auto &cache = as<heed_cache>(object);
  const heed_options &options = *options_of(call);
  const heed_cache_shape &s = cache.shape;
  check_cache(check, &cache, access::read);
  check.require(s.n_sequences == call.batch, HEED_MISFIT, HEED_ARG_BATCH);
  check.require(s.n_kv_heads == call.n_kv_heads, HEED_MISFIT, HEED_ARG_N_KV_HEADS);
  check.require(s.head_dim == call.head_dim, HEED_MISFIT, HEED_ARG_HEAD_DIM);
  check.require(s.v_dim == call.v_dim, HEED_MISFIT, HEED_ARG_V_DIM);
  if (!check.ok()) return;
  const heed_ranges *ranges = options.ranges;
  const int32_t own = s.kind == HEED_CACHE_RING ? s.capacity - 1 : -1;
  for (int32_t b = 0; b < call.batch && check.ok(); b++) {
    const cache_state &state = states_of(cache)[b];
    check.require(options.partial || call.n_kv >= state.length, HEED_MISFIT, HEED_ARG_N_KV);
    const int32_t offset = ranges && ranges->offsets ? ranges->offsets[b] : call.causal_offset;
    const int32_t left = !ranges ? -1 : ranges->left_windows ? ranges->left_windows[b] : ranges->left_window;
    const int64_t position = static_cast<int64_t>(state.length) - call.n_q + offset;
    const int32_t first = first_of_window(position, least_window(left, own));
    check.require(holds(s, state, first, state.length), HEED_MISFIT, HEED_ARG_N_Q);
    check.require(!ranges || ranges->pinned <= s.pinned || state.oldest == 0, HEED_MISFIT, HEED_ARG_PINNED);
  }
}

// A stream's keys and values.
void place(const call_rule &rule, stream &s) {
  const cache_rows rows = cache_rows_of(*rule.cache, s.batch_entry, s.first_head / s.group);
  s.k = {reinterpret_cast<const float *>(rows.keys), s.head_dim};
  s.v = {reinterpret_cast<const float *>(rows.values), s.v_dim};
}

void bind_cache(call_rule &rule, const heed_attention &, const void *object) {
  const auto &cache = as<heed_cache>(object);
  rule.cache = &cache;
  rule.kept_in = storage_of(cache);
  rule.kept_in.first_key = rule.first_key;
  const cache_rows first = cache_rows_of(cache, 0, 0);
  const ptrdiff_t of_head = static_cast<ptrdiff_t>(layout_of(cache.shape).head_bytes / sizeof(float));
  rule.kept_in.key_scales = {first.key_scales, cache.shape.n_kv_heads * of_head, of_head, 1};
  rule.kept_in.value_scales = {first.value_scales, cache.shape.n_kv_heads * of_head, of_head, 1};
  rule.stored = &rule.kept_in;
  rule.score = steps_of(rule)->score_stored;
  rule.add = steps_of(rule)->add_stored;
  rule.values_are_finite = steps_of(rule)->stored_are_finite;  // for a mask, if there is one
  rule.add_not_hidden = steps_of(rule)->add_visible_stored;
  rule.length = length_of;
  rule.place = place;
  if (cache.shape.kind == HEED_CACHE_RING) rule.window = cache.shape.capacity - 1;
  if (cache.shape.pinned > rule.pinned) rule.pinned = cache.shape.pinned;
  if (!rule.range) rule.range = range_of_entry;
}

constexpr cache_functions cache_code = {
    {sizeof(heed_cache), check_in_call, bind_cache, &call_engine}, append_rows, check_room};

// ------------------------------------------------------------------------------------------------------- snapshots

// CRC-32 (IEEE 802.3), 4 bits at a time.
uint32_t add_to_checksum(uint32_t sum, const unsigned char *p, size_t n) {
  static constexpr uint32_t of_nibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                             0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                             0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  for (size_t i = 0; i < n; i++) {
    sum ^= p[i];
    sum = sum >> 4 ^ of_nibble[sum & 15];
    sum = sum >> 4 ^ of_nibble[sum & 15];
  }
  return sum;
}

// Of all bytes but the checksum's own.
uint32_t checksum_of(const void *buffer, size_t bytes) {
  const auto *p = static_cast<const unsigned char *>(buffer);
  constexpr size_t own = offsetof(cache_header, checksum);
  return ~add_to_checksum(add_to_checksum(~0u, p, own), p + own + 4, bytes - own - 4);
}

// Turns n numbers of `bytes` bytes each to the other byte order.
void swap_bytes(void *p, size_t n, size_t bytes) {
  auto *x = static_cast<unsigned char *>(p);
  for (size_t i = 0; i < n; i++, x += bytes)
    for (size_t j = 0; j < bytes / 2; j++) {
      const unsigned char t = x[j];
      x[j] = x[bytes - 1 - j];
      x[bytes - 1 - j] = t;
    }
}

constexpr size_t header_words = sizeof(cache_header) / 4;

// A sealed cache of that shape, in either byte order?
bool is_intact(const heed_cache_shape &shape, void *buffer, bool &swapped) {
  cache_header h;
  __builtin_memcpy(&h, buffer, sizeof h);
  swapped = h.magic == __builtin_bswap32(cache_magic);
  if (swapped) swap_bytes(&h, header_words, 4);
  return is_of_shape(h, shape) && h.sealed == 1 && h.checksum == checksum_of(buffer, layout_of(shape).bytes);
}

void swap_all(const heed_cache &cache) {
  const heed_cache_shape &s = cache.shape;
  const cache_layout l = layout_of(s);
  swap_bytes(cache.buffer, header_words, 4);
  swap_bytes(states_of(cache), static_cast<size_t>(s.n_sequences) * 2, 4);
  const size_t element = HEED_FORMAT_BYTES(s.format);
  for (int32_t b = 0; b < s.n_sequences; b++)
    for (int32_t h = 0; h < s.n_kv_heads; h++) {
      const cache_rows rows = cache_rows_of(cache, b, h);
      swap_bytes(rows.keys, (l.key_bytes + l.value_bytes) / element, element);
      swap_bytes(rows.key_scales, 2 * l.scale_bytes / 4, 4);
    }
}

heed_status check_init(heed_cache *cache, const heed_cache_shape *shape, void *buffer, size_t buffer_bytes) {
  checker_of<3> check;
  check.buffer(cache, sizeof *cache, 0, alignof(heed_cache), HEED_ARG_CACHE);
  check.object(shape, access::read, HEED_ARG_SHAPE);
  if (check.ok()) check_numbers(check, *shape);
  if (check.ok()) check.buffer(buffer, buffer_bytes, layout_of(*shape).bytes, HEED_CACHE_ALIGNMENT, HEED_ARG_BUFFER);
  return check.finish();
}

void make_handle(heed_cache *cache, const heed_cache_shape &shape, void *buffer) {
  const heed_cache_shape copy = shape;  // which may lie in the handle's own memory
  *cache = {};
  cache->struct_size = sizeof *cache;
  cache->code = &cache_code;
  cache->shape = copy;
  cache->buffer = buffer;
}

void empty(const heed_cache &cache) {
  for (int32_t i = 0; i < cache.shape.n_sequences; i++) states_of(cache)[i] = {0, 0};
  header_of(cache).sealed = 0;
}

// A cache that is to be changed, and one of its sequences.
heed_status check_sequence(const heed_cache *cache, int32_t sequence) {
  checker_of<3> check;
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
  if (check.ok()) check_numbers(check, *shape);
  return check.ok() ? layout_of(*shape).bytes : 0;
}

heed_status heed_cache_init(heed_cache *cache, const heed_cache_shape *shape, void *buffer, size_t buffer_bytes) {
  const heed_status status = check_init(cache, shape, buffer, buffer_bytes);
  if (status != HEED_OK) return status;
  make_handle(cache, *shape, buffer);
  const heed_cache_shape &s = cache->shape;
  __builtin_memset(buffer, 0, cache_header_bytes + layout_of(s).states);
  header_of(*cache) = {cache_magic,  cache_version, s.kind,  s.capacity, s.pinned, s.spare, s.n_sequences,
                       s.n_kv_heads, s.head_dim,    s.v_dim, s.format,   0,        0};
  return HEED_OK;
}

heed_status heed_cache_open(heed_cache *cache, const heed_cache_shape *shape, void *buffer, size_t buffer_bytes) {
  heed_status status = check_init(cache, shape, buffer, buffer_bytes);
  if (status != HEED_OK) return status;
  bool swapped;
  if (!is_intact(*shape, buffer, swapped)) return HEED_STATUS(HEED_DAMAGED, HEED_ARG_BUFFER);
  make_handle(cache, *shape, buffer);
  if (swapped) {
    swap_all(*cache);
    header_of(*cache).checksum = checksum_of(buffer, layout_of(*shape).bytes);
  }
  return HEED_OK;
}

heed_status heed_cache_seal(heed_cache *cache) {
  const heed_status status = check_sequence(cache, 0);
  if (status != HEED_OK) return status;
  header_of(*cache).sealed = 1;
  header_of(*cache).checksum = checksum_of(cache->buffer, layout_of(cache->shape).bytes);
  return HEED_OK;
}

heed_status heed_cache_reset(heed_cache *cache) {
  const heed_status status = check_sequence(cache, 0);
  if (status == HEED_OK) empty(*cache);
  return status;
}

int32_t heed_cache_length(const heed_cache *cache, int32_t sequence) {
  const heed_status status = check_sequence(cache, sequence);
  return status == HEED_OK ? states_of(*cache)[sequence].length : status;
}

heed_status heed_cache_truncate(heed_cache *cache, int32_t sequence, int32_t length) {
  const heed_status status = check_sequence(cache, sequence);
  if (status != HEED_OK) return status;
  const heed_cache_shape &s = cache->shape;
  cache_state &state = states_of(*cache)[sequence];
  if (length < 0 || length > state.length) return HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_LENGTH);
  const int32_t first = s.kind == HEED_CACHE_RING ? first_of_window(length, s.capacity - 1) : 0;
  if (!holds(s, state, first, length)) return HEED_STATUS(HEED_MISFIT, HEED_ARG_LENGTH);
  state.length = length;
  if (state.oldest > length) state.oldest = length;
  header_of(*cache).sealed = 0;
  return HEED_OK;
}
