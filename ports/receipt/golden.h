/* Known answers of a model, which a device checks when it starts: a receipt that was made elsewhere lies beside the weights, and a
 * run on the device must give the same lines. C99 and C++, no memory but the caller's. SPDX-License-Identifier: MIT
 *
 *   heed_golden golden;
 *   const char *error = heed_golden_begin(&golden, text, text_bytes);      // the receipt, in flash
 *   settings.write = heed_golden_write, settings.user = &golden;           // of heed_receipt_begin, with the receipt's level
 *   ... a run with the known input, which ends with heed_receipt_end ...
 *   if (heed_golden_end(&golden) != NULL) stop();                          // closed: whatever went wrong
 *
 * What it finds: each bit of the model's file, if settings.model is computed from the bytes that the device has; each bit of packed
 * weights, if the run shows them with heed_receipt_memory; another contract or arithmetic of heed; and each number of a layer's rows or
 * of the logits that a fault, a compiler or a flag has changed. golden.fault is then the line that was expected,
 * golden.layer the layer. What it does not find: a fault of the code that touches no number of this run. heed_selftest looks for
 * some of those; run both when the device starts, and again as often as the system wants. */
#ifndef HEED_RECEIPT_GOLDEN_H
#define HEED_RECEIPT_GOLDEN_H

#include "receipt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fields but fault, fault_bytes and layer are for reading alone. */
typedef struct heed_golden {
  const char *text;
  size_t n_bytes, at;
  const char *fault; /* null, or the first line that was expected and did not come; of fault_bytes */
  size_t fault_bytes;
  int32_t layer; /* of that line; -1: none */
} heed_golden;

/* Null, or a sentence: the text is no receipt, or is cut. It is read where it lies, and must stay there. */
const char *heed_golden_begin(heed_golden *golden, const char *text, size_t n_bytes);

/* Compares a line; a heed_receipt_write. user: the heed_golden. */
void heed_golden_write(void *user, const char *line, size_t n);

/* Null: all lines came, and no other. Else a sentence. Also if heed_golden_begin was refused, or nothing was run. */
const char *heed_golden_end(heed_golden *golden);

#ifdef __cplusplus
}
#endif

#endif
