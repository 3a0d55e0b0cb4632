// See published.hpp. SPDX-License-Identifier: MIT
#include "published.hpp"

#include <algorithm>
#include <set>

#include "../import/readers.hpp"
#include "weight_file.hpp"

namespace heed_compile {

using heed_import::file_bytes;

heed_import::span published_model::read(const std::string &path) {
  paths.push_back(path);
  files.push_back(std::make_unique<file_bytes>(path));
  return files.back()->all();
}

std::string published_model::text(const std::filesystem::path &path) {
  try {
    const heed_import::span all = read(path.string());
    return std::string(all.data, all.data + all.size);
  } catch (const refusal &error) {
    throw refusal(path.string() + ": " + error.what());
  }
}

void published_model::add(const std::string &path) {
  try {
    for (tensor &t : heed_import::read_model(read(path), path)) tensors.push_back(std::move(t));
  } catch (const refusal &error) {
    throw refusal(path + ": " + error.what());
  }
}

namespace {

int32_t wanted_context(const choices &how) { return how.context > 0 ? how.context : int32_t{usual_context}; }

// The files of weights: those that the index names, or model.safetensors, or all.
std::set<std::string> files_of_weights(const std::string &folder, published_model &m) {
  namespace fs = std::filesystem;
  const fs::path here(folder);
  std::set<std::string> parts;
  if (fs::exists(here / "model.safetensors.index.json")) {
    for (const std::string &name : files_of_index(m.text(here / "model.safetensors.index.json")))
      parts.insert((here / name).string());
  } else if (fs::exists(here / "model.safetensors")) {
    parts.insert((here / "model.safetensors").string());
  } else {
    for (const fs::directory_entry &entry : fs::directory_iterator(here))
      if (entry.path().extension() == ".safetensors") parts.insert(entry.path().string());
  }
  if (!parts.empty()) return parts;
  for (const fs::directory_entry &entry : fs::directory_iterator(here)) {
    const std::string end = entry.path().extension().string();
    if (end == ".bin" || end == ".pth" || end == ".pt")
      throw refusal(folder + ": " + entry.path().filename().string() +
                    " holds code of Python, which is not run here. Convert it:\n"
                    "  from transformers import AutoModel\n"
                    "  AutoModel.from_pretrained(FOLDER).save_pretrained(FOLDER, safe_serialization=True)");
  }
  throw refusal(folder + ": has no *.safetensors");
}

network read_folder(published_model &m, const std::string &folder, const choices &how) {
  namespace fs = std::filesystem;
  const fs::path here(folder);
  const std::string config = m.text(here / "config.json");
  for (const std::string &path : files_of_weights(folder, m)) m.add(path);
  if (fs::exists(here / "tokenizer.json")) m.add((here / "tokenizer.json").string());
  network net = network_of_config(config, m.tensors, wanted_context(how));
  net.source = "safetensors";
  if (fs::exists(here / "generation_config.json")) read_generation_config(m.text(here / "generation_config.json"), net);
  if (fs::exists(here / "preprocessor_config.json"))
    read_preprocessor_config(m.text(here / "preprocessor_config.json"), net);
  if (fs::exists(here / "1_Pooling" / "config.json"))
    read_pooling_config(m.text(here / "1_Pooling" / "config.json"), fs::exists(here / "2_Normalize"), net);
  return net;
}

network read_llama2(published_model &m, const std::filesystem::path &path, const choices &how) {
  const std::filesystem::path words = path.parent_path() / "tokenizer.bin";
  const heed_import::span model = m.read(path.string());
  try {
    m.tensors = read_checkpoint(model, std::filesystem::exists(words) ? m.read(words.string()) : heed_import::span());
  } catch (const refusal &error) {
    throw refusal(path.string() + ": " + error.what());
  }
  network net = network_of_gguf(m.tensors, wanted_context(how));
  net.source = "llama2.c";
  return net;
}

network read_gguf_file(published_model &m, const std::string &path, const choices &how) {
  const std::string end = std::filesystem::path(path).extension().string();
  if (end == ".safetensors") throw refusal(path + ": name its folder, which has config.json, too");
  m.add(path);
  try {
    network net = network_of_gguf(m.tensors, wanted_context(how));
    net.source = "GGUF";
    return net;
  } catch (const refusal &error) {
    throw refusal(path + ": " + error.what());
  }
}

}  // namespace

network read_published(published_model &m, const std::string &path, const choices &how) {
  network net;
  const std::filesystem::path here(path), checkpoint = here / "model.bin";
  if (std::filesystem::is_directory(path) && std::filesystem::exists(checkpoint) &&
      !std::filesystem::exists(here / "config.json")) {
    net = read_llama2(m, checkpoint, how);
  } else if (here.extension() == ".bin") {
    net = read_llama2(m, here, how);
  } else if (std::filesystem::is_directory(path)) {
    net = read_folder(m, path, how);
  } else {
    net = read_gguf_file(m, path, how);
  }
  net.digest = digest_of_files(m.paths);
  return net;
}

}  // namespace heed_compile
