// Which tensors, under which names, in which formats. SPDX-License-Identifier: MIT
#ifndef HEED_IMPORT_SELECT_HPP
#define HEED_IMPORT_SELECT_HPP

#include "convert.hpp"

namespace heed_import {

// Patterns match whole names of the source: * stands for any text, ? for one character.
bool matches(const std::string &pattern, const std::string &name);

struct rename_rule {
  std::string from, to;
};
// The name by the first rule that matches: the k-th * of `to` stands for what the k-th * of `from` has matched.
std::string renamed(const std::vector<rename_rule> &rules, const std::string &name);

struct format_rule {
  wish what;
  std::string pattern;  // empty: all matrices, which have two dimensions above 1 at least
};

// "FORMAT" or "FORMAT=PATTERN", as an option has it.
format_rule format_rule_of(const std::string &word);

struct selection {
  std::vector<std::string> only, leave_out, transpose, in_out, out_in;
  std::vector<rename_rule> rename;
  bool node_names = false;           // a suggested name counts as the name, for patterns, too
  std::vector<format_rule> formats;  // the last that matches counts
};

// Applies all of it. `left_out` then names the chosen tensors that are no weights, and says why. A pattern that matches nothing
// is refused. Matrices keep their format, vectors become f32, unless a rule says otherwise.
std::vector<tensor> selected(std::vector<tensor> &&all, const selection &by, std::vector<std::string> &left_out);

}  // namespace heed_import

#endif
