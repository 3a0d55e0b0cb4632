// Of memory that is saved: a checksum, and the other byte order.
#ifndef HEED_CHECKSUM_HPP
#define HEED_CHECKSUM_HPP

#include <stddef.h>
#include <stdint.h>

#include "cache_state.hpp"

namespace heed {
namespace {

// CRC-32 (IEEE 802.3), 4 bits at a time.
inline uint32_t add_to_checksum(uint32_t sum, const unsigned char *p, size_t n) {
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

// Of all bytes but the checksum's own four, which begin at `own`.
inline uint32_t checksum_of(const void *buffer, size_t bytes, size_t own) {
  const auto *p = static_cast<const unsigned char *>(buffer);
  return ~add_to_checksum(add_to_checksum(~0u, p, own), p + own + 4, bytes - own - 4);
}

// Turns n numbers of `bytes` bytes each to the other byte order.
inline void swap_bytes(void *p, size_t n, size_t bytes) {
  auto *x = static_cast<unsigned char *>(p);
  for (size_t i = 0; i < n; i++, x += bytes)
    for (size_t j = 0; j < bytes / 2; j++) {
      const unsigned char t = x[j];
      x[j] = x[bytes - 1 - j];
      x[bytes - 1 - j] = t;
    }
}

inline void swap_states(cache_state *states, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    swap_bytes(&states[i].length, 2, 4);
    swap_bytes(&states[i].taken_back, 1, 8);
  }
}

}  // namespace
}  // namespace heed

#endif
