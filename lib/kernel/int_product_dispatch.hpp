// Which kernels there are for products in integers. They all give the same bits, so a call may ask when it likes.
#ifndef HEED_INT_PRODUCT_DISPATCH_HPP
#define HEED_INT_PRODUCT_DISPATCH_HPP

#include "int_products.hpp"

namespace heed {

#ifdef HEED_SINGLE
constexpr const int_product_steps *int_products() { return &fixed_int_products; }
#else
struct int_product_kernel {
  const char *name;
  bool (*available)();
  int_product_steps steps;
};
const int_product_kernel *int_product_kernel_at(int32_t index);  // best first; null past the last
const int_product_steps *int_products();                         // of the first that is available
#endif

}  // namespace heed

#endif
