// A stream of rows that read the same keys, what each row sees, and where its numbers lie.
#ifndef HEED_INT_ROWS_HPP
#define HEED_INT_ROWS_HPP

#include "../isa_choice/int_dispatch.hpp"
#include "../cache/int_cache.hpp"

namespace heed {
namespace {

// One head of keys and values. Row r is query r / group of head r % group, so heads that share keys are rows of one
// pass over them.
struct int_stream {
  const heed_int_attention *call;
  int32_t batch_entry, first_head, group;
  int32_t n_kv, first_shift, last_shift;  // query i sees keys [i + first_shift, i + last_shift) of [0, n_kv)
  const int8_t *k, *v;                    // row 0
  ptrdiff_t k_stride, v_stride;
  int32_t wrap, ring;  // of a ring: from key `wrap` on they lie from row 0 on, earlier ones `ring` rows behind; else 0
  int32_t row_of(int32_t key) const { return key - wrap + (key < wrap ? ring : 0); }
};

template <class T>
HEED_INLINE ptrdiff_t int_place(const T &t, int32_t b, int32_t h, int32_t row) {
  return place_of(t, static_cast<ptrdiff_t>(b), static_cast<ptrdiff_t>(h), static_cast<ptrdiff_t>(row));
}

// Divisions of counts: without a sign, of which small cores have no second routine.
template <class T>
HEED_INLINE T int_quotient(T a, int32_t b) {
  return static_cast<T>(static_cast<size_t>(a) / static_cast<size_t>(b));
}

HEED_NOINLINE inline int32_t int_shift_of(int32_t position, int64_t by) { return clamp_shift(position + by); }

inline int_stream int_stream_of(const heed_int_attention &call, ptrdiff_t index) {
  int_stream s;
  s.call = &call;
  s.batch_entry = static_cast<int32_t>(int_quotient(index, call.n_kv_heads));
  const int32_t head = static_cast<int32_t>(index - static_cast<ptrdiff_t>(s.batch_entry) * call.n_kv_heads);
  s.group = int_quotient(call.n_heads, call.n_kv_heads);
  s.first_head = head * s.group;
  int32_t newest = 0, left = call.left_window;
  if (call.cache) {
    const int_cached c = call.cache->code->cached(*call.cache, s.batch_entry, head);
    s.n_kv = c.length;
    s.k = c.k, s.v = c.v;
    s.k_stride = call.head_dim, s.v_stride = call.v_dim;
    s.ring = c.ring, s.wrap = c.wrap;
    newest = c.length - call.n_q;
    if (c.window >= 0 && (left < 0 || left > c.window)) left = c.window;
  } else {
    s.n_kv = call.kv_lengths ? call.kv_lengths[s.batch_entry] : call.n_kv;
    s.k = call.k.data + int_place(call.k, s.batch_entry, head, 0);
    s.v = call.v.data + int_place(call.v, s.batch_entry, head, 0);
    // A stride over one row is ignored, and may be any number.
    s.k_stride = call.n_kv > 1 ? call.k.row_stride : 0;
    s.v_stride = call.n_kv > 1 ? call.v.row_stride : 0;
    s.ring = s.wrap = 0;
  }
  const int32_t right = call.causal ? 0 : call.right_window;
  s.first_shift = left < 0 ? -open_shift : int_shift_of(call.position, static_cast<int64_t>(newest) - left);
  s.last_shift = right < 0 ? open_shift : int_shift_of(call.position, static_cast<int64_t>(newest) + right + 1);
  return s;
}

struct int_row {
  int32_t head, query;
  int32_t first, last;  // the keys that it sees, but for those that a mask hides
};
inline int_row int_row_of(const int_stream &s, ptrdiff_t r) {
  const ptrdiff_t quotient = s.group == 1 ? r : int_quotient(r, s.group);
  const auto query = static_cast<int32_t>(quotient);
  const int32_t head = s.first_head + static_cast<int32_t>(r - static_cast<ptrdiff_t>(query) * s.group);
  return {head, query, clamp_to(query + s.first_shift, 0, s.n_kv), clamp_to(query + s.last_shift, 0, s.n_kv)};
}

// Rows of all heads are counted in the order (b, h, i).
inline size_t int_index_of(const int_stream &s, const int_row &row) {
  const size_t head =
      static_cast<size_t>(s.batch_entry) * static_cast<size_t>(s.call->n_heads) + static_cast<size_t>(row.head);
  return head * static_cast<size_t>(s.call->n_q) + static_cast<size_t>(row.query);
}
inline multiplier int_score_of(const heed_int_attention &call, const int_row &row) {
  const heed_multiplier *m = &call.score;
  if (call.scores) m = call.scores + row.head * call.scores_head_stride + row.query * call.scores_row_stride;
  return {m->m, m->e};
}
inline multiplier int_value_of(const heed_int_attention &call, const int_row &row) {
  const heed_multiplier &m = call.values ? call.values[row.head] : call.value;
  return {m.m, m.e};
}
inline void *int_out_of(const int_stream &s, const int_row &row) {
  const heed_int_tensor_out &out = s.call->out;
  const ptrdiff_t place = int_place(out, s.batch_entry, row.head, row.query);
  return static_cast<char *>(out.data) + (out.dtype == HEED_INT16 ? 2 * place : place);
}
// Where row's mask of key 0 lies, or null.
inline const uint8_t *int_mask_of(const int_stream &s, const int_row &row) {
  const heed_int_mask &mask = s.call->mask;
  if (!mask.data) return nullptr;
  return mask.data + (s.batch_entry * mask.batch_stride + row.head * mask.head_stride + row.query * mask.query_stride);
}

}  // namespace
}  // namespace heed

#endif
