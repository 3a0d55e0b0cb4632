// Rows in integers without vectors.
#include "../generic/integers/rows.hpp"

namespace heed {

const int_row_steps int_plain_rows = plain_rows::make();

}  // namespace heed
