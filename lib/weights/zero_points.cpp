// Weights with zero points (rule 22): plain int8 or uint8, checked and multiplied by. heed_weights_pack packs them, too.
#include "../checks/check_dtypes.hpp"
#include "../checks/weights_code.hpp"
#include "zero_points.hpp"

namespace heed {
namespace {

void check_bytes(checker &check, const heed_weights &w, heed_argument argument) {
  check.require(w.dtype == HEED_INT8 || w.dtype == HEED_UINT8, HEED_BAD_DTYPE, argument);
  check_layout(check, w.layout, argument);
  check.matrix(w.data, rows_of_weights(w), dim_of_weights(w), w.row_stride, access::read, argument, 1);
  check.require(w.n_scales == 1 || w.n_scales == w.n_out, HEED_SHAPE_MISMATCH, argument);
  check_scales(check, w.scales, w.n_scales, access::read, argument);
  if (check.ok() && w.zero_points) check.memory(w.zero_points, static_cast<size_t>(w.n_scales), access::read, argument);
}

constexpr heed_weights_code bytes_code = {check_bytes, run_with_zero_points, 0};

}  // namespace
}  // namespace heed

heed_weights heed_weights_with_zero_points(heed_weights w, const void *zero_points, int32_t n_scales) {
  w.code = &heed::bytes_code;
  w.zero_points = zero_points;
  w.n_scales = n_scales;
  return w;
}
