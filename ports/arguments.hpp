// What programs ask of their arguments, and how they end. SPDX-License-Identifier: MIT
#ifndef HEED_PORTS_ARGUMENTS_HPP
#define HEED_PORTS_ARGUMENTS_HPP

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "output_file.hpp"

// Wherever it stands, behind a subcommand, too.
inline bool asks_for_help(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--help") == 0) return true;
  return false;
}

// What main does: --help prints `help`, otherwise run() gives the exit status. What is thrown becomes a line on standard error, and 1.
template <class Run>
int run_program(const char *program, int argc, char **argv, const std::string &help, Run run) {
  try {
    const bool helps = asks_for_help(argc, argv);
    if (helps) std::fputs(help.c_str(), stdout);
    const int status = helps ? 0 : run();
    files::finish_standard_output();
    return status;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

// The exit status of a program that was given no model, and has said so.
constexpr int exit_no_model = 77;

// The folder of a model: what is given, or what the environment variable names. Empty, after a line that says what is wanted, if
// there is neither.
inline std::string model_folder(const char *program, const std::string &given, const char *variable,
                                const std::string &holds) {
  const char *const named = std::getenv(variable);
  const std::string folder = given.empty() && named != nullptr ? named : given;
  const std::string wanted = "Give the folder with " + holds + " as argument or in " + variable + ".";
  std::error_code ignored;
  if (folder.empty())
    std::fprintf(stderr, "%s: skipped: no folder of a model. %s\n", program, wanted.c_str());
  else if (!std::filesystem::is_directory(folder, ignored))
    throw std::runtime_error(folder + " is not a folder. " + wanted);
  return folder;
}

#endif
