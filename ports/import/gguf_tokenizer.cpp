// The vocabulary in a GGUF file. See vocabulary.hpp. What the keys mean: github.com/ggml-org/ggml, docs/gguf.md; how the rules are
// named: llama.cpp. SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "vocabulary.hpp"

namespace heed_import {
namespace {

enum token_type { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte_of = 6 };

class reader {
 public:
  explicit reader(const std::vector<tensor> &metadata) : metadata_(metadata) {}

  vocabulary read() {
    const std::string model = text("tokenizer.ggml.model");
    tokens_ = list("tokenizer.ggml.tokens");
    types_ = integers("tokenizer.ggml.token_type");
    types_.resize(tokens_.size(), normal);
    for (size_t t = 0; t < tokens_.size(); ++t) ids_.emplace(tokens_[t], static_cast<int32_t>(t));
    if (model == "gpt2")
      read_bpe();
    else if (model == "llama")
      read_sentencepiece();
    else if (model == "bert")
      read_wordpiece();
    else if (model == "t5")
      read_unigram();
    else
      throw refusal("the vocabulary's model \"" + names::for_terminal(model) + "\" is not known");
    add_around();
    return std::move(v_);
  }

 private:
  // --------------------------------------------------------------------------------------------------------- metadata

  const tensor *find(const std::string &name, int32_t dtype) const {
    for (const tensor &t : metadata_)
      if (t.name == name && t.dtype == dtype) return &t;
    return nullptr;
  }
  std::string text(const std::string &name) const {
    const tensor *t = find(name, HEED_FILE_TEXT);
    return t == nullptr ? "" : std::string(t->numbers().data, t->numbers().data + t->numbers().size);
  }
  std::vector<std::string> list(const std::string &name) const {
    const tensor *t = find(name, HEED_FILE_LIST);
    std::vector<std::string> texts;
    if (t == nullptr) return texts;
    const span all = t->numbers();
    const auto n = static_cast<size_t>(number_at(all.data, 4));  // read_gguf made it
    size_t begin = 0;
    for (size_t i = 0; i < n; ++i) {
      const auto end = static_cast<size_t>(number_at(all.data + 4 + 4 * i, 4));
      texts.emplace_back(all.data + 4 + 4 * n + begin, all.data + 4 + 4 * n + end);
      begin = end;
    }
    return texts;
  }
  std::vector<int32_t> integers(const std::string &name) const {
    const tensor *t = find(name, HEED_FILE_I32);
    std::vector<int32_t> all;
    for (size_t i = 0; t != nullptr && i < t->numbers().size / 4; ++i)
      all.push_back(static_cast<int32_t>(number_at(t->numbers().data + 4 * i, 4)));
    return all;
  }
  // Of the lines "KEY VALUE".
  int64_t number(const std::string &key, int64_t otherwise) const {
    const std::string lines = "\n" + text("metadata");
    const size_t at = lines.find("\n" + key + " ");
    if (at == std::string::npos) return otherwise;
    try {
      return std::stoll(lines.substr(at + key.size() + 2));
    } catch (const std::exception &) {
      return otherwise;
    }
  }

  // ------------------------------------------------------------------------------------------------------------ tokens

  void put(size_t t, const std::string &bytes, uint8_t kind, bool is_looked_up) {
    v_.tokens.push_back(bytes);
    v_.kinds.push_back(kind);
    v_.is_looked_up.push_back(is_looked_up);
    const bool is_added = types_[t] == control || types_[t] == user_defined || types_[t] == unknown;
    if (is_added && !tokens_[t].empty()) v_.added[tokens_[t]] = static_cast<int32_t>(t);
  }
  bool is_no_text(size_t t) const { return types_[t] == control || types_[t] == unknown || types_[t] == unused; }

  void read_bpe() {
    v_.flags = flag_bytes;
    read_split(text("tokenizer.ggml.pre"));
    for (size_t t = 0; t < tokens_.size(); ++t) {
      std::string bytes;
      const bool is_plain = from_byte_letters(tokens_[t], bytes) && !is_no_text(t) && types_[t] != user_defined;
      put(t, is_plain ? bytes : tokens_[t], is_no_text(t) ? kind_special : 0, is_plain);
    }
    int32_t rank = 0;
    for (const std::string &both : list("tokenizer.ggml.merges")) {
      const size_t at = both.find(' ', 1);
      if (at == std::string::npos) throw refusal("the merge \"" + names::for_terminal(both) + "\" has no two tokens");
      const std::string left = both.substr(0, at), right = both.substr(at + 1);
      v_.merges.push_back({id_of(left), id_of(right), id_of(left + right), rank++});
    }
    if (v_.merges.empty()) throw refusal("the vocabulary has no merges");
  }

  void read_split(const std::string &name) {
    static const std::set<std::string> gpt2 = {"",    "gpt-2", "gpt2", "phi-2",    "jina-es",         "jina-de",
                                               "mpt", "olmo",  "jais", "trillion", "granite-docling", "roberta-bpe"},
                                       digits = {"smollm",    "codeshell", "exaone",   "minerva-7b",
                                                 "starcoder", "refact",    "command-r"},
                                       llama3 = {"llama3",  "llama-v3", "llama-bpe", "falcon3",
                                                 "pixtral", "dbrx",     "smaug-bpe"},
                                       qwen = {"qwen2", "stablelm2", "deepseek-r1-qwen", "hunyuan", "megrez"},
                                       gpt4o = {"gpt-4o", "llama4"};
    if (gpt2.count(name)) {
      v_.split = split_gpt2;
    } else if (digits.count(name)) {
      v_.split = split_digits;
    } else if (llama3.count(name)) {
      v_.split = split_llama3, v_.digits = 3;
      if (name != "dbrx" && name != "smaug-bpe") v_.flags |= flag_whole_words;
    } else if (qwen.count(name)) {
      v_.split = split_llama3, v_.digits = 1;
      if (name == "qwen2" || name == "deepseek-r1-qwen")
        v_.flags |= flag_nfc;  // as its tokenizer.json says; GGUF has no word for it
    } else if (gpt4o.count(name)) {
      v_.split = split_gpt4o, v_.digits = 3;
    } else {
      throw refusal("the rule for words \"" + names::for_terminal(name) + "\" is not known");
    }
  }

  void read_sentencepiece() {
    const std::vector<float> scores = floats("tokenizer.ggml.scores");
    if (scores.size() != tokens_.size()) throw refusal("the vocabulary has no score for each token");
    v_.has_lower_ones = true;
    v_.flags = flag_one_unknown;
    if (number("tokenizer.ggml.add_space_prefix", 1) != 0) v_.flags |= flag_blank_each | flag_no_first_blank;
    for (size_t t = 0; t < tokens_.size(); ++t) put_piece(t);
    std::vector<float> descending = scores;
    std::sort(descending.begin(), descending.end(), std::greater<float>());
    descending.erase(std::unique(descending.begin(), descending.end()), descending.end());
    std::vector<int32_t> order;
    for (const float score : scores)
      order.push_back(static_cast<int32_t>(
          std::lower_bound(descending.begin(), descending.end(), score, std::greater<float>()) - descending.begin()));
    add_merges_by_order(v_, order);
    v_.unknown = token_of(number("tokenizer.ggml.unknown_token_id", -1));
  }

  // A token of SentencePiece: a byte, or a text whose blanks are U+2581.
  void put_piece(size_t t) {
    const std::string &token = tokens_[t];
    std::string byte;
    if (types_[t] == byte_of) {
      if (!from_byte_token(token, byte))
        throw refusal("the token \"" + names::for_terminal(token) + "\" is to stand for a byte, and does not");
      put(t, byte, kind_byte, false);
    } else {
      put(t, is_no_text(t) ? token : with_blanks(token), is_no_text(t) ? kind_special : 0, !is_no_text(t));
    }
  }

  std::vector<float> floats(const std::string &name) const {
    const tensor *t = find(name, HEED_F32);
    std::vector<float> all;
    for (size_t i = 0; t != nullptr && i < t->numbers().size / 4; ++i) all.push_back(f32_at(t->numbers().data + 4 * i));
    if (!std::all_of(all.begin(), all.end(), [](float f) { return std::isfinite(f); }))
      throw refusal("a token's score is no number");  // before they are put in order
    return all;
  }

  void read_unigram() {
    v_.model = model_unigram;
    v_.scores = floats("tokenizer.ggml.scores");
    if (v_.scores.size() != tokens_.size()) throw refusal("the vocabulary has no score for each token");
    v_.has_lower_ones = true;
    v_.flags = flag_one_unknown | flag_no_first_blank;
    if (number("tokenizer.ggml.add_space_prefix", 1) != 0) v_.flags |= flag_blank_each;
    if (number("tokenizer.ggml.remove_extra_whitespaces", 0) != 0) v_.flags |= flag_trim | flag_one_blank;
    for (const int32_t byte : integers("tokenizer.ggml.precompiled_charsmap"))
      v_.map.push_back(static_cast<uint8_t>(byte));
    for (size_t t = 0; t < tokens_.size(); ++t) put_piece(t);
    v_.split = split_blanks;
    v_.unknown = token_of(number("tokenizer.ggml.unknown_token_id", -1));
  }

  // A word begins with U+2581 here, and what goes on has no ##.
  void read_wordpiece() {
    v_.model = model_wordpiece;
    v_.split = split_bert;
    v_.cleans_text = v_.parts_chinese = v_.lowers_case = v_.strips_accents = true;
    for (size_t t = 0; t < tokens_.size(); ++t) {
      const std::string &token = tokens_[t];
      const bool begins = token.compare(0, lower_one.size(), lower_one) == 0;
      const bool is_special = is_no_text(t);
      put(t,
          is_special ? token
          : begins   ? token.substr(lower_one.size())
                     : "##" + token,
          is_special ? kind_special : 0, !is_special);
    }
    v_.unknown = token_of(number("tokenizer.ggml.unknown_token_id", 100));
  }

  int32_t id_of(const std::string &token) const {
    const auto found = ids_.find(token);
    if (found == ids_.end())
      throw refusal("a merge names the token \"" + names::for_terminal(token) + "\", which is none");
    return found->second;
  }

  static int32_t token_of(int64_t number) {
    if (number < -1 || number > INT32_MAX)
      throw refusal("token " + std::to_string(number) + " is not in the vocabulary");
    return static_cast<int32_t>(number);
  }

  // What goes before and after a text.
  void add_around() {
    const bool adds_both = v_.model == model_wordpiece;
    const bool adds_begin =
        number("tokenizer.ggml.add_bos_token", adds_both || (v_.has_lower_ones && v_.model == model_bpe)) != 0;
    const bool adds_end = number("tokenizer.ggml.add_eos_token", adds_both || v_.model == model_unigram) != 0;
    const int64_t begin = number(adds_both ? "tokenizer.ggml.cls_token_id" : "tokenizer.ggml.bos_token_id",
                                 number("tokenizer.ggml.bos_token_id", -1));
    const int64_t end = number(adds_both ? "tokenizer.ggml.seperator_token_id" : "tokenizer.ggml.eos_token_id",
                               number("tokenizer.ggml.eos_token_id", -1));
    if (adds_begin && begin >= 0) v_.before = {token_of(begin)};
    if (adds_end && end >= 0) v_.after = {token_of(end)};
  }

  const std::vector<tensor> &metadata_;
  vocabulary v_;
  std::vector<std::string> tokens_;
  std::vector<int32_t> types_;
  std::unordered_map<std::string, int32_t> ids_;
};

}  // namespace

std::vector<tensor> tokenizer_of_gguf(const std::vector<tensor> &metadata) {
  const bool has_one =
      std::any_of(metadata.begin(), metadata.end(), [](const tensor &t) { return t.name == "tokenizer.ggml.tokens"; });
  return has_one ? tables_of(reader(metadata).read()) : std::vector<tensor>();
}

}  // namespace heed_import
