// Caches that were saved: with a checksum, loaded on a machine of either byte order.
#include "../checks/checksum.hpp"
#include "cache.hpp"

namespace heed {
namespace {

constexpr size_t header_words = sizeof(cache_header) / 4, checksum_at = offsetof(cache_header, checksum);

// A saved cache of that shape, in either byte order?
bool is_intact(const heed_cache_shape &shape, const void *buffer, bool &swapped) {
  cache_header h;
  __builtin_memcpy(&h, buffer, sizeof h);
  swapped = h.magic == __builtin_bswap32(cache_magic);
  if (swapped) swap_bytes(&h, header_words, 4);
  return is_of_shape(h, shape) && h.saved == 1 &&
         h.checksum == checksum_of(buffer, layout_of(shape).bytes, checksum_at);
}

void swap_all(const heed_cache &cache) {
  const heed_cache_shape &s = cache.shape;
  const cache_layout l = layout_of(s);
  swap_bytes(cache.buffer, header_words, 4);
  swap_states(states_of(cache), s.n_sequences);
  const size_t element = HEED_DTYPE_BYTES(s.dtype);
  for (int32_t b = 0; b < s.n_sequences; b++)
    for (int32_t h = 0; h < s.n_kv_heads; h++) {
      const cache_rows rows = cache_rows_of(cache, b, h);
      swap_bytes(rows.keys, (l.key_bytes + l.value_bytes) / element, element);
      swap_bytes(rows.key_scales, 2 * l.scale_bytes / 4, 4);
    }
}

}  // namespace
}  // namespace heed

using namespace heed;

heed_status heed_cache_save(heed_cache *cache) {
  checker_of<2> check;
  check_cache(check, cache, access::read);
  if (!check.ok()) return check.status;
  if (states_of(*cache)->taken_back != 0) header_of(*cache).version = cache_version;
  header_of(*cache).saved = 1;
  header_of(*cache).checksum = checksum_of(cache->buffer, layout_of(cache->shape).bytes, checksum_at);
  return HEED_OK;
}

heed_status heed_cache_load(heed_cache *cache, const heed_cache_shape *shape, heed_memory memory) {
  const heed_status status = check_new_cache(cache, shape, memory);
  if (status != HEED_OK) return status;
  bool swapped;
  if (!is_intact(*shape, memory.data, swapped)) return HEED_STATUS(HEED_CORRUPT, HEED_ARG_MEMORY);
  make_handle(cache, *shape, memory.data);
  if (swapped) {
    swap_all(*cache);
    header_of(*cache).checksum = checksum_of(memory.data, layout_of(*shape).bytes, checksum_at);
  }
  return HEED_OK;
}
