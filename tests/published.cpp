// published FOLDER [KIND...]: writes models of these kinds, or of all, into FOLDER: support/published_models.hpp. A folder of an encoder
// has rows.npy, too: samples for heed_compile --integers. SPDX-License-Identifier: MIT
#include <cstdio>
#include <exception>

#include "support/published_models.hpp"
#include "support/published_samples.hpp"

int main(int argc, char **argv) try {
  if (argc < 2) return std::fputs("published FOLDER [KIND...]\n", stderr), 2;
  const std::vector<std::string> kinds =
      argc > 2 ? std::vector<std::string>(argv + 2, argv + argc) : published::kinds();
  for (const std::string &kind : kinds) {
    const std::string path = published::write(argv[1], kind);
    if (!published::is_encoder(kind) || kind.compare(0, 5, "gguf-") == 0) continue;
    published::write_npy(path + "/rows.npy",
                         published::sees(kind) ? published::pictures_npy(16, 1) : published::texts_npy(16, 1));
  }
  return 0;
} catch (const std::exception &error) {
  return std::fprintf(stderr, "published: %s\n", error.what()), 1;
}
