// kwt_weights IN.tflite OUT.bin [f32|int8]: KWT-1's weights as the flat file of kwt_weights.h, f32 unless told
// otherwise. SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>
#include <string>

#include "../files.hpp"
#include "host_files.hpp"

namespace {

void convert(const std::string &in, const std::string &out, int32_t dtype) {
  const std::vector<uint32_t> file = host_files::read_tflite(in, dtype);
  if (dtype != HEED_F32) files::require_little_endian();
  files::write(out, file, {in});
}

}  // namespace

int main(int argc, char **argv) {
  const std::string dtype = argc == 4 ? argv[3] : "f32";
  if (argc < 3 || argc > 4 || (dtype != "int8" && dtype != "f32")) {
    std::fprintf(stderr, "usage: kwt_weights IN.tflite OUT.bin [f32|int8]\n");
    return 2;
  }
  try {
    convert(argv[1], argv[2], dtype == "int8" ? HEED_INT8 : HEED_F32);
    files::finish_standard_output();
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "kwt_weights: %s\n", error.what());
    return 1;
  }
}
