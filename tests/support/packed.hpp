// Packed weights and weights in blocks, by the words of weights.h: an implementation apart from the library's.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PACKED_HPP
#define HEED_TESTS_SUPPORT_PACKED_HPP

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "weights.hpp"

namespace heed_test {

using bytes_of_weights = std::vector<unsigned char>;

constexpr int32_t all_formats[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8, HEED_Q8_0, HEED_Q4_0};
inline bool has_blocks(int32_t dtype) { return dtype == HEED_Q8_0 || dtype == HEED_Q4_0; }
inline size_t bytes_of_block(int32_t dtype) { return dtype == HEED_Q8_0 ? 34 : 18; }

// The bits of a double that f16 or bf16 holds.
inline uint16_t narrow_bits(double x, int32_t dtype) {
  const int fraction_bits = dtype == HEED_BF16 ? 7 : 10, exponent_bits = dtype == HEED_BF16 ? 8 : 5;
  const double y = rounded(x, fraction_bits, exponent_bits);
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (std::isinf(y)) return uint16_t(sign | ((1 << exponent_bits) - 1) << fraction_bits);
  if (y == 0) return sign;
  const int exponent = std::max(std::ilogb(y), 1 - bias);
  const auto significand = int32_t(std::ldexp(std::fabs(y), fraction_bits - exponent));
  return uint16_t(sign | (((exponent + bias - 1) << fraction_bits) + significand));
}

// Weights as numbers: what each format stores of them, without a layout.
struct numeric_weights {
  int32_t dtype, n_in, n_out;
  std::vector<uint32_t> numbers;    // [n_out][n_in] bits, or integers
  std::vector<uint32_t> scales;     // of int8 [n_out] bits of floats; of blocks [n_out][blocks] bits of f16
  std::vector<int32_t> zeros = {};  // of uint8 [n_out]: they and the numbers are 128 less
  int32_t n_blocks() const { return (n_in + 31) / 32; }
  uint32_t number(int32_t i, int32_t o) const { return numbers[size_t(o) * size_t(n_in) + size_t(i)]; }
  int32_t integer(int32_t i, int32_t o) const { return int32_t(number(i, o)) - (zeros.empty() ? 0 : zeros[size_t(o)]); }
  uint32_t scale(int32_t i, int32_t o) const {
    return dtype == HEED_INT8 || dtype == HEED_UINT8 ? scales[size_t(o)]
                                                     : scales[size_t(o) * size_t(n_blocks()) + size_t(i / 32)];
  }
  float widened(int32_t i, int32_t o) const {
    const uint32_t bits = number(i, o);
    if (dtype == HEED_F32) return float_of(bits);
    if (dtype == HEED_F16) return float(f16_number(uint16_t(bits)));
    if (dtype == HEED_BF16) return float(bf16_number(uint16_t(bits)));
    if (dtype == HEED_UINT8) return float(int32_t(bits) - zeros[size_t(o)]) * float_of(scale(i, o));
    const float scale_of_number = dtype == HEED_INT8 ? float_of(scale(i, o)) : float(f16_number(uint16_t(scale(i, o))));
    return float(int32_t(bits)) * scale_of_number;
  }
};

inline numeric_weights numbers_of(const weights &w) {
  numeric_weights n = {w.shifted ? HEED_UINT8 : w.numbers.dtype, w.n_in, w.n_out, {}, {}};
  const int32_t less = w.numbers.dtype == HEED_UINT8 ? 128 : 0;
  for (int32_t o = 0; w.shifted && o < w.n_out; ++o) n.zeros.push_back(w.zero(o) - less);
  for (int32_t o = 0; o < w.n_out; ++o)
    for (int32_t i = 0; i < w.n_in; ++i) {
      const size_t at = w.layout == HEED_OUT_IN ? size_t(o) * w.stride + i : size_t(i) * w.stride + o;
      if (n.dtype == HEED_UINT8) {
        n.numbers.push_back(uint32_t(w.byte(w.numbers.bytes[at]) - less));
      } else if (n.dtype == HEED_INT8) {
        n.numbers.push_back(uint32_t(int32_t(static_cast<int8_t>(w.numbers.bytes[at]))));
      } else if (n.dtype == HEED_F32) {
        uint32_t bits;
        std::memcpy(&bits, &w.numbers.bytes[4 * at], 4);
        n.numbers.push_back(bits);
      } else {
        uint16_t bits;
        std::memcpy(&bits, &w.numbers.bytes[2 * at], 2);
        n.numbers.push_back(bits);
      }
    }
  for (int32_t o = 0; !w.scales.empty() && o < w.n_out; ++o) n.scales.push_back(bits_of(w.scale(o)));
  return n;
}

// Random blocks; of their scales some are 0, negative or subnormal.
inline numeric_weights random_blocks(random_source &r, int32_t dtype, int32_t n_in, int32_t n_out) {
  numeric_weights n = {dtype, n_in, n_out, {}, {}};
  const int32_t least = dtype == HEED_Q8_0 ? -127 : -8, most = dtype == HEED_Q8_0 ? 127 : 7;
  for (int32_t i = 0; i < n_in * n_out; ++i) n.numbers.push_back(uint32_t(r.between(least, most)));
  for (int32_t i = 0; i < n.n_blocks() * n_out; ++i)
    n.scales.push_back(r.chance(5) ? uint32_t(r.between(0, 0x3ff)) : narrow_bits(double(r.bell()) * 0.02, HEED_F16));
  return n;
}

// As a GGUF file holds them, rows of so many blocks.
inline bytes_of_weights file_of(const numeric_weights &n, int32_t blocks_of_row) {
  const size_t size = bytes_of_block(n.dtype), row = size * size_t(blocks_of_row);
  bytes_of_weights file(row * size_t(n.n_out - 1) + size * size_t(n.n_blocks()), 0xff);
  for (int32_t o = 0; o < n.n_out; ++o)
    for (int32_t i = 0; i < n.n_in; ++i) {
      unsigned char *const block = &file[size_t(o) * row + size_t(i / 32) * size];
      const uint32_t scale = n.scale(i, o), k = uint32_t(i) % 32;
      block[0] = static_cast<unsigned char>(scale), block[1] = static_cast<unsigned char>(scale >> 8);
      unsigned char &to = block[2 + (n.dtype == HEED_Q8_0 ? k : k % 16)];
      if (n.dtype == HEED_Q8_0)
        to = static_cast<unsigned char>(n.number(i, o));
      else
        to = static_cast<unsigned char>(k < 16 ? n.number(i, o) + 8 : (to & 15) | (n.number(i, o) + 8) << 4);
    }
  return file;
}

// The block's numbers and its scale, by the words of weights.h.
inline void quantize_block(const std::vector<float> &x, int32_t dtype, uint32_t *scale, uint32_t *numbers) {
  float greatest = 0;
  for (const float f : x)
    if (std::fabs(f) > std::fabs(greatest)) greatest = f;
  const float wanted = dtype == HEED_Q8_0 ? std::fabs(greatest) / 127.0f : greatest / -8.0f;
  *scale = narrow_bits(double(wanted), HEED_F16);
  const auto by = float(f16_number(uint16_t(*scale)));
  for (size_t k = 0; k < x.size(); ++k) {
    const double q = by == 0 ? 0 : std::nearbyint(double(x[k] / by));
    numbers[k] =
        uint32_t(int32_t(dtype == HEED_Q8_0 ? std::fmax(-127, std::fmin(127, q)) : std::fmax(-8, std::fmin(7, q))));
  }
}

inline numeric_weights converted(const numeric_weights &from, int32_t dtype) {
  if (dtype == from.dtype) return from;
  numeric_weights to = {dtype, from.n_in, from.n_out, {}, {}};
  to.numbers.resize(from.numbers.size());
  for (int32_t o = 0; o < from.n_out; ++o) {
    float greatest = 0;
    for (int32_t i = 0; i < from.n_in; ++i) greatest = std::fmax(greatest, std::fabs(from.widened(i, o)));
    const float of_output = greatest / 127.0f;
    if (dtype == HEED_INT8) to.scales.push_back(bits_of(of_output));
    for (int32_t begin = 0; begin < from.n_in; begin += 32) {
      std::vector<float> x;
      for (int32_t i = begin; i < from.n_in && i < begin + 32; ++i) x.push_back(from.widened(i, o));
      uint32_t *const numbers = &to.numbers[size_t(o) * size_t(from.n_in) + size_t(begin)];
      if (has_blocks(dtype)) {
        to.scales.push_back(0);
        quantize_block(x, dtype, &to.scales.back(), numbers);
        continue;
      }
      for (size_t k = 0; k < x.size(); ++k)
        numbers[k] = dtype == HEED_F32    ? bits_of(x[k])
                     : dtype != HEED_INT8 ? narrow_bits(double(x[k]), dtype)
                     : of_output == 0     ? 0
                                          : uint32_t(int32_t(std::nearbyint(double(x[k] / of_output))));
    }
  }
  return to;
}

// The bytes that heed_weights_pack has to write: header, then panels of 64 outputs, the last one of 16, 32, 48 or 64.
class packer {
 public:
  static bytes_of_weights pack(const numeric_weights &n) {
    packer p(n);
    for (int32_t first = 0; first < n.n_out; first += 64)
      p.add_panel(first, std::min(64, (n.n_out - first + 15) / 16 * 16));
    while (p.bytes_.size() % 64) p.bytes_.push_back(0);
    return p.bytes_;
  }

 private:
  explicit packer(const numeric_weights &n) : n_(n) {
    for (const char c : {'h', 'e', 'e', 'd', 'p', 'a', 'c', 'k'}) bytes_.push_back(static_cast<unsigned char>(c));
    for (const int32_t x : {n.dtype == HEED_UINT8 ? 2 : 1, n.dtype, n.n_in, n.n_out}) add(uint32_t(x), 4);
    bytes_.resize(64);
  }
  void add(uint32_t x, int32_t n_bytes) {
    for (int32_t i = 0; i < n_bytes; ++i) bytes_.push_back(static_cast<unsigned char>(x >> 8 * i));
  }
  uint32_t number(int32_t i, int32_t o) const { return i < n_.n_in && o < n_.n_out ? n_.number(i, o) : 0; }
  uint32_t scale(int32_t i, int32_t o) const { return o < n_.n_out ? n_.scale(i, o) : 0; }
  unsigned char nibble(int32_t i, int32_t o) const {
    return i < n_.n_in && o < n_.n_out ? static_cast<unsigned char>(n_.number(i, o) + 8) : 0;
  }
  void add_words(int32_t begin, int32_t end, int32_t first, int32_t width) {
    for (int32_t i = begin; i < end; i += 4)
      for (int32_t o = first; o < first + width; ++o)
        for (int32_t k = i; k < i + 4; ++k) add(number(k, o) & 255, 1);
  }
  void add_panel(int32_t first, int32_t width) {
    if (n_.dtype < HEED_INT8)
      for (int32_t i = 0; i < n_.n_in; ++i)
        for (int32_t o = first; o < first + width; ++o) add(number(i, o), n_.dtype == HEED_F32 ? 4 : 2);
    if (n_.dtype == HEED_INT8 || n_.dtype == HEED_UINT8) {
      for (int32_t o = first; o < first + width; ++o) add(scale(0, o), 4);
      for (int32_t o = first; n_.dtype == HEED_UINT8 && o < first + width; ++o) {
        const int32_t zero = o < n_.n_out ? n_.zeros[size_t(o)] : 0;
        add(uint32_t(zero), 2), add(uint32_t(zero < 0 ? zero + 65536 : zero), 2);
      }
      add_words(0, n_.n_in, first, width);
    }
    for (int32_t begin = 0; has_blocks(n_.dtype) && begin < n_.n_in; begin += 32) {
      for (int32_t o = first; o < first + width; ++o) add(scale(begin, o), 2);
      if (n_.dtype == HEED_Q8_0) add_words(begin, begin + 32, first, width);
      for (int32_t i = begin; n_.dtype == HEED_Q4_0 && i < begin + 32; i += 8)
        for (int32_t o = first; o < first + width; ++o)
          for (int32_t k = i; k < i + 4; ++k) add(uint32_t(nibble(k, o) | nibble(k + 4, o) << 4), 1);
    }
  }

  const numeric_weights &n_;
  bytes_of_weights bytes_;
};

// Weights in any format and layout, or in blocks, that are given to heed: where they lie, until the next call.
inline heed_weights blocks_at_fence(const numeric_weights &n, int32_t blocks_of_row) {
  const bytes_of_weights file = file_of(n, blocks_of_row);
  unsigned char *const data = fence_of(slot_k) - file.size();
  std::memcpy(data, file.data(), file.size());
  heed_weights w = heed_weights_of_blocks(data, n.dtype, n.n_in, n.n_out);
  w.row_stride = ptrdiff_t{32} * blocks_of_row;
  return w;
}

// What heed packs, between a guard and a fence.
inline bytes_of_weights pack(const heed_weights &w, int32_t dtype) {
  const size_t bytes = heed_weights_packed_bytes(dtype, w.n_in, w.n_out);
  unsigned char *const to = fence_of(slot_cache) - bytes;
  std::memset(to - 64, 0x5a, bytes + 64);
  EXPECT_EQ(heed_weights_pack(w, dtype, heed_memory_of(to, bytes)), HEED_OK);
  for (size_t i = 1; i <= 64; ++i) EXPECT_EQ(to[-ptrdiff_t(i)], 0x5a);
  return {to, to + bytes};
}
// A copy of packed bytes that ends at a fence, opened; until the next call.
inline heed_weights open_at_fence(const bytes_of_weights &packed) {
  unsigned char *const to = fence_of(slot_other_cache) - packed.size();
  std::memcpy(to, packed.data(), packed.size());
  heed_weights w = {};
  EXPECT_EQ(heed_weights_open(&w, to, packed.size()), HEED_OK);
  return w;
}

}  // namespace heed_test

#endif
