// Checks that the integer functions share.
#ifndef HEED_INTEGERS_CHECK_HPP
#define HEED_INTEGERS_CHECK_HPP

#include "../checks/validate.hpp"
#include "../kernel_contract/integers.hpp"
#include "heed/integers.h"

namespace heed {

// heed_multiplier, or a kernel's.
template <class M>
void check_multiplier(checker &check, const M &m, int32_t least, int32_t most, heed_argument argument) {
  check.require(m.m >= 0x40000000 && m.e >= least && m.e <= most, HEED_OUT_OF_RANGE, argument);
}

// Format and zero point. An int16 that is read has none.
inline void check_int_numbers(checker &check, int32_t dtype, int32_t zero_point, bool read, heed_argument argument) {
  check.require(dtype == HEED_INT8 || dtype == HEED_INT16, HEED_BAD_DTYPE, argument);
  int32_t least = -128, most = 127;
  if (dtype == HEED_INT16) {
    least = read ? 0 : -32768;
    most = read ? 0 : 32767;
  }
  check.require(zero_point >= least && zero_point <= most, HEED_OUT_OF_RANGE, argument);
}

inline size_t int_bytes(int32_t dtype) { return dtype == HEED_INT8 ? 1 : 2; }

// in_place: y is this matrix and adds its range.
inline void check_int_input(checker &check, const heed_int_matrix &x, heed_argument argument, bool in_place = false) {
  check_int_numbers(check, x.dtype, x.zero_point, true, argument);
  if (check.ok() && !in_place)
    check.matrix(x.data, x.n_rows, x.dim, x.row_stride, access::read, argument, int_bytes(x.dtype));
}

inline void check_int_output(checker &check, const heed_int_matrix_out &y, heed_argument argument) {
  check_int_numbers(check, y.dtype, y.zero_point, false, argument);
  if (check.ok()) check.matrix(y.data, y.n_rows, y.dim, y.row_stride, access::write, argument, int_bytes(y.dtype));
}

// Of a product: int8 in any layout. Adds one range.
void check_int_weights(checker &check, const heed_weights &w, int32_t n_in, heed_argument argument);
void check_multipliers(checker &check, const heed_multiplier *m, int32_t n, heed_argument argument);

// n rows from a position on. Adds two ranges: the rope and its table.
void check_int_rope(checker &check, const heed_int_rope *rope, int32_t head_dim, int64_t first_position, int32_t n);

heed_status check_int_attention(const heed_int_attention *call, bool finishes);

// Bytes of the states of so many rows; SIZE_MAX where they do not fit.
inline size_t int_partial_bytes(size_t n_rows, int32_t v_dim) {
  size_t bytes;
  return __builtin_mul_overflow(n_rows, HEED_INT_PARTIAL_ROW_BYTES(v_dim), &bytes) ? SIZE_MAX : bytes;
}

}  // namespace heed

#endif
