// Norms, activations and sums of rows.
#include "../isa_choice/front_door.hpp"
#include "../tasks/row_tasks.hpp"
#include "../tasks/run.hpp"
#include "../checks/validate.hpp"

namespace heed {
namespace {

// ----------------------------------------------------------------------------------------------------- checks

// An input that y may be itself.
void check_input(checker &check, const heed_matrix &x, const heed_matrix_out &y, heed_argument argument) {
  const bool in_place = x.data == y.data && (x.row_stride == y.row_stride || y.n_rows == 1);
  if (!in_place) check.matrix(x, argument);
}

void check_output(checker &check, const heed_matrix &x, const heed_matrix_out &y, const heed_executor *executor) {
  check.matrix(y, HEED_ARG_Y);
  check.require(y.n_rows == x.n_rows && y.dim == x.dim, HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  check.executor(executor);
}

// In a frame of its own, which is gone when kernels run.
HEED_NOINLINE heed_status check_two_inputs(const heed_matrix &a, heed_argument a_name, const heed_matrix *b,
                                           heed_argument b_name, const heed_matrix_out &y,
                                           const heed_executor *executor) {
  checker_of<4> check;
  check_input(check, a, y, a_name);
  if (b) check_input(check, *b, y, b_name);
  check_output(check, a, y, executor);
  if (b) check.require(b->n_rows == a.n_rows && b->dim == a.dim, HEED_SHAPE_MISMATCH, b_name);
  return check.finish();
}

heed_status check_activation(const heed_matrix &x, const heed_matrix &up, const heed_matrix_out &y,
                             const heed_executor *executor) {
  const heed_matrix *const given = up.data ? &up : nullptr;
  return check_two_inputs(x, HEED_ARG_X, given, HEED_ARG_UP, y, executor);
}

}  // namespace

HEED_NOINLINE heed_status check_norm(const heed_matrix &x, const float *weight, const float *bias, float eps,
                                     const heed_matrix_out &y, const heed_executor *executor) {
  checker_of<5> check;
  check_input(check, x, y, HEED_ARG_X);
  check_output(check, x, y, executor);
  check.floats_or_null(weight, x.dim, HEED_ARG_WEIGHT);
  check.floats_or_null(bias, x.dim, HEED_ARG_BIAS);
  check.require(is_finite(eps), HEED_NOT_FINITE, HEED_ARG_EPS);
  check.require(eps >= 0.0f, HEED_OUT_OF_RANGE, HEED_ARG_EPS);
  return check.finish();
}

static void run_rms_norm(kernel_handle k, rms_kind kind, const heed_matrix &x, const float *weight, const float *bias,
                         float eps, const heed_matrix_out &y, const heed_executor *executor) {
  run_rows(row_steps_of(k)->rms_norm, norm_rows_of(kind, x, weight, bias, eps, y), work_of_rms_norm, executor);
}

}  // namespace heed

heed_status heed_rms_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                          const heed_executor *executor) {
  const heed_status status = heed::check_norm(x, weight, bias, eps, y, executor);
  if (status == HEED_OK)
    heed::run_rms_norm(heed_front_door::kernel(executor), heed::rms_kind::plain, x, weight, bias, eps, y, executor);
  return status;
}

heed_status heed_rms_norm_plus_one(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                                   const heed_executor *executor) {
  const heed_status status = heed::check_norm(x, weight, bias, eps, y, executor);
  if (status == HEED_OK)
    heed::run_rms_norm(heed_front_door::kernel(executor), heed::rms_kind::plus_one, x, weight, bias, eps, y, executor);
  return status;
}

heed_status heed_l2_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                         const heed_executor *executor) {
  const heed_status status = heed::check_norm(x, weight, bias, eps, y, executor);
  if (status == HEED_OK)
    heed::run_rms_norm(heed_front_door::kernel(executor), heed::rms_kind::l2, x, weight, bias, eps, y, executor);
  return status;
}

heed_status heed_layer_norm(heed_matrix x, const float *weight, const float *bias, float eps, heed_matrix_out y,
                            const heed_executor *executor) {
  const heed_status status = heed::check_norm(x, weight, bias, eps, y, executor);
  if (status == HEED_OK)
    heed::run_rows(heed::row_steps_of(heed_front_door::kernel(executor))->layer_norm,
                   heed::norm_rows_of(heed::rms_kind::plain, x, weight, bias, eps, y), heed::work_of_layer_norm,
                   executor);
  return status;
}

heed_status heed_gelu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor) {
  const heed_status status = heed::check_activation(x, up, y, executor);
  if (status == HEED_OK)
    heed::run_pairs(heed::row_steps_of(heed_front_door::kernel(executor))->gelu, heed::work_of_gelu, x, up, y,
                    executor);
  return status;
}

heed_status heed_gelu_tanh(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor) {
  const heed_status status = heed::check_activation(x, up, y, executor);
  if (status == HEED_OK)
    heed::run_pairs(heed::row_steps_of(heed_front_door::kernel(executor))->gelu_tanh, heed::work_of_gelu_tanh, x, up, y,
                    executor);
  return status;
}

heed_status heed_silu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor) {
  const heed_status status = heed::check_activation(x, up, y, executor);
  if (status == HEED_OK)
    heed::run_pairs(heed::row_steps_of(heed_front_door::kernel(executor))->silu, heed::work_of_silu, x, up, y,
                    executor);
  return status;
}

heed_status heed_relu(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor) {
  const heed_status status = heed::check_activation(x, up, y, executor);
  if (status == HEED_OK)
    heed::run_pairs(heed::row_steps_of(heed_front_door::kernel(executor))->relu, heed::work_of_relu, x, up, y,
                    executor);
  return status;
}

heed_status heed_tanh(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor) {
  const heed_status status = heed::check_activation(x, up, y, executor);
  if (status == HEED_OK)
    heed::run_pairs(heed::row_steps_of(heed_front_door::kernel(executor))->tanh, heed::work_of_tanh, x, up, y,
                    executor);
  return status;
}

heed_status heed_sigmoid(heed_matrix x, heed_matrix up, heed_matrix_out y, const heed_executor *executor) {
  const heed_status status = heed::check_activation(x, up, y, executor);
  if (status == HEED_OK)
    heed::run_pairs(heed::row_steps_of(heed_front_door::kernel(executor))->sigmoid, heed::work_of_sigmoid, x, up, y,
                    executor);
  return status;
}

heed_status heed_add(heed_matrix a, heed_matrix b, heed_matrix_out y, const heed_executor *executor) {
  const heed_status status = heed::check_two_inputs(a, HEED_ARG_A, &b, HEED_ARG_B, y, executor);
  if (status == HEED_OK) heed::run_add(heed_front_door::kernel(executor), a, b, y, executor);
  return status;
}
