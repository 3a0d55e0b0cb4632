// New tokens of a cache of integers.
#include "int_cache.hpp"

namespace heed {

void check_int_room(checker &check, const heed_int_cache &cache, int32_t sequence, int32_t n) {
  const heed_int_cache_shape &s = cache.shape;
  if (is_ring(s))
    check.require(n <= s.capacity + s.spare, HEED_TOO_MANY_ROWS, HEED_ARG_N);
  else
    check.require(n <= s.capacity - int_states_of(cache)[sequence].length, HEED_FULL, HEED_ARG_CACHE);
}

// Everything that append checks before it writes, of bytes or of floats that become bytes.
void check_int_append(checker &check, const heed_int_cache *cache, int32_t sequence, const new_rows &k,
                      const new_rows &v, int32_t n, size_t number_bytes) {
  check_int_cache(check, cache, access::write);
  if (!check.ok()) return;
  check.require(sequence >= 0 && sequence < cache->shape.n_sequences, HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE);
  check.count(n, HEED_MAX_COUNT, HEED_ARG_N);
  if (!check.ok()) return;
  check_int_room(check, *cache, sequence, n);
  for (int32_t i = 0; i < 2; i++) {
    const bool keys = i == 0;
    const new_rows &rows = keys ? k : v;
    const int32_t dim = keys ? cache->shape.head_dim : cache->shape.v_dim;
    const heed_argument argument = keys ? HEED_ARG_K : HEED_ARG_V;
    check.tensor(rows.data, {1, cache->shape.n_kv_heads, n}, {0, rows.head_stride, rows.row_stride}, dim, access::read,
                 argument, number_bytes);
  }
}

void write_bytes(const new_rows &rows, ptrdiff_t at, int32_t, int32_t dim, int8_t *to) {
  __builtin_memcpy(to, static_cast<const int8_t *>(rows.data) + at, static_cast<size_t>(dim));
}

// Tokens begin at the slot behind the last one. A ring goes on at slot 0.
void store_rows(const heed_int_cache &cache, int32_t sequence, int32_t begin, int32_t n, const new_rows &k,
                const new_rows &v, write_row write) {
  const heed_int_cache_shape &s = cache.shape;
  const uint32_t slots = static_cast<uint32_t>(int_slots_of(s)),
                 first = static_cast<uint32_t>(int_states_of(cache)[sequence].length + begin) % slots;
  for (int32_t h = 0; h < s.n_kv_heads; h++) {
    const int_cache_rows rows = int_cache_rows_of(cache, sequence, h);
    uint32_t slot = first;
    for (int32_t t = 0; t < n; t++) {
      write(k, h * k.head_stride + t * k.row_stride, h, s.head_dim, rows.k + static_cast<ptrdiff_t>(slot) * s.head_dim);
      write(v, h * v.head_stride + t * v.row_stride, h, s.v_dim, rows.v + static_cast<ptrdiff_t>(slot) * s.v_dim);
      if (++slot == slots) slot = 0;
    }
  }
}

// Tokens that lie in slots that were written over are gone.
void count_int_tokens(const heed_int_cache &cache, int32_t sequence, int32_t n) {
  cache_state &state = int_states_of(cache)[sequence];
  state.length += n;
  const int32_t gone = state.length - int_slots_of(cache.shape);
  if (gone > state.oldest) state.oldest = gone;
  if (is_ring(cache.shape)) renumber(state, int_ring_of(cache.shape));
  int_header_of(cache).saved = 0;
}

}  // namespace heed

using namespace heed;

heed_status heed_int_cache_append(heed_int_cache *cache, int32_t sequence, heed_int_tensor k, heed_int_tensor v,
                                  int32_t n) {
  const new_rows of_k = new_rows_of(k, nullptr, 0), of_v = new_rows_of(v, nullptr, 0);
  checker_of<4> check;
  check_int_append(check, cache, sequence, of_k, of_v, n, 1);
  if (!check.ok()) return check.status;
  const heed_int_cache_shape &s = cache->shape;
  check.require(k.zero_point == s.k_zero, HEED_SHAPE_MISMATCH, HEED_ARG_K);
  check.require(v.zero_point == s.v_zero, HEED_SHAPE_MISMATCH, HEED_ARG_V);
  const heed_status status = check.finish();
  if (status != HEED_OK) return status;
  store_rows(*cache, sequence, 0, n, of_k, of_v, write_bytes);
  count_int_tokens(*cache, sequence, n);
  return HEED_OK;
}
