// What a kernel is: one table of functions per instruction set, and the plain data that they work on. Kernels know
// nothing of the public structures, of statuses or of threads; all arguments are valid when they are called.
#ifndef HEED_KERNEL_HPP
#define HEED_KERNEL_HPP

#include "arithmetic.hpp"

// For register tiles (inlined into a large function, GCC 12 spills operands that fit), and for what would keep the
// stack of the functions that call it.
#define HEED_NOINLINE __attribute__((noinline))

namespace heed {

// One key/value head with the queries that read it. Row r of a stream is query r / group of head r % group, so grouped
// heads are extra rows over one pass of k and v.
struct stream {
  const float *q;  // (n_q, group, head_dim)
  ptrdiff_t q_query_stride, q_head_stride;
  const float *k;  // (n_kv, head_dim)
  ptrdiff_t k_stride;
  const float *v;  // (n_kv, v_dim)
  ptrdiff_t v_stride;
  float *out;  // (n_q, group, v_dim)
  ptrdiff_t out_query_stride, out_head_stride;
  float *weights;  // (n_q, group, n_kv) or null
  ptrdiff_t weights_query_stride, weights_head_stride;
  int32_t group, n_kv, head_dim, v_dim;
  ptrdiff_t n_rows;  // n_q * group
  float c;           // scale * log2(e)
  bool causal;
  int32_t causal_offset;
};

namespace {  // member functions are weak symbols otherwise, and one instruction set's copy would serve all

// A row of a stream and where its parts lie. Moving on costs no division, which a row of 64 floats would feel.
class row_cursor {
 public:
  row_cursor(const stream &s, ptrdiff_t row) : s(s), query(row / s.group), head(static_cast<int32_t>(row % s.group)) {}
  void next() {
    if (++head < s.group) return;
    head = 0;
    query++;
  }
  const float *q() const { return s.q + query * s.q_query_stride + head * s.q_head_stride; }
  float *out() const { return s.out + query * s.out_query_stride + head * s.out_head_stride; }
  float *weights() const { return s.weights + query * s.weights_query_stride + head * s.weights_head_stride; }
  int32_t visible_keys() const {             // of a causal stream: keys [0, n)
    if (s.causal_offset < -query) return 0;  // in this order no sum overflows 32 bits
    if (s.causal_offset >= s.n_kv - 1 - query) return s.n_kv;
    return static_cast<int32_t>(query + s.causal_offset + 1);
  }

 private:
  const stream &s;
  ptrdiff_t query;
  int32_t head;
};

}  // namespace

// Consecutive rows of a stream that are computed together, with their working memory. One chunk of keys leaves its
// partial in (m, l, acc); the running total over chunks is (m_total, l_total) and the rows of out.
struct tile {
  const stream *s;
  ptrdiff_t first_row;
  int32_t n_rows;
  bool lanes_are_queries;
  int32_t acc_stride;  // v_dim rounded up to 16
  float *m, *l;        // [n_rows]
  float *m_total, *l_total;
  int32_t *visible;      // [n_rows] keys that each row sees
  float *alpha, *spare;  // [n_rows] each, the kernel's own
  float *sums;           // [16][n_rows]
  float *scores;         // [64][n_rows]
  float *acc;            // [n_rows][acc_stride]
  float *qt;             // [head_dim][n_rows], with lanes_are_queries only; n_rows is then rounded up to 16 here
  int32_t row_capacity;  // rows that the arrays hold
};

// y (n_rows, n_cols) = bias + x (n_rows, depth) w (depth, n_cols)
struct linear_block {
  const float *x;
  ptrdiff_t x_stride;
  const float *w;
  ptrdiff_t w_stride;
  const float *bias;  // or null
  float *y;
  ptrdiff_t y_stride;
  int32_t n_rows, depth, n_cols;
};

struct kernel {
  const char *name;
  bool fused;
  bool (*available)();                                                // can this processor run it?
  int32_t lanes;                                                      // floats in a vector; 0: queries are never lanes
  int32_t max_key_rows;                                               // most rows of a tile whose lanes are keys
  void (*attend)(const tile &t, int32_t key_begin, int32_t key_end);  // keys of one chunk -> partial
  void (*merge)(const tile &t, int32_t key_begin);                    // partial of that chunk -> total
  void (*finish)(const tile &t, bool merged);                         // partial or total -> out
  void (*weigh)(const tile &t);                                       // logits in the rows of weights -> softmax
  void (*softmax)(const float *x, float *y, int32_t n, float c);
  float (*dot)(const float *a, const float *b, int32_t n);
  void (*linear)(const linear_block &b);
};

template <void (*SOFTMAX)(const float *, float *, int32_t, float)>
static inline void weigh_rows(const tile &t) {
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    float *weights = row.weights();
    SOFTMAX(weights, weights, t.visible[r], 1.0f);
    for (int32_t j = t.visible[r]; j < t.s->n_kv; j++) weights[j] = 0.0f;
  }
}

}  // namespace heed

#endif
