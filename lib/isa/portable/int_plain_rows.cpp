// Rows in integers without vectors.
#include "../../integer_steps/plain_rows.hpp"

namespace heed {

const int_row_steps int_plain_rows = plain_rows::make();

}  // namespace heed
