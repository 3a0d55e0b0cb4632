// Norms of rows (rule 16).
#ifndef HEED_GENERIC_NORMS_HPP
#define HEED_GENERIC_NORMS_HPP

#include "../../kernel_contract/row_steps.hpp"
#include "../../kernel_contract/root.hpp"
#include "elements.hpp"

namespace heed {

// 64 sums, halved to one register: sum[i mod 64] = step(sum, x[i]).
template <class V, class Step>
HEED_INLINE typename V::reg sums_of_row(const float *x, int32_t n, Step step) {
  constexpr int vecs = n_dot_sums / V::lanes;
  typename V::reg sum[vecs];
  HEED_UNROLL for (int u = 0; u < vecs; u++) sum[u] = V::set(0.0f);
  int32_t i = 0;
  for (; i + n_dot_sums <= n; i += n_dot_sums) {
    HEED_UNROLL for (int u = 0; u < vecs; u++) sum[u] = step(sum[u], V::load(x + i + u * V::lanes));
  }
  if (i < n && vecs <= 4) {
    const int32_t whole = (n - i) / V::lanes, left = (n - i) % V::lanes;
    x += i;
    HEED_UNROLL for (int u = 0; u < vecs; u++) {
      if (u < whole) sum[u] = step(sum[u], V::load(x + u * V::lanes));
    }
    if (left > 0) {
      typename V::reg last = sum[0];
      HEED_UNROLL for (int u = 1; u < vecs; u++) last = u == whole ? sum[u] : last;
      last = keep_first<V>(step(last, V::load_n(x + whole * V::lanes, left)), left, last);
      HEED_UNROLL for (int u = 0; u < vecs; u++) sum[u] = u == whole ? last : sum[u];
    }
  } else if (i < n) {  // more registers would be more code
    float sums[n_dot_sums];
    HEED_UNROLL for (int u = 0; u < vecs; u++) V::store(sums + u * V::lanes, sum[u]);
    for (float *to = sums; i < n; i += V::lanes, to += V::lanes) {
      const typename V::reg old = V::load(to);
      const int32_t left = n - i;
      if (left < V::lanes)
        V::store(to, keep_first<V>(step(old, V::load_n(x + i, left)), left, old));
      else
        V::store(to, step(old, V::load(x + i)));
    }
    HEED_UNROLL for (int u = 0; u < vecs; u++) sum[u] = V::load(sums + u * V::lanes);
  }
  HEED_UNROLL for (int half = vecs / 2; half > 0; half /= 2) {
    HEED_UNROLL for (int u = 0; u < half; u++) sum[u] = V::add(sum[u], sum[u + half]);
  }
  return sum[0];
}

// 1 / sqrt(sum / n + eps), 0 where that is no number that one can divide by.
HEED_INLINE float inverse_root(float sum, float n, float eps) { return reciprocal_of_row(square_root(sum / n + eps)); }

// Of each row, or nothing that is read. The mean is pivot + rest, which one float cannot hold.
struct means_of_rows {
  const float *pivot, *rest;
};

// A function of x: d = x - mean of row r, or x. What it needs of the row is read once.
template <class V, bool Centred>
HEED_INLINE auto distance_in_row(means_of_rows mean, int32_t r) {
  using reg = typename V::reg;
  if constexpr (Centred) {
    const reg pivot = V::set(mean.pivot[r]), rest = V::set(mean.rest[r]);
    return [=](reg x) HEED_INLINED { return V::sub(V::sub(x, pivot), rest); };
  } else {
    return [](reg x) HEED_INLINED { return x; };
  }
}

// y = d * factor * weight + bias of N registers from column i on, for all rows. What there is not is 1 and -0, which
// change no bit.
template <class V, bool Centred, int N, class Load, class Store>
HEED_INLINE void scale_columns(const norm_rows &b, means_of_rows mean, const float *factor, int32_t i, Load load,
                               Store store) {
  typename V::reg weight[N], bias[N];
  const float added = b.plus_one ? 1.0f : -0.0f;
  const typename V::reg to_weight = V::set(added);
  HEED_UNROLL for (int u = 0; u < N; u++) {
    weight[u] = b.weight ? V::add(load(b.weight + i + u * V::lanes), to_weight) : V::set(1.0f);
    bias[u] = b.bias ? load(b.bias + i + u * V::lanes) : V::set(-0.0f);
  }
  const float *x = b.x + i;
  float *y = b.y + i;
  for (int32_t r = 0; r < b.n_rows; r++, x += b.x_stride, y += b.y_stride) {
    const typename V::reg by = V::set(factor[r]);
    const auto distance = distance_in_row<V, Centred>(mean, r);
    typename V::reg d[N];
    HEED_UNROLL for (int u = 0; u < N; u++) d[u] = load(x + u * V::lanes);
    HEED_UNROLL for (int u = 0; u < N; u++) d[u] = V::mul(distance(d[u]), by);
    HEED_UNROLL for (int u = 0; u < N; u++) store(y + u * V::lanes, V::fma(d[u], weight[u], bias[u]));
  }
}

template <class V, bool Centred>
HEED_INLINE void scale_norm_rows(const norm_rows &b, means_of_rows mean, const float *factor) {
  const auto load = [](const float *p) HEED_INLINED { return V::load(p); };
  const auto store = [](float *p, typename V::reg r) HEED_INLINED { V::store(p, r); };
  constexpr int wide = elements_at_once<V>;
  int32_t i = 0;
  for (; i + wide * V::lanes <= b.dim; i += wide * V::lanes)
    scale_columns<V, Centred, wide>(b, mean, factor, i, load, store);
  for (; wide > 1 && i + V::lanes <= b.dim; i += V::lanes)
    scale_columns<V, Centred, 1>(b, mean, factor, i, load, store);
  const int32_t left = b.dim - i;
  if (left == 0) return;
  scale_columns<V, Centred, 1>(
      b, mean, factor, i, [=](const float *p) HEED_INLINED { return V::load_n(p, left); },
      [=](float *p, typename V::reg r) HEED_INLINED { V::store_n(p, r, left); });
}

// The same of long rows, n_dot_sums at a time without a rest, a row at a time: they wait for memory, not for weights or
// for what ends a row.
template <class V>
HEED_INLINE bool are_long_rows(const norm_rows &b) {
  return !V::compact && b.dim >= 256 && b.dim % n_dot_sums == 0;
}
template <class V, bool Centred>
HEED_INLINE void scale_long_rows(const norm_rows &b, means_of_rows mean, const float *factor) {
  const float *const weight = b.weight, *const bias = b.bias, *x = b.x;
  const float added = b.plus_one ? 1.0f : -0.0f;
  const typename V::reg to_weight = V::set(added);
  float *y = b.y;
  for (int32_t r = 0; r < b.n_rows; r++, x += b.x_stride, y += b.y_stride) {
    const typename V::reg by = V::set(factor[r]);
    const auto distance = distance_in_row<V, Centred>(mean, r);
    for (int32_t i = 0; i < b.dim; i += 4 * V::lanes) {
      typename V::reg d[4];
      HEED_UNROLL for (int u = 0; u < 4; u++) d[u] = V::mul(distance(V::load(x + i + u * V::lanes)), by);
      if (weight && bias) {
        HEED_UNROLL for (int u = 0; u < 4; u++) d[u] =
            V::fma(d[u], V::add(V::load(weight + i + u * V::lanes), to_weight), V::load(bias + i + u * V::lanes));
      } else if (weight) {
        HEED_UNROLL for (int u = 0; u < 4; u++) d[u] =
            V::mul(d[u], V::add(V::load(weight + i + u * V::lanes), to_weight));
      } else if (bias) {
        HEED_UNROLL for (int u = 0; u < 4; u++) d[u] = V::add(d[u], V::load(bias + i + u * V::lanes));
      }
      HEED_UNROLL for (int u = 0; u < 4; u++) V::store(y + i + u * V::lanes, d[u]);
    }
  }
}

HEED_INLINE float norm_weight_at(const norm_rows &b, int32_t i) {
  return b.plus_one ? 1.0f + b.weight[i] : b.weight[i];
}
// Without vectors no operation is free.
template <class V, bool Centred>
HEED_INLINE void scale_norm_one_lane(const norm_rows &b, means_of_rows mean, const float *factor) {
  for (int32_t r = 0; r < b.n_rows; r++) {
    const float *const x = b.x + r * b.x_stride;
    float *const y = b.y + r * b.y_stride;
    const float by = factor[r];
    const auto distance = distance_in_row<V, Centred>(mean, r);
    for (int32_t i = 0; i < b.dim; i++) {
      float d = distance(x[i]) * by;
      if (b.weight && b.bias)
        d = V::fma(d, norm_weight_at(b, i), b.bias[i]);
      else if (b.weight)
        d *= norm_weight_at(b, i);
      else if (b.bias)
        d += b.bias[i];
      y[i] = d;
    }
  }
}

// out[r] = sum[i mod 64] = step(sum, x[i]) and the tree, for all rows, where step = step_of(r).
template <class V, class StepOf>
HEED_INLINE void sums_of_rows(const norm_rows &b, float *out, StepOf step_of) {
  const float *x = b.x;
  if constexpr (V::lanes == 1) {
    for (int32_t r = 0; r < b.n_rows; r++, x += b.x_stride) {
      float sums[n_dot_sums];
      const auto step = step_of(r);
      for (int32_t u = 0; u < n_dot_sums; u++) {
        sums[u] = 0.0f;
        for (int32_t i = u; i < b.dim; i += n_dot_sums) sums[u] = step(sums[u], x[i]);
      }
      out[r] = tree_of_floats(sums, n_dot_sums);
    }
  } else {
    const ptrdiff_t stride = b.x_stride;
    const int32_t dim = b.dim;
    fold_each_row<V>(b.n_rows, out, add_lanes<V>(),
                     [=](int32_t r) HEED_INLINED { return sums_of_row<V>(x + r * stride, dim, step_of(r)); });
  }
}

// A few rows, whose means are known.
template <class V, bool Centred>
static HEED_NOINLINE void norm_around(const norm_rows &rows, means_of_rows mean) {
  const norm_rows b = rows;  // no store of a register can change it
  const float n = static_cast<float>(b.divisor);
  float factor[most_rows_abreast<V>];
  sums_of_rows<V>(b, factor, [=](int32_t r) HEED_INLINED {
    const auto distance = distance_in_row<V, Centred>(mean, r);
    return [=](auto sum, auto x) HEED_INLINED {
      const auto d = distance(x);
      return V::fma(d, d, sum);
    };
  });
  each_eight<V>(b.n_rows, [&](int32_t r) HEED_INLINED { factor[r] = inverse_root(factor[r], n, b.eps); });
  if constexpr (V::lanes == 1)
    scale_norm_one_lane<V, Centred>(b, mean, factor);
  else if (are_long_rows<V>(b))
    scale_long_rows<V, Centred>(b, mean, factor);
  else
    scale_norm_rows<V, Centred>(b, mean, factor);
}

template <class V, bool Centred>
static void norm_of_rows(const norm_rows &b) {
  [[maybe_unused]] const float n = static_cast<float>(b.dim);
  const int32_t most = rows_abreast<V>(b.dim);
  norm_rows part = b;
  for (int32_t left = b.n_rows; left > 0; left -= part.n_rows) {
    part.n_rows = smaller_of(left, most);
    if constexpr (Centred) {
      float pivot[most_rows_abreast<V>], rest[most_rows_abreast<V>];
      for (int32_t r = 0; r < part.n_rows; r++) pivot[r] = pivot_of_row(part.x + r * b.x_stride, b.dim);
      sums_of_rows<V>(part, rest, [&](int32_t r) HEED_INLINED {
        const typename V::reg near = V::set(pivot[r]);
        return [=](auto sum, auto x) HEED_INLINED { return V::add(sum, V::sub(x, near)); };
      });
      each_eight<V>(part.n_rows, [&](int32_t r) HEED_INLINED { rest[r] /= n; });
      norm_around<V, true>(part, {pivot, rest});
    } else {
      norm_around<V, false>(part, {});
    }
    part.x += part.n_rows * b.x_stride;
    part.y += part.n_rows * b.y_stride;
  }
}

}  // namespace heed

#endif
