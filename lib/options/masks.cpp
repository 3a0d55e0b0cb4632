// Masks, boolean and additive.
#include "call_rule.hpp"
#include "ranges.hpp"

namespace heed {
namespace {

void check_mask(checker &check, const heed_attention &call, const heed_mask &o, size_t element_bytes) {
  check.count(o.n_keys, HEED_MAX_COUNT, HEED_ARG_MASK);
  check.tensor(o.data, {call.batch_size, call.n_heads, call.n_q}, {o.batch_stride, o.head_stride, o.query_stride},
               smaller_of(o.n_keys, call.n_kv), access::read, HEED_ARG_MASK, element_bytes);
}

bool is_hidden(const uint8_t x) { return x == 0; }
bool is_hidden(const float x) { return x == negative_infinity; }

// Does the mask hide a key from row r of a tile?
template <class T>
bool hides_key(const tile &t, int32_t r, int32_t key) {
  return is_hidden(row_of<T>(rule_of(t).mask_of, *t.s, row_cursor(*t.s, t.first_row + r))[key]);
}

// Is one of n attended? By eights: a block that is hidden is read to its end.
bool any_attended(const uint8_t *x, int32_t n) {
  int32_t j = 0;
  for (; j + 8 <= n; j += 8) {
    uint64_t eight;
    __builtin_memcpy(&eight, x + j, 8);
    if (eight) return true;
  }
  for (; j < n; j++)
    if (x[j]) return true;
  return false;
}
bool any_attended(const float *x, int32_t n) {
  int32_t j = 0;
  for (; j + 8 <= n; j += 8) {
    bool any = false;
    for (int32_t i = 0; i < 8; i++) any |= x[j + i] != negative_infinity;
    if (any) return true;
  }
  for (; j < n; j++)
    if (x[j] != negative_infinity) return true;
  return false;
}

// Rows of a mask lie far apart: what the tile wants of them is fetched while its scores are computed (8 % of P3).
template <class T>
void fetch_block(const tile &t, const key_block &b) {
  constexpr int32_t line = 64 / sizeof(T);
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    const T *x = row_of<T>(rule_of(t).mask_of, *t.s, row) + b.begin;
    for (int32_t j = b.from; j < b.n; j += line) __builtin_prefetch(x + j, 0, 3);
    __builtin_prefetch(x + b.n - 1, 0, 3);
  }
}

// Is a key of the block attended by a row? Most blocks say so at once.
template <class T>
bool sees_key(const tile &t, const key_block &b) {
  const T *before = nullptr;
  row_cursor row(*t.s, t.first_row);
  for (int32_t r = 0; r < t.n_rows; r++, row.next()) {
    const T *x = row_of<T>(rule_of(t).mask_of, *t.s, row) + b.begin + b.from;
    if (x != before && any_attended(x, b.n - b.from)) {
      fetch_block<T>(t, b);
      return true;
    }
    before = x;
  }
  return false;
}

template <class T>
void add_visible(const tile &t, const key_block &b) {
  rule_of(t).add_not_hidden(t, b, hides_key<T>);
}

// What a mask changes in the loop of attention: the range of keys, whether a block is read at all, and hidden values.
template <class T>
void bind_mask(call_rule &rule, const void *object) {
  const auto &o = object_as<heed_mask>(object);
  rule.mask_of = {o.data, o.batch_stride, o.head_stride, o.query_stride};
  rule.mask_keys = o.n_keys;
  rule.range = range_of_entry;
  rule.rows_are_finite = steps_of(rule)->values_are_finite;
  rule.rows_add_not_hidden = steps_of(rule)->add_visible;
  rule.sees = sees_key<T>;
  rule.add_visible = add_visible<T>;
}

void check_boolean(checker &check, const heed_attention &call, const void *object) {
  check_mask(check, call, object_as<heed_mask>(object), sizeof(uint8_t));
}
void bind_boolean(call_rule &rule, const heed_attention &, const void *object) {
  bind_mask<uint8_t>(rule, object);
  rule.mask = steps_of(rule)->mask_boolean;
}
constexpr heed_code boolean_code = {sizeof(heed_mask), check_boolean, bind_boolean, &call_engine};

void check_additive(checker &check, const heed_attention &call, const void *object) {
  check_mask(check, call, object_as<heed_mask>(object), sizeof(float));
}
void bind_additive(call_rule &rule, const heed_attention &, const void *object) {
  bind_mask<float>(rule, object);
  rule.mask = steps_of(rule)->mask_additive;
}
constexpr heed_code additive_code = {sizeof(heed_mask), check_additive, bind_additive, &call_engine};

}  // namespace
}  // namespace heed

heed_status heed_mask_init_boolean(heed_mask *mask, const uint8_t *data, int32_t n_keys, ptrdiff_t batch_stride,
                                   ptrdiff_t head_stride, ptrdiff_t query_stride) {
  return heed::make(mask, HEED_ARG_MASK, heed::boolean_code, n_keys, data, batch_stride, head_stride, query_stride);
}

heed_status heed_mask_init_additive(heed_mask *mask, const float *data, int32_t n_keys, ptrdiff_t batch_stride,
                                    ptrdiff_t head_stride, ptrdiff_t query_stride) {
  return heed::make(mask, HEED_ARG_MASK, heed::additive_code, n_keys, data, batch_stride, head_stride, query_stride);
}
