// speech_weights FOLDER OUT.heed [f32|f16|int8|w8a8]: the flat file of speech_model.h from the model as npm has it, int8
// unless told otherwise. FOLDER has encoder_model.onnx, decoder_model_merged.onnx and the vocabulary: vocabulary.bin, or
// llama-tokenizer.js. SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "../output_file.hpp"
#include "speech_files.hpp"

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: speech_weights FOLDER OUT.heed [f32|f16|int8|w8a8]\n");
    return 2;
  }
  try {
    const std::string out = argv[2];
    std::vector<std::string> inputs;
    for (const char *name :
         {"/encoder_model.onnx", "/decoder_model_merged.onnx", "/vocabulary.bin", "/llama-tokenizer.js"})
      inputs.push_back(std::string(argv[1]) + name);
    const speech_files::model m = speech_files::convert(argv[1], speech_files::format_of(argc == 4 ? argv[3] : "int8"));
    files::write_whole(out, m.data(), m.size(), inputs);
    std::printf("%s: %zu bytes\n", out.c_str(), m.size());
    files::finish_standard_output();
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "speech_weights: %s\n", error.what());
    return 1;
  }
}
