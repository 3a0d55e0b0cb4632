// Rows to and from narrow numbers, for what has checked its arguments. scale: of int8 alone.
#ifndef HEED_FORMATS_HPP
#define HEED_FORMATS_HPP

#include "heed/heed.h"

namespace heed {

// n numbers; of int8 all are finite.
void row_to_format(const float *x, int32_t n, int32_t dtype, void *y, float *scale);
void row_from_format(const void *x, int32_t n, int32_t dtype, float scale, float *y);

}  // namespace heed

#endif
