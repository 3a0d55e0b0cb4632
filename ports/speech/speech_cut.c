/* See speech_cut.h. SPDX-License-Identifier: MIT */
#include "speech_cut.h"

#include <string.h>

enum {
  least_room = 400, /* a level: 20 units of amplitude */
  begin_factor = 8,
  end_factor = 4,
  frames_to_begin = 3,
  frames_to_end = 25,
  frames_before = 15,
  frames_behind = 20,
  first_of_choice = SPEECH_MAX_FRAMES / 2, /* where a piece that is too long may be cut */
  last_of_choice = SPEECH_MAX_FRAMES - SPEECH_MAX_FRAMES / 15 - 1,
  frames_around = 3
};

static uint32_t level_of(const int16_t *frame) {
  int64_t sum = 0, squares = 0;
  for (int32_t i = 0; i < SPEECH_FRAME; ++i) {
    sum += frame[i];
    squares += (int32_t)frame[i] * frame[i];
  }
  return (uint32_t)((squares - sum * sum / SPEECH_FRAME) / SPEECH_FRAME);
}

/* Drops the first n frames. */
static void drop(speech_cut *cut, int32_t n) {
  const size_t left = (size_t)(cut->n - n);
  memmove(cut->samples, cut->samples + n * SPEECH_FRAME, left * SPEECH_FRAME * sizeof *cut->samples);
  memmove(cut->levels, cut->levels + n, left * sizeof *cut->levels);
  cut->first += n * SPEECH_FRAME;
  cut->n -= n;
}

void speech_cut_start(speech_cut *cut) {
  cut->first = 0;
  cut->n = cut->n_done = cut->speaking = cut->n_loud = cut->n_quiet = cut->is_forced = 0;
  cut->room = least_room;
}

/* The piece ends behind n of its frames. */
static int32_t hand_over(speech_cut *cut, int32_t n) {
  cut->n_done = n;
  return n * SPEECH_FRAME;
}

uint64_t speech_cut_loudness(const speech_cut *cut, int32_t frame) {
  if (frame < first_of_choice || frame > last_of_choice) return UINT64_MAX;
  uint64_t sum = 0;
  for (int32_t i = frame - frames_around; i <= frame + frames_around; ++i) sum += cut->levels[i];
  return sum;
}

void speech_cut_before(speech_cut *cut, int32_t frame) { cut->n_done = frame; }

static int32_t quietest(const speech_cut *cut) {
  int32_t best = last_of_choice;
  for (int32_t i = last_of_choice; i >= first_of_choice; --i)
    if (speech_cut_loudness(cut, i) < speech_cut_loudness(cut, best)) best = i;
  return best;
}

int32_t speech_cut_take(speech_cut *cut, const int16_t *frame) {
  drop(cut, cut->n_done);
  cut->n_done = cut->is_forced = 0;
  if (!cut->speaking && cut->n > frames_before + frames_to_begin) drop(cut, 1);
  const uint32_t level = level_of(frame);
  memcpy(cut->samples + cut->n * SPEECH_FRAME, frame, SPEECH_FRAME * sizeof *frame);
  cut->levels[cut->n++] = level;
  const uint64_t room = cut->room;
  cut->n_loud = level > begin_factor * room ? cut->n_loud + 1 : 0;
  cut->n_quiet = level < end_factor * room ? cut->n_quiet + 1 : 0;
  const uint32_t risen = cut->room + cut->room / 256 + 1;
  cut->room = level > risen ? risen : level > least_room ? level : least_room;
  if (!cut->speaking) {
    cut->speaking = cut->n_loud >= frames_to_begin;
    return 0;
  }
  if (cut->n_quiet >= frames_to_end) {
    cut->speaking = cut->n_loud = 0;
    return hand_over(cut, cut->n - (frames_to_end - frames_behind));
  }
  cut->is_forced = cut->n == SPEECH_MAX_FRAMES;
  return cut->is_forced ? hand_over(cut, quietest(cut)) : 0;
}

int32_t speech_cut_finish(speech_cut *cut) {
  drop(cut, cut->n_done);
  cut->n_done = cut->is_forced = 0;
  return cut->speaking && cut->n * SPEECH_FRAME >= SPEECH_MIN_SAMPLES ? hand_over(cut, cut->n) : 0;
}
