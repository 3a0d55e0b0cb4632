// made_up_dreams FOLDER: a small model of llama2.c with random weights, and its tokenizer, from which heed_dreams is made where there is
// no trained one. SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>

#include "support/dreams_models.hpp"

namespace {

bool write(const std::filesystem::path &path, const heed_test::bytes &file) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  return bool(out.flush());
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const std::vector<std::string> words = heed_test::small_vocabulary();
  const heed_test::bytes model = heed_test::random_dreams({48, 52, 2, 6, 2, int32_t(words.size()), 64}, 1);
  return write(folder / "model.bin", model) && write(folder / "tokenizer.bin", heed_test::tokenizer_of(words)) ? 0 : 1;
}
