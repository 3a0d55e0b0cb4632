/* The samples of a clip for tests of compiled programs: a WAV file with a header of 44 bytes, one channel, 16 bits a sample.
 * SPDX-License-Identifier: MIT */
#ifndef HEED_TESTS_CLIP_H
#define HEED_TESTS_CLIP_H

#include <stdio.h>

/* The first n samples, from -1 to 1; 0 if the file has fewer. */
static int read_clip(const char *path, float *samples, int n) {
  FILE *clip = fopen(path, "rb");
  int i, is_whole = clip && fseek(clip, 44, SEEK_SET) == 0;
  for (i = 0; is_whole && i < n; ++i) {
    unsigned char bytes[2];
    int sample;
    is_whole = fread(bytes, 1, 2, clip) == 2;
    sample = is_whole ? bytes[0] | bytes[1] << 8 : 0;
    samples[i] = (float)(sample >= 32768 ? sample - 65536 : sample) / 32768.0f;
  }
  if (clip) fclose(clip);
  return is_whole;
}

#endif
