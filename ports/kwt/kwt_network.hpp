// KWT-1 as its published file holds it, and from that the flat file of kwt_weights.h. For the host.
// SPDX-License-Identifier: MIT
#ifndef HEED_KWT_KWT_NETWORK_HPP
#define HEED_KWT_KWT_NETWORK_HPP

#include <cstdint>
#include <memory>
#include <vector>

#include "kwt_weights.h"

namespace network {

constexpr int n_features = 40;  // of the cosine transform, which the flat file has multiplied with what follows

struct block {
  float wq[KWT_DIM][KWT_DIM], wk[KWT_DIM][KWT_DIM], wv[KWT_DIM][KWT_DIM];
  float wo[KWT_DIM][KWT_DIM], bo[KWT_DIM];
  float gamma_1[KWT_DIM], beta_1[KWT_DIM];
  float w1[KWT_DIM][KWT_HIDDEN], b1[KWT_HIDDEN];
  float w2[KWT_HIDDEN][KWT_DIM], b2[KWT_DIM];
  float gamma_2[KWT_DIM], beta_2[KWT_DIM];
};

// Matrices are (in, out).
struct kwt1 {
  float window[KWT_FRAME];
  float dft[KWT_FRAME][2 * KWT_N_BINS];  // cosines in the first 244 columns, sines in the others
  float mel[KWT_N_BINS][KWT_N_MEL];
  float log_floor;
  float dct[KWT_N_MEL][n_features];
  float mean[n_features], factor[n_features];
  float w_embedding[n_features][KWT_DIM], b_embedding[KWT_DIM];
  float class_token[KWT_DIM];
  float position[KWT_N_TOKENS][KWT_DIM];
  block blocks[KWT_N_BLOCKS];
  float norm_epsilon;
  float w_label[KWT_DIM][KWT_N_LABELS], b_label[KWT_N_LABELS];
};

// The published file, or another with tensors of its names and shapes. Throws std::runtime_error that names the tensor which is not
// as KWT-1 has it.
std::unique_ptr<kwt1> read_kwt(const uint8_t *file, size_t n_bytes);

// Where in a folded frame of kwt_fold the factor of sample n and a bin stands, and its sign; 0: the factor is zero.
struct folded {
  int row, sign;
};
folded fold_of(int n, int bin, bool is_sine);

// The flat file in HEED_F32 or HEED_INT8, words in this computer's byte order. Throws std::runtime_error where the
// transform is not one of 512 that can be folded.
std::vector<uint32_t> flat_file(const kwt1 &net, int32_t dtype);

}  // namespace network

#endif
