#include "arithmetic.hpp"

namespace heed {

static float square_root(int32_t n) {
#if defined(__NO_MATH_ERRNO__) && (defined(__SSE2__) || defined(__aarch64__) || (defined(__ARM_FP) && __ARM_FP >= 4))
  return __builtin_sqrtf(static_cast<float>(n));  // an instruction, correctly rounded
#else
  int shift = 0;
  while (static_cast<uint64_t>(n) << shift < static_cast<uint64_t>(1) << 48) shift += 2;
  const uint64_t scaled = static_cast<uint64_t>(n) << shift;
  uint32_t root = 0;  // bit by bit: 25 of them, one more than a float has, so that adding 1 rounds it
  for (uint32_t bit = 1u << 24; bit != 0; bit >>= 1)
    if (static_cast<uint64_t>(root + bit) * (root + bit) <= scaled) root += bit;
  union {
    uint32_t bits;
    float number;
  } power = {static_cast<uint32_t>(127 + 1 - shift / 2) << 23};
  return static_cast<float>((root + 1) / 2) * power.number;
#endif
}

float default_scale(int32_t dim) { return 1.0f / square_root(dim); }

}  // namespace heed
