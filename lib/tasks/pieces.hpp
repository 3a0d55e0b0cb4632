// A product cut into pieces of rows, or of columns when there are few rows, for the workers of an executor.
#ifndef HEED_PIECES_HPP
#define HEED_PIECES_HPP

#include "tasks.hpp"

namespace heed {
namespace {

// product(block, first_column) computes a piece: b.w and what else belongs to columns it moves on itself.
template <class P>
struct product_job {
  P product;
  linear_block whole;
  pieces parts;
  bool by_rows;
};

template <class P>
void product_task(void *context, int32_t index, int32_t) {
  const auto &job = *static_cast<const product_job<P> *>(context);
  linear_block b = job.whole;
  const int32_t begin = job.parts.begin(index), n = job.parts.size(index);
  if (job.by_rows) {
    b.x += begin * b.x_stride;
    b.y += begin * b.y_stride;
    b.n_rows = n;
  } else {
    b.y += begin;
    if (b.bias) b.bias += begin;
    b.n_cols = n;
  }
  const int32_t first = job.by_rows ? 0 : begin;
  job.product(b, first);
}

// Each piece of rows reads all of w, each piece of columns all of x. Rows stay with a worker from one function to the
// next, so they are cut where w fits a second-level cache.
inline bool cuts_rows(int32_t n_rows, int32_t n_cols, int64_t weight_bytes, int32_t n_workers) {
  if (n_rows < 8 * n_workers) return false;
  return n_cols < 128 * n_workers || n_cols <= n_rows || weight_bytes <= 256 * 1024;
}
// They are also cut where each piece first quantises its rows, which pieces of columns would all do again: of 384 outputs
// they took 1.3 times as long together.
inline bool cuts_rows(const linear_block &b, int32_t n_workers, bool quantises) {
  if (quantises && b.n_rows >= 12 * n_workers) return true;
  return cuts_rows(b.n_rows, b.n_cols, int64_t{4} * b.depth * b.n_cols, n_workers);
}

// A function of its own: GCC would make the conversion of n_rows conditional, which GNU as for Cortex-M55 does not read.
inline HEED_NOINLINE float work_of_product(const linear_block &b, bool quantises) {
  const float work = static_cast<float>(b.n_rows) * static_cast<float>(b.depth) * static_cast<float>(b.n_cols);
  if (quantises) return work * (1.0f / integers_for_one_float);
  return b.n_rows == 1 ? work * work_of_one_row : work;
}

template <class P>
void run_product(const P &product, linear_block whole, const heed_executor *executor, bool quantises = false) {
  // A row alone may have any stride, and its multiples may be beyond all numbers: no kernel gets to see it.
  if (whole.n_rows == 1) whole.x_stride = whole.y_stride = 0;
  if (whole.depth == 1) whole.w_stride = 0;
  if (!executor) return product(whole, 0);
  const float work = work_of_product(whole, quantises);
  if (work < least_threaded_work) return product(whole, 0);
  const bool by_rows = cuts_rows(whole, executor->n_workers, quantises);
  const pieces parts =
      by_rows ? cut_product_rows(whole.n_rows, work, executor) : cut_work(whole.n_cols, 64, 64, work, executor);
  product_job<P> job = {product, whole, parts, by_rows};
  run_tasks(executor, job.parts.n, product_task<P>, &job);
}

}  // namespace
}  // namespace heed

#endif
