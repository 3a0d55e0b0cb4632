/* See kwt_words.h. SPDX-License-Identifier: MIT */
#include "kwt_words.h"

#include <string.h>

enum { first_word = 2, hops_of_window = KWT_N_SAMPLES / KWT_HOP };

kwt_status kwt_words_start(kwt_words *words, kwt *net, float threshold) {
  if (words == NULL || net == NULL) return KWT_NULL_POINTER;
  if (net->weights == NULL) return KWT_NOT_READY;
  if (!(threshold >= 0.0f && threshold <= 1.0f)) return KWT_BAD_THRESHOLD;
  words->net = net;
  words->threshold = threshold;
  words->n_samples = 0;
  words->label = words->told_label = -1;
  words->n_agreeing = words->hops_to_wait = 0;
  return KWT_OK;
}

/* Whether what a window heard is a word that counts and was not told yet. */
static int is_new(kwt_words *words, const kwt_result *heard) {
  const int is_word = heard->label >= first_word && heard->confidence >= words->threshold;
  const int32_t label = is_word ? heard->label : -1;
  words->n_agreeing = label == words->label ? words->n_agreeing + 1 : 1;
  words->label = label;
  if (words->hops_to_wait > 0) --words->hops_to_wait;
  if (label < 0 || words->n_agreeing < KWT_AGREEING) return 0;
  if (label == words->told_label && words->hops_to_wait > 0) return 0;
  words->told_label = label;
  words->hops_to_wait = hops_of_window;
  return 1;
}

kwt_status kwt_words_hear(kwt_words *words, const int16_t *samples, kwt_result *heard) {
  if (words == NULL || samples == NULL || heard == NULL) return KWT_NULL_POINTER;
  if ((uintptr_t)samples % sizeof *samples != 0) return KWT_MISALIGNED;
  if (words->n_samples == KWT_N_SAMPLES) {
    words->n_samples -= KWT_HOP;
    memmove(words->samples, words->samples + KWT_HOP, sizeof *samples * (KWT_N_SAMPLES - KWT_HOP));
  }
  memcpy(words->samples + words->n_samples, samples, sizeof *samples * KWT_HOP);
  words->n_samples += KWT_HOP;
  kwt_result found = {-1, 0.0f, {0.0f}};
  if (words->n_samples == KWT_N_SAMPLES) {
    const kwt_status status = kwt_run_int16(words->net, words->samples, KWT_N_SAMPLES, &found);
    if (status != KWT_OK) return status;
    if (!is_new(words, &found)) found.label = -1;
  }
  *heard = found;
  return KWT_OK;
}
