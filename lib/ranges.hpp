// What a batch entry sees: ranges, the columns of a mask, the keys of a partial result.
#ifndef HEED_RANGES_HPP
#define HEED_RANGES_HPP

#include "score_rule.hpp"

namespace heed {

int32_t clamp_shift(int64_t shift);
void range_of_entry(const score_rule &rule, stream &s);

}  // namespace heed

#endif
