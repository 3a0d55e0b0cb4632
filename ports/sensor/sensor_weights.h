/* The weights of the small model of ports/sensor as two flat files, read where they lie: flash, RAM or a mapped file.
 * sensor_weights FOLDER OUT [integers] writes them, as bytes or, if OUT ends in .c, as an array of C.
 *
 * Both are in the order of the members below, without gaps, little endian: a processor of the other byte order finds
 * the magic number wrong and refuses them. SPDX-License-Identifier: MIT */
#ifndef HEED_SENSOR_WEIGHTS_H
#define HEED_SENSOR_WEIGHTS_H

#include "heed/heed.h"
#include "heed/integers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The network's sizes. */
enum {
  SENSOR_N_ROWS = 120,   /* rows of a recording */
  SENSOR_ROW = 400,      /* numbers of a row */
  SENSOR_N_TOKENS = 121, /* the class token and one for each row */
  SENSOR_DIM = 16,
  SENSOR_N_HEADS = 4,
  SENSOR_HEAD = 4,
  SENSOR_HIDDEN = 4,
  SENSOR_N_LAYERS = 4,
  SENSOR_N_CLASSES = 2
};

/* Units of the network in integers: a row's number stands for number / 2^10, one of the embedding for number / 2^12. */
enum { SENSOR_ROW_BITS = 10, SENSOR_EMBEDDING_BITS = 12 };

/* What a call can return: SENSOR_OK, or a negative number. */
typedef enum sensor_status {
  SENSOR_OK = 0,
  SENSOR_NULL_POINTER = -1,    /* a pointer is null */
  SENSOR_MISALIGNED = -2,      /* the object is not aligned to 64 bytes, the weights to 4, or a row to its numbers */
  SENSOR_NOT_READY = -3,       /* weights were not accepted yet */
  SENSOR_WEIGHTS_SIZE = -4,    /* shorter or longer than the weights of this network */
  SENSOR_WEIGHTS_MAGIC = -5,   /* not such weights, of another version or of the other byte order */
  SENSOR_WEIGHTS_DAMAGED = -6, /* the checksum differs */
  SENSOR_WRONG_COUNT = -7,     /* more or fewer than 120 rows */
  SENSOR_NOT_FINITE = -8,      /* the result is no number: a row had NaN or infinity */
  SENSOR_HEED_FAILED = -9      /* heed refused a call: the object's failure tells why */
} sensor_status;
/* A sentence for the status. Static storage. */
const char *sensor_status_text(sensor_status status);

#define SENSOR_MAGIC UINT32_C(0x44454548)    /* "HEED" */
#define SENSOR_FLOATS UINT32_C(0x31465345)   /* "ESF1" */
#define SENSOR_INTEGERS UINT32_C(0x31495345) /* "ESI1" */

typedef struct sensor_header {
  uint32_t magic[2]; /* SENSOR_MAGIC, then SENSOR_FLOATS or SENSOR_INTEGERS */
  uint32_t n_bytes;  /* of the whole file */
  uint32_t checksum; /* of all words behind the header: sensor_checksum */
} sensor_header;

/* FNV-1a over words: tells a damaged file, not a forged one. */
uint32_t sensor_checksum(const uint32_t *words, size_t n);
/* Whether n_bytes from `weights` on are whole weights of that kind. */
sensor_status sensor_check(const void *weights, size_t n_bytes, uint32_t kind, size_t expected_bytes);

/* ----------------------------------------------------------------------------------------------------------- floats */

/* Matrices are (in, out). The members from patch_norm1_weight to head_bias are weights.f32 as published. */
typedef struct sensor_layer_weights {
  float norm1_weight[SENSOR_DIM], norm1_bias[SENSOR_DIM];
  float wq[SENSOR_DIM * SENSOR_DIM], wk[SENSOR_DIM * SENSOR_DIM], wv[SENSOR_DIM * SENSOR_DIM];
  float wo[SENSOR_DIM * SENSOR_DIM], bo[SENSOR_DIM];
  float norm2_weight[SENSOR_DIM], norm2_bias[SENSOR_DIM];
  float w_up[SENSOR_DIM * SENSOR_HIDDEN], b_up[SENSOR_HIDDEN];
  float w_down[SENSOR_HIDDEN * SENSOR_DIM], b_down[SENSOR_DIM];
} sensor_layer_weights;

typedef struct sensor_weights {
  sensor_header header;
  float patch_norm1_weight[SENSOR_ROW], patch_norm1_bias[SENSOR_ROW];
  float patch_weight[SENSOR_ROW * SENSOR_DIM], patch_bias[SENSOR_DIM];
  float patch_norm2_weight[SENSOR_DIM], patch_norm2_bias[SENSOR_DIM];
  float class_token[SENSOR_DIM];
  float positions[SENSOR_N_TOKENS * SENSOR_DIM];
  sensor_layer_weights layers[SENSOR_N_LAYERS];
  float head_norm_weight[SENSOR_DIM], head_norm_bias[SENSOR_DIM];
  float head_weight[SENSOR_DIM * SENSOR_DIM], head_bias[SENSOR_DIM];
  float prototypes[SENSOR_N_CLASSES * SENSOR_DIM];
} sensor_weights;

/* --------------------------------------------------------------------------------------------------------- integers */

/* Matrices are (out, in). Norms and multipliers are those of integers.h. */
typedef struct sensor_int_norm {
  int32_t weight[SENSOR_DIM], bias[SENSOR_DIM];
  int32_t shift;
  uint32_t eps;
} sensor_int_norm;

typedef struct sensor_int_layer_weights {
  sensor_int_norm norm1, norm2;
  int8_t wq[SENSOR_DIM * SENSOR_DIM], wk[SENSOR_DIM * SENSOR_DIM], wv[SENSOR_DIM * SENSOR_DIM];
  int8_t wo[SENSOR_DIM * SENSOR_DIM], w_up[SENSOR_HIDDEN * SENSOR_DIM], w_down[SENSOR_DIM * SENSOR_HIDDEN];
  int8_t activation[256];
  int32_t bo[SENSOR_DIM], b_up[SENSOR_HIDDEN], b_down[SENSOR_DIM];
  heed_multiplier of_q[SENSOR_DIM], of_k[SENSOR_DIM], of_v[SENSOR_DIM], of_o[SENSOR_DIM], of_up[SENSOR_HIDDEN],
      of_down[SENSOR_DIM];
  heed_multiplier score, value, of_x, of_attention, of_a, of_hidden;
} sensor_int_layer_weights;

typedef struct sensor_int_weights {
  sensor_header header;
  int32_t patch_norm1_weight; /* one for all 400: the published ones are part of patch_weight and patch_bias */
  int32_t patch_norm1_shift;
  uint32_t patch_norm1_eps;
  int32_t patch_bias[SENSOR_DIM];
  int8_t patch_weight[SENSOR_DIM * SENSOR_ROW];
  heed_multiplier of_patch[SENSOR_DIM];
  sensor_int_norm patch_norm2;
  int16_t class_token[SENSOR_DIM];              /* with its position */
  int8_t positions[SENSOR_N_ROWS * SENSOR_DIM]; /* of the rows behind it */
  heed_multiplier of_positions;
  sensor_int_layer_weights layers[SENSOR_N_LAYERS];
  sensor_int_norm head_norm;
  int8_t head_weight[SENSOR_DIM * SENSOR_DIM];
  int32_t head_bias[SENSOR_DIM];
  heed_multiplier of_head[SENSOR_DIM];
  int16_t prototypes[SENSOR_N_CLASSES * SENSOR_DIM]; /* in units of the embedding */
} sensor_int_weights;

#ifdef __cplusplus
}
#endif

#endif
