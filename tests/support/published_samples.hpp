// Inputs of the small models of published_models.hpp as .npy files, for heed_compile --integers. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PUBLISHED_SAMPLES_HPP
#define HEED_TESTS_SUPPORT_PUBLISHED_SAMPLES_HPP

#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "random.hpp"

namespace published {

// numpy.lib.format, version 1. numbers: bytes of little-endian numbers.
inline std::string npy(const std::string &type, const std::vector<uint64_t> &dims, const std::string &numbers) {
  std::string shape;
  for (const uint64_t dim : dims) shape += std::to_string(dim) + ", ";
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  return file + header + numbers;
}

template <class T>
std::string little_endian(const std::vector<T> &numbers) {
  std::string bytes;
  for (const T number : numbers) {
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof number);
    for (size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(bits >> (8 * i));
  }
  return bytes;
}

// Texts of up to `most` tokens, some of which are shorter; pictures of 32 x 32 x 3 with a gradient, a stain and noise. A seed gives the
// same ones again.
inline std::string texts_npy(uint64_t n, uint64_t seed, uint32_t most = 20) {
  heed_test::random_source r(seed);
  std::vector<int64_t> tokens;
  for (uint64_t row = 0; row < n; ++row) {
    const uint32_t length = row % 4 == 3 ? 3 + r.below(most - 3) : most;
    for (uint32_t i = 0; i < most; ++i) tokens.push_back(i < length ? r.between(0, 89) : -1);
  }
  return npy("<i8", {n, most}, little_endian(tokens));
}
inline std::string pictures_npy(uint64_t n, uint64_t seed) {
  heed_test::random_source r(seed);
  std::vector<float> pixels;
  for (uint64_t row = 0; row < n; ++row) {
    const float tilt = r.uniform(), stain = r.uniform();
    const int32_t at = r.between(4, 27);
    for (int32_t i = 0; i < 32 * 32 * 3; ++i) {
      const int32_t y = i / 96, x = i / 3 % 32;
      const bool is_stained = (y - at) * (y - at) + (x - at) * (x - at) < 30;
      const float light = tilt * (static_cast<float>(x + y) / 32 - 1) + (is_stained ? stain : 0);
      pixels.push_back(0.5f * light + 0.2f * r.uniform());
    }
  }
  return npy("<f4", {n, 32, 32, 3}, little_endian(pixels));
}

inline bool is_encoder(const std::string &kind) {
  for (const std::string begin : {"bert", "distilbert", "roberta", "gguf-bert", "vit", "deit"})
    if (kind.compare(0, begin.size(), begin) == 0) return true;
  return false;
}
// Language models that heed_compile --integers takes.
inline bool is_integer_decoder(const std::string &kind) {
  for (const std::string known : {"gpt2", "gguf-gpt2", "llama", "llama-llama3", "gguf-llama", "gguf-llama-tied",
                                  "smollm", "qwen2", "gemma", "gguf-gemma"})
    if (kind == known) return true;
  return false;
}
inline bool sees(const std::string &kind) { return kind.compare(0, 3, "vit") == 0 || kind.compare(0, 4, "deit") == 0; }

inline void write_npy(const std::string &path, const std::string &content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.flush()) throw std::runtime_error(path + " cannot be written");
}

}  // namespace published

#endif
