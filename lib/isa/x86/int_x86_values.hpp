// Integer attention on x86: p v, bins and results. See int_x86.hpp.
#ifndef HEED_ISA_INT_X86_VALUES_HPP
#define HEED_ISA_INT_X86_VALUES_HPP

#include "int_x86.hpp"

namespace heed {
namespace {

template <class M>
struct x86_values : x86_steps<M> {
  static constexpr int packed_bytes = M::dims == 4 ? 1 : 2;  // of a packed key's number

  using base = x86_steps<M>;
  using reg = typename M::reg;
  using base::L;
  using base::row_bytes;
  static constexpr int K = M::keys;  // of a word

  // ---------------------------------------------------------------------------------------------------------- values
  // K keys at a time: a register for each L dimensions, in order.
  static HEED_INLINE ptrdiff_t word_bytes(int32_t dim) { return static_cast<ptrdiff_t>(pieces(dim, L)) * row_bytes; }
  static void pack_values(const int_rows &v, void *to) {
    char *out = static_cast<char *>(to);
    typename base::template walk<K> row(v);
    const int32_t n = (v.n + 2 * K - 1) / (2 * K) * (2 * K);  // as sums takes them
    for (int32_t j = 0; j < n; j += K, row.next(v, j)) {
      for (int32_t i = 0; i < v.dim; i += 4 * L) {
        reg x[4];
        values<true>(row.at, i, v.dim, x);
        M::in_order(x);
        HEED_UNROLL for (int c = 0; c < 4; c++) {
          if (i + c * L >= v.dim) break;
          M::store(out, x[c]);
          out += row_bytes;
        }
      }
    }
  }
  // 4 L dimensions of K rows from i on, of those that there are, as M::in_order wants them.
  template <bool Ends>
  static HEED_INLINE void values(const int8_t *const (&row)[K], int32_t i, int32_t dim, reg *x) {
    if (!Ends || i + 4 * L <= dim)
      M::values(row, i, x);
    else
      M::values(row, i, dim - i, x);
  }

  struct sum_call {
    const char *p;  // words of probabilities, by rows
    int32_t n_rows;
    const int_rows &v;
    int32_t *acc;
    ptrdiff_t acc_stride;
  };
  // Values are packed, or lie in whole tiles, or in less than one.
  enum class lie { packed, whole, part };
  // R rows, N registers of dimensions from i on.
  template <int R, int N, lie Lie>
  static HEED_INLINE void tile(const sum_call &c, int32_t r0, int32_t i) {
    reg a[R][M::planes][N];
    HEED_UNROLL for (int r = 0; r < R; r++) {
      HEED_UNROLL for (int plane = 0; plane < M::planes; plane++) {
        HEED_UNROLL for (int n = 0; n < N; n++) a[r][plane][n] = M::zero();
      }
    }
    const char *p = c.p + r0 * (4 * int_block);
    const ptrdiff_t of_word = word_bytes(c.v.dim);
    const char *packed = static_cast<const char *>(c.v.packed) + i / L * row_bytes;
    typename base::template walk<K> row(c.v);
    const ptrdiff_t next = base::to_next(c.v);
    for (int32_t j = 0; j < c.v.n; j += 2 * K, p += 2 * M::planes * 4) {
      HEED_UNROLL for (int half = 0; half < 2; half++) {
        reg x[N];
        if constexpr (Lie == lie::packed) {
          HEED_UNROLL for (int n = 0; n < N; n++) x[n] = M::load(packed + n * row_bytes);
          packed += of_word;
        } else {
          HEED_UNROLL for (int n = 0; n < N; n += 4) {
            values<Lie == lie::part>(row.at, i + n * L, c.v.dim, x + n);
            if constexpr (R > 1) {
              HEED_UNROLL for (int l = 0; l < K; l++) __builtin_prefetch(row.at[l] + i + n * L + next, 0, 2);
            }
          }
          row.next(c.v, j + half * K + K);
        }
        HEED_UNROLL for (int r = 0; r < R; r++) {
          HEED_UNROLL for (int plane = 0; plane < M::planes; plane++) {
            const reg e = M::set(word_at(p + r * (4 * int_block) + 4 * (2 * plane + half)));
            HEED_UNROLL for (int n = 0; n < N; n++) a[r][plane][n] = M::add_values(a[r][plane][n], e, x[n]);
          }
        }
      }
    }
    HEED_UNROLL for (int r = 0; r < R; r++) {
      reg sum[N];
      HEED_UNROLL for (int n = 0; n < N; n++) sum[n] = M::join_planes(a[r][0][n], a[r][M::planes - 1][n]);
      if constexpr (Lie != lie::packed) {
        HEED_UNROLL for (int n = 0; n < N; n += 4) M::in_order(sum + n);
      }
      HEED_UNROLL for (int n = 0; n < N; n++) {
        if (Lie != lie::part || n * L < c.v.dim) M::store(c.acc + (r0 + r) * c.acc_stride + i + n * L, sum[n]);
      }
    }
  }
  template <int N, lie Lie>
  static HEED_NOINLINE void columns(const sum_call &c, int32_t i) {
    constexpr int most = Lie == lie::part || N > 4 ? 1 : M::sum_rows, two = smaller_of(most, 2);
    for (int32_t r = 0, left; (left = c.n_rows - r) > 0;) {
      if (most > 2 && left > 2 && left != 4)  // not 3 and 1, but 2 and 2
        tile<most, N, Lie>(c, r, i), r += most;
      else if (most > 1 && left > 1)
        tile<two, N, Lie>(c, r, i), r += two;
      else
        tile<1, N, Lie>(c, r, i), r++;
    }
  }
  static HEED_INLINE void packed_columns(const sum_call &c) {
    for (int32_t i = 0, left; (left = c.v.dim - i) > 0;) {
      if (left > 3 * L)
        columns<4, lie::packed>(c, i), i += 4 * L;
      else if (left > L)
        columns<2, lie::packed>(c, i), i += 2 * L;
      else
        columns<1, lie::packed>(c, i), i += L;
    }
  }
  // The last tile overlaps the one before it.
  static HEED_INLINE void plain_columns(const sum_call &c) {
    if (c.v.dim < 4 * L) return columns<4, lie::part>(c, 0);
    int32_t i = 0;
    if constexpr (M::wide_sums) {
      for (; c.n_rows == 1 && i + 8 * L <= c.v.dim; i += 8 * L) columns<8, lie::whole>(c, i);
    }
    for (; i < c.v.dim; i += 4 * L) columns<4, lie::whole>(c, least(i, c.v.dim - 4 * L));
  }
  // The second half of each row of p takes the planes: of 8 keys, their high bytes, then their low ones.
  static HEED_INLINE const char *words_of(int32_t *p, int32_t n_rows, int32_t n) {
    char *row = reinterpret_cast<char *>(p);
    if constexpr (M::planes == 1) {
      return row;
    } else {
      constexpr int32_t half = 2 * int_block;
      for (int32_t r = 0; r < n_rows; r++, row += 2 * half) {
        for (int32_t j = 0; j < 2 * n; j += row_bytes) M::store(row + half + j, M::split(M::load(row + j)));
      }
      return reinterpret_cast<char *>(p) + half;
    }
  }
  static void sums(int32_t *p, int32_t n_rows, const int_rows &v, int32_t *acc, ptrdiff_t acc_stride) {
    const sum_call c{words_of(p, n_rows, v.n), n_rows, v, acc, acc_stride};
    if (v.packed)
      packed_columns(c);
    else
      plain_columns(c);
  }

  // ------------------------------------------------------------------------------------------------ bins and results
  static void add_to_bin(int64_t *bin, const int32_t *a, int32_t n, int32_t shift) {
    const __m128i up = _mm_cvtsi32_si128(shift);
    int32_t i = 0;
    for (; i + L / 2 <= n; i += L / 2) M::store(bin + i, M::add64(M::load(bin + i), M::up64(M::widen(a + i), up)));
    for (; i < n; i++)
      bin[i] = static_cast<int64_t>(static_cast<uint64_t>(bin[i]) +
                                    (static_cast<uint64_t>(static_cast<int64_t>(a[i])) << shift));
  }
  static void join_bins(const int64_t *top, const int64_t *low, int32_t n, int32_t down, int32_t *a) {
    int32_t i = 0;
    const __m128i by = _mm_cvtsi32_si128(down), of_bin = _mm_cvtsi32_si128(int_bin);
    for (; i + L / 2 <= n; i += L / 2)
      M::store_low(a + i, M::down64(M::add64(M::load(top + i), M::down64(M::load(low + i), of_bin)), by));
    for (; i < n; i++) a[i] = static_cast<int32_t>((top[i] + (low[i] >> int_bin)) >> down);
  }
  // Halves of products: what is above 32 bits, as f.t is at least 32.
  static void finish(const int32_t *a, int32_t n, const int_finish &f, int32_t zero_point, bool wide, void *out) {
    const __m128i up = _mm_cvtsi32_si128(f.up), down = _mm_cvtsi32_si128(f.t - 32);
    const reg q = M::set(f.q), bias = M::set64(static_cast<int64_t>(f.bias)), zero = M::set(zero_point);
    int32_t i = 0;
    for (; i + L <= n; i += L) {
      const reg x = M::shift_up(M::load(a + i), up);
      const reg even = M::add64(M::mul_even(x, q), bias), odd = M::add64(M::mul_even(M::odd(x), q), bias);
      const reg y = M::add(M::shift_sign(M::high_words(even, odd), down), zero);
      if (wide)
        M::store_clamped(static_cast<int16_t *>(out) + i, y);
      else
        M::store_clamped(static_cast<int8_t *>(out) + i, y);
    }
    const int32_t most = greatest_output(wide);
    for (; i < n; i++) {
      const int32_t y = int_finished(a[i], f, zero_point, -most - 1, most);
      if (wide)
        static_cast<int16_t *>(out)[i] = static_cast<int16_t>(y);
      else
        static_cast<int8_t *>(out)[i] = static_cast<int8_t>(y);
    }
  }
};

#define HEED_DEFINE_INT_X86(symbol, M, name, available)   \
  extern const int_steps symbol;                          \
  const int_steps symbol = {name,                         \
                            available,                    \
                            int_score_rows,               \
                            M::packs_from,                \
                            x86_values<M>::open_query,    \
                            x86_values<M>::pack_keys,     \
                            x86_values<M>::pack_values,   \
                            x86_values<M>::scores,        \
                            x86_values<M>::greatest,      \
                            x86_values<M>::probabilities, \
                            x86_values<M>::sums,          \
                            x86_values<M>::add_to_bin,    \
                            x86_values<M>::join_bins,     \
                            x86_values<M>::finish,        \
                            x86_values<M>::packed_bytes};

}  // namespace
}  // namespace heed

#endif
