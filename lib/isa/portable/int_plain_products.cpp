// Products in integers without vectors.
#include "../../integer_steps/product_floats.hpp"

namespace heed {

extern const int_product_steps int_plain_products;
const int_product_steps int_plain_products = {int_project<plain_dots>, int_project_floats<plain_dots>};

}  // namespace heed
