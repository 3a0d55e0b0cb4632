/* What keyword spotting on a board is told and reads: WEIGHTS CLIP. SPDX-License-Identifier: MIT */
#ifndef HEED_KWT_BOARD_FILES_H
#define HEED_KWT_BOARD_FILES_H

#include "kwt.h"

/* Memory that link.ld puts into RAM outside the chip. */
#define KWT_EXTERNAL __attribute__((section(".external"), aligned(64)))

/* A WAV file (ports/wav.h) of one second, mono, 16 kHz, with room for what is no sample. */
typedef struct kwt_clip {
  unsigned char file[2 * KWT_N_SAMPLES + 4096];
  int16_t samples[KWT_N_SAMPLES];
} kwt_clip;

typedef struct kwt_board_files {
  char weights_path[256]; /* the path of the clip lies behind it */
  const char *clip_path;
  size_t n_bytes; /* of the weights */
} kwt_board_files;

/* Reads both files that the program `name` was given. 0, or 1 after a message. */
int kwt_read_files(kwt_board_files *files, const char *name, void *weights, size_t capacity, kwt_clip *clip);

/* Writes "what: why", and returns 1. */
int kwt_fail(const char *what, const char *why);

#endif
