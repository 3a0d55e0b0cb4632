// heed for C++17: views of arrays that know their shape. They convert to the structs of heed.h and integers.h, so every
// function of C takes them, and the length of an array cannot be stated wrongly. Include heed.hpp.
//
//   static float x[8][64], y[8][32], w[32][64];
//   heed::status s = heed_linear(heed::rows(x), heed::out_in(w), nullptr, heed::rows(y), nullptr);
//   s = heed_rope_apply(&rope, heed::heads(q), 8, 4, 16, 0, nullptr, heed::heads(q), nullptr);   // float q[8][4][16]
//   s = heed_int_rescale(heed::rows(a, a_zero), factor, heed::rows(b, b_zero), nullptr);         // int8_t or int16_t
//
// SPDX-License-Identifier: MIT
#ifndef HEED_HEED_VIEWS_HPP
#define HEED_HEED_VIEWS_HPP

#include "types.hpp"

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // GCC warns where an int is the bound of an array
#endif

namespace heed {

// Rows of float, half, bfloat16, int8_t or int16_t.
template <class T, int N, int Dim>
struct row_view {
  static constexpr int32_t dtype = dtype_of<T>::value;  // of its numbers
  T *data;                                              // row 0
  int32_t zero_point;                                   // of integers
  // Rows of floats.
  operator heed_matrix() const noexcept { return heed_matrix_of(data, N, Dim); }
  operator heed_matrix_out() const noexcept { return heed_matrix_out_of(data, N, Dim); }
  // Rows of float, half or bfloat16.
  operator heed_typed_matrix() const noexcept { return heed_typed_matrix_of(data, nullptr, dtype, N, Dim); }
  operator heed_typed_matrix_out() const noexcept { return heed_typed_matrix_out_of(data, nullptr, dtype, N, Dim); }
  // Rows of integers.
  operator heed_int_matrix() const noexcept { return heed_int_matrix_of(data, dtype, N, Dim, zero_point); }
  operator heed_int_matrix_out() const noexcept { return heed_int_matrix_out_of(data, dtype, N, Dim, zero_point); }
};
// The rows of an array. int8_t may have a zero point.
template <class T, int N, int Dim>
row_view<T, N, Dim> rows(T (&x)[N][Dim], int32_t zero_point = 0) noexcept {
  return {x[0], zero_point};
}
// One row.
template <class T, int Dim>
row_view<T, 1, Dim> row(T (&x)[Dim], int32_t zero_point = 0) noexcept {
  return {x, zero_point};
}

// An array (token, head, dim) of float, half, bfloat16 or int8_t.
template <class T, int N, int Heads, int Dim>
struct head_view {
  static constexpr int32_t dtype = dtype_of<T>::value;  // of its numbers
  T *data;                                              // token 0
  int32_t zero_point;                                   // of integers
  // An array of floats.
  operator heed_tensor() const noexcept { return heed_token_major(data, N, Heads, Dim); }
  operator heed_tensor_out() const noexcept { return heed_token_major_out(data, N, Heads, Dim); }
  // An array of float, half or bfloat16.
  operator heed_typed_tensor() const noexcept { return heed_typed_token_major(data, nullptr, dtype, N, Heads, Dim); }
  operator heed_typed_tensor_out() const noexcept { return heed_typed_token_major_out(data, dtype, N, Heads, Dim); }
  // An array of integers.
  operator heed_int_tensor() const noexcept { return heed_int_token_major(data, N, Heads, Dim, zero_point); }
};
// The heads of an array. int8_t may have a zero point.
template <class T, int N, int Heads, int Dim>
head_view<T, N, Heads, Dim> heads(T (&x)[N][Heads][Dim], int32_t zero_point = 0) noexcept {
  return {x[0][0], zero_point};
}

// Weights w[in][out] of float, half or bfloat16.
template <class T, int NIn, int NOut>
heed_weights in_out(const T (&w)[NIn][NOut]) noexcept {
  static_assert(dtype_of<T>::value <= HEED_BF16, "integers have scales");
  return heed_weights_of(w[0], nullptr, dtype_of<T>::value, HEED_IN_OUT, NIn, NOut);
}
// Weights w[out][in], as PyTorch stores them.
template <class T, int NIn, int NOut>
heed_weights out_in(const T (&w)[NOut][NIn]) noexcept {
  static_assert(dtype_of<T>::value <= HEED_BF16, "integers have scales");
  return heed_weights_of(w[0], nullptr, dtype_of<T>::value, HEED_OUT_IN, NIn, NOut);
}
// The same for int8 with a scale for each output.
template <int NIn, int NOut>
heed_weights in_out(const int8_t (&w)[NIn][NOut], const float (&scales)[NOut]) noexcept {
  return heed_weights_of(w[0], scales, HEED_INT8, HEED_IN_OUT, NIn, NOut);
}
template <int NIn, int NOut>
heed_weights out_in(const int8_t (&w)[NOut][NIn], const float (&scales)[NOut]) noexcept {
  return heed_weights_of(w[0], scales, HEED_INT8, HEED_OUT_IN, NIn, NOut);
}

}  // namespace heed

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif
