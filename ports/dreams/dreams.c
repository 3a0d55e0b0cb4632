/* See dreams.h. Shapes stand beside every step. SPDX-License-Identifier: MIT */
#include "dreams.h"

#include "heed/int_products.h"

static const float norm_epsilon = 1e-5f;

/* The first refusal is kept. */
static int accepted(dreams *net, heed_status status) {
  if (net->failure == HEED_OK) net->failure = status;
  return status == HEED_OK;
}

/* Zeros become what they stand for. 0: a number is out of range. */
static int complete(dreams_settings *s) {
  if (s->piece == 0) s->piece = DREAMS_PIECE;
  if (s->workers == 0) s->workers = 1;
  return s->window >= 0 && s->positions >= 0 && s->piece > 0 && s->piece <= DREAMS_MAX_PIECE && s->workers > 0;
}

/* The counts of a file, of which positions may be fewer. */
static dreams_status read_sizes(dreams_model *m, const void *bytes, size_t n_bytes, const dreams_settings *s) {
  const dreams_status status = dreams_model_sizes(m, bytes, n_bytes);
  if (s->positions > 0 && s->positions < m->n_positions) m->n_positions = s->positions;
  return status;
}

static heed_cache_shape cache_shape(const dreams_model *m, const dreams_settings *s) {
  heed_cache_shape shape =
      heed_cache_shape_default(s->window > 0 ? s->window : m->n_positions, m->n_kv_heads, m->dim / m->n_heads);
  shape.kind = s->window > 0 ? HEED_CACHE_RING : HEED_CACHE_LINEAR;
  shape.pinned = s->pinned;
  shape.spare = s->window > 0 ? s->piece - 1 : 0;
  shape.dtype = s->cache_format;
  return shape;
}

static void make_layer(dreams *net, int32_t l) {
  const dreams_model *m = &net->model;
  const dreams_model_layer *of = &m->layers[l];
  heed_attention_layer *a = &net->layers[l].attention;
  heed_transformer_layer *layer = &net->layers[l].layer;
  *a = heed_attention_layer_default(m->dim, m->n_heads);
  a->n_kv_heads = m->n_kv_heads;
  a->causal = 1;
  a->wq = of->matrices[DREAMS_WQ];
  a->wk = of->matrices[DREAMS_WK];
  a->wv = of->matrices[DREAMS_WV];
  a->wo = of->matrices[DREAMS_WO];
  a->rope = &net->rope;
  a->cache = &net->layers[l].cache;
  *layer = heed_transformer_layer_default(a, m->ffn_dim, heed_rms_norm, heed_silu);
  layer->norm_first = 1;
  layer->eps = norm_epsilon;
  layer->norm1_weight = of->norm_1;
  layer->norm2_weight = of->norm_2;
  layer->w_gate = of->matrices[DREAMS_GATE];
  layer->w_up = of->matrices[DREAMS_UP];
  layer->w_down = of->matrices[DREAMS_DOWN];
}

/* sum + n * each, 0 if that or one of them is none. */
static size_t plus(size_t sum, size_t n, size_t each) {
  if (sum == 0 || each == 0 || each > ((size_t)PTRDIFF_MAX - sum) / n) return 0;
  return sum + n * each;
}

dreams_status dreams_bytes(const void *bytes, size_t n_bytes, const dreams_settings *settings, size_t *needed) {
  const dreams_settings none = {HEED_F32, 0, 0, 0, 0, 0};
  dreams_settings s = settings != NULL ? *settings : none;
  if (needed == NULL) return DREAMS_NULL_POINTER;
  *needed = 0;
  if (!complete(&s)) return DREAMS_SETTINGS;
  dreams_model m;
  const dreams_status status = read_sizes(&m, bytes, n_bytes, &s);
  if (status != DREAMS_OK) return status;
  const int32_t head_dim = m.dim / m.n_heads;
  const heed_cache_shape shape = cache_shape(&m, &s);
  heed_attention_layer a = heed_attention_layer_default(m.dim, m.n_heads);
  a.n_kv_heads = m.n_kv_heads;
  heed_transformer_layer layer = heed_transformer_layer_default(&a, m.ffn_dim, heed_rms_norm, heed_silu);
  layer.w_gate.data = bytes; /* gated */
  const size_t n_layers = (size_t)m.n_layers, cache = heed_cache_bytes(&shape);
  if (cache == 0) return DREAMS_SETTINGS;
  size_t sum = heed_transformer_layer_bytes(&layer, s.piece);
  if (s.workers > 1) sum = plus(sum, (size_t)s.workers - 1, heed_workspace_bytes(head_dim, head_dim));
  sum = plus(sum, 1, DREAMS_LINES(DREAMS_MODEL_BYTES(n_layers)));
  sum = plus(sum, 1, DREAMS_LINES(n_layers * sizeof(dreams_layer)));
  sum = plus(sum, n_layers, DREAMS_LINES(cache));
  sum = plus(sum, 1, DREAMS_LINES((size_t)s.piece * (size_t)m.dim * sizeof(float)));
  *needed = sum;
  return sum > 0 ? DREAMS_OK : DREAMS_MEMORY;
}

/* Cuts bytes off the memory; null: there are not so many. */
static heed_memory take(heed_memory *memory, size_t bytes) {
  const heed_memory taken = heed_memory_of(memory->data, DREAMS_LINES(bytes));
  if (memory->bytes < taken.bytes) return heed_memory_of(NULL, 0);
  *memory = heed_memory_of((unsigned char *)memory->data + taken.bytes, memory->bytes - taken.bytes);
  return taken;
}

/* Caches and layers of a model whose weights are found. */
static dreams_status make_layers(dreams *net, const dreams_settings *s, heed_memory memory) {
  const dreams_model *m = &net->model;
  const heed_cache_shape shape = cache_shape(m, s);
  const size_t cache_bytes = heed_cache_bytes(&shape);
  const int32_t head_dim = m->dim / m->n_heads;
  net->piece = s->piece;
  net->layers = (dreams_layer *)take(&memory, (size_t)m->n_layers * sizeof(dreams_layer)).data;
  net->x = (float *)take(&memory, (size_t)s->piece * (size_t)m->dim * sizeof(float)).data;
  if (net->layers == NULL || net->x == NULL) return DREAMS_MEMORY;
  accepted(net, heed_rope_init(&net->rope, HEED_ROPE_INTERLEAVED));
  for (int32_t l = 0; l < m->n_layers; ++l) {
    const heed_memory of_cache = take(&memory, cache_bytes);
    if (cache_bytes > 0 && of_cache.data == NULL) return DREAMS_MEMORY;
    if (!accepted(net, heed_cache_init(&net->layers[l].cache, &shape, of_cache))) return DREAMS_SETTINGS;
    make_layer(net, l);
  }
  net->memory = memory;
  const size_t workspace = heed_workspace_bytes(head_dim, head_dim) - heed_workspace_min_bytes(head_dim, head_dim);
  const size_t most = heed_transformer_layer_bytes(&net->layers[0].layer, s->piece);
  return most > 0 && memory.bytes >= most - workspace ? DREAMS_OK : DREAMS_MEMORY;
}

dreams_status dreams_open(dreams *net, const void *bytes, size_t n_bytes, const dreams_settings *settings,
                          heed_memory memory) {
  const dreams_settings none = {HEED_F32, 0, 0, 0, 0, 0};
  dreams_settings s = settings != NULL ? *settings : none;
  if (net == NULL) return DREAMS_NULL_POINTER;
  net->model.n_layers = 0;
  net->executor = NULL;
  net->failure = HEED_OK;
  net->options = NULL;
  net->see = NULL;
  net->see_user = NULL;
  if (!complete(&s)) return DREAMS_SETTINGS;
  dreams_model *m = &net->model;
  dreams_status status = read_sizes(m, bytes, n_bytes, &s);
  if (status == DREAMS_OK && (uintptr_t)memory.data % HEED_ALIGNMENT != 0) status = DREAMS_MISALIGNED;
  if (status == DREAMS_OK)
    status = dreams_model_read(m, bytes, n_bytes, take(&memory, DREAMS_MODEL_BYTES(m->n_layers)));
  if (s.positions > 0 && s.positions < m->n_positions) m->n_positions = s.positions;
  if (status == DREAMS_OK) status = make_layers(net, &s, memory);
  if (status != DREAMS_OK) m->n_layers = 0; /* not ready */
  return status;
}

static size_t packed_bytes(const heed_weights *w, int32_t dtype) {
  return heed_weights_packed_bytes(dtype, w->n_in, w->n_out);
}

size_t dreams_packed_bytes(const dreams *net) {
  if (net == NULL || net->model.n_layers == 0) return 0;
  const int32_t dtype = net->model.classifier.dtype;
  size_t bytes = packed_bytes(&net->model.classifier, dtype);
  for (int32_t l = 0; l < net->model.n_layers; ++l)
    for (int32_t i = 0; i < DREAMS_N_MATRICES; ++i) bytes += packed_bytes(&net->model.layers[l].matrices[i], dtype);
  return bytes;
}

/* heed_weights_open, or what makes other weights of packed ones. */
typedef heed_status open_weights(heed_weights *w, const void *packed, size_t bytes);

/* Packs one matrix and cuts it off the memory. */
static int pack(dreams *net, heed_weights *w, int32_t dtype, open_weights *open, heed_memory *memory) {
  const size_t bytes = packed_bytes(w, dtype);
  if (!accepted(net, heed_weights_pack(*w, dtype, *memory)) || !accepted(net, open(w, memory->data, bytes))) return 0;
  *memory = heed_memory_of((unsigned char *)memory->data + bytes, memory->bytes - bytes);
  return 1;
}

static dreams_status pack_all(dreams *net, int32_t dtype, open_weights *open, heed_memory memory) {
  if (net->model.n_layers == 0) return DREAMS_NOT_READY;
  if (memory.bytes < dreams_packed_bytes(net)) {
    accepted(net, HEED_STATUS(HEED_TOO_SMALL, HEED_ARG_MEMORY));
    return DREAMS_HEED_FAILED;
  }
  if (!pack(net, &net->model.classifier, dtype, open, &memory)) return DREAMS_HEED_FAILED;
  for (int32_t l = 0; l < net->model.n_layers; ++l) {
    for (int32_t i = 0; i < DREAMS_N_MATRICES; ++i)
      if (!pack(net, &net->model.layers[l].matrices[i], dtype, open, &memory)) return DREAMS_HEED_FAILED;
    make_layer(net, l);
  }
  return DREAMS_OK;
}

dreams_status dreams_pack(dreams *net, heed_memory memory) {
  if (net == NULL) return DREAMS_NULL_POINTER;
  return pack_all(net, net->model.classifier.dtype, heed_weights_open, memory);
}

static heed_status open_in_integers(heed_weights *w, const void *packed, size_t bytes) {
  const heed_status status = heed_weights_open(w, packed, bytes);
  return status == HEED_OK ? heed_weights_in_integers(w, *w) : status;
}

dreams_status dreams_pack_in_integers(dreams *net, heed_memory memory) {
  if (net == NULL) return DREAMS_NULL_POINTER;
  return pack_all(net, HEED_INT8, open_in_integers, memory);
}

void dreams_restart(dreams *net) {
  for (int32_t l = 0; l < net->model.n_layers; ++l) accepted(net, heed_cache_reset(&net->layers[l].cache));
}

int64_t dreams_position(const dreams *net) {
  return net->model.n_layers > 0 ? heed_cache_length(&net->layers[0].cache, 0) : 0;
}

/* logits (n, n_tokens) = norm(x (n, dim)) classifier */
static int classify(dreams *net, float *x, int32_t n, float *logits) {
  const dreams_model *m = &net->model;
  const heed_matrix_out normed = heed_matrix_out_of(x, n, m->dim);
  return accepted(net, heed_rms_norm(heed_matrix_of(x, n, m->dim), m->last_norm, NULL, norm_epsilon, normed,
                                     net->executor)) &&
         accepted(net, heed_linear(heed_matrix_of(x, n, m->dim), m->classifier, NULL,
                                   heed_matrix_out_of(logits, n, m->n_tokens), net->executor));
}

static void show(const dreams *net, int32_t layer, int64_t first, const float *rows, int32_t n, int32_t dim) {
  if (net->see != NULL) net->see(net->see_user, layer, first, heed_matrix_of(rows, n, dim));
}

/* Up to a piece of tokens through all layers; logits of the last n_rows. */
static int read_piece(dreams *net, const int32_t *tokens, int32_t n, float *logits, int32_t n_rows) {
  const dreams_model *m = &net->model;
  const int64_t first = dreams_position(net);
  float *x = net->x; /* (n, dim) */
  for (int32_t t = 0; t < n; ++t) dreams_embed(m, tokens[t], x + t * m->dim);
  for (int32_t l = 0; l < m->n_layers; ++l) {
    net->layers[l].attention.options = net->options != NULL ? &net->options[l] : NULL;
    const heed_status status = heed_transformer_layer_run(&net->layers[l].layer, heed_matrix_of(x, n, m->dim),
                                                          heed_matrix_out_of(x, n, m->dim), net->memory, net->executor);
    if (!accepted(net, status)) return 0;
    show(net, l, first, x, n, m->dim);
  }
  if (n_rows == 0) return 1;
  if (!classify(net, x + (n - n_rows) * m->dim, n_rows, logits)) return 0;
  show(net, m->n_layers, first + n - n_rows, logits, n_rows, m->n_tokens);
  return 1;
}

static dreams_status check_tokens(const dreams *net, const int32_t *tokens, int32_t n, const float *logits,
                                  int32_t n_rows) {
  if (net == NULL || tokens == NULL || (logits == NULL && n_rows != 0)) return DREAMS_NULL_POINTER;
  if (net->model.n_layers == 0) return DREAMS_NOT_READY;
  if (n < 1 || n_rows < 0 || n_rows > n) return DREAMS_WRONG_COUNT;
  for (int32_t t = 0; t < n; ++t)
    if (tokens[t] < 0 || tokens[t] >= net->model.n_tokens) return DREAMS_TOKEN;
  const heed_cache_shape *shape = &net->layers[0].cache.shape;
  const int fits = shape->kind == HEED_CACHE_RING || n <= shape->capacity - dreams_position(net);
  return fits ? DREAMS_OK : DREAMS_CONTEXT_FULL;
}

dreams_status dreams_read(dreams *net, const int32_t *tokens, int32_t n, float *logits, int32_t n_rows) {
  const dreams_status status = check_tokens(net, tokens, n, logits, n_rows);
  if (status != DREAMS_OK) return status;
  net->failure = HEED_OK;
  for (int32_t first = 0; first < n; first += net->piece) {
    const int32_t here = n - first < net->piece ? n - first : net->piece;
    const int32_t silent = n - n_rows - first; /* rows of this piece without logits */
    const int32_t rows = silent <= 0 ? here : silent < here ? here - silent : 0;
    if (!read_piece(net, tokens + first, here, logits, rows)) return DREAMS_HEED_FAILED;
    logits += (ptrdiff_t)rows * net->model.n_tokens;
  }
  return DREAMS_OK;
}
