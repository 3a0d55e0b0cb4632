// The table of a kernel from a vector model: the whole life of an instruction set is its model and one such line.
#ifndef HEED_GENERIC_MAKE_KERNEL_HPP
#define HEED_GENERIC_MAKE_KERNEL_HPP

#include "dot.hpp"
#include "key_lanes.hpp"
#include "linear.hpp"
#include "one_lane.hpp"
#include "query_lanes.hpp"

namespace heed {

template <class V>
static void attend(const tile &t, int32_t key_begin, int32_t key_end) {
  if (t.lanes_are_queries)
    attend_query_lanes<V>(t, key_begin, key_end);
  else
    attend_key_lanes<V>(t, key_begin, key_end);
}

template <class V>
constexpr kernel make_kernel(const char *name, bool fused, bool (*available)()) {
  if constexpr (V::lanes == 1)
    return {name,
            fused,
            available,
            0,
            48,
            attend_one_lane<V>,
            merge_one_lane<V>,
            finish_one_lane<V>,
            weigh_one_lane<V>,
            softmax_one_lane<V>,
            dot_one_lane<V>,
            linear_one_lane<V>};
  else
    return {name,     fused,     available, V::lanes,   8,      attend<V>,
            merge<V>, finish<V>, weigh<V>,  softmax<V>, dot<V>, linear<V>};
}

}  // namespace heed

#endif
