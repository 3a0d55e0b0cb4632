// The kernels of this build by name, and which one is in use.
#include "../isa_choice/front_door.hpp"
#include "../known_answers.hpp"

int32_t heed_isa_count() {
  int32_t n = 0;
  while (heed::available_kernel(n)) n++;
  return n;
}

const char *heed_isa_name(int32_t index) {
  const heed::kernel *k = index < 0 ? nullptr : heed::available_kernel(index);
  return k ? k->name : nullptr;
}

int32_t heed_isa_arithmetic(const char *name) {
  const heed::kernel *k = name ? heed::find_kernel(name) : nullptr;
  if (!k) return -1;
  return k->has_fma ? HEED_ARITHMETIC_FMA : HEED_ARITHMETIC_NO_FMA;
}

uint32_t heed_isa_contract(int32_t arithmetic) {
  switch (arithmetic) {
    case HEED_ARITHMETIC_NO_FMA:
      return heed::contract_of_floats(false);
    case HEED_ARITHMETIC_FMA:
      return heed::contract_of_floats(true);
    case HEED_ARITHMETIC_INTEGERS:
      return heed::contract_of_integers;
    default:
      return 0;
  }
}

const char *heed_isa_current() { return heed_front_door::kernel()->name; }

heed_status heed_isa_use(const char *name) {
  const heed::kernel *k = name ? heed::find_kernel(name) : nullptr;
  if (name && !k) return HEED_STATUS(HEED_UNKNOWN_ISA, HEED_ARG_ISA);
  if (k && !k->available()) return HEED_STATUS(HEED_UNAVAILABLE_ISA, HEED_ARG_ISA);
#if defined(HEED_FIXED_ISA) || defined(HEED_SINGLE)
  if (k && k != &*heed_front_door::kernel()) return HEED_STATUS(HEED_UNKNOWN_ISA, HEED_ARG_ISA);
#else
  heed_front_door::use(k);
#endif
  return HEED_OK;
}
