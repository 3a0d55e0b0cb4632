// Products in integers without vectors, and their truth.
#include "../generic/integers/product_floats.hpp"
#include "../kernel/int_product_dispatch.hpp"
#include "../kernel/int_product_reference.hpp"
#include "cpu.hpp"

namespace heed {

extern const int_product_kernel int_products_plain, int_products_scalar;
const int_product_kernel int_products_plain = {
    "plain", cpu_has_baseline, {int_project<plain_dots>, int_project_floats<plain_dots>}};
const int_product_kernel int_products_scalar = {
    "scalar", cpu_has_baseline, {scalar::int_project, scalar::int_project_floats}};

}  // namespace heed
