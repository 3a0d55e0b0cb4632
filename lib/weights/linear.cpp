// heed_linear: a product with weights in any format and layout.
#include "../checks/weights_code.hpp"
#include "../checks/check_dtypes.hpp"
#include "../isa_choice/front_door.hpp"
#include "../kernel_contract/numbers.hpp"
#include "../tasks/pieces.hpp"
#include "packed_weights.hpp"
#include "../tasks/run.hpp"
#include "zero_points.hpp"

namespace heed {
namespace {

struct product_of_stored {
  project_step step;
  stored_weights w;
  void operator()(const linear_block &b, int32_t first_column) const {
    stored_weights part = w;
    const ptrdiff_t numbers = w.out_in ? first_column * w.stride : first_column;  // a row alone may have any stride
    part.data =
        static_cast<const unsigned char *>(w.data) + numbers * static_cast<ptrdiff_t>(HEED_DTYPE_BYTES(w.dtype));
    if (w.dtype == stored_int8 && !w.one_scale) part.scales += first_column;
    if (w.zeros && !w.one_scale) part.zeros += first_column;
    step(b, part);
  }
};

template <class K>
void run_any_project(K k, const heed_matrix &x, const heed_weights &w, const float *bias, const heed_matrix_out &y,
                     const heed_executor *executor) {
  if (w.code) return w.code->run(address_of(k), x, w, bias, y, executor);
  if (w.dtype == HEED_F32 && w.layout == HEED_IN_OUT) {
    const heed_matrix floats = {static_cast<const float *>(w.data), w.n_in, w.n_out, w.row_stride};
    return run_linear(k, x, floats, bias, y, executor);
  }
  const bool out_in = w.layout == HEED_OUT_IN;
  const product_of_stored product = {project_of(k)->project, {w.data, w.scales, stride_of_weights(w), w.dtype, out_in}};
  run_product(product, {x.data, x.row_stride, nullptr, 0, bias, y.data, y.row_stride, x.n_rows, w.n_in, w.n_out},
              executor);
}

HEED_NOINLINE heed_status check_project(const heed_matrix &x, const heed_weights &w, const float *bias,
                                        const heed_matrix_out &y, const heed_executor *executor) {
  checker_of<7> check;  // x, w with scales and zero points, bias, y, executor
  check.matrix(x, HEED_ARG_X);
  check_weights(check, w, x.dim, HEED_ARG_W);
  check.floats_or_null(bias, w.n_out, HEED_ARG_BIAS);
  check.matrix(y, HEED_ARG_Y);
  check.require(y.n_rows == x.n_rows && y.dim == w.n_out, HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  check.executor(executor);
  return check.finish();
}

}  // namespace

// What the weights name, and that rows of n_in numbers fit.
void check_weights(checker &check, const heed_weights &w, int32_t n_in, heed_argument argument) {
  if (!check.ok()) return;
  if (w.code) {
    w.code->check(check, w, argument);
  } else {
    check.require(w.layout != HEED_PACKED && !is_in_blocks(w.dtype) && w.dtype != HEED_UINT8, HEED_NOT_INITIALIZED,
                  argument);
    check_format(check, w.dtype, argument);
    check_layout(check, w.layout, argument);
    check.matrix(w.data, rows_of_weights(w), dim_of_weights(w), w.row_stride, access::read, argument,
                 HEED_DTYPE_BYTES(w.dtype));
  }
  check.require(w.n_in == n_in, HEED_SHAPE_MISMATCH, argument);
  if (w.dtype == HEED_INT8 && !w.code) check_scales(check, w.scales, w.n_out, access::read, argument);
}

void run_with_zero_points(const kernel *k, const heed_matrix &x, const heed_weights &w, const float *bias,
                          const heed_matrix_out &y, const heed_executor *executor) {
  const product_of_stored product = {packed_of(handle_of(k))->bytes, stored_bytes(w)};
  run_product(product, {x.data, x.row_stride, nullptr, 0, bias, y.data, y.row_stride, x.n_rows, w.n_in, w.n_out},
              executor);
}

void run_project(const kernel *k, heed_matrix x, const heed_weights &w, const float *bias, heed_matrix_out y,
                 const heed_executor *executor) {
  run_any_project(k, x, w, bias, y, executor);
}
#ifdef HEED_SINGLE
void run_project(fixed_kernel k, heed_matrix x, const heed_weights &w, const float *bias, heed_matrix_out y,
                 const heed_executor *executor) {
  run_any_project(k, x, w, bias, y, executor);
}
#endif

}  // namespace heed

heed_status heed_linear(heed_matrix x, heed_weights w, const float *bias, heed_matrix_out y,
                        const heed_executor *executor) {
  const heed_status status = heed::check_project(x, w, bias, y, executor);
  if (status == HEED_OK) heed::run_project(heed_front_door::kernel(executor), x, w, bias, y, executor);
  return status;
}
