// Numbers of fewer bits become floats (rule 22). Two ways to load them, both by the model V:
//   V::load(p)                 `lanes` consecutive numbers
//   V::columns(p, stride, f)   columns_of<V, T> numbers of each of `lanes` rows, transposed: f(constant<i>(), column i
//                              as a register), i ascending
// p is a pointer to f16, bf16, int8_t or weight_byte, columns' also to float; int8 come without their scale, and
// weight_byte as words, the bits of their bytes: scaled() makes numbers of them. A model has what its
// instruction set does well and takes the rest from here: load_narrow, load_narrow4, columns_each, columns_of_floats.
#ifndef HEED_GENERIC_WIDEN_HPP
#define HEED_GENERIC_WIDEN_HPP

#include "../kernel_contract/numbers.hpp"
#include "vector.hpp"

namespace heed {

// Of a row, in one step of V::columns: 16 bytes; with 16 lanes 16 numbers, so that rows far apart in memory, whose
// cache lines push each other out, are read by whole lines; 4 where code is to be small.
template <class V, class T>
constexpr int columns_of_step() {
  if (V::lanes == 16) return 16;
  return V::compact ? 4 : 16 / static_cast<int>(sizeof(T));
}
template <class V, class T>
constexpr int columns_of = columns_of_step<V, T>();

// ---- for models without instructions for it

template <class V, class T>
HEED_INLINE typename V::reg load_narrow(const T *p) {
  float lanes[V::lanes];
  HEED_UNROLL for (int i = 0; i < V::lanes; i++) lanes[i] = widen(p[i]);
  return V::load(lanes);
}

template <class V, class T>
HEED_INLINE typename V::reg load_column(const T *p, ptrdiff_t stride) {
  float lanes[V::lanes];
  for (int l = 0; l < V::lanes; l++) lanes[l] = widen(p[l * stride]);
  return V::load(lanes);
}

template <class V, class T, class F>
HEED_INLINE void columns_each(const T *p, ptrdiff_t stride, F f) {
  for_each_constant<columns_of<V, T>>([&](auto i)
                                          HEED_INLINED { f(i, load_column<V>(p + decltype(i)::value, stride)); });
}

template <class V, class F>
HEED_INLINE void columns_of_floats(const float *p, ptrdiff_t stride, F f) {
  typename V::reg columns[4];
  V::transpose4(p, stride, columns);
  for_each_constant<4>([&](auto i) HEED_INLINED { f(i, columns[decltype(i)::value]); });
}

// Four lanes in the compiler's own vector types, which it maps to registers; a model converts with its own type.
typedef int32_t words4 __attribute__((vector_size(16)));
typedef float floats4 __attribute__((vector_size(16)));

HEED_INLINE floats4 widen_four(f16, words4 x) {
  const words4 size = x & 0x7fff;
  const floats4 small = __builtin_convertvector(size, floats4) * 0x1p-24f;  // never subnormal: some units flush those
  const words4 large = (size << 13) + (112 << 23) + ((size > 0x7bff) & (112 << 23)), is_small = size < 0x400;
  return reinterpret_cast<floats4>((is_small & reinterpret_cast<words4>(small)) | (~is_small & large) |
                                   (x & 0x8000) << 16);
}
HEED_INLINE floats4 widen_four(bf16, words4 x) { return reinterpret_cast<floats4>(x << 16); }
HEED_INLINE floats4 widen_four(int8_t, words4 x) { return __builtin_convertvector(x, floats4); }
HEED_INLINE floats4 widen_four(weight_byte, words4 x) { return reinterpret_cast<floats4>(x); }

HEED_INLINE int32_t word_of(f16 x) { return x.bits; }
HEED_INLINE int32_t word_of(bf16 x) { return x.bits; }
HEED_INLINE int32_t word_of(int8_t x) { return x; }
HEED_INLINE int32_t word_of(weight_byte x) { return x.bits; }

template <class T>
HEED_INLINE floats4 load_narrow4(const T *p, ptrdiff_t stride = 1) {
  return widen_four(T(), words4{word_of(p[0]), word_of(p[stride]), word_of(p[2 * stride]), word_of(p[3 * stride])});
}

template <class V, class T, class F>
HEED_INLINE void columns_each4(const T *p, ptrdiff_t stride, F f) {
  for_each_constant<columns_of<V, T>>([&](auto i) HEED_INLINED {
    f(i, reinterpret_cast<typename V::reg>(load_narrow4(p + decltype(i)::value, stride)));
  });
}

// ---- weights with a scale, and a zero point, for each output

// Of a register of outputs. A byte is the last bits of 2^23 + number by one operation of bits; a difference takes away
// the zero point's. Formats other than bytes have neither.
template <class V, class T>
struct scaling {
  typename V::reg scale, zero;  // 2^23 + zero point
  uint32_t flip;
};
// From a word that has the byte alone, or, of 16 bits, as its second one (the last bits of 2^15 + number), or its first.
template <class V>
HEED_INLINE typename V::reg of_byte(typename V::reg word, const scaling<V, weight_byte> &s, uint32_t mask = ~0u) {
  return V::mul(V::sub(V::masked(word, mask, 0x4b000000 | s.flip), s.zero), s.scale);
}
template <class V>
HEED_INLINE typename V::reg of_second_byte(typename V::reg word, const scaling<V, weight_byte> &s) {
  const typename V::reg zero = V::sub(s.zero, V::set(0x1p23f - 0x1p15f));
  return V::mul(V::sub(V::masked(word, 0xff00, 0x47000000 | s.flip << 8), zero), s.scale);
}

// ---- rows

// A number that int8 are multiplied by; other formats have none.
template <class V, class T>
HEED_INLINE typename V::reg scaled(typename V::reg x, typename V::reg scale) {
  if constexpr (sizeof(T) == 1)
    return V::mul(x, scale);
  else
    return (void)scale, x;
}
template <class V, class T>
HEED_INLINE typename V::reg scaled(typename V::reg x, const scaling<V, T> &s) {
  if constexpr (has_zero_point(T()))
    return of_byte<V>(x, s);
  else
    return scaled<V, T>(x, s.scale);
}
template <class T>
HEED_INLINE float widen(T x, float scale) {
  if constexpr (sizeof(T) == 1)
    return widen(x) * scale;
  else
    return (void)scale, widen(x);
}

// to[0, n) = from[0, n): a row of a cache, with its scale.
template <class V, class T>
HEED_INLINE void widen_row(float *to, const T *from, int32_t n, float scale) {
  int32_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) V::store(to + i, scaled<V, T>(V::load(from + i), V::set(scale)));
  for (; i < n; i++) to[i] = widen(from[i], scale);
}

// V::columns of scaled numbers. Bytes are found in words of 4 that are transposed, if the model does that.
template <class V, class T, class S, class F>
HEED_INLINE void scaled_columns(const T *p, ptrdiff_t stride, const S &scale, F f) {
  using reg = typename V::reg;
  if constexpr (!has_zero_point(T()) || !V::transposes_words) {
    V::columns(p, stride, [&](auto i, reg x) HEED_INLINED { f(i, scaled<V, T>(x, scale)); });
  } else {
    reg words[4];
    V::transpose_words(reinterpret_cast<const char *>(p), stride, words);
    for_each_constant<4>([&](auto w) HEED_INLINED {
      constexpr int i = 4 * decltype(w)::value;
      reg word = words[decltype(w)::value];
      for_each_constant<2>([&](auto pair) HEED_INLINED {
        constexpr int j = 2 * decltype(pair)::value;
        if constexpr (V::shuffles_bytes) {
          f(constant<i + j>(), of_byte<V>(V::shuffle_bytes(word, V::byte_order(j)), scale));
          f(constant<i + j + 1>(), of_byte<V>(V::shuffle_bytes(word, V::byte_order(j + 1)), scale));
        } else {
          if (j > 0) word = V::template shift_down<16>(word);
          f(constant<i + j>(), of_byte<V>(word, scale, 0xff));
          f(constant<i + j + 1>(), of_second_byte<V>(word, scale));
        }
      });
    });
  }
}

// to[i * to_stride + r] = from[r * stride + i], scaled, i < n_columns, for `lanes` rows: rows become columns.
template <class V, class T, class S>
static HEED_NOINLINE void transpose_rows(float *to, ptrdiff_t to_stride, const T *from, ptrdiff_t stride,
                                         int32_t n_columns, S scale) {
  constexpr int step = columns_of<V, T>;
  for (int32_t i = 0; i < n_columns; i += step) {
    if (i + step > n_columns) {
      if (i > 0) {  // the last ones, again, with those before them
        i = n_columns - step;
      } else {
        for (; i < n_columns; i++) V::store(to + i * to_stride, scaled<V, T>(load_column<V>(from + i, stride), scale));
        return;
      }
    }
    scaled_columns<V>(from + i, stride, scale, [&](auto j, typename V::reg x) HEED_INLINED {
      V::store(to + (i + decltype(j)::value) * to_stride, x);
    });
  }
}

}  // namespace heed

#endif
