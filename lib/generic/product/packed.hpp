// y = bias + x w with packed weights, or with blocks of scales (rules 22 and 24). Few rows take numbers from the words
// into registers; many share pieces that are widened once.
#ifndef HEED_GENERIC_PACKED_HPP
#define HEED_GENERIC_PACKED_HPP

#include "linear.hpp"
#include "packed_plain.hpp"
#include "packed_words.hpp"

namespace heed {

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
constexpr bool big_endian = true;
#else
constexpr bool big_endian = false;
#endif

// The numbers of [begin, end) inputs, and of those that share their last word, and of `width` outputs, as floats.
template <class V, int FORMAT>
static HEED_NOINLINE void widen_words(float *to, ptrdiff_t to_stride, const panel_columns &w, int32_t column,
                                      int32_t width, int32_t begin, int32_t end) {
  constexpr int inputs = word_inputs<FORMAT>;
  packed_words of = words_at<FORMAT>(w, column, begin);
  for (int32_t i = begin; i < end; i += inputs, of.words += 4 * of.width, to += inputs * to_stride) {
    for (int32_t n = 0; n < width; n += V::lanes) {
      typename V::reg parts[2];
      spread_word<V, FORMAT>(load_word<V>(of.words + 4 * n), parts);
      const typename V::reg scale = has_blocks<FORMAT> ? parts[0] : packed_scales<V, FORMAT>(of.scales + 4 * n);
      for_each_constant<inputs>([&](auto j) HEED_INLINED {
        constexpr int J = decltype(j)::value;
        V::store(to + J * to_stride + n, number_of<V, FORMAT, J>(parts, scale));
      });
    }
  }
}

// y goes on by inputs [first, depth) by pieces of floats on the stack.
template <class V>
constexpr int32_t piece_width = V::compact ? 2 * V::lanes : copy_width<V>;

template <class V, int FORMAT>
static HEED_NOINLINE void add_widened(const linear_block &b, const panel_columns &w, int32_t first) {
  constexpr int32_t width = piece_width<V>, depth = copy_floats<V> / width / 8 * 8;
  alignas(4 * V::lanes) float copy[depth * width];
  for (int32_t begin = first; begin < b.depth; begin += depth) {
    const int32_t end = b.depth - begin < depth ? b.depth : begin + depth;
    for (int32_t column = 0; column < b.n_cols; column += width) {
      const int32_t n = b.n_cols - column < width ? b.n_cols - column : width;
      widen_words<V, FORMAT>(copy, width, w, column, n, begin, end);
      sum_operands o = linear_operands<V>(b, column, begin, end);
      o.b = copy;
      o.b_stride = width;
      sum_whole<V>(o, chain::keep, b.n_rows, n);
    }
  }
}

// A piece of one block: [depth][piece_width] numbers and their scales.
struct block_piece {
  const float *numbers, *scales;
  int32_t depth;
};
// y += scales * (x numbers), `n` outputs (two registers, or one) of up to ROWS rows: those beyond b.n_rows repeat the
// last, and so does a second register that is not there.
template <class V, int ROWS>
HEED_INLINE void add_block(const linear_block &b, const block_piece &w, int32_t n) {
  const float *x[ROWS], *numbers = w.numbers;
  float *y[ROWS];
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    const ptrdiff_t row = r < b.n_rows ? r : b.n_rows - 1;
    x[r] = b.x + row * b.x_stride;
    y[r] = b.y + row * b.y_stride;
  }
  typename V::reg sum[ROWS][2];
  start_tile<V, ROWS, 2>(sum, [](int, int) HEED_INLINED { return V::set(0.0f); });
  for (int32_t i = 0; i < w.depth; i++, numbers += piece_width<V>) {
    typename V::reg columns[2] = {V::load(numbers), V::load(numbers + V::lanes)};
    add_step<V, ROWS, 2>(sum, columns, [&](int r) HEED_INLINED { return x[r][i]; });
  }
  const int32_t second = n > V::lanes ? V::lanes : 0;
  const typename V::reg scales[2] = {V::load(w.scales), V::load(w.scales + V::lanes)};
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    sum[r][0] = V::fma(scales[0], sum[r][0], V::load(y[r]));
    sum[r][1] = V::fma(scales[1], sum[r][1], V::load(y[r] + second));
  }
  HEED_UNROLL for (int r = 0; r < ROWS; r++) {
    V::store(y[r] + second, sum[r][1]);
    V::store(y[r], sum[r][0]);
  }
}

// The same of blocks, which have sums of their own.
template <class V, int FORMAT>
static HEED_NOINLINE void add_widened_blocks(const linear_block &b, const panel_columns &w, int32_t first) {
  constexpr int32_t width = piece_width<V>, rows = V::compact ? 2 : 4;
  alignas(4 * V::lanes) float numbers[block_inputs * width], scales[width];
  for (; first < b.depth; first += block_inputs) {
    const int32_t last = b.depth - first < block_inputs ? b.depth : first + block_inputs;
    for (int32_t column = 0; column < b.n_cols; column += width) {
      const int32_t n = b.n_cols - column < width ? b.n_cols - column : width;
      widen_words<V, FORMAT>(numbers, width, w, column, n, first, last);
      const packed_words of = words_at<FORMAT>(w, column, first);
      for (int32_t c = 0; c < n; c += V::lanes) V::store(scales + c, packed_scales<V, FORMAT>(of.scales + 2 * c));
      linear_block part = b;
      part.x += first;
      part.y += column;
      for (; part.n_rows > 0; part.n_rows -= rows) {
        for (int32_t c = 0; c < n; c += 2 * V::lanes) {
          linear_block at = part;
          at.y += c;
          add_block<V, rows>(at, {numbers + c, scales + c, last - first}, n - c);
        }
        part.x += rows * b.x_stride;
        part.y += rows * b.y_stride;
      }
    }
  }
}

// Rows up to which two at a time, or one, unpack for themselves.
constexpr int32_t most_direct_rows = 6;
// Registers of outputs in a tile of one row or two, the only ones that repay unpacking for themselves.
template <class V, int ROWS>
constexpr int word_vecs = V::compact                             ? 2
                          : V::lanes == 4 && !many_registers<V> ? 4
                          : ROWS == 2                            ? 4
                          : V::lanes == 4                        ? 8
                                                                 : 64 / V::lanes;

// Inputs [begin, end), whole words or blocks, from the words themselves; columns are whole tiles.
template <class V, int FORMAT, int ROWS>
static void add_tiles(linear_block b, const panel_columns &w, int32_t begin, int32_t end) {
  constexpr int32_t width = word_vecs<V, ROWS> * V::lanes;
  b.x += begin;
  b.depth = end - begin;
  for (int32_t column = 0; column < b.n_cols; column += width, b.y += width)
    add_words<V, FORMAT, ROWS, word_vecs<V, ROWS>>(b, words_at<FORMAT>(w, column, begin));
}
// Several tiles of rows take turns on what fits the first-level cache.
template <class V, int FORMAT>
static void add_direct(const linear_block &b, const panel_columns &w, int32_t depth) {
  const int32_t run = b.n_rows > 2 ? 512 : depth;
  for (int32_t begin = 0; begin < depth; begin += run) {
    const int32_t end = depth - begin < run ? depth : begin + run;
    linear_block part = b;
    for (; part.n_rows > 1; part.n_rows -= 2) {
      add_tiles<V, FORMAT, 2>(part, w, begin, end);
      part.x += 2 * b.x_stride;
      part.y += 2 * b.y_stride;
    }
    if (part.n_rows > 0) add_tiles<V, FORMAT, 1>(part, w, begin, end);
  }
}

// Whole registers of columns, whose chains y holds.
template <class V, int FORMAT>
static void add_panel(linear_block b, panel_columns w) {
  const auto widened = [&](int32_t first) {
    if constexpr (has_blocks<FORMAT>)
      add_widened_blocks<V, FORMAT>(b, w, first);
    else
      add_widened<V, FORMAT>(b, w, first);
  };
  if constexpr (V::loads_narrow) {
    constexpr int32_t unit = has_blocks<FORMAT> ? block_inputs : word_inputs<FORMAT>;
    constexpr int32_t width = word_vecs<V, 1> * V::lanes;
    if (b.n_rows <= most_direct_rows && b.n_cols >= width) {
      const int32_t depth = b.depth / unit * unit, n_cols = b.n_cols;
      b.n_cols = n_cols / width * width;
      add_direct<V, FORMAT>(b, w, depth);
      if (depth < b.depth) widened(depth);
      b.y += b.n_cols;
      w.first += b.n_cols;
      b.n_cols = n_cols - b.n_cols;
    }
  }
  if (b.n_cols > 0) widened(0);
}

template <class V>
static void add_any_panel(const linear_block &b, int32_t format, const panel_columns &w) {
  if (format == stored_int8) return add_panel<V, stored_int8>(b, w);
  if (format == stored_q8_0) return add_panel<V, stored_q8_0>(b, w);
  return add_panel<V, stored_q4_0>(b, w);
}

// Rows of y from a bias (stride 0), or +0; or from others.
[[maybe_unused]] static HEED_NOINLINE void copy_rows(const linear_block &b, const float *from, ptrdiff_t stride) {
  for (int32_t r = 0; r < b.n_rows; r++)
    for (int32_t n = 0; n < b.n_cols; n++) b.y[r * b.y_stride + n] = from ? from[r * stride + n] : 0.0f;
}

// y goes on by a panel. Its last register may have outputs that y does not: then it lies on the stack.
template <class V>
static void add_columns(const linear_block &b, const packed_panel &w) {
  constexpr int32_t most_rows = V::compact ? 8 : 24;
  linear_block part = b;
  part.n_cols = b.n_cols / V::lanes * V::lanes;
  if (part.n_cols > 0) add_any_panel<V>(part, w.format, {w.data, w.width, 0});
  if (part.n_cols == b.n_cols) return;
  const int32_t first = part.n_cols;
  float sums[most_rows * V::lanes];
  for (int32_t row = 0; row < b.n_rows; row += most_rows) {
    linear_block y = b;  // what there is of those outputs
    y.n_rows = part.n_rows = b.n_rows - row < most_rows ? b.n_rows - row : most_rows;
    y.n_cols = b.n_cols - first;
    y.y += row * b.y_stride + first;
    part.x = b.x + row * b.x_stride;
    part.n_cols = V::lanes;
    part.y = sums;
    part.y_stride = V::lanes;
    linear_block copy = y;
    copy.y = sums;
    copy.y_stride = V::lanes;
    copy_rows(copy, y.y, b.y_stride);
    add_any_panel<V>(part, w.format, {w.data, w.width, first});
    copy_rows(y, sums, V::lanes);
  }
}

template <class V>
static void multiply_panel(const linear_block &b, const packed_panel &w) {
  if constexpr (V::lanes == 1 || big_endian) {
    multiply_panel_plain<V>(b, w);
  } else {
    copy_rows(b, b.bias, 0);
    add_columns<V>(b, w);
  }
}

template <class V>
static void multiply_blocks(const linear_block &b, const stored_weights &w) {
  multiply_blocks_plain<V>(b, w);
}

}  // namespace heed

#endif
