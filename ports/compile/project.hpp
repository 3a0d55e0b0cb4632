// The project around a program: a sketch for Arduino, an application of Zephyr or of ESP-IDF. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_PROJECT_HPP
#define HEED_COMPILE_PROJECT_HPP

#include <memory>
#include <string>
#include <vector>

#include "../output_file.hpp"
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

// All other files: of a program by configuration, and of a graph's. Throws refusal if the graph needs the program's name for itself.
std::vector<project_file> project_files(build_system system, const network &net, const choices &c,
                                        const std::vector<tensor> &weights);
std::vector<project_file> graph_project_files(build_system system, const choices &c, const std::string &title,
                                              const std::string &source, const std::vector<graph_place> &places);

// Where NAME.c lies if the user names `output`, with a slash; nothing if there is no project.
std::string sources_folder(build_system system, const std::string &output);

// Writes these files into the folder `output`, and the weights of `flat` as an array of C if they are one. None has its name yet.
using output_files = std::vector<std::unique_ptr<files::output_file>>;
output_files write_project(build_system system, const std::string &output, const std::string &name,
                           const std::vector<project_file> &all, const std::vector<std::string> &inputs,
                           files::output_file &flat);

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
