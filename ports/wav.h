/* Reads a WAV file that lies in memory: the one reader of all programs, of boards and of the page. C99 and C++.
 * SPDX-License-Identifier: MIT
 *
 *   wav_file wav;
 *   const char *error = wav_open(&wav, bytes, n_bytes);                           // null: good
 *   if (!error && wav_fits(&wav, 16000)) for (i = 0; i < wav.n_samples; ++i) samples[i] = wav_sample(&wav, i);
 *
 * It takes samples in PCM of 8, 16, 24 or 32 bits and in floats of 32 bits, with the short header or the extensible one, and
 * steps over other chunks. A file that was written to a pipe states a length of 0, or one of 2 GB or more, because its writer
 * could not go back: its samples reach to the end of the file. Bytes at the end that are no whole sample of every channel are
 * left out. No function of a C library is called, and no floating-point instruction used. */
#ifndef HEED_PORTS_WAV_H
#define HEED_PORTS_WAV_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WAV_PCM = 1, WAV_FLOAT = 3 };

typedef struct wav_file {
  const uint8_t *data; /* samples of all channels in turn, little-endian */
  size_t n_samples;    /* of each channel */
  int32_t format;      /* WAV_PCM or WAV_FLOAT; of a file that is refused whatever it states, or 0 */
  int32_t channels, bits;
  uint32_t rate;          /* samples of a channel in a second */
  int32_t is_convertible; /* of a file that is refused: it is sound, which another program can convert */
} wav_file;

/* Null, or what is wrong with the n_bytes at bytes, to be written behind the file's name: "is not a WAV file". Every length in
 * the file is compared with what there is. A good file has at least one sample, and its floats are finite. */
const char *wav_open(wav_file *wav, const void *bytes, size_t n_bytes);

/* Sample i of n_samples * channels, to the nearest number of 16 bits; floats beyond -1 to 1 are limited. */
int16_t wav_sample(const wav_file *wav, size_t i);

/* 1 if the file has one channel and this rate, otherwise 0. */
int wav_fits(const wav_file *wav, uint32_t rate);

#ifdef __cplusplus
}
#endif

#endif
