// Narrowing and widening of rows, and quantisation of weights (rules 22 and 23): plain loops, the same on every kernel.
#include "convert.hpp"

#include "../kernel_contract/numbers.hpp"
#include "../checks/check_dtypes.hpp"

namespace heed {
namespace {

float magnitude_of_float(float x) { return x < 0.0f ? -x : x; }

// An int8 row with a NaN or an infinity would have no scale.
bool is_finite_matrix(const heed_matrix &x) {
  for (int32_t r = 0; r < x.n_rows; r++) {
    const float *row = x.data + r * x.row_stride;
    for (int32_t i = 0; i < x.dim; i++)
      if (!(row[i] - row[i] == 0.0f)) return false;
  }
  return true;
}

// Numbers in any format, of the shape of the floats that they come from or become.
template <class M>
void check_finite_numbers(checker &check, const M &m, int32_t n_rows, int32_t dim, access how, heed_argument argument) {
  check_format(check, m.dtype, argument);
  check.require(m.n_rows == n_rows && m.dim == dim, HEED_SHAPE_MISMATCH, argument);
  check.matrix(m.data, n_rows, dim, m.row_stride, how, argument, HEED_DTYPE_BYTES(m.dtype));
  if (m.dtype == HEED_INT8) check_scales(check, m.scales, n_rows, how, argument);
}

HEED_NOINLINE heed_status check_convert_from_f32(const heed_matrix &x, const heed_typed_matrix_out &y) {
  checker_of<3> check;
  check.matrix(x, HEED_ARG_X);
  check_finite_numbers(check, y, x.n_rows, x.dim, access::write, HEED_ARG_Y);
  if (check.finish() == HEED_OK && y.dtype == HEED_INT8)
    check.require(is_finite_matrix(x), HEED_NOT_FINITE, HEED_ARG_X);
  return check.status;
}

HEED_NOINLINE heed_status check_convert_to_f32(const heed_typed_matrix &x, const heed_matrix_out &y) {
  checker_of<3> check;
  check.matrix(y, HEED_ARG_Y);
  check_finite_numbers(check, x, y.n_rows, y.dim, access::read, HEED_ARG_X);
  return check.finish();
}

HEED_NOINLINE heed_status check_quantize(const heed_matrix &w, int32_t layout, const int8_t *q, const float *scales) {
  checker_of<3> check;
  check.matrix(w, HEED_ARG_W);
  check_layout(check, layout, HEED_ARG_LAYOUT);
  check.matrix(q, w.n_rows, w.dim, w.dim, access::write, HEED_ARG_Y, 1);
  const int32_t n_out = layout == HEED_OUT_IN ? w.n_rows : w.dim;
  check_scales(check, scales, n_out, access::write, HEED_ARG_Y);
  if (check.finish() == HEED_OK) check.require(is_finite_matrix(w), HEED_NOT_FINITE, HEED_ARG_W);
  return check.status;
}

// Bytes from a matrix's data to a row.
template <class M>
ptrdiff_t bytes_before_row(const M &m, int32_t r) {
  return r * m.row_stride * static_cast<ptrdiff_t>(HEED_DTYPE_BYTES(m.dtype));
}

}  // namespace

void row_to_format(const float *x, int32_t n, int32_t dtype, void *y, float *scale) {
  const float by = dtype == HEED_INT8 ? int8_scale(float_of_bits(greatest_magnitude(x, n))) : 0.0f;
  if (dtype == HEED_INT8) *scale = by;
  with_format(dtype, [&](auto number) { narrow_numbers(x, n, by, static_cast<decltype(number) *>(y)); });
}

void row_from_format(const void *x, int32_t n, int32_t dtype, float scale, float *y) {
  if (dtype == HEED_F32) {
    __builtin_memcpy(y, x, static_cast<size_t>(n) * sizeof(float));
  } else if (dtype == HEED_F16) {
    for (int32_t i = 0; i < n; i++) y[i] = widen(static_cast<const f16 *>(x)[i]);
  } else if (dtype == HEED_BF16) {
    for (int32_t i = 0; i < n; i++) y[i] = widen(static_cast<const bf16 *>(x)[i]);
  } else {
    for (int32_t i = 0; i < n; i++) y[i] = widen(static_cast<const int8_t *>(x)[i]) * scale;
  }
}

}  // namespace heed

heed_status heed_convert_from_f32(heed_matrix x, heed_typed_matrix_out y) {
  const heed_status status = heed::check_convert_from_f32(x, y);
  if (status != HEED_OK) return status;
  for (int32_t r = 0; r < x.n_rows; r++) {
    float *const scale = y.dtype == HEED_INT8 ? y.scales + r : nullptr;
    heed::row_to_format(x.data + r * x.row_stride, x.dim, y.dtype,
                        static_cast<unsigned char *>(y.data) + heed::bytes_before_row(y, r), scale);
  }
  return HEED_OK;
}

heed_status heed_convert_to_f32(heed_typed_matrix x, heed_matrix_out y) {
  const heed_status status = heed::check_convert_to_f32(x, y);
  if (status != HEED_OK) return status;
  for (int32_t r = 0; r < y.n_rows; r++) {
    const float scale = x.dtype == HEED_INT8 ? x.scales[r] : 0.0f;
    heed::row_from_format(static_cast<const unsigned char *>(x.data) + heed::bytes_before_row(x, r), y.dim, x.dtype,
                          scale, y.data + r * y.row_stride);
  }
  return HEED_OK;
}

heed_status heed_weights_quantize(heed_matrix w, int32_t layout, int8_t *q, float *scales) {
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
      const float x = heed::magnitude_of_float(w.data[r * w.row_stride + n]);
      if (x > scales[n]) scales[n] = x;
    }
  for (int32_t n = 0; n < w.dim; n++) scales[n] = heed::int8_scale(scales[n]);
  for (int32_t r = 0; r < w.n_rows; r++)
    for (int32_t n = 0; n < w.dim; n++) heed::narrow(w.data[r * w.row_stride + n], scales[n], *q++);
  return HEED_OK;
}
