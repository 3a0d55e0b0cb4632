// The products of a kernel of integers.
#ifndef HEED_INT_PRODUCT_DISPATCH_HPP
#define HEED_INT_PRODUCT_DISPATCH_HPP

#include "int_dispatch.hpp"
#include "../kernel_contract/int_products.hpp"

namespace heed {

#ifdef HEED_SINGLE
constexpr const int_product_steps *int_products_of(int_kernel) { return &fixed_int_products; }
#else
const int_product_steps *int_products_of(int_kernel k);
#endif

}  // namespace heed

#endif
