// Which kernel is in use.
#include "front_door.hpp"

#include "../tasks/tasks.hpp"
#ifndef HEED_SINGLE
#include "../os/os.hpp"
#endif

namespace heed {

#ifndef HEED_SINGLE
void layer_executor::run(void *user, int32_t n_tasks, heed_task task, void *context) {
  run_tasks(static_cast<const layer_executor *>(user)->of_caller, n_tasks, task, context);
}
#endif

#if defined(HEED_FIXED_ISA) && !defined(HEED_SINGLE)
extern const kernel HEED_FIXED_SYMBOL;
#endif

#if !defined(HEED_FIXED_ISA) && !defined(HEED_SINGLE)
namespace {

const kernel *chosen;  // null: not chosen yet. int_dispatch.cpp has that of integers

const kernel *choose_kernel() {
  const char *requested = os_requested_kernel();
  const kernel *k = requested ? find_kernel(requested) : nullptr;
  return k && k->available() ? k : available_kernel(0);
}

}  // namespace
#endif

}  // namespace heed

#if defined(HEED_SINGLE)
// front_door.hpp has it
#elif defined(HEED_FIXED_ISA)
const heed::kernel *heed_front_door::kernel(const heed_executor *) { return &heed::HEED_FIXED_SYMBOL; }
#else
const heed::kernel *heed_front_door::kernel(const heed_executor *executor) {
  if (const heed::kernel *of_layer = heed::layer_executor::kernel_in(executor)) return of_layer;
  const heed::kernel *k = __atomic_load_n(&heed::chosen, __ATOMIC_RELAXED);
  if (!k) {  // two threads may both choose; they choose the same
    k = heed::choose_kernel();
    __atomic_store_n(&heed::chosen, k, __ATOMIC_RELAXED);
  }
  return k;
}
void heed_front_door::use(const heed::kernel *k) {
  if (!k) k = heed::choose_kernel();
  __atomic_store_n(&heed::chosen, k, __ATOMIC_RELAXED);
}
#endif
