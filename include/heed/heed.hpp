// heed for C++17: shapes and capacities that the compiler checks, in static storage. It is a thin layer over heed.h,
// which states what every call does. All of it is inline, without allocation, exceptions or the standard library.
//
//   static heed::sequence<98, 64> x, y;         // 98 rows of 64 floats: capacity, not length
//   static heed::workspace<64> scratch;
//   if (auto s = x.append(row); !s) puts(s.text());  // row: float[64], any other length does not compile
//   x.push(row);                                 // drops the oldest row when it is full
//   if (auto s = heed::self_attention(x, y, scratch); !s) puts(s.text());
//   y.row(0);                                    // float[64]
//
// With options, on arrays (token, head, dim) of 2 heads, 5 queries and 9 keys. The length of each array must fit:
//
//   heed::options<2, 5, 9> o;
//   o.window(4).softcap(30).mask(attend).lse(lse);   // uint8_t attend[5][9]; float lse[2][5]
//   o.causal = true;
//   if (auto s = heed::attention(q, k, v, out, scratch, o); !s) puts(s.text());
//
// Keys in portions, which may arrive one after another. All but the last have a multiple of 1024 keys:
//
//   static heed::partial<2, 5, 64> p;            // 2 heads, 5 queries, values of 64 floats
//   p.begin();
//   heed::attention(q, first_keys, first_values, p, scratch);
//   heed::attention(q, more_keys, more_values, p, scratch);
//   p.finish(out);
//
// A decoder layer of model dimension 64 with 4 heads of 16, 172 hidden numbers, and a cache of 512 tokens:
//
//   static heed::cache<512, 4, 16> kv;           // capacity, key/value heads, head_dim; ring_cache for a window
//   using decoder = heed::transformer_layer<64, 4, 4, 16, 172>;
//   static heed::layer_memory<decoder, 8> memory;  // for pieces of up to 8 tokens
//   heed::rope rotation(HEED_ROPE_INTERLEAVED);
//   decoder layer(heed_rms_norm, heed_silu);
//   layer.attention.projections(heed::out_in(wq), heed::out_in(wk), heed::out_in(wv), heed::out_in(wo));
//   layer.attention.rotate(rotation).keep(kv);
//   layer.norms_first().norm_weights(n1, n2);
//   layer.feed_forward(heed::out_in(up), heed::out_in(down)).gate(heed::out_in(gate));
//   kv.begin();
//   if (auto s = layer.run(x, x, memory); !s) puts(s.text());  // float x[n][64], n tokens more
//
// SPDX-License-Identifier: MIT
#ifndef HEED_HEED_HPP
#define HEED_HEED_HPP

#include "cache.hpp"
#include "heed.h"
#include "layers.hpp"
#include "options.hpp"
#include "rope.hpp"
#include "rows.hpp"
#include "types.hpp"
#include "views.hpp"

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // GCC finds one where an int is the bound of an array
#endif

namespace heed {

// A sequence of up to Capacity rows of Dim floats. The object holds them. It is all zeros when empty, so a static
// object takes no flash.
template <int Capacity, int Dim>
class sequence {
  static_assert(Capacity >= 1 && Capacity <= HEED_MAX_COUNT, "capacity out of range");
  static_assert(Dim >= 1 && Dim <= HEED_MAX_DIM, "dimension out of range");

 public:
  static constexpr int capacity = Capacity;  // rows that fit
  static constexpr int dim = Dim;            // floats of a row

  // The number of rows in use.
  constexpr int length() const noexcept { return length_; }
  // Is there no room for another row?
  constexpr bool full() const noexcept { return length_ == Capacity; }
  // Empties the sequence.
  void clear() noexcept { length_ = 0; }

  // Appends all rows. If they do not fit (HEED_FULL), it appends none.
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
  // Appends all rows. If there is no room, it drops the oldest rows.
  status push(heed_matrix rows) noexcept {
    heed_sequence s = c_sequence();
    const heed_status result = heed_sequence_push(&s, rows);
    length_ = s.length;
    return result;
  }
  status push(const float (&row)[Dim]) noexcept { return push(heed_matrix_of(row, 1, Dim)); }
  template <int N>
  status push(const float (&rows)[N][Dim]) noexcept {
    return push(heed_matrix_of(rows[0], N, Dim));
  }

  using row_type = float[Dim];  // a row
  // Row i, where i < length(). Row 0 is the oldest.
  row_type &row(int i) noexcept { return data_[i]; }
  const row_type &row(int i) const noexcept { return data_[i]; }

  // The rows in use, for the functions of heed.h.
  heed_matrix view() const noexcept { return heed_matrix_of(data_[0], length_, Dim); }
  operator heed_matrix() const noexcept { return view(); }  // the same

  template <int C, int D, int OutCapacity, int V, int Workers>
  friend status self_attention(const sequence<C, D> &, sequence<OutCapacity, D> &, workspace<D, V, Workers> &,
                               float) noexcept;
  template <int C, int D, int OutCapacity, int V, int Workers>
  friend status attention(const sequence<C, D> &, sequence<OutCapacity, D> &, workspace<D, V, Workers> &,
                          const options<1, C, C> &) noexcept;

 private:
  template <int C, int D>
  friend class sequence;
  heed_sequence c_sequence() const noexcept {
    return {static_cast<uint32_t>(sizeof(heed_sequence)), Capacity, Dim, length_, const_cast<float *>(data_[0])};
  }
  template <int OutCapacity, int V, int Workers>
  status attend(float scale, int32_t causal, const heed_options *o, sequence<OutCapacity, Dim> *out,
                workspace<Dim, V, Workers> &w) const noexcept {
    static_assert(V == Dim, "the workspace is for another dimension");
    static_assert(OutCapacity >= Capacity, "the result may not fit");
    const heed_sequence x = c_sequence();
    heed_sequence y = out->c_sequence();
    const heed_status result = heed_sequence_attention(&x, scale, causal, o, &y, w.memory());
    out->length_ = y.length;
    return result;
  }

  alignas(HEED_ALIGNMENT) float data_[Capacity][Dim] = {};
  int32_t length_ = 0;
};

// Plain self-attention of a sequence. It replaces the rows of out, which then has as many rows as x.
template <int C, int D, int OutCapacity, int V, int Workers>
status self_attention(const sequence<C, D> &x, sequence<OutCapacity, D> &out, workspace<D, V, Workers> &w,
                      float scale = HEED_SCALE_DEFAULT) noexcept {
  return x.attend(scale, 0, nullptr, &out, w);
}
// The same with options. Their position and executor are ignored.
template <int C, int D, int OutCapacity, int V, int Workers>
status attention(const sequence<C, D> &x, sequence<OutCapacity, D> &out, workspace<D, V, Workers> &w,
                 const options<1, C, C> &o) noexcept {
  return x.attend(o.scale, o.causal == causal_default ? 0 : o.causal, o.c_options(), &out, w);
}

// The call on arrays (token, head, dim), without its result.
template <int NQ, int NKV, int Heads, int KvHeads, int D, int V, int Workers>
heed_attention attention_call(const float (&q)[NQ][Heads][D], const float (&k)[NKV][KvHeads][D],
                              const float (&v)[NKV][KvHeads][V], workspace<D, V, Workers> &w,
                              const attention_options &options) noexcept {
  static_assert(Heads % KvHeads == 0, "the number of query heads is no multiple of the number of key heads");
  heed_attention call = heed_attention_of(q[0][0], k[0][0], v[0][0], NQ, NKV, Heads, KvHeads, D, nullptr, w.memory());
  call.v_dim = V;
  call.v = heed_token_major(v[0][0], NKV, KvHeads, V);
  set_options(&call, options);
  return call;
}

// Attention on arrays (token, head, dim). It is grouped if k and v have fewer heads than q, and cross-attention if they
// have other rows. It is not causal unless options.causal is true.
template <int NQ, int NKV, int Heads, int KvHeads, int D, int V, int Workers>
status attention(const float (&q)[NQ][Heads][D], const float (&k)[NKV][KvHeads][D], const float (&v)[NKV][KvHeads][V],
                 float (&out)[NQ][Heads][V], workspace<D, V, Workers> &w,
                 const attention_options &options = {}) noexcept {
  heed_attention call = attention_call(q, k, v, w, options);
  call.out = heed_token_major_out(out[0][0], NQ, Heads, V);
  return heed_attention_run(&call);
}
template <int NQ, int NKV, int Heads, int KvHeads, int D, int V, int Workers, int H, int Q, int K>
status attention(const float (&q)[NQ][Heads][D], const float (&k)[NKV][KvHeads][D], const float (&v)[NKV][KvHeads][V],
                 float (&out)[NQ][Heads][V], workspace<D, V, Workers> &w, const options<H, Q, K> &o) noexcept {
  static_assert(H == Heads && Q == NQ && K == NKV, "the options are for other shapes");
  heed_attention call = attention_call(q, k, v, w, o);
  call.out = heed_token_major_out(out[0][0], NQ, Heads, V);
  call.options = o.c_options();
  return heed_attention_run(&call);
}

// A status as `result`, if any array has numbers of 16 bits.
template <bool Any>
struct if_typed {};
template <>
struct if_typed<true> {
  using result = status;
};

// The same on arrays of float, half and bfloat16. They are converted while they are read, and such a result
// is rounded. For int8 use the functions of heed.h.
template <class TQ, class TK, class TV, class TOut, int NQ, int NKV, int Heads, int KvHeads, int D, int V, int Workers>
typename if_typed<number<TQ>::dtype + number<TK>::dtype + number<TV>::dtype + number<TOut>::dtype != 0>::result
attention(const TQ (&q)[NQ][Heads][D], const TK (&k)[NKV][KvHeads][D], const TV (&v)[NKV][KvHeads][V],
          TOut (&out)[NQ][Heads][V], workspace<D, V, Workers> &w, const options<Heads, NQ, NKV> &o = {}) noexcept {
  static_assert(Heads % KvHeads == 0, "the number of query heads is no multiple of the number of key heads");
  heed_typed_tensors typed;
  heed_typed_tensors_init(&typed);
  typed.q = heed_typed_token_major(q, nullptr, number<TQ>::dtype, NQ, Heads, D);
  typed.k = heed_typed_token_major(k, nullptr, number<TK>::dtype, NKV, KvHeads, D);
  typed.v = heed_typed_token_major(v, nullptr, number<TV>::dtype, NKV, KvHeads, V);
  typed.out = heed_typed_token_major_out(out, number<TOut>::dtype, NQ, Heads, V);
  heed_options c = *o.c_options();
  c.typed = &typed;
  heed_attention call = heed_attention_of(nullptr, nullptr, nullptr, NQ, NKV, Heads, KvHeads, D, nullptr, w.memory());
  call.v_dim = V;
  set_options(&call, o);
  call.options = &c;
  return heed_attention_run(&call);
}

// The same, but the keys are added to a partial result.
template <int NQ, int NKV, int Heads, int KvHeads, int D, int V, int Workers>
status attention(const float (&q)[NQ][Heads][D], const float (&k)[NKV][KvHeads][D], const float (&v)[NKV][KvHeads][V],
                 partial<Heads, NQ, V> &p, workspace<D, V, Workers> &w,
                 const attention_options &options = {}) noexcept {
  heed_attention call = attention_call(q, k, v, w, options);
  heed_options c = heed_options_default();
  c.partial = p.c_partial();
  call.options = &c;
  return heed_attention_run(&call);
}
template <int NQ, int NKV, int Heads, int KvHeads, int D, int V, int Workers, int H, int Q, int K>
status attention(const float (&q)[NQ][Heads][D], const float (&k)[NKV][KvHeads][D], const float (&v)[NKV][KvHeads][V],
                 partial<Heads, NQ, V> &p, workspace<D, V, Workers> &w, const options<H, Q, K> &o) noexcept {
  static_assert(H == Heads && Q == NQ && K == NKV, "the options are for other shapes");
  heed_attention call = attention_call(q, k, v, w, o);
  heed_options c = *o.c_options();
  c.partial = p.c_partial();
  call.options = &c;
  return heed_attention_run(&call);
}

}  // namespace heed

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif
