// dreams_weights IN.bin OUT.bin [int8|f32]: llama2.c's model.bin as the flat file of dreams_model.h, int8 unless told
// otherwise. SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <fstream>
#include <string>
#include <vector>

#include "dreams_files.hpp"

namespace {

void convert(const std::string &in, const std::string &out, int32_t format) {
  const dreams_files::aligned_model model(dreams_files::read(in));
  const std::vector<uint32_t> file = dreams_files::flat_file(in, model.data(), model.size(), format);
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
  const std::string format = argc == 4 ? argv[3] : "int8";
  if (argc < 3 || argc > 4 || (format != "int8" && format != "f32")) {
    std::fprintf(stderr, "usage: dreams_weights IN.bin OUT.bin [int8|f32]\n");
    return 2;
  }
  try {
    convert(argv[1], argv[2], format == "int8" ? HEED_INT8 : HEED_F32);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "dreams_weights: %s\n", error.what());
    return 1;
  }
}
