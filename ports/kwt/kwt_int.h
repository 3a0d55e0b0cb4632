/* KWT-1 in integers: 1 s of 16 kHz audio in, one of 12 labels out, without a floating-point instruction. C99 and C++, static
 * buffers only. SPDX-License-Identifier: MIT
 *
 *   static kwt_int net;                                        // all the memory there is: sizeof(kwt_int)
 *   kwt_int_result heard;
 *   if (kwt_int_init(&net, weights, weights_bytes) == KWT_OK &&                    // what `heed_calibrate kwt` wrote
 *       kwt_int_run(&net, microphone, 16000, &heard) == KWT_OK) show(kwt_label(heard.label));
 *
 * Memory: sizeof(kwt_int) in the caller's object, 0.72 MB of weights, read in place. No heap, no variable of its own, no C
 * library but memcpy and memmove.
 * Same bits everywhere: the logits depend on samples and weights alone. There is one arithmetic.
 *
 * The file: the header below, kwt_int_sound, its mel weights, then, aligned to 64 bytes, the layers (int_model.h). */
#ifndef HEED_KWT_INT_H
#define HEED_KWT_INT_H

#include "int_model.h"
#include "kwt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KWT_INT_MAGIC_1 UINT32_C(0x49544e4b) /* "KNTI" */
#define KWT_INT_VERSION UINT32_C(1)

/* 64 bytes. */
typedef struct kwt_int_header {
  uint32_t magic[2]; /* KWT_FILE_MAGIC_0, KWT_INT_MAGIC_1 */
  uint32_t version;
  uint32_t n_bytes;   /* of the whole file */
  uint32_t checksum;  /* of every word between this header and the layers */
  uint32_t layers_at; /* where the layers begin */
  uint32_t n_mel_weights;
  uint32_t reserved[9]; /* 0 */
} kwt_int_header;

/* A log of a mel band is in octaves of 1 / 512. */
enum { KWT_INT_LOG_BITS = 9, KWT_INT_SINES = KWT_PERIOD * 3 / 4 };

/* All that turns samples into tokens, and the last token into logits. */
typedef struct kwt_int_sound {
  int32_t sine[KWT_INT_SINES];   /* sin(2 pi k / 512) * 2^30 */
  int16_t window[KWT_FRAME];     /* * 2^15 */
  uint16_t mel_first[KWT_N_MEL]; /* a band is mel_n bins from mel_first on */
  uint16_t mel_n[KWT_N_MEL];
  int16_t embedding[KWT_DIM][KWT_N_MEL]; /* log of a band to token */
  heed_multiplier embedding_unit[KWT_DIM];
  int16_t start[KWT_N_TOKENS][KWT_DIM]; /* class token, biases and positions, in units of a token */
  int16_t label[KWT_N_LABELS][KWT_DIM];
  int32_t label_bias[KWT_N_LABELS]; /* in units of a logit */
  heed_multiplier label_unit[KWT_N_LABELS];
  int32_t log_floor; /* the least log of a band */
  int32_t reserved;  /* 0 */
} kwt_int_sound;     /* then uint16_t mel[n_mel_weights], * 2^15 */

/* A unit of a logit is 2^-16. */
enum { KWT_INT_LOGIT_BITS = 16 };

/* Bytes of the layers' memory. Any size from the least up gives the same bits. */
#ifndef KWT_INT_MEMORY_BYTES
#define KWT_INT_MEMORY_BYTES HEED_INT_LAYER_BYTES(KWT_N_TOKENS, KWT_DIM, 1, 1, KWT_DIM, KWT_HIDDEN, 0)
#endif

/* Fields but clock, clock_user, ticks, failure, see and see_user are private. */
typedef struct kwt_int {
  const kwt_int_sound *sound; /* null: not ready */
  const uint16_t *mel;
  int_model layers;
  uint32_t (*clock)(void *clock_user); /* as kwt */
  void *clock_user;
  uint64_t ticks[KWT_N_STAGES];
  uint32_t last_tick;
  heed_status failure; /* why the last run returned KWT_HEED_FAILED */
  int_model_see *see;  /* null, or set after kwt_int_init: takes the rows of each layer. heed_receipt_see_int is one */
  void *see_user;
  HEED_ALIGNED int16_t x[KWT_N_TOKENS * KWT_DIM];
  HEED_ALIGNED unsigned char memory[KWT_INT_MEMORY_BYTES];
  int16_t token[KWT_DIM]; /* 0, the only one of the last layer that is read */
} kwt_int;

typedef struct kwt_int_result {
  int32_t label;                /* of the greatest logit, 0 to 11: kwt_label */
  int32_t logits[KWT_N_LABELS]; /* * 2^16 */
} kwt_int_result;

/* Prepares net for weights of exactly n_bytes, aligned to 64 bytes, which must stay where they are. Reads them once for the
 * checksums. Clears the clock. Status: NULL_POINTER, MISALIGNED, WEIGHTS_*. */
kwt_status kwt_int_init(kwt_int *net, const void *weights, size_t n_bytes);

/* Classifies n_samples = KWT_N_SAMPLES samples.
 * Error: on the 24 recorded clips logits move by 0.088 at most, and no word changes.
 * Status: NULL_POINTER, NOT_READY, MISALIGNED, WRONG_LENGTH, HEED_FAILED. */
kwt_status kwt_int_run(kwt_int *net, const int16_t *samples, size_t n_samples, kwt_int_result *result);

/* The parts of a run before the layers, for heed_calibrate and for tests. From a frame of 480 samples, logs (80) of its mel
 * bands in octaves * 2^9; from these a token (64) without its start. room: KWT_INT_ROOM bytes, aligned to 4. */
enum { KWT_INT_ROOM = 4 * (KWT_PERIOD + KWT_N_BINS) };
void kwt_int_logs(const kwt_int_sound *sound, const uint16_t *mel, const int16_t *frame, void *room, int16_t *logs);
void kwt_int_embed(const kwt_int_sound *sound, const int16_t *logs, const int16_t *start, int16_t *token);
/* x * m, rounded. */
int32_t kwt_int_scaled(int32_t x, heed_multiplier m);

#ifdef __cplusplus
}
#endif

#endif
