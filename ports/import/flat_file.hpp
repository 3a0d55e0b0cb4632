// Writes the flat file that heed_file.h describes, and reads it. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_FLAT_FILE_HPP
#define HEED_IMPORT_FLAT_FILE_HPP

#include "tensor.hpp"

namespace heed_import {

bytes flat_file(const std::vector<tensor> &tensors);

// Throws refusal. The bytes are aligned to 64, and outlive the tensors.
std::vector<tensor> read_flat_file(span file);

// Throws refusal unless heed_file.h reads these tensors in the file, number by number, and opens them as weights.
void expect_written(span file, const std::vector<tensor> &tensors);

}  // namespace heed_import

#endif
