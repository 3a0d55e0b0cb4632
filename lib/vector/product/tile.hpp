// The register tile of every product (q k^T, p v, x w): ROWS rows by VECS registers of columns, whose chains go on by
// one step of depth at a time. Where the two operands come from (floats, narrow numbers, 16 side by side, transposed
// in registers) is the business of those who call: they load a step's columns and say what its factors are.
#ifndef HEED_GENERIC_TILE_HPP
#define HEED_GENERIC_TILE_HPP

#include "../vector.hpp"

namespace heed {

// 32 of them, by the sums of a tile.
template <class V>
constexpr bool many_registers = V::sum_rows *V::sum_vecs >= 16;

// 5 rows as 3 and 2 read their columns twice. With two registers of columns a tile of 5 takes two thirds to three
// quarters of that time. With 32 registers it is the last tile of 11, 17, 23 rows, which took up to 1.4 times as long as 12,
// 18, 24 (Zen 5; NEON, by counted instructions: 5 rows of int8 1.3 times as many as 6).
template <class V>
constexpr bool takes_five = V::sum_rows >= 6;

// acc[r][v] = start(r, v)
template <class V, int ROWS, int VECS, class Start>
HEED_INLINE void start_tile(typename V::reg (&acc)[ROWS][VECS], Start start) {
  HEED_UNROLL for (int r = 0; r < ROWS; r++) { HEED_UNROLL for (int v = 0; v < VECS; v++) acc[r][v] = start(r, v); }
}

// acc[r][v] += factor(r) * columns[v]. An operand that several chains share stays in its register.
template <class V, int ROWS, int VECS, class Factor>
HEED_INLINE void add_step(typename V::reg (&acc)[ROWS][VECS], typename V::reg (&columns)[VECS], Factor factor) {
  HEED_UNROLL for (int v = 0; v < VECS; v++) {
    if (ROWS > 1) V::pin(columns[v]);
  }
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    auto x = V::factor(factor(r));
    if (VECS > 1) V::pin(x);
    HEED_UNROLL for (int v = 0; v < VECS; v++) acc[r][v] = V::fma(x, columns[v], acc[r][v]);
  }
}

// to(r) + v * lanes = acc[r][v] * c
template <class V, int ROWS, int VECS, class To>
HEED_INLINE void store_scaled(typename V::reg (&acc)[ROWS][VECS], float c, To to) {
  const typename V::reg factor = V::set(c);
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    HEED_UNROLL for (int v = 0; v < VECS; v++) V::store(to(r) + v * V::lanes, V::mul(acc[r][v], factor));
  }
}

// f(constant<rows>(), first row) for n rows in groups of 8 (if EIGHT), 4 and 1. Two rows have too few chains to be
// faster than four, of which those beyond the last repeat it.
template <bool EIGHT, class F>
HEED_INLINE void each_group(int32_t n_rows, F f) {
  for (int32_t row = 0; row < n_rows;) {
    const int32_t left = n_rows - row;
    if (EIGHT && left > 4) {
      f(constant<8>(), row);
      row += 8;
    } else if (left > 1) {
      f(constant<4>(), row);
      row += 4;
    } else {
      f(constant<1>(), row);
      row += 1;
    }
  }
}

}  // namespace heed

#endif
