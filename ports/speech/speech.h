/* Speech to text on heed: Moonshine Tiny, 16 kHz sound in, English text out. C99 and C++, static buffers only.
 * SPDX-License-Identifier: MIT
 *
 *   static speech net;                                       // all the memory there is: SPEECH_RAM_BYTES
 *   speech_open(&net, model, model_bytes);                   // what speech_weights wrote, read where it lies
 *   speech_hear(&net, samples, n_samples);                   // the encoder: once
 *   while (speech_next(&net, &token) == SPEECH_OK && token >= 0)
 *     fwrite(text, 1, speech_text(&net.model, token, &text), stdout);
 *
 * Every layer is one call of heed_transformer_layer_run, every convolution a heed_linear of overlapping rows. No heap,
 * no variable of its own, no C library but memcpy.
 * Same bits everywhere: logits depend on samples, weights and heed's arithmetic alone; not on processor,
 * compiler, kernel or threads. Compile with -ffp-contract=off.
 * Threads: calls on different objects may run at once. */
#ifndef HEED_SPEECH_H
#define HEED_SPEECH_H

#include <stddef.h>
#include <stdint.h>

#include "heed/heed.h"
#include "speech_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------------------- memory */

/* Define these alike for all files; they change sizes and speed, no bit. */
#ifndef SPEECH_MAX_SECONDS
#define SPEECH_MAX_SECONDS 15 /* of sound at once */
#endif
#ifndef SPEECH_CACHE_FORMAT
#define SPEECH_CACHE_FORMAT HEED_F32 /* the widest one of keys and values */
#endif
#ifndef SPEECH_WORKERS
#define SPEECH_WORKERS 1
#endif

enum { SPEECH_RATE = 16000, SPEECH_MIN_SAMPLES = 895, SPEECH_STEPS_A_SECOND = 6 };
enum { SPEECH_START = 1, SPEECH_END = 2 }; /* tokens */
#define SPEECH_MAX_SAMPLES (SPEECH_MAX_SECONDS * SPEECH_RATE)

/* Rows after each convolution. */
#define SPEECH_ROWS_1(n_samples) (((n_samples)-SPEECH_KERNEL_1) / SPEECH_STRIDE_1 + 1)
#define SPEECH_ROWS_2(n_rows_1) (((n_rows_1)-SPEECH_KERNEL_2) / SPEECH_STRIDE_2 + 1)
#define SPEECH_ROWS_3(n_rows_2) (((n_rows_2)-SPEECH_KERNEL_3) / SPEECH_STRIDE_3 + 1)
#define SPEECH_ROWS(n_samples) SPEECH_ROWS_3(SPEECH_ROWS_2(SPEECH_ROWS_1(n_samples)))
#define SPEECH_MAX_ROWS_1 SPEECH_ROWS_1(SPEECH_MAX_SAMPLES)
#define SPEECH_MAX_ROWS SPEECH_ROWS(SPEECH_MAX_SAMPLES)
#define SPEECH_MAX_STEPS (SPEECH_MAX_SECONDS * SPEECH_STEPS_A_SECOND)
/* Rows of the first convolution that are computed together, and of the third. */
enum { SPEECH_PIECE_1 = 64, SPEECH_PIECE_3 = 64 };
#define SPEECH_PIECE_SAMPLES ((SPEECH_PIECE_1 - 1) * SPEECH_STRIDE_1 + SPEECH_KERNEL_1)
#define SPEECH_PIECE_2 ((SPEECH_PIECE_3 - 1) * SPEECH_STRIDE_3 + SPEECH_KERNEL_3)

#define SPEECH_WORKSPACES_BYTES ((SPEECH_WORKERS - 1) * HEED_WORKSPACE_BYTES(SPEECH_HEAD_DIM, SPEECH_HEAD_DIM))
#define SPEECH_STEM_BYTES \
  (HEED_SIZE(4) * (SPEECH_MAX_ROWS_1 * SPEECH_DIM + SPEECH_PIECE_2 * SPEECH_WIDE + SPEECH_PIECE_SAMPLES))
#define SPEECH_ENCODER_BYTES                                                                                       \
  (HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(SPEECH_MAX_ROWS, SPEECH_DIM, SPEECH_HEADS, SPEECH_HEADS, SPEECH_HEAD_DIM, \
                                         SPEECH_HEAD_DIM, SPEECH_HIDDEN, 0) +                                      \
   SPEECH_WORKSPACES_BYTES)
/* For a row of the decoder's layers, or for keys and values of 64 rows. */
#define SPEECH_DECODER_BYTES                                                                                          \
  (HEED_LAYER_GREATER(HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(1, SPEECH_DIM, SPEECH_HEADS, SPEECH_HEADS,                \
                                                            SPEECH_HEAD_DIM, SPEECH_HEAD_DIM, SPEECH_HIDDEN, 1),      \
                      HEED_ATTENTION_LAYER_BYTES(64, SPEECH_HEADS, SPEECH_HEADS, SPEECH_HEAD_DIM, SPEECH_HEAD_DIM)) + \
   SPEECH_WORKSPACES_BYTES)
#define SPEECH_CACHE_BYTES(capacity) \
  ((HEED_CACHE_BYTES(capacity, 1, SPEECH_HEADS, SPEECH_HEAD_DIM, SPEECH_HEAD_DIM, SPEECH_CACHE_FORMAT) + 63) / 64 * 64)

/* Memory of the stem, then of the encoder's layers, then of the keys and values that cross-attention reads. */
typedef union speech_phases {
  HEED_ALIGNED unsigned char stem[SPEECH_STEM_BYTES];
  HEED_ALIGNED unsigned char encoder[SPEECH_ENCODER_BYTES];
  HEED_ALIGNED unsigned char crosses[SPEECH_LAYERS][SPEECH_CACHE_BYTES(SPEECH_MAX_ROWS)];
} speech_phases;

/* The parts of the network, for speech_watch. */
typedef enum speech_part {
  SPEECH_PART_CONV_1, /* with tanh; in pieces */
  SPEECH_PART_GROUP_NORM,
  SPEECH_PART_CONV_2, /* with gelu; in pieces */
  SPEECH_PART_CONV_3, /* with gelu; in pieces */
  SPEECH_PART_ENCODER_LAYER,
  SPEECH_PART_ENCODER,       /* the last norm: what the decoder reads */
  SPEECH_PART_CROSS_KEYS,    /* keys and values of the encoder's rows */
  SPEECH_PART_DECODER_LAYER, /* one row */
  SPEECH_PART_LOGITS,
  SPEECH_N_PARTS
} speech_part;
/* Is called after each part, with the rows that it gave (n_rows, dim); for SPEECH_PART_CROSS_KEYS there are none. */
typedef void speech_watch(void *context, speech_part part, heed_matrix rows);

/* The model at work. You may set executor, watch, context, attended and cache_format after speech_open, and read error, failure,
 * logits, n_rows and the model. */
typedef struct speech {
  speech_model model;
  const heed_executor *executor; /* null, or up to SPEECH_WORKERS workers */
  speech_watch *watch;           /* or null */
  void *context;                 /* of watch */
  float *attended;               /* null, or for each step n_rows numbers: speech_align.h */
  int32_t cache_format;          /* of keys and values: SPEECH_CACHE_FORMAT, or a narrower one */
  const char *error;             /* why speech_open returned SPEECH_MODEL */
  heed_status failure;           /* why the last call returned SPEECH_HEED_FAILED */
  int32_t ready;                 /* 0: not opened, 1: opened, 2: has heard something */
  int32_t n_rows;                /* of the encoder's output, which lies in x until the next speech_hear */
  int32_t n_steps, max_steps, token;
  heed_rope rope;
  heed_cache caches[SPEECH_LAYERS], crosses[SPEECH_LAYERS];
  heed_attention_layer encoder_attention[SPEECH_LAYERS], attention[SPEECH_LAYERS], cross[SPEECH_LAYERS];
  heed_transformer_layer encoder[SPEECH_LAYERS], decoder[SPEECH_LAYERS];
  HEED_ALIGNED float x[SPEECH_MAX_ROWS * SPEECH_DIM];
  heed_attention_weights weights; /* of cross-attention, if attended is not null */
  heed_options options;
  HEED_ALIGNED float heads[SPEECH_HEADS * SPEECH_MAX_ROWS];
  HEED_ALIGNED float row[SPEECH_DIM];
  HEED_ALIGNED float logits[SPEECH_TOKENS]; /* of the last step */
  HEED_ALIGNED unsigned char memory[SPEECH_DECODER_BYTES];
  HEED_ALIGNED unsigned char cache_memory[SPEECH_LAYERS][SPEECH_CACHE_BYTES(SPEECH_MAX_STEPS)];
  speech_phases phases;
} speech;
#define SPEECH_RAM_BYTES sizeof(speech)

/* -------------------------------------------------------------------------------------------------------- network */

/* Finds the model (speech_model_read) and prepares net; bytes must stay where they are.
 * Status: NULL_POINTER, MISALIGNED, HEED_FAILED; MODEL: net->error says why, and net->model.name about which part. */
speech_status speech_open(speech *net, const void *bytes, size_t n_bytes);

/* Hears n samples, SPEECH_MIN_SAMPLES to SPEECH_MAX_SAMPLES: stem, encoder, keys and values for the decoder. Then the
 * encoder's output (net->n_rows, SPEECH_DIM) lies in net->x. The text begins anew.
 * Error: the encoder's output is within 2e-4 of exact arithmetic for weights in f32.
 * Status: NULL_POINTER, NOT_READY, TOO_SHORT, TOO_LONG, HEED_FAILED. */
speech_status speech_hear(speech *net, const int16_t *samples, int32_t n);

/* The next token of the text: the greatest logit, of equal ones the lowest. *token is -1 at the end, after 6 tokens a
 * second at the latest. net->logits then are those of this step.
 * Status: NULL_POINTER, NOT_READY, HEED_FAILED. */
speech_status speech_next(speech *net, int32_t *token);

#ifdef __cplusplus
}
#endif

#endif
