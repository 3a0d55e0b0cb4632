// The kernels of integers by name, and which one is in use.
#include "int_door.hpp"

#include "heed/integers.h"
#ifndef HEED_SINGLE
#include "../os/os.hpp"
#endif

#ifdef HEED_SINGLE

int32_t heed_int_isa_count() { return 1; }
const char *heed_int_isa_name(int32_t index) { return index == 0 ? heed_int_isa_current() : nullptr; }
const char *heed_int_isa_current() { return heed::int_kernel()->name; }
heed_status heed_int_isa_use(const char *name) {
  const char *own = heed_int_isa_current();
  while (name && *own && *name == *own) name++, own++;
  return !name || *name == *own ? HEED_OK : HEED_STATUS(HEED_UNKNOWN_ISA, HEED_ARG_ISA);
}

#else

namespace heed {
namespace {

const int_steps *chosen;  // null: not chosen yet

const int_steps *choose_int_kernel() {
  const char *requested = os_requested_int_kernel();
  const int_steps *k = requested ? find_int_kernel(requested) : nullptr;
  return k && k->available() ? k : available_int_kernel(0);
}

}  // namespace

int_kernel int_kernel_in_use() {
  const int_steps *k = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
  if (!k) {  // two threads may both choose; they choose the same
    k = choose_int_kernel();
    __atomic_store_n(&chosen, k, __ATOMIC_RELAXED);
  }
  return k;
}

}  // namespace heed

int32_t heed_int_isa_count() {
  int32_t n = 0;
  while (heed::available_int_kernel(n)) n++;
  return n;
}

const char *heed_int_isa_name(int32_t index) {
  const heed::int_steps *k = index < 0 ? nullptr : heed::available_int_kernel(index);
  return k ? k->name : nullptr;
}

const char *heed_int_isa_current() { return heed::int_kernel_in_use()->name; }

heed_status heed_int_isa_use(const char *name) {
  const heed::int_steps *k = name ? heed::find_int_kernel(name) : heed::choose_int_kernel();
  if (!k) return HEED_STATUS(HEED_UNKNOWN_ISA, HEED_ARG_ISA);
  if (!k->available()) return HEED_STATUS(HEED_UNAVAILABLE_ISA, HEED_ARG_ISA);
  __atomic_store_n(&heed::chosen, k, __ATOMIC_RELAXED);
  return HEED_OK;
}

#endif
