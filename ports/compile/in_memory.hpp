// A published model, and in memory the file that its program reads. SPDX-License-Identifier: MIT
#ifndef HEED_COMPILE_IN_MEMORY_HPP
#define HEED_COMPILE_IN_MEMORY_HPP

#include "published.hpp"

namespace heed_compile {

struct in_memory {
  // Throws refusal.
  explicit in_memory(const std::string &path, const choices &how = {});
  in_memory(const in_memory &) = delete;
  in_memory &operator=(const in_memory &) = delete;

  published_model source;
  network net;
  std::vector<plan> plans;
  heed_import::bytes memory;
  heed_import::span file;  // without known answers; aligned to 64
};

}  // namespace heed_compile

#endif
