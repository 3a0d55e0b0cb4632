// Layers in integers as the flat file of int_model.h, and a flat file as an array of C. For the host.
// SPDX-License-Identifier: MIT
#ifndef HEED_CALIBRATE_MODEL_FILE_HPP
#define HEED_CALIBRATE_MODEL_FILE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate.hpp"
#include "int_model.h"

namespace calibrate {

// Bytes that grow: arrays, each padded to a multiple of `alignment`, in this computer's byte order.
class flat_bytes {
 public:
  void put(const void *data, size_t n_bytes, size_t alignment = 16);
  const std::vector<uint8_t> &bytes() const { return bytes_; }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

// Layers that follow each other and have the same sizes, less than 4 GB together, and no rotary embedding, else std::invalid_argument.
std::vector<uint8_t> model_file(const std::vector<int_layer> &layers);

// A name of C and C++ for the array of a file.
bool is_c_name(const std::string &name);
// The file as a C header: const uint32_t name[], aligned to 64 bytes, for little-endian processors. Another name than one of C
// gives std::invalid_argument.
std::string c_array(const std::string &name, const std::vector<uint8_t> &bytes);

}  // namespace calibrate

#endif
