// Rotary embedding (rule 21).
#ifndef HEED_GENERIC_ROPE_HPP
#define HEED_GENERIC_ROPE_HPP

#include "../../kernel_contract/row_steps.hpp"
#include "../vector.hpp"

namespace heed {

// What the elements of a head are rotated by, as they lie. Neighbours: cos, cos, ... and -sin, sin, ...; halves: the
// cosines, and all -sin before all sin.
struct rope_table {
  float cos[2 * most_rope_pairs], sin[2 * most_rope_pairs];
};

// The angle from the nearest multiple of a quarter turn, in eighths of a turn; returns which quarter, 0 to 3.
HEED_INLINE uint32_t reduce_angle(uint64_t angle, float &z) {
  constexpr uint64_t eighth = static_cast<uint64_t>(1) << 61;
  const uint64_t shifted = angle + eighth;
  z = static_cast<float>(static_cast<int32_t>(static_cast<int64_t>(angle - (shifted >> 62 << 62)) >> 30)) * 0x1p-31f;
  return static_cast<uint32_t>(shifted >> 62);
}

// z becomes its sine, c its cosine, for n floats in memory; n may be rounded up to whole registers.
template <class V>
HEED_INLINE void sine_cosine(float *z, float *c, int32_t n) {
  using reg = typename V::reg;
  for (int32_t i = 0; i < n; i += V::lanes) {
    const reg x = V::load(z + i), x2 = V::mul(x, x);
    reg sin = V::fma(V::set(sin_c7), x2, V::set(sin_c5)), cos = V::fma(V::set(cos_c8), x2, V::set(cos_c6));
    sin = V::fma(sin, x2, V::set(sin_c3));
    cos = V::fma(cos, x2, V::set(cos_c4));
    sin = V::fma(sin, x2, V::set(sin_c1));
    cos = V::fma(cos, x2, V::set(cos_c2));
    V::store(z + i, V::mul(sin, x));
    V::store(c + i, V::fma(cos, x2, V::set(1.0f)));
  }
}

template <class V>
static HEED_NOINLINE void make_table(const rope_rows &b, int64_t position, rope_table &table) {
  float z[most_rope_pairs] = {}, c[most_rope_pairs];
  uint8_t quarters[most_rope_pairs];
  for (int32_t i = 0; i < b.n_pairs; i++)
    quarters[i] = static_cast<uint8_t>(reduce_angle(static_cast<uint64_t>(position) * b.frequencies[i], z[i]));
  sine_cosine<V>(z, c, b.n_pairs);
  if (b.factor != 1.0f) {  // a product with 1 would change no bit
    for (int32_t i = 0; i < b.n_pairs; i++) {
      z[i] *= b.factor;
      c[i] *= b.factor;
    }
  }
  const int32_t step = b.partner == 1 ? 2 : 1;
  const int32_t partner = b.partner == 1 ? 1 : b.n_pairs;
  for (int32_t i = 0; i < b.n_pairs; i++) {
    const bool swapped = quarters[i] & 1, negated = quarters[i] & 2;
    float cos = c[i], sin = z[i];
    if (swapped) cos = -z[i], sin = c[i];
    if (negated) cos = -cos, sin = -sin;
    const int32_t at = i * step;
    table.cos[at] = cos;
    if (step == 2) table.cos[at + 1] = cos;
    table.sin[at] = -sin;
    table.sin[at + partner] = sin;
  }
}

// n elements, pairs of neighbours.
template <class V>
HEED_INLINE void rotate_neighbours(const float *x, float *y, const rope_table &table, int32_t n) {
  if constexpr (V::lanes == 1) {
    for (int32_t i = 0; i < n; i += 2) {
      const float a = x[i], b = x[i + 1];
      y[i] = V::fma(a, table.cos[i], b * table.sin[i]);
      y[i + 1] = V::fma(b, table.cos[i + 1], a * table.sin[i + 1]);
    }
  } else {
    const auto rotate_pairs = [](auto from, auto cos, auto sin) {
      return V::fma(from, cos, V::mul(V::swap_pairs(from), sin));
    };
    int32_t i = 0;
    for (; i + V::lanes <= n; i += V::lanes)
      V::store(y + i, rotate_pairs(V::load(x + i), V::load(table.cos + i), V::load(table.sin + i)));
    const int32_t left = n - i;
    if (left == 0) return;
    V::store_n(y + i,
               rotate_pairs(V::load_n(x + i, left), V::load_n(table.cos + i, left), V::load_n(table.sin + i, left)),
               left);
  }
}

// n pairs, whose second elements lie `partner` behind.
template <class V>
HEED_INLINE void rotate_halves(const float *x, float *y, ptrdiff_t partner, const rope_table &table, int32_t n) {
  using reg = typename V::reg;
  const float *const minus_sin = table.sin, *const sin = table.sin + n;
  int32_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) {
    const reg a = V::load(x + i), b = V::load(x + partner + i), cos = V::load(table.cos + i);
    V::store(y + i, V::fma(a, cos, V::mul(b, V::load(minus_sin + i))));
    V::store(y + partner + i, V::fma(b, cos, V::mul(a, V::load(sin + i))));
  }
  if constexpr (V::lanes > 1) {
    const int32_t left = n - i;
    if (left == 0) return;
    const reg a = V::load_n(x + i, left), b = V::load_n(x + partner + i, left), cos = V::load_n(table.cos + i, left);
    V::store_n(y + i, V::fma(a, cos, V::mul(b, V::load_n(minus_sin + i, left))), left);
    V::store_n(y + partner + i, V::fma(b, cos, V::mul(a, V::load_n(sin + i, left))), left);
  }
}

template <class V>
static void rope(const rope_rows &b) {
  rope_table table;
  for (int32_t t = 0; t < b.n_tokens; t++) {
    const int64_t position = b.positions ? b.positions[t] : b.position + t;
    make_table<V>(b, position, table);
    for (int32_t h = 0; h < b.n_heads; h++) {
      const float *x = b.x + t * b.x_token_stride + h * b.x_head_stride;
      float *y = b.y + t * b.y_token_stride + h * b.y_head_stride;
      if (b.partner == 1)
        rotate_neighbours<V>(x, y, table, 2 * b.n_pairs);
      else
        rotate_halves<V>(x, y, b.partner, table, b.n_pairs);
    }
  }
}

}  // namespace heed

#endif
