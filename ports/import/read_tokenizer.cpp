// tokenizer.json of Hugging Face's tokenizers. See vocabulary.hpp. SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include <set>
#include <unordered_map>

#include "../base64.hpp"
#include "vocabulary.hpp"

namespace heed_import {
namespace {

using json = nlohmann::json;

constexpr int most_depth = 32;
constexpr size_t least_bytes = 4;  // of a token in the file, such as "":0, with nothing to spare

[[noreturn]] void refuse_part(const std::string &what, const std::string &name) {
  throw refusal("tokenizer.json: " + what + " \"" + names::for_terminal(name) + "\" is not known");
}

std::string text_at(const json &j, const char *key) { return j.contains(key) && j[key].is_string() ? j[key] : ""; }
bool flag_at(const json &j, const char *key, bool otherwise) {
  return j.contains(key) && j[key].is_boolean() ? j[key].get<bool>() : otherwise;
}
int64_t number_at(const json &j, const char *key, int64_t otherwise) {
  return j.contains(key) && j[key].is_number_integer() ? j[key].get<int64_t>() : otherwise;
}
int32_t small_number_at(const json &j, const char *key, int32_t otherwise) {
  const int64_t number = number_at(j, key, otherwise);
  if (number < -1 || number > INT32_MAX)
    throw refusal(std::string("tokenizer.json: ") + key + " is " + std::to_string(number));
  return static_cast<int32_t>(number);
}
// An object, or its members if it is a sequence of such.
std::vector<json> parts_of(const json &j, const char *list) {
  if (j.is_null()) return {};
  if (text_at(j, "type") != "Sequence") return {j};
  std::vector<json> all;
  if (j.contains(list) && j[list].is_array())
    for (const json &part : j[list])
      for (const json &inner : parts_of(part, list)) all.push_back(inner);
  return all;
}

class reader {
 public:
  reader(const json &file, size_t n_bytes) : file_(file), n_bytes_(n_bytes) {}

  vocabulary read() {
    for (const json &part : parts_of(file_.value("normalizer", json()), "normalizers")) normalize(part);
    if (has_form_d_ != strips_)
      refuse_part("the normalizer", has_form_d_ ? "NFD without StripAccents" : "StripAccents without NFD");
    for (const json &part : parts_of(file_.value("pre_tokenizer", json()), "pretokenizers")) split(part);
    read_model(file_.at("model"));
    for (const json &token : file_.value("added_tokens", json::array())) add(token);
    for (const json &part : parts_of(file_.value("post_processor", json()), "processors")) surround(part);
    for (const json &part : parts_of(file_.value("decoder", json()), "decoders")) decode(part);
    v_.tokens.resize(std::max(v_.tokens.size(), v_.kinds.size()));
    v_.kinds.resize(v_.tokens.size(), kind_special);
    v_.is_looked_up.resize(v_.tokens.size(), false);
    v_.scores.resize(v_.model == model_unigram ? v_.tokens.size() : 0);
    return std::move(v_);
  }

 private:
  // ------------------------------------------------------------------------------------------------------ before words

  void normalize(const json &part) {
    const std::string type = text_at(part, "type");
    if (type == "NFC") {
      v_.flags |= flag_nfc;
    } else if (type == "Prepend") {
      if (text_at(part, "prepend") != lower_one) refuse_part("a prefix", text_at(part, "prepend"));
      v_.flags |= flag_blank_each;
    } else if (type == "Replace") {
      replace(part);
    } else if (type == "BertNormalizer") {
      v_.cleans_text = flag_at(part, "clean_text", true);
      v_.parts_chinese = flag_at(part, "handle_chinese_chars", true);
      v_.lowers_case = flag_at(part, "lowercase", true);
      v_.strips_accents = flag_at(part, "strip_accents", v_.lowers_case);
    } else if (type == "Precompiled") {
      std::string map;
      if (!from_base64(text_at(part, "precompiled_charsmap"), map))
        throw refusal("tokenizer.json: the map of characters is not in base64");
      v_.map.assign(map.begin(), map.end());
    } else if (type == "Lowercase") {
      v_.lowers_case = true;
    } else if (type == "NFD") {
      has_form_d_ = true;
    } else if (type == "StripAccents") {
      v_.strips_accents = strips_ = true;
    } else if (type == "Strip") {
      if (!flag_at(part, "strip_right", true)) refuse_part("the normalizer", "Strip of the left side");
      v_.flags |= flag_trim;
    } else {
      refuse_part("the normalizer", type);
    }
  }

  void replace(const json &part) {
    const json pattern = part.value("pattern", json::object());
    const std::string from = text_at(pattern, "String"), to = text_at(part, "content");
    if (text_at(pattern, "Regex") == " {2,}" && (to == " " || to == lower_one)) {
      v_.flags |= flag_one_blank;
      return;
    }
    if (from.empty()) refuse_part("the pattern", text_at(pattern, "Regex"));
    if (from == " " && to == lower_one)
      v_.has_lower_ones = true;
    else
      v_.replaced[from] = to;
  }

  // ------------------------------------------------------------------------------------------------------------- words

  void split(const json &part) {
    const std::string type = text_at(part, "type");
    if (type == "ByteLevel") {
      v_.flags |= flag_bytes;
      if (flag_at(part, "add_prefix_space", true)) v_.flags |= flag_blank_each | flag_blank_if_none;
      if (flag_at(part, "use_regex", true) && v_.split != split_digits) set_split(split_gpt2);
    } else if (type == "Digits") {
      if (!flag_at(part, "individual_digits", false)) refuse_part("a split at", "Digits of any number");
      set_split(split_digits);
    } else if (type == "Split") {
      split_by(part);
    } else if (type == "Metaspace") {
      metaspace(part);
    } else if (type == "BertPreTokenizer") {
      set_split(split_bert);
    } else if (type == "WhitespaceSplit") {
      v_.flags |= flag_trim | flag_one_blank;
      v_.all_blanks_part = true;
    } else {
      refuse_part("the pre-tokenizer", type);
    }
  }

  void metaspace(const json &part) {
    v_.has_lower_ones = true;
    const std::string scheme = text_at(part, "prepend_scheme");
    const bool always = scheme == "always" || (scheme.empty() && flag_at(part, "add_prefix_space", true));
    if (scheme == "first")
      v_.flags |= flag_blank_first | flag_blank_if_none;
    else if (always)
      v_.flags |= flag_blank_each | flag_blank_if_none;
    if (flag_at(part, "split", true)) set_split(split_blanks);
  }

  void set_split(int32_t split) {
    if (v_.split != split_nowhere) throw refusal("tokenizer.json: words are split twice, which is not known");
    v_.split = split;
  }

  void split_by(const json &part) {
    const json pattern = part.value("pattern", json::object());
    static const std::string contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)", lines = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    static const std::string gpt2 =
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    const auto llama3 = [](const std::string &digits) {
      return contractions + "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" + digits + "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" + lines;
    };
    static const std::string upper = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]", lower = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]",
                             before = "[^\\r\\n\\p{L}\\p{N}]?";
    static const std::string gpt4o = before + upper + "*" + lower + "+" + contractions + "?|" + before + upper + "+" +
                                     lower + "*" + contractions + "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" +
                                     lines;
    const std::string regex = text_at(pattern, "Regex");
    if (regex.empty()) {
      if (text_at(pattern, "String") != " ") refuse_part("a split at", text_at(pattern, "String"));
      return;  // blanks are U+2581 by then, so it finds none
    }
    // Each of these patterns matches all of a text, so what lies between matches is nothing.
    const std::string behavior = text_at(part, "behavior");
    if (behavior != (flag_at(part, "invert", false) ? "Removed" : "Isolated")) refuse_part("a split that is", behavior);
    if (regex == gpt2)
      set_split(split_gpt2);
    else if (regex == gpt4o)
      set_split(split_gpt4o), v_.digits = 3;
    else if (regex == llama3("\\p{N}"))
      set_split(split_llama3), v_.digits = 1;
    else if (regex == llama3("\\p{N}{1,3}"))
      set_split(split_llama3), v_.digits = 3;
    else
      refuse_part("the pattern", regex);
  }

  // ------------------------------------------------------------------------------------------------------------- model

  void read_model(const json &model) {
    std::string type = text_at(model, "type");
    if (type.empty()) type = model.contains("merges") ? "BPE" : "WordPiece";
    if (type == "Unigram")
      read_unigram(model);
    else if (type == "BPE")
      read_bpe(model);
    else if (type == "WordPiece")
      read_wordpiece(model);
    else
      refuse_part("the model", type);
  }

  void put_token(int64_t id, const std::string &text, uint8_t kind, bool is_looked_up) {
    const auto at = static_cast<size_t>(id);
    if (id < 0 || at > n_bytes_ / least_bytes)
      throw refusal("tokenizer.json: token " + std::to_string(id) + " is out of range");
    if (at >= v_.tokens.size()) {
      v_.tokens.resize(at + 1);
      v_.kinds.resize(at + 1, kind_special);  // a hole in the vocabulary has no text
      v_.is_looked_up.resize(at + 1, false);
    }
    v_.tokens[at] = text;
    v_.kinds[at] = kind;
    v_.is_looked_up[at] = is_looked_up;
  }

  void read_vocabulary(const json &vocab, bool has_bytes) {
    if (!vocab.is_object()) throw refusal("tokenizer.json: the vocabulary is no object");
    for (const auto &[text, id] : vocab.items()) {
      if (!id.is_number_integer()) throw refusal("tokenizer.json: a token's number is none");
      ids_.emplace(text, id.get<int32_t>());
      std::string bytes;
      if (has_bytes && from_byte_token(text, bytes))
        put_token(id, bytes, kind_byte, false);
      else if (!(v_.flags & flag_bytes))
        put_token(id, v_.has_lower_ones ? with_blanks(text) : text, 0, true);
      else if (from_byte_letters(text, bytes))
        put_token(id, bytes, 0, true);
      else
        put_token(id, text, 0, false);
    }
  }

  int32_t id_of(const std::string &text) const {
    const auto found = ids_.find(text);
    if (found == ids_.end()) refuse_part("the token", text);
    return found->second;
  }
  void read_unknown(const json &model) {
    const std::string unknown = text_at(model, "unk_token");
    if (!unknown.empty()) v_.unknown = id_of(unknown);
  }

  void read_bpe(const json &model) {
    for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!text_at(model, key).empty()) refuse_part(key, text_at(model, key));
    v_.model = model_bpe;
    if (flag_at(model, "ignore_merges", false)) v_.flags |= flag_whole_words;
    if (flag_at(model, "fuse_unk", false)) v_.flags |= flag_one_unknown;
    read_vocabulary(model.at("vocab"), flag_at(model, "byte_fallback", false));
    read_unknown(model);
    int32_t rank = 0;
    for (const json &pair : model.at("merges")) {
      std::string left, right;
      if (pair.is_array() && pair.size() == 2) {
        left = pair[0], right = pair[1];
      } else if (pair.is_string()) {
        const std::string both = pair;
        const size_t at = both.find(' ');
        if (at == std::string::npos) refuse_part("the merge", both);
        left = both.substr(0, at), right = both.substr(at + 1);
      }
      v_.merges.push_back({id_of(left), id_of(right), id_of(left + right), rank++});
    }
  }

  void read_wordpiece(const json &model) {
    if (text_at(model, "continuing_subword_prefix") != "##" && model.contains("continuing_subword_prefix"))
      refuse_part("continuing_subword_prefix", text_at(model, "continuing_subword_prefix"));
    v_.model = model_wordpiece;
    v_.longest_word = small_number_at(model, "max_input_chars_per_word", 100);
    read_vocabulary(model.at("vocab"), false);
    read_unknown(model);
  }

  void read_unigram(const json &model) {
    v_.model = model_unigram;
    v_.flags |= flag_one_unknown;
    const bool has_bytes = flag_at(model, "byte_fallback", false);
    int32_t id = 0;
    for (const json &entry : model.at("vocab")) {
      if (!entry.is_array() || entry.size() != 2)
        throw refusal("tokenizer.json: an entry of the vocabulary is no pair");
      const std::string text = entry[0];
      std::string byte;
      ids_.emplace(text, id);
      v_.scores.push_back(entry[1].get<float>());
      if (has_bytes && from_byte_token(text, byte))
        put_token(id, byte, kind_byte, false);
      else
        put_token(id, with_blanks(text), 0, true);
      ++id;
    }
    v_.unknown = small_number_at(model, "unk_id", -1);
    v_.has_lower_ones = true;
  }

  // ------------------------------------------------------------------------------------------------------- what is added

  void add(const json &token) {
    const std::string text = text_at(token, "content");
    const int64_t id = number_at(token, "id", -1);
    if (flag_at(token, "single_word", false)) refuse_part("the token of single words", text);
    ids_.emplace(text, static_cast<int32_t>(id));
    const bool is_special = flag_at(token, "special", false);
    const auto at = static_cast<size_t>(id);
    const bool is_there = id >= 0 && at < v_.tokens.size() && !v_.tokens[at].empty();
    uint8_t kind = is_special ? kind_special : 0;
    if (flag_at(token, "lstrip", false)) kind |= kind_takes_left;
    if (flag_at(token, "rstrip", false)) kind |= kind_takes_right;
    // A special token is no piece of a word; another one may be.
    put_token(id, v_.has_lower_ones ? with_blanks(text) : text, kind, !is_special && is_there && v_.is_looked_up[at]);
    if (!text.empty()) v_.added[text] = static_cast<int32_t>(id);
  }

  void surround(const json &part) {
    const std::string type = text_at(part, "type");
    if (type == "TemplateProcessing") {
      bool is_before = true;
      for (const json &piece : part.at("single")) {
        if (piece.contains("Sequence"))
          is_before = false;
        else
          (is_before ? v_.before : v_.after).push_back(id_of(text_at(piece.at("SpecialToken"), "id")));
      }
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      v_.before = {id_of(part.at("cls").at(0).get<std::string>())};
      v_.after = {id_of(part.at("sep").at(0).get<std::string>())};
    } else if (type != "ByteLevel") {
      refuse_part("the post-processor", type);
    }
  }

  void decode(const json &part) {
    const std::string type = text_at(part, "type");
    static const std::set<std::string> known = {"ByteFallback", "ByteLevel", "Fuse",     "Metaspace",
                                                "Replace",      "Strip",     "WordPiece"};
    if (known.count(type) == 0) refuse_part("the decoder", type);
    const bool drops = (type == "Strip" && number_at(part, "start", 0) > 0) ||
                       (type == "Metaspace" && (v_.flags & (flag_blank_each | flag_blank_first)));
    if (drops) v_.flags |= flag_no_first_blank;
  }

  const json &file_;
  size_t n_bytes_;
  bool has_form_d_ = false, strips_ = false;
  vocabulary v_;
  std::unordered_map<std::string, int32_t> ids_;
};

}  // namespace

std::vector<tensor> read_tokenizer_json(span file) {
  try {
    const auto is_flat = [](int depth, json::parse_event_t, json &) {
      if (depth > most_depth)
        throw refusal("is no tokenizer.json: its parts lie deeper in each other than " + std::to_string(most_depth));
      return true;
    };
    const json parsed = json::parse(file.data, file.data + file.size, is_flat);
    if (!parsed.is_object() || !parsed.contains("model")) throw refusal("is no tokenizer.json: it has no model");
    return tables_of(reader(parsed, file.size).read());
  } catch (const json::exception &error) {
    throw refusal(std::string("is no tokenizer.json that can be read: ") + error.what());
  }
}

}  // namespace heed_import
