// The text of a program in C. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_PROGRAM_HPP
#define HEED_COMPILE_PROGRAM_HPP

#include <map>
#include <string>

#include "network.hpp"

namespace heed_compile {

// What the user may choose.
struct choices {
  std::string name;  // of the program, an identifier of C
  std::vector<heed_import::format_rule> formats;
  std::string cache = "f32";
  int32_t context = 0, piece = 16;
  bool exact = false;      // rows stay floats where weights are in blocks
  bool unchecked = false;  // the program compares no known answers
};

struct program {
  std::string header, source;
};

program write_decoder(const network &net, const choices &c, const std::vector<tensor> &weights);
program write_encoder(const network &net, const choices &c, const std::vector<tensor> &weights);

// A text in which ${NAME} stands for a value; a line that begins with ?NAME? is there only if NAME has one.
std::string filled(const std::string &text, const std::map<std::string, std::string> &values);

// A number as a constant of C that has its very bits.
std::string float_text(double number);

// Tokens that a program reads when it opens its file, to compare its rows with the known answers.
enum { n_known_tokens = 8 };

// Tokens that a decoder sees if the user names no number: some have been trained with 131,072, whose caches are larger than their weights.
enum { usual_context = 2048 };

// Tokens that the program sees at most; the heed_dtype of its caches.
int32_t context_of(const network &net, const choices &c);
int32_t dtype_of_cache(const choices &c);

// The name of the program in its receipts.
std::string receipt_name(const choices &c);

// The values of both kinds of programs, and the parts of their texts that are the same.
std::map<std::string, std::string> shared_values(const network &net, const choices &c,
                                                 const std::vector<tensor> &weights);

// The part that compares known answers; run: lines of C that set error.
std::string known_answers_text(const std::map<std::string, std::string> &values, const std::string &run);

std::string upper(std::string text);
bool has(const std::vector<tensor> &weights, const std::string &name);
std::string source_of(const network &net, const std::string &name);

}  // namespace heed_compile

#endif
