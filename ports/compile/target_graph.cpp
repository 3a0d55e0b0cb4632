// See target_graph.hpp. tests/compile_targets.sh writes the lists. SPDX-License-Identifier: MIT
#include "target_graph.hpp"

#include <cctype>

namespace heed_compile {
namespace {

const char *const functions[] = {
#include "target_functions.inc"
};

// Sections of heed, heed_model and libgcc that are in a program if it calls one of these functions, each a bit.
struct part {
  const char *core;
  uint64_t functions;
  uint32_t bytes;
};
const part parts[] = {
#include "target_parts.inc"
};

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool has_name(const std::string &text, const std::string &name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !is_of_name(text[at - 1])) && (end == text.size() || !is_of_name(text[end]))) return true;
  }
  return false;
}

}  // namespace

uint32_t bytes_of_calls(const std::string &core, const std::string &source) {
  const uint64_t all = ~uint64_t{0};
  uint64_t called = 0, bit = 1;
  for (const char *function : functions) {
    if (has_name(source, function)) called |= bit;
    bit <<= 1;
  }
  uint32_t n_bytes = 0;
  for (const part &p : parts)
    if (core == p.core && (p.functions == all || (p.functions & called) != 0)) n_bytes += p.bytes;
  return n_bytes;
}

}  // namespace heed_compile
