// Numbers of ONNX's tensors, in the file of the model or in files beside it. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_ONNX_TENSORS_HPP
#define HEED_IMPORT_ONNX_TENSORS_HPP

#include "onnx_graphs.hpp"

namespace heed_import {

class file_bytes;

// Files of external data, which lie in the folder of the model or below it.
class onnx_files {
 public:
  explicit onnx_files(const std::string &model_path) : model_path_(model_path) {}
  // The numbers of a tensor that is `elsewhere`, of which its shape needs n_bytes. `keeper` keeps the file. Throws refusal.
  span numbers_of(const onnx_tensor &p, uint64_t n_bytes, std::shared_ptr<const uint8_t> &keeper);
  // Those that were read.
  std::vector<std::string> paths() const;

 private:
  std::string model_path_;
  std::map<std::string, std::shared_ptr<const file_bytes>> files_;
};

// Whether a path of a model's file leads below its folder on every system: no drive, no root, no step up.
bool is_below_folder(const std::string &location);

// TensorProto.DataType of integers other than bytes.
bool is_onnx_integer(int32_t type);

// As a tensor of floats or bytes, or one that is left out or refused. files: null, if the model's path is not known. Throws
// refusal if its numbers do not fit its shape, or are not where they should be.
tensor tensor_of_onnx(onnx_tensor &&p, onnx_files *files);

}  // namespace heed_import

#endif
