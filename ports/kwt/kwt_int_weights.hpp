// KWT-1 in integers, from its published floats and recorded clips: the flat file of kwt_int.h. For the host.
// SPDX-License-Identifier: MIT
#ifndef HEED_KWT_INT_WEIGHTS_HPP
#define HEED_KWT_INT_WEIGHTS_HPP

#include <cstdint>
#include <vector>

#include "calibrate.hpp"
#include "kwt_int.h"
#include "kwt_network.hpp"

namespace network {

using clip = std::vector<int16_t>;  // KWT_N_SAMPLES

// The layers of net for calibrate::layer. They point into net and into this object.
class float_layers {
 public:
  explicit float_layers(const kwt1 &net);
  float_layers(const float_layers &) = delete;
  std::vector<heed_transformer_layer> layers;

 private:
  std::vector<heed_attention_layer> attentions_;
};

// Tokens (99, 64) of a clip: in floats, after the logs in integers.
std::vector<float> tokens_of(const kwt1 &net, const clip &samples);

// What calibration found: the file, and each layer with its ranges.
struct kwt_in_integers {
  std::vector<uint8_t> file;
  std::vector<calibrate::layer> floats;
  std::vector<calibrate::int_layer> integers;
};
// Scales come from the clips. Throws std::runtime_error where the sound's weights are not what integers can have.
kwt_in_integers to_integers(const kwt1 &net, const std::vector<clip> &clips, const calibrate::choice &choice = {});

}  // namespace network

#endif
