/* KWT-1's weights as one flat file, read where it lies: flash, external RAM or a mapped file.
 * SPDX-License-Identifier: MIT
 *
 * The file is the struct kwt_weights below, byte for byte: 32-bit words, little endian, no padding but the members
 * named so. Every member is a multiple of 64 bytes long, so that all of them are aligned to cache lines when the file
 * is. A processor of the other byte order finds the magic number wrong and refuses it. Matrices are (in, out), as
 * heed_linear wants them. kwt_weights IN.tflite OUT.bin writes it.
 */
#ifndef HEED_KWT_WEIGHTS_H
#define HEED_KWT_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

/* The network's sizes. Nothing but this file knows a number of KWT-1. */
enum {
  KWT_N_SAMPLES = 16000, /* 1 s at 16 kHz */
  KWT_FRAME = 480,       /* samples of a frame: 30 ms */
  KWT_STEP = 160,        /* from one frame to the next: 10 ms */
  KWT_N_FRAMES = 98,
  KWT_N_BINS = 244, /* of the discrete Fourier transform */
  KWT_N_MEL = 80,
  KWT_N_FEATURES = 40,
  KWT_N_TOKENS = 99, /* the class token and one per frame */
  KWT_DIM = 64,
  KWT_HIDDEN = 256,
  KWT_N_BLOCKS = 12,
  KWT_N_LABELS = 12
};

#define KWT_FILE_MAGIC_0 UINT32_C(0x44454548) /* "HEED" */
#define KWT_FILE_MAGIC_1 UINT32_C(0x3154574b) /* "KWT1" */
#define KWT_FILE_VERSION UINT32_C(1)

/* 64 bytes. */
typedef struct kwt_weights_header {
  uint32_t magic[2];
  uint32_t version;
  uint32_t n_bytes;  /* of the whole file */
  uint32_t checksum; /* of every word after the header: kwt_weights_checksum in kwt.h */
  uint32_t n_samples, n_bins, n_mel, n_features, dim, hidden, n_blocks, n_labels;
  float log_floor;    /* log(max(mel, log_floor)) */
  float norm_epsilon; /* added to the variance in every LayerNorm */
  uint32_t reserved;  /* 0 */
} kwt_weights_header;

/* One encoder block. */
typedef struct kwt_block_weights {
  float wq[KWT_DIM][KWT_DIM], wk[KWT_DIM][KWT_DIM], wv[KWT_DIM][KWT_DIM];
  float wo[KWT_DIM][KWT_DIM], bo[KWT_DIM];
  float gamma_1[KWT_DIM], beta_1[KWT_DIM];
  float w1[KWT_DIM][KWT_HIDDEN], b1[KWT_HIDDEN];
  float w2[KWT_HIDDEN][KWT_DIM], b2[KWT_DIM];
  float gamma_2[KWT_DIM], beta_2[KWT_DIM];
} kwt_block_weights;

typedef struct kwt_weights {
  kwt_weights_header header;
  float window[KWT_FRAME];
  float dft[KWT_FRAME][2 * KWT_N_BINS]; /* real parts in the first 244 columns, imaginary ones in the others */
  float mel[KWT_N_BINS][KWT_N_MEL];
  float dct[KWT_N_MEL][KWT_N_FEATURES];
  float mean[KWT_N_FEATURES], mean_padding[8];
  float factor[KWT_N_FEATURES], factor_padding[8];
  float w_embedding[KWT_N_FEATURES][KWT_DIM], b_embedding[KWT_DIM];
  float class_token[KWT_DIM];
  float position[KWT_N_TOKENS][KWT_DIM];
  kwt_block_weights blocks[KWT_N_BLOCKS];
  float w_label[KWT_DIM][KWT_N_LABELS], b_label[KWT_N_LABELS], b_label_padding[4];
} kwt_weights;

#endif
