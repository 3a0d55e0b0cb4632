// Weights with zero points as kernels see them.
#ifndef HEED_API_ZERO_POINTS_HPP
#define HEED_API_ZERO_POINTS_HPP

#include "../kernel_contract/numbers.hpp"
#include "heed/heed.h"

namespace heed {

inline stored_weights stored_bytes(const heed_weights &w) {
  const bool out_in = w.layout == HEED_OUT_IN;
  const int32_t n_rows = out_in ? w.n_out : w.n_in;
  const ptrdiff_t stride = n_rows > 1 ? w.row_stride : 0;
  stored_weights to = {w.data, w.scales, stride, stored_int8, out_in};
  to.zeros = static_cast<const unsigned char *>(w.zero_points);
  to.one_scale = w.n_scales == 1;
  to.is_uint8 = w.dtype == HEED_UINT8;
  return to;
}

void run_with_zero_points(const kernel *k, const heed_matrix &x, const heed_weights &w, const float *bias,
                          const heed_matrix_out &y, const heed_executor *executor);  // (project.cpp)

}  // namespace heed

#endif
