// Weights with zero points as kernels see them.
#ifndef HEED_API_ZERO_POINTS_HPP
#define HEED_API_ZERO_POINTS_HPP

#include "../checks/weights_code.hpp"
#include "../kernel_contract/numbers.hpp"
#include "heed/heed.h"

namespace heed {

inline stored_weights stored_bytes(const heed_weights &w) {
  stored_weights to = {w.data, w.scales, stride_of_weights(w), stored_int8, w.layout == HEED_OUT_IN};
  to.zeros = static_cast<const unsigned char *>(w.zero_points);
  to.one_scale = w.n_scales == 1;
  to.is_uint8 = w.dtype == HEED_UINT8;
  return to;
}

void run_with_zero_points(const kernel *k, const heed_matrix &x, const heed_weights &w, const float *bias,
                          const heed_matrix_out &y, const heed_executor *executor);  // (project.cpp)

}  // namespace heed

#endif
