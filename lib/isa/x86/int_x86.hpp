// Integer attention on x86, over a model of registers of 8 or 16 words. A word of a register of keys holds `dims` numbers
// of one key (four bytes; or two of 16 bits, where there is no product of bytes), a word of a register of values the
// numbers of `keys` keys in one dimension. So q k^T has keys as lanes and p v has dimensions.
//
// Products of bytes want one factor unsigned. Keys are so: k + 128, and each score has 128 times the sum of q too much.
// The zero point of q costs sums of keys. Probabilities are split: p = 128 high + low, both bytes; such are the `planes`.
#ifndef HEED_ISA_INT_X86_HPP
#define HEED_ISA_INT_X86_HPP

#include <immintrin.h>

#include "../../vector/vector.hpp"
#include "../../kernel_contract/integers.hpp"
#include "../portable/cpu.hpp"

namespace heed {
namespace {

HEED_INLINE int32_t word_at(const void *p) {
  int32_t x;
  __builtin_memcpy(&x, p, 4);
  return x;
}
HEED_INLINE int32_t least(int32_t a, int32_t b) { return smaller_of(a, b); }
constexpr int32_t pieces(int32_t n, int32_t of) { return (n + of - 1) / of; }

template <class M>
struct x86_steps {
  using reg = typename M::reg;
  static constexpr int L = M::lanes, D = M::dims * L;  // dimensions of a register of a key
  static constexpr int row_bytes = 4 * L;              // of a register

  static HEED_INLINE const int8_t *row_of(const int_rows &x, int32_t j) {  // past the last row: the last
    return x.data + least(j, x.n - 1) * x.stride;
  }

  // From a row to one that is wanted after all of these.
  static HEED_INLINE ptrdiff_t to_next(const int_rows &x) { return x.next ? x.next - x.data : 0; }

  // N rows one after another.
  template <int N>
  struct walk {
    const int8_t *at[N];
    HEED_INLINE explicit walk(const int_rows &x) { begin(x, 0); }
    HEED_INLINE void begin(const int_rows &x, int32_t j) {
      HEED_UNROLL for (int l = 0; l < N; l++) at[l] = row_of(x, j + l);
    }
    HEED_INLINE void next(const int_rows &x, int32_t j) {  // to rows from j on, N further
      if (j + N > x.n) return begin(x, j);
      HEED_UNROLL for (int l = 0; l < N; l++) at[l] += N * x.stride;
    }
  };

  // ------------------------------------------------------------------------------------------------------- queries
  // Registers, and behind them what each score begins with.
  static int32_t open_query(const int8_t *q, int32_t dim, int32_t zero_point, void *to) {
    char *out = static_cast<char *>(to);
    reg sum = M::zero();
    for (int32_t i = 0; i < dim; i += D, out += row_bytes) {
      const reg x = M::query(q + i, least(D, dim - i));
      M::store(out, M::centred(x, zero_point));
      sum = M::dot(sum, M::set(M::ones), x);
    }
    const int32_t total = M::sum(sum), begin = M::key_offset * -total;
    __builtin_memcpy(out, &begin, 4);
    return total - dim * zero_point;
  }

  // ---------------------------------------------------------------------------------------------------------- keys
  // Groups of L keys: a register for each `dims` dimensions. Behind all of them sums of keys, where they are wanted.
  static HEED_INLINE ptrdiff_t group_bytes(int32_t dim) {
    return static_cast<ptrdiff_t>(pieces(dim, M::dims)) * row_bytes;
  }
  static HEED_INLINE int32_t *sums_behind(const void *keys, int32_t dim) {
    return reinterpret_cast<int32_t *>(static_cast<char *>(const_cast<void *>(keys)) +
                                       int_block / L * group_bytes(dim));
  }
  static void pack_keys(const int_rows &k, void *to) {
    char *out = static_cast<char *>(to);
    const int32_t words = pieces(k.dim, M::dims);
    walk<L> row(k);
    for (int32_t j = 0; j < k.n; j += L, row.next(k, j)) {
      reg sum = M::zero();
      for (int32_t i = 0; i < k.dim; i += D) {
        const int32_t n = k.dim - i;
        reg x[L];
        if (n >= D) {
          HEED_UNROLL for (int l = 0; l < L; l++) x[l] = M::keys_at(row.at[l] + i);
        } else {
          alignas(64) int8_t ends[L][row_bytes];
          for (int l = 0; l < L; l++) M::store(ends[l], M::load_n(row.at[l] + i, n));
          HEED_UNROLL for (int l = 0; l < L; l++) x[l] = M::keys_at(ends[l]);
        }
        M::transpose(x);
        HEED_UNROLL for (int l = 0; l < L; l++) {
          if (n <= l * M::dims) break;
          M::store(out, x[l]);
          out += row_bytes;
          if constexpr (M::key_offset != 0) sum = M::dot(sum, x[l], M::set(M::ones));
        }
      }
      if constexpr (M::key_offset != 0)
        M::store(sums_behind(to, k.dim) + j, M::add(sum, M::set(-M::key_offset * M::dims * words)));
    }
  }

  // -------------------------------------------------------------------------------------------------------- scores
  struct score_call {
    const char *queries;
    ptrdiff_t query_bytes;
    int_rows k;
    const int32_t *begin;  // of each key
    int32_t *s;
    HEED_INLINE const char *query(int r) const { return queries + r * query_bytes; }
    HEED_INLINE reg first(int32_t of_row, int32_t j) const {
      if constexpr (M::key_offset == 0) return M::zero();
      return M::add(M::set(of_row), M::load(begin + j));
    }
  };
  // R rows, G groups of packed keys from j on.
  template <int R, int G>
  static HEED_INLINE void packed_tile(const score_call &c, const char *const (&q)[R], const int32_t (&first)[R],
                                      ptrdiff_t group, int32_t j) {
    const char *k = static_cast<const char *>(c.k.packed) + j / L * group;
    reg a[R][G];
    HEED_UNROLL for (int r = 0; r < R; r++) {
      HEED_UNROLL for (int g = 0; g < G; g++) a[r][g] = c.first(first[r], j + g * L);
    }
    for (ptrdiff_t w = 0; w < group / L; w += 4) {
      reg x[G];
      HEED_UNROLL for (int g = 0; g < G; g++) x[g] = M::load(k + g * group + w * L);
      HEED_UNROLL for (int r = 0; r < R; r++) {
        const reg e = M::set(word_at(q[r] + w));
        HEED_UNROLL for (int g = 0; g < G; g++) a[r][g] = M::dot(a[r][g], x[g], e);
      }
    }
    HEED_UNROLL for (int r = 0; r < R; r++) {
      HEED_UNROLL for (int g = 0; g < G; g++) M::store(c.s + r * int_block + j + g * L, a[r][g]);
    }
  }
  // R rows over four keys as they lie, of V registers each (0: any number): the sums of each in parts, as M::fold leaves
  // them. Several rows take longer than a processor looks ahead: they ask for the keys that come next.
  template <int R, int V, class Query>
  static HEED_INLINE void four_keys(const walk<4> &row, int32_t dim, ptrdiff_t next, Query query, reg (&out)[R]) {
    reg a[R][4];
    HEED_UNROLL for (int r = 0; r < R; r++) { HEED_UNROLL for (int l = 0; l < 4; l++) a[r][l] = M::zero(); }
    const auto add = [&](const reg(&x)[4], int32_t i) HEED_INLINED {
      HEED_UNROLL for (int r = 0; r < R; r++) {
        const reg e = query(r, i);
        HEED_UNROLL for (int l = 0; l < 4; l++) a[r][l] = M::dot(a[r][l], x[l], e);
      }
    };
    const auto add_whole = [&](int32_t i) HEED_INLINED {
      reg x[4];
      HEED_UNROLL for (int l = 0; l < 4; l++) {
        x[l] = M::keys_at(row.at[l] + i);
        if (R > 1 && i % 64 == 0) __builtin_prefetch(row.at[l] + i + next, 0, 2);
      }
      add(x, i);
    };
    if constexpr (V > 0) {
      HEED_UNROLL for (int v = 0; v < V; v++) add_whole(v * D);
    } else {
      const int32_t whole = dim / D * D;
      if (whole < dim) {  // first: after the loop GCC 12 would copy all sums in each iteration
        reg x[4];
        HEED_UNROLL for (int l = 0; l < 4; l++) x[l] = M::keys_at(row.at[l] + whole, dim - whole);
        add(x, whole);
      }
      for (int32_t i = 0; i < whole; i += D) add_whole(i);
    }
    HEED_UNROLL for (int r = 0; r < R; r++) out[r] = M::fold(a[r]);
  }
  template <int R, int V, class Query, class Store>
  static HEED_INLINE void plain_rows(const int_rows &k, Query query, Store store) {
    walk<4> row(k);
    const ptrdiff_t next = to_next(k);
    for (int32_t j = 0; j < k.n; j += L) {
      reg parts[R][L / 4];
      const auto part = [&](int i) HEED_INLINED {
        reg sums[R];
        four_keys<R, V>(row, k.dim, next, query, sums);
        HEED_UNROLL for (int r = 0; r < R; r++) parts[r][i] = sums[r];
        row.next(k, j + 4 * i + 4);
      };
      if constexpr (V > 0 && R == 1) {
        HEED_UNROLL for (int i = 0; i < L / 4; i++) part(i);
      } else {
        for (int i = 0; i < L / 4; i++) part(i);
      }
      HEED_UNROLL for (int r = 0; r < R; r++) store(r, j, M::join(parts[r]));
    }
  }
  template <int R>
  static HEED_NOINLINE void rows_of_scores(const score_call &call) {
    const score_call c = call;
    const char *q[R];
    int32_t first[R];
    HEED_UNROLL for (int r = 0; r < R; r++) {
      q[r] = c.query(r);
      first[r] = word_at(q[r] + pieces(c.k.dim, D) * row_bytes);
    }
    if (c.k.packed) {
      const ptrdiff_t group = group_bytes(c.k.dim);
      int32_t j = 0;
      for (; j + L < c.k.n; j += 2 * L) packed_tile<R, 2>(c, q, first, group, j);
      if (j < c.k.n) packed_tile<R, 1>(c, q, first, group, j);
    } else if constexpr (R <= M::plain_rows) {
      const auto query = [&](int r, int32_t i) HEED_INLINED { return M::load(q[r] + i * (4 / M::dims)); };
      const auto store = [&](int r, int32_t j, reg x)
                             HEED_INLINED { M::store(c.s + r * int_block + j, M::add(x, c.first(first[r], j))); };
      if (M::unrolls && R == 1 && c.k.dim == D)
        plain_rows<R, 1>(c.k, query, store);
      else if (M::unrolls && R == 1 && c.k.dim == 2 * D)
        plain_rows<R, 2>(c.k, query, store);
      else
        plain_rows<R, 0>(c.k, query, store);
    }
  }
  // What scores of each key begin with: -zero_point times the sum of the key.
  static HEED_NOINLINE void begin_of_keys(const int_rows &k, int32_t zero_point, int32_t *begin) {
    const reg factor = M::set(-zero_point);
    if (zero_point == 0) {
      for (int32_t j = 0; j < int_block; j += L) M::store(begin + j, M::zero());
    } else if (k.packed) {
      for (int32_t j = 0; j < k.n; j += L)
        M::store(begin + j, M::mul(M::load(sums_behind(k.packed, k.dim) + j), factor));
    } else {
      const reg unsign = M::set(-M::key_offset * D * pieces(k.dim, D));
      plain_rows<1, 0>(
          k, [](int, int32_t) HEED_INLINED { return M::set(M::ones); },
          [&](int, int32_t j, reg x) HEED_INLINED { M::store(begin + j, M::mul(M::add(x, unsign), factor)); });
    }
  }
  static void scores(const void *queries, ptrdiff_t query_bytes, int32_t n_rows, int32_t zero_point, const int_rows &k,
                     int32_t *s) {
    alignas(64) int32_t begin[int_block];
    if constexpr (M::key_offset != 0) begin_of_keys(k, zero_point, begin);
    score_call c{static_cast<const char *>(queries), query_bytes, k, begin, s};
    const int32_t most = k.packed ? M::score_rows : M::plain_rows;
    for (int32_t r = 0, n; r < n_rows; r += n) {
      n = least(n_rows - r, most);
      if (n >= 4)
        rows_of_scores<4>(c), n = 4;
      else if (n >= 2)
        rows_of_scores<2>(c), n = 2;
      else
        rows_of_scores<1>(c);
      c.queries += n * query_bytes;
      c.s += n * int_block;
    }
  }

  // -------------------------------------------------------------------------------------------------- probabilities
  static int32_t greatest(const int32_t *s, int32_t n) {
    const reg least_of_all = M::set(INT32_MIN);
    reg max = least_of_all;
    int32_t j = 0;
    for (; j + L <= n; j += L) max = M::max(max, M::load(s + j));
    if (j < n) max = M::max(max, M::first_words(M::load(s + j), n - j, least_of_all));
    return M::greatest(max);
  }
  // I4 and I5, in lanes of 16 bits.
  static int32_t probabilities(int32_t *s, int32_t n, int32_t padded, const distance_rule &rule, int32_t max,
                               uint32_t offset) {
    const reg from = M::set(max), limit = M::set16(rule.limit), m16 = M::set16(rule.m16), o = M::set16(offset);
    const reg sign = M::set16(0x8000), one = M::set16(1), up = M::set16(1u << rule.g);
    const reg c0 = M::set16(int_exp[0]), c1 = M::set16(int_exp[1]), c2 = M::set16(int_exp[2]),
              c3 = M::set16(int_exp[3]);
    const reg down = M::set(rule.h);
    reg sum = M::zero();
    for (int32_t j = 0; j < padded; j += 2 * L) {
      const reg a = M::down_by(M::sub(from, M::load(s + j)), down);
      const reg b = M::down_by(M::sub(from, M::load(s + j + L)), down);
      const reg distance = M::mul16(M::min16(M::narrow(a, b), limit), up);
      const reg u = M::add_saturated16(M::mul_high16(distance, m16), o);
      const reg t = M::flip(M::template up16<5>(u), sign);
      reg y = M::add16(M::mulr(t, c3), c2);
      y = M::add16(M::mulr(y, t), c1);
      y = M::add16(M::mulr(y, t), c0);
      y = M::abs16(M::mulr(y, M::power16(u)));  // the power of 0 octaves is -2^15
      if (j + 2 * L > n) y = M::first16(y, n - j);
      M::store(reinterpret_cast<char *>(s) + 2 * j, y);
      sum = M::dot16(sum, y, one);
    }
    return M::sum(sum);
  }
};

}  // namespace
}  // namespace heed

#endif
