// The project around a program: a sketch for Arduino, an application of Zephyr or of ESP-IDF. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_PROJECT_HPP
#define HEED_COMPILE_PROJECT_HPP

#include <string>
#include <vector>

#include "program.hpp"

namespace heed_compile {

enum class build_system { none, arduino, zephyr, esp_idf };

struct project_file {
  std::string path;  // in the project's folder
  std::string text;
};

// Where NAME.c, NAME.h and NAME.heed lie in the project's folder: "src", or "" for the folder itself.
std::string project_sources(build_system system);

// Whether the weights are an array in C, NAME_file.c: a sketch has no path that an assembler could read a file from.
bool project_has_array(build_system system);

// Throws refusal if the program has a name that the project needs for itself.
void expect_project_name(const std::string &name);

// All other files.
std::vector<project_file> project_files(build_system system, const network &net, const choices &c,
                                        const std::vector<tensor> &weights);

// NAME_file.c in pieces, in order: how it begins, words of the file from byte `at` on, how it ends.
std::string array_begin(const choices &c);
std::string array_words(heed_import::span file, size_t at, size_t n_bytes);
std::string array_end(const choices &c, size_t n_bytes);

// The folders that a file lies in. Those that were missing are removed again, unless the files in them are kept.
class output_folder {
 public:
  explicit output_folder(const std::string &path);
  ~output_folder();
  output_folder(const output_folder &) = delete;
  output_folder &operator=(const output_folder &) = delete;
  void keep() { made_.clear(); }

 private:
  void remove_made();
  std::vector<std::string> made_;
};

}  // namespace heed_compile

#endif
