// kwt_weights IN.tflite OUT.bin [f32|int8]: KWT-1's weights as the flat file of kwt_weights.h, f32 unless told
// otherwise. SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

#include "host_files.hpp"

namespace {

void convert(const std::string &in, const std::string &out, int32_t format) {
  const std::vector<uint32_t> file = host_files::read_tflite(in, format);
  const uint32_t one = 1;
  if (format != HEED_F32 && *reinterpret_cast<const char *>(&one) != 1)
    throw std::runtime_error("narrow weights are written on little-endian computers only");
  std::ofstream stream(out, std::ios::binary);
  for (const uint32_t word : file) {  // little endian whatever this computer is
    const char bytes[4] = {char(word), char(word >> 8), char(word >> 16), char(word >> 24)};
    stream.write(bytes, sizeof bytes);
  }
  stream.close();
  if (!stream) throw std::runtime_error(out + ": cannot be written");
  std::printf("%s: %zu bytes\n", out.c_str(), 4 * file.size());
}

}  // namespace

int main(int argc, char **argv) {
  const std::string format = argc == 4 ? argv[3] : "f32";
  if (argc < 3 || argc > 4 || (format != "int8" && format != "f32")) {
    std::fprintf(stderr, "usage: kwt_weights IN.tflite OUT.bin [f32|int8]\n");
    return 2;
  }
  try {
    convert(argv[1], argv[2], format == "int8" ? HEED_INT8 : HEED_F32);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "kwt_weights: %s\n", error.what());
    return 1;
  }
}
