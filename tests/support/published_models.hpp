// Small models of random weights, in files as people publish them: GGUF, and folders of safetensors with config.json.
// SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_PUBLISHED_MODELS_HPP
#define HEED_TESTS_SUPPORT_PUBLISHED_MODELS_HPP

#include <string>
#include <vector>

namespace published {

// Every kind of model: "gguf-..." is one file, the others are folders.
std::vector<std::string> kinds();

// Writes FOLDER/KIND.gguf or the folder FOLDER/KIND/ and returns its path. The numbers of a tensor depend on its name
// alone: models whose tensors have the same names have the same weights (llama and llama-sharded, say).
std::string write(const std::string &folder, const std::string &kind);

}  // namespace published

#endif
