// heed for C++17: views of arrays that know their shape. They convert to the structs of heed.h and integers.h, so every
// function of C takes them, and the length of an array cannot be stated wrongly. Include heed.hpp.
//
//   static float x[8][64], y[8][64], weight[64];
//   heed_status s = heed_layer_norm(heed::rows(x), weight, nullptr, 1e-5f, heed::rows(y), nullptr);
//   s = heed_rope_apply(rope, heed::heads(q), 8, 4, 16, 0, nullptr, heed::heads(q), nullptr);  // float q[8][4][16]
//   s = heed_int_rescale(heed::rows(a, a_zero), factor, heed::rows(b, b_zero), nullptr);       // int8_t or int16_t
//
// Objects convert, too: a workspace to heed_memory, a cache, a rope and options to pointers to theirs, weights to
// heed_weights. SPDX-License-Identifier: MIT
#ifndef HEED_HEED_VIEWS_HPP
#define HEED_HEED_VIEWS_HPP

#include "integers.h"
#include "types.hpp"

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // GCC finds one where an int is the bound of an array
#endif

namespace heed {

// Rows of floats: heed_matrix, and heed_matrix_out if they are not constant.
template <class T, int N, int Dim>
struct row_view {
  T *data;  // row 0
  // For the functions of heed.h.
  operator heed_matrix() const noexcept { return heed_matrix_of(data, N, Dim); }
  // The same, to be written.
  operator heed_matrix_out() const noexcept { return heed_matrix_out_of(data, N, Dim); }
};
// The rows of an array.
template <int N, int Dim>
row_view<float, N, Dim> rows(float (&x)[N][Dim]) noexcept {
  return {x[0]};
}
// The same of constant rows.
template <int N, int Dim>
row_view<const float, N, Dim> rows(const float (&x)[N][Dim]) noexcept {
  return {x[0]};
}
// One row.
template <int Dim>
row_view<float, 1, Dim> row(float (&x)[Dim]) noexcept {
  return {x};
}
// The same of a constant row.
template <int Dim>
row_view<const float, 1, Dim> row(const float (&x)[Dim]) noexcept {
  return {x};
}

// An array (token, head, dim): heed_tensor, and heed_tensor_out if it is not constant.
template <class T, int N, int Heads, int Dim>
struct head_view {
  T *data;  // token 0
  // For the functions of heed.h.
  operator heed_tensor() const noexcept { return heed_token_major(data, N, Heads, Dim); }
  // The same, to be written.
  operator heed_tensor_out() const noexcept { return heed_token_major_out(data, N, Heads, Dim); }
};
// The heads of an array.
template <int N, int Heads, int Dim>
head_view<float, N, Heads, Dim> heads(float (&x)[N][Heads][Dim]) noexcept {
  return {x[0][0]};
}
// The same of a constant array.
template <int N, int Heads, int Dim>
head_view<const float, N, Heads, Dim> heads(const float (&x)[N][Heads][Dim]) noexcept {
  return {x[0][0]};
}

// Rows of int8_t or int16_t with a zero point: heed_int_matrix, and heed_int_matrix_out if they are not constant.
template <class T, int N, int Dim>
struct int_row_view {
  T *data;                                                                   // row 0
  int32_t zero_point;                                                        // of the numbers
  static constexpr int32_t dtype = sizeof(T) == 1 ? HEED_INT8 : HEED_INT16;  // their heed_dtype
  // For the functions of integers.h.
  operator heed_int_matrix() const noexcept { return heed_int_matrix_of(data, dtype, N, Dim, zero_point); }
  // The same, to be written.
  operator heed_int_matrix_out() const noexcept { return heed_int_matrix_out_of(data, dtype, N, Dim, zero_point); }
};
// Rows of int8.
template <int N, int Dim>
int_row_view<int8_t, N, Dim> rows(int8_t (&x)[N][Dim], int32_t zero_point = 0) noexcept {
  return {x[0], zero_point};
}
// Constant rows of int8.
template <int N, int Dim>
int_row_view<const int8_t, N, Dim> rows(const int8_t (&x)[N][Dim], int32_t zero_point = 0) noexcept {
  return {x[0], zero_point};
}
// Rows of int16, which have no zero point.
template <int N, int Dim>
int_row_view<int16_t, N, Dim> rows(int16_t (&x)[N][Dim]) noexcept {
  return {x[0], 0};
}
// Constant rows of int16.
template <int N, int Dim>
int_row_view<const int16_t, N, Dim> rows(const int16_t (&x)[N][Dim]) noexcept {
  return {x[0], 0};
}

// Memory of a constant size, aligned: heed_memory. memory<HEED_CACHE_BYTES(...)>.
template <size_t Bytes>
struct memory {
  // For the functions of heed.h.
  operator heed_memory() noexcept { return heed_memory_of(bytes, Bytes); }
  alignas(HEED_ALIGNMENT) unsigned char bytes[Bytes];  // its memory
};

}  // namespace heed

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif
