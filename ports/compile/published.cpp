// See published.hpp. SPDX-License-Identifier: MIT
#include "published.hpp"

#include <algorithm>
#include <set>

#include "../import/convert.hpp"
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

// The weights of an export to ONNX under the names of their modules. prefix: what names of one half of a model lack.
void published_model::add_onnx(const std::string &path, const std::string &prefix) {
  try {
    std::vector<std::string> beside;
    for (tensor &t : heed_import::read_model(read(path), path, &beside)) {
      if (!t.left_out.empty()) continue;
      std::string name = t.suggested.empty() ? t.name : t.suggested;
      name = name.substr(0, name.find("_merged_"));  // of both branches of a decoder
      t.name = name.compare(0, 6, "model.") == 0 ? name : prefix + name;
      const bool is_matrix = t.refused.empty() && t.dims.size() == 2;
      if (is_matrix && t.layout == HEED_IN_OUT) heed_import::transpose(t);
      if (is_matrix && t.dims[1] == 1) t.dims.pop_back();  // a norm, which is spread over the columns
      tensors.push_back(std::move(t));
    }
    paths.insert(paths.end(), beside.begin(), beside.end());
  } catch (const refusal &error) {
    throw refusal(path + ": " + error.what());
  }
}

namespace {

int32_t wanted_context(const choices &how) { return how.context > 0 ? how.context : int32_t{usual_context}; }

// The files of weights in safetensors: those that the index names, or model.safetensors, or all.
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
  return parts;
}

// What exporters put behind the names of graphs: floats first, then 8 bits. Graphs of 4 bits pack their weights in ways of their own.
const char *const export_endings[] = {"", "_fp16", "_quantized", "_int8", "_uint8"};

// An export to ONNX, here or in onnx/: one graph, or those of an encoder and a decoder. Returns whether there is one.
bool add_export(published_model &m, const std::filesystem::path &folder) {
  namespace fs = std::filesystem;
  for (const std::string ending : export_endings)
    for (const fs::path &here : {folder, folder / "onnx"}) {
      const std::string end = ending + ".onnx";
      const fs::path whole = here / ("model" + end), encoder = here / ("encoder_model" + end),
                     decoder = here / ("decoder_model_merged" + end);
      if (fs::exists(whole)) {
        m.add_onnx(whole.string(), "");
        return true;
      }
      if (fs::exists(encoder) && fs::exists(decoder)) {
        m.add_onnx(encoder.string(), "model.encoder.");
        m.add_onnx(decoder.string(), "model.decoder.");
        return true;
      }
    }
  return false;
}

[[noreturn]] void refuse_without_weights(const std::string &folder) {
  namespace fs = std::filesystem;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    const std::string end = entry.path().extension().string();
    if (end == ".bin" || end == ".pth" || end == ".pt")
      throw refusal(folder + ": " + entry.path().filename().string() +
                    " holds code of Python, which is not run here. Convert it:\n"
                    "  from transformers import AutoModel\n"
                    "  AutoModel.from_pretrained(FOLDER).save_pretrained(FOLDER, safe_serialization=True)");
  }
  std::string endings;
  for (const std::string ending : export_endings) endings += (endings.empty() ? "model" : ", model") + ending + ".onnx";
  throw refusal(folder + ": has no *.safetensors, and in itself and in onnx/ none of " + endings);
}

network read_folder(published_model &m, const std::string &folder, const choices &how) {
  namespace fs = std::filesystem;
  const fs::path here(folder);
  const std::string config = m.text(here / "config.json");
  const std::set<std::string> parts = files_of_weights(folder, m);
  for (const std::string &path : parts) m.add(path);
  if (parts.empty() && !add_export(m, here)) refuse_without_weights(folder);
  if (fs::exists(here / "tokenizer.json")) m.add((here / "tokenizer.json").string());
  network net = network_of_config(config, m.tensors, wanted_context(how));
  net.source = parts.empty() ? "ONNX" : "safetensors";
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
