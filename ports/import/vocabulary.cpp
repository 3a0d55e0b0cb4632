// See vocabulary.hpp. SPDX-License-Identifier: MIT
#include "vocabulary.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "../tokenizer/text.h"

namespace heed_import {
namespace {

constexpr int32_t n_characters = 0x110000;
constexpr size_t longest_piece = 1000;  // bytes of a token that is cut into pairs: the time is quadratic
using characters = std::vector<int32_t>;

std::string utf8_of(int32_t c) {
  std::string text(4, '\0');
  text.resize(put_character(reinterpret_cast<uint8_t *>(text.data()), c));
  return text;
}
std::string utf8_of(const characters &all) {
  std::string text;
  for (const int32_t c : all) text += utf8_of(c);
  return text;
}

bool is_surrogate(int32_t c) { return c >= 0xd800 && c < 0xe000; }

// ------------------------------------------------------------------------------------------------------------ Unicode

// The property White_Space, which is what \s means.
bool is_blank(int32_t c) {
  return (c >= 9 && c <= 13) || c == 32 || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

int32_t class_of(int32_t c) {
  if (is_blank(c)) return class_blank;
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
      return class_upper;
    case UTF8PROC_CATEGORY_LL:
      return class_lower;
    case UTF8PROC_CATEGORY_LT:
      return class_title;
    case UTF8PROC_CATEGORY_LM:
      return class_modifier;
    case UTF8PROC_CATEGORY_LO:
      return class_letter;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return class_mark;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return class_number;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return class_punctuation;
    default:
      return class_other;
  }
}

characters decomposed(int32_t c) {
  utf8proc_int32_t parts[32];
  int last = 0;
  const utf8proc_ssize_t n = utf8proc_decompose_char(c, parts, 32, UTF8PROC_DECOMPOSE, &last);
  return n > 0 ? characters(parts, parts + n) : characters{c};
}

// Form C of a decomposed text.
characters form_c(characters text) {
  text.push_back(0);
  const utf8proc_ssize_t n =
      utf8proc_normalize_utf32(text.data(), static_cast<utf8proc_ssize_t>(text.size() - 1),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  text.resize(static_cast<size_t>(n));
  return text;
}

int32_t combining_class(int32_t c) { return utf8proc_get_property(c)->combining_class; }
bool is_hangul_syllable(int32_t c) { return c >= 0xac00 && c < 0xd7a4; }

// ------------------------------------------------------------------------------------------------- actions of characters

using actions = std::vector<uint8_t>;

// BERT: text is cleaned, Chinese characters stand alone, accents go, case goes.
void add_bert(const vocabulary &v, actions &all, std::map<std::string, std::string> &replaced) {
  for (int32_t c = 0; c < n_characters; ++c) {
    const auto category = utf8proc_category(c);
    const bool is_control =
        (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO) &&
        c != '\t' && c != '\n' && c != '\r';
    const bool is_chinese = (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
                            (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
                            (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
                            (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
    uint8_t &action = all[static_cast<size_t>(c)];
    if (is_surrogate(c) || (category == UTF8PROC_CATEGORY_CN && !is_chinese)) continue;
    if (v.cleans_text && (c == 0xfffd || is_control)) {
      action = action_drop;
    } else if (v.cleans_text && is_blank(c)) {
      action = action_blank;
    } else {
      characters text = {c};
      if (v.strips_accents) {
        text = decomposed(c);
        text.erase(std::remove_if(text.begin(), text.end(),
                                  [](int32_t x) { return utf8proc_category(x) == UTF8PROC_CATEGORY_MN; }),
                   text.end());
      }
      if (v.lowers_case)
        for (int32_t &x : text) x = utf8proc_tolower(x);
      const bool is_alone = v.parts_chinese && is_chinese;
      if (text.size() == 1 && text[0] == c) {
        action = is_alone ? action_alone : action_keep;
      } else if (is_hangul_syllable(c) && !is_alone) {
        action = action_hangul;
      } else {
        const std::string blank = is_alone ? " " : "";
        replaced[utf8_of(c)] = blank + utf8_of(text) + blank;
      }
    }
  }
}

struct form_c_tables {
  std::vector<int32_t> marks;  // 256 * character + class
  std::vector<std::array<int32_t, 3>> compositions;
};

// Which characters another form may be the right one of, and what they are made of.
form_c_tables add_form_c(actions &all, std::map<std::string, std::string> &replaced) {
  form_c_tables f;
  const auto may_change = [&](int32_t c) { all[static_cast<size_t>(c)] = action_replace; };
  for (int32_t c = 0; c < n_characters; ++c) {
    if (is_surrogate(c)) continue;
    if (const int32_t combining = combining_class(c)) f.marks.push_back(256 * c + combining), may_change(c);
    if (is_hangul_syllable(c)) continue;  // heed_tokenizer computes them
    const characters parts = decomposed(c);
    if (parts == characters{c}) continue;
    replaced[utf8_of(c)] = utf8_of(parts);
    if (form_c(parts) != characters{c}) {
      may_change(c);
      continue;
    }
    const characters begin = form_c(characters(parts.begin(), parts.end() - 1));
    if (begin.size() != 1) throw refusal("Unicode's tables in utf8proc are not as expected");
    f.compositions.push_back({begin[0], parts.back(), c});
    may_change(parts.back());
  }
  for (int32_t c = 0x1161; c <= 0x1175; ++c) may_change(c);
  for (int32_t c = 0x11a8; c <= 0x11c2; ++c) may_change(c);
  std::sort(f.compositions.begin(), f.compositions.end());
  return f;
}

// ----------------------------------------------------------------------------------------------------------- tensors

tensor tensor_of(const std::string &name, int32_t dtype, bytes &&content, int size) {
  tensor t;
  t.name = name, t.dtype = dtype, t.is_metadata = true;
  t.dims = {static_cast<uint32_t>(content.size() / static_cast<size_t>(size))};
  t.own(std::move(content));
  return t;
}
template <class integers>
tensor integers_of(const std::string &name, const integers &numbers) {
  bytes content;
  for (const int32_t n : numbers) put(content, static_cast<uint32_t>(n), 4);
  return tensor_of(name, HEED_FILE_I32, std::move(content), 4);
}
tensor list_of(const std::string &name, const std::vector<std::string> &texts) {
  bytes content;
  uint64_t end = 0;
  put(content, texts.size(), 4);
  for (const std::string &text : texts) put(content, end += text.size(), 4);
  if (end > INT32_MAX) throw refusal(name + " has 2^31 bytes or more");
  for (const std::string &text : texts) content.insert(content.end(), text.begin(), text.end());
  return tensor_of(name, HEED_FILE_LIST, std::move(content), 1);
}

// Blocks of 256 characters; equal ones are there once.
bytes class_table(const actions &all) {
  static const bytes classes = [] {
    bytes of_each;
    for (int32_t c = 0; c < n_characters; ++c) of_each.push_back(static_cast<uint8_t>(class_of(c)));
    return of_each;
  }();
  std::map<bytes, size_t> blocks;
  bytes words, content;
  for (int32_t first = 0; first < n_characters; first += class_block) {
    bytes block;
    for (int32_t c = first; c < first + class_block; ++c)
      block.push_back(static_cast<uint8_t>(classes[static_cast<size_t>(c)] + 16 * all[static_cast<size_t>(c)]));
    const auto found = blocks.emplace(block, blocks.size());
    if (found.second) content.insert(content.end(), block.begin(), block.end());
    put(words, found.first->second, 2);
  }
  words.insert(words.end(), content.begin(), content.end());
  return words;
}

std::vector<int32_t> in_order(const vocabulary &v, std::vector<int32_t> tokens) {
  const auto &text = [&](int32_t t) -> const std::string & { return v.tokens[static_cast<size_t>(t)]; };
  std::sort(tokens.begin(), tokens.end(),
            [&](int32_t a, int32_t b) { return text(a) != text(b) ? text(a) < text(b) : a < b; });
  tokens.erase(std::unique(tokens.begin(), tokens.end(), [&](int32_t a, int32_t b) { return text(a) == text(b); }),
               tokens.end());
  return tokens;
}

void add_pairs(vocabulary &v, std::vector<tensor> &tables) {
  std::sort(v.merges.begin(), v.merges.end(), [](const merge &a, const merge &b) {
    return std::tie(a.left, a.right, a.rank) < std::tie(b.left, b.right, b.rank);
  });
  const auto same = [](const merge &a, const merge &b) { return a.left == b.left && a.right == b.right; };
  v.merges.erase(std::unique(v.merges.begin(), v.merges.end(), same), v.merges.end());
  std::vector<int32_t> first(v.tokens.size() + 1), pairs;
  for (const merge &m : v.merges) {
    ++first[static_cast<size_t>(m.left) + 1];
    pairs.insert(pairs.end(), {m.right, m.rank, m.both});
  }
  for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  tables.push_back(integers_of("tokenizer.first", first));
  if (!pairs.empty()) tables.push_back(integers_of("tokenizer.pairs", pairs));
}

// The most bytes that a byte of a key of SentencePiece's map becomes. tokenizer_form.h and normalize.c say how the map lies.
size_t growth_of_map(const bytes &map) {
  const size_t n_units = map.size() < 4 ? 0 : static_cast<size_t>(number_at(map.data(), 4)) / 4;
  if (n_units == 0 || n_units > (map.size() - 4) / 4) throw refusal("the vocabulary's map of characters is damaged");
  const auto unit_at = [&](size_t i) { return static_cast<uint32_t>(number_at(map.data() + 4 + 4 * i, 4)); };
  const auto children_of = [&](size_t i) {
    const uint32_t unit = unit_at(i);
    return i ^ (static_cast<size_t>(unit >> 10) << ((unit & 0x200) >> 6));
  };
  const size_t texts = 4 + 4 * n_units;
  size_t most = 1;
  std::vector<bool> is_known(n_units);
  std::vector<std::pair<size_t, size_t>> nodes = {{0, 0}};  // places, and bytes of the key until there
  while (!nodes.empty()) {
    const auto [at, depth] = nodes.back();
    nodes.pop_back();
    if (depth > 0 && (unit_at(at) & 0x100) && children_of(at) < n_units) {
      const size_t begin = texts + (unit_at(children_of(at)) & 0x7fffffff);
      size_t end = begin;
      while (end < map.size() && map[end] != 0) ++end;
      if (begin >= map.size() || end - begin > 4096) throw refusal("the vocabulary's map of characters is damaged");
      most = std::max(most, (end - begin + depth - 1) / depth);
    }
    for (uint32_t byte = 1; byte < 256; ++byte) {
      const size_t child = children_of(at) ^ byte;
      if (child >= n_units || is_known[child] || (unit_at(child) & 0x800000ff) != byte) continue;
      is_known[child] = true;
      nodes.emplace_back(child, depth + 1);
    }
  }
  return most;
}

// The most bytes that a byte of text becomes.
int32_t growth_of(const vocabulary &v) {
  if (v.flags & flag_nfc) return 3;  // Unicode Standard Annex 15, of UTF-8
  size_t most = v.map.empty() ? 1 : growth_of_map(v.map);
  if (v.parts_chinese) most = std::max<size_t>(most, 2);   // 3 bytes and two blanks
  if (v.strips_accents) most = std::max<size_t>(most, 3);  // 3 bytes of a Hangul syllable become 9
  for (const auto &[key, value] : v.replaced)
    most = std::max(most, (value.size() + key.size() - 1) / std::max<size_t>(key.size(), 1));
  if (most > most_growth) throw refusal("a replacement is too long for what it replaces");
  return static_cast<int32_t>(most);
}

// Whether words of a text of characters can be cut before blanks: no token has one behind another character.
bool can_split_at_blanks(const vocabulary &v) {
  return std::none_of(v.merges.begin(), v.merges.end(), [&](const merge &m) {
    const std::string &text = v.tokens[static_cast<size_t>(m.both)];
    for (size_t i = 1; i < text.size(); ++i)
      if (text[i] == ' ' && text[i - 1] != ' ') return true;
    return false;
  });
}

std::array<int32_t, 512> tokens_of_bytes(const vocabulary &v) {
  std::array<int32_t, 512> all;
  all.fill(-1);
  for (size_t i = v.tokens.size(); i > 0; --i) {
    const size_t t = i - 1;
    if (v.tokens[t].size() != 1) continue;
    const size_t byte = static_cast<uint8_t>(v.tokens[t][0]);
    if (v.is_looked_up[t]) all[byte] = static_cast<int32_t>(t);
    if (v.kinds[t] & kind_byte) all[256 + byte] = static_cast<int32_t>(t);
  }
  return all;
}

void expect_whole(const vocabulary &v) {
  const size_t n = v.tokens.size();
  const auto is_token = [&](int32_t t) { return t >= 0 && static_cast<size_t>(t) < n; };
  if (n == 0) throw refusal("the vocabulary has no tokens");
  if (n > INT32_MAX / 4) throw refusal("the vocabulary has too many tokens");
  if (v.unknown != -1 && !is_token(v.unknown))
    throw refusal("the unknown token " + std::to_string(v.unknown) + " is not in the vocabulary");
  if (v.model == model_wordpiece && v.unknown == -1) throw refusal("the vocabulary has no unknown token");
  if (v.longest_word < 1) throw refusal("the longest word has " + std::to_string(v.longest_word) + " characters");
  for (const float score : v.scores)
    if (!std::isfinite(score)) throw refusal("a token's score is no number");
  const int32_t others = ~(flag_bytes | flag_whole_words | flag_one_unknown | flag_no_first_blank | flag_nfc);
  const bool changes_more = v.flags & others || !v.replaced.empty() || !v.map.empty() || v.cleans_text ||
                            v.strips_accents || v.lowers_case || v.parts_chinese || v.has_lower_ones ||
                            v.all_blanks_part;
  if ((v.flags & flag_nfc) && changes_more)
    throw refusal("form C is not known together with other changes of the text");
  if (v.before.size() > 4 || v.after.size() > 4) throw refusal("more than 4 tokens go before or after a text");
  for (const auto &[text, t] : v.added)
    if (text.empty() || !is_token(t)) throw refusal("a token that is cut out of texts is not in the vocabulary");
  for (const auto *list : {&v.before, &v.after})
    for (const int32_t t : *list)
      if (!is_token(t)) throw refusal("token " + std::to_string(t) + " is not in the vocabulary");
  for (const merge &m : v.merges)
    if (!is_token(m.left) || !is_token(m.right) || !is_token(m.both)) throw refusal("a merge names no token");
}

}  // namespace

const std::string lower_one = "\xe2\x96\x81";

std::string with_blanks(const std::string &text) {
  std::string with;
  for (size_t at = 0, next; at < text.size(); at = next + lower_one.size()) {
    next = std::min(text.find(lower_one, at), text.size());
    with.append(text, at, next - at);
    if (next < text.size()) with += ' ';
  }
  return with;
}

bool from_byte_token(const std::string &text, std::string &byte) {
  static const std::string digits = "0123456789ABCDEF";
  if (text.size() != 6 || text.compare(0, 3, "<0x") != 0 || text[5] != '>') return false;
  const size_t high = digits.find(text[3]), low = digits.find(text[4]);
  if (high > 15 || low > 15) return false;
  byte = static_cast<char>(16 * high + low);
  return true;
}

void add_merges_by_order(vocabulary &v, const std::vector<int32_t> &order) {
  std::unordered_map<std::string, int32_t> tokens;
  for (size_t t = 0; t < v.tokens.size(); ++t) {
    if (v.tokens[t].size() > longest_piece)
      throw refusal("token " + std::to_string(t) + " has more than " + std::to_string(longest_piece) + " bytes");
    if (v.is_looked_up[t]) tokens.emplace(v.tokens[t], static_cast<int32_t>(t));
  }
  for (const auto &[text, both] : tokens) {
    for (size_t i = 1; i < text.size(); ++i) {
      const auto left = tokens.find(text.substr(0, i));
      if (left == tokens.end()) continue;
      const auto right = tokens.find(text.substr(i));
      if (right != tokens.end())
        v.merges.push_back({left->second, right->second, both, order[static_cast<size_t>(both)]});
    }
  }
}

bool from_byte_letters(const std::string &text, std::string &bytes) {
  static const std::map<int32_t, uint8_t> byte_of_letter = [] {
    std::map<int32_t, uint8_t> all;
    int32_t next = 256;
    for (int32_t b = 0; b < 256; ++b) {
      const bool is_shown = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      all[is_shown ? b : next++] = static_cast<uint8_t>(b);
    }
    return all;
  }();
  bytes.clear();
  const auto *p = reinterpret_cast<const uint8_t *>(text.data());
  for (size_t at = 0, n_bytes; at < text.size(); at += n_bytes) {
    const auto found = byte_of_letter.find(character_at(p + at, text.size() - at, &n_bytes));
    if (found == byte_of_letter.end()) return false;
    bytes += static_cast<char>(found->second);
  }
  return true;
}

std::vector<tensor> tables_of(vocabulary v) {
  expect_whole(v);
  actions all(n_characters, action_keep);
  form_c_tables form;
  if (v.cleans_text || v.strips_accents || v.lowers_case || v.parts_chinese) {
    add_bert(v, all, v.replaced);
    v.flags |= flag_replace;
  }
  if (v.has_lower_ones) all[0x2581] = action_blank, v.flags |= flag_replace;
  for (int32_t c = 0; v.all_blanks_part && c < n_characters; ++c)
    if (is_blank(c)) all[static_cast<size_t>(c)] = action_blank, v.flags |= flag_replace;
  if (!v.map.empty()) v.flags |= flag_map;
  if (v.flags & flag_nfc) form = add_form_c(all, v.replaced);
  for (const auto &[key, value] : v.replaced) {
    size_t n_bytes;
    const int32_t c = character_at(reinterpret_cast<const uint8_t *>(key.data()), key.size(), &n_bytes);
    if (key.empty() || c == no_character) throw refusal("what is to be replaced is no text");
    if (!(v.flags & flag_nfc)) all[static_cast<size_t>(c)] = action_replace;
  }
  if (!v.replaced.empty() && !(v.flags & flag_nfc)) v.flags |= flag_replace;
  if (v.split == split_nowhere && v.model == model_bpe && can_split_at_blanks(v)) v.split = split_blanks;

  std::vector<int32_t> facts(n_facts), looked_up;
  for (size_t t = 0; t < v.tokens.size(); ++t)
    if (v.is_looked_up[t]) looked_up.push_back(static_cast<int32_t>(t));
  const std::vector<int32_t> sorted = in_order(v, looked_up);
  std::vector<tensor> tables;
  if (v.model == model_bpe) add_pairs(v, tables);
  float lowest = 0.0f;
  for (const float score : v.scores) lowest = std::min(lowest, score);
  facts[fact_version] = 1;
  facts[fact_model] = v.model;
  facts[fact_flags] = v.flags;
  facts[fact_split] = v.split;
  facts[fact_digits] = v.digits;
  facts[fact_unknown] = v.unknown;
  facts[fact_n_sorted] = static_cast<int32_t>(sorted.size());
  facts[fact_n_added] = static_cast<int32_t>(v.added.size());
  facts[fact_n_pairs] = v.model == model_bpe ? static_cast<int32_t>(v.merges.size()) : 0;
  facts[fact_n_marks] = static_cast<int32_t>(form.marks.size());
  facts[fact_n_compositions] = static_cast<int32_t>(form.compositions.size());
  facts[fact_growth] = growth_of(v);
  facts[fact_longest_word] = v.longest_word;
  std::memcpy(&facts[fact_lowest_score], &lowest, 4);
  facts[fact_n_before] = static_cast<int32_t>(v.before.size());
  facts[fact_n_after] = static_cast<int32_t>(v.after.size());
  std::copy(v.before.begin(), v.before.end(), facts.begin() + fact_before);
  std::copy(v.after.begin(), v.after.end(), facts.begin() + fact_after);
  tables.push_back(integers_of("tokenizer", facts));
  tables.push_back(list_of("tokenizer.tokens", v.tokens));
  tables.push_back(tensor_of("tokenizer.kinds", HEED_FILE_TEXT, bytes(v.kinds.begin(), v.kinds.end()), 1));
  tables.push_back(integers_of("tokenizer.bytes", tokens_of_bytes(v)));
  if (!sorted.empty()) tables.push_back(integers_of("tokenizer.sorted", sorted));
  if (!v.added.empty()) {
    std::vector<std::string> texts;
    std::vector<int32_t> tokens;
    for (const auto &[text, t] : v.added) texts.push_back(text), tokens.push_back(t);
    tables.push_back(integers_of("tokenizer.added", tokens));
    tables.push_back(list_of("tokenizer.added_texts", texts));
  }
  tables.push_back(tensor_of("tokenizer.classes", HEED_FILE_TEXT, class_table(all), 1));
  if (v.model == model_unigram) {
    bytes content;
    for (const float score : v.scores) put(content, score);
    tables.push_back(tensor_of("tokenizer.scores", HEED_F32, std::move(content), 4));
  }
  if (!v.map.empty()) tables.push_back(tensor_of("tokenizer.map", HEED_FILE_TEXT, bytes(v.map), 1));
  if (v.flags & (flag_replace | flag_nfc)) {
    std::vector<std::string> keys, values;
    for (const auto &[key, value] : v.replaced) keys.push_back(key), values.push_back(value);
    tables.push_back(list_of("tokenizer.keys", keys));
    tables.push_back(list_of("tokenizer.values", values));
  }
  if (!form.marks.empty()) tables.push_back(integers_of("tokenizer.marks", form.marks));
  if (!form.compositions.empty()) {
    std::vector<int32_t> words;
    for (const auto &c : form.compositions) words.insert(words.end(), c.begin(), c.end());
    tables.push_back(integers_of("tokenizer.compositions", words));
  }
  return tables;
}

}  // namespace heed_import
