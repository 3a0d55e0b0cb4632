// What heed_dreams is asked for. SPDX-License-Identifier: MIT
#ifndef HEED_BENCH_DREAMS_ARGUMENTS_HPP
#define HEED_BENCH_DREAMS_ARGUMENTS_HPP

#include <string>

#include "dreams.h"
#include "receipts.hpp"

struct dreams_arguments {
  std::string folder, prompt, weights, map;
  bool has_prompt = false, bits = false, in_place = false, in_integers = false, draft = false;
  dreams_settings settings = {};
  dreams_choice choice = {0.0f, 0.0f, 1};
  receipts::order receipt;
  int32_t n_tokens = 0;  // 0: as many as there is room for
};

// Throws std::runtime_error with a sentence.
dreams_arguments read_dreams_arguments(int argc, char **argv);

#endif
