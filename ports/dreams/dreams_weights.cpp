// dreams_weights IN.bin OUT.bin [int8|f32]: llama2.c's model.bin as the flat file of dreams_model.h, int8 unless told
// otherwise. SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "../files.hpp"
#include "dreams_files.hpp"

namespace {

void convert(const std::string &in, const std::string &out, int32_t dtype) {
  const dreams_files::aligned_model model(dreams_files::read(in));
  files::write(out, dreams_files::flat_file(in, model.data(), model.size(), dtype), {in});
}

}  // namespace

int main(int argc, char **argv) {
  const std::string dtype = argc == 4 ? argv[3] : "int8";
  if (argc < 3 || argc > 4 || (dtype != "int8" && dtype != "f32")) {
    std::fprintf(stderr, "usage: dreams_weights IN.bin OUT.bin [int8|f32]\n");
    return 2;
  }
  try {
    convert(argv[1], argv[2], dtype == "int8" ? HEED_INT8 : HEED_F32);
    files::finish_standard_output();
    return 0;
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "dreams_weights: %s: there is not enough memory\n", argv[1]);
    return 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "dreams_weights: %s\n", error.what());
    return 1;
  }
}
