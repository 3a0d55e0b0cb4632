// heed_int_linear: a product in integers, with weights in any layout.
#include "../checks/weights_code.hpp"
#include "../isa_choice/int_product_dispatch.hpp"
#include "int_check.hpp"
#include "../isa_choice/int_door.hpp"
#include "heed/int_products.h"
#include "int_functions.hpp"
#include "int_share.hpp"
#include "../tasks/pieces.hpp"

namespace heed {
namespace {

static_assert(sizeof(heed_multiplier) == 2 * sizeof(int32_t) && int_most_depth == HEED_INT_MAX_IN, "kernels know them");

// Packed weights are a panel of 64 outputs after another.
void run_panels(int_product_step project, const int_product &b, const unsigned char *panels, int32_t n_out,
                int32_t first) {
  const ptrdiff_t output_bytes =
      static_cast<ptrdiff_t>(packed_output_bytes(stored_int8, static_cast<uint64_t>(b.depth)));
  const ptrdiff_t number_bytes = b.wide ? 2 : 1;
  for (int32_t done = 0; done < b.n_cols; done += panel_outputs) {
    const int32_t begin = first + done, width = panel_width(n_out, begin);
    int_product part = b;
    part.w = int_panel(panels + begin * output_bytes + 4 * width, width);
    part.bias = offset_or_null(b.bias, done);
    part.multipliers += ptrdiff_t{2} * done;
    part.y = static_cast<unsigned char *>(b.y) + number_bytes * done;
    part.n_cols = smaller_of(b.n_cols - done, panel_outputs);
    project(part);
  }
}

struct int_product_job {
  int_product_step project;
  int_product whole;
  const unsigned char *panels;  // or null
  pieces parts;
  bool by_rows;
};

void run_product_piece(const int_product_job &job, int32_t begin, int32_t n) {
  int_product b = job.whole;
  const ptrdiff_t number_bytes = b.wide ? 2 : 1;
  if (job.by_rows) {
    b.x += begin * b.x_stride;
    b.y = static_cast<unsigned char *>(b.y) + begin * b.y_stride * number_bytes;
    b.n_rows = n;
  } else {
    if (!job.panels) b.w.data += begin * b.w.output;
    if (b.bias) b.bias += begin;
    b.multipliers += ptrdiff_t{2} * begin;
    b.y = static_cast<unsigned char *>(b.y) + number_bytes * begin;
    b.n_cols = n;
  }
  const int32_t first = job.by_rows ? 0 : begin;
  if (job.panels)
    run_panels(job.project, b, job.panels, job.whole.n_cols, first);
  else
    job.project(b);
}

void run_product_task(void *context, int32_t index, int32_t) {
  const int_product_job &job = *static_cast<const int_product_job *>(context);
  run_product_piece(job, job.parts.begin(index), job.parts.size(index));
}

HEED_NOINLINE void run_on_workers(int_product_job &job, const heed_executor *executor) {
  const int_product &b = job.whole;
  const int32_t workers = executor->n_workers;
  const uint64_t work = static_cast<uint64_t>(b.n_rows) * static_cast<uint64_t>(b.n_cols) *
                        static_cast<uint32_t>(b.depth) / integers_for_one_float;
  job.by_rows = cuts_rows(b.n_rows, b.n_cols, int64_t{b.depth} * b.n_cols, workers);
  job.parts = job.by_rows ? share_rows(b.n_rows, 12, 24, work, executor) : share_rows(b.n_cols, 64, 64, work, executor);
  run_tasks(executor, job.parts.n, run_product_task, &job);
}

int_weights int_weights_of(const heed_weights &w) {
  const auto *data = static_cast<const int8_t *>(w.data);
  if (w.layout == HEED_OUT_IN) return int_rows_of_outputs(data, stride_of_weights(w));
  return int_rows_of_inputs(data, stride_of_weights(w));
}

HEED_NOINLINE heed_status check_int_project(const heed_int_matrix &x, const heed_weights &w, const int32_t *bias,
                                            const heed_multiplier *multipliers, const heed_int_matrix_out &y,
                                            const heed_executor *executor) {
  checker_of<6> check;  // x, w, bias, multipliers, y, executor
  check.require(x.dtype == HEED_INT8, HEED_BAD_DTYPE, HEED_ARG_X);
  check_int_input(check, x, HEED_ARG_X);
  check.count(x.dim, HEED_INT_MAX_IN, HEED_ARG_X);
  check_int_weights(check, w, x.dim, HEED_ARG_W);
  if (bias) check.array(bias, static_cast<size_t>(w.n_out), access::read, HEED_ARG_BIAS);
  check.array(multipliers, static_cast<size_t>(w.n_out), access::read, HEED_ARG_MULTIPLIERS);
  check_int_output(check, y, HEED_ARG_Y);
  check.require(y.n_rows == x.n_rows && y.dim == w.n_out, HEED_SHAPE_MISMATCH, HEED_ARG_Y);
  check.executor(executor);
  const heed_status status = check.finish();
  if (status == HEED_OK) check_multipliers(check, multipliers, w.n_out, HEED_ARG_MULTIPLIERS);
  return status == HEED_OK ? check.status : status;
}

}  // namespace
}  // namespace heed

using namespace heed;

void heed::run_int_linear(int_product_step step, const heed_int_matrix &x, const heed_weights &w, const int32_t *bias,
                          const heed_multiplier *multipliers, const heed_int_matrix_out &y,
                          const heed_executor *executor) {
  const bool several = x.n_rows > 1;  // a row alone may have any stride
  int_product_job job = {};
  job.project = step;
  job.panels = w.layout == HEED_PACKED ? static_cast<const unsigned char *>(w.data) : nullptr;
  int_product &b = job.whole;
  b.x = static_cast<const int8_t *>(x.data);
  b.x_stride = several ? x.row_stride : 0;
  b.x_zero_point = x.zero_point;
  if (!job.panels) b.w = int_weights_of(w);
  b.bias = bias;
  b.multipliers = &multipliers->m;
  b.y = y.data;
  b.y_stride = several ? y.row_stride : 0;
  b.y_zero_point = y.zero_point;
  b.wide = y.dtype == HEED_INT16;
  b.n_rows = x.n_rows;
  b.depth = x.dim;
  b.n_cols = w.n_out;
  job.by_rows = true;
  if (executor)
    run_on_workers(job, executor);
  else
    run_product_piece(job, 0, b.n_rows);
}

heed_status heed_int_linear(heed_int_matrix x, heed_weights w, const int32_t *bias, const heed_multiplier *multipliers,
                            heed_int_matrix_out y, const heed_executor *executor) {
  const heed_status status = check_int_project(x, w, bias, multipliers, y, executor);
  if (status == HEED_OK)
    run_int_linear(int_products_of(int_kernel_in_use())->project, x, w, bias, multipliers, y, executor);
  return status;
}
