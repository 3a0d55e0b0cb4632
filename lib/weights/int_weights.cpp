// Packed weights whose products are made in integers: rows of floats are quantised on their way (rule 25).
#include "../isa_choice/int_door.hpp"
#include "../isa_choice/int_product_dispatch.hpp"
#include "../tasks/pieces.hpp"
#include "heed/int_products.h"
#include "packed_weights.hpp"

namespace heed {
namespace {

struct product_of_panels {
  void (*project_floats)(const linear_block &, const int_panels &, int32_t);
  int_panels panels;
  void operator()(const linear_block &b, int32_t first) const { project_floats(b, panels, first); }
};

void run_in_integers(const kernel *, const heed_matrix &x, const heed_weights &w, const float *bias,
                     const heed_matrix_out &y, const heed_executor *executor) {
  const product_of_panels product = {int_products_of(int_kernel_in_use())->project_floats,
                                     {static_cast<const unsigned char *>(w.data), w.dtype, w.n_out}};
  run_product(product, {x.data, x.row_stride, nullptr, 0, bias, y.data, y.row_stride, x.n_rows, w.n_in, w.n_out},
              executor, true);
}

void check_in_integers(checker &check, const heed_weights &w, heed_argument argument) {
  check.require((w.dtype >= HEED_INT8 && w.dtype <= HEED_Q4_0) || w.dtype == HEED_UINT8, HEED_BAD_DTYPE, argument);
  check.require(w.n_in <= HEED_INT_MAX_IN, HEED_OUT_OF_RANGE, argument);
  check_packed_bytes(check, w, argument);
}

constexpr heed_weights_code in_integers_code = {check_in_integers, run_in_integers, 0};

}  // namespace
}  // namespace heed

using namespace heed;

heed_status heed_weights_in_integers(heed_weights *w, heed_weights packed) {
  checker_of<2> check;
  check.pointer(w, alignof(heed_weights), HEED_ARG_W);
  if (check.ok()) check.memory(w, sizeof *w, access::write, HEED_ARG_W);
  check.require(packed.layout == HEED_PACKED && packed.code, HEED_NOT_INITIALIZED, HEED_ARG_PACKED);
  if (check.ok()) check_in_integers(check, packed, HEED_ARG_PACKED);
  if (check.finish() != HEED_OK) return check.status;
  *w = packed;
  w->code = &in_integers_code;
  return HEED_OK;
}
