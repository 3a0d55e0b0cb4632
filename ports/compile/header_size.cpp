// See header_size.hpp. tests/compile_targets.sh compares every size here with a compiler's. SPDX-License-Identifier: MIT
#include "header_size.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <stdexcept>
#include <vector>

#include "heed/heed.h"
#include "heed/integers.h"

namespace heed_compile {
namespace {

using tokens = std::vector<std::string>;

[[noreturn]] void fail(const std::string &what) { throw std::logic_error("header_size: " + what); }

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Names, numbers and signs, without comments; a text of #define up to the end of its line, which may go on behind a backslash.
tokens tokens_of(const std::string &text) {
  tokens all;
  for (size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "/*") == 0) {
      at = text.find("*/", at) + 2;
    } else if (is_of_name(text[at])) {
      size_t end = at;
      while (end < text.size() && is_of_name(text[end])) ++end;
      all.push_back(text.substr(at, end - at));
      at = end;
    } else {
      if (text.compare(at, 2, "\\\n") == 0)
        at += 2;
      else if (std::isspace(static_cast<unsigned char>(text[at++])) == 0 || text[at - 1] == '\n')
        all.push_back(text.substr(at - 1, 1));
    }
  }
  return all;
}

struct extent {
  uint64_t bytes = 0, alignment = 1;
};

// A type by its name. Objects of heed are aligned to 4, but for digests, which have integers of 64 bits.
extent known_extent(const std::string &type) {
  static const std::map<std::string, extent> known = {{"char", {1, 1}},
                                                      {"int8_t", {1, 1}},
                                                      {"uint8_t", {1, 1}},
                                                      {"int16_t", {2, 2}},
                                                      {"int32_t", {4, 4}},
                                                      {"uint32_t", {4, 4}},
                                                      {"uint64_t", {8, 8}},
                                                      {"float", {4, 4}},
                                                      {"heed_multiplier", {8, 4}},
                                                      {"heed_file", {12, 4}},
                                                      {"heed_tokenizer", {108, 4}},
                                                      {"heed_weights", {40, 4}},
                                                      {"heed_rope", {44, 4}},
                                                      {"heed_options", {52, 4}},
                                                      {"heed_attention_weights", {24, 4}},
                                                      {"heed_softcap", {12, 4}},
                                                      {"heed_cache", {52, 4}},
                                                      {"heed_attention_layer", {260, 4}},
                                                      {"heed_transformer_layer", {228, 4}},
                                                      {"heed_int_cache", {52, 4}},
                                                      {"heed_int_rope", {16, 4}},
                                                      {"heed_int_layer", {528, 4}},
                                                      {"heed_receipt_layer", {160, 8}}};
  const auto found = known.find(type);
  if (found == known.end()) fail("no type " + type);
  return found->second;
}

uint64_t macro(const std::string &name, const std::vector<uint64_t> &numbers) {
  std::vector<int32_t> n(8, 0);
  std::transform(numbers.begin(), numbers.begin() + static_cast<ptrdiff_t>(std::min(numbers.size(), n.size())),
                 n.begin(), [](uint64_t x) { return static_cast<int32_t>(x); });
  if (name == "HEED_CACHE_BYTES") return HEED_CACHE_BYTES(n[0], n[1], n[2], n[3], n[4], n[5]);
  if (name == "HEED_RING_BYTES") return HEED_RING_BYTES(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]);
  if (name == "HEED_SAMPLE_BYTES") return HEED_SAMPLE_BYTES(n[0]);
  if (name == "HEED_LAYER_GREATER") return HEED_LAYER_GREATER(numbers[0], numbers[1]);
  if (name == "HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS")
    return HEED_TRANSFORMER_LAYER_BYTES_OF_HEADS(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]);
  if (name == "HEED_INT_CACHE_BYTES") return HEED_INT_CACHE_BYTES(n[0], n[1], n[2], n[3], n[4]);
  if (name == "HEED_INT_LAYER_MIN_BYTES") return HEED_INT_LAYER_MIN_BYTES(n[0], n[1], n[2], n[3], n[4], n[5], n[6]);
  if (name == "HEED_INT_LAYER_SIZE_OF_ROW") return HEED_INT_LAYER_SIZE_OF_ROW(n[0], n[1], n[2], n[3], n[4]);
  fail("no macro " + name);
}

class header {
 public:
  explicit header(const std::string &text) : all_(tokens_of(text)) {
    constants_ = {{"HEED_F32", {std::to_string(HEED_F32)}},
                  {"HEED_F16", {std::to_string(HEED_F16)}},
                  {"HEED_BF16", {std::to_string(HEED_BF16)}},
                  {"HEED_INT8", {std::to_string(HEED_INT8)}}};
    read_defines();
    all_.erase(std::remove(all_.begin(), all_.end(), "\n"), all_.end());
    for (at_ = 0; at_ < all_.size(); ++at_) {
      if (all_[at_] == "enum") read_enum();
      if (all_[at_] == "typedef" && (all_[at_ + 1] == "struct" || all_[at_ + 1] == "union")) read_type();
    }
  }

  uint64_t size_of(const std::string &name) const {
    const auto found = types_.find(name);
    return found == types_.end() ? fail("no struct " + name), 0 : found->second.bytes;
  }

 private:
  // Takes lines of the preprocessor out.
  void read_defines() {
    tokens rest;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i] != "#") {
        rest.push_back(all_[i]);
        continue;
      }
      const size_t end =
          static_cast<size_t>(std::find(all_.begin() + static_cast<ptrdiff_t>(i), all_.end(), "\n") - all_.begin());
      if (all_[i + 1] == "define")
        constants_[all_[i + 2]] =
            tokens(all_.begin() + static_cast<ptrdiff_t>(i) + 3, all_.begin() + static_cast<ptrdiff_t>(end));
      i = end;
    }
    all_ = rest;
  }

  void expect(const char *token) {
    if (all_[at_++] != token) fail("no " + std::string(token) + " before " + all_[at_ - 1]);
  }
  bool take(const char *token) {
    if (all_[at_] != token) return false;
    ++at_;
    return true;
  }

  // enum { NAME = number, ... }
  void read_enum() {
    for (at_ += 2; all_[at_] != "}"; take(",")) {
      const std::string name = all_[at_++];
      expect("=");
      constants_[name] = {std::to_string(sum(all_, at_))};
    }
  }

  // typedef struct NAME { ... } NAME;
  void read_type() {
    const bool is_union = all_[at_ + 1] == "union";
    const std::string name = all_[at_ + 2];
    at_ += 3;
    if (take("{")) types_[name] = fields(is_union);
  }

  // The fields of a struct or union, with the bracket behind them.
  extent fields(bool is_union) {
    extent whole;
    while (!take("}")) {
      const bool is_aligned = take("HEED_ALIGNED");
      while (take("const") || take("unsigned")) continue;
      extent type;
      const bool is_nested = take("struct");
      const std::string name = all_[at_++];  // or the bracket of a struct without a name
      if (is_nested) type = fields(false);
      do {
        extent field = field_of(is_nested ? type : extent(), is_nested ? "" : name);
        if (is_aligned) field.alignment = HEED_ALIGNMENT;
        const uint64_t begin = is_union ? 0 : (whole.bytes + field.alignment - 1) / field.alignment * field.alignment;
        whole = {std::max(whole.bytes, begin + field.bytes), std::max(whole.alignment, field.alignment)};
      } while (take(","));
      expect(";");
    }
    whole.bytes = (whole.bytes + whole.alignment - 1) / whole.alignment * whole.alignment;
    return whole;
  }

  // *name, name or name[n] of a type, which is that of `name` unless it is known.
  extent field_of(extent type, const std::string &name) {
    if (take("*"))
      type = {4, 4};
    else if (!name.empty())
      type = types_.count(name) > 0 ? types_.at(name) : known_extent(name);
    ++at_;
    if (take("[")) {
      type.bytes *= sum(all_, at_);
      expect("]");
    }
    return type;
  }

  uint64_t sum(const tokens &t, size_t &at) const {
    uint64_t n = product(t, at);
    while (at < t.size() && (t[at] == "+" || t[at] == "-")) {
      const bool adds = t[at++] == "+";
      const uint64_t more = product(t, at);
      n = adds ? n + more : n - more;
    }
    return n;
  }
  uint64_t product(const tokens &t, size_t &at) const {
    uint64_t n = number(t, at);
    while (at < t.size() && (t[at] == "*" || t[at] == "/")) {
      const bool multiplies = t[at++] == "*";
      const uint64_t by = number(t, at);
      if (!multiplies && by == 0) fail("a division by 0");
      n = multiplies ? n * by : n / by;
    }
    return n;
  }
  uint64_t number(const tokens &t, size_t &at) const {
    if (at >= t.size()) fail("a sum without an end");
    const std::string word = t[at++];
    if (word == "-") return 0 - number(t, at);
    if (word == "(") {
      const uint64_t n = sum(t, at);
      ++at;
      return n;
    }
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return std::stoull(word);
    if (at < t.size() && t[at] == "(") {
      std::vector<uint64_t> numbers;
      do numbers.push_back(sum(t, ++at));
      while (t[at] == ",");
      ++at;
      return macro(word, numbers);
    }
    const auto found = constants_.find(word);
    if (found == constants_.end()) fail("no constant " + word);
    size_t begin = 0;
    return sum(found->second, begin);
  }

  tokens all_;
  size_t at_ = 0;
  std::map<std::string, tokens> constants_;
  std::map<std::string, extent> types_;
};

}  // namespace

uint64_t size_in_header(const std::string &text, const std::string &name) { return header(text).size_of(name); }

}  // namespace heed_compile
