// Products in integers on AArch64: as the compiler makes them of plain loops.
#include "../generic/integers/product_floats.hpp"

namespace heed {

extern const int_product_steps int_neon_products, int_neon_dotprod_products;
const int_product_steps int_neon_products = {int_project<plain_dots>, int_project_floats<plain_dots>};
const int_product_steps int_neon_dotprod_products = int_neon_products;

}  // namespace heed
