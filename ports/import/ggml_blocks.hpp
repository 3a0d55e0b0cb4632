// Numbers in blocks as ggml stores them, where heed has no such format. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_GGML_BLOCKS_HPP
#define HEED_IMPORT_GGML_BLOCKS_HPP

#include <cstddef>
#include <cstdint>

namespace heed_import {

// Formats of a source alone: format_ggml plus ggml's number of the type.
enum { format_ggml = 200 };

struct ggml_block {
  int32_t type;
  const char *name;
  size_t numbers, bytes;  // of a block
  // The block's numbers with the roundings of ggml's own dequantize_row functions.
  void (*to_floats)(const uint8_t *block, float *numbers);
};

// Null: a format of heed's, or one that is not read.
const ggml_block *ggml_block_of(int32_t dtype);

}  // namespace heed_import

#endif
