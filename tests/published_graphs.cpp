// published_graphs FOLDER: writes small ONNX graphs as exporters write them: a BERT, a ViT, a GPT, and a convolutional network.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdio>
#include <fstream>

#include "support/published_graphs.hpp"

int main(int argc, char **argv) {
  if (argc != 2) return std::fputs("published_graphs FOLDER\n", stderr), 2;
  for (const published_graphs::file &f : published_graphs::all()) {
    std::ofstream out(std::string(argv[1]) + "/" + f.name + ".onnx", std::ios::binary);
    out.write(reinterpret_cast<const char *>(f.content.data()), static_cast<std::streamsize>(f.content.size()));
    if (!out.flush()) return std::fprintf(stderr, "%s.onnx: cannot be written\n", f.name.c_str()), 1;
  }
  return 0;
}
