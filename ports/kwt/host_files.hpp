// Files that the host programs around KWT-1 read. Every function throws std::runtime_error with the path and a
// sentence. SPDX-License-Identifier: MIT
#ifndef HEED_KWT_HOST_FILES_HPP
#define HEED_KWT_HOST_FILES_HPP

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "../files.hpp"
#include "kwt.h"
#include "kwt_weights.h"
#include "sound_files.hpp"

namespace host_files {

// The published model file as the flat file of kwt_weights.h, in HEED_F32 or HEED_INT8.
std::vector<uint32_t> read_tflite(const std::string &path, int32_t dtype);

// A model for kwt_init: the published file, converted to f32, or a flat one as it is.
files::aligned_bytes read_model(const std::string &path);

// One line of expected.tsv.
struct expected_clip {
  std::string file, spoken, predicted;
  std::array<double, KWT_N_LABELS> logits;
};

// A table with a heading line and at least one clip; the columns after the first three are "logit:" and labels in the
// network's order.
std::vector<expected_clip> read_expected(const std::string &path);

[[noreturn]] void refuse(kwt_status status, heed_status failure, const std::string &what);
// Throws unless the status, of a call of this network, is KWT_OK. The network is a kwt or a kwt_int, whose failure is read
// after the call.
template <class Network>
void require_ok(const Network &net, kwt_status status, const std::string &what) {
  if (status != KWT_OK) refuse(status, net.failure, what);
}

}  // namespace host_files

#endif
