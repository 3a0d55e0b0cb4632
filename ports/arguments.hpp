// What programs ask of their arguments. SPDX-License-Identifier: MIT
#ifndef HEED_PORTS_ARGUMENTS_HPP
#define HEED_PORTS_ARGUMENTS_HPP

#include <cstring>

// Wherever it stands, behind a subcommand, too.
inline bool asks_for_help(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--help") == 0) return true;
  return false;
}

#endif
