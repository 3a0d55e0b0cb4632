/* KWT-1, a keyword transformer: 1 s of 16 kHz audio in, one of 12 labels out. C99 and C++, static buffers only.
 * SPDX-License-Identifier: MIT
 *
 * heed computes every matrix product and the encoder, a block per call of heed_transformer_layer_run; this example has the rest:
 * window, folding, magnitude, logarithm.
 *
 *   static kwt net;                                 // all the memory there is: KWT_RAM_BYTES
 *   kwt_result heard;
 *   if (kwt_init(&net, weights, weights_bytes) == KWT_OK &&                       // weights: see kwt_weights.h
 *       kwt_run_int16(&net, microphone, 16000, &heard) == KWT_OK) show(kwt_label(heard.label));
 *
 * kwt_words.h hears words in a stream of samples.
 * Memory: KWT_RAM_BYTES (193,856; 154,816 with the least workspace) in the caller's kwt object, 2.79 MB of weights, or
 * 0.88 MB in int8, read in place, 1.5 KB of stack besides heed's HEED_STACK_BYTES (GCC 12, any -O). No heap, no
 * variable of its own, no C library but memcpy and memmove.
 * Same bits everywhere: for int16 samples the result depends on samples, weights and heed's arithmetic alone,
 * not on processor, compiler or kernel. Compile with -ffp-contract=off; fast-math is refused.
 * Threads: calls on different kwt objects may run at once.
 * Source: Berg, O'Connor, Cruz: Keyword Transformer, Interspeech 2021.
 */
#ifndef HEED_KWT_H
#define HEED_KWT_H

#include "kwt_weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* KWT_OK, or a negative number that says what is wrong; nothing was written then but the inside of the kwt object. */
typedef enum kwt_status {
  KWT_OK = 0,
  KWT_NULL_POINTER = -1,    /* a pointer is null */
  KWT_NOT_READY = -2,       /* kwt_init has not succeeded on this object */
  KWT_MISALIGNED = -3,      /* object or weights are not aligned to 64 bytes, or samples not to their type */
  KWT_WRONG_LENGTH = -4,    /* not 16000 samples */
  KWT_BAD_SAMPLE = -5,      /* a float sample is NaN or beyond +-4, as unscaled int16 values would be */
  KWT_WEIGHTS_SIZE = -6,    /* shorter or longer than the weights of KWT-1 */
  KWT_WEIGHTS_MAGIC = -7,   /* not a weights file, or of the other byte order */
  KWT_WEIGHTS_VERSION = -8, /* a layout, format or network that this version does not know */
  KWT_WEIGHTS_DAMAGED = -9, /* the checksum differs */
  KWT_HEED_FAILED = -10,    /* heed refused a call: the object's failure tells why */
  KWT_BAD_THRESHOLD = -11   /* not 0 to 1 */
} kwt_status;

/* Where the time goes. */
typedef enum kwt_stage {
  KWT_STAGE_SOUND,  /* from samples to tokens */
  KWT_STAGE_BLOCKS, /* the encoder */
  KWT_STAGE_LABEL,
  KWT_N_STAGES
} kwt_stage;

/* Workspace for heed's attention. Smaller, down to HEED_WORKSPACE_MIN_BYTES(64, 64), costs time and changes no bit;
 * define it alike for kwt.c and every file that includes this header. */
#ifndef KWT_WORKSPACE_BYTES
#define KWT_WORKSPACE_BYTES HEED_WORKSPACE_BYTES(KWT_DIM, KWT_DIM)
#endif
/* Floats of a block's activations. */
#define KWT_ACTIVATIONS                                                                                   \
  ((HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(KWT_N_TOKENS, KWT_DIM, 1, 1, KWT_DIM, KWT_DIM, KWT_HIDDEN, 0) - \
    HEED_WORKSPACE_BYTES(KWT_DIM, KWT_DIM)) /                                                             \
   sizeof(float))

/* Takes rows of a layer as they are computed, from row `first` on. Layer KWT_N_BLOCKS: logits. heed_receipt_see is one. */
typedef void kwt_see(void *user, int32_t layer, int64_t first, heed_matrix rows);

/* The network's memory. Fields but clock, clock_user, ticks, failure, options, see and see_user are private. */
typedef struct kwt {
  const kwt_header *weights; /* null: not ready */
  /* Optional clock, set after kwt_init: ticks of any unit, wrapping at 2^32. With it, every run leaves its time per
   * stage in ticks; without, zeros. */
  uint32_t (*clock)(void *clock_user);
  void *clock_user;
  uint64_t ticks[KWT_N_STAGES];
  uint32_t last_tick;
  heed_status failure; /* why the last run returned KWT_HEED_FAILED */
  /* Optional, set after kwt_init: KWT_N_BLOCKS options, one for the attention of each block, such as heed_attention_weights. */
  const heed_options *options;
  kwt_see *see; /* null, or set after kwt_init */
  void *see_user;
  HEED_ALIGNED float x[KWT_N_TOKENS * KWT_DIM];
  /* Of a block: activations (before the first one sound), then the workspace. */
  HEED_ALIGNED float memory[KWT_ACTIVATIONS + KWT_WORKSPACE_BYTES / sizeof(float)];
  float token[KWT_DIM]; /* 0, the only one of the last block that is read */
} kwt;
#define KWT_RAM_BYTES sizeof(kwt)

/* What was heard. */
typedef struct kwt_result {
  int32_t label;    /* of the greatest logit, 0 to 11: kwt_label */
  float confidence; /* its softmax probability */
  float logits[KWT_N_LABELS];
} kwt_result;

/* Prepares net for weights of exactly n_bytes, aligned to 4 bytes (better 64), which must stay where they are. Reads
 * them once for the checksum. Clears the clock. Status: NULL_POINTER, MISALIGNED, WEIGHTS_*. */
kwt_status kwt_init(kwt *net, const void *weights, size_t n_bytes);

/* Classifies n_samples = KWT_N_SAMPLES samples.
 * Error: logits within 1e-4 of exact arithmetic on speech with weights in f32 (2e-6 seen); in int8 within 0.05 seen.
 * Status: NULL_POINTER, NOT_READY, MISALIGNED, WRONG_LENGTH, HEED_FAILED; BAD_SAMPLE for floats, whose full scale is
 * +-1. */
kwt_status kwt_run_int16(kwt *net, const int16_t *samples, size_t n_samples, kwt_result *result);
kwt_status kwt_run_float(kwt *net, const float *samples, size_t n_samples, kwt_result *result);

/* FNV-1a over words: tells a damaged file, not a forged one. One multiplication per word, so that a microcontroller
 * checks 2.8 MB in some ten milliseconds. */
uint32_t kwt_checksum(const uint32_t *words, size_t n);

/* "yes"; "?" when label is out of range. Static storage. */
const char *kwt_label(int32_t label);
/* A sentence for the status. Static storage. */
const char *kwt_status_text(kwt_status status);

#ifdef __cplusplus
}
#endif

#endif
