// An ONNX graph as a program in C. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_COMPILE_GRAPH_HPP
#define HEED_COMPILE_COMPILE_GRAPH_HPP

#include "../program.hpp"
#include "../project.hpp"
#include "steps.hpp"

namespace heed_compile {

struct graph_order {
  std::string model, output;  // paths; output without its ending
  choices how;
  graph_choices graph;
  bool checks = false;
  std::string check_input;                   // *.npz or *.npy, or empty
  std::string target;                        // a core, or empty
  build_system system = build_system::none;  // of a project: then `output` is its folder
};

// Writes OUTPUT.c, OUTPUT.h and OUTPUT.heed, or the project. Throws refusal.
void compile_graph(const graph_order &order);

// A constant as the program's file has it. The last rule counts whose pattern matches its name; no rule: as the source has it.
tensor made(const file_constant &c, const std::vector<heed_import::format_rule> &formats);

// What makes tokens of texts for the graph's input of tokens.
struct graph_words {
  bool are_there = false;
  int32_t filling = 0;  // behind the tokens of a short text
};

// in_integers: of each constant, whether rows are quantised for it.
program write_steps(const graph &net, const steps &p, const choices &c, const std::array<uint8_t, 32> &digest,
                    const std::vector<bool> &in_integers, const graph_words &words = {});

// The receipts of a run with the known inputs, as tensors golden.fma and golden.no-fma.
std::vector<tensor> known_answers(const steps &p, const choices &c, const std::array<uint8_t, 32> &digest,
                                  heed_import::span file);

// Prints the greatest error of every node that a step ends against double precision.
void print_errors(const graph &whole, const steps &p, const choices &c, heed_import::span file,
                  const std::string &input);

}  // namespace heed_compile

#endif
