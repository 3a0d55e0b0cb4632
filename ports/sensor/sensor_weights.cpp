// sensor_weights FOLDER OUT [floats|integers]: the weights of the folder as a file of sensor_weights.h, or as an array
// of C if OUT ends in .c. sensor_weights --rows FILE OUT: a recording in the units of the network in integers.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "../files.hpp"
#include "sensor_files.hpp"

namespace {

void write(const std::string &path, const void *data, size_t n_bytes, const std::vector<std::string> &inputs) {
  files::require_little_endian();
  files::output_file out(path, inputs);
  if (path.size() > 2 && path.compare(path.size() - 2, 2, ".c") == 0) {
    const std::string declaration = "const uint32_t sensor_weights_words[" + std::to_string(n_bytes / 4) + "]";
    out.write("#include <stdint.h>\nextern " + declaration + ";\n" + declaration + " = {");
    for (size_t i = 0; i < n_bytes / 4; ++i) {
      uint32_t word;
      std::memcpy(&word, static_cast<const char *>(data) + 4 * i, 4);
      out.write((i % 8 ? " " : "\n") + std::to_string(word) + "u,");
    }
    out.write("\n};\n");
  } else {
    out.write(data, n_bytes);
  }
  out.finish();
  std::printf("%s: %zu bytes\n", path.c_str(), n_bytes);
}

void convert(const std::string &folder, const std::string &out, const std::string &kind) {
  const std::vector<std::string> inputs = {folder + "/weights.f32", folder + "/prototypes.f32", folder + "/input.f32"};
  const auto weights = sensor_files::read_weights(folder);
  if (kind == "floats") {
    write(out, weights.get(), sizeof *weights, inputs);
  } else {
    const auto integers = sensor_files::quantize(*weights, {sensor_files::read_recording(folder + "/input.f32")});
    write(out, integers.get(), sizeof *integers, inputs);
  }
}

}  // namespace

int main(int argc, char **argv) {
  const std::string first = argc > 1 ? argv[1] : "", kind = argc == 4 ? argv[3] : "floats";
  const bool rows = first == "--rows" && argc == 4;
  if (!rows && (argc < 3 || argc > 4 || first[0] == '-' || (kind != "floats" && kind != "integers"))) {
    std::fprintf(stderr,
                 "usage: sensor_weights FOLDER OUT[.c] [floats|integers]\n"
                 "       sensor_weights --rows RECORDING.f32 OUT\n");
    return 2;
  }
  try {
    if (rows) {
      const std::vector<int16_t> numbers = sensor_files::to_int16(sensor_files::read_recording(argv[2]));
      write(argv[3], numbers.data(), numbers.size() * sizeof numbers[0], {argv[2]});
    } else {
      convert(first, argv[2], kind);
    }
    files::finish_standard_output();
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "sensor_weights: %s\n", error.what());
    return 1;
  }
}
