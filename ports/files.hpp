// What programs for hosts do with files. Failures throw std::runtime_error, which names the file. SPDX-License-Identifier: MIT
#ifndef HEED_PORTS_FILES_HPP
#define HEED_PORTS_FILES_HPP

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "output_file.hpp"

namespace files {

[[noreturn]] inline void refuse(const std::string &path, const std::string &why) {
  throw std::runtime_error(path + ": " + why);
}

// All bytes of a file that has no more than these.
inline std::vector<uint8_t> read(const std::string &path, size_t most = size_t{64} << 20) {
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse(path, "cannot be opened");
  std::vector<uint8_t> bytes;
  std::array<char, 65536> piece;
  while (in.read(piece.data(), piece.size()), in.gcount() > 0) {
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + in.gcount());
    if (bytes.size() > most) refuse(path, "is larger than " + std::to_string(most >> 20) + " MB");
  }
  if (!in.eof()) refuse(path, "cannot be read");
  return bytes;
}

// Words, little endian whatever this computer is, and a line that says how many bytes they are. A path that is one of the
// inputs is refused.
inline void write(const std::string &path, const std::vector<uint32_t> &words, const std::vector<std::string> &inputs) {
  output_file out(path, inputs);
  for (const uint32_t word : words) {
    const char bytes[4] = {char(word), char(word >> 8), char(word >> 16), char(word >> 24)};
    out.write(bytes, sizeof bytes);
  }
  out.finish();
  std::printf("%s: %zu bytes\n", path.c_str(), 4 * words.size());
}

// For files that hold numbers as they lie in memory.
inline void require_little_endian() {
  const uint32_t one = 1;
  if (*reinterpret_cast<const char *>(&one) != 1)
    throw std::runtime_error("such files are written on little-endian computers only");
}

// Bytes that begin at a multiple of 64, as weights do.
class aligned_bytes {
 public:
  explicit aligned_bytes(size_t n) : memory_(n + 64), n_(n) {
    data_ = memory_.data() + (0 - reinterpret_cast<uintptr_t>(memory_.data())) % 64;
  }
  aligned_bytes(aligned_bytes &&) = default;
  aligned_bytes &operator=(aligned_bytes &&) = default;
  uint8_t *data() { return data_; }
  const uint8_t *data() const { return data_; }
  size_t size() const { return n_; }

 private:
  std::vector<uint8_t> memory_;
  uint8_t *data_;
  size_t n_;
};

}  // namespace files

#endif
