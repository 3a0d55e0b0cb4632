// Caches of integers that were saved: with a checksum, loaded on a machine of either byte order.
#include "../checks/checksum.hpp"
#include "int_cache.hpp"

namespace heed {
namespace {

constexpr size_t int_header_words = sizeof(int_cache_header) / 4,
                 int_checksum_at = offsetof(int_cache_header, checksum);

// A saved cache of that shape, in either byte order?
bool is_intact_int_cache(const heed_int_cache_shape &shape, const void *buffer, bool &swapped) {
  int_cache_header h;
  __builtin_memcpy(&h, buffer, sizeof h);
  swapped = h.magic == __builtin_bswap32(int_cache_magic);
  if (swapped) swap_bytes(&h, int_header_words, 4);
  return is_of_int_shape(h, shape) && h.saved == 1 &&
         h.checksum == checksum_of(buffer, int_cache_bytes_of(shape), int_checksum_at);
}

void mark_saved(const heed_int_cache &cache) {
  int_header_of(cache).saved = 1;
  int_header_of(cache).checksum = checksum_of(cache.buffer, int_cache_bytes_of(cache.shape), int_checksum_at);
}

}  // namespace
}  // namespace heed

using namespace heed;

heed_status heed_int_cache_save(heed_int_cache *cache) {
  checker_of<2> check;
  check_int_cache(check, cache, access::read);
  if (check.ok()) mark_saved(*cache);
  return check.status;
}

heed_status heed_int_cache_load(heed_int_cache *cache, const heed_int_cache_shape *shape, heed_memory memory) {
  const heed_status status = check_new_int_cache(cache, shape, memory);
  if (status != HEED_OK) return status;
  bool swapped;
  if (!is_intact_int_cache(*shape, memory.data, swapped)) return HEED_STATUS(HEED_CORRUPT, HEED_ARG_MEMORY);
  make_int_handle(cache, *shape, memory.data);
  if (!swapped) return HEED_OK;
  swap_bytes(memory.data, int_header_words, 4);
  swap_states(int_states_of(*cache), shape->n_sequences);
  mark_saved(*cache);
  return HEED_OK;
}
