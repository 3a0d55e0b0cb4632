// heed for C++17: caches of keys and values whose shape the compiler knows. Include heed.hpp. cache.h states what each
// function does. SPDX-License-Identifier: MIT
#ifndef HEED_HEED_CACHE_HPP
#define HEED_HEED_CACHE_HPP

#include "options.hpp"

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // GCC warns where an int is the bound of an array
#endif

namespace heed {

// A cache of one sequence or several. The object holds its memory. Call begin() first. heed::cache and heed::ring_cache
// are shorter names.
template <heed_cache_kind Kind, int Capacity, int Pinned, int Spare, int Sequences, int KvHeads, int D, int V,
          heed_dtype Dtype>
class basic_cache {
 public:
  // The size of its memory.
  static constexpr size_t n_bytes = Kind == HEED_CACHE_LINEAR
                                        ? HEED_CACHE_BYTES(Capacity, Sequences, KvHeads, D, V, Dtype)
                                        : HEED_RING_BYTES(Capacity, Pinned, Spare, Sequences, KvHeads, D, V, Dtype);

  // Not yet a cache: call begin() or load() first.
  constexpr basic_cache() = default;
  // An object points into itself, so it cannot be copied.
  basic_cache(const basic_cache &) = delete;
  basic_cache &operator=(const basic_cache &) = delete;

  // Makes the cache empty.
  status begin() noexcept {
    const heed_cache_shape s = shape();
    return heed_cache_init(&c_, &s, heed_memory_of(bytes_, n_bytes));
  }
  // Appends N tokens. With a rope, keys are rotated before they are stored.
  template <int N>
  status append(const float (&k)[N][KvHeads][D], const float (&v)[N][KvHeads][V], const heed_rope *rope = nullptr,
                int32_t sequence = 0) noexcept {
    return heed_cache_append(&c_, sequence, heads(k), heads(v), N, rope);
  }
  // Removes the newest tokens, so that `length` tokens are left.
  status truncate(int64_t length, int32_t sequence = 0) noexcept { return heed_cache_truncate(&c_, sequence, length); }
  // Empties all sequences.
  status reset() noexcept { return heed_cache_reset(&c_); }
  // The number of tokens that a sequence has had. A negative result is a status.
  int64_t length(int32_t sequence = 0) const noexcept { return heed_cache_length(&c_, sequence); }
  // The columns of the longest sequence: the n_kv of a call.
  int32_t longest() const noexcept { return heed_cache_longest(&c_); }

  // To save the cache, call save() and keep bytes(). To restore it, fill bytes() and call load() instead of begin().
  status save() noexcept { return heed_cache_save(&c_); }
  status load() noexcept {
    const heed_cache_shape s = shape();
    return heed_cache_load(&c_, &s, heed_memory_of(bytes_, n_bytes));
  }
  unsigned char (&bytes() noexcept)[n_bytes] { return bytes_; }

  // For the functions of C.
  operator heed_cache *() noexcept { return &c_; }
  operator const heed_cache *() const noexcept { return &c_; }

 private:
  static heed_cache_shape shape() noexcept {
    heed_cache_shape s = heed_cache_shape_default(Capacity, KvHeads, D);
    s.kind = Kind;
    s.pinned = Pinned;
    s.spare = Spare;
    s.n_sequences = Sequences;
    s.v_dim = V;
    s.dtype = Dtype;
    return s;
  }

  heed_cache c_ = {};
  alignas(HEED_ALIGNMENT) unsigned char bytes_[n_bytes] = {};
};

// A linear cache: it keeps Capacity tokens, then it is full.
template <int Capacity, int KvHeads, int D, int V = D, heed_dtype Dtype = HEED_F32, int Sequences = 1>
using cache = basic_cache<HEED_CACHE_LINEAR, Capacity, 0, 0, Sequences, KvHeads, D, V, Dtype>;
// A ring: it keeps the Window newest tokens and the first Pinned tokens. You can append up to Spare + 1 tokens at once.
template <int Window, int KvHeads, int D, int V = D, heed_dtype Dtype = HEED_F32, int Pinned = 0, int Spare = 0,
          int Sequences = 1>
using ring_cache = basic_cache<HEED_CACHE_RING, Window, Pinned, Spare, Sequences, KvHeads, D, V, Dtype>;

// Attention of the newest NQ tokens over a cache of one sequence. It is causal, as in heed_attention_of_cache. To
// switch this off, set causal = false in the options. Arrays of options have at least as many columns as the cache has
// tokens.
template <int NQ, int Heads, heed_cache_kind Kind, int Capacity, int Pinned, int Spare, int KvHeads, int D, int V,
          heed_dtype Dtype, int Workers, class Options = attention_options>
status attention(const float (&q)[NQ][Heads][D],
                 const basic_cache<Kind, Capacity, Pinned, Spare, 1, KvHeads, D, V, Dtype> &kv,
                 float (&out)[NQ][Heads][V], workspace<D, V, Workers> &w, const Options &o = {}) noexcept {
  static_assert(Heads % KvHeads == 0, "the number of query heads is no multiple of the number of key heads");
  static_assert(Options::template fits<Heads, NQ, Options::n_kv>, "the options are for other shapes");
  heed_attention call = heed_attention_of_cache(kv, q[0][0], NQ, Heads, out[0][0], w);
  set_options(&call, o);
  if (Options::n_kv != 0) call.n_kv = Options::n_kv;
  return heed_attention_run(&call);
}

}  // namespace heed

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif
