// How many instructions a run of a program takes on a core, before anyone builds it. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_TARGET_COST_HPP
#define HEED_COMPILE_TARGET_COST_HPP

#include <string>
#include <utility>
#include <vector>

#include "program.hpp"

namespace heed_compile {

// Each run that a user waits for, and its instructions: a whole text or picture; of a decoder, a prompt as long as the context, and one
// more token behind it. A sum over the calls of the program.
std::vector<std::pair<std::string, double>> instructions_of(const std::string &core, const network &net,
                                                            const choices &c, const std::vector<tensor> &weights);

}  // namespace heed_compile

#endif
