// Rows or columns for the workers of an executor, as cut_work() of tasks/tasks.hpp does it, without a float.
#ifndef HEED_INTEGERS_SHARE_HPP
#define HEED_INTEGERS_SHARE_HPP

#include "../tasks/tasks.hpp"

namespace heed {

// work: multiply-adds, or operations that take as long.
inline pieces share_rows(int32_t total, int32_t step, int32_t least, uint64_t work, const heed_executor *executor) {
  constexpr uint64_t least_work = least_threaded_work < 1 ? 1 : static_cast<uint64_t>(least_threaded_work);
  if (!executor || work < least_work || total < 2 * least) return {total, step, 1};
  const int32_t workers = executor->n_workers;
  int32_t n = workers * pieces_per_worker;
  if (work / least_work < static_cast<uint64_t>(n - 1)) n = 1 + static_cast<int32_t>(work / least_work);
  if (n > total / least) n = total / least;
  if (n > workers) n = several_for_each(n, total / step, workers);
  return {total, step, n};
}

}  // namespace heed

#endif
