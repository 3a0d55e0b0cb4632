/* The receipt of a board's program: its lines go where port_write writes. Define BOARD_LAYERS_MOST first: the layers of the
 * network. For heed_replay, as every receipt. C99. SPDX-License-Identifier: MIT */
#ifndef HEED_RECEIPT_BOARD_H
#define HEED_RECEIPT_BOARD_H

#include "../port.h"
#include "receipt.h"

static heed_receipt board_receipt;
static heed_receipt_layer board_receipt_layers[BOARD_LAYERS_MOST];

static void board_receipt_line(void *user, const char *line, size_t n) {
  (void)user, (void)n;
  port_write(line);
}

/* Null, or why there is no receipt. model: the digest of its file. */
static inline const char *board_receipt_begin_of(const char *program, const uint8_t *model, int32_t n_layers,
                                                 int32_t arithmetic) {
  heed_receipt_settings s =
      heed_receipt_settings_default(program, arithmetic, &heed_receipt_sha256, board_receipt_line, NULL);
  s.model = model;
  s.layers = board_receipt_layers;
  s.n_layers = n_layers;
  s.level = HEED_RECEIPT_LAYERS;
  return heed_receipt_begin(&board_receipt, &s);
}

/* The same of weights as they lie in memory. */
static inline const char *board_receipt_begin(const char *program, const void *weights, size_t n_bytes,
                                              int32_t n_layers, int32_t arithmetic) {
  static uint8_t model[HEED_RECEIPT_DIGEST_BYTES];
  heed_receipt_digest(&heed_receipt_sha256, weights, n_bytes, model);
  return board_receipt_begin_of(program, model, n_layers, arithmetic);
}

#endif
