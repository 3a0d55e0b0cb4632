// Attention in integers without vectors.
#include "../../integer_steps/plain.hpp"

namespace heed {

extern const int_steps int_plain;
const int_steps int_plain = plain_integers::make("plain");

}  // namespace heed
