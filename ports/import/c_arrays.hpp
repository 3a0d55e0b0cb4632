// Weights as arrays in C, and the code that takes them from a flat file. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_C_ARRAYS_HPP
#define HEED_IMPORT_C_ARRAYS_HPP

#include "tensor.hpp"

namespace heed_import {

struct c_files {
  std::string header, source;
};

// NAME.h and NAME.c: each tensor is an array NAME_tensor. A matrix also has a function in the header that returns it as
// heed_weights. NAME is an identifier of names.hpp, and names of tensors become such.
c_files c_arrays(const std::string &name, const std::vector<tensor> &tensors);

// NAME.h for a flat file: a struct with all tensors, and the function that opens a file and fills it in.
std::string open_code(const std::string &name, const std::vector<tensor> &tensors);

}  // namespace heed_import

#endif
