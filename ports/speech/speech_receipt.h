/* A receipt of what speech.h hears: its `watch` for receipt.h. C99 and C++. SPDX-License-Identifier: MIT
 *
 *   speech_receipt watch = {heed_receipt_see, &receipt};  // heed_receipt_begin with n_layers = SPEECH_RECEIPT_LAYERS
 *   net.watch = speech_receipt_see, net.context = &watch;
 *
 * Layers of the receipt: the three convolutions and the group norm (0 to 3, as speech_part counts them), the encoder's layers
 * (from 4 on), its last norm, the decoder's layers, and the logits of each token. */
#ifndef HEED_SPEECH_RECEIPT_H
#define HEED_SPEECH_RECEIPT_H

#include "receipt.h"
#include "speech.h"

enum {
  SPEECH_RECEIPT_ENCODER = SPEECH_PART_ENCODER_LAYER,
  SPEECH_RECEIPT_NORM = SPEECH_RECEIPT_ENCODER + SPEECH_LAYERS,
  SPEECH_RECEIPT_DECODER = SPEECH_RECEIPT_NORM + 1,
  SPEECH_RECEIPT_LAYERS = SPEECH_RECEIPT_DECODER + SPEECH_LAYERS
};

typedef struct speech_receipt {
  void (*see)(void *user, int32_t layer, int64_t first,
              heed_matrix rows); /* heed_receipt_see, or another that takes its rows */
  void *user;
  int64_t n_rows[SPEECH_RECEIPT_LAYERS + 1]; /* shown so far */
  int32_t n_encoder, n_decoder;              /* layers that were shown */
} speech_receipt;

static inline void speech_receipt_see(void *context, speech_part part, heed_matrix rows) {
  speech_receipt *const w = (speech_receipt *)context;
  int32_t layer = (int32_t)part;
  if (part == SPEECH_PART_CROSS_KEYS) return; /* no rows */
  if (part == SPEECH_PART_ENCODER_LAYER) layer = SPEECH_RECEIPT_ENCODER + w->n_encoder++ % SPEECH_LAYERS;
  if (part == SPEECH_PART_ENCODER) layer = SPEECH_RECEIPT_NORM;
  if (part == SPEECH_PART_DECODER_LAYER) layer = SPEECH_RECEIPT_DECODER + w->n_decoder++ % SPEECH_LAYERS;
  if (part == SPEECH_PART_LOGITS) layer = SPEECH_RECEIPT_LAYERS;
  w->see(w->user, layer, w->n_rows[layer], rows);
  w->n_rows[layer] += rows.n_rows;
}

#endif
