/* SPDX-License-Identifier: MIT */
#include "kwt_board_files.h"

#include "port.h"
#include "wav.h"

int kwt_fail(const char *what, const char *why) {
  port_write(what), port_write(": "), port_write(why), port_write("\n");
  return 1;
}

/* Null, or what is wrong with the clip. */
static const char *read_clip(const char *path, kwt_clip *clip) {
  const int32_t n_bytes = port_read_file(path, clip->file, sizeof clip->file);
  if (n_bytes < 0) return "cannot be read, or has more than a second";
  wav_file wav;
  const char *error = wav_open(&wav, clip->file, (size_t)n_bytes);
  if (error != NULL) return error;
  if (!wav_fits(&wav, KWT_N_SAMPLES) || wav.n_samples != KWT_N_SAMPLES)
    return "is not a WAV file of one second, mono, 16 kHz";
  for (size_t i = 0; i < KWT_N_SAMPLES; ++i) clip->samples[i] = wav_sample(&wav, i);
  return NULL;
}

int kwt_read_files(kwt_board_files *files, const char *name, void *weights, size_t capacity, kwt_clip *clip) {
  port_arguments(files->weights_path, sizeof files->weights_path);
  char *blank = files->weights_path;
  while (*blank && *blank != ' ') ++blank;
  if (!*blank) return port_write("usage: "), port_write(name), port_write(" WEIGHTS CLIP\n"), 1;
  *blank = '\0';
  files->clip_path = blank + 1;
  const int32_t n_bytes = port_read_file(files->weights_path, weights, capacity);
  if (n_bytes < 0) return kwt_fail(files->weights_path, "cannot be read, or is larger than KWT-1's weights");
  files->n_bytes = (size_t)n_bytes;
  const char *error = read_clip(files->clip_path, clip);
  return error == NULL ? 0 : kwt_fail(files->clip_path, error);
}
