// The vocabulary of a model on its way to the tables of ports/tokenizer. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_VOCABULARY_HPP
#define HEED_IMPORT_VOCABULARY_HPP

#include <map>
#include <string>
#include <vector>

#include "../tokenizer/tokenizer_form.h"
#include "tensor.hpp"

namespace heed_import {

// Two tokens that become one.
struct merge {
  int32_t left, right, both;
  int32_t rank;
};

struct vocabulary {
  int32_t model = model_bpe, flags = 0, split = split_nowhere, digits = 0, unknown = -1, longest_word = 100;
  std::vector<std::string> tokens;       // the bytes that each stands for
  std::vector<uint8_t> kinds;            // tokenizer_kind
  std::vector<bool> is_looked_up;        // by its bytes; else it is only made of pairs, or cut out
  std::map<std::string, int32_t> added;  // what is cut out of a text
  std::vector<merge> merges;
  std::vector<float> scores;
  std::vector<int32_t> before, after;
  bool lowers_case = false, strips_accents = false, cleans_text = false, parts_chinese = false;  // of BERT
  bool has_lower_ones = false;                  // U+2581 is a blank, where the text has it
  bool all_blanks_part = false;                 // words end at all that Unicode calls White_Space
  std::map<std::string, std::string> replaced;  // keys and values
  bytes map;                                    // of SentencePiece
};

// Adds all pairs whose two halves and whole are tokens, with ranks by `order`, which is lower for what is to be joined first: for
// sources that have no list of merges.
void add_merges_by_order(vocabulary &v, const std::vector<int32_t> &order);

// Tables for heed_tokenizer_open. Throws refusal if the vocabulary does not hold together.
std::vector<tensor> tables_of(vocabulary v);

// U+2581, which SentencePiece writes for a blank, as a blank.
extern const std::string lower_one;
std::string with_blanks(const std::string &text);

// The byte that a token such as <0x0A> stands for; false: it is none.
bool from_byte_token(const std::string &text, std::string &byte);

// What a text in the letters of GPT-2's byte-level tokens stands for; false: a letter is none of them.
bool from_byte_letters(const std::string &text, std::string &bytes);

// The tables of tokenizer.json (Hugging Face), and of a vocabulary in GGUF, if it has one. What is not known is refused by name.
std::vector<tensor> read_tokenizer_json(span file);
// Of vocab.json of models of TensorFlow.js: a list of pieces with scores; others have objects in a file of this name.
bool is_list_of_pieces(span file);
std::vector<tensor> read_pieces_json(span file);
std::vector<tensor> tokenizer_of_gguf(const std::vector<tensor> &metadata);

}  // namespace heed_import

#endif
