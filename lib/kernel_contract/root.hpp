// The square root, correctly rounded; NaN of negative numbers.
#ifndef HEED_ROOT_HPP
#define HEED_ROOT_HPP

#include "kernel.hpp"

namespace heed {

float integer_root(float x);

HEED_INLINE float square_root(float x) {
#if defined(__NO_MATH_ERRNO__) && (defined(__SSE2__) || defined(__aarch64__) || (defined(__ARM_FP) && __ARM_FP >= 4))
  return __builtin_sqrtf(x);  // an instruction
#else
  return integer_root(x);
#endif
}

}  // namespace heed

#endif
