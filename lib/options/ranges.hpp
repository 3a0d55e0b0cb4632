// What a batch entry sees: ranges, the columns of a mask, the keys of a partial or of a cache. Every bind that has a say
// in it names range_of_entry, so that a program without one does not link it.
#ifndef HEED_RANGES_HPP
#define HEED_RANGES_HPP

#include "../kernel_contract/kernel.hpp"

namespace heed {

int32_t least_window(int32_t a, int32_t b);
struct call_rule;
int64_t offset_of_entry(const call_rule &rule, const stream &s);  // the position of query 0
void range_of_entry(const score_rule &rule, stream &s);

}  // namespace heed

#endif
