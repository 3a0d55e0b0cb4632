/* KWT-1's weights as one flat file, read where it lies: flash, external RAM or a mapped file.
 * SPDX-License-Identifier: MIT
 *
 * kwt_weights IN.tflite OUT.bin writes it: the header below, then, in the order in which the network takes them,
 *
 *   window (480)
 *   dft (129, 122) four times, on the folded frame of kwt_math.h: cosines of the even bins 0, 2, 4 ... and of the odd
 *     ones 1, 3, 5 ..., then sines of the same
 *   mel (244, 80), its rows in that order of bins
 *   embedding (80, 64): cosine transform of the logarithms, normalisation and projection to tokens, multiplied
 *   start (99, 64): class token, biases and positions
 *   for each of 12 blocks: wq, wk, wv, wo (64, 64), bo (64); norm 1: gamma, beta (64); w1 (64, 256), b1 (256);
 *     w2 (256, 64), b2 (64); norm 2: gamma, beta (64)
 *   label (64, 12), its bias (12)
 *
 * Matrices, given as (in, out), are packed (heed_weights_pack). Those of the blocks have the header's format; dft and
 * mel have KWT_SOUND_FORMAT; all else is f32. Everything begins at a multiple of 64 bytes. Little endian: a processor
 * of the other byte order finds the magic number wrong and refuses it.
 */
#ifndef HEED_KWT_WEIGHTS_H
#define HEED_KWT_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "heed/heed.h"

/* The network's sizes. Nothing but this file knows a number of KWT-1. */
enum {
  KWT_N_SAMPLES = 16000, /* 1 s at 16 kHz */
  KWT_FRAME = 480,       /* samples of a frame: 30 ms */
  KWT_STEP = 160,        /* from one frame to the next: 10 ms */
  KWT_N_FRAMES = 98,
  KWT_PERIOD = 512,               /* of the discrete Fourier transform: a frame and zeros */
  KWT_FOLD = KWT_PERIOD / 4 + 1,  /* 129: numbers of a folded frame */
  KWT_N_BINS = 244,               /* of the transform */
  KWT_HALF_BINS = KWT_N_BINS / 2, /* the even ones, or the odd ones */
  KWT_N_MEL = 80,
  KWT_N_TOKENS = 99, /* the class token and one per frame */
  KWT_DIM = 64,
  KWT_HIDDEN = 256,
  KWT_N_BLOCKS = 12,
  KWT_N_LABELS = 12
};

#define KWT_FILE_MAGIC_0 UINT32_C(0x44454548) /* "HEED" */
#define KWT_FILE_MAGIC_1 UINT32_C(0x3154574b) /* "KWT1" */
#define KWT_FILE_VERSION UINT32_C(3)

/* 64 bytes. */
typedef struct kwt_header {
  uint32_t magic[2];
  uint32_t version;
  uint32_t n_bytes;  /* of the whole file: KWT_WEIGHTS_BYTES */
  uint32_t checksum; /* of every word after the header: kwt_checksum */
  int32_t dtype;     /* of the blocks' matrices: HEED_F32 or HEED_INT8 */
  uint32_t n_samples, n_bins, n_mel, dim, hidden, n_blocks, n_labels;
  float log_floor;    /* log(max(mel, log_floor)) */
  float norm_epsilon; /* added to the variance in every LayerNorm */
  uint32_t reserved;  /* 0 */
} kwt_header;

/* Steps of int8 are too coarse for the transform: what is quiet in a frame would drown in the error of what is loud. */
#define KWT_SOUND_FORMAT(dtype) ((dtype) == HEED_INT8 ? HEED_F16 : HEED_F32)

/* Bytes of the file: 2,789,312 in f32, 876,352 in int8. */
#define KWT_LINES(n_bytes) (((size_t)(n_bytes) + 63) / 64 * 64)
#define KWT_MATRIX_BYTES(dtype, n_in, n_out) HEED_WEIGHTS_PACKED_BYTES(dtype, n_in, n_out)
#define KWT_BLOCK_BYTES(dtype)                                                                    \
  (4 * KWT_MATRIX_BYTES(dtype, KWT_DIM, KWT_DIM) + KWT_MATRIX_BYTES(dtype, KWT_DIM, KWT_HIDDEN) + \
   KWT_MATRIX_BYTES(dtype, KWT_HIDDEN, KWT_DIM) + KWT_LINES((6 * KWT_DIM + KWT_HIDDEN) * sizeof(float)))
#define KWT_WEIGHTS_BYTES(dtype)                                                                                       \
  (sizeof(kwt_header) + KWT_LINES(KWT_FRAME * sizeof(float)) +                                                         \
   4 * KWT_MATRIX_BYTES(KWT_SOUND_FORMAT(dtype), KWT_FOLD, KWT_HALF_BINS) +                                            \
   KWT_MATRIX_BYTES(KWT_SOUND_FORMAT(dtype), KWT_N_BINS, KWT_N_MEL) + KWT_MATRIX_BYTES(HEED_F32, KWT_N_MEL, KWT_DIM) + \
   KWT_LINES(KWT_N_TOKENS * KWT_DIM * sizeof(float)) + KWT_N_BLOCKS * KWT_BLOCK_BYTES(dtype) +                         \
   KWT_MATRIX_BYTES(HEED_F32, KWT_DIM, KWT_N_LABELS) + KWT_LINES(KWT_N_LABELS * sizeof(float)))

#endif
