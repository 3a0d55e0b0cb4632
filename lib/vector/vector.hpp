// The small vector interface, and what can be said in its terms alone. An algorithm is written once, as a template over
// a model V of it; an AVX-512 register, a NEON register, 16 floats in an array and one float are models (lib/isa).
//
//   V::reg, V::lanes                 a register of `lanes` floats; lanes divides 16
//   load(p) store(p, r) set(x)       unaligned; set broadcasts
//   load_n(p, n) store_n(p, r, n)    the first n lanes, 0 <= n <= lanes; the others are +0, their memory is not touched
//   add sub mul fma(a, b, c)         fma = a * b + c in the model's arithmetic
//   fma                            fma rounds once
//   factor(x)                        what fma takes as its first argument for the number x: a broadcast register, or x
//   factors_at_once                  1, or of how many numbers in a register fma_factor<I>(x, b, c) takes number I as
//                                    the first factor: then none needs a register of its own
//   max(a, b)                        a > b ? a : b, so a NaN in a is passed over
//   zero_below(y, x, limit)          x < limit ? +0 : y; y where x is NaN; the limit is -0 or less
//   hide(x, flags, bits)             x where flags, as a word, has one of the bits; else -infinity
//   rounded(x, &t)                   round(x); t keeps it in a form that power() understands
//   times_power(y, t)                y * 2^round(x), which is a normal number
//   power(y, t, x)                   the same, or +0 where x is below the cut-off; NaN where x is NaN
//   inverse_guess(d)                 -1 / d within 1/19: the bits of d subtracted from a constant; d < 0
//   if_negative(x, a, b)             a where x is negative, else b; either where it is -0 or NaN
//   fold8(p, out, op)                where there are 16 lanes: out[r] = op by halves, as in tree, over p[16 r] and the 15
//                                    after it, r < 8
//   tree(r)                          the sum of the lanes by halves: i + (i + lanes / 2), ...; not where there is one
//   swap_pairs(r)                    lanes 1, 0, 3, 2, ...; not where there is one lane
//   transpose4(p, stride, out)       out[i] lane l = p[l * stride + i], i < 4
//   load(p) columns(p, stride, f)    the same of narrow numbers, widened: widen.hpp
//   masked(r, mask, flip)            (r & mask) ^ flip of each lane's bits
//   shift_down<N>(r)                 each lane's bits moved down by N
//   loads_narrow                     load(p) of them is some instructions: few rows then take them as they lie; else
//   they
//                                    pass through pieces of floats on the stack
//   pin(r)                           keeps a shared register from being folded back into memory operands
//   score_keys x score_vecs          register tile of q k^T with queries as lanes
//   sum_rows x sum_vecs              register tile of p v and x w
//   compact                          fewer sizes of tiles: less code, for microcontrollers
//   rows(stride) column(p, rows)     compact models alone: a number of each of `lanes` rows that lie `stride` apart
//   masked(w, mask, flip) shift_down<N>(w) shuffles_bytes finds_nibbles ...
//                                    numbers within 32-bit words: product/packed_words.hpp
//   each_byte(p, f) bytes_of_nibbles(w) in_turn(r, p)
//                                    compact models that load narrow numbers: product/compact_packed.hpp
//   copies_panels                    a projection may copy columns of w to 6 KB of stack
//
// Every function here and in the models is static or a template over a type of an anonymous namespace: a weak symbol
// compiled with AVX-512 flags could replace the baseline's copy at link time and crash an older processor.
#ifndef HEED_GENERIC_VECTOR_HPP
#define HEED_GENERIC_VECTOR_HPP

#include "../kernel_contract/kernel.hpp"

// GCC 12 leaves loops over register arrays rolled at -O2, which is 2.5 times slower. Clang's sanitizers take minutes
// for unrolled ones.
#ifndef __clang__
#define HEED_UNROLL _Pragma("GCC unroll 64")
#elif __has_feature(address_sanitizer)
#define HEED_UNROLL
#else
#define HEED_UNROLL _Pragma("clang loop unroll(full)")
#endif

namespace heed {

// Few rows wait for memory. A panel of packed weights is read in its order, and others lie behind it: each step asks for what
// lies so many bytes ahead (2 to 16 KB are alike). Without that an Intel Sapphire Rapids read a third of what it can from its
// last cache.
constexpr ptrdiff_t bytes_ahead = 4096;

// Tiles of packed weights have any number of rows up to this one, so that the rows left over are one tile, too: each tile reads
// all weights.
constexpr int32_t most_rows_of_tile = 6;
// Rows of the next tile where n_rows are left. With 32 registers 7 rows are 4 and 3, 8 are 4 and 4, because a tile of one row
// waits for the latency of its sums.
HEED_INLINE int32_t rows_of_next_tile(int32_t n_rows, bool many_registers) {
  if (many_registers && (n_rows == 7 || n_rows == 8)) return 4;
  return smaller_of(n_rows, most_rows_of_tile);
}

template <int N>
struct constant {  // a number as a type, for generic lambdas
  static constexpr int value = N;
};

// f(constant<0>()), f(constant<1>()), ... f(constant<N - 1>())
template <int N, int I = 0, class F>
HEED_INLINE void for_each_constant(F f) {
  if constexpr (I < N) {
    f(constant<I>());
    for_each_constant<N, I + 1>(f);
  }
}

// A register from element i of an optional array on, or zeros if there is none.
template <class V>
HEED_INLINE typename V::reg load_or_zero(const float *p, ptrdiff_t i) {
  return p ? V::load(p + i) : V::set(0.0f);
}

// load_n and store_n for models whose instruction set has no masks.
template <class V>
HEED_INLINE typename V::reg load_each(const float *p, int32_t n) {
  float lanes[V::lanes];
  for (int32_t i = 0; i < V::lanes; i++) lanes[i] = i < n ? p[i] : 0.0f;
  return V::load(lanes);
}

template <class V>
HEED_INLINE void store_each(float *p, typename V::reg r, int32_t n) {
  float lanes[V::lanes];
  V::store(lanes, r);
  for (int32_t i = 0; i < n; i++) p[i] = lanes[i];
}

template <class V>
HEED_INLINE void copy_row(float *to, const float *from, int32_t n) {
  int32_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) V::store(to + i, V::load(from + i));
  for (; i < n; i++) to[i] = from[i];
}

// Where fewer than `lanes` rows or 4 columns exist; the missing elements are zero and never read.
template <class V>
HEED_INLINE void transpose4_n(const float *p, ptrdiff_t stride, int32_t n_rows, int32_t n_cols,
                              typename V::reg (&out)[4]) {
  float columns[4][V::lanes] = {};
  for (int32_t l = 0; l < n_rows; l++)
    for (int32_t i = 0; i < n_cols; i++) columns[i][l] = p[l * stride + i];
  for (int32_t i = 0; i < 4; i++) out[i] = V::load(columns[i]);
}

template <class V>
HEED_INLINE void transpose4_any(const float *p, ptrdiff_t stride, int32_t n_rows, int32_t n_cols,
                                typename V::reg (&out)[4]) {
  if (n_rows >= V::lanes && n_cols >= 4)
    V::transpose4(p, stride, out);
  else
    transpose4_n<V>(p, stride, smaller_of(n_rows, V::lanes), smaller_of(n_cols, 4), out);
}

// Rule 9 of the contract for N registers, step by step side by side: one alone is a chain of 12 dependent operations,
// and GCC leaves the order as it is written.
template <class V, int N>
HEED_INLINE void exp2_nonpositive(typename V::reg (&x)[N]) {
  constexpr float coefficients[6] = {exp2_c5, exp2_c4, exp2_c3, exp2_c2, exp2_c1, 1.0f};
  typename V::reg t[N], f[N], y[N];
  HEED_UNROLL for (int u = 0; u < N; u++) f[u] = V::sub(x[u], V::rounded(x[u], t[u]));
  HEED_UNROLL for (int u = 0; u < N; u++) y[u] = V::set(exp2_c6);
  HEED_UNROLL for (int c = 0; c < 6; c++) {
    HEED_UNROLL for (int u = 0; u < N; u++) y[u] = V::fma(y[u], f[u], V::set(coefficients[c]));
  }
  HEED_UNROLL for (int u = 0; u < N; u++) x[u] = V::power(y[u], t[u], x[u]);
}

template <class V>
HEED_INLINE typename V::reg exp2_nonpositive(typename V::reg x) {
  typename V::reg one[1] = {x};
  exp2_nonpositive<V>(one);
  return one[0];
}

// m, or 0 where m is -infinity, so that m - shift is never infinity minus infinity for a row that saw nothing.
template <class V>
HEED_INLINE typename V::reg finite_maximum(typename V::reg m) {
  // 0 below the least finite number; a lane of +infinity stays.
  return V::zero_below(m, m, -0x1.fffffep+127f);
}

template <class V>
HEED_INLINE float first_lane(typename V::reg r) {
  float lanes[V::lanes];
  V::store(lanes, r);
  return lanes[0];
}

template <class V>
HEED_INLINE float max_of_lanes(typename V::reg r) {  // no lane is NaN
  float lanes[V::lanes];
  V::store(lanes, r);
  HEED_UNROLL for (int32_t half = V::lanes / 2; half > 0; half /= 2) {
    HEED_UNROLL for (int32_t i = 0; i < half; i++) lanes[i] = maximum_over_nan(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

// The halving tree over n floats in memory, n a power of two.
HEED_INLINE float tree_of_floats(float *sums, int32_t n) {
  HEED_UNROLL for (int32_t half = n / 2; half > 0; half /= 2) {
    HEED_UNROLL for (int32_t i = 0; i < half; i++) sums[i] += sums[i + half];
  }
  return sums[0];
}
template <class V>
HEED_INLINE float tree_of_lanes(typename V::reg r) {
  float lanes[V::lanes];
  V::store(lanes, r);
  return tree_of_floats(lanes, V::lanes);
}
// In registers, n at least V::lanes.
template <class V>
HEED_INLINE float tree_sum(float *sums, int32_t n) {
  if constexpr (V::lanes == 1) {
    return tree_of_floats(sums, n);
  } else {
    HEED_UNROLL for (int32_t half = n / 2; half >= V::lanes; half /= 2) {
      HEED_UNROLL for (int32_t i = 0; i < half; i += V::lanes)
          V::store(sums + i, V::add(V::load(sums + i), V::load(sums + i + half)));
    }
    return V::tree(V::load(sums));
  }
}

// reciprocal_or_zero without a branch: it divides by zero, too, so that rows side by side are one division of vectors.
HEED_INLINE float reciprocal_of_row(float l) {
  const float r = 1.0f / l;
  return l == 0.0f ? 0.0f : r;
}

// Lanes from n on become those of `other`, n at most 16.
template <class V>
HEED_INLINE typename V::reg keep_first(typename V::reg x, int32_t n, typename V::reg other) {
  static constexpr float signs[2 * n_sums] = {1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,
                                              -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  return V::if_negative(V::load(signs + n_sums - n), other, x);
}

// Rows that go through a stage together, and rows whose lanes become numbers together. What ends a stage for a row
// (a fold, a root, a quotient) is a chain of up to 100 cycles, in which the next rows run. Not so many that they would
// leave the first cache.
constexpr int32_t rows_of_fold = 8;
template <class V>
constexpr int32_t most_rows_abreast = V::compact ? rows_of_fold : 4 * rows_of_fold;
template <class V>
HEED_INLINE int32_t rows_abreast(int32_t dim) {
  constexpr int32_t most = most_rows_abreast<V>;
  if (dim <= 4096 / most) return most;
  const int32_t n = dim < 4096 ? 4096 / dim : 1;
  return !V::compact && n > rows_of_fold ? n / rows_of_fold * rows_of_fold : n;
}

// Of a register of each of 8 rows, op over its lanes by halves: i and i + lanes / 2, and so on.
template <class V, class Op>
static HEED_NOINLINE void fold_rows(const float (*rows)[V::lanes], float *out, Op op) {
  static_assert(V::lanes <= 16);
  if constexpr (V::lanes == 16) {
    V::fold8(rows[0], out, op);
  } else {
    constexpr int n = V::lanes / 4;
    for (int32_t r = 0; r < rows_of_fold; r += V::lanes) {
      typename V::reg columns[n][4];
      HEED_UNROLL for (int i = 0; i < n; i++) V::transpose4(rows[r] + 4 * i, V::lanes, columns[i]);
      if (n > 1) HEED_UNROLL for (int i = 0; i < 4; i++) columns[0][i] = op(columns[0][i], columns[n - 1][i]);
      V::store(out + r, op(op(columns[0][0], columns[0][2]), op(columns[0][1], columns[0][3])));
    }
  }
}
template <class V>
struct add_lanes {
  HEED_INLINE typename V::reg operator()(typename V::reg low, typename V::reg high) const { return V::add(low, high); }
  static HEED_INLINE float tree(typename V::reg r) { return V::tree(r); }
};
template <class V>
struct greater_lanes {  // none is NaN
  HEED_INLINE typename V::reg operator()(typename V::reg low, typename V::reg high) const { return V::max(high, low); }
  static HEED_INLINE float tree(typename V::reg r) { return max_of_lanes<V>(r); }
};
// So few rows, which are long or the only ones, do not repay folds and quotients of 8: a tree each is less.
template <class V>
HEED_INLINE bool take_trees(int32_t n_rows) {
  return !V::compact && n_rows <= 5;
}
// f(r) for rows; 8 at a time with vectors, as instructions that divide 8 numbers.
template <class V, class F>
HEED_INLINE void each_eight(int32_t n_rows, F f) {
  const bool single = V::compact || take_trees<V>(n_rows);
  for (int32_t r = 0; single && r < n_rows; r++) f(r);
  for (int32_t r = 0; !single && r < n_rows; r += rows_of_fold)
    for (int32_t u = 0; u < rows_of_fold; u++) f(r + u);
}
// out[r] = op over the lanes of of(r) for n_rows rows, and something for the rest of 8 where there are many.
template <class V, class Op, class Of>
HEED_INLINE void fold_each_row(int32_t n_rows, float *out, Op op, Of of) {
  const bool trees = take_trees<V>(n_rows);
  for (int32_t first = 0; first < n_rows; first += rows_of_fold) {
    float rows[rows_of_fold][V::lanes];
    const int32_t n = n_rows - first < rows_of_fold ? n_rows - first : rows_of_fold;
    for (int32_t r = 0; r < n; r++) {
      const typename V::reg lanes = of(first + r);
      if (trees)
        out[r] = Op::tree(lanes);
      else
        V::store(rows[r], lanes);
    }
    if (trees) return;
    for (int32_t r = n; r < rows_of_fold; r++) V::store(rows[r], V::load(rows[0]));
    fold_rows<V>(rows, out + first, op);
  }
}

}  // namespace heed

#endif
