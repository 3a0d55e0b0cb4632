/* SPDX-License-Identifier: MIT */
#include "kwt_board_files.h"

#include "port.h"

enum { any = 0 };
static const uint32_t header[] = {0x46464952,   /* "RIFF" */
                                  any,          /* length of the file */
                                  0x45564157,   /* "WAVE" */
                                  0x20746d66,   /* "fmt " */
                                  16,           /* bytes of format: */
                                  1 | 1 << 16,  /* PCM, mono, */
                                  16000,        /* frames per second, */
                                  32000,        /* bytes per second, */
                                  2 | 16 << 16, /* bytes of a frame, bits of a sample */
                                  0x61746164,   /* "data" */
                                  sizeof(int16_t) * KWT_N_SAMPLES};

int kwt_fail(const char *what, const char *why) {
  port_write(what), port_write(": "), port_write(why), port_write("\n");
  return 1;
}

static int is_wav(const kwt_wav *clip) {
  for (size_t i = 0; i < sizeof header / sizeof *header; ++i)
    if (header[i] != any && clip->header[i] != header[i]) return 0;
  return 1;
}

int kwt_read_files(kwt_board_files *files, const char *name, void *weights, size_t capacity, kwt_wav *clip) {
  port_arguments(files->weights_path, sizeof files->weights_path);
  char *blank = files->weights_path;
  while (*blank && *blank != ' ') ++blank;
  if (!*blank) return port_write("usage: "), port_write(name), port_write(" WEIGHTS CLIP\n"), 1;
  *blank = '\0';
  files->clip_path = blank + 1;
  const int32_t n_bytes = port_read_file(files->weights_path, weights, capacity);
  if (n_bytes < 0) return kwt_fail(files->weights_path, "cannot be read, or is larger than KWT-1's weights");
  files->n_bytes = (size_t)n_bytes;
  if (port_read_file(files->clip_path, clip, sizeof *clip) != (int32_t)sizeof *clip || !is_wav(clip))
    return kwt_fail(files->clip_path, "cannot be read, or is not a WAV file of one second, mono, 16 kHz, 16 bits");
  return 0;
}
