// A graph model of TensorFlow.js, in the terms of ONNX. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_TFJS_AS_ONNX_HPP
#define HEED_IMPORT_TFJS_AS_ONNX_HPP

#include "onnx_graphs.hpp"

namespace heed_import {

struct tfjs_graphs {
  onnx_graphs graphs;
  std::shared_ptr<const bytes> numbers;  // that the tensors refer to
  std::vector<std::string> paths;        // of the shards
  std::string note;                      // what the user should know of the inputs; or empty
  int32_t filling = 0;                   // what stands behind the last token of a short text
};

// Places of a sparse tensor (SparseToDense) that are an input become constants: those of one text, (0, 0), (0, 1) and so on, as many as
// it has values. Throws refusal, which names the node.
tfjs_graphs read_tfjs_graphs(span json, const std::string &path);

}  // namespace heed_import

#endif
