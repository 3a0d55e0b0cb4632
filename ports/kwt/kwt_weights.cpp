// kwt_weights IN.tflite OUT.bin: KWT-1's weights as the flat file of kwt_weights.h. SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "host_files.hpp"
#include "tflite_weights.hpp"

namespace {

// Little endian whatever this computer is.
std::vector<char> little_endian(const kwt_weights &weights) {
  std::vector<char> file(sizeof weights);
  for (size_t at = 0; at < sizeof weights; at += 4) {
    uint32_t word;
    std::memcpy(&word, reinterpret_cast<const char *>(&weights) + at, 4);
    for (size_t i = 0; i < 4; ++i) file[at + i] = static_cast<char>(static_cast<uint8_t>(word >> 8 * i));
  }
  return file;
}

void convert(const std::string &in, const std::string &out) {
  const std::vector<uint8_t> model = host_files::read_file(in);
  const auto weights = std::make_unique<kwt_weights>();
  try {
    tflite::read_kwt(model.data(), model.size(), *weights);
  } catch (const std::exception &error) {
    throw std::runtime_error(in + ": " + error.what());
  }
  const std::vector<char> file = little_endian(*weights);
  std::ofstream stream(out, std::ios::binary);
  stream.write(file.data(), static_cast<std::streamsize>(file.size()));
  stream.close();
  if (!stream) throw std::runtime_error(out + ": cannot be written");
  std::printf("%s: %zu bytes, checksum %08x\n", out.c_str(), file.size(),
              static_cast<unsigned>(weights->header.checksum));
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: kwt_weights IN.tflite OUT.bin\n");
    return 2;
  }
  try {
    convert(argv[1], argv[2]);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "kwt_weights: %s\n", error.what());
    return 1;
  }
}
