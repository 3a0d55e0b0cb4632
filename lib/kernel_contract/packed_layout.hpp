// Weights whose numbers lie in the order in which products read them (heed_weights_pack), and weights in blocks of 32
// inputs with a scale each (Q8_0 and Q4_0, as GGUF files hold them).
//
// Packed weights are panels of 64 outputs, one after another; the last panel has 16, 32, 48 or 64. In a panel of `width`
// outputs, all numbers little-endian:
//   f32, f16, bf16   [n_in][width] numbers
//   int8             [width] scales, floats; then [n_in / 4][width] words of 4 inputs
//   uint8            [width] scales, floats; [width] zero points, each twice as int16; then words as those of int8:
//                    numbers and zero points of uint8 are 128 less
//   Q8_0             for each 32 inputs: [width] scales, f16; then [8][width] words of 4 inputs
//   Q4_0             for each 32 inputs: [width] scales, f16; then [4][width] words of 8 inputs
// Byte k of a word is input k. In Q4_0 its low half is input k and its high half input k + 4, each 8 more than the
// number. What is beyond n_in or n_out is 0. So one word of each of 16 outputs is what integer products of four take.
#ifndef HEED_PACKED_HPP
#define HEED_PACKED_HPP

#include "numbers.hpp"

namespace heed {

constexpr int32_t stored_q8_0 = 4, stored_q4_0 = 5, stored_uint8 = 7;  // heed_dtype
constexpr int32_t panel_outputs = 64, panel_step = 16, block_inputs = 32;
constexpr int32_t q8_0_bytes = 34, q4_0_bytes = 18;  // of a block: its scale, its numbers

// Bytes of a block of inputs with its scale.
HEED_INLINE constexpr ptrdiff_t block_bytes_of(int32_t dtype) { return dtype == stored_q4_0 ? q4_0_bytes : q8_0_bytes; }
HEED_INLINE constexpr int32_t rounded_up(int32_t n, int32_t step) { return (n + step - 1) / step * step; }
// Outputs of the panel that begins at output `first`.
HEED_INLINE constexpr int32_t panel_width(int32_t n_out, int32_t first) {
  return n_out - first < panel_outputs ? rounded_up(n_out - first, panel_step) : panel_outputs;
}
// Bytes that packed weights take for each output, scales among them: in 64 bits, which hold those of any n_in.
HEED_INLINE constexpr uint64_t packed_output_bytes(int32_t dtype, uint64_t n_in) {
  const uint64_t blocks = (n_in + block_inputs - 1) / block_inputs;
  switch (dtype) {
    case stored_f32:
      return 4 * n_in;
    case stored_int8:
      return 4 + (n_in + 3) / 4 * 4;
    case stored_uint8:
      return 8 + (n_in + 3) / 4 * 4;
    case stored_q8_0:
      return q8_0_bytes * blocks;
    case stored_q4_0:
      return q4_0_bytes * blocks;
    default:
      return 2 * n_in;
  }
}

// int8, and what is like it: a scale for each output. Before its words lie scales, and zero points, of 4 bytes.
HEED_INLINE constexpr bool has_output_scales(int32_t dtype) { return dtype == stored_int8 || dtype == stored_uint8; }
HEED_INLINE constexpr ptrdiff_t words_of_scales(int32_t dtype) { return dtype == stored_uint8 ? 2 : 1; }

// One panel of int8, uint8, Q8_0 or Q4_0. Those of other formats are stored_weights whose stride is the width.
struct packed_panel {
  const unsigned char *data;
  int32_t dtype, width;
};
using panel_step_function = void (*)(const linear_block &b, const packed_panel &w);

struct packed_steps {
  panel_step_function panel;  // y = bias + x w; columns of b are the first n_cols outputs of the panel
  project_step blocks;        // the same with Q8_0 and Q4_0 as they lie in a file: out_in, stride in numbers
  project_step bytes;         // the same with int8 or uint8 with zero points
};

// One number and its scale, by bytes, so that they are the same on a processor of either byte order.
HEED_INLINE float half_at(const unsigned char *p) {
  return widen(f16{static_cast<uint16_t>(p[0] | static_cast<uint32_t>(p[1]) << 8)});
}
HEED_INLINE int32_t nibble_at(const unsigned char *p, bool high) { return (high ? *p >> 4 : *p & 15) - 8; }

struct scaled_number {
  int32_t number;
  float scale;  // of int8: for each output; else for each block
};
static inline scaled_number packed_number(const packed_panel &w, int32_t i, int32_t n) {
  const ptrdiff_t width = w.width;
  if (has_output_scales(w.dtype)) {
    const unsigned char *scale = w.data + 4 * n,
                        *word = w.data + (words_of_scales(w.dtype) * width + i / 4 * width + n) * 4;
    const int32_t zero = w.dtype == stored_uint8 ? static_cast<int8_t>(scale[4 * width]) : 0;
    const uint32_t bits = scale[0] | static_cast<uint32_t>(scale[1]) << 8 | static_cast<uint32_t>(scale[2]) << 16 |
                          static_cast<uint32_t>(scale[3]) << 24;
    return {static_cast<int8_t>(word[i % 4]) - zero, float_of_bits(bits)};
  }
  const bool bytes = w.dtype == stored_q8_0;
  const unsigned char *block = w.data + i / block_inputs * width * block_bytes_of(w.dtype);
  const float scale = half_at(block + 2 * n);
  const int32_t k = i % block_inputs;
  block += 2 * width;
  if (bytes) return {static_cast<int8_t>(block[(k / 4 * width + n) * 4 + k % 4]), scale};
  return {nibble_at(block + (k / 8 * width + n) * 4 + k % 4, k % 8 >= 4), scale};
}
// The same of a block in a file: a scale, then 32 bytes; or 16, whose low halves are the first 16 inputs.
static inline scaled_number block_number(const stored_weights &w, int32_t i, int32_t n) {
  const bool bytes = w.dtype == stored_q8_0;
  const auto *block =
      static_cast<const unsigned char *>(w.data) + (n * w.stride + i) / block_inputs * block_bytes_of(w.dtype);
  const int32_t k = i % block_inputs;
  if (bytes) return {static_cast<int8_t>(block[2 + k]), half_at(block)};
  return {nibble_at(block + 2 + k % 16, k >= 16), half_at(block)};
}

}  // namespace heed

#endif
