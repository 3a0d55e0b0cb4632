// See onnx_tensors.hpp. SPDX-License-Identifier: MIT
#include "onnx_tensors.hpp"

#include <algorithm>

#include "file_bytes.hpp"

namespace heed_import {
namespace {

int32_t format_of(int32_t type) {
  switch (type) {
    case onnx_float:
      return HEED_F32;
    case onnx_double:
      return format_f64;
    case onnx_float16:
      return HEED_F16;
    case onnx_bfloat16:
      return HEED_BF16;
    case onnx_uint8:
      return HEED_FILE_U8;
    case onnx_int8:
      return HEED_FILE_I8;
    default:
      return -1;
  }
}

// A count of bytes, as text.
uint64_t count_at(const onnx_tensor &p, const std::string &key, uint64_t otherwise) {
  const auto found = p.place.find(key);
  if (found == p.place.end()) return otherwise;
  const std::string &digits = found->second;
  const bool is_number = !digits.empty() && digits.size() <= 18 &&
                         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) refuse(p.name, "the " + key + " of its external data is no number of bytes: " + digits);
  return std::stoull(digits);
}

}  // namespace

bool is_below_folder(const std::string &location) {
  if (location.empty() || location[0] == '/' || location.find('\0') != std::string::npos) return false;
  if (location.find('\\') != std::string::npos || location.find(':') != std::string::npos) return false;
  for (const std::filesystem::path &part : std::filesystem::u8path(location))
    if (part == "..") return false;
  return true;
}

bool is_onnx_integer(int32_t type) { return (type >= 4 && type <= 7) || type == 9 || type == 12 || type == 13; }

span onnx_files::numbers_of(const onnx_tensor &p, uint64_t n_bytes, std::shared_ptr<const uint8_t> &keeper) {
  const auto found = p.place.find("location");
  if (found == p.place.end()) refuse(p.name, "its external data has no location");
  const std::string &location = found->second;
  if (!is_below_folder(location))
    refuse(p.name, "its external data lies at " + location + ", which is not in the folder of the model");
  const uint64_t offset = count_at(p, "offset", 0), length = count_at(p, "length", n_bytes);
  std::shared_ptr<const file_bytes> &file = files_[location];
  const std::string path =
      (std::filesystem::u8path(model_path_).parent_path() / std::filesystem::u8path(location)).u8string();
  if (file == nullptr) {
    try {
      file = std::make_shared<file_bytes>(path);
    } catch (const refusal &error) {
      refuse(p.name, "its numbers lie in " + path + ", which " + error.what());
    }
  }
  const span all = file->all();
  if (length != n_bytes)
    refuse(p.name,
           "its external data has " + std::to_string(length) + " bytes, its shape needs " + std::to_string(n_bytes));
  if (offset > all.size || length > all.size - offset)
    refuse(p.name,
           "its external data lies beyond the end of " + path + ", which has " + std::to_string(all.size) + " bytes");
  keeper = std::shared_ptr<const uint8_t>(file, all.data + offset);
  return {all.data + offset, static_cast<size_t>(length)};
}

std::vector<std::string> onnx_files::paths() const {
  std::vector<std::string> all;
  for (const auto &[location, file] : files_)
    all.push_back((std::filesystem::u8path(model_path_).parent_path() / std::filesystem::u8path(location)).u8string());
  return all;
}

tensor tensor_of_onnx(onnx_tensor &&p, onnx_files *files) {
  tensor t;
  t.name = p.name;
  const int32_t dtype = format_of(p.type);
  if (is_onnx_integer(p.type)) {
    t.left_out = "is of integers";
  } else if (dtype < 0) {
    t.refused = "is of ONNX's type " + std::to_string(p.type) + ", which heed has not";
  } else if (p.sparse) {
    t.refused = "is sparse, which heed has not";
  } else if (p.elsewhere && files == nullptr) {
    t.refused = "lies in a file of its own, and the folder of the model is not known";
  } else {
    set_shape(t, p.dims);
  }
  if (!is_usable(t)) return t;
  t.dtype = dtype;
  if (p.elsewhere) {
    std::shared_ptr<const uint8_t> keeper;
    const span numbers = files->numbers_of(p, bytes_of(t), keeper);
    t.keep(std::move(keeper), numbers.size);
  } else if (p.raw.size != 0) {
    t.refer(p.raw);
  } else if (!p.integers.empty()) {
    bytes numbers;
    for (const uint64_t i : p.integers) put(numbers, i, number_bytes(dtype));
    t.own(std::move(numbers));
  } else {
    t.own(std::move(p.floats));
  }
  if (t.numbers().size != bytes_of(t)) refuse(p.name, "has more or fewer numbers than its shape says");
  if (dtype == HEED_FILE_U8 || dtype == HEED_FILE_I8) t.scales = {1}, t.zeros = {0};
  return t;
}

}  // namespace heed_import
