// A transformer layer in integers: keys and values of all rows first, then everything else in pieces of rows, so that
// only keys and values grow with n.
#include "../tasks/tasks.hpp"
#include "../integers/int_functions.hpp"
#include "../isa_choice/int_door.hpp"
#include "int_layer.hpp"

namespace heed {
namespace {

// Rows of a piece. Products take 12 or 24 rows at a time; more rows only take more memory.
constexpr int32_t most_piece_rows = 32;

// A layer on its way: arguments of the call, its kernel, and how the memory is cut.
struct layer_pass {
  const heed_int_layer *layer;
  int_kernel kernel;
  int_product_step product;
  volatile heed_status *failed;  // what a norm of the caller's own returned, if that is not HEED_OK
  heed_int_matrix x;
  heed_int_matrix_out y;
  int64_t first_position;  // of row 0, for a rope
  int32_t before;          // rows of x before those of y; less than 0 if rows of y stand before those of x
  int8_t *k, *v;           // of all rows, where there is no cache
  unsigned char *workers;  // memory of worker 0
  size_t worker_bytes, row_bytes;
  int32_t piece_rows;
  const heed_executor *executor;
};

heed_int_matrix int_layer_rows_of(const heed_int_matrix_out &m) {
  return {m.data, m.dtype, m.n_rows, m.dim, m.row_stride, m.zero_point};
}
heed_int_matrix_out int_layer_bytes_of(int8_t *data, int32_t n, int32_t dim, int32_t zero_point) {
  return heed_int_matrix_out_of(data, HEED_INT8, n, dim, zero_point);
}
// n rows from `begin` on, of int16.
template <class M>
HEED_NOINLINE M piece_of(M m, int32_t begin, int32_t n) {
  using number = decltype(m.data);
  m.data = reinterpret_cast<number>(reinterpret_cast<uintptr_t>(m.data) +
                                    static_cast<uintptr_t>(begin) * static_cast<uintptr_t>(m.row_stride) * 2);
  m.n_rows = n;
  return m;
}

// All arguments were checked before the first row: the steps are those without checks.
void project_int_rows(const layer_pass &p, const heed_int_matrix_out &x, const heed_int_projection &l,
                      const heed_int_matrix_out &y) {
  run_int_linear(p.product, int_layer_rows_of(x), l.w, l.bias, l.multipliers, y, nullptr);
}

// Queries or keys from row `begin` on.
void rotate_int_rows(const layer_pass &p, int32_t begin, const heed_int_matrix_out &x, int32_t n_heads) {
  const heed_int_rope *const rope = rope_of(*p.layer);
  if (rope) run_int_rope(*rope, x, n_heads, p.first_position + begin, nullptr);
}

void normalise_int_rows(const layer_pass &p, const heed_int_matrix &x, const heed_int_norm &norm,
                        const heed_int_matrix_out &y) {
  const heed_int_layer &l = *p.layer;
#ifndef HEED_SINGLE  // firmware links the norm that its layer names, and no other
  if (l.norm == heed_int_layer_norm) return run_int_layer_norm(x, norm, y, nullptr);
  if (l.norm == heed_int_rms_norm) return run_int_rms_norm(x, norm, y, nullptr);
#endif
  const heed_status status = l.norm(x, norm, y, nullptr);
  if (status != HEED_OK) *p.failed = status;  // any worker's
}

// H of a sublayer: int8 rows for its products.
void begin_int_sublayer(const layer_pass &p, const heed_int_matrix &x, const heed_int_norm &norm,
                        heed_multiplier factor, const heed_int_matrix_out &h) {
  if (p.layer->norm_first)
    normalise_int_rows(p, x, norm, h);
  else
    run_int_rescale(x, factor, h, nullptr);
}

// x * of_x + f * of_f, and with norms last the norm of that.
void end_int_sublayer(const layer_pass &p, const heed_int_matrix &x, heed_multiplier of_x, const heed_int_matrix_out &f,
                      heed_multiplier of_f, const heed_int_norm &norm, const heed_int_matrix_out &y) {
  run_int_add(x, of_x, int_layer_rows_of(f), of_f, y, nullptr);
  if (!p.layer->norm_first) normalise_int_rows(p, int_layer_rows_of(y), norm, y);
}

// A worker's memory: rows of H or G, rows of C wo or U w_down, and what lies between them.
struct piece_rows {
  int8_t *h, *inner;
  int16_t *result;
  heed_memory workspace;
};
piece_rows memory_of(const layer_pass &p, int32_t worker) {
  unsigned char *begin = p.workers + static_cast<size_t>(worker) * p.worker_bytes;
  const size_t n = static_cast<size_t>(p.piece_rows), dim = static_cast<size_t>(p.layer->model_dim);
  piece_rows m;
  m.result = reinterpret_cast<int16_t *>(begin);
  m.h = reinterpret_cast<int8_t *>(begin + 2 * n * dim);
  m.inner = m.h + n * dim;
  m.workspace = {begin + n * p.row_bytes, p.worker_bytes - n * p.row_bytes};
  return m;
}

// Rows [begin, begin + n) of keys and values.
void run_keys(const layer_pass &p, int32_t begin, int32_t n, int32_t worker) {
  const heed_int_layer &l = *p.layer;
  const piece_rows m = memory_of(p, worker);
  const heed_int_matrix_out h = int_layer_bytes_of(m.h, n, l.model_dim, l.h_zero);
  const ptrdiff_t at = static_cast<ptrdiff_t>(begin) * key_dim(l);
  int8_t *const k = l.cache ? m.inner : p.k + at;
  int8_t *const v = l.cache ? k + static_cast<ptrdiff_t>(n) * key_dim(l) : p.v + at;
  begin_int_sublayer(p, piece_of(p.x, begin, n), l.norm1, l.to_h, h);
  const heed_int_matrix_out keys = int_layer_bytes_of(k, n, key_dim(l), l.k_zero);
  project_int_rows(p, h, l.wk, keys);
  rotate_int_rows(p, begin, keys, l.n_kv_heads);
  project_int_rows(p, h, l.wv, int_layer_bytes_of(v, n, key_dim(l), l.v_zero));
  if (l.cache) l.cache->code->store(*l.cache, begin, n, k, v);
}

// Attention of n queries from row `begin` on to all keys of the call, or to those of the cache.
void attend_int_tokens(const layer_pass &p, int32_t begin, int32_t n, const int8_t *q, int8_t *context,
                       heed_memory workspace) {
  const heed_int_layer &l = *p.layer;
  heed_int_attention call =
      heed_int_attention_of(q, p.k, p.v, n, p.x.n_rows, l.n_heads, l.n_kv_heads, l.head_dim, context, workspace);
  call.causal = l.causal;
  call.position = begin;
  if (l.cache) {
    call.cache = l.cache;
    call.n_kv = HEED_MAX_COUNT;
    call.position += n - p.x.n_rows;  // from its newest tokens
  }
  call.score = l.score;
  call.value = l.value;
  call.q.zero_point = l.q_zero;
  call.k.zero_point = l.k_zero;
  call.v.zero_point = l.v_zero;
  call.out.zero_point = l.c_zero;
  run_int_attention(p.kernel, call);
}

// With a gate: lookup(G w_gate) * (G w_up). Without: lookup(G w_up). The activation is a table of 256 numbers.
void run_int_feed_forward(const layer_pass &p, const heed_int_matrix_out &g, int8_t *inner,
                          const heed_int_matrix_out &result) {
  const heed_int_layer &l = *p.layer;
  const int32_t n = g.n_rows;
  const heed_int_matrix_out hidden = int_layer_bytes_of(inner, n, l.ffn_dim, l.u_zero);
  if (is_gated_int_layer(l)) {
    const heed_int_matrix_out gate =
        int_layer_bytes_of(inner + static_cast<ptrdiff_t>(n) * l.ffn_dim, n, l.ffn_dim, l.gate_zero);
    const heed_int_matrix_out up = int_layer_bytes_of(inner, n, l.ffn_dim, l.up_zero);
    project_int_rows(p, g, l.w_gate, gate);
    run_int_lookup(int_layer_rows_of(gate), l.activation, gate, nullptr);
    project_int_rows(p, g, l.w_up, up);
    run_int_multiply(int_layer_rows_of(gate), int_layer_rows_of(up), l.gate, hidden, nullptr);
  } else {
    project_int_rows(p, g, l.w_up, hidden);
    run_int_lookup(int_layer_rows_of(hidden), l.activation, hidden, nullptr);
  }
  project_int_rows(p, hidden, l.w_down, result);
}

// All else of rows [begin, begin + n).
void run_piece(const layer_pass &p, int32_t begin, int32_t n, int32_t worker) {
  const heed_int_layer &l = *p.layer;
  const piece_rows m = memory_of(p, worker);
  const heed_int_matrix x = piece_of(p.x, begin, n);
  const heed_int_matrix_out a = piece_of(p.y, begin - p.before, n),
                            h = int_layer_bytes_of(m.h, n, l.model_dim, l.h_zero),
                            q = int_layer_bytes_of(m.inner, n, context_dim(l), l.q_zero),
                            g = int_layer_bytes_of(m.h, n, l.model_dim, l.g_zero),
                            result = heed_int_matrix_out_of(m.result, HEED_INT16, n, l.model_dim, 0);
  int8_t *const context = m.inner + static_cast<ptrdiff_t>(n) * context_dim(l);
  begin_int_sublayer(p, x, l.norm1, l.to_h, h);
  project_int_rows(p, h, l.wq, q);
  rotate_int_rows(p, begin, q, l.n_heads);
  attend_int_tokens(p, begin, n, m.inner, context, m.workspace);
  project_int_rows(p, int_layer_bytes_of(context, n, context_dim(l), l.c_zero), l.wo, result);
  end_int_sublayer(p, x, l.of_x, result, l.of_attention, l.norm1, a);
  begin_int_sublayer(p, int_layer_rows_of(a), l.norm2, l.to_g, g);
  run_int_feed_forward(p, g, m.inner, result);
  end_int_sublayer(p, int_layer_rows_of(a), l.of_a, result, l.of_hidden, l.norm2, a);
}

// ------------------------------------------------------------------------------------------------------------ threads

struct layer_task {
  const layer_pass *pass;
  int32_t first, end;  // rows
  void (*run)(const layer_pass &p, int32_t begin, int32_t n, int32_t worker);
};

void layer_piece_task(void *context, int32_t index, int32_t worker) {
  const layer_task &task = *static_cast<const layer_task *>(context);
  const layer_pass &p = *task.pass;
  const int32_t begin = task.first + index * p.piece_rows, left = task.end - begin;
  task.run(p, begin, smaller_of(left, p.piece_rows), worker);
}

void run_int_pieces(const layer_pass &p, int32_t first, int32_t end,
                    void (*run)(const layer_pass &p, int32_t begin, int32_t n, int32_t worker)) {
  layer_task task = {&p, first, end, run};
  if (first < end) run_tasks(p.executor, (end - first + p.piece_rows - 1) / p.piece_rows, layer_piece_task, &task);
}

// As many rows in a piece as the memory has room for beside the least workspace, at most 32; fewer if threads would idle.
layer_pass pass_of(const heed_int_layer &l, const heed_int_matrix &x, const heed_int_matrix_out &y, heed_memory memory,
                   const heed_executor *executor) {
  layer_pass p = {};
  p.layer = &l;
  p.x = x;
  p.y = y;
  if (x.n_rows == 1) p.x.row_stride = 0;
  if (y.n_rows == 1) p.y.row_stride = 0;
  const size_t keys = static_cast<size_t>(layer_keys_bytes(l, x.n_rows)), room = memory.bytes - keys;
  unsigned char *const data = static_cast<unsigned char *>(memory.data);
  if (!l.cache) {
    p.k = reinterpret_cast<int8_t *>(data);
    p.v = reinterpret_cast<int8_t *>(data + keys / 2);
  }
  p.workers = data + keys;
  p.row_bytes = layer_row_bytes(l);
  const size_t least = least_worker_bytes(l), wanted = executor ? static_cast<size_t>(executor->n_workers) : 1;
  const size_t n_workers = room / wanted / 64 * 64 >= least ? wanted : 1;
  p.executor = n_workers > 1 ? executor : nullptr;
  p.worker_bytes = room / n_workers / 64 * 64;
  const size_t rows = (p.worker_bytes - least) / p.row_bytes + 1,
               fair = (static_cast<size_t>(x.n_rows) + n_workers - 1) / n_workers;
  // By fours, as kernels of small chips take them.
  const auto fours = rows > 4 ? rows / 4 * 4 : rows;
  p.piece_rows = static_cast<int32_t>(smaller_of(fours, most_piece_rows));
  if (fair < static_cast<size_t>(p.piece_rows)) p.piece_rows = static_cast<int32_t>(fair);
  return p;
}

}  // namespace
}  // namespace heed

using namespace heed;

heed_status heed_int_layer_run(const heed_int_layer *layer, heed_int_matrix x, heed_int_matrix_out y,
                               heed_memory memory, const heed_executor *executor) {
  const heed_status status = check_layer_run(layer, x, y, memory, executor);
  if (status != HEED_OK) return status;
  // A ring keeps the windows of so many queries at a time.
  heed_int_cache *const cache = layer->cache;
  const int32_t at_once = cache && is_ring(cache->shape) ? cache->shape.spare + 1 : x.n_rows;
  const int32_t before = rows_before(*layer, x.n_rows), end = before + y.n_rows;
  const int_kernel kernel = int_kernel_in_use();
  volatile heed_status failed = HEED_OK;
  for (int32_t begin = 0; begin < x.n_rows; begin += at_once) {
    const int32_t left = x.n_rows - begin, n = smaller_of(left, at_once);
    layer_pass pass = pass_of(*layer, piece_of(x, begin, n), y, memory, executor);
    pass.before = before - begin;
    pass.first_position = first_position_of(*layer);
    pass.kernel = kernel;
    pass.product = int_products_of(kernel)->project;
    pass.failed = &failed;
    run_int_pieces(pass, 0, n, run_keys);
    if (cache) cache->code->count(*cache, n);
    run_int_pieces(pass, larger_of(pass.before, 0), smaller_of(end - begin, n), run_piece);
  }
  return failed;
}
