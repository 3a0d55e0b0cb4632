// libFuzzer over the whole interface: its bytes make the choices of a case of heed_differential, on one kernel.
// SPDX-License-Identifier: MIT
#include <cstdlib>

#include "support/differential_case.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static heed_test::differential all({}, true);
  heed_test::random_source r(data, size);
  if (!all.run(r)) std::abort();
  return 0;
}
