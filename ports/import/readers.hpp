// Readers of files of models. They refer to the file's bytes, which must outlive the tensors, and throw refusal: a
// damaged file does no harm. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_READERS_HPP
#define HEED_IMPORT_READERS_HPP

#include "tensor.hpp"

namespace heed_import {

// The initializers of a model and what its Constant nodes hold, of all its graphs. The nodes that read a matrix say whether it
// is HEED_IN_OUT; else it is HEED_OUT_IN, or tensor::unsure says what is not known. X_quantized with X_scale and X_zero_point, or
// what a DequantizeLinear or a quantised product reads, is one tensor X.
std::vector<tensor> read_onnx(span file);
// With what lies in files of its own, beside the model at this path or in folders there. `others` gets their paths.
std::vector<tensor> read_onnx_beside(span file, const std::string &path, std::vector<std::string> &others);

// f32, f16, bf16, Q8_0, Q4_0, the blocks of ggml_blocks.hpp, and metadata. ggml states the innermost dimension first: shapes are reversed.
std::vector<tensor> read_gguf(span file);

// f64, f32, f16, bf16; u8 and i8 with a scale of 1.
std::vector<tensor> read_safetensors(span file);
std::vector<tensor> read_npy(span file, const std::string &name);
// Whole numbers of any size, such as tokens, and the shape in which they lie.
std::vector<int64_t> read_npy_integers(span file, std::vector<uint64_t> &dims);

// The constants of the first graph of TensorFlow Lite: f64, f32, f16; u8 and i8 with scales and zero points. Matrices are (out, in), as
// FULLY_CONNECTED has them, unless their scales lie along the last dimension.
std::vector<tensor> read_tflite(span file);

// A receipt, for heed_golden_begin: its text as the bytes of a tensor golden.fma, golden.no-fma or golden.integers.
std::vector<tensor> read_receipt(span file);

// One of these, by what the file begins with or how its name ends. `others` gets the paths of the files that it names and
// that were read, too; null: nobody asks.
std::vector<tensor> read_model(span file, const std::string &path, std::vector<std::string> *others = nullptr);

}  // namespace heed_import

#endif
