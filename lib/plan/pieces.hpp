// A product cut into pieces of rows, or of columns when there are few rows, for the workers of an executor.
#ifndef HEED_PIECES_HPP
#define HEED_PIECES_HPP

#include "../boundary/tasks.hpp"

namespace heed {
namespace {

// product(block, first_column) computes a piece: b.w and what else belongs to columns it moves on itself.
template <class P>
struct product_job {
  P product;
  linear_block whole;
  int32_t piece;  // rows or columns of each
  bool by_rows;
};

template <class P>
void product_task(void *context, int32_t index, int32_t) {
  const auto &job = *static_cast<const product_job<P> *>(context);
  linear_block b = job.whole;
  const int32_t begin = index * job.piece, total = job.by_rows ? b.n_rows : b.n_cols;
  const int32_t n = total - begin < job.piece ? total - begin : job.piece;
  if (job.by_rows) {
    b.x += begin * b.x_stride;
    b.y += begin * b.y_stride;
    b.n_rows = n;
  } else {
    b.y += begin;
    if (b.bias) b.bias += begin;
    b.n_cols = n;
  }
  job.product(b, job.by_rows ? 0 : begin);
}

template <class P>
void run_product(const P &product, const linear_block &whole, const heed_executor *executor) {
  const float work =
      static_cast<float>(whole.n_rows) * static_cast<float>(whole.depth) * static_cast<float>(whole.n_cols);
  if (!executor || work < least_threaded_work) return product(whole, 0);
  product_job<P> job = {product, whole, 0, whole.n_rows >= 8 * executor->n_workers};
  // 24 rows and 64 columns are multiples of every register tile.
  const int32_t total = job.by_rows ? whole.n_rows : whole.n_cols;
  job.piece = piece_size(total, executor->n_workers, job.by_rows ? 24 : 64);
  run_tasks(executor, total / job.piece + (total % job.piece != 0), product_task<P>, &job);
}

}  // namespace
}  // namespace heed

#endif
