// The product of processors without vectors: register tiles of scalars, for scores, sums of values and projections.
#ifndef HEED_GENERIC_ONE_LANE_PRODUCT_HPP
#define HEED_GENERIC_ONE_LANE_PRODUCT_HPP

#include "../vector/vector.hpp"

namespace heed {

#ifdef __SOFTFP__  // every operation is a call: tiles save nothing
constexpr int32_t most_product_rows = 1;
#else
constexpr int32_t most_product_rows = 4;
#endif

// acc (rows, n_cols) += a (rows, depth) b (depth, n_cols). Rows of a are contiguous; element (i, j) of b is at
// b[i * b_depth + j * b_col].
struct product {
  const float *a[most_product_rows];
  const float *b;
  ptrdiff_t b_depth, b_col;
  float *acc;
  ptrdiff_t acc_stride;
  int32_t depth, n_cols;
};

// 4 outputs of 1 to 4 rows, with weights in any format and layout, for models with a tile of their own.
struct projection_tile {
  const float *start;   // 4 numbers
  const float *scales;  // int8: 4; else any 4 numbers
  const void *w;
  ptrdiff_t w_stride;  // in bytes
  const float *x[4];   // those beyond the last row repeat it
  float *y;
  ptrdiff_t y_stride;  // in bytes
  int32_t depth, rows;
  int32_t way;  // 2 * format + layout; of packed words: 0 with scales; 2 in blocks, whose scaled sums are added to y
};

// The same of bytes with zero points, whose negatives are 4 numbers of 16 bits.
struct shifted_tile {
  projection_tile tile;
  int16_t zeros[4];
};

// What is known of b when the code is compiled: its columns (keys) or its rows (values, weights) are contiguous. Where
// code is to be small, one tile serves both.
enum class operand { any, keys, values };
#if defined(__OPTIMIZE_SIZE__) || defined(__SOFTFP__)
constexpr operand keys_operand = operand::any, values_operand = operand::any;
#else
constexpr operand keys_operand = operand::keys, values_operand = operand::values;
#endif

// GCC would replace the pointers of a register tile by sums of others, and spill those.
template <class T>
HEED_INLINE void keep_pointer(T *&p) {
  asm("" : "+r"(p));
}

// The last columns, fewer than COLS, repeat the last one, and acc has room for what is then written; with
// operand::values there are none.
template <class V, operand B, int ROWS, int COLS>
static HEED_NOINLINE void multiply_tile(product &p) {
  const float *next = p.b;
  float *memory = p.acc;
  const ptrdiff_t b_depth = B == operand::keys ? 1 : p.b_depth;
  for (int32_t left = p.n_cols; left > 0; left -= COLS, memory += COLS) {
    const float *a[ROWS], *b[COLS];
    float acc[ROWS][COLS];
    HEED_UNROLL for (int j = 0; j < COLS; j++) {
      b[j] = next;
      if (B == operand::values)
        next++;
      else if (j + 1 < left)
        next += p.b_col;
    }
    asm("" : "+m"(p));  // what it holds is fetched again for each tile rather than copied to the stack
    float *to = memory;
    HEED_UNROLL for (int r = 0; r < ROWS; r++, to += p.acc_stride) {
      a[r] = p.a[r];
      HEED_UNROLL for (int j = 0; j < COLS; j++) acc[r][j] = to[j];
    }
    int32_t i = p.depth;
    do {
      float columns[COLS];
      HEED_UNROLL for (int j = 0; j < COLS; j++) {
        columns[j] = B == operand::values ? b[0][j] : *b[j];
        if (B != operand::values) keep_pointer(b[j] += b_depth);
      }
      if (B == operand::values) b[0] += b_depth;
      HEED_UNROLL for (int r = 0; r < ROWS; r++) {
        const float factor = *a[r]++;
        HEED_UNROLL for (int j = 0; j < COLS; j++) acc[r][j] = V::fma(factor, columns[j], acc[r][j]);
      }
    } while (--i > 0);
    to = memory;
    keep_pointer(to);
    HEED_UNROLL for (int r = 0; r < ROWS; r++, to += p.acc_stride) {
      HEED_UNROLL for (int j = 0; j < COLS; j++) to[j] = acc[r][j];
    }
  }
}

// One row after the other; a[0] and acc are then those of the last one.
template <class V, operand B, int COLS>
static HEED_NOINLINE void multiply_rows(product &p, int32_t rows) {
  for (int32_t r = 0;; p.acc += p.acc_stride) {
    p.a[0] = p.a[r];
    multiply_tile<V, B, 1, COLS>(p);
    if (++r >= rows) return;
  }
}

// V::sum_rows rows or one. A model's own tile wants the columns or the rows of b to be contiguous and, if it is the
// rows, reads four numbers of each at a time, whether there are so many or not.
template <class V, operand B>
static void multiply(product &p, int32_t rows) {
  if constexpr (V::own_tile) {
    const bool beyond = B == operand::any && p.b_depth != 1 && (p.n_cols & (V::sum_vecs - 1)) != 0;
    if (rows > 1 && !beyond) return V::multiply_tile(p);
    return multiply_rows<V, B, V::sum_vecs>(p, rows);
  }
  if (V::sum_rows > 1 && rows > 1)
    multiply_tile<V, B, V::sum_rows, V::sum_vecs>(p);
  else
    multiply_tile<V, B, 1, V::sum_vecs>(p);
}

// When acc has no room beyond its last column: the last columns, fewer than V::sum_vecs, one by one.
template <class V, operand B>
static HEED_NOINLINE void multiply_exactly(product &p, int32_t rows) {
  const int32_t whole = p.n_cols / V::sum_vecs * V::sum_vecs;
  p.n_cols -= whole;
  if (p.n_cols > 0) {
    const float *const first = p.a[0];
    float *const acc = p.acc;
    p.b += whole * p.b_col;
    p.acc += whole;
    multiply_rows<V, B, 1>(p, rows);
    p.a[0] = first;
    p.b -= whole * p.b_col;
    p.acc = acc;
  }
  p.n_cols = whole;
  multiply<V, B>(p, rows);
}

template <int MULTIPLE>
constexpr int32_t round_up(int32_t n) {
  return (n + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
}

HEED_INLINE int32_t tile_height(int32_t rows_left, int32_t height) { return rows_left < height ? 1 : height; }

}  // namespace heed

#endif
