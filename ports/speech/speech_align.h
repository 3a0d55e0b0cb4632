/* Where the words of a text lie in the sound, from what the decoder attends to. C99 and C++. SPDX-License-Identifier: MIT
 *
 *   static speech_alignment alignment;
 *   speech_align_start(&alignment, &net);                    // after speech_open; then speech_hear and speech_next as ever
 *   speech_align_finish(&alignment);                         // after the text's last token
 *   for (t = 0; t < alignment.n_tokens; ++t)                 // begins at alignment.first[t], ends before first[t + 1]
 *
 * Row r of the encoder stands for sample r * SPEECH_ROW_SAMPLES + SPEECH_ROW_CENTRE, in the middle of those that it hears. */
#ifndef HEED_SPEECH_ALIGN_H
#define HEED_SPEECH_ALIGN_H

#include "speech.h"
#include "speech_cut.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SPEECH_ROW_SAMPLES (SPEECH_STRIDE_1 * SPEECH_STRIDE_2 * SPEECH_STRIDE_3)
#define SPEECH_ROW_CENTRE (SPEECH_MIN_SAMPLES / 2)

typedef struct speech_alignment {
  int32_t n_tokens;
  int32_t first[SPEECH_MAX_STEPS + 1]; /* row at which a token begins, in order; and the end of the last one */
  const speech *net;
  float attention[SPEECH_MAX_STEPS * SPEECH_MAX_ROWS]; /* of each token, summed over layers and heads */
  float score[SPEECH_MAX_ROWS];
  uint8_t begins[SPEECH_MAX_STEPS * SPEECH_MAX_ROWS];
} speech_alignment;

/* net writes what it attends to into the alignment, from now on. */
void speech_align_start(speech_alignment *alignment, speech *net);

/* Shares the rows out to the tokens of the text, in order and without a gap, so that together they attend most to their own
 * rows. What lies before the first token belongs to none. The end of the text is a token, too. */
void speech_align_finish(speech_alignment *alignment);

/* Where a piece that speech_cut had to cut without a pause is cut best: at the beginning of a word, where it is quietest;
 * behind a punctuation mark it may be 16 times (12 dB) as loud. All SPEECH_MAX_SAMPLES of the piece were heard,
 * speech_align_finish was called, and tokens are those of the text, one for each step. Returns how many of them stay, which
 * alignment->n_tokens then is, too; later ones are heard again, whole, in the next piece, which begins there. If no word
 * begins where a cut is possible, all stay, and the next piece begins at the end.
 *
 *   n = speech_cut_take(&cut, frame);
 *   hear(cut.samples, cut.is_forced ? SPEECH_MAX_SAMPLES : n);                    // with speech_align_start before, finish behind
 *   if (cut.is_forced) n_tokens = speech_align_cut(&alignment, tokens, &cut); */
int32_t speech_align_cut(speech_alignment *alignment, const int32_t *tokens, speech_cut *cut);

#ifdef __cplusplus
}
#endif

#endif
