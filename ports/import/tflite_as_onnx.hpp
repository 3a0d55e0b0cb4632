// A graph of TensorFlow Lite, in the terms of ONNX. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_TFLITE_AS_ONNX_HPP
#define HEED_IMPORT_TFLITE_AS_ONNX_HPP

#include "onnx_graphs.hpp"

namespace heed_import {

// What the file begins with says so.
bool is_tflite(span file);

// Graphs of floats. The tensors refer to the file. Throws refusal, which names the operator or the tensor.
onnx_graphs read_tflite_graphs(span file);

}  // namespace heed_import

#endif
