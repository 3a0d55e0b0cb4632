// Functions of rows as tasks: what heed_layer_norm, heed_gelu and their like do with valid arguments.
#ifndef HEED_ROW_TASKS_HPP
#define HEED_ROW_TASKS_HPP

#include "tasks.hpp"

namespace heed {

inline norm_rows norm_rows_of(rms_kind kind, const heed_matrix &x, const float *weight, const float *bias, float eps,
                              const heed_matrix_out &y) {
  int32_t divisor = x.dim;
  if (kind == rms_kind::l2) divisor = 1;
  const bool plus_one = kind == rms_kind::plus_one;
  return {x.data, x.row_stride, weight, bias, eps, y.data, y.row_stride, y.n_rows, y.dim, divisor, plus_one};
}

HEED_INLINE norm_rows rows_from(norm_rows rows, int32_t begin, int32_t n) {
  rows.x += begin * rows.x_stride;
  rows.y += begin * rows.y_stride;
  rows.n_rows = n;
  return rows;
}

HEED_INLINE element_rows rows_from(element_rows rows, int32_t begin, int32_t n) {
  rows.x += begin * rows.x_stride;
  rows.y += begin * rows.y_stride;
  if (rows.other) rows.other += begin * rows.other_stride;
  rows.n_rows = n;
  const bool no_gaps =
      rows.x_stride == rows.dim && rows.y_stride == rows.dim && (!rows.other || rows.other_stride == rows.dim);
  if (no_gaps || n == 1) {  // a row of 8 would be all tail
    rows.dim *= n;
    rows.n_rows = 1;
  }
  return rows;
}

template <class Rows>
struct rows_job {
  void (*step)(const Rows &rows);
  Rows all;
  pieces parts;
};

template <class Rows>
void rows_task(void *context, int32_t index, int32_t) {
  const auto &job = *static_cast<const rows_job<Rows> *>(context);
  job.step(rows_from(job.all, job.parts.begin(index), job.parts.size(index)));
}

// work: operations for an element.
template <class Rows>
void run_rows(void (*step)(const Rows &rows), const Rows &all, float work, const heed_executor *executor) {
  const float total = static_cast<float>(all.n_rows) * static_cast<float>(all.dim) * work;
  rows_job<Rows> job = {step, all, cut_work(all.n_rows, 1, 1, total, executor)};
  run_tasks(executor, job.parts.n, rows_task<Rows>, &job);
}

// y = step(a, b), or of a alone.
inline void run_pairs(void (*step)(const element_rows &rows), float work, const heed_matrix &a, const heed_matrix &b,
                      const heed_matrix_out &y, const heed_executor *executor) {
  const ptrdiff_t b_stride = b.data ? b.row_stride : 0;
  const element_rows all = {a.data, a.row_stride, b.data, b_stride, y.data, y.row_stride, y.n_rows, y.dim};
  run_rows(step, all, work, executor);
}

// The work of each function.
constexpr float work_of_layer_norm = 6.0f, work_of_rms_norm = 4.0f, work_of_add = 8.0f, work_of_relu = 2.0f;
constexpr float work_of_gelu = 48.0f, work_of_gelu_tanh = 32.0f, work_of_silu = 29.0f, work_of_tanh = 40.0f;
constexpr float work_of_sigmoid = 28.0f;

}  // namespace heed

#endif
