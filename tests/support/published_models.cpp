// See published_models.hpp. Names, shapes and keys are those of transformers' checkpoints and configurations, and those
// that llama.cpp's converters write. SPDX-License-Identifier: MIT
#include "published_models.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "random.hpp"

namespace published {
namespace {

using json = nlohmann::ordered_json;
using dimensions = std::vector<uint64_t>;
using strings = std::vector<std::string>;

// ------------------------------------------------------------------------------------------------------------- numbers

void put(std::string &to, uint64_t number, int n_bytes) {
  for (int i = 0; i < n_bytes; ++i) to += static_cast<char>(number >> (8 * i));
}
uint32_t bits_of(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, 4);
  return bits;
}
// To the nearest number of 16 bits; numbers below the normal ones of F16 become 0.
uint16_t narrowed(float number, const std::string &format) {
  const int dropped = format == "BF16" ? 16 : 13;
  const uint32_t bits = bits_of(std::fabs(number)), sign = bits_of(number) >> 31 << 15;
  uint32_t rounded = (bits + ((1u << (dropped - 1)) - 1) + (bits >> dropped & 1)) >> dropped;
  if (format == "F16") rounded = rounded < (113u << 10) ? 0 : rounded - (112u << 10);
  return static_cast<uint16_t>(sign | rounded);
}

struct tensor {
  std::string name;
  dimensions dims;
  std::vector<float> numbers;
  std::string format;  // of safetensors; empty: that of the model
};

class weights {
 public:
  // Outputs are rows. Results are as large as the inputs if gain is 1.
  void matrix(const std::string &name, int n_out, int n_in, float gain = 1) {
    random(name, {count(n_out), count(n_in)}, 0, gain / std::sqrt(static_cast<float>(n_in)));
  }
  void vector(const std::string &name, int n, float mean, float spread) { random(name, {count(n)}, mean, spread); }
  void linear(const std::string &name, int n_out, int n_in, float gain = 1) {
    matrix(name + ".weight", n_out, n_in, gain);
    vector(name + ".bias", n_out, 0, 0.2f);
  }
  // GPT-2's Conv1D: inputs are rows.
  void turned(const std::string &name, int n_out, int n_in, float gain = 1) {
    random(name + ".weight", {count(n_in), count(n_out)}, 0, gain / std::sqrt(static_cast<float>(n_in)));
    vector(name + ".bias", n_out, 0, 0.2f);
  }
  void layer_norm(const std::string &name, int n, const char *weight = ".weight", const char *bias = ".bias") {
    vector(name + weight, n, 1, 0.2f);
    vector(name + bias, n, 0, 0.2f);
  }
  void random(const std::string &name, const dimensions &dims, float mean, float spread) {
    uint64_t seed = 14695981039346656037u, n = 1;
    for (const char letter : name) seed = (seed ^ static_cast<uint8_t>(letter)) * 1099511628211u;
    for (const uint64_t dim : dims) n *= dim;
    heed_test::random_source r(seed);
    std::vector<float> numbers;
    for (; n > 0; --n) numbers.push_back(mean + spread * r.bell() / 1.1547f);
    given(name, dims, std::move(numbers));
  }
  void given(const std::string &name, const dimensions &dims, std::vector<float> &&numbers, const char *format = "") {
    all.push_back({name, dims, std::move(numbers), format});
  }
  std::vector<tensor> all;

 private:
  static uint64_t count(int n) { return static_cast<uint64_t>(n); }
};

strings words(const char *text) {
  std::istringstream all(text);
  return {std::istream_iterator<std::string>(all), {}};
}

bool begins(const std::string &text, const std::string &with) { return text.compare(0, with.size(), with) == 0; }
bool ends(const std::string &text, const std::string &with) {
  return text.size() >= with.size() && text.compare(text.size() - with.size(), with.size(), with) == 0;
}

void write_file(const std::string &path, const std::string &content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.flush()) throw std::runtime_error(path + " cannot be written");
}

// -------------------------------------------------------------------------------------------------------- vocabularies

struct vocabulary {
  strings tokens, merges, special;
  int first = -1, end = -1;  // the tokens that begin and end a text
  int id_of(const std::string &token) const {
    for (size_t i = 0; i < tokens.size(); ++i)
      if (tokens[i] == token) return static_cast<int>(i);
    return -1;
  }
};

std::string utf8_of(uint32_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  return {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
}

// GPT-2's letters for bytes: those that can be printed stand for themselves, and come first.
strings byte_letters() {
  strings printed, others;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool is_printed = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    (is_printed ? printed : others).push_back(utf8_of(is_printed ? byte : 256 + static_cast<uint32_t>(others.size())));
  }
  printed.insert(printed.end(), others.begin(), others.end());
  return printed;
}

vocabulary byte_level(const strings &before, const strings &after, const std::string &first, const std::string &end) {
  vocabulary v;
  v.merges = {"\u0120 t", "h e", "i n", "r e", "o n", "\u0120t he", "e r", "\u0120 a", "a t", "e n", "\u0120 w"};
  v.tokens = before;
  for (const std::string &letter : byte_letters()) v.tokens.push_back(letter);
  for (std::string both : v.merges) v.tokens.push_back(both.erase(both.find(' '), 1));
  v.tokens.insert(v.tokens.end(), after.begin(), after.end());
  v.special = before;
  v.special.insert(v.special.end(), after.begin(), after.end());
  v.first = v.id_of(first), v.end = v.id_of(end);
  return v;
}

json added_tokens(const vocabulary &v) {
  json all = json::array();
  for (const std::string &token : v.special) {
    all.push_back(json::parse(R"({"id": 0, "content": "", "single_word": false, "lstrip": false, "rstrip": false,
                                  "normalized": false, "special": true})"));
    all.back()["id"] = v.id_of(token), all.back()["content"] = token;
  }
  return all;
}

// A text between tokens, which may be empty.
json between(const vocabulary &v, const std::string &before, const std::string &after) {
  json all = json::parse(R"({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}})");
  const auto add = [&](const char *to, const char *kind, const std::string &id, int type) {
    if (!id.empty()) all[to].push_back({{kind, {{"id", id}, {"type_id", type}}}});
  };
  for (const char *const to : {"single", "pair"})
    add(to, "SpecialToken", before, 0), add(to, "Sequence", "A", 0), add(to, "SpecialToken", after, 0);
  add("pair", "Sequence", "B", 1), add("pair", "SpecialToken", after, 1);
  for (const std::string &name : {before, after})
    if (!name.empty()) all["special_tokens"][name] = {{"id", name}, {"ids", {v.id_of(name)}}, {"tokens", {name}}};
  return all;
}

// parts: normalizer, pre_tokenizer, decoder and model, which has no vocabulary yet.
std::string tokenizer_of(const vocabulary &v, const std::string &parts, const json &around) {
  json all = json::parse(R"({"version": "1.0", "truncation": null, "padding": null})");
  all["added_tokens"] = added_tokens(v);
  all.update(json::parse(parts));
  all["post_processor"] = around;
  json &ids = all["model"]["vocab"] = json::object();
  for (size_t i = 0; i < v.tokens.size(); ++i) ids[v.tokens[i]] = i;
  if (!v.merges.empty()) all["model"]["merges"] = v.merges;
  return all.dump();
}

// digits: how many of them Llama 3 (3) and Qwen (1) leave together; 0: words are GPT-2's.
std::string byte_level_tokenizer(const vocabulary &v, int digits, const std::string &normalizer, const json &around) {
  std::string split = R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})";
  if (digits > 0) {
    const std::string some_digits = digits == 1 ? "\\p{N}" : "\\p{N}{1,3}";
    const std::string pattern = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" + some_digits +
                                "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    split = R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": )" + json(pattern).dump() +
            R"(}, "behavior": "Isolated", "invert": false},
                {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]})";
  }
  const std::string whole = digits == 3 ? R"(, "ignore_merges": true)" : "";
  const std::string parts = R"({"normalizer": )" + normalizer + R"(, "pre_tokenizer": )" + split + R"(,
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
              "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false)" +
                            whole + "}}";
  return tokenizer_of(v, parts, around);
}

vocabulary wordpiece() {
  vocabulary v;
  v.special = v.tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (const char letter : std::string("!,-.?'0123456789abcdefghijklmnopqrstuvwxyz")) v.tokens.push_back({letter});
  for (char letter = 'a'; letter <= 'z'; ++letter) v.tokens.push_back(std::string("##") + letter);
  const strings all =
      words("the of and this film was is it to in on good bad not very movie ##ing ##ed ##er ##ly ##the");
  v.tokens.insert(v.tokens.end(), all.begin(), all.end());
  return v;
}
std::string wordpiece_tokenizer(const vocabulary &v) {
  const char *const parts = R"({"normalizer": {"type": "BertNormalizer", "clean_text": true,
      "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100}})";
  return tokenizer_of(v, parts, between(v, "[CLS]", "[SEP]"));
}

// ------------------------------------------------------------------------------------------------------------ decoders

struct sizes {
  int layers = 3, dim = 64, heads = 4, kv_heads = 2, head_dim = 16, ffn = 96, tokens = 0, positions = 128;
};

// What the decoders of Llama's line call their tensors, in this order. Gemma 2 and 3 have post1 and post2.
enum {
  embedding,
  block,
  norm1,
  q,
  k,
  v,
  qkv,
  o,
  q_norm,
  k_norm,
  norm2,
  gate,
  up,
  gate_up,
  down,
  last_norm,
  head,
  post1,
  post2
};
const strings of_transformers = words(
    "model.embed_tokens model.layers. input_layernorm self_attn.q_proj self_attn.k_proj self_attn.v_proj "
    "self_attn.qkv_proj self_attn.o_proj self_attn.q_norm self_attn.k_norm post_attention_layernorm mlp.gate_proj "
    "mlp.up_proj mlp.gate_up_proj mlp.down_proj model.norm lm_head");
const strings of_gguf = words(
    "token_embd blk. attn_norm attn_q attn_k attn_v attn_qkv attn_output attn_q_norm attn_k_norm ffn_norm "
    "ffn_gate ffn_up ffn_up ffn_down output_norm output post_attention_norm post_ffw_norm");

// What they have.
struct llama_parts {
  bool has_bias = false, has_qk_norm = false, is_fused = false, has_post_norm = false, is_tied = false;
  float norm_mean = 1;  // 0: 1 is added to the weights of norms when they are used
};

void add_llama(weights &w, const sizes &s, strings n, const llama_parts &p) {
  if (p.has_post_norm && n.size() <= post1) {
    n[norm2] = "pre_feedforward_layernorm";
    n.insert(n.end(), {"post_attention_layernorm", "post_feedforward_layernorm"});
  }
  const int queries = s.heads * s.head_dim, keys = s.kv_heads * s.head_dim;
  w.matrix(n[embedding] + ".weight", s.tokens, s.dim, p.is_tied ? 3 : 8);
  for (int i = 0; i < s.layers; ++i) {
    const std::string b = n[block] + std::to_string(i) + ".";
    const auto norm = [&](const std::string &name, int n_numbers, float more) {
      w.vector(b + name + ".weight", n_numbers, p.norm_mean + more, 0.2f);
    };
    norm(n[norm1], s.dim, 0);
    if (p.is_fused) w.matrix(b + n[qkv] + ".weight", queries + 2 * keys, s.dim, 1.3f);
    for (const auto &[name, n_out] : {std::pair{n[q], queries}, {n[k], keys}, {n[v], keys}}) {
      if (!p.is_fused) w.matrix(b + name + ".weight", n_out, s.dim, 1.3f);
      if (p.has_bias) w.vector(b + name + ".bias", n_out, 0, 0.3f);
    }
    w.matrix(b + n[o] + ".weight", s.dim, queries);
    if (p.has_qk_norm) norm(n[q_norm], s.head_dim, 0.3f), norm(n[k_norm], s.head_dim, 0.3f);
    if (p.has_post_norm) norm(n[post1], s.dim, 0), norm(n[post2], s.dim, 0);
    norm(n[norm2], s.dim, 0);
    if (p.is_fused)
      w.matrix(b + n[gate_up] + ".weight", 2 * s.ffn, s.dim, 1.3f);
    else
      w.matrix(b + n[gate] + ".weight", s.ffn, s.dim, 1.3f), w.matrix(b + n[up] + ".weight", s.ffn, s.dim, 1.3f);
    w.matrix(b + n[down] + ".weight", s.dim, s.ffn);
  }
  w.vector(n[last_norm] + ".weight", s.dim, p.norm_mean, 0.2f);
  if (!p.is_tied) w.matrix(n[head] + ".weight", s.tokens, s.dim, 3);
}

// A mask of the past, which old checkpoints have among their weights.
std::vector<float> past_mask(int n) {
  std::vector<float> mask;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) mask.push_back(j <= i ? 1.0f : 0.0f);
  return mask;
}
dimensions mask_dims(const sizes &s) {
  return {1, 1, static_cast<uint64_t>(s.positions), static_cast<uint64_t>(s.positions)};
}

void add_gpt2(weights &w, const sizes &s) {
  w.matrix("wte.weight", s.tokens, s.dim, 3);
  w.matrix("wpe.weight", s.positions, s.dim, 2);
  for (int i = 0; i < s.layers; ++i) {
    const std::string b = "h." + std::to_string(i) + ".";
    w.layer_norm(b + "ln_1", s.dim);
    w.given(b + "attn.bias", mask_dims(s), past_mask(s.positions));
    w.turned(b + "attn.c_attn", 3 * s.dim, s.dim, 1.3f);
    w.turned(b + "attn.c_proj", s.dim, s.dim);
    w.layer_norm(b + "ln_2", s.dim);
    w.turned(b + "mlp.c_fc", s.ffn, s.dim, 1.3f);
    w.turned(b + "mlp.c_proj", s.dim, s.ffn, 1.5f);
  }
  w.layer_norm("ln_f", s.dim);
}

void add_neox(weights &w, const sizes &s, int rotary_dim) {
  w.matrix("gpt_neox.embed_in.weight", s.tokens, s.dim, 8);
  for (int i = 0; i < s.layers; ++i) {
    const std::string b = "gpt_neox.layers." + std::to_string(i) + ".";
    w.layer_norm(b + "input_layernorm", s.dim);
    w.layer_norm(b + "post_attention_layernorm", s.dim);
    w.given(b + "attention.bias", mask_dims(s), past_mask(s.positions), "BOOL");
    w.given(b + "attention.masked_bias", {}, {-1e9f});
    std::vector<float> frequencies;
    for (int k = 0; k < rotary_dim; k += 2)
      frequencies.push_back(std::pow(10000.0f, -static_cast<float>(k) / static_cast<float>(rotary_dim)));
    w.given(b + "attention.rotary_emb.inv_freq", {frequencies.size()}, std::move(frequencies));
    w.linear(b + "attention.query_key_value", 3 * s.dim, s.dim, 1.3f);
    w.linear(b + "attention.dense", s.dim, s.dim);
    w.linear(b + "mlp.dense_h_to_4h", s.ffn, s.dim, 1.3f);
    w.linear(b + "mlp.dense_4h_to_h", s.dim, s.ffn, 1.5f);
  }
  w.layer_norm("gpt_neox.final_layer_norm", s.dim);
  w.matrix("embed_out.weight", s.tokens, s.dim, 3);
}

// GPT-2 and GPT-NeoX have the same names in GGUF.
void add_gguf_gpt(weights &w, const sizes &s, bool is_gpt2) {
  w.matrix("token_embd.weight", s.tokens, s.dim, is_gpt2 ? 3 : 8);
  if (is_gpt2) w.matrix("position_embd.weight", s.positions, s.dim, 2);
  for (int i = 0; i < s.layers; ++i) {
    const std::string b = "blk." + std::to_string(i) + ".";
    w.layer_norm(b + "attn_norm", s.dim);
    w.linear(b + "attn_qkv", 3 * s.dim, s.dim, 1.3f);
    w.linear(b + "attn_output", s.dim, s.dim);
    w.layer_norm(b + "ffn_norm", s.dim);
    w.linear(b + "ffn_up", s.ffn, s.dim, 1.3f);
    w.linear(b + "ffn_down", s.dim, s.ffn, 1.5f);
  }
  w.layer_norm("output_norm", s.dim);
  if (!is_gpt2) w.matrix("output.weight", s.tokens, s.dim, 3);
}

// ------------------------------------------------------------------------------------------------------------ encoders

// What BERT, DistilBERT and ViT call the parts of a layer: where it is, q, k, v, behind attention, up, down, norms.
const strings of_bert = words(
    "encoder.layer. attention.self.query attention.self.key attention.self.value attention.output.dense "
    "intermediate.dense output.dense attention.output.LayerNorm output.LayerNorm");
const strings of_distilbert = words(
    "transformer.layer. attention.q_lin attention.k_lin attention.v_lin attention.out_lin ffn.lin1 ffn.lin2 "
    "sa_layer_norm output_layer_norm");
const strings of_vit = words(
    "encoder.layer. attention.attention.query attention.attention.key attention.attention.value "
    "attention.output.dense intermediate.dense output.dense layernorm_before layernorm_after");

void add_encoder(weights &w, const std::string &prefix, const sizes &s, const strings &n, bool has_old_norms = false) {
  for (int i = 0; i < s.layers; ++i) {
    const std::string b = prefix + n[0] + std::to_string(i) + ".";
    for (size_t part = 1; part < 5; ++part) w.linear(b + n[part], s.dim, s.dim, 1.3f);
    w.linear(b + n[5], s.ffn, s.dim, 1.3f);
    w.linear(b + n[6], s.dim, s.ffn, 1.5f);
    for (const std::string &name : {n[7], n[8]})
      w.layer_norm(b + name, s.dim, has_old_norms ? ".gamma" : ".weight", has_old_norms ? ".beta" : ".bias");
  }
}

// n_types 0: there is no table of types. old: BERT's first checkpoints call the weights of norms gamma and beta.
void add_bert_embeddings(weights &w, const std::string &prefix, const sizes &s, int n_types,
                         bool has_old_norms = false) {
  const std::string e = prefix + "embeddings.";
  w.matrix(e + "word_embeddings.weight", s.tokens, s.dim, 8);
  w.matrix(e + "position_embeddings.weight", s.positions, s.dim, 4);
  if (n_types > 0) w.matrix(e + "token_type_embeddings.weight", n_types, s.dim, 4);
  w.layer_norm(e + "LayerNorm", s.dim, has_old_norms ? ".gamma" : ".weight", has_old_norms ? ".beta" : ".bias");
}

void add_labels(json &config, const strings &labels) {
  for (size_t i = 0; i < labels.size(); ++i)
    config["id2label"][std::to_string(i)] = labels[i], config["label2id"][labels[i]] = i;
}

// --------------------------------------------------------------------------------------------------------------- files

std::string safetensors(const weights &w, const std::string &format) {
  json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const tensor &t : w.all) {
    const std::string &as = t.format.empty() ? format : t.format;
    const size_t begin = data.size();
    for (const float number : t.numbers) {
      if (as == "F32")
        put(data, bits_of(number), 4);
      else if (as == "BOOL" || as == "I64")
        put(data, static_cast<uint64_t>(number), as == "BOOL" ? 1 : 8);
      else
        put(data, narrowed(number, as), 2);
    }
    header[t.name] = {{"dtype", as}, {"shape", t.dims}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string file;
  put(file, text.size(), 8);
  return file + text + data;
}

// Metadata of GGUF, in its types of values.
class gguf_keys {
 public:
  void number(const std::string &key, int value) { begin(key, 4), put(bytes, static_cast<uint64_t>(value), 4); }
  void real(const std::string &key, float value) { begin(key, 6), put(bytes, bits_of(value), 4); }
  void flag(const std::string &key, bool value) { begin(key, 7), put(bytes, value, 1); }
  void text(const std::string &key, const std::string &value) { begin(key, 8), add(value); }
  void texts(const std::string &key, const strings &values) {
    list(key, 8, values.size());
    for (const std::string &value : values) add(value);
  }
  void list(const std::string &key, int type, size_t n) {
    begin(key, 9), put(bytes, uint64_t(type), 4), put(bytes, n, 8);
  }
  void add(const std::string &value) { put(bytes, value.size(), 8), bytes += value; }
  std::string bytes;
  size_t count = 0;

 private:
  void begin(const std::string &key, int type) { add(key), put(bytes, uint64_t(type), 4), ++count; }
};

std::string gguf(const gguf_keys &keys, const weights &w) {
  std::string file = "GGUF", data;
  gguf_keys names;
  for (const tensor &t : w.all) {
    names.add(t.name);
    put(names.bytes, t.dims.size(), 4);
    for (size_t i = t.dims.size(); i > 0; --i) put(names.bytes, t.dims[i - 1], 8);
    put(names.bytes, 0, 4);  // F32
    put(names.bytes, data.size(), 8);
    for (const float number : t.numbers) put(data, bits_of(number), 4);
    data.resize((data.size() + 31) / 32 * 32, 0);
  }
  put(file, 3, 4), put(file, w.all.size(), 8), put(file, keys.count, 8);
  file += keys.bytes + names.bytes;
  file.resize((file.size() + 31) / 32 * 32, 0);
  return file + data;
}

// SentencePiece's tokens: special ones, bytes, pieces, of which earlier ones are merged first. Returns their number.
int add_sentencepiece(gguf_keys &k, const std::string &family) {
  const bool is_gemma = begins(family, "gemma");
  strings tokens = is_gemma ? strings{"<pad>", "<eos>", "<bos>", "<unk>"} : strings{"<unk>", "<s>", "</s>"};
  if (family == "phi3") tokens.push_back("<|endoftext|>");
  const size_t n_special = tokens.size(), unknown = is_gemma ? 3 : 0;
  for (const char high : std::string("0123456789ABCDEF"))
    for (const char low : std::string("0123456789ABCDEF")) tokens.push_back(std::string("<0x") + high + low + ">");
  const size_t n_known = tokens.size();
  for (const char *const piece : {"\u2581t", "er", "in", "\u2581a", "en", "on", "\u2581th", "\u2581the"})
    tokens.push_back(piece);
  for (const char letter : std::string("etaoinshrdlu.,")) tokens.push_back({letter});
  tokens.push_back("\u2581");
  k.text("tokenizer.ggml.model", "llama"), k.text("tokenizer.ggml.pre", "default");
  k.texts("tokenizer.ggml.tokens", tokens);
  k.list("tokenizer.ggml.scores", 6, tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) put(k.bytes, bits_of(i < n_known ? 0.0f : -float(i - n_known)), 4);
  k.list("tokenizer.ggml.token_type", 5, tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i)
    put(k.bytes, i == unknown ? 2 : i < n_special ? 3 : i < n_known ? 6 : 1, 4);
  k.number("tokenizer.ggml.bos_token_id", is_gemma ? 2 : 1), k.number("tokenizer.ggml.eos_token_id", is_gemma ? 1 : 2);
  k.number("tokenizer.ggml.unknown_token_id", static_cast<int>(unknown));
  if (is_gemma) k.number("tokenizer.ggml.padding_token_id", 0), k.flag("tokenizer.ggml.add_space_prefix", false);
  k.flag("tokenizer.ggml.add_bos_token", true), k.flag("tokenizer.ggml.add_eos_token", false);
  return static_cast<int>(tokens.size());
}

int add_byte_level(gguf_keys &k, const vocabulary &v, const std::string &rule) {
  k.text("tokenizer.ggml.model", "gpt2"), k.text("tokenizer.ggml.pre", rule);
  k.texts("tokenizer.ggml.tokens", v.tokens);
  k.list("tokenizer.ggml.token_type", 5, v.tokens.size());
  for (const std::string &token : v.tokens)
    put(k.bytes, std::count(v.special.begin(), v.special.end(), token) ? 3 : 1, 4);
  k.texts("tokenizer.ggml.merges", v.merges);
  k.number("tokenizer.ggml.bos_token_id", v.first), k.number("tokenizer.ggml.eos_token_id", v.end);
  if (rule == "llama-bpe" || rule == "qwen2") k.flag("tokenizer.ggml.add_bos_token", rule == "llama-bpe");
  return static_cast<int>(v.tokens.size());
}

const strings llama_special = {"<|begin_of_text|>", "<|end_of_text|>"},
              qwen_special = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}, gpt_special = {"<|endoftext|>"},
              roberta_special = {"<s>", "<pad>", "</s>", "<unk>"};

// The converter marks the beginning of a word instead of what goes on.
int add_wordpiece(gguf_keys &k, const vocabulary &v) {
  strings tokens;
  for (const std::string &token : v.tokens) {
    const bool is_special = std::count(v.special.begin(), v.special.end(), token) > 0;
    tokens.push_back(is_special ? token : begins(token, "##") ? token.substr(2) : "\u2581" + token);
  }
  k.text("tokenizer.ggml.model", "bert"), k.text("tokenizer.ggml.pre", "default");
  k.texts("tokenizer.ggml.tokens", tokens);
  k.list("tokenizer.ggml.token_type", 5, tokens.size());
  for (const std::string &token : v.tokens)
    put(k.bytes, std::count(v.special.begin(), v.special.end(), token) ? 3 : 1, 4);
  k.number("tokenizer.ggml.token_type_count", 2);
  k.number("tokenizer.ggml.padding_token_id", 0), k.number("tokenizer.ggml.unknown_token_id", 1);
  k.number("tokenizer.ggml.cls_token_id", 2), k.number("tokenizer.ggml.seperator_token_id", 3);
  return static_cast<int>(tokens.size());
}

// The same numbers as those of the folder "bert".
std::string gguf_bert() {
  sizes s;
  gguf_keys k;
  k.text("general.architecture", "bert"), k.text("general.name", "bert");
  k.number("bert.block_count", s.layers), k.number("bert.context_length", s.positions);
  k.number("bert.embedding_length", s.dim), k.number("bert.feed_forward_length", 128);
  k.number("bert.attention.head_count", s.heads), k.real("bert.attention.layer_norm_epsilon", 1e-12f);
  k.flag("bert.attention.causal", false), k.number("bert.pooling_type", 1);
  s.tokens = add_wordpiece(k, wordpiece());
  weights w, of_gguf;
  add_bert_embeddings(w, "", s, 2, false);
  s.ffn = 128;
  add_encoder(w, "", s, of_bert, false);
  const std::pair<std::string, std::string> names[] = {{"embeddings.word_embeddings", "token_embd"},
                                                       {"embeddings.position_embeddings", "position_embd"},
                                                       {"embeddings.token_type_embeddings", "token_types"},
                                                       {"embeddings.LayerNorm", "token_embd_norm"},
                                                       {"encoder.layer", "blk"},
                                                       {"attention.self.query", "attn_q"},
                                                       {"attention.self.key", "attn_k"},
                                                       {"attention.self.value", "attn_v"},
                                                       {"attention.output.dense", "attn_output"},
                                                       {"attention.output.LayerNorm", "attn_output_norm"},
                                                       {"intermediate.dense", "ffn_up"},
                                                       {"output.dense", "ffn_down"},
                                                       {"output.LayerNorm", "layer_output_norm"}};
  for (tensor &t : w.all) {
    for (const auto &[from, to] : names)
      if (const size_t at = t.name.find(from); at != std::string::npos) t.name.replace(at, from.size(), to);
    of_gguf.all.push_back(t);
  }
  return gguf(k, of_gguf);
}

// kind: what follows "gguf-".
std::string gguf_of(const std::string &kind) {
  if (kind == "bert") return gguf_bert();
  const std::string family = kind.substr(0, kind.find('-')), f = family + ".";
  const bool is_gemma = begins(family, "gemma"), is_gpt = begins(family, "gpt"), is_llama = family == "llama";
  sizes s;
  llama_parts p;
  if (is_gpt) s.kv_heads = s.heads, s.ffn = family == "gpt2" ? 4 * s.dim : 128;
  if (family == "gemma") s.kv_heads = 1;
  if (is_gemma || family == "qwen3") s.head_dim = 32;
  if (is_gemma) s.layers = family == "gemma3" ? 7 : 4;  // each sixth layer of Gemma 3 sees everything
  p.has_bias = family == "qwen2", p.is_fused = family == "phi3",
  p.has_qk_norm = family == "qwen3" || family == "gemma3";
  p.has_post_norm = family == "gemma2" || family == "gemma3", p.is_tied = is_gemma || ends(kind, "-tied");
  gguf_keys k;
  k.text("general.architecture", family), k.text("general.type", "model"), k.text("general.name", kind);
  k.number("general.file_type", 0), k.number("general.quantization_version", 2);
  k.number(f + "block_count", s.layers), k.number(f + "context_length", s.positions);
  k.number(f + "embedding_length", s.dim), k.number(f + "feed_forward_length", s.ffn);
  k.number(f + "attention.head_count", s.heads);
  if (is_gpt) {
    k.real(f + "attention.layer_norm_epsilon", 1e-5f);
  } else {
    k.number(f + "attention.head_count_kv", s.kv_heads);
    k.real(f + "attention.layer_norm_rms_epsilon", is_gemma || begins(family, "qwen") ? 1e-6f : 1e-5f);
  }
  if (is_gemma || family == "qwen3")
    k.number(f + "attention.key_length", s.head_dim), k.number(f + "attention.value_length", s.head_dim);
  if (is_llama || family == "phi3") k.number(f + "rope.dimension_count", ends(kind, "-partial") ? 12 : s.head_dim);
  const float base = begins(family, "qwen") || family == "gemma3" ? 1e6f
                     : kind == "llama-llama3"                     ? 500000.0f
                                                                  : 10000.0f;
  if (!is_gpt && family != "gemma" && family != "gemma2") k.real(f + "rope.freq_base", base);
  if (kind == "llama-linear" || kind == "llama-yarn")
    k.text(f + "rope.scaling.type", kind.substr(6)), k.real(f + "rope.scaling.factor", 4);
  if (kind == "llama-yarn") k.number(f + "rope.scaling.original_context_length", 32);
  if (kind == "gemma3-local") {  // as 4B and larger ones, converted by a newer converter
    k.text(f + "rope.scaling.type", "linear"), k.real(f + "rope.scaling.factor", 8);
    k.real(f + "rope.freq_base_swa", 20000);
  }
  if (family == "gptneox")
    k.number(f + "rope.dimension_count", 4), k.flag(f + "use_parallel_residual", !ends(kind, "-serial"));
  if (family == "gemma2") k.real(f + "attn_logit_softcapping", 40), k.real(f + "final_logit_softcapping", 20);
  if (p.has_post_norm) k.number(f + "attention.sliding_window", 8);
  if (family == "phi3")  // llama.cpp has no windows in this family
    k.number(f + "attention.sliding_window", s.positions - 1),
        k.number(f + "rope.scaling.original_context_length", s.positions);
  if (is_gemma || family == "phi3" || (is_llama && kind != "llama-llama3"))
    s.tokens = add_sentencepiece(k, family);
  else if (is_llama)
    s.tokens = add_byte_level(k, byte_level({}, llama_special, llama_special[0], llama_special[1]), "llama-bpe");
  else if (is_gpt)
    s.tokens = add_byte_level(k, byte_level({}, gpt_special, gpt_special[0], gpt_special[0]),
                              family == "gpt2" ? "gpt-2" : "olmo");
  else
    s.tokens = add_byte_level(k, byte_level({}, qwen_special, qwen_special[0], qwen_special[2]), "qwen2");
  if (is_llama) k.number(f + "vocab_size", s.tokens);
  weights w;
  if (is_gpt)
    add_gguf_gpt(w, s, family == "gpt2");
  else
    add_llama(w, s, of_gguf, p);
  // Llama 3.1's divisors of frequencies: long waves 8, short ones 1.
  if (kind == "llama-llama3") w.given("rope_freqs.weight", {8}, {1, 2.443f, 8, 8, 8, 8, 8, 8});
  return gguf(k, w);
}

// ------------------------------------------------------------------------------------------------------------- folders

struct folder {
  json config;
  weights w;
  std::string format = "F32", tokenizer;
  json generation, preprocessor;  // generation_config.json and preprocessor_config.json, if there are any
};

void add_counts(json &c, const sizes &s) {
  c["hidden_size"] = s.dim, c["intermediate_size"] = s.ffn, c["max_position_embeddings"] = s.positions;
  c["num_attention_heads"] = s.heads, c["num_hidden_layers"] = s.layers;
}

// What the configurations of Llama's line have in common.
json llama_config(const char *architecture, const char *family, const sizes &s, const vocabulary &v, double eps) {
  json c = json::parse(R"({"attention_dropout": 0.0, "hidden_act": "silu", "initializer_range": 0.02,
    "rope_theta": 10000.0, "torch_dtype": "bfloat16", "transformers_version": "4.52.4", "use_cache": true})");
  c["architectures"] = {architecture}, c["model_type"] = family, c["rms_norm_eps"] = eps;
  c["bos_token_id"] = v.first, c["eos_token_id"] = v.end, c["vocab_size"] = s.tokens;
  add_counts(c, s), c["num_key_value_heads"] = s.kv_heads;
  return c;
}

folder llama_of(const std::string &kind) {
  folder m;
  sizes s;
  const vocabulary v = byte_level({}, llama_special, llama_special[0], llama_special[1]);
  s.tokens = static_cast<int>(v.tokens.size());
  llama_parts p;
  p.is_tied = kind == "smollm";  // which is a Llama by its configuration
  if (kind == "mistral") {
    m.config = llama_config("MistralForCausalLM", "mistral", s, v, 1e-5);
    m.config["sliding_window"] = 8;
  } else {
    m.config = llama_config("LlamaForCausalLM", "llama", s, v, 1e-5);
    m.config.update(json::parse(R"({"attention_bias": false, "mlp_bias": false, "rope_scaling": null})"));
  }
  m.config["tie_word_embeddings"] = p.is_tied;
  if (kind == "llama-linear") m.config["rope_scaling"] = json::parse(R"({"factor": 4.0, "type": "linear"})");
  if (kind == "llama-yarn")
    m.config["rope_scaling"] =
        json::parse(R"({"factor": 4.0, "original_max_position_embeddings": 32, "rope_type": "yarn"})");
  if (kind == "llama-llama3")
    m.config.update(json::parse(R"({"rope_theta": 500000.0, "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0,
      "low_freq_factor": 1.0, "original_max_position_embeddings": 64, "rope_type": "llama3"}})"));
  add_llama(m.w, s, of_transformers, p);
  m.format = "BF16";
  m.tokenizer = byte_level_tokenizer(v, kind == "llama-llama3" ? 3 : 0, "null", between(v, llama_special[0], ""));
  return m;
}

folder qwen_of(const std::string &kind) {
  folder m;
  sizes s;
  const vocabulary v = byte_level({}, qwen_special, qwen_special[0], qwen_special[2]);
  s.tokens = static_cast<int>(v.tokens.size());
  llama_parts p;
  const bool is_third = kind == "qwen3", has_window = kind == "qwen2-window";
  if (is_third) s.head_dim = 32;
  p.has_bias = !is_third, p.has_qk_norm = is_third, p.is_tied = !is_third;
  m.config = llama_config(is_third ? "Qwen3ForCausalLM" : "Qwen2ForCausalLM", is_third ? "qwen3" : "qwen2", s, v, 1e-6);
  m.config["max_window_layers"] = has_window ? 1 : s.layers, m.config["rope_theta"] = 1000000.0;
  m.config["use_sliding_window"] = has_window, m.config["tie_word_embeddings"] = p.is_tied;
  m.config["sliding_window"] = 8;  // is not used unless use_sliding_window is true
  if (is_third)
    m.config.update(
        json::parse(R"({"attention_bias": false, "head_dim": 32, "rope_scaling": null, "sliding_window": null})"));
  add_llama(m.w, s, of_transformers, p);
  m.format = "BF16";
  m.tokenizer = byte_level_tokenizer(v, 1, R"({"type": "NFC"})", json::parse(R"({"type": "ByteLevel",
    "add_prefix_space": false, "trim_offsets": false, "use_regex": false})"));
  return m;
}

folder gemma_of(const std::string &kind) {
  folder m;
  sizes s;
  const vocabulary v = byte_level({"<pad>", "<eos>", "<bos>", "<unk>"}, {}, "<bos>", "<eos>");
  s.tokens = static_cast<int>(v.tokens.size()), s.layers = 4, s.head_dim = 32;
  if (kind == "gemma") s.kv_heads = 1;
  const bool is_third = begins(kind, "gemma3_text");
  llama_parts p;
  p.is_tied = true, p.norm_mean = 0, p.has_post_norm = kind != "gemma", p.has_qk_norm = is_third;
  m.config = llama_config(is_third           ? "Gemma3ForCausalLM"
                          : kind == "gemma2" ? "Gemma2ForCausalLM"
                                             : "GemmaForCausalLM",
                          is_third ? "gemma3_text" : kind.c_str(), s, v, 1e-6);
  m.config["head_dim"] = s.head_dim, m.config["pad_token_id"] = 0, m.config["attention_bias"] = false;
  if (kind == "gemma") {
    m.config["hidden_act"] = "gelu", m.config["hidden_activation"] = nullptr;  // which is the approximation by tanh
  } else {
    m.config.erase("hidden_act");
    m.config.update(json::parse(R"({"hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 24,
      "sliding_window": 8, "cache_implementation": "hybrid", "attn_logit_softcapping": null,
      "final_logit_softcapping": null})"));
  }
  if (kind == "gemma2") m.config["attn_logit_softcapping"] = 40.0, m.config["final_logit_softcapping"] = 20.0;
  if (kind == "gemma3_text")  // the scaling is that of layers without windows
    m.config.update(json::parse(R"({"rope_theta": 1000000.0, "rope_local_base_freq": 20000.0,
      "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window_pattern": 3})"));
  if (kind == "gemma3_text-v5") {  // as transformers 5 writes it
    m.config.erase("rope_theta");
    m.config.update(json::parse(R"({"transformers_version": "5.0.0",
      "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
      "rope_parameters": {"full_attention": {"factor": 8.0, "rope_theta": 1000000.0, "rope_type": "linear"},
                          "sliding_attention": {"rope_theta": 20000.0, "rope_type": "default"}}})"));
  }
  add_llama(m.w, s, of_transformers, p);
  m.format = "BF16";
  m.tokenizer = byte_level_tokenizer(v, 0, "null", between(v, "<bos>", ""));
  return m;
}

folder phi_of(const std::string &kind) {
  folder m;
  sizes s;
  const vocabulary v = byte_level({}, gpt_special, gpt_special[0], gpt_special[0]);
  s.tokens = static_cast<int>(v.tokens.size());
  llama_parts p;
  p.is_fused = true, p.is_tied = kind == "phi3-partial";  // as Phi-4-mini
  m.config = llama_config("Phi3ForCausalLM", "phi3", s, v, 1e-5);
  m.config.update(json::parse(R"({"attention_bias": false, "embd_pdrop": 0.0, "resid_pdrop": 0.0,
    "rope_scaling": null})"));
  m.config["original_max_position_embeddings"] = s.positions, m.config["tie_word_embeddings"] = p.is_tied;
  m.config["sliding_window"] = p.is_tied ? 2 * s.positions : 8;
  if (p.is_tied) m.config["partial_rotary_factor"] = 0.75;
  add_llama(m.w, s, of_transformers, p);
  m.format = "BF16";
  m.tokenizer = byte_level_tokenizer(v, 0, "null", nullptr);
  return m;
}

folder gpt_of(const std::string &kind) {
  folder m;
  sizes s;
  const vocabulary v = byte_level({}, gpt_special, gpt_special[0], gpt_special[0]);
  s.tokens = static_cast<int>(v.tokens.size()), s.ffn = kind == "gpt2" ? 4 * s.dim : 128;
  if (kind == "gpt2") {
    m.config = json::parse(R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
      "attn_pdrop": 0.1, "embd_pdrop": 0.1, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
      "model_type": "gpt2", "resid_pdrop": 0.1})");
    m.config["n_ctx"] = m.config["n_positions"] = s.positions, m.config["n_embd"] = s.dim;
    m.config["n_head"] = s.heads, m.config["n_layer"] = s.layers;
    add_gpt2(m.w, s);
  } else {
    m.config = json::parse(R"({"architectures": ["GPTNeoXForCausalLM"], "hidden_act": "gelu",
      "initializer_range": 0.02, "layer_norm_eps": 1e-05, "model_type": "gpt_neox", "rotary_emb_base": 10000,
      "rotary_pct": 0.25, "tie_word_embeddings": false, "torch_dtype": "float16", "use_cache": true})");
    m.config["use_parallel_residual"] = kind == "gpt_neox";
    add_counts(m.config, s);
    add_neox(m.w, s, s.head_dim / 4);
    m.format = "F16";
  }
  m.config["bos_token_id"] = v.first, m.config["eos_token_id"] = v.end, m.config["vocab_size"] = s.tokens;
  m.tokenizer = byte_level_tokenizer(
      v, 0, "null", json::parse(R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false})"));
  return m;
}

folder bert_of(const std::string &kind) {
  folder m;
  sizes s;
  const bool is_distil = begins(kind, "distilbert"), is_roberta = begins(kind, "roberta");
  const bool has_classes = ends(kind, "-classes"), is_old = kind == "bert-old";
  const vocabulary v = is_roberta ? byte_level(roberta_special, {"<mask>"}, "<s>", "</s>") : wordpiece();
  s.tokens = static_cast<int>(v.tokens.size()), s.ffn = 128;
  if (is_roberta) s.positions += 2;  // the first two are of padding
  std::string prefix = is_distil ? "distilbert." : is_roberta ? "roberta." : "bert.";
  if (!has_classes && !is_old) prefix.clear();
  const std::string head = has_classes ? "ForSequenceClassification" : is_old ? "ForMaskedLM" : "Model";
  if (is_distil) {
    m.config = json::parse(R"({"activation": "gelu", "attention_dropout": 0.1, "dropout": 0.1,
      "initializer_range": 0.02, "model_type": "distilbert", "pad_token_id": 0, "qa_dropout": 0.1,
      "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": false, "tie_weights_": true})");
    m.config["architectures"] = {"DistilBert" + head}, m.config["max_position_embeddings"] = s.positions;
    m.config["dim"] = s.dim, m.config["hidden_dim"] = s.ffn;
    m.config["n_heads"] = s.heads, m.config["n_layers"] = s.layers;
  } else {
    m.config = json::parse(R"({"attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
      "initializer_range": 0.02, "position_embedding_type": "absolute", "use_cache": true})");
    m.config["architectures"] = {(is_roberta ? "Roberta" : "Bert") + head};
    m.config["model_type"] = is_roberta ? "roberta" : "bert", m.config["layer_norm_eps"] = is_roberta ? 1e-5 : 1e-12;
    m.config["pad_token_id"] = is_roberta ? 1 : 0, m.config["type_vocab_size"] = is_roberta ? 1 : 2;
    add_counts(m.config, s);
    if (is_roberta) m.config["bos_token_id"] = v.first, m.config["eos_token_id"] = v.end;
  }
  m.config["vocab_size"] = s.tokens;
  if (has_classes) add_labels(m.config, {"negative", "neutral", "positive"});
  add_bert_embeddings(m.w, prefix, s, is_distil ? 0 : is_roberta ? 1 : 2, is_old);
  if (!has_classes && !is_distil && !is_old) {
    std::vector<float> ids;
    for (int i = 0; i < s.positions; ++i) ids.push_back(static_cast<float>(i));
    m.w.given(prefix + "embeddings.position_ids", {1, ids.size()}, std::move(ids), "I64");
  }
  add_encoder(m.w, prefix, s, is_distil ? of_distilbert : of_bert, is_old);
  if (!is_distil && !(is_roberta && has_classes)) m.w.linear(prefix + "pooler.dense", s.dim, s.dim);
  if (has_classes && is_distil) m.w.linear("pre_classifier", s.dim, s.dim, 2);
  if (has_classes && is_roberta) m.w.linear("classifier.dense", s.dim, s.dim);
  if (has_classes) m.w.linear(is_roberta ? "classifier.out_proj" : "classifier", 3, s.dim, 3);
  if (is_old) {
    m.w.vector("cls.predictions.bias", s.tokens, 0, 0.2f);
    m.w.linear("cls.predictions.transform.dense", s.dim, s.dim);
    m.w.layer_norm("cls.predictions.transform.LayerNorm", s.dim, ".gamma", ".beta");
    m.w.linear("cls.seq_relationship", 2, s.dim);
  }
  const char *const around = R"({"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
    "trim_offsets": true, "add_prefix_space": false})";
  m.tokenizer = is_roberta ? byte_level_tokenizer(v, 0, "null", json::parse(around)) : wordpiece_tokenizer(v);
  return m;
}

folder vit_of(const std::string &kind) {
  folder m;
  sizes s;
  s.ffn = 128;
  const bool is_deit = begins(kind, "deit"), has_classes = kind != "vit", has_teacher = kind == "deit";
  const std::string prefix = is_deit ? "deit." : has_classes ? "vit." : "", e = prefix + "embeddings.";
  const int image = 32, patch = 8, channels = 3, n_rows = (image / patch) * (image / patch) + (is_deit ? 2 : 1);
  const auto dim = static_cast<uint64_t>(s.dim);
  std::string architecture = is_deit ? "DeiT" : "ViT";
  architecture += has_classes ? "ForImageClassification" : "Model";
  if (has_teacher) architecture += "WithTeacher";
  m.config = json::parse(R"({"attention_probs_dropout_prob": 0.0, "hidden_act": "gelu", "hidden_dropout_prob": 0.0,
    "initializer_range": 0.02, "layer_norm_eps": 1e-12, "qkv_bias": true})");
  m.config["architectures"] = {architecture}, m.config["model_type"] = is_deit ? "deit" : "vit";
  m.config["image_size"] = image, m.config["num_channels"] = channels, m.config["patch_size"] = patch;
  add_counts(m.config, s), m.config.erase("max_position_embeddings");
  m.w.random(e + "cls_token", {1, 1, dim}, 0, 0.5f);
  if (is_deit) m.w.random(e + "distillation_token", {1, 1, dim}, 0, 0.5f);
  m.w.random(e + "position_embeddings", {1, static_cast<uint64_t>(n_rows), dim}, 0, 0.5f);
  m.w.random(e + "patch_embeddings.projection.weight", {dim, channels, patch, patch}, 0, 0.15f);
  m.w.vector(e + "patch_embeddings.projection.bias", s.dim, 0, 0.2f);
  add_encoder(m.w, prefix, s, of_vit);
  m.w.layer_norm(prefix + "layernorm", s.dim);
  if (!has_classes) m.w.linear("pooler.dense", s.dim, s.dim);
  if (!has_classes) return m;
  add_labels(m.config, {"apple", "bee", "cup", "door", "ear"});
  m.w.linear(has_teacher ? "cls_classifier" : "classifier", 5, s.dim, 3);
  if (has_teacher) m.w.linear("distillation_classifier", 5, s.dim, 3);
  return m;
}

// -------------------------------------------------------------------------------------------------------------- speech

// A convolution over time.
void add_convolution(weights &w, const std::string &name, int n_out, int channels, int kernel, bool has_bias) {
  w.random(name + ".weight",
           {static_cast<uint64_t>(n_out), static_cast<uint64_t>(channels), static_cast<uint64_t>(kernel)}, 0,
           1.5f / std::sqrt(static_cast<float>(channels * kernel)));
  if (has_bias) w.vector(name + ".bias", n_out, 0, 0.2f);
}

// names: q, k, v, o. Whisper's keys have no bias, and Moonshine's projections have none.
void add_speech_attention(weights &w, const std::string &name, const char *out, int dim, bool has_bias) {
  for (const std::string part : {"q_proj", "k_proj", "v_proj", out}) {
    w.matrix(name + "." + part + ".weight", dim, dim, 1.3f);
    if (has_bias && part != "k_proj") w.vector(name + "." + part + ".bias", dim, 0, 0.2f);
  }
}

folder whisper_of(const std::string &kind) {
  folder m;
  const bool is_english = kind == "whisper-english";
  const strings special = words("<|endoftext|> <|startoftranscript|> <|en|> <|de|> <|transcribe|> <|notimestamps|>");
  const vocabulary v = byte_level({}, special, special[1], special[0]);
  const int dim = 48, n_mels = 20, n_tokens = static_cast<int>(v.tokens.size()), n_layers[] = {2, 3}, ffn[] = {96, 128};
  m.config = json::parse(R"({"activation_function": "gelu", "architectures": ["WhisperForConditionalGeneration"],
    "encoder_attention_heads": 4, "encoder_layers": 2, "encoder_ffn_dim": 96, "decoder_attention_heads": 3,
    "decoder_layers": 3, "decoder_ffn_dim": 128, "is_encoder_decoder": true, "max_source_positions": 100,
    "max_target_positions": 32, "model_type": "whisper", "num_hidden_layers": 2, "scale_embedding": false})");
  m.config["d_model"] = dim, m.config["num_mel_bins"] = n_mels, m.config["vocab_size"] = n_tokens;
  m.config["decoder_start_token_id"] = v.first, m.config["eos_token_id"] = v.end;
  m.config["suppress_tokens"] = {1, 2, 7}, m.config["begin_suppress_tokens"] = {220, v.end};
  if (is_english) {
    m.config["forced_decoder_ids"] = {{1, v.id_of("<|notimestamps|>")}};
  } else {
    m.generation["forced_decoder_ids"] = {{1, nullptr}, {2, v.id_of("<|transcribe|>")}};
    m.generation["lang_to_id"] = {{"<|en|>", v.id_of("<|en|>")}, {"<|de|>", v.id_of("<|de|>")}};
    m.generation["no_timestamps_token_id"] = v.id_of("<|notimestamps|>"), m.generation["is_multilingual"] = true;
    m.generation["decoder_start_token_id"] = v.first, m.generation["suppress_tokens"] = {3, 4, -1};
    m.preprocessor = json::parse(R"({"chunk_length": 30, "feature_extractor_type": "WhisperFeatureExtractor",
      "hop_length": 160, "n_fft": 400, "sampling_rate": 16000})");
    m.preprocessor["feature_size"] = n_mels;
  }
  weights &w = m.w;
  add_convolution(w, "model.encoder.conv1", dim, n_mels, 3, true);
  add_convolution(w, "model.encoder.conv2", dim, dim, 3, true);
  w.matrix("model.encoder.embed_positions.weight", 100, dim, 2);
  w.matrix("model.decoder.embed_tokens.weight", n_tokens, dim, 3);
  w.matrix("model.decoder.embed_positions.weight", 32, dim, 2);
  for (const bool decodes : {false, true}) {
    const std::string half = decodes ? "model.decoder." : "model.encoder.";
    for (int i = 0; i < n_layers[decodes]; ++i) {
      const std::string b = half + "layers." + std::to_string(i) + ".";
      w.layer_norm(b + "self_attn_layer_norm", dim);
      add_speech_attention(w, b + "self_attn", "out_proj", dim, true);
      if (decodes) w.layer_norm(b + "encoder_attn_layer_norm", dim);
      if (decodes) add_speech_attention(w, b + "encoder_attn", "out_proj", dim, true);
      w.layer_norm(b + "final_layer_norm", dim);
      w.linear(b + "fc1", ffn[decodes], dim, 1.3f);
      w.linear(b + "fc2", dim, ffn[decodes], 1.5f);
    }
    w.layer_norm(half + "layer_norm", dim);
  }
  m.format = "F16";
  m.tokenizer = byte_level_tokenizer(v, 0, "null", between(v, "<|startoftranscript|>", "<|endoftext|>"));
  return m;
}

folder moonshine_of(const std::string &) {
  folder m;
  const vocabulary v = byte_level(words("<unk> <s> </s>"), {}, "<s>", "</s>");
  const int dim = 48, ffn = 96, n_tokens = static_cast<int>(v.tokens.size()), n_layers[] = {2, 3};
  m.config = json::parse(R"({"architectures": ["MoonshineForConditionalGeneration"], "attention_bias": false,
    "decoder_hidden_act": "silu", "decoder_num_attention_heads": 4, "decoder_num_hidden_layers": 3,
    "decoder_num_key_value_heads": 4, "decoder_start_token_id": 1, "encoder_hidden_act": "gelu",
    "encoder_num_attention_heads": 4, "encoder_num_hidden_layers": 2, "encoder_num_key_value_heads": 4,
    "eos_token_id": 2, "is_encoder_decoder": true, "max_position_embeddings": 40, "model_type": "moonshine",
    "partial_rotary_factor": 0.7, "rope_scaling": null, "rope_theta": 10000.0})");
  m.config["hidden_size"] = dim, m.config["intermediate_size"] = ffn, m.config["vocab_size"] = n_tokens;
  weights &w = m.w;
  add_convolution(w, "model.encoder.conv1", dim, 1, 127, false);
  w.layer_norm("model.encoder.groupnorm", dim);
  add_convolution(w, "model.encoder.conv2", 2 * dim, dim, 7, true);
  add_convolution(w, "model.encoder.conv3", dim, 2 * dim, 3, true);
  w.matrix("model.decoder.embed_tokens.weight", n_tokens, dim, 3);
  for (const bool decodes : {false, true}) {
    const std::string half = decodes ? "model.decoder." : "model.encoder.";
    for (int i = 0; i < n_layers[decodes]; ++i) {
      const std::string b = half + "layers." + std::to_string(i) + ".";
      w.vector(b + "input_layernorm.weight", dim, 1, 0.2f);
      add_speech_attention(w, b + "self_attn", "o_proj", dim, false);
      w.vector(b + "post_attention_layernorm.weight", dim, 1, 0.2f);
      if (decodes) add_speech_attention(w, b + "encoder_attn", "o_proj", dim, false);
      if (decodes) w.vector(b + "final_layernorm.weight", dim, 1, 0.2f);
      w.linear(b + "mlp.fc1", decodes ? 2 * ffn : ffn, dim, 1.3f);
      w.linear(b + "mlp.fc2", dim, ffn, 1.5f);
    }
  }
  w.vector("model.encoder.layer_norm.weight", dim, 1, 0.2f);
  w.vector("model.decoder.norm.weight", dim, 1, 0.2f);
  m.tokenizer = byte_level_tokenizer(v, 0, "null", between(v, "<s>", ""));
  return m;
}

folder folder_of(const std::string &kind) {
  if (begins(kind, "whisper")) return whisper_of(kind);
  if (begins(kind, "moonshine")) return moonshine_of(kind);
  if (begins(kind, "qwen")) return qwen_of(kind);
  if (begins(kind, "gemma")) return gemma_of(kind);
  if (begins(kind, "phi")) return phi_of(kind);
  if (begins(kind, "gpt")) return gpt_of(kind);
  if (begins(kind, "vit") || begins(kind, "deit")) return vit_of(kind);
  const bool is_encoder = begins(kind, "bert") || begins(kind, "distilbert") || begins(kind, "roberta");
  return is_encoder ? bert_of(kind) : llama_of(kind);
}

// Two numbers of every row are larger than the others, as those of many real models are.
void add_outliers(weights &w) {
  for (tensor &t : w.all)
    if (ends(t.name, "LayerNorm.weight")) t.numbers[5] *= 8, t.numbers[t.numbers.size() - 9] *= -8;
}

void write_folder(const std::string &path, const std::string &kind) {
  folder m = folder_of(kind);
  if (ends(kind, "-outliers")) add_outliers(m.w);
  std::filesystem::create_directories(path);
  write_file(path + "/config.json", m.config.dump(2) + "\n");
  if (!m.tokenizer.empty()) write_file(path + "/tokenizer.json", m.tokenizer);
  if (!m.generation.is_null()) write_file(path + "/generation_config.json", m.generation.dump(2) + "\n");
  if (!m.preprocessor.is_null()) write_file(path + "/preprocessor_config.json", m.preprocessor.dump(2) + "\n");
  if (kind != "llama-sharded") return write_file(path + "/model.safetensors", safetensors(m.w, m.format));
  weights halves[2];
  json index = {{"metadata", {{"total_size", 0}}}, {"weight_map", json::object()}};
  size_t total = 0;
  for (size_t i = 0; i < m.w.all.size(); ++i) {
    const size_t half = 2 * i < m.w.all.size() ? 0 : 1;
    halves[half].all.push_back(m.w.all[i]);
    index["weight_map"][m.w.all[i].name] =
        half == 0 ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
    total += 2 * m.w.all[i].numbers.size();
  }
  index["metadata"]["total_size"] = total;
  write_file(path + "/model-00001-of-00002.safetensors", safetensors(halves[0], m.format));
  write_file(path + "/model-00002-of-00002.safetensors", safetensors(halves[1], m.format));
  write_file(path + "/model.safetensors.index.json", index.dump(2) + "\n");
}

}  // namespace

std::vector<std::string> kinds() {
  return words(
      "gguf-llama gguf-llama-tied gguf-llama-llama3 gguf-llama-linear gguf-llama-yarn gguf-qwen2 gguf-qwen3 gguf-gemma "
      "gguf-gemma2 gguf-gemma3 gguf-gemma3-local gguf-phi3 gguf-phi3-partial gguf-gpt2 gguf-gptneox "
      "gguf-gptneox-serial gguf-bert llama llama-sharded llama-llama3 llama-linear llama-yarn smollm mistral qwen2 "
      "qwen2-window "
      "qwen3 gemma gemma2 gemma3_text gemma3_text-v5 phi3 phi3-partial gpt2 gpt_neox gpt_neox-serial bert bert-old "
      "bert-classes bert-outliers distilbert distilbert-classes roberta roberta-classes vit vit-classes deit "
      "deit-classes whisper "
      "whisper-english moonshine");
}

std::string write(const std::string &folder, const std::string &kind) {
  const std::vector<std::string> all = kinds();
  if (std::find(all.begin(), all.end(), kind) == all.end()) throw std::invalid_argument(kind + " is no kind of model");
  std::filesystem::create_directories(folder);
  std::string path = folder + "/" + kind;
  if (begins(kind, "gguf-"))
    write_file(path += ".gguf", gguf_of(kind.substr(5)));
  else
    write_folder(path, kind);
  return path;
}

}  // namespace published
