// Files of sound that host programs read. Every function throws std::runtime_error with the path and a sentence.
// SPDX-License-Identifier: MIT
#ifndef HEED_PORTS_SOUND_FILES_HPP
#define HEED_PORTS_SOUND_FILES_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "files.hpp"

namespace host_files {

// At least one sample of a WAV file that wav.h reads, 16 kHz and mono. What is refused comes with the command that converts it.
std::vector<int16_t> read_wav(const std::string &path);

}  // namespace host_files

#endif
