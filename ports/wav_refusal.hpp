// What programs say of a WAV file that they do not take, with the command that converts it. SPDX-License-Identifier: MIT
#ifndef HEED_PORTS_WAV_REFUSAL_HPP
#define HEED_PORTS_WAV_REFUSAL_HPP

#include <string>

#include "wav.h"

namespace wav {

// As a shell takes it for a name, and a program for no option.
inline std::string quoted(const std::string &path) {
  const std::string plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%";
  const std::string name = path.compare(0, 1, "-") == 0 ? "./" + path : path;
  if (!name.empty() && name.find_first_not_of(plain) == std::string::npos) return name;
  std::string text = "'";
  for (const char c : name) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

inline std::string command(const std::string &path) { return "sox " + quoted(path) + " -r 16000 -c 1 -b 16 out.wav"; }

inline std::string properties(const wav_file &wav) {
  return "format " + std::to_string(wav.format) + ", " + std::to_string(wav.channels) +
         (wav.channels == 1 ? " channel, " : " channels, ") + std::to_string(wav.rate) + " Hz, " +
         std::to_string(wav.bits) + " bits";
}

// error: what wav_open said, or null for a good file of another rate or of more channels than one.
inline std::string refusal(const std::string &path, const wav_file &wav, const char *error) {
  if (error != nullptr && wav.is_convertible == 0) return path + ": " + error;
  std::string why = error != nullptr ? error : "has another rate, or more channels than one";
  if (wav.format != 0)
    why += ". It has " + properties(wav) +
           "; this program needs PCM (format 1) of 8, 16, 24 or 32 bits, or floats (format 3) of 32 bits, 1 channel, "
           "16000 Hz";
  return path + ": " + why + ". This command converts it: " + command(path);
}

}  // namespace wav

#endif
