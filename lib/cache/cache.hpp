// What a cache's memory holds: a header, the state of each sequence, then for each sequence and head its keys, its
// values and, for int8, their scales.
#ifndef HEED_CACHE_HPP
#define HEED_CACHE_HPP

#include "heed/heed.h"
#include "../kernel_contract/kernel.hpp"
#include "../options/options.hpp"
#include "../checks/cache_state.hpp"
#include "../checks/validate.hpp"

namespace heed {

struct cache_header {
  uint32_t magic, version;
  int32_t kind, capacity, pinned, spare, n_sequences, n_kv_heads, head_dim, v_dim, dtype;
  uint32_t saved, checksum;
};
constexpr uint32_t cache_magic = 0x48454544;  // in the machine's byte order
// Version 1 had 8 bytes for each sequence. Of one sequence the others are zeros there, so its snapshots are those of now, until
// its ring numbers columns anew.
constexpr uint32_t cache_version = 2;
inline uint32_t least_version_of(const heed_cache_shape &s) { return s.n_sequences == 1 ? 1 : cache_version; }

constexpr size_t cache_header_bytes = 128;

// Where the parts of a valid cache lie.
struct cache_layout {
  size_t states;  // behind the header
  int32_t pinned_slots, ring_slots;
  size_t key_bytes, value_bytes, scale_bytes, head_bytes;  // of one sequence and head: keys, values, scales of each
  size_t bytes;
};
// bytes is 0 when it does not fit a size_t.
cache_layout layout_of(const heed_cache_shape &shape);

inline cache_header &header_of(const heed_cache &cache) { return *static_cast<cache_header *>(cache.buffer); }
inline cache_state *states_of(const heed_cache &cache) {
  return reinterpret_cast<cache_state *>(static_cast<unsigned char *>(cache.buffer) + cache_header_bytes);
}

// n tokens for one of a cache's sequences, all checked but for numbers that int8 cannot hold.
struct append_call {
  heed_cache *cache;
  int32_t sequence, n;
  heed_tensor k, v;
  bool keeps_numbers;  // of keys: a mask has columns for them
  const heed_executor *executor;
};
struct row_span;
// NOT_FINITE for K, V of n tokens, of whatever sequences.
heed_status check_rows_to_append(const kernel *k, const append_call &call);
void append_rows(const kernel *k, const append_call &call);  // keys as they are
heed_status check_and_append_rows(const kernel *k, const append_call &call);
// Does a cache, whose object is sound, have room for more tokens of a layer's? One that is only read has some. May the
// layer's options see them?
void check_tokens(checker &check, const heed_attention_layer &layer, const row_span &span, bool appends);
void check_tokens_of_sequence(checker &check, const heed_attention_layer &layer, int32_t sequence, int32_t n,
                              bool appends);
void check_options_of_tokens(checker &check, const heed_attention_layer &layer, const row_span &span);

// What heed_cache_init names: a layer that is given a cache reaches its code through it.
struct cache_functions {
  heed_code code;
  decltype(&check_and_append_rows) check_and_append;
  decltype(&check_rows_to_append) check_numbers;
  decltype(&append_rows) append;
  decltype(&heed::check_tokens) check_tokens;
  decltype(&check_tokens_of_sequence) check_sequence;
  decltype(&check_options_of_tokens) check_options;
};
inline const cache_functions &functions_of(const heed_cache &cache) {
  return *reinterpret_cast<const cache_functions *>(cache.code);
}

bool is_of_shape(const cache_header &h, const heed_cache_shape &s);
void check_cache(checker &check, const heed_cache *cache, access how);     // two ranges
void check_contents(checker &check, const heed_cache &cache, access how);  // of a sound object; one range
// For heed_cache_init and heed_cache_load: the arguments, and the handle that they make.
heed_status check_new_cache(const heed_cache *cache, const heed_cache_shape *shape, heed_memory memory);
void make_handle(heed_cache *cache, const heed_cache_shape &shape, void *buffer);
storage slots_of(const heed_cache &cache);  // of keys and values; the rest of it is 0
ring_shape ring_of(const heed_cache &cache);

// The parts of one sequence and head.
struct cache_rows {
  unsigned char *keys, *values;
  float *key_scales, *value_scales;
};
cache_rows cache_rows_of(const heed_cache &cache, int32_t sequence, int32_t head);

}  // namespace heed

#endif
