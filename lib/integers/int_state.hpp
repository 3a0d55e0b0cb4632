// I7: the state of a row, an element of a commutative monoid: merging is exact, in any order and any grouping.
#ifndef HEED_INT_STATE_HPP
#define HEED_INT_STATE_HPP

#include "../kernel_contract/integers.hpp"

namespace heed {
namespace {

// Words of 64 bits: the greatest bin; top and low of the sum of p; top of v_dim sums, then low. Top is the sum over all
// blocks of that bin, low that of the bin below.
struct int_state {
  int64_t *words;
  int32_t v_dim;

  int32_t bin() const { return static_cast<int32_t>(words[0]); }
  int64_t *top_l() const { return words + 1; }
  int64_t *low_l() const { return words + 2; }
  int64_t *top() const { return words + 3; }
  int64_t *low() const { return words + 3 + v_dim; }
  void clear() const {
    __builtin_memset(words, 0, (3 + 2 * static_cast<size_t>(v_dim)) * sizeof(int64_t));
    words[0] = int_no_bin;
  }
};
constexpr size_t int_state_words(int32_t v_dim) { return 3 + 2 * static_cast<size_t>(v_dim); }

// The bin of an octave, rounded down.
inline int32_t int_bin_of(int32_t r) {
  constexpr uint32_t zero = 0x80000010u;  // a multiple of 24, so that nothing is negative; |r| is below 2^31 - 16
  return static_cast<int32_t>((static_cast<uint32_t>(r) + zero) / int_bin - zero / int_bin);
}

// Room for a bin. How far it is below the greatest: 0, 1, or more, which is too far to count.
inline uint32_t open_bin(const int_state &s, int32_t bin) {
  if (bin > s.bin()) {
    const size_t bytes = static_cast<size_t>(s.v_dim) * sizeof(int64_t);
    if (bin == s.bin() + 1) {
      *s.low_l() = *s.top_l();
      __builtin_memcpy(s.low(), s.top(), bytes);
    } else {
      *s.low_l() = 0;
      __builtin_memset(s.low(), 0, bytes);
    }
    *s.top_l() = 0;
    __builtin_memset(s.top(), 0, bytes);
    s.words[0] = bin;
  }
  return static_cast<uint32_t>(s.bin()) - static_cast<uint32_t>(bin);
}

// A block of octave r, whose sum of p is l.
template <class K>
void add_block_to_state(K k, const int_state &s, int32_t r, int32_t l, const int32_t *sums) {
  const int32_t bin = int_bin_of(r), shift = r - bin * int_bin;
  const uint32_t below = open_bin(s, bin);
  if (below > 1) return;
  int64_t *const sum = below == 0 ? s.top_l() : s.low_l();
  *sum += static_cast<int64_t>(l) << shift;
  int64_t *const into_bin = below == 0 ? s.top() : s.low();
  k->add_to_bin(into_bin, sums, s.v_dim, shift);
}

inline void add_state_sums(int64_t *to, const int64_t *from, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    to[i] = static_cast<int64_t>(static_cast<uint64_t>(to[i]) + static_cast<uint64_t>(from[i]));
}

HEED_NOINLINE inline void merge_states(const int_state &into, const int_state &from) {
  const uint32_t below = open_bin(into, from.bin());
  if (below > 1) return;
  int64_t *const sum = below == 0 ? into.top_l() : into.low_l();
  add_state_sums(sum, from.top_l(), 1);
  int64_t *const bin = below == 0 ? into.top() : into.low();
  add_state_sums(bin, from.top(), into.v_dim);
  if (below == 1) return;
  add_state_sums(into.low_l(), from.low_l(), 1);
  add_state_sums(into.low(), from.low(), into.v_dim);
}

}  // namespace
}  // namespace heed

#endif
