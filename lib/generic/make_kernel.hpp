// The table of a kernel from a vector model: the whole life of an instruction set is its model and one such line.
#ifndef HEED_GENERIC_MAKE_KERNEL_HPP
#define HEED_GENERIC_MAKE_KERNEL_HPP

#include "attention/attend.hpp"
#include "product/dot.hpp"
#include "rows/elements.hpp"
#include "attention/key_lanes.hpp"
#include "product/linear.hpp"
#include "attention/narrow_rows.hpp"
#include "rows/narrow_steps.hpp"
#include "rows/norms.hpp"
#include "attention/one_lane.hpp"
#include "product/one_lane_project.hpp"
#include "product/project.hpp"
#include "attention/query_lanes.hpp"
#include "rows/rope.hpp"
#include "attention/score_steps.hpp"
#include "attention/stored_keys.hpp"

namespace heed {

template <class V>
static void attend_any(const tile &t, int32_t key_begin) {
  if (t.lanes_are_queries)
    attend<query_lanes<V>, false>(t, key_begin);
  else
    attend<key_lanes<V>, false>(t, key_begin);
}

template <class V>
constexpr kernel make_kernel(const char *name, bool fused, bool (*available)()) {
  if constexpr (V::lanes == 1)
    return {name,
            fused,
            available,
            0,
            48,
            attend<one_lane<V, false>, false>,
            attend<one_lane<V, true>, true>,
            merge_one_lane<V>,
            finish_one_lane<V>,
            keep<V>,
            softmax_one_lane<V>};
  else
    return {name,          fused,    available, V::lanes, 8,         attend_any<V>,
            attend_any<V>, merge<V>, finish<V>, keep<V>,  softmax<V>};
}

template <class V>
constexpr product_steps make_products() {
  if constexpr (V::lanes == 1)
    return {dot_one_lane<V>, linear_one_lane<V>};
  else
    return {dot<V>, linear<V>};
}

template <class V>
constexpr project_steps make_project() {
  if constexpr (V::lanes == 1)
    return {project_one_lane<V>};
  else
    return {project<V>};
}

template <class V>
constexpr score_steps make_score_steps() {
  return {
      softcap_block<V>,           alibi_block<V>,       mask_additive<V>, mask_boolean<V>,  values_are_finite<V, false>,
      add_visible<V, false>,      add_sinks<V>,         weigh_block<V>,   score_stored<V>,  add_stored<V>,
      values_are_finite<V, true>, add_visible<V, true>, score_narrow<V>,  widen_queries<V>, narrow_row<V>,
      magnitude_of_row<V>};
}

template <class V>
constexpr block_steps make_block_steps() {
  return {norm_of_rows<V, false>,
          norm_of_rows<V, true>,
          each_element<V, gated<gelu_function>>,
          each_element<V, gated<gelu_tanh_function>>,
          each_element<V, gated<silu_function>>,
          each_element<V, gated<relu_function>>,
          each_element<V, sum>,
          rope<V>};
}

// All tables of a kernel: dispatch.cpp lists them.
#define HEED_DEFINE_KERNEL(symbol, V, name, fused, available)   \
  HEED_DECLARE_KERNEL(symbol)                                   \
  const kernel symbol = make_kernel<V>(name, fused, available); \
  const product_steps symbol##_products = make_products<V>();   \
  const project_steps symbol##_project = make_project<V>();     \
  const score_steps symbol##_scores = make_score_steps<V>();    \
  const block_steps symbol##_block = make_block_steps<V>();

}  // namespace heed

#endif
