// heed_compile --check. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_CHECK_HPP
#define HEED_COMPILE_CHECK_HPP

#include "program.hpp"

namespace heed_compile {

// Runs the program's calls on its file, and prints the greatest difference of every layer from the reference, which has the numbers of
// the source. input: a file with a text or a picture; empty: the known input. Throws refusal.
void print_errors(const network &net, const choices &c, const std::vector<plan> &plans, heed_import::span file,
                  const std::string &input);

}  // namespace heed_compile

#endif
