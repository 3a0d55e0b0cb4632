// Functions of one element: tanh (rule 12), activations (rules 17 to 20 and 26), and the sum of two rows.
#ifndef HEED_GENERIC_ELEMENTS_HPP
#define HEED_GENERIC_ELEMENTS_HPP

#include "../../kernel_contract/row_steps.hpp"
#include "../vector.hpp"

namespace heed {

// exp(-x unit) for N registers, in two halves: first t and the rest g (x is then the exponent of 2), and when more has
// been added to g, the polynomial. unit is a power of two: it scales constants, not numbers.
template <class V, int N>
HEED_INLINE void exp_begin(typename V::reg (&x)[N], typename V::reg (&t)[N], typename V::reg (&g)[N], float unit) {
  typename V::reg n[N];
  HEED_UNROLL for (int u = 0; u < N; u++) g[u] = x[u];
  HEED_UNROLL for (int u = 0; u < N; u++) x[u] = V::mul(x[u], V::set(-log2e * unit));
  HEED_UNROLL for (int u = 0; u < N; u++) n[u] = V::rounded(x[u], t[u]);
  HEED_UNROLL for (int u = 0; u < N; u++) g[u] = V::fma(n[u], V::set(ln2_high / unit), g[u]);
  HEED_UNROLL for (int u = 0; u < N; u++) g[u] = V::fma(n[u], V::set(ln2_low / unit), g[u]);
}
// one, also a power of two, is what stands for 1 in the result.
template <class V, int N>
HEED_INLINE void exp_polynomial(typename V::reg (&g)[N], float unit, float one) {
  const float u1 = unit * one, u2 = unit * u1, u3 = unit * u2, u4 = unit * u3, u5 = unit * u4;
  const float coefficients[6] = {exp_c5 * u5, exp_c4 * u4, exp_c3 * u3, exp_c2 * u2, -u1, one};
  typename V::reg y[N];
  HEED_UNROLL for (int u = 0; u < N; u++) y[u] = V::set(exp_c6 * u5 * unit);
  HEED_UNROLL for (int c = 0; c < 6; c++) {
    HEED_UNROLL for (int u = 0; u < N; u++) y[u] = V::fma(y[u], g[u], V::set(coefficients[c]));
  }
  HEED_UNROLL for (int u = 0; u < N; u++) g[u] = y[u];
}

// r = 1 / -d within 1.3e-4, d negative (rule 18).
template <class V, int N>
HEED_INLINE void rough_inverse(const typename V::reg (&d)[N], typename V::reg (&r)[N]) {
  typename V::reg h[N];
  HEED_UNROLL for (int u = 0; u < N; u++) r[u] = V::inverse_guess(d[u]);
  HEED_UNROLL for (int u = 0; u < N; u++) h[u] = V::fma(d[u], r[u], V::set(1.0f));
  HEED_UNROLL for (int u = 0; u < N; u++) h[u] = V::fma(h[u], h[u], h[u]);
  HEED_UNROLL for (int u = 0; u < N; u++) r[u] = V::fma(h[u], r[u], r[u]);
}

// y = 1 / (1 + exp(-x)); for x that is far above 0 or infinite 1. Where fma rounds twice, d is in units that keep its
// products normal.
template <class V, int N>
HEED_INLINE void sigmoid(typename V::reg (&x)[N]) {
  constexpr float one = V::has_fma ? 1.0f : sigmoid_unit;
  typename V::reg t[N], g[N], d[N];
  exp_begin<V>(x, t, g, 1.0f);
  exp_polynomial<V>(g, 1.0f, one);
  HEED_UNROLL for (int u = 0; u < N; u++) d[u] = V::sub(V::set(-one), V::power(g[u], t[u], x[u]));
  rough_inverse<V>(d, x);
  HEED_UNROLL for (int u = 0; u < N; u++) x[u] = V::fma(V::fma(d[u], x[u], V::set(1.0f)), x[u], x[u]);
  if constexpr (!V::has_fma) {
    HEED_UNROLL for (int u = 0; u < N; u++) x[u] = V::mul(x[u], V::set(one));
  }
}

struct silu_function {
  template <class V, int N>
  static HEED_INLINE void apply(typename V::reg (&x)[N]) {
    typename V::reg y[N];
    HEED_UNROLL for (int u = 0; u < N; u++) y[u] = V::max(x[u], V::set(silu_least));
    sigmoid<V>(y);
    HEED_UNROLL for (int u = 0; u < N; u++) x[u] = V::zero_below(V::mul(x[u], y[u]), x[u], silu_least);
  }
};

struct gelu_tanh_function {
  template <class V, int N>
  static HEED_INLINE void apply(typename V::reg (&x)[N]) {
    typename V::reg y[N];
    HEED_UNROLL for (int u = 0; u < N; u++) {
      const typename V::reg from = V::max(x[u], V::set(gelu_tanh_least));
      y[u] = V::mul(from, V::fma(V::set(gelu_cubic), V::mul(from, from), V::set(gelu_linear)));
    }
    sigmoid<V>(y);
    HEED_UNROLL for (int u = 0; u < N; u++) x[u] = V::zero_below(V::mul(x[u], y[u]), x[u], gelu_tanh_least);
  }
};

struct gelu_function {
  template <class V, int N>
  static HEED_INLINE void apply(typename V::reg (&x)[N]) {
    using reg = typename V::reg;
    reg z[N], rest[N], e[N], t[N], g[N];
    HEED_UNROLL for (int u = 0; u < N; u++) {
      const reg minus = V::if_negative(x[u], x[u], V::sub(V::set(0.0f), x[u]));
      z[u] = V::max(minus, V::set(gelu_least));
      const reg coarse = V::sub(V::add(z[u], V::set(gelu_grid)), V::set(gelu_grid));
      rest[u] = V::mul(V::sub(z[u], coarse), V::add(z[u], coarse));
      e[u] = V::mul(coarse, coarse);
    }
    exp_begin<V>(e, t, g, 0.5f);
    HEED_UNROLL for (int u = 0; u < N; u++) g[u] = V::add(g[u], rest[u]);
    exp_polynomial<V>(g, 0.5f, 1.0f);
    HEED_UNROLL for (int u = 0; u < N; u++) e[u] = V::times_power(g[u], t[u]);
    quotient<V>(z, g);
    HEED_UNROLL for (int u = 0; u < N; u++) {
      const reg below = V::mul(e[u], g[u]);
      const reg phi = V::if_negative(x[u], below, V::sub(V::set(1.0f), below));
      x[u] = V::zero_below(V::mul(x[u], phi), x[u], gelu_least);
    }
  }

 private:
  // g = P(z) / -Q(z)
  template <class V, int N>
  static HEED_INLINE void quotient(const typename V::reg (&z)[N], typename V::reg (&g)[N]) {
    typename V::reg p[N], q[N], r[N];
    HEED_UNROLL for (int u = 0; u < N; u++) q[u] = V::fma(V::set(gelu_q[5]), z[u], V::set(gelu_q[4]));
    HEED_UNROLL for (int u = 0; u < N; u++) p[u] = V::set(gelu_p[4]);
    HEED_UNROLL for (int c = 3; c >= 0; c--) {
      HEED_UNROLL for (int u = 0; u < N; u++) q[u] = V::fma(q[u], z[u], V::set(gelu_q[c]));
      HEED_UNROLL for (int u = 0; u < N; u++) p[u] = V::fma(p[u], z[u], V::set(gelu_p[c]));
    }
    rough_inverse<V>(q, r);
    HEED_UNROLL for (int u = 0; u < N; u++) g[u] = V::mul(p[u], r[u]);
    HEED_UNROLL for (int u = 0; u < N; u++) g[u] = V::fma(V::fma(q[u], g[u], p[u]), r[u], g[u]);
  }
};

struct relu_function {
  template <class V, int N>
  static HEED_INLINE void apply(typename V::reg (&x)[N]) {
    HEED_UNROLL for (int u = 0; u < N; u++) x[u] = V::zero_below(x[u], x[u], -0.0f);
  }
};

// x = tanh(x) * factor for N registers, step by step side by side (rule 12).
template <class V, int N>
HEED_INLINE void capped_tanh(typename V::reg (&x)[N], float factor) {
  using reg = typename V::reg;
  constexpr float coefficients[5] = {exp2_c5, exp2_c4, exp2_c3, exp2_c2, exp2_c1};
  const reg zero = V::set(0.0f), one = V::set(1.0f);
  reg y[N], t[N], f[N], g[N], r[N];
  HEED_UNROLL for (int u = 0; u < N; u++) y[u] = V::mul(V::max(V::sub(zero, x[u]), x[u]), V::set(-2.0f * log2e));
  HEED_UNROLL for (int u = 0; u < N; u++) f[u] = V::sub(y[u], V::rounded(y[u], t[u]));
  HEED_UNROLL for (int u = 0; u < N; u++) g[u] = V::set(exp2_c6);
  HEED_UNROLL for (int c = 0; c < 5; c++) {
    HEED_UNROLL for (int u = 0; u < N; u++) g[u] = V::fma(g[u], f[u], V::set(coefficients[c]));
  }
  // g = 1 - e, without cancellation; d = -(1 + e) in [-2, -1]
  HEED_UNROLL for (int u = 0; u < N; u++) {
    const reg small = V::power(V::mul(g[u], f[u]), t[u], y[u]), power = V::power(one, t[u], y[u]);
    g[u] = V::sub(V::sub(one, power), small);
  }
  HEED_UNROLL for (int u = 0; u < N; u++) {
    const reg d = V::sub(g[u], V::set(2.0f));
    r[u] = V::fma(V::fma(V::set(tanh_r2), d, V::set(tanh_r1)), d, V::set(tanh_r0));  // 1 / -d within 1 %
    t[u] = d;
  }
  HEED_UNROLL for (int step = 0; step < 2; step++) {
    HEED_UNROLL for (int u = 0; u < N; u++) r[u] = V::fma(V::fma(t[u], r[u], one), r[u], r[u]);
  }
  HEED_UNROLL for (int u = 0; u < N; u++) {
    const reg q = V::mul(g[u], r[u]);
    g[u] = V::fma(V::fma(t[u], q, g[u]), r[u], q);
    const reg positive = V::zero_below(g[u], x[u], -0.0f);  // the sign: g where x is not negative, else -g
    x[u] = V::mul(V::sub(V::add(positive, positive), g[u]), V::set(factor));
  }
}

struct tanh_function {
  template <class V, int N>
  static HEED_INLINE void apply(typename V::reg (&x)[N]) {
    typename V::reg y[N];
    HEED_UNROLL for (int u = 0; u < N; u++) y[u] = x[u];
    capped_tanh<V>(y, 1.0f);
    HEED_UNROLL for (int u = 0; u < N; u++) {
      const typename V::reg size = V::max(V::sub(V::set(0.0f), x[u]), x[u]);
      x[u] = V::if_negative(V::sub(size, V::set(tanh_least)), x[u], y[u]);
    }
  }
};

struct sigmoid_function {
  template <class V, int N>
  static HEED_INLINE void apply(typename V::reg (&x)[N]) {
    typename V::reg y[N];
    HEED_UNROLL for (int u = 0; u < N; u++) y[u] = x[u];  // a NaN stays; what is below the least number becomes 0
    sigmoid<V>(y);
    HEED_UNROLL for (int u = 0; u < N; u++) x[u] = V::zero_below(y[u], x[u], sigmoid_least);
  }
};

// What becomes of an element and the one beside it: a function of one, times the other if there is one; or the sum.
template <class Function>
struct gated {
  template <class V, int N, class Other>
  static HEED_INLINE void apply(typename V::reg (&x)[N], bool has_other, Other other) {
    Function::template apply<V>(x);
    if (!has_other) return;
    HEED_UNROLL for (int u = 0; u < N; u++) x[u] = V::mul(x[u], other(u));
  }
};
struct sum {
  template <class V, int N, class Other>
  static HEED_INLINE void apply(typename V::reg (&x)[N], bool, Other other) {
    HEED_UNROLL for (int u = 0; u < N; u++) x[u] = V::add(x[u], other(u));
  }
};

// Several registers side by side: one alone is a chain of up to 35 dependent operations.
template <class V>
constexpr int elements_abreast() {
  if (V::compact) return 1;
  return V::lanes == 4 ? 2 : 4;
}
template <class V>
constexpr int elements_at_once = elements_abreast<V>();

template <class V, class Combination>
HEED_INLINE void each_of_row(const float *x, const float *other, float *y, ptrdiff_t n) {
  constexpr int at_once = elements_at_once<V>;
  constexpr ptrdiff_t width = at_once * V::lanes;
  float rest[3][width];
  for (ptrdiff_t i = 0; i < n; i += width) {
    const ptrdiff_t left = n - i;
    const float *from = x + i, *beside = offset_or_null(other, i);
    float *to = y + i;
    if (left < width) {  // the last ones pass through copies
      for (ptrdiff_t j = 0; j < width; j++) rest[0][j] = j < left ? from[j] : 0.0f;
      for (ptrdiff_t j = 0; other && j < width; j++) rest[1][j] = j < left ? beside[j] : 0.0f;
      from = rest[0], beside = rest[1], to = rest[2];
    }
    typename V::reg r[at_once];
    HEED_UNROLL for (int u = 0; u < at_once; u++) r[u] = V::load(from + u * V::lanes);
    Combination::template apply<V>(r, other != nullptr, [=](int u) { return V::load(beside + u * V::lanes); });
    HEED_UNROLL for (int u = 0; u < at_once; u++) V::store(to + u * V::lanes, r[u]);
    for (ptrdiff_t j = 0; left < width && j < left; j++) y[i + j] = rest[2][j];
  }
}

template <class V, class Combination>
static void each_element(const element_rows &r) {
  const float *other = r.other;
  for (int32_t row = 0; row < r.n_rows; row++) {
    each_of_row<V, Combination>(r.x + row * r.x_stride, other, r.y + row * r.y_stride, r.dim);
    if (other) other += r.other_stride;
  }
}

}  // namespace heed

#endif
