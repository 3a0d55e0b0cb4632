// heed_compile --integers: a model whose ranges were recorded with sample inputs, as integers, and the program that runs it without a
// float. ports/calibrate makes the layers; what stands before and behind them is here. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_INTEGERS_HPP
#define HEED_COMPILE_INTEGERS_HPP

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../calibrate/calibrate.hpp"
#include "program.hpp"

namespace heed_compile {

// One input: tokens of a text, or a picture.
struct sample {
  std::vector<int32_t> tokens;
  std::vector<float> pixels;
};

// The rows of a .npy file, each of which is a sample. Throws refusal, which names the file and what is wrong: the shape, the type, a
// number that is infinite or none, a token that the model has not.
std::vector<sample> read_samples(const network &net, const choices &c, const std::string &path);

// Throws refusal, which names what heed cannot compute in integers, such as a rotary embedding.
void expect_possible_in_integers(const network &net, const choices &c);

// The weights of the source by the program's names; the vector is empty if the model has none.
using source_weights = std::map<std::string, std::vector<float>>;
source_weights weights_of_plans(const network &net, const std::vector<plan> &plans);

// Rows of a table, each as int8 with a unit of its own.
struct int_table {
  std::vector<int8_t> numbers;
  std::vector<heed_multiplier> units;  // unit of the row / unit of the sum that it goes into
  std::vector<double> scales;          // the units of the rows
};

// A model in integers.
struct integer_model {
  int32_t rows = 0;  // that pass through a layer at most; of a decoder: tokens that it sees
  // Before the layers. A text: embedding[token] + positions[i] in units of sum_scale, then perhaps a norm; a decoder may have no
  // positions. A picture: each patch times `patches`, + positions; special_rows lie before them.
  int_table embedding, positions;
  calibrate::int_norm embedding_norm;
  calibrate::quantity pixels{1};
  calibrate::int_linear patches;
  std::vector<int16_t> special_rows;
  double sum_scale = 1;

  std::vector<calibrate::int_layer> layers;

  // Behind the layers. The classes of a decoder are its tokens.
  double norm_scale = 1;           // of rows of int16 behind the final norm
  calibrate::int_norm final_norm;  // to int16 in norm_scale, to `head`, or to the result
  calibrate::quantity head{1}, pooled{1}, activated{1};
  heed_multiplier to_head = {0, 0};  // of rows of int16 that no norm makes int8
  calibrate::int_linear pooler, classes;
  bool is_tied = false;  // the numbers of classes are those of the embedding, which the program has once
  std::vector<int8_t> pooler_activation;
  int32_t mean_shift = 0;           // the mean of rows has 2^mean_shift times their resolution
  calibrate::int_norm unit_length;  // an RMS norm that makes the length 1
  double result_scale = 1;
};

// Throws refusal or std::invalid_argument if a number on its way is infinite, or a range is one that no multiplier reaches.
integer_model in_integers(const network &net, const choices &c, const source_weights &weights,
                          const std::vector<sample> &samples);

// Whether rows of int16 go through the final norm in place, because a mean or a length is made of them.
bool has_wide_final_norm(const network &net);

// Takes the rows of each layer, and the result as layer n_layers, with the size of a unit. A decoder has a result for each token, in a
// call of its own.
using see_integers = std::function<void(int32_t layer, int64_t first, heed_int_matrix rows, double scale)>;

// The program's calls. pixels: int8 (image_size, image_size, n_channels).
void run_tokens_in_integers(const network &net, const integer_model &m, const std::vector<int32_t> &tokens,
                            const see_integers &see);
void run_picture_in_integers(const network &net, const integer_model &m, const std::vector<int8_t> &pixels,
                             const see_integers &see);
// Pixels as the program takes them.
std::vector<int8_t> pixels_in_integers(const integer_model &m, const std::vector<float> &pixels);

// A struct of the program in C, all of whose numbers are words of 32 bits, or all are bytes; and those numbers.
struct integer_struct {
  std::string fields;  // lines of C
  heed_import::bytes numbers;
};
struct integer_part {
  integer_struct words, bytes;
};
// Of a layer, and of what stands before and behind the layers. NAME: what constants of the program begin with.
integer_part part_of_layer(const network &net, const integer_model &m, int32_t layer, const std::string &NAME);
integer_part part_outside(const network &net, const integer_model &m, const std::string &NAME);

// What the programs of encoders and decoders share: values for their texts (program.hpp), some of which are functions in C. The header
// needs "layer_words" and the like, the source "find_numbers", "begin_layer", "rows_of" and "open_layer".
std::map<std::string, std::string> integer_values(const network &net, const choices &c, const integer_model &m,
                                                  const std::vector<tensor> &weights);

// The tensors of the program's file, without the tokenizer; the receipt golden.integers of its known input.
std::vector<tensor> integer_tensors(const network &net, const choices &c, const integer_model &m);
tensor known_integers(const network &net, const choices &c, const integer_model &m);

std::string decimal(double number);

// How far the integers are from the reference in double precision on all samples, and what becomes of their classes or embeddings.
struct integer_error {
  double greatest = 0, squares = 0, largest = 0;  // of differences; of the reference's numbers
  uint64_t n = 0;
};
struct integer_errors {
  std::vector<integer_error> layers;  // the last one: the result
  size_t n_same_class = 0;            // results with the same greatest number: samples, of a decoder tokens
  size_t n_results = 0;
  double least_cosine = 1;
};
integer_errors errors_in_integers(const network &net, const integer_model &m, const source_weights &weights,
                                  const std::vector<sample> &samples);
void print_integer_errors(const network &net, const integer_errors &errors);

// weights: the tensors of the program's file, which may have a tokenizer. write_integer_decoder is for decoders.
program write_integers(const network &net, const choices &c, const integer_model &m,
                       const std::vector<tensor> &weights);
program write_integer_decoder(const network &net, const choices &c, const integer_model &m,
                              const std::vector<tensor> &weights);

}  // namespace heed_compile

#endif
