/* Words in a stream of samples, as they are spoken: KWT-1 on a window of 1 s that moves on by 1/8 s. C99 and C++.
 * SPDX-License-Identifier: MIT
 *
 *   static kwt_words words;
 *   kwt_result heard;
 *   kwt_words_start(&words, &net, 0.7f);
 *   for (;;) {
 *     wait_for(microphone, KWT_HOP);
 *     if (kwt_words_hear(&words, microphone, &heard) == KWT_OK && heard.label >= 0) show(kwt_label(heard.label));
 *   }
 *
 * A word counts when KWT_AGREEING windows in succession hear it with that confidence: windows that cut a word in two
 * hear any other. It is told once, and not again before 1 s is over, as long as a window can see it; a different
 * word at once. Silence and unknown words are not told.
 */
#ifndef HEED_KWT_WORDS_H
#define HEED_KWT_WORDS_H

#include "kwt.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KWT_HOP = KWT_N_SAMPLES / 8, KWT_AGREEING = 3 };

/* Fields are private. */
typedef struct kwt_words {
  kwt *net;
  float threshold;
  int32_t n_samples;                /* of the window: at first it fills */
  int32_t label, n_agreeing;        /* what the last windows heard */
  int32_t told_label, hops_to_wait; /* before it is told again */
  int16_t samples[KWT_N_SAMPLES];
} kwt_words;

/* net: as kwt_init left it; it must outlive words. threshold: 0 to 1; trained labels reach 0.92.
 * Status: NULL_POINTER, NOT_READY, BAD_THRESHOLD. */
kwt_status kwt_words_start(kwt_words *words, kwt *net, float threshold);

/* Takes KWT_HOP samples. heard->label: a word that counts now, or -1; its confidence and logits are the last window's.
 * Nothing is heard in the first second. Status: NULL_POINTER, MISALIGNED, HEED_FAILED. */
kwt_status kwt_words_hear(kwt_words *words, const int16_t *samples, kwt_result *heard);

#ifdef __cplusplus
}
#endif

#endif
