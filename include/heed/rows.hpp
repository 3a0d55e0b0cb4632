// heed for C++17: norms, activations, sums and projections, for arrays of known shapes. Include heed.hpp. rows.h and
// weights.h state what each function does. SPDX-License-Identifier: MIT
#ifndef HEED_HEED_ROWS_HPP
#define HEED_HEED_ROWS_HPP

#include "types.hpp"

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // GCC finds one where an int is the bound of an array
#endif

namespace heed {

// ----------------------------------------------------------------------------------------------------------- rows

// A norm of each row. f is heed_rms_norm or heed_layer_norm. y may be x.
template <int N, int Dim>
status norm(heed_norm *f, const float (&x)[N][Dim], float (&y)[N][Dim], float eps = 1e-5f) noexcept {
  return f(heed_matrix_of(x[0], N, Dim), nullptr, nullptr, eps, heed_matrix_out_of(y[0], N, Dim), nullptr);
}
template <int N, int Dim>
status norm(heed_norm *f, const float (&x)[N][Dim], const float (&weight)[Dim], float (&y)[N][Dim],
            float eps = 1e-5f) noexcept {
  return f(heed_matrix_of(x[0], N, Dim), weight, nullptr, eps, heed_matrix_out_of(y[0], N, Dim), nullptr);
}
template <int N, int Dim>
status norm(heed_norm *f, const float (&x)[N][Dim], const float (&weight)[Dim], const float (&bias)[Dim],
            float (&y)[N][Dim], float eps = 1e-5f) noexcept {
  return f(heed_matrix_of(x[0], N, Dim), weight, bias, eps, heed_matrix_out_of(y[0], N, Dim), nullptr);
}

// Group norm over all rows: the channels, Dim, come in n_groups groups. y may be x.
template <int N, int Dim>
status group_norm(const float (&x)[N][Dim], const float (&weight)[Dim], const float (&bias)[Dim], int n_groups,
                  float (&y)[N][Dim], float eps = 1e-5f, const heed_executor *executor = nullptr) noexcept {
  return heed_group_norm(heed_matrix_of(x[0], N, Dim), weight, bias, n_groups, eps, heed_matrix_out_of(y[0], N, Dim),
                         executor);
}

// The mean over rows.
template <int N, int Dim>
status mean_rows(const float (&x)[N][Dim], float (&y)[Dim]) noexcept {
  return heed_mean_rows(heed_matrix_of(x[0], N, Dim), y, nullptr);
}

// An activation: y = f(x), or y = f(x) * up. f is heed_gelu, heed_gelu_tanh, heed_silu, heed_relu, heed_tanh or
// heed_sigmoid. y may be x or up.
template <int N, int Dim>
status activate(heed_activation *f, const float (&x)[N][Dim], float (&y)[N][Dim]) noexcept {
  return f(heed_matrix_of(x[0], N, Dim), heed_matrix{nullptr, 0, 0, 0}, heed_matrix_out_of(y[0], N, Dim), nullptr);
}
template <int N, int Dim>
status activate(heed_activation *f, const float (&x)[N][Dim], const float (&up)[N][Dim], float (&y)[N][Dim]) noexcept {
  return f(heed_matrix_of(x[0], N, Dim), heed_matrix_of(up[0], N, Dim), heed_matrix_out_of(y[0], N, Dim), nullptr);
}

// y = a + b. y may be a or b.
template <int N, int Dim>
status add(const float (&a)[N][Dim], const float (&b)[N][Dim], float (&y)[N][Dim]) noexcept {
  return heed_add(heed_matrix_of(a[0], N, Dim), heed_matrix_of(b[0], N, Dim), heed_matrix_out_of(y[0], N, Dim),
                  nullptr);
}

// -------------------------------------------------------------------------------------------------------- choosing

// The greatest of each row: indices[r], of equal ones the lowest.
template <int N, int Dim>
status argmax(const float (&x)[N][Dim], int32_t (&indices)[N]) noexcept {
  return heed_argmax(heed_matrix_of(x[0], N, Dim), indices);
}
// The K largest of each row, the greatest first.
template <int K, int N, int Dim>
status largest(const float (&x)[N][Dim], int32_t (&indices)[N][K], float (&values)[N][K]) noexcept {
  static_assert(K >= 1 && K <= Dim, "as many as a row has");
  return heed_topk(heed_matrix_of(x[0], N, Dim), K, indices[0], values[0]);
}
// Draws a token from logits; random is a number of yours in [0, 1). The object is the workspace.
template <int N>
struct sampler {
  float temperature = 1;  // what logits are divided by
  int32_t top_k = N;      // N: all
  float top_p = 1;        // 1: all
  // Draws one.
  status sample(const float (&logits)[N], float random, int32_t &token) noexcept {
    return heed_sample(logits, N, temperature, top_k, top_p, random, &token, {bytes, sizeof bytes});
  }
  alignas(HEED_ALIGNMENT) unsigned char bytes[HEED_SAMPLE_BYTES(N)];  // its memory
};

// --------------------------------------------------------------------------------------------------------- weights

// The weights of a projection from NIn to NOut numbers. The object keeps pointers to the arrays, which lie in flash if
// they are constant.
template <int NIn, int NOut>
struct weights {
  heed_weights c;                                       // for the functions of heed.h
  operator heed_weights() const noexcept { return c; }  // the same
};

// Weights from an array. in_out takes w[in][out]. out_in takes w[out][in], as PyTorch stores weights. Elements are
// float, int8_t with scales (NOut), or the bits of f16 or bf16, whose dtype is named: in_out<HEED_F16>(w).
template <int NIn, int NOut>
weights<NIn, NOut> in_out(const float (&w)[NIn][NOut]) noexcept {
  return {heed_weights_of(w[0], nullptr, HEED_F32, HEED_IN_OUT, NIn, NOut)};
}
template <int NIn, int NOut>
weights<NIn, NOut> out_in(const float (&w)[NOut][NIn]) noexcept {
  return {heed_weights_of(w[0], nullptr, HEED_F32, HEED_OUT_IN, NIn, NOut)};
}
template <int NIn, int NOut>
weights<NIn, NOut> in_out(const int8_t (&w)[NIn][NOut], const float (&scales)[NOut]) noexcept {
  return {heed_weights_of(w[0], scales, HEED_INT8, HEED_IN_OUT, NIn, NOut)};
}
template <int NIn, int NOut>
weights<NIn, NOut> out_in(const int8_t (&w)[NOut][NIn], const float (&scales)[NOut]) noexcept {
  return {heed_weights_of(w[0], scales, HEED_INT8, HEED_OUT_IN, NIn, NOut)};
}
template <heed_dtype Dtype, int NIn, int NOut>
weights<NIn, NOut> in_out(const uint16_t (&w)[NIn][NOut]) noexcept {
  static_assert(Dtype == HEED_F16 || Dtype == HEED_BF16, "16 bits each");
  return {heed_weights_of(w[0], nullptr, Dtype, HEED_IN_OUT, NIn, NOut)};
}
template <heed_dtype Dtype, int NIn, int NOut>
weights<NIn, NOut> out_in(const uint16_t (&w)[NOut][NIn]) noexcept {
  static_assert(Dtype == HEED_F16 || Dtype == HEED_BF16, "16 bits each");
  return {heed_weights_of(w[0], nullptr, Dtype, HEED_OUT_IN, NIn, NOut)};
}

// Weights in blocks, as a GGUF file holds them: blocks<HEED_Q4_0, NIn, NOut>(data). NIn is a multiple of 32.
template <heed_dtype Dtype, int NIn, int NOut>
weights<NIn, NOut> blocks(const void *data) noexcept {
  static_assert(Dtype == HEED_Q8_0 || Dtype == HEED_Q4_0, "a dtype of blocks");
  static_assert(NIn % 32 == 0, "whole blocks");
  return {heed_weights_of_blocks(data, Dtype, NIn, NOut)};
}

// Memory for packed weights. pack() packs weights of any dtype, and view() shows them; the object must stay where it
// is.
template <heed_dtype Dtype, int NIn, int NOut>
struct packed_weights {
  static constexpr size_t n_bytes = HEED_WEIGHTS_PACKED_BYTES(Dtype, NIn, NOut);  // their size
  // Packs w.
  status pack(const weights<NIn, NOut> &w) noexcept { return heed_weights_pack(w.c, Dtype, {bytes, n_bytes}); }
  // Writes a sum into what pack() has written, which check() compares: for weights that are stored.
  status add_checksum() noexcept { return heed_weights_add_checksum({bytes, n_bytes}); }
  // Makes a view of what pack() has written.
  status view(weights<NIn, NOut> &w) const noexcept { return open(w, bytes, n_bytes); }
  alignas(HEED_ALIGNMENT) unsigned char bytes[n_bytes];  // their memory
};

// Makes a view of packed weights that lie in flash or in a file. Other shapes than NIn and NOut are SHAPE_MISMATCH for PACKED.
template <int NIn, int NOut>
status open(weights<NIn, NOut> &w, const void *packed, size_t bytes) noexcept {
  heed_weights found;
  const heed_status s = heed_weights_open(&found, packed, bytes);
  if (s != HEED_OK) return s;
  if (found.n_in != NIn || found.n_out != NOut) return HEED_STATUS(HEED_SHAPE_MISMATCH, HEED_ARG_PACKED);
  w.c = found;
  return HEED_OK;
}

// Compares the bytes of packed weights that have a checksum with their sum.
template <int NIn, int NOut>
status check(const weights<NIn, NOut> &w) noexcept {
  return heed_weights_check(w.c);
}

// y = x w, or y = bias + x w.
template <int N, int NIn, int NOut>
status project(const float (&x)[N][NIn], const weights<NIn, NOut> &w, float (&y)[N][NOut],
               const heed_executor *executor = nullptr) noexcept {
  return heed_linear(heed_matrix_of(x[0], N, NIn), w.c, nullptr, heed_matrix_out_of(y[0], N, NOut), executor);
}
template <int N, int NIn, int NOut>
status project(const float (&x)[N][NIn], const weights<NIn, NOut> &w, const float (&bias)[NOut], float (&y)[N][NOut],
               const heed_executor *executor = nullptr) noexcept {
  return heed_linear(heed_matrix_of(x[0], N, NIn), w.c, bias, heed_matrix_out_of(y[0], N, NOut), executor);
}

// A convolution over time: y[t] = bias + the Kernel rows from x[t * Stride] on, times w, whose inputs are [Kernel][Channels].
template <int Kernel, int Stride, int N, int Channels, int NOut>
status convolve(const float (&x)[N][Channels], const weights<Kernel * Channels, NOut> &w, const float (&bias)[NOut],
                float (&y)[(N - Kernel) / Stride + 1][NOut], const heed_executor *executor = nullptr) noexcept {
  static_assert(Kernel <= N, "a window at least");
  return heed_linear(heed_windows_of(heed_matrix_of(x[0], N, Channels), Kernel, Stride), w.c, bias,
                     heed_matrix_out_of(y[0], (N - Kernel) / Stride + 1, NOut), executor);
}

// Rows of an embedding: rows[r] is a number of w's outputs.
template <int N, int NIn, int NOut>
status gather(const weights<NIn, NOut> &w, const int32_t (&rows)[N], float (&y)[N][NIn]) noexcept {
  return heed_gather_rows(w.c, rows, heed_matrix_out_of(y[0], N, NIn));
}

}  // namespace heed

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif
