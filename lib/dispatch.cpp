#include "front_door.hpp"
#include "run.hpp"
#ifndef HEED_SINGLE
#include "os/os.hpp"
#endif

namespace heed {

#ifdef HEED_SINGLE
#define HEED_KERNELS KERNEL(kernel_fixed) KERNEL(kernel_reference)
#else
#define KERNEL(symbol) HEED_DECLARE_KERNEL(symbol)
HEED_KERNELS
#undef KERNEL
#endif

namespace {

// The ordered selection list, best first: ports/cmake/isa.cmake makes it of the files that it compiles.
#define KERNEL(symbol) &symbol,
const kernel *const kernels[] = {HEED_KERNELS};
#undef KERNEL

bool same_text(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

// The best kernel of that name that can run here, else one that cannot, else null. A profile's name is that of all its
// kernels.
const kernel *find(const char *name) {
  const kernel *found = nullptr;
  for (const kernel *k : kernels) {
    if (!same_text(k->name, name) && !same_text(k->fused ? "fused" : "unfused", name)) continue;
    if (k->available()) return k;
    found = k;
  }
  return found;
}

#if !defined(HEED_FIXED_KERNEL) && !defined(HEED_SINGLE)
const kernel *chosen;  // the library's only variable; null: not chosen yet

const kernel *choose() {
  const char *requested = os_requested_kernel();
  const kernel *k = requested ? find(requested) : nullptr;
  return k && k->available() ? k : available_kernel(0);
}
#endif

}  // namespace

const kernel *available_kernel(int32_t index) {
  for (const kernel *k : kernels)
    if (k->available() && index-- == 0) return k;
  return nullptr;
}

const kernel *reference_kernel(bool fused) {
#ifdef HEED_SINGLE
  (void)fused;
  return &kernel_reference;
#else
  return find(fused ? "scalar" : "scalar-unfused");
#endif
}

#ifndef HEED_SINGLE
namespace {
template <class Part>
const Part *part_of(const kernel *k, const Part *const *parts) {
  for (const kernel *const *each = kernels; *each != k; each++) parts++;
  return *parts;
}
}  // namespace

#define KERNEL(symbol) &symbol##_products,
static const product_steps *const products[] = {HEED_KERNELS};
#undef KERNEL
#define KERNEL(symbol) &symbol##_project,
static const project_steps *const projects[] = {HEED_KERNELS};
#undef KERNEL
#define KERNEL(symbol) &symbol##_scores,
static const score_steps *const scores[] = {HEED_KERNELS};
#undef KERNEL
#define KERNEL(symbol) &symbol##_block,
static const block_steps *const blocks[] = {HEED_KERNELS};
#undef KERNEL

const product_steps *products_of(const kernel *k) { return part_of(k, products); }
const project_steps *project_of(const kernel *k) { return part_of(k, projects); }
const score_steps *scores_of(const kernel *k) { return part_of(k, scores); }
const block_steps *block_of(const kernel *k) { return part_of(k, blocks); }
#endif

#ifndef HEED_SINGLE
void layer_executor::run(void *user, int32_t n_tasks, heed_task task, void *context) {
  run_tasks(static_cast<const layer_executor *>(user)->of_caller, n_tasks, task, context);
}
#endif

}  // namespace heed

#if defined(HEED_SINGLE)
// front_door.hpp has it
#elif defined(HEED_FIXED_KERNEL)
const heed::kernel *heed_front_door::kernel(const heed_executor *) { return &heed::HEED_FIXED_SYMBOL; }
#else
const heed::kernel *heed_front_door::kernel(const heed_executor *executor) {
  if (const heed::kernel *of_layer = heed::layer_executor::kernel_in(executor)) return of_layer;
  const heed::kernel *k = __atomic_load_n(&heed::chosen, __ATOMIC_RELAXED);
  if (!k) {  // two threads may both choose; they choose the same
    k = heed::choose();
    __atomic_store_n(&heed::chosen, k, __ATOMIC_RELAXED);
  }
  return k;
}
#endif

int32_t heed_kernel_count() {
  int32_t n = 0;
  while (heed::available_kernel(n)) n++;
  return n;
}

const char *heed_kernel_name(int32_t index) {
  const heed::kernel *k = index < 0 ? nullptr : heed::available_kernel(index);
  return k ? k->name : nullptr;
}

int32_t heed_kernel_profile(const char *name) {
  const heed::kernel *k = name ? heed::find(name) : nullptr;
  return k ? k->fused ? HEED_PROFILE_FUSED : HEED_PROFILE_UNFUSED : -1;
}

const char *heed_kernel_current() { return heed_front_door::kernel()->name; }

heed_status heed_kernel_use(const char *name) {
  const heed::kernel *k = name ? heed::find(name) : nullptr;
  if (name && !k) return HEED_STATUS(HEED_UNKNOWN_KERNEL, HEED_ARG_KERNEL);
  if (k && !k->available()) return HEED_STATUS(HEED_UNAVAILABLE_KERNEL, HEED_ARG_KERNEL);
#if defined(HEED_FIXED_KERNEL) || defined(HEED_SINGLE)
  if (k && k != &*heed_front_door::kernel()) return HEED_STATUS(HEED_UNKNOWN_KERNEL, HEED_ARG_KERNEL);
#else
  __atomic_store_n(&heed::chosen, k ? k : heed::choose(), __ATOMIC_RELAXED);
#endif
  return HEED_OK;
}
