// What caches of floats and of integers know of a sequence, and how a ring that never ends numbers its keys.
#ifndef HEED_CACHE_STATE_HPP
#define HEED_CACHE_STATE_HPP

#include "../kernel_contract/counts.hpp"
#include "heed/types.h"

namespace heed {

// A key has a number, which says where it lies and which columns of masks and scores are its own, and a position, by which
// it is rotated. Both are the same until a ring numbers its keys anew: then positions go on, and numbers begin again.
struct cache_state {
  int32_t length, oldest;  // the next token's number, and that of the oldest token that a ring still has
  int64_t taken_back;      // positions less numbers, but for pinned tokens, whose numbers stay
};

inline int64_t position_of(const cache_state &state) { return state.taken_back + state.length; }
inline int64_t oldest_position(const cache_state &state) { return state.taken_back + state.oldest; }

constexpr int64_t most_taken_back = static_cast<int64_t>(1)
                                    << 61;  // so many tokens take 700 million years at 100 a second

// Slots that are used again and again, those before them, and to how many keys sums are aligned: a power of two.
struct ring_shape {
  int32_t slots, pinned_slots, aligned;
};

// So much may be taken from the numbers of a ring's keys: a multiple of its slots, so that keys stay where they are, and
// of what sums are aligned to, so that no bit changes. Behind the pinned keys a gap is left, as before.
inline int32_t surplus_of(const cache_state &state, const ring_shape &ring) {
  int64_t step = ring.slots;
  while (step & (ring.aligned - 1)) step *= 2;
  const int32_t kept = state.length - ring.slots, oldest = larger_of(kept, state.oldest);
  const int64_t most = static_cast<int64_t>(oldest) - ring.pinned_slots - 1;
  if (most < step) return 0;
  return static_cast<int32_t>(static_cast<uint32_t>(most) / static_cast<uint32_t>(step) * static_cast<uint32_t>(step));
}

constexpr int32_t most_numbers = HEED_MAX_COUNT;

// After an append, so that the next one has numbers for half as many tokens.
inline void renumber(cache_state &state, const ring_shape &ring) {
  if (state.length <= most_numbers / 2) return;
  const int32_t surplus = surplus_of(state, ring);
  state.length -= surplus;
  state.oldest -= surplus;
  state.taken_back += surplus;
}

}  // namespace heed

#endif
