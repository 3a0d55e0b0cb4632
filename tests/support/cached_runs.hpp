// Attention over a cache, and the same call on plain tensors with ranges. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_CACHED_RUNS_HPP
#define HEED_TESTS_SUPPORT_CACHED_RUNS_HPP

#include <vector>

#include "caches.hpp"
#include "kernels.hpp"
#include "settings.hpp"

namespace heed_test {

using cache_model = std::vector<sequence_model>;  // of each sequence

inline int32_t longest(const cache_model &model) {
  int32_t n = 1;
  for (const sequence_model &s : model) n = std::max(n, s.length());
  return n;
}

// A problem over all tokens; keys and values are NaN where a sequence has none.
inline problem problem_over(const heed_cache_shape &s, const cache_model &model, int32_t group, int32_t n_q,
                            int32_t n_kv) {
  problem p;
  p.batch = s.n_sequences, p.n_kv_heads = s.n_kv_heads, p.n_heads = s.n_kv_heads * group;
  p.n_q = n_q, p.n_kv = n_kv, p.head_dim = s.head_dim, p.v_dim = s.v_dim;
  p.k.assign(p.k_floats(), float_of(unread_bits)), p.v.assign(p.v_floats(), float_of(unread_bits));
  for (int32_t b = 0; b < p.batch; ++b)
    for (int32_t h = 0; h < s.n_kv_heads; ++h) {
      const size_t row = (size_t(b) * s.n_kv_heads + h) * n_kv;
      model[size_t(b)].copy_rows(h, &p.k[row * s.head_dim], &p.v[row * s.v_dim]);
    }
  return p;
}

// The least of two windows, of which -1 is open.
inline int32_t least_of_windows(int32_t a, int32_t b) { return a < 0 ? b : b < 0 ? a : std::min(a, b); }
inline int32_t own_window(const heed_cache_shape &s) { return s.kind == HEED_CACHE_RING ? s.capacity - 1 : -1; }

// What a call over the cache means, in the words of one on tensors.
inline problem as_tensors(problem p, const heed_cache_shape &s, const cache_model &model) {
  extras &x = p.options;
  const extras asked = x;
  x.ranges = true;
  x.left_windows.clear(), x.offsets.clear(), x.kv_lengths.clear();
  for (int32_t b = 0; b < p.batch; ++b) {
    const int32_t length = model[size_t(b)].length();
    x.left_windows.push_back(least_of_windows(of_batch(asked.left_windows, b, asked.left_window), own_window(s)));
    x.offsets.push_back(length - p.n_q + of_batch(asked.offsets, b, p.causal_offset));
    x.kv_lengths.push_back(std::min(length, of_batch(asked.kv_lengths, b, p.n_kv)));
  }
  x.pinned = std::max(asked.pinned, s.pinned);
  return p;
}

// Whether the header promises that the call is accepted: all keys that a query may see are there.
inline bool is_promised(const problem &p, const heed_cache_shape &s, const cache_model &model) {
  for (int32_t b = 0; b < p.batch; ++b) {
    const sequence_model &m = model[size_t(b)];
    const int32_t left = least_of_windows(of_batch(p.options.left_windows, b, p.options.left_window), own_window(s));
    const int64_t first = left < 0 ? 0 : m.length() - p.n_q + p.position(b, 0) - left;
    if (!m.holds(first) || (p.options.pinned > s.pinned && !m.holds_all())) return false;
  }
  return true;
}

// The call over the cache. What is refused because keys are gone gives nothing, and must not have been promised.
struct cached_result {
  heed_status status = HEED_OK;
  attention_result result;
};
inline cached_result run_cached(const problem &p, const setting &s, const heed_cache *cache, bool promised) {
  placed_call placed(p, s);
  placed.read(cache);
  if (promised) return {HEED_OK, run(&placed, p, s)};
  cached_result found;
  found.status = heed_attention_run(&placed.call);
  if (found.status == HEED_OK) found.result = placed.result();
  return found;
}

}  // namespace heed_test

#endif
