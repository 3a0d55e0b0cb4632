// heed_map MAP [PICTURE.png]: draws attention weights, in the terminal or as an image. MAP: the text file of README.md, as
// heed_kwt --map=MAP, heed_dreams --map=MAP and heed_demo write it.
//   --colour=always|never    blocks of colours, or of characters; without it colours if the output is a terminal
// Exit status 0; 77 for an image without libpng; 1 for anything else. SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>
#include <exception>

#ifdef _WIN32
#include <io.h>
#define isatty _isatty
#define fileno _fileno
#else
#include <unistd.h>
#endif

#include "../output_file.hpp"
#include "map.hpp"

int main(int argc, char **argv) {
  bool coloured = isatty(fileno(stdout));
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--colour=always") == 0 || std::strcmp(argv[i], "--colour=never") == 0)
      coloured = argv[i][9] == 'a';
    else if (argv[i][0] == '-')
      names.resize(3);  // unknown: how it is used
    else
      names.push_back(argv[i]);
  }
  if (names.empty() || names.size() > 2) {
    std::fprintf(stderr, "usage: heed_map [--colour=always|never] MAP [PICTURE.png]\n");
    return 1;
  }
  try {
    const heed_map::picture p = heed_map::read_map(names[0]);
    if (names.size() == 1) {
      std::fputs(heed_map::blocks(p, coloured).c_str(), stdout);
    } else {
      heed_map::write_png(p, names[1], {names[0]});
      std::printf("%s\n", names[1].c_str());
    }
    files::finish_standard_output();
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "heed_map: %s\n", error.what());
    return heed_map::has_png() || names.size() == 1 ? 1 : 77;
  }
}
