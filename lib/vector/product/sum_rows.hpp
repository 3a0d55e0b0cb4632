// acc (rows, columns) += a (rows, depth) b (depth, columns), with columns as lanes: the sum of p v in attention, and
// the projection x w. Each element is one chain of fma in ascending depth.
#ifndef HEED_GENERIC_SUM_ROWS_HPP
#define HEED_GENERIC_SUM_ROWS_HPP

#include "tile.hpp"

namespace heed {

// Where the chains start.
enum class chain { zero, bias, keep, scaled };

// Where the sums of p v start in the first block of keys, and in those behind it.
HEED_INLINE chain chain_of_block(bool is_first) { return is_first ? chain::zero : chain::scaled; }

struct sum_operands {
  const float *a;  // element (r, i) at a[r * a_row + i * a_depth]
  ptrdiff_t a_row, a_depth;
  const float *b;
  ptrdiff_t b_stride;
  float *acc;
  ptrdiff_t acc_stride;
  const float *start;  // chain::bias: one per column; chain::scaled: one factor per row
  int32_t depth;
  const float *ahead;  // null, or rows to fetch meanwhile, one for each step of depth (few rows only)
  ptrdiff_t ahead_stride;
  int32_t n_cols;  // counts for tiles of narrow_vecs alone
  ptrdiff_t next;  // how far behind b the next line lies that tiles are to fetch, the same at each step of depth; or 0
};

// Tiles ask for what comes next: cache lines of numbers that lie `next` behind b. Four tiles ask for one line each, fewer
// ones for two: a tile that asked for more would wait for memory.
constexpr int32_t floats_of_line = 16;
// The first line that is none of them, and how many a tile fetches.
struct lines_ahead {
  ptrdiff_t end;
  int32_t of_tile;
  HEED_INLINE void take(sum_operands &o, int32_t n_tiles) const {
    if (o.next == 0) return;
    o.next += static_cast<ptrdiff_t>(n_tiles) * of_tile * floats_of_line;
    if (o.next >= end) o.next = 0;
  }
};

// As the width of a tile: one register, of which fewer columns exist than it holds.
constexpr int narrow_vecs = 0;

// Where the rows of a tile lie. Of tall tiles four rows share an address, from which an instruction reaches each.
// Compilers would form 16 multiples of the stride before the first product, and keep them on the stack: 150 cycles a
// call.
template <int ROWS, class T>
class tile_rows {
 public:
  HEED_INLINE tile_rows(T *first, ptrdiff_t stride) : stride(stride) {
    HEED_UNROLL for (int g = 0; g < n_groups; g++) group[g] = first + g * of_group * stride;
    pin();
  }
  HEED_INLINE T *operator[](int r) const { return group[r / of_group] + r % of_group * stride; }
  HEED_INLINE void advance(ptrdiff_t by) {
    HEED_UNROLL for (int g = 0; g < n_groups; g++) group[g] += by;
    pin();
  }

 private:
  static constexpr int of_group = ROWS > 8 ? 4 : ROWS, n_groups = ROWS / of_group;
  static_assert(ROWS % of_group == 0, "whole groups");
  T *group[n_groups];
  ptrdiff_t stride;
  HEED_INLINE void pin() {
    if (n_groups > 1) HEED_UNROLL for (int g = 0; g < n_groups; g++) asm("" : "+r"(group[g]));
  }
};

// The chains of a tile begin: at +0, at a bias, or where they stood in acc, times a factor of the row if wanted.
template <class V, int ROWS, int VECS, class Load>
HEED_INLINE void start_sums(typename V::reg (&acc)[ROWS][VECS], const sum_operands &o, chain from, int32_t column,
                            Load load) {
  if (from == chain::zero) return start_tile<V, ROWS, VECS>(acc, [](int, int) HEED_INLINED { return V::set(0.0f); });
  const float *start = (from == chain::bias ? o.start : o.acc) + column;
  const ptrdiff_t stride = from == chain::bias ? 0 : o.acc_stride;
  const tile_rows<ROWS, const float> rows(start, stride);
  start_tile<V, ROWS, VECS>(acc, [=](int r, int v) HEED_INLINED { return load(rows[r] + v * V::lanes); });
  if (from == chain::scaled) {
    HEED_UNROLL for (int r = 0; r < ROWS; r++) {
      const typename V::reg factor = V::set(o.start[r]);
      HEED_UNROLL for (int v = 0; v < VECS; v++) acc[r][v] = V::mul(acc[r][v], factor);
    }
  }
}

// Each step asks for one cache line or two.
template <class V, int ROWS, int VECS>
constexpr bool fetches_next = !V::compact && ROWS > 2 && VECS == V::sum_vecs;
template <class V>
constexpr bool fetches_two_lines = V::sum_vecs *V::lanes > floats_of_line;

// `column`: where the tile begins in rows of b, of acc and of a bias.
template <class V, int ROWS, int WIDTH>
HEED_INLINE void sum_tile(const sum_operands &o, chain from, int32_t column = 0, int32_t lines_of_tile = 1) {
  constexpr int VECS = WIDTH == narrow_vecs ? 1 : WIDTH;
  typename V::reg acc[ROWS][VECS];
  // Copies, because for the compiler a store of a register may change o.
  float *const begin = o.acc + column;
  const ptrdiff_t stride = o.acc_stride;
  const int32_t n_cols = o.n_cols;
  const auto load = [=](const float *p) { return WIDTH == narrow_vecs ? V::load_n(p, n_cols) : V::load(p); };
  start_sums<V, ROWS, VECS>(acc, o, from, column, load);
  const ptrdiff_t a_row = o.a_row, a_depth = o.a_depth, b_stride = o.b_stride;
  const float *a = o.a, *b = o.b + column, *ahead = !V::compact && o.ahead ? o.ahead + column : nullptr;
  const int32_t depth = o.depth;
  ptrdiff_t next = o.next;
  const ptrdiff_t second = lines_of_tile > 1 ? floats_of_line : 0;
  int32_t i = 0;
  const auto take_columns = [&](typename V::reg(&columns)[VECS]) HEED_INLINED {
    if (ROWS <= 4 && ahead) {
      HEED_UNROLL for (int v = 0; v < VECS; v++) __builtin_prefetch(ahead + v * V::lanes, 0, 2);
      ahead += o.ahead_stride;
    }
    if (fetches_next<V, ROWS, VECS>) {
      asm("" : "+r"(next));  // else there would be two loops
      if (next != 0) {
        __builtin_prefetch(b + next, 0, 2);
        if (fetches_two_lines<V>) __builtin_prefetch(b + next + second, 0, 2);
      }
    }
    HEED_UNROLL for (int v = 0; v < VECS; v++) columns[v] = load(b + v * V::lanes);
    b += b_stride;
  };
  constexpr int step = V::factors_at_once;
  if constexpr (step > 1 && ROWS % step == 0) {
    for (; a_row == 1 && i < depth; i++, a += a_depth) {  // a register holds factors of several rows
      typename V::reg factors[ROWS / step], columns[VECS];
      HEED_UNROLL for (int r = 0; r < ROWS / step; r++) factors[r] = V::load(a + r * step);
      take_columns(columns);
      for_each_constant<ROWS>([&](auto row) HEED_INLINED {
        constexpr int r = decltype(row)::value;
        HEED_UNROLL for (int v = 0; v < VECS; v++) acc[r][v] =
            V::template fma_factor<r % step>(factors[r / step], columns[v], acc[r][v]);
      });
    }
  }
  if constexpr (step > 1 && ROWS * (VECS + 1) + VECS <= 30) {
    for (; a_depth == 1 && i + step <= depth; i += step, a += step) {  // of one row
      typename V::reg factors[ROWS];
      HEED_UNROLL for (int r = 0; r < ROWS; r++) factors[r] = V::load(a + r * a_row);
      for_each_constant<step>([&](auto u) HEED_INLINED {
        typename V::reg columns[VECS];
        take_columns(columns);
        HEED_UNROLL for (int r = 0; r < ROWS; r++) {
          HEED_UNROLL for (int v = 0; v < VECS; v++) acc[r][v] =
              V::template fma_factor<decltype(u)::value>(factors[r], columns[v], acc[r][v]);
        }
      });
    }
  }
  tile_rows<ROWS, const float> factors(a, a_row);
  for (; i < depth; i++, factors.advance(a_depth)) {
    typename V::reg columns[VECS];
    take_columns(columns);
    add_step<V, ROWS, VECS>(acc, columns, [&](int r) HEED_INLINED { return *factors[r]; });
  }
  const tile_rows<ROWS, float> rows(begin, stride);
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    float *const to = rows[r];
    if (WIDTH == narrow_vecs) V::store_n(to, acc[r][0], n_cols);
    HEED_UNROLL for (int v = 0; v < WIDTH; v++) V::store(to + v * V::lanes, acc[r][v]);
  }
}

// Rows of a register tile: with few registers of columns more rows, because 8 chains are needed to fill two units of
// latency 4.
template <class V, int VECS>
constexpr int rows_of_tile() {
  if (VECS > 1) return V::sum_rows;
  return many_registers<V> && VECS != narrow_vecs ? 16 : 8;
}

// Tiles of ROWS rows, as many as n_rows holds; returns the rows done. o is a copy: no store of a register can change
// it.
template <class V, int ROWS, int VECS>
static HEED_NOINLINE int32_t sum_tiles(sum_operands o, chain from, int32_t n_rows, const lines_ahead *lines = nullptr) {
  int32_t row = 0;
  for (; row + ROWS <= n_rows; row += ROWS) {
    // Rows of a wide y lie in few sets of every cache: those of the next tile are fetched while this one is summed.
    if (!V::compact && from == chain::keep && row + 2 * ROWS <= n_rows) {
      const float *next = o.acc + ROWS * o.acc_stride;
      HEED_UNROLL for (int r = 0; r < ROWS; r++) __builtin_prefetch(next + r * o.acc_stride, 1, 3);
    }
    int32_t of_tile = 1;
    if (fetches_next<V, ROWS, VECS>) of_tile = lines->of_tile;
    sum_tile<V, ROWS, VECS>(o, from, 0, of_tile);
    o.a += ROWS * o.a_row;
    o.acc += ROWS * o.acc_stride;
    if (from == chain::scaled) o.start += ROWS;
    if (fetches_next<V, ROWS, VECS>) lines->take(o, 1);
  }
  return row;
}

// n_rows rows of a tile's width, in tiles of that many, and one of those that are left; of one register 16 or 8, 4, 2 and 1;
// compact, or fewer columns than lanes: that many and 1. Without tiles of 3 and 7, 7 rows took 1.55 times the instructions of 8 (NEON).
template <class V, int VECS>
static void sum_columns(sum_operands o, chain from, int32_t n_rows) {
  const int32_t of_tile = fetches_two_lines<V> && n_rows <= 3 * V::sum_rows ? 2 : 1;
  const lines_ahead lines = {o.next + VECS * V::lanes, of_tile};
  const auto sum = [&](auto rows, int32_t left = 0) {
    constexpr int tile_rows = decltype(rows)::value;
    if (n_rows - left < tile_rows) return;
    int32_t done;
    if constexpr (fetches_next<V, tile_rows, VECS>) {
      done = sum_tiles<V, tile_rows, VECS>(o, from, n_rows - left, &lines);
      lines.take(o, done / tile_rows);
    } else {
      done = sum_tiles<V, tile_rows, VECS>(o, from, n_rows - left);
    }
    n_rows -= done;
    o.a += done * o.a_row;
    o.acc += done * o.acc_stride;
    if (from == chain::scaled) o.start += done;
  };
  constexpr int whole = rows_of_tile<V, VECS>();
  if constexpr (whole == 6 && !V::compact) {
    // No tile of one row, which has too few chains: 7 rows are 4 and 3, 8 are 4 and 4. (One row alone is
    // sum_single_row's.)
    constexpr signed char leave[6] = {0, 7, 8, 0, 0, 0};
    sum(constant<6>(), leave[n_rows % 6]);
    sum(constant<5>());
    sum(constant<4>());
    sum(constant<3>());
    sum(constant<2>());
  } else {
    sum(constant<whole>());
    if constexpr (!V::compact && VECS != narrow_vecs) {
      if constexpr (whole > 8) sum(constant<8>());
      constexpr bool most_columns = VECS == V::sum_vecs;
      if constexpr (most_columns && whole > 4) sum(constant<7>()), sum(constant<6>()), sum(constant<5>());
      if constexpr (whole > 4) sum(constant<4>());
      if constexpr (most_columns) sum(constant<3>());
      sum(constant<2>());
    }
    sum(constant<1>());
  }
}

// One row: from column n on. o is read, not copied: what was just written number by number is slow to load as
// registers.
template <class V, int VECS>
static HEED_NOINLINE void sum_single_row(const sum_operands &o, chain from, int32_t n) {
  sum_tile<V, 1, VECS>(o, from, n);
}

// All whole registers of n_cols columns.
template <class V>
static void sum_whole(const sum_operands &o, chain from, int32_t n_rows, int32_t n_cols) {
  constexpr int wide = V::sum_vecs;
  int32_t n = 0;
  if constexpr (!V::compact) {
    if (n_rows ==
        1) {  // one alone has too few chains in a tile of the usual width: 8 registers fill two units of latency 4
      for (; n + 8 * V::lanes <= n_cols; n += 8 * V::lanes) sum_single_row<V, 8>(o, from, n);
      for (; n + 2 * V::lanes <= n_cols; n += 2 * V::lanes) sum_single_row<V, 2>(o, from, n);
      if (n + V::lanes <= n_cols) sum_single_row<V, 1>(o, from, n);
      return;
    }
  }
  while (n + V::lanes <= n_cols) {
    sum_operands part = o;
    part.b += n;
    part.acc += n;
    if (part.ahead) part.ahead += n;
    if (from == chain::bias) part.start += n;
    const int32_t vecs = (n_cols - n) / V::lanes;
    if (vecs >= wide) {
      sum_columns<V, wide>(part, from, n_rows);
      n += wide * V::lanes;
    } else if (wide > 2 && vecs >= 2) {
      sum_columns<V, 2>(part, from, n_rows);
      n += 2 * V::lanes;
    } else {
      sum_columns<V, 1>(part, from, n_rows);
      n += V::lanes;
    }
  }
}

// Rows that begin and end raggedly: row r takes depths [first[r] - origin, last[r] - origin) of [0, depth). Both
// ascend.
struct ragged_rows {
  const int32_t *first, *last;
  int32_t origin;
};

// `sum` sums rows of equal depths. Rows of a tile's height take together what all have, and the rest one by one.
[[maybe_unused]] static HEED_COLD void sum_ragged(const sum_operands &o, chain from, int32_t n_rows,
                                                  const ragged_rows &of, int32_t height,
                                                  void (*sum)(const sum_operands &o, chain from, int32_t n_rows)) {
  const auto depth = [&](int32_t bound) { return clamp_to(bound - of.origin, 0, o.depth); };
  const auto sum_part = [&](int32_t row, int32_t rows, int32_t begin, int32_t end, chain start) {
    sum_operands part = o;
    part.a += row * o.a_row + begin * o.a_depth;
    part.b += begin * o.b_stride;
    part.acc += row * o.acc_stride;
    if (start == chain::scaled) part.start += row;
    part.depth = larger_of(end - begin, 0);
    part.ahead = nullptr;
    sum(part, start, rows);
  };
  for (int32_t row = 0, rows; row < n_rows; row += rows) {
    const int32_t first = depth(of.first[row]), last = depth(of.last[row]);
    for (rows = 1; row + rows < n_rows && depth(of.first[row + rows]) == first && depth(of.last[row + rows]) == last;)
      rows++;
    if (rows >= height || row + rows == n_rows) {  // all alike
      sum_part(row, rows, first, last, from);
      continue;
    }
    rows = smaller_of(n_rows - row, height);
    const int32_t begin = depth(of.first[row + rows - 1]);
    const bool common = begin < last, apart = !common || first < begin;
    for (int32_t r = row; apart && r < row + rows; r++) {
      const int32_t end = common ? begin : depth(of.last[r]);
      sum_part(r, 1, depth(of.first[r]), end, from);
    }
    if (!common) continue;
    const chain start = apart ? chain::keep : from;
    sum_part(row, rows, begin, last, start);
    for (int32_t r = row + 1; r < row + rows; r++)
      if (const int32_t end = depth(of.last[r]); end > last) sum_part(r, 1, last, end, chain::keep);
  }
}

}  // namespace heed

#endif
