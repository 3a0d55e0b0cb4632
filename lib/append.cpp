// New tokens of a cache: keys, turned if wanted, go to groups of 16 slots side by side, values to rows; both narrowed.
#include "cache.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "rope.hpp"
#include "run.hpp"

namespace heed {
namespace {

constexpr int32_t most_turned = HEED_CACHE_MAX_ROTARY_DIM;

bool is_number(float x) { return x - x == 0.0f; }

bool all_finite(const heed_tensor &x, int32_t n_heads, int32_t n, int32_t dim) {
  bool finite = true;
  for (int32_t h = 0; h < n_heads; h++)
    for (int32_t t = 0; t < n; t++)
      for (int32_t i = 0; i < dim; i++) finite &= is_number(x.data[h * x.head_stride + t * x.row_stride + i]);
  return finite;
}

int32_t rotary_dim_of(const heed_rope *rope, int32_t head_dim) {
  return !rope ? 0 : rope->rotary_dim ? rope->rotary_dim : head_dim;
}

}  // namespace

void check_room(checker &check, const heed_cache &cache, int32_t sequence, int32_t n, const heed_rope *rope) {
  const heed_cache_shape &s = cache.shape;
  const int32_t length = states_of(cache)[sequence].length;
  check.require(rotary_dim_of(rope, s.head_dim) <= most_turned, HEED_OUT_OF_RANGE, HEED_ARG_ROTARY_DIM);
  check.require(n <= (s.kind == HEED_CACHE_LINEAR ? s.capacity - length : s.capacity + s.spare), HEED_FULL,
                HEED_ARG_CACHE);
  check.require(n <= HEED_MAX_COUNT - length, HEED_OUT_OF_RANGE, HEED_ARG_POSITION);
}

namespace {

HEED_NOINLINE heed_status check_append(const heed_cache *cache, int32_t sequence, int32_t n, const heed_tensor &k,
                                       const heed_tensor &v, const heed_rope *rope) {
  checker_of<7> check;
  check_cache(check, cache, access::write);
  if (!check.ok()) return check.status;
  const heed_cache_shape &s = cache->shape;
  check.require(sequence >= 0 && sequence < s.n_sequences, HEED_OUT_OF_RANGE, HEED_ARG_SEQUENCE);
  check.count(n, HEED_MAX_COUNT, HEED_ARG_N);
  if (!check.ok()) return check.status;
  check.tensor(k.data, {1, s.n_kv_heads, n}, {0, k.head_stride, k.row_stride}, s.head_dim, access::read, HEED_ARG_K);
  check.tensor(v.data, {1, s.n_kv_heads, n}, {0, v.head_stride, v.row_stride}, s.v_dim, access::read, HEED_ARG_V);
  if (rope) {
    check.object(rope, access::read, HEED_ARG_ROPE);
    if (check.ok()) check.require(rope->code != nullptr, HEED_NOT_INITIALIZED, HEED_ARG_ROPE);
    if (check.ok()) rope->code->check(check, *rope, s.head_dim);
  }
  if (check.ok()) check_room(check, *cache, sequence, n, rope);
  return check.finish();
}

// A row of dim numbers, of which the first n_turned have been turned.
struct new_row {
  const float *turned, *x;
  int32_t n_turned, dim;
  float operator[](int32_t i) const { return i < n_turned ? turned[i] : x[i]; }
};

float greater(float greatest, float x) {
  const float size = x < 0.0f ? -x : x;
  return size > greatest ? size : greatest;
}

// In two chains, because each step waits for the one before.
template <class T>
float scale_of(const new_row &x) {
  float even = 0.0f, odd = 0.0f;
  for (int32_t i = 0; sizeof(T) == 1 && i < x.dim; i += 2) {
    even = greater(even, x[i]);
    if (i + 1 < x.dim) odd = greater(odd, x[i + 1]);
  }
  return greater(even, odd) / 127.0f;
}

// To every stride-th place from `to` on.
template <class T>
void keep_row(const new_row &x, unsigned char *data, ptrdiff_t first, ptrdiff_t stride, float *scale) {
  const float by = scale_of<T>(x);
  if (sizeof(T) == 1) *scale = by;
  T *to = reinterpret_cast<T *>(data) + first;
  for (int32_t i = 0; i < x.dim; i++) narrow(x[i], by, to[i * stride]);
}

void keep_row(int32_t format, const new_row &x, unsigned char *data, ptrdiff_t first, ptrdiff_t stride, float *scale) {
  if (format == HEED_F16)
    keep_row<f16>(x, data, first, stride, scale);
  else if (format == HEED_BF16)
    keep_row<bf16>(x, data, first, stride, scale);
  else if (format == HEED_INT8)
    keep_row<int8_t>(x, data, first, stride, scale);
  else
    keep_row<float>(x, data, first, stride, scale);
}

// Token t of all heads; as many heads are turned at once as there is room for.
HEED_NOINLINE void append_token(const append_call &call, int32_t t) {
  const heed_cache_shape &s = call.cache->shape;
  const storage at = storage_of(*call.cache);
  const int32_t position = states_of(*call.cache)[call.sequence].length + t;
  const ptrdiff_t slot = at.slot_of(position);
  const int32_t n_turned = rotary_dim_of(call.rope, s.head_dim), at_once = n_turned ? most_turned / n_turned : 1;
  float turned[most_turned];
  for (int32_t h = 0; h < s.n_kv_heads; h++) {
    const float *key = call.k.data + h * call.k.head_stride + t * call.k.row_stride;
    if (n_turned && h % at_once == 0) {
      const int32_t n = s.n_kv_heads - h < at_once ? s.n_kv_heads - h : at_once;
      call.rope->code->run(address_of(current_kernel()), {call.rope,
                                                          {key, 0, call.k.head_stride, 0},
                                                          1,
                                                          n,
                                                          n_turned,
                                                          position,
                                                          nullptr,
                                                          {turned, 0, n_turned, 0},
                                                          nullptr});
    }
    const cache_rows rows = rows_of(*call.cache, call.sequence, h);
    keep_row(s.format, {turned + h % at_once * n_turned, key, n_turned, s.head_dim}, rows.keys,
             slot / 16 * 16 * s.head_dim + slot % 16, 16, rows.key_scales + slot);
    keep_row(s.format, {nullptr, call.v.data + h * call.v.head_stride + t * call.v.row_stride, 0, s.v_dim}, rows.values,
             slot * s.v_dim, 1, rows.value_scales + slot);
  }
}

}  // namespace

heed_status append_tokens(const append_call &call) {
  const heed_cache_shape &s = call.cache->shape;
  if (s.format == HEED_INT8) {
    if (!all_finite(call.k, s.n_kv_heads, call.n, s.head_dim)) return HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_K);
    if (!all_finite(call.v, s.n_kv_heads, call.n, s.v_dim)) return HEED_STATUS(HEED_NOT_FINITE, HEED_ARG_V);
  }
  header_of(*call.cache).sealed = 0;
  for (int32_t t = 0; t < call.n; t++) append_token(call, t);
  const storage at = storage_of(*call.cache);
  cache_state &state = states_of(*call.cache)[call.sequence];
  state.length += call.n;
  const int32_t gone = state.length - at.ring_slots;
  if (gone > at.pinned_slots && gone > state.oldest) state.oldest = gone;
  return HEED_OK;
}

}  // namespace heed

heed_status heed_cache_append(heed_cache *cache, int32_t sequence, int32_t n, heed_tensor k, heed_tensor v,
                              const heed_rope *rope) {
  const heed_status status = heed::check_append(cache, sequence, n, k, v, rope);
  return status == HEED_OK ? heed::append_tokens({cache, sequence, n, k, v, rope}) : status;
}
