// Products of few rows: w is read once and in its own order, some rows of it abreast, and its numbers become f32 in
// registers once for a tile of rows. y holds the chains between strips of depth. Columns taken one panel after another
// instead read 64 bytes here and there, a page and a memory miss each: 8 rows of 4096 x 4096 took 3 times as long.
#ifndef HEED_STRIPS_HPP
#define HEED_STRIPS_HPP

#include "ways.hpp"

namespace heed {

// Rows of x and y, and depths [begin, end): chains begin at `from`: y itself, a bias (stride 0), or null.
struct strip {
  const float *x, *from;
  float *y;
  ptrdiff_t x_stride, from_stride, y_stride;
  int32_t begin, end, again;
};

// y[r][column] += x[r][i] w[i][column] for ROWS rows and all whole tiles of columns in [column, last); returns the
// first column left.
template <class V, int ROWS, int VECS, class T>
static HEED_NOINLINE int32_t strip_tiles(const strip &of, const weights_of<T> &weights, int32_t column, int32_t last) {
  const strip s = of;  // copies, because for the compiler a store of a register may change them
  const weights_of<T> w = weights;
  constexpr int width = VECS * V::lanes, of_line = 64 / static_cast<int>(sizeof(T)), lines = (width - 1) / of_line + 1;
  for (; column + width <= last; column += width) {
    typename V::reg sum[ROWS][VECS];
    scaling<V, T> scale[VECS];
    HEED_UNROLL for (int v = 0; v < VECS; v++) scale[v] = w.scale(V(), column + v * V::lanes);
    start_tile<V, ROWS, VECS>(sum, [&](int r, int v) HEED_INLINED {
      return load_or_zero<V>(s.from, r * s.from_stride + column + v * V::lanes);
    });
    const T *p = w.data + s.begin * w.stride + column;
    const float *x = s.x + s.begin;
    const ptrdiff_t ahead = (s.end - s.begin) * w.stride;
    const bool begins_line = width >= of_line || column % of_line == 0;
    for (int32_t i = s.begin; i < s.end; i++, p += w.stride, x++) {
      HEED_UNROLL for (int l = 0; l < lines; l++) {
        if (begins_line) fetch(p + ahead + l * of_line);
      }
      for (int32_t tile = 1; sizeof(T) == sizeof(float) && tile <= s.again; tile++) {  // the lines of tiles before
        HEED_UNROLL for (int l = 0; l < lines; l++) fetch(p + ahead - tile * width + l * of_line);
      }
      typename V::reg columns[VECS];
      HEED_UNROLL for (int v = 0; v < VECS; v++) columns[v] = scaled<V, T>(V::load(p + v * V::lanes), scale[v]);
      add_step<V, ROWS, VECS>(sum, columns, [=](int r) HEED_INLINED { return x[r * s.x_stride]; });
    }
    HEED_UNROLL for (int r = 0; r < ROWS; r++) {
      HEED_UNROLL for (int v = 0; v < VECS; v++) V::store(s.y + r * s.y_stride + column + v * V::lanes, sum[r][v]);
    }
  }
  return column;
}

// Columns that are left, a register at a time, 4 rows at a time of which those beyond n_rows repeat the last: one
// function for all numbers of rows.
template <class V, class T>
static HEED_NOINLINE void strip_rest(const strip &s, const weights_of<T> &w, int32_t n_rows, int32_t column,
                                     int32_t last) {
  for (int32_t first = 0; first < n_rows; first += 4) {
    ptrdiff_t row[4];
    for (int r = 0; r < 4; r++) row[r] = smaller_of(first + r, n_rows - 1);
    const float *const x[4] = {s.x + row[0] * s.x_stride, s.x + row[1] * s.x_stride, s.x + row[2] * s.x_stride,
                               s.x + row[3] * s.x_stride};
    for (int32_t n = column; n < last; n += V::lanes) {
      typename V::reg sum[4][1], number[1];
      const scaling<V, T> scale = w.scale(V(), n);
      start_tile<V, 4, 1>(sum,
                          [&](int r, int) HEED_INLINED { return load_or_zero<V>(s.from, row[r] * s.from_stride + n); });
      const T *p = w.data + s.begin * w.stride + n;
      for (int32_t i = s.begin; i < s.end; i++, p += w.stride) {
        number[0] = scaled<V, T>(V::load(p), scale);
        add_step<V, 4, 1>(sum, number, [=](int r) HEED_INLINED { return x[r][i]; });
      }
      HEED_UNROLL for (int r = 0; r < 4; r++) V::store(s.y + row[r] * s.y_stride + n, sum[r][0]);
    }
  }
}

// Registers of columns in a tile of that many rows.
template <class V, int ROWS>
constexpr int strip_vecs = many_registers<V> || ROWS <= 2 ? 4 : 2;

// Rows of the next tile where n_rows are left. None of one row, which would wait for its latency: 7 are 4 and 3.
HEED_INLINE int32_t next_rows(int32_t n_rows, bool five) {
  constexpr signed char rows[12] = {0, 1, 2, 3, 4, 3, 6, 4, 4, 6, 6, 4};
  if (five && (n_rows == 5 || n_rows == 11)) return n_rows == 5 ? 5 : 6;
  return n_rows < 12 ? rows[n_rows] : 6;
}

// Columns [column, last) of a strip for n_rows rows, a number that next_rows names; w is a weights_of<T>. A table of
// pointers would be a variable to some compilers.
using strip_step = void (*)(const strip &s, const void *w, int32_t n_rows, int32_t column, int32_t last);
template <class V, class T>
static void strip_rows(const strip &s, const void *weights, int32_t n_rows, int32_t column, int32_t last) {
  const auto &w = *static_cast<const weights_of<T> *>(weights);
  switch (n_rows) {
    case 1:
      break;
    case 2:
      column = strip_tiles<V, 2, strip_vecs<V, 2>, T>(s, w, column, last);
      break;
    case 3:
      column = strip_tiles<V, 3, strip_vecs<V, 3>, T>(s, w, column, last);
      break;
    case 4:
      column = strip_tiles<V, 4, strip_vecs<V, 4>, T>(s, w, column, last);
      break;
    case 5:
      if constexpr (strips_of_five<V, T>) column = strip_tiles<V, 5, strip_vecs<V, 5>, T>(s, w, column, last);
      break;
    default:
      column = strip_tiles<V, 6, strip_vecs<V, 6>, T>(s, w, column, last);
  }
  if (column < last) strip_rest<V>(s, w, n_rows, column, last);
}

// Two rows or more, or one of weight_byte; n columns (whole registers). Columns are cut where several tiles of rows are to
// find them in the first-level cache. `depth`: how many rows of w are abreast; `five`: whether there is a tile of 5 rows.
[[maybe_unused]] static HEED_NOINLINE void strips(const linear_block &b, const void *w, int32_t n, int32_t depth,
                                                  int32_t most_columns, bool five, int32_t again, strip_step step) {
  const bool one_tile = next_rows(b.n_rows, five) == b.n_rows;  // others ask for the same
  const int32_t block = one_tile ? n : most_columns;
  for (int32_t begin = 0; begin < b.depth; begin += depth) {
    const int32_t end = end_of_block(begin, depth, b.depth);
    for (int32_t column = 0; column < n; column += block) {
      strip s = {b.x, b.bias, b.y, b.x_stride, 0, b.y_stride, begin, end, 0};
      if (begin > 0) s.from = b.y, s.from_stride = b.y_stride;
      if (one_tile) s.again = again;
      for (int32_t left = b.n_rows; left > 0;) {
        const int32_t rows = next_rows(left, five);
        step(s, w, rows, column, end_of_block(column, block, n));
        left -= rows;
        s.x += rows * s.x_stride;
        s.y += rows * s.y_stride;
        if (s.from) s.from += rows * s.from_stride;
      }
    }
  }
}

template <class V, class T>
static void multiply_strips(const linear_block &b, const weights_of<T> &w, int32_t n) {
  constexpr bool floats = sizeof(T) == sizeof(float);
  const int32_t depth = depth_of_strips<V>(b, w), again = floats ? times_again(b, w) : 0;
  const int32_t most_columns = floats && depth == 32 ? 128 : 256;
  strips(b, &w, n, depth, most_columns, strips_of_five<V, T>, again, strip_rows<V, T>);
}

}  // namespace heed

#endif
