// vocab.json as models of TensorFlow.js have it: a list of pieces of SentencePiece and their scores (a unigram). The first 6 are reserved;
// number 0 stands for what no piece has. See vocabulary.hpp. SPDX-License-Identifier: MIT
#include <utf8proc.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "vocabulary.hpp"

namespace heed_import {
namespace {

using json = nlohmann::json;

constexpr size_t n_reserved = 6, most_pieces = 1 << 20;
constexpr utf8proc_int32_t n_characters = 0x110000;

std::string utf8_of(utf8proc_int32_t c) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t n = utf8proc_encode_char(c, bytes);
  return std::string(bytes, bytes + n);
}

std::vector<utf8proc_int32_t> characters_of(const std::string &text) {
  std::vector<utf8proc_int32_t> all;
  const auto *at = reinterpret_cast<const utf8proc_uint8_t *>(text.data());
  for (auto left = static_cast<utf8proc_ssize_t>(text.size()); left > 0;) {
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t n = utf8proc_iterate(at, left, &c);
    if (n < 1) throw refusal("vocab.json: a piece is no UTF-8");
    all.push_back(c), at += n, left -= n;
  }
  return all;
}

// Unicode's normal form KC.
std::string form_kc(const std::string &text) {
  utf8proc_uint8_t *made = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
  const utf8proc_ssize_t n = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()),
                                          static_cast<utf8proc_ssize_t>(text.size()), &made, options);
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void *)> keeper(made, std::free);
  if (n < 0) throw refusal("vocab.json: a text has no normal form");
  return std::string(made, made + n);
}

// Texts are brought into form KC: characters that become others, and letters with a mark behind them that become one. What has no
// character of the pieces before and after is unknown either way, and stays.
void add_form_kc(vocabulary &v, const std::set<utf8proc_int32_t> &known) {
  const auto has_known = [&](const std::string &text) {
    for (const utf8proc_int32_t c : characters_of(text))
      if (known.count(c) != 0 || c == ' ') return true;
    return false;
  };
  for (utf8proc_int32_t c = 1; c < n_characters; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const std::string own = utf8_of(c), normal = form_kc(own);
    if (normal != own && (has_known(own) || has_known(normal))) v.replaced[own] = normal;
    utf8proc_int32_t parts[8];
    const auto decomposed = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
    const utf8proc_ssize_t n = utf8proc_decompose_char(c, parts, 8, decomposed, nullptr);
    if (n < 2 || n > 8) continue;
    std::string letters;
    for (utf8proc_ssize_t i = 0; i < n; ++i) letters += utf8_of(parts[i]);
    if (form_kc(letters) == own && has_known(letters)) v.replaced[letters] = own;
  }
}

}  // namespace

std::vector<tensor> read_pieces_json(span file) {
  vocabulary v;
  v.model = model_unigram;
  v.flags = flag_one_unknown | flag_blank_first;
  v.split = split_blanks;
  v.unknown = 0;
  v.has_lower_ones = true;
  std::set<utf8proc_int32_t> known;
  try {
    const auto is_flat = [](int depth, json::parse_event_t, json &) {
      if (depth > 3) throw refusal("vocab.json: is no list of pieces and scores");
      return true;
    };
    const json list = json::parse(file.data, file.data + file.size, is_flat);
    if (!list.is_array() || list.size() <= n_reserved || list.size() > most_pieces)
      throw refusal("vocab.json: is no list of pieces, or has too few or too many");
    std::map<std::string, size_t> places;
    for (const json &entry : list) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() ||
          !(entry[1].is_number() || entry[1].is_null()))
        throw refusal("vocab.json: an entry is no piece with its score");
      const size_t t = v.tokens.size();
      const bool is_reserved = t < n_reserved;
      const std::string piece = is_reserved ? "" : with_blanks(entry[0].get<std::string>());
      v.tokens.push_back(piece);
      v.kinds.push_back(is_reserved ? kind_special : 0);
      v.is_looked_up.push_back(!is_reserved && !piece.empty());
      v.scores.push_back(entry[1].is_null() ? 0.0f : entry[1].get<float>());  // JavaScript adds nothing, too
      if (piece.empty()) continue;
      if (piece.find(' ', 1) != std::string::npos) v.split = split_nowhere;
      for (const utf8proc_int32_t c : characters_of(piece)) known.insert(c);
      const auto before = places.find(piece);  // of two equal pieces the last one counts
      if (before != places.end()) v.is_looked_up[before->second] = false;
      places[piece] = t;
    }
  } catch (const json::exception &error) {
    throw refusal(std::string("vocab.json: cannot be read: ") + error.what());
  }
  add_form_kc(v, known);
  return tables_of(std::move(v));
}

}  // namespace heed_import
