// SPDX-License-Identifier: MIT
#ifndef HEED_PORTS_BASE64_HPP
#define HEED_PORTS_BASE64_HPP

#include <cstdint>
#include <string>

// Adds the bytes that a text in base64 stands for, up to its first '='. False if it has another character.
inline bool from_base64(const std::string &text, std::string &bytes) {
  static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t bits = 0;
  int n = 0;
  for (const char c : text) {
    if (c == '=') break;
    const size_t digit = digits.find(c);
    if (digit == std::string::npos) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit), n += 6;
    if (n >= 8) n -= 8, bytes += static_cast<char>(bits >> n & 255);
  }
  return true;
}

#endif
