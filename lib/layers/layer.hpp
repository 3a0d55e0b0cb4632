// What both layers share: attention with its projections on rows that have been checked (attention_layer.cpp), how the
// memory of a layer is cut, and how a ring takes more rows than it has to spare.
#ifndef HEED_LAYER_HPP
#define HEED_LAYER_HPP

#include "../checks/validate.hpp"
#include "../isa_choice/dispatch.hpp"
#include "batch.hpp"
#include "heed/heed.h"

namespace heed {

inline heed_matrix readable(const heed_matrix_out &m) { return {m.data, m.n_rows, m.dim, m.row_stride}; }

// ------------------------------------------------------------------------------------------------------------- memory

// In 64 bits, which hold n rows of any valid layer.
constexpr uint64_t rows_bytes(int32_t n, size_t floats) {
  return HEED_LAYER_ROUND(sizeof(float) * static_cast<uint64_t>(n) * floats);
}
// With a whole workspace: what the macros say. 0 when no memory is so large.
constexpr size_t layer_bytes(int32_t n, size_t floats, int32_t head_dim, int32_t v_dim) {
  const uint64_t bytes = rows_bytes(n, floats) + HEED_WORKSPACE_BYTES(head_dim, v_dim);
  return size_or_zero(bytes);
}

// Floats of a row: q, k, v and context. Without wo the context is the result.
constexpr size_t attention_floats(int32_t n_heads, int32_t n_kv_heads, int32_t head_dim, int32_t v_dim, bool has_wo) {
  return HEED_LAYER_QKV_FLOATS(n_heads, n_kv_heads, head_dim, v_dim) -
         (has_wo ? 0 : static_cast<size_t>(n_heads) * static_cast<size_t>(v_dim));
}
// The result of a sublayer, then what it is made of: q, k, v and context, or the hidden rows.
constexpr size_t transformer_floats(int32_t model_dim, size_t attention, size_t hidden) {
  return static_cast<size_t>(model_dim) + HEED_LAYER_GREATER(attention, hidden);
}

// ----------------------------------------------------------------------------------------- attention of both layers

// Rows on their way through an attention layer.
struct attention_pass {
  const heed_attention_layer *layer;
  const heed_matrix *x;  // null: the rows of y
  heed_matrix_out y;
  float *rows;  // q, k, v and, with wo, the context
  float *keys;  // k and v, which are there already: then rows are q and the context. Or null
  heed_memory workspace;
  const heed_executor *executor;
  row_span span;  // which rows of the call they are
};
heed_status run_attention_layer(kernel_handle k, const attention_pass &c);

inline bool has_output_projection(const heed_attention_layer &layer) { return layer.wo.data != nullptr; }

struct widths {
  int32_t q, k, v, context;  // of a row of each projection and of the context
};
inline widths widths_of(const heed_attention_layer &l) {
  return {l.n_heads * l.head_dim, l.n_kv_heads * l.head_dim, l.n_kv_heads * l.v_dim, l.n_heads * l.v_dim};
}
// What a run computes: of another sequence's keys and values nothing.
inline widths own_widths_of(const heed_attention_layer &l) {
  widths w = widths_of(l);
  if (l.cross) w.k = w.v = 0;
  return w;
}
inline bool makes_keys(const attention_pass &c) { return !c.layer->cross && !c.keys; }

// Where the projections and the context lie.
struct attention_rows {
  float *q, *k, *v, *context;
};
inline attention_rows rows_of(const attention_pass &c) {
  const widths w = own_widths_of(*c.layer);
  const size_t n = static_cast<size_t>(c.y.n_rows);
  attention_rows r;
  r.q = c.rows;
  float *const behind = r.q + n * static_cast<size_t>(w.q);
  r.k = c.keys ? c.keys : behind;
  r.v = r.k + static_cast<size_t>(c.span.n) * static_cast<size_t>(w.k);
  r.context = c.keys ? behind : r.v + n * static_cast<size_t>(w.v);
  return r;
}

// Its steps: the projections of rows that begin at row `first` of all; between the projections queries and keys are
// normalised and rotated, keys and values put into the cache if there is one; then the context.
void project_inputs(kernel_handle k, const attention_pass &c, const heed_matrix &x, int32_t first,
                    const heed_executor *executor);
heed_status place_tokens(kernel_handle k, const attention_pass &c);
void attend_tokens(kernel_handle k, const attention_pass &c);
heed_status normalise_keys(kernel_handle k, const attention_pass &c, float *keys);
void rotate_heads(kernel_handle k, const attention_pass &c, float *data, int32_t n_heads, int64_t position, int32_t row,
                  int32_t n);
void rotate_rows(kernel_handle k, const attention_pass &c, int32_t sequence, int32_t first, int32_t n);
heed_status append_tokens(kernel_handle k, const heed_attention_layer &l, const row_span &span, const float *keys,
                          const float *values, const heed_executor *executor);
// Its attention over these rows, which are in the cache if there is one; without workspace and executor.
heed_attention attention_of(const heed_attention_layer &l, const row_span &span, const attention_rows &r);

// Ranges that the checks below may add: weights, scales and biases; norms of q and k; rope, its frequencies, axes and
// positions; the cache and its memory; the batch and its lengths.
constexpr int attention_layer_ranges = 4 * 4 + 4 + 4 + 2 + 2;

void check_attention_shape(checker &check, const heed_attention_layer &layer);
void check_attention_projections(checker &check, const heed_attention_layer &layer);
// Batch, executor, rope, cache, and whether the memory has room for the rows, of so many floats, or for those that pass at
// once.
void check_attention_state(checker &check, const heed_attention_layer &layer, const row_span &span, size_t floats,
                           heed_memory memory, const heed_executor *executor);
void check_batch(checker &check, const row_span &span);
void check_cross(checker &check, const heed_attention_layer &layer);
void check_layer_cache(checker &check, const heed_attention_layer &layer, const row_span &span, bool appends);
// Options are those of attention once the cache holds the new tokens.
void check_attention_options(checker &check, const heed_attention_layer &layer, const row_span &span);

void check_projection(checker &check, const heed_weights &w, const float *bias, int32_t n_in, int32_t n_out,
                      heed_argument w_name, heed_argument bias_name);

// --------------------------------------------------------------------------------------------------- transformer layer

// Rows on their way through a layer. attention.y is what all sublayers give and, with norms first, what they take;
// hidden rows lie where q, k, v and context did, in attention.rows.
struct transformer_pass {
  const heed_transformer_layer *layer;
  const heed_matrix &x;
  const heed_matrix_out &y;
  attention_pass attention;
};

inline bool is_gated(const heed_transformer_layer &l) {
  return l.w_gate.data != nullptr || l.ffn_order != HEED_FFN_SEPARATE;
}
// Floats of a row that the feed-forward works in. A parallel gated layer uses model_dim floats of this once; the macros
// count them twice, so this does, too.
inline int64_t hidden_floats(const heed_transformer_layer &l) {
  int64_t floats = l.ffn_dim;
  if (l.parallel) floats += l.attention->model_dim;
  return is_gated(l) ? 2 * floats : floats;
}

enum class sublayer { attention, cross, hidden };

// Some of these rows: all of them, or a worker's.
struct some_rows {
  kernel_handle k;
  const heed_transformer_layer *layer;
  heed_matrix x;
  heed_matrix_out y, given;  // y of the layer; what a sublayer gives and, with norms first, takes
  float *hidden;
  const heed_executor *executor;
  void (*norm)(const norm_rows &rows);           // the layer's norm and activation as steps of a kernel; or null, then
  void (*activation)(const element_rows &rows);  // its functions are called
  rms_kind kind;                                 // of norm
};
// The rows to which a sublayer's result is added.
inline heed_matrix residual_of(const some_rows &r, sublayer s) {
  return s == sublayer::attention ? r.x : readable(r.y);
}
// What a sublayer takes.
inline heed_matrix input_of_sublayer(const some_rows &r, sublayer s) {
  return r.layer->norm_first ? readable(r.given) : residual_of(r, s);
}
// The norm before a sublayer, if it has one: after this `taken` is what it takes.
heed_status begin_sublayer(const some_rows &r, sublayer s);
// What is done with what it gave.
heed_status end_sublayer(const some_rows &r, sublayer s);
// What is done with what attention gave; of parallel sublayers all that is left.
heed_status finish_attention(const some_rows &r);
// All that stands behind attention and cross-attention.
heed_status run_feed_forward(const some_rows &r);

// The sublayers of rows whose keys are there, or are made on the way.
heed_status run_sublayers(const some_rows &r, const attention_pass &c);
// Keys and values of all rows first; then the rows that are wanted, as many at a time as the memory has room for.
heed_status run_apart(kernel_handle k, const transformer_pass &c);
// Rows at a time beside keys and values of n rows; 0 if there is no room. The least memory with room for one.
int32_t rows_apart(const heed_transformer_layer &l, int32_t n, size_t bytes);
uint64_t least_bytes_apart(const heed_transformer_layer &l, int32_t n);

inline heed_matrix rows_of_piece(const heed_matrix &m, int32_t begin, int32_t n) {
  return {m.data + begin * m.row_stride, n, m.dim, m.row_stride};
}
inline heed_matrix_out rows_of_piece(const heed_matrix_out &m, int32_t begin, int32_t n) {
  return {m.data + begin * m.row_stride, n, m.dim, m.row_stride};
}

// Small layers on several threads: stripes of rows instead of one function after another.
#ifndef HEED_SINGLE  // one file is for boards
bool repays_stripes(kernel_handle k, const transformer_pass &c);
heed_status run_stripes(kernel_handle k, const transformer_pass &c);
#endif

// --------------------------------------------------------------------------------------------------------------- rows

// Rows of a sequence that pass at once: a ring takes so many that every query still finds its own window.
inline int32_t rows_at_once(const heed_attention_layer &layer, int32_t n) {
  if (!layer.cache || layer.cache->shape.kind != HEED_CACHE_RING) return n;
  return n - 1 > layer.cache->shape.spare ? layer.cache->shape.spare + 1 : n;
}
// Columns of a mask are those of the keys' numbers before the call, and of its own rows. The checks of a cache ask, too, before
// those of options: a misaligned object, which is refused then, is not read.
inline bool keeps_numbers(const heed_attention_layer &layer) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(layer.options) % alignof(heed_options) == 0;
  return layer.options && is_aligned && layer.options->mask;
}
// Do all rows pass at once?
inline bool pass_at_once(const heed_attention_layer &layer, const row_span &span) {
  const int32_t longest = longest_of(span);
  return rows_at_once(layer, longest) == longest;
}
// Rows that the memory has room for.
inline int32_t rows_in_memory(const heed_attention_layer &layer, const row_span &span) {
  return span.batch ? span.n : rows_at_once(layer, span.n);
}

// Do options count by the rows of the call, so that it cannot be cut into pieces?
inline bool count_by_rows(const heed_options &o) {
  return o.mask || o.scores || o.weights || o.lse || o.column_sums || o.topk_weights ||
         (o.ranges && (o.ranges->kv_lengths || o.ranges->positions));
}

// run() for piece after piece of the rows, which x, y and span then are: at most so many of each sequence.
template <class F>
heed_status run_pieces(heed_matrix &x, heed_matrix_out &y, row_span &span, int32_t at_once, F run) {
  for (int32_t left = span.n;;) {
    span.n = span.n_q = x.n_rows = y.n_rows = next_piece(span, left, at_once);
    const heed_status status = run();
    left -= span.n;
    if (status != HEED_OK || left == 0) return status;
    span.first += span.n;
    x.data += x.n_rows * x.row_stride;
    y.data += y.n_rows * y.row_stride;
  }
}

// Cuts the rows off the front of a memory and returns them.
inline float *take_rows(heed_memory &memory, uint64_t bytes) {
  unsigned char *const rows = static_cast<unsigned char *>(memory.data);
  memory = {rows + bytes, memory.bytes - static_cast<size_t>(bytes)};
  return reinterpret_cast<float *>(rows);
}

}  // namespace heed

#endif
