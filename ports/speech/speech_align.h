/* Where the words of a text lie in the sound, from what the decoder attends to. C99 and C++. SPDX-License-Identifier: MIT
 *
 *   static speech_alignment alignment;
 *   error = speech_align_start(&alignment, &net);            // after speech_open; then speech_sound and speech_next as ever
 *   speech_align_finish(&alignment);                         // after the text's last token
 *   for (t = 0; t < alignment.n_tokens; ++t)                 // begins at alignment.first[t], ends before first[t + 1]
 *
 * Row r of the encoder stands for sample r * SPEECH_ROW_SAMPLES + SPEECH_ROW_CENTRE, in the middle of those that it hears. */
#ifndef HEED_SPEECH_ALIGN_H
#define HEED_SPEECH_ALIGN_H

#include "speech_cut.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPEECH_ROW_SAMPLES = 64 * 3 * 2, SPEECH_ROW_CENTRE = SPEECH_MIN_SAMPLES / 2 }; /* strides of the convolutions */

typedef struct speech_alignment {
  int32_t n_tokens;
  int32_t first[SPEECH_CONTEXT + 1]; /* row at which a token begins, in order; and the end of the last one */
  const speech *net;
  float attention[SPEECH_ATTENDED]; /* rows of speech_attend */
  float score[SPEECH_ROWS];
  uint8_t begins[SPEECH_CONTEXT * SPEECH_ROWS];
} speech_alignment;

/* net writes what it attends to into the alignment, from now on. Null, or a sentence, as of speech_attend. */
const char *speech_align_start(speech_alignment *alignment, speech *net);

/* Shares the rows out to the tokens of the text, in order and without a gap, so that together they attend most to their own
 * rows. What lies before the first token belongs to none. The end of the text is a token, too. */
void speech_align_finish(speech_alignment *alignment);

/* Where a piece that speech_cut had to cut without a pause is cut best: at the beginning of a word, where it is quietest;
 * behind a punctuation mark it may be 16 times (12 dB) as loud. All SPEECH_SAMPLES of the piece were heard,
 * and speech_align_finish was called. Returns how many of them stay, which
 * alignment->n_tokens then is, too; later ones are heard again, whole, in the next piece, which begins there. If no word
 * begins where a cut is possible, all stay, and the next piece begins at the end.
 *
 *   n = speech_cut_take(&cut, frame);
 *   hear(cut.samples, cut.is_forced ? SPEECH_SAMPLES : n);                        // with speech_align_start before, finish behind
 *   if (cut.is_forced) n_tokens = speech_align_cut(&alignment, &cut); */
int32_t speech_align_cut(speech_alignment *alignment, speech_cut *cut);

#ifdef __cplusplus
}
#endif

#endif
