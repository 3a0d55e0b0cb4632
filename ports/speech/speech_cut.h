/* Cuts a stream of sound at its pauses, in integers: what speaks becomes pieces for speech_sound of speech.h,
 * which heed_compile wrote. C99 and C++.
 * SPDX-License-Identifier: MIT
 *
 *   static speech_cut cut;
 *   speech_cut_start(&cut);
 *   while (read(microphone, frame, SPEECH_FRAME))
 *     if ((n = speech_cut_take(&cut, frame)) > 0) hear(cut.samples, n, cut.first);
 *   if ((n = speech_cut_finish(&cut)) > 0) hear(cut.samples, n, cut.first);
 *
 * The rule: A frame of 20 ms has a level, the variance of its samples. The level of the room follows at once when it falls,
 * and doubles in 3.5 s when it rises. A piece begins when 3 frames in succession are 8 times as loud (9 dB), and ends
 * after 0.5 s below 4 times (6 dB). It has 0.3 s of what was before and 0.4 s of what follows. After SPEECH_SAMPLES
 * it has no pause, so that a cut would go through words: it is cut where 0.14 s are quietest, in its second half but not
 * within its last fifteenth, and the next piece begins there. Fewer words are lost if all of it is heard, and cut between
 * two words of its text: speech_align_cut. */
#ifndef HEED_SPEECH_CUT_H
#define HEED_SPEECH_CUT_H

#include "speech.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SPEECH_RATE = 16000,
  SPEECH_MIN_SAMPLES = 895,
  SPEECH_FRAME = 320,
  SPEECH_MAX_FRAMES = SPEECH_SAMPLES / SPEECH_FRAME
};

/* samples, first, n_done and is_forced are for you to read; other fields are private. */
typedef struct speech_cut {
  int16_t samples[SPEECH_MAX_FRAMES * SPEECH_FRAME]; /* of a piece that is complete, from the first on */
  int64_t first;                                     /* where samples[0] stands in the stream */
  int32_t is_forced;                 /* 1: the piece was cut without a pause, and samples has SPEECH_MAX_FRAMES */
  int32_t n, n_done;                 /* frames; of those, frames of a piece that was handed over */
  int32_t speaking, n_loud, n_quiet; /* frames in succession */
  uint32_t room;                     /* level */
  uint32_t levels[SPEECH_MAX_FRAMES];
} speech_cut;

void speech_cut_start(speech_cut *cut);

/* Takes SPEECH_FRAME samples. Returns how many samples a piece has that is complete now, or 0. The piece lies at
 * cut->samples until the next call. */
int32_t speech_cut_take(speech_cut *cut, const int16_t *frame);

/* The stream has ended. Returns how many samples its last piece has, or 0. A piece has SPEECH_MIN_SAMPLES and more. */
int32_t speech_cut_finish(speech_cut *cut);

/* How loud the 0.14 s around a frame of a forced piece are; UINT64_MAX where it is not cut. */
uint64_t speech_cut_loudness(const speech_cut *cut, int32_t frame);

/* The piece that was handed over last shall end before this frame instead. */
void speech_cut_before(speech_cut *cut, int32_t frame);

#ifdef __cplusplus
}
#endif

#endif
