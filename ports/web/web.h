/* SPDX-License-Identifier: MIT */
#ifndef HEED_WEB_H
#define HEED_WEB_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The published file of KWT-1 as the flat one of kwt_weights.h in f32, with room for KWT_WEIGHTS_BYTES(HEED_F32). What is
 * wrong with the file is thrown to JavaScript. */
void web_read_tflite(const void *file, size_t n_bytes, void *flat);

/* What wav_open says of a sound, or why it is not taken, with the file's name; the text lives until the next call. */
struct wav_file;
const char *web_wav_refusal(const char *name, const struct wav_file *wav, const char *error);

#ifdef __cplusplus
}
#endif

#endif
