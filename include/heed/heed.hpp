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
// A cache of 512 tokens, which holds its memory, and every function of C with views of arrays (see views.hpp):
//
//   static heed::cache<512, 4, 16> kv;           // capacity, key/value heads, head_dim; ring_cache for a window
//   kv.begin();
//   kv.append(k, v, &rope);                      // or null; float k[n][4][16]
//   heed::attention(q, kv, out, scratch);
//   heed_rms_norm(heed::rows(x), weight, nullptr, 1e-5f, heed::rows(x), nullptr);
//
// SPDX-License-Identifier: MIT
#ifndef HEED_HEED_HPP
#define HEED_HEED_HPP

#include "cache.hpp"
#include "options.hpp"
#include "types.hpp"
#include "views.hpp"

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // GCC warns where an int is the bound of an array
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

  // Appends all rows: float[Dim], float[N][Dim], or a heed_matrix. If they do not fit (HEED_FULL), it appends none.
  template <class Rows>
  status append(const Rows &rows) noexcept {
    return change(heed_sequence_append, rows);
  }
  // Appends all rows. If there is no room, it drops the oldest rows.
  template <class Rows>
  status push(const Rows &rows) noexcept {
    return change(heed_sequence_push, rows);
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
  static heed_matrix matrix_of(const float (&x)[Dim]) noexcept { return heed::row(x); }
  template <int N>
  static heed_matrix matrix_of(const float (&x)[N][Dim]) noexcept {
    return rows(x);
  }
  static heed_matrix matrix_of(heed_matrix x) noexcept { return x; }
  template <class Rows>
  status change(heed_status (*how)(heed_sequence *, heed_matrix), const Rows &rows) noexcept {
    heed_sequence s = c_sequence();
    const heed_status result = how(&s, matrix_of(rows));
    length_ = s.length;
    return result;
  }
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
    const heed_status result = heed_sequence_attention(&x, scale, causal, o, &y, w);
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

// A call on arrays (token, head, dim) of floats, without its result.
template <int NQ, int NKV, int Heads, int KvHeads, int D, int V, class Options>
heed_attention attention_call(const float (&q)[NQ][Heads][D], const float (&k)[NKV][KvHeads][D],
                              const float (&v)[NKV][KvHeads][V], heed_memory w, const Options &o) noexcept {
  static_assert(Heads % KvHeads == 0, "the number of query heads is no multiple of the number of key heads");
  static_assert(Options::template fits<Heads, NQ, NKV>, "the options are for other shapes");
  heed_attention call = heed_attention_of(q[0][0], k[0][0], v[0][0], NQ, NKV, Heads, KvHeads, D, nullptr, w);
  call.v_dim = V;
  call.v = heads(v);
  set_options(&call, o);
  return call;
}

// Attention on arrays (token, head, dim). It is grouped if k and v have fewer heads than q, and cross-attention if they
// belong to another sequence. It is not causal unless o.causal is true. o is attention_options or
// options<Heads, NQ, NKV>.
template <int NQ, int NKV, int Heads, int KvHeads, int D, int V, int Workers, class Options = attention_options>
status attention(const float (&q)[NQ][Heads][D], const float (&k)[NKV][KvHeads][D], const float (&v)[NKV][KvHeads][V],
                 float (&out)[NQ][Heads][V], workspace<D, V, Workers> &w, const Options &o = {}) noexcept {
  heed_attention call = attention_call(q, k, v, w, o);
  call.out = heads(out);
  return heed_attention_run(&call);
}

// The same, but the keys are added to a partial result.
template <int NQ, int NKV, int Heads, int KvHeads, int D, int V, int Workers, class Options = attention_options>
status attention(const float (&q)[NQ][Heads][D], const float (&k)[NKV][KvHeads][D], const float (&v)[NKV][KvHeads][V],
                 partial<Heads, NQ, V> &p, workspace<D, V, Workers> &w, const Options &o = {}) noexcept {
  heed_attention call = attention_call(q, k, v, w, o);
  heed_options c = call.options != nullptr ? *call.options : heed_options_default();
  c.partial = p.c_partial();
  call.options = &c;
  return heed_attention_run(&call);
}

// The same on arrays of float, half and bfloat16. half and bfloat16 are converted while they are read, and a result in
// them is rounded. For int8 use the functions of C.
template <class TQ, class TK, class TV, class TOut, int NQ, int NKV, int Heads, int KvHeads, int D, int V, int Workers,
          class Options = attention_options>
status attention(const TQ (&q)[NQ][Heads][D], const TK (&k)[NKV][KvHeads][D], const TV (&v)[NKV][KvHeads][V],
                 TOut (&out)[NQ][Heads][V], workspace<D, V, Workers> &w, const Options &o = {}) noexcept {
  static_assert(Heads % KvHeads == 0, "the number of query heads is no multiple of the number of key heads");
  static_assert(Options::template fits<Heads, NQ, NKV>, "the options are for other shapes");
  heed_typed_tensors typed;
  heed_typed_tensors_init(&typed);
  typed.q = heads(q);
  typed.k = heads(k);
  typed.v = heads(v);
  typed.out = heads(out);
  heed_attention call = heed_attention_of(nullptr, nullptr, nullptr, NQ, NKV, Heads, KvHeads, D, nullptr, w);
  call.v_dim = V;
  set_options(&call, o);
  heed_options c = call.options != nullptr ? *call.options : heed_options_default();
  c.typed = &typed;
  call.options = &c;
  return heed_attention_run(&call);
}

}  // namespace heed

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#endif
