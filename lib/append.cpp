// New tokens of a cache: keys, turned if wanted, go to groups of 16 slots side by side, values to rows; both narrowed.
#include "cache.hpp"
#include "options.hpp"
#include "rope.hpp"
#include "run.hpp"

namespace heed {
namespace {

constexpr int32_t most_turned = HEED_CACHE_MAX_ROTARY_DIM;
// Elements of keys that are turned at once, on the stack: frequencies are made anew each time.
constexpr int32_t room_turned = sizeof(void *) < 8 ? most_turned : 4 * most_turned;

bool all_finite(const heed_tensor &x, int32_t n_heads, int32_t n, int32_t dim) {
  for (int32_t h = 0; h < n_heads; h++)
    for (int32_t t = 0; t < n; t++) {
      const float most = scores_of(current_kernel())->magnitude(x.data + h * x.head_stride + t * x.row_stride, dim);
      if (!(most - most == 0.0f)) return false;
    }
  return true;
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
  template <class F>
  void each_part(F f) const {  // f(numbers, first, n)
    if (n_turned > 0) f(turned, 0, n_turned);
    if (n_turned < dim) f(x + n_turned, n_turned, dim - n_turned);
  }
};

float scale_of(const new_row &row) {
  float greatest = 0.0f;
  row.each_part([&](const float *x, int32_t, int32_t n) {
    const float most = scores_of(current_kernel())->magnitude(x, n);
    if (most > greatest) greatest = most;
  });
  return greatest / 127.0f;
}

// To every stride-th place from `to` on.
template <class T>
void spread(const void *from, int32_t n, T *to, ptrdiff_t stride) {
  const T *numbers = static_cast<const T *>(from);
  for (int32_t i = 0; i < n; i++) to[i * stride] = numbers[i];
}

template <class T>
void keep_row(int32_t format, const new_row &row, unsigned char *data, ptrdiff_t first, ptrdiff_t stride, float scale) {
  T *to = reinterpret_cast<T *>(data) + first;
  row.each_part([&](const float *x, int32_t begin, int32_t n) {
    if (sizeof(T) == sizeof(float)) return spread(x, n, to + begin * stride, stride);
    if (stride == 1) return scores_of(current_kernel())->narrow_row(x, n, format, scale, to + begin);
    constexpr int32_t at_once = 64;
    T narrowed[at_once];
    for (int32_t i = 0; i < n; i += at_once) {
      const int32_t part = n - i < at_once ? n - i : at_once;
      scores_of(current_kernel())->narrow_row(x + i, part, format, scale, narrowed);
      spread(narrowed, part, to + (begin + i) * stride, stride);
    }
  });
}

void keep_row(int32_t format, const new_row &row, unsigned char *data, ptrdiff_t first, ptrdiff_t stride,
              float *scale) {
  if (format == HEED_F32) return keep_row<float>(format, row, data, first, stride, 0.0f);
  if (format != HEED_INT8) return keep_row<uint16_t>(format, row, data, first, stride, 0.0f);
  *scale = scale_of(row);
  keep_row<int8_t>(format, row, data, first, stride, *scale);
}

// Token t of all heads; as many heads are turned at once as there is room for.
HEED_NOINLINE void append_token(const append_call &call, int32_t t) {
  const heed_cache_shape &s = call.cache->shape;
  const storage at = storage_of(*call.cache);
  const int32_t position = states_of(*call.cache)[call.sequence].length + t;
  const ptrdiff_t slot = at.slot_of(position);
  const int32_t n_turned = rotary_dim_of(call.rope, s.head_dim), at_once = n_turned ? room_turned / n_turned : 1;
  float turned[room_turned];
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
