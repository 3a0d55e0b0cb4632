// Floats into a cache of integers, in a file of its own: chips without an FPU link soft float only where it is called.
#include "../checks/check_dtypes.hpp"
#include "../kernel_contract/numbers.hpp"
#include "int_cache.hpp"

namespace heed {
namespace {

void check_static_scales(checker &check, const float *scales, int32_t n, heed_argument argument) {
  check_scales(check, scales, n, access::read, argument);
  for (int32_t h = 0; check.ok() && h < n; h++)
    check.require(bits_of_float(scales[h]) - 0x00800000 < 0x7f000000, HEED_OUT_OF_RANGE, argument);
}

// x / scale, rounded to the nearest integer by the sum with 1.5 * 2^23, halves to the even one; NaN is 0.
int8_t quantized(float x, float scale, int32_t zero_point) {
  float quotient = x / scale;
  if (is_not_a_number(bits_of_float(quotient))) quotient = 0.0f;
  if (quotient > 512.0f) quotient = 512.0f;
  if (quotient < -512.0f) quotient = -512.0f;
  const int32_t n = static_cast<int32_t>(bits_of_float(quotient + 12582912.0f)) - 0x4b400000 + zero_point;
  return static_cast<int8_t>(clamp_to(n, -128, 127));
}

void quantize_row(const new_rows &rows, ptrdiff_t at, int32_t head, int32_t dim, int8_t *to) {
  const float *x = static_cast<const float *>(rows.data) + at;
  for (int32_t i = 0; i < dim; i++) to[i] = quantized(x[i], rows.scales[head], rows.zero_point);
}

}  // namespace
}  // namespace heed

using namespace heed;

heed_status heed_int_cache_append_f32(heed_int_cache *cache, int32_t sequence, heed_tensor k, heed_tensor v, int32_t n,
                                      const float *k_scales, const float *v_scales) {
  new_rows of_k = new_rows_of(k, k_scales, 0), of_v = new_rows_of(v, v_scales, 0);
  checker_of<6> check;
  check_int_append(check, cache, sequence, of_k, of_v, n, sizeof(float));
  if (!check.ok()) return check.status;
  check_static_scales(check, k_scales, cache->shape.n_kv_heads, HEED_ARG_K);
  check_static_scales(check, v_scales, cache->shape.n_kv_heads, HEED_ARG_V);
  const heed_status status = check.finish();
  if (status != HEED_OK) return status;
  of_k.zero_point = cache->shape.k_zero;
  of_v.zero_point = cache->shape.v_zero;
  store_rows(*cache, sequence, 0, n, of_k, of_v, quantize_row);
  count_int_tokens(*cache, sequence, n);
  return HEED_OK;
}
