// What host programs around ports/sensor read and make. Every function throws std::runtime_error with the path and a
// sentence. SPDX-License-Identifier: MIT
#ifndef HEED_SENSOR_FILES_HPP
#define HEED_SENSOR_FILES_HPP

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "sensor.h"
#include "sensor_int.h"
#include "sensor_weights.h"

namespace sensor_files {

// A file of exactly n floats, little endian.
std::vector<float> read_floats(const std::string &path, size_t n);

// The folder's weights.f32 and prototypes.f32.
std::unique_ptr<sensor_weights> read_weights(const std::string &folder);

// Fills the header of weights whose other members are set.
template <class W>
void write_header(W &weights, uint32_t kind) {
  const uint32_t n_bytes = sizeof weights;
  const auto *words = reinterpret_cast<const uint32_t *>(reinterpret_cast<const unsigned char *>(&weights));
  const size_t n_header = sizeof(sensor_header) / sizeof *words;
  weights.header = {{SENSOR_MAGIC, kind}, n_bytes, sensor_checksum(words + n_header, n_bytes / 4 - n_header)};
}

// A recording: 120 rows of 400.
std::vector<float> read_recording(const std::string &path);
// The same in the units of the network in integers: rounded, and held within int16.
std::vector<int16_t> to_int16(const std::vector<float> &recording);

// The network in integers, with scales from what the recordings make of it. The same bytes on every computer.
std::unique_ptr<sensor_int_weights> quantize(const sensor_weights &weights,
                                             const std::vector<std::vector<float>> &recordings);

// A line of expected.tsv: in double precision.
struct expected_recording {
  std::string name;
  int32_t nearer;
  std::array<double, SENSOR_N_CLASSES> distances;
  std::array<double, SENSOR_DIM> embedding;
};
std::vector<expected_recording> read_expected(const std::string &path);

[[noreturn]] void refuse(sensor_status status, heed_status failure);
// Throws unless the status, of a call of this network, is SENSOR_OK. The network is a sensor or a sensor_int, whose failure
// is read after the call.
template <class Network>
void require_ok(const Network &net, sensor_status status) {
  if (status != SENSOR_OK) refuse(status, net.failure);
}

}  // namespace sensor_files

#endif
