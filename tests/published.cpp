// published FOLDER [KIND...]: writes models of these kinds, or of all, into FOLDER: support/published_models.hpp.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>

#include "support/published_models.hpp"

int main(int argc, char **argv) try {
  if (argc < 2) return std::fputs("published FOLDER [KIND...]\n", stderr), 2;
  const std::vector<std::string> kinds =
      argc > 2 ? std::vector<std::string>(argv + 2, argv + argc) : published::kinds();
  for (const std::string &kind : kinds) published::write(argv[1], kind);
  return 0;
} catch (const std::exception &error) {
  return std::fprintf(stderr, "published: %s\n", error.what()), 1;
}
