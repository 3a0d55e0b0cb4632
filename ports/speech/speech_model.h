/* The weights of Moonshine Tiny in one flat file, read where it lies. C99 and C++. SPDX-License-Identifier: MIT
 *
 * The file (speech_weights FOLDER OUT.heed) is one of ports/import/heed_file.h. Vectors are f32. Matrices are packed
 * weights, a convolution as the matrix (kernel * channels, channels) of its projection. Names are those of the fields
 * below, such as "decoder.5.cross_q". The vocabulary is bytes.
 * Source of the network: Jeffries et al. 2024, "Moonshine: Speech Recognition for Live Transcription and Voice
 * Commands". */
#ifndef HEED_SPEECH_MODEL_H
#define HEED_SPEECH_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "heed/heed.h"
#include "heed_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sizes of Moonshine Tiny. */
enum {
  SPEECH_DIM = 288,
  SPEECH_HEADS = 8,
  SPEECH_HEAD_DIM = 36,
  SPEECH_ROTARY_DIM = 32,
  SPEECH_HIDDEN = 1152,
  SPEECH_LAYERS = 6, /* of the encoder, and of the decoder */
  SPEECH_TOKENS = 32768,
  SPEECH_PIECES = 32000,    /* tokens that the vocabulary lists */
  SPEECH_SILENT_PIECES = 3, /* the first ones: unknown, start, end; their texts are empty */
  SPEECH_WIDE = 576,        /* channels of the second convolution */
  SPEECH_KERNEL_1 = 127,
  SPEECH_STRIDE_1 = 64,
  SPEECH_KERNEL_2 = 7,
  SPEECH_STRIDE_2 = 3,
  SPEECH_KERNEL_3 = 3,
  SPEECH_STRIDE_3 = 2
};

/* SPEECH_OK, or a negative number that says what is wrong. */
typedef enum speech_status {
  SPEECH_OK = 0,
  SPEECH_NULL_POINTER = -1,
  SPEECH_MISALIGNED = -2,
  SPEECH_NOT_READY = -3,
  SPEECH_TOO_SHORT = -4,
  SPEECH_TOO_LONG = -5,
  SPEECH_MODEL = -6,
  SPEECH_HEED_FAILED = -7
} speech_status;
/* A sentence for the status. Static storage. */
const char *speech_status_text(speech_status status);

/* A layer of the encoder: w_up and w_down with biases. A layer of the decoder has the rest, too. */
typedef struct speech_layer {
  const float *norm_1; /* (SPEECH_DIM), before attention */
  heed_weights wq, wk, wv, wo;
  const float *norm_cross; /* decoder: before cross-attention */
  heed_weights cross_q, cross_k, cross_v, cross_o;
  const float *norm_2;       /* before the feed-forward */
  heed_weights w_up, w_down; /* decoder: w_up is value, then gate */
  const float *b_up, *b_down;
} speech_layer;

typedef struct speech_model {
  char name[24];            /* of the last part that was looked for */
  const float *frequencies; /* (SPEECH_ROTARY_DIM / 2) */
  heed_weights conv_1;      /* (127, 288) */
  const float *group_weight, *group_bias;
  heed_weights conv_2; /* (7 * 288, 576) */
  const float *b_conv_2;
  heed_weights conv_3; /* (3 * 576, 288) */
  const float *b_conv_3;
  speech_layer encoder[SPEECH_LAYERS];
  const float *encoder_norm;
  speech_layer decoder[SPEECH_LAYERS];
  const float *decoder_norm;
  heed_weights embedding;      /* (288, 32768): rows of tokens, and what makes logits */
  heed_file_tensor vocabulary; /* for each of SPEECH_PIECES its length and its bytes */
} speech_model;

/* Finds everything in n_bytes at bytes, aligned to 64. Returns null, or a sentence that says what is wrong; model->name
 * is then the part that it is about, or empty. Every count, shape, format and offset of the file is compared here, with its
 * size and with Moonshine Tiny, and the pieces of the vocabulary are counted: what comes later trusts them. Weights are not
 * read: heed_file_check compares their sums. */
const char *speech_model_read(speech_model *model, const void *bytes, size_t n_bytes);

/* Null if bytes are a vocabulary: SPEECH_PIECES pieces, each a byte of length and so many bytes, the first three empty, and
 * nothing behind them. Else a sentence that says what is wrong. speech_model_read asks it. */
const char *speech_vocabulary_error(const uint8_t *bytes, size_t n_bytes);

/* The text of a token: *text shows its bytes, which are part of the model; not ended by 0. Returns how many: 0 for
 * tokens without a text. A text begins with a blank that does not belong to it. */
int32_t speech_text(const speech_model *model, int32_t token, const char **text);

#ifdef __cplusplus
}
#endif

#endif
