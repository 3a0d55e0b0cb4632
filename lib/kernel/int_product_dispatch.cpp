#include "int_product_dispatch.hpp"

namespace heed {
#ifndef HEED_SINGLE
#define INT_PRODUCTS(symbol) extern const int_product_kernel symbol;
HEED_INT_PRODUCTS
#undef INT_PRODUCTS

namespace {
#define INT_PRODUCTS(symbol) &symbol,
const int_product_kernel *const kernels[] = {HEED_INT_PRODUCTS};  // ports/cmake/isa.cmake lists them
#undef INT_PRODUCTS
}  // namespace

const int_product_kernel *int_product_kernel_at(int32_t index) {
  for (const int_product_kernel *k : kernels)
    if (index-- == 0) return k;
  return nullptr;
}

const int_product_steps *int_products() {
  for (const int_product_kernel *k : kernels)
    if (k->available()) return &k->steps;
  return nullptr;
}
#endif
}  // namespace heed
