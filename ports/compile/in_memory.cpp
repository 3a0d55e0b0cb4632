// See in_memory.hpp. SPDX-License-Identifier: MIT
#include "in_memory.hpp"

#include <algorithm>

#include "../import/flat_file.hpp"

namespace heed_compile {

in_memory::in_memory(const std::string &path, const choices &how) : net(read_published(source, path, how)) {
  std::vector<tensor> all = more_tensors(net, source.tensors);
  plans = plans_of(net, source.tensors);
  expect_all_used(net, plans, source.tensors);
  for (const plan &p : plans) all.push_back(made(net, p, how.formats));
  heed_import::bytes swapped;
  const heed_import::bytes flat = heed_import::flat_file(all);
  const heed_import::span own = heed_import::in_own_order({flat.data(), flat.size()}, swapped);
  memory.resize(own.size + HEED_FILE_ALIGNMENT);
  const size_t misplaced = reinterpret_cast<uintptr_t>(memory.data()) % HEED_FILE_ALIGNMENT;
  uint8_t *const aligned = memory.data() + (HEED_FILE_ALIGNMENT - misplaced) % HEED_FILE_ALIGNMENT;
  std::copy(own.data, own.data + own.size, aligned);
  file = {aligned, own.size};
}

}  // namespace heed_compile
