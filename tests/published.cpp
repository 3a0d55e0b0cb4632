// published FOLDER [KIND...]: writes models of these kinds, or of all, into FOLDER: support/published_models.hpp. Where
// heed_compile --integers takes a model, its folder has rows.npy, too: samples. SPDX-License-Identifier: MIT
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
    const bool has_window = kind == "mistral";  // of 8 tokens
    const bool has_rows = published::is_encoder(kind) || published::is_integer_decoder(kind) || has_window;
    if (!has_rows || kind.compare(0, 5, "gguf-") == 0) continue;
    published::write_npy(path + "/rows.npy", published::sees(kind) ? published::pictures_npy(16, 1)
                                                                   : published::texts_npy(16, 1, has_window ? 8 : 20));
  }
  return 0;
} catch (const std::exception &error) {
  return std::fprintf(stderr, "published: %s\n", error.what()), 1;
}
