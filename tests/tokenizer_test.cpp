// Tokenizers: each rule beside another way to compute it, on random texts; refusals; damaged tables. tokenizers.sh compares
// published vocabularies with another implementation. SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <regex>

#include "flat_file.hpp"
#include "parts.h"
#include "readers.hpp"
#include "support/import_files.hpp"
#include "vocabulary.hpp"

namespace {

using namespace heed_import;
namespace files = import_files;

// A tokenizer in memory of its own.
class opened {
 public:
  explicit opened(const vocabulary &v) : opened(flat_file(tables_of(v))) {}
  explicit opened(const bytes &file) : size_(file.size()) {
    if (posix_memalign(&data_, HEED_FILE_ALIGNMENT, size_) != 0) std::abort();
    std::memcpy(data_, file.data(), size_);
    heed_file f;
    error = heed_file_open(&f, data_, size_);
    if (error == nullptr) error = heed_tokenizer_open(&tokenizer, &f);
  }
  ~opened() { std::free(data_); }
  opened(const opened &) = delete;
  opened &operator=(const opened &) = delete;

  std::vector<int32_t> encode(const std::string &text, int32_t how = HEED_TOKENIZER_PLAIN) const {
    std::vector<uint64_t> workspace(heed_tokenizer_workspace_bytes(&tokenizer, text.size()) / 8 + 1);
    std::vector<int32_t> tokens(4 * text.size() + 16);
    int32_t n = 0;
    EXPECT_STREQ(heed_tokenizer_encode(&tokenizer, text.data(), text.size(), how, tokens.data(),
                                       static_cast<int32_t>(tokens.size()), &n,
                                       heed_memory_of(workspace.data(), 8 * workspace.size())),
                 nullptr);
    tokens.resize(static_cast<size_t>(n));
    return tokens;
  }
  std::string decode(const std::vector<int32_t> &tokens) const {
    std::string all;
    int32_t previous = -1;
    for (const int32_t token : tokens) {
      char piece[256];
      const size_t n = heed_tokenizer_decode(&tokenizer, previous, token, piece, sizeof piece);
      all.append(piece, n);
      previous = token;
    }
    return all;
  }
  std::vector<std::string> words(const std::string &all) const {
    tokenizer_words w = {{reinterpret_cast<const uint8_t *>(all.data()), all.size()}, 0, 0};
    std::vector<std::string> found;
    for (text word; tokenizer_next_word(&tokenizer, &w, &word);) found.emplace_back(word.data, word.data + word.n);
    return found;
  }

  const void *data() const { return data_; }

  heed_tokenizer tokenizer;
  const char *error;

 private:
  void *data_ = nullptr;
  size_t size_;
};

void add_token(vocabulary &v, const std::string &bytes, uint8_t kind = 0) {
  v.tokens.push_back(bytes);
  v.kinds.push_back(kind);
  v.is_looked_up.push_back(kind == 0);
}

// All bytes, and merges of random neighbours.
vocabulary random_bpe(std::mt19937 &random, int n_merges, const std::string &letters) {
  vocabulary v;
  v.flags = flag_bytes;
  std::map<std::string, int32_t> ids;
  for (int b = 0; b < 256; ++b) add_token(v, std::string(1, static_cast<char>(b))), ids[v.tokens.back()] = b;
  std::vector<std::string> pieces;
  for (const char c : letters) pieces.emplace_back(1, c);
  for (int i = 0; i < n_merges; ++i) {
    const std::string left = pieces[random() % pieces.size()], right = pieces[random() % pieces.size()];
    if (ids.count(left + right) == 0) {
      ids[left + right] = static_cast<int32_t>(v.tokens.size());
      add_token(v, left + right);
      pieces.push_back(left + right);
    }
    v.merges.push_back({ids[left], ids[right], ids[left + right], i});
  }
  return v;
}

std::string random_text(std::mt19937 &random, const std::string &letters, size_t most) {
  std::string text(random() % (most + 1), ' ');
  for (char &c : text) c = letters[random() % letters.size()];
  return text;
}

// The definition: again and again the pair of the lowest rank, the first of several.
std::vector<int32_t> slow_bpe(const vocabulary &v, const std::string &word) {
  std::vector<int32_t> tokens;
  for (const char c : word) tokens.push_back(static_cast<uint8_t>(c));
  for (;;) {
    const merge *best = nullptr;
    size_t at = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i)
      for (const merge &m : v.merges)
        if (m.left == tokens[i] && m.right == tokens[i + 1] && (best == nullptr || m.rank < best->rank))
          best = &m, at = i;
    if (best == nullptr) return tokens;
    tokens[at] = best->both;
    tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

TEST(tokenizer, joins_pairs_as_the_definition_does) {
  std::mt19937 random(1);
  for (int run = 0; run < 40; ++run) {
    const vocabulary v = random_bpe(random, 30, "abc");
    const opened t(v);
    ASSERT_STREQ(t.error, nullptr);
    for (int i = 0; i < 50; ++i) {
      const std::string word = random_text(random, "abcd", 40);
      ASSERT_EQ(t.encode(word), slow_bpe(v, word)) << word;
    }
  }
}

TEST(tokenizer, takes_pairs_of_scores_as_merges) {
  vocabulary v;
  for (const char *token : {" ", "a", "b", "ab", "aba", "ba", "a b"}) add_token(v, token);
  add_merges_by_order(v, {0, 0, 0, 2, 1, 1, 0});
  const opened t(v);
  EXPECT_EQ(t.encode("abab"), (std::vector<int32_t>{4, 2}));    // ba before ab, although ab comes first; then aba
  EXPECT_EQ(t.encode("a b"), (std::vector<int32_t>{1, 0, 2}));  // neither "a " nor " b" is a token
}

// ------------------------------------------------------------------------------------------------------------- words

// The regular expressions of the models in ASCII: letters, digits and blanks are as in Unicode there.
std::vector<std::string> by_regex(const std::string &expression, const std::string &text) {
  const std::regex regex(expression);
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i) found.push_back(i->str());
  return found;
}

TEST(tokenizer, splits_words_as_the_regular_expressions_of_the_models) {
  const std::string contractions = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]";
  const std::string lines = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", letters = "[^\\r\\nA-Za-z0-9]?";
  const std::string gpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\\sA-Za-z0-9]+|\\s+(?!\\S)|\\s+";
  const auto llama3 = [&](const std::string &digits) {
    return contractions + "|" + letters + "[A-Za-z]+|" + digits + "| ?[^\\sA-Za-z0-9]+[\\r\\n]*|" + lines;
  };
  const std::string gpt4o = letters + "[A-Z]*[a-z]+(?:" + contractions + ")?|" + letters +
                            "[A-Z]+[a-z]*(?:" + contractions + ")?|[0-9]{1,3}| ?[^\\sA-Za-z0-9]+[\\r\\n/]*|" + lines;
  const struct {
    int32_t split, digits;
    std::string expression;
  } rules[] = {{split_gpt2, 0, gpt2},
               {split_llama3, 3, llama3("[0-9]{1,3}")},
               {split_llama3, 1, llama3("[0-9]")},
               {split_gpt4o, 3, gpt4o}};
  std::mt19937 random(2);
  for (const auto &rule : rules) {
    vocabulary v = random_bpe(random, 1, "a");
    v.split = rule.split, v.digits = rule.digits;
    const opened t(v);
    for (int i = 0; i < 400; ++i) {
      const std::string text = random_text(random, "aB'sStTlL lveR 12  \n\r\t!,/", 24);
      ASSERT_EQ(t.words(text), by_regex(rule.expression, text)) << rule.split << ": " << text;
    }
  }
}

TEST(tokenizer, splits_digits_from_all_else) {
  std::mt19937 random(3);
  vocabulary v = random_bpe(random, 1, "a");
  v.split = split_digits;
  const opened t(v);
  EXPECT_EQ(t.words("ab 12  3 don't"), (std::vector<std::string>{"ab", " ", "1", "2", "  ", "3", " don", "'t"}));
  EXPECT_EQ(t.words("7"), std::vector<std::string>{"7"});
}

TEST(tokenizer, words_have_letters_of_all_languages) {
  std::mt19937 random(4);
  vocabulary v = random_bpe(random, 1, "a");
  v.split = split_llama3, v.digits = 3;
  const opened t(v);
  EXPECT_EQ(t.words("naïve Straße 東京2026年"),
            (std::vector<std::string>{"naïve", " Straße", " 東京", "202", "6", "年"}));
  EXPECT_EQ(t.words("'ſa"), (std::vector<std::string>{"'ſ", "a"}));  // U+017F is an s
  EXPECT_EQ(t.words("a\xff"
                    "b"),
            (std::vector<std::string>{"a",
                                      "\xff"
                                      "b"}));  // no UTF-8: like a sign
}

// ------------------------------------------------------------------------------------------------------ other models

TEST(tokenizer, unigram_finds_the_greatest_sum) {
  std::mt19937 random(5);
  for (int run = 0; run < 30; ++run) {
    vocabulary v;
    v.model = model_unigram, v.unknown = 0, v.flags = flag_one_unknown;
    add_token(v, "<unk>", kind_special), v.scores.push_back(0);
    for (const char *const token : {"a", "b", "ab", "ba", "aab", "abab", "bb", "aaa"})
      add_token(v, token), v.scores.push_back(-static_cast<float>(1 + random() % 1000) / 64);
    const opened t(v);
    for (int i = 0; i < 20; ++i) {
      const std::string text = random_text(random, "ab", 12);
      double best = -std::numeric_limits<double>::infinity(), found = 0;
      // Every way to cut it: bit k says whether a token ends behind character k.
      for (uint32_t cuts = 0; !text.empty() && cuts < 1u << (text.size() - 1); ++cuts) {
        double sum = 0;
        for (size_t at = 0, end; at < text.size(); at = end) {
          for (end = at + 1; end < text.size() && !(cuts >> (end - 1) & 1);) ++end;
          const auto token = std::find(v.tokens.begin(), v.tokens.end(), text.substr(at, end - at));
          sum += token == v.tokens.end() ? -1e9
                                         : static_cast<double>(v.scores[static_cast<size_t>(token - v.tokens.begin())]);
        }
        best = std::max(best, sum);
      }
      std::string whole;
      for (const int32_t token : t.encode(text))
        found += static_cast<double>(v.scores[static_cast<size_t>(token)]),
            whole += v.tokens[static_cast<size_t>(token)];
      EXPECT_EQ(whole, text);
      if (!text.empty()) {
        EXPECT_EQ(found, best) << text;
      }
    }
  }
}

TEST(tokenizer, unigram_joins_what_is_unknown) {
  vocabulary v;
  v.model = model_unigram, v.unknown = 0, v.flags = flag_one_unknown;
  v.scores = {0, -1};
  add_token(v, "<unk>", kind_special), add_token(v, "a");
  const opened t(v);
  EXPECT_EQ(t.encode("aééa"), (std::vector<int32_t>{1, 0, 1}));
}

vocabulary small_bert() {
  vocabulary v;
  v.model = model_wordpiece, v.split = split_bert, v.unknown = 1, v.longest_word = 10;
  v.cleans_text = v.parts_chinese = v.lowers_case = v.strips_accents = true;
  for (const char *const token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
    v.added[token] = static_cast<int32_t>(v.tokens.size());
    add_token(v, token, kind_special);
  }
  for (const char *const token : {"un", "##aff", "##able", "cafe", "!", "東", "##s"}) add_token(v, token);
  v.before = {2}, v.after = {3};
  return v;
}

TEST(tokenizer, wordpiece_takes_the_longest_pieces_of_normalised_words) {
  const opened t(small_bert());
  EXPECT_EQ(t.encode("Unaffable CAFÉ!\n東s", HEED_TOKENIZER_ADD),
            (std::vector<int32_t>{2, 4, 5, 6, 7, 8, 9, 1, 3}));  // s alone is unknown: only ##s is there
  EXPECT_EQ(t.encode("cafe\xcc\x81\x07s"),
            (std::vector<int32_t>{7, 10}));  // an accent of its own and a control character go
  EXPECT_EQ(t.encode("unaffableunaffable"), (std::vector<int32_t>{1}));  // longer than 10 characters
  EXPECT_EQ(t.decode({2, 4, 5, 6, 7, 8, 3}), "unaffable cafe !");
}

TEST(tokenizer, cuts_special_tokens_out_of_the_programs_texts_alone) {
  const opened t(small_bert());
  EXPECT_EQ(t.encode("un[SEP]cafe", HEED_TOKENIZER_SPECIAL), (std::vector<int32_t>{4, 3, 7}));
  EXPECT_EQ(t.encode("[SEP]"), (std::vector<int32_t>{1, 1, 1}));  // [ and ] are punctuation
  EXPECT_EQ(heed_tokenizer_find(&t.tokenizer, "[SEP]", 5), 3);
  EXPECT_EQ(heed_tokenizer_find(&t.tokenizer, "cafe", 4), 7);
  EXPECT_EQ(heed_tokenizer_find(&t.tokenizer, "tea", 3), -1);
}

TEST(tokenizer, blanks_of_sentencepiece) {
  vocabulary v;
  v.has_lower_ones = true, v.flags = flag_blank_each | flag_no_first_blank | flag_one_unknown;
  for (int b = 0; b < 256; ++b) add_token(v, std::string(1, static_cast<char>(b)), kind_byte);
  for (const char *const token : {" ", "a", " a", "aa"}) add_token(v, token);
  add_merges_by_order(v, std::vector<int32_t>(v.tokens.size(), 0));
  const opened t(v);
  EXPECT_EQ(t.encode("a a"), (std::vector<int32_t>{258, 258}));
  EXPECT_EQ(t.encode("aa"), (std::vector<int32_t>{258, 257}));  // " a" comes first
  EXPECT_EQ(t.encode("a\xe2\x96\x81"
                     "a"),
            (std::vector<int32_t>{258, 258}));
  EXPECT_EQ(t.encode("é"), (std::vector<int32_t>{256, 0xc3, 0xa9}));
  EXPECT_EQ(t.encode("\xff"), (std::vector<int32_t>{256, 0xef, 0xbf, 0xbd}));  // U+FFFD
  EXPECT_EQ(t.decode({258, 258, 0xc3, 0xa9}), "a aé");
  EXPECT_TRUE(t.encode("").empty());
}

// ------------------------------------------------------------------------------------------------------------ form C

TEST(tokenizer, form_c_is_that_of_unicode) {
  std::mt19937 random(6);
  vocabulary v = random_bpe(random, 1, "a");
  v.flags |= flag_nfc;
  const opened t(v);
  const int32_t ranges[][2] = {{0x20, 0x60},    {0xc0, 0x190},    {0x300, 0x70},  {0x300, 0x70},
                               {0x1100, 0x100}, {0xac00, 0x2ba4}, {0x900, 0x400}, {0x1e00, 0x200},
                               {0xf900, 0x200}, {0x1d150, 0x80},  {0x11080, 0x60}};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint32_t k = random() % 12; k > 0; --k) {
      const auto &range = ranges[random() % (sizeof ranges / sizeof *ranges)];
      uint8_t one[4];
      text.append(
          one, one + put_character(one, range[0] + static_cast<int32_t>(random() % static_cast<uint32_t>(range[1]))));
    }
    utf8proc_uint8_t *const expected = utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t *>(text.c_str()));
    ASSERT_NE(expected, nullptr);
    ASSERT_EQ(t.decode(t.encode(text)), std::string(reinterpret_cast<char *>(expected))) << text;
    std::free(expected);
  }
}

// ----------------------------------------------------------------------------------------------------- what can go wrong

TEST(tokenizer, any_bytes_come_back) {
  std::mt19937 random(7);
  for (const int32_t split : {split_nowhere, split_gpt2, split_digits, split_llama3, split_gpt4o}) {
    vocabulary v = random_bpe(random, 60, "ab 1\n");
    v.split = split, v.digits = 3;
    const opened t(v);
    for (int i = 0; i < 500; ++i) {
      std::string text(random() % 200, ' ');
      for (char &c : text) c = static_cast<char>(random() % 4 ? "ab 1\n'\xc3\xa9\xf0"[random() % 9] : random());
      ASSERT_EQ(t.decode(t.encode(text)), text);
    }
  }
}

TEST(tokenizer, says_what_is_too_small) {
  std::mt19937 random(8);
  const opened t(random_bpe(random, 10, "ab"));
  int32_t tokens[3], n = -1;
  uint64_t workspace[64];
  const auto encode = [&](const char *text, int32_t capacity, size_t bytes) {
    const char *const error = heed_tokenizer_encode(&t.tokenizer, text, std::strlen(text), HEED_TOKENIZER_PLAIN, tokens,
                                                    capacity, &n, heed_memory_of(workspace, bytes));
    return std::string(error == nullptr ? "" : error);
  };
  EXPECT_EQ(encode("xyz", 3, sizeof workspace), "");
  EXPECT_EQ(encode("wxyz", 3, sizeof workspace), "the text has more tokens than there is room for");
  EXPECT_EQ(n, 4);
  EXPECT_EQ(tokens[2], 'y');
  EXPECT_EQ(encode("xyz", 3, 40), "the workspace is too small for this text");
  EXPECT_EQ(encode("xyz", -1, 40), "the capacity is negative");
  EXPECT_STREQ(
      heed_tokenizer_encode(&t.tokenizer, "x", 1, 4, tokens, 3, &n, heed_memory_of(workspace, sizeof workspace)),
      "how has bits that mean nothing");
  EXPECT_STREQ(heed_tokenizer_encode(&t.tokenizer, nullptr, 1, 0, tokens, 3, &n, heed_memory_of(workspace, 8)),
               "a pointer is null");
  EXPECT_EQ(heed_tokenizer_whole("a\xc3", 2), 1u);
  EXPECT_EQ(heed_tokenizer_whole("a\xe6\x9d", 3), 1u);
  EXPECT_EQ(heed_tokenizer_whole("a\xe6\x9d\xb1", 4), 4u);
}

// A byte of a vocabulary of bytes that has no token is the unknown one; the last byte of a word, too.
TEST(tokenizer, bytes_without_a_token_are_unknown) {
  vocabulary v;
  v.flags = flag_bytes;
  for (const char *const token : {"a", "b", "ab", "?"}) add_token(v, token);
  v.merges = {{0, 1, 2, 0}};
  const opened none(v);
  EXPECT_EQ(none.encode("xabx"), std::vector<int32_t>{2});
  v.unknown = 3;
  const opened one(v);
  EXPECT_EQ(one.encode("xab\xc3\xa9"), (std::vector<int32_t>{3, 2, 3, 3}));
}

// A token that takes the blanks to its left leaves a byte behind them that is no character.
TEST(tokenizer, blanks_beside_a_token_go) {
  std::mt19937 random(11);
  vocabulary v = random_bpe(random, 1, "a");
  v.added["[M]"] = 300;
  v.tokens.resize(301), v.kinds.resize(301), v.is_looked_up.resize(301);
  v.kinds[300] = kind_special | kind_takes_left | kind_takes_right;
  const opened t(v);
  EXPECT_EQ(t.encode("a \n[M]\t b", HEED_TOKENIZER_SPECIAL), (std::vector<int32_t>{'a', 300, 'b'}));
  EXPECT_EQ(t.encode(" \x80[M]", HEED_TOKENIZER_SPECIAL), (std::vector<int32_t>{' ', 0x80, 300}));
}

TEST(tokenizer, long_words_take_no_quadratic_time) {
  std::mt19937 random(9);
  vocabulary v = random_bpe(random, 200, "ab");
  const opened t(v);
  const std::string text = random_text(random, "ab", 1 << 20);
  EXPECT_EQ(t.decode(t.encode(text)), text);  // 2^40 steps would not end
}

void use(const heed_tokenizer &t) {
  int32_t tokens[64], n;
  uint64_t workspace[512];
  const std::string text = "ab Ab\xcc\x81 cafe[SEP]\xea\xb0\x81";
  heed_tokenizer_encode(&t, text.data(), text.size(), HEED_TOKENIZER_ADD | HEED_TOKENIZER_SPECIAL, tokens, 64, &n,
                        heed_memory_of(workspace, sizeof workspace));
  char piece[8];
  for (int32_t i = 0; i < n && i < 64; ++i) heed_tokenizer_decode(&t, -1, tokens[i], piece, sizeof piece);
}

// Every word of every table with other numbers: refused, or no harm is done.
TEST(tokenizer, damaged_tables_do_no_harm) {
  std::mt19937 random(10);
  vocabulary bpe = random_bpe(random, 20, "ab ");
  bpe.flags |= flag_nfc;
  for (const vocabulary &v : {bpe, small_bert()}) {
    bytes file = flat_file(tables_of(v));
    const opened whole(file);
    heed_file f;
    ASSERT_STREQ(heed_file_open(&f, whole.data(), file.size()), nullptr);
    for (uint32_t which = 0; which < f.n_tensors; ++which) {
      const heed_file_tensor t = heed_file_tensor_at(&f, which);
      uint8_t *const content =
          file.data() + (static_cast<const uint8_t *>(t.data) - static_cast<const uint8_t *>(whole.data()));
      const size_t step = t.n_bytes < 800 ? 4 : t.n_bytes / 800 * 4;
      for (size_t at = 0; at + 4 <= t.n_bytes; at += step) {
        for (const uint32_t wrong : {0xffffffffu, 0x7fffffffu, 0x00010000u, 1u, 0u}) {
          uint8_t kept[4];
          std::memcpy(kept, content + at, 4);
          for (size_t k = 0; k < 4; ++k) content[at + k] = static_cast<uint8_t>(wrong >> (8 * k));
          const opened bad(file);
          std::memcpy(content + at, kept, 4);
          if (bad.error == nullptr) use(bad.tokenizer);
        }
      }
    }
  }
}

TEST(tokenizer, names_what_it_does_not_know) {
  const auto refusal = [](const std::string &json) {
    try {
      read_tokenizer_json({reinterpret_cast<const uint8_t *>(json.data()), json.size()});
    } catch (const heed_import::refusal &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string model = R"("model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})";
  EXPECT_EQ(refusal("{" + model + "}"), "");
  EXPECT_EQ(refusal(R"({"normalizer":{"type":"Nmt"},)" + model + "}"),
            "tokenizer.json: the normalizer \"Nmt\" is not known");
  EXPECT_EQ(
      refusal(R"({"pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":"x+"}},)" + model + "}"),
      "tokenizer.json: the pattern \"x+\" is not known");
  EXPECT_EQ(refusal(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}})"),
            "tokenizer.json: the token \"b\" is not known");
  EXPECT_EQ(refusal(R"({"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}})"),
            "tokenizer.json: token -1 is out of range");
  EXPECT_EQ(refusal(R"({"model":{"type":"BPE","vocab":{},"merges":[]}})"), "the vocabulary has no tokens");
  EXPECT_EQ(refusal(R"({"model":{"type":"BPE","vocab":{"a":99999999},"merges":[]}})"),
            "tokenizer.json: token 99999999 is out of range");
  EXPECT_EQ(refusal(R"({"decoder":{"type":"CTC"},)" + model + "}"), "tokenizer.json: the decoder \"CTC\" is not known");
  EXPECT_EQ(refusal(R"({"normalizer":{"type":"NFD"},)" + model + "}"),
            "tokenizer.json: the normalizer \"NFD without StripAccents\" is not known");
  EXPECT_EQ(refusal(R"({"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]},)" +
                    model + "}"),
            "form C is not known together with other changes of the text");
  EXPECT_EQ(
      refusal(
          R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"BertPreTokenizer"}]},)" +
          model + "}"),
      "tokenizer.json: words are split twice, which is not known");
  EXPECT_EQ(refusal(R"({"model":{"type":"Unigram","unk_id":9,"vocab":[["a",-1.5]]}})"),
            "the unknown token 9 is not in the vocabulary");
  EXPECT_EQ(refusal(R"({"model":{"type":"Unigram","unk_id":-2,"vocab":[["a",-1.5]]}})"),
            "tokenizer.json: unk_id is -2");
  EXPECT_EQ(
      refusal(
          R"({"normalizer":{"type":"Precompiled","precompiled_charsmap":"BAAAAAA="},"model":{"type":"Unigram","vocab":[["a",-1]]}})"),
      "the vocabulary's map of characters is damaged");
  EXPECT_EQ(refusal(R"({"model":{"type":"WordPiece","vocab":{"a":0}}})"), "the vocabulary has no unknown token");
  EXPECT_EQ(refusal(R"({"model":{"type":"BPE","byte_fallback":true,"vocab":{"<0xZZ>":0},"merges":[]}})"), "");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "[";
  EXPECT_EQ(refusal(deep), "is no tokenizer.json: its parts lie deeper in each other than 32");
  EXPECT_EQ(refusal("[]"), "is no tokenizer.json: it has no model");
  EXPECT_NE(refusal("{").find("is no tokenizer.json that can be read"), std::string::npos);
}

// -------------------------------------------------------------------------------------------------------------- GGUF

// What read_gguf makes of the keys of a vocabulary.
class gguf_words {
 public:
  gguf_words &texts(const std::string &key, const std::vector<std::string> &all) {
    bytes content = files::little(all.size(), 4), texts;
    for (const std::string &one : all) {
      texts.insert(texts.end(), one.begin(), one.end());
      files::add(content, files::little(texts.size(), 4));
    }
    return put(key, HEED_FILE_LIST, files::add(content, texts), 1);
  }
  gguf_words &text(const std::string &key, const std::string &one) {
    return put(key, HEED_FILE_TEXT, bytes(one.begin(), one.end()), 1);
  }
  gguf_words &integers(const std::string &key, const std::vector<int32_t> &all) {
    bytes content;
    for (const int32_t n : all) files::add(content, files::little(static_cast<uint32_t>(n), 4));
    return put(key, HEED_FILE_I32, std::move(content), 4);
  }
  gguf_words &scores(const std::vector<float> &all) {
    bytes content;
    for (const float n : all) heed_import::put(content, n);
    return put("scores", HEED_F32, std::move(content), 4);
  }
  // Lines of numbers; their keys are whole.
  gguf_words &numbers(const std::string &lines) {
    text("", lines);
    all_->back().name = "metadata";
    return *this;
  }
  bytes file() const { return flat_file(tokenizer_of_gguf(*all_)); }
  std::string refusal() const {
    try {
      file();
    } catch (const heed_import::refusal &error) {
      return error.what();
    }
    return "";
  }

 private:
  gguf_words &put(const std::string &key, int32_t dtype, bytes content, size_t size) {
    tensor t;
    t.name = "tokenizer.ggml." + key, t.dtype = dtype, t.dims = {static_cast<uint32_t>(content.size() / size)};
    t.own(std::move(content));
    all_->push_back(std::move(t));
    return *this;
  }
  std::shared_ptr<std::vector<tensor>> all_ = std::make_shared<std::vector<tensor>>();
};

TEST(tokenizer, gguf_has_bpe_of_bytes) {
  const opened t(gguf_words()
                     .text("model", "gpt2")
                     .text("pre", "llama-bpe")
                     .texts("tokens", {"a", "b", "\xc4\xa0", "ab",
                                       "\xc4\xa0"
                                       "ab",
                                       "<|end|>"})
                     .integers("token_type", {1, 1, 1, 1, 1, 3})
                     .texts("merges", {"a b", "\xc4\xa0 ab"})
                     .numbers("tokenizer.ggml.bos_token_id 5\ntokenizer.ggml.add_bos_token 1\n")
                     .file());
  ASSERT_STREQ(t.error, nullptr);
  EXPECT_EQ(t.encode("ab ab<|end|>", HEED_TOKENIZER_ADD | HEED_TOKENIZER_SPECIAL), (std::vector<int32_t>{5, 3, 4, 5}));
}

TEST(tokenizer, gguf_has_sentencepiece) {
  const opened t(gguf_words()
                     .text("model", "llama")
                     .texts("tokens", {"<unk>", "<s>", "<0x21>", "\xe2\x96\x81", "a", "b",
                                       "\xe2\x96\x81"
                                       "a",
                                       "ab"})
                     .integers("token_type", {2, 3, 6, 1, 1, 1, 1, 1})
                     .scores({0, 0, 0, -9, -9, -9, -2, -1})
                     .numbers("tokenizer.ggml.bos_token_id 1\ntokenizer.ggml.unknown_token_id 0\n")
                     .file());
  ASSERT_STREQ(t.error, nullptr);
  EXPECT_EQ(t.encode("ab a!?", HEED_TOKENIZER_ADD), (std::vector<int32_t>{1, 3, 7, 6, 2, 0}));
  EXPECT_EQ(t.decode({1, 6, 2}), "a!");
}

TEST(tokenizer, gguf_has_unigram) {
  const opened t(gguf_words()
                     .text("model", "t5")
                     .texts("tokens", {"<unk>", "</s>",
                                       "\xe2\x96\x81"
                                       "a",
                                       "b",
                                       "\xe2\x96\x81"
                                       "ab"})
                     .integers("token_type", {2, 3, 1, 1, 1})
                     .scores({0, 0, -1, -1, -3})
                     .numbers("tokenizer.ggml.eos_token_id 1\ntokenizer.ggml.unknown_token_id 0\n")
                     .file());
  ASSERT_STREQ(t.error, nullptr);
  EXPECT_EQ(t.encode("ab a?", HEED_TOKENIZER_ADD), (std::vector<int32_t>{2, 3, 2, 0, 1}));
}

TEST(tokenizer, gguf_has_wordpiece) {
  const opened t(gguf_words()
                     .text("model", "bert")
                     .texts("tokens", {"[UNK]", "[CLS]", "[SEP]", "\xe2\x96\x81un", "able", "\xe2\x96\x81!"})
                     .integers("token_type", {2, 3, 3, 1, 1, 1})
                     .numbers("tokenizer.ggml.cls_token_id 1\ntokenizer.ggml.seperator_token_id 2\n"
                              "tokenizer.ggml.unknown_token_id 0\n")
                     .file());
  ASSERT_STREQ(t.error, nullptr);
  EXPECT_EQ(t.encode("Unable! x", HEED_TOKENIZER_ADD), (std::vector<int32_t>{1, 3, 4, 5, 0, 2}));
}

TEST(tokenizer, gguf_names_what_it_does_not_know) {
  EXPECT_EQ(gguf_words().text("model", "rwkv").texts("tokens", {"a"}).refusal(),
            "the vocabulary's model \"rwkv\" is not known");
  const auto bpe = [] { return gguf_words().text("model", "gpt2").texts("tokens", {"a", "b"}); };
  EXPECT_EQ(bpe().text("pre", "x").refusal(), "the rule for words \"x\" is not known");
  EXPECT_EQ(bpe().refusal(), "the vocabulary has no merges");
  EXPECT_EQ(bpe().texts("merges", {"ab"}).refusal(), "the merge \"ab\" has no two tokens");
  EXPECT_EQ(bpe().texts("merges", {"a b"}).refusal(), "a merge names the token \"ab\", which is none");
  const auto pieces = [] { return gguf_words().text("model", "llama").texts("tokens", {"a"}); };
  EXPECT_EQ(pieces().refusal(), "the vocabulary has no score for each token");
  EXPECT_EQ(pieces().scores({1}).integers("token_type", {6}).refusal(),
            "the token \"a\" is to stand for a byte, and does not");
  EXPECT_EQ(pieces().scores({1}).numbers("tokenizer.ggml.unknown_token_id 7\n").refusal(),
            "the unknown token 7 is not in the vocabulary");
  EXPECT_EQ(pieces().scores({1}).numbers("tokenizer.ggml.bos_token_id 99999999999\n").refusal(),
            "token 99999999999 is not in the vocabulary");
  EXPECT_EQ(pieces().scores({std::numeric_limits<float>::quiet_NaN()}).refusal(), "a token's score is no number");
}

}  // namespace
