// heed for C++17: shapes and capacities that the compiler checks, in static storage. A thin layer over heed.h, which
// says what every call does; all of it inline, without allocation, exceptions or the standard library.
//
//   static heed::sequence<98, 64> x, y;         // 98 rows of 64 floats: capacity, not length
//   static heed::workspace<64> scratch;
//   if (auto s = x.append(row); !s) puts(s.text());  // row: float[64], any other length does not compile
//   if (auto s = heed::self_attention(x, y, scratch); !s) puts(s.text());
//   y.row(0);                                    // float[64]
//
// SPDX-License-Identifier: MIT
#ifndef HEED_HEED_HPP
#define HEED_HEED_HPP

#include "heed.h"

namespace heed {

// What a call returned: true when it succeeded.
class [[nodiscard]] status {
 public:
  constexpr status(heed_status code) noexcept : code_(code) {}
  constexpr explicit operator bool() const noexcept { return code_ == HEED_OK; }
  constexpr heed_status code() const noexcept { return code_; }
  constexpr heed_fault fault() const noexcept { return static_cast<heed_fault>(HEED_STATUS_FAULT(code_)); }
  constexpr heed_argument argument() const noexcept { return static_cast<heed_argument>(HEED_STATUS_ARGUMENT(code_)); }
  const char *text() const noexcept { return heed_status_text(code_); }
  const char *argument_text() const noexcept { return heed_status_argument(code_); }

 private:
  heed_status code_;
};

// Working memory of attention for rows of HeadDim and values of VDim floats, a piece for each worker of an executor.
template <int HeadDim, int VDim = HeadDim, int Workers = 1>
struct workspace {
  static_assert(HeadDim >= 1 && HeadDim <= HEED_MAX_DIM && VDim >= 1 && VDim <= HEED_MAX_DIM, "dimension out of range");
  static_assert(Workers >= 1 && Workers <= HEED_MAX_WORKERS, "number of workers out of range");
  static constexpr size_t n_bytes = Workers * HEED_WORKSPACE_BYTES(HeadDim, VDim);
  alignas(HEED_WORKSPACE_ALIGNMENT) unsigned char bytes[n_bytes];
};

// Up to Capacity rows of Dim floats. The object holds them; it is all zeros when empty, so a static one costs no flash.
template <int Capacity, int Dim>
class sequence {
  static_assert(Capacity >= 1 && Capacity <= HEED_MAX_COUNT, "capacity out of range");
  static_assert(Dim >= 1 && Dim <= HEED_MAX_DIM, "dimension out of range");

 public:
  static constexpr int capacity = Capacity, dim = Dim;

  constexpr int length() const noexcept { return length_; }
  constexpr bool full() const noexcept { return length_ == Capacity; }
  void clear() noexcept { length_ = 0; }

  // All rows or, when they do not fit (HEED_FULL), none.
  status append(heed_matrix rows) noexcept {
    heed_sequence s = c_sequence();
    const heed_status result = heed_sequence_append(&s, rows);
    length_ = s.length;
    return result;
  }
  status append(const float (&row)[Dim]) noexcept { return append(heed_matrix_of(row, 1, Dim)); }
  template <int N>
  status append(const float (&rows)[N][Dim]) noexcept {
    return append(heed_matrix_of(rows[0], N, Dim));
  }

  using row_type = float[Dim];
  row_type &row(int i) noexcept { return data_[i]; }  // i < length()
  const row_type &row(int i) const noexcept { return data_[i]; }

  // For the functions of heed.h.
  heed_matrix view() const noexcept { return heed_matrix_of(data_[0], length_, Dim); }

  template <int C, int D, int OutCapacity, int V, int Workers>
  friend status self_attention(const sequence<C, D> &, sequence<OutCapacity, D> &, workspace<D, V, Workers> &,
                               float) noexcept;

 private:
  heed_sequence c_sequence() const noexcept {
    return {static_cast<uint32_t>(sizeof(heed_sequence)), Capacity, Dim, length_, const_cast<float *>(data_[0])};
  }

  alignas(64) float data_[Capacity][Dim] = {};
  int32_t length_ = 0;
};

// Plain self-attention of a sequence into another, which then has as many rows. scale 0: 1/sqrt(D).
template <int C, int D, int OutCapacity, int V, int Workers>
status self_attention(const sequence<C, D> &x, sequence<OutCapacity, D> &out, workspace<D, V, Workers> &w,
                      float scale = 0) noexcept {
  static_assert(V == D, "the workspace is for another dimension");
  static_assert(OutCapacity >= C, "the result may not fit");
  const heed_sequence cx = x.c_sequence();
  heed_sequence c_out = out.c_sequence();
  const heed_status result = heed_sequence_self_attention(&cx, scale, &c_out, w.bytes, w.n_bytes);
  out.length_ = c_out.length;
  return result;
}

// How attention may differ from the plain one; the fields of heed_attention.
struct attention_options {
  float scale = 0;
  bool causal = false;
  int32_t causal_offset = 0;
  const heed_executor *executor = nullptr;
};

// Attention on arrays (token, head, dim): multi-head, grouped if k and v have fewer heads, cross if they have other
// rows.
template <int NQ, int NKV, int Heads, int KvHeads, int D, int V, int Workers>
status attention(const float (&q)[NQ][Heads][D], const float (&k)[NKV][KvHeads][D], const float (&v)[NKV][KvHeads][V],
                 float (&out)[NQ][Heads][V], workspace<D, V, Workers> &w,
                 const attention_options &options = {}) noexcept {
  static_assert(Heads % KvHeads == 0, "the number of query heads is no multiple of the number of key heads");
  heed_attention call =
      heed_attention_of(NQ, NKV, Heads, KvHeads, D, q[0][0], k[0][0], v[0][0], out[0][0], w.bytes, w.n_bytes);
  call.v_dim = V;
  call.v = heed_token_major(v[0][0], NKV, KvHeads, V);
  call.out = heed_token_major_out(out[0][0], NQ, Heads, V);
  call.scale = options.scale;
  call.causal = options.causal;
  call.causal_offset = options.causal_offset;
  call.executor = options.executor;
  return heed_attention_run(&call);
}

}  // namespace heed

#endif
