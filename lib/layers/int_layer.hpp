// What int_layer.cpp and int_layer_check.cpp share.
#ifndef HEED_INTEGERS_LAYER_HPP
#define HEED_INTEGERS_LAYER_HPP

#include "../cache/int_cache.hpp"
#include "../integers/int_check.hpp"
#include "heed/int_layers.h"

namespace heed {

inline int32_t context_dim(const heed_int_layer &l) { return l.n_heads * l.head_dim; }
inline int32_t key_dim(const heed_int_layer &l) { return l.n_kv_heads * l.head_dim; }
// The size that a layer had before it had a rope: programs of 0.3.0 give it.
constexpr size_t int_layer_without_rope = offsetof(heed_int_layer, rope);
inline const heed_int_rope *rope_of(const heed_int_layer &l) {
  return l.struct_size == int_layer_without_rope ? nullptr : l.rope;
}
// Of the first row: the position of the next token of a cache.
inline int64_t first_position_of(const heed_int_layer &l) {
  return l.cache ? position_of(*int_states_of(*l.cache)) : 0;
}
inline bool is_gated_int_layer(const heed_int_layer &l) { return l.w_gate.w.data != nullptr; }

// How many rows of n are computed to the end, and how many stand before them.
inline int32_t wanted_rows(const heed_int_layer &l, int32_t n) {
  if (l.out_rows == 0) return n;
  return l.out_rows < 0 ? -l.out_rows : l.out_rows;
}
inline int32_t rows_before(const heed_int_layer &l, int32_t n) { return l.out_rows < 0 ? n + l.out_rows : 0; }

// How the memory is cut: keys and values of all rows, then for each worker some rows and a workspace.
uint64_t layer_keys_bytes(const heed_int_layer &l, int32_t n);
size_t layer_row_bytes(const heed_int_layer &l);
size_t least_worker_bytes(const heed_int_layer &l);

heed_status check_layer_run(const heed_int_layer *layer, const heed_int_matrix &x, const heed_int_matrix_out &y,
                            heed_memory memory, const heed_executor *executor);

}  // namespace heed

#endif
