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
  int32_t context = 0, piece = 16, seconds = 0;
  int32_t draft = 0;       // tokens that are read ahead where a text repeats: fewer than a piece
  bool exact = false;      // rows stay floats where weights are in blocks
  bool unchecked = false;  // the program compares no known answers
  std::string integers;    // a file of samples: the program has no float (integers.hpp); empty: it has floats
  double percent = 100;    // of the samples' magnitudes within the range of int8
};

// An input or an output of a graph's program: its name as a parameter, its type, and how many numbers it has, a constant of the header.
struct graph_place {
  std::string name, type, count;
  bool is_input = false;
  int64_t least = 0, n_values = 0;  // of integers that everybody may give: from `least` on, so many
};

struct program {
  std::string header, source;
  std::vector<graph_place> places = {};  // of a graph
};

program write_decoder(const network &net, const choices &c, const std::vector<tensor> &weights);
program write_encoder(const network &net, const choices &c, const std::vector<tensor> &weights);
program write_speech(const network &net, const choices &c, const std::vector<tensor> &weights);

// A text in which ${NAME} stands for a value; a line that begins with ?NAME? is there only if NAME has one.
std::string filled(const std::string &text, const std::map<std::string, std::string> &values);

// A number as a constant of C that has its very bits.
std::string float_text(double number);

// Tokens that a program reads when it opens its file, to compare its rows with the known answers.
enum { n_known_tokens = 8 };

// Tokens that a decoder sees if the user names no number: some have been trained with 131,072, whose caches are larger than their weights.
enum { usual_context = 2048 };

// Seconds of sound that a user may ask for.
enum { most_seconds = 600 };

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

// ${begin_header} and ${end_header}: what stands around the declarations of every header.
void add_header_parts(std::map<std::string, std::string> &values);

// Parts of those texts: the function that finds a matrix, and what a header says of NAME_open; a digest as numbers of C.
std::string matrix_lines(const std::map<std::string, std::string> &values);
std::string open_lines(const std::map<std::string, std::string> &values);
std::string bytes_text(const std::array<uint8_t, 32> &bytes);
// The lines of C that find the weights outside of layers, and those that end a text at its end tokens.
std::string lines_outside(const network &net, const std::vector<tensor> &weights);
std::string lines_of_ends(const network &net);

// Whether the program quantises rows to int8 on their way into products.
bool in_integers(const std::vector<tensor> &weights, const choices &c);

std::string upper(std::string text);
bool has(const std::vector<tensor> &weights, const std::string &name);
std::string source_of(const network &net, const std::string &name);

}  // namespace heed_compile

#endif
