// Which kernels there are, best first, and the parts of each.
#include "dispatch.hpp"

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

}  // namespace

// By its own name, or by "fma" and "no-fma": the best of that arithmetic. Of kernels that cannot run here the last is found, so
// that its name is known.
const kernel *find_kernel(const char *name) {
  const kernel *found = nullptr;
  for (const kernel *k : kernels) {
    const char *const arithmetic = k->has_fma ? "fma" : "no-fma";
    if (!same_text(k->name, name) && !same_text(arithmetic, name)) continue;
    if (k->available()) return k;
    found = k;
  }
  return found;
}

const kernel *available_kernel(int32_t index) {
  for (const kernel *k : kernels)
    if (k->available() && index-- == 0) return k;
  return nullptr;
}

const kernel *reference_kernel(bool has_fma) {
#ifdef HEED_SINGLE
  (void)has_fma;
  return &kernel_reference;
#else
  const char *const name = has_fma ? "scalar" : "scalar-no-fma";
  return find_kernel(name);
#endif
}

#ifndef HEED_SINGLE
namespace {
// Parts lie in the order of the kernels. Each part is an array of its own, so that a program links only those it uses.
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
#define KERNEL(symbol) &symbol##_packed,
static const packed_steps *const packed[] = {HEED_KERNELS};
#undef KERNEL
#define KERNEL(symbol) &symbol##_scores,
static const score_steps *const scores[] = {HEED_KERNELS};
#undef KERNEL
#define KERNEL(symbol) &symbol##_rows,
static const row_steps *const blocks[] = {HEED_KERNELS};
#undef KERNEL

const product_steps *products_of(const kernel *k) { return part_of(k, products); }
const project_steps *project_of(const kernel *k) { return part_of(k, projects); }
const packed_steps *packed_of(const kernel *k) { return part_of(k, packed); }
const score_steps *scores_of(const kernel *k) { return part_of(k, scores); }
const row_steps *row_steps_of(const kernel *k) { return part_of(k, blocks); }
#endif

}  // namespace heed
