// What a program takes of a chip, before anyone builds it: --target. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_TARGET_HPP
#define HEED_COMPILE_TARGET_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heed_compile {

// The cores that there are. Throws refusal if it is none of them.
std::string target_names();
void expect_target(const std::string &core);

// Programs that have nearly the same code.
enum class program_kind {
  decoder,
  encoder,
  picture,
  whisper,
  moonshine,
  integer_encoder,
  integer_picture,
  integer_decoder,
  graph
};
enum { n_program_kinds = 8 };  // but for graphs, whose code depends on what they call

struct target_order {
  std::string core, name, header;  // of the program
  program_kind kind = program_kind::decoder;
  bool in_integers = false;  // rows are quantised on their way
  bool unchecked = false;    // it compares no known answers
  uint64_t file_bytes = 0;
  std::string source;  // of a graph's program, with its steps, weights, and bytes of tables
  uint32_t n_steps = 0, n_weights = 0, table_bytes = 0;
  std::vector<std::pair<std::string, double>> instructions;  // of a run, by its name
  std::string advice;                                        // which options make it smaller
};

// Lines for a reader: flash, RAM, stack, instructions.
std::string target_text(const target_order &t);

}  // namespace heed_compile

#endif
