#include "../isa_choice/front_door.hpp"
#include "../tasks/pieces.hpp"
#include "../tasks/run.hpp"
#include "../checks/validate.hpp"

namespace heed {
namespace {

template <class K>
struct softmax_job {
  K k;  // the same for all rows, whatever kernel is chosen meanwhile
  heed_matrix x;
  heed_matrix_out y;
  float c;
  pieces parts;
};

template <class K>
void softmax_task(void *context, int32_t index, int32_t) {
  const auto &job = *static_cast<const softmax_job<K> *>(context);
  const int32_t begin = job.parts.begin(index), n_rows = job.parts.begin(index + 1) - begin;
  job.k->softmax({job.x.data + begin * job.x.row_stride, job.x.row_stride, job.y.data + begin * job.y.row_stride,
                  job.y.row_stride, n_rows, job.x.dim, job.c, negative_infinity});
}

void check_product(checker &check, const heed_matrix &a, heed_argument a_name, const heed_matrix &b,
                   heed_argument b_name, const heed_matrix_out &y, heed_argument y_name,
                   const heed_executor *executor) {
  check.matrix(a, a_name);
  check.matrix(b, b_name);
  check.require(b.n_rows == a.dim, HEED_SHAPE_MISMATCH, b_name);
  check.matrix(y, y_name);
  check.require(y.n_rows == a.n_rows && y.dim == b.dim, HEED_SHAPE_MISMATCH, y_name);
  check.executor(executor);
}

// Checks have frames of their own, which are gone when kernels run.
HEED_NOINLINE heed_status check_dot(const float *a, const float *b, int32_t n, const float *result) {
  checker_of<3> check;
  check.count(n, HEED_MAX_COUNT, HEED_ARG_N);
  check.floats(a, n, access::read, HEED_ARG_A);
  check.floats(b, n, access::read, HEED_ARG_B);
  check.floats(result, 1, access::write, HEED_ARG_RESULT);
  return check.finish();
}

HEED_NOINLINE heed_status check_softmax(const heed_matrix &x, float scale, const heed_matrix_out &y,
                                        const heed_executor *executor) {
  checker_of<3> check;  // x, y, executor
  const bool in_place = x.data == y.data && (x.row_stride == y.row_stride || x.n_rows == 1);
  if (!in_place) check.matrix(x, HEED_ARG_X);
  check.matrix(y, HEED_ARG_Y);
  check.require(y.n_rows == x.n_rows && y.dim == x.dim, HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  check.require(scale != HEED_SCALE_DEFAULT, HEED_NOT_FINITE, HEED_ARG_SCALE);  // a number like any other here
  check.scale(scale);
  check.executor(executor);
  return check.finish();
}

HEED_NOINLINE heed_status check_weighted_sum(const heed_matrix &weights, const heed_matrix &rows,
                                             const heed_matrix_out &out, const heed_executor *executor) {
  checker_of<4> check;
  check_product(check, weights, HEED_ARG_WEIGHTS, rows, HEED_ARG_ROWS, out, HEED_ARG_OUT, executor);
  return check.finish();
}

}  // namespace
}  // namespace heed

heed_status heed_dot(const float *a, const float *b, int32_t n, float *result) {
  const heed_status status = heed::check_dot(a, b, n, result);
  if (status == HEED_OK) *result = heed::products_of(heed_front_door::kernel())->dot(a, b, n);
  return status;
}

heed_status heed_softmax(heed_matrix x, float scale, heed_matrix_out y, const heed_executor *executor) {
  const heed_status status = heed::check_softmax(x, scale, y, executor);
  if (status != HEED_OK) return status;
  const float work = static_cast<float>(x.n_rows) * static_cast<float>(x.dim) * 16.0f;
  heed::softmax_job<heed::kernel_handle> job = {heed_front_door::kernel(executor), x, y, scale * heed::log2e,
                                                heed::cut_work(x.n_rows, 1, 1, work, executor)};
  heed::run_tasks(executor, job.parts.n, heed::softmax_task<heed::kernel_handle>, &job);
  return HEED_OK;
}

heed_status heed_weighted_sum(heed_matrix weights, heed_matrix rows, heed_matrix_out out,
                              const heed_executor *executor) {
  const heed_status status = heed::check_weighted_sum(weights, rows, out, executor);
  if (status == HEED_OK) heed::run_linear(heed_front_door::kernel(executor), weights, rows, nullptr, out, executor);
  return status;
}
