/* Layers in integers as one flat file: what heed_calibrate writes and a firmware reads where it lies, in flash.
 * SPDX-License-Identifier: MIT
 *
 *   int_model m;
 *   const char *error = int_model_open(&m, file, n_bytes);       // null: good
 *   if (!error) status = int_model_run(&m, x, n, memory);        // x (n, model_dim), int16, in place
 *
 * The file: the header below, then for each layer int_model_layer, then, each aligned to 16 bytes: of wq, wk, wv, wo, w_up,
 * w_gate (if gated), w_down the int8 numbers (n_out, n_in), int32 biases (n_out) and multipliers (n_out); of both norms
 * int32 weights and biases (model_dim); the activation's table (256). Zero points are 0. Little endian: a processor of the
 * other byte order refuses the magic number. */
#ifndef HEED_INT_MODEL_H
#define HEED_INT_MODEL_H

#include <stddef.h>
#include <stdint.h>

/* heed.h of the two files beside this one has all; else the headers are those of the source or of an installed heed. */
#ifdef __has_include
#if __has_include("heed.h")
#include "heed.h"
#endif
#endif
#ifndef HEED_INTEGERS_H
#include "heed/integers.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define INT_MODEL_MAGIC_0 UINT32_C(0x44454548) /* "HEED" */
#define INT_MODEL_MAGIC_1 UINT32_C(0x4d544e49) /* "INTM" */
#define INT_MODEL_VERSION UINT32_C(1)
#define INT_MODEL_ROUND(n_bytes) (((size_t)(n_bytes) + 15) / 16 * 16)

/* 80 bytes. */
typedef struct int_model_header {
  uint32_t magic[2];
  uint32_t version;
  uint32_t n_bytes;  /* of the whole file */
  uint32_t checksum; /* of every word behind it: int_model_checksum */
  uint32_t layer_bytes;
  int32_t n_layers, model_dim, ffn_dim, n_heads, n_kv_heads, head_dim;
  int32_t norm_first, causal, gated, rms_norm; /* 0 or 1 */
  heed_multiplier x_scale, y_scale;            /* of a unit of the rows that come in, and of those that go out */
} int_model_header;

/* The numbers of one layer: 112 bytes. */
typedef struct int_model_layer {
  heed_multiplier score, value, to_h, to_g, of_x, of_attention, of_a, of_hidden, gate;
  heed_multiplier x_scale, y_scale;
  int32_t norm1_shift, norm2_shift;
  uint32_t norm1_eps, norm2_eps;
  int32_t reserved[2]; /* 0 */
} int_model_layer;

/* Takes rows of a layer as they are computed. heed_receipt_see_int is one. */
typedef void int_model_see(void *user, int32_t layer, int64_t first, heed_int_matrix rows);

typedef struct int_model {
  const int_model_header *header;
  heed_int_layer layer; /* the one that runs: here and not on the stack, which is small */
  int_model_see *see;   /* null, or set after int_model_open */
  void *see_user;
} int_model;

/* Null, or a sentence that says what is wrong with the file. It is aligned to 16 bytes, and stays where it is. All of it is
 * read once, for the checksum. */
const char *int_model_open(int_model *m, const void *file, size_t n_bytes);

/* Layer i, which points into the file. */
heed_int_layer int_model_layer_of(const int_model *m, int32_t i);

/* All layers, one after another, on x (n, model_dim), in place. memory as heed_int_layer_run takes it. Stack: on a
 * Cortex-M at most HEED_STACK_BYTES. A model runs on one thread at a time.
 * Status: as heed_int_layer_run; NOT_INITIALIZED for LAYER if int_model_open refused the file; OUT_OF_RANGE for N (not
 * above 0). */
heed_status int_model_run(int_model *m, int16_t *x, int32_t n, heed_memory memory);
/* The same, but of the last layer only the rows that out_rows of heed_int_layer names, to y, which is disjoint from x.
 * Status: also SHAPE_MISMATCH for OUT_ROWS (not -n to n). */
heed_status int_model_run_rows(int_model *m, int16_t *x, int32_t n, int32_t out_rows, int16_t *y, heed_memory memory);

/* FNV-1a over words: tells a damaged file, not a forged one. */
uint32_t int_model_checksum(const void *words, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
