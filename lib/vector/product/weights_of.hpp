// The weights of a product, in one dtype, and the prefetch of their rows.
#ifndef HEED_WEIGHTS_OF_HPP
#define HEED_WEIGHTS_OF_HPP

#include "../widen.hpp"
#include "tile.hpp"

namespace heed {

// Weights of one format.
template <class T>
struct weights_of {
  const T *data;
  ptrdiff_t stride;
  const float *scales;
  const T *zeros;                 // weight_byte alone, and so are the next three
  int32_t scale_step, zero_step;  // 1; 0: all columns have the same ones, of which there are `lanes`
  uint32_t flip;

  template <class V>
  HEED_INLINE scaling<V, T> scale(V, int32_t column) const {
    scaling<V, T> s = {};
    if constexpr (has_zero_point(T())) {
      s.flip = flip;
      s.scale = V::load(scales + column * scale_step);
      s.zero = V::masked(V::load(zeros + column * zero_step), ~0u, 0x4b000000 | flip);
    } else if constexpr (sizeof(T) == 1) {
      s.scale = V::load(scales + column);
    }
    return s;
  }
  // The same for transpose_rows, whose code is that of other rows.
  template <class V>
  HEED_INLINE auto scale_of_rows(V, int32_t column) const {
    if constexpr (has_zero_point(T()))
      return scale(V(), column);
    else
      return scale(V(), column).scale;
  }
  HEED_INLINE weights_of from(int32_t column, bool out_in) const {
    weights_of w = *this;
    w.data += out_in ? column * stride : column;
    if (sizeof(T) == 1) w.scales += column * (has_zero_point(T()) ? scale_step : 1);
    if (has_zero_point(T())) w.zeros += column * zero_step;
    return w;
  }
};

// The one scale, or the one zero point, of all columns, as often as a step reads it.
template <class V>
struct one_for_all {
  float scales[V::lanes];
  weight_byte zeros[4 * V::lanes];
};
template <class V, class T>
HEED_INLINE weights_of<T> weights_in(const stored_weights &s, one_for_all<V> &one) {
  weights_of<T> w = {static_cast<const T *>(s.data), s.stride, s.scales, nullptr, 1, 1, 0};
  if constexpr (has_zero_point(T())) {
    w.zeros = reinterpret_cast<const weight_byte *>(s.zeros);
    w.flip = static_cast<uint32_t>(flip_of(s));
    const weight_byte zero = w.zeros ? *w.zeros : weight_byte{0};
    for (int l = 0; l < V::lanes; l++) one.scales[l] = *s.scales;
    for (weight_byte &to : one.zeros) to = zero;
    if (s.one_scale) w.scales = one.scales, w.scale_step = 0;
    if (s.one_scale || !w.zeros) w.zeros = one.zeros, w.zero_step = 0;
  }
  return w;
}

// Rows of w are read some abreast. Meanwhile those behind them are asked for, at the same columns: in all, memory is read
// in its order, and each row is asked for well before it is needed. Asking a few lines ahead in each row took up to twice
// as long, and so did asking for nothing.
template <class T>
HEED_INLINE void fetch(const T *p) {
  __builtin_prefetch(p, 0, 2);
}

// Rows of outputs that are shorter have no more than some lines to ask for, and 64 x 172 lies in a cache: there it cost a
// tenth, a third with 8 lanes and one row.
template <class T>
HEED_INLINE bool repays_fetching(const weights_of<T> &w) {
  return w.stride >= 512 / static_cast<ptrdiff_t>(sizeof(T));
}

}  // namespace heed

#endif
