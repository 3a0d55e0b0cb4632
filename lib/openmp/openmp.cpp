#include "heed/openmp.h"

#include <omp.h>

namespace {

// user carries the number of threads. Dynamic: causal tiles differ in cost, and cores may differ in speed.
void run(void *user, int32_t n_tasks, heed_task task, void *context) {
  const int n_threads = static_cast<int>(reinterpret_cast<intptr_t>(user));
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1)
  for (int32_t i = 0; i < n_tasks; i++) task(context, i, omp_get_thread_num());
}

}  // namespace

heed_status heed_openmp_executor(int32_t n_threads, heed_executor *executor) {
  if (!executor) return HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_EXECUTOR);
  if (n_threads < 0 || n_threads > HEED_MAX_WORKERS) return HEED_STATUS(HEED_OUT_OF_RANGE, HEED_ARG_N_THREADS);
  if (n_threads == 0) n_threads = omp_get_max_threads();
  if (n_threads > HEED_MAX_WORKERS) n_threads = HEED_MAX_WORKERS;
  *executor = {static_cast<uint32_t>(sizeof(heed_executor)), n_threads, run,
               reinterpret_cast<void *>(static_cast<intptr_t>(n_threads))};
  return HEED_OK;
}
