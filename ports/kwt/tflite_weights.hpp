// The published model file of KWT-1. For the host. SPDX-License-Identifier: MIT
#ifndef HEED_TFLITE_WEIGHTS_HPP
#define HEED_TFLITE_WEIGHTS_HPP

#include <cstddef>
#include <cstdint>

#include "network.hpp"

namespace tflite {

// Fills net from a float32 TensorFlow Lite file of KWT-1. Every matrix is found by following the operators back
// from the output, and every constant of the network (scale of the scores, GELU, axes, strides) is checked on the way,
// so that a model of another structure is refused, not misread. Throws tflite::format_error, a std::runtime_error, with
// a sentence that says what is wrong; net is then unspecified.
void read_kwt(const uint8_t *file, size_t n_bytes, network::kwt1 &net);

}  // namespace tflite

#endif
