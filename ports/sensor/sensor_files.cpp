// See sensor_files.hpp: files. SPDX-License-Identifier: MIT
#include "sensor_files.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "../files.hpp"

namespace sensor_files {
using files::refuse;

std::vector<float> read_floats(const std::string &path, size_t n) {
  const std::vector<uint8_t> bytes = files::read(path);
  if (bytes.size() != 4 * n) refuse(path, "does not have " + std::to_string(n) + " floats");
  std::vector<float> floats(n);
  for (size_t i = 0; i < n; ++i) {
    const uint8_t *b = &bytes[4 * i];
    const uint32_t word = b[0] | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 | uint32_t{b[3]} << 24;
    std::memcpy(&floats[i], &word, sizeof word);
    if (!std::isfinite(floats[i]))
      refuse(path, "number " + std::to_string(i) + ", counted from 0, is infinite, or none");
  }
  return floats;
}

std::unique_ptr<sensor_weights> read_weights(const std::string &folder) {
  auto weights = std::make_unique<sensor_weights>();
  unsigned char *const begin = reinterpret_cast<unsigned char *>(weights.get()) + sizeof(sensor_header);
  const size_t n_prototypes = SENSOR_N_CLASSES * SENSOR_DIM;
  const size_t n = (sizeof *weights - sizeof(sensor_header)) / sizeof(float) - n_prototypes;
  std::memcpy(begin, read_floats(folder + "/weights.f32", n).data(), n * sizeof(float));
  std::memcpy(weights->prototypes, read_floats(folder + "/prototypes.f32", n_prototypes).data(),
              sizeof weights->prototypes);
  write_header(*weights, SENSOR_FLOATS);
  return weights;
}

std::vector<float> read_recording(const std::string &path) {
  return read_floats(path, size_t{SENSOR_N_ROWS} * SENSOR_ROW);
}

std::vector<int16_t> to_int16(const std::vector<float> &recording) {
  std::vector<int16_t> rows;
  for (const float x : recording) {
    const double units = std::round(std::ldexp(static_cast<double>(x), SENSOR_ROW_BITS));
    rows.push_back(static_cast<int16_t>(std::min(32767.0, std::max(-32768.0, units))));
  }
  return rows;
}

std::vector<expected_recording> read_expected(const std::string &path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line) || line.compare(0, 42, "input\tclass\tdistance0\tdistance1\tembedding\t") != 0)
    refuse(path, "cannot be opened, or its heading is another one");
  std::vector<expected_recording> all;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    expected_recording r;
    words >> r.name >> r.nearer;
    for (double &d : r.distances) words >> d;
    for (double &e : r.embedding) words >> e;
    if (!words) refuse(path, "line " + std::to_string(all.size() + 2) + " is too short");
    all.push_back(r);
  }
  if (all.empty()) refuse(path, "lists no recording");
  return all;
}

void refuse(sensor_status status, heed_status failure) {
  if (status != SENSOR_HEED_FAILED) throw std::runtime_error(sensor_status_text(status));
  throw std::runtime_error(std::string(heed_status_argument(failure)) + ": " + heed_status_text(failure));
}

}  // namespace sensor_files
