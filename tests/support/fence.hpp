// Memory between two pages without access: reading or writing one byte too far is a crash, on every kernel and without
// a sanitizer. The suites place their arrays at the rear page, behind a guard that is checked.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FENCE_HPP
#define HEED_TESTS_SUPPORT_FENCE_HPP

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "floats.hpp"

namespace heed_test {

// One region per argument, mapped once and reused, since a mapping per test case would cost more than the case.
enum slot {
  slot_q,
  slot_k,
  slot_v,
  slot_out,
  slot_weights,
  slot_workspace,
  slot_activations,
  slot_scores,
  slot_lse,
  slot_column_sums,
  slot_top_weights,
  slot_top_keys,
  slot_mask,
  slot_slopes,
  slot_sinks,
  slot_left_windows,
  slot_right_windows,
  slot_offsets,
  slot_kv_lengths,
  slot_partial,
  slot_part,
  slot_cache,
  slot_other_cache,
  slot_narrow_q,
  slot_narrow_k,
  slot_narrow_v,
  slot_narrow_out,
  slot_q_scales,
  slot_k_scales,
  slot_v_scales,
  n_slots
};

struct region {
  unsigned char *begin, *end;  // an inaccessible page lies in front of begin, another at end
};

inline const region &region_of(slot which) {
  static constexpr size_t region_bytes = size_t{32} << 20;
  static region regions[n_slots];
  if (!regions[which].begin) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void *all = mmap(nullptr, region_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *begin = static_cast<unsigned char *>(all) + page;
    if (all == MAP_FAILED || mprotect(begin, region_bytes, PROT_READ | PROT_WRITE) != 0) {
      std::perror("fence");
      std::abort();
    }
    regions[which] = {begin, begin + region_bytes};
  }
  return regions[which];
}
inline unsigned char *fence_of(slot which) { return region_of(which).end; }

// `count` floats that end at the fence, behind a guard of 32.
class fenced_floats {
 public:
  static constexpr size_t guard = 32;

  fenced_floats(slot which, size_t count, uint32_t fill) : count_(count), fill_(fill) {
    data_ = reinterpret_cast<float *>(fence_of(which)) - count;
    std::fill(data_ - guard, data_ + count, float_of(fill));
  }
  float *data() const { return data_; }
  size_t count() const { return count_; }
  bool untouched(size_t i) const { return bits_of(data_[i]) == fill_; }
  bool guard_intact() const {
    return std::all_of(data_ - guard, data_, [this](float x) { return bits_of(x) == fill_; });
  }

 private:
  float *data_;
  size_t count_;
  uint32_t fill_;
};

// A copy that ends at the fence; null of an empty array.
template <typename T>
const T *fenced_copy(slot which, const std::vector<T> &x) {
  if (x.empty()) return nullptr;
  T *data = reinterpret_cast<T *>(fence_of(which)) - x.size();
  std::copy(x.begin(), x.end(), data);
  return data;
}

// `bytes` bytes aligned to 64 that end within 63 bytes of the fence; the rest up to it and 64 bytes before are guarded.
// Starts full of NaN bits, because what a workspace holds must not matter.
class fenced_bytes {
 public:
  fenced_bytes(slot which, size_t bytes) : bytes_(bytes), tail_((64 - bytes % 64) % 64) {
    data_ = fence_of(which) - tail_ - bytes;
    std::memset(data_ - 64, 0xff, 64 + bytes + tail_);
  }
  unsigned char *data() const { return data_; }
  size_t count() const { return bytes_; }
  bool guard_intact() const { return all_ones(data_ - 64, 64) && all_ones(data_ + bytes_, tail_); }

 private:
  static bool all_ones(const unsigned char *from, size_t n) {
    return std::all_of(from, from + n, [](unsigned char c) { return c == 0xff; });
  }
  unsigned char *data_;
  size_t bytes_, tail_;
};

}  // namespace heed_test

#endif
