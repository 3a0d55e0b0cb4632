// What the memory of a cache of integers holds: a header, the state of each sequence, then for each sequence and head its
// keys and its values, as rows.
#ifndef HEED_INT_CACHE_HPP
#define HEED_INT_CACHE_HPP

#include "../checks/cache_state.hpp"
#include "../checks/validate.hpp"
#include "heed/int_cache.h"
#include "heed/int_layers.h"

namespace heed {

struct int_cache_header {
  uint32_t magic, version;
  heed_int_cache_shape shape;
  uint32_t saved, checksum;
};
constexpr uint32_t int_cache_magic = 0x48454938, int_cache_version = 1;  // in the machine's byte order
constexpr size_t int_cache_header_bytes = 64;

inline int_cache_header &int_header_of(const heed_int_cache &cache) {
  return *static_cast<int_cache_header *>(cache.buffer);
}
inline cache_state *int_states_of(const heed_int_cache &cache) {
  return reinterpret_cast<cache_state *>(static_cast<unsigned char *>(cache.buffer) + int_cache_header_bytes);
}
inline bool is_ring(const heed_int_cache_shape &s) { return s.kind == HEED_CACHE_RING; }

// Keys and values of one sequence and head. Token t lies in slot t, in a ring modulo its slots.
struct int_cache_rows {
  int8_t *k, *v;
};
int32_t int_slots_of(const heed_int_cache_shape &s);
ring_shape int_ring_of(const heed_int_cache_shape &s);
size_t int_cache_bytes_of(const heed_int_cache_shape &s);  // 0 if they do not fit a size_t
int_cache_rows int_cache_rows_of(const heed_int_cache &cache, int32_t sequence, int32_t head);

// New rows of keys or of values, of int8 or of floats, and how one of them becomes bytes.
struct new_rows {
  const void *data;
  ptrdiff_t head_stride, row_stride;  // in numbers
  const float *scales;                // of floats: one for each head
  int32_t zero_point;
};
template <class T>
new_rows new_rows_of(const T &t, const float *scales, int32_t zero_point) {
  return {t.data, t.head_stride, t.row_stride, scales, zero_point};
}
using write_row = void (*)(const new_rows &rows, ptrdiff_t at, int32_t head, int32_t dim, int8_t *to);
void write_bytes(const new_rows &rows, ptrdiff_t at, int32_t head, int32_t dim, int8_t *to);
// n tokens, the first of them `begin` tokens behind the newest.
void store_rows(const heed_int_cache &cache, int32_t sequence, int32_t begin, int32_t n, const new_rows &k,
                const new_rows &v, write_row write);
// Room for n more tokens of a sequence? Numbers there are: all rings are small enough to number their keys anew in time.
void check_int_room(checker &check, const heed_int_cache &cache, int32_t sequence, int32_t n);
void count_int_tokens(const heed_int_cache &cache, int32_t sequence, int32_t n);

bool is_of_int_shape(const int_cache_header &h, const heed_int_cache_shape &s);
void check_int_cache(checker &check, const heed_int_cache *cache,
                     access how);  // two ranges: the object and its contents
// The same two, and one for k and for v.
void check_int_append(checker &check, const heed_int_cache *cache, int32_t sequence, const new_rows &k,
                      const new_rows &v, int32_t n, size_t number_bytes);
// For heed_int_cache_init and heed_int_cache_load: the arguments, and the handle that they make.
heed_status check_new_int_cache(const heed_int_cache *cache, const heed_int_cache_shape *shape, heed_memory memory);
void make_int_handle(heed_int_cache *cache, const heed_int_cache_shape &shape, void *buffer);

// What a call reads of one sequence and head.
struct int_cached {
  const int8_t *k, *v;
  int32_t length, window;  // window: how many keys before its own a query sees, -1: all
  int32_t ring, wrap;      // of a ring: its slots, and the newest token that lies in slot 0; else 0
};

// The object alone, before its code is called: one range.
inline void check_int_cache_object(checker &check, const heed_int_cache *cache, access how) {
  check.object(cache, how, HEED_ARG_CACHE);
  if (check.ok()) check.require(cache->code != nullptr, HEED_NOT_INITIALIZED, HEED_ARG_CACHE);
}

}  // namespace heed

// What heed_int_cache_init names: calls and layers that are given a cache reach its code through it.
struct heed_int_cache_code {
  void (*check_call)(heed::checker &check, const heed_int_attention &call);  // one range, as check_tokens
  heed::int_cached (*cached)(const heed_int_cache &cache, int32_t sequence, int32_t head);
  // For a layer: its next n tokens, rows of keys and values for tokens from `begin` on, and their count at last.
  void (*check_tokens)(heed::checker &check, const heed_int_layer &layer, int32_t n);
  void (*store)(const heed_int_cache &cache, int32_t begin, int32_t n, const int8_t *k, const int8_t *v);
  void (*count)(const heed_int_cache &cache, int32_t n);
};

#endif
