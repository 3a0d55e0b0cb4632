// What a call of attention in integers must be.
#ifndef HEED_INT_CHECK_HPP
#define HEED_INT_CHECK_HPP

#include "../boundary/validate.hpp"
#include "heed/integers.h"

namespace heed {

heed_status check_int_attention(const heed_int_attention *call, bool finishes);

// Bytes of the states of so many rows; SIZE_MAX where they do not fit.
inline size_t int_partial_bytes(size_t n_rows, int32_t v_dim) {
  size_t bytes;
  return __builtin_mul_overflow(n_rows, HEED_INT_PARTIAL_ROW_BYTES(v_dim), &bytes) ? SIZE_MAX : bytes;
}

}  // namespace heed

#endif
