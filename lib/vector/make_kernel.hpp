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
#include "../no_vectors/one_lane.hpp"
#include "../no_vectors/one_lane_project.hpp"
#include "product/packed_product.hpp"
#include "product/project.hpp"
#include "attention/query_lanes.hpp"
#include "rows/rotate.hpp"
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

// Tables are filled by name, so that two steps of equal types cannot change places unseen.
template <class V>
constexpr kernel make_kernel(const char *name, bool (*available)()) {
  kernel k = {};
  k.name = name;
  k.has_fma = V::has_fma;
  k.available = available;
  if constexpr (V::lanes == 1) {
    k.max_key_rows = 48;
    k.attend = attend<one_lane<V, false>, false>;
    k.attend_plain = attend<one_lane<V, true>, true>;
    k.merge = merge_one_lane<V>;
    k.finish = finish_one_lane<V>;
    k.softmax = softmax_one_lane<V>;
  } else {
    k.lanes = V::lanes;
    k.max_key_rows = 8;
    k.attend = k.attend_plain = attend_any<V>;
    k.merge = merge<V>;
    k.finish = finish<V>;
    k.softmax = softmax<V>;
  }
  k.keep = keep<V>;
  return k;
}

template <class V>
constexpr product_steps make_products() {
  product_steps s = {};
  if constexpr (V::lanes == 1) {
    s.dot = dot_one_lane<V>;
    s.linear = linear_one_lane<V>;
  } else {
    s.dot = dot<V>;
    s.linear = linear<V>;
  }
  return s;
}

template <class V>
constexpr project_steps make_project() {
  project_steps s = {};
  if constexpr (V::lanes == 1)
    s.project = project_one_lane<V>;
  else
    s.project = project<V>;
  return s;
}

template <class V>
constexpr packed_steps make_packed() {
  packed_steps s = {};
  s.panel = multiply_panel<V>;
  s.blocks = multiply_blocks<V>;
  if constexpr (V::lanes == 1)
    s.bytes = project_bytes_one_lane<V, false>;
  else
    s.bytes = project_bytes<V>;
  return s;
}

template <class V>
constexpr score_steps make_score_steps() {
  score_steps s = {};
  s.softcap = softcap_block<V>;
  s.alibi = alibi_block<V>;
  s.mask_additive = mask_additive<V>;
  s.mask_boolean = mask_boolean<V>;
  s.values_are_finite = values_are_finite<V, false>;
  s.add_visible = add_visible_values<V, false>;
  s.sinks = add_sinks<V>;
  s.weights = weigh_block<V>;
  s.score_stored = score_stored<V>;
  s.add_stored = add_stored<V>;
  s.stored_are_finite = values_are_finite<V, true>;
  s.add_visible_stored = add_visible_values<V, true>;
  s.score_narrow = score_narrow<V>;
  s.widen_queries = widen_queries<V>;
  s.narrow_row = narrow_row<V>;
  s.magnitude = magnitude_of_row<V>;
  return s;
}

template <class V>
constexpr row_steps make_row_steps() {
  row_steps s = {};
  s.rms_norm = norm_of_rows<V, false>;
  s.layer_norm = norm_of_rows<V, true>;
  s.gelu = each_element<V, gated<gelu_function>>;
  s.gelu_tanh = each_element<V, gated<gelu_tanh_function>>;
  s.silu = each_element<V, gated<silu_function>>;
  s.relu = each_element<V, gated<relu_function>>;
  s.tanh = each_element<V, gated<tanh_function>>;
  s.sigmoid = each_element<V, gated<sigmoid_function>>;
  s.add = each_element<V, sum>;
  s.rope = rope<V>;
  return s;
}

// All tables of a kernel: dispatch.cpp lists them.
#define HEED_DEFINE_KERNEL(symbol, V, name, available)        \
  HEED_DECLARE_KERNEL(symbol)                                 \
  const kernel symbol = make_kernel<V>(name, available);      \
  const product_steps symbol##_products = make_products<V>(); \
  const project_steps symbol##_project = make_project<V>();   \
  const packed_steps symbol##_packed = make_packed<V>();      \
  const score_steps symbol##_scores = make_score_steps<V>();  \
  const row_steps symbol##_rows = make_row_steps<V>();

}  // namespace heed

#endif
