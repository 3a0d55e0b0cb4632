// Known answers of products with weights, plain and packed: two parts of selftest_features.cpp.
#ifndef HEED_SELFTEST_WEIGHTS_HPP
#define HEED_SELFTEST_WEIGHTS_HPP

#include "../tasks/run.hpp"
#include "selftest.hpp"

namespace heed {
namespace {

// Each format in both layouts, one row and some.
HEED_NOINLINE void run_projections(kernel_handle k, float *buffer, comparison &result) {
  constexpr int32_t n_in = 21, n_out = 19, n = 5;
  arena memory = {buffer};
  float *w = memory.take(n_in * n_out), *data = memory.take(n_in * n_out), *scales = memory.take(n_in);
  float *x = memory.take(n * n_in), *bias = memory.take(n_out), *y = memory.take(n * n_out);
  fill(w, n_in * n_out, 8);
  fill(x, n * n_in, 9);
  fill(bias, n_out, 10);
  for (int32_t i = 0; i < 8; i++) {
    const int32_t dtype = i / 2, layout = i % 2 ? HEED_OUT_IN : HEED_IN_OUT;
    const heed_matrix rows = layout == HEED_OUT_IN ? heed_matrix_of(w, n_out, n_in) : heed_matrix_of(w, n_in, n_out);
    if (dtype == HEED_INT8)
      heed_weights_quantize(rows, layout, reinterpret_cast<int8_t *>(data), scales);
    else
      heed_convert_from_f32(rows, heed_typed_matrix_out_of(data, nullptr, dtype, rows.n_rows, rows.dim));
    const heed_weights weights = heed_weights_of(data, scales, dtype, layout, n_in, n_out);
    for (int32_t n_rows = 1; n_rows <= n; n_rows += n - 1) {
      const float *const given = n_rows == 1 ? nullptr : bias;
      run_project(k, heed_matrix_of(x, n_rows, n_in), weights, given, heed_matrix_out_of(y, n_rows, n_out), nullptr);
      result.add(y, n_rows * n_out);
    }
  }
}

// Packed in every format, and then read from those bytes; the last block is shorter.
HEED_NOINLINE void run_packed_weights(kernel_handle k, float *buffer, comparison &result) {
  constexpr int32_t n_in = 37, n_out = 19, n = 3;
  arena memory = {buffer};
  const heed_memory packed = {memory.take(HEED_WEIGHTS_PACKED_BYTES(HEED_F32, n_in, n_out) / 4),
                              HEED_WEIGHTS_PACKED_BYTES(HEED_F32, n_in, n_out)};
  float *w = memory.take(n_in * n_out), *x = memory.take(n * n_in), *bias = memory.take(n_out),
        *y = memory.take(n * n_out);
  fill(w, n_in * n_out, 11);
  fill(x, n * n_in, 12);
  fill(bias, n_out, 13);
  for (int32_t dtype = HEED_F32; dtype <= HEED_Q4_0; dtype++) {
    const int32_t layout = dtype % 2 ? HEED_OUT_IN : HEED_IN_OUT;
    heed_weights weights = heed_weights_of(w, nullptr, HEED_F32, layout, n_in, n_out);
    if (heed_weights_pack(weights, dtype, packed) != HEED_OK) return;
    if (heed_weights_open(&weights, packed.data, packed.bytes) != HEED_OK) return;
    run_project(k, heed_matrix_of(x, n, n_in), weights, bias, heed_matrix_out_of(y, n, n_out), nullptr);
    result.add(y, n * n_out);
  }
}

}  // namespace
}  // namespace heed

#endif
