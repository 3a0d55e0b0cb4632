// Subnormal numbers count as zero for the length of a scope, on this thread. SPDX-License-Identifier: MIT
#ifndef HEED_TESTS_SUPPORT_FLUSHING_HPP
#define HEED_TESTS_SUPPORT_FLUSHING_HPP

#include "flushing.h"

namespace heed_test {

class flushing {
 public:
  flushing() : before_(float_control()) { set_float_control(before_ | flush_bits); }
  ~flushing() { set_float_control(before_); }
  flushing(const flushing &) = delete;
  flushing &operator=(const flushing &) = delete;

 private:
  uint32_t before_;
};

}  // namespace heed_test

#endif
