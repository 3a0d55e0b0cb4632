// The helpers in the headers take any number: none divides by 0 or overflows, and what cannot be is refused by the call that
// gets it. SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <vector>

#include "heed/integers.h"
#include "support/refusal.hpp"

namespace heed_test {
namespace {

constexpr int32_t numbers[] = {INT32_MIN, -65536, -1, 0, 1, 2, 3, 64, 1 << 16, 1 << 20, 1 << 30, INT32_MAX};

// a * b * c, or PTRDIFF_MAX: a double tells whether 64 bits hold it.
ptrdiff_t stride_of(int32_t a, int32_t b, int32_t c) {
  const double n = double(a) * b * c;
  if (n < double(PTRDIFF_MIN) || n >= double(PTRDIFF_MAX)) return PTRDIFF_MAX;
  return static_cast<ptrdiff_t>(int64_t{a} * b * c);
}

template <class F>
void for_three_numbers(F f) {
  for (const int32_t a : numbers)
    for (const int32_t b : numbers)
      for (const int32_t c : numbers) {
        SCOPED_TRACE(std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c));
        f(a, b, c);
      }
}

// Batch, head and row.
template <class T>
void expect_strides(const T &t, ptrdiff_t batch, ptrdiff_t head, ptrdiff_t row) {
  EXPECT_EQ(t.batch_stride, batch);
  EXPECT_EQ(t.head_stride, head);
  EXPECT_EQ(t.row_stride, row);
}

TEST(helpers, contiguous_tensors_of_any_numbers) {
  static float x[1];
  static int8_t y[1];
  for_three_numbers([&](int32_t n, int32_t heads, int32_t dim) {
    const ptrdiff_t all = stride_of(n, heads, dim), token = stride_of(heads, dim, 1), head = stride_of(n, dim, 1);
    expect_strides(heed_token_major(x, n, heads, dim), all, dim, token);
    expect_strides(heed_token_major_out(x, n, heads, dim), all, dim, token);
    expect_strides(heed_head_major(x, n, heads, dim), all, head, dim);
    expect_strides(heed_head_major_out(x, n, heads, dim), all, head, dim);
    expect_strides(heed_typed_token_major(y, x, HEED_INT8, n, heads, dim), all, dim, token);
    expect_strides(heed_typed_head_major(y, x, HEED_INT8, n, heads, dim), all, head, dim);
    expect_strides(heed_typed_token_major_out(y, HEED_INT8, n, heads, dim), all, dim, token);
    expect_strides(heed_typed_head_major_out(y, HEED_INT8, n, heads, dim), all, head, dim);
    expect_strides(heed_int_token_major(y, n, heads, dim, 0), all, dim, token);
    const heed_int_attention call = heed_int_attention_of(y, y, y, n, n, heads, heads, dim, y, {nullptr, 0});
    for (const heed_int_tensor &t : {call.q, call.k, call.v}) expect_strides(t, all, dim, token);
    expect_strides(call.out, all, dim, token);
    const heed_attention floats = heed_attention_of(x, x, x, n, n, heads, heads, dim, x, {nullptr, 0});
    for (const heed_tensor &t : {floats.q, floats.k, floats.v}) expect_strides(t, all, dim, token);
  });
}

TEST(helpers, a_stride_beyond_memory_is_refused) {
  static float q[64], out[64];
  HEED_ALIGNED static unsigned char workspace[HEED_WORKSPACE_MIN_BYTES(1, 1)];
  heed_attention call = heed_attention_of(q, q, q, 1, 1, 1, 1, 1, out, heed_memory_of(workspace, sizeof workspace));
  call.batch_size = 2;
  call.q = heed_token_major(q, HEED_MAX_COUNT, HEED_MAX_DIM, HEED_MAX_DIM * 4);
  EXPECT_EQ(status_name(heed_attention_run(&call)), status_name(HEED_STATUS(HEED_OVERFLOW, HEED_ARG_Q)));
}

TEST(helpers, tensor_of_any_number_of_heads) {
  static float x[2 * 12], y[2 * 12];
  HEED_ALIGNED static unsigned char workspace[HEED_WORKSPACE_MIN_BYTES(12, 12)];
  for (const int32_t heads : {1, 2, 3, 4, 6, 12}) {
    expect_strides(heed_tensor_of(heed_matrix_of(x, 2, 12), heads), 0, 12 / heads, 12);
    expect_strides(heed_tensor_out_of(heed_matrix_out_of(x, 2, 12), heads), 0, 12 / heads, 12);
    EXPECT_EQ(heed_tensor_of(heed_matrix_of(x, 2, 12), heads).data, x);
    EXPECT_EQ(heed_tensor_out_of(heed_matrix_out_of(x, 2, 12), heads).data, x);
  }
  for (const int32_t heads : {INT32_MIN, -12, -1, 0, 5, 7, 24, INT32_MAX}) {
    heed_attention call = heed_attention_of(x, x, x, 2, 2, 1, 1, 12, y, heed_memory_of(workspace, sizeof workspace));
    call.q = heed_tensor_of(heed_matrix_of(x, 2, 12), heads);
    EXPECT_EQ(status_name(heed_attention_run(&call)), status_name(HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_Q)));
    call.q = call.k;
    call.out = heed_tensor_out_of(heed_matrix_out_of(y, 2, 12), heads);
    EXPECT_EQ(status_name(heed_attention_run(&call)), status_name(HEED_STATUS(HEED_NULL_POINTER, HEED_ARG_OUT)));
  }
  for_three_numbers([&](int32_t n, int32_t dim, int32_t heads) {
    heed_tensor_of(heed_matrix_of(x, n, dim), heads);
    heed_tensor_out_of(heed_matrix_out_of(x, n, dim), heads);
  });
}

TEST(helpers, windows_of_any_numbers) {
  static float x[64];
  for_three_numbers([&](int32_t n, int32_t kernel, int32_t stride) {
    for (const int32_t dim : numbers) {
      const heed_matrix w = heed_windows_of(heed_matrix_of(x, n, dim), kernel, stride);
      const bool possible =
          kernel >= 1 && stride >= 1 && dim >= 1 && kernel <= n && int64_t{kernel} * dim <= HEED_MAX_COUNT;
      EXPECT_EQ(w.n_rows, possible ? (n - kernel) / stride + 1 : 0);
      EXPECT_EQ(w.dim, possible ? kernel * dim : 0);
      EXPECT_EQ(w.row_stride, possible ? stride_of(stride, dim, 1) : 0);
    }
  });
}

TEST(helpers, defaults_of_any_numbers) {
  for_three_numbers([](int32_t dim, int32_t heads, int32_t hidden) {
    const int32_t wanted = heads > 0 ? dim / heads : 0;
    const heed_attention_layer a = heed_attention_layer_default(dim, heads);
    EXPECT_EQ(a.head_dim, wanted);
    EXPECT_EQ(heed_int_layer_default(dim, heads, hidden, heed_int_rms_norm).head_dim, wanted);
    EXPECT_EQ(heed_cache_shape_default(dim, heads, hidden).v_dim, hidden);
    EXPECT_EQ(heed_int_cache_shape_default(dim, heads, hidden).v_dim, hidden);
    EXPECT_TRUE(heads >= 1 || heed_attention_layer_bytes(&a, 1) == 0);
  });
}

TEST(helpers, multipliers_of_any_float) {
  using limits = std::numeric_limits<float>;
  for (const float factor : {0.0f, -0.0f, -1.0f, limits::infinity(), -limits::infinity(), limits::quiet_NaN(),
                             limits::denorm_min(), std::nextafter(limits::min(), 0.0f)})
    EXPECT_EQ(heed_multiplier_of(factor).m, 0) << factor;
  for (const float factor : {limits::min(), limits::max(), 1.0f, 0.3f, 1e-20f}) {
    const heed_multiplier m = heed_multiplier_of(factor);
    EXPECT_GE(m.m, 1 << 30);
    EXPECT_EQ(std::ldexp(double(m.m), m.e - 31), double(factor));
  }
}

}  // namespace
}  // namespace heed_test
