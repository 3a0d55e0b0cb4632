// What an argument in a heed_dtype must be, besides what any matrix must be.
#ifndef HEED_CHECK_FORMATS_HPP
#define HEED_CHECK_FORMATS_HPP

#include "validate.hpp"

namespace heed {

inline void check_format(checker &check, int32_t dtype, heed_argument argument) {
  check.require(dtype >= HEED_F32 && dtype <= HEED_INT8, HEED_BAD_DTYPE, argument);
}
inline void check_layout(checker &check, int32_t layout, heed_argument argument) {
  check.require(layout == HEED_IN_OUT || layout == HEED_OUT_IN, HEED_BAD_LAYOUT, argument);
}
// n scales of int8: their extent and their memory are the argument's.
inline void check_scales(checker &check, const float *scales, int32_t n, access how, heed_argument argument) {
  check.require(scales && reinterpret_cast<uintptr_t>(scales) % alignof(float) == 0, HEED_BAD_SCALES, argument);
  check.array(scales, static_cast<size_t>(n), how, argument);
}

}  // namespace heed

#endif
