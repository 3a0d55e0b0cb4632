// See target.hpp. tests/compile_targets.sh compares every number here with what GCC builds. SPDX-License-Identifier: MIT
#include "target.hpp"

#include <algorithm>
#include <cmath>

#include "header_size.hpp"
#include "network.hpp"
#include "target_graph.hpp"

namespace heed_compile {
namespace {

// Code and constants of a program with all that it calls of heed, heed_model and libgcc, in bytes. Layers choose formats at run time, so
// that other models of a kind have nearly as much; but only some programs make products in integers.
struct core_code {
  const char *name, *title, *compiler;
  uint32_t code[n_program_kinds];  // of texts: with a tokenizer
  uint32_t in_integers;            // besides, if rows are quantised on their way
  uint32_t known;                  // of these: for known answers
  double of_graph[3];              // of a step, of a weight, and once
  uint32_t stack;                  // HEED_STACK_BYTES
};
const core_code cores[] = {
#include "target_code.inc"
};

const core_code *core_of(const std::string &name) {
  for (const core_code &core : cores)
    if (name == core.name) return &core;
  return nullptr;
}

uint32_t code_bytes(const core_code &core, const target_order &t) {
  uint32_t n = 0;
  if (t.kind == program_kind::graph) {
    const double own = core.of_graph[0] * t.n_steps + core.of_graph[1] * t.n_weights + core.of_graph[2];
    n = bytes_of_calls(core.name, t.source) + t.table_bytes + static_cast<uint32_t>(own);
  } else {
    n = core.code[static_cast<size_t>(t.kind)] + (t.in_integers ? core.in_integers : 0);
  }
  return t.unchecked ? n - core.known : n;
}

// Of fewer instructions too many are those around calls.
constexpr double few_instructions = 100000;

std::string kilobytes(uint64_t n) { return std::to_string((n + 1023) / 1024) + " KB"; }

}  // namespace

std::string target_names() {
  std::string all;
  for (const core_code &known : cores) all += (all.empty() ? "" : ", ") + std::string(known.name);
  return all;
}

void expect_target(const std::string &core) {
  if (core_of(core) == nullptr)
    throw refusal("--target " + names::for_terminal(core) + ": is not one of " + target_names());
}

std::string target_text(const target_order &t) {
  const core_code &core = *core_of(t.core);
  const uint32_t code = code_bytes(core, t);
  std::string text = std::string(core.title) + ", " + core.compiler + "; computed, not built\n";
  const auto line = [&text](const std::string &what, uint64_t n, const std::string &of) {
    text += what + " " + std::to_string(n) + " bytes (" + kilobytes(n) + "): " + of + "\n";
  };
  line("flash", t.file_bytes + code,
       std::to_string(t.file_bytes) + " of weights, about " + std::to_string(code) +
           " of code, which may differ by a tenth");
  line("RAM  ", size_in_header(t.header, t.name), "sizeof(" + t.name + "), all of the memory");
  line("stack", core.stack + 1024, "at most");
  for (const auto &[run, n] : t.instructions)
    text += "instructions " + std::to_string(std::llround(n)) + ": " + run + "\n";
  double fewest = few_instructions;
  for (const auto &run : t.instructions) fewest = std::min(fewest, run.second);
  if (!t.instructions.empty())
    text += std::string("instructions are what an emulator counts, not cycles, and may differ by a ") +
            (fewest < few_instructions ? "third" : "tenth") + "\n";
  return text + t.advice + "\n";
}

}  // namespace heed_compile
