// What a kernel is: one table of functions per instruction set, and the plain data that they work on. Kernels know
// nothing of the public structures, of statuses or of threads; all arguments are valid when they are called.
#ifndef HEED_KERNEL_HPP
#define HEED_KERNEL_HPP

#include "../arithmetic.hpp"
#include "counts.hpp"

#define HEED_INLINED \
  __attribute__((always_inline))  // of a lambda: GCC 12 calls some of a large file, registers spilled
// For register tiles (inlined into a large function, GCC 12 spills operands that fit), and for what would keep the
// stack of the functions that call it.
#define HEED_NOINLINE __attribute__((noinline))
// For what need not be fast: compilers make it small.
#define HEED_COLD __attribute__((noinline, cold))

namespace heed {

// The factor of a row: 1 / l, or 0 for a row of which no key counts.
HEED_INLINE float reciprocal_or_zero(float l) { return l == 0.0f ? 0.0f : 1.0f / l; }
// The maximum of rule 4: a NaN x is passed over.
constexpr HEED_INLINE float maximum_over_nan(float m, float x) { return x > m ? x : m; }
// What rule 4 subtracts from scores: the maximum, or 0 for a row of which no key counts.
HEED_INLINE float finite_maximum(float m) { return m == negative_infinity ? 0.0f : m; }

// Rows of keys or of values. Kernels take them block by block, at most 64 from `key` on, so that they may lie anywhere.
struct key_source {
  const float *data;
  ptrdiff_t stride;
  HEED_INLINE const float *from(int32_t key) const { return data + key * stride; }
};

// An array over (batch, heads, rows, ...) that is read: a mask, narrow numbers, their scales. Strides count elements.
struct input_rows {
  const void *data;
  ptrdiff_t batch_stride, head_stride, row_stride;
};
// The one address of (b, h, row): of these arrays, and of the tensors of the public headers.
template <class A>
HEED_INLINE ptrdiff_t place_of(const A &array, ptrdiff_t b, ptrdiff_t h, ptrdiff_t row) {
  return b * array.batch_stride + h * array.head_stride + row * array.row_stride;
}
struct narrow_rows {
  input_rows numbers, scales;  // scales: of int8, one of a row
  int32_t dtype;               // heed_dtype
};

// Keys and values that do not lie as rows of floats one after another: in a cache, or in a narrow format. A cache keeps
// key j in a slot, and keys by groups of 16 slots: element (slot, i) of a group at [i][slot mod 16].
struct storage {
  int32_t key_format, value_format;                 // heed_dtype
  bool keys_are_rows;                               // as values are; else a cache's
  int32_t first_key;                                // that key 0 of the call is in the context
  int32_t pinned_slots, ring_slots;                 // of all slots those after the pinned ones are used again and again
  input_rows key_scales, value_scales;              // of all slots; heads are those of keys and values
  narrow_rows queries;                              // numbers null: floats, as the stream says
  HEED_INLINE int32_t slot_of(int32_t key) const {  // blocks of 64 keys stay whole
    key += first_key;
    return key < pinned_slots + ring_slots ? key : pinned_slots + (key - pinned_slots) % ring_slots;
  }
};

struct score_rule;

// One key/value head with the queries that read it. Row r of a stream is query r / group of head r % group, so grouped
// heads are extra rows over one pass of k and v.
struct stream {
  const float *q;  // (n_q, group, head_dim); null: narrow ones, which are in qt, or which the score step widens
  ptrdiff_t q_query_stride, q_head_stride;
  key_source k, v;  // (n_kv, head_dim), (n_kv, v_dim)
  float *out;       // (n_q, group, v_dim)
  ptrdiff_t out_query_stride, out_head_stride;
  int32_t group, n_kv, head_dim, v_dim;
  ptrdiff_t n_rows;                 // n_q * group
  float c;                          // scale * log2(e)
  int32_t first_shift, last_shift;  // query i sees keys [i + first_shift, i + last_shift) of [0, n_kv)
  const score_rule *rule;           // what else happens to scores; null: nothing
  int32_t batch_entry, first_head;  // for the rule: which stream this is
};
constexpr int32_t open_shift = 0x40000000;  // HEED_MAX_COUNT: a row that is shifted so far sees all, or nothing

inline int32_t clamp_shift(int64_t shift) { return clamp_64(shift, -open_shift, open_shift); }

struct key_range {
  int32_t first, last;  // [first, last); both ascend with the rows of a stream
};

// An array over (batch, heads, queries, ...) that is written: weights, scores.
struct kept_rows {
  float *data;
  ptrdiff_t batch_stride, head_stride, row_stride;
};

namespace {  // member functions are weak symbols otherwise, and one instruction set's copy would serve all

// A row of a stream and where its parts lie. Moving on costs no division, which a row of 64 floats would feel.
class row_cursor {
 public:
  row_cursor(const stream &s, ptrdiff_t row) : query(row), head(0), s(s) {
    if (s.group == 1) return;
    query = row / s.group;
    head = static_cast<int32_t>(row - query * s.group);
  }
  void next() {
    if (++head < s.group) return;
    head = 0;
    query++;
  }
  HEED_INLINE const float *q() const { return s.q + query * s.q_query_stride + head * s.q_head_stride; }
  float *out() const { return s.out + query * s.out_query_stride + head * s.out_head_stride; }
  key_range keys() const {
    return {clip(static_cast<int32_t>(query) + s.first_shift), clip(static_cast<int32_t>(query) + s.last_shift)};
  }

  ptrdiff_t query;
  int32_t head;

 private:
  const stream &s;
  int32_t clip(int32_t key) const { return clamp_to(key, 0, s.n_kv); }
};

}  // namespace

// For one row of keys: the maximum, the sum of the exponentials, and the sum of exponentials times values (rule 6).
struct partial {
  float *m, *l;  // [n_rows]
  float *acc;    // [n_rows][acc_stride of the tile]; null: the rows of out
};

// Consecutive rows of a stream that are computed together, with their working memory. One chunk of keys leaves its
// partial in `chunk`; `total` is the running total over chunks.
struct tile {
  const stream *s;
  ptrdiff_t first_row;
  int32_t n_rows;
  bool lanes_are_queries;
  bool again;          // the second pass over the keys, of rows that are known to their end
  int32_t acc_stride;  // v_dim rounded up to 16
  partial chunk, total;
  int32_t *first, *last;  // [n_rows] the keys that each row sees
  float *alpha;           // [n_rows] what the past is multiplied by; in the end, what the row is
  float *shift;           // [n_rows] the finite maximum; in a merge, the chunk's factor
  float *sums;            // [16][n_rows]
  float *scores;          // [64][n_rows] or [n_rows][64]
  float *qt;              // [head_dim][n_rows], with lanes_are_queries only; n_rows is then rounded up to 16 here
  int32_t row_capacity;   // rows that the arrays hold
};

// Keys [begin + from, begin + n) of a tile, which lie in one block of 64; begin is a multiple of 64.
struct key_block {
  int32_t begin, from, n;
  bool first;  // of its chunk in this tile
};
// What row r sees of a block, counted from its begin.
[[maybe_unused]] static HEED_NOINLINE int32_t clip_to(const key_block &b, int32_t key) {
  return clamp_to(key - b.begin, b.from, b.n);
}
HEED_INLINE key_range seen_of_block(const tile &t, const key_block &b, int32_t r) {
  return {clip_to(b, t.first[r]), clip_to(b, t.last[r])};
}

// What a rule has made of a block of scores.
enum class after_rule {
  add,          // go on
  add_visible,  // some keys are hidden from some rows, and a value is not finite: hidden ones must not be touched
  skip,         // done with the block
};

// What happens to scores besides ranges, for a whole call. Null in a stream: the plain case.
struct score_rule {
  bool (*sees)(const tile &t, const key_block &b);         // does any row see any key? null: yes
  after_rule (*apply)(const tile &t, const key_block &b);  // scores as they are wanted; null: as they are
  void (*add_visible)(const tile &t, const key_block &b);  // instead of the sum of p v
  const storage *stored;                                   // null: rows of floats
  void (*score)(const tile &t, const key_block &b);        // null: the loop's own steps, for rows of floats
  void (*add)(const tile &t, const key_block &b);
  void (*score_keys)(const tile &t, const key_block &b);  // of score_narrow: null, or a cache's step
  void (*attend)(const tile &t, int32_t key_begin);       // the kernel's, for streams with a rule
  bool (*resume)(const tile &t);                          // total from the caller? null: no
  void (*finish)(const tile &t, const partial &p);        // partial -> out and all else that is wanted
  void (*place)(const score_rule &rule, stream &s);       // where a stream's arrays lie; null: as the call says
  void (*range)(const score_rule &rule, stream &s);       // what a batch entry sees; null: as the call says for all
  void (*merge)(const tile &t, bool first);
  void (*open)(const tile &t, stream &s);  // rows of floats for narrow queries and out; null: no need
  size_t out_bytes, q_bytes;               // of workspace for each row of those; 0: none
  float c;                                 // dot * c is the first score
  int32_t pinned;                          // the first so many keys are seen, too, by rows that see only later ones
  bool by_stream;                          // tiles of a stream one after another, on one worker
};

HEED_INLINE int32_t pinned_of(const stream &s) { return s.rule ? s.rule->pinned : 0; }
// Scales of a stream's keys, or values: where that of a slot lies, and the first of them.
HEED_INLINE ptrdiff_t scale_at(const stream &s, const input_rows &of, ptrdiff_t slot) {
  return place_of(of, s.batch_entry, s.first_head / s.group, slot);
}
HEED_INLINE const float *scales_of(const stream &s, const input_rows &of) {
  return static_cast<const float *>(of.data) + scale_at(s, of, 0);
}

// y (n_rows, n_cols) = bias + x (n_rows, depth) w (depth, n_cols)
struct linear_block {
  const float *x;
  ptrdiff_t x_stride;
  const float *w;  // of plain floats, as the stride; else null, and weights_of has both
  ptrdiff_t w_stride;
  const float *bias;  // or null
  float *y;
  ptrdiff_t y_stride;
  int32_t n_rows, depth, n_cols;
};

// y (n_rows, dim) = softmax of the rows of x * c; every row has the sink besides, which is none at -infinity.
struct softmax_rows {
  const float *x;
  ptrdiff_t x_stride;
  float *y;
  ptrdiff_t y_stride;
  int32_t n_rows, dim;
  float c, sink;
};

// Weights as they lie in a file: element (i, n) at data[i * stride + n], or [n * stride + i] where out_in.
struct stored_weights {
  const void *data;
  const float *scales;  // of int8: one per column
  ptrdiff_t stride;
  int32_t dtype;
  bool out_in;
  // Of bytes with zero points: as many of these as scales, or null (all are 0); one of each for all columns; uint8.
  const unsigned char *zeros = nullptr;
  bool one_scale = false, is_uint8 = false;
};
using project_step = void (*)(const linear_block &b, const stored_weights &w);  // w instead of b.w

// Attention of an instruction set, and what names it.
struct kernel {
  const char *name;
  bool has_fma;
  bool (*available)();                                     // can this processor run it?
  int32_t lanes;                                           // floats in a vector; 0: queries are never lanes
  int32_t max_key_rows;                                    // most rows of a tile whose lanes are keys
  void (*attend)(const tile &t, int32_t key_begin);        // the chunk that begins there -> its partial
  void (*attend_plain)(const tile &t, int32_t key_begin);  // the same without a rule, where rows see keys [0, last)
  void (*merge)(const tile &t, bool first);                // partial of a chunk -> total
  void (*finish)(const tile &t, const partial &p);         // chunk or total -> out
  void (*keep)(const tile &t, const key_block &b, const kept_rows &to, float factor);  // scores * factor -> rows
  void (*softmax)(const softmax_rows &rows);
};

// Its other parts are tables of their own, so that a program is linked with those alone that it can reach: products
// here, options in score_rule.hpp, the rest of a block in row_steps.hpp.
struct product_steps {
  float (*dot)(const float *a, const float *b, int32_t n);
  void (*linear)(const linear_block &b);
};
struct project_steps {
  project_step project;
};

}  // namespace heed

#endif
