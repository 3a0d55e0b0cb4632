// New tokens of a cache: keys go to groups of 16 slots, side by side, values to rows.
#include "cache.hpp"
#include "options.hpp"

namespace heed {
namespace {

heed_status check_append(const heed_cache *cache, int32_t sequence, int32_t n, const heed_tensor &k,
                         const heed_tensor &v) {
  checker_of<5> check;
  check_cache(check, cache, access::write);
  if (!check.ok()) return check.status;
  const heed_cache_shape &s = cache->shape;
  check.require(sequence >= 0 && sequence < s.n_sequences, HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE);
  check.count(n, HEED_MAX_COUNT, HEED_ARG_N);
  if (!check.ok()) return check.status;
  check.tensor(k.data, {1, s.n_kv_heads, n}, {0, k.head_stride, k.row_stride}, s.head_dim, access::read, HEED_ARG_K);
  check.tensor(v.data, {1, s.n_kv_heads, n}, {0, v.head_stride, v.row_stride}, s.v_dim, access::read, HEED_ARG_V);
  const int32_t length = states_of(*cache)[sequence].length;
  if (s.kind == HEED_CACHE_LINEAR)
    check.require(n <= s.capacity - length, HEED_FULL, HEED_ARG_CACHE);
  else
    check.require(n <= HEED_MAX_COUNT - length, HEED_OUT_OF_RANGE, HEED_ARG_POSITION);
  return check.finish();
}

}  // namespace
}  // namespace heed

heed_status heed_cache_append(heed_cache *cache, int32_t sequence, int32_t n, heed_tensor k, heed_tensor v,
                              const heed_rope *rope) {
  using namespace heed;
  const heed_status status = check_append(cache, sequence, n, k, v);
  if (status != HEED_OK) return status;
  (void)rope;
  const heed_cache_shape &s = cache->shape;
  const storage at = storage_of(*cache);
  cache_state &state = states_of(*cache)[sequence];
  header_of(*cache).sealed = 0;
  for (int32_t h = 0; h < s.n_kv_heads; h++) {
    const cache_rows rows = rows_of(*cache, sequence, h);
    for (int32_t t = 0; t < n; t++) {
      const ptrdiff_t slot = at.slot_of(state.length + t);
      const float *key = k.data + h * k.head_stride + t * k.row_stride;
      float *to = reinterpret_cast<float *>(rows.keys) + slot / 16 * 16 * s.head_dim + slot % 16;
      for (int32_t i = 0; i < s.head_dim; i++) to[i * 16] = key[i];
      __builtin_memcpy(rows.values + slot * s.v_dim * 4, v.data + h * v.head_stride + t * v.row_stride,
                       static_cast<size_t>(s.v_dim) * 4);
    }
  }
  state.length += n;
  const int32_t gone = state.length - at.ring_slots;
  if (gone > at.pinned_slots && gone > state.oldest) state.oldest = gone;
  return HEED_OK;
}
