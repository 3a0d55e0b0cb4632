// Rings that have run for months: numbers of keys that end soon are written into their memory, in which a key has the
// number that it would have had. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_AGED_HPP
#define HEED_TESTS_SUPPORT_AGED_HPP

#include <cstring>

#include "heed/heed.h"

namespace heed_test {

// What lies in the memory of a cache, behind its header, for each sequence.
struct key_numbers {
  int32_t length, oldest;
  int64_t taken_back;
};
constexpr size_t behind_header = 128, behind_int_header = 64;

inline key_numbers numbers_in(const void *memory, size_t header, int32_t sequence) {
  key_numbers n;
  std::memcpy(&n, static_cast<const char *>(memory) + header + sizeof n * static_cast<size_t>(sequence), sizeof n);
  return n;
}
inline void write_numbers(void *memory, size_t header, int32_t sequence, const key_numbers &n) {
  std::memcpy(static_cast<char *>(memory) + header + sizeof n * static_cast<size_t>(sequence), &n, sizeof n);
}

// The least common multiple of a ring's slots and of what keys are aligned to.
inline int32_t period_of(int32_t slots, int32_t aligned) {
  int32_t period = slots;
  while (period % aligned != 0) period += slots;
  return period;
}
// Slots of a ring of floats that are used again and again.
inline int32_t ring_slots_of(const heed_cache_shape &s) { return (s.capacity + s.spare + 63) / 64 * 64; }

// As if a multiple of the period, up to `most` in all, had been appended besides. Returns how many tokens that are.
inline int32_t age(void *memory, size_t header, int32_t sequence, int32_t period, int32_t most) {
  key_numbers n = numbers_in(memory, header, sequence);
  const int32_t more = (most - n.length) / period * period;
  n.length += more, n.oldest += more;
  write_numbers(memory, header, sequence, n);
  return more;
}

}  // namespace heed_test

#endif
