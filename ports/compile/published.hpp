// The files of a published model: one of GGUF, or a folder with config.json. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_PUBLISHED_HPP
#define HEED_COMPILE_PUBLISHED_HPP

#include <filesystem>
#include <memory>

#include "../import/file_bytes.hpp"
#include "program.hpp"

namespace heed_compile {

// The bytes of the files stay as long as the tensors.
struct published_model {
  std::vector<std::unique_ptr<heed_import::file_bytes>> files;
  std::vector<std::string> paths;
  std::vector<tensor> tensors;

  heed_import::span read(const std::string &path);
  std::string text(const std::filesystem::path &path);
  // The tensors of a file.
  void add(const std::string &path);
  void add_onnx(const std::string &path, const std::string &prefix);
};

// A checkpoint of llama2.c and its tokenizer.bin (or no bytes), as GGUF would have them.
std::vector<tensor> read_checkpoint(heed_import::span model, heed_import::span words);

// Throws refusal, which names the file.
network read_published(published_model &m, const std::string &path, const choices &how);

}  // namespace heed_compile

#endif
