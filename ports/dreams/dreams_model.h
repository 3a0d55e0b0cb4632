/* The model's file, read where it lies: llama2.c's, or a flat one with weights in int8. C99 and C++.
 * SPDX-License-Identifier: MIT
 *
 * llama2.c's file (model.bin): 7 int32 (dim, hidden, layers, heads, kv heads, tokens, positions; a negative number of
 * tokens: the classifier has weights of its own), then f32, each matrix (out, in): token embeddings; for every layer
 * norm before attention; wq; wk; wv; wo; norm before the feed-forward; w1 (gate); w2 (down); w3 (up); last norm; two
 * tables (positions, head_dim / 2) that are not used; the classifier, unless it is the embeddings.
 *
 * The flat file (dreams_weights MODEL.bin OUT.bin): dreams_header, then the same in the same order, without the tables;
 * norms in f32, a matrix as (in, out), which is faster to read for one token, in the header's format, for int8 followed
 * by one f32 scale for each output. All begin at multiples of 64 bytes. Both are little endian: a processor of the
 * other byte order refuses them. */
#ifndef HEED_DREAMS_MODEL_H
#define HEED_DREAMS_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "heed/heed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* DREAMS_OK, or a negative number that says what is wrong. */
typedef enum dreams_status {
  DREAMS_OK = 0,
  DREAMS_NULL_POINTER = -1,
  DREAMS_MISALIGNED = -2,
  DREAMS_NOT_READY = -3,
  DREAMS_WRONG_COUNT = -4,
  DREAMS_SETTINGS = -5,
  DREAMS_MODEL_SHORT = -6,
  DREAMS_MODEL_VERSION = -7,
  DREAMS_MODEL_DIM = -8,
  DREAMS_MODEL_HIDDEN = -9,
  DREAMS_MODEL_LAYERS = -10,
  DREAMS_MODEL_HEADS = -11,
  DREAMS_MODEL_KV_HEADS = -12,
  DREAMS_MODEL_TOKENS = -13,
  DREAMS_MODEL_POSITIONS = -14,
  DREAMS_MODEL_SIZE = -15,
  DREAMS_MODEL_DAMAGED = -16,
  DREAMS_WORDS_SHORT = -17,
  DREAMS_WORDS_LENGTH = -18,
  DREAMS_WORDS_SCORE = -19,
  DREAMS_WORDS_SIZE = -20,
  DREAMS_TEXT_TOO_LONG = -21,
  DREAMS_TOKEN = -22,
  DREAMS_CONTEXT_FULL = -23,
  DREAMS_HEED_FAILED = -24,
  DREAMS_MEMORY = -25
} dreams_status;
/* A sentence for the status. Static storage. */
const char *dreams_status_text(dreams_status status);

#define DREAMS_FILE_MAGIC_0 UINT32_C(0x44454548) /* "HEED" */
#define DREAMS_FILE_MAGIC_1 UINT32_C(0x314d5244) /* "DRM1" */
#define DREAMS_FILE_VERSION UINT32_C(1)
enum { DREAMS_FILE_ALIGNMENT = 64 };

/* The flat file's first 64 bytes. */
typedef struct dreams_header {
  uint32_t magic[2];
  uint32_t version;
  uint32_t n_bytes;  /* of the whole file: a multiple of 64 */
  uint32_t checksum; /* of every word after the header: dreams_checksum */
  int32_t dtype;     /* of matrices: HEED_F32 or HEED_INT8 */
  int32_t dims[7];   /* as in llama2.c's header */
  uint32_t reserved[3];
} dreams_header;

/* FNV-1a over words: tells a damaged file, not a forged one. */
uint32_t dreams_checksum(const uint32_t *words, size_t n);

/* The matrices of a layer, in the order of the file. */
typedef enum dreams_matrix {
  DREAMS_WQ,
  DREAMS_WK,
  DREAMS_WV,
  DREAMS_WO,
  DREAMS_GATE,
  DREAMS_DOWN,
  DREAMS_UP,
  DREAMS_N_MATRICES
} dreams_matrix;

typedef struct dreams_model_layer {
  heed_weights matrices[DREAMS_N_MATRICES];
  const float *norm_1, *norm_2; /* (dim) */
} dreams_model_layer;

typedef struct dreams_model {
  int32_t dim, ffn_dim, n_layers, n_heads, n_kv_heads, n_tokens, n_positions;
  heed_weights classifier;    /* dim to n_tokens */
  heed_weights embeddings;    /* column or row t is token t: the same, unless the classifier has weights of its own */
  dreams_model_layer *layers; /* (n_layers), in memory of the caller */
  const float *last_norm;     /* (dim) */
} dreams_model;

/* The counts of the model, and nothing else of it: every one is compared with its limits, with the others and with the
 * file's size, so that all that follows may trust them. dim, ffn_dim, n_layers and n_heads are 1 to 65536, heads have
 * an even dim, n_tokens is 1 to 2^24, n_positions 1 to 2^30.
 * Status: NULL_POINTER, MISALIGNED (bytes is aligned to 4), MODEL_* but CORRUPT. */
dreams_status dreams_model_sizes(dreams_model *model, const void *bytes, size_t n_bytes);

/* Bytes of memory that dreams_model_read takes; they are aligned to 64. */
#define DREAMS_MODEL_BYTES(n_layers) (HEED_SIZE(n_layers) * sizeof(dreams_model_layer))

/* Finds everything in n_bytes at bytes (best aligned so that what follows the header is aligned to 64), and reads all of
 * it once: for its checksum, or llama2.c's for numbers that are none. memory stays where it is as long as the model.
 * Status: as dreams_model_sizes; MODEL_DAMAGED; MISALIGNED, MEMORY. */
dreams_status dreams_model_read(dreams_model *model, const void *bytes, size_t n_bytes, heed_memory memory);

/* x (dim) = the embedding of a token, 0 to n_tokens - 1: as heed_convert_to_f32, to the bit. */
void dreams_embed(const dreams_model *model, int32_t token, float *x);

#ifdef __cplusplus
}
#endif

#endif
