// See host_files.hpp. SPDX-License-Identifier: MIT
#include "host_files.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "kwt.h"
#include "kwt_network.hpp"

namespace host_files {
namespace {

using files::refuse;

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

std::vector<uint32_t> read_tflite(const std::string &path, int32_t dtype) {
  const std::vector<uint8_t> file = files::read(path);
  try {
    return network::flat_file(*network::read_kwt(file.data(), file.size()), dtype);
  } catch (const std::exception &error) {
    refuse(path, error.what());
  }
}

files::aligned_bytes read_model(const std::string &path) {
  const std::vector<uint8_t> file = files::read(path);
  const bool is_flat = file.size() >= 4 && std::memcmp(file.data(), "HEED", 4) == 0;
  const std::vector<uint32_t> words = is_flat ? std::vector<uint32_t>() : read_tflite(path, HEED_F32);
  files::aligned_bytes model(is_flat ? file.size() : 4 * words.size());
  std::memcpy(model.data(), is_flat ? static_cast<const void *>(file.data()) : words.data(), model.size());
  return model;
}

std::vector<expected_clip> read_expected(const std::string &path) {
  const std::vector<uint8_t> file = files::read(path);
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

void refuse(kwt_status status, heed_status failure, const std::string &what) {
  std::string why = kwt_status_text(status);
  if (status == KWT_HEED_FAILED)
    why = std::string("heed: ") + heed_status_argument(failure) + ": " + heed_status_text(failure);
  throw std::runtime_error(what + ": " + why);
}

}  // namespace host_files
