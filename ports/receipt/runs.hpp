// Runs of the networks beside this folder, with a receipt: the same for the programs that make one and for heed_replay.
// Failures throw std::runtime_error with a sentence. SPDX-License-Identifier: MIT
#ifndef HEED_RECEIPT_RUNS_HPP
#define HEED_RECEIPT_RUNS_HPP

#include <string>
#include <vector>

#include "dreams.h"
#include "receipts.hpp"

namespace receipts {

struct run {
  std::string text;           // the receipt
  std::vector<numbers> kept;  // all rows that were shown, if they were asked for
  double ms = 0;              // of the network, without files and checksums
};

// Keyword spotting: MODEL as heed_kwt, or with `in_integers` as heed_kwt_int takes it; up to 1 s of sound.
run of_kwt(const std::string &model, const std::string &wav, bool in_integers, const detail &how, bool keeps_numbers);

// The sensor: a folder as heed_sensor takes it, and one of its recordings.
run of_sensor(const std::string &folder, const std::string &recording, bool in_integers, const detail &how,
              bool keeps_numbers);

// The language model: what the bits of a text depend on besides model and tokens.
struct text_settings {
  dreams_settings model = {};
  bool in_integers = false;  // products in integers
  dreams_choice choice = {0.0f, 0.0f, 1};
  int32_t n_prompt = 0;  // tokens that were given, not chosen
};
void write_settings(writer &w, const text_settings &s);
text_settings settings_of(const receipt &r);

// All tokens of a receipt through the model at once. A token behind the prompt that the receipt's choice does not choose is a
// fault, named in `other_choice`.
struct text_run {
  run rows;
  std::string other_choice;
};
text_run of_dreams(const std::string &model, const receipt &made, bool keeps_numbers);

}  // namespace receipts

#endif
