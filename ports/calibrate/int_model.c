/* See int_model.h. SPDX-License-Identifier: MIT */
#include "int_model.h"

/* Checked at compile time: a negative size is an error. */
typedef char int_model_header_is_packed[sizeof(int_model_header) == 80 ? 1 : -1];
typedef char int_model_layer_is_packed[sizeof(int_model_layer) == 112 ? 1 : -1];

/* Frames of what reads a layer are gone before it runs. */
#ifdef __GNUC__
#define APART __attribute__((noinline))
#else
#define APART
#endif

static const void *take(const unsigned char **at, size_t n_bytes) {
  const void *here = *at;
  *at += INT_MODEL_ROUND(n_bytes);
  return here;
}

static heed_int_projection take_linear(const unsigned char **at, int32_t n_in, int32_t n_out) {
  heed_int_projection l;
  const int8_t *numbers = (const int8_t *)take(at, (size_t)n_in * (size_t)n_out);
  l.w = heed_weights_of(numbers, NULL, HEED_INT8, HEED_OUT_IN, n_in, n_out);
  l.bias = (const int32_t *)take(at, (size_t)n_out * sizeof(int32_t));
  l.multipliers = (const heed_multiplier *)take(at, (size_t)n_out * sizeof(heed_multiplier));
  return l;
}

static heed_int_norm take_norm(const unsigned char **at, int32_t dim, int32_t shift, uint32_t eps) {
  heed_int_norm n;
  n.weight = (const int32_t *)take(at, (size_t)dim * sizeof(int32_t));
  n.bias = (const int32_t *)take(at, (size_t)dim * sizeof(int32_t));
  n.shift = shift;
  n.eps = eps;
  return n;
}

/* A layer that begins at *at, which moves to its end. */
static APART heed_int_layer read_layer(const int_model_header *h, const unsigned char **at) {
  const int_model_layer *n = (const int_model_layer *)take(at, sizeof *n);
  const int32_t dim = h->model_dim, rows = h->n_heads * h->head_dim, keys = h->n_kv_heads * h->head_dim;
  heed_int_layer l =
      heed_int_layer_default(dim, h->n_heads, h->ffn_dim, h->rms_norm ? heed_int_rms_norm : heed_int_layer_norm);
  l.n_kv_heads = h->n_kv_heads;
  l.head_dim = h->head_dim;
  l.norm_first = h->norm_first;
  l.causal = h->causal;
  l.wq = take_linear(at, dim, rows);
  l.wk = take_linear(at, dim, keys);
  l.wv = take_linear(at, dim, keys);
  l.wo = take_linear(at, rows, dim);
  l.w_up = take_linear(at, dim, h->ffn_dim);
  if (h->gated) l.w_gate = take_linear(at, dim, h->ffn_dim);
  l.w_down = take_linear(at, h->ffn_dim, dim);
  l.norm1 = take_norm(at, dim, n->norm1_shift, n->norm1_eps);
  l.norm2 = take_norm(at, dim, n->norm2_shift, n->norm2_eps);
  l.activation = (const int8_t *)take(at, 256);
  l.score = n->score;
  l.value = n->value;
  l.to_h = n->to_h;
  l.to_g = n->to_g;
  l.of_x = n->of_x;
  l.of_attention = n->of_attention;
  l.of_a = n->of_a;
  l.of_hidden = n->of_hidden;
  l.gate = n->gate;
  return l;
}

static int is_flag(int32_t x) { return x == 0 || x == 1; }
static int is_size(int32_t x) { return x > 0 && x <= 32768; }

static uint64_t rounded(uint64_t n) { return (n + 15) / 16 * 16; }
static uint64_t linear_bytes(uint64_t n_in, uint64_t n_out) {
  return rounded(n_in * n_out) + rounded(4 * n_out) + rounded(8 * n_out);
}

/* Bytes of a layer; 0 if a number of the header is not possible: what follows trusts them. The numbers of a layer, as
 * multipliers and shifts, are looked at in each call of heed_int_layer_run. */
static uint64_t bytes_of_layer(const int_model_header *h) {
  if (!is_size(h->n_layers) || !is_size(h->model_dim) || !is_size(h->ffn_dim) || !is_size(h->n_heads) ||
      !is_size(h->n_kv_heads) || !is_size(h->head_dim) || !is_flag(h->norm_first) || !is_flag(h->causal) ||
      !is_flag(h->gated) || !is_flag(h->rms_norm))
    return 0;
  const uint64_t dim = (uint64_t)h->model_dim, hidden = (uint64_t)h->ffn_dim;
  const uint64_t rows = (uint64_t)h->n_heads * (uint64_t)h->head_dim;
  const uint64_t keys = (uint64_t)h->n_kv_heads * (uint64_t)h->head_dim;
  if (h->n_heads % h->n_kv_heads != 0 || rows > HEED_INT_MAX_IN) return 0;
  const uint64_t n_up = h->gated ? 2 : 1;
  return sizeof(int_model_layer) + linear_bytes(dim, rows) + 2 * linear_bytes(dim, keys) + linear_bytes(rows, dim) +
         n_up * linear_bytes(dim, hidden) + linear_bytes(hidden, dim) + 4 * rounded(4 * dim) + 256;
}

uint32_t int_model_checksum(const void *words, size_t n_bytes) {
  const uint32_t *word = (const uint32_t *)words;
  uint32_t hash = UINT32_C(0x811c9dc5);
  for (size_t i = 0; i < n_bytes / 4; ++i) hash = (hash ^ word[i]) * UINT32_C(0x01000193);
  return hash;
}

const char *int_model_open(int_model *m, const void *file, size_t n_bytes) {
  const int_model_header *h = (const int_model_header *)file;
  m->header = NULL;
  m->see = NULL;
  m->see_user = NULL;
  if (!file) return "there are no layers";
  if ((uintptr_t)file % 16 != 0) return "the layers are not aligned to 16 bytes";
  if (n_bytes < sizeof *h) return "the layers are too short or too long";
  if (h->magic[0] != INT_MODEL_MAGIC_0 || h->magic[1] != INT_MODEL_MAGIC_1)
    return "not layers in integers, or of the other byte order";
  if (h->version != INT_MODEL_VERSION) return "layers of another version";
  const uint64_t layer_bytes = bytes_of_layer(h);
  if (layer_bytes == 0 || layer_bytes != h->layer_bytes) return "layers of impossible sizes";
  if (n_bytes != h->n_bytes || n_bytes != sizeof *h + (uint64_t)h->n_layers * layer_bytes)
    return "the layers are too short or too long";
  if (int_model_checksum(&h->layer_bytes, n_bytes - offsetof(int_model_header, layer_bytes)) != h->checksum)
    return "the layers are damaged: their checksum differs";
  m->header = h;
  return NULL;
}

heed_int_layer int_model_layer_of(const int_model *m, int32_t i) {
  const unsigned char *at = (const unsigned char *)(m->header + 1) + (size_t)i * m->header->layer_bytes;
  return read_layer(m->header, &at);
}

static APART void open_layer(int_model *m, int32_t i) { m->layer = int_model_layer_of(m, i); }

static heed_status run_layer(int_model *m, int16_t *x, int32_t n, int16_t *y, int32_t n_y, heed_memory memory) {
  const int32_t dim = m->header->model_dim;
  return heed_int_layer_run(&m->layer, heed_int_matrix_of(x, HEED_INT16, n, dim, 0),
                            heed_int_matrix_out_of(y, HEED_INT16, n_y, dim, 0), memory, NULL);
}

/* What the layer would say of its matrices x and y, in the words of the caller. */
static heed_status check_rows(const int_model *m, const int16_t *x, int32_t n) {
  if (!m->header) return HEED_STATUS(HEED_NOT_INITIALIZED, HEED_ARG_LAYER);
  if (!x) return HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_X);
  if ((uintptr_t)x % sizeof *x != 0) return HEED_STATUS(HEED_MISALIGNED, HEED_ARG_X);
  return n > 0 ? HEED_OK : HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_N);
}

static void show(const int_model *m, int32_t layer, int64_t first, const int16_t *rows, int32_t n) {
  if (m->see != NULL)
    m->see(m->see_user, layer, first, heed_int_matrix_of(rows, HEED_INT16, n, m->header->model_dim, 0));
}

heed_status int_model_run_rows(int_model *m, int16_t *x, int32_t n, int32_t out_rows, int16_t *y, heed_memory memory) {
  heed_status status = check_rows(m, x, n);
  if (status != HEED_OK) return status;
  if (out_rows < -n || out_rows > n) return HEED_STATUS(HEED_SHAPE_MISMATCH, HEED_ARG_OUT_ROWS);
  const int32_t last = m->header->n_layers - 1;
  for (int32_t i = 0; i < last && status == HEED_OK; ++i) {
    open_layer(m, i);
    status = run_layer(m, x, n, x, n, memory);
    if (status == HEED_OK) show(m, i, 0, x, n);
  }
  if (status != HEED_OK) return status;
  int16_t *const to = out_rows == 0 ? x : y;
  const int32_t n_out = out_rows == 0 ? n : out_rows < 0 ? -out_rows : out_rows;
  open_layer(m, last);
  m->layer.out_rows = out_rows;
  status = run_layer(m, x, n, to, n_out, memory);
  if (status == HEED_OK) show(m, last, out_rows < 0 ? n - n_out : 0, to, n_out);
  return status;
}

heed_status int_model_run(int_model *m, int16_t *x, int32_t n, heed_memory memory) {
  heed_status status = check_rows(m, x, n);
  if (status != HEED_OK) return status;
  for (int32_t i = 0; i < m->header->n_layers && status == HEED_OK; ++i) {
    open_layer(m, i);
    status = run_layer(m, x, n, x, n, memory);
    if (status == HEED_OK) show(m, i, 0, x, n);
  }
  return status;
}
