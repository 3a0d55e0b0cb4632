/* The classifier for JavaScript: a text comes in, and a word and its score go out. SPDX-License-Identifier: MIT */
#include "classifier.h"

#define EXPORT(name) __attribute__((export_name(#name)))

static int_model model;
static char typed[64];
static int8_t scores[n_words];

EXPORT(text) char *text(void) { return typed; }
EXPORT(text_bytes) int32_t text_bytes(void) { return sizeof typed; }
EXPORT(scores_of) int8_t *scores_of(void) { return scores; }
EXPORT(n_scores) int32_t n_scores(void) { return n_words; }
/* The word meant, or null: what is wrong is then failure(). */
static const char *failed;
EXPORT(failure) const char *failure(void) { return failed; }
EXPORT(recognise) const char *recognise(void) {
  heed_status status;
  failed = model.header ? HEED_NULL : int_model_open(&model, layers, sizeof layers);
  if (failed) return HEED_NULL;
  status = classify(&model, typed, scores);
  if (status == HEED_OK) return classifier_best(scores);
  failed = heed_status_text(status);
  return HEED_NULL;
}
