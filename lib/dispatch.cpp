#include "dispatch.hpp"

#include "heed/heed.h"
#include "isa/target.hpp"
#ifndef HEED_SINGLE
#include "os/os.hpp"
#endif

namespace heed {

extern const kernel kernel_avx512, kernel_avx2, kernel_sse2, kernel_sve256, kernel_neon;
extern const kernel kernel_lanes4_fused, kernel_lane1_fused, kernel_scalar_fused;
extern const kernel kernel_lanes4_unfused, kernel_lane1_unfused, kernel_scalar_unfused;

namespace {

// Four lanes where there are registers for them, else one.
#ifdef HEED_TARGET_VECTORS
#define HEED_GENERIC_FIRST(profile) kernel_lanes4_##profile
#define HEED_GENERIC_SECOND(profile) kernel_lane1_##profile
#else
#define HEED_GENERIC_FIRST(profile) kernel_lane1_##profile
#define HEED_GENERIC_SECOND(profile) kernel_lanes4_##profile
#endif

// The ordered selection list. The build defines HEED_HAS_* for the files that it compiles.
const kernel *const kernels[] = {
#ifdef HEED_SINGLE
    &kernel_fixed,
    &kernel_reference,
#endif
#ifdef HEED_HAS_AVX512
    &kernel_avx512,
#endif
#ifdef HEED_HAS_AVX2
    &kernel_avx2,
#endif
#ifdef HEED_HAS_SVE256
    &kernel_sve256,
#endif
#ifdef HEED_HAS_NEON
    &kernel_neon,
#endif
#ifdef HEED_HAS_SSE2
    &kernel_sse2,
#endif
#ifdef HEED_HAS_GENERIC_FUSED
    &HEED_GENERIC_FIRST(fused),
    &HEED_GENERIC_SECOND(fused),
#endif
#ifdef HEED_HAS_REFERENCE_FUSED
    &kernel_scalar_fused,
#endif
#ifdef HEED_HAS_GENERIC_UNFUSED
    &HEED_GENERIC_FIRST(unfused),
    &HEED_GENERIC_SECOND(unfused),
#endif
#ifdef HEED_HAS_REFERENCE_UNFUSED
    &kernel_scalar_unfused,
#endif
};

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
#endif
#ifdef HEED_HAS_REFERENCE_FUSED
#ifndef HEED_HAS_REFERENCE_UNFUSED
  (void)fused;
  return &kernel_scalar_fused;
#else
  if (fused) return &kernel_scalar_fused;
#endif
#endif
#ifdef HEED_HAS_REFERENCE_UNFUSED
  (void)fused;
  return &kernel_scalar_unfused;
#endif
}

#if defined(HEED_SINGLE)
// dispatch.hpp has it
#elif defined(HEED_FIXED_KERNEL)
const kernel *current_kernel() { return &HEED_FIXED_SYMBOL; }
#else
const kernel *current_kernel() {
  const kernel *k = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
  if (!k) {  // two threads may both choose; they choose the same
    k = choose();
    __atomic_store_n(&chosen, k, __ATOMIC_RELAXED);
  }
  return k;
}
#endif

}  // namespace heed

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

const char *heed_kernel_current() { return heed::current_kernel()->name; }

heed_status heed_kernel_use(const char *name) {
  const heed::kernel *k = name ? heed::find(name) : nullptr;
  if (name && !k) return HEED_STATUS(HEED_UNKNOWN_KERNEL, HEED_ARG_KERNEL);
  if (k && !k->available()) return HEED_STATUS(HEED_UNAVAILABLE_KERNEL, HEED_ARG_KERNEL);
#if defined(HEED_FIXED_KERNEL) || defined(HEED_SINGLE)
  if (k && k != &*heed::current_kernel()) return HEED_STATUS(HEED_UNKNOWN_KERNEL, HEED_ARG_KERNEL);
#else
  __atomic_store_n(&heed::chosen, k ? k : heed::choose(), __ATOMIC_RELAXED);
#endif
  return HEED_OK;
}
