// Snapshots of caches, byte by byte, by a description of their own. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_SNAPSHOTS_HPP
#define HEED_TESTS_SUPPORT_SNAPSHOTS_HPP

#include <algorithm>
#include <cstring>
#include <vector>

#include "heed/heed.h"

namespace heed_test {

// The header: 32-bit words, of which the 12th says that the cache is saved and the 13th is the checksum of all other
// bytes, CRC-32 as in zip files and PNG.
constexpr size_t checksum_at = 48, cache_header = 128;

inline uint32_t crc_32(const std::vector<unsigned char> &bytes) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i >= checksum_at && i < checksum_at + 4) continue;
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  return ~crc;
}
inline bool is_saved_snapshot(const std::vector<unsigned char> &bytes) {
  uint32_t words[2];
  std::memcpy(words, &bytes[checksum_at - 4], 8);
  return words[0] == 1 && words[1] == crc_32(bytes);
}

// What a machine of the other byte order would have written.
inline std::vector<unsigned char> in_other_byte_order(const heed_cache_shape &s, std::vector<unsigned char> bytes) {
  size_t at = 0;
  const auto turn = [&](size_t count, size_t size) {
    for (; count > 0; --count, at += size)
      std::reverse(bytes.begin() + ptrdiff_t(at), bytes.begin() + ptrdiff_t(at + size));
  };
  const size_t slots = HEED_CACHE_SLOTS(s.pinned) + HEED_CACHE_SLOTS(s.capacity + s.spare),
               size = HEED_DTYPE_BYTES(s.dtype);
  turn(cache_header / 4, 4);
  for (int32_t i = 0; i < s.n_sequences; ++i) turn(2, 4), turn(1, 8);  // numbers of keys; what was taken from them
  at = (at + 63) / 64 * 64;
  for (int32_t i = 0; i < s.n_sequences * s.n_kv_heads; ++i) {
    turn(slots * (size_t(s.head_dim) + size_t(s.v_dim)), size);
    if (s.dtype == HEED_INT8) turn(slots * 2, 4);
  }
  const uint32_t crc = crc_32(bytes);
  std::memcpy(&bytes[checksum_at], &crc, 4);
  std::reverse(bytes.begin() + checksum_at, bytes.begin() + checksum_at + 4);
  return bytes;
}

}  // namespace heed_test

#endif
