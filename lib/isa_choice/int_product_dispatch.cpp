#include "int_product_dispatch.hpp"

namespace heed {

#ifndef HEED_SINGLE
#define KERNEL(symbol)           \
  extern const int_steps symbol; \
  extern const int_product_steps symbol##_products;
HEED_INT_KERNELS
#undef KERNEL

namespace {

struct both_parts {
  const int_steps *kernel;
  const int_product_steps *products;
};
#define KERNEL(symbol) {&symbol, &symbol##_products},
const both_parts int_parts[] = {HEED_INT_KERNELS};
#undef KERNEL

}  // namespace

const int_product_steps *int_products_of(int_kernel k) {
  const both_parts *part = int_parts;
  while (part->kernel != k) part++;
  return part->products;
}
#endif

}  // namespace heed
