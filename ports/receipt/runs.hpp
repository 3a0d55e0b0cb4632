// Runs of the networks beside this folder, with a receipt: the same for the programs that make one and for heed_replay.
// Failures throw std::runtime_error with a sentence. SPDX-License-Identifier: MIT
#ifndef HEED_RECEIPT_RUNS_HPP
#define HEED_RECEIPT_RUNS_HPP

#include <string>
#include <vector>

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

// A text of a program that heed_compile wrote: what its bits depend on besides model and tokens. The defaults are heed_compile's.
struct text_settings {
  int32_t context = 0;        // --context
  std::string cache = "f32";  // --cache
  std::string format;         // words of --format, with commas between them
  bool exact = false;         // --exact
  float temperature = 0;
  int32_t top_k = 0;
  float top_p = 0;
  uint64_t seed = 1;
  int32_t n_prompt = 0;  // tokens that were given, not chosen
};
void write_settings(writer &w, const text_settings &s);
text_settings settings_of(const receipt &r);

// The next token, as NAME_next of the program chooses it.
class chooser {
 public:
  chooser(const text_settings &s, int32_t width);
  int32_t choose(const float *logits);  // -1: the logits are no numbers

 private:
  float draw();
  text_settings how_;
  int32_t width_;
  std::vector<uint64_t> memory_;
};

// All tokens of a receipt through the model at once; model: as heed_compile takes it; wav: of a model of speech, what it heard, and otherwise "".
// A token behind the prompt that the receipt's choice does not choose is a fault, named in `other_choice`.
struct text_run {
  run rows;
  std::string other_choice;
};
text_run of_text(const std::string &model, const std::string &wav, const receipt &made, bool keeps_numbers);

}  // namespace receipts

#endif
