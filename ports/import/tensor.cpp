// See tensor.hpp. SPDX-License-Identifier: MIT
#include "tensor.hpp"

#include "ggml_blocks.hpp"

namespace heed_import {

void set_shape(tensor &t, const std::vector<uint64_t> &dims) {
  uint64_t n = 1;
  for (const uint64_t dim : dims) {
    if (dim == 0) t.left_out = "has no numbers";
    if (dim > INT32_MAX || n > INT32_MAX) t.refused = "has 2^31 numbers or more";
    n *= dim < INT32_MAX ? dim : INT32_MAX;  // below 2^62
  }
  if (n > INT32_MAX) t.refused = "has 2^31 numbers or more";
  if (dims.size() > HEED_FILE_MAX_DIMS) t.refused = "has " + std::to_string(dims.size()) + " dimensions, at most 4 fit";
  if (!t.left_out.empty()) t.refused.clear();
  if (is_usable(t)) t.dims.assign(dims.begin(), dims.end());
}

void expect_consistent(const tensor &t) {
  const bool is_packed = t.layout == HEED_PACKED, has_zeros = t.dtype >= HEED_FILE_U8 && t.dtype <= HEED_FILE_I8_PLUS;
  const bool is_scaled = has_zeros || (t.dtype == HEED_INT8 && !is_packed);
  const size_t n_scales = t.scales.size(), n_zeros = t.zeros.size() + t.float_zeros.size();
  const bool one_is_enough = has_zeros && n_scales == 1;
  if (!is_packed && t.numbers().size != bytes_of(t)) refuse(t.name, "has more or fewer bytes than its shape says");
  if (!one_is_enough && n_scales != (is_scaled ? t.n_out() : 0)) {
    refuse(t.name, "has " + std::to_string(n_scales) + " scales for " + std::to_string(t.n_out()) + " outputs");
  }
  if (n_zeros != (has_zeros ? n_scales : 0)) refuse(t.name, "has more or fewer zero points than scales");
}

std::string format_name(int32_t dtype) {
  switch (dtype) {
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
    case HEED_FILE_TEXT:
      return "text";
    case HEED_FILE_LIST:
      return "list";
    case HEED_FILE_I32:
      return "i32";
    case HEED_FILE_I16:
      return "i16";
    case format_f64:
      return "f64";
    default:
      return ggml_block_of(dtype)->name;
  }
}

std::string shape_text(const tensor &t) {
  std::string text;
  for (const uint32_t dim : t.dims) text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text.empty() ? "1" : text;
}

uint64_t bytes_of(const tensor &t) {
  if (t.dtype == HEED_Q8_0) return t.count() / 32 * 34;
  if (t.dtype == HEED_Q4_0) return t.count() / 32 * 18;
  if (const ggml_block *const b = ggml_block_of(t.dtype)) return t.count() / b->numbers * b->bytes;
  return t.count() * static_cast<uint64_t>(number_bytes(t.dtype));
}

int32_t block_numbers(int32_t dtype) {
  if (dtype == HEED_Q8_0 || dtype == HEED_Q4_0) return 32;
  const ggml_block *const b = ggml_block_of(dtype);
  return b == nullptr ? 1 : static_cast<int32_t>(b->numbers);
}

int number_bytes(int32_t dtype) {
  switch (dtype) {
    case format_f64:
      return 8;
    case HEED_F32:
    case HEED_FILE_I32:
      return 4;
    case HEED_F16:
    case HEED_BF16:
    case HEED_FILE_I16:
      return 2;
    default:
      return 1;
  }
}

}  // namespace heed_import
