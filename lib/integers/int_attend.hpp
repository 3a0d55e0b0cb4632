// The loop over blocks of keys, for a tile of rows.
#ifndef HEED_INT_ATTEND_HPP
#define HEED_INT_ATTEND_HPP

#include "int_finish.hpp"

namespace heed {
namespace {

// How a workspace is cut: the same for every tile of a call.
struct int_layout {
  int32_t score_rows, state_rows;  // rows whose scores and sums, whose states it holds
  bool packs;                      // a block of keys and values, too
  ptrdiff_t query_bytes, acc_stride;
  size_t values_at, queries_at;  // bytes from its start; before values lie keys of a block
  size_t scores_at, acc_at, states_at;
};

// Small firmware has some steps as functions: fewer registers at a time, less stack.
#if defined(HEED_SINGLE) && defined(__OPTIMIZE_SIZE__)
#define HEED_INT_STEP HEED_NOINLINE
#else
#define HEED_INT_STEP
#endif

// Rows of a stream that are computed together. Keys [first, last) are those that any of them sees.
struct int_tile {
  const int_stream *s;
  const int_layout *layout;
  unsigned char *workspace;
  ptrdiff_t first_row;
  int32_t n_rows, first, last;
  bool has_states;  // else one block holds all keys, and rows are finished from their sums
  bool in_partial;  // states are the caller's
#ifndef HEED_SINGLE
  const int8_t *next_k = nullptr, *next_v = nullptr;  // what the worker reads after this tile, if it is known
#endif

  const int_row row(int32_t r) const { return int_row_of(*s, first_row + r); }
  int32_t *scores() const { return reinterpret_cast<int32_t *>(workspace + layout->scores_at); }
  int32_t *acc() const { return reinterpret_cast<int32_t *>(workspace + layout->acc_at); }
  unsigned char *queries() const { return workspace + layout->queries_at; }
  // The state of row r in the workspace, or in a partial.
  int_state state(int32_t r) const {
    const int32_t v_dim = s->call->v_dim;
    void *all = workspace + layout->states_at;
    size_t index = static_cast<size_t>(r);
    if (in_partial) all = s->call->partial.data, index = int_index_of(*s, row(r));
    return {static_cast<int64_t *>(all) + index * int_state_words(v_dim), v_dim};
  }
};

// Keys [begin, begin + n) of a block. What the mask hides becomes INT32_MIN.
inline void hide_scores(const uint8_t *mask, int32_t n, int32_t *s) {
  for (int32_t j = 0; j < n; j++)
    if (!mask[j]) s[j] = INT32_MIN;
}
// Probabilities of hidden keys become 0: their sum.
inline int32_t take_hidden(const uint8_t *mask, int32_t n, int16_t *p) {
  int32_t sum = 0;
  for (int32_t j = 0; j < n; j++) {
    if (mask && mask[j]) continue;
    sum += p[j];
    p[j] = 0;
  }
  return sum;
}

// I2 to I5: the scores of a row for keys [begin, begin + n) become probabilities. Their sum, 0 if the row sees none. *r is
// what the scores' zero point of k makes up, then their octave.
template <class K>
HEED_INT_STEP int32_t weigh_row(K k, const int_tile &t, const int_row &row, int32_t begin, int32_t n, int32_t *s,
                                int32_t *r) {
  const int32_t first = larger_of(row.first - begin, 0), last = smaller_of(row.last - begin, n);
  const int32_t padded = (n + 31) & ~31;
  const uint8_t *mask = int_mask_of(*t.s, row);
  int32_t max = INT32_MIN;
  if (first < last) {
    for (int32_t j = 0; j < first; j++) s[j] = INT32_MIN;
    if (mask) hide_scores(mask + begin + first, last - first, s + first);
    max = k->greatest(s, last);
  }
  if (max == INT32_MIN) {
    __builtin_memset(s, 0, static_cast<size_t>(padded) * 2);
    return 0;
  }
  const multiplier c = int_score_of(*t.s->call, row);
  const octave at = octave_above(scaled_score(max - *r, c));
  *r = at.r;
  int32_t l = k->probabilities(s, last, padded, distance_of(c), max, at.offset);
  int16_t *p = reinterpret_cast<int16_t *>(s);
  if (first > 0) l -= take_hidden(nullptr, first, p);
  if (mask) l -= take_hidden(mask + begin + first, last - first, p + first);
  return l;
}

// Keys and values of a block that a tile sees, as the kernel wants them.
struct int_block_rows {
  int32_t begin, n;
  int32_t before;  // of them before a ring's wrap, a multiple of 32; n if it does not wrap here
  int_rows k, v;   // of them as many as some rows see
};

template <class K>
HEED_NOINLINE void pack_block(K k, const int_tile &t, int_block_rows &b) {
  b.k.n = b.v.n = b.n;
  unsigned char *keys = t.workspace, *values = keys + t.layout->values_at;
  k->pack_keys(b.k, keys);
  k->pack_values(b.v, values);
  b.k.packed = keys;
  b.v.packed = values;
}

// Does any of the rows see any of the keys [begin, begin + n)? Asked where there is a mask.
inline bool mask_shows(const int_tile &t, int32_t from, int32_t n_rows, int32_t begin, int32_t n) {
  for (int32_t r = from; r < from + n_rows; r++) {
    const int_row row = t.row(r);
    const uint8_t *mask = int_mask_of(*t.s, row);
    const int32_t first = larger_of(row.first, begin), last = smaller_of(row.last, begin + n);
    for (int32_t j = first; j < last; j++)
      if (mask[j]) return true;
  }
  return false;
}

// What a ring keeps behind its wrap: probabilities from `at` on times values from row 0 on, added to the states.
template <class K>
HEED_NOINLINE void add_wrapped(K k, const int_tile &t, int32_t from, int32_t n_rows, int_rows values, int32_t at,
                               const int32_t *l, const int32_t *r) {
  for (int32_t i = 0; i < n_rows; i++) {
    int32_t *p = t.scores() + i * int_block;  // two of them
    for (int32_t j = 0; j < values.n; j += 32, p += 16) {
      int32_t part[16];
      __builtin_memcpy(part, p + at / 2, sizeof part);
      asm("" : "+m"(part));  // clang makes both copies one memmove, which heed does without
      __builtin_memcpy(p, part, sizeof part);
    }
  }
  values.data = t.s->v;
  k->sums(t.scores(), n_rows, values, t.acc(), t.layout->acc_stride);
  for (int32_t i = 0; i < n_rows; i++)
    if (l[i] != 0) add_block_to_state(k, t.state(from + i), r[i], 0, t.acc() + i * t.layout->acc_stride);
}

// Rows [from, from + n_rows) of a tile against a block.
template <class K>
HEED_NOINLINE void attend_rows(K k, const int_tile &t, int_block_rows &b, int32_t from, int32_t n_rows) {
  const heed_int_attention &call = *t.s->call;
  const int32_t last = t.row(from + n_rows - 1).last - b.begin, n = smaller_of(last, b.n);
  int32_t l[int_score_rows] = {}, r[int_score_rows] = {}, any = 0;
  const int32_t before = smaller_of(n, b.before);
  if (n > 0 && t.row(from).first < b.begin + n && (!call.mask.data || mask_shows(t, from, n_rows, b.begin, n))) {
    if (k->packs_from < INT32_MAX && t.layout->packs && !b.k.packed && b.before == b.n) pack_block(k, t, b);
    const ptrdiff_t query_bytes = t.layout->query_bytes;
    for (int32_t i = 0; i < n_rows; i++) {
      const int_row row = t.row(from + i);
      const int8_t *q = call.q.data + int_place(call.q, t.s->batch_entry, row.head, row.query);
      r[i] = call.k.zero_point * k->open_query(q, call.head_dim, call.q.zero_point, t.queries() + i * query_bytes);
    }
    b.k.n = b.v.n = before;
    k->scores(t.queries(), query_bytes, n_rows, call.q.zero_point, b.k, t.scores());
    if (n > before) {
      int_rows rest = b.k;
      rest.data = t.s->k;
      rest.n = n - before;
      k->scores(t.queries(), query_bytes, n_rows, call.q.zero_point, rest, t.scores() + before);
    }
    for (int32_t i = 0; i < n_rows; i++)
      any |= l[i] = weigh_row(k, t, t.row(from + i), b.begin, n, t.scores() + i * int_block, r + i);
    k->sums(t.scores(), n_rows, b.v, t.acc(), t.layout->acc_stride);
  }
  for (int32_t i = 0; i < n_rows; i++) {
    const int32_t *sums = t.acc() + i * t.layout->acc_stride;
    if (!t.has_states)
      finish_block(k, *t.s, t.row(from + i), r[i], l[i], sums);
    else if (l[i] != 0)
      add_block_to_state(k, t.state(from + i), r[i], l[i], sums);
  }
  if (any && n > before) {
    b.v.n = n - before;
    add_wrapped(k, t, from, n_rows, b.v, before, l, r);
  }
}

// Keys [begin, end) of a tile, of which begin is a multiple of 256.
template <class K>
void attend_blocks(K k, const int_tile &t, int32_t begin, int32_t end) {
  const int_stream &s = *t.s;
  const heed_int_attention &call = *s.call;
  do {
    int32_t from = larger_of(begin, t.first);
    if (s.wrap > 0) from &= -32;
    const int32_t next = begin + int_block, to = smaller_of(next, end), n = to - from, row = s.row_of(from);
    const int_rows keys = {s.k + row * s.k_stride, s.k_stride, nullptr, n, call.head_dim},
                   values = {s.v + row * s.v_stride, s.v_stride, nullptr, n, call.v_dim};
    const bool wraps = from < s.wrap && s.wrap < to;
    const int32_t before_wrap = wraps ? s.wrap - from : n;
    int_block_rows b = {from, n, before_wrap, keys, values};
#ifndef HEED_SINGLE
    b.k.next = next < end ? s.k + s.row_of(next) * s.k_stride : t.next_k;
    b.v.next = next < end ? s.v + s.row_of(next) * s.v_stride : t.next_v;
#endif
    for (int32_t i = 0; i < t.n_rows; i += t.layout->score_rows)
      attend_rows(k, t, b, i, smaller_of(t.n_rows - i, t.layout->score_rows));
    begin = next;
  } while (begin < end);
}

}  // namespace
}  // namespace heed

#endif
