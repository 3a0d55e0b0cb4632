// How many bytes the code of a graph's program takes, before anyone builds it. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_TARGET_GRAPH_HPP
#define HEED_COMPILE_TARGET_GRAPH_HPP

#include <cstdint>
#include <string>

namespace heed_compile {

// Of all that a program of a graph calls: what every program needs, and what the functions bring in whose names stand in its source.
uint32_t bytes_of_calls(const std::string &core, const std::string &source);

}  // namespace heed_compile

#endif
