/* See dreams_model.h. SPDX-License-Identifier: MIT */
#include "dreams_model.h"

enum { dims_bytes = 7 * sizeof(int32_t), line = DREAMS_FILE_ALIGNMENT };

/* Checked at compile time: a negative size is an error. */
typedef char dreams_header_is_packed[sizeof(dreams_header) == line ? 1 : -1];

/* So every size below fits uint64_t. */
enum { most = 65536, most_tokens = 1 << 24 };

/* A walk through the file. What lies beyond its end is null, and only counted. */
typedef struct walk {
  const unsigned char *bytes;
  uint64_t at, n_bytes;
  int32_t dtype; /* of matrices */
  int flat;
} walk;

static const void *take(walk *w, uint64_t n) {
  const void *here = w->at <= w->n_bytes && n <= w->n_bytes - w->at ? w->bytes + w->at : NULL;
  w->at += w->flat ? (n + line - 1) / line * line : n;
  return here;
}

static const float *take_floats(walk *w, int32_t n) { return (const float *)take(w, (uint64_t)n * sizeof(float)); }

static heed_weights take_matrix(walk *w, int32_t n_in, int32_t n_out) {
  const void *numbers = take(w, (uint64_t)n_in * (uint64_t)n_out * HEED_DTYPE_BYTES(w->dtype));
  const float *scales = w->dtype == HEED_INT8 ? take_floats(w, n_out) : NULL;
  return heed_weights_of(numbers, scales, w->dtype, w->flat ? HEED_IN_OUT : HEED_OUT_IN, n_in, n_out);
}

/* Layers are null where only sizes are wanted. */
static void take_matrices(walk *w, dreams_model *m, dreams_matrix which, int32_t n_in, int32_t n_out) {
  for (int32_t l = 0; l < m->n_layers; ++l) {
    const heed_weights matrix = take_matrix(w, n_in, n_out);
    if (m->layers != NULL) m->layers[l].matrices[which] = matrix;
  }
}

static void take_norms(walk *w, dreams_model *m, int first) {
  for (int32_t l = 0; l < m->n_layers; ++l) {
    const float *norm = take_floats(w, m->dim);
    if (m->layers != NULL) *(first ? &m->layers[l].norm_1 : &m->layers[l].norm_2) = norm;
  }
}

/* The file from behind its header on. */
static void take_all(walk *w, dreams_model *m, int own_classifier, int32_t file_positions) {
  const int32_t kv_dim = m->dim / m->n_heads * m->n_kv_heads;
  m->classifier = m->embeddings = take_matrix(w, m->dim, m->n_tokens);
  take_norms(w, m, 1);
  take_matrices(w, m, DREAMS_WQ, m->dim, m->dim);
  take_matrices(w, m, DREAMS_WK, m->dim, kv_dim);
  take_matrices(w, m, DREAMS_WV, m->dim, kv_dim);
  take_matrices(w, m, DREAMS_WO, m->dim, m->dim);
  take_norms(w, m, 0);
  take_matrices(w, m, DREAMS_GATE, m->dim, m->ffn_dim);
  take_matrices(w, m, DREAMS_DOWN, m->ffn_dim, m->dim);
  take_matrices(w, m, DREAMS_UP, m->dim, m->ffn_dim);
  m->last_norm = take_floats(w, m->dim);
  if (!w->flat) take(w, (uint64_t)file_positions * (uint64_t)(m->dim / m->n_heads) * sizeof(float));
  if (own_classifier) m->classifier = take_matrix(w, m->dim, m->n_tokens);
}

static int within(int32_t n, int32_t limit) { return n >= 1 && n <= limit; }

/* dims: dim, hidden, layers, heads, kv heads, tokens, positions */
static dreams_status read_dims(dreams_model *m, const int32_t *dims) {
  if (!within(dims[0], most)) return DREAMS_MODEL_DIM;
  if (!within(dims[1], most)) return DREAMS_MODEL_HIDDEN;
  if (!within(dims[2], most)) return DREAMS_MODEL_LAYERS;
  if (!within(dims[3], most) || dims[0] % (2 * dims[3]) != 0) return DREAMS_MODEL_HEADS;
  if (!within(dims[4], dims[3]) || dims[3] % dims[4] != 0) return DREAMS_MODEL_KV_HEADS;
  if (!within(dims[5] < 0 && dims[5] > INT32_MIN ? -dims[5] : dims[5], most_tokens)) return DREAMS_MODEL_TOKENS;
  if (!within(dims[6], HEED_MAX_COUNT)) return DREAMS_MODEL_POSITIONS;
  m->dim = dims[0];
  m->ffn_dim = dims[1];
  m->n_layers = dims[2];
  m->n_heads = dims[3];
  m->n_kv_heads = dims[4];
  m->n_tokens = dims[5] < 0 ? -dims[5] : dims[5];
  m->n_positions = dims[6];
  return DREAMS_OK;
}

uint32_t dreams_checksum(const uint32_t *words, size_t n) {
  uint32_t hash = UINT32_C(0x811c9dc5);
  for (size_t i = 0; i < n; ++i) hash = (hash ^ words[i]) * UINT32_C(0x01000193);
  return hash;
}

/* No exponent of ones: neither infinite nor NaN. */
static int all_finite(const uint32_t *words, size_t n) {
  int finite = 1;
  for (size_t i = 0; i < n; ++i) finite &= (words[i] & UINT32_C(0x7f800000)) != UINT32_C(0x7f800000);
  return finite;
}

static int is_flat(const void *bytes) { return *(const uint32_t *)bytes == DREAMS_FILE_MAGIC_0; }

/* Finds all that m->layers has room for. */
static dreams_status find_flat(dreams_model *m, const unsigned char *bytes, size_t n_bytes) {
  const dreams_header *header = (const dreams_header *)(const void *)bytes;
  if (n_bytes < sizeof *header) return DREAMS_MODEL_SHORT;
  if (header->magic[1] != DREAMS_FILE_MAGIC_1 || header->version != DREAMS_FILE_VERSION) return DREAMS_MODEL_VERSION;
  if (header->dtype != HEED_F32 && header->dtype != HEED_INT8) return DREAMS_MODEL_VERSION;
  const dreams_status status = read_dims(m, header->dims);
  if (status != DREAMS_OK) return status;
  walk w = {bytes, sizeof *header, n_bytes, header->dtype, 1};
  take_all(&w, m, header->dims[5] < 0, 0);
  return w.at == n_bytes && header->n_bytes == n_bytes ? DREAMS_OK : DREAMS_MODEL_SIZE;
}

static dreams_status find_llama2(dreams_model *m, const unsigned char *bytes, size_t n_bytes) {
  const int32_t *dims = (const int32_t *)(const void *)bytes;
  const dreams_status status = read_dims(m, dims);
  if (status != DREAMS_OK) return status;
  walk w = {bytes, dims_bytes, n_bytes, HEED_F32, 0};
  take_all(&w, m, dims[5] < 0, dims[6]);
  return w.at == n_bytes ? DREAMS_OK : DREAMS_MODEL_SIZE;
}

static dreams_status find(dreams_model *m, const void *bytes, size_t n_bytes) {
  const unsigned char *file = (const unsigned char *)bytes;
  return is_flat(bytes) ? find_flat(m, file, n_bytes) : find_llama2(m, file, n_bytes);
}

/* The checksum of a flat file; numbers of llama2.c's, which has none. */
static int is_whole(const void *bytes, size_t n_bytes) {
  const int flat = is_flat(bytes);
  const size_t header_bytes = flat ? sizeof(dreams_header) : dims_bytes;
  const uint32_t *words = (const uint32_t *)bytes + header_bytes / sizeof *words;
  const size_t n = (n_bytes - header_bytes) / sizeof *words;
  return flat ? dreams_checksum(words, n) == ((const dreams_header *)bytes)->checksum : all_finite(words, n);
}

dreams_status dreams_model_sizes(dreams_model *model, const void *bytes, size_t n_bytes) {
  if (model == NULL || bytes == NULL) return DREAMS_NULL_POINTER;
  if ((uintptr_t)bytes % sizeof(float) != 0) return DREAMS_MISALIGNED;
  if (n_bytes < dims_bytes) return DREAMS_MODEL_SHORT;
  model->layers = NULL;
  return find(model, bytes, n_bytes);
}

dreams_status dreams_model_read(dreams_model *model, const void *bytes, size_t n_bytes, heed_memory memory) {
  const dreams_status status = dreams_model_sizes(model, bytes, n_bytes);
  if (status != DREAMS_OK) return status;
  if ((uintptr_t)memory.data % HEED_ALIGNMENT != 0) return DREAMS_MISALIGNED;
  if (memory.data == NULL || memory.bytes / sizeof(dreams_model_layer) < (size_t)model->n_layers) return DREAMS_MEMORY;
  model->layers = (dreams_model_layer *)memory.data;
  find(model, bytes, n_bytes);
  return is_whole(bytes, n_bytes) ? DREAMS_OK : DREAMS_MODEL_DAMAGED;
}

void dreams_embed(const dreams_model *model, int32_t token, float *x) {
  const heed_weights *w = &model->embeddings;
  const ptrdiff_t step = w->layout == HEED_OUT_IN ? 1 : w->row_stride;
  const ptrdiff_t first = w->layout == HEED_OUT_IN ? token * w->row_stride : token;
  if (w->dtype == HEED_INT8) {
    const int8_t *numbers = (const int8_t *)w->data + first;
    for (int32_t i = 0; i < model->dim; ++i) x[i] = (float)numbers[i * step] * w->scales[token];
  } else {
    const float *numbers = (const float *)w->data + first;
    for (int32_t i = 0; i < model->dim; ++i) x[i] = numbers[i * step];
  }
}

const char *dreams_status_text(dreams_status status) {
  switch (status) {
    case DREAMS_OK:
      return "no error";
    case DREAMS_NULL_POINTER:
      return "a pointer is null";
    case DREAMS_MISALIGNED:
      return "memory is not aligned to 64 bytes, or the model or the memory of words not to 4";
    case DREAMS_NOT_READY:
      return "the object was not opened, or opening it failed";
    case DREAMS_WRONG_COUNT:
      return "a number of tokens or rows is out of range";
    case DREAMS_SETTINGS:
      return "the cache's format, window, pinned tokens, positions or rows of a piece are out of range";
    case DREAMS_MODEL_SHORT:
      return "the model's file ends within its header";
    case DREAMS_MODEL_VERSION:
      return "the model's file has a version or format that is not known";
    case DREAMS_MODEL_DIM:
      return "not a model, one of the other byte order, or its dim is not 1 to 65536";
    case DREAMS_MODEL_HIDDEN:
      return "the model's hidden dim is not 1 to 65536";
    case DREAMS_MODEL_LAYERS:
      return "the model's number of layers is not 1 to 65536";
    case DREAMS_MODEL_HEADS:
      return "the model's number of heads is not 1 to 65536, or does not divide dim into even parts";
    case DREAMS_MODEL_KV_HEADS:
      return "the model's number of kv heads does not divide its number of heads";
    case DREAMS_MODEL_TOKENS:
      return "the model's number of tokens is not 1 to 2^24";
    case DREAMS_MODEL_POSITIONS:
      return "the model's number of positions is not 1 to 2^30";
    case DREAMS_MODEL_SIZE:
      return "the model's file is shorter or longer than its header says";
    case DREAMS_MODEL_DAMAGED:
      return "the model's weights are damaged: a wrong checksum, or numbers that are infinite or none";
    case DREAMS_WORDS_SHORT:
      return "the tokenizer's file ends too early, or has fewer tokens than the model";
    case DREAMS_WORDS_LENGTH:
      return "a token's length is not 1 to the greatest one that the tokenizer's file states";
    case DREAMS_WORDS_SCORE:
      return "a token's score is not a number";
    case DREAMS_WORDS_SIZE:
      return "the tokenizer's file has more tokens than the model, or bytes behind its last one";
    case DREAMS_TEXT_TOO_LONG:
      return "the text has more characters than there is room for tokens";
    case DREAMS_TOKEN:
      return "a token is not one of the model's";
    case DREAMS_CONTEXT_FULL:
      return "the tokens, with those read before, are more than the context has room for";
    case DREAMS_HEED_FAILED:
      return "heed refused a call";
    case DREAMS_MEMORY:
      return "the memory is too small for the model with these settings";
  }
  return "unknown status";
}
