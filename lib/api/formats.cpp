// Narrowing and widening of rows, and quantisation of weights (rules 22 and 23): plain loops, the same on every kernel.
#include "formats.hpp"

#include "../kernel/numbers.hpp"
#include "../boundary/validate.hpp"

namespace heed {
namespace {

float magnitude(float x) { return x < 0.0f ? -x : x; }

bool all_finite(const heed_matrix &x) {
  for (int32_t r = 0; r < x.n_rows; r++) {
    const float *row = x.data + r * x.row_stride;
    for (int32_t i = 0; i < x.dim; i++)
      if (!(row[i] - row[i] == 0.0f)) return false;
  }
  return true;
}

bool is_format(int32_t format) { return format >= HEED_F32 && format <= HEED_INT8; }

HEED_NOINLINE heed_status check_narrow(const heed_matrix &x, int32_t format, const void *y, ptrdiff_t y_stride,
                                       const float *scales) {
  checker_of<3> check;
  check.matrix(x.data, x.n_rows, x.dim, x.row_stride, access::read, HEED_ARG_X);
  check.require(is_format(format), HEED_OUT_OF_RANGE, HEED_ARG_FORMAT);
  check.matrix(y, x.n_rows, x.dim, y_stride, access::write, HEED_ARG_Y, HEED_FORMAT_BYTES(format));
  if (format == HEED_INT8) check.floats(scales, x.n_rows, access::write, HEED_ARG_SCALES);
  if (check.finish() == HEED_OK && format == HEED_INT8) check.require(all_finite(x), HEED_NOT_FINITE, HEED_ARG_X);
  return check.status;
}

HEED_NOINLINE heed_status check_widen(const void *x, ptrdiff_t x_stride, const float *scales, int32_t format,
                                      const heed_matrix_out &y) {
  checker_of<3> check;
  check.require(is_format(format), HEED_OUT_OF_RANGE, HEED_ARG_FORMAT);
  check.matrix(y.data, y.n_rows, y.dim, y.row_stride, access::write, HEED_ARG_Y);
  check.matrix(x, y.n_rows, y.dim, x_stride, access::read, HEED_ARG_X, HEED_FORMAT_BYTES(format));
  if (format == HEED_INT8) check.floats(scales, y.n_rows, access::read, HEED_ARG_SCALES);
  return check.finish();
}

HEED_NOINLINE heed_status check_quantize(const heed_matrix &w, int32_t layout, const int8_t *q, const float *scales) {
  checker_of<3> check;
  check.matrix(w.data, w.n_rows, w.dim, w.row_stride, access::read, HEED_ARG_W);
  check.require(layout == HEED_IN_OUT || layout == HEED_OUT_IN, HEED_OUT_OF_RANGE, HEED_ARG_LAYOUT);
  check.matrix(q, w.n_rows, w.dim, w.dim, access::write, HEED_ARG_Y, 1);
  check.floats(scales, layout == HEED_OUT_IN ? w.n_rows : w.dim, access::write, HEED_ARG_SCALES);
  if (check.finish() == HEED_OK) check.require(all_finite(w), HEED_NOT_FINITE, HEED_ARG_W);
  return check.status;
}

}  // namespace

void row_to_format(const float *x, int32_t n, int32_t format, void *y, float *scale) {
  const float by = format == HEED_INT8 ? int8_scale(float_of_bits(greatest_magnitude(x, n))) : 0.0f;
  if (format == HEED_INT8) *scale = by;
  with_format(format, [&](auto number) { narrow_numbers(x, n, by, static_cast<decltype(number) *>(y)); });
}

void row_from_format(const void *x, int32_t n, int32_t format, float scale, float *y) {
  if (format == HEED_F32) {
    __builtin_memcpy(y, x, static_cast<size_t>(n) * sizeof(float));
  } else if (format == HEED_F16) {
    for (int32_t i = 0; i < n; i++) y[i] = widen(static_cast<const f16 *>(x)[i]);
  } else if (format == HEED_BF16) {
    for (int32_t i = 0; i < n; i++) y[i] = widen(static_cast<const bf16 *>(x)[i]);
  } else {
    for (int32_t i = 0; i < n; i++) y[i] = widen(static_cast<const int8_t *>(x)[i]) * scale;
  }
}

}  // namespace heed

heed_status heed_narrow(heed_matrix x, int32_t format, void *y, ptrdiff_t y_stride, float *scales) {
  const heed_status status = heed::check_narrow(x, format, y, y_stride, scales);
  if (status != HEED_OK) return status;
  const ptrdiff_t row_bytes = y_stride * static_cast<ptrdiff_t>(HEED_FORMAT_BYTES(format));
  for (int32_t r = 0; r < x.n_rows; r++)
    heed::row_to_format(x.data + r * x.row_stride, x.dim, format, static_cast<unsigned char *>(y) + r * row_bytes,
                        format == HEED_INT8 ? scales + r : nullptr);
  return HEED_OK;
}

heed_status heed_widen(const void *x, ptrdiff_t x_stride, const float *scales, int32_t format, heed_matrix_out y) {
  const heed_status status = heed::check_widen(x, x_stride, scales, format, y);
  if (status != HEED_OK) return status;
  const ptrdiff_t row_bytes = x_stride * static_cast<ptrdiff_t>(HEED_FORMAT_BYTES(format));
  for (int32_t r = 0; r < y.n_rows; r++)
    heed::row_from_format(static_cast<const unsigned char *>(x) + r * row_bytes, y.dim, format,
                          format == HEED_INT8 ? scales[r] : 0.0f, y.data + r * y.row_stride);
  return HEED_OK;
}

heed_status heed_quantize_weights(heed_matrix w, int32_t layout, int8_t *q, float *scales) {
  const heed_status status = heed::check_quantize(w, layout, q, scales);
  if (status != HEED_OK) return status;
  if (layout == HEED_OUT_IN) {
    for (int32_t r = 0; r < w.n_rows; r++)
      heed::row_to_format(w.data + r * w.row_stride, w.dim, HEED_INT8, q + static_cast<ptrdiff_t>(r) * w.dim,
                          scales + r);
    return HEED_OK;
  }
  for (int32_t n = 0; n < w.dim; n++) scales[n] = 0.0f;
  for (int32_t r = 0; r < w.n_rows; r++)
    for (int32_t n = 0; n < w.dim; n++) {
      const float x = heed::magnitude(w.data[r * w.row_stride + n]);
      if (x > scales[n]) scales[n] = x;
    }
  for (int32_t n = 0; n < w.dim; n++) scales[n] = heed::int8_scale(scales[n]);
  for (int32_t r = 0; r < w.n_rows; r++)
    for (int32_t n = 0; n < w.dim; n++) heed::narrow(w.data[r * w.row_stride + n], scales[n], *q++);
  return HEED_OK;
}
