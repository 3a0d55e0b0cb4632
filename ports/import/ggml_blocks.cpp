// See ggml_blocks.hpp. The formats: github.com/ggml-org/ggml, src/ggml-common.h and src/ggml-quants.c. Each product and sum is rounded
// to f32 by itself, as there. SPDX-License-Identifier: MIT
#include "ggml_blocks.hpp"

#include "tensor.hpp"

namespace heed_import {
namespace {

float half_at(const uint8_t *p) {
  const uint16_t half = static_cast<uint16_t>(number_at(p, 2));
  float number = 0;
  heed_convert_to_f32(heed_typed_matrix_of(&half, nullptr, HEED_F16, 1, 1), heed_matrix_out_of(&number, 1, 1));
  return number;
}
float f(int number) { return static_cast<float>(number); }
int low(uint8_t byte) { return byte & 15; }
int high(uint8_t byte) { return byte >> 4; }

// -------------------------------------------------------------------------------------------------- blocks of 32 numbers
// The low halves of 16 bytes are the first 16 numbers, the high halves the others.

void q4_1(const uint8_t *block, float *y) {  // scale, least number
  const float d = half_at(block), m = half_at(block + 2);
  for (int i = 0; i < 16; ++i) {
    y[i] = f(low(block[4 + i])) * d + m;
    y[i + 16] = f(high(block[4 + i])) * d + m;
  }
}

// The fifth bit of each number is a bit of a word of 32.
int with_fifth_bit(int number, uint64_t bits, int i) { return number | static_cast<int>(bits >> i & 1) << 4; }

void q5_0(const uint8_t *block, float *y) {  // scale, fifth bits
  const float d = half_at(block);
  const uint64_t bits = number_at(block + 2, 4);
  for (int i = 0; i < 16; ++i) {
    y[i] = f(with_fifth_bit(low(block[6 + i]), bits, i) - 16) * d;
    y[i + 16] = f(with_fifth_bit(high(block[6 + i]), bits, i + 16) - 16) * d;
  }
}
void q5_1(const uint8_t *block, float *y) {  // scale, least number, fifth bits
  const float d = half_at(block), m = half_at(block + 2);
  const uint64_t bits = number_at(block + 4, 4);
  for (int i = 0; i < 16; ++i) {
    y[i] = f(with_fifth_bit(low(block[8 + i]), bits, i)) * d + m;
    y[i + 16] = f(with_fifth_bit(high(block[8 + i]), bits, i + 16)) * d + m;
  }
}
void q8_1(const uint8_t *block, float *y) {  // scale, a sum that is not needed, bytes
  const float d = half_at(block);
  for (int i = 0; i < 32; ++i) y[i] = f(static_cast<int8_t>(block[4 + i])) * d;
}

// Four bits choose one of these.
constexpr int chosen[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void iq4_nl(const uint8_t *block, float *y) {  // scale
  const float d = half_at(block);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * f(chosen[low(block[2 + i])]);
    y[i + 16] = d * f(chosen[high(block[2 + i])]);
  }
}

// ------------------------------------------------------------------------------------------------- blocks of 256 numbers
// A block has parts of 16 or 32 numbers, each with a scale of its own in a few bits.

// Two bits of each number: byte i of a half has them of numbers i, i + 32, i + 64 and i + 96.
int two_bits(const uint8_t *bytes, int i) { return bytes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3; }

void q2_k(const uint8_t *block, float *y) {  // 16 bytes of scale and least number; numbers; their units
  const uint8_t *const numbers = block + 16;
  const float d = half_at(block + 80), unit = half_at(block + 82);
  for (int i = 0; i < 256; ++i) {
    const uint8_t part = block[i / 16];
    const float scale = d * f(low(part)), m = unit * f(high(part));
    y[i] = scale * f(two_bits(numbers, i)) - m;
  }
}

// Scale of part 0 to 15: four bits, two in each of the first eight bytes, and two more bits behind them.
int six_bits_of_16(const uint8_t *scales, int part) {
  const int four = part < 8 ? low(scales[part]) : high(scales[part - 8]);
  const int two = scales[8 + part % 4] >> (part / 4 * 2) & 3;
  return four | two << 4;
}
void q3_k(const uint8_t *block, float *y) {  // third bits, numbers, scales, their unit
  const uint8_t *const numbers = block + 32, *const scales = block + 96;
  const float d = half_at(block + 108);
  for (int i = 0; i < 256; ++i) {
    const float scale = d * f(six_bits_of_16(scales, i / 16) - 32);
    const int third = block[i % 32] >> (i / 32) & 1;
    y[i] = scale * f(two_bits(numbers, i) - (third ? 0 : 4));
  }
}

// Scale and least number of part 0 to 7, six bits each.
struct scale_and_least {
  int scale, least;
};
scale_and_least six_bits_of_8(const uint8_t *bytes, int part) {
  if (part < 4) return {bytes[part] & 63, bytes[part + 4] & 63};
  return {low(bytes[part + 4]) | (bytes[part - 4] >> 6) << 4, high(bytes[part + 4]) | (bytes[part] >> 6) << 4};
}
// Numbers of two parts in the low and high halves of 32 bytes.
int four_bits(const uint8_t *bytes, int i) {
  const uint8_t byte = bytes[i / 64 * 32 + i % 32];
  return i / 32 % 2 == 0 ? low(byte) : high(byte);
}

void q4_k(const uint8_t *block, float *y) {  // units of scales and of least numbers, these, numbers
  const float d = half_at(block), unit = half_at(block + 2);
  for (int i = 0; i < 256; ++i) {
    const scale_and_least part = six_bits_of_8(block + 4, i / 32);
    const float scale = d * f(part.scale), m = unit * f(part.least);
    y[i] = scale * f(four_bits(block + 16, i)) - m;
  }
}
void q5_k(const uint8_t *block, float *y) {  // the same, with fifth bits before the numbers
  const float d = half_at(block), unit = half_at(block + 2);
  const uint8_t *const fifth_bits = block + 16;
  for (int i = 0; i < 256; ++i) {
    const scale_and_least part = six_bits_of_8(block + 4, i / 32);
    const float scale = d * f(part.scale), m = unit * f(part.least);
    y[i] = scale * f(with_fifth_bit(four_bits(block + 48, i), fifth_bits[i % 32], i / 32)) - m;
  }
}

void q6_k(const uint8_t *block, float *y) {  // four bits, two bits, scales, their unit
  const uint8_t *const two = block + 128;
  const float d = half_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    const uint8_t byte = block[i / 128 * 64 + i % 64];
    const int four = i % 128 < 64 ? low(byte) : high(byte);
    const float scale = d * f(static_cast<int8_t>(block[192 + i / 16]));
    y[i] = scale * f((four | two_bits(two, i) << 4) - 32);
  }
}

void iq4_xs(const uint8_t *block, float *y) {  // unit, two bits of scales, four bits of scales, numbers
  const float d = half_at(block);
  const uint64_t two = number_at(block + 2, 2);
  for (int i = 0; i < 256; ++i) {
    const int part = i / 32, four = part % 2 == 0 ? low(block[4 + part / 2]) : high(block[4 + part / 2]);
    const float scale = d * f((four | static_cast<int>(two >> 2 * part & 3) << 4) - 32);
    const uint8_t byte = block[8 + part * 16 + i % 16];
    y[i] = scale * f(chosen[i % 32 < 16 ? low(byte) : high(byte)]);
  }
}

constexpr ggml_block blocks[] = {
    {3, "q4_1", 32, 20, q4_1},      {6, "q5_0", 32, 22, q5_0},       {7, "q5_1", 32, 24, q5_1},
    {9, "q8_1", 32, 36, q8_1},      {10, "q2_k", 256, 84, q2_k},     {11, "q3_k", 256, 110, q3_k},
    {12, "q4_k", 256, 144, q4_k},   {13, "q5_k", 256, 176, q5_k},    {14, "q6_k", 256, 210, q6_k},
    {20, "iq4_nl", 32, 18, iq4_nl}, {23, "iq4_xs", 256, 136, iq4_xs}};

}  // namespace

const ggml_block *ggml_block_of(int32_t dtype) {
  for (const ggml_block &b : blocks) {
    if (dtype == format_ggml + b.type) return &b;
  }
  return nullptr;
}

}  // namespace heed_import
