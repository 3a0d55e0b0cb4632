// From the numbers of a source to those of heed. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_CONVERT_HPP
#define HEED_IMPORT_CONVERT_HPP

#include "tensor.hpp"

namespace heed_import {

// What a tensor shall become. format: from HEED_F32 to HEED_Q4_0, or keep; HEED_UINT8 packed.
enum { keep_format = -1 };
struct wish {
  int32_t dtype = keep_format;
  bool packed = false;
};

// "keep", "f32", "f16", "bf16", "int8", "q8_0", "q4_0", or one of these behind "packed-"; "int4" is q4_0;
// "packed-u8" keeps zero points.
wish wish_of(const std::string &text);

// The numbers as floats, in the order in which they lie.
std::vector<float> floats_of(const tensor &t);

// Numbers that already have the format stay as they are. Blocks become HEED_OUT_IN. Throws refusal with the tensor's name.
void convert(tensor &t, wish w);

// The other layout of the same weights: (n_out, n_in) or (n_in, n_out). Not for blocks.
void transpose(tensor &t);

}  // namespace heed_import

#endif
