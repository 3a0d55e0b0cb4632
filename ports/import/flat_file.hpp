// Writes the flat file that heed_file.h describes, and reads it. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_FLAT_FILE_HPP
#define HEED_IMPORT_FLAT_FILE_HPP

#include <functional>

#include "tensor.hpp"

namespace heed_import {

// Writes a file tensor by tensor, so that one of them at a time is in memory.
class flat_file_writer {
 public:
  // Takes n bytes for place `at` of the file. Places come in their order, but for those that finish() writes.
  using sink = std::function<void(size_t at, const void *data, size_t n)>;

  // names: of all tensors, in their order.
  flat_file_writer(sink to, const std::vector<std::string> &names);
  void add(const tensor &t);
  // Writes header and entries. Returns the bytes of the file. More tensors may follow, and finish() again.
  size_t finish();

 private:
  void write(const void *data, size_t n);
  void align();
  size_t append(const void *data, size_t n, uint32_t &sum);

  sink to_;
  bytes front_;  // header, entries and names
  std::vector<std::string> names_;
  size_t n_bytes_ = 0, n_tensors_ = 0;
};

// A whole file in memory.
bytes flat_file(const std::vector<tensor> &tensors);

// The file as this processor reads it: `memory` holds a copy if that has another byte order.
span in_own_order(span file, bytes &memory);

// Throws refusal. The bytes are aligned to 64, and outlive the tensors.
std::vector<tensor> read_flat_file(span file);

// Throws refusal unless heed_file.h reads these tensors in the file, number by number, and opens them as weights.
void expect_written(span file, const std::vector<tensor> &tensors);

// The same of tensors whose numbers are no longer in memory: the sums that were made of them tell.
void expect_whole(span file, const std::vector<tensor> &tensors);

}  // namespace heed_import

#endif
