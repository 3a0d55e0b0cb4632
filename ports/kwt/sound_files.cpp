// See sound_files.hpp. SPDX-License-Identifier: MIT
#include "sound_files.hpp"

#include <cstring>
#include <stdexcept>

#include "../files.hpp"

namespace host_files {
namespace {

[[noreturn]] void refuse(const std::string &path, const std::string &why) {
  throw std::runtime_error(path + ": " + why);
}

uint32_t u16_at(const uint8_t *p) { return static_cast<uint32_t>(p[0] | p[1] << 8); }
uint32_t u32_at(const uint8_t *p) { return u16_at(p) | u16_at(p + 2) << 16; }

void check_format(const std::string &path, const uint8_t *format, size_t n_bytes) {
  if (n_bytes < 16) refuse(path, "its format chunk is too short");
  const bool extensible = u16_at(format) == 0xfffe && n_bytes >= 26;  // the kind is where its longer form begins
  const uint32_t kind = u16_at(format + (extensible ? 24 : 0)), channels = u16_at(format + 2),
                 rate = u32_at(format + 4), bits = u16_at(format + 14);
  if (kind == 1 && channels == 1 && rate == 16000 && bits == 16) return;
  refuse(path, "needs PCM (1), 1 channel, 16000 Hz, 16 bits; has format " + std::to_string(kind) + ", " +
                   std::to_string(channels) + (channels == 1 ? " channel, " : " channels, ") + std::to_string(rate) +
                   " Hz, " + std::to_string(bits) + " bits. \"sox IN.wav -r 16000 -c 1 -b 16 OUT.wav\" converts it");
}

std::vector<int16_t> samples_of(const uint8_t *data, size_t n_bytes) {
  std::vector<int16_t> samples(n_bytes / 2);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<int16_t>(u16_at(data + 2 * i));
  return samples;
}

}  // namespace

std::vector<uint8_t> read_file(const std::string &path) { return files::read(path); }

std::vector<int16_t> read_wav(const std::string &path) {
  const std::vector<uint8_t> file = read_file(path);
  if (file.empty()) refuse(path, "is empty");
  if (file.size() < 12 || std::memcmp(&file[0], "RIFF", 4) != 0 || std::memcmp(&file[8], "WAVE", 4) != 0) {
    refuse(path, "is not a WAV file");
  }
  bool has_format = false;
  for (size_t at = 12; file.size() - at >= 8;) {
    const uint8_t *chunk = &file[at];
    const size_t n_bytes = u32_at(chunk + 4), left = file.size() - at - 8;
    if (n_bytes > left) refuse(path, "is truncated: it ends in the middle of a chunk");
    if (std::memcmp(chunk, "fmt ", 4) == 0) {
      check_format(path, chunk + 8, n_bytes);
      has_format = true;
    } else if (std::memcmp(chunk, "data", 4) == 0) {
      if (!has_format) refuse(path, "has its data before its format");
      return samples_of(chunk + 8, n_bytes);
    }
    at += 8 + (n_bytes + n_bytes % 2 <= left ? n_bytes + n_bytes % 2 : left);  // chunks are padded to even lengths
  }
  refuse(path, "holds no samples");
}

}  // namespace host_files
