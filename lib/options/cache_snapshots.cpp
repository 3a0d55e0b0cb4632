// Caches that were saved: sealed by a checksum, opened on a machine of either byte order.
#include "cache.hpp"

namespace heed {
namespace {

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
bool is_intact(const heed_cache_shape &shape, const void *buffer, bool &swapped) {
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

}  // namespace
}  // namespace heed

using namespace heed;

heed_status heed_cache_seal(heed_cache *cache) {
  checker_of<2> check;
  check_cache(check, cache, access::read);
  if (!check.ok()) return check.status;
  header_of(*cache).sealed = 1;
  header_of(*cache).checksum = checksum_of(cache->buffer, layout_of(cache->shape).bytes);
  return HEED_OK;
}

heed_status heed_cache_open(heed_cache *cache, const heed_cache_shape *shape, heed_memory memory) {
  const heed_status status = check_new_cache(cache, shape, memory);
  if (status != HEED_OK) return status;
  bool swapped;
  if (!is_intact(*shape, memory.data, swapped)) return HEED_STATUS(HEED_DAMAGED, HEED_ARG_MEMORY);
  make_handle(cache, *shape, memory.data);
  if (swapped) {
    swap_all(*cache);
    header_of(*cache).checksum = checksum_of(memory.data, layout_of(*shape).bytes);
  }
  return HEED_OK;
}
