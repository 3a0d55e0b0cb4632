// See host_files.hpp. SPDX-License-Identifier: MIT
#include "host_files.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "kwt.h"
#include "tflite_weights.hpp"

namespace host_files {
namespace {

constexpr size_t max_file_bytes = size_t{64} << 20;

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
                   " Hz, " + std::to_string(bits) + " bits");
}

std::vector<int16_t> samples_of(const uint8_t *data, size_t n_bytes) {
  std::vector<int16_t> samples(n_bytes / 2);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<int16_t>(u16_at(data + 2 * i));
  return samples;
}

std::vector<std::string> columns_of(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> columns;
  std::istringstream in(line);
  for (std::string column; std::getline(in, column, '\t');) columns.push_back(column);
  return columns;
}

void check_heading(const std::string &path, const std::vector<std::string> &columns) {
  bool fits = columns.size() == 3 + KWT_N_LABELS;
  for (int i = 0; fits && i < KWT_N_LABELS; ++i) {
    fits = columns[3 + static_cast<size_t>(i)] == std::string("logit:") + kwt_label(i);
  }
  if (!fits) refuse(path, "its heading does not name the 12 labels in the network's order");
}

}  // namespace

std::vector<uint8_t> read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse(path, "cannot be opened");
  std::vector<uint8_t> bytes;
  std::array<char, 65536> piece;
  while (in.read(piece.data(), piece.size()), in.gcount() > 0) {
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + in.gcount());
    if (bytes.size() > max_file_bytes) refuse(path, "is larger than 64 MB");
  }
  if (!in.eof()) refuse(path, "cannot be read");
  return bytes;
}

std::vector<uint32_t> read_tflite(const std::string &path, int32_t format) {
  const std::vector<uint8_t> file = read_file(path);
  try {
    const auto net = std::make_unique<network::kwt1>();
    tflite::read_kwt(file.data(), file.size(), *net);
    return network::flat_file(*net, format);
  } catch (const std::exception &error) {
    refuse(path, error.what());
  }
}

model::model(const std::string &path) {
  std::vector<uint8_t> file = read_file(path);
  if (file.size() < 4 || std::memcmp(file.data(), "HEED", 4) != 0) {
    const std::vector<uint32_t> words = read_tflite(path, HEED_F32);
    file.resize(4 * words.size());
    std::memcpy(file.data(), words.data(), file.size());
  }
  n_bytes_ = file.size();
  memory_.resize(n_bytes_ + HEED_ALIGNMENT);
  data_ = memory_.data() + (0 - reinterpret_cast<uintptr_t>(memory_.data())) % HEED_ALIGNMENT;
  std::memcpy(data_, file.data(), n_bytes_);
}

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

std::vector<expected_clip> read_expected(const std::string &path) {
  const std::vector<uint8_t> file = read_file(path);
  std::istringstream in(std::string(file.begin(), file.end()));
  std::string line;
  std::getline(in, line);
  check_heading(path, columns_of(line));
  std::vector<expected_clip> clips;
  while (std::getline(in, line)) {
    const std::vector<std::string> columns = columns_of(line);
    if (columns.empty()) continue;
    const std::string where = "line " + std::to_string(clips.size() + 2);
    if (columns.size() != 3 + KWT_N_LABELS) refuse(path, where + " does not have 15 columns");
    expected_clip clip{columns[0], columns[1], columns[2], {}};
    for (size_t i = 0; i < KWT_N_LABELS; ++i) {
      char *end = nullptr;
      clip.logits[i] = std::strtod(columns[3 + i].c_str(), &end);
      if (end == columns[3 + i].c_str() || *end != '\0' || !std::isfinite(clip.logits[i])) {
        refuse(path, where + " holds something that is not a number");
      }
    }
    clips.push_back(clip);
  }
  if (clips.empty()) refuse(path, "lists no clips");
  return clips;
}

}  // namespace host_files
