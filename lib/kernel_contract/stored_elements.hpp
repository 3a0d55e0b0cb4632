// One element of queries, keys and values, wherever they are stored: for the reference, and for what need not be fast.
#ifndef HEED_STORED_ELEMENTS_HPP
#define HEED_STORED_ELEMENTS_HPP

#include "numbers.hpp"
#include "score_rule.hpp"

namespace heed {
namespace {

// Element i of query `row`, of a key, and of a value.
HEED_INLINE float stored_number(int32_t dtype, const void *data, ptrdiff_t i, const input_rows &scales,
                                ptrdiff_t scale) {
  return with_format(dtype, [&](auto number) {
    const float x = widen(static_cast<const decltype(number) *>(data)[i]);
    return sizeof number == 1 ? x * static_cast<const float *>(scales.data)[scale] : x;
  });
}
[[maybe_unused]] float query_element(const stream &s, const row_cursor &row, int32_t i) {
  if (s.q) return row.q()[i];
  const narrow_rows &q = s.rule->stored->queries;
  return stored_number(q.dtype, q.numbers.data, start_of(q.numbers, s, row) + i, q.scales, start_of(q.scales, s, row));
}
[[maybe_unused]] float key_element(const stream &s, int32_t j, int32_t i) {
  if (!s.rule || !s.rule->stored) return s.k.from(j)[i];
  const storage &at = *s.rule->stored;
  const ptrdiff_t slot = at.slot_of(j),
                  n = at.keys_are_rows ? slot * s.k.stride + i : (slot / 16 * s.head_dim + i) * 16 + slot % 16;
  return stored_number(at.key_format, s.k.data, n, at.key_scales, scale_at(s, at.key_scales, slot));
}
[[maybe_unused]] float value_element(const stream &s, int32_t j, int32_t n) {
  if (!s.rule || !s.rule->stored) return s.v.from(j)[n];
  const storage &at = *s.rule->stored;
  const ptrdiff_t slot = at.slot_of(j);
  return stored_number(at.value_format, s.v.data, slot * s.v.stride + n, at.value_scales,
                       scale_at(s, at.value_scales, slot));
}

}  // namespace
}  // namespace heed

#endif
