// Operations of ONNX that multiply by weights. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_ONNX_PRODUCTS_HPP
#define HEED_IMPORT_ONNX_PRODUCTS_HPP

#include "onnx_graphs.hpp"

namespace heed_import {

// Along which dimension the outputs of an operand of a product lie.
enum class onnx_side {
  none,     // no product
  last,     // of a right operand
  rows,     // of a left operand: the last but one
  first,    // of a convolution, or the rows of an embedding
  axis,     // of the attribute
  right,    // of Gemm: transB tells
  left,     // of Gemm: transA tells
  second,   // behind the directions of a recurrent layer, or the inputs of a transposed convolution
  unknown,  // of an operation that is not known here
  packed    // of one that packs integers in its own way
};

struct onnx_product {
  onnx_side side = onnx_side::none;
  int scale = -1, zero = -1;  // which inputs they are
};

// Input `input` of a node.
onnx_product onnx_product_of(const onnx_node &n, size_t input);

}  // namespace heed_import

#endif
