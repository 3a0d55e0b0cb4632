// See tensor.hpp. SPDX-License-Identifier: MIT
#include "tensor.hpp"

namespace heed_import {

void set_shape(tensor &t, const std::vector<uint64_t> &dims) {
  uint64_t n = 1;
  for (const uint64_t dim : dims) {
    if (dim == 0 || dim > INT32_MAX) refuse(t.name, "a dimension is 0 or does not fit in 31 bits");
    n *= dim;  // below 2^62
    if (n > INT32_MAX) refuse(t.name, "has 2^31 numbers or more");
  }
  if (dims.size() > HEED_FILE_MAX_DIMS) {
    t.refused = "has " + std::to_string(dims.size()) + " dimensions, at most 4 fit";
    return;
  }
  t.dims.assign(dims.begin(), dims.end());
}

std::string format_name(int32_t format) {
  switch (format) {
    case HEED_F32:
      return "f32";
    case HEED_F16:
      return "f16";
    case HEED_BF16:
      return "bf16";
    case HEED_INT8:
      return "int8";
    case HEED_Q8_0:
      return "q8_0";
    case HEED_Q4_0:
      return "q4_0";
    case HEED_UINT8:  // packed
    case HEED_FILE_U8:
      return "u8";
    case HEED_FILE_I8:
      return "i8";
    case HEED_FILE_U8_PLUS:
      return "u8+";
    case HEED_FILE_I8_PLUS:
      return "i8+";
    default:
      return "f64";
  }
}

std::string shape_text(const tensor &t) {
  std::string text;
  for (const uint32_t dim : t.dims) text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text.empty() ? "1" : text;
}

uint64_t bytes_of(const tensor &t) {
  if (t.format == HEED_Q8_0) return t.count() / 32 * 34;
  if (t.format == HEED_Q4_0) return t.count() / 32 * 18;
  return t.count() * static_cast<uint64_t>(number_bytes(t.format));
}

int number_bytes(int32_t format) {
  switch (format) {
    case format_f64:
      return 8;
    case HEED_F32:
      return 4;
    case HEED_F16:
    case HEED_BF16:
      return 2;
    default:
      return 1;
  }
}

}  // namespace heed_import
