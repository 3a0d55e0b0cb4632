// What a program takes of a chip, before anyone builds it: --target. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_TARGET_HPP
#define HEED_COMPILE_TARGET_HPP

#include <string>
#include <vector>

#include "program.hpp"

namespace heed_compile {

// Throws refusal, with the cores that there are.
void expect_target(const std::string &core);

// sizeof(NAME) on a processor whose pointers have 4 bytes.
uint64_t ram_bytes(const network &net, const choices &c, const std::vector<tensor> &weights);

// Lines for a reader: flash, RAM, stack, and which options make them smaller.
std::string target_text(const std::string &core, const network &net, const choices &c,
                        const std::vector<tensor> &weights, uint64_t file_bytes);

}  // namespace heed_compile

#endif
