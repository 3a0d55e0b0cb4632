// See sound_files.hpp. SPDX-License-Identifier: MIT
#include "sound_files.hpp"

#include <stdexcept>

#include "files.hpp"
#include "wav_refusal.hpp"

namespace host_files {

std::vector<int16_t> read_wav(const std::string &path) {
  constexpr uint32_t rate = 16000;
  const std::vector<uint8_t> file = files::read(path);
  wav_file wav;
  const char *const error = wav_open(&wav, file.data(), file.size());
  if (error != nullptr || wav_fits(&wav, rate) == 0) throw std::runtime_error(wav::refusal(path, wav, error));
  std::vector<int16_t> samples(wav.n_samples);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = wav_sample(&wav, i);
  return samples;
}

}  // namespace host_files
